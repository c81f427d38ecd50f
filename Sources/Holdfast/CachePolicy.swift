internal import HoldfastCore

/// Which entity a full cache lets go of.
public enum CacheStrategy: String, Sendable, Hashable, CaseIterable, Codable {
    /// The one that was used longest ago; reading and storing both count as use.
    case lru
    /// The one that came first; storing it anew keeps its place.
    case fifo
}

/// How a repository's entities are kept in memory once they were read. A value outside its range is refused, with
/// `.invalidOption`, when the repository is opened.
///
///     let songs = store.repository(of: Song.self, cachePolicy: .aggressive)
public struct CachePolicy: Sendable, Hashable {
    /// How long after it was read or stored an entity is kept; zero: for any time. Reading it again does not prolong that.
    public var ttl: Duration
    /// How many entities at most; 0: none; nil: any number.
    public var maxSize: Int?
    /// How many bytes at most; nil: what the store's option `cacheBytes` says, without that 64 MiB.
    public var maxBytes: Int?
    /// Which one goes when there are too many.
    public var strategy: CacheStrategy

    /// A policy.
    public init(
        ttl: Duration = .zero, maxSize: Int? = nil, maxBytes: Int? = nil, strategy: CacheStrategy = .lru
    ) {
        self.ttl = ttl
        self.maxSize = maxSize
        self.maxBytes = maxBytes
        self.strategy = strategy
    }

    /// A policy, with the time to live in seconds.
    public init(ttl seconds: Double, maxSize: Int, strategy: CacheStrategy = .lru) {
        // Within what a duration can hold, and refused later where it is no time.
        let seconds = seconds.isNaN ? -1 : min(max(seconds, -1), 1e12)
        self.init(ttl: .seconds(seconds), maxSize: maxSize, strategy: strategy)
    }

    /// 100 entities for five minutes.
    public static let `default` = CachePolicy(ttl: .seconds(300), maxSize: 100)
    /// 500 entities for an hour.
    public static let aggressive = CachePolicy(ttl: .seconds(3600), maxSize: 500)
    /// Every read asks the storage.
    public static let noCache = CachePolicy(maxSize: 0)
}

extension CachePolicy: Codable {
    private enum CodingKeys: String, CodingKey {
        case strategy
        case ttl = "time_to_live_ms"
        case maxSize = "max_entries"
        case maxBytes = "max_bytes"
    }

    /// Encodes the policy as the C interface names it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(strategy, forKey: .strategy)
        try container.encode(ttl.milliseconds, forKey: .ttl)
        try container.encodeIfPresent(maxSize, forKey: .maxSize)
        try container.encodeIfPresent(maxBytes, forKey: .maxBytes)
    }
    /// Decodes a policy as the C interface tells it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            ttl: .milliseconds(try container.decode(Int64.self, forKey: .ttl)),
            maxSize: try container.decodeIfPresent(Int.self, forKey: .maxSize),
            maxBytes: try container.decodeIfPresent(Int.self, forKey: .maxBytes),
            strategy: try container.decode(CacheStrategy.self, forKey: .strategy))
    }
}

extension CachePolicy {
    init(_ core: HoldfastCore.CachePolicy) {
        self.init(
            ttl: .milliseconds(core.timeToLiveMilliseconds), maxSize: core.maxEntries, maxBytes: core.maxBytes,
            strategy: core.strategy == .fifo ? .fifo : .lru)
    }
}
