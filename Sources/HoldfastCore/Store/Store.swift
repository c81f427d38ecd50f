public import HoldfastEnvironment
package import HoldfastQuery
public import HoldfastStorage
internal import Synchronization

/// One database: the unit of commit order. Opened by a face, which chooses the engine.
///
/// A commit's way: `Repository` or `Transaction` make a `Commit` → `CommitQueue` takes it into a batch → `BatchCommitter`
/// validates and stores it through `Storage` → `SnapshotPool` shows it → `Delivery` tells its observer.
public final class Store: Sendable {
    // What changes, and what guards it:
    //  - `ids`: its lock.
    //  - `openTransactions`, `toldHistory`: atomic.
    //  - Everything else is constant; what changes in its parts they guard themselves.

    public let url: String
    public let options: StoreOptions
    public let storage: any Storage
    package let environment: Environment
    private let parts: StoreParts
    package var cache: EntityCache { parts.cache }
    /// By which entries of the cache expire, and whatever else has a time to live.
    package var clock: StoreClock { parts.clock }
    package var snapshots: SnapshotPool { parts.snapshots }
    package var longReads: LongReads { parts.longReads }
    package var catalogue: Catalogue { parts.catalogue }
    var validators: Validators { parts.validators }
    var keyAges: KeyAges { parts.keyAges }
    package var queue: CommitQueue { parts.queue }
    package var retries: RetryQueue { parts.retries }
    var operations: OperationWorker { parts.operations }
    package var delivery: Delivery { parts.delivery }
    package var diagnostics: StoreDiagnostics { parts.diagnostics }
    /// Whether the caller is one of its threads.
    var isOwnThread: Bool { parts.ownCurrentThread }
    let openTransactions = Atomic<Int>(0)
    /// Of which history of a server, since it begins with a loss, a sync has told last.
    private let toldHistory = Atomic<UInt64>(0)
    let closing: StoreClosing
    package var services: StoreServices { parts.services }
    var follower: CommitLogFollower { parts.follower }
    /// The process that opened it.
    private let epoch = processEpoch()

    private let storageHost: SnapshotReclaimer
    /// Of a store whose entities live with the host.
    private let hostStorage: (any HostStorage)?
    package let incarnation: String
    let format: Int
    private let ids = Lock(UUIDv7Generator())

    /// Takes over an opened storage; when this throws, the storage is closed. `checks`: less than all only in tests of the
    /// proofs.
    package init(
        url: String, storage: any Storage, options: StoreOptions, environment: Environment = .system,
        checks: ConflictChecks = .all
    ) throws(HoldfastError) {
        let began = environment.time.monotonicNanoseconds()
        let state: StorageState
        let parts: StoreParts
        do throws(HoldfastError) {
            _ = try Limits.ofProcess.get()
            state = try storage.readState()
            parts = try StoreParts(storage, state, options, environment, checks)
        } catch {
            try? storage.close(head: 0)
            throw error
        }
        self.url = url
        self.options = options
        self.storage = storage
        self.environment = environment
        self.parts = parts
        closing = StoreClosing(parts, options)
        storageHost = SnapshotReclaimer(
            queue: parts.queue, snapshots: parts.snapshots, longReads: parts.longReads, diagnostics: parts.diagnostics)
        hostStorage = storage as? any HostStorage
        incarnation = hexadecimal(state.incarnation)
        format = state.format

        do throws(HoldfastError) {
            try parts.start(closing)
        } catch {
            try? storage.close(head: 0)
            throw error
        }
        storage.attach(storageHost)
        let milliseconds = (environment.time.monotonicNanoseconds() &- began) / 1_000_000
        diagnostics.info("store opened", [("engine", .text(storage.engine)), ("milliseconds", .number(milliseconds))])
    }

    /// For those on whose stack the host's code has run, which may have forked. Handles are tested before.
    public func requireSameProcess() throws(HoldfastError) {
        if isForeign { throw HoldfastError.forked }
    }

    /// Whether this is a forked child's copy of the parent's store: nothing may be done with it, not even taking a lock.
    package var isForeign: Bool { processEpoch() != epoch }

    // MARK: Repositories and transactions

    /// Opens a repository, creating it where there is none of this name, under this key.
    public func repository(_ name: String, options: RepositoryOptions = .init()) throws(HoldfastError) -> Repository {
        try repository(name, options, at: .max)
    }

