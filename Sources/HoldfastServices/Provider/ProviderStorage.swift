internal import HoldfastCore
public import HoldfastEnvironment
public import HoldfastQuery
public import HoldfastStorage
internal import Synchronization

/// The host's provider as a storage. Entities live with the provider alone. Everything else is this process's: the catalogue,
/// the commit log, idempotency keys, the entries of indexes, and the versions of what it has written. So a store that is opened
/// again knows its repositories and indexes once they are opened and created again.
///
/// What lay there before has the sequence at which the store was opened as its version. Sequences begin with the microseconds
/// since 1970, so that versions rise from one opening to the next.
///
/// Where somebody else has written, which the provider's change token tells, nothing that was known holds any more: see
/// `forget`.
public final class ProviderStorage: HostStorage {
    public let engine = "provider"
    public let location = "provider:"
    public let isReadOnly: Bool
    public let keepsCatalogue = false

    struct Guarded: Sendable {
        /// All but entities.
        var state: MemoryState
        /// Of entities that this process has written.
        var versions = OrderedMap<EntityKey, CommitSequence>()
        /// Of the others.
        var oldVersion: CommitSequence
        var beforeImages = BeforeImages()
        /// The provider's change token that stands for all this.
        var token: UInt64
        /// Rises when open snapshots end.
        var epoch: UInt64 = 0
        /// The greatest sequence that was given out.
        var lastSequence: CommitSequence
        var indexesAreStale = false
        var isWriting = false
        var isClosed = false
        /// Whether nobody knows what a commit has left with the provider.
        var isLost = false
    }

    let calls: ProviderCalls
    /// Whether what the provider gives must be entities. Always, except in tests of engines, whose texts are none.
    let checksEntities: Bool
    /// How many listings a snapshot keeps.
    let listingLimit: Int
    /// How often indexes are made anew before it is given up.
    private let indexAttempts: Int
    private let guarded: Lock<Guarded>
    private let host = Lock<WeakHost>(WeakHost())

    private struct WeakHost {
        weak var host: (any StorageHost)?
    }

    /// Of all that this process has closed, for what is opened again within a millisecond.
    private static let newestClosed = Atomic<CommitSequence>(0)

    public convenience init(
        _ provider: any HostProvider, isReadOnly: Bool = false, isConcurrent: Bool = false,
        environment: Environment = .system
    ) throws(HoldfastError) {
        // Below 2^53, as every sequence.
        let now = min(environment.time.wallMilliseconds(), 1 << 42) * 1_000
        let closed = Self.newestClosed.load(ordering: .acquiring)
        try self.init(
            provider, isReadOnly: isReadOnly, isConcurrent: isConcurrent, startingAt: max(now, closed + 1),
            checksEntities: true,
            environment: environment)
    }

    /// `startingAt`: the sequence of what is there already.
    package init(
        _ provider: any HostProvider, isReadOnly: Bool = false, isConcurrent: Bool = false,
        startingAt first: CommitSequence, checksEntities: Bool, environment: Environment = .system
    ) throws(HoldfastError) {
        self.isReadOnly = isReadOnly
        self.checksEntities = checksEntities
        listingLimit = max(environment.limits.providerListings, 1)
        indexAttempts = environment.limits.indexAttempts
        calls = ProviderCalls(provider, isConcurrent: isConcurrent)
        var state = MemoryState.fresh(random: environment.random)
        state.newestSequence = first
        state.commitLogBegins = first == 0 ? 0 : first + 1
        guarded = Lock(
            Guarded(state: state, oldVersion: first, token: try calls.changeToken(), lastSequence: first))
    }

    // MARK: Storage

    public func readState() throws(HoldfastError) -> StorageState {
        let state = try openState { $0.state }
        return StorageState(
            incarnation: state.incarnation, head: state.newestSequence, reservedThrough: state.reservedThrough,
            repositories: state.repositories, format: 1)
    }

    package var isInside: Bool { calls.isInside }

    public var isAtomic: Bool { calls.abilities.contains(.apply) }

    public var noticesChanges: Bool { calls.abilities.contains(.changeToken) }

    public var changeToken: ChangeToken? {
        // Inside the provider's own function it cannot be asked.
        if !calls.isInside {
            do throws(HoldfastError) { try noticeChanges() } catch { return nil }
        }
        return guarded.withLock { Self.token($0) }
    }

    public func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot {
        try prepare()
        return try openState { guarded in
            ProviderSnapshot(
                of: self,
                ProviderSnapshot.View(
                    state: guarded.state, versions: guarded.versions, oldVersion: guarded.oldVersion,
                    epoch: guarded.epoch, firstUnseen: guarded.beforeImages.openSnapshot()),
                token: Self.token(guarded))
        }
    }

    /// There is only this process.
    public func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool { true }
    public func releaseWriteLock() {}

    public func beginWrite(durable: Bool, until deadline: UInt64) throws(HoldfastError) -> any StorageWrite {
        try prepare()
        let begun = try guarded.withLock { (guarded) throws(HoldfastError) in
            try Self.requireOpen(guarded)
            guard !guarded.isWriting else {
                throw HoldfastError(.busy, "another write transaction is open on \(location): try again")
            }
            guarded.isWriting = true
            return guarded
        }
        return ProviderWrite(of: self, begun, isDurable: durable)
    }

