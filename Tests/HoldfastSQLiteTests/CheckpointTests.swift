import HoldfastCore
import HoldfastSQLite
import Testing

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

@Suite(.serialized) struct CheckpointTests {
    let directory = Directory()

    /// Closes the snapshot that it is given when the engine asks, as the core does.
    private final class Host: StorageHost {
        private let held = Lock<(any StorageSnapshot)?>(nil)
        private let asked = Lock(0)

        var timesAsked: Int { asked.withLock { $0 } }
        func hold(_ snapshot: any StorageSnapshot) { held.withLock { $0 = snapshot } }

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

    @Test func `the log is overwritten under a writer and a reader whose snapshots overlap`() throws {
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
        var largest = 0
        for sequence in 2...150 as ClosedRange<CommitSequence> {
            try storage.store(["\(sequence % 16)": text(sequence)], at: sequence, durable: false)
            usleep(2_000)
            largest = max(largest, size(of: directory.store + "-wal"))
        }
        isDone.withLock { $0 = true }
        #expect(reader.waitUntilFinished(deadline: nil))
        #expect(largest < 3 * Self.limit, "149 MiB were written")
    }

    @Test func `a snapshot that keeps the log from being overwritten is taken back at the limit`() throws {
        let storage = try openLimited()
        let host = Host()
        storage.attach(host)
        try storage.store(["z": "1"], at: 1)
        let snapshot = try storage.beginSnapshot()
        host.hold(snapshot)
        var after = CommitSequence(1)
        for _ in 0..<200 where (try? snapshot.fetch(EntityKey("z")) { _ in }) != nil {
            after += 1
            try storage.store(["a": text(after)], at: after, durable: false)
            usleep(2_000)
        }
        #expect(error { () throws(HoldfastError) in _ = try snapshot.fetch(EntityKey("z")) { _ in } }?.status == .io)
        let before = size(of: directory.store + "-wal")
        for _ in 0..<60 {
            after += 1
            try storage.store(["a": text(after)], at: after, durable: false)
            usleep(2_000)
        }
        #expect(size(of: directory.store + "-wal") <= before + Self.limit)
    }

    @Test func `an idle store has an empty log`() throws {
        let storage = try openLimited()
        try storage.store(["a": "1"], at: 1)
        #expect(size(of: directory.store + "-wal") > 0)
        for _ in 0..<100 where size(of: directory.store + "-wal") > 0 { usleep(100_000) }
        #expect(size(of: directory.store + "-wal") == 0)
        #expect(try storage.text("a") == "1")
    }
}
