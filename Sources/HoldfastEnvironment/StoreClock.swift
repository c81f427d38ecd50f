internal import Synchronization

/// The time by which a store lets things expire: the system's, or a host's own, which is meant for tests.
public final class StoreClock: TimeSource {
    private struct Set {
        let clock: any HostClock
        /// What both showed when it was set: from there on the calendar moves with it.
        let monotonic: UInt64
        let wall: UInt64
    }

    private let system: any TimeSource
    /// So that a store without one asks for it at little cost.
    private let isSet = Atomic<Bool>(false)
    private let current = Lock<Set?>(nil)

    package init(_ system: any TimeSource) { self.system = system }

    public func monotonicNanoseconds() -> UInt64 {
        guard let set = set else { return system.monotonicNanoseconds() }
        return set.clock.now()
    }

    public func wallMilliseconds() -> UInt64 {
        guard let set = set else { return system.wallMilliseconds() }
        return set.wall &+ (max(set.clock.now(), set.monotonic) - set.monotonic) / 1_000_000
    }

    private var set: Set? { isSet.load(ordering: .acquiring) ? current.withLock { $0 } : nil }

    /// Nil for the system's.
    package func set(_ clock: (any HostClock)?) {
        let new = clock.map { Set(clock: $0, monotonic: $0.now(), wall: system.wallMilliseconds()) }
        // The old one is let go outside the lock: its end may run the host's destructor.
        let old = current.withLock { current in
            defer { current = new }
            isSet.store(new != nil, ordering: .releasing)
            return current
        }
        _ = old
    }
}

/// A host's monotonic clock.
public protocol HostClock: AnyObject, Sendable {
    /// In nanoseconds. Called on any thread, by several at once, without a lock held, and while a commit is under way: it
    /// must not call the store, and not fork.
    func now() -> UInt64
}
