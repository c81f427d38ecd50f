internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// It builds on the row of the store that was known when it began. Each time that it reads it asks for the row, too, in the same
/// round trip and of the same state; another one means that it is overtaken. What it is to store goes to the server with its end
/// alone, as one statement that compares the row and moves it on.
///
/// Where others were faster before, and for what one statement cannot store, it locks the row: from there to COMMIT, at READ
/// COMMITTED, nobody else who writes to the store is under way, and each statement sees what those before have committed.
final class PostgreSQLWrite: StorageWrite {
    private let storage: PostgreSQLStorage
    private let connection: Connection
    private let row: StoreRow
    private let isDurable: Bool
    private var isLocked: Bool
    private(set) var isOvertaken = false
    /// Whether the row was seen to be the newest after this has begun.
    private var isConfirmed = false
    private var isOpen = true
    private var hasChanged = false
    private var prefetched = PrefetchedState()
    /// For the one statement; nil where it is locked.
    private var batch: WriteBatch?
    /// What goes to the server with COMMIT, where it is locked.
    private var statements: [Statement] = []
    private var changesCatalogue = false
    private var newest: CommitLogEntry?
    private var reservedThrough: CommitSequence?
    private var logStart: CommitSequence

    init(
        of storage: PostgreSQLStorage, _ row: StoreRow, on connection: Connection, durable: Bool, isLocked: Bool
    ) {
        self.storage = storage
        self.row = row
        self.connection = connection
        self.isLocked = isLocked
        isDurable = durable
        logStart = row.logStart
        if !isLocked { connection.frame = frame }
        // Nothing was stored, so that it may begin anew with another connection: as after lost races, but not for ever.
        connection.noteLoss = { [unowned self] error in isOvertaken = storage.loseRace(self.isLocked ? error : nil) }
    }

    deinit { rollback() }

    var excludesOthers: Bool { isLocked }

