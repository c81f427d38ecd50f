internal import Synchronization

/// How many commits wait that rely on reads, so that recent commits must be remembered for them. Apart from the
/// queue, because its leader asks.
final class WaitingReaders: Sendable {
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .acquiring) }

    func add(_ difference: Int) { number.add(difference, ordering: .releasing) }
}
