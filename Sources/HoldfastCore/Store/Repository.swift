internal import HoldfastEnvironment
package import HoldfastQuery
public import HoldfastStorage

/// A named collection of entities. Every call takes a transaction that may be nil: then a read sees the newest
/// committed state, and a write is a commit of its own, validated in its batch.
public final class Repository: Sendable {
    public let store: Store
    public let record: RepositoryRecord
    let filters: FilterCache
    package let check: EntityCheck
    /// What of it is cached.
    let cached: CacheTable

    package init(store: Store, record: RepositoryRecord) {
        self.store = store
        self.record = record
        filters = store.catalogue.filters(of: record.id)
        check = EntityCheck(record)
        cached = store.cache.table(of: record.id)
    }

    /// What it is called by now, or was when it was dropped.
    public var name: String { store.catalogue.record(of: record.id)?.name ?? record.name }

    package func key(_ id: EntityID) -> EntityKey { EntityKey(record.id, id) }

    /// Refuses a transaction of another store.
    func checked(_ transaction: Transaction?) throws(HoldfastError) -> Transaction? {
        if let transaction, transaction.store !== store {
            throw HoldfastError(
                .invalidArgument, "the transaction belongs to another store than the repository \"\(name)\"")
        }
        return transaction
    }
}
