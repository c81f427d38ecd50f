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
    private let environment: Environment
    private let settings: Settings
    private let isHeld: () -> Bool
    private let publish: (Published) -> Void
    private let dropSnapshots: () -> Void

    private let incarnation: String
    /// Random, once: tells this opening's commits from those of another that got the same sequence.
    private let identity: UInt64
    private var lastSequence: CommitSequence
    private var reservedThrough: CommitSequence
    private var recent: RecentCommits
    private var repositoryNames: [RepositoryID: String]
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

    // MARK: Judging

    private func judge(
        _ batch: [Commit], in write: any StorageWrite, isDurable: Bool, _ overlay: inout BatchOverlay,
        _ survivors: inout [(commit: Commit, receipt: Receipt)]
    ) throws(HoldfastError) {
        if write.head > lastSequence {
            // Another process has committed; its log entries are read when they are needed.
            lastSequence = write.head
            recent.restart(at: write.head)
        }
        let present = try PresentState(of: batch, in: write)
        let now = environment.time.wallMilliseconds()
        for commit in batch {
            if commit.writes.isEmpty && commit.createsRepository == nil {
                // Nothing was written, so nothing can conflict.
                commit.end(.success(.empty(attempts: commit.attempts)))
                continue
            }
            do throws(Refusal) {
                if let replayed = try replay(of: commit, present, overlay, now) {
                    // Told only after the batch is stored, since the first may be in it.
                    survivors.append((commit, replayed))
                    continue
                }
                try checkReads(of: commit, in: write, overlay)
                let sequence = max(lastSequence, write.head) + 1
                let receipt = try accept(
                    commit, as: sequence, at: now, isDurable: isDurable, present, in: write, &overlay)
                lastSequence = sequence
                survivors.append((commit, receipt))
            } catch {
                switch error {
                case .member(let reason): commit.end(.failure(reason))
                case .storage(let failure): throw failure
                }
            }
        }
    }

    private func replay(
        of commit: Commit, _ present: PresentState, _ overlay: BatchOverlay, _ now: UInt64
    ) throws(Refusal) -> Receipt? {
        guard let key = commit.idempotencyKey, let record = overlay.idempotency[key] ?? present.idempotency[key],
            record.time + settings.idempotencyMaxAge >= now
        else { return nil }
        guard record.fingerprint == Fingerprint.of(commit.writes) else {
            throw .member(
                HoldfastError(
                    .keyReused,
                    "the idempotency key \"\(String(decoding: key, as: UTF8.self))\" was used before for other writes: "
                        + "give each piece of work a key of its own"))
        }
        do { return try Receipt(replaying: record.receipt) } catch { throw .member(error) }
    }

    private func checkReads(
        of commit: Commit, in write: any StorageWrite, _ overlay: BatchOverlay
    ) throws(Refusal) {
        guard let reads = commit.reads, !reads.isEmpty else { return }
        do throws(HoldfastError) {
            var recent = recent
            if reads.snapshot < recent.start {
                guard let entries = try write.log(after: reads.snapshot) else { throw ConflictCheck.trimmed }
                recent = RecentCommits(start: reads.snapshot)
                recent.append(entries)
            }
            let check = ConflictCheck(
                lastWrite: { key in overlay[key]?.version ?? recent.lastWrite(key) },
                changedKeys: {
                    recent.entries(after: reads.snapshot).flatMap { $0.changes.map(\.key) }
                        + overlay.log.flatMap { $0.changes.map(\.key) }
                },
                newest: { keys, matches throws(HoldfastError) in
                    try Self.newest(keys, matches, in: write, overlay)
                })
            let conflict = try check.conflict(of: reads.restricted(to: settings.checks)) { repositoryNames[$0] ?? "" }
            if let conflict { throw conflict }
        } catch {
            throw error.status == .conflict ? .member(error) : .storage(error)
        }
    }

    /// Whether one of the keys exists and its newest text, the batch's own or the stored one, matches.
    private static func newest(
        _ keys: [EntityKey], _ matches: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool,
        in write: any StorageWrite, _ overlay: BatchOverlay
    ) throws(HoldfastError) -> Bool {
        var found = false
        var stored: [EntityKey] = []
        for key in keys {
            guard let change = overlay[key] else {
                stored.append(key)
                continue
            }
            if let body = change.body {
                found = try body.withBytes { bytes throws(HoldfastError) in try matches(bytes) } || found
            }
        }
        if found || stored.isEmpty { return found }
        try write.fetch(stored) { _, view throws(HoldfastError) in found = try matches(view.body) || found }
        return found
    }

    /// Checks the preconditions, works out the final texts, and takes the commit into the batch.
    private func accept(
        _ commit: Commit, as sequence: CommitSequence, at now: UInt64, isDurable: Bool, _ present: PresentState,
        in write: any StorageWrite, _ overlay: inout BatchOverlay
    ) throws(Refusal) -> Receipt {
        var created: RepositoryRecord?
        if let wanted = commit.createsRepository {
            created = try create(wanted, in: write, overlay)
        }
        let judged = try WriteJudge.judge(commit, present, overlay) { repositoryNames[$0] ?? "" }
        let changes = judged.map { LogEntry.Change(key: $0.key, isDeletion: $0.body == nil) }
        commit.commitIdentifier = (identity &+ sequence) & UInt64(Int64.max)
        let receipt = Receipt(
            sequence: sequence, position: "\(incarnation):\(sequence)", isDurable: isDurable,
            attempts: commit.attempts, isReplayed: false,
            changes: receiptChanges(changes))
        overlay.add(
            LogEntry(sequence: sequence, commitIdentifier: commit.commitIdentifier, time: now, changes: changes),
            bodies: judged.map(\.body))
        if let created { overlay.add(created) }
        if let key = commit.idempotencyKey {
            overlay.add(
                IdempotencyRecord(
                    key: key, fingerprint: Fingerprint.of(commit.writes), sequence: sequence, time: now,
                    receipt: receipt.json))
        }
        return receipt
    }

    /// By the names of the repositories, which are not in the order of their numbers.
    private func receiptChanges(_ changes: [LogEntry.Change]) -> [Receipt.Change] {
        let named = changes.map {
            Receipt.Change(
                repository: repositoryNames[$0.key.repository] ?? "", id: $0.key.id, isDeletion: $0.isDeletion)
        }
        guard let first = changes.first, let last = changes.last, first.key.repository != last.key.repository else {
            return named
        }
        return named.sorted { $0.repository == $1.repository ? $0.id < $1.id : $0.repository < $1.repository }
    }

    private func create(
        _ wanted: (name: String, key: String), in write: any StorageWrite, _ overlay: BatchOverlay
    ) throws(Refusal) -> RepositoryRecord {
        let existing: [RepositoryRecord]
        do { existing = try write.repositories() + overlay.createdRepositories } catch { throw .storage(error) }
        if let same = existing.first(where: { $0.name.utf8.elementsEqual(wanted.name.utf8) }) {
            throw .member(HoldfastError(.exists, "there is a repository \"\(same.name)\" already"))
        }
        let newest = existing.map(\.id).max() ?? 0
        return RepositoryRecord(id: newest + 1, name: wanted.name, key: wanted.key)
    }
}

/// Why a member of a batch goes no further: by its own fault, or because the storage failed under all.
enum Refusal: Error {
    case member(HoldfastError)
    case storage(HoldfastError)
}

/// Which conflict checks are made. Tests take some away, to see that the proofs then fail.
struct ConflictChecks: OptionSet, Sendable {
    let rawValue: Int
    static let keys = ConflictChecks(rawValue: 1)
    static let predicates = ConflictChecks(rawValue: 2)
    static let all: ConflictChecks = [.keys, .predicates]
}

extension ReadSet {
    func restricted(to checks: ConflictChecks) -> ReadSet {
        if checks == .all { return self }
        var reads = self
        if !checks.contains(.keys) { reads.keys = [:] }
        if !checks.contains(.predicates) { reads.predicates = [] }
        return reads
    }
}
