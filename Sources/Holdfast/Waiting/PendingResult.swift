internal import HoldfastCore
internal import HoldfastEnvironment

/// Why a wait for a result ended without the operation's own outcome.
public enum AwaitError: Error, Sendable, Hashable {
    /// The time was up. What was waited for goes on; its result can still be waited for.
    case timeOut(identifier: String)
    /// What was waited for was cancelled.
    case cancelled(identifier: String)
    /// This thread must not wait: it is the library's own, or one of Swift's pool, in a task. Use the asynchronous form.
    case wouldDeadlock(identifier: String)
}

/// A result that is not there yet. The first completion wins; a later one is told so and changes nothing.
///
/// Any thread may complete it, wait for it or cancel it, and as many may wait as like. Letting go of it while it is
/// pending harms nobody.
public final class PendingResult<Success: Sendable, Failure: Error>: Sendable {
    private enum Outcome {
        case completed(Result<Success, Failure>)
        case cancelled
    }

    private struct State {
        var outcome: Outcome?
        /// Tasks that wait, by the numbers given to them.
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var last: UInt64 = 0
    }

    /// Named in the errors of a wait.
    public let identifier: String
    private let state = Lock(State())
    /// Where threads wait.
    private let future: Future

    /// A pending result, for somebody to complete.
    public convenience init(identifier: String) { self.init(identifier: identifier, future: Future()) }

    init(identifier: String, future: Future) {
        self.identifier = identifier
        self.future = future
    }

    /// Completes it. Answers false when it has ended before.
    @discardableResult
    public func complete(_ result: Result<Success, Failure>) -> Bool { end(.completed(result)) }

    /// Ends every wait with `AwaitError.cancelled`. Answers false when it is too late: the result stays.
    @discardableResult
    public func cancel() -> Bool { end(.cancelled) }

    private func end(_ outcome: Outcome) -> Bool {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, any Error>]? in
            if state.outcome != nil { return nil }
            state.outcome = outcome
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        guard let waiting else { return false }
        future.complete(.success(FutureValue(bytes: [])))
        for continuation in waiting { continuation.resume() }
        return true
    }

    // MARK: Waiting

    /// Blocks the thread until the result is there, at most so long: nil for ever, zero or less not at all.
    ///
    /// Throws the operation's own error unchanged, or `AwaitError`. A wait that timed out may be made again.
    @available(*, noasync, message: "it would block a thread of Swift's pool: use value(timeout:)")
    public func wait(timeout: Duration? = nil) throws -> Success {
        if let outcome { return try get(outcome) }
        try requireWaitingThread(identifier)
        return try translatingWaits(identifier) { () throws(CoreError) in
            _ = try future.wait(milliseconds: timeout.map(waitingMilliseconds), identifier: identifier)
        } result: {
            try get(outcome!)
        }
    }

    /// As `wait`, without a thread. When the task is cancelled, the wait ends with `CancellationError`; what is waited
    /// for goes on.
    public func value(timeout: Duration? = nil) async throws -> Success {
        try await value(until: timeout.map { .now + $0 })
    }

    func value(until deadline: ContinuousClock.Instant?) async throws -> Success {
        if let outcome { return try get(outcome) }
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let clock = deadline.map { deadline in
            Task {
                try await Task.sleep(until: deadline)
                giveUp(number, AwaitError.timeOut(identifier: identifier))
            }
        }
        defer { clock?.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let hasEnded = state.withLock { state in
                    if state.outcome == nil { state.waiting[number] = continuation }
                    return state.outcome != nil
                }
                if hasEnded { return continuation.resume() }
                // Whoever gave up before it could be seen waiting.
                if Task.isCancelled { giveUp(number, CancellationError()) }
                if let deadline, ContinuousClock.now >= deadline {
                    giveUp(number, AwaitError.timeOut(identifier: identifier))
                }
            }
        } onCancel: {
            giveUp(number, CancellationError())
        }
        return try get(outcome!)
    }

    private func giveUp(_ number: UInt64, _ error: any Error) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: error)
    }

    private var outcome: Outcome? { state.withLock { $0.outcome } }

    private func get(_ outcome: Outcome) throws -> Success {
        switch outcome {
        case .completed(let result): return try result.get()
        case .cancelled: throw AwaitError.cancelled(identifier: identifier)
        }
    }

    func outcomeAfterWait() throws -> Success { try get(outcome!) }

    /// Ends it after a wait that nobody makes again, so that a later completion is told. False: a result came before.
    func giveUp() -> Bool { end(.cancelled) }
}

/// A wait of the core's, in the words of `AwaitError`. A result that comes just when the time is up is kept.
func translatingWaits<Value>(
    _ identifier: String, _ wait: () throws(CoreError) -> Void, result: () throws -> Value
) throws -> Value {
    do throws(CoreError) {
        try wait()
    } catch {
        switch error.status {
        case .timeout: throw AwaitError.timeOut(identifier: identifier)
        case .wouldDeadlock: throw AwaitError.wouldDeadlock(identifier: identifier)
        default: throw HoldfastError(error)
        }
    }
    return try result()
}

/// A task's thread belongs to a pool that counts on nobody waiting.
func requireWaitingThread(_ identifier: String) throws {
    if withUnsafeCurrentTask(body: { $0 != nil }) { throw AwaitError.wouldDeadlock(identifier: identifier) }
}

/// Bounded, so that no deadline overflows.
func waitingMilliseconds(_ timeout: Duration) -> UInt64 { UInt64(clamping: min(timeout.milliseconds, 1 << 40)) }
