/// The blocking calls, and their transactions. Outside a transaction each is a commit or a read of its own; inside one,
/// it joins. They wait for files and locks and for nothing else, so that in a task they are merely impolite: there the
/// asynchronous calls do the same without blocking.
extension StoreRepository: SyncRepository {
    /// What the blocking calls call an entity.
    public typealias Element = Entity

    /// Every entity, ordered by the bytes of the ids' texts.
    public var getAll: [Entity] { get throws { try now { try $0.fetchAll() } } }

    /// Whether there are no entities.
    public var isEmpty: Bool { get throws { try now { try !$0.exists() } } }

    /// Whether there is an entity of the same id.
    public func contains(element: Entity) throws -> Bool { try now { try $0.contains(id: element.id) } }

    @discardableResult
    public func add(element: Entity) throws -> Entity { try now { try $0.add(element) } }

    @discardableResult
    public func update(element: Entity) throws -> Entity { try now { try $0.update(element) } }

    public func delete(element: Entity) throws { try now { try $0.delete(id: element.id) } }

    public func deleteAll() throws { try now { _ = try $0.deleteAll() } }

    /// A blocking call, with the errors of a `SyncRepository`.
    func now<Value>(_ body: (BlockingRepository<Entity>) throws -> Value) throws -> Value {
        do { return try body(blocking) } catch { throw RepositoryError(error) }
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
