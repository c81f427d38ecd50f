internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment

/// The object trees of one transaction, and the one place where their members are called.
///
/// When nobody can end the transaction any more, it is rolled back, and they are told there.
final class TransactionTrees: Sendable {
    /// Where a call is made.
    enum Place: Sendable {
        case actor(any Actor)
        // These name what runs now, as long as it lives.
        case task(Int?)
        case thread(ObjectIdentifier)

        /// Of an asynchronous call.
        init(_ isolation: (any Actor)?) {
            self = if let isolation { .actor(isolation) } else { .task(withUnsafeCurrentTask { $0?.hashValue }) }
        }

        /// Of a blocking call.
        static var thread: Place { .thread(ObjectIdentifier(Thread.current)) }

        func isSame(as other: Place) -> Bool {
            switch (self, other) {
            case (.actor(let one), .actor(let other)): one === other
            case (.task(let one), .task(let other)): one == other
            case (.thread(let one), .thread(let other)): one == other
            default: false
            }
        }
    }

    private struct State {
        var place: Place?
        /// Those that are enlisted or just coming; until they were told of the end.
        var count = 0
        /// What they are enlisted in.
        var enlisted: TreeTransaction?
    }

    private let core: HoldfastCore.Transaction
    private let state: Lock<State>
    /// Whether a thread elsewhere may carry out the end, so that they are told afterwards.
    private let holdsEnd: Bool

    /// Their place is where the transaction is going to end; nil: where the first of them is enlisted.
    init(_ core: HoldfastCore.Transaction, place: Place?, holdsEnd: Bool = true) {
        self.core = core
        state = Lock(State(place: place))
        self.holdsEnd = holdsEnd
    }

    deinit {
        let state = state.withLock { $0 }
        guard holdsEnd, let enlisted = state.enlisted, let place = state.place else { return }
        switch place {
        case .actor(let actor): Task { [core] in await Self.giveUp(core, enlisted, in: actor) }
        case .task: if place.isSame(as: Place(nil)) { Self.giveUp(core, enlisted) }
        case .thread: if place.isSame(as: .thread) { Self.giveUp(core, enlisted) }
        }
    }

    private static func giveUp(
        _ core: HoldfastCore.Transaction, _ trees: TreeTransaction, in actor: isolated any Actor
    ) { giveUp(core, trees) }

    private static func giveUp(_ core: HoldfastCore.Transaction, _ trees: TreeTransaction) {
        core.abandon()
        // Fails only in a forked child, which has no trees.
        _ = try? trees.release()
    }

    // MARK: In their place

    /// Refuses a call that would have them called elsewhere. Answers whether there are any.
    @discardableResult
    func require(_ here: Place) throws -> Bool {
        try state.withLock { state in
            guard state.count > 0, let place = state.place else { return false }
            guard place.isSame(as: here) else { throw Self.elsewhere }
            return true
        }
    }

    /// Takes trees into the transaction, and begins their members.
    func enlist(
        _ trees: [any Transactable], of store: Store, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        if trees.isEmpty { return }
        try expect(trees.count, at: Place(isolation))
        do {
            let core = core
            try enlist(trees, in: await store.waiting { () throws(CoreError) in try core.trees(holdingEnd: true) })
        } catch {
            forget(trees.count)
            throw error
        }
    }

    /// The same by a blocking call.
    func enlistNow(_ trees: [any Transactable]) throws {
        if trees.isEmpty { return }
        try expect(trees.count, at: .thread)
        do {
            try enlist(trees, in: translatingErrors { () throws(CoreError) in try core.trees(holdingEnd: holdsEnd) })
        } catch {
            forget(trees.count)
            throw error
        }
    }

    /// From here on nobody elsewhere ends the transaction.
    private func expect(_ count: Int, at here: Place) throws {
        try state.withLock { state in
            if let place = state.place, !place.isSame(as: here) { throw Self.elsewhere }
            state.place = here
            state.count += count
        }
    }

    private func forget(_ count: Int) {
        // Some of several may have come.
        state.withLock { state in if state.enlisted == nil { state.count -= count } }
    }

    private func enlist(_ trees: [any Transactable], in transaction: TreeTransaction) throws {
        state.withLock { $0.enlisted = transaction }
        // What members read and write when they are begun joins.
        try TransactionScope.$current.withValue(TransactionScope(core, trees: self)) {
            for tree in trees {
                try translatingErrors { () throws(CoreError) in
                    try transaction.enlist(tree.transactionContext.participant)
                }
            }
        }
    }

