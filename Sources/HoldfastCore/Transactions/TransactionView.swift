/// The snapshot that a transaction reads, and what it has read there. Guarded by the transaction's lock.
///
/// The snapshot is fixed at the first read. When the pool takes it back, the view moves forward to the newest one if
/// nothing that was read has changed since, which nobody can tell from having read there in the first place.
struct TransactionView {
    private let pool: SnapshotPool
    private let cache: EntityCache
    private let storage: any Storage
    private let names: Catalogue
    private let limits: Limits
    private var shared: SnapshotPool.Shared?
    /// What the host calls the transaction.
    private let owner: String?
    private var reads: ReadSet?
    /// What validators have read, once they are asked: the keys, and the predicates from this one on.
    private var validated: (keys: Set<EntityKey>, predicates: Int)?

    init(of store: Store, owner: String?) {
        self.owner = owner
        pool = store.snapshots
        cache = store.cache
        storage = store.storage
        names = store.catalogue
        limits = store.environment.limits
    }

    /// Lends the entity to `body`, or answers false, and records that it was read. `body` may be called again if the
    /// snapshot is taken back meanwhile.
    mutating func fetch(
        _ key: EntityKey, requiresSound: Bool = true,
        _ body: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try reads?.keys.askToGrow()
        var isOutdated = false
        if let entity = try cached(key, &isOutdated) {
            try entity.text.withBytes { text throws(HoldfastError) in try body(entity.version, text) }
            record(key, entity.version)
            return true
        }
        var version: CommitSequence = 0
        let cache = cache
        let check = names.check(of: key.repository)
        let found = try read { snapshot throws(HoldfastError) in
            version = 0
            // What others have committed has left most entries as they were.
            if isOutdated, let entity = cache.entity(key, at: snapshot.sequence) {
                version = entity.version
                try entity.text.withBytes { text throws(HoldfastError) in try body(entity.version, text) }
                return true
            }
            return try snapshot.fetch(key) { view throws(HoldfastError) in
                version = view.version
                let isSound = try check?.isSound(view) ?? true
                if requiresSound, !isSound, let check { throw try check.refusal(of: view) }
                try body(view.version, view.body)
                if isSound { cache.fill(key, from: snapshot, view) }
            }
        }
        record(key, version)
        return found
    }

    private mutating func record(_ key: EntityKey, _ version: CommitSequence) {
        reads?.keys[key] = version
        validated?.keys.insert(key)
    }

    /// From here on it is the validators who read, and what they relied on is checked under every isolation.
    mutating func beginValidation() { validated = ([], reads?.predicates.count ?? 0) }

    /// Checks that what was read still holds in the newest state.
    mutating func confirm() throws(HoldfastError) {
        if let shared { try moveForward(from: shared) }
    }

    /// `isOutdated`: whether to ask again at the snapshot that is then opened.
    private mutating func cached(
        _ key: EntityKey, _ isOutdated: inout Bool
    ) throws(HoldfastError) -> EntityCache.Entity? {
        if let shared { return cache.entity(key, at: shared.sequence) }
        let token = storage.changeToken
        let look = cache.newest(key, token)
        if case .outdated = look { isOutdated = true }
        guard let (head, entity) = look.found, let token else { return nil }
        let acquired = try pool.acquire(at: head, token)
        // A commit that began before the snapshot was acquired does not pin it.
        if cache.isCommitting {
            pool.release(acquired)
            return nil
        }
        hold(acquired)
        reads = ReadSet(snapshot: head)
        return entity
    }

    /// Runs `body` on the snapshot; again from its beginning if the snapshot is taken back meanwhile.
    mutating func read<Result>(
        _ body: (any StorageSnapshot) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        while true {
            let shared = try current()
            guard let storage = try pool.storage(of: shared) else {
                try moveForward(from: shared)
                continue
            }
            do throws(HoldfastError) {
                return try body(storage)
            } catch {
                guard pool.isRevoked(shared) else { throw error }
            }
        }
    }

    /// Records what a query relies on, or what one that went on relies on by now, and answers where.
    mutating func record(_ predicate: ReadSet.Predicate, insteadOf former: Int?) -> Int? {
        guard reads != nil else { return nil }
        if let former {
            reads!.predicates[former] = predicate
            return former
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
            var written = ReadSet(snapshot: reads.snapshot)
            for write in writes { written.keys[write.key] = reads.keys[write.key] ?? 0 }
            if let validated {
                for key in validated.keys { written.keys[key] = reads.keys[key] ?? 0 }
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
        reads = ReadSet(snapshot: acquired.sequence)
        return acquired
    }

    private mutating func hold(_ acquired: SnapshotPool.Shared) {
        shared = acquired
        if let owner { pool.note(owner, of: acquired) }
    }

    private mutating func moveForward(from old: SnapshotPool.Shared) throws(HoldfastError) {
        while true {
            let (newer, storage) = try pool.acquire()
            do throws(HoldfastError) {
                if let reads, !reads.isEmpty, newer.sequence > reads.snapshot {
                    let check =
                        reads.predicates.isEmpty
                        ? Self.check(ofKeys: reads, on: storage) : try check(of: reads, on: storage)
                    let conflict = try check.conflict(of: reads) { names.name(of: $0) }
                    if let conflict { throw conflict }
                }
                return adopt(newer, insteadOf: old)
            } catch {
                // The newer one may be taken back, too, in the middle of the check.
                let isRevoked = pool.isRevoked(newer)
                pool.release(newer)
                if !isRevoked { throw error }
            }
        }
    }

    /// Compares what is there now with what was read: whatever happened in between, and without the log.
    private static func check(ofKeys reads: ReadSet, on snapshot: any StorageSnapshot) -> ConflictCheck {
        ConflictCheck(
            lastWrite: { key throws(HoldfastError) in
                var version: CommitSequence = 0
                _ = try snapshot.fetch(key) { view throws(HoldfastError) in version = view.version }
                return version == reads.keys[key] ? 0 : max(version, reads.snapshot + 1)
            },
            firstChange: { _ throws(HoldfastError) in nil }, newest: { _, _ throws(HoldfastError) in false })
    }

    private func check(
        of reads: ReadSet, on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> ConflictCheck {
        guard let entries = try snapshot.log(after: reads.snapshot) else { throw ConflictCheck.trimmed }
        var recent = RecentCommits(start: reads.snapshot, limit: limits.recentChanges)
        recent.append(entries)
        return ConflictCheck(
            lastWrite: { recent.lastWrite($0) },
            firstChange: { isMeant throws(HoldfastError) in
                try ConflictCheck.firstChange(in: recent.entries(after: reads.snapshot), where: isMeant)
            },
            newest: { key, matches throws(HoldfastError) in
                var found = false
                _ = try snapshot.fetch(key) { view throws(HoldfastError) in found = try matches(view.body) }
                return found
            })
    }

    private mutating func adopt(_ newer: SnapshotPool.Shared, insteadOf old: SnapshotPool.Shared) {
        pool.release(old, owner: owner)
        hold(newer)
        if reads == nil { reads = ReadSet(snapshot: newer.sequence) }
        reads?.snapshot = newer.sequence
    }
}
