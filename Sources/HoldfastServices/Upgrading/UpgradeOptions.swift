internal import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery

/// How a schema is upgraded; `maintenance.h` describes it.
public struct UpgradeOptions: Sendable {
    /// Whether the store is backed up first.
    public var backsUp = true

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "upgrade options")
        if let value = try reader.boolean("backup") { backsUp = value }
        try reader.finish()
    }
}
