public import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

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
    ) async throws -> [Entity] {
        try await answers(
            Query(filter: filter, sort: sort, skip: skip, limit: limit, parameters: parameters), as: Entity.self)
    }

    /// Some members of the entities that match, as another type.
    ///
    ///     let titles = try await songs.find(\.plays > 9, fields: .only(\.title), as: Title.self)
    public func find<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, parameters: QueryParameters = [:]
    ) async throws -> [Answer] {
        try await answers(
            Query(filter: filter, sort: sort, skip: skip, limit: limit, fields: fields, parameters: parameters),
            as: type)
    }

    /// The entities that match, with their versions, to be expected when they are changed.
    public func findVersioned(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) async throws -> [Versioned<Entity>] {
        try decodeVersioned(
            await list(Query(filter: filter, sort: sort, skip: skip, limit: limit, parameters: parameters)))
    }

    /// The entities that match, or some of their members, as a JSON array: the bytes that are stored.
    public func findJSON(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>? = nil, sort: [Order<Entity>] = [], skip: Int = 0,
        limit: Int? = nil, parameters: QueryParameters = [:]
    ) async throws -> Data {
        let list = try await list(
            Query(filter: filter, sort: sort, skip: skip, limit: limit, fields: fields, parameters: parameters))
        return list.json.withBytes { Data($0) }
    }

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
        let query = Query<Entity>(sort: sort, skip: skip, limit: limit)
        if limit == 0 { return [] }
        // Set and read by the thread that makes the call, and then here.
        let failure = Lock<(any Error)?>(nil)
        let list = try await read(query) { [self] core, _, options, transaction throws(CoreError) in
            var thrown: (any Error)?
            defer { failure.withLock { [thrown] in $0 = thrown } }
            return try core.find(options, in: transaction) { isMeant($0, predicate, &thrown) }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        return try decode(list, as: Entity.self)
    }

    /// Whether a function answers true for an entity; false for all after it has thrown.
    func isMeant(_ view: EntityView, _ predicate: (Entity) throws -> Bool, _ failure: inout (any Error)?) -> Bool {
        if failure != nil { return false }
        do {
            return try predicate(decode(Array(view.body), id: EntityID(unchecked: Array(view.id))))
        } catch {
            failure = error
            return false
        }
    }

    /// The first of the entities that `find` would answer, or nil.
    public func first(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) async throws -> Entity? {
        try await find(filter, sort: sort, skip: skip, limit: 1, parameters: parameters).first
    }

    /// Some members of the first of the entities that `find` would answer, as another type, or nil.
    public func first<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, parameters: QueryParameters = [:]
    ) async throws -> Answer? {
        try await find(filter, fields: fields, as: type, sort: sort, skip: skip, limit: 1, parameters: parameters).first
    }

    /// How many entities match.
    public func count(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) async throws -> Int {
        Int(
            try await read(Query(filter: filter, parameters: parameters)) {
                core, filter, options, transaction throws(CoreError) in
                try core.count(filter, options, in: transaction)
            })
    }

    /// Whether any entity matches.
    public func exists(_ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]) async throws -> Bool {
        try await read(Query(filter: filter, parameters: parameters)) {
            core, filter, options, transaction throws(CoreError) in
            try core.exists(filter, options, in: transaction)
        }
    }

    // MARK: Distinct values

    // Of an array its elements are meant, also where no type says so.
    /// The distinct values of a member in the entities that match, in the order of `sort`. Of equal values such as 1 and
    /// 1.0, one; what is missing gives none.
    @_disfavoredOverload
    public func distinct<Value: Codable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) async throws -> [Value] {
        try await distinct(Member(member), as: Value.self, filter, parameters)
    }

    /// The distinct elements of an array in the entities that match.
    public func distinct<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) async throws -> [List.Item] where List.Item: Sendable {
        try await distinct(Member(member), as: List.Item.self, filter, parameters)
    }

    /// The distinct values that a dotted path leads to. An array on the way, or at its end, gives its elements.
    public func distinct<Value: Decodable & Sendable>(
        _ path: String, as type: Value.Type = Value.self, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) async throws -> [Value] {
        try await distinct(Member(path), as: type, filter, parameters)
    }

    private func distinct<Value: Decodable>(
        _ member: Member<Entity>, as type: Value.Type, _ filter: Filter<Entity>, _ parameters: QueryParameters
    ) async throws -> [Value] {
        let path = Array(try member.path(coding).utf8)
        let values = try await read(Query(filter: filter, parameters: parameters)) {
            core, filter, options, transaction throws(CoreError) in
            try core.distinct(path, filter, options, in: transaction)
        }
        return try decode(values: values, as: type)
    }

    func decode<Value: Decodable>(values: [UInt8], as type: Value.Type) throws -> [Value] {
        do { return try coding.decoder.decode([Value].self, from: Data(values)) } catch {
            throw HoldfastError(
                .corrupt, "a value in \"\(name)\" is no \(type): \(EntityCoding.reason(error))", cause: error)
        }
    }

    // MARK: Reports

    /// How `find` carries the query out, found by carrying it out: it counts as a read.
    public func explain(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) async throws -> QueryExplanation {
        let query = Query(filter: filter, sort: sort, skip: skip, limit: limit, parameters: parameters)
        let report = try await read(query) { core, filter, options, transaction throws(CoreError) in
            try core.explain(filter, options, in: transaction)
        }
        return try QueryExplanation(report)
    }

    // MARK: Carrying them out

    private func answers<Answer: Decodable>(_ query: Query<Entity>, as type: Answer.Type) async throws -> [Answer] {
        try decode(await list(query), as: type)
    }

    private func list(_ query: Query<Entity>) async throws -> EntityList {
        try await read(query) { core, filter, options, transaction throws(CoreError) in
            try query.list(core, filter, options, transaction)
        }
    }

    func decode<Answer: Decodable>(_ list: EntityList, as type: Answer.Type) throws -> [Answer] {
        try list.items.map { item in
            let text = try translatingErrors { () throws(CoreError) in try list.body(of: item) }
            return try coding.decode(
                type, from: text, id: String(decoding: list.ids[item.id], as: UTF8.self), repository: name)
        }
    }

    func decodeVersioned(_ list: EntityList) throws -> [Versioned<Entity>] {
        try zip(decode(list, as: Entity.self), list.items).map { Versioned(entity: $0, version: $1.version) }
    }

    func read<Value: Sendable>(
        _ query: Query<Entity>,
        _ body:
            @escaping @Sendable (
                HoldfastCore.Repository, HoldfastQuery.Filter, QueryOptions, HoldfastCore.Transaction?
            ) throws(CoreError) -> Value
    ) async throws -> Value {
        let (filter, options) = try query.compiled(for: await core(), coding, skipsDamaged: skipsDamaged)
        return try await read { core, transaction throws(CoreError) in try body(core, filter, options, transaction) }
    }
}
