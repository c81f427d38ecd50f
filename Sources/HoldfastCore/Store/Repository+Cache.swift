public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// The cache, as far as it holds this repository's entities. No call here changes what is stored.
extension Repository {
    /// Drops the entry of this id, or all; the next read asks the storage.
    public func invalidateCache(_ id: EntityID? = nil) throws(HoldfastError) {
        try store.requireOpen()
        if let id { store.cache.invalidate(key(id)) } else { store.cache.invalidate(record.id) }
    }

    /// Drops entries because memory is short, those first that would be evicted first.
    public func trimCache(_ level: CacheTrim) throws(HoldfastError) {
        try store.requireOpen()
        store.cache.trim(record.id, level)
    }

    public func cacheStatistics() throws(HoldfastError) -> CacheStatistics {
        try store.requireOpen()
        return store.cache.statistics(of: record.id)
    }
}

extension Store {
    /// Replaces the clock by which things expire in this store, nil for the system's. For tests.
    public func setClock(_ clock: (any HostClock)?) throws(HoldfastError) {
        try requireOpen()
        cache.setClock(clock)
    }
}
