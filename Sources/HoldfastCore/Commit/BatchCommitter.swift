internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What a commit asks of the snapshots that are open while it goes by.
protocol CommitSnapshots: AnyObject, Sendable {
    /// Whether a transaction reads from one, so that recent commits must be remembered for it.
    var isHeld: Bool { get }

    /// The state that the newest stands for is about to end.
    func pinBeforeCommit()

    /// The commit is to be seen: who begins to read now gets a newer one.
    func releaseStale()

    /// The storage is opened anew: what was read from it before is no longer to be had.
    func dropAll()

    /// As `dropAll`, and what was read is not to be relied on. Answers the number of the store's new history.
    func beginHistory() -> UInt64
}

/// Carries a batch of commits through one write transaction of the engine: validates each, stores the survivors,
/// syncs once. Confined to the queue's leader, one thread at a time.
///
///     begin → validate each member → apply → commit → publish
///       |          |                |        |
///       |          |                |        +- somebody else was faster: nothing counts, all are taken again
///       |          |                |        +- fails: outcome unknown; recover, then resolve each one
///       |          |                +- fails: roll back, try each survivor alone; what cannot be rolled back is unknown
///       |          +- refused: that member ends with the batch, and the others go on
///       +- fails: all end with that error, nothing was stored
final class BatchCommitter {
    // What changes, and what guards it: everything here is the leader's, which excludes what Swift would look for at each
    // access. The catalogue, the cache, the follower and the storage, which others use meanwhile, have locks of their own.

    let storage: any Storage
    let environment: Environment
    let settings: Settings
    let keyAges: KeyAges
    let snapshots: any CommitSnapshots
    private let waitingReaders: WaitingReaders

    /// Random, once: tells this opening's commits from those of another that got the same sequence.
    let identity: UInt64
    /// The newest sequence that was given out, to a commit that was stored or to one that was not.
    var lastSequence: CommitSequence
    /// The newest in the commit log when this process looked last.
    var storedHead: CommitSequence
    var reservedThrough: CommitSequence
    var commitLogAges: CommitLogAges?
    @exclusivity(unchecked) var commitLogSizes: CommitLogSizes
    @exclusivity(unchecked) var recent: RecentCommits
    @exclusivity(unchecked) private(set) var knownIndexes = KnownIndexes()
    @exclusivity(unchecked) private(set) var droppedRepositories = DroppedRepositories()
    let names: Catalogue
    let cache: EntityCache
    let follower: CommitLogFollower
    let origin: Receipt.Origin
    /// For the diagnostics log, once the lead was passed on.
    @exclusivity(unchecked) var notes: [StoreDiagnostics.Entry] = []
    /// Set while the storage has to be recovered before it can be used again.
    var brokenBy: HoldfastError?
    /// Rises where the storage has lost commits.
    var history: UInt64 = 0
    /// What a server has left open of a batch, until it was asked.
    var open: Open?
    /// Set while not all have been told that it has.
    var lossToTell: HoldfastError?
    /// Set when the write lock could not be waited for.
    @exclusivity(unchecked) var writeLockFailure: HoldfastError?

    init(
        storage: any Storage, state: StorageState, environment: Environment, settings: Settings, keyAges: KeyAges,
        names: Catalogue, cache: EntityCache, follower: CommitLogFollower, snapshots: any CommitSnapshots,
        waitingReaders: WaitingReaders
    ) {
        self.storage = storage
        self.environment = environment
        self.settings = settings
        self.keyAges = keyAges
        self.snapshots = snapshots
        self.waitingReaders = waitingReaders
        identity = environment.random.next()
        lastSequence = state.head
        storedHead = state.head
        reservedThrough = state.reservedThrough
        commitLogAges = CommitLogAges(
            maxAgeMilliseconds: settings.logMaxAgeMilliseconds, head: state.head,
            now: environment.time.monotonicNanoseconds())
        commitLogSizes = CommitLogSizes(limit: settings.logMaxBytes, pieces: environment.limits.logPieces)
        recent = RecentCommits(start: state.head, limit: environment.limits.recentChanges)
        self.names = names
        self.cache = cache
        self.follower = follower
        origin = Receipt.Origin(
            incarnation: hexadecimal(state.incarnation), names: names, storageIsAtomic: storage.isAtomic)
    }

    /// The newest sequence that was given out.
    var head: CommitSequence { lastSequence }

    /// Whether somebody will be validated against what is committed now.
    private var mustRemember: Bool { snapshots.isHeld || waitingReaders.count > 0 }

