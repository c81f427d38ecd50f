/// The snapshots that are open. Transactions at one sequence share one; the number is bounded, and one more takes
/// the oldest back from its holders, who move forward or meet a conflict.
final class SnapshotPool: Sendable {
    /// A snapshot and how many hold it. Guarded by the pool's lock, but for the storage's part, which locks itself.
    final class Shared: @unchecked Sendable {
        let storage: any StorageSnapshot
        let opened: UInt64
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
        /// Of all commits published so far.
        var horizon: CommitSequence
        /// Serves whoever begins to read now, if it is as new as the horizon.
        var current: Shared?
        /// All that are open, oldest first.
        var open: [Shared] = []
        /// How many threads are just opening one.
        var opening = 0
        var isClosed = false
    }

    private let storage: any Storage
    private let time: any TimeSource
    private let limit: Int
    private let state: Lock<State>

    init(storage: any Storage, time: any TimeSource, limit: Int, horizon: CommitSequence) {
        self.storage = storage
        self.time = time
        self.limit = limit
        state = Lock(State(horizon: horizon))
    }

    var horizon: CommitSequence { state.withLock { $0.horizon } }
    var openCount: Int { state.withLock { $0.open.count } }

    /// Whether a transaction holds a snapshot, so that recent commits must be remembered for it.
    var isHeld: Bool { state.withLock { state in state.open.contains { $0.holders > 0 } } }

    /// A snapshot of the newest published state, to be given back with `release`.
    func acquire() throws(HoldfastError) -> Shared {
        let ready: Shared? = try state.withLock { state throws(HoldfastError) in
            if state.isClosed { throw Store.closed }
            guard let current = state.current, current.sequence >= state.horizon else {
                state.opening += 1
                return nil
            }
            current.holders += 1
            return current
        }
        if let ready { return ready }
        defer { state.withLock { $0.opening -= 1 } }

        // Opened outside the lock, because it reads from the storage. Several threads may do so at once; the
        // newest becomes current.
        makeRoom()
        let opened = Shared(try storage.beginSnapshot(), opened: time.monotonicNanoseconds())
        let (isClosed, unused) = state.withLock { state -> (Bool, Shared?) in
            if state.isClosed { return (true, nil) }
            opened.holders = 1
            state.open.append(opened)
            let before = state.current
            if before == nil || before!.sequence <= opened.sequence { state.current = opened }
            return (false, Self.removeIfUnused(before, &state))
        }
        unused?.storage.close()
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

    /// Notes that everything up to this sequence is committed and may be seen.
    func publish(_ horizon: CommitSequence) {
        let unused = state.withLock { state -> Shared? in
            state.horizon = max(state.horizon, horizon)
            guard let current = state.current, current.sequence < state.horizon, current.holders == 0 else {
                return nil
            }
            state.current = nil
            return Self.removeIfUnused(current, &state)
        }
        unused?.storage.close()
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
        if state.current === shared && shared.sequence >= state.horizon { return nil }
        if state.current === shared { state.current = nil }
        guard let index = state.open.firstIndex(where: { $0 === shared }) else { return nil }
        state.open.remove(at: index)
        return shared
    }
}
