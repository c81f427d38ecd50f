internal import HoldfastCore
internal import HoldfastEnvironment

extension Store {
    /// Runs `body` as one transaction: everything that it does with this store's repositories is stored, or nothing.
    ///
    ///     try await store.transaction {
    ///         guard var account = try await accounts.fetch(id: "a") else { return }
    ///         account.balance -= 10
    ///         try await accounts.save(account)
    ///     }
    ///
    /// Calls in the body join the transaction, those of child tasks too. Reads see one snapshot and the transaction's own
    /// writes.
    ///
    /// Inside another transaction of this store the body joins that one, whose options count, as a part that goes back by
    /// itself: when it throws, what it wrote is discarded, and the transaction around it, if it catches the error, goes on
    /// without it. What it read stays read. Where it cannot go back alone, the transaction around it can only roll back,
    /// and throws: `.unsupported` when a member of its object trees is no ``SavepointTransactable``, `.invalidState` when
    /// other child tasks wrote in the transaction at the same time.
    ///
    /// A task that is begun inside with `Task` and goes on behind the end is refused single calls (`.invalidState`), because
    /// what was to be stored together must not be stored by itself; transactions of its own work as ever. One that has nothing
    /// to do with the transaction is begun with `Task.detached`.
    ///
    /// When `body` throws, the transaction is rolled back and the error thrown on unchanged. When something that was read
    /// has changed meanwhile, `body` **runs again** on the newest state, once those of this process have ended that collided
    /// at the same entity, or by a query of the same repository, before: let it change nothing outside that may not be
    /// changed twice. `.conflict` is thrown only when attempts or time are used up.
    ///
    /// A task that is cancelled while its commit is queued gets `CancellationError`, and nothing is stored; once the
    /// commit is being stored, its true outcome is told.
    ///
    /// - Returns: What `body` returned in the run that was committed.
    @discardableResult
    public nonisolated(nonsending) func transaction<Value>(
        _ options: TransactionOptions = .init(), _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        if let scope = TransactionScope.scope(of: self) { return try await scope.part(of: self, body) }
        return try await run(options.checked(), body).value
    }

