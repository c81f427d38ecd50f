internal import HoldfastCore

/// The transaction that the current task is in. Calls inside join it; a task-local value carries it into child tasks.
/// Scopes of several stores may nest, and each call finds its own store's.
final class TransactionScope: Sendable {
    @TaskLocal static var current: TransactionScope?

    let transaction: HoldfastCore.Transaction
    private let outer: TransactionScope?

    init(_ transaction: HoldfastCore.Transaction, within outer: TransactionScope?) {
        self.transaction = transaction
        self.outer = outer
    }

    /// The transaction that a call on this store joins. An unstructured task that outlives the scope still finds it
    /// and is refused, because its writes would belong to nothing.
    static func transaction(of store: Store) -> HoldfastCore.Transaction? {
        var scope = current
        while let each = scope {
            if each.transaction.store === store.core { return each.transaction }
            scope = each.outer
        }
        return nil
    }
}
