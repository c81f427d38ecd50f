/// Everything that the core takes from outside itself and its storage: time, chance, threads, and how far its own limits
/// go. A simulator puts its own in place and runs many clients in one thread from a seed.
public struct Environment: Sendable {
    public var time: any TimeSource
    public var random: any RandomSource
    public var workers: any Workers
    public var limits: Limits

    public init(
        time: any TimeSource, random: any RandomSource, workers: any Workers, limits: Limits = Limits()
    ) {
        self.time = time
        self.random = random
        self.workers = workers
        self.limits = limits
    }

    /// The system's clocks, the system's randomness, real threads.
    public static let system = Environment(
        time: SystemTime(), random: SystemRandom(), workers: ThreadWorkers(),
        limits: Limits.inForce)
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
    public func monotonicNanoseconds() -> UInt64 { Self.nanoseconds(Self.read(CLOCK_MONOTONIC)) }
    public func wallMilliseconds() -> UInt64 { Self.milliseconds(Self.read(CLOCK_REALTIME)) }

    private static func read(_ clock: clockid_t) -> timespec {
        var now = timespec()
        clock_gettime(clock, &now)
        return now
    }

    private static func nanoseconds(_ time: timespec) -> UInt64 {
        UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec)
    }

    /// Nothing before 1970, which an unset clock may show, is counted; no year is too far to be.
    static func milliseconds(_ time: timespec) -> UInt64 {
        guard time.tv_sec >= 0 else { return 0 }
        // Below 2^63, as the engines store it.
        return min(UInt64(time.tv_sec), UInt64(Int64.max) / 1_000 - 1) * 1_000
            + UInt64(truncatingIfNeeded: time.tv_nsec) / 1_000_000
    }
}

public struct SystemRandom: RandomSource {
    public init() {}
    public func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
