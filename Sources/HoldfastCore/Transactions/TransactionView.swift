internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The snapshot that a transaction reads, and what it has read there. Guarded by the transaction's lock.
///
/// The snapshot is fixed at the first read. When the pool takes it back, the view moves forward to the newest one if
/// nothing that was read has changed since, which nobody can tell from having read there in the first place.
struct TransactionView {
    /// The one reference to all that it uses: most transactions are short, and copies of those would be a good part of them.
    private let store: Store
    private var pool: SnapshotPool { store.snapshots }
    private var cache: EntityCache { store.cache }
    private var storage: any Storage { store.storage }
    private var names: Catalogue { store.catalogue }
    private var table: (repository: RepositoryID, table: CacheTable)?
    private(set) var shared: SnapshotPool.Shared?
    /// How long ago the state that it reads in the cache may have been the newest: its end is held against the newest.
    private let trust: UInt64
    /// Whether the newest state was known to be another, or not asked for, when this one was taken for it.
    private(set) var mustConfirm = false
    /// What the host calls the transaction.
    private let owner: String?
    private(set) var reads: ReadSet?
    /// What validators have read, once they are asked: the keys, and the predicates from this one on.
    private(set) var validated: (keys: Set<EntityKey>, predicates: Int)?

    init(of store: Store, owner: String?, _ isolation: Isolation) {
        self.owner = owner
        trust = isolation == .serializable ? UInt64(store.environment.limits.trustedState) : 0
        self.store = store
    }

    /// Lends the entity to `visit`, or answers false, and records that it was read. `visit` may be called again if the
    /// snapshot is taken back meanwhile.
    mutating func fetch(
        _ key: EntityKey, requiresSound: Bool = true,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try reads?.keys.askToGrow()
        var version: CommitSequence = 0
        func note(_ found: CommitSequence, _ body: UnsafeRawBufferPointer) throws(HoldfastError) {
            version = found
            try visit(found, body)
        }
        let table = table(of: key.repository)
        var isOutdated = false
        let isCached = try key.id.bytes.withBytes { id throws(HoldfastError) in
            try lendCached(table, id, &isOutdated, note)
        }
        if isCached {
            record(key, version)
            return true
        }
        let cache = cache
        let check = names.check(of: key.repository)
        let found = try read { snapshot throws(HoldfastError) in
            version = 0
            // What others have committed has left most entries as they were.
            if isOutdated {
                let isCached = try key.id.bytes.withBytes { id throws(HoldfastError) in
                    try cache.lend(table, id, at: snapshot.sequence, note)
                }
                if isCached { return true }
            }
            return try snapshot.fetch(key) { view throws(HoldfastError) in
                let isSound = check?.isSound(view) ?? true
                if requiresSound, !isSound, let check { throw check.refusal(of: view) }
                try note(view.version, view.body)
                if isSound { cache.fill(key, from: snapshot, view) }
            }
        }
        record(key, version)
        return found
    }

    /// What is cached of a repository, which is mostly the same one again.
    private mutating func table(of repository: RepositoryID) -> CacheTable {
        if let table, table.repository == repository { return table.table }
        let found = cache.table(of: repository)
        table = (repository, found)
        return found
    }

    private mutating func record(_ key: EntityKey, _ version: CommitSequence) {
        reads?.keys.set(key, version)
        validated?.keys.insert(key)
    }

    /// From here on it is the validators who read, and what they relied on is checked under every isolation.
    mutating func beginValidation() { validated = ([], reads?.predicates.count ?? 0) }

    /// Checks that what was read still holds in the newest state.
    mutating func confirm() throws(HoldfastError) {
        guard let shared else { return }
        if try !pool.isNewest(shared) { try moveForward(from: shared) }
        mustConfirm = false
    }

    /// `isOutdated`: whether to ask again at the snapshot that is then opened. `visit` may have been called also where the
    /// answer is false.
    private mutating func lendCached(
        _ table: CacheTable, _ id: UnsafeRawBufferPointer, _ isOutdated: inout Bool,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        if let shared { return try cache.lend(table, id, at: shared.sequence, visit) }
        // Who asks a server anyway opens a snapshot with that, which no commit takes from under him.
        if trust == 0 && storage.isRemote {
            isOutdated = true
            return false
        }
        let known = trust > 0 && storage.isRemote ? storage.knownToken(within: trust) : nil
        // What is not there is read without being asked after.
        let mayBeThere = known != nil || !storage.isRemote || cache.holds(table, id)
        var token = known
        if token == nil && mayBeThere { token = try storage.changeToken }
        let look = try cache.lendNewest(table, id, token, visit)
        if look == .outdated { isOutdated = true }
        guard case .found(let head) = look, let token else { return false }
        let acquired = try pool.acquire(at: head, token)
        // A commit that began before the snapshot was acquired does not pin it, also where it has ended by now.
        if cache.isCommitting || storage.knownToken(within: .max) != token {
            pool.release(acquired)
            return false
        }
        hold(acquired)
        reads = ReadSet(snapshot: head, in: acquired.history)
        mustConfirm = known != nil
        return true
    }

