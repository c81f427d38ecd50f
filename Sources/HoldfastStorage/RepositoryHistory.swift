package import HoldfastEnvironment
internal import HoldfastQuery

extension WriteBatch {
    package var changesCatalogue: Bool { !repositories.isEmpty || !indexes.isEmpty || !removedIndexes.isEmpty }
}

/// What became of a repository since it was created, as engines that keep bytes keep it: as JSON.
package enum RepositoryHistory {
    package static func encode(_ record: RepositoryRecord) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("changed", record.changed)
            writer.member("dropped", record.isDropped)
            writer.member("texts", record.idsAreTexts)
            writer.member("names", objects: record.formerNames) { writer, former in
                writer.member("name", former.name)
                writer.member("through", former.through)
            }
        }
    }

    /// Answers false where it is damaged.
    package static func decode(
        _ text: UnsafeRawBufferPointer, into record: inout RepositoryRecord
    ) throws(HoldfastError) -> Bool {
        let value: JSONValue
        do throws(HoldfastError) { value = try JSONValue.parse(text, what: "record") } catch {
            if error.status == .noMemory { throw error }
            return false
        }
        guard case .integer(let changed)? = value.member("changed"),
            case .bool(let isDropped)? = value.member("dropped"),
            case .array(let names)? = value.member("names")
        else { return false }
        (record.isDropped, record.changed) = (isDropped, CommitSequence(clamping: changed))
        if case .bool(true)? = value.member("texts") { record.idsAreTexts = true }
        for former in names {
            guard case .string(let name)? = former.member("name"),
                case .integer(let through)? = former.member("through")
            else { return false }
            record.formerNames.append(
                RepositoryRecord.FormerName(
                    String(decoding: name, as: UTF8.self), through: CommitSequence(clamping: through)))
        }
        return true
    }
}
