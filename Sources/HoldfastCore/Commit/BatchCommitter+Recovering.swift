internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What follows a COMMIT of which nobody knows what it left behind, and a server's loss of commits.
extension BatchCommitter {
    struct Open {
        var survivors: [(commit: Commit, receipt: Receipt)]
        var refused: [(commit: Commit, reason: HoldfastError)]
        var error: HoldfastError
    }

    /// Whether a server is to be asked what became of a batch.
    var isUnsettled: Bool { open != nil }

    /// Whether nothing is stored before a server was reached, for which nobody waits who has a deadline.
    var isOutOfReach: Bool { storage.isRemote && brokenBy != nil }

    /// Finds out what became of the batch whose outcome was left open, and ends its commits. Answers these. For the committer,
    /// where it is a server that is asked.
    func settle() -> [Commit] {
        guard let batch = open.take() else { return [] }
        let isStored = settle(batch.survivors, after: batch.error)
        for (commit, reason) in batch.refused { commit.end(.failure(isStored ? reason : batch.error)) }
        return batch.survivors.map(\.commit) + batch.refused.map(\.commit)
    }

    /// Nobody knows what a failed COMMIT left behind, so the storage is opened anew and asked. Answers whether the batch
    /// is known to be stored.
    private func settle(_ survivors: [(commit: Commit, receipt: Receipt)], after failure: HoldfastError) -> Bool {
        var error = failure
        note("a commit failed and its outcome is unknown: the store is reopened", ("reason", .text(error.message)))
        do throws(HoldfastError) {
            try onWhatIsThere(&error) { () throws(HoldfastError) in if brokenBy != nil { try recover() } }
            var stored: [(commit: Commit, receipt: Receipt)] = []
            var lost: [Commit] = []
            var lostSequences: Set<CommitSequence> = []
            let written = survivors.filter { !$0.receipt.isReplayed }
                .map { CommitName($0.commit.commitIdentifier, at: $0.receipt.sequence) }
            var found = try onWhatIsThere(&error) { () throws(HoldfastError) in try storage.resolve(written) }
                .makeIterator()
            for (commit, receipt) in survivors {
                // A replay shares the fate of the commit that it repeats, which may be in this batch.
                let isStored =
                    receipt.isReplayed
                    ? !lostSequences.contains(receipt.sequence)
                    : found.next() ?? false
                if isStored {
                    var durable = receipt
                    durable.isDurable = true
                    stored.append((commit, durable))
                } else {
                    lostSequences.insert(receipt.sequence)
                    lost.append(commit)
                }
            }
            names.add(try storage.readState().repositories)
            finish(stored, [])
            for commit in lost { commit.end(.failure(error)) }
            return lost.isEmpty
        } catch {
            var unknown = error
            if storage.isRemote {
                // What the server has said of the question is nothing that it says of the commit.
                unknown = HoldfastError(
                    .io,
                    "whether the commit is stored was not to be found out (\(error.message)): ask again under an idempotency key",
                    detail: error.detail, cause: error)
            }
            unknown.commitState = .unknown
            for member in survivors where !member.commit.isDone { member.commit.end(.failure(unknown)) }
            return false
        }
    }

    /// Where the storage has lost commits meanwhile: goes on with what it has, and has that be what became of those of this
    /// batch that are not there.
    private func onWhatIsThere<Result>(
        _ told: inout HoldfastError, _ ask: () throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        do throws(HoldfastError) { return try ask() } catch {
            guard isLoss(error) else { throw error }
            told = error
            try beginLostHistory()
            return try ask()
        }
    }

    func recover() throws(HoldfastError) {
        snapshots.dropAll()
        try storage.recover()
        // Those that were begun meanwhile have ended too, and must serve nobody.
        snapshots.dropAll()
        let state = try storage.readState()
        takeUp(state)
        note("the store was recovered after a failed commit", ("sequence", .number(state.head)))
    }

    private func takeUp(_ state: StorageState) {
        // Sequences that were given out and lost are not given out again.
        lastSequence = max(lastSequence, state.head)
        storedHead = state.head
        reservedThrough = state.reservedThrough
        commitLogSizes = CommitLogSizes(limit: settings.logMaxBytes, pieces: environment.limits.logPieces)
        recent.restart(at: storedHead)
        brokenBy = nil
    }

    /// Whether that is to be tried again.
    var hasLossToTell: Bool { lossToTell != nil && (storage.loss ?? lossToTell)?.status == .historyLost }

    /// Where the storage has lost commits: goes on with what it has, and tells all whom that concerns.
    func beginLostHistory() throws(HoldfastError) {
        guard let loss = storage.loss ?? lossToTell, loss.status == .historyLost else { return }
        lossToTell = loss
        if writeLockFailure?.status == .historyLost { writeLockFailure = nil }
        // Before anybody reads what is there instead.
        history = snapshots.beginHistory()
        try storage.beginHistory(with: names.records)
        snapshots.dropAll()
        let state = try storage.readState()
        takeUp(state)
        names.add(state.repositories)
        follower.beginHistory()
        lossToTell = nil
        notes.append(StoreDiagnostics.Entry(level: .error, message: loss.message, fields: []))
    }

    private func note(_ message: String, _ field: DiagnosticsLog.Field) {
        notes.append(StoreDiagnostics.Entry(level: .error, message: message, fields: [field]))
    }

    func refusal(_ reason: HoldfastError) -> HoldfastError {
        HoldfastError(
            .io,
            "the store takes no commits since one failed and it could not be reopened: mend the disk or the server, then "
                + "retry", cause: reason)
    }
}
