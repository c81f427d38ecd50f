public import Holdfast

/// A storage provider in memory that counts its calls, and fails where it is told to.
///
///     let storage = MockStorageProvider<Song>()
///     storage.calls.fail(.save, at: 2, with: DiskError())
///     let songs = ProviderRepository(storage: storage)
///     ...
///     #expect(storage.calls.count(of: .fetch) == 1)
///
/// It has the four functions alone, so that several changes of a transaction are several calls.
public final class MockStorageProvider<Entity: Codable & Identifiable & Sendable>: StorageProvider
where Entity.ID: Sendable {
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
    }

    /// What it was called for, and what it is to fail at.
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

    public func delete(id: Entity.ID) async throws {
        try calls.record(.delete)
        storage.delete(id: id)
    }

    /// Forgets the counts and the failures, and deletes every entity.
    public func reset() {
        calls.reset()
        storage.deleteAll()
    }
}
