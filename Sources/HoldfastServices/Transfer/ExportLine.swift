internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// A line of an export, understood; see Store+Export.swift for the three kinds. Where no header stands at the beginning, all
/// lines are entities themselves, whatever they look like. What begins with the member of a header must be one.
enum ExportLine {
    struct Header {
        var sequence: CommitSequence
        var schemaVersion: Int64?
        var repositories: [(name: String, key: String, indexes: [JSONValue])]
    }

    case header(Header)
    /// `id`: what the line says beside the entity, where it does.
    case entity(repository: String, id: EntityID?, version: CommitSequence?, body: [UInt8])
    case end(entities: UInt64)
    case bare

    /// What versions and sequences are read up to.
    fileprivate static let greatestSequence: Int64 = 1 << 52
    /// What a store is advanced to at most: its own exports are read for as many commits again.
    static let greatestKept = CommitSequence(greatestSequence / 2)
    /// What an export's first line may have, whatever an entity may: an index's fields lie deepest.
    private static let headerDepth = 8

    /// `isExport`: whether a header came before.
    init(_ line: [UInt8], isFirst: Bool, isExport: Bool, limits: PayloadLimits) throws(HoldfastError) {
        self = try line.withBytes { bytes throws(HoldfastError) in
            // What is walked below must be JSON.
            let depth = max(limits.maxDepth + 1, isFirst ? Self.headerDepth : 0)
            _ = try EntityPayload(
                bytes, key: "\u{1}", limits: PayloadLimits(maxBytes: bytes.count, maxDepth: depth), what: "line")
            try Memory.ask(for: bytes.count)
            do throws(CorruptJSON) {
                if let line = try Self.parse(bytes, isExport: isExport) { return line }
            } catch {
                throw HoldfastError(.invalidJSON, "the line is not valid JSON at byte \(error.position)")
            }
            do throws(HoldfastError) { return .header(try Header(bytes)) } catch {
                // Further down it may be an entity that has such a member.
                if isFirst { throw error }
                return .bare
            }
        }
    }

    /// Nil for what has the member of a header.
    private static func parse(
        _ bytes: UnsafeRawBufferPointer, isExport: Bool
    ) throws(CorruptJSON) -> ExportLine? {
        let walker = JSONWalker(bytes)
        let root = try walker.skipWhiteSpace(0)
        func value(_ name: StaticString) throws(CorruptJSON) -> Int? {
            try walker.value(of: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), in: root)
        }
        if try value("holdfast_export") != nil { return nil }
        guard isExport else { return .bare }
        if let entity = try value("entity"), let name = try value("repository"),
            try walker.kind(at: entity) == .object, try walker.kind(at: name) == .string
        {
            let name = try walker.text(at: name)
            let end = try walker.endOfValue(at: entity)
            return .entity(
                repository: String(decoding: walker.bytes(name.start, name.end), as: UTF8.self),
                id: try value("id").flatMap { position throws(CorruptJSON) in try Self.id(walker, position) },
                version: try value("version").flatMap { Self.number(walker, $0) },
                body: Array(walker.bytes(entity, end)))
        }
        if try value("end") != nil, let count = try value("entities"), let number = Self.number(walker, count) {
            return .end(entities: number)
        }
        return .bare
    }

    /// What is no id is none that an entity could have.
    private static func id(_ walker: JSONWalker, _ position: Int) throws(CorruptJSON) -> EntityID? {
        let bytes = walker.bytes(position, try walker.endOfValue(at: position))
        switch try? JSONValue.parse(bytes, what: "id") {
        case .string(let text): return EntityID(unchecked: text)
        case .integer(let number): return EntityID(unchecked: Array(String(number).utf8))
        default: return EntityID(unchecked: [])
        }
    }

    private static func number(_ walker: JSONWalker, _ position: Int) -> UInt64? {
        guard let end = try? walker.endOfValue(at: position),
            let number = Int64(String(decoding: walker.bytes(position, end), as: UTF8.self)),
            (0...greatestSequence).contains(number)
        else { return nil }
        return UInt64(number)
    }
}

extension ExportLine.Header {
    fileprivate init(_ bytes: UnsafeRawBufferPointer) throws(HoldfastError) {
        let value = try JSONValue.parse(bytes, what: "line")
        if case .integer(let format) = value.member("holdfast_export"), format > 1 {
            throw HoldfastError(
                .formatTooNew,
                "the export has the format \(format), which a newer version of this library has written: install that")
        }
        guard value.member("holdfast_export") == .integer(1) else { throw Self.damaged("holdfast_export", "is not 1") }
        guard case .integer(let number) = value.member("sequence"), (0...ExportLine.greatestSequence).contains(number)
        else { throw Self.damaged("sequence", "is no number from 0 to \(ExportLine.greatestSequence)") }
        guard case .array(let described) = value.member("repositories") else {
            throw Self.damaged("repositories", "is no array")
        }
        sequence = CommitSequence(number)
        repositories = []
        if case .integer(let version) = value.member("schema_version"), Store.schemaVersions.contains(version) {
            schemaVersion = version
        }
        for repository in described {
            guard case .string(let name) = repository.member("name"), case .string(let key) = repository.member("key")
            else { throw Self.damaged("repositories", "has one without \"name\" and \"key\"") }
            var indexes: [JSONValue] = []
            if case .array(let values) = repository.member("indexes") { indexes = values }
            repositories.append((String(decoding: name, as: UTF8.self), String(decoding: key, as: UTF8.self), indexes))
        }
    }

    private static func damaged(_ member: String, _ fault: String) -> HoldfastError {
        HoldfastError(
            .invalidJSON,
            "the line begins as that of an export, and its \"\(member)\" \(fault): export anew; an entity with a member "
                + "\"holdfast_export\" cannot come first")
    }
}