    /// What is read is of one state, whose row is the last thing that is read.
    private var frame: Connection.Frame {
        let question = storage.states.question
        return Connection.Frame(
            before: [Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), .byKeys],
            after: [StoreRow.statement(store, question.known), Statement("COMMIT")],
            check: { [unowned self] rows throws(HoldfastError) in
                try compare(storage.states.checked(rows, question))
            })
    }

    private func compare(_ found: StoreRow) throws(HoldfastError) {
        guard found.isSameState(as: row) else { throw overtaken() }
        isConfirmed = true
    }

    private func overtaken() -> HoldfastError {
        isOvertaken = storage.loseRace()
        return HoldfastError(.busy, "another process has committed to \(storage.location) meanwhile: run it again")
    }

    /// Locks the row, where it is still the one on which this builds.
    private func lock() throws(HoldfastError) {
        if isLocked { return }
        connection.frame = nil
        let question = storage.states.question
        connection.isInTransaction = true
        do throws(HoldfastError) {
            // Who waits longer does so where deadlines are looked at.
            let patience = limits.turnInterval
            let rows = try connection.run(
                StoreRow.locking(store, question.known, patience: patience), "beginning a commit in")
            let found = try storage.states.checked(rows.last!, question)
            try compare(found)
            // Sequences may have been lost, which who locks the row first takes care of.
            guard found.isSameRun || found.reserved <= found.head else { throw overtaken() }
        } catch {
            if error.tellsOfRace { isOvertaken = storage.loseRace(error) }
            throw error
        }
        isLocked = true
        if let batch = batch.take() { try store(batch) }
    }

    var head: CommitSequence { row.head }

    var changeToken: ChangeToken? { KnownStates.token(of: row) }

    private var store: Int64 { storage.number }
    private var limits: Limits { storage.environment.limits }

    // MARK: Reading

    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        let missing = try prefetched.fetch(keys, body)
        try connection.fetch(missing.map { keys[$0] }, of: store, limits) { index, view throws(HoldfastError) in
            try body(missing[index], view)
        }
    }

    func prefetch(_ needs: WriteNeeds) throws(HoldfastError) {
        prefetched = try connection.prefetch(needs, of: store, limits)
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
        guard let count = KnownStates.transactions(from: token, to: row), count <= limit else { return nil }
        return try connection.commitLog(
            ofTransactions: count, behind: sequence, through: head, start: logStart, of: store, limits)
    }

    func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?] {
        if let known = prefetched.idempotencyRecords(keys) { return known }
        return try connection.idempotencyRecords(keys, of: store)
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try catalogue().repositories }

    func indexes() throws(HoldfastError) -> [IndexRecord] { try catalogue().indexes }

    private func catalogue() throws(HoldfastError) -> Connection.Catalogue {
        if changesCatalogue { return try connection.catalogue(row.catalogue, of: store) }
        return try storage.states.catalogue(of: row) { () throws(HoldfastError) in
            try connection.catalogue(row.catalogue, of: store)
        }
    }

    func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        if let ids = prefetched.ids(under: key, of: index.id) {
            for id in ids where try !id.withBytes(body) { return }
            return
        }
        let rows = try connection.run(
            [
                Statement(
                    "SELECT id FROM holdfast_entry WHERE store = $1 AND index = $2 AND key = $3", .integer(store),
                    .integer(index.id), .bytes(key))
            ], "reading from")[0]
        for row in 0..<rows.count where try !body(rows.bytes(row, 0)) { return }
    }

    func lastKeys(
        in ranges: [KeyRange], of index: IndexRecord,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        var first = 0
        while first < ranges.count {
            let part = ranges[first..<min(ranges.count, first + limits.serverRows)]
            let rows = try connection.run(
                [
                    Statement(
                        """
                        SELECT k.place, e.key FROM unnest($3::bytea[], $4::bytea[]) WITH ORDINALITY AS k (lower, upper, place)
                        CROSS JOIN LATERAL (SELECT key FROM holdfast_entry f WHERE f.store = $1 AND f.index = $2
                        AND f.key >= k.lower AND f.key < k.upper ORDER BY key DESC, id DESC LIMIT 1) AS e
                        """, .integer(store), .integer(index.id), .byteArrays(part.map(\.lower)),
                        .byteArrays(part.map(\.upper)))
                ], "reading from")[0]
            for row in 0..<rows.count { try body(first + Int(rows.integer(row, 0)) - 1, rows.bytes(row, 1)) }
            first += part.count
        }
    }

    // MARK: Writing

    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        try lock()
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
        if !isLocked && self.batch == nil && batch.suitsOneStatement {
            self.batch = batch
        } else {
            try lock()
            try store(batch)
        }
    }

    private func store(_ batch: WriteBatch) throws(HoldfastError) {
        let connection = connection
        var statements = BatchStatements(store, isUnwanted: batch.isUnwanted, ready: self.statements) {
            part throws(HoldfastError) in try connection.run(part, "writing to")
        }
        self.statements = []
        try statements.add(batch, logStart: logStart)
        self.statements = statements.ready
    }

    func confirm() throws(HoldfastError) -> Bool {
        if !isLocked && !isConfirmed {
            do throws(HoldfastError) { try connection.run([], "reading from") } catch {
                guard isOvertaken else { throw error }
            }
        }
        rollback()
        return !isOvertaken
    }

    func commit() throws(HoldfastError) -> WriteOutcome {
        guard hasChanged else { return try confirm() ? .stored(changeToken) : .overtaken }
        isOpen = false
        let written = StoreRow.Written(
            head: newest?.sequence ?? head, commitIdentifier: newest?.commitIdentifier ?? row.commitIdentifier,
            reserved: storage.reserve(reservedThrough, over: row), logStart: logStart,
            changesCatalogue: changesCatalogue)
        let isDurable = isDurable || written.reserved > row.reserved
        let time = Connection.now()
        connection.frame = nil
        connection.noteLoss = nil
        defer { storage.end(connection) }
        let all: [Statement]
        do throws(HoldfastError) {
            all =
                if let batch { [try compared(batch, written, isDurable)] } else {
                    statements + [.durability(isDurable), written.statement(store), Statement("COMMIT")]
                }
        } catch { return .refused(error) }
        do throws(HoldfastError) {
            let rows = try connection.run(all, "committing to")
            if batch != nil {
                guard rows[0].affected == 1 else {
                    _ = storage.loseRace()
                    return .overtaken
                }
            } else {
                // Of a transaction that has failed COMMIT says that it was rolled back.
                guard rows[rows.count - 2].affected == 1, rows[rows.count - 1].command == "COMMIT" else {
                    return .refused(
                        HoldfastError(
                            .io, "committing to \(storage.location) failed (the server rolled back): run it again"))
                }
                connection.isInTransaction = false
            }
        } catch {
            // What the server refuses with words of its own is rolled back; a session that ends may have done it.
            if error.leavesOutcomeOpen { throw error }
            return error.tellsOfRace && storage.loseRace(error) ? .overtaken : .refused(error)
        }
        let after = row.after(written)
        storage.win(after, at: time)
        return .stored(KnownStates.token(of: after))
    }

    /// Stores a batch where the row is still the one on which this builds, and tells of one row if it was.
    private func compared(
        _ batch: WriteBatch, _ written: StoreRow.Written, _ isDurable: Bool
    ) throws(HoldfastError) -> Statement {
        var parts = BatchStatements(store)
        try parts.add(batch, logStart: logStart)
        let moving = written.comparison(
            with: row, store, isDurable: isDurable, patience: max(1, limits.turnInterval / 1_000_000))
        // The row of the log comes last.
        let last = batch.commitLog.isEmpty ? [Statement("SELECT FROM moved")] : []
        return Statement(moving: [moving] + parts.ready + last, storage.texts).repeated
    }

    func rollback() {
        guard isOpen else { return }
        isOpen = false
        connection.frame = nil
        connection.noteLoss = nil
        storage.end(connection)
    }
}

