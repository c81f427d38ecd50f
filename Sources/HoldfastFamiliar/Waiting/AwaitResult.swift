public import Foundation
internal import Holdfast

/// Why a wait for a result ended without the work's own outcome.
public enum AwaitError: Error, Sendable, Hashable {
    /// The time was up. What was waited for goes on.
    case timeOut(identifier: String)
    /// What was waited for was cancelled.
    case cancelled(identifier: String)
    /// This thread must not wait: it is the library's own, or one of Swift's pool, in a task. Use the asynchronous form.
    case wouldDeadlock(identifier: String)
}

/// What the work of an `awaitResult` calls when it is done: once, on any thread.
public struct AwaitCompletion<Success: Sendable, Failure: Error>: Sendable {
    // The work's own failure is a result, so that what the wait throws is about the wait alone.
    fileprivate let future: Future<Result<Success, Failure>, Never>

    /// Hands the result over. Answers false when there was one before: the first wins.
    @discardableResult
    public func callAsFunction(_ result: Result<Success, Failure>) -> Bool { future.complete(.success(result)) }
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
///     hears of its late result: keep a `Future` to wait again.
///   - asyncExecutionBlock: Starts the work and hands the completion on.
/// - Returns: What the work succeeded with. What it failed with is thrown unchanged.
@available(*, noasync, message: "it would block a thread of Swift's pool: write try await awaitResult")
public func awaitResult<Success: Sendable, Failure: Error>(
    identifier: String = UUID().uuidString, timeout: Duration? = .seconds(10),
    asyncExecutionBlock: (_ completed: AwaitCompletion<Success, Failure>) -> Void
) throws -> Success {
    let deadline = timeout.map { ContinuousClock.now + $0 }
    let future = Future<Result<Success, Failure>, Never>(identifier: identifier)
    let result: Result<Success, Failure>
    do {
        try future.requireWaiting()
        asyncExecutionBlock(AwaitCompletion(future: future))
        do {
            result = try future.wait(timeout: deadline.map { $0 - .now })
        } catch {
            // Nobody waits again. A result that came as the time was up is not lost.
            if future.cancel() { throw error }
            result = try future.wait(timeout: .zero)
        }
    } catch let error as HoldfastError {
        throw AwaitError(error, identifier)
    }
    return try result.get()
}

/// As the blocking `awaitResult`, for tasks: no thread waits. In a task that was cancelled before, the block does not
/// run; in one that is cancelled meanwhile, the wait ends. Both throw `CancellationError`.
public nonisolated(nonsending) func awaitResult<Success: Sendable, Failure: Error>(
    identifier: String = UUID().uuidString, timeout: Duration? = .seconds(10),
    asyncExecutionBlock: (_ completed: AwaitCompletion<Success, Failure>) -> Void
) async throws -> Success {
    try Task.checkCancellation()
    let deadline = timeout.map { ContinuousClock.now + $0 }
    let future = Future<Result<Success, Failure>, Never>(identifier: identifier)
    asyncExecutionBlock(AwaitCompletion(future: future))
    let result: Result<Success, Failure>
    do {
        do {
            result = try await future.value(timeout: deadline.map { $0 - .now })
        } catch {
            if future.cancel() { throw error }
            result = try await future.value()
        }
    } catch let error as HoldfastError {
        throw AwaitError(error, identifier)
    }
    return try result.get()
}

extension AwaitError {
    fileprivate init(_ error: HoldfastError, _ identifier: String) {
        self =
            switch error.status {
            case .timeout: .timeOut(identifier: identifier)
            case .wouldDeadlock: .wouldDeadlock(identifier: identifier)
            default: .cancelled(identifier: identifier)
            }
    }
}
