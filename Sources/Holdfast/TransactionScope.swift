internal import HoldfastCore

/// The transaction that the current task is in. Calls inside join it; a task-local value carries it into child tasks.
/// Scopes of several stores may nest, and each call finds its own store's.
final class TransactionScope: Sendable {
    @TaskLocal static var current: TransactionScope?

    let transaction: HoldfastCore.Transaction
    /// Where its object trees are told of the end: in this actor, or, where there is none, in this task.
    private let isolation: (any Actor)?
    private let task = TransactionScope.currentTask
    private let outer: TransactionScope?

    init(_ transaction: HoldfastCore.Transaction, isolation: (any Actor)?, within outer: TransactionScope?) {
        self.transaction = transaction
        self.isolation = isolation
        self.outer = outer
    }

    /// The transaction that a call on this store joins. An unstructured task that outlives the scope still finds it
    /// and is refused, because its writes would belong to nothing.
    static func transaction(of store: Store) -> HoldfastCore.Transaction? { scope(of: store)?.transaction }

    /// Whether objects that may be used here may be used where the transaction ends.
    func isShared(with isolation: (any Actor)?) -> Bool {
        self.isolation === isolation && (isolation != nil || task == Self.currentTask)
    }

    /// Names the running task, as long as it lives.
    private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

    static func scope(of store: Store) -> TransactionScope? { first { $0.transaction.store === store.core } }

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
