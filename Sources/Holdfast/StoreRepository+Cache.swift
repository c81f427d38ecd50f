internal import HoldfastCore

/// How much of a cache is to go when memory is short.
public enum CacheTrim: Sendable, Hashable, CaseIterable {
    /// Half of it, at least one entity: those that would go first anyway.
    case warning
    /// All of it.
    case critical
}

/// What a cache has done since the store was opened, and holds now.
public struct CacheStatistics: Sendable, Hashable, Decodable {
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
    /// Their size.
    public var bytes: Int
}

/// The cache: entities that were read, kept in memory as they are committed. None of these calls changes what is stored.
///
/// Reading an entity of an id fills it, from the storage. A repository with a policy is also filled by what this program
/// commits there, and by reading all. Commits keep up to date what is in it, and what a transaction has not committed is
/// never in it. It is shared by all of a store's repositories of one name.
extension StoreRepository {
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
    public func trimCache(_ level: CacheTrim) async throws {
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
            invalidations: core.counts.invalidations, entries: core.entries, bytes: core.bytes)
    }
}

extension Store {
    /// Replaces the clock by which entities expire in the cache, for tests: a function that tells the time since some moment,
    /// and never goes back. Nil for the system's clock.
    ///
    /// It is called on any thread, by several at once, and must not use the store.
    public func setClock(_ now: (@Sendable () -> Duration)?) throws {
        try translatingErrors { () throws(CoreError) in try core.setClock(now.map(FunctionClock.init)) }
    }
}

private final class FunctionClock: HostClock {
    private let function: @Sendable () -> Duration

    init(_ function: @escaping @Sendable () -> Duration) { self.function = function }

    func now() -> UInt64 {
        let (seconds, attoseconds) = function().components
        return UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
    }
}
