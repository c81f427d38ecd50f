internal import HoldfastQuery

/// Which entries of the commit log are older than they are kept. It notes now and then how far the commit log had come,
/// so that no entry has to be looked at: what came before a note is older than the note. What was there when the store
/// was opened counts from then.
struct CommitLogAges {
    private let maxAge: UInt64
    private var notes: [(sequence: CommitSequence, time: UInt64)]

    /// Nil where age does not matter. `now` is monotonic.
    init?(maxAgeMilliseconds: UInt64?, head: CommitSequence, now: UInt64) {
        guard let maxAgeMilliseconds else { return nil }
        maxAge = maxAgeMilliseconds &* 1_000_000
        notes = [(head, now)]
    }

    /// Notes that the commit log has come so far, and answers up to which entry all are too old.
    mutating func advance(to sequence: CommitSequence, now: UInt64) -> CommitSequence {
        notes.append((sequence, now))
        let old = notes.prefix { now >= $0.time && now - $0.time > maxAge }
        let horizon = old.last?.sequence ?? 0
        notes.removeFirst(old.count)
        return horizon
    }
}
