public import Holdfast

/// Values by key under a `CachePolicy`, for repositories that are written by hand and keep what they have read.
///
///     func fetch(id: Song.ID) async throws -> Song? {
///         try await cache.value(for: id) { try await storage.fetch(id: id) }
///     }
///     func save(_ song: Song) async throws {
///         try await storage.save(song)
///         await cache.set(song, for: song.id)
///     }
///     func delete(id: Song.ID) async throws {
///         try await storage.delete(id: id)
///         await cache.remove(id)
///     }
///
/// It knows nothing of transactions. The repositories of stores and a ``ProviderRepository`` have a cache that does.
public actor CacheManager<Key: Hashable & Sendable, Value: Sendable> {
    private struct Entry {
        var value: Value
        var time: Duration
    }

    /// How long values are kept, and how many. `maxBytes` has no meaning here, where a value's size is not known.
    public let policy: CachePolicy
    private let now: @Sendable () -> Duration
    private var entries: LRUCache<Key, Entry>
    /// What is being fetched, by the numbers of the fetches; those that may fill the cache.
    private var fetches: [Key: Set<UInt64>] = [:]
    private var begun: UInt64 = 0

    /// An empty one.
    /// - Parameters:
    ///   - policy: How long values are kept, and how many.
    ///   - clock: By which they grow old.
    public init(policy: CachePolicy = .default, clock: any Clock<Duration> = ContinuousClock()) {
        self.policy = policy
        now = Self.time(of: clock)
        entries = LRUCache(capacity: policy.maxEntries, strategy: policy.strategy)
    }

    private static func time<Time: Clock<Duration>>(of clock: Time) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// How many values are kept, also those that are too old and were not asked for since.
    public var count: Int { entries.count }

    /// The value of this key, unless there is none or it is too old.
    public func get(_ key: Key) -> Value? {
        guard let entry = entries.get(key) else { return nil }
        if policy.timeToLive > .zero, now() - entry.time > policy.timeToLive {
            entries.remove(key)
            return nil
        }
        return entry.value
    }

    /// Keeps a value from now on: to be called once it is stored.
    public func set(_ value: Value, for key: Key) {
        fetches[key] = nil
        entries.set(Entry(value: value, time: now()), for: key)
    }

    /// The value of this key; if there is none, what `fetch` answers, which is then kept. That there is none in the storage is
    /// not kept. Nor is what was fetched while another value was set or this one was removed: it may be the one before.
    public func value(
        for key: Key, orFetching fetch: @Sendable () async throws -> Value?
    ) async rethrows -> Value? {
        if let value = get(key) { return value }
        begun += 1
        let number = begun
        fetches[key, default: []].insert(number)
        defer {
            fetches[key]?.remove(number)
            if fetches[key]?.isEmpty == true { fetches[key] = nil }
        }
        let value = try await fetch()
        if let value, fetches[key]?.contains(number) == true { entries.set(Entry(value: value, time: now()), for: key) }
        return value
    }

    /// Lets go of the value of this key: to be called once it was deleted where it is stored, or changed there by others.
    public func remove(_ key: Key) {
        fetches[key] = nil
        entries.remove(key)
    }

    /// Lets go of all values.
    public func removeAll() {
        fetches = [:]
        entries.removeAll()
    }

    /// Lets go of some, because memory is short.
    public func trim(_ level: TrimLevel) {
        switch level {
        case .critical: entries.removeAll()
        case .warning: for _ in 0..<(entries.count + 1) / 2 { entries.removeNext() }
        }
    }
}
