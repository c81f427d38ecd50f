internal import HoldfastCore
public import HoldfastEnvironment
public import HoldfastQuery

/// What is exported; `transfer.h` describes each.
public struct ExportOptions: Sendable {
    /// Nil: all.
    public var repositories: [String]?
    /// Whether entities that are damaged where they are stored are left out.
    public var skipsDamaged = false
    /// Where an earlier export of the same state ended.
    public var after: Position?

    public struct Position: Sendable {
        public var sequence: CommitSequence
        public var repository: String
        public var id: EntityID
        /// Of the store, and the names of what is exported, as the first line told them; nil: not known.
        public var incarnation: String?
        public var repositories: [String]?

        public init(
            sequence: CommitSequence, repository: String, id: EntityID, incarnation: String? = nil,
            repositories: [String]? = nil
        ) {
            self.sequence = sequence
            self.repository = repository
            self.id = id
            self.incarnation = incarnation
            self.repositories = repositories
        }
    }

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "export options")
        repositories = try reader.value("repositories").map { value throws(HoldfastError) in try Self.names(value) }
        if let value = try reader.text("damaged", oneOf: ["refuse", "skip"]) { skipsDamaged = value == "skip" }
        if let value = reader.value("after") {
            guard case .object(let members) = value else { throw Self.refusal("after", "an object") }
            var position = OptionReader(members: members, what: "export's position")
            let sequence = try position.integer("sequence", in: 0...Int64.max)
            let (repository, id) = (try position.text("repository"), try position.text("id"))
            let incarnation = try position.text("incarnation")
            let names = try position.value("repositories").map { value throws(HoldfastError) in try Self.names(value) }
            try position.finish()
            guard let sequence, let repository, let id else {
                throw Self.refusal("after", "an object with \"sequence\", \"repository\" and \"id\"")
            }
            after = Position(
                sequence: CommitSequence(sequence), repository: repository,
                id: try Array(id.utf8).withBytes { id throws(HoldfastError) in try EntityID(checking: id) },
                incarnation: incarnation, repositories: names)
        }
        try reader.finish()
    }

    private static func names(_ value: JSONValue) throws(HoldfastError) -> [String] {
        guard case .array(let names) = value else { throw refusal("repositories", "an array of names") }
        var known: [String] = []
        for name in names {
            guard case .string(let bytes) = name else { throw refusal("repositories", "an array of names") }
            known.append(String(decoding: bytes, as: UTF8.self))
        }
        return known
    }

    private static func refusal(_ name: String, _ wanted: String) -> HoldfastError {
        HoldfastError(
            .invalidOption, "option \"\(name)\" in the export options must be \(wanted)",
            detail: [("option", .text(name))])
    }
}