    /// As `transaction`, and answers the receipt too. Only for the outermost transaction, because the others are not
    /// committed by themselves: `.invalidState`.
    @discardableResult
    public nonisolated(nonsending) func transactionWithReceipt<Value>(
        _ options: TransactionOptions = .init(), _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> (value: Value, receipt: Receipt) {
        try requireOutermost()
        return try await run(options.checked(), body)
    }

    /// As `transaction`, at most once for each key: the first commit with the key is stored and its receipt kept. When
    /// the key was used before, `body` does not run, and that receipt is answered with `isReplayed`.
    ///
    /// - Parameters:
    ///   - idempotencyKey: 1 to 255 bytes. How long keys are kept is an option of the store.
    ///   - options: As of the other `transaction`.
    ///   - body: As of the other `transaction`.
    @discardableResult
    public nonisolated(nonsending) func transaction(
        idempotencyKey: String, _ options: TransactionOptions = .init(),
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws -> Receipt {
        try requireOutermost()
        let options = try options.checked(idempotencyKey: idempotencyKey)
        let earlier = try await waiting { [core] () throws(CoreError) in try core.replay(Array(idempotencyKey.utf8)) }
        if let earlier { return Receipt(earlier, attempts: earlier.attempts) }
        do {
            return try await run(options, body).receipt
        } catch  where !(error is CancellationError) {
            // What stood in its way may be what the same request has stored, which came from elsewhere at the same time and
            // was faster.
            let same = try? await waiting { [core] () throws(CoreError) in try core.replay(Array(idempotencyKey.utf8)) }
            guard let same = same ?? nil else { throw error }
            return Receipt(same, attempts: same.attempts)
        }
    }

    /// Runs `body` so that its own part can be undone: when it throws, what it wrote is discarded, the error is thrown on,
    /// and the transaction around it, if it catches the error, goes on. What was read stays read.
    ///
    /// Only inside a transaction (else `.invalidState`), and not beside other writes of the same transaction in parallel
    /// child tasks, which would be undone too.
    @discardableResult
    public nonisolated(nonsending) func savepoint<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        let trees = try TransactionScope.trees(forSavepointOf: self)
        let savepoint = try await trees.savepoint(of: self)
        let value: Value
        do {
            value = try await body()
            try await trees.release(savepoint, of: self)
        } catch {
            // Should this fail, the transaction has ended, and with it what was written.
            try? await trees.rollBack(to: savepoint, of: self)
            throw error
        }
        return value
    }

    // MARK: Running

    func requireOutermost() throws {
        guard TransactionScope.scope(of: self) == nil else {
            throw HoldfastError(
                .invalidState,
                "this transaction would join the one around it, which alone gets a receipt: use transaction { }")
        }
    }

    nonisolated(nonsending) func run<Value>(
        _ options: HoldfastCore.TransactionOptions, trees: [any Transactable] = [],
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> (value: Value, receipt: Receipt) {
        let deadline = ContinuousClock.now + .milliseconds(options.timeoutMilliseconds)
        let coreDeadline = core.deadline(inMilliseconds: options.timeoutMilliseconds)
        var attempt = 1
        var ticket: RetryQueue.Ticket?
        defer { if let ticket { core.retries.leave(ticket) } }
        while true {
            try Task.checkCancellation()
            var options = options
            options.timeoutMilliseconds = UInt64(
                clamping: max(1, ContinuousClock.now.duration(to: deadline).milliseconds))
            let transaction = try Transaction(self, options, place: TransactionTrees.Place(#isolation))
            do {
                try await transaction.enlist(trees)
                let value = try await transaction.joined(body)
                let receipt = try await transaction.commit(until: deadline)
                return (value, Receipt(receipt, attempts: receipt.isReplayed ? receipt.attempts : attempt))
            } catch {
                // It may have ended already; whatever this says must not hide the error.
                try? await transaction.rollback()
                guard let conflict = HoldfastError(behind: error), conflict.status == .conflict else { throw error }
                guard
                    try await awaitGrant(
                        &ticket, at: transaction.core.contention, attempt, of: options.maxAttempts, until: deadline,
                        coreDeadline)
                else { throw Self.gaveUp(conflict, after: attempt) }
                attempt += 1
            }
        }
    }

    /// After a conflict: waits until nobody runs who collided at the same entity or query, and answers false if that
    /// takes too long. Who has the grant already keeps it.
    private nonisolated(nonsending) func awaitGrant(
        _ ticket: inout RetryQueue.Ticket?, at collided: Contention?, _ attempt: Int, of most: Int,
        until deadline: ContinuousClock.Instant, _ coreDeadline: UInt64
    ) async throws -> Bool {
        let contention: Contention
        switch core.retries.next(after: attempt, of: most, at: collided, &ticket, until: coreDeadline) {
        case .now: return true
        case .over: return false
        case .afterPause(let pause):
            try await Task.sleep(for: .nanoseconds(pause))
            return true
        case .inLine(let line): contention = line
        }
        let grant = Future<Bool, any Error>(identifier: "grant")
        let entered = RetryQueue.Ticket(contention) { grant.complete(.success($0)) }
        ticket = entered
        core.retries.enter(entered)
        do {
            _ = try await grant.value(until: deadline)
            return true
        } catch let error as HoldfastError where error.status == .timeout {
            return false
        }
    }

    private static func gaveUp(_ conflict: HoldfastError, after attempts: Int) -> HoldfastError {
        HoldfastError(
            .conflict,
            "the transaction met a conflict in each of \(attempts) attempts: raise maxAttempts or timeout, or let it read "
                + "less",
            detail: conflict.detail.with("attempts", attempts), cause: conflict)
    }
}
