/// A place of your own where entities of one type are kept: a file, a server, a dictionary.
///
///     actor Shelf: StorageProvider {
///         private var songs: [String: Song] = [:]
///         func save(_ song: Song) { songs[song.id] = song }
///         func fetchAll() -> [Song] { Array(songs.values) }
///         func fetch(id: String) -> Song? { songs[id] }
///         func delete(id: String) { songs[id] = nil }
///     }
///
///     let songs = ProviderRepository(storage: Shelf())
///
/// Under a store (`Store.open(provider:)`), or under a `ProviderRepository`, it gets transactions, queries, indexes, object
/// trees and a cache. Its functions must not use that store: such a call is refused with `.reentrant`.
///
/// Four functions are enough; the others have defaults. A provider that can store several changes together says so as an
/// `AtomicStorageProvider`, one that others write to besides as a `ChangeCountingStorageProvider`, one that can search as a
/// `SearchingStorageProvider`, and one that can make sure that what it has outlives a power cut as a
/// `DurableStorageProvider`.
///
/// Ids are told apart by their bytes in a store, while Swift takes some texts for equal that are written in other bytes: "é" as
/// one letter, and as two. A provider of such ids must not mix them up.
///
/// What it throws fails the call that needed it, with `.hostError`, or `.corrupt` where it was a `DecodingError`: the error
/// names what was to be done, and carries what was thrown as its cause.
public protocol StorageProvider<Entity>: Sendable {
    /// What it keeps.
    associatedtype Entity: Codable & Identifiable & Sendable where Entity.ID: Sendable

    /// Stores an entity, in place of one of the same id.
    func save(_ entity: Entity) async throws
    /// Every entity, in any order.
    func fetchAll() async throws -> [Entity]
    /// The entity of this id, or nil.
    func fetch(id: Entity.ID) async throws -> Entity?
    /// Deletes the entity of this id. That there is none is no failure.
    func delete(id: Entity.ID) async throws

    /// `save` for each, in this order.
    func saveAll(_ entities: [Entity]) async throws
    /// The entities for which the function answers true, in any order.
    func fetch(matching predicate: @Sendable (Entity) throws -> Bool) async throws -> [Entity]
    /// Deletes every entity.
    func deleteAll() async throws
}

extension StorageProvider {
    /// `save` for each, in this order; what was saved before one fails stays.
    public func saveAll(_ entities: [Entity]) async throws {
        for entity in entities { try await save(entity) }
    }

    /// Those of `fetchAll`.
    public func fetch(matching predicate: @Sendable (Entity) throws -> Bool) async throws -> [Entity] {
        try await fetchAll().filter(predicate)
    }

    /// `delete` for each of `fetchAll`; what was deleted before one fails stays so.
    public func deleteAll() async throws {
        for entity in try await fetchAll() { try await delete(id: entity.id) }
    }
}

/// One change of several that belong together.
public enum StorageChange<Entity: Identifiable> {
    /// Stores this entity, in place of one of the same id.
    case save(Entity)
    /// Deletes the entity of this id, if there is one.
    case delete(Entity.ID)
}

extension StorageChange: Sendable where Entity: Sendable, Entity.ID: Sendable {}

/// A provider that stores several changes together, or none of them.
///
/// Of another one, the changes of a transaction are made one by one. When one fails, those before it are undone; when that
/// fails too, or the program ends between them, the provider is left with a part.
public protocol AtomicStorageProvider<Entity>: StorageProvider {
    /// Makes all of the changes, in this order; or makes none and throws.
    func apply(_ changes: [StorageChange<Entity>]) async throws
}

/// A provider that others write to as well, and which tells that it has changed: what was read before is then read anew.
public protocol ChangeCountingStorageProvider<Entity>: StorageProvider {
    /// A number that is another one after each change, whoever made it. Asked for at every read.
    func changeCount() async throws -> UInt64
}

/// A provider that can search, so that a query need not read every entity.
public protocol SearchingStorageProvider<Entity>: StorageProvider {
    /// The entities that match a filter, in any order. Others may be among them, for the store holds each against the filter:
    /// to understand a part of it is enough. What is left out is not found.
    /// - Parameters:
    ///   - filter: JSON, such as `{"plays":{"$gt":9}}`, in the language that `Filter` is made of.
    ///   - repository: Of which repository, for a provider that keeps several.
    func find(_ filter: String, in repository: String) async throws -> [Entity]
}

/// A provider that is told when its changes are to outlive a power cut: by commits of `.full` durability, before they are
/// acknowledged, and by `Store.sync`. Of another one, what it has taken counts as durable.
public protocol DurableStorageProvider<Entity>: StorageProvider {
    /// Makes everything that was saved, deleted and applied before durable.
    func sync() async throws
}
