/// The snapshots that are open. Transactions at one sequence share one; the number is bounded, and one more takes
/// the oldest back from its holders, who move forward or meet a conflict.
final class SnapshotPool: Sendable {
    /// A snapshot and how many hold it. Guarded by the pool's lock, but for the storage's part, which locks itself.
    final class Shared: @unchecked Sendable {
        let storage: any StorageSnapshot
        let opened: UInt64
        /// Until it is closed or taken back; guarded by the pool's lock.
        fileprivate var wasUsed = true
        // Guarded by the pool's lock.
        fileprivate(set) var holders = 0
        fileprivate(set) var isRevoked = false

        init(_ storage: any StorageSnapshot, opened: UInt64) {
            self.storage = storage
            self.opened = opened
        }

        var sequence: CommitSequence { storage.sequence }
    }

    private struct State {
        /// Serves whoever begins to read now, if nobody has committed since.
        var current: Shared?
        /// All that are open, oldest first.
        var open: [Shared] = []
        /// How many threads are just opening one.
        var opening = 0
        var isClosed = false
        /// Whether `tend` will be called again.
        var isTended = false
    }

    private static let tendInterval: UInt64 = 1_000_000_000

    private let storage: any Storage
    private let time: any TimeSource
    private let limit: Int
    private let maxAge: UInt64
    private let wakeTender: @Sendable () -> Void
    private let state: Lock<State>

    /// `wakeTender`: has `tend` called soon.
    init(
        storage: any Storage, time: any TimeSource, limit: Int, maxAgeMilliseconds: UInt64,
        wakeTender: @escaping @Sendable () -> Void
    ) {
        self.storage = storage
        self.time = time
        self.limit = limit
        maxAge = maxAgeMilliseconds &* 1_000_000
        self.wakeTender = wakeTender
        state = Lock(State())
    }

    var openCount: Int { state.withLock { $0.open.count } }

    /// Whether a transaction holds a snapshot, so that recent commits must be remembered for it.
    var isHeld: Bool { state.withLock { state in state.open.contains { $0.holders > 0 } } }

    /// A snapshot of the newest published state, to be given back with `release`.
    func acquire() throws(HoldfastError) -> Shared {
        let ready: Shared? = try state.withLock { state throws(HoldfastError) in
            if state.isClosed { throw Store.closed }
            guard let current = state.current, current.storage.isNewest else {
                state.opening += 1
                return nil
            }
            current.holders += 1
            current.wasUsed = true
            return current
        }
        if let ready { return ready }
        defer { state.withLock { $0.opening -= 1 } }

        // Opened outside the lock, because it reads from the storage. Several threads may do so at once; the
        // newest becomes current.
        makeRoom()
        let opened = Shared(try storage.beginSnapshot(), opened: time.monotonicNanoseconds())
        let (isClosed, unused, mustWake) = state.withLock { state -> (Bool, Shared?, Bool) in
            if state.isClosed { return (true, nil, false) }
            opened.holders = 1
            state.open.append(opened)
            let before = state.current
            if before == nil || before!.sequence <= opened.sequence { state.current = opened }
            defer { state.isTended = true }
            return (false, Self.removeIfUnused(before, &state), !state.isTended)
        }
        unused?.storage.close()
        if mustWake { wakeTender() }
        if isClosed {
            opened.storage.close()
            throw Store.closed
        }
        return opened
    }

    func release(_ shared: Shared) {
        let unused = state.withLock { state -> Shared? in
            shared.holders -= 1
            return Self.removeIfUnused(shared, &state)
        }
        unused?.storage.close()
    }

    func isRevoked(_ shared: Shared) -> Bool { state.withLock { _ in shared.isRevoked } }

    /// Lets go of the newest snapshot if it no longer is that and nobody holds it. For after a commit.
    func releaseStale() {
        let unused = state.withLock { Self.removeIfUnused($0.current, &$0) }
        unused?.storage.close()
    }

    /// Lets go of what would keep the storage from reusing space for no good reason: a snapshot that nobody has
    /// used for a while, and one that is too old and no longer the newest state. This process cannot know whether
    /// another one needs the space. Answers when to call again, nil: when `wakeTender` says so. Called by one thread.
    func tend() -> UInt64? {
        let now = time.monotonicNanoseconds()
        var idle: [Shared] = []
        let mustGoOn = state.withLock { state in
            for shared in state.open where shared.holders == 0 {
                if shared.wasUsed { shared.wasUsed = false } else { idle.append(shared) }
            }
            state.open.removeAll { shared in idle.contains { $0 === shared } }
            if let current = state.current, idle.contains(where: { $0 === current }) { state.current = nil }
            state.isTended = !state.open.isEmpty && !state.isClosed
            return state.isTended
        }
        for shared in idle { shared.storage.close() }
        revoke { now &- $0.opened > maxAge && !$0.storage.isNewest }
        return mustGoOn ? now &+ Self.tendInterval : nil
    }

    /// Takes back what was opened longer ago than this; nil takes back all.
    func revoke(olderThanMilliseconds age: UInt64?) {
        let now = time.monotonicNanoseconds()
        revoke { age == nil || now &- $0.opened > age! &* 1_000_000 }
    }

    /// Refuses new snapshots and takes all back. Answers whether nobody uses the storage any more; if not, it is
    /// called again.
    func close() -> Bool {
        let isQuiet = state.withLock { state in
            state.isClosed = true
            return state.opening == 0
        }
        revoke { _ in true }
        return isQuiet
    }

    private func revoke(_ isMeant: (Shared) -> Bool) {
        let revoked = state.withLock { state in
            let revoked = state.open.filter(isMeant)
            state.open.removeAll(where: isMeant)
            for shared in revoked {
                shared.isRevoked = true
                if state.current === shared { state.current = nil }
            }
            return revoked
        }
        // Closing waits for a read in progress, so not under the lock.
        for shared in revoked { shared.storage.close() }
    }

    /// Takes the oldest back while there are as many as allowed.
    private func makeRoom() {
        let oldest = state.withLock { state -> Shared? in
            guard state.open.count >= limit else { return nil }
            let oldest = state.open.removeFirst()
            oldest.isRevoked = true
            if state.current === oldest { state.current = nil }
            return oldest
        }
        oldest?.storage.close()
    }

    /// Takes one out of the list that nobody holds and nobody new will get; the caller closes it.
    private static func removeIfUnused(_ shared: Shared?, _ state: inout State) -> Shared? {
        guard let shared, shared.holders == 0, !shared.isRevoked else { return nil }
        if state.current === shared && shared.storage.isNewest { return nil }
        if state.current === shared { state.current = nil }
        guard let index = state.open.firstIndex(where: { $0 === shared }) else { return nil }
        state.open.remove(at: index)
        return shared
    }
}
