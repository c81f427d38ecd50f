public import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

// Each verb that reads by a filter: what it asks of the core, and its three doors.

extension RepositoryCall {
    /// A query and what the core is asked about it.
    private static func asking<Found: Sendable>(
        _ query: Query<Entity>,
        _ ask:
            @escaping @Sendable (HoldfastCore.Repository) -> (
                HoldfastQuery.Filter, QueryOptions, HoldfastCore.Transaction?
            ) throws(CoreError) -> Found,
        _ decode: @escaping @Sendable (Repository<Entity>, Found) throws -> Answer
    ) -> RepositoryCall {
        RepositoryCall(writes: false) { repository, core in
            let (filter, options) = try query.compiled(
                for: core, repository.coding, skipsDamaged: repository.skipsDamaged)
            return .read { transaction throws(CoreError) in
                let found = try ask(core)(filter, options, transaction)
                return { try decode(repository, found) }
            }
        }
    }

    /// What the query finds.
    private static func list(
        _ query: Query<Entity>, _ decode: @escaping @Sendable (Repository<Entity>, EntityList) throws -> Answer
    ) -> RepositoryCall {
        if query.limit != 0 { return asking(query, HoldfastCore.Repository.find(_:_:in:), decode) }
        // For the core, 0 means all.
        let nothing: @Sendable () throws(CoreError) -> EntityList = { () throws(CoreError) in
            let list = EntityList()
            try list.finish()
            return list
        }
        return asking(query, { _ in { _, _, _ throws(CoreError) in try nothing() } }, decode)
    }

    static func find<Found: Decodable>(
        _ query: Query<Entity>, as type: Found.Type
    ) -> RepositoryCall where Answer == [Found] { list(query) { try $0.decode($1, as: type) } }

    static func find(_ query: Query<Entity>) -> RepositoryCall where Answer == [Entity] { find(query, as: Entity.self) }

    static func first<Found: Decodable>(
        _ query: Query<Entity>, as type: Found.Type
    ) -> RepositoryCall where Answer == Found? { list(query) { try $0.decode($1, as: type).first } }

    static func first(_ query: Query<Entity>) -> RepositoryCall where Answer == Entity? {
        first(query, as: Entity.self)
    }

    static func findVersioned(_ query: Query<Entity>) -> RepositoryCall where Answer == [Versioned<Entity>] {
        list(query) { repository, list in
            try zip(repository.decode(list, as: Entity.self), list.items)
                .map { Versioned(entity: $0, version: $1.version) }
        }
    }

    static func findJSON(_ query: Query<Entity>) -> RepositoryCall where Answer == Data {
        list(query) { $1.json.withBytes { Data($0) } }
    }

    static func count(_ query: Query<Entity>) -> RepositoryCall where Answer == Int {
        asking(query, HoldfastCore.Repository.count) { Int($1) }
    }

    static func exists(_ query: Query<Entity>) -> RepositoryCall where Answer == Bool {
        asking(query, HoldfastCore.Repository.exists) { $1 }
    }

    static func explain(_ query: Query<Entity>) -> RepositoryCall where Answer == QueryExplanation {
        asking(query, HoldfastCore.Repository.explain) { try QueryExplanation($1) }
    }

    /// The entities for which a function answers true.
    static func find(
        _ query: Query<Entity>, where predicate: @escaping @Sendable (Entity) throws -> Bool
    ) -> RepositoryCall where Answer == [Entity] {
        RepositoryCall(writes: false) { repository, core in
            let (_, options) = try query.compiled(for: core, repository.coding, skipsDamaged: repository.skipsDamaged)
            return .read { transaction throws(CoreError) in
                if query.limit == 0 { return { [] } }
                var failure: (any Error)?
                let list = try core.find(options, in: transaction) { view in
                    if failure != nil { return false }
                    do {
                        let id = EntityID(unchecked: Array(view.id))
                        return try predicate(repository.decode(Array(view.body), id: id))
                    } catch {
                        failure = error
                        return false
                    }
                }
                return { [failure] in
                    if let failure { throw failure }
                    return try repository.decode(list, as: Entity.self)
                }
            }
        }
    }

    /// Nil where nothing is to be found.
    static func cursor(_ query: Query<Entity>) -> RepositoryCall where Answer == HoldfastCore.Cursor? {
        query.limit == 0
            ? asking(query, { _ in { _, _, _ in } }, { _, _ in nil })
            : asking(query, HoldfastCore.Repository.cursor, { $1 })
    }