    /// Waits for the write lock until then, and answers whether `run` may follow.
    func acquireWriteLock(until deadline: UInt64) -> Bool {
        writeLockFailure = nil
        do throws(HoldfastError) {
            return try storage.acquireWriteLock(until: deadline)
        } catch {
            writeLockFailure = error
            return true
        }
    }

    func releaseWriteLock() { storage.releaseWriteLock() }

    /// What a batch needs of its write transaction, which is begun before the batch is taken: who has to wait for another
    /// program is still queued.
    struct Needs {
        /// How many commits it will have at most.
        var commits: Int
        var isDurable: Bool
        var advances: Bool
        /// Until when whoever leads it waits for a server.
        var deadline = UInt64.max

        /// Whether a batch with this commit needs no more.
        func suffice(for commit: Commit) -> Bool {
            (isDurable || !commit.isDurable) && (advances || !commit.advances)
        }
    }

    /// A write transaction, or why there is none.
    struct Opening {
        var hasFailed: Bool { if case .failure = write { true } else { false } }

        fileprivate var write: Result<(transaction: any StorageWrite, reserves: Bool), HoldfastError>
        fileprivate var began: UInt64
        /// Until when whoever leads waits.
        fileprivate var deadline: UInt64
    }

    /// Begins the write transaction. This process has the write lock.
    func open(for needs: Needs) -> Opening {
        let began = environment.time.monotonicNanoseconds()
        return Opening(
            write: Result { () throws(HoldfastError) in try begin(needs) }, began: began, deadline: needs.deadline)
    }

    /// Ends the commits of the batch, in an order in which successes are in commit order, and answers those that are to be taken
    /// again: it had no time for them, or somebody else was faster.
    func run(_ batch: [Commit], in opening: Opening) -> [Commit] {
        if batch.isEmpty {
            if case .success((let transaction, _)) = opening.write { transaction.rollback() }
            return []
        }
        let rest = commit(batch, in: opening)
        let nanoseconds = environment.time.monotonicNanoseconds() &- opening.began
        if nanoseconds > settings.slowBatchNanoseconds {
            notes.append(
                StoreDiagnostics.Entry(
                    level: .warning, message: "a batch of commits took long",
                    fields: [
                        ("milliseconds", .number(nanoseconds / 1_000_000)),
                        ("commits", .number(UInt64(batch.count - rest.count))),
                    ]))
        }
        return rest
    }

    /// What happened that the diagnostics log should have.
    func takeNotes() -> [StoreDiagnostics.Entry] {
        defer { notes = [] }
        return notes
    }

    func sync() throws(HoldfastError) {
        if let brokenBy { throw refusal(brokenBy) }
        try storage.sync()
    }

