import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import Testing

@testable import HoldfastSQLite

/// Rows that are written by their numbers.
@Suite struct RowNumberTests {
    let directory = Directory()

    private func hash(_ id: String) -> UInt64 { Array(id.utf8).withBytes { RowNumbers.hash(songs, $0) } }

    private func knownNumber(_ id: String, in storage: SQLiteStorage) -> Int64? {
        storage.writer.withLock { $0?.rowNumbers.number(under: hash(id)) }
    }

    @Test func `the number of a row is known once it was inserted, or written twice`() throws {
        var storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        #expect(knownNumber("a", in: storage) == 1)
        try storage.close(head: 1)
        storage = try directory.open()
        try storage.store(["a": "2"], at: 2)
        #expect(knownNumber("a", in: storage) == 0)
        try storage.store(["a": "3"], at: 3)
        #expect(knownNumber("a", in: storage) == 1)
        try storage.store(["a": "4"], at: 4)
        #expect(try storage.text("a") == "4")
    }

    /// There are few ids, so that the numbers of deleted rows are soon those of others.
    @Test(arguments: [1, 2, 4096])
    func `what was written last is there, whoever has a number by now`(places: Int) throws {
        let storage = try directory.open(limits: { $0.knownRows = places })
        try storage.store([:], at: 1)
        var stored: [String: String] = [:]
        var random: UInt64 = 42
        for sequence in CommitSequence(2)..<600 {
            var changes: [String: String?] = [:]
            for id in ["a", "b", "c", "d", "an id of more than eight bytes"] {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                switch random >> 33 % 4 {
                case 0: changes.updateValue(nil, forKey: id)
                case 1, 2: changes.updateValue("\"n\":\(sequence)", forKey: id)
                default: break
                }
            }
            if sequence % 5 == 0 {
                var batch = WriteBatch()
                batch.changes = changes.map { id, body in
                    EntityChange(key: EntityKey(id), version: sequence, body: body.map { Array("{\($0)}".utf8) })
                }
                let write = try storage.beginWrite(durable: false)
                try write.apply(batch)
                write.rollback()
                continue
            }
            try storage.store(changes, at: sequence, durable: false)
            for (id, body) in changes { stored[id] = body }
            for id in ["a", "b", "c", "d", "an id of more than eight bytes"] {
                #expect(try storage.text(id) == stored[id])
            }
        }
        #expect(plainSQL(directory.store, "PRAGMA integrity_check").rows == ["ok"])
    }
}
