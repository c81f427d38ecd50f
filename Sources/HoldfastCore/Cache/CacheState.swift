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

    private var general: EntityCache.Entries
    private let limitBytes: Int
    /// Those that anybody has asked about; they stay.
    var repositories: [RepositoryState] = []
    private var places: [RepositoryID: Int] = [:]
    /// The place that was looked up last: most who come ask about the same one.
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
    mutating func place(of repository: RepositoryID) -> Int {
        if latest < repositories.count, repositories[latest].repository == repository { return latest }
        if let place = places[repository] {
            latest = place
        } else {
            latest = repositories.count
            places[repository] = latest
            repositories.append(RepositoryState(repository: repository))
        }
        return latest
    }

    func holdsNothing(at place: Int) -> Bool {
        repositories[place].policy == nil ? general.holdsNothing : repositories[place].own.holdsNothing
    }

    // MARK: Entries

    /// The entity, which counts as used, unless it has expired.
    mutating func use(_ key: EntityKey, at place: Int, _ now: UInt64) -> Entity? {
        guard repositories[place].policy != nil else { return general.use(key) }
        guard let entity = repositories[place].own.use(key) else { return nil }
        let timeToLive = repositories[place].timeToLive
        // A host's clock may go back.
        guard timeToLive > 0, now > entity.setAt, now - entity.setAt > timeToLive else { return entity }
        _ = remove(key, at: place)
        repositories[place].counts.expirations += 1
        return nil
    }

    mutating func set(_ key: EntityKey, _ entity: Entity, at place: Int, _ now: UInt64) {
        var entity = entity
        entity.setAt = now
        let size = EntityCache.size(key, entity)
        if repositories[place].policy != nil {
            var evicted = 0
            let isTaken = repositories[place].own.set(key, entity, size: size) { _, _ in evicted += 1 }
            repositories[place].counts.fills += isTaken ? 1 : 0
            repositories[place].counts.evictions += UInt64(evicted)
            countOwn(at: place)
            return
        }
        var evicted: [(key: EntityKey, size: Int)] = []
        let (count, bytes) = (general.count, general.size)
        let isTaken = general.set(key, entity, size: size) { evicted.append(($0, $1)) }
        repositories[place].counts.fills += isTaken ? 1 : 0
        // What came, before others went for it.
        repositories[place].entries += general.count + evicted.count - count
        repositories[place].bytes += general.size + evicted.reduce(0) { $0 + $1.size } - bytes
        for (key, size) in evicted {
            let place = self.place(of: key.repository)
            repositories[place].counts.evictions += 1
            repositories[place].entries -= 1
            repositories[place].bytes -= size
        }
    }

    /// Answers whether it was there.
    mutating func remove(_ key: EntityKey, at place: Int) -> Bool {
        let size = repositories[place].policy == nil ? general.remove(key) : repositories[place].own.remove(key)
        guard let size else { return false }
        repositories[place].entries -= 1
        repositories[place].bytes -= size
        return true
    }

    /// Drops so many of the repository's entries, the first in the order of eviction first. Answers how many it were.
    mutating func drop(_ limit: Int, at place: Int) -> Int {
        let dropped: Int
        if repositories[place].policy == nil {
            if repositories[place].entries == 0 { return 0 }
            let repository = repositories[place].repository
            let before = general.size
            dropped = general.drop(min(limit, repositories[place].entries)) { $0.repository == repository }
            repositories[place].entries -= dropped
            repositories[place].bytes -= before - general.size
        } else {
            dropped = repositories[place].own.drop(limit)
            countOwn(at: place)
        }
        return dropped
    }

    mutating func invalidateAll() {
        general.removeAll()
        for place in repositories.indices where repositories[place].entries > 0 {
            repositories[place].counts.invalidations += UInt64(repositories[place].entries)
            repositories[place].own.removeAll()
            repositories[place].entries = 0
            repositories[place].bytes = 0
        }
    }

    /// Goes on to a newer state, in which the entities that `changes` names may be others, nil: any.
    mutating func advance(to head: CommitSequence, _ token: ChangeToken?, _ changes: [LogEntry]?) {
        if let changes {
            for change in changes.lazy.flatMap(\.changes) {
                let place = place(of: change.key.repository)
                if remove(change.key, at: place) { repositories[place].counts.invalidations += 1 }
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
            let place = place(of: change.key.repository)
            if let text = change.body {
                guard repositories[place].policy != nil || general.contains(change.key) else { continue }
                set(change.key, Entity(version: change.version, text: text), at: place, now)
            } else if remove(change.key, at: place) {
                repositories[place].counts.invalidations += 1
            }
        }
    }

    private mutating func countOwn(at place: Int) {
        repositories[place].entries = repositories[place].own.count
        repositories[place].bytes = repositories[place].own.size
    }

    // MARK: Policies and statistics

    /// Answers whether it is another one than before.
    mutating func setPolicy(_ policy: CachePolicy, of repository: RepositoryID) -> Bool {
        let place = place(of: repository)
        if repositories[place].policy == policy { return false }
        repositories[place].counts.invalidations += UInt64(drop(.max, at: place))
        repositories[place].policy = policy
        repositories[place].own = EntityCache.Entries(
            policy.strategy, maxCount: policy.maxEntries ?? .max, maxSize: policy.maxBytes ?? limitBytes)
        repositories[place].timeToLive = policy.timeToLiveMilliseconds &* 1_000_000
        return true
    }

    func statistics(at place: Int) -> CacheStatistics {
        let state = repositories[place]
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
