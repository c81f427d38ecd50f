public import HoldfastEnvironment
internal import HoldfastStorage

extension PostgreSQLStorage {
    public func sync() throws(HoldfastError) {
        if isReadOnly { return }
        // A transaction that writes nothing waits for nothing; what this one writes is in nobody's way, and it in nobody's.
        let key = withUnsafeBytes(of: environment.random.next()) { Statement.Parameter.bytes(Array($0)) }
        try pool.using { connection throws(HoldfastError) in
            let question = self.states.question
            connection.isInTransaction = true
            let rows = try connection.run(
                [
                    Statement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"), Statement.durability(true),
                    StoreRow.statement(self.number, question.known),
                    Statement(
                        """
                        INSERT INTO holdfast_idempotency (store, key, sequence, fingerprint, time, receipt)
                        VALUES ($1, $2, 0, 0, 0, '')
                        """, .integer(number), key),
                    Statement(
                        "DELETE FROM holdfast_idempotency WHERE store = $1 AND key = $2", .integer(number), key),
                    Statement("COMMIT"),
                ], "syncing")
            connection.isInTransaction = false
            // What was lost is nowhere durable.
            _ = try self.states.checked(rows[2], question)
        }
    }
}
