import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A read transaction on a connection of its own, which is locked for each call. Closing it waits for no call.
final class SQLiteSnapshot: StorageSnapshot {
    let sequence: CommitSequence

    private let pool: ReaderPool
    private let reader: Reader
    private let lease: UInt64
    let changeToken: ChangeToken?

    init(in pool: ReaderPool) throws(HoldfastError) {
        self.pool = pool
        let before = pool.changeToken
        (reader, lease, sequence) = try pool.begin()
        changeToken = before == pool.changeToken ? before : nil
    }

    deinit { close() }

    func fetch(
        _ key: EntityKey, _ body: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try read { connection throws(HoldfastError) in try connection.fetch(key, body) }
    }

    func scan(_ scan: EntityScan, _ body: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError) {
        try read { connection throws(HoldfastError) in
            try connection.scan(scan) { view throws(HoldfastError) in
                try reader.requireNotTaken()
                return try body(view)
            }
        }
    }

    func readsFasterAsItLies(_ repository: RepositoryID) throws(HoldfastError) -> Bool {
        try read { connection throws(HoldfastError) in try connection.readsFasterAsItLies(repository) }
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] {
        try read { connection throws(HoldfastError) in try connection.repositories() }
    }

    func indexes() throws(HoldfastError) -> [IndexRecord] {
        try read { connection throws(HoldfastError) in try connection.indexes() }
    }

    func scan(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try read { connection throws(HoldfastError) in
            try connection.scan(scan) { key, view throws(HoldfastError) in
                try reader.requireNotTaken()
                return try body(key, view)
            }
        }
    }

    var asksForCached: Bool { true }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try read { connection throws(HoldfastError) in try connection.commitLog(after: sequence, limit: limit) }
    }

    func commitLogStart() throws(HoldfastError) -> CommitSequence {
        try read { connection throws(HoldfastError) in CommitSequence(try connection.mark(.commitLogStart) ?? 0) }
    }

    func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard let count = changeToken?.transactions(since: token), count <= limit else { return nil }
        return try read { connection throws(HoldfastError) in
            try connection.commitLog(ofTransactions: count, behind: sequence, through: self.sequence, pool.limits)
        }
    }

    func idempotencyRecord(_ key: [UInt8]) throws(HoldfastError) -> IdempotencyRecord? {
        try read { connection throws(HoldfastError) in try connection.idempotencyRecord(key) }
    }

    func close() { pool.end(reader, lease: lease) }

    private func read<Result>(
        _ body: (Connection) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try pool.read(reader, lease, body)
    }
}
