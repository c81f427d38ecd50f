import CSQLite
import HoldfastCore
import HoldfastEnvironment
import HoldfastSQLite
import HoldfastStorage
import Testing

@Suite struct OpeningTests {
    let directory = Directory()

    @Test func `a directory that does not exist is named`() throws {
        let failure = try #require(error { () throws(HoldfastError) in _ = try directory.open("missing/store.db") })
        #expect(failure.status == .cannotOpen)
        #expect(failure.message.contains("\(directory.path)/missing"))
    }

    @Test(arguments: ["", ".", "sub", "sub/"])
    func `a directory is no place for a store`(name: String) throws {
        mkdir("\(directory.path)/sub", 0o755)
        defer { rmdir("\(directory.path)/sub") }
        #expect(error { () throws(HoldfastError) in _ = try directory.open(name) }?.status == .cannotOpen)
    }

    @Test func `without "create" a missing store is not created`() throws {
        let failure = error { () throws(HoldfastError) in _ = try directory.open { $0.create = false } }
        #expect(failure?.status == .cannotOpen)
        #expect(directory.names.isEmpty)
    }

    @Test func `an empty file is taken as a new store`() throws {
        directory.write([], to: "store.db")
        let storage = try directory.open()
        #expect(try storage.readState().head == 0)
    }

    @Test(arguments: [1, 100, 5_000])
    func `a file that is no database is refused and left as it is`(count: Int) throws {
        directory.write([UInt8](repeating: 7, count: count), to: "store.db")
        #expect(error { () throws(HoldfastError) in _ = try directory.open() }?.status == .notAStore)
        #expect(size(of: directory.store) == count)
    }

    @Test func `the database of another program is refused and left as it is`() throws {
        plainSQL(directory.store, "CREATE TABLE theirs (a); PRAGMA user_version = 1")
        let before = size(of: directory.store)
        let failure = try #require(error { () throws(HoldfastError) in _ = try directory.open() })
        #expect(failure.status == .notAStore)
        #expect(
            plainSQL(directory.store, "PRAGMA journal_mode; SELECT name FROM sqlite_schema").rows == [
                "delete", "theirs",
            ])
        #expect(size(of: directory.store) == before)
    }

    @Test func `a newer format is refused, and nothing else is`() throws {
        try directory.open().close(head: 0)
        plainSQL(directory.store, "PRAGMA user_version = 2")
        #expect(error { () throws(HoldfastError) in _ = try directory.open() }?.status == .formatTooNew)
        plainSQL(directory.store, "PRAGMA user_version = 1")
        try directory.open().close(head: 0)
    }

    @Test func `the files beside a store have its mode`() throws {
        let storage = try directory.open { $0.mode = 0o600 }
        try storage.store(["a": ""], at: 1)
        for name in directory.names {
            #expect(status(of: "\(directory.path)/\(name)")!.st_mode & 0o777 == 0o600, "\(name)")
        }
        #expect(directory.names == ["store.db", "store.db-lock", "store.db-shm", "store.db-wal"])
        try storage.close(head: 1)
        #expect(directory.names == ["store.db", "store.db-lock"])
    }

    @Test func `a symbolic link is refused unless it is allowed, and then names the same store`() throws {
        let storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        try storage.close(head: 1)
        symlink(directory.store, "\(directory.path)/link.db")
        #expect(error { () throws(HoldfastError) in _ = try directory.open("link.db") }?.status == .unsafeLocation)
        let linked = try directory.open("link.db") { $0.allowUnsafeLocation = true }
        #expect(try linked.text("a") == "1")
        #expect(error { () throws(HoldfastError) in _ = try directory.open() }?.status == .busy)
    }

    @Test func `a hard link is refused, and even where allowed is no way to a second open`() throws {
        let storage = try directory.open()
        link(directory.store, "\(directory.path)/other.db")
        #expect(error { () throws(HoldfastError) in _ = try directory.open("other.db") }?.status == .unsafeLocation)
        let second = error { () throws(HoldfastError) in
            _ = try directory.open("other.db") { $0.allowUnsafeLocation = true }
        }
        #expect(second?.status == .busy)
        #expect(try storage.readState().head == 0)
    }

    @Test func `a second open in one process is refused with the holder, and works after a close`() throws {
        let first = try directory.open()
        let failure = try #require(error { () throws(HoldfastError) in _ = try directory.open() })
        #expect(failure.status == .busy)
        guard case .json(let holder)? = failure.detail.first(where: { $0.name == "holder" })?.value else {
            Issue.record("no holder in \(failure.detail)")
            return
        }
        #expect(String(decoding: holder, as: UTF8.self).hasPrefix("{\"pid\":\(getpid()),\"program\":\""))
        try first.close(head: 0)
        try directory.open().close(head: 0)
    }

    @Test func `a store let go of without a close can be opened again`() throws {
        var storage: SQLiteStorage? = try directory.open()
        try storage!.store(["a": "1"], at: 1, durable: false)
        storage = nil
        #expect(try directory.open().text("a") == "1")
    }

    @Test func `a store whose compaction is still in the WAL when it is opened may get shorter`() throws {
        // Nobody else checkpoints.
        let idle = 600_000_000_000
        var storage: SQLiteStorage? = try directory.open(limits: {
            $0.busyTimeout = 10_000_000
            $0.checkpointIdle = idle
        })
        let ids = (1...200).map { "\($0)" }
        let text = String(repeating: "x", count: 3_000)
        try storage!.store(Dictionary(uniqueKeysWithValues: ids.map { ($0, "\"a\":\"\(text)\"") }), at: 1)
        try storage!.store(Dictionary(uniqueKeysWithValues: ids.map { ($0, nil) }), at: 2)
        plainSQL(directory.store, "PRAGMA wal_checkpoint(TRUNCATE)")
        let before = size(of: directory.store)
        var other: OpaquePointer?
        #expect(sqlite3_open(directory.store, &other) == SQLITE_OK)
        defer { sqlite3_close(other) }
        #expect(sqlite3_exec(other, "BEGIN; SELECT count(*) FROM sqlite_schema", nil, nil, nil) == SQLITE_OK)
        _ = try storage!.compact(unless: Interrupt.Flag())
        storage = nil
        let reopened = try directory.open(limits: { $0.checkpointIdle = idle })
        #expect(size(of: directory.store) >= before)
        #expect(sqlite3_exec(other, "COMMIT", nil, nil, nil) == SQLITE_OK)
        plainSQL(directory.store, "PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(size(of: directory.store) < before)
        try reopened.sync()
        try reopened.close(head: 1_000)
    }

    // MARK: Reading alone

    @Test func `a store that is only read refuses writes and shows what is there`() throws {
        let storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        try storage.close(head: 1)
        let reading = try directory.open { $0.readOnly = true }
        #expect(reading.isReadOnly)
        #expect(try reading.text("a") == "1")
        #expect(error { () throws(HoldfastError) in _ = try reading.beginWrite(durable: true) }?.status == .readOnly)
        try reading.close(head: 1)
        #expect(
            error { () throws(HoldfastError) in _ = try directory.open("none.db") { $0.readOnly = true } }?.status
                == .cannotOpen)
    }
}
