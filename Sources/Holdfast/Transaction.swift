internal import HoldfastCore
internal import HoldfastEnvironment

/// A transaction whose steps are calls, for hosts that a closure does not fit: one that a user goes through in several
/// windows, or a protocol's client in several messages.
///
///     let transaction = try store.begin()
///     let account = try await transaction.joined { try await accounts.fetch(id: "a") }
///     …
///     try await transaction.joined { try await accounts.save(changed) }
///     let receipt = try await transaction.commit()
///
/// ``Store/transaction(_:_:)`` is made of the same steps, and does two things besides: it ends its transaction whatever
/// happens, and it runs again after a conflict. Here `.conflict` comes from `commit`: begin anew and go through it again.
///
/// Nothing is stored before `commit`. A transaction that nobody refers to any more, and is not ended, is rolled back. Once
/// it has ended, its calls throw `.invalidState`; once its store was closed, `.closed`.
///
/// Any task, and several at once, may use it; their calls take turns. Only object trees bind it: they are told where the
/// first of them was enlisted, in one actor or one task, and there the transaction is to be ended. (Trees of an actor are
/// told there also of a transaction that is let go of elsewhere. Those of a task are not: they stay in it, and are `.busy`.)
///
/// For threads without tasks there is ``blocking``.
public final class Transaction: Sendable {
    /// Where a transaction stands.
    public enum State: Sendable, Hashable, CaseIterable {
        /// It may be read and written in, and be ended.
        case open
        /// Its commit is under way.
        case committing
        /// Everything is stored.
        case committed
        /// Nothing is: it was rolled back, or its store was closed before.
        case rolledBack
        /// Its commit was refused, withdrawn, or failed; the error of `commit` tells whether something may be stored.
        case failed
    }

    /// The store that it belongs to.
    public let store: Store
    let core: HoldfastCore.Transaction
    let trees: TransactionTrees
    private let timeout: Duration

    /// `place`: where it is going to end; nil: where its first tree comes from.
    init(_ store: Store, _ options: HoldfastCore.TransactionOptions, place: TransactionTrees.Place? = nil) throws {
        self.store = store
        core = try translatingErrors { () throws(CoreError) in try store.core.begin(options) }
        trees = TransactionTrees(core, place: place)
        timeout = .milliseconds(options.timeoutMilliseconds)
    }

    /// Where it stands. Waits for a step that is just being made.
    public var state: State {
        get async { State(await store.waiting(for: { [core] in core.phase })) }
    }

    // MARK: Its part

    /// Runs `body` as a part of the transaction: calls on its store's repositories join it, those of child tasks too, and
    /// so do ``Store/transaction(_:_:)`` and ``Store/savepoint(_:)``. Reads see one snapshot, the same in all parts, and the
    /// transaction's own writes. The transaction stays open at the end, also when `body` throws: what it wrote before stays
    /// written, unless it did so in a savepoint.
    /// - Returns: What `body` returned.
    @discardableResult
    public nonisolated(nonsending) func joined<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value { try await join(body) }

