internal import Synchronization

/// One unit of work over a store: all of it is stored, or nothing.
///
///     from         by                                          to
///     open         commit, submit accepted                     committing
///     open         rollback, store closed                      rolledBack
///     committing   stored                                      committed
///     committing   refused, withdrawn, storage failure         failed
///
/// Calls from several threads take turns; the lock is not held while a commit waits.
public final class Transaction: Sendable {
    public enum Phase: Sendable {
        case open
        case committing
        case committed
        case rolledBack
        case failed
    }

    struct State {
        var phase = Phase.open
        var view: TransactionView
        var buffer: WriteBuffer
        /// What was submitted: it knows how it ended.
        var submitted: Commit?
        /// Inside the body of `Store.transact`, which commits by itself.
        var isManaged = false
        /// The object trees that end with it, once there are any.
        var trees: TreeTransaction?
        var sealing = Sealing.none
        /// The parts of it that are under way, in the order in which they began.
        var scopes: [Scope] = []
        var doom: Doom?
        /// Where it met a conflict.
        var contention: Contention?
        /// Its place among those that run again.
        var place: RetryQueue.Place?

        /// What was submitted may have ended meanwhile.
        var settledPhase: Phase {
            guard phase == .committing, let submitted, submitted.isDone else { return phase }
            if case .success? = submitted.outcome { return .committed }
            return .failed
        }
    }

    /// What keeps others out between the first validator and the commit.
    enum Sealing: Equatable {
        case none
        /// By `claim`, for `seal`.
        case claimed
        /// Only this thread, which calls the validators, may go on.
        case validating(thread: UInt64)
        /// By `seal`, for the commit that comes.
        case ready
        case done
    }

    public let store: Store
    let options: TransactionOptions
    let state: Lock<State>
    /// What a face knows it by.
    private let faceBits = Atomic<UInt>(0)
    private let ended = Atomic<Bool>(false)

    init(store: Store, options: TransactionOptions) {
        self.store = store
        self.options = options
        state = Lock(
            State(
                view: TransactionView(of: store, owner: options.name), buffer: WriteBuffer(store.environment.limits)))
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
        if state.withLock({ $0.phase == .open && !$0.isManaged }) { try? end() }
    }

    public var phase: Phase {
        if store.isInsideProvider { return .open }
        return state.withLock { state in
            // A store that closes rolls back what is open.
            if state.phase == .open && store.isClosed { return .rolledBack }
            return state.settledPhase
        }
    }

    /// Whether nothing can be done in it any more, told without waiting.
    public var hasEnded: Bool { ended.load(ordering: .acquiring) || store.isClosed }

    public var face: UInt {
        get { faceBits.load(ordering: .relaxed) }
        set { faceBits.store(newValue, ordering: .relaxed) }
    }

    // MARK: Reading and writing

    /// Runs `body` on the transaction's view and writes while it is open.
    func withOpen<Result>(
        isRead: Bool = false, _ body: (inout State) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try store.requireOpen()
        return try state.withLock { state throws(HoldfastError) in
            try Self.requireOpen(state)
            if state.sealing != .none { try Self.requireValidator(state) }
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
            state.withLock { $0.phase = .committed }
            leaveLine()
            try commit.trees?.commit()
            return receipt
        } catch {
            try store.requireSameProcess()
            state.withLock { $0.phase = .failed }
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
            try store.queue.submit(commit, placeDeadline: deadline)
        }
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
                state.phase = error.status == .busy ? .open : .failed
                state.sealing = .none
                if error.status != .busy { discard(&state) }
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
            if state.phase == .rolledBack { return nil }
            if state.isManaged && !isManager { throw Self.managed }
            try Self.requireOpen(state)
            try Self.requireUnsealed(state)
            state.phase = .rolledBack
            discard(&state)
            return state.trees
        }
        // After a conflict it is going to run again.
        if state.withLock({ $0.contention }) == nil { leaveLine() }
        try trees?.rollback()
    }

    func setManaged(_ isManaged: Bool) { state.withLock { $0.isManaged = isManaged } }

    private var deadline: UInt64 { store.deadline(inMilliseconds: options.timeoutMilliseconds) }

    /// Makes the commit that is queued, and from here on lets nobody write or read. Validates before, where somebody
    /// wants to.
    func prepare(
        _ owner: (any CommitOwner)?, attempts: Int, deadline: UInt64, isManager: Bool
    ) throws(HoldfastError) -> Commit {
        try store.requireOutsideProvider()
        try endIfDoomed(isManager: isManager)
        do throws(HoldfastError) {
            if !takeSeal() {
                let commit = try prepareValidated(owner, attempts, deadline, isManager, isSealed: false)
                if let commit { return commit }
                try validate(isManager: isManager)
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
            try Self.requireOpen(state)
            if state.isManaged && !isManager { throw Self.managed }
            // It stays open: what is under way may still fail, and go back.
            if !state.scopes.isEmpty { throw Self.unended }
            if !isSealed {
                try Self.requireUnsealed(state)
                if wantsValidation(state) {
                    // Of such trees the members are called by `seal` alone.
                    if let trees = state.trees, trees.isEndHeld { throw TreeTransaction.sealed }
                    return nil
                }
            }
            if let doom = state.doom { throw doom.error }
            if !state.buffer.isEmpty { try store.requireWritable() }
            let writes = state.buffer.writes()
            // What the members have done is a write too, which no batch will judge.
            if writes.isEmpty && state.trees != nil { try state.view.confirm() }
            let commit = Commit(
                writes: writes, reads: state.view.readsForCommit(options.isolation, writes),
                isDurable: options.isDurable ?? store.options.isDurable,
                deadline: options.timeoutMilliseconds == 0 ? nil : deadline,
                idempotencyKey: options.idempotencyKey, attempts: attempts, owner: owner, trees: state.trees)
            state.phase = .committing
            if owner == nil { discard(&state) } else { state.submitted = commit }
            if let place = state.place {
                let retries = store.retries
                commit.onStored = { retries.leave(place) }
            }
            return commit
        }
    }

    /// Lets go of everything that only an open transaction needs.
    func discard(_ state: inout State) {
        ended.store(true, ordering: .releasing)
        state.view.release()
        state.buffer = WriteBuffer(store.environment.limits)
        store.openTransactions.subtract(1, ordering: .relaxed)
    }

    static func requireOpen(_ state: State) throws(HoldfastError) {
        let ended =
            switch state.settledPhase {
            case .open: ""
            case .committing: "is being committed"
            case .committed: "was committed"
            case .rolledBack: "was rolled back"
            case .failed: "has failed"
            }
        if !ended.isEmpty { throw HoldfastError(.invalidState, "the transaction \(ended): begin a new one") }
    }

    static let managed = HoldfastError(
        .invalidState, "the transaction is ended by the call that runs this body: return instead")
}
