internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// How an aggregation was carried out.
public struct AggregationExplanation: Sendable, Hashable {
    /// Where a group's documents come from.
    public enum Grouping: String, Sendable, Hashable, Decodable {
        /// In the order of an index, so that one group is kept at a time.
        case index
        /// In the order of the ids, so that one group is kept at a time.
        case id
        /// In any order, so that all groups are kept.
        case memory
    }

    /// A stage behind those that find the entities.
    public struct Stage: Sendable, Hashable, Decodable {
        /// Its name, such as "$group".
        public var stage: String
        /// Where it stands in the pipeline, from 0.
        public var number: Int
        /// Of a group, how its documents come.
        public var group: Grouping?
        /// Of `$lookup`, how entities are found in the other repository; nil where nothing was looked up.
        public var access: QueryExplanation.Access?
        /// Of `$lookup`, the index there, if one is used.
        public var index: String?
        /// Of `$lookup`, how many entities it read there.
        public var examined: Int?
    }

    /// How the entities are found that come to the first of the stages.
    public var query: QueryExplanation
    /// The stages, in the order in which they are carried out.
    public var stages: [Stage]
    /// How many documents there are behind the last stage.
    public var returned: Int
    /// The most bytes that stages kept at once, as `maxMemoryBytes` counts them.
    public var memory: Int
    /// How long it took.
    public var time: Duration
}

extension AggregationExplanation {
    /// From the core's report.
    init(_ report: [UInt8]) throws {
        let members = try JSONDecoder().decode(Members.self, from: Data(report))
        self.init(
            query: try QueryExplanation(report), stages: members.stages, returned: members.returned,
            memory: members.memory, time: .microseconds(members.time))
    }

    private struct Members: Decodable {
        var stages: [Stage]
        var returned: Int
        var memory: Int
        var time: Int

        enum CodingKeys: String, CodingKey {
            case stages, returned, memory
            case time = "time_us"
        }
    }
}
