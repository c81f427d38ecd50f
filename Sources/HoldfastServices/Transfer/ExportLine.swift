internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// A line of an export, understood; see Store+Export.swift for the three kinds. Where no header stands at the beginning, all
/// lines are entities themselves, whatever they look like.
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

    /// Versions and sequences stay below this, so that there is always a next one.
    static let greatestSequence: Int64 = 1 << 52

    /// `isExport`: whether a header came before.
    init(_ line: [UInt8], isExport: Bool, limits: PayloadLimits) throws(HoldfastError) {
        self = try line.withBytes { bytes throws(HoldfastError) in
            // What is walked below must be JSON.
            _ = try EntityPayload(
                bytes, key: "\u{1}", limits: PayloadLimits(maxBytes: bytes.count, maxDepth: limits.maxDepth + 1),
                what: "line")
            try Memory.ask(for: bytes.count)
            do throws(CorruptJSON) {
                return try Self.parse(bytes, isExport: isExport)
            } catch {
                throw HoldfastError(.invalidJSON, "the line is not valid JSON at byte \(error.position)")
            }
        }
    }

    private static func parse(
        _ bytes: UnsafeRawBufferPointer, isExport: Bool
    ) throws(CorruptJSON) -> ExportLine {
        let walker = JSONWalker(bytes)
        let root = try walker.skipWhiteSpace(0)
        func value(_ name: StaticString) throws(CorruptJSON) -> Int? {
            try walker.value(of: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), in: root)
        }
        if try value("holdfast_export") != nil { return header(bytes) ?? .bare }
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

    private static func header(_ bytes: UnsafeRawBufferPointer) -> ExportLine? {
        guard let value = try? JSONValue.parse(bytes, what: "export"), case .object(let members) = value else {
            return nil
        }
        func member(_ name: String, of members: [JSONValue.Member]) -> JSONValue? {
            members.first { $0.name.elementsEqual(name.utf8) }?.value
        }
        guard member("holdfast_export", of: members) == .integer(1),
            case .integer(let sequence) = member("sequence", of: members), (0...greatestSequence).contains(sequence),
            case .array(let described) = member("repositories", of: members)
        else { return nil }
        var header = Header(sequence: CommitSequence(sequence), repositories: [])
        if case .integer(let version) = member("schema_version", of: members), Store.schemaVersions.contains(version) {
            header.schemaVersion = version
        }
        for repository in described {
            guard case .object(let members) = repository, case .string(let name) = member("name", of: members),
                case .string(let key) = member("key", of: members)
            else { return nil }
            var indexes: [JSONValue] = []
            if case .array(let values) = member("indexes", of: members) { indexes = values }
            header.repositories.append(
                (String(decoding: name, as: UTF8.self), String(decoding: key, as: UTF8.self), indexes))
        }
        return .header(header)
    }
}
