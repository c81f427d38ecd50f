internal import HoldfastCore

/// Transactions of a tree alone. Whichever member they are asked of, they are its whole tree's.
extension Transactable {
    /// Whether the tree is in a transaction, its own or a store's.
    public var transactionIsActive: Bool { participant.activeDescriptor != nil }

    /// The transaction that the tree is in; until the last member was told of the end.
    public var activeTransaction: TransactionDescriptor? {
        participant.activeDescriptor.map { TransactionDescriptor($0, participant) }
    }

    /// Begins a transaction. Throws `.transactionActive`.
    @discardableResult
    public func beginTransaction() throws -> TransactionDescriptor {
        let transaction = try translatingErrors { () throws(CoreError) in try participant.begin() }
        return TransactionDescriptor(transaction.descriptor, participant)
    }

    /// Validates and commits. What a member refuses with is thrown unchanged, and the transaction stays open, for repair
    /// and another commit, or for rollback.
    ///
    /// Throws `.wrongDescriptor` and then `.transactionNotActive`, and calls nobody.
    public func commitTransaction(_ transaction: TransactionDescriptor = .any) throws {
        try translatingErrors { () throws(CoreError) in try participant.commit(transaction.core) }
    }

    /// Has every member go back to how it was. Throws as `commitTransaction`.
    public func rollbackTransaction(_ transaction: TransactionDescriptor = .any) throws {
        try translatingErrors { () throws(CoreError) in try participant.rollback(transaction.core) }
    }

    /// Runs `body` in a transaction: commits at its end, rolls back when it throws or a member refuses, and throws that
    /// error unchanged.
    ///
    /// Inside a transaction of the tree, or of a store that the tree is in, it joins that as a part that goes back by itself:
    /// nobody is begun, validated, committed or rolled back; when it throws, every member goes back to how it was before,
    /// and so does what was written in the store. Where a member is no ``SavepointTransactable``, it cannot go back alone:
    /// the transaction around it can only roll back then, and its commit throws `.unsupported`.
    ///
    ///     try chart.transaction {
    ///         chart.addElement(label: "Part #1", percentage: 50)
    ///         chart.addElement(label: "Part #2", percentage: 50)
    ///     }
    ///
    /// - Returns: What `body` returned.
    @discardableResult
    public func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        let participant = participant
        let outer = try ownScope()
        let scope = try translatingErrors { () throws(CoreError) in try participant.beginOrJoin(in: outer?.number) }
        let value: Value
        do {
            if let outer, case .joined(let transaction, let number) = scope {
                value = try outer.withPart(number, of: transaction, body)
            } else {
                value = try body()
            }
        } catch {
            // Whatever this says must not hide the error.
            scope.fail()
            throw error
        }
        try translatingErrors { () throws(CoreError) in try scope.finish() }
        return value
    }

    /// Runs `body` so that its own part can be undone: when it throws, every member goes back to how it was before, the
    /// error is thrown on, and the transaction around it, if it catches the error, goes on.
    ///
    /// Throws `.transactionNotActive`, and `.unsupported` where a member is no `SavepointTransactable`. In a store's transaction use the store's `savepoint`.
    @discardableResult
    public func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
        let participant = participant
        let savepoint = try translatingErrors { () throws(CoreError) in try participant.savepoint(.any) }
        do {
            return try body()
        } catch {
            // Should this fail, the transaction has ended.
            try? participant.rollBack(to: savepoint, .any)
            throw error
        }
    }

    private var participant: Participant { transactionContext.participant }

    /// Only inside a store's transaction is its tree's joined: another task that shares the tree's isolation comes in
    /// between while that one awaits something.
    private func ownScope() throws -> TransactionScope? {
        guard let descriptor = participant.enlistedDescriptor else { return nil }
        guard let scope = TransactionScope.scope(of: descriptor) else {
            throw HoldfastError(
                .transactionActive,
                "the object tree is in a transaction of its store, which this task is not in: wait for its end")
        }
        return scope
    }
}
