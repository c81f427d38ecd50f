/// The snapshot that a transaction reads, and what it has read there. Guarded by the transaction's lock.
///
/// The snapshot is fixed at the first read. When the pool takes it back, the view moves forward to the newest one if
/// nothing that was read has changed since, which nobody can tell from having read there in the first place.
struct TransactionView {
    private let pool: SnapshotPool
    private let names: Catalogue
    private var shared: SnapshotPool.Shared?
    private var reads: ReadSet?

    init(pool: SnapshotPool, names: Catalogue) {
        self.pool = pool
        self.names = names
    }

    /// Runs `body` on the snapshot; again from its beginning if the snapshot is taken back meanwhile.
    mutating func read<Result>(
        _ body: (any StorageSnapshot) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        while true {
            let shared = try current()
            do throws(HoldfastError) {
                return try body(shared.storage)
            } catch {
                guard pool.isRevoked(shared) else { throw error }
            }
        }
    }

    mutating func record(_ key: EntityKey, _ version: CommitSequence) { reads?.keys[key] = version }
    mutating func record(_ predicate: ReadSet.Predicate) { reads?.predicates.append(predicate) }

    /// What the commit relies on.
    func readsForCommit(_ isolation: Isolation, _ writes: [Write]) -> ReadSet? {
        guard let reads else { return nil }
        switch isolation {
        case .serializable: return reads.isEmpty ? nil : reads
        case .snapshot:
            var written = ReadSet(snapshot: reads.snapshot)
            for write in writes { written.keys[write.key] = reads.keys[write.key] ?? 0 }
            return written
        }
    }

    mutating func release() {
        if let shared { pool.release(shared) }
        shared = nil
        reads = nil
    }

    private mutating func current() throws(HoldfastError) -> SnapshotPool.Shared {
        guard let shared else {
            let acquired = try pool.acquire()
            self.shared = acquired
            reads = ReadSet(snapshot: acquired.sequence)
            return acquired
        }
        return pool.isRevoked(shared) ? try moveForward(from: shared) : shared
    }

    private mutating func moveForward(from old: SnapshotPool.Shared) throws(HoldfastError) -> SnapshotPool.Shared {
        let newer = try pool.acquire()
        do throws(HoldfastError) {
            guard let reads, !reads.isEmpty, newer.sequence > reads.snapshot else {
                return adopt(newer, insteadOf: old)
            }
            let check =
                reads.predicates.isEmpty
                ? Self.check(ofKeys: reads, on: newer.storage)
                : try Self.check(of: reads, on: newer.storage)
            let conflict = try check.conflict(of: reads) { names.name(of: $0) }
            if let conflict { throw conflict }
            return adopt(newer, insteadOf: old)
        } catch {
            pool.release(newer)
            throw error
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

    private static func check(
        of reads: ReadSet, on snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> ConflictCheck {
        guard let entries = try snapshot.log(after: reads.snapshot) else { throw ConflictCheck.trimmed }
        var recent = RecentCommits(start: reads.snapshot)
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

    private mutating func adopt(
        _ newer: SnapshotPool.Shared, insteadOf old: SnapshotPool.Shared
    ) -> SnapshotPool.Shared {
        pool.release(old)
        shared = newer
        if reads == nil { reads = ReadSet(snapshot: newer.sequence) }
        reads?.snapshot = newer.sequence
        return newer
    }
}
