internal import HoldfastEnvironment
internal import HoldfastStorage
internal import Synchronization

extension Transaction {
    /// What is wrong with the transaction, or nil; nil, too, where a call is under way.
    ///
    /// 1. It stands nowhere where only trees do. What was submitted is being committed.
    /// 2. Once it has ended it holds no snapshot and no writes, and everybody may know; before, nobody is told that it has.
    /// 3. Every write is kept exactly while validators are asked.
    /// 4. While it is open, its scopes are the write buffer's, in their order.
    /// 5. It reads what it holds, as of that snapshot.
    package func violatedInvariant() -> String? {
        state.withLockIfFree { state -> String? in
            let stage = state.stage
            if stage.isOfTreesAlone || state.submitted != nil && stage != .committing {
                return "transaction 1: it is \(stage)\(state.submitted == nil ? "" : ", and was submitted")"
            }
            let isLetGo = ended.load(ordering: .acquiring)
            if isLetGo ? stage.isOpen || state.view.isHeld || !state.buffer.isEmpty : stage.hasEnded {
                return "transaction 2: it is \(stage), and has \(isLetGo ? "" : "not ")let go of what it held"
            }
            if state.buffer.keepsEveryWrite != (stage == .validating) {
                return "transaction 3: it is \(stage) and \(state.buffer.keepsEveryWrite ? "keeps" : "drops") writes"
            }
            let marks = state.buffer.savepoints.all.filter(\.element.isScope).map(\.number)
            let scopes = state.scopes.all.map(\.number)
            if stage.isOpen && marks != scopes {
                return "transaction 4: its scopes are \(scopes), the buffer's \(marks)"
            }
            return state.buffer.violatedInvariant() ?? state.view.violatedInvariant()
                ?? state.trees?.violatedInvariant()
        } ?? nil
    }
}

extension TransactionState {
    /// Where a store's transaction never stands.
    fileprivate var isOfTreesAlone: Bool {
        switch self {
        case .calling, .heldCommit, .heldRollback, .notifyingCommit, .notifyingRollback: true
        default: false
        }
    }

    /// Where trees never stand, or stand without that being noted.
    fileprivate var isNeverOfTrees: Bool {
        switch self {
        case .ending, .calling, .claimed, .ready, .committing, .failed: true
        default: false
        }
    }
}

extension WriteBuffer {
    /// What is wrong, or nil:
    ///
    /// 1. Each key is written in one place.
    /// 2. Savepoints rise, and with them what lies behind them; none is younger than the last that was made.
    /// 3. What is to be put back is kept for savepoints alone.
    fileprivate func violatedInvariant() -> String? {
        if let first, others[first.key] != nil { return "writes 1: \(first.key) is written twice" }
        var (number, count) = (UInt64(0), 0)
        for (next, savepoint) in savepoints.all {
            if next <= number || savepoint.undoCount < count {
                return "writes 2: savepoint \(next) with \(savepoint.undoCount) writes follows \(number) with \(count)"
            }
            (number, count) = (next, savepoint.undoCount)
        }
        if number > savepointsMade || count > undo.count { return "writes 2: savepoint \(number) was never made" }
        return savepoints.isEmpty && !undo.isEmpty ? "writes 3: \(undo.count) are kept for no savepoint" : nil
    }
}

extension TransactionView {
    fileprivate var isHeld: Bool { shared != nil || reads != nil }

    fileprivate func violatedInvariant() -> String? {
        if shared?.sequence != reads?.snapshot {
            return "transaction 5: it reads at \(reads?.snapshot ?? 0), and holds \(shared?.sequence ?? 0)"
        }
        guard let reads else { return nil }
        for (key, version) in reads.keys where version > reads.snapshot && version != ReadSet.unseen {
            return "transaction 5: it saw \(key) as of \(version), behind its snapshot \(reads.snapshot)"
        }
        if let validated,
            validated.predicates > reads.predicates.count || validated.keys.contains(where: { reads.keys[$0] == nil })
        {
            return "transaction 5: validators have read what it has not"
        }
        return nil
    }
}

extension TreeTransaction {
    /// What is wrong with the trees' transaction, or nil:
    ///
    /// 1. It stands nowhere where only a store's does; an end is held for those alone that want that.
    /// 2. While members are asked or told, somebody is at it; members that are still to be asked wait no longer than that.
    /// 3. Until its end it counts its members that were not freed, and has each root once; then it has let go of them.
    /// 4. Scopes and savepoints rise, and are kept for a tree alone.
    package func violatedInvariant() -> String? {
        TreeLock.withLock {
            if stage.isNeverOfTrees || (stage == .heldCommit || stage == .heldRollback) && !isHeld {
                return "trees 1: they are \(stage)"
            }
            if callers < (stage == .validating || stage.isNotifying ? 1 : 0)
                || stage != .validating && !unvalidated.isEmpty
            {
                return "trees 2: they are \(stage), and \(callers) call members, \(unvalidated.count) of whom wait"
            }
            if roots.count != knownRoots.count {
                return "trees 3: \(roots.count) of \(knownRoots.count) roots are here"
            }
            if stage.hasEnded {
                return roots.isEmpty && freed.isEmpty ? nil : "trees 3: \(roots.count) roots stay behind the end"
            }
            var count = 0
            forEachTree { $0.forEachInOrder { if $0.host != nil && $0.joined === self { count += 1 } } }
            if members != count { return "trees 3: \(members) of \(count) members are counted" }
            for numbers in [scopes.map(\.number), savepoints] {
                if zip(numbers, numbers.dropFirst()).contains(where: { $0 >= $1 }) || numbers.last ?? 0 > savepointsMade
                    || isEnlisted && !numbers.isEmpty
                {
                    return "trees 4: of \(savepointsMade) savepoints there are \(numbers)"
                }
            }
            return nil
        }
    }
}
