internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

/// Which committed state the cached entities show, for those who read them without the cache's lock: a sequence lock.
///
///     guard let seen = shown.see(token) …    // the state, and the number of changes so far
///     … find an entity …
///     if shown.isStill(seen) { … it is that state's … }
///
/// Whoever changes what entities mean does so between `beginChange` and `endChange`, under the cache's lock. Each word is
/// read acquiring and written releasing: who sees anything of a change, in these words or in a table, also sees that the
/// number has moved on. (Boehm, "Can seqlocks get along with programming language memory models?", 2012.)
final class ShownState: @unchecked Sendable {
    // Sendable: the words are only touched by atomic operations.

    private enum Word: Int {
        /// Of changes: odd during one.
        case number
        case head
        case floor
        /// Whether there is a token: its words are the six that follow.
        case hasToken
        case token
    }

    /// Two cache lines of their own: nobody who reads writes beside them.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>

    init(head: CommitSequence) {
        let count = 16
        words = UnsafeMutableRawPointer.allocate(byteCount: count * 8, alignment: 128)
            .bindMemory(to: Atomic<UInt64>.self, capacity: count)
        for index in 0..<count { (words + index).initialize(to: Atomic(0)) }
        set(.head, head)
    }

    deinit { words.deallocate() }

    struct Seen {
        fileprivate let number: UInt64
        let head: CommitSequence
    }

    /// The state, if it is the one for which the token stands; nil also while it changes.
    func see(_ token: ChangeToken) -> Seen? {
        let (number, expected, start) = (get(.number), token.words, Word.token.rawValue)
        guard number & 1 == 0, get(.hasToken) == 1, words[start].load(ordering: .acquiring) == expected.0,
            words[start + 1].load(ordering: .acquiring) == expected.1,
            words[start + 2].load(ordering: .acquiring) == expected.2,
            words[start + 3].load(ordering: .acquiring) == expected.3,
            words[start + 4].load(ordering: .acquiring) == expected.4,
            words[start + 5].load(ordering: .acquiring) == expected.5
        else { return nil }
        return Seen(number: number, head: get(.head))
    }

    /// The state, if it serves a snapshot at this sequence; nil also while it changes.
    func see(at sequence: CommitSequence) -> Seen? {
        let (number, head) = (get(.number), get(.head))
        guard number & 1 == 0, sequence >= get(.floor), sequence <= head else { return nil }
        return Seen(number: number, head: head)
    }

    func isStill(_ seen: Seen) -> Bool { get(.number) == seen.number }

    func beginChange() { words[Word.number.rawValue].wrappingAdd(1, ordering: .acquiringAndReleasing) }

    func endChange(head: CommitSequence, floor: CommitSequence, _ token: ChangeToken?) {
        set(.head, head)
        set(.floor, floor)
        set(.hasToken, token == nil ? 0 : 1)
        if let token {
            withUnsafeBytes(of: token.words) { bytes in
                for (index, word) in bytes.bindMemory(to: UInt64.self).enumerated() {
                    words[Word.token.rawValue + index].store(word, ordering: .releasing)
                }
            }
        }
        words[Word.number.rawValue].wrappingAdd(1, ordering: .releasing)
    }

    private func get(_ word: Word) -> UInt64 { words[word.rawValue].load(ordering: .acquiring) }
    private func set(_ word: Word, _ value: UInt64) { words[word.rawValue].store(value, ordering: .releasing) }
}
