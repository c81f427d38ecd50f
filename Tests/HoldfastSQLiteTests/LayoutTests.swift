import CSQLite
import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastSQLite
import HoldfastStorage
import Testing

@testable import HoldfastSQLite

@Suite struct LayoutTests {
    let directory = Directory()

    @Test func `plain SQL reads a repository through its view while the store is open`() throws {
        let storage = try directory.open()
        try storage.store(["a": "\"id\":\"a\",  \"n\":1.0", "b": ""], at: 1)
        try storage.store(["b": nil as String?, "c": "\"n\":7"], at: 2)
        #expect(
            plainSQL(directory.store, "SELECT id, version, body FROM songs ORDER BY id").rows
                == ["a|1|{\"id\":\"a\",  \"n\":1.0}", "c|2|{\"n\":7}"])
        #expect(plainSQL(directory.store, "SELECT body ->> 'n' FROM songs WHERE id = 'c'").rows == ["7"])
        #expect(plainSQL(directory.store, "DELETE FROM songs").code == SQLITE_ERROR)
    }

    @Test func `a view may have any name that a repository may have`() throws {
        let storage = try directory.open()
        let names = ["a-b", "select", "_", "Order_2"]
        var batch = WriteBatch()
        batch.repositories = names.enumerated().map { index, name in
            RepositoryRecord(id: RepositoryID(index + 1), name: name, key: "id")
        }
        let write = try storage.beginWrite(durable: true)
        try write.apply(batch)
        try write.commit()
        for name in names {
            #expect(plainSQL(directory.store, "SELECT count(*) FROM \"\(name)\"").rows == ["0"])
        }
        #expect(try storage.readState().repositories.map(\.name) == names)
    }

    @Test func `the file says what it is`() throws {
        try directory.open().close(head: 0)
        #expect(
            plainSQL(directory.store, "PRAGMA application_id; PRAGMA user_version; PRAGMA journal_mode").rows
                == ["1213156420", "1", "wal"])
        #expect(plainSQL(directory.store, "PRAGMA integrity_check").rows == ["ok"])
    }

    @Test(arguments: [
        "UPDATE holdfast_entity SET body = NULL WHERE id = 'b'",
        "UPDATE holdfast_entity SET body = x'7B7D' WHERE id = 'b'",
        "UPDATE holdfast_entity SET body = CAST(x'7B00007D' AS TEXT) WHERE id = 'b'",
        "UPDATE holdfast_entity SET body = '{\"id\":\"b' WHERE id = 'b'",
        "UPDATE holdfast_entity SET body = '' WHERE id = 'b'",
        "UPDATE holdfast_entity SET version = -1 WHERE id = 'b'",
        "UPDATE holdfast_entity SET version = 'x' WHERE id = 'b'",
    ])
    func `a damaged record is lent as such, and stands in nobody's way`(damage: String) throws {
        var storage = try directory.open()
        try storage.store(["a": "1", "b": "2", "c": "3"], at: 1)
        try storage.close(head: 1)
        plainSQL(
            directory.store,
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '') "
                + "WHERE name = 'holdfast_entity'")
        #expect(plainSQL(directory.store, damage).code == SQLITE_OK)
        storage = try directory.open()
        let snapshot = try storage.beginSnapshot()
        var damaged: [String] = []
        _ = try snapshot.fetch(EntityKey("b")) { view in if view.damage != nil { damaged.append("fetched") } }
        var seen: [String] = []
        try snapshot.scan(songs) { view in
            seen.append(String(decoding: view.id, as: UTF8.self))
            if view.damage != nil { damaged.append(seen.last!) }
            return true
        }
        #expect(seen == ["a", "b", "c"])
        snapshot.close()
        let write = try storage.beginWrite(durable: false)
        try write.fetch([EntityKey("b")]) { _, view in if view.damage != nil { damaged.append("fetched to write") } }
        write.rollback()
        #expect(damaged == ["fetched", "b", "fetched to write"])
        #expect(try storage.text("a") == "1")
        try storage.store(["b": "4"], at: 2)
        #expect(try storage.text("b") == "4")
    }

    @Test func `a row of the commit log is read back as it was written`() throws {
        let keys = [
            EntityKey(1, EntityID(unchecked: Array("a".utf8))),
            EntityKey(1, EntityID(unchecked: [UInt8](repeating: 120, count: 512))),
            EntityKey(300, EntityID(unchecked: Array("ä".utf8))),
            EntityKey(.max, EntityID(unchecked: Array("z".utf8))),
        ]
        var entries: [CommitLogEntry] = []
        for count in 0...keys.count {
            let changes = keys.prefix(count).enumerated().map { index, key in
                CommitLogEntry.Change(key: key, isDeletion: index % 2 == 1)
            }
            entries.append(
                CommitLogEntry(
                    sequence: CommitSequence(count * count + 1),
                    commitIdentifier: UInt64(count) &* 0x9E37_79B9_7F4A_7C15,
                    time: 1_000 - UInt64(count), changes: changes))
            #expect(decode(CommitLogEncoding.encode(entries, under: entries.last!), under: entries.last!) == entries)
        }
    }

    @Test func `a row of the commit log that was cut short or is overlong is noticed`() throws {
        let entry = CommitLogEntry(
            sequence: 7, commitIdentifier: 1, time: 2,
            changes: [CommitLogEntry.Change(key: EntityKey("abc"), isDeletion: false)])
        let bytes = CommitLogEncoding.encode([entry], under: entry)
        for count in 0..<bytes.count { #expect(decode(Array(bytes.prefix(count)), under: entry) == nil) }
        #expect(decode([UInt8](repeating: 0xFF, count: 40), under: entry) == nil)
    }

    private func decode(_ bytes: [UInt8], under newest: CommitLogEntry) -> [CommitLogEntry]? {
        bytes.withBytes { CommitLogEncoding.decode($0, under: newest) }
    }
}
