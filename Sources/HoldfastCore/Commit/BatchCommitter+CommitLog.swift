internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What others have put into the commit log, and how long it is kept, as is what idempotency keys have left.
extension BatchCommitter {
    /// Of more than is remembered nothing is: reading it would take time, and everybody waits.
    func remember(others write: any StorageWrite) throws(HoldfastError) {
        let limits = environment.limits
        var entries: [CommitLogEntry] = []
        var count = 0
        while let page = try write.commitLog(after: entries.last?.sequence ?? storedHead, limit: limits.checkPage) {
            count += page.reduce(0) { $0 + $1.changes.count }
            if count > limits.recentChanges { break }
            entries += page
            if page.count < limits.checkPage { return recent.append(entries) }
        }
        recent.restart(at: write.head)
    }

    /// By count and by age now and then, by bytes whenever they have become too many.
    func trimWhenDue(
        _ batch: inout WriteBatch, _ entryBytes: Int, commits: Int, in write: any StorageWrite
    ) throws(HoldfastError) {
        let before = lastSequence - min(lastSequence, CommitSequence(commits))
        let interval = CommitSequence(environment.limits.trimInterval)
        let isDue = before / interval != lastSequence / interval
        if commitLogSizes.mustCount(adding: entryBytes) || isDue && !commitLogSizes.isComplete {
            try commitLogSizes.count(in: write)
        }
        let tooLarge = commitLogSizes.horizon(adding: entryBytes)
        if tooLarge > 0 { batch.trimCommitLogBelow = tooLarge }
        guard isDue else { return }
        let tooMany = lastSequence - min(lastSequence, settings.logRetention)
        let tooOld = commitLogAges?.advance(to: before, now: environment.time.monotonicNanoseconds()) ?? 0
        let horizon = max(tooLarge, tooMany, tooOld)
        if horizon > 0 { batch.trimCommitLogBelow = horizon }
        batch.trimIdempotencyBefore = keyAges.horizon
        batch.keepIdempotency = settings.idempotencyMaxCount
    }
}
