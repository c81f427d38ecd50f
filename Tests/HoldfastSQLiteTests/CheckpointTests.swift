import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastSQLite
import HoldfastStorage
import Testing

@Suite(.serialized) struct CheckpointTests {
    let directory = Directory()

    /// Closes the snapshot that it is given when the engine asks, as the core does.
    private final class Host: StorageHost {
        private let held = Lock<(any StorageSnapshot)?>(nil)
        private let asked = Lock(0)

        var timesAsked: Int { asked.withLock { $0 } }
        func hold(_ snapshot: any StorageSnapshot) { held.withLock { $0 = snapshot } }

        func historyWasLost() {}

        func releaseSnapshots(olderThanMilliseconds age: UInt64?) {
            asked.withLock { $0 += 1 }
            if age == nil { held.withLock { $0.take() }?.close() }
        }
    }

    private static let limit = 24 << 20

    private func openLimited() throws -> SQLiteStorage { try directory.open { $0.walLimitBytes = UInt64(Self.limit) } }

    /// A mebibyte that differs from call to call: SQLite writes no page that stays the same.
    private func text(_ seed: CommitSequence) -> String {
        String(repeating: String(repeating: "\(seed % 10)", count: 1024), count: 1024)
    }

    private var wal: String { directory.store + "-wal" }

    private func store(_ last: inout CommitSequence, in storage: SQLiteStorage) throws {
        last += 1
        try storage.store(["\(last % 16)": text(last)], at: last, durable: false)
        usleep(2_000)
    }

    /// Writes so much, and more until the log has grown by half of it at most: the thread that copies it may be late.
    private func writeUntilOverwritten(
        _ storage: SQLiteStorage, after last: inout CommitSequence, mebibytes: Int
    ) throws -> Bool {
        let before = size(of: wal)
        for written in 1...20 * mebibytes {
            try store(&last, in: storage)
            if written >= mebibytes, size(of: wal) - before <= written << 19 { return true }
        }
        return false
    }

    @Test func `the WAL is overwritten under a writer and a reader whose snapshots overlap`() throws {
        let storage = try openLimited()
        try storage.store(["a": text(1)], at: 1)
        let isDone = Lock(false)
        let snapshot = Lock(try storage.beginSnapshot())
        let reader = try ThreadWorkers().start(name: "reader") {
            if isDone.withLock({ $0 }) { return .finished }
            if let next = try? storage.beginSnapshot() {
                usleep(2_000)
                snapshot.withLock {
                    $0.close()
                    $0 = next
                }
            }
            return .again
        }
        var last = CommitSequence(1)
        let isOverwritten = try writeUntilOverwritten(storage, after: &last, mebibytes: 149)
        isDone.withLock { $0 = true }
        #expect(reader.waitUntilFinished(deadline: nil))
        #expect(isOverwritten)
    }

    @Test func `a snapshot that keeps the WAL from being overwritten is taken back at the limit`() throws {
        let storage = try openLimited()
        let host = Host()
        storage.attach(host)
        try storage.store(["z": "1"], at: 1)
        let snapshot = try storage.beginSnapshot()
        host.hold(snapshot)
        var after = CommitSequence(1)
        func isEnded() -> Bool { (try? snapshot.fetch(EntityKey("z")) { _ in }) == nil }
        for _ in 0..<200 where !isEnded() { try store(&after, in: storage) }
        #expect(comesTrue { isEnded() })
        #expect(error { () throws(HoldfastError) in _ = try snapshot.fetch(EntityKey("z")) { _ in } }?.status == .io)
        #expect(try writeUntilOverwritten(storage, after: &after, mebibytes: 60))
    }

    @Test func `an idle store has an empty WAL`() throws {
        let storage = try directory.open(limits: { $0.checkpointLongRetry = 50_000_000 })
        try storage.store(["a": "1"], at: 1)
        // While somebody reads from the log it is not emptied, however long this takes.
        let snapshot = try storage.beginSnapshot()
        try storage.store(["a": "2"], at: 2)
        #expect(size(of: wal) > 0)
        snapshot.close()
        #expect(comesTrue { size(of: wal) == 0 })
        #expect(try storage.text("a") == "2")
    }
}
