public import Foundation
internal import Holdfast

/// Why a wait for a result ended without the work's own outcome.
public enum AwaitError: Error, Sendable, Hashable {
    /// The time was up. What was waited for goes on, and the wait is given back.
    case timeOut(TimedOutWait)
    /// What was waited for was cancelled.
    case cancelled(identifier: String)
    /// This thread must not wait: it is the library's own, or one of Swift's pool, in a task. Use the asynchronous form.
    case wouldDeadlock(identifier: String)

    /// As ``timeOut(_:)`` of a wait that nothing completes any more: for tests, because those of one identifier are equal.
    public static func timeOut(identifier: String) -> AwaitError { .timeOut(TimedOutWait(identifier: identifier)) }
}

/// What the work of an `awaitResult` calls when it is done: once, on any thread.
public struct AwaitCompletion<Success: Sendable, Failure: Error>: Sendable {
    /// Kept by whoever waits, or may wait again.
    fileprivate weak let wait: Wait<Success, Failure>?

    /// Hands the result over. Answers false when there was one before (the first wins), and when nobody can hear of it any
    /// more: the time was up, and the wait that was given back was cancelled, or let go of.
    @discardableResult
    public func callAsFunction(_ result: Result<Success, Failure>) -> Bool {
        wait?.future.complete(.success(result)) ?? false
    }
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
///     time is up, `AwaitError.timeOut` is thrown, with the wait: it may be made again, or be cancelled (``TimedOutWait``).
///   - asyncExecutionBlock: Starts the work and hands the completion on.
/// - Returns: What the work succeeded with. What it failed with is thrown unchanged.
@available(*, noasync, message: "it would block a thread of Swift's pool: write try await awaitResult")
public func awaitResult<Success: Sendable, Failure: Error>(
    identifier: String = UUID().uuidString, timeout: Duration? = .seconds(10),
    asyncExecutionBlock: (_ completed: AwaitCompletion<Success, Failure>) -> Void
) throws -> Success {
    let deadline = timeout.map { ContinuousClock.now + $0 }
    let wait = Wait<Success, Failure>(identifier)
    try wait.requireWaiting()
    asyncExecutionBlock(AwaitCompletion(wait: wait))
    return try wait.successNow(until: deadline)
}

/// As the blocking `awaitResult`, for tasks: no thread waits. In a task that was cancelled before, the block does not
/// run; in one that is cancelled meanwhile, the wait ends. Both throw `CancellationError`.
public nonisolated(nonsending) func awaitResult<Success: Sendable, Failure: Error>(
    identifier: String = UUID().uuidString, timeout: Duration? = .seconds(10),
    asyncExecutionBlock: (_ completed: AwaitCompletion<Success, Failure>) -> Void
) async throws -> Success {
    try Task.checkCancellation()
    let deadline = timeout.map { ContinuousClock.now + $0 }
    let wait = Wait<Success, Failure>(identifier)
    asyncExecutionBlock(AwaitCompletion(wait: wait))
    return try await wait.success(until: deadline)
}

/// A wait whose time was up, to be made again or to be cancelled.
///
///     } catch AwaitError.timeOut(let wait) {
///         guard userIsPatient else { return wait.cancel() }
///         zone = try wait.result(of: String.self, timeout: .seconds(60))
///     }
///
/// What was started goes on, and as long as somebody keeps this, its result is kept for the next wait. Equal are those of
/// one identifier.
public struct TimedOutWait: Sendable {
    /// As it was given to `awaitResult`.
    public let identifier: String
    private let wait: (any AnyWait)?

    fileprivate init(identifier: String, _ wait: (any AnyWait)? = nil) {
        self.identifier = identifier
        self.wait = wait
    }

    /// Blocks the thread until the result is there, as the `awaitResult` that began it. Throws what that does, again
    /// `AwaitError.timeOut` too, and `HoldfastError` `.invalidArgument` where the result is of another type.
    /// - Parameters:
    ///   - type: What the work succeeds with.
    ///   - timeout: How long at most; nil for ever, zero or less not at all.
    @available(*, noasync, message: "it would block a thread of Swift's pool: write try await value(of:timeout:)")
    public func result<Success>(
        of type: Success.Type = Success.self, timeout: Duration? = .seconds(10)
    ) throws -> Success {
        try checked(begun().anySuccessNow(until: timeout.map { .now + $0 }))
    }

    /// As `result`, for tasks: no thread waits. When the task is cancelled, the wait ends with `CancellationError`.
    public func value<Success>(
        of type: Success.Type = Success.self, timeout: Duration? = .seconds(10)
    ) async throws -> Success {
        try checked(await begun().anySuccess(until: timeout.map { .now + $0 }))
    }

    /// Waits no more: the completion answers false from now on. Answers false when it is too late, and the result is there.
    @discardableResult
    public func cancel() -> Bool { wait?.cancel() ?? true }

    private func begun() throws -> any AnyWait {
        guard let wait else { throw AwaitError.cancelled(identifier: identifier) }
        return wait
    }

    private func checked<Success>(_ value: any Sendable) throws -> Success {
        if let success = value as? Success { return success }
        throw HoldfastError(
            .invalidArgument,
            "\"\(identifier)\" has succeeded with \(type(of: value)), not with \(Success.self): ask for that")
    }
}

extension TimedOutWait: Hashable {
    /// Whether they are of one identifier.
    public static func == (left: TimedOutWait, right: TimedOutWait) -> Bool { left.identifier == right.identifier }

    public func hash(into hasher: inout Hasher) { hasher.combine(identifier) }
}

extension TimedOutWait: CustomStringConvertible {
    /// The identifier.
    public var description: String { identifier }
}

// MARK: - The wait

/// A wait of whatever type.
private protocol AnyWait: Sendable {
    func anySuccessNow(until deadline: ContinuousClock.Instant?) throws -> any Sendable
    func anySuccess(until deadline: ContinuousClock.Instant?) async throws -> any Sendable
    func cancel() -> Bool
}

/// What a completion completes.
private final class Wait<Success: Sendable, Failure: Error>: AnyWait {
    // The work's own failure is a result, so that what the wait throws is about the wait alone.
    let future: Future<Result<Success, Failure>, Never>

    init(_ identifier: String) { future = Future(identifier: identifier) }

    func cancel() -> Bool { future.cancel() }

    func requireWaiting() throws {
        do { try future.requireWaiting() } catch { throw translated(error) }
    }

    func successNow(until deadline: ContinuousClock.Instant?) throws -> Success {
        let result: Result<Success, Failure>
        do { result = try future.wait(timeout: deadline.map { $0 - .now }) } catch { throw translated(error) }
        return try result.get()
    }

    nonisolated(nonsending) func success(until deadline: ContinuousClock.Instant?) async throws -> Success {
        let result: Result<Success, Failure>
        do { result = try await future.value(timeout: deadline.map { $0 - .now }) } catch { throw translated(error) }
        return try result.get()
    }

    func anySuccessNow(until deadline: ContinuousClock.Instant?) throws -> any Sendable {
        try successNow(until: deadline)
    }

    func anySuccess(until deadline: ContinuousClock.Instant?) async throws -> any Sendable {
        try await success(until: deadline)
    }

    private func translated(_ error: any Error) -> any Error {
        guard let error = error as? HoldfastError else { return error }
        return switch error.status {
        case .timeout: AwaitError.timeOut(TimedOutWait(identifier: future.identifier, self))
        case .wouldDeadlock: AwaitError.wouldDeadlock(identifier: future.identifier)
        default: AwaitError.cancelled(identifier: future.identifier)
        }
    }
}
