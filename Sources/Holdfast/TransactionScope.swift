internal import HoldfastCore

/// The transaction that the current task is in. Calls inside join it; a task-local value carries it into child tasks.
/// Scopes of several stores may nest, and each call finds its own store's.
final class TransactionScope: Sendable {
    @TaskLocal static var current: TransactionScope?

    let transaction: HoldfastCore.Transaction
    /// None where no tree may join: in a migration, and while validators are asked.
    private let trees: TransactionTrees?
    private let outer: TransactionScope?

    /// Within the scope around it.
    init(_ transaction: HoldfastCore.Transaction, trees: TransactionTrees?) {
        self.transaction = transaction
        self.trees = trees
        outer = Self.current
    }

    /// The transaction that a call on this store joins. An unstructured task that outlives the scope still finds it
    /// and is refused, because its writes would belong to nothing.
    static func transaction(of store: Store) -> HoldfastCore.Transaction? { scope(of: store)?.transaction }

    static func scope(of store: Store) -> TransactionScope? { first { $0.transaction.store === store.core } }

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

    /// Whether the task is in the transaction of the object trees with this descriptor.
    static func includes(_ descriptor: HoldfastCore.TransactionDescriptor) -> Bool {
        first { $0.transaction.treeDescriptor == descriptor } != nil
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
