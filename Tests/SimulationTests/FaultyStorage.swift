@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery
@testable import HoldfastStorage

/// Where the simulation meets the core: each call on the storage may fail, may take long, and may have others run in
/// its middle, which is how one thread reaches the interleavings that lie within a batch.
final class FaultyStorage: Storage, @unchecked Sendable {
    // Confined to the simulation's thread.
    let engine = "simulated"
    let location = "simulated:"
    let isReadOnly = false

    let disk: Disk
    private let memory: MemoryStorage
    private unowned let simulation: Simulation
    private(set) weak var host: (any StorageHost)?
    /// Set when the process that uses this storage has ended.
    private(set) var isDead = false
    /// After a failed COMMIT: what will be found to have happened, or not, when the storage is opened anew.
    private var inDoubt: (write: any StorageWrite, hasHappened: Bool, isDurable: Bool)?

    init(disk: Disk, simulation: Simulation) {
        self.disk = disk
        self.simulation = simulation
        var state = disk.visible
        if simulation.weakness == .reusedSequences { state.reservedThrough = state.newestSequence }
        memory = MemoryStorage(state: state)
        // What was skipped is noted before a sequence is given out.
        disk.store(memory.state, isDurable: true)
    }

    // MARK: Storage

    func attach(_ host: any StorageHost) { self.host = host }

    func readState() throws(HoldfastError) -> StorageState {
        try call("readState", failsPermille: 150)
        return try memory.readState()
    }

    var changeToken: ChangeToken? { memory.changeToken }

    func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot {
        try call("beginSnapshot", failsPermille: 5)
        let snapshot = try memory.beginSnapshot()
        defer { simulation.interrupt("after beginSnapshot") }
        return FaultySnapshot(snapshot, of: self)
    }

    /// One process at a time uses the disk.
    func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool {
        try call("acquireWriteLock", failsPermille: 5)
        return !simulation.fails(50)
    }

    func releaseWriteLock() {}

    func beginWrite(durable: Bool, until deadline: UInt64) throws(HoldfastError) -> any StorageWrite {
        if inDoubt != nil { simulation.report("a write was begun before the failed commit was recovered from") }
        try call("beginWrite", failsPermille: 10, .busy)
        return FaultyWrite(try memory.beginWrite(durable: durable), of: self, isDurable: durable)
    }

    func sync() throws(HoldfastError) {
        try call("sync", failsPermille: 20)
        if simulation.weakness != .earlyAcknowledgement { disk.sync() }
    }

    func recover() throws(HoldfastError) {
        try call("recover", failsPermille: 200)
        try memory.recover()
        try settleDoubt()
        disk.sync()
    }

    func resolve(_ commits: [CommitName]) throws(HoldfastError) -> [Bool] {
        try call("resolve", failsPermille: 50)
        return commits.map { disk.visible.commitLog[$0.sequence]?.commitIdentifier == $0.identifier }
    }

    func close(head: CommitSequence) throws(HoldfastError) {
        try call("close", failsPermille: 50)
        try memory.close(head: head)
        disk.store(memory.state, isDurable: true)
    }

    // MARK: Faults

    /// What every call begins with.
    func call(_ name: String, failsPermille: Int, _ status: Status = .io) throws(HoldfastError) {
        simulation.interrupt(name)
        try requireAlive()
        if simulation.fails(failsPermille) { throw HoldfastError(status, "\(name) fails by the simulation's will") }
    }

    /// Whether somebody else has committed meanwhile.
    func overtakes() -> Bool { simulation.fails(10) }

    func requireAlive() throws(HoldfastError) {
        if isDead { throw HoldfastError(.io, "the process has ended") }
    }

    /// Publishes a write, as well as a simulated disk does.
    func commit(_ write: any StorageWrite, isDurable: Bool) throws(HoldfastError) -> WriteOutcome {
        simulation.interrupt("before commit")
        try requireAlive()
        // As on a server where another machine was faster.
        if simulation.fails(40) {
            write.rollback()
            return .overtaken
        }
        let becomesDurable = isDurable && simulation.weakness != .earlyAcknowledgement
        if simulation.fails(30) {
            // Nobody can see it before the storage is opened anew; then it is there, or it is not.
            inDoubt = (write, simulation.chance.happens(500), becomesDurable)
            throw HoldfastError(.io, "commit fails by the simulation's will")
        }
        let outcome = try publish(write, isDurable: becomesDurable)
        simulation.interrupt("after commit")
        try requireAlive()
        return outcome
    }

    @discardableResult
    private func publish(_ write: any StorageWrite, isDurable: Bool) throws(HoldfastError) -> WriteOutcome {
        let outcome = try write.commit()
        disk.store(memory.state, isDurable: isDurable)
        return outcome
    }

