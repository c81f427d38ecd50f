public import HoldfastEnvironment

/// Transactions over a tree alone. Whichever node they are asked of, they are its whole tree's.
extension Participant {
    /// Begins one; throws `.transactionActive` when the tree is in one.
    public func begin() throws(HoldfastError) -> TreeTransaction {
        let transaction = TreeTransaction()
        try transaction.enlist(self)
        return transaction
    }

    /// Begins one for a scope, or a scope inside the one that is active: a store's where the tree is enlisted in that.
    /// `outer`: where that one lies in the store's transaction; nil: in the newest of its scopes.
    public func beginOrJoin(in outer: UInt64? = nil) throws(HoldfastError) -> TreeScope {
        let active = try TreeLock.withLock { () throws(HoldfastError) -> TreeTransaction? in
            let transaction = root.transaction
            try transaction?.check(.rearrange)
            return transaction
        }
        guard let active else { return .outermost(try begin()) }
        guard active.isEnlisted else { return .inner(active, try active.beginScope()) }
        // Without it there is nothing to be stored any more.
        guard let transaction = active.storeTransaction else { return .inner(active, 0) }
        return .joined(transaction, try transaction.beginScope(in: outer))
    }

    /// Begins a scope inside the transaction that is active, and answers its number.
    public func beginScope() throws(HoldfastError) -> UInt64 {
        let transaction = try active(.any, mayBeEnlisted: true)
        if let transaction = transaction.storeTransaction { return try transaction.beginScope() }
        return try transaction.beginScope()
    }

    /// Ends it: what it changed stays a part of the transaction, or goes back.
    public func endScope(_ scope: UInt64, succeeded: Bool) throws(HoldfastError) {
        guard let transaction = TreeLock.withLock({ root.transaction }) else { return }
        if let transaction = transaction.storeTransaction {
            return try transaction.endScope(scope, succeeded: succeeded)
        }
        try transaction.endScope(scope, succeeded: succeeded)
    }

    /// Validates and commits. When a member refuses, the transaction stays open.
    public func commit(_ descriptor: TransactionDescriptor) throws(HoldfastError) {
        let transaction = try active(descriptor)
        try transaction.requireNoScope()
        try transaction.validate(in: nil)
        try transaction.commit()
    }

    public func rollback(_ descriptor: TransactionDescriptor) throws(HoldfastError) {
        try active(descriptor).rollback()
    }

    public func savepoint(_ descriptor: TransactionDescriptor) throws(HoldfastError) -> UInt64 {
        try active(descriptor).savepoint()
    }

    public func rollBack(to savepoint: UInt64, _ descriptor: TransactionDescriptor) throws(HoldfastError) {
        try active(descriptor).rollBackOwn(to: savepoint)
    }

    /// Runs `body` in a transaction: commits at its end, rolls back when it throws or a member refuses. Inside a
    /// transaction of the tree it joins that, as a scope of it.
    public func transact(_ body: () throws(HoldfastError) -> Void) throws(HoldfastError) {
        let scope = try beginOrJoin()
        do throws(HoldfastError) {
            try body()
        } catch {
            scope.fail()
            throw error
        }
        try scope.finish()
    }

    /// The transaction that is meant, ready to be ended. What is wrong with the descriptor is told before what is wrong
    /// with the transaction.
    private func active(
        _ descriptor: TransactionDescriptor, mayBeEnlisted: Bool = false
    ) throws(HoldfastError) -> TreeTransaction {
        try TreeLock.withLock { () throws(HoldfastError) in
            guard host != nil else { throw Self.freed }
            guard let transaction else {
                throw descriptor.isAny ? TransactionRefusal.notActive.error : Self.wrongDescriptor
            }
            guard descriptor.isAny || descriptor == transaction.descriptor else { throw Self.wrongDescriptor }
            if mayBeEnlisted { return transaction }
            try transaction.requireQuiet()
            guard !transaction.isEnlisted else {
                throw HoldfastError(
                    .invalidState,
                    "the object tree is enlisted in a store's transaction, which ends it: commit or roll back that")
            }
            return transaction
        }
    }

    private static let wrongDescriptor = HoldfastError(
        .wrongDescriptor, "the descriptor is of another transaction than the object tree's active one")
}

/// What a body runs in.
public enum TreeScope: Sendable {
    /// A transaction of the tree, for the body alone.
    case outermost(TreeTransaction)
    /// A part of the tree's transaction.
    case inner(TreeTransaction, UInt64)
    /// A part of a store's transaction, which the tree is in.
    case joined(Transaction, UInt64)

    /// The end of a body that went well. What it has ended itself has nothing left to do.
    public func finish() throws(HoldfastError) {
        switch self {
        case .outermost(let transaction):
            if TreeLock.withLock({ transaction.hasEnded }) { return }
            do throws(HoldfastError) {
                try transaction.requireNoScope()
                try transaction.validate(in: nil)
                try transaction.commit()
            } catch {
                try? transaction.rollback()
                throw error
            }
        case .inner(let transaction, let scope): try transaction.endScope(scope, succeeded: true)
        case .joined(let transaction, let scope): try transaction.endScope(scope, succeeded: true)
        }
    }

    /// The end of one that has failed. Whatever this meets must not hide that error.
    public func fail() {
        switch self {
        case .outermost(let transaction): try? transaction.rollback()
        case .inner(let transaction, let scope): try? transaction.endScope(scope, succeeded: false)
        case .joined(let transaction, let scope): try? transaction.endScope(scope, succeeded: false)
        }
    }
}
