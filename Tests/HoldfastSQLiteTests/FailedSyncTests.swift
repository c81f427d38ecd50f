import CSQLite
import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastSQLite
import Testing

@Suite struct FailedSyncTests {
    let directory = Directory()

    /// SQLite does not sync what it copies out of the log while somebody reads an older state, and takes it for copied.
    @Test func `what was copied before a sync failed is copied once more beside other programs`() throws {
        let storage = try directory.open(limits: { $0.checkpointIdle = 600_000_000_000 })
        let text = "\"a\":\"\(String(repeating: "x", count: 3_000))\""
        for sequence in 1...20 as ClosedRange<CommitSequence> { try storage.store(["\(sequence)": text], at: sequence) }
        plainSQL(directory.store, "PRAGMA wal_checkpoint(TRUNCATE)")
        directory.copy("store.db", to: "before")
        for sequence in 21...40 as ClosedRange<CommitSequence> {
            try storage.store(["\(sequence)": text], at: sequence)
        }
        var other: OpaquePointer?
        #expect(sqlite3_open(directory.store, &other) == SQLITE_OK)
        defer { sqlite3_close(other) }
        #expect(sqlite3_exec(other, "BEGIN; SELECT count(*) FROM sqlite_schema", nil, nil, nil) == SQLITE_OK)
        try storage.store(["41": text], at: 41)
        let copied = plainSQL(directory.store, "PRAGMA wal_checkpoint(PASSIVE)").rows.first?.split(separator: "|") ?? []
        try #require(copied.count == 3)
        #expect(copied[2] != "0" && copied[2] != copied[1])
        // What a sync that fails leaves of that: Linux takes it for written. By another process, since closing the file here
        // would drop SQLite's locks.
        system("dd if='\(directory.path)/before' of='\(directory.store)' conv=notrunc status=none")
        #expect(sqlite3_exec(other, "COMMIT", nil, nil, nil) == SQLITE_OK)
        try storage.recover()
        try storage.close(head: 41)
        #expect(plainSQL(directory.store, "PRAGMA integrity_check").rows == ["ok"])
        let reopened = try directory.open()
        for sequence in 1...41 { #expect(try reopened.text("\(sequence)") == text) }
        try reopened.close(head: 41)
    }
}
