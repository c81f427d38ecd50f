internal import HoldfastQuery
internal import HoldfastStorage

/// What the cache's lock guards: the entries, by repository those that are governed by a policy of its own.
struct CacheState: Sendable {
    typealias Entity = EntityCache.Entity

    struct RepositoryState: Sendable {
        let repository: RepositoryID
        /// Nil while it shares the general list.
        var policy: CachePolicy?
        var own = EntityCache.Entries(.lru, maxCount: 0)
        /// In nanoseconds, 0 for none.
        var timeToLive: UInt64 = 0
        var counts = CacheStatistics.Counts()
        /// In its own list or in the general one.
        var entries = 0
        var bytes = 0
    }

    var head: CommitSequence
    /// A snapshot before this one is not served: an import may have stored an entity there with a smaller version.
    var floor: CommitSequence = 0
    /// What the storage says while `head` is the newest state; nil: not known.
    var token: ChangeToken?
    /// While a commit of this process becomes visible and the entries do not show it yet.
    var isCommitting = false

    private(set) var general: EntityCache.Entries
    private let limitBytes: Int
    /// Those that anybody has asked about; they stay.
    var repositories: [RepositoryState] = []
    private(set) var indexes: [RepositoryID: Int] = [:]
    /// The index that was looked up last: most who come ask about the same one.
    private var latest = 0

    init(limitBytes: Int, head: CommitSequence) {
        self.head = head
        self.limitBytes = limitBytes
        general = EntityCache.Entries(.lru, maxSize: limitBytes)
    }

    /// Whether a snapshot at this sequence is served.
    func shows(_ sequence: CommitSequence) -> Bool { sequence >= floor && sequence <= head }

    // MARK: Places

    /// Where in `repositories` a repository stands.
    mutating func index(of repository: RepositoryID) -> Int {
        if latest < repositories.count, repositories[latest].repository == repository { return latest }
        if let index = indexes[repository] {
            latest = index
        } else {
            latest = repositories.count
            indexes[repository] = latest
            repositories.append(RepositoryState(repository: repository))
        }
        return latest
    }

    func holdsNothing(at index: Int) -> Bool {
        repositories[index].policy == nil ? general.holdsNothing : repositories[index].own.holdsNothing
    }

    // MARK: Entries

    /// The entity, which counts as used, unless it has expired.
    mutating func use(_ key: EntityKey, at index: Int, _ now: UInt64) -> Entity? {
        guard repositories[index].policy != nil else { return general.use(key) }
        guard let entity = repositories[index].own.use(key) else { return nil }
        let timeToLive = repositories[index].timeToLive
        // A host's clock may go back.
        guard timeToLive > 0, now > entity.setAt, now - entity.setAt > timeToLive else { return entity }
        _ = remove(key, at: index)
        repositories[index].counts.expirations += 1
        return nil
    }

    mutating func set(_ key: EntityKey, _ entity: Entity, at index: Int, _ now: UInt64) {
        var entity = entity
        entity.setAt = now
        let size = EntityCache.size(key, entity)
        if repositories[index].policy != nil {
            var evicted = 0
            let isTaken = repositories[index].own.set(key, entity, size: size) { _, _ in evicted += 1 }
            repositories[index].counts.fills += isTaken ? 1 : 0
            repositories[index].counts.evictions += UInt64(evicted)
            countOwn(at: index)
            return
        }
        var evicted: [(key: EntityKey, size: Int)] = []
        let (count, bytes) = (general.count, general.size)
        let isTaken = general.set(key, entity, size: size) { evicted.append(($0, $1)) }
        repositories[index].counts.fills += isTaken ? 1 : 0
        // What came, before others went for it.
        repositories[index].entries += general.count + evicted.count - count
        repositories[index].bytes += general.size + evicted.reduce(0) { $0 + $1.size } - bytes
        for (key, size) in evicted {
            let index = self.index(of: key.repository)
            repositories[index].counts.evictions += 1
            repositories[index].entries -= 1
            repositories[index].bytes -= size
        }
    }

    /// Answers whether it was there.
    mutating func remove(_ key: EntityKey, at index: Int) -> Bool {
        let size = repositories[index].policy == nil ? general.remove(key) : repositories[index].own.remove(key)
        guard let size else { return false }
        repositories[index].entries -= 1
        repositories[index].bytes -= size
        return true
    }

