internal import HoldfastStorage
internal import Synchronization

/// The newest state that is known, for those who read it without a lock: a sequence lock.
///
/// Whoever changes it has a lock. Each word is read acquiring and written releasing, so that who sees anything of a change also sees
/// that the number has moved on.
final class KnownToken: Sendable {
    /// Of changes: odd during one.
    private let number = Atomic<UInt64>(0)
    private let isKnown = Atomic<Bool>(false)
    /// When it was the newest.
    private let time = Atomic<UInt64>(0)
    private let first = Atomic<UInt64>(0)
    private let second = Atomic<UInt64>(0)
    private let third = Atomic<UInt64>(0)
    private let fourth = Atomic<UInt64>(0)

    /// What was found; `changing`: somebody else is about to change it.
    enum Look {
        case known(ChangeToken)
        case unknown
        case changing
    }

    /// What was the newest at this time or later.
    func look(since oldest: UInt64) -> Look {
        let seen = number.load(ordering: .acquiring)
        guard seen & 1 == 0 else { return .changing }
        let isYoung = isKnown.load(ordering: .acquiring) && time.load(ordering: .acquiring) >= oldest
        let token = ChangeToken(
            (
                first.load(ordering: .acquiring), second.load(ordering: .acquiring), third.load(ordering: .acquiring),
                fourth.load(ordering: .acquiring), 0, 0
            ))
        guard number.load(ordering: .acquiring) == seen else { return .changing }
        return isYoung ? .known(token) : .unknown
    }

    func show(_ token: ChangeToken?, at newTime: UInt64) {
        number.wrappingAdd(1, ordering: .acquiringAndReleasing)
        isKnown.store(token != nil, ordering: .releasing)
        time.store(newTime, ordering: .releasing)
        if let words = token?.words {
            first.store(words.0, ordering: .releasing)
            second.store(words.1, ordering: .releasing)
            third.store(words.2, ordering: .releasing)
            fourth.store(words.3, ordering: .releasing)
        }
        number.wrappingAdd(1, ordering: .releasing)
    }
}
