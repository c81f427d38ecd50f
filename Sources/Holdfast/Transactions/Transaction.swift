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

/// A transaction made of functions, or of another transaction.
///
///     let rename = AnyTransaction { try files.rename("a", "b") }     // nothing has happened yet
///     try rename.perform()
///     try await rename.performAsync()
public struct AnyTransaction<Result: Sendable>: Transaction, Sendable {
    private let transactionClosure: @Sendable () throws -> Result
    private let asyncTransactionClosure: @Sendable () async throws -> Result

    /// A transaction that is one function, in both ways; asynchronously it runs on one of sixteen threads that
    /// the library keeps for such functions, which may wait.
    public init(transactionClosure: @escaping @Sendable () throws -> Result) {
        self.transactionClosure = transactionClosure
        asyncTransactionClosure = { try await onWaitingThread(transactionClosure) }
    }

    /// A transaction that is one asynchronous function. `perform` blocks the thread while a task runs it, and refuses to
    /// do so in a task, with `AwaitError.wouldDeadlock`.
    ///
    ///     let move = AnyTransaction { try await store.transaction { ... } }
    @_disfavoredOverload
    public init(asyncTransactionClosure: @escaping @Sendable () async throws -> Result) {
        self.init(
            transactionClosure: { try onTask(asyncTransactionClosure) },
            asyncTransactionClosure: asyncTransactionClosure)
    }

    /// A transaction with a function for each way of running it.
    public init(
        transactionClosure: @escaping @Sendable () throws -> Result,
        asyncTransactionClosure: @escaping @Sendable () async throws -> Result
    ) {
        self.transactionClosure = transactionClosure
        self.asyncTransactionClosure = asyncTransactionClosure
    }

    /// Another transaction, without its type.
    public init(_ transaction: some Transaction<Result> & Sendable) {
        self.init(
            transactionClosure: { try transaction.perform() },
            asyncTransactionClosure: { try await transaction.performAsync() })
    }

    /// Runs it on this thread. What the function throws comes through unchanged.
    @discardableResult
    public func perform() throws -> Result { try transactionClosure() }

    /// Runs it asynchronously. What the function throws comes through unchanged.
    @discardableResult
    public nonisolated(nonsending) func performAsync() async throws -> Result {
        try Task.checkCancellation()
        return try await asyncTransactionClosure()
    }
}

extension Transaction where Self: Sendable {
    /// Runs `perform` on a thread that may wait.
    @discardableResult
    public nonisolated(nonsending) func performAsync() async throws -> Result {
        try Task.checkCancellation()
        return try await onWaitingThread { try self.perform() }
    }
}

/// Blocks this thread while a task runs `body`.
private func onTask<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
    try awaitResult(identifier: "perform", timeout: nil) { (done: AwaitCompletion<Result, any Error>) in
        Task {
            do { done(.success(try await body())) } catch { done(.failure(error)) }
        }
    }
}
