/// What a commit answers.
public struct Receipt: Sendable {
    public struct Change: Sendable, Equatable {
        public var repository: String
        public var id: EntityID
        public var isDeletion: Bool
    }

    /// The commit's place in the store's order and the version of what it wrote; 0 when it changed nothing.
    public var sequence: CommitSequence
    /// The opaque token of that place; empty when nothing changed.
    public var position: String
    public var isDurable: Bool
    /// How often the transaction ran.
    public var attempts: Int
    /// Whether an earlier commit with the same idempotency key is answered again.
    public var isReplayed: Bool
    /// One for each entity, ordered by repository and id.
    public var changes: [Change]

    /// Of a transaction that wrote nothing.
    static func empty(attempts: Int) -> Receipt {
        Receipt(sequence: 0, position: "", isDurable: true, attempts: attempts, isReplayed: false, changes: [])
    }

    /// As `transaction.h` describes it.
    public var json: [UInt8] {
        var writer = JSONWriter(reservingCapacity: 160 + changes.count * 80)
        writer.beginObject()
        writer.member("sequence")
        writer.unsigned(sequence)
        if !position.isEmpty {
            writer.member("position")
            writer.string(position)
        }
        writer.member("durable")
        writer.boolean(isDurable)
        writer.member("attempts")
        writer.unsigned(UInt64(attempts))
        writer.member("replayed")
        writer.boolean(isReplayed)
        writer.member("changes")
        writer.beginArray()
        for change in changes {
            writer.beginObject()
            writer.member("repository")
            writer.string(change.repository)
            writer.member("id")
            writer.string(utf8: change.id.bytes)
            writer.member("operation")
            writer.string(change.isDeletion ? "delete" : "put")
            writer.member("version")
            writer.unsigned(sequence)
            writer.endObject()
        }
        writer.endArray()
        writer.member("secondary")
        writer.beginArray()
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// A stored receipt, read back for a commit whose idempotency key was used before.
    init(replaying json: [UInt8]) throws(HoldfastError) {
        let value = try json.withBytes { bytes throws(HoldfastError) in
            try JSONValue.parse(bytes, what: "the stored receipt")
        }
        func text(_ value: JSONValue?) -> String? {
            if case .string(let bytes)? = value { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
        guard case .integer(let sequence)? = value.member("sequence"),
            case .bool(let durable)? = value.member("durable"),
            case .integer(let attempts)? = value.member("attempts"), case .array(let changes)? = value.member("changes")
        else { throw HoldfastError(.corrupt, "a stored receipt is not one: the idempotency key cannot be answered") }
        self.sequence = CommitSequence(clamping: sequence)
        position = text(value.member("position")) ?? ""
        isDurable = durable
        self.attempts = Int(attempts)
        isReplayed = true
        self.changes = changes.compactMap { change in
            guard let repository = text(change.member("repository")), case .string(let id)? = change.member("id") else {
                return nil
            }
            return Change(
                repository: repository, id: EntityID(unchecked: id),
                isDeletion: text(change.member("operation")) == "delete")
        }
    }

    init(
        sequence: CommitSequence, position: String, isDurable: Bool, attempts: Int, isReplayed: Bool, changes: [Change]
    ) {
        self.sequence = sequence
        self.position = position
        self.isDurable = isDurable
        self.attempts = attempts
        self.isReplayed = isReplayed
        self.changes = changes
    }
}
