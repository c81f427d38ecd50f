internal import HoldfastCore

/// Values for the parameters of a filter, by their names: `["least": 30]` for `["plays": ["$gte": ["$param": "least"]]]`.
/// A value is taken as a literal whatever it looks like, and a filter that comes again with other values is compiled once.
public typealias QueryParameters = [String: (any Encodable & Sendable)?]

/// All that a query is asked with.
struct Query<Entity: Codable & Sendable>: Sendable {
    var filter: Filter<Entity> = .all
    var sort: [Order<Entity>] = []
    var skip = 0
    /// Nil for all.
    var limit: Int?
    var fields: Fields<Entity>?
    var parameters: QueryParameters = [:]

    /// The query as the core takes it.
    func compiled(
        for core: HoldfastCore.Repository, _ coding: EntityCoding
    ) throws -> (filter: HoldfastCore.Filter, options: QueryOptions) {
        let options = try optionsText(coding)
        let filter = try filter.text(coding).map { Array($0.utf8) }
        return try translatingErrors { () throws(CoreError) in
            let options =
                try options.isEmpty
                ? QueryOptions()
                : options.withBytes { bytes throws(CoreError) in
                    try QueryOptions(json: bytes, key: core.record.key, accepting: [.sort, .skip, .limit, .fields])
                }
            guard let filter else { return (try core.filter(nil, options.parameters), options) }
            return try filter.withBytes { bytes throws(CoreError) in
                (try core.filter(bytes, options.parameters), options)
            }
        }
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
