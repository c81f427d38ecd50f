internal import HoldfastEnvironment
internal import HoldfastStorage

/// One asynchronous run of an operation.
///
///     waiting → running → committing → ended
///        ^                    |
///        +---- a conflict ----+
///
/// A single write whose repository is known goes to the queue from the caller's thread. Everything else, whatever may
/// read, and where a server has to be asked what a name means, runs on the store's thread for operations, which never waits
/// for a commit. One question there is answered for all that were accepted before it.
final class OperationRun: CommitOwner, Withdrawable {
    private enum Stage {
        case waiting
        case running
        case committing(Commit)
        case ended
    }

    private struct State {
        var stage = Stage.waiting
        var attempts = 0
        /// What the run will answer once it is stored.
        var value = FutureValue(bytes: [])
        /// Of one that runs again after a conflict.
        var ticket: RetryQueue.Ticket?
        /// Whether it is a transaction that may read, also where it stands for a single write.
        var isTransaction = false
        /// What it failed with, before it is looked up whether the same request was faster.
        var failure: HoldfastError?
    }

    let future: Future
    private let operation: Operation
    /// The caller's, of which this is a part.
    private let transaction: Transaction?
    private let deadline: UInt64
    private let accepted: UInt64
    private let state = Lock(State())

    private var store: Store { operation.store }

    init(_ operation: Operation, in transaction: Transaction?) {
        self.operation = operation
        self.transaction = transaction
        deadline = operation.store.deadline(inMilliseconds: operation.options.timeoutMilliseconds)
        accepted = operation.store.environment.time.monotonicNanoseconds()
        future = Future(delivery: operation.store.delivery, time: operation.store.environment.time)
        future.setSource(self)
    }

    /// Before the run is accepted: has the thread be there that it will need. What else is wrong is for `begin` to tell.
    func prepare() throws(HoldfastError) {
        let needsThread: Bool
        do throws(HoldfastError) { needsThread = try direct() == nil } catch { return }
        if needsThread { try store.operations.start() }
    }

    /// On the caller's thread: no I/O.
    func begin() {
        do throws(HoldfastError) {
            if let (step, repository) = try direct() {
                try submit(step, to: repository)
            } else {
                try store.operations.enqueue(self)
            }
        } catch { end(.failure(error)) }
    }

    /// A single write to a repository that is known, which goes to the queue at once.
    private func direct() throws(HoldfastError) -> (OperationStep, Repository)? {
        guard transaction == nil, case .write(let step) = operation.work,
            let repository = try step.openKnown(in: store), !repository.isValidated
        else { return nil }
        return (step, repository)
    }

    /// On the store's thread for operations.
    func proceed() {
        let (isWanted, failure) = state.withLock { state -> (Bool, HoldfastError?) in
            guard case .waiting = state.stage else { return (false, nil) }
            state.stage = .running
            if state.failure == nil { state.attempts += 1 }
            return (true, state.failure)
        }
        guard isWanted else { return }
        if let failure { return fail(with: failure) }
        do throws(HoldfastError) {
            if let transaction { return end(.success(try operation.run(partOf: transaction))) }
            switch operation.work {
            case .read(let step): end(.success(try step.run(on: step.open(in: store, at: accepted), in: nil)))
            case .write(let step):
                let repository = try step.open(in: store, at: accepted)
                if repository.isValidated { try attempt() } else { try submit(step, to: repository) }
            case .steps, .function: try attempt()
            }
        } catch {
            if error.status != .conflict || transaction != nil || !runAgain(after: error) { fail(with: error) }
        }
    }

    /// On the store's thread for operations, since it may have to read.
    private func fail(with error: HoldfastError) {
        if transaction == nil, let receipt = store.answerOfTheFaster(operation.options.idempotencyKey) {
            return end(.success(FutureValue(bytes: OperationStep.null, receipt: receipt)))
        }
        end(.failure(finalError(error)))
    }

    // MARK: Committing

    private func submit(_ step: OperationStep, to repository: Repository) throws(HoldfastError) {
        let writes = try step.writes(to: repository)!
        try store.requireWritable()
        if writes.isEmpty { return end(.success(step.result([], .empty(attempts: 1)))) }
        let commit = repository.commit(of: writes, wantsResults: step.verb.answersEntities, self)
        if goOn(with: commit) { try store.queue.submitInSlot(commit) }
    }

    private func attempt() throws(HoldfastError) {
        if let key = operation.options.idempotencyKey, let receipt = try store.replay(key) {
            return end(.success(FutureValue(bytes: OperationStep.null, receipt: receipt)))
        }
        let transaction = try store.begin(operation.options, isManaged: true)
        let commit: Commit
        let attempts = state.withLock { $0.attempts }
        do throws(HoldfastError) {
            let value = try operation.run(in: transaction)
            state.withLock { state in
                state.value = value
                state.isTransaction = true
            }
            commit = try transaction.prepare(self, attempts: attempts, deadline: deadline, isManager: true)
        } catch {
            try? transaction.rollback(isManager: true)
            var error = error
            if error.origin == nil, let contention = transaction.contention { error.origin = contention }
            throw error
        }
        try transaction.submit(commit) { commit throws(HoldfastError) in
            guard goOn(with: commit) else { throw Self.cancelled }
            if commit.writes.isEmpty {
                commit.end(.success(.empty(attempts: attempts)))
                var events: [Event] = []
                commit.notifyOwner(&events)
                store.delivery.post(events)
            } else {
                try store.queue.submitInSlot(commit)
            }
        }
    }

