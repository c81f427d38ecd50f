internal import HoldfastEnvironment
internal import Synchronization

/// Has the newest state asked for from time to time while anybody reads what may be stale, so that who reads need not ask: on a
/// thread of its own, which is started at the first such read, and rests when there was none for a while.
final class StateFollower: Sendable {
    private let ask: @Sendable () -> Void
    private let workers: any Workers
    private let worker = Lock(WorkerOnDemand())
    /// How old a state may be, in nanoseconds.
    private let age: UInt64
    /// When somebody has read last.
    private let wanted = Atomic<UInt64>(0)
    private let isResting = Atomic<Bool>(true)

    /// In nanoseconds: it asks so often at least, and at most.
    private static let (longest, shortest): (UInt64, UInt64) = (50_000_000, 5_000_000)
    private static let patience: UInt64 = 2_000_000_000

    init(_ age: UInt64, _ workers: any Workers, ask: @escaping @Sendable () -> Void) {
        self.age = age
        self.workers = workers
        self.ask = ask
    }

    /// Somebody reads a state that may be so old.
    func want(at now: UInt64) {
        // Who allows less asks by himself.
        if age < 2 * Self.shortest { return }
        wanted.store(now, ordering: .relaxed)
        guard isResting.load(ordering: .relaxed), isResting.exchange(false, ordering: .acquiringAndReleasing) else {
            return
        }
        worker.withLock { worker in
            if worker.isClosing { return }
            if worker.isStarted { return worker.wake() }
            // Without a thread everybody asks by himself.
            try? worker.start(workers, name: "hf-newest") { [self] in step() }
        }
    }

    private func step() -> NextStep {
        let isClosing = worker.withLock { worker in
            if worker.isClosing { worker.finish() }
            return worker.isClosing
        }
        if isClosing { return .finished }
        if Connection.now() &- wanted.load(ordering: .relaxed) > Self.patience {
            isResting.store(true, ordering: .releasing)
            return .sleep()
        }
        ask()
        let interval = min(Self.longest, max(Self.shortest, age / 2))
        return .sleep(until: Connection.now() &+ interval)
    }

    func close() { worker.withLock { $0.beginClosing() } }
}
