public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastStorage
internal import Synchronization

extension PostgreSQLStorage {
    /// One round trip, which all share that ask while another's is under way.
    public var changeToken: ChangeToken? {
        // Whatever is asked from here on tells of what was committed before.
        let wanted = questions.load(ordering: .acquiring) + 1
        do throws(HoldfastError) {
            return try told.withLockAsking { told throws(HoldfastError) in
                if told.number >= wanted { return told.token }
                told.number = questions.add(1, ordering: .acquiringAndReleasing).newValue
                told.token = nil
                told.token = try ask(&told)
                return told.token
            }
        } catch {
            // Who is told nothing asks the server for more, and hears of it there.
            Interrupt.putOff()
            return nil
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
                if error.status == .cancelled { throw error }
                if isFresh { return nil }
            }
        }
        return nil
    }

    public func fetchNewest(
        _ key: EntityKey, since known: KnownState?, _ body: (NewestRead) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try pool.using { connection throws(HoldfastError) in
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
            let changes = try known.flatMap { known throws(HoldfastError) in
                try self.changes(since: known, in: rows[1], to: row)
            }
            try key.id.bytes.withBytes { id throws(HoldfastError) in
                let entity =
                    rows[0].isNull(0, StoreRow.columnCount)
                    ? nil : Connection.view(rows[0], 0, id: id, version: StoreRow.columnCount)
                try body(
                    NewestRead(sequence: row.head, token: KnownStates.token(of: row), changes: changes, entity: entity))
            }
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
