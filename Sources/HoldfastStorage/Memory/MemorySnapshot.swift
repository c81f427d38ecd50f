internal import HoldfastEnvironment
internal import HoldfastQuery

/// A copy of the state as it was. Calls take a copy of their own, so that they need no lock while they run and
/// `close` has nothing to wait for.
final class MemorySnapshot: StorageSnapshot {
    let sequence: CommitSequence

    private let storage: MemoryStorage
    private let epoch: UInt64
    private let state: Lock<MemoryState?>

    init(of storage: MemoryStorage, state: MemoryState, epoch: UInt64) {
        self.storage = storage
        self.epoch = epoch
        sequence = state.newestSequence
        self.state = Lock(state)
    }

    var changeToken: ChangeToken? { ChangeToken(sequence) }

    func fetch(
        _ key: EntityKey, _ body: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try current().fetch(key, body)
    }

    func scan(_ scan: EntityScan, _ body: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError) {
        try current().scan(scan, body)
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try current().repositories }

    func indexes() throws(HoldfastError) -> [IndexRecord] { try current().indexes }

    func scan(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try current().scan(scan, body)
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try current().commitLog(after: sequence, limit: limit)
    }

    func commitLogStart() throws(HoldfastError) -> CommitSequence { try current().commitLogBegins }

    func idempotencyRecord(_ key: [UInt8]) throws(HoldfastError) -> IdempotencyRecord? {
        try current().idempotencyRecord(key)
    }

    func close() { state.withLock { $0 = nil } }

    private func current() throws(HoldfastError) -> MemoryState {
        guard let state = state.withLock({ $0 }), try storage.isCurrent(epoch) else {
            throw HoldfastError(.io, "the snapshot has ended: begin another")
        }
        return state
    }
}
