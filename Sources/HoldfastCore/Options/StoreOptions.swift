public import HoldfastEnvironment
public import HoldfastQuery

/// What a store is opened with; `store.h` describes each.
public struct StoreOptions: Sendable {
    public var create = true
    public var readOnly = false
    public var isDurable = true
    public var delivery = DeliveryMode.callback
    public var maxInFlight = 10_000
    /// What a host is to do at that limit, which has another name in Swift.
    public var limitAdvice = "take events, wait, or raise max_in_flight"
    public var limits = PayloadLimits.standard
    /// Nil: `standardCacheBytes`, and none where the storage does not notice what others store in it.
    public var cacheBytes: Int?
    public var maxSnapshots = 16
    public var snapshotMaxAgeMilliseconds: UInt64 = 60_000
    public var walLimitBytes: UInt64 = 268_435_456
    public var lockTimeoutMilliseconds: UInt64 = 5_000
    public var idempotencyMaxAgeMilliseconds: UInt64 = 604_800_000
    public var idempotencyMaxCount = 100_000
    public var logRetention: UInt64 = 100_000
    /// Nil for no limit.
    public var logMaxAgeMilliseconds: UInt64?
    public var logMaxBytes = 268_435_456
    public var slowCommitMilliseconds: UInt64 = 1000
    public var allowUnsafeLocation = false
    /// Of a file that is created, as chmod(2) takes it; nil for SQLite's own, which is 0644 less the umask.
    public var mode: UInt32?
    /// On a server: which of the database's stores; nil where the URL tells it, or for the standard one.
    public var store: String?
    /// On a server: so many connections at most.
    public var maxConnections = 32
    /// In nanoseconds.
    public var maxStaleness: UInt64 = 0
    /// Of a provider: whether its functions may be called at the same time.
    public var concurrentCalls = false

    static let standardCacheBytes = 67_108_864

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "store options")
        let day: Int64 = 86_400_000
        let beyond: Int64 = 1 << 53
        if let value = try reader.boolean("create") { create = value }
        if let value = try reader.boolean("read_only") { readOnly = value }
        if let value = try reader.durability() { isDurable = value }
        if let value = try reader.text("delivery", oneOf: ["callback", "queue"]) {
            delivery = DeliveryMode(rawValue: value)!
        }
        if let value = try reader.integer("max_in_flight", in: 1...1_000_000) { maxInFlight = Int(value) }
        if let value = try reader.integer("max_entity_bytes", in: 64...268_435_456) { limits.maxBytes = Int(value) }
        if let value = try reader.integer("max_depth", in: 1...200) { limits.maxDepth = Int(value) }
        if let value = try reader.integer("cache_bytes", in: 0...(1 << 40)) { cacheBytes = Int(value) }
        if let value = try reader.integer("max_snapshots", in: 1...64) { maxSnapshots = Int(value) }
        if let value = try reader.integer("snapshot_max_age_ms", in: 100...day) {
            snapshotMaxAgeMilliseconds = UInt64(value)
        }
        if let value = try reader.integer("wal_limit_bytes", in: 1_048_576...(1 << 40)) {
            walLimitBytes = UInt64(value)
        }
        if let value = try reader.integer("lock_timeout_ms", in: 0...day) { lockTimeoutMilliseconds = UInt64(value) }
        if let value = try reader.integer("idempotency_max_age_ms", in: 0...beyond) {
            idempotencyMaxAgeMilliseconds = UInt64(value)
        }
        if let value = try reader.integer("idempotency_max_count", in: 0...(1 << 31)) {
            idempotencyMaxCount = Int(value)
        }
        if let value = try reader.integer("log_retention", in: 1000...(1 << 31)) { logRetention = UInt64(value) }
        if let value = try reader.integer("log_max_age_ms", in: 0...beyond) {
            logMaxAgeMilliseconds = UInt64(value)
        }
        if let value = try reader.integer("log_max_bytes", in: 1_048_576...(1 << 40)) { logMaxBytes = Int(value) }
        if let value = try reader.integer("slow_commit_ms", in: 1...day) { slowCommitMilliseconds = UInt64(value) }
        if let value = try reader.boolean("allow_unsafe_location") { allowUnsafeLocation = value }
        if let value = try reader.fileMode("mode") { mode = value }
        store = try reader.text("store")
        if let value = try reader.integer("max_connections", in: 3...1000) { maxConnections = Int(value) }
        if let value = try reader.integer("max_staleness_ms", in: 0...day) { maxStaleness = UInt64(value) * 1_000_000 }
        if let value = try reader.boolean("concurrent_calls") { concurrentCalls = value }
        try reader.finish()
    }
}

extension OptionReader {
    /// "durability": whether a commit is synced before it is told.
    mutating func durability() throws(HoldfastError) -> Bool? {
        try text("durability", oneOf: ["full", "relaxed"]).map { $0 == "full" }
    }
}
