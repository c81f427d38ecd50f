internal import HoldfastEnvironment
internal import HoldfastQuery

/// A copy of the state that is changed alone and published whole.
final class MemoryWrite: StorageWrite {
    let head: CommitSequence

    private let storage: MemoryStorage
    private var state: MemoryState

    init(of storage: MemoryStorage, state: MemoryState) {
        self.storage = storage
        self.state = state
        head = state.newestSequence
    }

    var changeToken: ChangeToken? { ChangeToken(head) }

    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        for (index, key) in keys.enumerated() {
            _ = try state.fetch(key) { (view) throws(HoldfastError) in try body(index, view) }
        }
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        state.commitLog(after: sequence, limit: limit)
    }

    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) {
        state.commitLog.walkBackward(before: .max) { sequence, entry in
            body(sequence, CommitLogSizes.bytes(of: [entry]))
        }
    }

    func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?] {
        keys.map { state.idempotencyRecord($0) }
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { state.repositories }

    func indexes() throws(HoldfastError) -> [IndexRecord] { state.indexes }

    func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try state.ids(under: key, of: index.id, body)
    }

    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        state.removeEntries(of: index, limit: limit)
    }

    func apply(_ batch: WriteBatch) throws(HoldfastError) { state.apply(batch) }

    func commit() throws(HoldfastError) -> ChangeToken? {
        storage.endWrite(publishing: state)
        return ChangeToken(state.newestSequence)
    }

    func rollback() { storage.endWrite(publishing: nil) }
}