    private func settleDoubt() throws(HoldfastError) {
        guard let doubt = inDoubt else { return }
        inDoubt = nil
        if doubt.hasHappened {
            try publish(doubt.write, isDurable: doubt.isDurable)
        } else {
            doubt.write.rollback()
        }
    }

    /// Ends the process. A commit in doubt has happened, or not.
    func kill() throws(HoldfastError) {
        isDead = true
        try settleDoubt()
    }
}

final class FaultySnapshot: StorageSnapshot, @unchecked Sendable {
    // Confined to the simulation's thread.
    private let snapshot: any StorageSnapshot
    private let storage: FaultyStorage

    init(_ snapshot: any StorageSnapshot, of storage: FaultyStorage) {
        self.snapshot = snapshot
        self.storage = storage
    }

    var sequence: CommitSequence { snapshot.sequence }
    var changeToken: ChangeToken? { snapshot.changeToken }

    func fetch(
        _ key: EntityKey, _ body: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try storage.call("fetch", failsPermille: 3)
        return try snapshot.fetch(key, body)
    }

    func scan(_ scan: EntityScan, _ body: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError) {
        try storage.call("scan", failsPermille: 3)
        try snapshot.scan(scan, body)
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] {
        try storage.call("repositories", failsPermille: 3)
        return try snapshot.repositories()
    }

    func indexes() throws(HoldfastError) -> [IndexRecord] {
        try storage.call("indexes", failsPermille: 3)
        return try snapshot.indexes()
    }

    func scan(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try storage.call("scan of an index", failsPermille: 3)
        try snapshot.scan(scan, body)
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try storage.call("log", failsPermille: 3)
        return try snapshot.commitLog(after: sequence, limit: limit)
    }

    func commitLogStart() throws(HoldfastError) -> CommitSequence {
        try storage.call("commitLogStart", failsPermille: 3)
        return try snapshot.commitLogStart()
    }

    func idempotencyRecord(_ key: [UInt8]) throws(HoldfastError) -> IdempotencyRecord? {
        try storage.call("idempotencyRecord", failsPermille: 3)
        return try snapshot.idempotencyRecord(key)
    }

    func close() { snapshot.close() }
}

final class FaultyWrite: StorageWrite {
    private let write: any StorageWrite
    private let storage: FaultyStorage
    private let isDurable: Bool

    init(_ write: any StorageWrite, of storage: FaultyStorage, isDurable: Bool) {
        self.write = write
        self.storage = storage
        self.isDurable = isDurable
    }

    var head: CommitSequence { write.head }
    var changeToken: ChangeToken? { write.changeToken }

    /// As on a server that compares at the end.
    let excludesOthers = false
    private(set) var isOvertaken = false

    /// What is read of a state that is no longer the newest fails.
    private func compare() throws(HoldfastError) {
        if storage.overtakes() { isOvertaken = true }
        if isOvertaken { throw HoldfastError(.busy, "somebody else has committed, by the simulation's will") }
    }

    func confirm() throws(HoldfastError) -> Bool {
        if storage.overtakes() { isOvertaken = true }
        write.rollback()
        return !isOvertaken
    }

    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try compare()
        try storage.call("fetch in a write", failsPermille: 10)
        try write.fetch(keys, body)
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try compare()
        try storage.call("log in a write", failsPermille: 10)
        return try write.commitLog(after: sequence, limit: limit)
    }

    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) {
        try storage.call("commitLogSizes", failsPermille: 10)
        try write.commitLogSizes(body)
    }

    func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?] {
        try compare()
        try storage.call("idempotencyRecords in a write", failsPermille: 10)
        return try write.idempotencyRecords(keys)
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try write.repositories() }

    func indexes() throws(HoldfastError) -> [IndexRecord] {
        try storage.call("indexes in a write", failsPermille: 10)
        return try write.indexes()
    }

    func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try storage.call("ids in a write", failsPermille: 10)
        try write.ids(under: key, of: index, body)
    }

    func lastKeys(
        in ranges: [KeyRange], of index: IndexRecord,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try storage.call("lastKeys", failsPermille: 10)
        try write.lastKeys(in: ranges, of: index, body)
    }

    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        try storage.call("removeEntries", failsPermille: 10)
        return try write.removeEntries(of: index, limit: limit)
    }

    func apply(_ batch: WriteBatch) throws(HoldfastError) {
        try storage.call("apply", failsPermille: 30, .full)
        try write.apply(batch)
    }

    func commit() throws(HoldfastError) -> WriteOutcome { try storage.commit(write, isDurable: isDurable) }

    func rollback() { write.rollback() }
}
