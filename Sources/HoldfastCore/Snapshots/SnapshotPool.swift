internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

/// The snapshots that are open. Transactions that began to read in the same state share one; the number is bounded, and one
/// more takes the oldest back from its holders, who move forward or meet a conflict.
///
/// A snapshot whose holders have found everything in the cache is not pinned in the storage, which costs a good part of
/// a short transaction. It is pinned when a holder needs more, and, while there are holders, before a commit
/// of this process ends the state that it stands for. A commit of another process can come before, and on a server, where
/// pinning takes a round trip, any commit; then it is taken back.
package final class SnapshotPool: CommitSnapshots {
    // What changes, and what guards it:
    //  - `state`: its lock, which guards what changes in each `Shared`, too, from when the pool has adopted it; before, its
    //    maker has it to itself.

    /// A committed state and how many hold it.
    final class Shared: @unchecked Sendable {
        let sequence: CommitSequence
        let history: UInt64
        fileprivate let token: ChangeToken?
        fileprivate let opened: UInt64
        /// nil while it is not pinned.
        fileprivate(set) var storage: (any StorageSnapshot)?
        fileprivate(set) var holders = 0
        /// The names of those holders that have one.
        fileprivate(set) var owners: [String] = []
        fileprivate(set) var isRevoked = false
        /// Whether anybody has acquired it since `sweep` looked last.
        fileprivate var wasUsed = true

        fileprivate init(at sequence: CommitSequence, in history: UInt64, _ token: ChangeToken?, opened: UInt64) {
            self.sequence = sequence
            self.history = history
            self.token = token
            self.opened = opened
        }
    }

    struct State {
        /// Serves whoever begins to read now, if nobody has committed since.
        var current: Shared?
        /// All that are open, oldest first.
        var open: [Shared] = []
        /// How many threads are just opening one.
        var opening = 0
        /// How often all were taken back: what was opened before that is adopted by nobody.
        var drops = 0
        /// How often the storage has lost commits: what was read before may never have been.
        var history: UInt64 = 0
        var isClosed = false
        /// Whether `sweep` will be called again.
        var isSweepScheduled = false
    }

    private let storage: any Storage
    private let cache: EntityCache
    private let time: any TimeSource
    private let sweepInterval: UInt64
    private let attempts: Int
    private let patience: UInt64
    private let limit: Int
    private let maxAge: UInt64
    private let wakeSweeper: @Sendable () -> Void
    private let epoch = processEpoch()
    let state = Lock(State())

    /// `limit`: of those that are pinned. `wakeSweeper`: has `sweep` called soon.
    init(
        storage: any Storage, cache: EntityCache, environment: Environment, limit: Int, maxAgeMilliseconds: UInt64,
        wakeSweeper: @escaping @Sendable () -> Void
    ) {
        self.storage = storage
        self.cache = cache
        time = environment.time
        sweepInterval = UInt64(environment.limits.tendInterval)
        attempts = environment.limits.snapshotAttempts
        patience = UInt64(environment.limits.foreignLock)
        self.limit = limit
        maxAge = maxAgeMilliseconds &* 1_000_000
        self.wakeSweeper = wakeSweeper
    }

    /// In which history of the store what is read now is begun.
    var history: UInt64 { state.withLock { $0.history } }

    /// How many are pinned.
    var openCount: Int { state.withLock { state in state.open.count { $0.storage != nil } } }

    /// Whether a transaction holds a snapshot, so that recent commits must be remembered for it.
    var isHeld: Bool { state.withLock { state in state.open.contains { $0.holders > 0 } } }

    // MARK: Acquiring

    /// A pinned snapshot of the newest committed state, to be given back with `release`.
    func acquire() throws(HoldfastError) -> (shared: Shared, storage: any StorageSnapshot) {
        while true {
            let acquired = try onWhatIsThere { () throws(HoldfastError) in try acquireOnce() }
            if let acquired { return acquired }
        }
    }

    /// Reads from the storage; where that has lost commits, once it goes on with what it has.
    func onWhatIsThere<Result>(_ read: () throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        let began = time.monotonicNanoseconds()
        while true {
            do throws(HoldfastError) { return try read() } catch {
                // The committer sees to that.
                guard error.status == .historyLost, time.monotonicNanoseconds() &- began < patience else { throw error }
                let pause = Gate()
                try pause.waitAsking(while: pause.number, nanoseconds: 5_000_000)
            }
        }
    }

    /// Nil where all snapshots were taken back while this one was opened.
    private func acquireOnce() throws(HoldfastError) -> (shared: Shared, storage: any StorageSnapshot)? {
        // Where none is pinned that could serve, a server is not asked whether it does.
        let mayServe = !storage.isRemote || state.withLock { $0.current?.storage != nil }
        let token = mayServe ? try storage.changeToken : nil
        let ready: (Shared, any StorageSnapshot)? = try state.withLock { state throws(HoldfastError) in
            if state.isClosed { throw HoldfastError.storeClosed }
            guard let current = state.current, current.token != nil, current.token == token,
                let storage = current.storage
            else {
                state.opening += 1
                return nil
            }
            current.holders += 1
            current.wasUsed = true
            return (current, storage)
        }
        if let ready { return ready }
        defer { endOpening() }

        // Opened outside the lock, because it reads from the storage. Several threads may do so at once; the
        // newest becomes current.
        makeRoom()
        let (drops, history) = state.withLock { ($0.drops, $0.history) }
        let opened = try storage.beginSnapshot()
        cache.advance(to: opened, in: history)
        let shared = Shared(
            at: opened.sequence, in: history, opened.changeToken, opened: time.monotonicNanoseconds())
        shared.storage = opened
        let refusal = adopt(shared, unlessDroppedSince: drops)
        switch refusal {
        case nil: return (shared, opened)
        case .closed:
            opened.close()
            throw HoldfastError.storeClosed
        case .dropped:
            opened.close()
            return nil
        }
    }

    /// A snapshot of the state which the caller has just found to be the newest, in the cache; not pinned.
    func acquire(at sequence: CommitSequence, _ token: ChangeToken) throws(HoldfastError) -> Shared {
        let ready = try state.withLock { state throws(HoldfastError) -> Shared? in
            if state.isClosed { throw HoldfastError.storeClosed }
            guard let current = state.current, current.token == token else { return nil }
            current.holders += 1
            current.wasUsed = true
            return current
        }
        if let ready { return ready }
        let history = state.withLock { $0.history }
        let shared = Shared(at: sequence, in: history, token, opened: time.monotonicNanoseconds())
        if adopt(shared) != nil { throw HoldfastError.storeClosed }
        return shared
    }

    /// Whether nobody has committed since, which the storage is asked.
    func isNewest(_ shared: Shared) throws(HoldfastError) -> Bool {
        guard let token = try storage.changeToken else { return false }
        return token == shared.token
    }

    /// What a holder reads from; pins it if it is not pinned. nil when it was taken back, or is not to be had any more.
    func storage(of shared: Shared) throws(HoldfastError) -> (any StorageSnapshot)? {
        let (ready, isRevoked) = state.withLock { _ in (shared.storage, shared.isRevoked) }
        if isRevoked { return nil }
        if let ready { return ready }
        return try pin(shared)
    }

    /// Before a commit of this process becomes visible: pins the state that it ends, if somebody holds it.
    func pinBeforeCommit() {
        // Its holders move forward where they need more than the cache has.
        if storage.isRemote { return }
        let held = state.withLock { state -> Shared? in
            guard let current = state.current, current.holders > 0, current.storage == nil else { return nil }
            return current
        }
        // Where that fails its holders find it taken back.
        if let held { _ = try? pin(held) }
    }

    func release(_ shared: Shared, owner: String? = nil) {
        if isForeign { return }
        let token = storage.knownToken(within: .max)
        let unused = state.withLock { state -> (any StorageSnapshot)? in
            shared.holders -= 1
            if let owner, let index = shared.owners.firstIndex(of: owner) { shared.owners.remove(at: index) }
            return Self.removeIfUnused(shared, newest: token, &state)
        }
        unused?.close()
    }

    /// Tells who holds a snapshot that was acquired.
    func note(_ owner: String, of shared: Shared) { state.withLock { _ in shared.owners.append(owner) } }

    /// What is open, oldest first.
    func describe() -> [Description] {
        let now = time.monotonicNanoseconds()
        return state.withLock { state in
            state.open.map { shared in
                Description(
                    sequence: shared.sequence, ageMilliseconds: (now &- shared.opened) / 1_000_000,
                    isPinned: shared.storage != nil, holders: shared.holders, owners: shared.owners)
            }
        }
    }

    struct Description {
        let sequence: CommitSequence
        let ageMilliseconds: UInt64
        let isPinned: Bool
        let holders: Int
        let owners: [String]
    }

    /// Whether what has failed on this one is to be begun anew: it was taken back, or it was lost, and then it is taken back.
    /// `losses`: of the same work; where each snapshot is lost it fails in the end, as what is to end does at once. What the
    /// storage was too busy for, or took too long, is for the caller to run again.
    func mustBeginAnew(_ shared: Shared, after failure: HoldfastError, _ losses: inout Int) -> Bool {
        if failure.status == .cancelled || failure.status == .forked { return false }
        let (isRevoked, lost) = state.withLock { state -> (Bool, [any StorageSnapshot]) in
            if shared.isRevoked { return (true, []) }
            guard let storage = shared.storage, storage.isLost else { return (false, []) }
            return (false, Self.revoke([shared], &state))
        }
        if isRevoked { return true }
        if lost.isEmpty { return false }
        for snapshot in lost { snapshot.close() }
        losses += 1
        return losses < attempts && failure.status != .busy
    }

    /// Whether the caller was asked while it waited for a server, has forked then, and this is the child: others of the parent's
    /// threads may have had the locks.
    private var isForeign: Bool { processEpoch() != epoch }

    private func endOpening() {
        if !isForeign { state.withLock { $0.opening -= 1 } }
    }

    private func pin(_ shared: Shared) throws(HoldfastError) -> (any StorageSnapshot)? {
        let isWanted = state.withLock { state in
            if state.isClosed || shared.isRevoked { return false }
            state.opening += 1
            return true
        }
        guard isWanted else { return nil }
        defer { endOpening() }
        makeRoom()
        let opened = try storage.beginSnapshot()
        let (kept, superfluous) = state.withLock { state -> ((any StorageSnapshot)?, [any StorageSnapshot]) in
            if shared.isRevoked { return (nil, [opened]) }
            // Another holder may have been faster.
            if let storage = shared.storage { return (storage, [opened]) }
            guard opened.changeToken != nil, opened.changeToken == shared.token else {
                Self.revoke([shared], &state)
                return (nil, [opened])
            }
            shared.storage = opened
            return (opened, makeRoom(beside: shared, &state))
        }
        for snapshot in superfluous { snapshot.close() }
        return kept
    }

    /// Why the pool does not take one.
    private enum Refusal { case closed, dropped }

    /// Makes it the current one, held once, or answers why not.
    private func adopt(_ shared: Shared, unlessDroppedSince drops: Int? = nil) -> Refusal? {
        let newest = storage.knownToken(within: .max)
        let (refusal, superfluous, mustWake) = state.withLock { state -> (Refusal?, [any StorageSnapshot], Bool) in
            if state.isClosed { return (.closed, [], false) }
            // The storage was opened anew meanwhile, and this is of before.
            if let drops, drops != state.drops { return (.dropped, [], false) }
            shared.holders = 1
            // One that was opened meanwhile, by somebody faster, may show a newer state.
            let place = state.open.lastIndex { $0.sequence <= shared.sequence } ?? -1
            state.open.insert(shared, at: place + 1)
            let before = state.current
            if before == nil || before!.sequence <= shared.sequence { state.current = shared }
            defer { state.isSweepScheduled = true }
            let unused = Self.removeIfUnused(before, newest: newest, &state)
            return (nil, [unused].compactMap(\.self) + makeRoom(beside: shared, &state), !state.isSweepScheduled)
        }
        for snapshot in superfluous { snapshot.close() }
        if mustWake { wakeSweeper() }
        return refusal
    }

    // MARK: Letting go

    /// Lets go of the newest snapshot if it no longer is that and nobody holds it. For after a commit.
    func releaseStale() {
        let token = storage.knownToken(within: .max)
        let unused = state.withLock { Self.removeIfUnused($0.current, newest: token, &$0) }
        unused?.close()
    }

    /// Lets go of what would keep the storage from reusing space for no good reason: a snapshot that nobody has
    /// used for a while, and one that is too old and no longer the newest state. This process cannot know whether
    /// another one needs the space. Answers when to call again, nil: when `wakeSweeper` says so. Called by one thread.
    func sweep() -> UInt64? {
        let now = time.monotonicNanoseconds()
        let token = storage.knownToken(within: .max)
        let (dropped, mustGoOn) = state.withLock { state -> ([any StorageSnapshot], Bool) in
            var dropped: [Shared] = []
            for shared in state.open {
                if shared.holders == 0 && !shared.wasUsed { dropped.append(shared) }
                if shared.holders > 0 && now &- shared.opened > maxAge && shared.token != token {
                    dropped.append(shared)
                }
                shared.wasUsed = false
            }
            let closing = Self.revoke(dropped, &state)
            state.isSweepScheduled = !state.open.isEmpty && !state.isClosed
            return (closing, state.isSweepScheduled)
        }
        for snapshot in dropped { snapshot.close() }
        return mustGoOn ? now &+ sweepInterval : nil
    }

    /// The storage has lost commits: what was read is no longer to be had, nor to be relied on.
    func beginHistory() -> UInt64 {
        let history = state.withLock { state in
            state.history += 1
            return state.history
        }
        dropAll()
        cache.beginHistory(history)
        return history
    }

    func dropAll() {
        state.withLock { $0.drops += 1 }
        revoke(olderThanMilliseconds: nil)
    }

    /// Takes back what was opened longer ago than this; nil takes back all.
    func revoke(olderThanMilliseconds age: UInt64?) {
        let now = time.monotonicNanoseconds()
        revoke { age == nil || now &- $0.opened > age! &* 1_000_000 }
    }

    /// Refuses new snapshots and takes all back. Answers whether nobody uses the storage any more; if not, it is
    /// called again.
    func close() -> Bool {
        let (isQuiet, closing) = state.withLock { state in
            state.isClosed = true
            return (state.opening == 0, Self.revoke(state.open, &state))
        }
        for snapshot in closing { snapshot.close() }
        return isQuiet
    }

    private func revoke(_ isMeant: (Shared) -> Bool) {
        let closing = state.withLock { Self.revoke($0.open.filter(isMeant), &$0) }
        // The engine has locks of its own.
        for snapshot in closing { snapshot.close() }
    }

    /// For one that is to be opened.
    private func makeRoom() {
        let closing = state.withLock { makeRoom(beside: nil, &$0) }
        for snapshot in closing { snapshot.close() }
    }

    /// Takes the oldest back while there are too many beside this one, or beside one that is to be opened: others may have
    /// opened theirs at the same time. Answers what the caller has to close.
    private func makeRoom(beside shared: Shared?, _ state: inout State) -> [any StorageSnapshot] {
        guard state.open.count >= limit else { return [] }
        let others = state.open.filter { $0.storage != nil && $0 !== shared }
        let most = shared == nil || shared!.storage != nil ? limit - 1 : limit
        return Self.revoke(Array(others.prefix(max(0, others.count - most))), &state)
    }

    /// Answers what the caller has to close.
    @discardableResult
    private static func revoke(_ revoked: [Shared], _ state: inout State) -> [any StorageSnapshot] {
        if revoked.isEmpty { return [] }
        var closing: [any StorageSnapshot] = []
        for shared in revoked {
            shared.isRevoked = true
            if let storage = shared.storage { closing.append(storage) }
            if state.current === shared { state.current = nil }
        }
        state.open.removeAll { $0.isRevoked }
        return closing
    }

    /// Takes one out of the list that nobody holds and nobody new will get; the caller closes its storage's part.
    private static func removeIfUnused(
        _ shared: Shared?, newest token: ChangeToken?, _ state: inout State
    ) -> (any StorageSnapshot)? {
        guard let shared, shared.holders == 0, !shared.isRevoked else { return nil }
        if state.current === shared && shared.token != nil && shared.token == token { return nil }
        if state.current === shared { state.current = nil }
        guard let index = state.open.firstIndex(where: { $0 === shared }) else { return nil }
        state.open.remove(at: index)
        return shared.storage
    }
}
