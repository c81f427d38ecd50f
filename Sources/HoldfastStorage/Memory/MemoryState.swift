public import HoldfastEnvironment
public import HoldfastQuery

/// Everything that a store in memory consists of, as one value: a copy is a backup, a fork, or a snapshot.
public struct MemoryState: Sendable {
    public var incarnation: [UInt8]
    /// The newest sequence in the commit log.
    public var newestSequence: CommitSequence = 0
    /// Sequences up to this one may be used without being reserved first.
    public var reservedThrough: CommitSequence = 0
    public var repositories: [RepositoryRecord] = []

    package var entities = OrderedMap<EntityKey, Entity>()
    package var indexes: [IndexRecord] = []
    package var indexEntries = OrderedMap<IndexEntry, Void>()
    package var commitLog = OrderedMap<CommitSequence, CommitLogEntry>()
    /// The commit log is complete from this sequence on.
    package var commitLogBegins: CommitSequence = 0
    package var idempotency = OrderedMap<CommitSequence, IdempotencyRecord>()
    /// The commit that each idempotency key stands for.
    var idempotencySequences = OrderedMap<IdempotencyKey, CommitSequence>()

    package struct Entity: Sendable {
        package var version: CommitSequence
        package var body: [UInt8]
    }

    struct IdempotencyKey: Comparable, Sendable {
        var bytes: [UInt8]

        static func < (left: Self, right: Self) -> Bool {
            left.bytes.withUnsafeBytes { a in right.bytes.withUnsafeBytes { b in compareBytes(a, b) < 0 } }
        }
    }

    /// An empty store. `incarnation` has 16 bytes.
    public init(incarnation: [UInt8]) { self.incarnation = incarnation }

    /// An empty store with an incarnation of its own.
    public static func fresh(random: any RandomSource = SystemRandom()) -> MemoryState {
        let words = [random.next(), random.next()]
        return MemoryState(incarnation: words.withUnsafeBytes { Array($0) })
    }
}

// MARK: - Reading

extension MemoryState {
    /// See `StorageSnapshot.fetch`.
    package func fetch(
        _ key: EntityKey, _ body: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        guard let entity = entities[key] else { return false }
        try entity.lend(id: key.id, body)
        return true
    }

    /// See `StorageSnapshot.scan`.
    package func scan(
        _ scan: EntityScan, _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        let first = EntityKey(scan.repository, EntityID(unchecked: scan.range.lower))
        let end = EntityKey(scan.repository, EntityID(unchecked: scan.range.upper))
        if scan.isReversed {
            try entities.walkBackward(before: end) { (key, entity) throws(HoldfastError) in
                key < first ? false : try entity.lend(id: key.id, body)
            }
        } else {
            try entities.walk(from: first) { (key, entity) throws(HoldfastError) in
                key < end ? try entity.lend(id: key.id, body) : false
            }
        }
    }

    /// See `StorageSnapshot.commitLog`.
    package func commitLog(after sequence: CommitSequence, limit: Int = .max) -> [CommitLogEntry]? {
        guard sequence < .max else { return [] }
        guard sequence + 1 >= commitLogBegins else { return nil }
        var entries: [CommitLogEntry] = []
        commitLog.walk(from: sequence + 1) { _, entry in
            entries.append(entry)
            return entries.count < limit
        }
        return entries
    }

    /// See `StorageSnapshot.idempotencyRecord`.
    package func idempotencyRecord(_ key: [UInt8]) -> IdempotencyRecord? {
        idempotencySequences[IdempotencyKey(bytes: key)].flatMap { idempotency[$0] }
    }
}

extension MemoryState.Entity {
    package func lend<Result>(
        id: EntityID, _ borrow: (EntityView) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try id.bytes.withUnsafeBufferPointer { (id) throws(HoldfastError) in
            try body.withUnsafeBufferPointer { (body) throws(HoldfastError) in
                try borrow(
                    EntityView(
                        id: UnsafeRawBufferPointer(id), version: version, body: UnsafeRawBufferPointer(body)))
            }
        }
    }
}

// MARK: - Writing

extension MemoryState {
    /// See `StorageWrite.apply`.
    package mutating func apply(_ batch: WriteBatch) {
        for record in batch.repositories { set(record) }
        applyIndexes(batch)
        for change in batch.changes {
            entities[change.key] = change.body.map { Entity(version: change.version, body: $0) }
        }
        for entry in batch.commitLog {
            commitLog[entry.sequence] = entry
            newestSequence = max(newestSequence, entry.sequence)
        }
        for record in batch.idempotency { note(record) }
        if let mark = batch.reservedThrough { reservedThrough = mark }
        if let mark = batch.trimCommitLogBelow { trimCommitLog(below: mark) }
        trimIdempotency(before: batch.trimIdempotencyBefore ?? 0, keeping: batch.keepIdempotency ?? .max)
    }

    private mutating func set(_ record: RepositoryRecord) {
        if let known = repositories.firstIndex(where: { $0.id == record.id }) {
            repositories[known] = record
        } else {
            repositories.append(record)
        }
        guard record.isDropped else { return }
        var keys: [EntityKey] = []
        entities.walk(from: EntityKey(whole: record.id)) { key, _ in
            if key.repository == record.id { keys.append(key) }
            return key.repository == record.id
        }
        for key in keys { entities[key] = nil }
    }

    /// After an unclean end: puts an entry without changes at the end of the block of sequences that was reserved, so
    /// that none of them is given out a second time.
    package mutating func skipReserved() {
        guard reservedThrough > newestSequence else { return }
        let time = commitLog[newestSequence]?.time ?? 0
        commitLog[reservedThrough] = CommitLogEntry(
            sequence: reservedThrough, commitIdentifier: 0, time: time, changes: [])
        newestSequence = reservedThrough
    }

    private mutating func note(_ record: IdempotencyRecord) {
        let key = IdempotencyKey(bytes: record.key)
        if let earlier = idempotencySequences[key] { idempotency[earlier] = nil }
        idempotencySequences[key] = record.sequence
        idempotency[record.sequence] = record
    }

    private mutating func trimCommitLog(below mark: CommitSequence) {
        commitLogBegins = max(commitLogBegins, mark)
        while let oldest = commitLog.first, oldest.key < mark { commitLog[oldest.key] = nil }
    }

    /// Stops at the first record that is young enough: commit order is time order, except where the wall clock
    /// jumped back, and there a record is kept longer.
    private mutating func trimIdempotency(before time: UInt64, keeping limit: Int) {
        while let oldest = idempotency.first?.value, oldest.time < time || idempotency.count > limit {
            idempotency[oldest.sequence] = nil
            idempotencySequences[IdempotencyKey(bytes: oldest.key)] = nil
        }
    }
}
