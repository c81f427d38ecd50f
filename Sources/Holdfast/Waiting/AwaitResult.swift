public import Foundation
internal import HoldfastCore

/// What the work of an `awaitResult` calls when it is done: once, on any thread.
public struct AwaitCompletion<Success: Sendable, Failure: Error>: Sendable {
    let pending: PendingResult<Success, Failure>

    /// Hands the result over. Answers false when there was one before: the first wins.
    @discardableResult
    public func callAsFunction(_ result: Result<Success, Failure>) -> Bool { pending.complete(result) }
}

/// Turns a call that answers by a completion into one that returns or throws.
///
///     let zone = try awaitResult { done in
///         findZone(named: "groups") { done($0) }
///     }
///
/// The block runs on this thread, which then blocks until the result is there. It is for threads that may block: in a
/// task, and on the library's own threads, it is refused with `AwaitError.wouldDeadlock` before the block has run.
///
/// - Parameters:
///   - identifier: Named by `AwaitError`.
///   - timeout: How long at most, counted from before the block starts; nil for ever, zero or less not at all. When the
///     time is up, `AwaitError.timeOut` is thrown and the work goes on; its completion answers false, because nobody
///     hears of its late result: keep a `PendingResult` to wait again.
///   - asyncExecutionBlock: Starts the work and hands the completion on.
/// - Returns: What the work succeeded with. What it failed with is thrown unchanged.
@available(*, noasync, message: "it would block a thread of Swift's pool: write try await awaitResult")
public func awaitResult<Success: Sendable, Failure: Error>(
    identifier: String = UUID().uuidString, timeout: Duration? = .seconds(10),
    asyncExecutionBlock: (_ completed: AwaitCompletion<Success, Failure>) -> Void
) throws -> Success {
    try requireWaitingThread(identifier)
    var pending: PendingResult<Success, Failure>?
    return try translatingWaits(identifier) { () throws(CoreError) in
        let started = try FutureWait(milliseconds: timeout.map(waitingMilliseconds), identifier: identifier)
        let result = PendingResult<Success, Failure>(identifier: identifier, future: started.future)
        pending = result
        asyncExecutionBlock(AwaitCompletion(pending: result))
        if try started.outcome() == nil && result.giveUp() { throw started.timedOut }
    } result: {
        try pending!.outcomeAfterWait()
    }
}

/// As the blocking `awaitResult`, for tasks: no thread waits. In a task that was cancelled before, the block does not
/// run; in one that is cancelled meanwhile, the wait ends. Both throw `CancellationError`.
public nonisolated(nonsending) func awaitResult<Success: Sendable, Failure: Error>(
    identifier: String = UUID().uuidString, timeout: Duration? = .seconds(10),
    asyncExecutionBlock: (_ completed: AwaitCompletion<Success, Failure>) -> Void
) async throws -> Success {
    try Task.checkCancellation()
    let deadline = timeout.map { ContinuousClock.now + $0 }
    let pending = PendingResult<Success, Failure>(identifier: identifier)
    asyncExecutionBlock(AwaitCompletion(pending: pending))
    do {
        return try await pending.value(until: deadline)
    } catch {
        // The work's own failure stays. Where it is the wait that ended, a result that came with its end is not lost.
        if pending.giveUp() { throw error }
        return try pending.outcomeAfterWait()
    }
}
