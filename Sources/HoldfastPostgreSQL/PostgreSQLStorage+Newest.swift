public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastStorage
internal import Synchronization

extension PostgreSQLStorage {
    /// The row as a statement of its own finds it.
    func row(on connection: Connection) throws(HoldfastError) -> StoreRow {
        try states.row(of: number, on: connection)
    }

    /// One round trip, which all share that ask while another's is under way.
    public var changeToken: ChangeToken? {
        get throws(HoldfastError) {
            // Whatever is asked from here on tells of what was committed before.
            let wanted = questions.load(ordering: .acquiring) + 1
            return try told.withLockAsking { told throws(HoldfastError) in
                if told.number >= wanted { return told.token }
                told.number = questions.add(1, ordering: .acquiringAndReleasing).newValue
                told.token = nil
                told.token = try ask(&told)
                return told.token
            }
        }
    }

    public var isRemote: Bool { true }

    public func knownToken(within age: UInt64) -> ChangeToken? {
        if age == 0 { return nil }
        if age == .max { return states.token(since: 0) }
        let now = Connection.now()
        if age == maxStaleness { follower.want(at: now) }
        return states.token(since: now - min(now, age))
    }

    public var loss: HoldfastError? { states.loss }

    private func ask(_ told: inout Told) throws(HoldfastError) -> ChangeToken? {
        for _ in 0..<2 {
            let isFresh = told.connection == nil
            do throws(HoldfastError) {
                let connection =
                    // Whoever gives one back may have to ask first.
                    if let open = told.connection { open } else { try pool.take(waits: false) }
                told.connection = connection
                return KnownStates.token(of: try row(on: connection))
            } catch {
                if let connection = told.connection.take() { pool.give(connection) }
                if [.cancelled, .forked].contains(error.status) { throw error }
                if isFresh { return nil }
            }
        }
        return nil
    }

    public func fetchNewest(
        _ key: EntityKey, since known: KnownState?, _ body: (NewestRead) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try pool.using { connection throws(HoldfastError) in
            let expected = self.states.expected
            if let (row, question) = expected, self.expectation.isNothing,
                known.map({ $0.token == KnownStates.token(of: row) }) ?? true
            {
                let rows = try connection.run([row.statement(self.number, stillWith: key)], "reading from")[0]
                if rows.count == 1 {
                    try self.states.confirm(row, question)
                    return try Self.lend(key, rows, 0, of: row, known.map { _ in [] }, body)
                }
            }
            let question = self.states.question
            var statements = [StoreRow.statement(self.number, question.known, with: key)]
            if let known {
                statements.append(
                    .log(
                        behind: known.sequence, limit: known.limit,
                        bytes: self.environment.limits.cachedTransactionBytes,
                        of: self.number))
            }
            let rows = try connection.run(statements, "reading from")
            let row = try self.states.checked(rows[0], question)
            self.expectation.note(
                isNews: expected.map { !row.isSameState(as: $0.row) } ?? false, took: Connection.now() &- question.time)
            let changes = try known.flatMap { known throws(HoldfastError) in
                try self.changes(since: known, in: rows[1], to: row)
            }
            try Self.lend(key, rows[0], StoreRow.columnCount, of: row, changes, body)
        }
    }

    /// The entity in a row whose version stands in this column.
    private static func lend(
        _ key: EntityKey, _ rows: Rows, _ version: Int, of row: StoreRow, _ changes: [CommitLogEntry]?,
        _ body: (NewestRead) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try key.id.bytes.withBytes { id throws(HoldfastError) in
            let entity = rows.isNull(0, version) ? nil : Connection.view(rows, 0, id: id, version: version)
            try body(
                NewestRead(sequence: row.head, token: KnownStates.token(of: row), changes: changes, entity: entity))
        }
    }

    /// What a part of the log tells that was read behind the row.
    private func changes(
        since known: KnownState, in rows: Rows, to row: StoreRow
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard let count = KnownStates.transactions(from: known.token, to: row), count <= known.limit,
            known.sequence + 1 >= row.logStart
        else { return nil }
        var entries: [CommitLogEntry] = []
        var transactions: UInt64 = 0
        for place in 0..<rows.count where CommitSequence(clamping: rows.integer(place, 0)) <= row.head {
            transactions += 1
            entries += try Connection.logged(in: rows, place, location)
        }
        return transactions == count ? entries.filter { $0.sequence > known.sequence } : nil
    }
}

/// Whether a plain read expects that nothing is new. That takes the server half the time, but where something is new, one round trip
/// more: so none does while others write, nor of a server that is far.
final class Expectation: Sendable {
    /// How many reads are still to ask what is new, once something was.
    private let asking = Atomic<Int>(0)
    private static let reads = 16
    /// How long the fastest answer took.
    private let fastest = Atomic<UInt64>(.max)
    private let near: UInt64

    /// `near`: how long an answer takes, in nanoseconds, of a server that is.
    init(near: Int) { self.near = UInt64(near) }

    var isNothing: Bool { asking.load(ordering: .relaxed) == 0 && fastest.load(ordering: .relaxed) <= near }

    /// Told what came of each read.
    func note(isNews: Bool, took: UInt64) {
        let left = asking.load(ordering: .relaxed)
        if isNews || left > 0 { asking.store(isNews ? Self.reads : left - 1, ordering: .relaxed) }
        if took < fastest.load(ordering: .relaxed) { fastest.store(took, ordering: .relaxed) }
    }
}

extension Statement {
    /// Rows of the commit log, but for long ones.
    fileprivate static func log(behind sequence: CommitSequence, limit: Int, bytes: Int, of store: Int64) -> Statement {
        Statement(
            """
            SELECT sequence, commit_id, time, changes FROM holdfast_log WHERE store = $1 AND sequence > $2
            AND octet_length(changes) <= $3 ORDER BY sequence LIMIT $4
            """, .integer(store), .integer(Int64(clamping: sequence)), .integer(Int64(clamping: bytes)),
            .integer(Int64(clamping: limit))
        ).repeated
    }
}
