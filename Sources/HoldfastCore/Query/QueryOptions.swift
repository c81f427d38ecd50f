public import HoldfastEnvironment
public import HoldfastQuery

/// What a query is asked with besides its filter; `repository.h` describes each.
public struct QueryOptions: Sendable {
    public var skip: UInt64 = 0
    /// 0 stands for all.
    public var limit: UInt64 = 0
    /// Values for the filter's parameters.
    public var parameters: [JSONValue.Member] = []
    /// Whether entities that are damaged are left out. Otherwise one that is met ends the query.
    public var skipsDamaged = false
    var sort: SortOrder?
    var projection: Projection?
    /// The path whose distinct values are to be explained, where it is not the entities.
    package var distinct: Path?

    /// The options that a kind of query takes besides "parameters".
    public struct Accepted: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let sort = Accepted(rawValue: 1)
        public static let skip = Accepted(rawValue: 2)
        public static let limit = Accepted(rawValue: 4)
        public static let fields = Accepted(rawValue: 8)
        public static let damaged = Accepted(rawValue: 16)
        public static let distinct = Accepted(rawValue: 32)
    }

    /// What they are called in messages.
    package static let what = "find options"

    public init() {}

    /// `key` names the member that holds the id.
    public init(json: UnsafeRawBufferPointer?, key: String, accepting accepted: Accepted = []) throws(HoldfastError) {
        guard let json else { return }
        self = try QueryOptions(OptionReader(json: json, what: Self.what), key: key, accepting: accepted)
    }

    /// The same of what was read already.
    package init(_ reader: OptionReader, key: String, accepting accepted: Accepted) throws(HoldfastError) {
        var reader = reader
        if accepted.contains(.sort), let value = reader.value("sort") { sort = try Self.order(value) }
        if accepted.contains(.skip), let value = try reader.integer("skip", in: 0...(1 << 53)) { skip = UInt64(value) }
        if accepted.contains(.limit), let value = try reader.integer("limit", in: 0...(1 << 53)) {
            limit = UInt64(value)
        }
        if accepted.contains(.fields), let value = reader.value("fields") {
            projection = try Projection(value, key: key)
        }
        if accepted.contains(.damaged), let value = try reader.text("damaged", oneOf: ["refuse", "skip"]) {
            skipsDamaged = value == "skip"
        }
        if accepted.contains(.distinct), let value = try reader.text("distinct") {
            distinct = try Path(Array(value.utf8), what: Self.what)
            guard sort == nil, skip == 0, limit == 0, projection == nil else {
                throw Self.refusal(
                    "distinct",
                    "asks for values, which have no order, part or fields of their own: leave out \"sort\", "
                        + "\"skip\", \"limit\" and \"fields\"")
            }
        }
        if let value = reader.value("parameters") {
            guard case .object(let members) = value else {
                throw Self.refusal("parameters", "must be an object of names and values, not \(value.typeInWords)")
            }
            parameters = members
        }
        try reader.finish()
    }

    private static func order(_ value: JSONValue) throws(HoldfastError) -> SortOrder? {
        guard case .object(let members) = value, members.count <= SortOrder.maxFields else {
            throw refusal(
                "sort", "must be an object of at most \(SortOrder.maxFields) paths, as {\"age\": -1, \"name\": 1}")
        }
        var fields: [SortOrder.Field] = []
        var scoreIndex: Int?
        for member in members {
            if Projection.isScore(member.value) {
                guard scoreIndex == nil else { throw refusal("sort", "names the score twice") }
                scoreIndex = fields.count
                continue
            }
            guard case .integer(let direction) = member.value, direction == 1 || direction == -1 else {
                throw refusal(
                    "sort",
                    "must have the values 1 (ascending) and -1 (descending), or {\"$meta\": \"textScore\"} for the score"
                )
            }
            do throws(HoldfastError) {
                let path = try Path(member.name, what: Self.what)
                fields.append(SortOrder.Field(path: path, descending: direction == -1))
            } catch { throw refusal("sort", error.message) }
        }
        return fields.isEmpty && scoreIndex == nil ? nil : SortOrder(fields: fields, scoreIndex: scoreIndex)
    }

    /// Whether scores are asked for, as order or as members of what is answered.
    var wantsScores: Bool { sort?.scoreIndex != nil || projection?.hasScores ?? false }

    /// Refuses scores where nothing is searched, `why` not.
    func refuseScores(_ why: String) throws(HoldfastError) {
        guard wantsScores else { return }
        let name = sort?.scoreIndex != nil ? "sort" : "fields"
        throw Self.refusal(name, "asks for the score of a text search: \(why)")
    }

    /// Refuses scores of a filter that searches no words.
    func check(for filter: Filter) throws(HoldfastError) {
        if wantsScores && filter.text == nil { try refuseScores("the filter has no \"$text\"") }
    }

    private static func refusal(_ name: String, _ reason: String) -> HoldfastError {
        HoldfastError(
            .invalidOption, "\"\(name)\" in the find options \(reason)", detail: [("option", .text(name))])
    }
}
