@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

/// A storage in memory that counts what it is asked for, and whose calls others may hold up or let fail.
final class HookedStorage: Storage {
    enum Call { case beginSnapshot, acquireWriteLock, beginWrite, fetch, commitLog, apply, commit, compact }

    private struct State {
        /// Keys, of fetches.
        var counts: [Call: Int] = [:]
        var held: Call?
        var isHolding = false
        var refused: (@Sendable (WriteBatch) -> Bool)?
        var failingCommit: FailingCommit?
        /// What it is found to have lost when it is asked what became of a COMMIT.
        var lostMeanwhile: HoldfastError?
        var loss: HoldfastError?
    }

    /// How a COMMIT fails: nobody knows what it left, or somebody else was faster.
    enum FailingCommit { case stored, lost, overtaken }

    /// What calls fail with.
    static let failure = HoldfastError(.io, "the disk is broken")

    private let memory = MemoryStorage()
    private let state = Lock(State())
    private let changed = Gate()
    let isRemote: Bool

    init(isRemote: Bool = false) { self.isRemote = isRemote }

    var engine: String { memory.engine }
    var location: String { memory.location }
    var isReadOnly: Bool { false }
    var keepsCatalogue: Bool { memory.keepsCatalogue }
    var changeToken: ChangeToken? { memory.changeToken }

    /// How often a write was asked for that, since it was asked the last time.
    func takeCounts() -> [Call: Int] {
        state.withLock { state in
            defer { state.counts = [:] }
            return state.counts
        }
    }

    /// The same since then.
    func count(of call: Call) -> Int { state.withLock { $0.counts[call] ?? 0 } }

    /// The next such call goes on when it is let go.
    func hold(_ call: Call) { state.withLock { $0.held = call } }

    var isHolding: Bool { state.withLock { $0.isHolding } }

    func waitUntilHolding() { wait { $0.isHolding } }

    /// The call that is held goes on; the next such call is held then.
    func letGo(andHold next: Call? = nil) {
        state.withLock { state in
            state.held = next
            state.isHolding = false
        }
        changed.advance()
    }

    /// Batches that are meant do not fit from now on.
    func refuse(_ isMeant: @escaping @Sendable (WriteBatch) -> Bool) { state.withLock { $0.refused = isMeant } }

    /// The next COMMIT fails.
    func failCommit(_ failing: FailingCommit) { state.withLock { $0.failingCommit = failing } }

    /// Other commits are found to be lost when it is asked what became of one.
    func loseMeanwhile() {
        state.withLock { $0.lostMeanwhile = HoldfastError(.historyLost, "a replica that was behind was promoted") }
    }

    fileprivate func check(_ batch: WriteBatch) throws(HoldfastError) {
        let isRefused = state.withLock { $0.refused?(batch) ?? false }
        if isRefused { throw HoldfastError(.full, "the disk is full") }
    }

    fileprivate func takeFailingCommit() -> FailingCommit? { state.withLock { $0.failingCommit.take() } }

    private func wait(until condition: (State) -> Bool) {
        while true {
            let seen = changed.number
            if state.withLock({ condition($0) }) { return }
            changed.wait(while: seen)
        }
    }

    fileprivate func note(_ call: Call, count: Int = 1) {
        let isHeld = state.withLock { state in
            state.counts[call, default: 0] += count
            if state.held == call { state.isHolding = true }
            return state.held == call
        }
        guard isHeld else { return }
        changed.advance()
        wait { !$0.isHolding }
    }

    func readState() throws(HoldfastError) -> StorageState { try memory.readState() }

    func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot {
        note(.beginSnapshot)
        return try memory.beginSnapshot()
    }

    func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool {
        note(.acquireWriteLock)
        return true
    }

    func releaseWriteLock() {}

    func beginWrite(durable: Bool, until deadline: UInt64) throws(HoldfastError) -> any StorageWrite {
        note(.beginWrite)
        return HookedWrite(try memory.beginWrite(durable: durable), self)
    }

    func sync() throws(HoldfastError) { try memory.sync() }
    func recover() throws(HoldfastError) { try memory.recover() }
    func close(head: CommitSequence) throws(HoldfastError) { try memory.close(head: head) }
    func attach(_ host: any StorageHost) {}

    func resolve(_ commits: [CommitName]) throws(HoldfastError) -> [Bool] {
        let found = state.withLock { state in
            if let loss = state.lostMeanwhile.take() { state.loss = loss }
            return state.loss
        }
        if let found { throw found }
        return try memory.resolve(commits)
    }

    var loss: HoldfastError? { state.withLock { $0.loss } }

    func beginHistory(with repositories: [RepositoryRecord]) throws(HoldfastError) {
        state.withLock { $0.loss = nil }
        try memory.recover()
    }

    func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        note(.compact)
        return (0, 0)
    }
}

private final class HookedWrite: StorageWrite {
    private let write: any StorageWrite
    private let storage: HookedStorage

    init(_ write: any StorageWrite, _ storage: HookedStorage) {
        self.write = write
        self.storage = storage
    }

    var head: CommitSequence { write.head }
    var changeToken: ChangeToken? { write.changeToken }

    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        storage.note(.fetch, count: keys.count)
        try write.fetch(keys, body)
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        storage.note(.commitLog)
        return try write.commitLog(after: sequence, limit: limit)
    }

    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) { try write.commitLogSizes(body) }

    func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?] {
        try write.idempotencyRecords(keys)
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try write.repositories() }
    func indexes() throws(HoldfastError) -> [IndexRecord] { try write.indexes() }

    func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try write.ids(under: key, of: index, body)
    }

    func lastKeys(
        in ranges: [KeyRange], of index: IndexRecord,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try write.lastKeys(in: ranges, of: index, body)
    }

    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        try write.removeEntries(of: index, limit: limit)
    }

    func apply(_ batch: WriteBatch) throws(HoldfastError) {
        storage.note(.apply)
        try storage.check(batch)
        try write.apply(batch)
    }

    func commit() throws(HoldfastError) -> WriteOutcome {
        storage.note(.commit)
        switch storage.takeFailingCommit() {
        case nil: return try write.commit()
        case .stored: _ = try write.commit()
        case .lost: write.rollback()
        case .overtaken:
            write.rollback()
            return .overtaken
        }
        throw HookedStorage.failure
    }

    func rollback() { write.rollback() }
}
