internal import HoldfastCore
internal import HoldfastEnvironment

/// The places for commits under way: a task without one waits here, so that no thread waits in the core's queue.
/// First come, first served.
final class Places: Sendable {
    private typealias Continuation = CheckedContinuation<Void, any Error>

    private struct State {
        var free: Int
        /// By number, and the numbers given so far; served is everyone below `next`.
        var waiting: [UInt64: Continuation] = [:]
        var last: UInt64 = 0
        var next: UInt64 = 1
    }

    private let limit: Int
    private let state: Lock<State>

    init(_ limit: Int) {
        self.limit = limit
        state = Lock(State(free: limit))
    }

    /// How many tasks wait for one.
    var waitingTasks: Int { state.withLock { $0.waiting.count } }

    /// Takes a place; waits for one until the deadline (`.busy`) or until the task is cancelled.
    func take(until deadline: ContinuousClock.Instant) async throws {
        try Task.checkCancellation()
        if takeFree() { return }
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let clock = Task {
            try await Task.sleep(until: deadline)
            self.giveUp(number, HoldfastError(.busy, self.full))
        }
        defer { clock.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isServed = state.withLock { state in
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiting[number] = continuation
                    state.next = min(state.next, number)
                    return false
                }
                if isServed { return continuation.resume() }
                // Whoever gave up before it could be seen waiting.
                if Task.isCancelled { giveUp(number, CancellationError()) }
                if ContinuousClock.now >= deadline { giveUp(number, HoldfastError(.busy, full)) }
            }
        } onCancel: {
            giveUp(number, CancellationError())
        }
    }

    /// Gives a place back: to the one that waits longest.
    func giveBack() {
        let served = state.withLock { state -> Continuation? in
            while !state.waiting.isEmpty {
                defer { state.next += 1 }
                if let continuation = state.waiting.removeValue(forKey: state.next) { return continuation }
            }
            state.free += 1
            return nil
        }
        served?.resume()
    }

    private func takeFree() -> Bool {
        state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
    }

    private func giveUp(_ number: UInt64, _ error: any Error) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: error)
    }

    private var full: String {
        "\(limit) commits are in flight, which is the store's limit: wait, or raise maxInFlight"
    }
}
