internal import HoldfastCore
internal import HoldfastEnvironment

/// How fast results are told.
enum StreamPace: Sendable {
    case none
    case debounce(Duration)
    case throttle(Duration)
}

/// A stream of results, taken at a pace.
struct PacedConsumer: Sendable {
    let consumer: StreamConsumer
    let pace: StreamPace
    let clock: ClockReading
    /// When a result was told last.
    private var lastTold: Duration?

    init(_ consumer: StreamConsumer, _ pace: StreamPace, _ store: Store) {
        let clock: any Clock<Duration> = store.clock.withLock { $0 }
        (self.consumer, self.pace, self.clock) = (consumer, pace, ClockReading(clock))
    }

    /// Waits until there is something to tell, and has `take` hear each change until then; false at the end.
    nonisolated(nonsending) mutating func next(_ take: (ResultChange) -> Void) async throws -> Bool {
        var hasChanged = false
        if case .throttle(let interval) = pace, var begun = lastTold {
            // No longer than that, also where the clock was set back.
            func left() -> Duration {
                let now = clock.now()
                begun = Swift.min(begun, now)
                return begun + interval - now
            }
            while left() > .zero, try await follow(within: left(), take) { hasChanged = true }
        }
        if !hasChanged { guard try await follow(within: nil, take) else { return false } }
        if case .debounce(let interval) = pace, lastTold != nil {
            while try await follow(within: interval, take) {}
        }
        lastTold = clock.now()
        return true
    }

    /// Takes in the next change; false at the end, and where none comes within the interval.
    private nonisolated(nonsending) func follow(
        within interval: Duration?, _ take: (ResultChange) -> Void
    ) async throws -> Bool {
        let sleep = interval.map { interval in { @Sendable [clock] in try await clock.sleep(interval) } }
        while let event = try await consumer.next(within: sleep) {
            if case .result(let change) = event {
                take(change)
                return true
            }
        }
        return false
    }
}
