public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// What a commit answers. Most receipts are only counted, so what can be worked out from the commit's entry in the log is
/// worked out when it is asked for.
public struct Receipt: Sendable {
    public struct Change: Sendable, Equatable {
        public var repository: String
        public var id: EntityID
        public var isDeletion: Bool
    }

    /// What all receipts of one store share.
    final class Origin: Sendable {
        let incarnation: String
        let names: Catalogue
        let storageIsAtomic: Bool
        /// What positions begin with. The incarnation is hexadecimal digits: nothing to escape.
        fileprivate let positionStart: [UInt8]

        init(incarnation: String, names: Catalogue, storageIsAtomic: Bool) {
            self.incarnation = incarnation
            self.names = names
            self.storageIsAtomic = storageIsAtomic
            positionStart = Array("\(incarnation):".utf8)
        }
    }

    private enum Content {
        /// The changes are ordered by repository number and id.
        case logged([CommitLogEntry.Change], Origin)
        case read(position: String, changes: [Change])
    }

    /// The commit's position in the store's order and the version of what it wrote; 0 when it changed nothing.
    public let sequence: CommitSequence
    public internal(set) var isDurable: Bool
    /// How often the transaction ran.
    public let attempts: Int
    /// Whether an earlier commit with the same idempotency key is answered again.
    public private(set) var isReplayed: Bool
    /// False where several entities were stored one after the other, so that an end of the process in between would have left
    /// some of them.
    public let isAtomic: Bool
    private let content: Content

    /// The opaque token of the commit's position; empty when nothing changed.
    public var position: String {
        switch content {
        case .logged(_, let origin): "\(origin.incarnation):\(sequence)"
        case .read(let position, _): position
        }
    }

    /// The same in UTF-8: every event has it.
    public var positionBytes: [UInt8] {
        switch content {
        case .logged(_, let origin):
            var writer = JSONWriter(reservingCapacity: origin.positionStart.count + 20)
            writer.verbatim(origin.positionStart)
            writer.unsigned(sequence)
            return writer.bytes
        case .read(let position, _): return Array(position.utf8)
        }
    }

    /// One for each entity, ordered by repository and id.
    public var changes: [Change] {
        var changes: [Change] = []
        changes.reserveCapacity(changeCount)
        forEachChange { changes.append($0) }
        return changes
    }

    package var changeCount: Int {
        switch content {
        case .logged(let changes, _): changes.count
        case .read(_, let changes): changes.count
        }
    }

    private func forEachChange(_ body: (Change) -> Void) {
        switch content {
        case .read(_, let changes): changes.forEach(body)
        case .logged(let changes, let origin):
            guard let first = changes.first?.key.repository, let last = changes.last?.key.repository else { return }
            if first == last {
                let name = origin.names.name(of: first)
                for change in changes {
                    body(Change(repository: name, id: change.key.id, isDeletion: change.isDeletion))
                }
            } else {
                Self.sortedByName(changes, origin.names).forEach(body)
            }
        }
    }

    /// The names of repositories are not in the order of their numbers.
    private static func sortedByName(_ changes: [CommitLogEntry.Change], _ names: Catalogue) -> [Change] {
        changes.map {
            Change(repository: names.name(of: $0.key.repository), id: $0.key.id, isDeletion: $0.isDeletion)
        }.sorted { $0.repository == $1.repository ? $0.id < $1.id : $0.repository < $1.repository }
    }

    /// Of a commit that was taken into the commit log.
    init(of entry: CommitLogEntry, isDurable: Bool, attempts: Int, origin: Origin) {
        sequence = entry.sequence
        self.isDurable = isDurable
        self.attempts = attempts
        isReplayed = false
        isAtomic = origin.storageIsAtomic || entry.changes.count < 2
        content = .logged(entry.changes, origin)
    }

