internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

// Each verb that reads by ids: what it asks of the core, and its three doors.

/// An entity with the version that it had when it was read, to be given as an expected version.
public struct Versioned<Entity: Sendable>: Sendable {
    /// The entity.
    public var entity: Entity
    /// Differs after every change, and rises; 0 for what the transaction itself has written and not yet committed.
    public var version: UInt64
}

extension Versioned: Equatable where Entity: Equatable {}

extension RepositoryCall where Answer == Versioned<Entity>? {
    static func fetchVersioned(_ id: Entity.ID) -> RepositoryCall {
        RepositoryCall(writes: false) { repository, core in
            let id = try repository.text(of: id)
            return .read { transaction throws(CoreError) in
                var found: (version: UInt64, body: [UInt8])?
                _ = try core.fetch(id, in: transaction) { found = ($0, Array($1)) }
                guard let (version, body) = found else { return { nil } }
                return { Versioned(entity: try repository.decode(body, id: id), version: version) }
            }
        }
    }
}

extension RepositoryCall where Answer == [Entity] {
    static func fetchMany(_ ids: [Entity.ID]) -> RepositoryCall {
        RepositoryCall(writes: false) { repository, core in
            let texts = try ids.map { try repository.text(of: $0).text }
            let json = try repository.coding.encode(texts, what: "list of ids", status: .invalidID)
            return .read { transaction throws(CoreError) in
                let list = try json.withBytes { json throws(CoreError) in try core.fetchMany(json, in: transaction) }
                return { try repository.decode(list, as: Entity.self) }
            }
        }
    }

    static func fetchAll() -> RepositoryCall {
        RepositoryCall(writes: false) { repository, core in
            .read { transaction throws(CoreError) in
                let list = try core.fetchAll(in: transaction)
                return { try repository.decode(list, as: Entity.self) }
            }
        }
    }
}

extension RepositoryCall where Answer == Bool {
    static func contains(_ id: Entity.ID) -> RepositoryCall {
        RepositoryCall(writes: false) { repository, core in
            let id = try repository.text(of: id)
            return .read { transaction throws(CoreError) in
                let isThere = try core.contains(id, in: transaction)
                return { isThere }
            }
        }
    }
}

/// Reading.
extension Repository {
    /// The entity of this id, or nil.
    public func fetch(id: Entity.ID) async throws -> Entity? { try await fetchVersioned(id: id)?.entity }

    /// The entity of this id with its version, or nil.
    public func fetchVersioned(id: Entity.ID) async throws -> Versioned<Entity>? {
        // What the cache holds takes no thread.
        if let cached = try await cached(text(of: id)) { return cached }
        return try await perform(.fetchVersioned(id))
    }

    /// The entities of these ids, in this order, as of one state of the store; ids without an entity are left out.
    public func fetchMany(ids: [Entity.ID]) async throws -> [Entity] { try await perform(.fetchMany(ids)) }

    /// Every entity, ordered by the bytes of the ids' texts.
    public func fetchAll() async throws -> [Entity] { try await perform(.fetchAll()) }

    /// Whether there is an entity of this id.
    public func contains(id: Entity.ID) async throws -> Bool { try await perform(.contains(id)) }
}

/// Reading.
extension BlockingRepository {
    /// The entity of this id, or nil.
    public func fetch(id: Entity.ID) throws -> Entity? { try fetchVersioned(id: id)?.entity }

    /// The entity of this id with its version, or nil.
    public func fetchVersioned(id: Entity.ID) throws -> Versioned<Entity>? { try perform(.fetchVersioned(id)) }

    /// The entities of these ids, in this order, as of one state of the store; ids without an entity are left out.
    public func fetchMany(ids: [Entity.ID]) throws -> [Entity] { try perform(.fetchMany(ids)) }

    /// Every entity, ordered by the bytes of the ids' texts.
    public func fetchAll() throws -> [Entity] { try perform(.fetchAll()) }

    /// Whether there is an entity of this id.
    public func contains(id: Entity.ID) throws -> Bool { try perform(.contains(id)) }
}

/// Reading.
extension DeferredRepository {
    /// The entity of this id, or nil.
    public func fetch(id: Entity.ID) -> Operation<Entity?> {
        Operation(
            blocking: { [repository] in try repository.blocking.fetch(id: id) },
            asynchronous: { [repository] in try await repository.fetch(id: id) })
    }

    /// The entity of this id with its version, or nil.
    public func fetchVersioned(id: Entity.ID) -> Operation<Versioned<Entity>?> {
        Operation(
            blocking: { [repository] in try repository.blocking.fetchVersioned(id: id) },
            asynchronous: { [repository] in try await repository.fetchVersioned(id: id) })
    }

    /// The entities of these ids.
    public func fetchMany(ids: [Entity.ID]) -> Operation<[Entity]> { operation(.fetchMany(ids)) }

    /// Every entity.
    public func fetchAll() -> Operation<[Entity]> { operation(.fetchAll()) }

    /// Whether there is an entity of this id.
    public func contains(id: Entity.ID) -> Operation<Bool> { operation(.contains(id)) }
}
