internal import HoldfastQuery
internal import HoldfastStorage

/// What the commits of one batch have changed so far. Later members are validated as if the earlier ones were
/// already stored; what is applied in the end is each entity's last state.
struct BatchOverlay {
    /// In commit order.
    private var changes: [EntityChange] = []
    /// Where each key's last change is. Made when somebody asks: most batches have members that ask nothing.
    private var last: [EntityKey: Int]?
    private(set) var commitLog: [CommitLogEntry] = []
    private(set) var idempotency: [[UInt8]: IdempotencyRecord] = [:]
    /// Repositories as they are known from now on, in the order in which they take their names.
    private(set) var repositories: [RepositoryRecord] = []
    /// Indexes as they are known from now on.
    private(set) var indexes: [IndexRecord] = []
    private(set) var removedIndexes: [IndexID] = []
    /// What entities have instead of the sequence of the commit that wrote them last, if it is this one.
    private var kept: [EntityKey: (version: CommitSequence, sequence: CommitSequence)] = [:]

    init(commits: Int) {
        changes.reserveCapacity(commits)
        commitLog.reserveCapacity(commits)
    }

    /// Whether nothing has to be stored.
    var isEmpty: Bool { commitLog.isEmpty }

    /// The last change of an entity; nil if there was none.
    mutating func change(of key: EntityKey) -> EntityChange? {
        prepareLookups()
        return self[key]
    }

    /// The same, after `prepareLookups`.
    subscript(key: EntityKey) -> EntityChange? { changes.isEmpty ? nil : last![key].map { changes[$0] } }

    mutating func prepareLookups() {
        guard last == nil, !changes.isEmpty else { return }
        last = Dictionary(minimumCapacity: changes.capacity)
        for (index, change) in changes.enumerated() { last![change.key] = index }
    }

    /// The last change of each entity there that was changed, after `prepareLookups`.
    func newestChanges(in repository: RepositoryID) -> [EntityChange] {
        changes.indices.filter { changes[$0].key.repository == repository && last![changes[$0].key] == $0 }
            .map { changes[$0] }
    }

    mutating func add(_ entry: CommitLogEntry, _ bodies: [[UInt8]?]) {
        for (change, body) in zip(entry.changes, bodies) { add(change.key, entry.sequence, body) }
        commitLog.append(entry)
    }

    /// Of a commit with one change.
    mutating func add(_ entry: CommitLogEntry, _ body: [UInt8]?) {
        add(entry.changes[0].key, entry.sequence, body)
        commitLog.append(entry)
    }

    /// The versions that entities of the commit at this sequence are to have.
    mutating func keep(_ versions: [EntityKey: CommitSequence], at sequence: CommitSequence) {
        for (key, version) in versions { kept[key] = (version, sequence) }
    }

    var keepsVersions: Bool { !kept.isEmpty }

    mutating func add(_ record: IdempotencyRecord) { idempotency[record.key] = record }

    mutating func set(_ repository: RepositoryRecord) {
        repositories.removeAll { $0.id == repository.id }
        repositories.append(repository)
    }

    mutating func set(_ index: IndexRecord) {
        indexes.removeAll { $0.id == index.id }
        indexes.append(index)
    }

    mutating func remove(_ index: IndexID) {
        indexes.removeAll { $0.id == index }
        removedIndexes.append(index)
    }

    /// What each entry of the commit log has changed, with the versions that the entities are given.
    var members: [[EntityChange]] {
        var start = 0
        return commitLog.map { entry in
            defer { start += entry.changes.count }
            return changes[start..<(start + entry.changes.count)].map(final)
        }
    }

    private mutating func add(_ key: EntityKey, _ version: CommitSequence, _ body: [UInt8]?) {
        last?[key] = changes.count
        changes.append(EntityChange(key: key, version: version, body: body))
    }

    /// What the engine has to store.
    func writeBatch() -> WriteBatch {
        var batch = WriteBatch()
        batch.changes = finalChanges()
        if !repositories.isEmpty { batch.changes.removeAll { $0.key.isWhole } }
        if keepsVersions { batch.changes = batch.changes.map(final) }
        batch.commitLog = commitLog
        batch.idempotency = Array(idempotency.values)
        batch.repositories = repositories
        batch.indexes = indexes
        batch.removedIndexes = removedIndexes
        return batch
    }

    /// With the version that the entity is given.
    private func final(_ change: EntityChange) -> EntityChange {
        guard let kept = kept[change.key], kept.sequence == change.version else { return change }
        return EntityChange(key: change.key, version: kept.version, body: change.body)
    }

    /// Each entity's last state, ordered by key.
    private func finalChanges() -> [EntityChange] {
        if changes.count < 2 { return changes }
        let order = KeyOrder(count: changes.count) { changes[$0].key }
        var final: [EntityChange] = []
        final.reserveCapacity(changes.count)
        for index in order.indexes {
            // Of equal keys the later one comes later.
            if order.hasDuplicates, final.last?.key == changes[index].key { final.removeLast() }
            final.append(changes[index])
        }
        return final
    }
}