    func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        if let brokenBy { throw refusal(brokenBy) }
        // Whoever reads from the write-ahead log keeps the file as long as it is.
        snapshots.dropAll()
        return try storage.compact(unless: end)
    }

    // MARK: One write transaction

    /// Answers those that are to be taken again.
    private func commit(_ batch: [Commit], in opening: Opening) -> [Commit] {
        let write: any StorageWrite
        let reserves: Bool
        let isDurable = batch.contains { $0.isDurable }
        do throws(HoldfastError) {
            (write, reserves) = try opening.write.get()
        } catch {
            for commit in batch { commit.end(.failure(brokenBy.map(refusal) ?? error)) }
            return []
        }

        // Where storing takes long, somebody may give up waiting meanwhile.
        let large = batch.filter(\.canBeGivenUp)
        let isUnwanted: @Sendable () -> Bool = { large.contains(where: \.isUnwanted) }
        func requireWanted() throws(HoldfastError) { if isUnwanted() { throw Interrupt.cancelled } }
        if batch.count == 1 && isUnwanted() {
            write.rollback()
            batch[0].end(.failure(Interrupt.cancelled))
            return []
        }
        let lastBefore = lastSequence
        var validated = batch.count
        var overlay = BatchOverlay(commits: batch.count)
        var survivors: [(commit: Commit, receipt: Receipt)] = []
        // Told only after the batch is stored: what a member was refused for may be in it.
        var refused: [(commit: Commit, reason: HoldfastError)] = []
        do throws(HoldfastError) {
            // What is kept of each write until the batch is stored, and the engine's pages.
            try Memory.ask(for: batch.reduce(0) { $0 + 2 * $1.size + 512 * $1.writes.count })
            try knownIndexes.update(to: write.indexes())
            let newest = try write.repositories()
            if droppedRepositories.update(to: newest) { names.add(newest) }
            var upkeep = IndexUpkeep(knownIndexes, names: names, environment.limits)
            try requireWanted()
            if storage.isRemote { try write.prefetch(needs(of: batch)) }
            validated = try validate(batch, in: write, isDurable: isDurable, &overlay, &upkeep, &survivors, &refused)
            if overlay.isEmpty {
                guard try write.confirm() else { return beginAnew(batch, from: lastBefore) }
                for (commit, receipt) in survivors { commit.end(.success(receipt)) }
                for (commit, reason) in refused { commit.end(.failure(reason)) }
                return Array(batch[validated...])
            }
            try requireWanted()
            var stored = overlay.writeBatch()
            if !large.isEmpty { stored.isUnwanted = isUnwanted }
            if reserves {
                stored.reservedThrough = lastSequence + CommitSequence(environment.limits.sequenceReservation)
            }
            let entryBytes = CommitLogSizes.bytes(of: stored.commitLog)
            try trimWhenDue(&stored, entryBytes, commits: survivors.count, in: write)
            try upkeep.complete(&stored, in: write)
            noteNumbers(in: &stored, newest)
            if let needsBeforeImages = follower.needsBeforeImages {
                follower.announce(try CommittedBatch(overlay, in: write, needsBeforeImages: needsBeforeImages))
            }
            try requireWanted()
            try write.apply(stored)
            try requireWanted()
            if storage.isRemote, !beginStoring(survivors.map(\.commit), until: opening.deadline) {
                write.rollback()
                return beginAnew(batch, from: lastBefore)
            }
            let outcome: WriteOutcome
            do throws(HoldfastError) {
                // Readers that rely on the state which now ends must keep it.
                cache.beginCommit(on: write.head, write.changeToken) { token, head, limit throws(HoldfastError) in
                    try write.changes(since: token, behind: head, limit: limit)
                }
                snapshots.pinBeforeCommit()
                if stored.repositories.isEmpty && write.excludesOthers { names.beginCommit() }
                defer { names.endCommit() }
                outcome = try write.commit()
                if case .stored(let token) = outcome {
                    let dropped = stored.repositories.filter(\.isDropped).map(\.id)
                    cache.endCommit(
                        stored.changes, dropping: dropped, head: lastSequence, token,
                        keepsVersions: overlay.keepsVersions)
                    // Who follows tells of it by these names.
                    names.add(stored.repositories, token)
                    follower.stored(token)
                }
            } catch {
                cache.clear()
                follower.lost()
                brokenBy = error
                open = Open(survivors: survivors, refused: refused, error: error)
                // What a server is asked takes its time: see `settle`.
                if !storage.isRemote { _ = settle() }
                return Array(batch[validated...])
            }
            switch outcome {
            case .stored: break
            case .refused(let reason):
                cache.abandonCommit()
                throw reason
            case .overtaken:
                cache.abandonCommit()
                return beginAnew(batch, from: lastBefore)
            }
            if let reserved = stored.reservedThrough { reservedThrough = reserved }
            commitLogSizes.remove(below: stored.trimCommitLogBelow ?? 0)
            commitLogSizes.add(entryBytes, through: lastSequence)
        } catch {
            write.rollback()
            // Who has read what was lost is told when the batch is validated anew.
            if write.isOvertaken || error.status == .historyLost { return beginAnew(batch, from: lastBefore) }
            follower.lost()
            if error.commitState == .unknown { abandon(survivors.map(\.commit), after: error) }
            let left = batch[..<validated].filter { !$0.isDone }
            return retryAlone(left, after: error, until: opening.deadline) + batch[validated...]
        }
        storage.releaseWriteLock()
        storedHead = lastSequence
        finish(survivors, overlay.commitLog)
        for (commit, reason) in refused { commit.end(.failure(reason)) }
        return Array(batch[validated...])
    }

    /// Before a server gets them: from here on nobody can say that his is not stored. Ends those that nobody waits for any more,
    /// and answers whether all are to be stored, and whoever leads still waits.
    private func beginStoring(_ commits: [Commit], until deadline: UInt64) -> Bool {
        let now = environment.time.monotonicNanoseconds()
        var isWhole = now < deadline
        for commit in commits {
            let isLate = commit.isLate(now)
            if !isLate && commit.beginStoring() { continue }
            isWhole = false
            commit.end(.failure(isLate ? CommitQueue.timedOut : Interrupt.cancelled))
        }
        return isWhole
    }

    /// The validation counts for nothing, since somebody else was faster or the batch is not whole any more, and nobody has seen
    /// the sequences that were given out.
    private func beginAnew(_ batch: [Commit], from last: CommitSequence) -> [Commit] {
        follower.withdrawn()
        lastSequence = last
        let rest = batch.filter { !$0.isDone }
        for commit in rest { commit.endStoring() }
        return rest
    }

    /// Begins the write transaction, and tells whether it must reserve sequences. A reservation must reach the disk
    /// before anybody sees the sequences that it stands for, so it makes the transaction a durable one. The last that is
    /// reserved is not given out: after an unclean close the commit log has an entry there.
    private func begin(_ needs: Needs) throws(HoldfastError) -> (transaction: any StorageWrite, reserves: Bool) {
        var losses = 0
        while true {
            do throws(HoldfastError) {
                try beginLostHistory()
                if let failure = writeLockFailure.take() { throw failure }
                if brokenBy != nil { try recover() }
                if let begun = try beginOnce(needs) { return begun }
            } catch {
                // What has read what was lost is told when it is validated; the others go on with what is there.
                losses += 1
                guard isLoss(error), losses < environment.limits.snapshotAttempts else { throw error }
            }
        }
    }

    /// Whether the storage can go on with what it has.
    func isLoss(_ error: HoldfastError) -> Bool {
        error.status == .historyLost && storage.loss?.status == .historyLost
    }

    /// Nil where somebody else was faster, or has used up what was reserved.
    private func beginOnce(
        _ needs: Needs
    ) throws(HoldfastError) -> (transaction: any StorageWrite, reserves: Bool)? {
        let reserves = needs.advances || lastSequence + CommitSequence(needs.commits) >= reservedThrough
        let write = try storage.beginWrite(durable: needs.isDurable || reserves, until: needs.deadline)
        do throws(HoldfastError) {
            try catchUp(with: write)
        } catch {
            write.rollback()
            if write.isOvertaken { return nil }
            throw error
        }
        if reserves || lastSequence + CommitSequence(needs.commits) < reservedThrough { return (write, reserves) }
        write.rollback()
        return nil
    }

    /// Takes note of what other processes have committed.
    private func catchUp(with write: any StorageWrite) throws(HoldfastError) {
        guard write.head > storedHead else { return }
        var sizes = commitLogSizes
        // Until the commit log was counted they are counted with it.
        if sizes.isComplete { try sizes.add(behind: storedHead, in: write) }
        if mustRemember { try remember(others: write) } else { recent.restart(at: write.head) }
        commitLogSizes = sizes
        storedHead = write.head
        lastSequence = max(lastSequence, storedHead)
    }

    /// After a storage error before COMMIT that has left something behind: begins anew with what is there.
    private func abandon(_ commits: [Commit], after error: HoldfastError) {
        brokenBy = error
        cache.clear()
        // Where it fails it is tried again before the next commit.
        try? recover()
        for commit in commits { commit.end(.failure(error)) }
    }

    /// After a storage error before COMMIT: those that the storage can take are taken. Answers those that are to be taken again.
    private func retryAlone(_ batch: [Commit], after error: HoldfastError, until deadline: UInt64) -> [Commit] {
        for commit in batch { commit.endStoring() }
        if batch.count == 1 && error.commitState == .none {
            batch[0].end(.failure(error))
            return []
        }
        var rest: [Commit] = []
        for one in batch {
            // Behind one whose outcome is open nobody is taken.
            if open != nil {
                rest.append(one)
                continue
            }
            let needs = Needs(commits: 1, isDurable: one.isDurable, advances: one.advances, deadline: deadline)
            let opening = open(for: needs)
            // For this one a server may be there in time.
            if opening.hasFailed && environment.time.monotonicNanoseconds() >= deadline {
                rest.append(one)
                continue
            }
            rest += commit([one], in: opening)
        }
        return rest
    }

    /// Makes what is stored visible, then ends the commits, in order.
    func finish(
        _ survivors: [(commit: Commit, receipt: Receipt)], _ entries: [CommitLogEntry]
    ) {
        if mustRemember {
            recent.append(entries)
        } else {
            recent.restart(at: storedHead)
        }
        snapshots.releaseStale()
        for (commit, receipt) in survivors { commit.end(.success(receipt)) }
    }
}
