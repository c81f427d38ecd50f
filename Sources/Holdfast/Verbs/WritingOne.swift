internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastStorage

// Each verb that writes one entity: what it asks of the core, and its three doors.

extension RepositoryCall where Answer == Entity {
    /// `.add`, `.update` and `.save`.
    static func put(_ verb: Verb, _ entity: Entity, expectedVersion: UInt64? = nil) -> RepositoryCall {
        RepositoryCall(writes: true) { repository, core in
            let (write, stored) = try repository.write(verb, entity, expectedVersion, core)
            return .write([write], wantsResults: false) { _ in stored }
        }
    }

    static func patch(
        _ id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], _ expectedVersion: UInt64?
    ) -> RepositoryCall {
        changing { repository, core in try repository.write(patching: id, changes, expectedVersion, core) }
    }

    static func modify(
        _ id: Entity.ID, _ update: Update<Entity>, _ initial: Entity?, _ expectedVersion: UInt64?
    ) -> RepositoryCall {
        changing { repository, core in
            try repository.write(modifying: id, update, initial: initial, expectedVersion, core)
        }
    }

    private static func changing(
        _ write: @escaping @Sendable (Repository<Entity>, HoldfastCore.Repository) throws -> Write
    ) -> RepositoryCall {
        RepositoryCall(writes: true) { repository, core in
            let write = try write(repository, core)
            return .write([write], wantsResults: true) { try repository.decode($0[0], id: write.key.id) }
        }
    }
}

extension RepositoryCall where Answer == Void {
    static func delete(_ id: Entity.ID, _ expectedVersion: UInt64?, missingOK: Bool) -> RepositoryCall {
        RepositoryCall(writes: true, answerIfMissing: missingOK ? () : nil) { repository, core in
            .write([try repository.write(deleting: id, expectedVersion, core)], wantsResults: false) { _ in }
        }
    }
}

/// Writing one entity.
extension Repository {
    /// Stores a new entity. Throws `.exists` when its id is taken, `.invalidEntity`, `.invalidID`.
    /// - Returns: The entity; decoded from what was stored if it was assigned its id.
    @discardableResult
    public func add(_ entity: Entity) async throws -> Entity { try await perform(.put(.add, entity)) }

    /// Replaces an existing entity. Throws `.notFound`, `.versionMismatch`, `.invalidEntity`, `.invalidID`. Its new version,
    /// to be expected next time, is the `sequence` of the receipt that ``Store/transactionWithReceipt(_:_:)`` answers.
    /// - Parameters:
    ///   - entity: What it is to be from now on.
    ///   - expectedVersion: The version that it must have; nil (or 0) for any.
    @discardableResult
    public func update(_ entity: Entity, expectedVersion: UInt64? = nil) async throws -> Entity {
        try await perform(.put(.update, entity, expectedVersion: expectedVersion))
    }

    /// Stores an entity, new or not. Reads nothing, so a transaction that only saves never meets a conflict. Throws
    /// `.invalidEntity`, `.invalidID`.
    /// - Returns: The entity; decoded from what was stored if it was assigned its id.
    @discardableResult
    public func save(_ entity: Entity) async throws -> Entity { try await perform(.put(.save, entity)) }

    /// Changes some members of an entity by a JSON merge patch (RFC 7396): nil removes a member, dictionaries merge,
    /// all else replaces; what is not named stays as it is, byte for byte. The values are encoded as entities are.
    ///
    ///     try await songs.patch(id: "s1", ["plays": 2, "note": nil])
    ///
    /// Throws `.notFound`, `.versionMismatch`, `.invalidEntity` (the id would change).
    /// - Returns: The entity as it is stored now.
    @discardableResult
    public func patch(
        id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], expectedVersion: UInt64? = nil
    ) async throws -> Entity { try await perform(.patch(id, changes, expectedVersion)) }

    /// Changes an entity by an update. Outside a transaction it is worked out on the newest state when its turn comes, so
    /// that many tasks may count in one entity: none is lost, and none conflicts. In a transaction the entity counts as
    /// read; and with a validator it is in one.
    ///
    /// Throws `.notFound`, `.versionMismatch`, `.invalidQuery` (the update fits no entity), `.invalidEntity` (it does not
    /// fit this one, or the id would change); the detail of both tells `operator` and `path`.
    /// - Parameters:
    ///   - id: The entity's.
    ///   - update: What to change in it.
    ///   - initial: The entity to begin with where there is none; not with an expected version.
    ///   - expectedVersion: The version that it must have; nil (or 0) for any.
    /// - Returns: The entity as it is stored now.
    @discardableResult
    public func modify(
        id: Entity.ID, _ update: Update<Entity>, initial: Entity? = nil, expectedVersion: UInt64? = nil
    ) async throws -> Entity { try await perform(.modify(id, update, initial, expectedVersion)) }

    /// Deletes an entity, whatever its other members are by now. Throws `.notFound`.
    public func delete(_ entity: Entity) async throws { try await delete(id: entity.id, missingOK: false) }

    /// Deletes the entity of this id. Throws `.notFound`.
    public func delete(id: Entity.ID) async throws { try await delete(id: id, missingOK: false) }

    /// Deletes the entity of this id. Throws `.notFound` unless a missing one is well, and `.versionMismatch`.
    public func delete(id: Entity.ID, expectedVersion: UInt64? = nil, missingOK: Bool = false) async throws {
        try await perform(.delete(id, expectedVersion, missingOK: missingOK))
    }
}

