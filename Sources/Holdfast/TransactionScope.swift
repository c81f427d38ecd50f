internal import HoldfastCore
internal import HoldfastEnvironment

/// The transaction that the current task is in. Calls inside join it; a task-local value carries it into child tasks.
/// Scopes of several stores may nest, and each call finds its own store's.
final class TransactionScope: Sendable {
    @TaskLocal static var current: TransactionScope?

    let transaction: HoldfastCore.Transaction
    /// None where no tree may join: in an upgrade, and while validators are asked.
    private let trees: TransactionTrees?
    /// Which part of it this is, that goes back by itself when it fails; else it is all of it.
    let number: UInt64
    private let outer: TransactionScope?

    /// Within the scope around it.
    init(
        _ transaction: HoldfastCore.Transaction, trees: TransactionTrees?,
        number: UInt64 = HoldfastCore.Transaction.noScope
    ) {
        self.transaction = transaction
        self.trees = trees
        self.number = number
        outer = Self.current
    }

    /// The transaction that a call on this store joins.
    static func transaction(of store: Store) throws -> HoldfastCore.Transaction? { try joined(by: store)?.transaction }

    /// The scope that a call on this store joins. An unstructured task that outlives it still finds it and is refused,
    /// because what was to be stored together would be stored by itself.
    static func joined(by store: Store) throws -> TransactionScope? {
        guard let scope = innermost(of: store) else { return nil }
        if scope.transaction.hasEnded && !store.core.isClosed {
            throw HoldfastError(
                .invalidState,
                "the transaction in which this task was begun has ended: await the task before that, begin it with "
                    + "Task.detached, or open a transaction for the call")
        }
        return scope
    }

    /// The scope that a transaction on this store joins: none where that has ended, so that a task which was begun in it
    /// may have transactions of its own.
    static func scope(of store: Store) -> TransactionScope? {
        innermost(of: store).flatMap { $0.transaction.hasEnded ? nil : $0 }
    }

    private static func innermost(of store: Store) -> TransactionScope? {
        first { $0.transaction.store === store.core }
    }

    /// For a tree that is to join.
    func requireTrees() throws -> TransactionTrees {
        guard let trees else {
            throw HoldfastError(.invalidState, "object trees cannot join here: take them into a transaction before")
        }
        return trees
    }

    /// What a savepoint of the innermost transaction goes through.
    static func trees(forSavepointOf store: Store) throws -> TransactionTrees {
        guard let scope = scope(of: store) else {
            throw HoldfastError(.invalidState, "a savepoint belongs to a transaction: open one around it")
        }
        return scope.trees ?? TransactionTrees(scope.transaction, place: nil)
    }

    /// That of the transaction of the object trees with this descriptor, if the task is in it.
    static func scope(of descriptor: HoldfastCore.TransactionDescriptor) -> TransactionScope? {
        first { $0.transaction.treeDescriptor == descriptor }
    }

    private static func first(_ isWanted: (TransactionScope) -> Bool) -> TransactionScope? {
        var scope = current
        while let each = scope {
            if isWanted(each) { return each }
            scope = each.outer
        }
        return nil
    }
}

/// Transactions inside a transaction: each is a part of it that goes back by itself when it fails.
extension TransactionScope {
    /// Runs `body` as a part of the transaction, which the trees join.
    nonisolated(nonsending) func part<Value>(
        of store: Store, joinedBy trees: [any Transactable] = [],
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value { try await part(store, trees, body) }

    /// With the caller's isolation as a parameter, because only a closure that captures it is run there.
    private func part<Value>(
        _ store: Store, _ joining: [any Transactable], isolation: isolated (any Actor)? = #isolation,
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        let trees = trees ?? TransactionTrees(transaction, place: nil)
        let part = try await trees.beginScope(in: number, of: store)
        let value: Value
        do {
            if !joining.isEmpty { try await requireTrees().enlist(joining, of: store) }
            value = try await Self.$current.withValue(TransactionScope(transaction, trees: self.trees, number: part)) {
                _ = isolation
                return try await body()
            }
        } catch {
            // Should this fail, the transaction has ended, and with it what was written.
            try? await trees.endScope(part, succeeded: false, of: store)
            throw error
        }
        try await trees.endScope(part, succeeded: true, of: store)
        return value
    }

    /// Runs `body` in a part that the tree has begun.
    func withPart<Value>(
        _ number: UInt64, of transaction: HoldfastCore.Transaction, _ body: () throws -> Value
    ) rethrows -> Value {
        try Self.$current.withValue(
            TransactionScope(transaction, trees: trees, number: number), operation: body)
    }

    /// The same by a blocking call.
    func partNow<Value>(
        of store: Store, joinedBy joining: [any Transactable] = [], _ body: () throws -> Value
    ) throws -> Value {
        try store.requireBlocking()
        let trees = trees ?? TransactionTrees(transaction, place: nil)
        let part = try trees.beginScopeNow(in: number)
        let value: Value
        do {
            if !joining.isEmpty { try requireTrees().enlistNow(joining) }
            value = try Self.$current.withValue(
                TransactionScope(transaction, trees: self.trees, number: part), operation: body)
        } catch {
            try? trees.endScopeNow(part, succeeded: false)
            throw error
        }
        try trees.endScopeNow(part, succeeded: true)
        return value
    }
}

// MARK: Writes in a transaction that aborts when one fails

extension Store {
    /// Runs what writes.
    nonisolated(nonsending) func writing<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            if let scope = TransactionScope.scope(of: self), scope.transaction.abortsOnError {
                let failure = CoreError(ofWrite: error)
                try? await waiting { () throws(CoreError) in scope.transaction.noteFailedWrite(failure) }
            }
            throw error
        }
    }

    /// The same by a blocking call.
    func writingNow<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            TransactionScope.scope(of: self)?.transaction.noteFailedWrite(CoreError(ofWrite: error))
            throw error
        }
    }
}

extension CoreError {
    /// What later calls answer is what the failed one has thrown.
    fileprivate init(ofWrite error: any Error) {
        self.init(HoldfastError(behind: error)?.status == .conflict ? .conflict : .refused, "a write has failed")
        thrown = error
    }
}
