internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment

/// When a commit counts as done.
public enum Durability: String, Sendable, Hashable, Encodable {
    /// Nothing is visible or acknowledged before it is synced to the disk.
    case full
    /// Acknowledged when visible; a power cut may lose the last moments, never consistency. A killed process loses
    /// nothing.
    case relaxed
}

/// What a store is opened with. A value outside its range is refused by `Store.open` with `.invalidOption`.
public struct StoreOptions: Sendable, Hashable {
    /// Whether a store is created where there is none.
    public var create: Bool
    /// Whether every write is refused with `.readOnly`.
    public var readOnly: Bool
    /// For commits that do not say otherwise.
    public var durability: Durability
    /// How many commits may be under way at once, 1 to 1,000,000. A task with one more waits for a place.
    public var maxInFlight: Int
    /// The largest entity, in bytes of JSON: 64 to 268,435,456.
    public var maxEntityBytes: Int
    /// How deep an entity's arrays and objects may nest: 1 to 200.
    public var maxDepth: Int
    /// Memory for entities that were read, in bytes; 0 for none. Nil for 64 MiB, over a provider that does not count its
    /// changes for none.
    public var cacheBytes: Int?
    /// How many snapshots of the past are held open for transactions, 1 to 64. A transaction that loses its snapshot
    /// moves forward if nothing that it read has changed, else it runs again.
    public var maxSnapshots: Int
    /// A snapshot older than this is taken back once there is a newer state: 100 ms to a day.
    public var snapshotMaxAge: Duration
    /// SQLite: a write-ahead log beyond this takes snapshots back. At least 1 MiB.
    public var walLimitBytes: Int
    /// SQLite: how long to wait for a process that is just opening, recovering or closing the store. On a server: how long to
    /// wait for a connection. At most a day.
    public var lockTimeout: Duration
    /// How long idempotency keys are kept,
    public var idempotencyMaxAge: Duration
    /// and how many at most.
    public var idempotencyMaxCount: Int
    /// How many commits the commit log keeps: at least 1,000. Counted are their sequences, of which up to 65,536 are left
    /// out when a process did not close the store.
    public var logRetention: Int
    /// How long it keeps them at most: commits that are older are not kept, whatever `logRetention` says. Nil for no limit.
    /// What is there when the store is opened counts from then.
    public var logMaxAge: Duration?
    /// How many bytes the log takes at most, whatever `logRetention` says: at least 1 MiB. A commit counts with 32 bytes, and
    /// each change with its id and 2 more. What commits together stays, also where it takes more.
    public var logMaxBytes: Int
    /// A batch of commits slower than this is logged as a warning: 1 ms to a day.
    public var slowCommit: Duration
    /// Whether a symbolic link, a file that is mounted by itself, or a network file system may hold the store.
    public var allowUnsafeLocation: Bool
    /// SQLite: the permissions of a store that is created, such as `0o660`; the files beside it get the same. At least
    /// `0o600`. Nil for 0644 less the process's umask.
    public var mode: UInt16?
    /// On a server: the name of the store among those of the database. Nil where the URL tells it, and for "main".
    public var store: String?
    /// On a server: how many connections the store opens at most, 3 to 1,000.
    public var maxConnections: Int
    /// On a server: a cached entity is read without asking the server where it was the newest at most so long ago, up to a
    /// day. Zero asks at each read.
    public var maxStaleness: Duration

    /// The defaults, but for what is given: each argument is the property of its name.
    public init(
        create: Bool = true, readOnly: Bool = false, durability: Durability = .full, maxInFlight: Int = 10_000,
        maxEntityBytes: Int = 16_777_216, maxDepth: Int = 100, cacheBytes: Int? = nil, maxSnapshots: Int = 16,
        snapshotMaxAge: Duration = .seconds(60), walLimitBytes: Int = 268_435_456, lockTimeout: Duration = .seconds(5),
        idempotencyMaxAge: Duration = .seconds(604_800), idempotencyMaxCount: Int = 100_000,
        logRetention: Int = 100_000, logMaxAge: Duration? = nil, logMaxBytes: Int = 268_435_456,
        slowCommit: Duration = .seconds(1), allowUnsafeLocation: Bool = false, mode: UInt16? = nil,
        store: String? = nil, maxConnections: Int = 32, maxStaleness: Duration = .zero
    ) {
        self.create = create
        self.readOnly = readOnly
        self.durability = durability
        self.maxInFlight = maxInFlight
        self.maxEntityBytes = maxEntityBytes
        self.maxDepth = maxDepth
        self.cacheBytes = cacheBytes
        self.maxSnapshots = maxSnapshots
        self.snapshotMaxAge = snapshotMaxAge
        self.walLimitBytes = walLimitBytes
        self.lockTimeout = lockTimeout
        self.idempotencyMaxAge = idempotencyMaxAge
        self.idempotencyMaxCount = idempotencyMaxCount
        self.logRetention = logRetention
        self.logMaxAge = logMaxAge
        self.logMaxBytes = logMaxBytes
        self.slowCommit = slowCommit
        self.allowUnsafeLocation = allowUnsafeLocation
        self.mode = mode
        self.store = store
        self.maxConnections = maxConnections
        self.maxStaleness = maxStaleness
    }
}

