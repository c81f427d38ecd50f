internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

/// Follows the commits of a store, whoever's, on a thread of its own, for all its streams. A store without streams has no
/// such thread.
///
///     BatchCommitter → announce, stored → items → the follower's step → FollowedStreams → StreamOutbox → Delivery
///     others' commits → the storage's token, looked at every 20 ms → the commit log ↗
///
/// What asynchronous commits' owners are to hear goes the same way, behind the commit itself: so streams hear first.
///
/// A commit is announced before anybody can see it. So whoever sees it in the commit log finds its texts here.
final class CommitLogFollower: Sendable {
    // What changes, and what guards it:
    //  - `state`: its lock. What `followed` refers to is the worker's, which never runs two steps at once.
    //  - `isActive`: atomic, and changed under the lock.

    enum Item {
        case observer(ChangeObserver)
        case query(LiveQuery)
        case aggregation(LiveAggregation)
        case removal(StreamOutbox)
        case commits(CommittedBatch)
        /// Something is stored whose texts are not known here.
        case commitLog
        /// The storage has lost commits.
        case history
        /// To be delivered behind what comes before.
        case events([Event])
    }

    struct State {
        var items: [Item] = []
        /// How many of the items were taken.
        var taken = 0
        var waitingBytes = 0
        /// What is just being stored.
        var announced: CommittedBatch?
        /// Whether what streams are to be told of the items that were taken may not be posted yet.
        var isWorking = false
        /// How many streams are open, or being opened.
        var streams = 0
        /// How many of them want to know what was there before a change, by repository; nil stands for all.
        var beforeImageNeeds: [RepositoryID?: Int] = [:]
        var durableNames: Set<String> = []
        /// Rises where the storage has lost commits.
        var history: UInt64 = 0
        var worker = WorkerOnDemand()
        /// What the worker has followed. For nobody else.
        var followed: Confined<FollowedStreams>?
    }

    private let storage: any Storage
    private let catalogue: Catalogue
    private let environment: Environment
    private let delivery: Delivery
    private let diagnostics: StoreDiagnostics
    private let finished: @Sendable () -> Void
    let isActive = Atomic<Bool>(false)
    let state = Lock(State())

    /// `finished` hears that it runs no more.
    init(
        storage: any Storage, catalogue: Catalogue, environment: Environment, delivery: Delivery,
        diagnostics: StoreDiagnostics,
        finished: @escaping @Sendable () -> Void
    ) {
        self.storage = storage
        self.catalogue = catalogue
        self.environment = environment
        self.delivery = delivery
        self.diagnostics = diagnostics
        self.finished = finished
    }

    // MARK: For streams

    /// From here on commits are announced. Before a stream is attached, and once for each.
    /// Answers the number of the storage's history, which `attach` wants.
    func begin(_ durableName: String?) throws(HoldfastError) -> UInt64 {
        try state.withLock { state throws(HoldfastError) in
            if state.worker.isClosing { throw HoldfastError.storeClosed }
            if let durableName, state.durableNames.contains(durableName) {
                throw HoldfastError(
                    .invalidState,
                    "the durable subscription \"\(durableName)\" is open in this process: free that stream first")
            }
            if !state.worker.isStarted { try startWorker(&state) }
            if let durableName { state.durableNames.insert(durableName) }
            state.streams += 1
            isActive.store(true, ordering: .releasing)
            return state.history
        }
    }

    /// Takes back what `begin` has noted.
    func end(_ durableName: String?) {
        state.withLock { state in
            if let durableName { state.durableNames.remove(durableName) }
            state.streams -= 1
            if state.streams == 0 { isActive.store(false, ordering: .releasing) }
        }
    }

    func outbox(_ observer: any StreamObserver) -> StreamOutbox {
        StreamOutbox(observer, delivery) { [weak self] in self?.wake() }
    }

    func attach(_ observer: ChangeObserver, begunIn history: UInt64) {
        state.withLock { $0.beforeImageNeeds[observer.selection.repository, default: 0] += 1 }
        add(.observer(observer), begunIn: history)
    }

    func attach(_ query: LiveQuery, begunIn history: UInt64) { add(.query(query), begunIn: history) }

    func attach(_ aggregation: LiveAggregation, begunIn history: UInt64) {
        add(.aggregation(aggregation), begunIn: history)
    }

    func detach(_ outbox: StreamOutbox, _ selection: ChangeSelection?) {
        if let selection { state.withLock { $0.beforeImageNeeds[selection.repository]! -= 1 } }
        add(.removal(outbox))
    }

    private func add(_ item: Item, begunIn history: UInt64? = nil) {
        state.withLock { state in
            if state.worker.isFinished { return }
            state.items.append(item)
            // What it has read may be what was lost meanwhile.
            if let history, history != state.history { state.items.append(.history) }
        }
        wake()
    }

    private func wake() { state.withLock { $0.worker }.wake() }

    private func startWorker(_ state: inout State) throws(HoldfastError) {
        let streams = Confined(
            FollowedStreams(storage: storage, catalogue: catalogue, limits: environment.limits) { [unowned self] in
                ownCommits
            })
        try state.worker.start(environment.workers, name: "hf-streams") { [self] in step(streams.value) }
        state.followed = streams
    }

    // MARK: For the committer

    /// Whether what a batch changes is to be announced; then, of which repositories with what was there before.
    var needsBeforeImages: ((RepositoryID) -> Bool)? {
        guard isActive.load(ordering: .acquiring) else { return nil }
        let needs = state.withLock { $0.beforeImageNeeds }
        return { needs[$0] ?? 0 > 0 || needs[nil] ?? 0 > 0 }
    }

