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
    public var timeToLive: Duration
    /// How many entities at most; 0: none; nil: any number.
    public var maxEntries: Int?
    /// How many bytes at most; nil: what the store's option `cacheBytes` says, without that 64 MiB.
    public var maxBytes: Int?
    /// Which one goes when there are too many.
    public var strategy: CacheStrategy

    /// A policy.
    public init(
        timeToLive: Duration = .zero, maxEntries: Int? = nil, maxBytes: Int? = nil, strategy: CacheStrategy = .lru
    ) {
        self.timeToLive = timeToLive
        self.maxEntries = maxEntries
        self.maxBytes = maxBytes
        self.strategy = strategy
    }

    /// 100 entities for five minutes.
    public static let `default` = CachePolicy(timeToLive: .seconds(300), maxEntries: 100)
    /// 500 entities for an hour.
    public static let aggressive = CachePolicy(timeToLive: .seconds(3600), maxEntries: 500)
    /// Every read asks the storage.
    public static let noCache = CachePolicy(maxEntries: 0)
}

extension CachePolicy: Codable {
    private enum CodingKeys: String, CodingKey {
        case strategy
        case timeToLive = "time_to_live_ms"
        case maxEntries = "max_entries"
        case maxBytes = "max_bytes"
    }

    /// Encodes the policy as the C interface names it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(strategy, forKey: .strategy)
        try container.encode(timeToLive.milliseconds, forKey: .timeToLive)
        try container.encodeIfPresent(maxEntries, forKey: .maxEntries)
        try container.encodeIfPresent(maxBytes, forKey: .maxBytes)
    }
    /// Decodes a policy as the C interface tells it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            timeToLive: .milliseconds(try container.decode(Int64.self, forKey: .timeToLive)),
            maxEntries: try container.decodeIfPresent(Int.self, forKey: .maxEntries),
            maxBytes: try container.decodeIfPresent(Int.self, forKey: .maxBytes),
            strategy: try container.decode(CacheStrategy.self, forKey: .strategy))
    }
}

extension CachePolicy {
    init(_ core: HoldfastCore.CachePolicy) {
        self.init(
            timeToLive: .milliseconds(core.timeToLiveMilliseconds), maxEntries: core.maxEntries,
            maxBytes: core.maxBytes,
            strategy: core.strategy == .fifo ? .fifo : .lru)
    }
}
