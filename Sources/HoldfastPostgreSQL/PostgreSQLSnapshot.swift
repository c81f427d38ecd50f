internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A read-only transaction at REPEATABLE READ on a connection of its own, which serves one call after the other. While it is
/// open the server's vacuum keeps what it sees: the core takes it back as soon as nobody reads from it, and when it is old.
final class PostgreSQLSnapshot: StorageSnapshot {
    let sequence: CommitSequence
    let changeToken: ChangeToken?

    private struct State {
        /// Nil once it was given back.
        var connection: Connection?
        var callers = 0
        var isClosed = false
        /// Set by the call that has found out.
        var isLost = false
    }

    private let storage: PostgreSQLStorage
    private let row: StoreRow
    private let epoch: UInt64
    private let state: Lock<State>
    /// Whose call the connection serves: how many it has served. A lock of nothing would have the thread sanitizer take the
    /// lock's own address for what it guards.
    private let turn = Lock<UInt64>(0)

    init(of storage: PostgreSQLStorage, _ row: StoreRow, on connection: Connection, epoch: UInt64) {
        self.storage = storage
        self.row = row
        self.epoch = epoch
        sequence = row.head
        changeToken = KnownStates.token(of: row)
        state = Lock(State(connection: connection))
    }

    deinit { close() }

    var fetchesTogether: Bool { true }

    func fetch(_ key: EntityKey, _ body: (EntityView) throws(HoldfastError) -> Void) throws(HoldfastError) -> Bool {
        try read { connection throws(HoldfastError) in try connection.fetch(key, of: storage.number, body) }
    }

    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try read { connection throws(HoldfastError) in
            try connection.fetch(keys, of: storage.number, storage.environment.limits, body)
        }
    }

    func scan(_ scan: EntityScan, _ body: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError) {
        try read { connection throws(HoldfastError) in
            try connection.scan(scan, of: storage.number, storage.environment.limits, body)
        }
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try catalogue().repositories }

    func indexes() throws(HoldfastError) -> [IndexRecord] { try catalogue().indexes }

    private func catalogue() throws(HoldfastError) -> Connection.Catalogue {
        try read { connection throws(HoldfastError) in
            try storage.states.catalogue(of: row) { () throws(HoldfastError) in
                try connection.catalogue(row.catalogue, of: storage.number)
            }
        }
    }

    func scan(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try read { connection throws(HoldfastError) in
            try connection.scan(scan, of: storage.number, storage.environment.limits, body)
        }
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try read { connection throws(HoldfastError) in
            try connection.commitLog(
                after: sequence, limit: limit, start: row.logStart, of: storage.number, storage.environment.limits)
        }
    }

    func commitLogStart() throws(HoldfastError) -> CommitSequence { row.logStart }

    func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard let count = KnownStates.transactions(from: token, to: row), count <= limit else { return nil }
        return try read { connection throws(HoldfastError) in
            try connection.commitLog(
                ofTransactions: count, behind: sequence, through: self.sequence, start: row.logStart,
                of: storage.number, storage.environment.limits)
        }
    }

    func idempotencyRecord(_ key: [UInt8]) throws(HoldfastError) -> IdempotencyRecord? {
        try read { connection throws(HoldfastError) in
            try connection.idempotencyRecords([key], of: storage.number)[0]
        }
    }

    func close() {
        if storage.pool.isForeign { return }
        state.withLock { $0.isClosed = true }
        giveBackIfUnused()
    }

    var isLost: Bool { state.withLock { $0.isLost } }

    private func read<Result>(
        _ body: (Connection) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        do throws(HoldfastError) { try storage.pool.require(epoch) } catch {
            state.withLock { $0.isLost = true }
            throw error
        }
        let connection = try state.withLock { state throws(HoldfastError) in
            guard !state.isClosed, let connection = state.connection else { throw ConnectionPool.ended }
            state.callers += 1
            return connection
        }
        defer {
            if !storage.pool.isForeign {
                state.withLock { $0.callers -= 1 }
                giveBackIfUnused()
            }
        }
        return try turn.withLockAsking { served throws(HoldfastError) in
            served += 1
            do throws(HoldfastError) {
                return try body(connection)
            } catch {
                // What the borrower has thrown leaves the connection as it is; what the server has refused ends its transaction.
                guard connection.isLost || connection.isAborted, error.status != .forked else { throw error }
                state.withLock { $0.isLost = true }
                throw storage.pool.closed(error)
            }
        }
    }

    private func giveBackIfUnused() {
        let unused = state.withLock { state -> Connection? in
            guard state.isClosed, state.callers == 0 else { return nil }
            defer { state.connection = nil }
            return state.connection
        }
        if let unused { storage.pool.give(unused) }
    }
}
