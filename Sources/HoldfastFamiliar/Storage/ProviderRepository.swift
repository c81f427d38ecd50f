public import Holdfast

/// A repository over a provider of yours, and a store of its own between them, with the cache.
///
///     let storage = InMemoryStorage<Restaurant>()
///     let repository = InMemoryRepository(storage: storage)
///     try await repository.save(restaurant)
///
/// The store is opened at the first call, and again at the next if that fails. It closes by itself, soon after nobody refers
/// to the repository any more.
public final class ProviderRepository<Provider: StorageProvider>: Repository
where Provider.Entity.ID: EntityIdentifier {
    /// What the provider keeps.
    public typealias Entity = Provider.Entity

    /// Where the entities are. Who writes to it besides must be one that a `ChangeCountingStorageProvider` tells of, or call
    /// `invalidateCache` afterwards.
    public let storage: Provider
    /// How long entities that were read are kept in memory, and how many.
    public let cachePolicy: CachePolicy
    private let opened = Lock<Holdfast.Repository<Entity>?>(nil)

    /// For a provider that no other store has.
    public init(storage: Provider, cachePolicy: CachePolicy = .default) {
        self.storage = storage
        self.cachePolicy = cachePolicy
    }

    /// The repository in its store, with all that repositories of stores offer: transactions, queries, indexes, the cache's
    /// statistics.
    public func open() async throws -> Holdfast.Repository<Entity> {
        if let ready = opened.withLock({ $0 }) { return ready }
        let store = try await Store.open(provider: storage)
        return opened.withLock { opened in
            // Somebody else may have been first; the store that is not needed closes by itself.
            let repository = opened ?? store.repository(of: Entity.self, cachePolicy: cachePolicy)
            opened = repository
            return repository
        }
    }

    @_disfavoredOverload
    public func save(_ entity: Entity) async throws { _ = try await open().save(entity) as Entity }

    @discardableResult
    public func save(_ entity: Entity) async throws -> Entity { try await open().save(entity) }

    public func fetchAll() async throws -> [Entity] { try await open().fetchAll() }

    public func fetch(id: Entity.ID) async throws -> Entity? { try await open().fetch(id: id) }

    public func delete(id: Entity.ID) async throws { try await open().delete(id: id) }

    public func invalidateCache() async { await opened.withLock { $0 }?.invalidateCache() }
}

/// A repository over entities in this process's memory.
public typealias InMemoryRepository<Entity> = ProviderRepository<InMemoryStorage<Entity>>
where Entity: Codable & Identifiable & Sendable, Entity.ID: EntityIdentifier
