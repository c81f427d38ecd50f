internal import HoldfastCore
internal import HoldfastEnvironment

/// How much of a cache is to go when memory is short.
public enum TrimLevel: Sendable, Hashable, CaseIterable {
    /// Half of it, at least one entity: those that would go first anyway.
    case warning
    /// All of it.
    case critical
}

/// What a cache has done since the store was opened, and holds now.
public struct CacheStatistics: Sendable, Hashable {
    /// Reads that it answered,
    public var hits: UInt64
    /// and those that it could not.
    public var misses: UInt64
    /// Entities taken in.
    public var fills: UInt64
    /// Entities let go of because there were too many,
    public var evictions: UInt64
    /// because they were too old,
    public var expirations: UInt64
    /// and because they were invalidated.
    public var invalidations: UInt64
    /// Entities that are held.
    public var entries: Int
    /// Their size as it counts against the limits.
    public var bytes: Int
    /// What they take of the process's memory, with the tables that lead to them.
    public var heldBytes: Int
    /// What governs them; of a whole store, what governs those of repositories without a policy of their own.
    public var policy: CachePolicy
    /// Whether they share the store's general list, having no policy of their own.
    public var isShared: Bool
}

extension CacheStatistics: Decodable {
    private enum CodingKeys: String, CodingKey {
        case hits, misses, fills, evictions, expirations, invalidations, entries, bytes, policy
        case heldBytes = "held_bytes"
    }

    private struct Shared: Decodable {
        var shared: Bool
    }

    /// Decodes the numbers as the C interface tells them.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func count(_ key: CodingKeys) throws -> UInt64 { try container.decode(UInt64.self, forKey: key) }
        (hits, misses, fills) = (try count(.hits), try count(.misses), try count(.fills))
        (evictions, expirations) = (try count(.evictions), try count(.expirations))
        invalidations = try count(.invalidations)
        entries = try container.decode(Int.self, forKey: .entries)
        bytes = try container.decode(Int.self, forKey: .bytes)
        heldBytes = try container.decode(Int.self, forKey: .heldBytes)
        policy = try container.decode(CachePolicy.self, forKey: .policy)
        isShared = try container.decode(Shared.self, forKey: .policy).shared
    }
}

/// The cache: entities that were read, kept in memory as they are committed. None of these calls changes what is stored.
///
/// Reading an entity of an id fills it, from the storage. A repository with a policy is also filled by what this program
/// commits there, and by reading all. Commits keep up to date what is in it, and what a transaction has not committed is
/// never in it. It is shared by all of a store's repositories of one name.
extension Repository {
    /// Lets go of all entities: the next reads ask the storage.
    public func invalidateCache() async {
        // A repository that cannot be opened has cached nothing, nor has one of a closed store.
        try? await core().invalidateCache()
    }

    /// Lets go of the entity of this id.
    public func invalidateCache(id: Entity.ID) async throws {
        let id = try text(of: id)
        let core = try await core()
        try translatingErrors { () throws(CoreError) in try core.invalidateCache(id) }
    }

    /// Lets go of some, because memory is short.
    public func trimCache(_ level: TrimLevel) async throws {
        let core = try await core()
        let level: HoldfastCore.CacheTrim =
            switch level {
            case .warning: .warning
            case .critical: .critical
            }
        try translatingErrors { () throws(CoreError) in try core.trimCache(level) }
    }

    /// What the cache has done for this repository.
    public func cacheStatistics() async throws -> CacheStatistics {
        let core = try await core()
        return CacheStatistics(try translatingErrors { () throws(CoreError) in try core.cacheStatistics() })
    }
}

extension CacheStatistics {
    init(_ core: HoldfastCore.CacheStatistics) {
        self.init(
            hits: core.counts.hits, misses: core.counts.misses, fills: core.counts.fills,
            evictions: core.counts.evictions, expirations: core.counts.expirations,
            invalidations: core.counts.invalidations, entries: core.entries, bytes: core.bytes,
            heldBytes: core.heldBytes, policy: CachePolicy(core.policy), isShared: core.isShared)
    }
}
