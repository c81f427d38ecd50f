internal import HoldfastEnvironment
internal import Synchronization

/// Has asynchronous commits withdrawn whose time is up, whoever leads the queue and whatever he waits for: another
/// program, a provider, the disk. On a thread of its own, which a store has from the first such commit with a deadline on.
final class DeadlineWatch: Sendable {
    private struct State {
        var worker: (any Worker)?
        var isClosing = false
    }

    private let environment: Environment
    private let finished: @Sendable () -> Void
    /// When it will look at the latest.
    private let due = Atomic<UInt64>(.max)
    private let state = Lock(State())

    /// `finished` hears that it runs no more.
    init(_ environment: Environment, finished: @escaping @Sendable () -> Void) {
        self.environment = environment
        self.finished = finished
    }

    /// Called once a commit with this deadline is queued.
    func expect(_ deadline: UInt64, in queue: CommitQueue) {
        // As a rule an earlier one is waited for, and nobody has to be woken.
        guard comesEarlier(deadline) else { return }
        state.withLock { state in
            if state.isClosing { return }
            // Without a thread it is told when the leader comes to it.
            if state.worker == nil {
                state.worker = try? environment.workers.start(name: "hf-deadlines") { [self] in step(queue) }
            }
            state.worker?.wake()
        }
    }

    /// Brings `due` forward to that time, or answers false: it is no later already. (Swift's own `Atomic.min` compares
    /// unsigned numbers as if they had a sign.)
    private func comesEarlier(_ time: UInt64) -> Bool {
        var known = due.load(ordering: .acquiring)
        while time < known {
            let (exchanged, original) = due.compareExchange(
                expected: known, desired: time, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            known = original
        }
        return false
    }

    func beginClosing() {
        state.withLock { state in
            state.isClosing = true
            state.worker?.wake()
        }
    }

    var isFinished: Bool { state.withLock { $0.worker == nil } }

    private func step(_ queue: CommitQueue) -> NextStep {
        let isClosing = state.withLock { state in
            if state.isClosing { state.worker = nil }
            return state.isClosing
        }
        if isClosing {
            finished()
            return .finished
        }
        // Before it looks: who comes behind that wakes it.
        _ = due.exchange(.max, ordering: .acquiringAndReleasing)
        if let next = queue.withdrawLateSubmitted() { _ = comesEarlier(next) }
        let next = due.load(ordering: .acquiring)
        return .sleep(until: next == .max ? nil : next)
    }
}
