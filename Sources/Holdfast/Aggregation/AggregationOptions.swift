internal import HoldfastCore
internal import HoldfastEnvironment

/// What an aggregation may use.
public struct AggregationOptions: Sendable, Hashable {
    /// How many bytes stages may keep at once: groups, documents to be sorted, entities that were looked up. More is
    /// `.noMemory`. 1 to 2^53; nil for 104,857,600. The answer itself does not count.
    public var maxMemoryBytes: Int?

    /// With the defaults, if nothing else is said.
    public init(maxMemoryBytes: Int? = nil) { self.maxMemoryBytes = maxMemoryBytes }

    /// Read by the core's own reader, so that every face refuses the same.
    func core(
        _ parameters: QueryParameters, _ coding: EntityCoding, skipsDamaged: Bool
    ) throws -> HoldfastCore.AggregationOptions {
        var members: [String] = []
        if let maxMemoryBytes { members.append("\"max_memory_bytes\":\(maxMemoryBytes)") }
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
