import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastSQLite
import HoldfastStorage
import Testing

@Suite struct LogTests {
    let directory = Directory()

    @Test func `after an unclean end an entry without changes stands at the end of the reserved block`() throws {
        var storage: SQLiteStorage? = try directory.open()
        try storage!.store(["a": "1"], at: 1)
        storage = nil
        storage = try directory.open()
        #expect(try storage!.readState().head == 1_000)
        let snapshot = try storage!.beginSnapshot()
        let entries = try #require(try snapshot.commitLog(after: 1))
        snapshot.close()
        #expect(entries.map(\.sequence) == [1_000])
        #expect(entries.allSatisfy { $0.changes.isEmpty })
        try storage!.close(head: 1_000)
        #expect(try directory.open().readState().head == 1_000)
    }

    @Test func `after a clean close no sequence is skipped`() throws {
        let storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        try storage.close(head: 1)
        let state = try directory.open().readState()
        #expect(state.head == 1)
        #expect(state.reservedThrough == 1)
    }

    @Test func `trimming keeps the newest entry, which tells the head`() throws {
        let storage = try directory.open()
        for sequence in 1...5 { try storage.store(["a": "\(sequence)"], at: CommitSequence(sequence)) }
        var batch = WriteBatch()
        batch.trimCommitLogBelow = 100
        let write = try storage.beginWrite(durable: true)
        try write.apply(batch)
        try write.commit()
        let snapshot = try storage.beginSnapshot()
        #expect(snapshot.sequence == 5)
        #expect(try snapshot.commitLog(after: 3) == nil)
        #expect(try snapshot.commitLog(after: 4)?.map(\.sequence) == [5])
    }

    @Test func `a commit is found by its identifier and no other`() throws {
        let storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        let names = [CommitName(0x9E37_79B9, at: 1), CommitName(5, at: 1), CommitName(0x9E37_79B9, at: 2)]
        #expect(try storage.resolve(names) == [true, false, false])
    }

    /// The large one touches each page twice, with more than SQLite's cache in between, so that SQLite writes it
    /// before the end and once more behind that, where it lies, and then the checksums of all that follow.
    @Test func `a commit that is not synced is in the files as soon as it has returned`() throws {
        // Both files are copied before the log is emptied.
        let storage = try directory.open(limits: { $0.checkpointIdle = 600_000_000_000 })
        let text = String(repeating: "x", count: 1_900)
        let pairs = CommitSequence(12_000)
        for pair in 1...pairs {
            try storage.store(["a\(pair)": text, "z\(pair)": text], at: pair, durable: pair == 1)
        }
        var all: [String: String?] = [:]
        for pair in 1...pairs {
            all["a\(pair)"] = "y" + text.dropFirst()
            all["z\(pair)"] = "last"
        }
        try storage.store(all, at: pairs + 1, durable: false)
        // What a kill in this moment leaves.
        for ending in ["", "-wal"] { directory.copy("store.db" + ending, to: "copy.db" + ending) }
        let copy = plainSQL(
            "\(directory.path)/copy.db",
            "PRAGMA integrity_check; SELECT count(*) FROM holdfast_entity WHERE body = '{last}'")
        #expect(copy.rows == ["ok", "\(pairs)"])
    }
}
