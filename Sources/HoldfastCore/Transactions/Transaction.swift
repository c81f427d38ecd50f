public import HoldfastEnvironment
internal import Synchronization

/// One unit of work over a store: all of it is stored, or nothing. `TransactionState` says what each call makes of it.
///
/// Calls from several threads take turns; the lock is not held while a commit waits.
public final class Transaction: Sendable {
    // What changes, and what guards it:
    //  - `state`: its lock, with the view and the writes that lie in it.
    //  - `ended`: atomic, and set under the lock, once.

    struct State {
        /// Where it stands, but for what became of a commit that was submitted.
        var stage = TransactionState.open
        /// Who asks validators, while they are asked.
        var validator: UInt64 = 0
        /// The savepoint before what validators have written, from when they are asked until the commit.
        var validationStart: UInt64?
        var view: TransactionView
        var buffer: WriteBuffer
        /// What was submitted: it knows how it ended.
        var submitted: Commit?
        /// The object trees that end with it, once there are any.
        var trees: TreeTransaction?
        /// The parts of it that are under way, in the order in which they began.
        var scopes = NumberedList<TreesOfScope>()
        /// Those of them during which nobody wrote who is no part of them.
        var unshared = NumberedList<Void>()
        var doom: Doom?
        /// Where it met a conflict.
        var contention: Contention?
        /// Of one that runs again after a conflict.
        var ticket: RetryQueue.Ticket?
    }

    public let store: Store
    let options: TransactionOptions
    /// Whether the call that runs its body ends it, and alone may.
    let isManaged: Bool
    let state: Lock<State>
    let ended = Atomic<Bool>(false)

    init(store: Store, options: TransactionOptions, isManaged: Bool) {
        self.store = store
        self.options = options
        self.isManaged = isManaged
        state = Lock(
            State(
                view: TransactionView(of: store, owner: options.name, options.isolation),
                buffer: WriteBuffer(store.environment.limits)))
        store.openTransactions.add(1, ordering: .relaxed)
    }

    deinit {
        // Nobody else refers to it, so nobody holds its lock.
        if !store.isForeign {
            rollBackIfOpen()
            leaveLine()
        }
    }

    /// Its owner needs it no longer: what is open is rolled back, unless a call that runs a body ends it.
    package func abandon() {
        // It may be the one for which the provider is called: then it goes when that call is over.
        if !store.isInsideProvider {
            rollBackIfOpen()
            leaveLine()
        }
    }

    private func rollBackIfOpen() {
        if !isManaged && state.withLock({ $0.stage.isOpen }) { try? end() }
    }

    public var phase: TransactionState.Phase {
        if store.isInsideProvider { return .open }
        return state.withLock { state in
            // A store that closes rolls back what is open.
            if state.stage.isOpen && store.isClosed { return .rolledBack }
            return state.current.phase
        }
    }

    /// Whether nothing can be done in it any more, told without waiting.
    public var hasEnded: Bool { ended.load(ordering: .acquiring) || store.isClosed }

    // MARK: Reading and writing

    /// Runs `body` on the transaction's view and writes while it is open. Inlined, because a closure would copy what it is
    /// given.
    @inline(__always)
    func withOpen<Result>(
        isRead: Bool = false, _ body: (inout State) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try store.requireOpen()
        return try state.withLock { state throws(HoldfastError) in
            // The table lets everything in while it is open, which it is almost always.
            if state.stage != .open { try state.check(.use) }
            if let doom = state.doom { throw isRead ? doom.errorOfReads : doom.error }
            do throws(HoldfastError) {
                return try body(&state)
            } catch {
                if error.status == .conflict { state.contention = error.contention }
                throw error
            }
        }
    }

    // MARK: Ending

    /// Commits and waits for the outcome.
    public func commit() throws(HoldfastError) -> Receipt {
        try commit(attempts: 1, deadline: deadline, isManager: false)
    }

    func commit(attempts: Int, deadline: UInt64, isManager: Bool) throws(HoldfastError) -> Receipt {
        let commit = try prepare(nil, attempts: attempts, deadline: deadline, isManager: isManager)
        do throws(HoldfastError) {
            let receipt = commit.writes.isEmpty ? .empty(attempts: attempts) : try store.queue.commit(commit)
            state.withLock { $0.note(.stored) }
            leaveLine()
            try commit.trees?.commit()
            return receipt
        } catch {
            try store.requireSameProcess()
            state.withLock { $0.note(.failed) }
            note(error)
            commit.trees?.end(with: .failure(error))
            throw error
        }
    }

    /// Hands the commit over; its owner hears of the outcome. Throws when it was not accepted; `.busy` leaves the
    /// transaction open.
    public func submit(_ owner: any CommitOwner) throws(HoldfastError) {
        let commit = try prepare(owner, attempts: 1, deadline: deadline, isManager: false)
        try submit(commit) { commit throws(HoldfastError) in
            try store.queue.submit(commit, slotDeadline: options.waitsForSlot ? deadline : 0)
        }
    }

    /// As `submit`, for an owner who has a slot.
    package func submitInSlot(_ owner: any CommitOwner) throws(HoldfastError) {
        let commit = try prepare(owner, attempts: 1, deadline: deadline, isManager: false)
        try submit(commit) { commit throws(HoldfastError) in try store.queue.submitInSlot(commit) }
    }