    /// By what the name has meant at this time, or later.
    func repository(
        _ name: String, _ options: RepositoryOptions, at time: UInt64
    ) throws(HoldfastError) -> Repository {
        try Catalogue.check(name)
        try requireOpen()
        // Another process may have created it, or what this one knows by the name may be dropped or renamed.
        if try !knows(name, at: time) { try refreshCatalogue() }
        if catalogue.find(name) == nil {
            guard options.create else {
                throw HoldfastError(
                    .notFound,
                    "the store has no repository \"\(name)\": see which it has, or open it with \"create\": true",
                    detail: [("repository", .text(name))])
            }
            // Of a provider's store the catalogue is this process's own: nothing is stored.
            if !isOfProvider { try requireWritable() }
            let commit = Commit(
                .createRepository(name: name, key: options.key ?? RepositoryOptions.standardKey), isDurable: true)
            do throws(HoldfastError) {
                _ = try queue.commit(commit)
            } catch {
                // Somebody else was first, perhaps another process: that is as good.
                guard error.status == .exists else { throw error }
                try refreshCatalogue()
            }
        }
        guard let record = catalogue.find(name) else {
            throw HoldfastError(.internal, "the repository \"\(name)\" was created and cannot be found")
        }
        guard record.name.utf8.elementsEqual(name.utf8) else {
            throw HoldfastError(
                .exists, "the store has a repository \"\(record.name)\", which differs from \"\(name)\" only in case")
        }
        if let key = options.key, !key.utf8.elementsEqual(record.key.utf8) {
            throw HoldfastError(
                .invalidOption,
                "the repository \"\(name)\" was created with the key \"\(record.key)\", not \"\(key)\": leave \"key\" out",
                detail: [("option", .text("key"))])
        }
        if var policy = options.cache {
            // Who asks for a cache gets it, also where there would be none by itself.
            policy.maxBytes = policy.maxBytes ?? self.options.cacheBytes ?? StoreOptions.standardCacheBytes
            cache.setPolicy(policy, of: record.id)
        }
        return Repository(store: self, record: record)
    }

    /// Whether what this process knows by a name is what had it at this time, or has it now. Of a provider's store nobody else
    /// can change that.
    func knows(_ name: String, at time: UInt64 = .max) throws(HoldfastError) -> Bool {
        guard catalogue.find(name) != nil else { return false }
        if isOfProvider || catalogue.isComplete(at: time) { return true }
        let asked = timeOfQuestion
        return catalogue.isCurrent(try storage.changeToken, asked: asked)
    }

    /// Of a file everything is asked anew: that costs nothing.
    private var timeOfQuestion: UInt64 { storage.isRemote ? environment.time.monotonicNanoseconds() : 0 }

    /// Takes note of what other processes have done to the catalogue.
    package func refreshCatalogue() throws(HoldfastError) {
        let asked = timeOfQuestion
        let token = isOfProvider ? nil : try storage.changeToken
        catalogue.add(try readState().repositories, token, asked: asked)
    }

    func readState() throws(HoldfastError) -> StorageState {
        try snapshots.onWhatIsThere { () throws(HoldfastError) in try storage.readState() }
    }

    /// The newest commit's sequence, of whatever process.
    package func head() throws(HoldfastError) -> CommitSequence { try readState().head }

    /// Begins a transaction. Reads nothing: its snapshot is fixed by its first read.
    public func begin(_ options: TransactionOptions = .init()) throws(HoldfastError) -> Transaction {
        try begin(options, isManaged: false)
    }

    /// `isManaged`: whether the call that runs its body ends it, and alone may.
    func begin(_ options: TransactionOptions, isManaged: Bool) throws(HoldfastError) -> Transaction {
        try requireOpen()
        return Transaction(store: self, options: options, isManaged: isManaged)
    }

    // MARK: Reading

    /// Runs `body` on a snapshot of the newest committed state; again, on a newer one, when it is taken back meanwhile.
    package func read<Result>(
        _ body: (any StorageSnapshot) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        var losses = 0
        while true {
            let (shared, storage) = try snapshots.acquire()
            defer { snapshots.release(shared) }
            do throws(HoldfastError) {
                return try body(storage)
            } catch {
                guard snapshots.mustBeginAnew(shared, after: error, &losses) else { throw error }
                try requireOpen()
            }
        }
    }

    /// A snapshot of its own, which nobody takes back.
    package func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot {
        try snapshots.onWhatIsThere { () throws(HoldfastError) in try storage.beginSnapshot() }
    }