    public func sync() throws(HoldfastError) {
        try openState { _ in }
        try calls.sync()
    }

    public func recover() throws(HoldfastError) {
        let isLost = guarded.withLock { guarded in
            guarded.epoch += 1
            guarded.beforeImages.removeAll()
            guarded.isWriting = false
            return guarded.isLost
        }
        if isLost { forget() }
    }

    public func resolve(_ commits: [CommitName]) throws(HoldfastError) -> [Bool] {
        try openState { guarded in
            commits.map { guarded.state.commitLog[$0.sequence]?.commitIdentifier == $0.identifier }
        }
    }

    public func close(head: CommitSequence) throws(HoldfastError) {
        guarded.withLock { guarded in
            guarded.isClosed = true
            guarded.epoch += 1
            Self.newestClosed.max(max(head, guarded.lastSequence), ordering: .acquiringAndReleasing)
        }
        calls.end()
    }

    public func attach(_ host: any StorageHost) { self.host.withLock { $0.host = host } }

    // MARK: What others have written

    static func token(_ guarded: Guarded) -> ChangeToken {
        ChangeToken((guarded.state.newestSequence, guarded.token, 0, 0, 0, 0))
    }

    /// Asks the provider whether somebody else has written. While this process writes, nobody can tell.
    private func noticeChanges() throws(HoldfastError) {
        if guarded.withLock({ $0.isLost && !$0.isWriting }) { forget() }
        guard noticesChanges else { return }
        let before = guarded.withLock { $0.isWriting ? nil : $0.beforeImages.current }
        guard let before else { return }
        let token = try calls.changeToken()
        let isNews = guarded.withLock { guarded in
            guard !guarded.isWriting, guarded.beforeImages.current == before, guarded.token != token else {
                return false
            }
            guarded.token = token
            return true
        }
        if isNews { forget() }
    }

    /// What the provider holds is not known any more: all versions rise, the commit log goes, so that nobody can
    /// confirm what was read before, indexes are made anew, and transactions lose their snapshots.
    private func forget() {
        guarded.withLock { guarded in
            guarded.versions = OrderedMap()
            guarded.lastSequence = max(guarded.lastSequence, guarded.state.newestSequence) + 1
            guarded.oldVersion = guarded.lastSequence
            guarded.state.forgetCommitLog(through: guarded.lastSequence)
            guarded.indexesAreStale = !guarded.state.indexes.isEmpty
            guarded.isLost = false
        }
        host.withLock { $0.host }?.releaseSnapshots(olderThanMilliseconds: nil)
    }

    /// Before a snapshot or a write begins: takes note of what others have written.
    private func prepare() throws(HoldfastError) {
        for _ in 0..<indexAttempts {
            try noticeChanges()
            // Not while a write is under way, which has found the indexes fresh.
            let stale = guarded.withLock { $0.indexesAreStale ? ($0.state, $0.beforeImages.current) : nil }
            guard let (state, change) = stale else { return }
            let fresh = try ProviderIndexes.entries(of: state, calls)
            guarded.withLock { guarded in
                guard guarded.state.newestSequence == state.newestSequence, guarded.beforeImages.current == change
                else {
                    return
                }
                guarded.state.replaceIndexes(fresh)
                guarded.indexesAreStale = false
            }
        }
        throw HoldfastError(.busy, "others write to the provider faster than its indexes are made: try again")
    }

    // MARK: For its snapshots and its writes

    func withGuarded<Result>(_ body: (inout Guarded) throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        try guarded.withLock { (guarded) throws(HoldfastError) in try body(&guarded) }
    }

    func endSnapshot(_ view: ProviderSnapshot.View) {
        guarded.withLock { guarded in
            if guarded.epoch == view.epoch { guarded.beforeImages.closeSnapshot(view.firstUnseen) }
        }
    }

    /// A commit could neither be stored nor taken back.
    func loseTrack() { guarded.withLock { $0.isLost = true } }

    /// Ends the write transaction; what is not nil becomes the state. `hasWritten`: whether the provider was given anything,
    /// which may have changed its token.
    func endWrite(
        hasWritten: Bool, publishing written: (state: MemoryState, versions: OrderedMap<EntityKey, CommitSequence>)?
    ) -> ChangeToken {
        let token = hasWritten ? try? calls.changeToken() : nil
        return guarded.withLock { guarded in
            if let written {
                guarded.state = written.state
                guarded.versions = written.versions
                guarded.lastSequence = max(guarded.lastSequence, written.state.newestSequence)
            }
            // One that could not be told is another at the next look.
            if hasWritten { guarded.token = token ?? ~guarded.token }
            guarded.beforeImages.end()
            guarded.isWriting = false
            return Self.token(guarded)
        }
    }

    private func openState<Result>(
        _ body: (inout Guarded) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try guarded.withLock { (guarded) throws(HoldfastError) in
            try Self.requireOpen(guarded)
            return try body(&guarded)
        }
    }

    private static func requireOpen(_ guarded: Guarded) throws(HoldfastError) {
        if guarded.isClosed { throw HoldfastError.storeClosed }
    }
}
