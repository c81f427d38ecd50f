public import HoldfastFamiliar

/// A repository in memory that counts its calls, and fails where it is told to: for code that knows the `Repository` protocol
/// alone.
///
///     let songs = MockRepository([Song(id: "s1", title: "Gloria")])
///     songs.calls.fail(.fetch, with: Offline())
///     let library = Library(songs: songs)
public final class MockRepository<Entity: Codable & Identifiable & Sendable>: Repository where Entity.ID: Sendable {
    /// What may be called.
    public enum Function: Hashable, Sendable, CaseIterable {
        /// `save(_:)`.
        case save
        /// `fetchAll()`.
        case fetchAll
        /// `fetch(id:)`.
        case fetch
        /// `delete(id:)`.
        case delete
        /// `invalidateCache()`.
        case invalidateCache
    }

    /// What it was called for, and what it is to fail at. (`invalidateCache` cannot fail.)
    public let calls = MockCalls<Function>()
    /// Where the entities are: reading and writing here counts as no call.
    public let storage: InMemoryStorage<Entity>

    /// With these entities.
    public init(_ entities: [Entity] = []) { storage = InMemoryStorage(entities) }

    public func save(_ entity: Entity) async throws {
        try calls.record(.save)
        storage.save(entity)
    }

    public func fetchAll() async throws -> [Entity] {
        try calls.record(.fetchAll)
        return storage.fetchAll()
    }

    public func fetch(id: Entity.ID) async throws -> Entity? {
        try calls.record(.fetch)
        return storage.fetch(id: id)
    }

    /// Throws `HoldfastError` `.notFound` where there is none, as a store's repository does.
    public func delete(id: Entity.ID) async throws {
        try calls.record(.delete)
        guard storage.fetch(id: id) != nil else {
            throw HoldfastError(.notFound, "there is no entity \"\(id)\" in the mock")
        }
        storage.delete(id: id)
    }

    /// Is counted and does nothing else.
    public func invalidateCache() async { try? calls.record(.invalidateCache) }

    /// Forgets the counts and the failures, and deletes every entity.
    public func reset() {
        calls.reset()
        storage.deleteAll()
    }
}
