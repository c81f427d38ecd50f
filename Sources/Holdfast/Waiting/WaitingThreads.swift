internal import HoldfastCore
internal import HoldfastEnvironment

/// Threads for calls that may wait: for a file, a lock, another process.
///
/// They are the library's own, because Swift's pool has one thread for each core and counts on none of them waiting.
/// Dispatch's queues would not do: they share their threads with that pool, and where all of them wait, a new one
/// comes only after a delay. Here one is started whenever none is free, up to a bound, and ends when it was idle for a
/// while.
final class WaitingThreads: Sendable {
    /// For the library's own calls, none of which waits for a function of the host's. (Calls of a store whose entities a
    /// provider of the host's keeps have threads of their own.)
    static let shared = WaitingThreads()
    /// For functions of the host's, which may wait for anything, also for the library's own calls.
    static let hosts = WaitingThreads()

    typealias Call = @Sendable () -> Void

    private struct State {
        /// In the order in which they came, from `first` on.
        var calls: [Call?] = []
        var first = 0
        /// Where those sleep that have nothing to do.
        var idle: [Gate] = []
        var count = 0

        mutating func next() -> Call? {
            guard first < calls.count else { return nil }
            defer {
                calls[first] = nil
                first += 1
                if first == calls.count { (calls, first) = ([], 0) }
            }
            return calls[first]
        }
    }

    private let state = Lock(State())

    /// Runs a call on one of the threads, soon.
    func run(_ call: @escaping Call) {
        let (idle, isNew) = state.withLock { state -> (Gate?, Bool) in
            state.calls.append(call)
            if let idle = state.idle.popLast() { return (idle, false) }
            guard state.count < Limits.inForce.waitingThreads else { return (nil, false) }
            state.count += 1
            return (nil, true)
        }
        if let idle { idle.advance() } else if isNew { start() }
    }

    private func start() {
        let gate = Gate()
        do throws(CoreError) {
            _ = try ThreadWorkers().start(name: "hf-swift") { [self] in step(gate) }
        } catch {
            // The system has no more threads. Where there are others they will do it; else it is done here.
            let call = state.withLock { state in
                state.count -= 1
                return state.count == 0 ? state.next() : nil
            }
            call?()
        }
    }

    private func step(_ gate: Gate) -> NextStep {
        let seen = gate.number
        let call = state.withLock { state in
            let call = state.next()
            if call == nil { state.idle.append(gate) }
            return call
        }
        if let call {
            call()
            return .again
        }
        gate.wait(while: seen, nanoseconds: UInt64(Limits.inForce.idleThread))
        return state.withLock { state in
            // Still listed: nobody woke it.
            guard let index = state.idle.firstIndex(where: { $0 === gate }) else { return .again }
            state.idle.remove(at: index)
            state.count -= 1
            return .finished
        }
    }
}

extension WaitingThreads {
    /// Runs `body` on one of the threads, and hands its result back to the task.
    func waiting<Value: Sendable>(
        _ body: @escaping @Sendable () throws(CoreError) -> Value
    ) async throws -> Value {
        try await waiting(for: { Result { try translatingErrors(body) } }).get()
    }

    /// The same of what cannot fail.
    func waiting<Value: Sendable>(for body: @escaping @Sendable () -> Value) async -> Value {
        // Handed over under a lock, as in `PendingOutcome` and for the same reason.
        let result = Lock<Value?>(nil)
        await withCheckedContinuation { continuation in
            run {
                let value = body()
                result.withLock { $0 = value }
                continuation.resume()
            }
        }
        return result.withLock { $0! }
    }
}

/// Runs a function of the host's on a thread that may wait, unless the task is cancelled before it begins.
func onWaitingThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try Task.checkCancellation()
    // The transaction that the task is in, which no thread inherits.
    let scope = TransactionScope.current
    let pending = PendingOutcome<Result<Value, any Error>>()
    let isDecided = Lock(false)
    /// Whether this is the first that asks: it runs, or it never does.
    @Sendable func decide() -> Bool {
        isDecided.withLock { isDecided in
            defer { isDecided = true }
            return !isDecided
        }
    }
    WaitingThreads.hosts.run {
        if decide() { pending.tell(Result { try TransactionScope.$current.withValue(scope) { try body() } }) }
    }
    // What runs cannot be stopped: its outcome is told.
    return try await pending.outcome { if decide() { pending.tell(.failure(CancellationError())) } }.get()
}
