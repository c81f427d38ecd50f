internal import HoldfastEnvironment
internal import Synchronization

/// Has asynchronous commits withdrawn whose time is up, whoever leads the queue and whatever he waits for: another
/// program, a provider, the disk, and lets those in who wait for a slot without a thread. On a thread of its own, which a
/// store has from the first such commit with a deadline on.
final class DeadlineWatch: Sendable {
    private let environment: Environment
    private let finished: @Sendable () -> Void
    /// When it will look at the latest.
    private let due = Atomic<UInt64>(.max)
    private let worker = Lock(WorkerOnDemand())

    /// `finished` hears that it runs no more.
    init(_ environment: Environment, finished: @escaping @Sendable () -> Void) {
        self.environment = environment
        self.finished = finished
    }

    /// Called once a commit with this deadline is queued.
    func expect(_ deadline: UInt64, in queue: CommitQueue) {
        // As a rule an earlier one is waited for, and nobody has to be woken.
        guard comesEarlier(deadline) else { return }
        // Without a thread it is told when the leader comes to it.
        try? start(in: queue)
        wake()
    }

    /// Has the thread be there, without which nobody who waits for a slot would be let in.
    func start(in queue: CommitQueue) throws(HoldfastError) {
        try worker.withLock { worker throws(HoldfastError) in
            if worker.isClosing { return }
            try worker.start(environment.workers, name: "hf-deadlines") { [self] in step(queue) }
        }
    }

    /// Has it look at the queue soon.
    func wake() { worker.withLock { $0.wake() } }

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

    func beginClosing() { worker.withLock { $0.beginClosing() } }

    var isFinished: Bool { worker.withLock { $0.isFinished } }

    private func step(_ queue: CommitQueue) -> NextStep {
        queue.admitWaiting()
        let isClosing = worker.withLock { worker in
            if worker.isClosing { worker.finish() }
            return worker.isClosing
        }
        if isClosing {
            finished()
            return .finished
        }
        if environment.time.monotonicNanoseconds() >= due.load(ordering: .acquiring) {
            // Before it looks: who comes behind that wakes it.
            _ = due.exchange(.max, ordering: .acquiringAndReleasing)
            _ = comesEarlier(queue.withdrawLateSubmitted())
        }
        let next = due.load(ordering: .acquiring)
        return .sleep(until: next == .max ? nil : next)
    }
}
