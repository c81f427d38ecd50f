internal import Synchronization

/// A clock that stands still until it is told otherwise, for what expires, and for what waits:
///
///     let clock = MockClock()
///     try store.setClock(clock)
///     clock.advance(by: .seconds(300))
public final class MockClock: Clock {
    /// A time of a mock clock.
    public struct Instant: InstantProtocol {
        /// Since the clock was made.
        public var elapsed: Duration

        /// So much later.
        public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
        /// How much later the other is.
        public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
        /// Whether it is the earlier one.
        public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
    }

    private struct State {
        var time = Duration.zero
        /// Tasks that sleep, by the numbers given to them.
        var sleepers: [UInt64: (deadline: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// A clock at zero.
    public init() {}

    /// How far it was advanced in all, as a time.
    public var now: Instant { Instant(elapsed: state.withLock { $0.time }) }

    /// There is no shortest time.
    public var minimumResolution: Duration { .zero }

    /// When the next of those wakes that sleep by this clock just now: what a test waits for before it lets time pass. Nil
    /// where nobody sleeps.
    public var nextWake: Instant? {
        state.withLock { $0.sleepers.values.map(\.deadline).min() }.map(Instant.init(elapsed:))
    }

    /// Lets time pass, and wakes who has slept for long enough.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.time += duration
            let due = state.sleepers.filter { $0.value.deadline <= state.time }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Returns once it was advanced to the deadline. Throws `CancellationError` when the task is cancelled before.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.time < deadline.elapsed { state.sleepers[number] = (deadline.elapsed, continuation) }
                    return state.time >= deadline.elapsed
                }
                if isOver { return continuation.resume() }
                // Whoever was cancelled before it could be seen sleeping.
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: UInt64) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
