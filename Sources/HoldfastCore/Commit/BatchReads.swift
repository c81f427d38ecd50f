internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What is read of the storage to validate what the members of a batch have read, once for all of them.
struct BatchReads {
    private let batch: [Commit]
    private let recent: RecentCommits
    private let write: any StorageWrite
    private let environment: Environment

    /// For the snapshots behind which the recent commits tell everything, and for the others.
    private var near: StoredChanges?
    private var far: StoredChanges?

    init(of batch: [Commit], _ recent: RecentCommits, in write: any StorageWrite, _ environment: Environment) {
        self.batch = batch
        self.recent = recent
        self.write = write
        self.environment = environment
    }

    /// Whether the batch has taken its time. What was read for all of its members is to be of use for many.
    func isTimeUp(since began: UInt64) -> Bool {
        let reading = (near?.readingTime ?? 0) + (far?.readingTime ?? 0)
        return environment.time.monotonicNanoseconds() &- began > UInt64(environment.limits.batchTime) + 2 * reading
    }

    /// What was changed behind a member's snapshot. A conflict where nobody can tell any more.
    mutating func withChanges(
        since snapshot: CommitSequence, _ body: (inout StoredChanges) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        if recent.covers(snapshot) {
            if near == nil { near = stored(recent, behind: asked.snapshots.filter(recent.covers)) }
            return try body(&near!)
        }
        if far == nil {
            let (snapshots, repositories) = asked
            let older = snapshots.filter { !recent.covers($0) }
            let began = environment.time.monotonicNanoseconds()
            let read = try RecentCommits(
                behind: older, in: repositories, head: write.head, environment.limits
            ) { after, limit throws(HoldfastError) in try write.commitLog(after: after, limit: limit) }
            far = stored(read, behind: older.filter(read.covers))
            far!.readingTime = environment.time.monotonicNanoseconds() &- began
        }
        guard far!.changes.start <= snapshot else { throw ConflictCheck.tooOld }
        try body(&far!)
    }

    private func stored(_ changes: RecentCommits, behind snapshots: [CommitSequence]) -> StoredChanges {
        let write = write
        return StoredChanges(changes.changes, oldest: snapshots.min() ?? write.head, environment) {
            keys, body throws(HoldfastError) in try write.fetch(keys, body)
        }
    }

    /// The snapshots of those members who need to know what was changed, and where they need to.
    private var asked: (snapshots: [CommitSequence], repositories: Set<RepositoryID>) {
        var snapshots: [CommitSequence] = []
        var repositories: Set<RepositoryID> = []
        for case let reads? in batch.lazy.map(\.reads) {
            let needed = reads.repositoriesToFollow
            if needed.isEmpty { continue }
            snapshots.append(reads.snapshot)
            repositories.formUnion(needed)
        }
        return (snapshots, repositories)
    }
}

extension ReadSet {
    /// Of which it must be known what was changed there: what is there now does not tell whether a query, or a key that
    /// was not read, is concerned.
    var repositoriesToFollow: Set<RepositoryID> {
        var repositories = Set(predicates.map(\.repository))
        for (key, version) in keys where version == Self.unseen { repositories.insert(key.repository) }
        return repositories
    }
}
