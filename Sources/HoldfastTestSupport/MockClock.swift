internal import Synchronization

/// A clock that stands still until it is told otherwise, for what expires:
///
///     let clock = MockClock()
///     try store.setClock { clock.now }
///     clock.advance(by: .seconds(300))
public final class MockClock: Sendable {
    private let time = Mutex(Duration.zero)

    /// A clock at zero.
    public init() {}

    /// How far it was advanced in all.
    public var now: Duration { time.withLock { $0 } }

    /// Lets time pass.
    public func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