    /// False when it was cancelled meanwhile.
    private func goOn(with commit: Commit) -> Bool {
        state.withLock { state in
            if case .ended = state.stage { return false }
            state.stage = .committing(commit)
            return true
        }
    }

    func ended(_ commit: Commit, _ events: inout [Event]) {
        switch commit.outcome! {
        case .success(let receipt):
            var (value, isTransaction) = state.withLock { ($0.value, $0.isTransaction) }
            // What this run has made was never stored: the same request was faster.
            if isTransaction, receipt.isReplayed { value = FutureValue(bytes: OperationStep.null) }
            value.receipt = receipt
            if case .write(let step) = operation.work {
                value = isTransaction ? step.dated(value) : step.result(commit.results, receipt)
            }
            end(.success(value), &events)
        case .failure(let error):
            if error.status == .conflict, runAgain(after: error) { return }
            if case .write(let step) = operation.work, let value = try? step.forgiven(error) {
                end(.success(value), &events)
            } else if !looksUp(after: error) {
                end(.failure(finalError(error)), &events)
            }
        }
    }

    /// What a transaction with a key has failed with is told once its key was looked up.
    private func looksUp(after error: HoldfastError) -> Bool {
        guard operation.options.idempotencyKey != nil else { return false }
        let isWanted = state.withLock { state in
            switch state.stage {
            case .committing, .waiting: break
            case .running, .ended: return false
            }
            guard state.isTransaction else { return false }
            state.stage = .waiting
            state.failure = error
            return true
        }
        return isWanted && (try? store.operations.enqueue(self)) != nil
    }

    /// After a conflict, if attempts and time allow: once it is granted.
    private func runAgain(after conflict: HoldfastError) -> Bool {
        let run = state.withLock { state -> (attempts: Int, ticket: RetryQueue.Ticket?)? in
            if case .ended = state.stage { return nil }
            state.stage = .waiting
            return (state.attempts, state.ticket.take())
        }
        guard let run else { return false }
        var kept = run.ticket
        let next = store.retries.next(
            after: run.attempts, of: operation.options.maxAttempts, at: conflict.contention, &kept, until: deadline)
        hold(kept)
        let contention: Contention
        switch next {
        case .over: return false
        case .now: return (try? store.operations.enqueue(self)) != nil
        case .afterPause(let pause): return (try? store.operations.enqueue(self, after: pause)) != nil
        case .inLine(let line): contention = line
        }
        let ticket = RetryQueue.Ticket(contention, until: deadline) { [self] isInTime in
            do throws(HoldfastError) {
                if isInTime { return try store.operations.enqueue(self) }
                if store.closing.hasBegun { throw HoldfastError.storeClosed }
                if !looksUp(after: conflict) { end(.failure(finalError(conflict))) }
            } catch {
                end(.failure(error))
            }
        }
        // Before it enters: once it is granted another thread goes on, and may meet the next conflict.
        hold(ticket)
        store.retries.enter(ticket)
        return true
    }

    /// Until the run ends, which it may have done meanwhile.
    private func hold(_ ticket: RetryQueue.Ticket?) {
        let hasEnded = state.withLock { state in
            state.ticket = ticket
            if case .ended = state.stage { return true }
            return false
        }
        if hasEnded { leaveLine() }
    }

    private func leaveLine() {
        if let ticket = state.withLock({ $0.ticket.take() }) { store.retries.leave(ticket) }
    }

    private func finalError(_ error: HoldfastError) -> HoldfastError {
        guard error.status == .conflict, transaction == nil else { return error }
        return Store.gaveUp(error, after: state.withLock { $0.attempts })
    }

    // MARK: Ending

    private func end(_ outcome: FutureOutcome) {
        var events: [Event] = []
        end(outcome, &events)
        store.delivery.post(events)
    }

    /// Answers false when the future has ended before.
    @discardableResult
    private func end(_ outcome: FutureOutcome, _ events: inout [Event]) -> Bool {
        state.withLock { $0.stage = .ended }
        leaveLine()
        // Nil: it was cancelled while it ran, or ended while it was cancelled.
        guard let completions = future.end(with: outcome, holdingSlot: true) else { return false }
        if completions.isEmpty { store.queue.delivered(1) }
        events += completions.map(Event.completion)
        return true
    }

    func withdraw() -> Bool {
        let (isEarly, commit) = state.withLock { state -> (Bool, Commit?) in
            switch state.stage {
            case .waiting, .running:
                state.stage = .ended
                return (true, nil)
            case .committing(let commit): return (false, commit)
            case .ended: return (false, nil)
            }
        }
        guard isEarly else { return commit.map(store.queue.cancel) ?? false }
        var events: [Event] = []
        // A read may just have ended.
        let isFirst = end(.failure(Self.cancelled), &events)
        store.delivery.post(events)
        return isFirst
    }

    private static let cancelled = HoldfastError(.cancelled, "the operation was cancelled before it was committed")
}
