internal import Glibc

/// Everything that the core takes from outside itself and its storage: time, chance and threads. A simulator
/// puts its own in place and runs many clients in one thread from a seed.
public struct Environment: Sendable {
    public var time: any TimeSource
    public var random: any RandomSource
    public var workers: any Workers

    public init(time: any TimeSource, random: any RandomSource, workers: any Workers) {
        self.time = time
        self.random = random
        self.workers = workers
    }

    /// The system's clocks, the system's randomness, real threads.
    public static let system = Environment(time: SystemTime(), random: SystemRandom(), workers: ThreadWorkers())
}

public protocol TimeSource: Sendable {
    /// Rises steadily; unrelated to the calendar.
    func monotonicNanoseconds() -> UInt64
    /// Since 1970-01-01 UTC; may jump.
    func wallMilliseconds() -> UInt64
}

public protocol RandomSource: Sendable {
    func next() -> UInt64
}

public struct SystemTime: TimeSource {
    public init() {}
    public func monotonicNanoseconds() -> UInt64 { Self.read(CLOCK_MONOTONIC) }
    public func wallMilliseconds() -> UInt64 { Self.read(CLOCK_REALTIME) / 1_000_000 }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var now = timespec()
        clock_gettime(clock, &now)
        return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
    }
}

public struct SystemRandom: RandomSource {
    public init() {}
    public func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
