internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What commits have changed behind a sequence, as the commit log tells it, ready to answer "what changed since".
struct ChangesSince {
    /// Everything that was changed behind this sequence is here.
    private(set) var start: CommitSequence
    /// How many changes are here.
    private(set) var count = 0

    /// Those that changed something, oldest first.
    private(set) var entries: [CommitLogEntry] = []
    private var lastWrites: [EntityKey: CommitSequence] = [:]
    /// When repositories were dropped, which wrote all that was in them.
    private var drops: [RepositoryID: CommitSequence] = [:]
    private var newest: [RepositoryID: (key: EntityKey, sequence: CommitSequence)] = [:]

    init(start: CommitSequence) { self.start = start }

    /// Takes in the commit behind all that are here.
    mutating func append(_ entry: CommitLogEntry) {
        // Nobody can have read what a repository is called.
        if !entry.changes.contains(where: { $0.isDeletion || !$0.key.isWhole }) { return }
        entries.append(entry)
        count += entry.changes.count
        for change in entry.changes {
            lastWrites[change.key] = entry.sequence
            if change.key.isWhole { drops[change.key.repository] = entry.sequence }
            if newest[change.key.repository]?.sequence != entry.sequence {
                newest[change.key.repository] = (change.key, entry.sequence)
            }
        }
    }

    mutating func removeAll(through sequence: CommitSequence) {
        start = sequence
        if entries.isEmpty { return }
        count = 0
        entries.removeAll(keepingCapacity: true)
        lastWrites.removeAll(keepingCapacity: true)
        drops.removeAll(keepingCapacity: true)
        newest.removeAll(keepingCapacity: true)
    }

    /// When the key was last written, if that is behind `start`, else 0.
    func lastWrite(_ key: EntityKey) -> CommitSequence {
        // Without hashing the key where there is nothing to find.
        if lastWrites.isEmpty { return 0 }
        let written = lastWrites[key] ?? 0
        return drops.isEmpty ? written : max(written, drops[key.repository] ?? 0)
    }

    /// A key that the newest commit has changed which changed anything there.
    func newestChange(in repository: RepositoryID) -> (key: EntityKey, sequence: CommitSequence)? {
        newest[repository]
    }

    /// Each key that was changed behind a sequence that is not before `start`, with when that was last, oldest first.
    func changed(
        in repository: RepositoryID, after sequence: CommitSequence
    ) -> [(key: EntityKey, sequence: CommitSequence)] {
        var changed: [(key: EntityKey, sequence: CommitSequence)] = []
        for entry in entries(after: sequence) {
            for change in entry.changes
            where change.key.repository == repository && lastWrites[change.key] == entry.sequence {
                changed.append((change.key, entry.sequence))
            }
        }
        return changed
    }

    private func entries(after sequence: CommitSequence) -> ArraySlice<CommitLogEntry> {
        entries[entries.partitioningIndex { $0.sequence > sequence }...]
    }
}
