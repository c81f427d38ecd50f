internal import HoldfastCore

/// A transaction whose steps are calls, for whoever owns a thread: the calls of ``Transaction``, which wait on the
/// thread that makes them.
///
///     let transaction = try store.begin()
///     try transaction.joined { try accounts.save(changed) }
///     try transaction.commit()
///
/// Object trees that are enlisted here are told on this thread, and on it the transaction is to be ended.
public struct BlockingTransaction: Sendable {
    /// The same transaction, to be awaited.
    public let transaction: Transaction

    /// Where it stands: ``Transaction/state``, refused where blocking calls are.
    public func state() throws -> Transaction.State {
        try now { () throws(CoreError) in Transaction.State(transaction.core.phase) }
    }

    /// Runs `body` as a part of the transaction: blocking calls in it join. ``Transaction/joined(_:)``.
    /// - Returns: What `body` returned.
    @discardableResult
    public func joined<Value>(_ body: () throws -> Value) throws -> Value {
        let scope = TransactionScope(transaction.core, trees: transaction.trees)
        return try TransactionScope.$current.withValue(scope, operation: body)
    }

    /// Takes object trees into the transaction and begins their members: ``Transaction/enlist(_:)``. From now on it
    /// is validated, committed and rolled back on this thread.
    public func enlist(_ trees: any Transactable...) throws {
        try requireAllowed()
        try transaction.trees.enlistNow(trees)
    }

    /// Marks a place to which the transaction can be rolled back: ``Transaction/savepoint()``.
    public func savepoint() throws -> UInt64 {
        try requireAllowed()
        return try transaction.trees.savepointNow()
    }

    /// Discards what was written after the savepoint: ``Transaction/rollback(to:)``.
    public func rollback(to savepoint: UInt64) throws {
        try requireAllowed()
        try transaction.trees.rollBackNow(to: savepoint)
    }

    /// Asks whoever is to be asked before a commit: ``Transaction/validate()``.
    public func validate() throws {
        try ending(isCommitted: false) { isSealed in if isSealed { transaction.core.unseal() } }
    }

    /// Stores everything, or nothing, and waits for it: ``Transaction/commit()``.
    @discardableResult
    public func commit() throws -> Receipt {
        let receipt = try ending(isCommitted: true) { _ in
            do {
                return try translatingErrors { () throws(CoreError) in try transaction.core.commit() }
            } catch {
                transaction.core.unseal()
                throw error
            }
        }
        return Receipt(receipt, attempts: receipt.attempts)
    }

    /// Discards the transaction: ``Transaction/rollback()``.
    public func rollback() throws {
        try transaction.trees.require(.thread)
        defer { transaction.trees.release(at: .thread) }
        try now { () throws(CoreError) in try transaction.core.rollback() }
    }

    private func ending<Value>(isCommitted: Bool, _ body: (_ isSealed: Bool) throws -> Value) throws -> Value {
        defer { transaction.trees.release(at: .thread) }
        let isClaimed =
            try now { () throws(CoreError) in try transaction.core.claim(isCommitted: isCommitted) } ?? false
        if isClaimed { try transaction.sealClaimed(at: .thread) }
        return try body(isClaimed)
    }

    private func requireAllowed() throws { try transaction.store.requireBlocking() }

    private func now<Value>(_ body: () throws(CoreError) -> Value) throws -> Value {
        try requireAllowed()
        return try translatingErrors(body)
    }
}

extension Transaction {
    /// The transaction's calls for whoever owns a thread.
    public var blocking: BlockingTransaction { BlockingTransaction(transaction: self) }
}

extension BlockingStore {
    /// Begins a transaction whose steps are calls: ``Store/begin(idempotencyKey:_:)``.
    /// - Parameters:
    ///   - idempotencyKey: 1 to 255 bytes.
    ///   - options: As there.
    public func begin(
        idempotencyKey: String? = nil, _ options: TransactionOptions = .init()
    ) throws -> BlockingTransaction { try store.begin(idempotencyKey: idempotencyKey, options).blocking }
}
