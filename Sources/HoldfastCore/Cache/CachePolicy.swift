internal import HoldfastEnvironment
internal import HoldfastQuery

/// How a repository's entities are cached, apart from those of others; `cache.h` describes each member. The policy is
/// this process's: it is not stored.
public struct CachePolicy: Sendable, Hashable {
    /// Which entry goes when there are too many.
    public enum Strategy: String, Sendable, CaseIterable {
        /// The one that was used longest ago; reading and setting both count as use.
        case lru
        /// The one that was inserted first; overwriting it keeps its place.
        case fifo
    }

    public var strategy: Strategy
    /// An entry older than this, counted from when it was set last, is read anew; 0: none ever is.
    public var timeToLiveMilliseconds: UInt64
    /// Nil: any number. 0: nothing is cached.
    public var maxEntries: Int?
    /// Nil: the store's "cache_bytes".
    public var maxBytes: Int?

    public init(
        strategy: Strategy = .lru, timeToLiveMilliseconds: UInt64 = 0, maxEntries: Int? = nil, maxBytes: Int? = nil
    ) {
        self.strategy = strategy
        self.timeToLiveMilliseconds = timeToLiveMilliseconds
        self.maxEntries = maxEntries
        self.maxBytes = maxBytes
    }

    fileprivate init(_ reader: OptionReader) throws(HoldfastError) {
        self.init()
        var reader = reader
        if let value = try reader.text("strategy", oneOf: Strategy.allCases.map(\.rawValue)) {
            strategy = Strategy(rawValue: value)!
        }
        if let value = try reader.integer("time_to_live_ms", in: 0...(Int64.max / 1_000_000)) {
            timeToLiveMilliseconds = UInt64(value)
        }
        if let value = try reader.integer("max_entries", in: 0...(1 << 31)) { maxEntries = Int(value) }
        if let value = try reader.integer("max_bytes", in: 0...(1 << 40)) { maxBytes = Int(value) }
        try reader.finish()
    }
}

extension OptionReader {
    /// "cache": the policy of a repository.
    mutating func cachePolicy() throws(HoldfastError) -> CachePolicy? {
        guard let options = try options("cache", what: "cache options") else { return nil }
        return try CachePolicy(options)
    }
}

/// How much of a repository's cache is to go, when memory is short.
public enum CacheTrim: Sendable, CaseIterable {
    /// Half of the entries, at least one.
    case warning
    /// All of them.
    case critical
}
