internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Validation: the members of a batch, one after the other, each on the state that the ones before it leave.
extension BatchCommitter {
    /// Takes the members that are not refused into the overlay, in their order. Answers how many were validated: a
    /// batch ends where it has taken its time.
    func validate(
        _ batch: [Commit], in write: any StorageWrite, isDurable: Bool, _ overlay: inout BatchOverlay,
        _ upkeep: inout IndexUpkeep, _ survivors: inout [(commit: Commit, receipt: Receipt)],
        _ refused: inout [(commit: Commit, reason: HoldfastError)]
    ) throws(HoldfastError) -> Int {
        let present = try PresentState(of: batch, in: write, names)
        let now = environment.time.wallMilliseconds()
        var stored = BatchReads(of: batch, recent, in: write, environment)
        let began = environment.time.monotonicNanoseconds()
        for (member, commit) in batch.enumerated() {
            if member > 0 && stored.isTimeUp(since: began) { return member }
            let isAlone = commit.catalogueChange?.isAlone ?? false
            if isAlone && !overlay.isEmpty { return member }
            if commit.writes.isEmpty && commit.catalogueChange == nil {
                // Nothing was written, so nothing can conflict.
                commit.end(.success(.empty(attempts: commit.attempts)))
                continue
            }
            do throws(Refusal) {
                if let replayed = try replay(of: commit, present, overlay) {
                    // Told only after the batch is stored, since the first may be in it.
                    survivors.append((commit, replayed))
                    continue
                }
                try checkReads(of: commit, in: write, &overlay, &stored)
                if case .advance(let target, _) = commit.catalogueChange {
                    commit.headBefore = lastSequence
                    lastSequence = max(lastSequence, target)
                }
                let sequence = lastSequence + 1
                let evaluator = WriteEvaluator(commit, member: member, present, names)
                let receipt = try accept(
                    commit, as: sequence, at: now, isDurable: isDurable, evaluator, in: write, &overlay, &upkeep)
                lastSequence = sequence
                survivors.append((commit, receipt))
                if isAlone { return member + 1 }
            } catch {
                switch error {
                case .member(let reason): refused.append((commit, reason))
                case .storage(let failure): throw failure
                }
            }
        }
        return batch.count
    }

    private func replay(
        of commit: Commit, _ present: PresentState, _ overlay: BatchOverlay
    ) throws(Refusal) -> Receipt? {
        guard let key = commit.idempotencyKey, let record = overlay.idempotency[key] ?? present.idempotency[key],
            !keyAges.isExpired(record)
        else { return nil }
        guard record.fingerprint == commit.fingerprint else { throw .member(Store.keyReused(key)) }
        do { return try Receipt(replaying: record.receipt) } catch { throw .member(error) }
    }

    private func checkReads(
        of commit: Commit, in write: any StorageWrite, _ overlay: inout BatchOverlay, _ stored: inout BatchReads
    ) throws(Refusal) {
        if let reads = commit.reads, !reads.isEmpty, reads.history != history {
            throw .member(ConflictCheck.ofLostHistory)
        }
        // Where nobody has committed since its snapshot, nothing that it read can have changed.
        guard let reads = commit.reads?.restricted(to: settings.checks), !reads.isEmpty, reads.snapshot < lastSequence
        else { return }
        overlay.prepareLookups()
        do throws(HoldfastError) {
            var check = ConflictCheck(of: reads)
            try checkKeys(reads, in: write, overlay, &stored, &check)
            for predicate in reads.predicates where !check.hasChangedKeys {
                try stored.withChanges(since: reads.snapshot) { changes throws(HoldfastError) in
                    try check.look(for: predicate, in: &changes) { overlay[$0] != nil }
                }
                if !check.hasChangedKeys { try check.look(for: predicate, in: overlay) }
            }
            let conflict = check.conflict { names.name(of: $0) }
            if let conflict { throw conflict }
        } catch {
            throw error.status == .conflict ? .member(error) : .storage(error)
        }
    }

