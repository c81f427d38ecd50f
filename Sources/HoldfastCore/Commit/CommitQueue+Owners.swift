internal import CHoldfastPlatform
package import HoldfastEnvironment
internal import HoldfastStorage

/// For those who wait for their commits.
extension CommitQueue {
    /// Commits and waits for the outcome.
    package func commit(_ commit: Commit) throws(HoldfastError) -> Receipt {
        let began = Interrupt.isWanted ? time.monotonicNanoseconds() : 0
        if Interrupt.isWanted {
            commit.canBeGivenUp = commit.size > limits.largeCommitBytes || commit.catalogueChange?.takesLong == true
            if commit.canBeGivenUp || isRemote { commit.ownerLeads = false }
        }
        let (batchBit, committerIsNeeded) = try state.withLock { state throws(HoldfastError) in
            if state.isClosing { throw HoldfastError.storeClosed }
            enqueue(commit, &state)
            return (commit.batchBit, !state.isLed && Self.needsCommitter(state))
        }
        if committerIsNeeded { wakeCommitter() }
        // Why it is not wanted any more; it ends as it ends where it is being stored.
        var interrupt: HoldfastError?
        // When its owner goes, whatever a server may still say.
        var last = commit.deadline
        while !commit.isDone {
            let seen = batches.number
            if commit.isDone { break }
            if let interrupt, withdraw(commit, interrupt) { break }
            if mustLeave(commit) { leaveToOthers(commit) }
            if takeLead(for: commit) {
                lead(for: commit)
                // The receiver of diagnostics may have forked. In the child the queue is the parent's.
                if processEpoch() != epoch { throw HoldfastError.forked }
                continue
            }
            if !commit.isDurable && batchEnds(after: seen) { continue }
            let now = last == nil ? 0 : time.monotonicNanoseconds()
            if let last, now >= last {
                if withdraw(commit, interrupt ?? Self.timedOut) { break }
                if isRemote {
                    try leave(commit, interrupt ?? Self.timedOut)
                    continue
                }
                // It is being stored: the true result, late as it may be.
                batches.wait(while: seen, for: batchBit)
                continue
            }
            let most = last.map { $0 - now }
            if interrupt != nil {
                batches.wait(while: seen, for: batchBit, nanoseconds: most)
                continue
            }
            if Interrupt.isWanted && commit.ownerLeads {
                // Before it is asked, because meanwhile it leads nobody, and no other would be woken in its place.
                batches.wait(while: seen, for: batchBit, nanoseconds: min(most ?? .max, Interrupt.interval))
                leaveToOthers(commit)
                continue
            }
            do throws(HoldfastError) {
                try batches.waitAsking(while: seen, for: batchBit, nanoseconds: most)
            } catch {
                guard error.status == .cancelled else { throw error }
                interrupt = error
                let isLeft = commit.giveUp()
                if isRemote { last = min(last ?? .max, isLeft ? 0 : now &+ UInt64(limits.interruptGrace)) }
            }
        }
        // What is over at once is hardly interrupted, and a question would be a good part of it.
        if Interrupt.isWanted, time.monotonicNanoseconds() &- began > UInt64(limits.unaskedCommit) {
            try Interrupt.hear()
        }
        return try commit.outcome!.get()
    }

    /// Whether the owner is not to lead: where he left in the midst of a batch, for his deadline, the connection to the server
    /// would go with him, and with it what others do.
    private func mustLeave(_ commit: Commit) -> Bool {
        guard isRemote, commit.ownerLeads, let deadline = commit.deadline else { return false }
        return time.monotonicNanoseconds() &+ UInt64(limits.leadingTime) > deadline
    }

    /// For an owner who waits no longer for what a server holds up. Returns where that has just ended.
    private func leave(_ commit: Commit, _ reason: HoldfastError) throws(HoldfastError) {
        // Where it comes back to the queue nobody must rely on an owner who has gone (invariant 2).
        leaveToOthers(commit)
        if commit.giveUp() { throw reason }
        if !commit.isDone { throw Self.unknown }
    }

    /// Lets other threads run for a moment, and answers whether a batch has ended meanwhile. For those who wait for one that
    /// is not synced: it takes hardly longer than to put a thread to sleep and to wake it, and on an idle processor less.
    private func batchEnds(after seen: UInt32) -> Bool {
        for _ in 0..<limits.ownerYields {
            sched_yield()
            if batches.number != seen { return true }
        }
        return false
    }

    /// Withdraws a queued commit. Answers false when it is too late.
    package func cancel(_ commit: Commit) -> Bool {
        withdraw(commit, HoldfastError(.cancelled, "the commit was withdrawn while it was queued"))
    }
}
