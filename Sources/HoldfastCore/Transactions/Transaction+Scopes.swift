public import HoldfastEnvironment

/// Parts of a transaction that are all or nothing by themselves: a transaction that joins it, an operation. When one
/// fails, and whoever began it goes on, what it wrote goes back; what was read stays read. The members of object trees go
/// back with it. Where one of them cannot, nothing can be stored any more without being half of something: the
/// transaction can only be rolled back, and its commit says so.
extension Transaction {
    /// What object trees know of a part: there were none when it began; its savepoint; nothing.
    enum TreesOfScope { case none, notified, skipped }

    /// Why it can no longer be stored.
    struct Doom {
        let error: HoldfastError
        /// Else a savepoint before it leads back.
        let isFinal: Bool

        /// To a read "not found" is an answer, which must not be taken for one here.
        var errorOfReads: HoldfastError {
            guard error.status == .notFound else { return error }
            return HoldfastError(
                .invalidState,
                "a write of the transaction has failed, and by \"on_error\": \"abort\" ends it: roll it back",
                cause: error)
        }
    }

    /// The `outer` of a scope that lies in no other.
    public static let noScope = UInt64.max

    /// Begins a part, and answers its number. `outer`: the scope in which it lies; nil: the newest one.
    public func beginScope(in outer: UInt64? = nil) throws(HoldfastError) -> UInt64 {
        let (scope, trees) = try markScope(in: outer)
        try callMembers(of: trees, atScope: scope)
        return scope
    }

    /// Has the members of the trees make their savepoint for a part that was marked. Where they cannot, it was never begun.
    public func callMembers(of trees: TreeTransaction?, atScope scope: UInt64) throws(HoldfastError) {
        do throws(HoldfastError) { try trees?.savepoint(scope) } catch {
            _ = unmarkScope(scope, succeeded: true)
            throw error
        }
    }

    /// Ends a part, which stays a part of the transaction, or goes back. Throws what dooms a part that would stay, which
    /// goes back then, too. One that has ended, and one of an ended transaction, is left alone.
    public func endScope(_ scope: UInt64, succeeded: Bool) throws(HoldfastError) {
        try store.requireSameProcess()
        try store.requireOutsideProvider()
        let wasBegun = state.withLock { !$0.current.isOpen || scope <= $0.buffer.savepointsMade }
        guard wasBegun else {
            throw HoldfastError(.invalidArgument, "the transaction has begun no scope \(scope)")
        }
        let (trees, failure) = unmarkScope(scope, succeeded: succeeded)
        try trees?.rollBack(to: scope)
        if let failure { throw failure }
    }

    /// `beginScope`, but for the members of the trees, whom the caller calls, if it `mayCall` them.
    public func markScope(
        in outer: UInt64? = nil, mayCall: Bool = true
    ) throws(HoldfastError) -> (scope: UInt64, trees: TreeTransaction?) {
        let trees = try withOpen { $0.trees }.flatMap { $0.isEmpty ? nil : $0 }
        let isNotified = mayCall && trees?.hasSavepoints == true
        let scope = try withOpen { state in
            let number = state.buffer.savepoint(isScope: true)
            if !Self.share(&state, with: outer) { state.unshared.append(number, ()) }
            state.scopes.append(number, trees == nil ? .none : isNotified ? .notified : .skipped)
            return number
        }
        return (scope, isNotified ? trees : nil)
    }

    /// The same for `endScope`: answers whose members the caller has to roll back, and what dooms the part.
    public func unmarkScope(
        _ number: UInt64, succeeded: Bool, mayCall: Bool = true
    ) -> (trees: TreeTransaction?, failure: HoldfastError?) {
        // A forked child, and a store that is closing, have nothing to go on with.
        if store.isForeign || (try? store.requireOpen()) == nil { return (nil, nil) }
        return state.withLock { state in
            guard let known = state.scopes.remove(number) else { return (nil, nil) }
            let isShared = state.unshared.remove(number) == nil
            guard state.current.isOpen else { return (nil, nil) }
            defer { state.buffer.release(number) }
            let failure = succeeded ? state.doom?.error : nil
            if succeeded && failure == nil { return (nil, nil) }
            let hasInner = state.scopes.lastNumber ?? 0 > number
            // Not under the feet of validators.
            if isShared || hasInner || !state.permits(.use) {
                state.doom = Doom(error: hasInner && !isShared ? Self.around : Self.shared, isFinal: true)
                return (nil, failure)
            }
            _ = state.buffer.rollBack(to: number)
            if state.doom?.isFinal == false { state.doom = nil }
            guard let trees = state.trees, !trees.isEmpty else { return (nil, failure) }
            if known != .skipped && mayCall && trees.hasSavepoints { return (trees, failure) }
            if state.doom == nil { state.doom = Doom(error: Self.halfChanged, isFinal: true) }
            return (nil, failure)
        }
    }

    /// Before something is written in this scope: it is no part of those that began in others since.
    public func note(writingIn scope: UInt64) {
        if store.isInsideProvider || store.isForeign { return }
        state.withLock { _ = Self.share(&$0, with: scope) }
    }

    /// Answers whether there are such.
    private static func share(_ state: inout State, with outer: UInt64?) -> Bool {
        guard let outer, let last = state.scopes.lastNumber else { return false }
        let number = state.scopes[outer] == nil ? 0 : outer
        state.unshared.removeAll(after: number)
        return last > number
    }

    static let halfChanged = HoldfastError(
        .unsupported,
        "a part of the transaction has gone back, and a member of its object trees could not, because it takes no part in "
            + "savepoints: roll all back, or give each member the functions for savepoints")

    /// Whoever is in it would go on without what it has done so far.
    private static let around = HoldfastError(
        .invalidState,
        "a part of the transaction has failed while a part inside it was under way, which has not gone back: roll all back, "
            + "and end the inner parts first")

    private static let shared = HoldfastError(
        .invalidState,
        "a part of the transaction has failed while others wrote in it beside, so that it cannot go back alone: roll all "
            + "back, or let them take turns")

    // MARK: Failed writes

    /// Whether a write that fails dooms it.
    public var abortsOnError: Bool { options.abortsOnError }

    /// Whether it can only be rolled back.
    var isDoomed: Bool { !store.isInsideProvider && state.withLock { $0.doom != nil } }

    /// A write in it has failed, for whatever reason.
    public func noteFailedWrite(_ error: HoldfastError) {
        guard options.abortsOnError, error.status != .forked, !store.isForeign, !store.isInsideProvider else { return }
        state.withLock { state in
            guard state.current.isOpen, state.doom == nil else { return }
            state.doom = Doom(error: error, isFinal: false)
        }
    }

    /// What is doomed ends with the commit that is refused.
    func endIfDoomed(isManager: Bool) throws(HoldfastError) {
        let end = try state.withLock {
            state throws(HoldfastError) -> (error: HoldfastError, trees: TreeTransaction?)? in
            guard let doom = state.doom, let end = try state.next(on: .giveUp) else { return nil }
            if isManaged && !isManager { return nil }
            try Self.requireQuiet(state.trees)
            state.stage = end
            discard(&state)
            return (doom.error, state.trees)
        }
        guard let end else { return }
        note(end.error)
        end.trees?.end(with: .failure(end.error))
        throw end.error
    }
}