    /// Drops so many of the repository's entries, the first in the order of eviction first. Answers how many it were.
    mutating func drop(_ limit: Int, at index: Int) -> Int {
        let dropped: Int
        if repositories[index].policy == nil {
            if repositories[index].entries == 0 { return 0 }
            let repository = repositories[index].repository
            let before = general.size
            dropped = general.drop(min(limit, repositories[index].entries)) { $0.repository == repository }
            repositories[index].entries -= dropped
            repositories[index].bytes -= before - general.size
        } else {
            dropped = repositories[index].own.drop(limit)
            countOwn(at: index)
        }
        return dropped
    }

    /// All of a repository.
    mutating func invalidate(_ repository: RepositoryID) {
        let index = index(of: repository)
        repositories[index].counts.invalidations += UInt64(drop(.max, at: index))
    }

    mutating func invalidateAll() {
        general.removeAll()
        for index in repositories.indices where repositories[index].entries > 0 {
            repositories[index].counts.invalidations += UInt64(repositories[index].entries)
            repositories[index].own.removeAll()
            repositories[index].entries = 0
            repositories[index].bytes = 0
        }
    }

    /// Goes on to a newer state, in which the entities that `changes` names may be others, nil: any.
    mutating func advance(to head: CommitSequence, _ token: ChangeToken?, _ changes: [CommitLogEntry]?) {
        if let changes {
            for change in changes.lazy.flatMap(\.changes) {
                if change.key.isWhole {
                    if change.isDeletion { invalidate(change.key.repository) }
                    continue
                }
                let index = index(of: change.key.repository)
                if remove(change.key, at: index) { repositories[index].counts.invalidations += 1 }
            }
        } else {
            invalidateAll()
        }
        // What others have committed may be an import, whose entities have smaller versions than the commit's.
        if head > self.head || changes == nil && self.token != nil { floor = head }
        self.head = head
        self.token = token
    }

    var isEmpty: Bool { !repositories.contains { $0.entries > 0 } }

    /// Takes in what a commit has changed.
    mutating func follow(_ changes: [EntityChange], _ now: UInt64) {
        if general.count == 0, !repositories.contains(where: { $0.policy != nil }) { return }
        for change in changes {
            let index = index(of: change.key.repository)
            if let body = change.body {
                guard repositories[index].policy != nil || general.contains(change.key) else { continue }
                set(change.key, Entity(version: change.version, body: body), at: index, now)
            } else if remove(change.key, at: index) {
                repositories[index].counts.invalidations += 1
            }
        }
    }

    private mutating func countOwn(at index: Int) {
        repositories[index].entries = repositories[index].own.count
        repositories[index].bytes = repositories[index].own.size
    }

    // MARK: Policies and statistics

    /// Answers whether it is another one than before.
    mutating func setPolicy(_ policy: CachePolicy, of repository: RepositoryID) -> Bool {
        let index = index(of: repository)
        if repositories[index].policy == policy { return false }
        repositories[index].counts.invalidations += UInt64(drop(.max, at: index))
        repositories[index].policy = policy
        repositories[index].own = EntityCache.Entries(
            policy.strategy, maxCount: policy.maxEntries ?? .max, maxSize: policy.maxBytes ?? limitBytes)
        repositories[index].timeToLive = policy.timeToLiveMilliseconds &* 1_000_000
        return true
    }

    func statistics(at index: Int) -> CacheStatistics {
        let state = repositories[index]
        var statistics = CacheStatistics(policy: effective(state.policy), isShared: state.policy == nil)
        statistics.counts = state.counts
        statistics.entries = state.entries
        statistics.bytes = state.bytes
        return statistics
    }

    /// Of all repositories together.
    var statistics: CacheStatistics {
        var total = CacheStatistics(policy: effective(nil), isShared: true)
        for state in repositories {
            total.counts += state.counts
            total.entries += state.entries
            total.bytes += state.bytes
        }
        return total
    }

    private func effective(_ policy: CachePolicy?) -> CachePolicy {
        var policy = policy ?? CachePolicy()
        policy.maxBytes = policy.maxBytes ?? limitBytes
        return policy
    }
}
