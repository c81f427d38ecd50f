internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// From the lock of the store's row to COMMIT, at READ COMMITTED: nobody else who writes to the store is under way, and
/// each statement sees what those before have committed.
final class PostgreSQLWrite: StorageWrite {
    private let storage: PostgreSQLStorage
    private let connection: Connection
    private let row: StoreRow
    private let isDurable: Bool
    private var isOpen = true
    private var hasChanged = false
    private var changesCatalogue = false
    private var newest: CommitLogEntry?
    private var reservedThrough: CommitSequence?
    private var logStart: CommitSequence

    init(of storage: PostgreSQLStorage, _ row: StoreRow, on connection: Connection, durable: Bool) {
        self.storage = storage
        self.row = row
        self.connection = connection
        isDurable = durable
        logStart = row.logStart
    }

    deinit { rollback() }

    var head: CommitSequence { row.head }

    var changeToken: ChangeToken? { storage.token(of: row) }

    private var store: Int64 { storage.number }
    private var limits: Limits { storage.environment.limits }

    // MARK: Reading

    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        var first = 0
        while first < keys.count {
            let part = keys[first..<min(keys.count, first + limits.serverRows)]
            let rows = try connection.run(
                [
                    Statement(
                        """
                        SELECT k.place, e.version, e.body
                        FROM unnest($2::int8[], $3::bytea[]) WITH ORDINALITY AS k (repository, id, place)
                        CROSS JOIN LATERAL (SELECT version, body FROM holdfast_entity f WHERE f.store = $1
                        AND f.repository = k.repository AND f.id = k.id LIMIT 1) AS e
                        """, .integer(store), .integers(part.map(\.repository)), .byteArrays(part.map(\.id.bytes)))
                ], "reading from")[0]
            for row in 0..<rows.count {
                let place = first + Int(rows.integer(row, 0)) - 1
                try keys[place].id.bytes.withBytes { id throws(HoldfastError) in
                    try body(
                        place,
                        EntityView(
                            id: id, version: CommitSequence(clamping: rows.integer(row, 1)), body: rows.bytes(row, 2)))
                }
            }
            first += part.count
        }
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try connection.commitLog(after: sequence, limit: limit, start: logStart, of: store, limits)
    }

    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) {
        try connection.commitLogSizes(of: store, limits, body)
    }

    func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard let count = storage.transactions(from: token, to: row), count <= limit else { return nil }
        return try connection.commitLog(
            ofTransactions: count, behind: sequence, through: head, start: logStart, of: store, limits)
    }

    func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?] {
        try connection.idempotencyRecords(keys, of: store)
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try catalogue().repositories }

    func indexes() throws(HoldfastError) -> [IndexRecord] { try catalogue().indexes }

    private func catalogue() throws(HoldfastError) -> Connection.Catalogue {
        if changesCatalogue { return try connection.catalogue(row.catalogue, of: store) }
        return try storage.catalogue(row.catalogue) { () throws(HoldfastError) in
            try connection.catalogue(row.catalogue, of: store)
        }
    }

    func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        let rows = try connection.run(
            [
                Statement(
                    "SELECT id FROM holdfast_entry WHERE store = $1 AND index = $2 AND key = $3", .integer(store),
                    .integer(index.id), .bytes(key))
            ], "reading from")[0]
        for row in 0..<rows.count where try !body(rows.bytes(row, 0)) { return }
    }

    // MARK: Writing

    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        hasChanged = true
        let rest = try connection.run(
            [
                Statement(
                    """
                    SELECT key, id FROM holdfast_entry WHERE store = $1 AND index = $2 ORDER BY key, id OFFSET $3 LIMIT 1
                    """, .integer(store), .integer(index), .integer(Int64(clamping: limit)))
            ], "reading from")[0]
        let removal = "DELETE FROM holdfast_entry WHERE store = $1 AND index = $2"
        try connection.run(
            [
                rest.count == 0
                    ? Statement(removal, .integer(store), .integer(index))
                    : Statement(
                        removal + " AND (key, id) < ($3, $4)", .integer(store), .integer(index),
                        .bytes(Array(rest.bytes(0, 0))), .bytes(Array(rest.bytes(0, 1))))
            ], "writing to")
        return rest.count == 0
    }

    func apply(_ batch: WriteBatch) throws(HoldfastError) {
        hasChanged = true
        changesCatalogue = changesCatalogue || batch.changesCatalogue
        newest = batch.commitLog.last ?? newest
        reservedThrough = batch.reservedThrough ?? reservedThrough
        // The newest entry stays, whatever is asked: it tells the head.
        logStart = max(logStart, min(batch.trimCommitLogBelow ?? 0, newest?.sequence ?? head))
        var statements = BatchStatements(store, isUnwanted: batch.isUnwanted) { part throws(HoldfastError) in
            try self.connection.run(part, "writing to")
        }
        try statements.add(batch, logStart: logStart)
        try statements.flush()
    }

    func commit() throws(HoldfastError) -> ChangeToken? {
        guard hasChanged else {
            rollback()
            return changeToken
        }
        isOpen = false
        let written = StoreRow.Written(
            head: newest?.sequence ?? head, commitIdentifier: newest?.commitIdentifier ?? row.commitIdentifier,
            reserved: storage.reserve(reservedThrough, over: row), logStart: logStart,
            changesCatalogue: changesCatalogue)
        do throws(HoldfastError) {
            let rows = try connection.run(
                [
                    Statement.durability(isDurable || written.reserved > row.reserved), written.statement(store),
                    Statement("COMMIT"),
                ], "committing to")
            // Of a transaction that has failed COMMIT says that it was rolled back.
            guard rows[1].affected == 1, rows[2].command == "COMMIT" else {
                throw HoldfastError(
                    .io, "committing to \(storage.location) failed (the server rolled back): run it again")
            }
        } catch {
            storage.end(connection)
            throw error
        }
        connection.isInTransaction = false
        storage.end(connection)
        storage.note(KnownCommit(sequence: written.head, identifier: written.commitIdentifier))
        return storage.token(head: written.head, written.commitIdentifier, writes: row.writes &+ 1)
    }

    func rollback() {
        guard isOpen else { return }
        isOpen = false
        storage.end(connection)
    }
}

