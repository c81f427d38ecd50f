import HoldfastFamiliar
import Testing

/// The usage that people know from repositories over storage providers. What differs: docs/other-swift-libraries.md.
@Suite("As known from repositories over storage providers")
struct FamiliarProviderUsageTests {
    struct Restaurant: Codable, Sendable, Identifiable, Equatable {
        var id: Int
        var name: String
    }

    /// Storage handles raw persistence.
    actor ShelfStorage<Entity: Codable & Sendable & Identifiable>: StorageProvider where Entity.ID: Sendable {
        private var entities: [Entity.ID: Entity] = [:]

        func save(_ entity: Entity) async throws { entities[entity.id] = entity }
        func fetchAll() async throws -> [Entity] { Array(entities.values) }
        func fetch(id: Entity.ID) async throws -> Entity? { entities[id] }
        func delete(id: Entity.ID) async throws { entities[id] = nil }
    }

    /// A repository of one's own, written for the protocols alone.
    actor ShelfRepository<Storage: StorageProvider>: Repository {
        typealias Entity = Storage.Entity
        private let storage: Storage
        private var cache: [Entity.ID: Entity] = [:]

        init(storage: Storage) { self.storage = storage }

        func save(_ entity: Entity) async throws {
            try await storage.save(entity)
            cache[entity.id] = entity
        }

        func fetchAll() async throws -> [Entity] { try await storage.fetchAll() }

        func fetch(id: Entity.ID) async throws -> Entity? {
            // 1. Check cache first
            if let cached = cache[id] {
                return cached
            }

            // 2. Fetch from storage
            guard let entity = try await storage.fetch(id: id) else {
                return nil
            }

            // 3. Update cache for future access
            cache[id] = entity

            return entity
        }

        func delete(id: Entity.ID) async throws {
            try await storage.delete(id: id)
            cache[id] = nil
        }

        func invalidateCache() async { cache = [:] }
    }

    /// A domain's own code, which knows the protocol alone.
    private func open(_ restaurant: Restaurant, in repository: any Repository<Restaurant>) async throws -> Int {
        try await repository.save(restaurant)
        try await repository.save(Restaurant(id: 7, name: "Chez Paul"))
        #expect(try await repository.fetch(id: restaurant.id) == restaurant)
        try await repository.delete(id: 7)
        await repository.invalidateCache()
        #expect(try await repository.fetch(id: restaurant.id) == restaurant)
        #expect(try await repository.fetch(id: 7) == nil)
        return try await repository.fetchAll().count
    }

    @Test("a repository adds a cache on top of the library's storage, of one's own, or of a store")
    func everyRepository() async throws {
        let restaurant = Restaurant(id: 1, name: "Luigi")

        // Storage handles raw persistence
        let storage = InMemoryStorage<Restaurant>()

        // Repository adds caching on top
        let repository = InMemoryRepository(storage: storage)

        try await #expect(open(restaurant, in: repository) == 1)
        #expect(storage.fetchAll() == [restaurant])

        try await #expect(open(restaurant, in: ProviderRepository(storage: ShelfStorage<Restaurant>())) == 1)
        try await #expect(open(restaurant, in: ShelfRepository(storage: ShelfStorage<Restaurant>())) == 1)
        try await withStore(.sqlite) { store in
            try await #expect(open(restaurant, in: store.repository(of: Restaurant.self, cachePolicy: .default)) == 1)
        }
    }
}