extension StoreOptions: Encodable {
    private enum CodingKeys: String, CodingKey {
        case create
        case readOnly = "read_only"
        case durability
        case maxInFlight = "max_in_flight"
        case maxEntityBytes = "max_entity_bytes"
        case maxDepth = "max_depth"
        case cacheBytes = "cache_bytes"
        case maxSnapshots = "max_snapshots"
        case snapshotMaxAge = "snapshot_max_age_ms"
        case walLimitBytes = "wal_limit_bytes"
        case lockTimeout = "lock_timeout_ms"
        case idempotencyMaxAge = "idempotency_max_age_ms"
        case idempotencyMaxCount = "idempotency_max_count"
        case logRetention = "log_retention"
        case logMaxAge = "log_max_age_ms"
        case logMaxBytes = "log_max_bytes"
        case slowCommit = "slow_commit_ms"
        case allowUnsafeLocation = "allow_unsafe_location"
        case mode
        case store
        case maxConnections = "max_connections"
        case maxStaleness = "max_staleness_ms"
    }

    /// Encodes the options as the C interface names them.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(create, forKey: .create)
        try container.encode(readOnly, forKey: .readOnly)
        try container.encode(durability, forKey: .durability)
        try container.encode(maxInFlight, forKey: .maxInFlight)
        try container.encode(maxEntityBytes, forKey: .maxEntityBytes)
        try container.encode(maxDepth, forKey: .maxDepth)
        try container.encodeIfPresent(cacheBytes, forKey: .cacheBytes)
        try container.encode(maxSnapshots, forKey: .maxSnapshots)
        try container.encode(snapshotMaxAge.milliseconds, forKey: .snapshotMaxAge)
        try container.encode(walLimitBytes, forKey: .walLimitBytes)
        try container.encode(lockTimeout.milliseconds, forKey: .lockTimeout)
        try container.encode(idempotencyMaxAge.milliseconds, forKey: .idempotencyMaxAge)
        try container.encode(idempotencyMaxCount, forKey: .idempotencyMaxCount)
        try container.encode(logRetention, forKey: .logRetention)
        try container.encodeIfPresent(logMaxAge?.milliseconds, forKey: .logMaxAge)
        try container.encode(logMaxBytes, forKey: .logMaxBytes)
        try container.encode(slowCommit.milliseconds, forKey: .slowCommit)
        try container.encode(allowUnsafeLocation, forKey: .allowUnsafeLocation)
        try container.encodeIfPresent(mode.map { "0" + String($0, radix: 8) }, forKey: .mode)
        try container.encodeIfPresent(store, forKey: .store)
        try container.encode(maxConnections, forKey: .maxConnections)
        try container.encode(maxStaleness.milliseconds, forKey: .maxStaleness)
    }

    /// Checked and named by the core's own reader, so that every face refuses the same.
    func checked() throws -> HoldfastCore.StoreOptions {
        let json = Array(try JSONEncoder().encode(self))
        return try translatingOptions { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in try HoldfastCore.StoreOptions(json: bytes) }
        }
    }
}

extension Duration {
    /// Rounded up, so that a short time does not become none.
    var milliseconds: Int64 {
        let (whole, overflows) = components.seconds.multipliedReportingOverflow(by: 1000)
        if overflows { return components.seconds < 0 ? .min : .max }
        let (sum, overflowsToo) = whole.addingReportingOverflow(
            (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        return overflowsToo ? .max : sum
    }
}