    private func checkKeys(
        _ reads: ReadSet, in write: any StorageWrite, _ overlay: BatchOverlay, _ stored: inout BatchReads,
        _ check: inout ConflictCheck
    ) throws(HoldfastError) {
        if recent.covers(reads.snapshot) {
            for (key, _) in reads.keys {
                check.noteWrite(of: key, at: overlay[key]?.version ?? recent.changes.lastWrite(key))
            }
            return
        }
        // Nobody remembers what has changed since, but the entities tell, however much that was.
        var seen: [EntityKey] = []
        for (key, version) in reads.keys {
            if let change = overlay[key] {
                check.noteWrite(of: key, at: change.version)
            } else if version == ReadSet.unseen {
                try stored.withChanges(since: reads.snapshot) { changes throws(HoldfastError) in
                    check.noteWrite(of: key, at: changes.changes.lastWrite(key))
                }
            } else {
                seen.append(key)
            }
        }
        var versions = [CommitSequence](repeating: 0, count: seen.count)
        if !seen.isEmpty { try write.fetch(seen) { index, view in versions[index] = view.version } }
        for (key, version) in zip(seen, versions) { check.compare(key, with: version) }
    }

    /// The repositories that were dropped and that a commit stores something in.
    private func revivals(
        by commit: Commit, as sequence: CommitSequence, _ overlay: BatchOverlay
    ) throws(Refusal) -> [RepositoryRecord] {
        if droppedRepositories.isEmpty { return [] }
        var revived: [RepositoryRecord] = []
        for write in commit.writes {
            if case .delete = write.action { continue }
            let repository = write.key.repository
            if revived.contains(where: { $0.id == repository }) { continue }
            if let record = try revival(of: repository, as: sequence, overlay) { revived.append(record) }
        }
        return revived
    }

    /// Checks the preconditions, works out the final texts, and takes the commit into the batch.
    private func accept(
        _ commit: Commit, as sequence: CommitSequence, at now: UInt64, isDurable: Bool, _ evaluator: WriteEvaluator,
        in write: any StorageWrite, _ overlay: inout BatchOverlay, _ upkeep: inout IndexUpkeep
    ) throws(Refusal) -> Receipt {
        commit.commitIdentifier = (identity &+ sequence) & UInt64(Int64.max)
        var entry = CommitLogEntry(
            sequence: sequence, commitIdentifier: commit.commitIdentifier, time: now, changes: [])
        var evaluator = evaluator
        let revived = try revivals(by: commit, as: sequence, overlay)
        if let change = commit.catalogueChange {
            let bodies: [[UInt8]?]
            (entry.changes, bodies) = try carryOut(change, of: commit, as: sequence, in: write, &overlay, &upkeep)
            overlay.add(entry, bodies)
        } else if commit.writes.count == 1 {
            let body = try evaluator.evaluateOne(&overlay)
            entry.changes = [CommitLogEntry.Change(key: commit.writes[0].key, isDeletion: body == nil)]
            try upkeep.accept(entry.changes, [body], of: commit, in: write)
            overlay.add(entry, body)
        } else {
            let (changes, bodies) = try evaluator.evaluateAll(&overlay)
            entry.changes = changes
            try upkeep.accept(changes, bodies, of: commit, in: write)
            overlay.add(entry, bodies)
        }
        for record in revived { overlay.set(record) }
        if let kept = commit.keptVersions { overlay.keep(kept, at: sequence) }
        let receipt = Receipt(of: entry, isDurable: isDurable, attempts: commit.attempts, origin: origin)
        if let key = commit.idempotencyKey {
            overlay.add(
                IdempotencyRecord(
                    key: key, fingerprint: commit.fingerprint, sequence: sequence, time: keyAges.now,
                    receipt: receipt.json))
        }
        return receipt
    }
}

/// Why a member of a batch goes no further: by its own fault, or because the storage failed under all.
enum Refusal: Error {
    case member(HoldfastError)
    case storage(HoldfastError)
}

/// Which conflict checks are made. Tests take some away, to see that the proofs then fail.
package struct ConflictChecks: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    static let keys = ConflictChecks(rawValue: 1)
    static let predicates = ConflictChecks(rawValue: 2)
    static let all: ConflictChecks = [.keys, .predicates]
}

extension ReadSet {
    func restricted(to checks: ConflictChecks) -> ReadSet {
        if checks == .all { return self }
        var reads = self
        if !checks.contains(.keys) { reads.keys = ReadSet.Keys() }
        if !checks.contains(.predicates) { reads.predicates = [] }
        return reads
    }
}
