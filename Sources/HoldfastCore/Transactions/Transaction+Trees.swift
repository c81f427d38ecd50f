internal import CHoldfastPlatform
public import HoldfastEnvironment

/// Object trees that end with a store's transaction: how they join, and how they and the validators of repositories are
/// asked before the commit.
extension Transaction {
    // MARK: Joining

    /// Takes the participant's whole tree into the transaction, and begins its members.
    public func enlist(_ participant: Participant) throws(HoldfastError) { try trees().enlist(participant) }

    /// What trees are enlisted in. Where their members may be called on their own side only, its end is held: validation is
    /// `seal`'s, and `release` tells them of the end.
    public func trees(holdingEnd isHeld: Bool = false) throws(HoldfastError) -> TreeTransaction {
        try store.requireOpen()
        return try state.withLock { state throws(HoldfastError) in
            if state.current.isOpen, let doom = state.doom { throw doom.error }
            try state.check(.enlist)
            let trees = state.trees ?? TreeTransaction(of: self)
            if isHeld { trees.holdEnd() }
            state.trees = trees
            return trees
        }
    }

    /// The descriptor of its object trees, once there are any.
    public var treeDescriptor: TransactionDescriptor? { state.withLock { $0.trees }?.descriptor }

    // MARK: Held ends

    /// Begins to end it, if `isCommitted`, or to validate it: nobody else does until `unseal` or the commit. Answers whether
    /// validators are to be asked before; where they are, everybody else is kept out altogether. Nil, without waiting,
    /// where somebody is just reading, if it `mayWait` no longer than others write.
    public func claim(isCommitted: Bool, mayWait: Bool = true) throws(HoldfastError) -> Bool? {
        func claim(_ state: inout State) throws(HoldfastError) -> Bool {
            // One that is doomed asks nobody: its commit only tells why.
            let asks = state.doom == nil && wantsValidation(state)
            let next = try state.next(on: asks ? .claim : .claimInVain)
            try Self.requireQuiet(state.trees)
            if let next, asks || isCommitted { state.stage = next }
            return asks
        }
        try store.requireOpen()
        return mayWait ? try state.withLock(claim) : try state.withLockIfFree(claim)
    }

    /// Validates on this thread what was claimed, for the commit that comes from another.
    public func seal() throws(HoldfastError) {
        do throws(HoldfastError) {
            try askValidators(.seal)
        } catch {
            // Members may just be called elsewhere, and then nobody was asked.
            unseal()
            throw error
        }
        state.withLock { $0.note(.keep) }
    }

    /// Takes `claim` or `seal` back, where no commit came.
    public func unseal() {
        if store.isForeign { return }
        let trees = state.withLock { state -> TreeTransaction? in
            guard state.stage.follow(.letGo) else { return nil }
            state.takeBackValidation()
            return state.trees
        }
        trees?.unseal()
    }

    /// Whether `seal` has validated it for a commit that is to come.
    var isReady: Bool { state.withLock { $0.stage == .ready } }

    // MARK: Savepoints

    public func savepoint() throws(HoldfastError) -> UInt64 {
        let (number, trees) = try markSavepoint()
        try callMembers(of: trees, atSavepoint: number)
        return number
    }

    /// Has the members of the trees make theirs for a savepoint that was marked. Where they cannot, there is none.
    public func callMembers(of trees: TreeTransaction?, atSavepoint number: UInt64) throws(HoldfastError) {
        do throws(HoldfastError) { try trees?.savepoint(number) } catch {
            try? release(number)
            throw error
        }
    }

    public func rollBack(to savepoint: UInt64) throws(HoldfastError) {
        try rollBackWrites(to: savepoint)?.rollBack(to: savepoint)
    }

    /// `savepoint`, but for the members of the trees, whom the caller calls where they may be called.
    public func markSavepoint() throws(HoldfastError) -> (number: UInt64, trees: TreeTransaction?) {
        let trees = try withOpen { state throws(HoldfastError) in
            try state.check(.change)
            try Self.requireQuiet(state.trees)
            return state.trees
        }
        try trees?.requireSavepoints()
        return (try withOpen { $0.buffer.savepoint() }, trees)
    }

