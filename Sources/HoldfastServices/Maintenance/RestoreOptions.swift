internal import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery

/// How a store is restored; `maintenance.h` describes each.
public struct RestoreOptions: Sendable {
    public var replaces = false
    public var lockTimeoutMilliseconds: UInt64 = 5_000
    public var allowUnsafeLocation = false

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "restore options")
        if let value = try reader.boolean("replace") { replaces = value }
        if let value = try reader.integer("lock_timeout_ms", in: 0...86_400_000) {
            lockTimeoutMilliseconds = UInt64(value)
        }
        if let value = try reader.boolean("allow_unsafe_location") { allowUnsafeLocation = value }
        try reader.finish()
    }
}
