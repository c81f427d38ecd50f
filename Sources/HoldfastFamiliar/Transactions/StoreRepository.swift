public import Holdfast

/// A repository of a store whose calls block the thread, and which gives the same calls as transactions.
///
///     let people = StoreRepository<Person>(store)
///     try people.add(element: person)
///     let transaction: AnyTransaction<Person> = people.add(person)     // nothing has happened yet
///
/// Outside a transaction of the store each call is a commit or a read of its own; inside one, it joins. They wait for files and
/// locks and for nothing else, so that in a task they are merely impolite: there the asynchronous calls of ``repository`` do the
/// same without blocking.
public struct StoreRepository<Entity: Codable & Identifiable & Sendable>: SyncRepository
where Entity.ID: EntityIdentifier {
    /// What its calls call an entity.
    public typealias Element = Entity

    /// The same repository, with all that repositories of stores offer.
    public let repository: Holdfast.Repository<Entity>

    /// The blocking calls of a repository.
    public init(_ repository: Holdfast.Repository<Entity>) { self.repository = repository }

    /// The repository of this name; without one, of the type's own name, `song` for `Song`.
    public init(_ store: Store, of type: Entity.Type = Entity.self, named name: String? = nil) {
        repository = store.repository(of: type, named: name)
    }

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
        do { return try body(repository.blocking) } catch { throw RepositoryError(error) }
    }

    // MARK: As transactions

    public func add(_ element: Entity) -> AnyTransaction<Entity> {
        transaction({ try self.add(element: element) }, { try await repository.add(element) })
    }

    public func update(_ element: Entity) -> AnyTransaction<Entity> {
        transaction({ try self.update(element: element) }, { try await repository.update(element) })
    }

    public func delete(_ element: Entity) -> AnyTransaction<Void> {
        transaction({ try self.delete(element: element) }, { try await repository.delete(id: element.id) })
    }

    public func fetch(where condition: (@Sendable (Entity) throws -> Bool)?) -> AnyTransaction<[Entity]> {
        transaction(
            { if let condition { try self.filter(query: condition) } else { try self.getAll } },
            {
                if let condition {
                    try await repository.fetchAll().filter(condition)
                } else {
                    try await repository.fetchAll()
                }
            })
    }

    @_disfavoredOverload
    public func first(where condition: @escaping @Sendable (Entity) throws -> Bool) -> AnyTransaction<Entity?> {
        transaction(
            { try self.first(where: condition) }, { try await repository.fetchAll().first(where: condition) })
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

extension Holdfast.Repository {
    /// This repository for code that knows none of a store, and calls it by blocking calls and transactions.
    public func eraseToAnyRepository() -> AnyRepository<Entity> { StoreRepository(self).eraseToAnyRepository() }
}
