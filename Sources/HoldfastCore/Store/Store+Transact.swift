internal import CHoldfastPlatform
public import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

extension Store {
    /// Runs `body` in a transaction and commits it; on a conflict again, on the newest state. The transaction is
    /// ended by this call, not by the body.
    public func transact(
        _ options: TransactionOptions, _ body: (Transaction) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Receipt {
        let deadline = deadline(inMilliseconds: options.timeoutMilliseconds)
        if let key = options.idempotencyKey, let receipt = try replay(key) { return receipt }
        var attempt = 1
        var ticket: RetryQueue.Ticket?
        defer { if let ticket, !isForeign { retries.leave(ticket) } }
        while true {
            let transaction = try begin(options, isManaged: true)
            do throws(HoldfastError) {
                try body(transaction)
                try requireSameProcess()
                return try transaction.commit(attempts: attempt, deadline: deadline, isManager: true)
            } catch {
                try requireSameProcess()
                try? transaction.rollback(isManager: true)
                if let receipt = answerOfTheFaster(options.idempotencyKey) { return receipt }
                guard error.status == .conflict || error.tellsOfForeignLock else { throw error }
                guard attempt < options.maxAttempts else { throw Self.gaveUp(error, after: attempt) }
                diagnostics.info(
                    error.status == .conflict
                        ? "a transaction runs again after a conflict"
                        : "a transaction runs again after it was locked out",
                    [("attempt", .number(UInt64(attempt))), ("conflict", .json(error.detailJSON))])
                try requireSameProcess()
                let contention = error.contention ?? transaction.contention
                let granted = try awaitGrant(
                    &ticket, at: contention, attempt, of: options.maxAttempts, until: deadline)
                guard granted else {
                    // It may have come while this one waited.
                    if let receipt = answerOfTheFaster(options.idempotencyKey) { return receipt }
                    throw Self.gaveUp(error, after: attempt)
                }
                attempt += 1
            }
        }
    }

    /// After a conflict: waits until nobody runs who collided at the same entity or query, and answers false if that takes
    /// too long, or was the last attempt.
    private func awaitGrant(
        _ ticket: inout RetryQueue.Ticket?, at contention: Contention?, _ attempt: Int, of most: Int,
        until deadline: UInt64
    ) throws(HoldfastError) -> Bool {
        try Interrupt.look()
        // The library's own threads bring about what those in front may be waiting for.
        let line = hfplatform_thread_is_own() ? nil : contention
        switch retries.next(after: attempt, of: most, at: line, &ticket, until: deadline) {
        case .now: return true
        case .over: return false
        case .inLine(let contention):
            ticket = try retries.wait(in: contention, until: deadline)
            return ticket != nil
        case .afterPause(let pause):
            let gate = Gate()
            gate.wait(while: gate.number, nanoseconds: pause)
            return true
        }
    }

    /// What an earlier commit with this idempotency key answered.
    public func replay(_ key: [UInt8]) throws(HoldfastError) -> Receipt? {
        let record = try read { snapshot throws(HoldfastError) in try snapshot.idempotencyRecord(key) }
        guard let record, !keyAges.isExpired(record) else { return nil }
        return try Receipt(replaying: record.receipt)
    }

    /// The same, where it was this that was asked for.
    package func replay(_ key: [UInt8], of asked: UInt64) throws(HoldfastError) -> Receipt? {
        let record = try read { snapshot throws(HoldfastError) in try snapshot.idempotencyRecord(key) }
        guard let record, !keyAges.isExpired(record) else { return nil }
        guard record.fingerprint == asked else { throw Self.keyReused(key) }
        return try Receipt(replaying: record.receipt)
    }

    static func keyReused(_ key: [UInt8]) -> HoldfastError {
        HoldfastError(
            .keyReused,
            "the idempotency key \"\(String(decoding: key, as: UTF8.self))\" was used before for other writes: give "
                + "each piece of work a key of its own")
    }

    /// To be asked after any failure of a transaction with a key, also the body's own or a validator's: what stands in its way
    /// may be what the same request has stored, which came from elsewhere at the same time and was faster. Its answer is then
    /// that of both.
    func answerOfTheFaster(_ key: [UInt8]?) -> Receipt? {
        guard let key else { return nil }
        // What cannot be read now must not hide the failure.
        return (try? replay(key)) ?? nil
    }

    static func gaveUp(_ conflict: HoldfastError, after attempts: Int) -> HoldfastError {
        if conflict.status != .conflict { return conflict }
        return HoldfastError(
            .conflict,
            "the transaction met a conflict in each of \(attempts) attempts: raise max_attempts or timeout_ms, or let it "
                + "read less",
            detail: conflict.detail.filter { $0.name != "attempts" } + [("attempts", .number(UInt64(attempts)))],
            cause: conflict)
    }
}