    init(
        sequence: CommitSequence, position: String, isDurable: Bool, attempts: Int, isReplayed: Bool,
        isAtomic: Bool = true, changes: [Change]
    ) {
        self.sequence = sequence
        self.isDurable = isDurable
        self.attempts = attempts
        self.isReplayed = isReplayed
        self.isAtomic = isAtomic
        content = .read(position: position, changes: changes)
    }

    /// Of a transaction that wrote nothing.
    static func empty(attempts: Int) -> Receipt {
        Receipt(sequence: 0, position: "", isDurable: true, attempts: attempts, isReplayed: false, changes: [])
    }
}

// MARK: - As JSON

extension Receipt {
    /// As `transaction.h` describes it.
    public var json: [UInt8] {
        var writer = JSONWriter(reservingCapacity: 192 + changeCount * 96)
        writer.verbatim("{\"sequence\":")
        writer.unsigned(sequence)
        switch content {
        case .logged(_, let origin):
            writer.verbatim(",\"position\":\"")
            writer.verbatim(origin.positionStart)
            writer.unsigned(sequence)
            writer.verbatim("\"")
        case .read(let position, _):
            if !position.isEmpty {
                writer.verbatim(",\"position\":")
                writer.string(position)
            }
        }
        writer.verbatim(isDurable ? ",\"durable\":true,\"attempts\":" : ",\"durable\":false,\"attempts\":")
        writer.unsigned(UInt64(attempts))
        writer.verbatim(isReplayed ? ",\"replayed\":true" : ",\"replayed\":false")
        writer.verbatim(isAtomic ? ",\"changes\":[" : ",\"atomic\":false,\"changes\":[")
        var isFirst = true
        forEachChange { change in
            writer.verbatim(isFirst ? "{\"repository\":" : ",{\"repository\":")
            isFirst = false
            writer.string(change.repository)
            writer.verbatim(",\"id\":")
            writer.string(utf8: change.id.bytes)
            writer.verbatim(
                change.isDeletion
                    ? ",\"operation\":\"delete\",\"version\":" : ",\"operation\":\"put\",\"version\":")
            writer.unsigned(sequence)
            writer.verbatim("}")
        }
        writer.verbatim("],\"secondary\":[]}")
        return writer.bytes
    }

    /// A stored receipt, read back for a commit whose idempotency key was used before.
    init(replaying json: [UInt8]) throws(HoldfastError) {
        do throws(HoldfastError) {
            self = try json.withBytes { bytes throws(HoldfastError) in try Receipt(json: bytes) }
            isReplayed = true
        } catch {
            if error.status == .noMemory { throw error }
            throw HoldfastError(
                .corrupt,
                "the stored receipt of this idempotency key is damaged: look whether its work was done, then take "
                    + "another key", cause: error)
        }
    }

    /// Reads what `json` is. Throws `.invalidJSON`, or `.invalidArgument` for JSON that is no receipt.
    public init(json: UnsafeRawBufferPointer) throws(HoldfastError) {
        let value = try JSONValue.parse(json, what: "receipt")
        func text(_ value: JSONValue?) -> String? {
            if case .string(let bytes)? = value { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
        guard case .integer(let sequence)? = value.member("sequence"), sequence >= 0,
            case .bool(let durable)? = value.member("durable"),
            case .integer(let attempts)? = value.member("attempts"), attempts >= 0,
            case .array(let changes)? = value.member("changes")
        else { throw Self.unknown }
        self.init(
            sequence: CommitSequence(sequence), position: text(value.member("position")) ?? "",
            isDurable: durable, attempts: Int(attempts), isReplayed: value.member("replayed") == .bool(true),
            isAtomic: value.member("atomic") != .bool(false),
            changes: try changes.map { change throws(HoldfastError) in
                guard let repository = text(change.member("repository")), case .string(let id)? = change.member("id")
                else { throw Self.unknown }
                return Change(
                    repository: repository, id: EntityID(unchecked: id),
                    isDeletion: text(change.member("operation")) == "delete")
            })
    }

    private static var unknown: HoldfastError {
        HoldfastError(.invalidArgument, "the text is no receipt: pass what a commit has answered, as it is")
    }
}
