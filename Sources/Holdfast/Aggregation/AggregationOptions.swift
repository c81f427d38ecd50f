internal import HoldfastCore
internal import HoldfastEnvironment

/// What an aggregation may use.
public struct AggregationOptions: Sendable, Hashable {
    /// How many bytes stages may keep at once: groups, documents to be sorted, entities that were looked up. More is
    /// `.noMemory`. 1 to 2^53; nil for 104,857,600. The answer itself does not count.
    public var maxMemoryBytes: Int?
    /// How many stages a pipeline may have: 1 to 1,000; nil for 1,000. More than this and the next two allow is
    /// `.invalidQuery`.
    public var maxStages: Int?
    /// How many groups one stage may make: 1 to 2^53; nil for 10,000,000.
    public var maxGroups: Int?
    /// How many arrays and objects may stand in each other in a document that a stage makes: 1 to 200; nil for 200.
    public var maxDepth: Int?

    /// With the defaults, if nothing else is said.
    public init(
        maxMemoryBytes: Int? = nil, maxStages: Int? = nil, maxGroups: Int? = nil, maxDepth: Int? = nil
    ) {
        self.maxMemoryBytes = maxMemoryBytes
        self.maxStages = maxStages
        self.maxGroups = maxGroups
        self.maxDepth = maxDepth
    }

    /// Read by the core's own reader, so that every face refuses the same.
    func core(
        _ parameters: QueryParameters, _ coding: EntityCoding, skipsDamaged: Bool
    ) throws -> HoldfastCore.AggregationOptions {
        var members: [String] = []
        let limits = [
            ("max_memory_bytes", maxMemoryBytes), ("max_stages", maxStages), ("max_groups", maxGroups),
            ("max_depth", maxDepth),
        ]
        for case (let name, let limit?) in limits { members.append("\"\(name)\":\(limit)") }
        if skipsDamaged { members.append("\"damaged\":\"skip\"") }
        if !parameters.isEmpty {
            let values = parameters.mapValues { AnyValue(value: $0) }
            members.append("\"parameters\":\(try coding.text(values, what: "parameters"))")
        }
        let text = Array("{\(members.joined(separator: ","))}".utf8)
        return try translatingOptions { () throws(CoreError) in
            try text.withBytes { bytes throws(CoreError) in try HoldfastCore.AggregationOptions(json: bytes) }
        }
    }
}
