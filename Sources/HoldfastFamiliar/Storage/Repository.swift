public import Holdfast

/// A collection of entities: what code that only stores and fetches needs to know, whoever keeps them.
///
///     struct Library {
///         let songs: any Repository<Song>     // a store's, one in memory, a mock
///     }
///
/// A type that keeps its entities in its own way implements `save` that answers nothing, `fetchAll`, `fetch`, `delete` and
/// `invalidateCache`.
public protocol Repository<Entity>: Sendable {
    /// What it stores.
    associatedtype Entity: Codable & Identifiable & Sendable where Entity.ID: Sendable

    /// Stores an entity, new or not.
    // A call whose type nothing says means the one that answers.
    @_disfavoredOverload
    func save(_ entity: Entity) async throws
    /// Stores an entity, new or not, and answers it as it is stored. A type that assigns ids implements it too.
    @discardableResult
    func save(_ entity: Entity) async throws -> Entity
    /// Every entity.
    func fetchAll() async throws -> [Entity]
    /// The entity of this id, or nil.
    func fetch(id: Entity.ID) async throws -> Entity?
    /// Deletes the entity of this id.
    func delete(id: Entity.ID) async throws
    /// Lets go of what is kept in memory only so that it need not be read again. No entity is lost.
    func invalidateCache() async
}

extension Repository {
    @discardableResult
    public func save(_ entity: Entity) async throws -> Entity {
        let _: Void = try await save(entity)
        return entity
    }
}

extension Holdfast.Repository: Repository {
    /// As the other `save`, for whoever knows the protocol alone and wants no answer.
    @_disfavoredOverload
    public func save(_ entity: Entity) async throws { _ = try await save(entity) as Entity }
}
