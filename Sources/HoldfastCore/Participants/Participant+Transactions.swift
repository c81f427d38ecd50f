/// Transactions over a tree alone. Whichever node they are asked of, they are its whole tree's.
extension Participant {
    /// Begins one; throws `.transactionActive` when the tree is in one.
    public func begin() throws(HoldfastError) -> TreeTransaction {
        let transaction = TreeTransaction(isEnlisted: false)
        try transaction.enlist(self)
        return transaction
    }

    /// Begins one for a scope, or answers nil when the scope joins the one that is active.
    public func beginOrJoin() throws(HoldfastError) -> TreeTransaction? {
        let joins = try TreeLock.withLock { () throws(HoldfastError) in
            guard let transaction = root.transaction else { return false }
            if transaction.phase == .sealed { throw TreeTransaction.sealed }
            return true
        }
        return joins ? nil : try begin()
    }

    /// Validates and commits. When a member refuses, the transaction stays open.
    public func commit(_ descriptor: TransactionDescriptor) throws(HoldfastError) {
        let transaction = try active(descriptor)
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
    /// transaction of the tree it joins that, and nobody is called.
    public func transact(_ body: () throws(HoldfastError) -> Void) throws(HoldfastError) {
        guard let transaction = try beginOrJoin() else { return try body() }
        do throws(HoldfastError) {
            try body()
            try transaction.finishScope()
        } catch {
            try? transaction.rollback()
            throw error
        }
    }

    /// The transaction that is meant, ready to be ended. What is wrong with the descriptor is told before what is wrong
    /// with the transaction.
    private func active(_ descriptor: TransactionDescriptor) throws(HoldfastError) -> TreeTransaction {
        try TreeLock.withLock { () throws(HoldfastError) in
            guard host != nil else { throw Self.freed }
            guard let transaction else { throw descriptor.isAny ? TreeTransaction.notActive : Self.wrongDescriptor }
            guard descriptor.isAny || descriptor == transaction.descriptor else { throw Self.wrongDescriptor }
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

extension TreeTransaction {
    /// The end of a scope whose body went well. One that the body has ended itself has nothing left to do.
    public func finishScope() throws(HoldfastError) {
        if TreeLock.withLock({ hasEnded }) { return }
        try validate(in: nil)
        try commit()
    }
}
