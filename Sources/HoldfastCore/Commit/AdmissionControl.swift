internal import CHoldfastPlatform
package import HoldfastEnvironment
internal import HoldfastStorage
internal import Synchronization

/// Admission control: how many commits and operations are in flight at most, and who waits for a slot among them, to be served
/// in the order in which he came.
extension CommitQueue {
    var inFlight: Int { state.withLock { inFlight($0) } }

    func inFlight(_ state: State) -> Int { state.accepted - deliveries.load(ordering: .sequentiallyConsistent) }

    /// How many tasks wait for a slot.
    package var claimCount: Int { state.withLock { $0.claims.count } }

    /// Takes a slot, or answers false: there is none, or tasks have waited longer for it.
    private func takeSlot(_ state: inout State) throws(HoldfastError) -> Bool {
        if state.isRefusing { throw HoldfastError.storeClosed }
        guard inFlight(state) < maxInFlight, state.claims.isEmpty else { return false }
        state.accepted += 1
        return true
    }

    // MARK: For those whose thread may wait for a slot

    /// Queues a commit that has an owner, and returns. When too many are in flight it waits for a slot, at most until
    /// `slotDeadline` and never on the delivering thread, which alone frees slots.
    package func submit(_ commit: Commit, slotDeadline: UInt64) throws(HoldfastError) {
        let nobodyLeads = try withSlot(slotDeadline) { state in
            enqueue(commit, &state)
            return !state.isLed
        }
        queued(commit, nobodyLeads)
    }

    /// Takes a slot for what will be a commit later, or only reads.
    package func takeSlot(deadline: UInt64) throws(HoldfastError) { try withSlot(deadline) { _ in } }

    /// As `submit`, for a commit whose slot was taken before.
    package func submitInSlot(_ commit: Commit) throws(HoldfastError) {
        let nobodyLeads = try state.withLock { state throws(HoldfastError) in
            if state.isClosing { throw HoldfastError.storeClosed }
            enqueue(commit, &state)
            return !state.isLed
        }
        queued(commit, nobodyLeads)
    }

    private func queued(_ commit: Commit, _ nobodyLeads: Bool) {
        if nobodyLeads { wakeCommitter() }
        if let deadline = commit.deadline { deadlines.expect(deadline, in: self) }
    }

    private func withSlot<Result>(
        _ slotDeadline: UInt64, _ body: (inout State) -> Result
    ) throws(HoldfastError) -> Result {
        while true {
            let seen = slots.number
            let result = try state.withLock { state throws(HoldfastError) -> Result? in
                try takeSlot(&state) ? body(&state) : nil
            }
            if let result { return result }
            let now = time.monotonicNanoseconds()
            if now >= slotDeadline || delivery.isCurrentThread || hfplatform_thread_is_own() { throw full }
            try slots.waitAsking(while: seen, nanoseconds: slotDeadline - now)
        }
    }

    // MARK: For tasks, which wait for a slot without a thread

    /// Takes a slot if one is free; for a commit, which it queues.
    package func takeFreeSlot(for commit: Commit? = nil) throws(HoldfastError) -> Bool {
        let nobodyLeads = try state.withLock { state throws(HoldfastError) -> Bool? in
            guard try takeSlot(&state) else { return nil }
            if let commit { enqueue(commit, &state) }
            return !state.isLed
        }
        guard let nobodyLeads else { return false }
        if let commit { queued(commit, nobodyLeads) }
        return true
    }

    /// Takes a slot, or answers the number of the claim: then `call` hears once what came of it.
    package func claimSlot(
        until deadline: UInt64, _ call: @escaping @Sendable (HoldfastError?) -> Void
    ) throws(HoldfastError) -> UInt64? {
        if deadline <= time.monotonicNanoseconds() { throw full }
        try deadlines.start(in: self)
        let number = try state.withLock { state throws(HoldfastError) -> UInt64? in
            // Whoever frees a slot from here on sees that; what was freed before is seen here.
            hasClaims.store(true, ordering: .sequentiallyConsistent)
            if try takeSlot(&state) { return nil }
            return state.claims.append(SlotClaim(deadline: deadline, call: call))
        }
        if number != nil { deadlines.expect(deadline, in: self) }
        return number
    }

    /// Gives a claim up. Does nothing where it is too late.
    package func cancelClaim(_ number: UInt64) {
        let claim = state.withLock { $0.claims.remove(number) }
        claim?.call(HoldfastError(.cancelled, "the claim for a slot was given up"))
    }

    // MARK: For the delivery and the watch

    /// Notes that events have been delivered, which frees slots. Takes no lock of the queue's: it is called for every event,
    /// also by those who have it.
    package func delivered(_ count: Int) {
        deliveries.add(count, ordering: .sequentiallyConsistent)
        slots.advance()
        if hasClaims.load(ordering: .sequentiallyConsistent) { deadlines.wake() }
    }

    /// Lets tasks in that wait for slots which are free now, and none any more where the store closes.
    func admitWaiting() {
        guard hasClaims.load(ordering: .acquiring) else { return }
        let (admitted, isAnyLeft, isRefusing) = state.withLock { state in
            let free = state.isRefusing ? state.claims.count : max(0, maxInFlight - inFlight(state))
            let admitted = state.claims.removeFirst(free)
            if !state.isRefusing { state.accepted += admitted.count }
            hasClaims.store(!state.claims.isEmpty, ordering: .sequentiallyConsistent)
            return (admitted, !state.claims.isEmpty, state.isRefusing)
        }
        // Threads have let those before them who were here first.
        if !isAnyLeft { slots.advance() }
        for claim in admitted { claim.call(isRefusing ? HoldfastError.storeClosed : nil) }
    }

    /// Ends what waits past its deadline, for a slot or queued, and has an owner who does not wait, and answers when the
    /// next is due, `.max` for never.
    func withdrawLateSubmitted() -> UInt64 {
        let now = time.monotonicNanoseconds()
        let (next, late, refused, isClosing) = state.withLock { state in
            let late = state.waiting.filter { $0.owner != nil && $0.isLate(now) }
            if !late.isEmpty { state.waiting.removeAll { $0.owner != nil && $0.isLate(now) } }
            for commit in late {
                noteLeaving(commit, &state)
                commit.stage = .ended
            }
            state.ending += late.count
            let refused = state.claims.removeLate(now)
            let next = state.waiting.lazy.filter { $0.owner != nil }.compactMap(\.deadline).min() ?? .max
            return (min(next, state.claims.nextDeadline), late, refused, state.isClosing)
        }
        end(late, Self.timedOut)
        if isClosing { wakeCommitter() }
        for claim in refused { claim.call(full) }
        return next
    }
}
