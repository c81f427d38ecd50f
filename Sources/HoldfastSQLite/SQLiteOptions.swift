/// How a store's SQLite file is opened; `include/holdfast/store.h` describes each.
public struct SQLiteOptions: Sendable {
    public var create = true
    public var readOnly = false
    public var lockTimeoutMilliseconds: UInt64 = 5_000
    public var snapshotMaxAgeMilliseconds: UInt64 = 60_000
    public var walLimitBytes: UInt64 = 268_435_456
    public var allowUnsafeLocation = false
    /// Of a file that is created, as chmod(2) takes it; nil for 0644 less the umask.
    public var mode: UInt32?
    /// Nobody writes the file while it is open here for reading, so that no file beside it is needed.
    var isUnchanging = false

    public init() {}
}
