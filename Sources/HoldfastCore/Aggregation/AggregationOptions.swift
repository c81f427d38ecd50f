public import HoldfastEnvironment
public import HoldfastQuery

/// What an aggregation is asked with besides its pipeline; `aggregate.h` describes each.
public struct AggregationOptions: Sendable {
    /// What stages may keep in memory.
    public var maxMemoryBytes = 100 << 20
    /// Values for the pipeline's parameters.
    public var parameters: [JSONValue.Member] = []
    /// Whether entities that are damaged are left out. Otherwise one that is met ends the aggregation.
    public var skipsDamaged = false

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "aggregate options")
        if let bytes = try reader.integer(MemoryAccount.option, in: 1...(1 << 53)) { maxMemoryBytes = Int(bytes) }
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
