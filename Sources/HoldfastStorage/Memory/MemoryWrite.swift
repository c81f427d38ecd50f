package import HoldfastEnvironment
package import HoldfastQuery

/// A write whose log, indexes and idempotency keys lie in a state in memory.
package protocol StateWrite: StorageWrite {
    var state: MemoryState { get set }
}

extension StateWrite {
    package func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        state.commitLog(after: sequence, limit: limit)
    }

    package func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?] {
        keys.map { state.idempotencyRecord($0) }
    }

    package func repositories() throws(HoldfastError) -> [RepositoryRecord] { state.repositories }

    package func indexes() throws(HoldfastError) -> [IndexRecord] { state.indexes }

    package func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try state.ids(under: key, of: index.id, body)
    }

    package func lastKeys(
        in ranges: [KeyRange], of index: IndexRecord,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try state.lastKeys(in: ranges, of: index.id, body)
    }

    package func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        state.removeEntries(of: index, limit: limit)
    }
}

/// A copy of the state that is changed alone and published whole.
final class MemoryWrite: StateWrite {
    let head: CommitSequence

    private let storage: MemoryStorage
    var state: MemoryState

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

    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) {
        state.commitLog.walkBackward(before: .max) { sequence, entry in
            body(sequence, CommitLogSizes.bytes(of: [entry]))
        }
    }

    func apply(_ batch: WriteBatch) throws(HoldfastError) { state.apply(batch) }

    func commit() throws(HoldfastError) -> WriteOutcome {
        storage.endWrite(publishing: state)
        return .stored(ChangeToken(state.newestSequence))
    }

    func rollback() { storage.endWrite(publishing: nil) }
}
