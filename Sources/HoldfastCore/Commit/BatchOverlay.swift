/// What the commits of one batch have changed so far. Later members are judged as if the earlier ones were
/// already stored; what is applied in the end is each entity's last state.
struct BatchOverlay {
    struct Change {
        var version: CommitSequence
        var body: [UInt8]?
    }

    private(set) var changes: [EntityKey: Change] = [:]
    private(set) var log: [LogEntry] = []
    private(set) var idempotency: [[UInt8]: IdempotencyRecord] = [:]
    private(set) var createdRepositories: [RepositoryRecord] = []

    /// Whether nothing has to be stored.
    var isEmpty: Bool { log.isEmpty }

    subscript(key: EntityKey) -> Change? { changes[key] }

    mutating func add(_ entry: LogEntry, bodies: [[UInt8]?]) {
        for (change, body) in zip(entry.changes, bodies) {
            changes[change.key] = Change(version: entry.sequence, body: body)
        }
        log.append(entry)
    }

    mutating func add(_ record: IdempotencyRecord) { idempotency[record.key] = record }
    mutating func add(_ repository: RepositoryRecord) { createdRepositories.append(repository) }

    /// What the engine has to store.
    func writeBatch() -> WriteBatch {
        var batch = WriteBatch()
        batch.changes = changes.map { EntityChange(key: $0.key, version: $0.value.version, body: $0.value.body) }
        if batch.changes.count > 1 { batch.changes.sort { $0.key < $1.key } }
        batch.log = log
        batch.idempotency = Array(idempotency.values)
        batch.createdRepositories = createdRepositories
        return batch
    }
}