    static func distinct<Value: Decodable>(
        _ member: Member<Entity>, as type: Value.Type, _ query: Query<Entity>
    ) -> RepositoryCall where Answer == [Value] {
        RepositoryCall(writes: false) { repository, core in
            let path = Array(try member.path(repository.coding).utf8)
            return try asking(
                query,
                { core in
                    { filter, options, transaction throws(CoreError) in
                        try core.distinct(path, filter, options, in: transaction)
                    }
                }, { try $0.decode(values: $1, as: type) }
            ).work(repository, core)
        }
    }
}

/// Reading by a filter.
///
/// Without `sort` the order is that of the ids' bytes, unless an index serves the filter: then it is none that is
/// promised. With it, what is equal is ordered by the ids' bytes, descending where the first member is. `limit` nil means
/// all. Every call may throw `.invalidQuery`, `.invalidJSON` (a filter that is none), `.invalidOption` and
/// `.invalidArgument` (a negative `skip` or `limit`).
extension Repository {
    /// The entities that match.
    public func find(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) async throws -> [Entity] { try await perform(.find(Query(filter, sort, skip, limit, parameters))) }

    /// Some members of the entities that match, as another type.
    ///
    ///     let titles = try await songs.find(\.plays > 9, fields: .only(\.title), as: Title.self)
    public func find<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, parameters: QueryParameters = [:]
    ) async throws -> [Answer] {
        try await perform(
            .find(
                Query(filter, sort, skip, limit, parameters, fields),
                as: type))
    }

    /// The entities that match, with their versions, to be expected when they are changed.
    public func findVersioned(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) async throws -> [Versioned<Entity>] {
        try await perform(.findVersioned(Query(filter, sort, skip, limit, parameters)))
    }

    /// The entities that match, or some of their members, as a JSON array: the bytes that are stored.
    public func findJSON(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>? = nil, sort: [Order<Entity>] = [], skip: Int = 0,
        limit: Int? = nil, parameters: QueryParameters = [:]
    ) async throws -> Data { try await perform(.findJSON(Query(filter, sort, skip, limit, parameters, fields))) }

    /// The entities for which a function answers true, where a filter cannot say what is meant.
    ///
    ///     try await songs.find { $0.title.count > 40 }
    ///
    /// It is called with one entity after the other, on a thread of the library; what it throws ends the call. It counts
    /// as a read of the whole repository, whose entities are held in memory meanwhile.
    public func find(
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        where predicate: @escaping @Sendable (Entity) throws -> Bool
    ) async throws -> [Entity] {
        try await perform(.find(Query(sort: sort, skip: skip, limit: limit), where: predicate))
    }

    /// The first of the entities that `find` would answer, or nil.
    public func first(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) async throws -> Entity? { try await perform(.first(Query(filter, sort, skip, 1, parameters))) }

    /// Some members of the first of the entities that `find` would answer, as another type, or nil.
    public func first<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) async throws -> Answer? { try await perform(.first(Query(filter, sort, skip, 1, parameters, fields), as: type)) }

    /// How many entities match.
    public func count(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) async throws -> Int {
        try await perform(.count(Query(filter, parameters: parameters)))
    }

    /// Whether any entity matches.
    public func exists(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) async throws -> Bool {
        try await perform(.exists(Query(filter, parameters: parameters)))
    }

    // Of an array its elements are meant, also where no type says so.
    /// The distinct values of a member in the entities that match, in the order of `sort`. Of equal values such as 1 and
    /// 1.0, one; what is missing gives none.
    @_disfavoredOverload
    public func distinct<Value: Codable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) async throws -> [Value] {
        try await perform(.distinct(Member(member), as: Value.self, Query(filter, parameters: parameters)))
    }

    /// The distinct elements of an array in the entities that match.
    public func distinct<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) async throws -> [List.Item] where List.Item: Sendable {
        try await perform(.distinct(Member(member), as: List.Item.self, Query(filter, parameters: parameters)))
    }

    /// The distinct values that a dotted path leads to. An array on the way, or at its end, gives its elements.
    public func distinct<Value: Decodable & Sendable>(
        _ path: String, as type: Value.Type = Value.self, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) async throws -> [Value] {
        try await perform(.distinct(Member(path), as: type, Query(filter, parameters: parameters)))
    }

    /// How `find` carries the query out, found by carrying it out: it counts as a read.
    public func explain(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) async throws -> QueryExplanation { try await perform(.explain(Query(filter, sort, skip, limit, parameters))) }
}