    /// With the caller's isolation as a parameter, because only a closure that captures it is run there.
    private func join<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await TransactionScope.$current.withValue(TransactionScope(core, trees: trees)) {
            _ = isolation
            return try await body()
        }
    }

    /// Takes object trees into the transaction and begins their members; one that is in it already stays. From now on it
    /// is validated, committed and rolled back in this isolation, which without an actor is this task.
    ///
    /// Throws `.transactionActive` for a tree that is in another transaction, `.busy` while this one
    /// is being committed, and `.invalidState` in another isolation than that of the trees before.
    public nonisolated(nonsending) func enlist(_ trees: any Transactable...) async throws { try await enlist(trees) }

    nonisolated(nonsending) func enlist(_ trees: [any Transactable]) async throws {
        try await self.trees.enlist(trees, of: store)
    }

    /// Marks a place to which the transaction can be rolled back, and answers its number. Throws `.unsupported` where a member
    /// of its object trees is no ``SavepointTransactable``.
    public nonisolated(nonsending) func savepoint() async throws -> UInt64 { try await trees.savepoint(of: store) }

    /// Discards what was written after the savepoint, and the savepoints after it; members of object trees go back to it.
    /// What was read stays read. The savepoint stays, and can be rolled back to again.
    ///
    /// Throws `.invalidArgument` when there is no such savepoint.
    public nonisolated(nonsending) func rollback(to savepoint: UInt64) async throws {
        try await trees.rollBack(to: savepoint, of: store)
    }

    // MARK: Its end

    /// Asks whoever is to be asked before a commit, as that does again: members of object trees, and validators of
    /// repositories. What one refuses with is thrown unchanged. The transaction stays open.
    public nonisolated(nonsending) func validate() async throws {
        if try await seal(isCommitted: false) { core.unseal() }
    }

    /// Stores everything, or nothing.
    ///
    /// What a member of an object tree or a validator refuses with is thrown unchanged, and the transaction stays open, to be
    /// repaired and committed again; so it does after `.busy` (no slot under the store's `maxInFlight`) and `.readOnly`.
    /// After any other error it has failed: `.conflict` (something that it read was changed since), `.keyReused`, `.timeout`
    /// (withdrawn, nothing was stored), `.uniqueViolation`, `.full`, `.io`, whose `commitState` tells whether something may
    /// have been stored.
    ///
    /// A task that is cancelled before its commit is queued gets `CancellationError`, and the transaction stays open; while it
    /// is queued, it is withdrawn: `CancellationError`, and the transaction has failed. Once it is being stored, its true
    /// outcome is told.
    @discardableResult
    public nonisolated(nonsending) func commit() async throws -> Receipt {
        let receipt = try await commit(until: .now + timeout)
        return Receipt(receipt, attempts: receipt.attempts)
    }

    nonisolated(nonsending) func commit(until deadline: ContinuousClock.Instant) async throws -> HoldfastCore.Receipt {
        // Afterwards, if it has ended.
        defer { trees.release(at: TransactionTrees.Place(#isolation)) }
        _ = try await seal(isCommitted: true)
        let pending = CommitFuture()
        do {
            try Task.checkCancellation()
            let milliseconds = UInt64(clamping: ContinuousClock.now.duration(to: deadline).milliseconds)
            try await store.withSlot(until: store.core.deadline(inMilliseconds: milliseconds)) {
                // Submitting lets go of the snapshot, which may wait for a read in progress.
                try await store.waiting { [core] () throws(CoreError) in try core.submitInSlot(pending) }
            }
        } catch {
            try? await store.waiting { [core] () throws(CoreError) in core.unseal() }
            throw error
        }
        return try await pending.receipt { [core] in try? core.cancel() }
    }

    /// Discards the transaction. Rolling back one that was rolled back does nothing. Throws `.invalidState` when it is being
    /// committed, or was, or has failed. A cancelled task rolls back like any other.
    public nonisolated(nonsending) func rollback() async throws {
        try trees.require(TransactionTrees.Place(#isolation))
        defer { trees.release(at: TransactionTrees.Place(#isolation)) }
        try await store.waiting { [core] () throws(CoreError) in try core.rollback() }
    }

    /// Asks validators, if there are any to be asked. Then nobody can write or read any more. Waits for nobody on this thread.
    /// One at a time, so that nobody commits what another has just had validated.
    private nonisolated(nonsending) func seal(isCommitted: Bool) async throws -> Bool {
        let claimed = try translatingErrors { () throws(CoreError) in
            try core.claim(isCommitted: isCommitted, mayWait: false)
        }
        let isClaimed =
            if let claimed {
                claimed
            } else {
                try await store.waiting { [core] () throws(CoreError) in try core.claim(isCommitted: isCommitted) }
                    ?? false
            }
        if isClaimed { try sealClaimed(at: TransactionTrees.Place(#isolation)) }
        return isClaimed
    }

    /// Asks them here, where alone members of object trees may be called.
    func sealClaimed(at here: TransactionTrees.Place) throws {
        do {
            try trees.require(here)
        } catch {
            core.unseal()
            throw error
        }
        try Store.$isValidating.withValue(true) {
            try translatingErrors { () throws(CoreError) in try core.seal() }
        }
    }
}

extension Transaction.State {
    init(_ core: HoldfastCore.TransactionState.Phase) {
        self =
            switch core {
            case .open: .open
            case .committing: .committing
            case .committed: .committed
            case .rolledBack: .rolledBack
            case .failed: .failed
            }
    }
}

extension Store {
    /// Begins a transaction whose steps are calls. Where a closure does, use ``transaction(_:_:)``, which ends its
    /// transaction by itself and runs again after a conflict.
    ///
    /// It is one of its own, also inside another transaction of this store. Reads nothing and waits for nothing: its snapshot
    /// is that of its first read. Throws `.closed` and `.invalidOption`.
    ///
    /// - Parameters:
    ///   - idempotencyKey: 1 to 255 bytes: a commit with a key that was used before stores nothing, and answers the first
    ///     one's receipt with `isReplayed`; with other writes it is `.keyReused`.
    ///   - options: `timeout` is how long its commit may wait; `maxAttempts` is no option here.
    public func begin(
        idempotencyKey: String? = nil, _ options: TransactionOptions = .init()
    ) throws -> Transaction {
        try Transaction(self, options.checked(idempotencyKey: idempotencyKey, allowsAttempts: false))
    }
}