    /// The same for `rollBack(to:)`. A transaction that a failed write has doomed goes on from there.
    public func rollBackWrites(to savepoint: UInt64) throws(HoldfastError) -> TreeTransaction? {
        try store.requireOpen()
        return try state.withLock { state throws(HoldfastError) in
            try state.check(.change)
            try Self.requireQuiet(state.trees)
            if let doom = state.doom, doom.isFinal { throw doom.error }
            guard state.buffer.rollBackOwn(to: savepoint) else { throw Self.noSavepoint(savepoint) }
            state.doom = nil
            if let trees = state.trees, !trees.isEmpty, !trees.hasSavepoints {
                // One that came after the savepoint was made.
                state.doom = Doom(error: Self.halfChanged, isFinal: true)
                throw Self.halfChanged
            }
            return state.trees
        }
    }

    /// Forgets the savepoint and those after it; what was written stays.
    public func release(_ savepoint: UInt64) throws(HoldfastError) {
        try withOpen { state throws(HoldfastError) in
            guard state.buffer.releaseOwn(savepoint) else { throw Self.noSavepoint(savepoint) }
        }
    }

    private static func noSavepoint(_ number: UInt64) -> HoldfastError {
        HoldfastError(
            .invalidArgument,
            "the transaction has no savepoint \(number): it was never made, or rolled back over, or is a scope, which is ended"
        )
    }

    // MARK: Validating

    /// Asks all validators. The transaction stays open, whatever they say.
    public func validate() throws(HoldfastError) {
        let isWanted = try withOpen { state throws(HoldfastError) in
            try state.check(.change)
            try Self.requireQuiet(state.trees)
            return wantsValidation(state)
        }
        guard isWanted else { return }
        try askValidators(.validate)
        unseal(after: nil)
    }

    @inline(__always)
    func wantsValidation(_ state: State) -> Bool {
        state.trees != nil || store.validators.concern(state.buffer)
    }

    /// Asks all validators, who alone may write meanwhile. Then nothing can be changed any more. `call`: whether it was
    /// claimed before.
    func askValidators(_ call: TransactionCall) throws(HoldfastError) {
        let trees = try state.withLock { state throws(HoldfastError) in
            let next = try state.next(on: call)
            try Self.requireQuiet(state.trees)
            let trees = state.trees ?? TreeTransaction(of: self)
            state.trees = trees
            if let next { state.stage = next }
            state.validator = hfplatform_thread_current()
            state.view.beginValidation()
            state.buffer.keepsEveryWrite = true
            state.validationStart = state.buffer.savepoint()
            return trees
        }
        do throws(HoldfastError) {
            var written: Int?
            try trees.validate(in: self) { () throws(HoldfastError) in
                guard let next = try validateEntities(writtenAfter: written) else { return false }
                written = next
                return true
            }
            // A validator that accepts does not undo a write of its own that has failed.
            if let doom = state.withLock({ $0.doom }) { throw doom.error }
        } catch {
            try store.requireSameProcess()
            state.withLock { state in
                state.takeBackValidation()
                if state.doom?.isFinal == false { state.doom = nil }
                state.buffer.keepsEveryWrite = false
                state.note(.refused)
            }
            throw error
        }
        state.withLock { state in
            state.buffer.keepsEveryWrite = false
            state.note(.accepted)
        }
    }

    /// Opens it again after a validation that led to no commit; or ends it, where another attempt is in vain.
    func unseal(after error: HoldfastError?) {
        let trees = state.withLock { state in
            state.takeBackValidation()
            state.note(.reopen)
            return state.trees
        }
        trees?.unseal()
        if let error, error.status == .closed || error.status == .conflict { giveUpTrees(error) }
    }

    /// Ends a transaction that can no longer be committed, so that its trees need not wait for somebody to roll it back.
    func giveUpTrees(_ reason: HoldfastError) {
        let trees = state.withLock { state -> TreeTransaction? in
            guard let trees = state.trees, state.stage.follow(.giveUp) else { return nil }
            discard(&state)
            return trees
        }
        trees?.end(with: .failure(reason))
    }

    /// Refuses while members are called, before anything is changed.
    static func requireQuiet(_ trees: TreeTransaction?) throws(HoldfastError) {
        if let trees {
            try TreeLock.withLock { () throws(HoldfastError) in try trees.requireQuiet() }
        }
    }
}
