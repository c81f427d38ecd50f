public import Holdfast

/// Work that is described now and run later, as often as wanted: each run is a run of its own, and nothing is kept
/// between them.
///
/// One that is `Sendable` has a `publisher` too.
public protocol Transaction<Result> {
    /// What a run answers.
    associatedtype Result: Sendable

    /// Runs it on this thread, and returns or throws what comes of it.
    @discardableResult
    func perform() throws -> Result
    /// Runs it without making a thread of Swift's pool wait. In a task that was cancelled before, nothing runs and
    /// `CancellationError` is thrown.
    @discardableResult
    nonisolated(nonsending) func performAsync() async throws -> Result
}

/// A transaction made of functions, or of another transaction: an `Operation` under the name that a repository of transactions
/// gives it.
///
///     let rename = AnyTransaction { try files.rename("a", "b") }     // nothing has happened yet
///     try rename.perform()
///     try await rename.performAsync()
public struct AnyTransaction<Result: Sendable>: Transaction, Sendable {
    /// What it runs.
    public let operation: Operation<Result>

    /// An operation as a transaction.
    public init(_ operation: Operation<Result>) { self.operation = operation }

    /// A transaction that is one function, in both ways; asynchronously it runs on one of sixteen threads that
    /// the library keeps for such functions, which may wait.
    public init(transactionClosure: @escaping @Sendable () throws -> Result) {
        operation = .blocking(transactionClosure)
    }

    /// A transaction that is one asynchronous function. `perform` blocks the thread while a task runs it, and refuses to
    /// do so in a task, with `.wouldDeadlock`.
    ///
    ///     let move = AnyTransaction { try await store.transaction { ... } }
    @_disfavoredOverload
    public init(asyncTransactionClosure: @escaping @Sendable () async throws -> Result) {
        operation = Operation(asyncTransactionClosure)
    }

    /// A transaction with a function for each way of running it.
    public init(
        transactionClosure: @escaping @Sendable () throws -> Result,
        asyncTransactionClosure: @escaping @Sendable () async throws -> Result
    ) {
        operation = Operation(blocking: transactionClosure, asynchronous: asyncTransactionClosure)
    }

    /// Another transaction, without its type.
    public init(_ transaction: some Transaction<Result> & Sendable) {
        self.init(
            transactionClosure: { try transaction.perform() },
            asyncTransactionClosure: { try await transaction.performAsync() })
    }

    /// Runs it on this thread. What the function throws comes through unchanged.
    @discardableResult
    public func perform() throws -> Result { try operation.perform() }

    /// Runs it asynchronously. What the function throws comes through unchanged.
    @discardableResult
    public nonisolated(nonsending) func performAsync() async throws -> Result { try await operation.performAsync() }
}

extension Transaction where Self: Sendable {
    /// Runs `perform` on a thread that may wait.
    @discardableResult
    public nonisolated(nonsending) func performAsync() async throws -> Result {
        try await Operation.blocking { try self.perform() }.performAsync()
    }
}
