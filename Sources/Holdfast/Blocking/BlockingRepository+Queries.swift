public import Foundation
internal import HoldfastCore
internal import HoldfastQuery

/// More of what a query answers: the blocking siblings of the calls of the same names.
extension BlockingRepository {
    /// The entities that match, with their versions: ``Repository/findVersioned(_:sort:skip:limit:parameters:)``.
    public func findVersioned(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) throws -> [Versioned<Entity>] {
        try repository.decodeVersioned(
            list(Query(filter: filter, sort: sort, skip: skip, limit: limit, parameters: parameters)))
    }

    /// The entities that match, or some of their members, as a JSON array:
    /// ``Repository/findJSON(_:fields:sort:skip:limit:parameters:)``.
    public func findJSON(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>? = nil, sort: [Order<Entity>] = [], skip: Int = 0,
        limit: Int? = nil, parameters: QueryParameters = [:]
    ) throws -> Data {
        let query = Query(
            filter: filter, sort: sort, skip: skip, limit: limit, fields: fields, parameters: parameters)
        return try list(query).json.withBytes { Data($0) }
    }

    /// The entities for which a function answers true: ``Repository/find(sort:skip:limit:where:)``. It is called on this
    /// thread, after all were read; what it throws ends the call.
    public func find(
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, where predicate: (Entity) throws -> Bool
    ) throws -> [Entity] {
        if limit == 0 { return [] }
        var failure: (any Error)?
        let found = try asking(Query(sort: sort, skip: skip, limit: limit)) {
            core, _, options, transaction throws(CoreError) in
            try core.find(options, in: transaction) { repository.isMeant($0, predicate, &failure) }
        }
        if let failure { throw failure }
        return try repository.decode(found, as: Entity.self)
    }

    /// Hands out the entities that match, one after the other, so that any number takes little memory:
    /// ``Repository/iterate(_:sort:skip:limit:parameters:)``.
    /// - Parameters:
    ///   - filter: Which entities are meant.
    ///   - sort: As of `find`.
    ///   - skip: As of `find`.
    ///   - limit: As of `find`.
    ///   - parameters: As of `find`.
    ///   - body: Takes one entity, on this thread. What it throws ends the call.
    public func iterate(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:], _ body: (Entity) throws -> Void
    ) throws {
        if limit == 0 { return }
        let cursor = try asking(Query(filter: filter, sort: sort, skip: skip, limit: limit, parameters: parameters)) {
            core, filter, options, transaction throws(CoreError) in
            try core.cursor(filter, options, in: transaction)
        }
        while true {
            let piece = try translatingErrors { () throws(CoreError) in try cursor.next(0) }
            if piece.count == 0 { return }
            for entity in try repository.decode(piece, as: Entity.self) { try body(entity) }
        }
    }

    // Of an array its elements are meant, also where no type says so.
    /// The distinct values of a member: ``Repository/distinct(_:_:parameters:)->[Value]``.
    @_disfavoredOverload
    public func distinct<Value: Codable & Sendable>(
        _ member: any KeyPath<Entity, Value> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) throws -> [Value] { try distinct(Member(member), as: Value.self, filter, parameters) }

    /// The distinct elements of an array: ``Repository/distinct(_:_:parameters:)->[List.Item]``.
    public func distinct<List: ArrayMember>(
        _ member: any KeyPath<Entity, List> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) throws -> [List.Item] where List.Item: Sendable {
        try distinct(Member(member), as: List.Item.self, filter, parameters)
    }

    /// The distinct values that a dotted path leads to: ``Repository/distinct(_:as:_:parameters:)``.
    public func distinct<Value: Decodable & Sendable>(
        _ path: String, as type: Value.Type = Value.self, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) throws -> [Value] { try distinct(Member(path), as: type, filter, parameters) }

    private func distinct<Value: Decodable>(
        _ member: Member<Entity>, as type: Value.Type, _ filter: Filter<Entity>, _ parameters: QueryParameters
    ) throws -> [Value] {
        let path = Array(try member.path(repository.coding).utf8)
        let values = try asking(Query(filter: filter, parameters: parameters)) {
            core, filter, options, transaction throws(CoreError) in
            try core.distinct(path, filter, options, in: transaction)
        }
        return try repository.decode(values: values, as: type)
    }

    /// How `find` carries a query out: ``Repository/explain(_:sort:skip:limit:parameters:)``.
    public func explain(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) throws -> QueryExplanation {
        let query = Query(filter: filter, sort: sort, skip: skip, limit: limit, parameters: parameters)
        return try QueryExplanation(
            asking(query) { core, filter, options, transaction throws(CoreError) in
                try core.explain(filter, options, in: transaction)
            })
    }
}