extension Statement {
    /// Has a transaction find rows by their keys, in the order of these, whatever the role's settings. Before its statistics tell
    /// how large a store is, the server would take it for a two-hundredth of all, and read all of it to find a few rows.
    static let byKeys = Statement(
        "SELECT "
            + ([
                "enable_bitmapscan", "enable_hashjoin", "enable_material", "enable_mergejoin", "enable_seqscan",
                "enable_sort", "jit",
            ]
            .map { ($0, "off") }
            + ["enable_indexonlyscan", "enable_indexscan", "enable_nestloop"].map { ($0, "on") })
            .map { "set_config('\($0)', '\($1)', true)" }.joined(separator: ", ")
    ).repeated

    /// How the transaction's COMMIT waits: at least for the server's own disk, or for nothing.
    static func durability(_ isDurable: Bool) -> Statement { Statement("SELECT \(synchronousCommit(isDurable))") }

    static func synchronousCommit(_ isDurable: Bool) -> String {
        isDurable
            ? """
            CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true)
            ELSE '' END
            """ : "set_config('synchronous_commit', 'off', true)"
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

        /// Of a row that is locked.
        func statement(_ store: Int64) -> Statement {
            Statement(Self.update(run: Layout.serverRun) + " WHERE s.store = $1", parameters(store))
        }

        /// Of one that is still as it was found. The settings come into force before the row may have to be waited for: that is
        /// locked once all conditions are met.
        func comparison(with row: StoreRow, _ store: Int64, isDurable: Bool, patience: Int) -> Statement {
            Statement(
                isDurable ? Self.durable : Self.relaxed,
                parameters(store) + [
                    .integer(Int64(clamping: row.head)), .integer(Int64(bitPattern: row.commitIdentifier)),
                    .integer(Int64(bitPattern: row.writes)), .text(String(patience)),
                ])
        }

        private static let durable = comparison(isDurable: true)
        private static let relaxed = comparison(isDurable: false)

        private static func comparison(isDurable: Bool) -> String {
            """
            \(update(run: "CASE WHEN s.reserved > s.head THEN s.server_run ELSE \(Layout.serverRun) END"))
            WHERE s.store = $1 AND s.head = $7 AND s.commit_id = $8 AND s.writes = $9 AND s.format <= \(Layout.format)
            AND set_config('lock_timeout', $10, true) IS NOT NULL AND \(Statement.synchronousCommit(isDurable)) IS NOT NULL
            AND (s.reserved <= s.head OR s.server_run = \(Layout.serverRun)) RETURNING 1 AS one
            """
        }

        private static func update(run: String) -> String {
            """
            UPDATE holdfast_store AS s SET head = $2, commit_id = $3, reserved = $4, log_start = $5,
            catalogue = catalogue + $6, writes = writes + 1, server_run = \(run)
            """
        }

        private func parameters(_ store: Int64) -> [Statement.Parameter] {
            [
                .integer(store), .integer(Int64(clamping: head)), .integer(Int64(bitPattern: commitIdentifier)),
                .integer(Int64(clamping: reserved)), .integer(Int64(clamping: logStart)),
                .integer(changesCatalogue ? 1 : 0),
            ]
        }
    }
}
