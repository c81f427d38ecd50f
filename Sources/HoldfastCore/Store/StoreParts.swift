internal import HoldfastEnvironment
internal import HoldfastStorage

/// What a store is made of, and which part knows which: the one place that wires them.
///
///     Delivery <- CommitLogFollower <- BatchCommitter <- CommitQueue        from a commit to who hears of it
///     EntityCache <- SnapshotPool <- BatchCommitter                         from a commit to who reads it
///     RetryQueue, OperationWorker, StoreServices                            who commits by itself
///
/// One thread, the committer, serves them all: it leads batches that nobody else leads, looks after snapshots and retries, and
/// ends the store (`StoreClosing`). The others wake it.
struct StoreParts: Sendable {
    let storage: any Storage
    let environment: Environment
    let cache: EntityCache
    let clock: StoreClock
    let snapshots: SnapshotPool
    let longReads = LongReads()
    let catalogue: Catalogue
    let validators = Validators()
    let keyAges: KeyAges
    let queue: CommitQueue
    let deadlines: DeadlineWatch
    let retries: RetryQueue
    let operations: OperationWorker
    let delivery: Delivery
    let diagnostics: StoreDiagnostics
    let services: StoreServices
    let follower: CommitLogFollower
    let committer = WorkerSlot()

    init(
        _ storage: any Storage, _ state: StorageState, _ options: StoreOptions, _ environment: Environment,
        _ checks: ConflictChecks
    ) throws(HoldfastError) {
        let wakeCommitter: @Sendable () -> Void = { [committer] in committer.wake() }
        self.storage = storage
        self.environment = environment
        delivery = try Delivery(mode: options.delivery, time: environment.time)
        diagnostics = StoreDiagnostics(location: storage.location)
        clock = StoreClock(environment.time)
        let cacheBytes = options.cacheBytes ?? (storage.noticesChanges ? StoreOptions.standardCacheBytes : 0)
        cache = EntityCache(limitBytes: cacheBytes, head: state.head, clock: clock, limits: environment.limits)
        snapshots = SnapshotPool(
            storage: storage, cache: cache, environment: environment, limit: options.maxSnapshots,
            maxAgeMilliseconds: options.snapshotMaxAgeMilliseconds, wakeSweeper: wakeCommitter)
        catalogue = Catalogue(state.repositories, environment.limits)
        keyAges = KeyAges(time: environment.time, maxAge: options.idempotencyMaxAgeMilliseconds)
        follower = CommitLogFollower(
            storage: storage, catalogue: catalogue, environment: environment, delivery: delivery,
            diagnostics: diagnostics,
            finished: wakeCommitter)
        deadlines = DeadlineWatch(environment, finished: wakeCommitter)
        let waitingReaders = WaitingReaders()
        queue = CommitQueue(
            committer: BatchCommitter(
                storage: storage, state: state, environment: environment,
                settings: BatchCommitter.Settings(options, checks), keyAges: keyAges, names: catalogue, cache: cache,
                follower: follower, snapshots: snapshots, waitingReaders: waitingReaders),
            delivery: delivery, deadlines: deadlines, follower: follower, diagnostics: diagnostics,
            environment: environment,
            maxInFlight: options.maxInFlight, isRemote: storage.isRemote, limitAdvice: options.limitAdvice,
            waitingReaders: waitingReaders, wakeCommitter: wakeCommitter)
        retries = RetryQueue(environment, wakeSweeper: wakeCommitter)
        operations = OperationWorker(environment, finished: wakeCommitter)
        services = StoreServices(finished: wakeCommitter)
    }

    /// Whether the caller is one of the threads that closing waits for, and on which the host's code runs: callbacks,
    /// operations, validators of what expires, and, when the store ends, destructors.
    var ownCurrentThread: Bool {
        delivery.isCurrentThread || operations.isCurrentThread || services.isCurrentThread || committer.isCurrent
    }

    /// Starts the two threads that every store has; where one cannot be had, neither stays.
    func start(_ closing: StoreClosing) throws(HoldfastError) {
        do throws(HoldfastError) {
            try delivery.start(
                environment.workers, delivered: { [queue] in queue.delivered($0) },
                finished: { [committer] in committer.wake() })
            committer.set(
                try environment.workers.start(name: "hf-committer") { [queue] in
                    queue.leadOnce() ? .again : closing.step()
                })
        } catch {
            delivery.close()
            throw error
        }
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

    var isCurrent: Bool { worker.withLock { $0 }?.isCurrent ?? false }
}
