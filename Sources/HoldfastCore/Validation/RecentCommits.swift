internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The commit log's newest part, in memory. It spares the conflict check from reading what is stored, and is kept only
/// while some transaction holds a snapshot that may need it. Confined to the leader.
struct RecentCommits {
    private(set) var changes: ChangesSince

    /// With more changes it begins anew, and the reads of older snapshots are held against what is stored.
    private let limit: Int

    init(start: CommitSequence, limit: Int) {
        changes = ChangesSince(start: start)
        self.limit = limit
    }

    /// Whether everything is here that was changed since that snapshot. Else nothing that is here, or is not, tells
    /// anything of it.
    func covers(_ snapshot: CommitSequence) -> Bool { snapshot >= changes.start }

    /// Takes in what was committed behind all that it has seen.
    mutating func append(_ newer: some Sequence<CommitLogEntry>) {
        for entry in newer {
            if changes.count + entry.changes.count > limit { restart(at: entry.sequence - 1) }
            if entry.changes.count > limit { restart(at: entry.sequence) } else { changes.append(entry) }
        }
    }

    mutating func restart(at sequence: CommitSequence) { changes.removeAll(through: sequence) }
}

extension RecentCommits {
    /// Reads them from the stored commit log: everything that was changed in these repositories behind the oldest of
    /// the snapshots to which the commit log still reaches, or less, where that is too much to look at. `covers` tells.
    /// `commitLog` answers what is behind a sequence, at most so many commits, or nil where that was trimmed.
    init(
        behind snapshots: [CommitSequence], in repositories: Set<RepositoryID>, head: CommitSequence, _ limits: Limits,
        _ commitLog: (CommitSequence, Int) throws(HoldfastError) -> [CommitLogEntry]?
    ) throws(HoldfastError) {
        self.init(start: head, limit: limits.checkedChanges)
        for oldest in Set(snapshots).sorted() {
            guard var page = try commitLog(oldest, limits.checkPage) else { continue }
            restart(at: oldest)
            while true {
                for index in page.indices {
                    page[index].changes.removeAll { !repositories.contains($0.key.repository) }
                }
                append(page)
                guard let last = page.last, page.count >= limits.checkPage else { return }
                guard let next = try commitLog(last.sequence, limits.checkPage) else {
                    // It was there a moment ago, in the same transaction.
                    restart(at: head)
                    return
                }
                page = next
            }
        }
    }
}