/// Reading by a filter: the blocking siblings of the calls of the same names.
extension BlockingRepository {
    /// The entities that match, as ``Repository/find(_:sort:skip:limit:parameters:)`` finds them.
    public func find(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) throws -> [Entity] { try perform(.find(Query(filter, sort, skip, limit, parameters))) }

    /// Some members of the entities that match, as another type.
    public func find<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, parameters: QueryParameters = [:]
    ) throws -> [Answer] { try perform(.find(Query(filter, sort, skip, limit, parameters, fields), as: type)) }

    /// The entities that match, with their versions: ``Repository/findVersioned(_:sort:skip:limit:parameters:)``.
    public func findVersioned(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) throws -> [Versioned<Entity>] { try perform(.findVersioned(Query(filter, sort, skip, limit, parameters))) }

    /// The entities that match, or some of their members, as a JSON array:
    /// ``Repository/findJSON(_:fields:sort:skip:limit:parameters:)``.
    public func findJSON(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>? = nil, sort: [Order<Entity>] = [], skip: Int = 0,
        limit: Int? = nil, parameters: QueryParameters = [:]
    ) throws -> Data { try perform(.findJSON(Query(filter, sort, skip, limit, parameters, fields))) }

    /// The entities for which a function answers true: ``Repository/find(sort:skip:limit:where:)``. It is called on this
    /// thread, after all were read; what it throws ends the call.
    public func find(
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, where predicate: (Entity) throws -> Bool
    ) throws -> [Entity] {
        try withoutActuallyEscaping(predicate) { predicate in
            // Called by this thread alone.
            nonisolated(unsafe) let predicate = predicate
            return try perform(.find(Query(sort: sort, skip: skip, limit: limit)) { try predicate($0) })
        }
    }

    /// The first of the entities that `find` would answer, or nil.
    public func first(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) throws -> Entity? { try perform(.first(Query(filter, sort, skip, 1, parameters))) }

    /// Some members of the first of the entities that `find` would answer, as another type, or nil.
    public func first<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) throws -> Answer? { try perform(.first(Query(filter, sort, skip, 1, parameters, fields), as: type)) }

    /// How many entities match.
    public func count(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) throws -> Int {
        try perform(.count(Query(filter, parameters: parameters)))
    }

    /// Whether any entity matches.
    public func exists(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) throws -> Bool {
        try perform(.exists(Query(filter, parameters: parameters)))
    }

    // Of an array its elements are meant, also where no type says so.
    /// The distinct values of a member: ``Repository/distinct(_:_:parameters:)->[Value]``.
    @_disfavoredOverload
    public func distinct<Value: Codable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) throws -> [Value] {
        try perform(.distinct(Member(member), as: Value.self, Query(filter, parameters: parameters)))
    }

    /// The distinct elements of an array: ``Repository/distinct(_:_:parameters:)->[List.Item]``.
    public func distinct<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) throws -> [List.Item] where List.Item: Sendable {
        try perform(.distinct(Member(member), as: List.Item.self, Query(filter, parameters: parameters)))
    }

    /// The distinct values that a dotted path leads to: ``Repository/distinct(_:as:_:parameters:)``.
    public func distinct<Value: Decodable & Sendable>(
        _ path: String, as type: Value.Type = Value.self, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) throws -> [Value] { try perform(.distinct(Member(path), as: type, Query(filter, parameters: parameters))) }

    /// How `find` carries a query out: ``Repository/explain(_:sort:skip:limit:parameters:)``.
    public func explain(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) throws -> QueryExplanation { try perform(.explain(Query(filter, sort, skip, limit, parameters))) }
}

/// Reading by a filter.
extension DeferredRepository {
    /// The entities that match.
    public func find(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) -> Operation<[Entity]> { operation(.find(Query(filter, sort, skip, limit, parameters))) }

    /// The first of the entities that `find` would answer, or nil.
    public func first(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) -> Operation<Entity?> { operation(.first(Query(filter, sort, skip, 1, parameters))) }

    /// How many entities match.
    public func count(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) -> Operation<Int> {
        operation(.count(Query(filter, parameters: parameters)))
    }

    /// Whether any entity matches.
    public func exists(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) -> Operation<Bool> {
        operation(.exists(Query(filter, parameters: parameters)))
    }

    /// The distinct values that a dotted path leads to.
    public func distinct<Value: Decodable & Sendable>(
        _ path: String, as type: Value.Type = Value.self, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) -> Operation<[Value]> { operation(.distinct(Member(path), as: type, Query(filter, parameters: parameters))) }
}
