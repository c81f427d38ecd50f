import HoldfastCore
package import HoldfastEnvironment
import HoldfastQuery
package import HoldfastStorage

extension StorageConformance {
    static func expect(_ condition: Bool, _ expected: @autoclosure () -> String) throws {
        if !condition { throw Failure(description: "expected \(expected())") }
    }

    static func expect<Value: Equatable>(_ actual: Value, is expected: Value, _ what: String) throws {
        if actual != expected { throw Failure(description: "\(what): expected \(expected), got \(actual)") }
    }

    /// Runs what must fail with this status.
    static func expect(_ status: Status, from call: () throws(HoldfastError) -> Void) throws {
        do throws(HoldfastError) {
            try call()
        } catch {
            try expect(error.status, is: status, "the error's status")
            return
        }
        throw Failure(description: "expected the call to fail with \(status)")
    }
}

/// What a check stores and finds, in short form.
struct Stored: Equatable, CustomStringConvertible {
    var id: [UInt8]
    var version: CommitSequence
    var body: [UInt8]

    init(_ id: String, _ version: CommitSequence, _ body: String) {
        self.id = Array(id.utf8)
        self.version = version
        self.body = text(body)
    }

    init(_ view: EntityView) {
        id = Array(view.id)
        version = view.version
        body = Array(view.body)
    }

    var description: String {
        "\(String(decoding: id, as: UTF8.self))@\(version)=\(String(decoding: body.prefix(80), as: UTF8.self))"
    }
}

/// What stands for an entity's text. An engine may take what is no JSON object for damage.
private func text(_ content: String) -> [UInt8] { Array("{\(content)}".utf8) }

let songs: RepositoryID = 1
let albums: RepositoryID = 2

extension EntityKey {
    init(_ repository: RepositoryID, _ id: String) { self.init(repository, EntityID(unchecked: Array(id.utf8))) }
}

extension EntityChange {
    init(_ repository: RepositoryID, _ id: String, _ version: CommitSequence, _ body: String?) {
        self.init(key: EntityKey(repository, id), version: version, body: body.map(text))
    }
}

extension WriteBatch {
    /// A batch of one commit, with the log entry that belongs to its changes.
    init(at sequence: CommitSequence, _ changes: [EntityChange] = []) {
        self.init()
        self.changes = changes.sorted { $0.key < $1.key }
        commitLog = [
            CommitLogEntry(
                sequence: sequence, commitIdentifier: identifier(of: sequence), time: time(of: sequence),
                changes: self.changes.map { CommitLogEntry.Change(key: $0.key, isDeletion: $0.body == nil) })
        ]
    }
}

func identifier(of sequence: CommitSequence) -> UInt64 { .max >> 1 - sequence }

func time(of sequence: CommitSequence) -> UInt64 { 1_750_000_000_000 + sequence }

extension Storage {
    /// Stores one batch in a write transaction of its own; again, where somebody else was faster.
    package func store(_ batch: WriteBatch, durable: Bool = true) throws(HoldfastError) {
        while true {
            let write = try beginWrite(durable: durable)
            do throws(HoldfastError) {
                try write.apply(batch)
            } catch {
                write.rollback()
                if write.isOvertaken { continue }
                throw error
            }
            switch try write.commit() {
            case .stored: return
            case .refused(let reason): throw reason
            case .overtaken: continue
            }
        }
    }

    /// Creates the two repositories that checks use, and stores the changes with sequence 1.
    func begin(with changes: [EntityChange] = []) throws(HoldfastError) {
        var batch = WriteBatch(at: 1, changes)
        batch.repositories = [
            RepositoryRecord(id: songs, name: "songs", key: "id"),
            RepositoryRecord(id: albums, name: "albums", key: "id"),
        ]
        batch.reservedThrough = 1_000
        try store(batch)
    }

    /// What a snapshot of now finds, for one look.
    func look<Result>(
        _ body: (any StorageSnapshot) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let snapshot = try beginSnapshot()
        defer { snapshot.close() }
        return try body(snapshot)
    }
}

extension StorageSnapshot {
    func fetch(_ repository: RepositoryID, _ id: String) throws(HoldfastError) -> Stored? {
        var found: Stored?
        let exists = try fetch(EntityKey(repository, id)) { found = Stored($0) }
        return exists ? found : nil
    }

    /// The entities of a repository from a position on, at most `limit`.
    func list(
        _ repository: RepositoryID, after: String? = nil, limit: Int = .max
    ) throws(HoldfastError) -> [Stored] {
        try list(EntityScan(repository, after: after.map { EntityID(unchecked: Array($0.utf8)) }), limit: limit)
    }

    func list(_ scan: EntityScan, limit: Int = .max) throws(HoldfastError) -> [Stored] {
        var found: [Stored] = []
        try self.scan(scan) { view in
            found.append(Stored(view))
            return found.count < limit
        }
        return found
    }
}
