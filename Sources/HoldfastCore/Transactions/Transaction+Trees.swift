internal import CHoldfastPlatform

/// Object trees that end with a store's transaction: how they join, and how they and the validators of repositories are
/// asked before the commit.
extension Transaction {
    // MARK: Joining

    /// Takes the participant's whole tree into the transaction, and begins its members. Where they may be called on this
    /// side only, the first has the end held: validation is `seal`'s, and `releaseTrees` tells them of the end.
    public func enlist(_ participant: Participant, holdingEnd isHeld: Bool = false) throws(HoldfastError) {
        try store.requireOpen()
        let trees = try state.withLock { state throws(HoldfastError) in
            if state.phase == .committing || state.sealing == .done || state.sealing == .ready {
                throw TreeTransaction.sealed
            }
            try Self.requireOpen(state)
            if state.sealing != .none { try Self.requireValidator(state) }
            let trees = state.trees ?? TreeTransaction(isEnlisted: true, isHeld: isHeld)
            state.trees = trees
            return trees
        }
        try trees.enlist(participant)
    }

    /// The descriptor of its object trees, once there are any.
    public var treeDescriptor: TransactionDescriptor? { state.withLock { $0.trees }?.descriptor }

    // MARK: Held ends

    /// Validates on this thread, where there are trees, for the commit that comes from another.
    public func seal() throws(HoldfastError) {
        let isWanted = try withOpen { state throws(HoldfastError) in
            try Self.requireUnsealed(state)
            return wantsValidation(state)
        }
        guard isWanted else { return }
        try validate(isManager: false)
        state.withLock { $0.sealing = .ready }
    }

    /// Takes `seal` back, where no commit came.
    public func unseal() {
        if takeSeal() { unseal(after: nil) }
    }

    func takeSeal() -> Bool {
        state.withLock { state in
            guard state.sealing == .ready else { return false }
            state.sealing = .done
            return true
        }
    }

    /// Once it has ended: tells the members.
    public func releaseTrees() throws(HoldfastError) { try state.withLock { $0.trees }?.release() }

    // MARK: Savepoints

    public func savepoint() throws(HoldfastError) -> UInt64 {
        let trees = try withOpen { state throws(HoldfastError) in
            try Self.requireUnsealed(state)
            return state.trees
        }
        try trees?.requireSavepoints()
        let number = try withOpen { $0.buffer.savepoint() }
        try trees?.savepoint(number)
        return number
    }

    public func rollBack(to savepoint: UInt64) throws(HoldfastError) {
        let (exists, trees) = try withOpen { state throws(HoldfastError) in
            try Self.requireUnsealed(state)
            return (state.buffer.rollBack(to: savepoint), state.trees)
        }
        if !exists {
            throw HoldfastError(
                .invalidArgument,
                "the transaction has no savepoint \(savepoint): it was never made, or rolled back over")
        }
        try trees?.rollBack(to: savepoint)
    }

    // MARK: Validating

    /// Asks all validators. The transaction stays open, whatever they say.
    public func validate() throws(HoldfastError) {
        let isWanted = try withOpen { state throws(HoldfastError) in
            try Self.requireUnsealed(state)
            return wantsValidation(state)
        }
        guard isWanted else { return }
        try validate(isManager: true)
        unseal(after: nil)
    }

    func wantsValidation(_ state: State) -> Bool {
        state.trees != nil || store.catalogue.validators.concern(state.buffer)
    }

    /// Asks all validators, who alone may write meanwhile. Then nothing can be changed any more.
    func validate(isManager: Bool) throws(HoldfastError) {
        let (trees, start) = try state.withLock { state throws(HoldfastError) in
            if state.isManaged && !isManager { throw Self.managed }
            try Self.requireOpen(state)
            try Self.requireUnsealed(state)
            let trees = state.trees ?? TreeTransaction(isEnlisted: true)
            state.trees = trees
            state.sealing = .validating(thread: hfp_thread_current())
            state.view.beginValidation()
            return (trees, state.buffer.savepoint())
        }
        do throws(HoldfastError) {
            var written: Int?
            try trees.validate(in: self) { () throws(HoldfastError) in
                guard let next = try validateEntities(writtenAfter: written) else { return false }
                written = next
                return true
            }
        } catch {
            try store.requireSameProcess()
            state.withLock { state in
                // What validators wrote they write again when they are asked again.
                _ = state.buffer.rollBack(to: start)
                state.buffer.release(start)
                state.sealing = .none
            }
            throw error
        }
        state.withLock { state in
            state.buffer.release(start)
            state.sealing = .done
        }
    }

    /// Opens it again after a validation that led to no commit; or ends it, where another attempt is in vain.
    func unseal(after error: HoldfastError?) {
        let trees = state.withLock { state in
            state.sealing = .none
            return state.trees
        }
        trees?.unseal()
        if let error, error.status == .closed || error.status == .conflict { giveUpTrees(error) }
    }

    /// Ends a transaction that can no longer be committed, so that its trees need not wait for somebody to roll it back.
    func giveUpTrees(_ reason: HoldfastError) {
        let trees = state.withLock { state -> TreeTransaction? in
            guard let trees = state.trees, state.phase == .open, state.sealing == .none else { return nil }
            state.phase = .failed
            discard(&state)
            return trees
        }
        trees?.end(with: .failure(reason))
    }

    /// While validators are asked: whether this is one of them.
    static func requireValidator(_ state: State) throws(HoldfastError) {
        guard state.sealing == .validating(thread: hfp_thread_current()) else {
            throw HoldfastError(
                .reentrant, "the transaction is just being validated: only validators may write and read in it")
        }
    }

    /// Refuses while members are called, before anything is changed.
    static func requireUnsealed(_ state: State) throws(HoldfastError) {
        if state.sealing != .none {
            throw HoldfastError(
                .reentrant,
                "validators are just being asked about the transaction: end it, and use savepoints, outside of that")
        }
        if let trees = state.trees {
            try TreeLock.withLock { () throws(HoldfastError) in try trees.requireQuiet() }
        }
    }
}