    /// Tells them of the end, if it has come, and this is their place: else it is left to whoever is there.
    func release(at here: Place) {
        let state = state.withLock { $0 }
        guard holdsEnd, let enlisted = state.enlisted, state.place?.isSame(as: here) == true else { return }
        // Fails only in a forked child, which has no trees.
        guard (try? enlisted.release()) != false else { return }
        self.state.withLock { state in
            state.enlisted = nil
            state.count = 0
        }
    }

    private static let elsewhere = HoldfastError(
        .invalidState,
        "the transaction's object trees belong to another isolation, where alone they may be told of its end: enlist them, "
            + "and end it, there")

    // MARK: Savepoints. A tree that comes meanwhile comes after them.

    func savepoint(of store: Store, isolation: isolated (any Actor)? = #isolation) async throws -> UInt64 {
        let areThere = try require(Place(isolation))
        let (number, trees) = try await store.waiting { [core] () throws(CoreError) in try core.markSavepoint() }
        if areThere {
            try translatingErrors { () throws(CoreError) in try core.callMembers(of: trees, atSavepoint: number) }
        }
        return number
    }

    func rollBack(
        to savepoint: UInt64, of store: Store, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let areThere = try require(Place(isolation))
        let trees = try await store.waiting { [core] () throws(CoreError) in try core.rollBackWrites(to: savepoint) }
        if areThere { try translatingErrors { () throws(CoreError) in try trees?.rollBack(to: savepoint) } }
    }

    func release(_ savepoint: UInt64, of store: Store) async throws {
        try await store.waiting { [core] () throws(CoreError) in try Self.release(savepoint, of: core) }
    }

    func savepointNow() throws -> UInt64 {
        let areThere = try require(.thread)
        let (number, trees) = try translatingErrors { () throws(CoreError) in try core.markSavepoint() }
        if areThere {
            try translatingErrors { () throws(CoreError) in try core.callMembers(of: trees, atSavepoint: number) }
        }
        return number
    }

    func rollBackNow(to savepoint: UInt64) throws {
        let areThere = try require(.thread)
        let trees = try translatingErrors { () throws(CoreError) in try core.rollBackWrites(to: savepoint) }
        if areThere { try translatingErrors { () throws(CoreError) in try trees?.rollBack(to: savepoint) } }
    }

    func releaseNow(_ savepoint: UInt64) throws {
        try translatingErrors { () throws(CoreError) in try Self.release(savepoint, of: core) }
    }

    /// It is gone where the transaction was ended, or rolled back beyond it.
    private static func release(_ savepoint: UInt64, of core: HoldfastCore.Transaction) throws(CoreError) {
        do throws(CoreError) {
            try core.release(savepoint)
        } catch {
            guard [.invalidArgument, .invalidState, .closed].contains(error.status) else { throw error }
        }
    }

    // MARK: Scopes. Where the members are not to be called, what fails cannot go back alone, and all goes back.

    func beginScope(
        in outer: UInt64, of store: Store, isolation: isolated (any Actor)? = #isolation
    ) async throws -> UInt64 {
        let mayCall = isThere(Place(isolation))
        let (number, trees) = try await store.waiting { [core] () throws(CoreError) in
            try core.markScope(in: outer, mayCall: mayCall)
        }
        try translatingErrors { () throws(CoreError) in try core.callMembers(of: trees, atScope: number) }
        return number
    }

    func endScope(
        _ number: UInt64, succeeded: Bool, of store: Store, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let mayCall = isThere(Place(isolation))
        let (trees, failure) = try await store.waiting { [core] () throws(CoreError) in
            core.unmarkScope(number, succeeded: succeeded, mayCall: mayCall)
        }
        try translatingErrors { () throws(CoreError) in
            try trees?.rollBack(to: number)
            if let failure { throw failure }
        }
    }

    func beginScopeNow(in outer: UInt64) throws -> UInt64 {
        try translatingErrors { () throws(CoreError) in
            let (number, trees) = try core.markScope(in: outer, mayCall: isThere(.thread))
            try core.callMembers(of: trees, atScope: number)
            return number
        }
    }

    func endScopeNow(_ number: UInt64, succeeded: Bool) throws {
        try translatingErrors { () throws(CoreError) in
            let (trees, failure) = core.unmarkScope(number, succeeded: succeeded, mayCall: isThere(.thread))
            try trees?.rollBack(to: number)
            if let failure { throw failure }
        }
    }

    /// Whether there are any, and this is their place.
    private func isThere(_ here: Place) -> Bool { (try? require(here)) == true }
}
