/// Work that is described now and run later, as often as wanted: each run is a run of its own, and nothing is kept
/// between them.
///
///     let add = songs.deferred.add(song)     // nothing has happened yet
///     let stored = try await add.performAsync()
///
/// Making one reads, locks and checks nothing: what is to be refused is when it is run. A run joins the transaction that it is
/// made in. Several tasks and threads may run it at once.
public struct Operation<Result: Sendable>: Sendable {
    private let blocking: @Sendable () throws -> Result
    private let asynchronous: @Sendable () async throws -> Result

    /// An operation that is one asynchronous function. `perform` blocks the thread while a task runs it, and refuses to do so
    /// in a task, with `.wouldDeadlock`.
    ///
    ///     let move = Operation { try await store.transaction { ... } }
    public init(_ body: @escaping @Sendable () async throws -> Result) {
        self.init(blocking: { try onTask(body) }, asynchronous: body)
    }

    /// An operation with a function for each way of running it.
    public init(
        blocking: @escaping @Sendable () throws -> Result, asynchronous: @escaping @Sendable () async throws -> Result
    ) {
        self.blocking = blocking
        self.asynchronous = asynchronous
    }

    /// An operation that is one function which may wait; asynchronously it runs on one of sixteen threads that the library
    /// keeps for such functions.
    ///
    ///     let rename = Operation.blocking { try files.rename("a", "b") }
    public static func blocking(_ body: @escaping @Sendable () throws -> Result) -> Operation {
        Operation(blocking: body, asynchronous: { try await onWaitingThread(body) })
    }

    /// Runs it on this thread, which waits, and returns or throws what comes of it.
    @discardableResult
    public func perform() throws -> Result { try blocking() }

    /// Runs it without making a thread of Swift's pool wait. In a task that was cancelled before, nothing runs and
    /// `CancellationError` is thrown.
    @discardableResult
    public nonisolated(nonsending) func performAsync() async throws -> Result {
        try Task.checkCancellation()
        return try await asynchronous()
    }
}

/// Blocks this thread while a task runs `body`.
private func onTask<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let future = Future<Value, any Error>(identifier: "perform")
    try future.requireWaiting()
    Task {
        do { future.complete(.success(try await body())) } catch { future.complete(.failure(error)) }
    }
    return try future.wait()
}
