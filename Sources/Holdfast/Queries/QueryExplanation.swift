internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// How a query is carried out.
public struct QueryExplanation: Sendable, Hashable {
    /// How its entities are found.
    public enum Access: String, Sendable, Hashable, Decodable {
        /// The filter names ids, or says between which texts they lie or with what they begin.
        case id
        /// Along an index.
        case index
        /// Each alternative of `||` by itself, along an index or by ids.
        case alternatives
        /// Every entity of the repository is looked at.
        case scan
    }

    /// How the order comes about that was asked for.
    public enum Sorting: String, Sendable, Hashable, Decodable {
        /// The index has it.
        case index
        /// The entities are read in the order of their ids.
        case id
        /// What matches is sorted in memory.
        case memory
    }

    /// How its entities are found.
    public var access: Access
    /// The name of the index, if one is used.
    public var index: String?
    /// What of the filter the index, or the ids, were asked for, as JSON: `{"age":{"$gte":18}}`.
    public var bounds: String
    /// Whether that is the whole filter, so that no document was held against it.
    public var isExact: Bool
    /// How the order comes about; nil when none was asked for.
    public var sorting: Sorting?
    /// How many documents were held against the filter.
    public var examined: Int
    /// How many entities were found, before `skip`, and before `limit` where the memory sorts.
    public var matched: Int
    /// Where distinct values are asked for, how often an index's entries were leapt over that lead to one already found.
    public var leaps: Int?
    /// What is done behind the finding: `$project` where fields were asked for.
    public var stages: [String]
    /// How many entities, or distinct values, the query answers.
    public var returned: Int
    /// The most bytes that were kept at once to sort, or to tell distinct values.
    public var memory: Int
    /// How long it took.
    public var time: Duration
}

extension QueryExplanation {
    /// From the core's report.
    init(_ report: [UInt8]) throws {
        let members = try JSONDecoder().decode(Members.self, from: Data(report))
        self.init(
            access: members.access, index: members.index, bounds: try JSONValue(report: report).text(of: "bounds"),
            isExact: members.exact, sorting: members.sort, examined: members.examined, matched: members.matched,
            leaps: members.leaps, stages: members.stages.map(\.stage), returned: members.returned,
            memory: members.memory, time: .microseconds(members.microseconds))
    }

    private struct Members: Decodable {
        var access: Access
        var index: String?
        var exact: Bool
        var sort: Sorting?
        var examined: Int
        var matched: Int
        var leaps: Int?
        var stages: [Stage]
        var returned: Int
        var memory: Int
        var microseconds: Int

        enum CodingKeys: String, CodingKey {
            case access, index, exact, sort, examined, matched, leaps, stages, returned, memory
            case microseconds = "time_us"
        }

        struct Stage: Decodable { var stage: String }
    }
}

extension JSONValue {
    /// A report of the core.
    init(report: [UInt8]) throws {
        self = try translatingErrors { () throws(CoreError) in
            try report.withBytes { bytes throws(CoreError) in try JSONValue.parse(bytes, what: "report") }
        }
    }

    /// A member as JSON text.
    fileprivate func text(of name: StaticString) -> String {
        var writer = JSONWriter()
        writer.value(member(name) ?? .null)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