/// Writing one entity.
extension BlockingRepository {
    /// Stores a new entity. Throws `.exists`, `.invalidEntity`, `.invalidID`.
    @discardableResult
    public func add(_ entity: Entity) throws -> Entity { try perform(.put(.add, entity)) }

    /// Replaces an existing entity. Throws `.notFound`, `.versionMismatch`, `.invalidEntity`, `.invalidID`.
    /// - Parameters:
    ///   - entity: What it is to be from now on.
    ///   - expectedVersion: The version that it must have; nil (or 0) for any.
    @discardableResult
    public func update(_ entity: Entity, expectedVersion: UInt64? = nil) throws -> Entity {
        try perform(.put(.update, entity, expectedVersion: expectedVersion))
    }

    /// Stores an entity, new or not. Throws `.invalidEntity`, `.invalidID`.
    @discardableResult
    public func save(_ entity: Entity) throws -> Entity { try perform(.put(.save, entity)) }

    /// Changes some members: ``Repository/patch(id:_:expectedVersion:)``.
    @discardableResult
    public func patch(
        id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], expectedVersion: UInt64? = nil
    ) throws -> Entity { try perform(.patch(id, changes, expectedVersion)) }

    /// Changes an entity by an update: ``Repository/modify(id:_:initial:expectedVersion:)``.
    @discardableResult
    public func modify(
        id: Entity.ID, _ update: Update<Entity>, initial: Entity? = nil, expectedVersion: UInt64? = nil
    ) throws -> Entity { try perform(.modify(id, update, initial, expectedVersion)) }

    /// Deletes the entity of this id. Throws `.notFound` unless a missing one is well, and `.versionMismatch`.
    public func delete(id: Entity.ID, expectedVersion: UInt64? = nil, missingOK: Bool = false) throws {
        try perform(.delete(id, expectedVersion, missingOK: missingOK))
    }
}

/// Writing one entity.
extension DeferredRepository {
    /// Stores a new entity.
    public func add(_ entity: Entity) -> Operation<Entity> { operation(.put(.add, entity)) }

    /// Replaces an existing entity.
    public func update(_ entity: Entity, expectedVersion: UInt64? = nil) -> Operation<Entity> {
        operation(.put(.update, entity, expectedVersion: expectedVersion))
    }

    /// Stores an entity, new or not.
    public func save(_ entity: Entity) -> Operation<Entity> { operation(.put(.save, entity)) }

    /// Changes some members of an entity by a merge patch.
    public func patch(
        id: Entity.ID, _ changes: [String: (any Encodable & Sendable)?], expectedVersion: UInt64? = nil
    ) -> Operation<Entity> { operation(.patch(id, changes, expectedVersion)) }

    /// Changes an entity by an update.
    public func modify(
        id: Entity.ID, _ update: Update<Entity>, initial: Entity? = nil, expectedVersion: UInt64? = nil
    ) -> Operation<Entity> { operation(.modify(id, update, initial, expectedVersion)) }

    /// Deletes the entity of this id.
    public func delete(id: Entity.ID, expectedVersion: UInt64? = nil, missingOK: Bool = false) -> Operation<Void> {
        operation(.delete(id, expectedVersion, missingOK: missingOK))
    }
}
