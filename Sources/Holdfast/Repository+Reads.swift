internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// An entity with the version that it had when it was read, to be given as an expected version.
public struct Versioned<Entity: Sendable>: Sendable {
    /// The entity.
    public var entity: Entity
    /// Differs after every change, and rises; 0 for what the transaction itself has written and not yet committed.
    public var version: UInt64
}

extension Versioned: Equatable where Entity: Equatable {}

/// Reading.
extension Repository {
    /// The entity of this id, or nil.
    public func fetch(id: Entity.ID) async throws -> Entity? { try await fetchVersioned(id: id)?.entity }

    /// The entity of this id with its version, or nil.
    public func fetchVersioned(id: Entity.ID) async throws -> Versioned<Entity>? {
        let id = try text(of: id)
        if let cached = try await cached(id) { return cached }
        let found = try await read { core, transaction throws(CoreError) in
            var found: (version: UInt64, body: [UInt8])?
            _ = try core.fetch(id, in: transaction) { found = ($0, Array($1)) }
            return found
        }
        return try found.map { Versioned(entity: try decode($0.body, id: id), version: $0.version) }
    }

    /// The entities of these ids, in this order, as of one state of the store; ids without an entity are left out.
    public func fetchMany(ids: [Entity.ID]) async throws -> [Entity] {
        let json = try json(of: ids)
        let list = try await read { core, transaction throws(CoreError) in
            try json.withBytes { json throws(CoreError) in try core.fetchMany(json, in: transaction) }
        }
        return try decode(list, as: Entity.self)
    }

    func json(of ids: [Entity.ID]) throws -> [UInt8] {
        try coding.encode(ids.map { try text(of: $0).text }, what: "list of ids", status: .invalidID)
    }

    /// Every entity, ordered by the bytes of the ids' texts.
    public func fetchAll() async throws -> [Entity] {
        let list = try await read { core, transaction throws(CoreError) in try core.fetchAll(in: transaction) }
        return try decode(list, as: Entity.self)
    }

    /// Whether there is an entity of this id.
    public func contains(id: Entity.ID) async throws -> Bool {
        let id = try text(of: id)
        return try await read { core, transaction throws(CoreError) in try core.contains(id, in: transaction) }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (HoldfastCore.Repository, HoldfastCore.Transaction?) throws(CoreError) -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let core = try await core()
        let transaction = try TransactionScope.transaction(of: store)
        return try await store.waiting { () throws(CoreError) in try body(core, transaction) }
    }
}
