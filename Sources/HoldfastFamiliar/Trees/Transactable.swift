public import Holdfast

/// An object that changes together with the others of its tree, or not at all: a `Holdfast.Transactable` whose functions are
/// told of a `Transaction`, and whose tree refuses in the words of ``TransactionError``.
///
/// With a store (`store.transaction(chart) { … }`) it is a `Holdfast.Transactable` like any other.
public protocol Transactable: Holdfast.Transactable {
    /// The transaction begins, or the object has come into one: from now on its changes may be undone.
    func onBegin(transaction: any Transaction)
    /// All have accepted, and what is to be stored is stored.
    func onCommit(transaction: any Transaction)
    /// The object goes back to how it was when its transaction began.
    func onRollback(transaction: any Transaction)
}

extension Transactable {
    public func onBegin(transaction: TransactionDescriptor) { onBegin(transaction: transaction as any Transaction) }
    public func onCommit(transaction: TransactionDescriptor) { onCommit(transaction: transaction as any Transaction) }
    public func onRollback(transaction: TransactionDescriptor) {
        onRollback(transaction: transaction as any Transaction)
    }

    /// Begins a transaction. Throws `TransactionError.anotherTransactionIsActive`.
    @discardableResult
    public func beginTransaction() throws -> TransactionDescriptor {
        try translating { try holdfast.beginTransaction() }
    }

    /// Validates and commits. What a member refuses with is thrown unchanged, and the transaction stays open, for repair
    /// and another commit, or for rollback.
    ///
    /// Throws `TransactionError.wrongTransactionDescriptor` and then `.transactionIsNotActive`, and calls nobody.
    public func commitTransaction(_ transaction: TransactionDescriptor = .any) throws {
        try translating { try holdfast.commitTransaction(transaction) }
    }

    /// As the other `commitTransaction`. Of transactions only the descriptors of trees are any of a tree's.
    public func commitTransaction(_ transaction: some Transaction) throws {
        try commitTransaction(descriptor(transaction))
    }

    /// Has every member go back to how it was. Throws as `commitTransaction`.
    public func rollbackTransaction(_ transaction: TransactionDescriptor = .any) throws {
        try translating { try holdfast.rollbackTransaction(transaction) }
    }

    /// As the other `rollbackTransaction`.
    public func rollbackTransaction(_ transaction: some Transaction) throws {
        try rollbackTransaction(descriptor(transaction))
    }

    /// Runs `body` in a transaction: commits at its end, rolls back when it throws or a member refuses, and throws that
    /// error unchanged. Inside a transaction of the tree it joins that, as that of `Holdfast.Transactable` does.
    /// - Returns: What `body` returned.
    @discardableResult
    public func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try translating { try holdfast.transaction { try marking(body) } }
    }

    /// The same as `transaction`.
    @discardableResult
    public func doTransactionally<Value>(_ body: () throws -> Value) throws -> Value { try transaction(body) }

    /// Runs `body` so that its own part can be undone. Throws `TransactionError.transactionIsNotActive`, and else what that of
    /// `Holdfast.Transactable` throws.
    @discardableResult
    public func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
        try translating { try holdfast.savepoint { try marking(body) } }
    }

    /// The same object, whose calls are the library's.
    private var holdfast: any Holdfast.Transactable { self }

    private func descriptor(_ transaction: some Transaction) throws -> TransactionDescriptor {
        guard let descriptor = transaction as? TransactionDescriptor else {
            throw TransactionError.wrongTransactionDescriptor
        }
        return descriptor
    }
}

/// To perform a tree's transaction is to commit it.
extension TransactionDescriptor: Transaction {
    public func perform() throws { try translating { try commit() } }

    public nonisolated(nonsending) func performAsync() async throws {
        try Task.checkCancellation()
        try perform()
    }
}

/// What a tree refuses. Other refusals are `HoldfastError`, such as `.reentrant` for a call from inside one of its functions.
public enum TransactionError: Error, Sendable, Hashable {
    /// The tree is in a transaction already.
    case anotherTransactionIsActive
    /// It is in none.
    case transactionIsNotActive
    /// The descriptor is not that of the tree's active transaction.
    case wrongTransactionDescriptor
}

/// What a body has thrown, which is told as it is.
private struct ThrownByBody: Error { var error: any Error }

private func marking<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw ThrownByBody(error: error) }
}

/// A tree's refusal in the words of `TransactionError`.
private func translating<Value>(_ body: () throws -> Value) throws -> Value {
    do {
        return try body()
    } catch let thrown as ThrownByBody {
        throw thrown.error
    } catch let error as HoldfastError {
        switch error.status {
        case .transactionActive: throw TransactionError.anotherTransactionIsActive
        case .transactionNotActive: throw TransactionError.transactionIsNotActive
        case .wrongDescriptor: throw TransactionError.wrongTransactionDescriptor
        default: throw error
        }
    }
}