    /// What will be stored in a moment. Before anybody can see it.
    func announce(_ batch: CommittedBatch) { state.withLock { $0.announced = batch } }

    /// What was announced is stored, and nothing else is committed in between. `token`: what the storage says now.
    func stored(_ token: ChangeToken?) {
        let isNew = state.withLock { state in
            guard var batch = state.announced else { return false }
            state.announced = nil
            batch.token = token
            if state.waitingBytes + batch.size > environment.limits.followerBytes && !state.items.isEmpty {
                state.items.append(.commitLog)
            } else {
                state.waitingBytes += batch.size
                state.items.append(.commits(batch))
            }
            return true
        }
        if isNew { wake() }
    }

    /// What was announced is not stored.
    func withdrawn() { state.withLock { $0.announced = nil } }

    /// Nobody knows what became of what was announced.
    func lost() {
        let isNew = state.withLock { state in
            defer { state.announced = nil }
            if state.announced != nil { state.items.append(.commitLog) }
            return state.announced != nil
        }
        if isNew { wake() }
    }

    /// Delivers events behind what streams are told of the commits before.
    func post(_ events: [Event]) {
        if events.isEmpty { return }
        let isNext = state.withLock { state in
            if state.worker.isFinished || state.items.isEmpty && !state.isWorking { return true }
            state.items.append(.events(events))
            return false
        }
        if isNext { delivery.post(events) } else { wake() }
    }

    /// Announced or stored by this process, and not followed yet.
    private var ownCommits: [CommittedBatch] {
        state.withLock { state in
            var batches = state.items[state.taken...].compactMap {
                if case .commits(let batch) = $0 { batch } else { nil }
            }
            if let announced = state.announced { batches.append(announced) }
            return batches
        }
    }

    /// What streams were told may never have been.
    func beginHistory() {
        let isFollowed = state.withLock { state in
            state.history += 1
            if state.streams > 0 { state.items.append(.history) }
            return state.streams > 0
        }
        if isFollowed { wake() }
    }

    // MARK: Its end

    /// What was committed is still told, then every stream ends.
    func beginClosing() { state.withLock { $0.worker.beginClosing() } }

    var isFinished: Bool { state.withLock { $0.worker.isFinished } }

    // MARK: On its thread

    private func step(_ streams: FollowedStreams) -> NextStep {
        // For a while only: what comes without a pause must not keep what was followed from being told.
        let pause = environment.time.monotonicNanoseconds() &+ UInt64(environment.limits.followerPoll)
        while let item = next() {
            deal(with: item, streams)
            if environment.time.monotonicNanoseconds() >= pause { break }
        }
        attempt { () throws(HoldfastError) in
            try streams.serveWaiting()
            try streams.poll { newcomersWait }
        }
        // Nothing can be followed from what is no more.
        if let loss = storage.loss, loss.status != .historyLost { streams.end(with: loss) }
        streams.serveAggregations()
        streams.moveSubscriptions()
        delivery.post(streams.takeEvents())
        let (isIdle, isClosing) = state.withLock { state in
            state.isWorking = false
            state.items.removeFirst(state.taken)
            state.taken = 0
            return (state.items.isEmpty, state.worker.isClosing)
        }
        if !isIdle { return .again }
        if isClosing { return finish(streams) }
        let due = environment.time.monotonicNanoseconds() &+ UInt64(environment.limits.followerPoll)
        return .sleep(until: streams.needsPolling ? due : nil)
    }

    private var newcomersWait: Bool {
        state.withLock { state in
            state.items[state.taken...].contains {
                switch $0 {
                case .observer, .query, .aggregation: true
                case .removal, .commits, .commitLog, .history, .events: false
                }
            }
        }
    }

    private func next() -> Item? {
        state.withLock { state in
            guard state.taken < state.items.count else {
                state.items.removeAll(keepingCapacity: state.items.count < environment.limits.keptItems)
                state.taken = 0
                return nil
            }
            state.isWorking = true
            let item = state.items[state.taken]
            // What it holds goes with the one who deals with it.
            state.items[state.taken] = .events([])
            state.taken += 1
            if case .commits(let batch) = item { state.waitingBytes -= batch.size }
            return item
        }
    }

    private func deal(with item: Item, _ streams: FollowedStreams) {
        attempt { () throws(HoldfastError) in
            switch item {
            case .observer(let observer): streams.add(observer)
            case .query(let query): streams.add(query)
            case .aggregation(let aggregation): streams.add(aggregation)
            case .removal(let outbox): streams.remove(outbox)
            case .commits(let batch): try streams.follow(batch)
            case .commitLog: try streams.followCommitLog()
            case .history: try streams.beginHistory()
            case .events(let events): delivery.post(streams.takeEvents() + events)
            }
        }
    }

    /// What fails is tried again at the next step: what is stored stays in the commit log.
    private func attempt(_ body: () throws(HoldfastError) -> Void) {
        do throws(HoldfastError) {
            try body()
        } catch {
            diagnostics.warning("the commits could not be followed just now", [("reason", .text(error.message))])
        }
    }

    private func finish(_ streams: FollowedStreams) -> NextStep {
        streams.end(with: HoldfastError.storeClosed)
        delivery.post(streams.takeEvents())
        state.withLock { state in
            state.worker.finish()
            state.followed = nil
        }
        finished()
        return .finished
    }
}
