internal import HoldfastQuery

/// What the cache has done for a repository since the store was opened, or for a whole store; `cache.h` describes each
/// number.
public struct CacheStatistics: Sendable, Hashable {
    public struct Counts: Sendable, Hashable {
        public var hits: UInt64 = 0
        public var misses: UInt64 = 0
        public var fills: UInt64 = 0
        public var evictions: UInt64 = 0
        public var expirations: UInt64 = 0
        public var invalidations: UInt64 = 0

        static func += (left: inout Counts, right: Counts) {
            left.hits += right.hits
            left.misses += right.misses
            left.fills += right.fills
            left.evictions += right.evictions
            left.expirations += right.expirations
            left.invalidations += right.invalidations
        }
    }

    public var counts = Counts()
    /// Those that are held now, also expired ones that nobody has asked for since.
    public var entries = 0
    public var bytes = 0
    /// What they take of the process's memory, with the tables that lead to them.
    public var heldBytes = 0
    /// What governs the repository's entries; of a whole store, what governs those of repositories without a policy.
    public var policy: CachePolicy
    /// Whether they share the store's general list.
    public var isShared: Bool

    /// As `hf_repository_cache_statistics` documents it.
    public var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        let numbers = [
            ("hits", counts.hits), ("misses", counts.misses), ("fills", counts.fills),
            ("evictions", counts.evictions), ("expirations", counts.expirations),
            ("invalidations", counts.invalidations), ("entries", UInt64(entries)), ("bytes", UInt64(bytes)),
            ("held_bytes", UInt64(heldBytes)),
        ]
        for (name, value) in numbers {
            writer.member(name)
            writer.unsigned(value)
        }
        writer.member("policy") { writer in
            writer.member("strategy", policy.strategy.rawValue)
            writer.member("time_to_live_ms", policy.timeToLiveMilliseconds)
            writer.member("max_entries")
            if let maxEntries = policy.maxEntries { writer.integer(Int64(maxEntries)) } else { writer.null() }
            writer.member("max_bytes")
            if let maxBytes = policy.maxBytes { writer.integer(Int64(maxBytes)) } else { writer.null() }
            writer.member("shared", isShared)
        }
        writer.endObject()
    }
}