    // MARK: State

    /// Makes everything committed before this call durable; tells once where a server has lost some of it since the last call.
    public func sync() throws(HoldfastError) {
        let before = snapshots.history
        do throws(HoldfastError) { try makeDurable() } catch {
            // What it tells of is the end of the history before.
            if error.status == .historyLost { _ = toldHistory.max(before + 1, ordering: .relaxed) }
            throw error
        }
        let history = snapshots.history
        guard toldHistory.max(history, ordering: .relaxed).oldValue < history else { return }
        throw HoldfastError(
            .historyLost,
            "the server of \(storage.location) has lost commits that it had acknowledged, since the store was synced last: what "
                + "is there is durable; read anew what is stored")
    }

    /// The same without telling of what was lost before.
    func makeDurable() throws(HoldfastError) {
        try requireOpen()
        // A provider's function is called by the caller.
        if Interrupt.isWanted && !isOfProvider { try queue.syncElsewhere() } else { try queue.sync() }
    }

    package func requireOpen() throws(HoldfastError) {
        try requireOutsideProvider()
        // Operations that were accepted before are finished.
        if closing.hasBegun && !operations.isCurrentThread { throw HoldfastError.storeClosed }
    }

    package var isOfProvider: Bool { hostStorage != nil }

    /// Whether this thread is inside a function of this store's provider, which may hold up anybody else.
    public var isInsideProvider: Bool { hostStorage?.isInside ?? false }

    /// For calls that could otherwise wait for the one that has called the provider: before any lock is taken.
    public func requireOutsideProvider() throws(HoldfastError) {
        if isInsideProvider { throw HoldfastError.insideProvider }
    }

    package func requireWritable() throws(HoldfastError) {
        try requireOpen()
        if storage.isReadOnly {
            throw HoldfastError(.readOnly, "the store was opened read-only: open it with \"read_only\": false to write")
        }
    }

    package func deadline(inMilliseconds milliseconds: UInt64) -> UInt64 {
        environment.time.monotonicNanoseconds() &+ milliseconds &* 1_000_000
    }

    package func assignID() -> EntityID {
        let now = environment.time.wallMilliseconds()
        let random = (high: environment.random.next(), low: environment.random.next())
        return ids.withLock { $0.next(milliseconds: now, random: random) }
    }
}

extension HoldfastError {
    package static let insideProvider = HoldfastError(
        .reentrant, "a provider's function must not use the store that calls it: let it return first")
}

/// What a store does for its engine. An object of its own, because the engine refers to it weakly, and counting
/// references to an object that somebody refers to weakly is slow: the store's are counted in every call.
private final class SnapshotReclaimer: StorageHost {
    private let queue: CommitQueue
    private let snapshots: SnapshotPool
    private let longReads: LongReads
    private let diagnostics: StoreDiagnostics

    init(queue: CommitQueue, snapshots: SnapshotPool, longReads: LongReads, diagnostics: StoreDiagnostics) {
        self.queue = queue
        self.longReads = longReads
        self.snapshots = snapshots
        self.diagnostics = diagnostics
    }

    func historyWasLost() { queue.historyWasLost() }

    func releaseSnapshots(olderThanMilliseconds age: UInt64?) {
        let before = snapshots.openCount
        snapshots.revoke(olderThanMilliseconds: age)
        if age == nil { longReads.takeBack() }
        let count = before - snapshots.openCount
        if count > 0 && age != nil {
            diagnostics.warning(
                "snapshots were taken back from long readers", [("snapshots", .number(UInt64(max(0, count))))])
        }
    }
}

/// What a repository is opened with; `repository.h` describes each.
public struct RepositoryOptions: Sendable {
    /// Nil: as at its creation, "id" for a new one.
    public var key: String?
    public var create = true
    public static let standardKey = "id"
    /// Nil: as it is, at first sharing the store's general list.
    public var cache: CachePolicy?

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "repository options")
        key = try reader.text("key")
        if let key, key.isEmpty || key.utf8.count > 255 || key.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
            throw HoldfastError(
                .invalidOption,
                "the option \"key\" must be a member's name of 1 to 255 bytes without control characters",
                detail: [("option", .text("key"))])
        }
        if let value = try reader.boolean("create") { create = value }
        cache = try reader.cachePolicy()
        try reader.finish()
    }
}
