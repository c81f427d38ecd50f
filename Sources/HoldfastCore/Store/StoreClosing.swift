internal import HoldfastEnvironment
internal import HoldfastStorage
internal import Synchronization

/// How a store ends: new work is refused, what was accepted is finished and delivered, and the storage is let go.
/// The committer does it, step by step and without waiting, so that a close may be asked for from anywhere, the
/// callback thread included.
///
///     open → draining (commits end) → delivering (observers hear) → closed
final class StoreClosing: Sendable {
    private enum Step { case open, draining, delivering, closed }

    private struct State {
        var step = Step.open
        var failure: HoldfastError?
    }

    private let storage: any Storage
    private let queue: CommitQueue
    private let deadlines: DeadlineWatch
    private let operations: OperationWorker
    private let expiry: Expiry
    private let follower: CommitLogFollower
    private let delivery: Delivery
    private let snapshots: SnapshotPool
    private let retries: RetryQueue
    private let time: any TimeSource
    private let limits: Limits
    private let diagnostics: StoreDiagnostics
    private let committer: WorkerSlot
    private let validators: Validators
    private let clock: StoreClock
    private let state = Lock(State())
    private let begun = Atomic<Bool>(false)
    private let ended = Gate()

    init(
        storage: any Storage, queue: CommitQueue, deadlines: DeadlineWatch, operations: OperationWorker, expiry: Expiry,
        follower: CommitLogFollower, delivery: Delivery, snapshots: SnapshotPool, retries: RetryQueue,
        time: any TimeSource, limits: Limits, diagnostics: StoreDiagnostics,
        committer: WorkerSlot, validators: Validators,
        clock: StoreClock
    ) {
        self.storage = storage
        self.queue = queue
        self.deadlines = deadlines
        self.operations = operations
        self.expiry = expiry
        self.follower = follower
        self.delivery = delivery
        self.snapshots = snapshots
        self.retries = retries
        self.time = time
        self.limits = limits
        self.diagnostics = diagnostics
        self.committer = committer
        self.validators = validators
        self.clock = clock
    }

    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// Asks for the end. Returns at once.
    func begin() {
        let isFirst = state.withLock { state in
            guard state.step == .open else { return false }
            state.step = .draining
            return true
        }
        guard isFirst else { return }
        begun.store(true, ordering: .releasing)
        retries.close()
        operations.beginClosing()
        expiry.beginClosing()
        queue.beginClosing()
        committer.wake()
    }

    /// Waits for the end at most until the monotonic deadline (nil: for ever). Answers whether it was reached. Where the host
    /// is asked and ends the wait, the store closes all the same.
    func wait(until deadline: UInt64?) throws(HoldfastError) -> Bool {
        while true {
            let seen = ended.number
            let (step, failure) = state.withLock { state in
                defer { if state.step == .closed { state.failure = nil } }
                return (state.step, state.failure)
            }
            if step == .closed {
                if let failure { throw failure }
                return true
            }
            guard let deadline else {
                try ended.waitAsking(while: seen)
                continue
            }
            let now = time.monotonicNanoseconds()
            if now >= deadline { return false }
            try ended.waitAsking(while: seen, nanoseconds: deadline - now)
        }
    }

    /// The committer's step when no batch waits.
    func step() -> NextStep {
        switch state.withLock({ $0.step }) {
        case .open: return .sleep(until: [snapshots.sweep(), retries.sweep()].compactMap(\.self).min())
        case .draining:
            guard operations.isFinished, expiry.isFinished, queue.isDrained else { return .sleep() }
            deadlines.beginClosing()
            guard deadlines.isFinished else { return .sleep() }
            follower.beginClosing()
            guard follower.isFinished else { return .sleep() }
            // A thread that is just opening a snapshot is done in a moment, and tells nobody.
            guard snapshots.close() else {
                return .sleep(until: time.monotonicNanoseconds() &+ UInt64(limits.closingPoll))
            }
            delivery.close()
            state.withLock { $0.step = .delivering }
            return .again
        case .delivering:
            guard delivery.isFinished else { return .sleep() }
            finish()
            return .finished
        case .closed: return .finished
        }
    }

    private func finish() {
        var failure: HoldfastError?
        do throws(HoldfastError) {
            try storage.close(head: queue.head)
        } catch {
            failure = error
            diagnostics.error("the store could not be closed cleanly", [("reason", .text(error.message))])
        }
        validators.removeAll()
        clock.set(nil)
        if failure == nil { diagnostics.info("store closed") }
        committer.set(nil)
        state.withLock { state in
            state.step = .closed
            state.failure = failure
        }
        ended.advance()
    }
}

/// Where a worker will be found once it is started. What it runs needs to be able to wake it.
final class WorkerSlot: Sendable {
    private let worker = Lock<(any Worker)?>(nil)

    func set(_ newWorker: (any Worker)?) {
        worker.withLock { $0 = newWorker }
        newWorker?.wake()
    }

    func wake() { worker.withLock { $0 }?.wake() }
}
