internal import HoldfastCore
internal import HoldfastEnvironment

/// Entities in this process's memory: a storage provider for tests, previews, and whatever need not last.
///
///     let storage = InMemoryStorage<Restaurant>()
///     let repository = InMemoryRepository(storage: storage)
///
/// A store opened with `"memory:"` needs no provider and is faster.
public final class InMemoryStorage<Entity: Codable & Identifiable & Sendable>: AtomicStorageProvider,
    ChangeCountingStorageProvider
where Entity.ID: Sendable {
    private struct State {
        /// Each with its place in the list.
        var entities: [Entity.ID: (place: UInt64, entity: Entity)] = [:]
        var changes: UInt64 = 0

        mutating func make(_ change: StorageChange<Entity>) {
            changes += 1
            switch change {
            case .save(let entity): entities[entity.id] = (entities[entity.id]?.place ?? changes, entity)
            case .delete(let id): entities[id] = nil
            }
        }
    }

    private let state = Lock(State())

    /// With these entities; of an id that comes twice, the last.
    public init(_ entities: [Entity] = []) { saveAll(entities) }

    public func save(_ entity: Entity) { apply([.save(entity)]) }

    /// Every entity, in the order in which their ids first came.
    public func fetchAll() -> [Entity] {
        state.withLock { $0.entities.values.sorted { $0.place < $1.place }.map(\.entity) }
    }

    public func fetch(id: Entity.ID) -> Entity? { state.withLock { $0.entities[id]?.entity } }

    public func delete(id: Entity.ID) { apply([.delete(id)]) }

    public func saveAll(_ entities: [Entity]) { apply(entities.map { .save($0) }) }

    public func deleteAll() {
        state.withLock { state in
            state.entities = [:]
            state.changes += 1
        }
    }

    public func apply(_ changes: [StorageChange<Entity>]) {
        state.withLock { state in
            for change in changes { state.make(change) }
        }
    }

    public func changeCount() -> UInt64 { state.withLock { $0.changes } }
}
