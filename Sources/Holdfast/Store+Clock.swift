internal import HoldfastCore
internal import HoldfastEnvironment

extension Store {
    /// Replaces the clock by which entities expire, and by which live queries are held back (``LiveQuery/debounce(for:)``,
    /// ``LiveQuery/throttle(for:)``) from their next iteration on: for tests, which let time pass instead of sleeping. Nil for
    /// the system's.
    ///
    ///     let clock = MockClock()
    ///     try store.setClock(clock)
    ///     clock.advance(by: .seconds(300))
    ///
    /// It is asked for the time on any thread, by several at once, and must not use the store.
    public func setClock(_ clock: (any Clock<Duration>)?) throws {
        try translatingErrors { () throws(CoreError) in
            try core.setClock(clock.map { FunctionClock(ClockReading($0).now) })
        }
        self.clock.withLock { $0 = clock ?? ContinuousClock() }
    }
}

/// A clock whose times are told since it was first read.
struct ClockReading: Sendable {
    let now: @Sendable () -> Duration
    /// Until so much time has passed by it, or the task is cancelled, which throws.
    let sleep: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
    }
}

private final class FunctionClock: HostClock {
    private let function: @Sendable () -> Duration

    init(_ function: @escaping @Sendable () -> Duration) { self.function = function }

    func now() -> UInt64 {
        let (seconds, attoseconds) = function().components
        return UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
    }
}
