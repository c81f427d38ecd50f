internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

/// What the cache's lock guards: which entities there are, in which order they go, by repository those that are governed by
/// a policy of its own.
struct CacheState: Sendable {
    typealias Entity = CachedEntity.Pointer

    struct RepositoryState: Sendable {
        let repository: RepositoryID
        /// Its entities, wherever their order stands.
        let table: CacheTable
        /// Nil while it shares the general order.
        var policy: CachePolicy?
        var own = EvictionOrder(.lru, maxCount: 0)
        /// But for its hits: those the table counts.
        var counts = CacheStatistics.Counts()
        var bytes = 0
    }

    var head: CommitSequence
    /// Rises where the storage has lost commits.
    var history: UInt64 = 0
    /// A snapshot before this one is not served: an import may have stored an entity there with a smaller version.
    var floor: CommitSequence = 0
    /// What the storage says while `head` is the newest state; nil: not known.
    var token: ChangeToken?
    /// While a commit of this process becomes visible and the entries do not show it yet.
    var isCommitting = false

    private(set) var general: EvictionOrder
    private let limitBytes: Int
    /// Those that anybody has asked about; they stay.
    var repositories: [RepositoryState] = []
    private(set) var indexes: [RepositoryID: Int] = [:]
    /// The index that was looked up last: most who come ask about the same one.
    private var latest = 0
    private var latestMoment: UInt64 = 0

