internal import CHoldfastPlatform
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

/// Where commits wait to be stored: group commit.
///
/// There is one leader at a time: whoever takes the lead carries everything that waits, up to a bound, through one
/// engine transaction and one sync. An owner that waits for its commit leads by itself when nobody does, which saves
/// it two thread switches, and steps down after the batch that held its own. Commits whose owners do not wait are
/// carried by the committer, a worker of the store. So are those of a thread that is asked whether its calls are to end
/// (see `Interrupt`), where they take long: nobody is asked while it leads.
///
/// Invariants, under `state`:
///  1. A commit is in `waiting`, once, exactly while its stage is `.queued`.
///  2. When `waiting` is not empty and nobody leads, somebody was woken to lead: the committer, or one of the owners in
///     `ownersWaiting`, each of whom tries to lead before it sleeps. When `syncs` is not empty, it was the committer.
///  3. Every commit that was accepted ends once: by the leader's batch, or by its withdrawal from `waiting`.
///  4. `ownersWaiting` and `waitingReaders` count those in `waiting`.
///  5. What was accepted and not delivered takes no more slots than there are, and submitted commits that wait take one each.
///     Where tasks wait for a slot and one is free, the watch was woken to admit them.
///  6. A batch's bit is one of the gate's, and not the lone leader's.
package final class CommitQueue: Sendable {
    // What changes, and what guards it:
    //  - `state`: its lock, which guards the stages and the batch bits of the commits in it, too. `ownerLeads` is changed under
    //    the lock, by the owner alone, who reads it without.
    //  - `committer`: the lead. Whoever has set `isLed` under the lock has it to itself until it steps down.
    //  - `deliveries`, `waitingReaders`, `hasClaims`, `batches`, `slots`: atomic. Of the second only the holder of the lock changes it.

    struct State {
        var waiting: [Commit] = []
        /// What the committer is to do besides.
        var syncs: [WaitingSync] = []
        /// The storage has lost commits, which all whom it concerns are to be told.
        var historyIsLost = false
        /// When they are to be told who could not be yet.
        var historyDue: UInt64?
        /// A server is to be asked what became of a batch.
        var isUnsettled = false
        /// The committer alone leads, because a server has to be reached first.
        var isOutOfReach = false
        var isLed = false
        /// Of the waiting: those whose owners sleep.
        var ownersWaiting = 0
        /// A bit of the gate, another one for each batch: what the owners of the commits that are queued now wait for.
        var batchBit: UInt32 = 1
        /// Nobody new takes a slot.
        var isRefusing = false
        /// Nobody commits any more.
        var isClosing = false
        /// How many withdrawn commits are just being ended: a closing store delivers what their owners are to hear, too.
        var ending = 0
        /// How many were accepted from owners that do not wait.
        var accepted = 0
        /// Who waits to be accepted.
        var claims = SlotLine()
        /// How many commits the last batch carried.
        var lastCount = 0
    }

    /// What those wait for at the gate who want to lead without a batch. The other bits belong to the batches.
    static let loneLeader: UInt32 = 1 << 31

    let state = Lock(State())
    let committer: Confined<BatchCommitter>
    let delivery: Delivery
    let deadlines: DeadlineWatch
    private let follower: CommitLogFollower
    let diagnostics: StoreDiagnostics
    let time: any TimeSource
    let limits: Limits
    let maxInFlight: Int
    /// Whether what is stored takes as long as a server.
    let isRemote: Bool
    private let limitAdvice: String
    let waitingReaders: WaitingReaders
    /// How many of the accepted were delivered.
    let deliveries = Atomic(0)
    /// Whether a task may wait for a slot. Set under the lock before it looks for one again, and read after one was freed.
    let hasClaims = Atomic(false)
    let epoch = processEpoch()
    /// Moves on when a batch has ended. It wakes the batch's own owners and, of those that wait for the next batch, one
    /// to lead it: the others would only find that they have to wait on.
    let batches = Gate()
    /// Moves on when an event was delivered.
    let slots = Gate()
    let wakeCommitter: @Sendable () -> Void

    init(
        committer: sending BatchCommitter, delivery: Delivery, deadlines: DeadlineWatch, follower: CommitLogFollower,
        diagnostics: StoreDiagnostics,
        environment: Environment,
        maxInFlight: Int, isRemote: Bool, limitAdvice: String, waitingReaders: WaitingReaders,
        wakeCommitter: @escaping @Sendable () -> Void
    ) {
        self.committer = Confined(committer)
        self.delivery = delivery
        self.deadlines = deadlines
        self.follower = follower
        self.diagnostics = diagnostics
        time = environment.time
        limits = environment.limits
        self.maxInFlight = maxInFlight
        self.isRemote = isRemote
        self.limitAdvice = limitAdvice
        self.waitingReaders = waitingReaders
        self.wakeCommitter = wakeCommitter
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    // MARK: For the committer

    /// Syncs for those who wait for that, and carries one batch, if there is one, unless somebody leads. Answers whether
    /// it did anything.
    func leadOnce() -> Bool {
        let taken = state.withLock { state -> (syncs: [WaitingSync], historyIsLost: Bool, hasBatch: Bool)? in
            guard !state.isLed,
                !state.waiting.isEmpty || !state.syncs.isEmpty || state.historyIsLost || state.isUnsettled
            else { return nil }
            state.isLed = true
            defer { (state.syncs, state.historyIsLost) = ([], false) }
            return (state.syncs, state.historyIsLost, !state.waiting.isEmpty)
        }
        guard let taken else { return false }
        if taken.historyIsLost { beginHistory() }
        settle()
        sync(for: taken.syncs)
        if taken.hasBatch { lead(for: nil) } else { stepDown([]) }
        return true
    }

    /// Has the committer tell of a loss that it could not tell of. Answers when to call again, nil: when it is woken.
    func sweep() -> UInt64? {
        let now = time.monotonicNanoseconds()
        return state.withLock { state in
            guard let due = state.historyDue, due <= now else { return state.historyDue }
            (state.historyIsLost, state.historyDue) = (true, nil)
            return now
        }
    }

    /// The store is to close: who waits for a slot gets none. Those who have one commit what they took it for.
    func refuseNew() {
        state.withLock { $0.isRefusing = true }
        slots.advance()
        deadlines.wake()
    }

    /// After `refuseNew`, when nobody accepted has anything left to commit.
    func beginClosing() {
        state.withLock { $0.isClosing = true }
        batches.advance()
    }

    /// After `beginClosing`: whether everything that was accepted has ended.
    var isDrained: Bool {
        state.withLock { state in
            state.isClosing && state.waiting.isEmpty && state.syncs.isEmpty && !state.isLed && state.ending == 0
                && !state.isUnsettled
        }
    }

    /// The newest sequence, once the queue is drained.
    var head: CommitSequence { committer.value.head }

    // MARK: Leading

    /// Notifies the owners of what has ended, and delivers the events, in this order.
    func post(_ commits: some Collection<Commit>) {
        var events: [Event] = []
        if commits.count > 1 { events.reserveCapacity(commits.count) }
        for commit in commits { commit.notifyOwner(&events) }
        follower.post(events)
    }

    func enqueue(_ commit: Commit, _ state: inout State) {
        commit.batchBit = state.batchBit
        state.waiting.append(commit)
        noteComing(commit, &state)
    }

    private func noteComing(_ commit: Commit, _ state: inout State) {
        commit.stage = .queued
        if commit.ownerLeads { state.ownersWaiting += 1 }
        if commit.reads != nil { waitingReaders.add(1) }
    }

    func noteLeaving(_ commit: Commit, _ state: inout State) {
        if commit.ownerLeads { state.ownersWaiting -= 1 }
        if commit.reads != nil { waitingReaders.add(-1) }
    }

    /// Becomes the leader, or answers false: somebody leads, or nothing waits.
    func takeLead(for owner: Commit) -> Bool {
        state.withLock { state in
            guard !state.isLed, !state.isOutOfReach, !state.waiting.isEmpty, owner.ownerLeads else { return false }
            state.isLed = true
            return true
        }
    }

    /// Lets those that the last batch has just woken come with their next commits, as long as some do: the larger the
    /// batches, the less each commit costs. Who commits alone waits for nobody.
    private func gather() {
        var (count, last) = state.withLock { ($0.waiting.count, $0.lastCount) }
        while last > 1 && count < last {
            let before = count
            sched_yield()
            count = state.withLock { $0.waiting.count }
            if count == before { return }
        }
    }

    /// What the next batch needs; nil where nothing waits.
    private func batchNeeds(of owner: Commit?) -> BatchCommitter.Needs? {
        state.withLock { state in
            let batch = state.waiting[..<batchCount(state)]
            if batch.isEmpty { return nil }
            return BatchCommitter.Needs(
                commits: batch.count, isDurable: batch.contains(where: \.isDurable),
                advances: batch.contains(where: \.advances),
                deadline: owner.map { $0.deadline ?? .max } ?? lastDeadline(of: batch))
        }
    }

    /// Until when the committer waits for a server. Where it gives up the connection goes, and with it what others do there: so
    /// it goes on for a while once nobody waits any more.
    private func lastDeadline(of batch: ArraySlice<Commit>) -> UInt64 {
        var last: UInt64 = 0
        for commit in batch {
            guard commit.owner == nil, let deadline = commit.deadline else { return .max }
            last = max(last, deadline)
        }
        let (end, isOver) = last.addingReportingOverflow(UInt64(limits.leadingTime))
        return isOver ? .max : end
    }

    /// At least one, where any wait.
    private func batchCount(_ state: State) -> Int {
        var count = 0
        var bytes = 0
        while count < state.waiting.count && count < limits.batchCommits {
            bytes += state.waiting[count].size
            if count > 0 && bytes > limits.batchBytes { break }
            count += 1
        }
        return count
    }

    /// Others may wait by now than those of whom the needs were asked; none that needs more is taken.
    private func takeBatch(_ needs: BatchCommitter.Needs) -> [Commit] {
        state.withLock { state in
            let most = min(batchCount(state), needs.commits)
            let count = state.waiting[..<most].firstIndex { !needs.suffice(for: $0) } ?? most
            let batch: [Commit]
            if count == state.waiting.count {
                batch = state.waiting
                state.waiting = []
            } else {
                batch = Array(state.waiting[..<count])
                state.waiting.removeFirst(count)
            }
            for commit in batch {
                commit.stage = .taken
                noteLeaving(commit, &state)
            }
            state.lastCount = count
            state.batchBit = state.batchBit << 1 == Self.loneLeader ? 1 : state.batchBit << 1
            return batch
        }
    }

    /// Waits for the write lock, carries a batch, and steps down. An owner leads no longer than until its own
    /// deadline.
    func lead(for owner: Commit?) {
        gather()
        var now = time.monotonicNanoseconds()
        var ended: [Commit] = []
        while !committer.value.acquireWriteLock(until: min(now &+ UInt64(limits.turnInterval), owner?.deadline ?? .max))
        {
            now = time.monotonicNanoseconds()
            withdrawLate(now, &ended)
            if let owner, Interrupt.isWanted { leaveToOthers(owner) }
            let goesOn = state.withLock { state in
                !state.waiting.isEmpty && owner?.ownerLeads ?? true && owner?.deadline.map { $0 > now } ?? true
            }
            if !goesOn {
                committer.value.releaseWriteLock()
                return stepDown(ended)
            }
        }
        withdrawLate(time.monotonicNanoseconds(), &ended)
        if let needs = batchNeeds(of: owner) {
            let opening = committer.value.open(for: needs)
            now = time.monotonicNanoseconds()
            withdrawLate(now, &ended)
            // For the others a server may be there in time.
            let isTooLate = opening.hasFailed && now >= needs.deadline
            let batch = isTooLate ? [] : takeBatch(needs)
            let rest = committer.value.run(batch, in: opening)
            committer.value.releaseWriteLock()
            let isOpen = committer.value.isUnsettled
            let done = rest.isEmpty && !isOpen ? batch : batch.filter(\.isDone)
            post(done)
            if ended.isEmpty { ended = done } else { ended += done }
            giveBack(rest)
        } else {
            committer.value.releaseWriteLock()
        }
        let notes = committer.value.takeNotes()
        stepDown(ended)
        // The receiver of diagnostics is not called by a leader.
        for note in notes { diagnostics.write(note) }
    }

    /// From now on others lead for this owner, who is asked meanwhile whether its call is to end.
    func leaveToOthers(_ commit: Commit) {
        let committerIsNeeded = state.withLock { state in
            if commit.stage == .queued && commit.ownerLeads { state.ownersWaiting -= 1 }
            commit.ownerLeads = false
            return !state.isLed && Self.needsCommitter(state)
        }
        if committerIsNeeded { wakeCommitter() }
    }

    /// Queues those again that a batch has not ended, before all others.
    private func giveBack(_ rest: [Commit]) {
        if rest.isEmpty { return }
        state.withLock { state in
            state.waiting.insert(contentsOf: rest, at: 0)
            for commit in rest { noteComing(commit, &state) }
        }
        // Who watches the deadlines looks at those that wait, and may have looked when these did not.
        for commit in rest where commit.owner != nil {
            if let deadline = commit.deadline { deadlines.expect(deadline, in: self) }
        }
    }

    /// Passes the lead on, after these commits have ended.
    func stepDown(_ ended: [Commit]) {
        let due = committer.value.hasLossToTell ? time.monotonicNanoseconds() &+ UInt64(limits.tendInterval) : nil
        let (isUnsettled, isOutOfReach) = (committer.value.isUnsettled, committer.value.isOutOfReach)
        let (committerIsNeeded, next) = state.withLock { state in
            state.isLed = false
            state.historyDue = due
            (state.isUnsettled, state.isOutOfReach) = (isUnsettled, isOutOfReach)
            return (state.isClosing || due != nil || Self.needsCommitter(state), Self.sleepers(state))
        }
        // Not read under the lock: who has ended is queued no more.
        let owners = ended.reduce(Self.loneLeader) { $0 | $1.batchBit }
        batches.advance(waking: owners, andOneOf: next)
        if committerIsNeeded { wakeCommitter() }
    }

    /// Whether, when nobody leads, something waits that no sleeping owner can be woken for.
    static func needsCommitter(_ state: State) -> Bool {
        !state.waiting.isEmpty && (state.ownersWaiting == 0 || state.isOutOfReach) || !state.syncs.isEmpty
            || state.historyIsLost || state.isUnsettled
    }

    /// What the owners that could lead wait for.
    private static func sleepers(_ state: State) -> UInt32 {
        if state.ownersWaiting == 0 || state.isOutOfReach { return 0 }
        return state.waiting.reduce(0) { $1.ownerLeads ? $0 | $1.batchBit : $0 }
    }

    /// Ends what waits past its deadline, and adds it to what has ended.
    private func withdrawLate(_ now: UInt64, _ ended: inout [Commit]) {
        let late = state.withLock { state -> [Commit]? in
            guard state.waiting.contains(where: { $0.isLate(now) }) else { return nil }
            let late = state.waiting.filter { $0.isLate(now) }
            state.waiting.removeAll { $0.isLate(now) }
            for commit in late {
                commit.stage = .ended
                noteLeaving(commit, &state)
            }
            return late
        }
        guard let late else { return }
        for commit in late { commit.end(.failure(Self.timedOut)) }
        post(late)
        ended += late
    }

    func withdraw(_ commit: Commit, _ reason: HoldfastError) -> Bool {
        let left = state.withLock { state -> (committerIsNeeded: Bool, owners: UInt32)? in
            guard commit.stage == .queued, let index = state.waiting.firstIndex(where: { $0 === commit }) else {
                return nil
            }
            state.waiting.remove(at: index)
            noteLeaving(commit, &state)
            commit.stage = .ended
            state.ending += 1
            // The leader may have stepped down counting on this owner to lead on (invariant 2).
            return state.isLed ? (false, 0) : (Self.needsCommitter(state), Self.sleepers(state))
        }
        guard let left else { return false }
        end([commit], reason)
        if left.owners != 0 { batches.advance(waking: 0, andOneOf: left.owners) }
        if left.committerIsNeeded { wakeCommitter() }
        return true
    }

    /// Ends withdrawn commits, which `ending` counts. Not under the lock: their owners may let others go on.
    func end(_ commits: [Commit], _ reason: HoldfastError) {
        if commits.isEmpty { return }
        for commit in commits { commit.end(.failure(reason)) }
        post(commits)
        let isClosing = state.withLock { state in
            state.ending -= commits.count
            return state.isClosing
        }
        if isClosing { wakeCommitter() }
    }

    /// Why somebody is not let in.
    var full: HoldfastError {
        HoldfastError(
            .busy,
            "\(maxInFlight) commits or operations are in flight, which is the store's limit: \(limitAdvice)")
    }

    static let unknown: HoldfastError = {
        var error = HoldfastError(
            .io,
            "the server has not said in time whether the commit is stored, which is being found out: ask again under an "
                + "idempotency key")
        error.commitState = .unknown
        return error
    }()

    static let timedOut = HoldfastError(
        .timeout, "the commit waited longer than its timeout_ms and was withdrawn: nothing was stored")
}
