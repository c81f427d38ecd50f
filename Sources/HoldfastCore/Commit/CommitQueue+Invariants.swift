internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

extension CommitQueue {
    /// What is wrong with the queue, or nil: its invariants 1 and 4 to 6, and, where nobody leads, those of the committer.
    /// For tests.
    package func violatedInvariant() -> String? {
        state.withLock { state in
            for commit in state.waiting where commit.stage != .queued || commit.isDone {
                return "queue 1: a commit that waits is \(commit.stage), and has \(commit.isDone ? "" : "not ")ended"
            }
            if Set(state.waiting.map(ObjectIdentifier.init)).count != state.waiting.count {
                return "queue 1: a commit waits twice"
            }
            let owners = state.waiting.count { $0.ownerLeads }
            if state.ownersWaiting != owners {
                return "queue 4: \(state.ownersWaiting) of \(owners) owners are counted"
            }
            let readers = state.waiting.count { $0.reads != nil }
            if waitingReaders.count != readers {
                return "queue 4: \(waitingReaders.count) of \(readers) readers are counted"
            }
            let inFlight = inFlight(state)
            let submitted = state.waiting.count { $0.owner != nil }
            if inFlight < submitted || inFlight > maxInFlight {
                return
                    "queue 5: \(inFlight) slots of \(maxInFlight) are taken, and \(submitted) submitted commits wait"
            }
            if !state.claims.isEmpty && !hasClaims.load(ordering: .acquiring) {
                return "queue 5: \(state.claims.count) wait for a slot, and nobody knows"
            }
            for bit in state.waiting.map(\.batchBit) + [state.batchBit]
            where bit.nonzeroBitCount != 1 || bit == Self.loneLeader {
                return "queue 6: the bit \(bit) is no batch's"
            }
            // Nobody begins to lead while the lock is held.
            return state.isLed ? nil : committer.value.violatedInvariant()
        }
    }

    /// Whether commits wait, and invariant 2 asks for the committer to have been woken for them.
    package var awaitsCommitter: Bool { state.withLock { !$0.isLed && Self.needsCommitter($0) } }

    /// Whether somebody waits for a slot, one is free, and invariant 5 asks for the watch to have been woken.
    package var awaitsAdmission: Bool { state.withLock { !$0.claims.isEmpty && inFlight($0) < maxInFlight } }
}

extension BatchCommitter {
    /// What is wrong while nobody leads, or nil:
    ///
    /// 1. What is stored has no greater sequence than was given out.
    /// 2. What is remembered of recent commits reaches back from what is stored.
    /// 3. No batch is on its way: the cache waits for none, streams have heard what became of the one that was announced,
    ///    and nothing is left for the log.
    fileprivate func violatedInvariant() -> String? {
        if storedHead > lastSequence {
            return "committer 1: \(storedHead) is stored, and \(lastSequence) was given out last"
        }
        if let fault = recent.changes.violatedInvariant(storedHead) { return "committer 2: \(fault)" }
        if cache.isCommitting { return "committer 3: the cache waits for a commit" }
        if follower.isAnnounced { return "committer 3: streams wait for a commit" }
        return notes.isEmpty ? nil : "committer 3: \(notes.count) notes are not in the log"
    }
}

extension ChangesSince {
    /// What is wrong, or nil: entries rise between `start` and the head, and `count` counts their changes.
    fileprivate func violatedInvariant(_ head: CommitSequence) -> String? {
        if start > head { return "changes are known behind \(start), and \(head) is the newest" }
        var last = start
        for entry in entries {
            if entry.sequence <= last || entry.sequence > head {
                return "\(entry.sequence) stands between \(last) and \(head)"
            }
            last = entry.sequence
        }
        let changes = entries.reduce(0) { $0 + $1.changes.count }
        return count == changes ? nil : "\(count) of \(changes) changes are counted"
    }
}
