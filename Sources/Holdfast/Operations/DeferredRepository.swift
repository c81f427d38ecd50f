/// A repository whose calls do nothing yet: each answers an ``Operation`` that does it when it is run.
///
///     let add = songs.deferred.add(song)
///     let stored = try await add.performAsync()     // or perform(), or publisher
///
/// Parameters and results are those of the repository's calls of the same names, and so are the errors, all of which the run
/// throws.
public struct DeferredRepository<Entity: Codable & Identifiable & Sendable>: Sendable
where Entity.ID: EntityIdentifier {
    /// The repository whose calls they are.
    public let repository: Repository<Entity>

    private func operation<Result: Sendable>(
        _ blocking: @escaping @Sendable (BlockingRepository<Entity>) throws -> Result,
        _ asynchronous: @escaping @Sendable (Repository<Entity>) async throws -> Result
    ) -> Operation<Result> {
        Operation(
            blocking: { [repository] in try blocking(repository.blocking) },
            asynchronous: { [repository] in try await asynchronous(repository) })
    }

    // MARK: Writing

    /// Stores a new entity.
    public func add(_ entity: Entity) -> Operation<Entity> {
        operation({ try $0.add(entity) }, { try await $0.add(entity) })
    }

    /// Replaces an existing entity.
    public func update(_ entity: Entity, expectedVersion: UInt64? = nil) -> Operation<Entity> {
        operation(
            { try $0.update(entity, expectedVersion: expectedVersion) },
            { try await $0.update(entity, expectedVersion: expectedVersion) })
    }

    /// Stores an entity, new or not.
    public func save(_ entity: Entity) -> Operation<Entity> {
        operation({ try $0.save(entity) }, { try await $0.save(entity) })
    }

    /// Changes some members of an entity by a merge patch.
    public func patch(
        id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], expectedVersion: UInt64? = nil
    ) -> Operation<Entity> {
        operation(
            { try $0.patch(id: id, changes, expectedVersion: expectedVersion) },
            { try await $0.patch(id: id, changes, expectedVersion: expectedVersion) })
    }

    /// Changes an entity by an update.
    public func modify(
        id: Entity.ID, _ update: Update<Entity>, initial: Entity? = nil, expectedVersion: UInt64? = nil
    ) -> Operation<Entity> {
        operation(
            { try $0.modify(id: id, update, initial: initial, expectedVersion: expectedVersion) },
            { try await $0.modify(id: id, update, initial: initial, expectedVersion: expectedVersion) })
    }

    /// Deletes the entity of this id.
    public func delete(id: Entity.ID, expectedVersion: UInt64? = nil, missingOK: Bool = false) -> Operation<Void> {
        operation(
            { try $0.delete(id: id, expectedVersion: expectedVersion, missingOK: missingOK) },
            { try await $0.delete(id: id, expectedVersion: expectedVersion, missingOK: missingOK) })
    }

    /// `add` for each, or for none.
    public func addMany(_ entities: [Entity]) -> Operation<[Entity]> {
        operation({ try $0.addMany(entities) }, { try await $0.addMany(entities) })
    }

    /// `update` for each, whatever its version, or for none.
    public func updateMany(_ entities: [Entity]) -> Operation<[Entity]> {
        operation({ try $0.updateMany(entities) }, { try await $0.updateMany(entities) })
    }

    /// `save` for each, or for none.
    public func saveMany(_ entities: [Entity]) -> Operation<[Entity]> {
        operation({ try $0.saveMany(entities) }, { try await $0.saveMany(entities) })
    }

    /// `patch` for each, or for none.
    public func patchMany(
        _ patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])]
    ) -> Operation<[Entity]> {
        operation({ try $0.patchMany(patches) }, { try await $0.patchMany(patches) })
    }

    /// `delete` for each, or for none.
    public func deleteMany(ids: [Entity.ID]) -> Operation<Void> {
        operation({ try $0.deleteMany(ids: ids) }, { try await $0.deleteMany(ids: ids) })
    }

    /// `modify` for every entity that matches, or for none.
    public func modifyAll(
        _ filter: Filter<Entity> = .all, _ update: Update<Entity>, parameters: QueryParameters = [:]
    ) -> Operation<(matched: Int, modified: Int)> {
        operation(
            { try $0.modifyAll(filter, update, parameters: parameters) },
            { try await $0.modifyAll(filter, update, parameters: parameters) })
    }

    /// Deletes every entity that matches.
    public func deleteAll(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) -> Operation<Int> {
        operation(
            { try $0.deleteAll(filter, parameters: parameters) },
            { try await $0.deleteAll(filter, parameters: parameters) })
    }

    // MARK: Reading

    /// The entity of this id, or nil.
    public func fetch(id: Entity.ID) -> Operation<Entity?> {
        operation({ try $0.fetch(id: id) }, { try await $0.fetch(id: id) })
    }

    /// The entity of this id with its version, or nil.
    public func fetchVersioned(id: Entity.ID) -> Operation<Versioned<Entity>?> {
        operation({ try $0.fetchVersioned(id: id) }, { try await $0.fetchVersioned(id: id) })
    }

    /// The entities of these ids.
    public func fetchMany(ids: [Entity.ID]) -> Operation<[Entity]> {
        operation({ try $0.fetchMany(ids: ids) }, { try await $0.fetchMany(ids: ids) })
    }

    /// Every entity.
    public func fetchAll() -> Operation<[Entity]> {
        operation({ try $0.fetchAll() }, { try await $0.fetchAll() })
    }

    /// Whether there is an entity of this id.
    public func contains(id: Entity.ID) -> Operation<Bool> {
        operation({ try $0.contains(id: id) }, { try await $0.contains(id: id) })
    }

    /// The entities that match.
    public func find(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) -> Operation<[Entity]> {
        operation(
            { try $0.find(filter, sort: sort, skip: skip, limit: limit, parameters: parameters) },
            { try await $0.find(filter, sort: sort, skip: skip, limit: limit, parameters: parameters) })
    }

    /// The first of the entities that `find` would answer, or nil.
    public func first(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) -> Operation<Entity?> {
        operation(
            { try $0.first(filter, sort: sort, skip: skip, parameters: parameters) },
            { try await $0.first(filter, sort: sort, skip: skip, parameters: parameters) })
    }

    /// How many entities match.
    public func count(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) -> Operation<Int> {
        operation(
            { try $0.count(filter, parameters: parameters) }, { try await $0.count(filter, parameters: parameters) })
    }

    /// Whether any entity matches.
    public func exists(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) -> Operation<Bool> {
        operation(
            { try $0.exists(filter, parameters: parameters) }, { try await $0.exists(filter, parameters: parameters) })
    }

    /// The distinct values that a dotted path leads to.
    public func distinct<Value: Decodable & Sendable>(
        _ path: String, as type: Value.Type = Value.self, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) -> Operation<[Value]> {
        operation(
            { try $0.distinct(path, as: Value.self, filter, parameters: parameters) },
            { try await $0.distinct(path, as: Value.self, filter, parameters: parameters) })
    }
}

extension Repository {
    /// The repository's calls, described now and run later.
    public var deferred: DeferredRepository<Entity> { DeferredRepository(repository: self) }
}
