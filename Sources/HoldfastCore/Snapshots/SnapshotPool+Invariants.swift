internal import HoldfastEnvironment
internal import HoldfastStorage

extension SnapshotPool {
    /// What is wrong with the pool, or nil:
    ///
    /// 1. The open ones are ordered by the state that they show; each stands there once, and none was taken back.
    /// 2. Each has a holder, or serves those who begin to read now. Who serves them is open.
    /// 3. No more holders have a name than there are.
    /// 4. What is pinned shows the state that it is pinned for.
    /// 5. While any is open, somebody is going to look after it. A closed pool has none.
    package func violatedInvariant() -> String? {
        state.withLock { state in
            for (before, next) in zip(state.open, state.open.dropFirst()) where before.sequence > next.sequence {
                return "snapshots 1: \(before.sequence) stands before \(next.sequence)"
            }
            if Set(state.open.map(ObjectIdentifier.init)).count != state.open.count {
                return "snapshots 1: one is open twice"
            }
            for shared in state.open {
                if shared.isRevoked { return "snapshots 1: \(shared.sequence) was taken back and is open" }
                if shared.holders < 1 && state.current !== shared {
                    return "snapshots 2: \(shared.sequence) is open for \(shared.holders) holders"
                }
                if shared.holders < shared.owners.count {
                    return
                        "snapshots 3: \(shared.owners.count) of \(shared.holders) holders of \(shared.sequence) have names"
                }
                if let pinned = shared.storage?.sequence, pinned != shared.sequence {
                    return "snapshots 4: \(pinned) is pinned for \(shared.sequence)"
                }
            }
            if let current = state.current, !state.open.contains(where: { $0 === current }) {
                return "snapshots 2: \(current.sequence) serves, and is not open"
            }
            if state.opening < 0 { return "snapshots 5: \(state.opening) are being opened" }
            if state.open.isEmpty || state.isSweepScheduled && !state.isClosed { return nil }
            return "snapshots 5: \(state.open.count) are open, and nobody looks after them"
        }
    }

    /// How many hold one.
    package var holderCount: Int { state.withLock { state in state.open.reduce(0) { $0 + $1.holders } } }
}
