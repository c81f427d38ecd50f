internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Values for the parameters of a filter, by their names: `["least": 30]` for `["plays": ["$gte": ["$param": "least"]]]`.
/// A value is taken as a literal whatever it looks like, and a filter that comes again with other values is compiled once.
public typealias QueryParameters = [String: (any Encodable & Sendable)?]

/// All that a query is asked with, as one value: `songs.observe(Query(\.plays > 9, sort: [.descending(\.plays)], limit: 10))`.
public struct Query<Entity: Codable & Sendable>: Sendable {
    /// Which entities are meant.
    public var filter: Filter<Entity> = .all
    /// In which order; without, that of the ids' bytes.
    public var sort: [Order<Entity>] = []
    /// How many of the first are left out.
    public var skip = 0
    /// How many at most; nil for all.
    public var limit: Int?
    /// Values for the parameters of the filter.
    public var parameters: QueryParameters = [:]
    var fields: Fields<Entity>?

    /// A query for the entities that match.
    public init(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) {
        self.filter = filter
        self.sort = sort
        self.skip = skip
        self.limit = limit
        self.parameters = parameters
    }

    /// As the calls of a repository have it.
    init(
        _ filter: Filter<Entity>, _ sort: [Order<Entity>], _ skip: Int, _ limit: Int?, _ parameters: QueryParameters,
        _ fields: Fields<Entity>? = nil
    ) {
        self.init(filter, sort: sort, skip: skip, limit: limit, parameters: parameters)
        self.fields = fields
    }

    /// The query as the core takes it.
    func compiled(
        for core: HoldfastCore.Repository, _ coding: EntityCoding, skipsDamaged: Bool = false
    ) throws -> (filter: HoldfastQuery.Filter, options: QueryOptions) {
        let options = try optionsText(coding)
        let filter = try filter.text(coding).map { Array($0.utf8) }
        return try translatingErrors { () throws(CoreError) in
            var options =
                try options.isEmpty
                ? QueryOptions()
                : options.withBytes { bytes throws(CoreError) in
                    try QueryOptions(json: bytes, key: core.record.key, accepting: [.sort, .skip, .limit, .fields])
                }
            options.skipsDamaged = skipsDamaged
            guard let filter else { return (try core.filter(nil, options.parameters), options) }
            return try filter.withBytes { bytes throws(CoreError) in
                (try core.filter(bytes, options.parameters), options)
            }
        }
    }

    /// The query as a controller's request has it.
    func json(_ coding: EntityCoding) throws -> [UInt8] {
        if limit == 0 { throw HoldfastError(.invalidArgument, "a live query needs a limit above 0, or none") }
        let options = String(decoding: try optionsText(coding).dropFirst().dropLast(), as: UTF8.self)
        let filter = try filter.text(coding).map { "\"filter\":\($0)" }
        return Array("{\([filter, options].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ","))}".utf8)
    }

    /// Read by the core's own reader, so that every face refuses the same; empty where all are the defaults.
    private func optionsText(_ coding: EntityCoding) throws -> [UInt8] {
        guard skip >= 0, limit ?? 0 >= 0 else {
            throw HoldfastError(.invalidArgument, "skip and limit cannot be negative")
        }
        var options: [String] = []
        if !sort.isEmpty { options.append("\"sort\":\(try sort.json(coding))") }
        if skip > 0 { options.append("\"skip\":\(skip)") }
        if let limit, limit > 0 { options.append("\"limit\":\(limit)") }
        if let fields { options.append("\"fields\":\(try fields.json(coding))") }
        if !parameters.isEmpty {
            let values = parameters.mapValues { AnyValue(value: $0) }
            options.append("\"parameters\":\(try coding.text(values, what: "parameters"))")
        }
        return options.isEmpty ? [] : Array("{\(options.joined(separator: ","))}".utf8)
    }
}