    /// Hands over what `prepare` made for an owner.
    func submit(
        _ commit: Commit, _ enqueue: (Commit) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        do throws(HoldfastError) {
            try enqueue(commit)
            state.withLock { discard(&$0) }
        } catch {
            state.withLock { state in
                state.submitted = nil
                state.note(error.status == .busy ? .notAccepted : .failed)
                if error.status == .busy { state.takeBackValidation() } else { discard(&state) }
            }
            if error.status == .busy { commit.trees?.unseal() } else { commit.trees?.end(with: .failure(error)) }
            throw error
        }
    }

    public func cancel() throws(HoldfastError) {
        try store.requireOutsideProvider()
        let submitted = state.withLock { $0.submitted }
        guard let submitted else {
            throw HoldfastError(.invalidState, "the transaction was not submitted: use rollback to discard it")
        }
        if !store.queue.cancel(submitted) {
            throw HoldfastError(
                .invalidState, "it is too late to withdraw the commit: its event tells what became of it")
        }
    }

    public func rollback() throws(HoldfastError) { try rollback(isManager: false) }

    func rollback(isManager: Bool) throws(HoldfastError) {
        try store.requireOutsideProvider()
        try end(isManager: isManager)
    }

    private func end(isManager: Bool = false) throws(HoldfastError) {
        let trees = try state.withLock { state throws(HoldfastError) -> TreeTransaction? in
            guard let end = try state.next(on: isManaged && !isManager ? .rollbackFromBody : .rollback) else {
                return nil
            }
            try Self.requireQuiet(state.trees)
            state.stage = end
            discard(&state)
            return state.trees
        }
        // After a conflict it is going to run again.
        if state.withLock({ $0.contention }) == nil { leaveLine() }
        try trees?.rollback()
    }

    private var deadline: UInt64 { store.deadline(inMilliseconds: options.timeoutMilliseconds) }

    /// Makes the commit that is queued, and from here on lets nobody write or read. Validates before, where somebody
    /// wants to.
    func prepare(
        _ owner: (any CommitOwner)?, attempts: Int, deadline: UInt64, isManager: Bool
    ) throws(HoldfastError) -> Commit {
        try store.requireOutsideProvider()
        try endIfDoomed(isManager: isManager)
        do throws(HoldfastError) {
            if !isReady {
                let commit = try prepareValidated(owner, attempts, deadline, isManager, isSealed: false)
                if let commit { return commit }
                try askValidators(.validate)
            }
        } catch {
            if error.status == .closed { giveUpTrees(error) }
            try endIfDoomed(isManager: isManager)
            throw error
        }
        do throws(HoldfastError) {
            return try prepareValidated(owner, attempts, deadline, isManager, isSealed: true)!
        } catch {
            unseal(after: error)
            // It may have been doomed while validators were asked.
            try endIfDoomed(isManager: isManager)
            throw error
        }
    }

    /// Nil where validators are to be asked first.
    private func prepareValidated(
        _ owner: (any CommitOwner)?, _ attempts: Int, _ deadline: UInt64, _ isManager: Bool, isSealed: Bool
    ) throws(HoldfastError) -> Commit? {
        try store.requireOpen()
        return try state.withLock { state throws(HoldfastError) in
            let next = try state.next(
                on: isManaged && !isManager
                    ? .commitFromBody
                    // It stays open: what is under way may still fail, and go back.
                    : !state.scopes.isEmpty ? .commitAroundScope : isSealed ? .store : .commit)
            if !isSealed {
                try Self.requireQuiet(state.trees)
                if wantsValidation(state) {
                    // Of such trees the members are called by `seal` alone.
                    if let trees = state.trees, trees.isEndHeld { throw TransactionRefusal.sealed.error }
                    return nil
                }
            }
            if let doom = state.doom { throw doom.error }
            if !state.buffer.isEmpty { try store.requireWritable() }
            let writes = state.buffer.writes()
            // What the members have done is a write too, which no batch will validate. Nor will one what was read a moment late.
            if writes.isEmpty && (state.trees != nil || state.view.mustConfirm) { try state.view.confirm() }
            let commit = Commit(
                writes: writes, reads: state.view.readsForCommit(options.isolation, writes),
                isDurable: options.isDurable ?? store.options.isDurable,
                deadline: options.timeoutMilliseconds == 0 ? nil : deadline,
                idempotencyKey: options.idempotencyKey, asked: options.asked, attempts: attempts, owner: owner,
                trees: state.trees)
            if let next { state.stage = next }
            if owner == nil { discard(&state) } else { state.submitted = commit }
            if let ticket = state.ticket {
                let retries = store.retries
                commit.onSettled = { retries.leave(ticket) }
            }
            return commit
        }
    }

    /// Lets go of everything that only an open transaction needs.
    func discard(_ state: inout State) {
        ended.store(true, ordering: .releasing)
        state.view.release()
        state.buffer = WriteBuffer(store.environment.limits)
        state.validationStart = nil
        store.openTransactions.subtract(1, ordering: .relaxed)
    }
}
