/// Carries a batch of commits through one write transaction of the engine: judges each, stores the survivors,
/// syncs once. Confined to the queue's leader, one thread at a time.
///
///     begin → judge each member → apply → commit → publish
///       |          |                |        |
///       |          |                |        +- fails: outcome unknown; recover, then look each one up
///       |          |                +- fails: roll back, try each survivor alone
///       |          +- refused: that member ends, the others go on
///       +- fails: all end with that error, nothing was stored
final class BatchCommitter {
    /// What the rest of the store must do once commits are visible.
    struct Published {
        var horizon: CommitSequence
        var createdRepositories: [RepositoryRecord]
    }

    struct Settings: Sendable {
        var logRetention: UInt64 = 100_000
        var idempotencyMaxAge: UInt64 = 604_800_000
        var idempotencyMaxCount = 100_000
        var slowBatchNanoseconds: UInt64 = 1_000_000_000
        /// What is judged. Always everything, except in tests of the tests.
        var checks = ConflictChecks.all
    }

    /// So many sequences are reserved at once: after an unclean close at most that many are skipped.
    private static let reservation: CommitSequence = 65_536
    /// Every so many commits the log and the idempotency keys are trimmed.
    private static let trimInterval: CommitSequence = 1024

    private let storage: any Storage
    let environment: Environment
    let settings: Settings
    private let isHeld: () -> Bool
    private let publish: (Published) -> Void
    private let dropSnapshots: () -> Void

    let incarnation: String
    /// Random, once: tells this opening's commits from those of another that got the same sequence.
    let identity: UInt64
    var lastSequence: CommitSequence
    private var reservedThrough: CommitSequence
    var recent: RecentCommits
    var repositoryNames: [RepositoryID: String]
    /// For the log, once the lead was passed on.
    private var notes: [StoreLog.Entry] = []
    /// Set while the storage has to be recovered before it can be used again.
    private var brokenBy: HoldfastError?

    init(
        storage: any Storage, state: StorageState, environment: Environment, settings: Settings,
        isHeld: @escaping () -> Bool, publish: @escaping (Published) -> Void, dropSnapshots: @escaping () -> Void
    ) {
        self.storage = storage
        self.environment = environment
        self.settings = settings
        self.isHeld = isHeld
        self.publish = publish
        self.dropSnapshots = dropSnapshots
        incarnation = hexadecimal(state.incarnation)
        identity = environment.random.next()
        lastSequence = state.head
        reservedThrough = state.reservedThrough
        recent = RecentCommits(start: state.head)
        repositoryNames = Dictionary(state.repositories.map { ($0.id, $0.name) }) { $1 }
    }

    /// The newest sequence that was given out.
    var head: CommitSequence { lastSequence }

    /// Ends every commit of the batch, in an order in which successes are in commit order.
    func run(_ batch: [Commit]) {
        let began = environment.time.monotonicNanoseconds()
        commit(batch)
        let nanoseconds = environment.time.monotonicNanoseconds() &- began
        if nanoseconds > settings.slowBatchNanoseconds {
            notes.append(
                StoreLog.Entry(
                    level: .warning, message: "a batch of commits took long",
                    fields: [
                        ("milliseconds", .number(nanoseconds / 1_000_000)), ("commits", .number(UInt64(batch.count))),
                    ]))
        }
    }

    /// What happened that the host's log should have.
    func takeNotes() -> [StoreLog.Entry] {
        defer { notes = [] }
        return notes
    }

    func sync() throws(HoldfastError) {
        if let brokenBy { throw refusal(brokenBy) }
        try storage.sync()
    }

    // MARK: One write transaction

    private func commit(_ batch: [Commit]) {
        let write: any StorageWrite
        do throws(HoldfastError) {
            if brokenBy != nil { try recover() }
            write = try storage.beginWrite()
        } catch {
            for commit in batch { commit.end(.failure(brokenBy.map(refusal) ?? error)) }
            return
        }

        var overlay = BatchOverlay()
        var survivors: [(commit: Commit, receipt: Receipt)] = []
        let isDurable = batch.contains { $0.isDurable }
        do throws(HoldfastError) {
            try judge(batch, in: write, isDurable: isDurable, &overlay, &survivors)
            if overlay.isEmpty {
                write.rollback()
                for (commit, receipt) in survivors { commit.end(.success(receipt)) }
                return
            }
            var stored = overlay.writeBatch()
            var mustReserve = false
            if lastSequence > reservedThrough {
                stored.reservedThrough = lastSequence + Self.reservation
                mustReserve = true
            }
            trimWhenDue(&stored, commits: survivors.count)
            try write.apply(stored)
            do throws(HoldfastError) {
                // A reservation must reach the disk no later than the sequences it stands for.
                try write.commit(durable: isDurable || mustReserve)
            } catch {
                settle(survivors, after: error)
                return
            }
            if let reserved = stored.reservedThrough { reservedThrough = reserved }
        } catch {
            write.rollback()
            retryAlone(batch.filter { !$0.isDone }, after: error)
            return
        }
        finish(survivors, overlay.log, overlay.createdRepositories, horizon: lastSequence)
    }