extension Statement {
    /// Has a transaction find rows by their keys, in the order of these. Before its statistics tell how large a store is, the
    /// server would take it for a two-hundredth of all, and read all of it to find a few rows.
    static let byKeys = Statement(
        "SELECT "
            + ["bitmapscan", "hashjoin", "material", "mergejoin", "seqscan", "sort"]
            .map { "set_config('enable_\($0)', 'off', true)" }.joined(separator: ", "))

    /// How the transaction's COMMIT waits: at least for the server's own disk, or for nothing.
    static func durability(_ isDurable: Bool) -> Statement {
        Statement(
            isDurable
                ? """
                SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                ELSE current_setting('synchronous_commit') END, true)
                """ : "SELECT set_config('synchronous_commit', 'off', true)")
    }
}

extension StoreRow {
    /// What a write transaction leaves in the row.
    struct Written {
        var head: CommitSequence
        var commitIdentifier: UInt64
        var reserved: CommitSequence
        var logStart: CommitSequence
        var changesCatalogue = false

        func statement(_ store: Int64) -> Statement {
            Statement(
                """
                UPDATE holdfast_store SET head = $2, commit_id = $3, reserved = $4, log_start = $5,
                catalogue = catalogue + $6, writes = writes + 1, server_run = \(Layout.serverRun) WHERE store = $1
                """, .integer(store), .integer(Int64(clamping: head)), .integer(Int64(bitPattern: commitIdentifier)),
                .integer(Int64(clamping: reserved)), .integer(Int64(clamping: logStart)),
                .integer(changesCatalogue ? 1 : 0))
        }
    }
}