    init(limitBytes: Int, head: CommitSequence) {
        self.head = head
        self.limitBytes = limitBytes
        general = EvictionOrder(.lru, maxSize: limitBytes)
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
            repositories.append(RepositoryState(repository: repository, table: CacheTable(index: latest)))
        }
        return latest
    }

    func holdsNothing(at index: Int) -> Bool {
        repositories[index].policy == nil ? general.holdsNothing : repositories[index].own.holdsNothing
    }

    /// Whether an entity of this size pushes out none but those that have expired, which go.
    mutating func makesRoom(for size: Int, at index: Int, _ now: UInt64) -> Bool {
        while !withOrder(at: index, { $0.hasRoom(for: size) }) {
            guard let first = withOrder(at: index, { $0.count > 0 ? $0.first() : nil }),
                repositories[Int(first.pointee.repository)].table.isExpired(first, now)
            else { return false }
            repositories[Int(first.pointee.repository)].counts.expirations += 1
            drop(first)
        }
        return true
    }

    /// The order in which the repository's entities stand.
    private mutating func withOrder<Result>(at index: Int, _ body: (inout EvictionOrder) -> Result) -> Result {
        repositories[index].policy == nil ? body(&general) : body(&repositories[index].own)
    }

    // MARK: Entries

    /// The entity, unless it has expired.
    mutating func find(_ id: UnsafeRawBufferPointer, _ hash: UInt64, at index: Int, _ now: UInt64) -> Entity? {
        let table = repositories[index].table
        guard let entity = table.find(id, hash) else { return nil }
        guard table.isExpired(entity, now) else { return entity }
        drop(entity)
        repositories[index].counts.expirations += 1
        return nil
    }

    /// Inserts or overwrites, but for what is larger than all that is allowed, or than the memory that there is: that is not
    /// taken, and what was there is dropped.
    mutating func set(
        _ id: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, version: CommitSequence, at index: Int,
        _ now: UInt64
    ) {
        let table = repositories[index].table
        let hash = table.hash(id)
        let old = table.find(id, hash)
        let size = EntityCache.size(idBytes: id.count, bodyBytes: body.count)
        let isAllowed = withOrder(at: index) { size <= $0.maxSize && !$0.holdsNothing }
        // No two are set in the same moment, so that their order is theirs.
        latestMoment = max(moment(), latestMoment + 1)
        let made =
            isAllowed
            ? CachedEntity.make(
                id, hash, body, version: version, setAt: now, repository: index, used: latestMoment) : nil
        guard let made, table.set(made, insteadOf: old) else {
            if let made { CachedEntity.release(made) }
            if let old {
                drop(old)
                repositories[index].counts.evictions += 1
            }
            return
        }
        repositories[index].counts.fills += 1
        repositories[index].bytes += size - (old?.size ?? 0)
        withOrder(at: index) { order in
            if let old { order.replace(old, with: made) } else { order.append(made) }
        }
        while let evicted = withOrder(at: index, { $0.isOverfull ? $0.first() : nil }) {
            repositories[Int(evicted.pointee.repository)].counts.evictions += 1
            drop(evicted)
        }
    }

    private mutating func drop(_ entity: Entity) {
        let index = Int(entity.pointee.repository)
        repositories[index].bytes -= entity.size
        withOrder(at: index) { $0.remove(entity) }
        repositories[index].table.remove(entity)
    }

    /// Answers whether it was there.
    mutating func remove(_ key: EntityKey, at index: Int) -> Bool {
        let table = repositories[index].table
        guard let entity = key.id.bytes.withBytes({ table.find($0, table.hash($0)) }) else { return false }
        drop(entity)
        return true
    }

    /// Drops so many of the repository's entries, the first in the order of eviction first. Answers how many it were.
    mutating func drop(_ limit: Int, at index: Int) -> Int {
        let table = repositories[index].table
        if limit >= table.count { return dropAll(at: index) }
        let ranked = table.all.map { entity in (rank: withOrder(at: index) { $0.rank(entity) }, entity: entity) }
        for (_, entity) in ranked.sorted(by: { $0.rank < $1.rank }).prefix(limit) { drop(entity) }
        return limit
    }

    private mutating func dropAll(at index: Int) -> Int {
        let table = repositories[index].table
        let count = table.count
        withOrder(at: index) { order in
            if order.count == count { order.removeAll() } else { for entity in table.all { order.remove(entity) } }
        }
        table.removeAll()
        repositories[index].bytes = 0
        return count
    }

    /// All of a repository.
    mutating func invalidate(_ repository: RepositoryID) {
        let index = index(of: repository)
        repositories[index].counts.invalidations += UInt64(drop(.max, at: index))
    }

    mutating func invalidateAll() {
        // At once, not one by one.
        general.removeAll()
        for index in repositories.indices {
            repositories[index].own.removeAll()
            repositories[index].counts.invalidations += UInt64(repositories[index].table.count)
            repositories[index].table.removeAll()
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

    var isEmpty: Bool { !repositories.contains { $0.table.count > 0 } }

    /// Takes in what a commit has changed.
    mutating func follow(_ changes: [EntityChange], _ now: UInt64) {
        if general.count == 0, !repositories.contains(where: { $0.policy != nil }) { return }
        for change in changes {
            let index = index(of: change.key.repository)
            if let body = change.body {
                let table = repositories[index].table
                change.key.id.bytes.withBytes { id in
                    guard repositories[index].policy != nil || table.find(id, table.hash(id)) != nil else { return }
                    body.withBytes { set(id, $0, version: change.version, at: index, now) }
                }
            } else if remove(change.key, at: index) {
                repositories[index].counts.invalidations += 1
            }
        }
    }

    // MARK: Policies and statistics

    /// Answers whether it is another one than before.
    mutating func setPolicy(_ policy: CachePolicy, of repository: RepositoryID) -> Bool {
        let index = index(of: repository)
        if repositories[index].policy == policy { return false }
        repositories[index].counts.invalidations += UInt64(drop(.max, at: index))
        repositories[index].policy = policy
        repositories[index].own = EvictionOrder(
            policy.strategy, maxCount: policy.maxEntries ?? .max, maxSize: policy.maxBytes ?? limitBytes)
        let table = repositories[index].table
        table.timeToLive.store(policy.timeToLiveMilliseconds &* 1_000_000, ordering: .relaxed)
        table.countsUse.store(policy.strategy == .lru, ordering: .relaxed)
        return true
    }

    func statistics(at index: Int) -> CacheStatistics {
        let state = repositories[index]
        var statistics = CacheStatistics(policy: effective(state.policy), isShared: state.policy == nil)
        statistics.counts = state.counts
        statistics.counts.hits += state.table.hits
        statistics.entries = state.table.count
        statistics.bytes = state.bytes
        statistics.heldBytes = state.table.heldBytes + state.own.heldBytes
        return statistics
    }

    /// Of all repositories together.
    var statistics: CacheStatistics {
        var total = CacheStatistics(policy: effective(nil), isShared: true)
        for index in repositories.indices {
            let statistics = statistics(at: index)
            total.counts += statistics.counts
            total.entries += statistics.entries
            total.bytes += statistics.bytes
            total.heldBytes += statistics.heldBytes
        }
        total.heldBytes += general.heldBytes
        return total
    }

    private func effective(_ policy: CachePolicy?) -> CachePolicy {
        var policy = policy ?? CachePolicy()
        policy.maxBytes = policy.maxBytes ?? limitBytes
        return policy
    }
}
