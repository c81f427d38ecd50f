import CSQLite
import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import StorageConformance
import Testing

@testable import HoldfastSQLite

/// The read transaction in which the connection that writes stays between commits.
@Suite struct KeptReadTests {
    let directory = Directory()

    private var wal: String { directory.store + "-wal" }

    /// One is kept behind the fifth commit in a row, and for four commits at most. Without `checkpoints`, which end it, whenever
    /// they come.
    private func open(
        most: Int = 4, checkpoints: Bool = false, _ change: (inout Limits) -> Void = { _ in }
    ) throws -> SQLiteStorage {
        let storage = try directory.open(limits: {
            $0.keptReads = most
            change(&$0)
        })
        if !checkpoints { storage.checkpointer?.stop() }
        try storage.store(["a": "1"], at: 1)
        return storage
    }

    /// Answers behind which commits one was kept.
    @discardableResult
    private func commit(_ sequences: ClosedRange<CommitSequence>, in storage: SQLiteStorage) throws -> [CommitSequence]
    {
        var kept: [CommitSequence] = []
        for sequence in sequences {
            try storage.store(["a": "\(sequence)"], at: sequence, durable: false)
            if storage.keptRead.isKept { kept.append(sequence) }
        }
        #expect(try storage.text("a") == "\(sequences.upperBound)")
        return kept
    }

    @Test func `it is kept behind commits in a row, and for so many at most`() throws {
        let storage = try open()
        #expect(try commit(2...17, in: storage) == [5, 6, 7, 9, 10, 11, 13, 14, 15, 17])
        try storage.close(head: 17)
        #expect(plainSQL(directory.store, "PRAGMA integrity_check").rows == ["ok"])
    }

    @Test(arguments: [1, 2]) func `with a limit of one none is kept`(most: Int) throws {
        let storage = try open(most: most)
        #expect(try commit(2...9, in: storage) == (most == 1 ? [] : [3, 5, 7, 9]))
    }

    @Test func `what another program has committed meanwhile is met by the next commit`() throws {
        let storage = try open()
        #expect(try commit(2...5, in: storage) == [5])
        let other = plainSQL(directory.store, "INSERT OR REPLACE INTO holdfast_meta VALUES ('other', 7)")
        #expect(other.code == SQLITE_OK)
        let write = try storage.beginWrite(durable: true)
        #expect(write.head == 5)
        write.rollback()
        // The row begins anew.
        #expect(try commit(6...11, in: storage) == [10, 11])
        #expect(plainSQL(directory.store, "SELECT value FROM holdfast_meta WHERE name = 'other'").rows == ["7"])
    }

    @Test func `while another program writes, whoever wants to commit waits for it and keeps none`() throws {
        let storage = try open()
        #expect(try commit(2...6, in: storage) == [5, 6])
        let other = try Connection(path: directory.store, mode: .readWrite)
        try other.execute("BEGIN IMMEDIATE", "writing")
        #expect(try !storage.acquireWriteLock(until: SystemTime().monotonicNanoseconds() + 1_000_000))
        #expect(!storage.keptRead.isKept)
        try other.execute("COMMIT", "writing")
        #expect(try storage.acquireWriteLock(until: .max))
        try commit(7...7, in: storage)
        storage.releaseWriteLock()
    }

    @Test func `an index is removed in the middle of commits in a row`() throws {
        let storage = try open()
        var batch = WriteBatch()
        batch.indexes = [
            IndexRecord(
                id: 2, repository: songs, name: "n", definition: Array("{}".utf8), state: .ready, hasArrays: false)
        ]
        try storage.store(batch, durable: true)
        #expect(try commit(3...7, in: storage) == [5, 6, 7])
        batch = WriteBatch()
        batch.removedIndexes = [2]
        try storage.store(batch, durable: true)
        let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'holdfast_index_2'"
        #expect(plainSQL(directory.store, tables).rows == ["0"])
        try commit(8...12, in: storage)
    }

    @Test func `a commit that is rolled back, one that is not synced and a sync end it or leave it`() throws {
        let storage = try open()
        for sequence in CommitSequence(2)...40 {
            if sequence % 7 == 0 { try storage.beginWrite(durable: sequence % 5 == 0).rollback() }
            if sequence % 3 == 0 { try storage.sync() }
            try storage.store(["a": "\(sequence)"], at: sequence, durable: sequence % 2 == 0)
        }
        #expect(try storage.text("a") == "40")
        _ = try storage.compact(unless: Interrupt.Flag())
        #expect(!storage.keptRead.isKept)
        try commit(41...45, in: storage)
        try storage.recover()
        #expect(!storage.keptRead.isKept)
        try commit(46...50, in: storage)
    }

    /// Whoever reads from the WAL keeps it from being emptied.
    @Test func `it is ended where no commit follows, and the WAL is emptied`() throws {
        let storage = try open(most: 1000, checkpoints: true) { $0.checkpointIdle = 300_000_000 }
        try commit(2...1_100, in: storage)
        #expect(comesTrue { size(of: wal) == 0 })
        #expect(!storage.keptRead.isKept)
        #expect(try storage.text("a") == "1100")
    }

    /// A process that is stopped in the meantime would otherwise have the log of all others grow.
    @Test func `it is ended soon behind the last commit of a row, and another is kept behind the next`() throws {
        let storage = try open(most: 1000, checkpoints: true) { $0.checkpointIdle = 600_000_000_000 }
        var last: CommitSequence = 1
        for _ in 1...2 {
            // Beside a busy machine commits in a row may take longer than they rest.
            #expect(
                comesTrue {
                    for _ in 1...1_100 {
                        last += 1
                        try? storage.store(["a": "\(last)"], at: last, durable: false)
                    }
                    return storage.keptRead.isKept
                })
            #expect(comesTrue { !storage.keptRead.isKept })
        }
        #expect(size(of: wal) > 0)
    }

    @Test func `checkpoints end it, so that the WAL is begun anew beside commits in a row`() throws {
        let storage = try open(most: 1000, checkpoints: true) { $0.checkpointBytes = 1 << 20 }
        try commit(2...1_001, in: storage)
        var (longest, isBegunAnew) = (0, false)
        for sequence in CommitSequence(1_002)...1_990 where !isBegunAnew {
            try storage.store(["a": "\(sequence)"], at: sequence, durable: false)
            usleep(5_000)
            let bytes = storage.readers.walHeader()?.walBytes ?? 0
            isBegunAnew = bytes < longest
            longest = max(longest, bytes)
        }
        #expect(isBegunAnew)
    }
}
