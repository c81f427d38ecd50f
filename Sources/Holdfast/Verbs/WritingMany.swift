internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

// Each verb that writes many entities: what it asks of the core, and its three doors. What several entities are given to is
// atomic, and its errors tell the index.

extension RepositoryCall where Answer == [Entity] {
    /// `.add`, `.update` and `.save` for each.
    static func putMany(_ verb: Verb, _ entities: [Entity]) -> RepositoryCall {
        RepositoryCall(writes: true) { repository, core in
            var writes: [Write] = []
            writes.reserveCapacity(entities.count)
            let stored = try repository.eachNamed(entities) { entity in
                let (write, stored) = try repository.write(verb, entity, nil, core)
                writes.append(write)
                return stored
            }
            return .write(writes, wantsResults: false) { _ in stored }
        }
    }

    static func patchMany(
        _ patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])]
    ) -> RepositoryCall {
        RepositoryCall(writes: true) { repository, core in
            let writes = try repository.eachNamed(patches) {
                try repository.write(patching: $0.id, $0.changes, nil, core)
            }
            return .write(writes, wantsResults: true) {
                try zip(writes, $0).map { try repository.decode($1, id: $0.key.id) }
            }
        }
    }
}

extension RepositoryCall where Answer == Void {
    static func deleteMany(_ ids: [Entity.ID]) -> RepositoryCall {
        RepositoryCall(writes: true) { repository, core in
            .write(try ids.map { try repository.write(deleting: $0, nil, core) }, wantsResults: false) { _ in }
        }
    }
}

extension RepositoryCall where Answer == (matched: Int, modified: Int) {
    static func modifyAll(
        _ filter: Filter<Entity>, _ update: Update<Entity>, _ parameters: QueryParameters
    ) -> RepositoryCall {
        RepositoryCall(writes: true) { repository, core in
            let json = try update.json(repository.coding)
            let filter = try Query(filter, parameters: parameters).compiled(for: core, repository.coding).filter
            return .change { transaction throws(CoreError) in
                let counts = try json.withBytes { json throws(CoreError) in
                    try core.modifyAll(filter, json, in: transaction)
                }
                return { (Int(counts.matched), Int(counts.modified)) }
            }
        }
    }
}

extension RepositoryCall where Answer == Int {
    static func deleteAll(_ filter: Filter<Entity>, _ parameters: QueryParameters) -> RepositoryCall {
        RepositoryCall(writes: true) { repository, core in
            let filter = try Query(filter, parameters: parameters).compiled(for: core, repository.coding).filter
            return .change { transaction throws(CoreError) in
                let count = try core.deleteAll(filter, in: transaction)
                return { Int(count) }
            }
        }
    }
}

/// Writing many entities.
extension Repository {
    /// `add` for each; an id that comes twice is `.exists`.
    @discardableResult
    public func addMany(_ entities: [Entity]) async throws -> [Entity] { try await perform(.putMany(.add, entities)) }

    /// `update` for each, whatever its version.
    @discardableResult
    public func updateMany(_ entities: [Entity]) async throws -> [Entity] {
        try await perform(.putMany(.update, entities))
    }

    /// `save` for each; of an id that comes twice the last stays.
    @discardableResult
    public func saveMany(_ entities: [Entity]) async throws -> [Entity] { try await perform(.putMany(.save, entities)) }

    /// `patch` for each, whatever its version; of an id that comes twice, one after the other.
    /// - Returns: The entities as they are stored now, in this order.
    @discardableResult
    public func patchMany(
        _ patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])]
    ) async throws -> [Entity] { try await perform(.patchMany(patches)) }

    /// `delete` for each.
    public func deleteMany(ids: [Entity.ID]) async throws { try await perform(.deleteMany(ids)) }

    /// `modify` for every entity that matches, or for none when one of them refuses it, in a transaction that runs again
    /// after a conflict.
    /// - Returns: How many match, and how many of them the update changed; the others are not written.
    @discardableResult
    public func modifyAll(
        _ filter: Filter<Entity> = .all, _ update: Update<Entity>, parameters: QueryParameters = [:]
    ) async throws -> (matched: Int, modified: Int) { try await perform(.modifyAll(filter, update, parameters)) }

    /// Deletes every entity that matches, in a transaction that runs again after a conflict.
    /// - Returns: How many those were.
    @discardableResult
    public func deleteAll(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) async throws -> Int {
        try await perform(.deleteAll(filter, parameters))
    }
}

/// Writing many entities.
extension BlockingRepository {
    /// `add` for each, or for none.
    @discardableResult
    public func addMany(_ entities: [Entity]) throws -> [Entity] { try perform(.putMany(.add, entities)) }

    /// `update` for each, whatever its version, or for none.
    @discardableResult
    public func updateMany(_ entities: [Entity]) throws -> [Entity] { try perform(.putMany(.update, entities)) }

    /// `save` for each, or for none; of an id that comes twice the last stays.
    @discardableResult
    public func saveMany(_ entities: [Entity]) throws -> [Entity] { try perform(.putMany(.save, entities)) }

    /// `patch` for each, or for none: ``Repository/patchMany(_:)``.
    @discardableResult
    public func patchMany(
        _ patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])]
    ) throws -> [Entity] { try perform(.patchMany(patches)) }

    /// `delete` for each, or for none.
    public func deleteMany(ids: [Entity.ID]) throws { try perform(.deleteMany(ids)) }

    /// `modify` for every entity that matches, or for none.
    /// - Returns: How many match, and how many of them the update changed.
    @discardableResult
    public func modifyAll(
        _ filter: Filter<Entity> = .all, _ update: Update<Entity>, parameters: QueryParameters = [:]
    ) throws -> (matched: Int, modified: Int) { try perform(.modifyAll(filter, update, parameters)) }

    /// Deletes every entity that matches.
    /// - Returns: How many those were.
    @discardableResult
    public func deleteAll(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) throws -> Int {
        try perform(.deleteAll(filter, parameters))
    }
}

/// Writing many entities.
extension DeferredRepository {
    /// `add` for each, or for none.
    public func addMany(_ entities: [Entity]) -> Operation<[Entity]> { operation(.putMany(.add, entities)) }

    /// `update` for each, whatever its version, or for none.
    public func updateMany(_ entities: [Entity]) -> Operation<[Entity]> { operation(.putMany(.update, entities)) }

    /// `save` for each, or for none.
    public func saveMany(_ entities: [Entity]) -> Operation<[Entity]> { operation(.putMany(.save, entities)) }

    /// `patch` for each, or for none.
    public func patchMany(
        _ patches: [(id: Entity.ID, changes: [String: (any Encodable & Sendable)?])]
    ) -> Operation<[Entity]> { operation(.patchMany(patches)) }

    /// `delete` for each, or for none.
    public func deleteMany(ids: [Entity.ID]) -> Operation<Void> { operation(.deleteMany(ids)) }

    /// `modify` for every entity that matches, or for none.
    public func modifyAll(
        _ filter: Filter<Entity> = .all, _ update: Update<Entity>, parameters: QueryParameters = [:]
    ) -> Operation<(matched: Int, modified: Int)> { operation(.modifyAll(filter, update, parameters)) }

    /// Deletes every entity that matches.
    public func deleteAll(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) -> Operation<Int> {
        operation(.deleteAll(filter, parameters))
    }
}