    /// Runs `body` on the snapshot; again from its beginning if the snapshot is taken back meanwhile.
    mutating func read<Result>(
        _ body: (any StorageSnapshot) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        var losses = 0
        while true {
            let shared = try current()
            guard let storage = try pool.storage(of: shared) else {
                try moveForward(from: shared)
                continue
            }
            do throws(HoldfastError) {
                return try body(storage)
            } catch {
                guard pool.mustBeginAnew(shared, after: error, &losses) else { throw error }
            }
        }
    }

    /// Records what a query relies on, or what one that went on relies on by now, and answers where.
    mutating func record(_ predicate: ReadSet.Predicate, insteadOf previous: Int?) -> Int? {
        guard reads != nil else { return nil }
        if let previous {
            reads!.predicates[previous] = predicate
            return previous
        }
        reads!.predicates.append(predicate)
        return reads!.predicates.count - 1
    }

    /// What the commit relies on.
    func readsForCommit(_ isolation: Isolation, _ writes: [Write]) -> ReadSet? {
        guard let reads else { return nil }
        switch isolation {
        case .serializable: return reads.isEmpty ? nil : reads
        case .snapshot:
            var written = ReadSet(snapshot: reads.snapshot, in: reads.history)
            for write in writes { written.keys.set(write.key, reads.keys[write.key] ?? ReadSet.unseen) }
            if let validated {
                for key in validated.keys { written.keys.set(key, reads.keys[key] ?? ReadSet.unseen) }
                written.predicates = Array(reads.predicates[validated.predicates...])
            }
            return written
        }
    }

    mutating func release() {
        if let shared { pool.release(shared, owner: owner) }
        shared = nil
        reads = nil
    }

    private mutating func current() throws(HoldfastError) -> SnapshotPool.Shared {
        if let shared { return shared }
        let (acquired, _) = try pool.acquire()
        hold(acquired)
        reads = ReadSet(snapshot: acquired.sequence, in: acquired.history)
        return acquired
    }

    private mutating func hold(_ acquired: SnapshotPool.Shared) {
        shared = acquired
        if let owner { pool.note(owner, of: acquired) }
    }

    private mutating func moveForward(from old: SnapshotPool.Shared) throws(HoldfastError) {
        var losses = 0
        while true {
            let (newer, storage) = try pool.acquire()
            do throws(HoldfastError) {
                if let reads, !reads.isEmpty, newer.history != reads.history { throw ConflictCheck.ofLostHistory }
                if let reads, !reads.isEmpty, newer.sequence > reads.snapshot {
                    let conflict = try check(reads, on: storage).conflict { names.name(of: $0) }
                    if let conflict { throw conflict }
                }
                return adopt(newer, insteadOf: old)
            } catch {
                // The newer one may be taken back, too, in the middle of the check.
                let mustBeginAnew = pool.mustBeginAnew(newer, after: error, &losses)
                pool.release(newer)
                if !mustBeginAnew { throw error }
            }
        }
    }

    private func check(
        _ reads: ReadSet, on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> ConflictCheck {
        var check = ConflictCheck(of: reads)
        let keys = reads.keys.map { $0.key }
        var versions = [CommitSequence](repeating: 0, count: keys.count)
        try snapshot.fetch(keys) { index, view in versions[index] = view.version }
        for (key, version) in zip(keys, versions) { check.compare(key, with: version) }
        if check.hasChangedKeys || reads.predicates.isEmpty { return check }
        let recent = try RecentCommits(
            behind: [reads.snapshot], in: reads.repositoriesToFollow, head: snapshot.sequence, store.environment.limits
        ) { after, limit throws(HoldfastError) in try snapshot.commitLog(after: after, limit: limit) }
        guard recent.covers(reads.snapshot) else { throw ConflictCheck.tooOld }
        var stored = StoredChanges(recent.changes, oldest: reads.snapshot, store.environment) {
            keys, body throws(HoldfastError) in try snapshot.fetch(keys, body)
        }
        for predicate in reads.predicates where !check.hasChangedKeys { try check.look(for: predicate, in: &stored) }
        return check
    }

    private mutating func adopt(_ newer: SnapshotPool.Shared, insteadOf old: SnapshotPool.Shared) {
        pool.release(old, owner: owner)
        hold(newer)
        if reads == nil { reads = ReadSet(snapshot: newer.sequence, in: newer.history) }
        (reads!.snapshot, reads!.history) = (newer.sequence, newer.history)
        mustConfirm = false
    }
}
