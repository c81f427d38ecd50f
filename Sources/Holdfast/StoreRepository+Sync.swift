internal import Foundation
internal import HoldfastCore

/// The blocking calls, and their transactions. Outside a transaction each is a commit or a read of its own; inside one,
/// it joins. They wait for files and locks and for nothing else, so that in a task they are merely impolite: there the
/// asynchronous calls do the same without blocking.
extension StoreRepository: SyncRepository {
    public typealias Element = Entity

    /// Every entity, ordered by the bytes of the ids' texts.
    public var getAll: [Entity] {
        get throws {
            try now { core, transaction in
                let list = try translatingErrors { () throws(CoreError) in try core.fetchAll(in: transaction) }
                return try decode(list, as: Entity.self)
            }
        }
    }

    /// Whether there are no entities.
    public var isEmpty: Bool {
        get throws {
            try now { core, transaction in
                try translatingErrors { () throws(CoreError) in try !core.exists(.all, in: transaction) }
            }
        }
    }

    /// Whether there is an entity of the same id.
    public func contains(element: Entity) throws -> Bool {
        try now { core, transaction in
            let id = try text(of: element.id)
            return try translatingErrors { () throws(CoreError) in try core.contains(id, in: transaction) }
        }
    }

    @discardableResult
    public func add(element: Entity) throws -> Entity { try put(element, .absent) }

    @discardableResult
    public func update(element: Entity) throws -> Entity { try put(element, .present) }

    public func delete(element: Entity) throws { try deleteNow(id: element.id) }

    func fetchNow(id: Entity.ID) throws -> Entity? {
        try now { core, transaction in
            let id = try text(of: id)
            var found: Data?
            _ = try translatingErrors { () throws(CoreError) in try core.fetch(id, in: transaction) { found = Data($1) }
            }
            return try found.map { try decode($0, id: id) }
        }
    }

    func deleteNow(id: Entity.ID) throws {
        try now { core, transaction in
            let id = try text(of: id)
            try translatingErrors { () throws(CoreError) in try core.delete(id, in: transaction) }
        }
    }

    public func deleteAll() throws {
        try now { core, transaction in
            _ = try translatingErrors { () throws(CoreError) in try core.deleteAll(.all, in: transaction) }
        }
    }

    func put(_ entity: Entity, _ precondition: Write.Precondition) throws -> Entity {
        try now { core, transaction in
            let (writes, stored) = try self.writes([entity], precondition, core)
            _ = try translatingErrors { () throws(CoreError) in
                try core.perform(writes, in: transaction, wantsResults: false)
            }
            return stored[0]
        }
    }

    private func now<Value>(
        _ body: (HoldfastCore.Repository, HoldfastCore.Transaction?) throws -> Value
    ) throws -> Value {
        do {
            return try body(coreNow(), TransactionScope.transaction(of: store))
        } catch {
            throw RepositoryError(error)
        }
    }

    // MARK: As transactions

    public func add(_ element: Entity) -> AnyTransaction<Entity> {
        transaction({ try self.add(element: element) }, { try await self.add(element) })
    }

    public func update(_ element: Entity) -> AnyTransaction<Entity> {
        transaction({ try self.update(element: element) }, { try await self.update(element) })
    }

    public func delete(_ element: Entity) -> AnyTransaction<Void> {
        transaction({ try self.delete(element: element) }, { try await self.delete(id: element.id) })
    }

    public func fetch(where condition: (@Sendable (Entity) throws -> Bool)?) -> AnyTransaction<[Entity]> {
        transaction(
            { if let condition { try self.filter(query: condition) } else { try self.getAll } },
            { if let condition { try await self.fetchAll().filter(condition) } else { try await self.fetchAll() } })
    }

    @_disfavoredOverload
    public func first(where condition: @escaping @Sendable (Entity) throws -> Bool) -> AnyTransaction<Entity?> {
        transaction(
            { try self.first(where: condition) }, { try await self.fetchAll().first(where: condition) })
    }

    private func transaction<Value: Sendable>(
        _ now: @escaping @Sendable () throws -> Value, _ later: @escaping @Sendable () async throws -> Value
    ) -> AnyTransaction<Value> {
        AnyTransaction(
            transactionClosure: now,
            asyncTransactionClosure: {
                do { return try await later() } catch let error as HoldfastError { throw RepositoryError(error) }
            })
    }
}
