/// The commit log's newest part, in memory, ready to answer "what changed since". It spares the conflict check
/// from reading the stored log, and is kept only while some transaction holds a snapshot that may need it.
/// Confined to the leader.
struct RecentCommits {
    /// Everything behind this sequence is here.
    private(set) var start: CommitSequence

    private var entries: [LogEntry] = []
    private var lastWrites: [EntityKey: CommitSequence] = [:]

    /// Beyond so many changed keys it begins anew, and older snapshots are checked against the stored log.
    private let limit: Int

    init(start: CommitSequence, limit: Int) {
        self.start = start
        self.limit = limit
    }

    mutating func append(_ newer: some Sequence<LogEntry>) {
        for entry in newer {
            if lastWrites.count > limit { restart(at: entry.sequence - 1) }
            entries.append(entry)
            for change in entry.changes { lastWrites[change.key] = entry.sequence }
        }
    }

    mutating func restart(at sequence: CommitSequence) {
        start = sequence
        if !entries.isEmpty {
            entries.removeAll(keepingCapacity: true)
            lastWrites.removeAll(keepingCapacity: true)
        }
    }

    /// When the key was last written, if that is behind `start`.
    func lastWrite(_ key: EntityKey) -> CommitSequence {
        // Without hashing the key where there is nothing to find.
        lastWrites.isEmpty ? 0 : lastWrites[key] ?? 0
    }

    /// The entries behind a sequence that is not before `start`, oldest first.
    func entries(after sequence: CommitSequence) -> ArraySlice<LogEntry> {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        return entries[low...]
    }
}
