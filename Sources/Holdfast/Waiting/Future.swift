internal import HoldfastCore
internal import HoldfastEnvironment

/// A result that is not there yet. The first completion wins; a later one is told so and changes nothing.
///
/// A wait that ends without the operation's own outcome throws `HoldfastError`: `.timeout` when the time was up, after which
/// what was waited for goes on, and may be waited for again; `.cancelled`; `.wouldDeadlock` on a thread that must not wait,
/// the library's own, or one of Swift's pool, in a task. Its detail has the `identifier`.
///
/// Any thread may complete it, wait for it or cancel it, and as many may wait as like. Letting go of it while it is
/// pending harms nobody.
public final class Future<Success: Sendable, Failure: Error>: Sendable {
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
    private let future = HoldfastCore.Future()

    /// A future for somebody to complete.
    public init(identifier: String) { self.identifier = identifier }

    /// Completes it. Answers false when it has ended before.
    @discardableResult
    public func complete(_ result: Result<Success, Failure>) -> Bool { end(.completed(result)) }

    /// Ends every wait with `.cancelled`. Answers false when it is too late: the result stays.
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
    /// Throws the operation's own error unchanged. A wait that timed out may be made again.
    @available(*, noasync, message: "it would block a thread of Swift's pool: use value(timeout:)")
    public func wait(timeout: Duration? = nil) throws -> Success {
        if let outcome { return try get(outcome) }
        try requireWaitingThread(identifier)
        do throws(CoreError) {
            _ = try future.wait(milliseconds: timeout.map(waitingMilliseconds), identifier: identifier)
        } catch {
            throw HoldfastError(error)
        }
        return try get(outcome!)
    }

    /// Throws `.wouldDeadlock` where `wait` would, for whoever starts what he is going to wait for.
    public func requireWaiting() throws {
        try requireWaitingThread(identifier)
        do throws(CoreError) {
            _ = try future.wait(milliseconds: 0, identifier: identifier)
        } catch {
            if error.status != .timeout { throw HoldfastError(error) }
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
                giveUp(number, timedOut)
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
                    giveUp(number, timedOut)
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
        case .cancelled: throw HoldfastError(.cancelled, "\"\(identifier)\" was cancelled", identifier: identifier)
        }
    }

    private var timedOut: HoldfastError {
        HoldfastError(
            .timeout, "\"\(identifier)\" was not completed in time and goes on: wait again, or cancel it",
            identifier: identifier)
    }
}

extension HoldfastError {
    fileprivate init(_ status: Status, _ message: String, identifier: String) {
        self.init(status, message, detail: Detail(members: ["identifier": identifier]))
    }
}

/// A task's thread belongs to a pool that counts on nobody waiting.
private func requireWaitingThread(_ identifier: String) throws {
    guard withUnsafeCurrentTask(body: { $0 != nil }) else { return }
    throw HoldfastError(
        .wouldDeadlock, "waiting for \"\(identifier)\" would have a thread of Swift's pool wait: use value(timeout:)",
        identifier: identifier)
}

/// Bounded, so that no deadline overflows.
func waitingMilliseconds(_ timeout: Duration) -> UInt64 { UInt64(clamping: min(timeout.milliseconds, 1 << 40)) }