    /// After a storage error before COMMIT: those that the storage can take are taken.
    private func retryAlone(_ batch: [Commit], after error: HoldfastError) {
        if batch.count == 1 {
            batch[0].end(.failure(error))
        } else {
            for one in batch { commit([one]) }
        }
    }

    /// Makes what is stored visible, then ends the commits, in order.
    private func finish(
        _ survivors: [(commit: Commit, receipt: Receipt)], _ entries: [LogEntry], _ created: [RepositoryRecord],
        horizon: CommitSequence
    ) {
        if isHeld() {
            recent.append(entries)
        } else {
            recent.restart(at: lastSequence)
        }
        for repository in created { repositoryNames[repository.id] = repository.name }
        publish(Published(horizon: horizon, createdRepositories: created))
        for (commit, receipt) in survivors { commit.end(.success(receipt)) }
    }

    private func trimWhenDue(_ batch: inout WriteBatch, commits: Int) {
        let before = lastSequence - min(lastSequence, CommitSequence(commits))
        guard before / Self.trimInterval != lastSequence / Self.trimInterval else { return }
        if lastSequence > settings.logRetention { batch.trimLogBelow = lastSequence - settings.logRetention }
        let now = environment.time.wallMilliseconds()
        if now > settings.idempotencyMaxAge { batch.trimIdempotencyBefore = now - settings.idempotencyMaxAge }
        batch.keepIdempotency = settings.idempotencyMaxCount
    }

    // MARK: After a failed COMMIT

    /// Nobody knows what a failed COMMIT left behind, so the storage is opened anew and asked.
    private func settle(_ survivors: [(commit: Commit, receipt: Receipt)], after error: HoldfastError) {
        brokenBy = error
        note("a commit failed and its outcome is unknown: the store is reopened", ("reason", .text(error.message)))
        do throws(HoldfastError) {
            try recover()
            var stored: [(commit: Commit, receipt: Receipt)] = []
            var lost: [Commit] = []
            var lostSequences: Set<CommitSequence> = []
            for (commit, receipt) in survivors {
                // A replay shares the fate of the commit that it repeats, which may be in this batch.
                let isStored =
                    try receipt.isReplayed
                    ? !lostSequences.contains(receipt.sequence)
                    : storage.contains(commit: commit.commitIdentifier, at: receipt.sequence)
                if isStored {
                    var durable = receipt
                    durable.isDurable = true
                    stored.append((commit, durable))
                } else {
                    lostSequences.insert(receipt.sequence)
                    lost.append(commit)
                }
            }
            let state = try storage.readState()
            let created = state.repositories.filter { repositoryNames[$0.id] == nil }
            finish(stored, [], created, horizon: state.head)
            for commit in lost { commit.end(.failure(error)) }
        } catch {
            for member in survivors where !member.commit.isDone {
                var unknown = error
                unknown.commitState = .unknown
                member.commit.end(.failure(unknown))
            }
        }
    }

    private func recover() throws(HoldfastError) {
        dropSnapshots()
        try storage.recover()
        let state = try storage.readState()
        // Sequences that were given out and lost are not given out again.
        lastSequence = max(lastSequence, state.head)
        reservedThrough = state.reservedThrough
        recent.restart(at: lastSequence)
        brokenBy = nil
        note("the store was recovered after a failed commit", ("sequence", .number(state.head)))
    }

    private func note(_ message: String, _ field: Log.Field) {
        notes.append(StoreLog.Entry(level: .error, message: message, fields: [field]))
    }

    private func refusal(_ reason: HoldfastError) -> HoldfastError {
        HoldfastError(
            .io, "the store takes no commits since one failed and it could not be reopened: mend the disk, then retry",
            cause: reason)
    }
}
