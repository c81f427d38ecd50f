import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import Synchronization
import Testing

@testable import HoldfastSQLite

/// How backups go beside commits.
@Suite struct BackupPaceTests {
    private final class Clock: TimeSource {
        private let nanoseconds = Atomic<UInt64>(0)
        func pass(_ span: UInt64) { nanoseconds.add(span, ordering: .relaxed) }
        func monotonicNanoseconds() -> UInt64 { nanoseconds.load(ordering: .relaxed) }
        func wallMilliseconds() -> UInt64 { 0 }
    }

    let directory = Directory()
    private let clock = Clock()

    private func pace(of storage: SQLiteStorage, walLimit: Int = 1 << 30) -> BackupPace {
        var environment = Environment.system
        environment.time = clock
        environment.limits.backupPiece = 1000
        environment.limits.backupRest = 3
        environment.limits.backupLongestRest = 50_000
        return BackupPace(storage.readers.walHeader, walLimit: walLimit, environment)
    }

    @Test func `a backup rests in proportion to a piece beside which somebody has committed, and alone never`() throws {
        let storage = try directory.open()
        try storage.store(["a": ""], at: 1)
        let pace = pace(of: storage)
        clock.pass(2000)
        #expect(pace.pause() == 0)
        try storage.store(["a": "1"], at: 2)
        clock.pass(999)
        #expect(pace.pause() == 0)
        clock.pass(1)
        #expect(pace.pause() == 3000)
        clock.pass(1000)
        #expect(pace.pause() == 0)
        #expect(plainSQL(directory.store, "PRAGMA user_version = 1").code == 0)
        clock.pass(2000)
        #expect(pace.pause() == 6000)
        try storage.store(["a": "2"], at: 3)
        clock.pass(1_000_000)
        #expect(pace.pause() == 50_000)
    }

    @Test func `a backup does not rest while the WAL is half as long as it may get`() throws {
        let storage = try directory.open()
        try storage.store(["a": ""], at: 1)
        let bytes = try #require(storage.readers.walHeader()).walBytes
        let (patient, hurried) = (pace(of: storage, walLimit: 4 * bytes), pace(of: storage, walLimit: bytes))
        try storage.store(["a": "1"], at: 2)
        clock.pass(1000)
        #expect(patient.pause() == 3000)
        #expect(hurried.pause() == 0)
    }

    /// Were it to rest as long as commits go on, or to begin anew for each, it would not end here.
    @Test func `a backup ends beside commits that never stop`() throws {
        let storage = try directory.open(limits: {
            ($0.copyPages, $0.backupPiece, $0.backupRest, $0.backupLongestRest) = (1, 1, 1 << 20, 200_000)
        })
        let ids = (0..<200).map { "entity \($0)" }
        let text = "\"text\":\"\(String(repeating: "x", count: 1000))\""
        try storage.store(Dictionary(uniqueKeysWithValues: ids.map { ($0, text) }), at: 1)
        let last = Lock(CommitSequence(1))
        let isDone = Lock(false)
        let committer = try ThreadWorkers().start(name: "committer") {
            if isDone.withLock({ $0 }) { return .finished }
            let sequence = last.withLock { $0 } + 1
            #expect(throws: Never.self) {
                try storage.store([ids[Int(sequence) % ids.count]: text], at: sequence, durable: false)
            }
            last.withLock { $0 = sequence }
            return .again
        }
        #expect(comesTrue { last.withLock { $0 } >= 10 })
        var pieces = 0
        let head = try storage.backUp(to: directory.path + "/copy.db") { _, _ in
            pieces += 1
            return true
        }
        #expect(head >= 10 && head < last.withLock { $0 })
        #expect(pieces >= 50)
        isDone.withLock { $0 = true }
        committer.wake()
        #expect(committer.waitUntilFinished(deadline: nil))
        #expect(
            plainSQL(directory.path + "/copy.db", "SELECT count(*), sum(length(body)) FROM songs").rows
                == ["200|\(200 * (text.utf8.count + 2))"])
    }
}
