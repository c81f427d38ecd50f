public import HoldfastEnvironment
public import HoldfastQuery

/// What an aggregation is asked with besides its pipeline; `aggregate.h` describes each.
public struct AggregationOptions: Sendable {
    /// What stages may keep in memory.
    public var maxMemoryBytes = 100 << 20
    /// How many stages a pipeline may have.
    public var maxStages = Pipeline.maxStages
    /// How many groups one stage may make.
    public var maxGroups = 10_000_000
    /// How many arrays and objects may stand in each other in a document that a stage makes.
    public var maxDepth = Pipeline.maxDepth
    /// Values for the pipeline's parameters.
    public var parameters: [JSONValue.Member] = []
    /// Whether entities that are damaged are left out. Otherwise one that is met ends the aggregation.
    public var skipsDamaged = false

    static let groupsOption = "max_groups"
    static let depthOption = "max_depth"

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "aggregate options")
        if let bytes = try reader.integer(MemoryAccount.option, in: 1...(1 << 53)) { maxMemoryBytes = Int(bytes) }
        if let count = try reader.integer(Pipeline.stagesOption, in: 1...Int64(Pipeline.maxStages)) {
            maxStages = Int(count)
        }
        if let count = try reader.integer(Self.groupsOption, in: 1...(1 << 53)) { maxGroups = Int(count) }
        if let depth = try reader.integer(Self.depthOption, in: 1...Int64(Pipeline.maxDepth)) { maxDepth = Int(depth) }
        if let value = try reader.text("damaged", oneOf: ["refuse", "skip"]) { skipsDamaged = value == "skip" }
        if let value = reader.value("parameters") {
            guard case .object(let members) = value else {
                throw HoldfastError(
                    .invalidOption,
                    "\"parameters\" in the aggregate options must be an object of names and values, not "
                        + value.typeInWords, detail: [("option", .text("parameters"))])
            }
            parameters = members
        }
        try reader.finish()
    }
}
