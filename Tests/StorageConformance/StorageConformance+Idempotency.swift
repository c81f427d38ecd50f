import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage

extension StorageConformance {
    private static func record(_ key: String, at sequence: CommitSequence, time: UInt64) -> IdempotencyRecord {
        IdempotencyRecord(
            key: Array(key.utf8), fingerprint: .max - sequence, sequence: sequence, time: time,
            receipt: Array("{\"of\":\"\(key)\"}".utf8))
    }

    /// Stores records, one a commit, the n-th with sequence and time n + 2.
    private static func store(_ keys: [String], in storage: any Storage) throws {
        try storage.begin()
        for (index, key) in keys.enumerated() {
            var batch = WriteBatch(at: CommitSequence(index + 2))
            batch.idempotency = [record(key, at: CommitSequence(index + 2), time: UInt64(index + 2))]
            try storage.store(batch)
        }
    }

    private static func expectKept(_ kept: [String], of keys: [String], in storage: any Storage) throws {
        let found = try storage.look { snapshot throws(HoldfastError) in
            var found: [String] = []
            for key in keys where try snapshot.idempotencyRecord(Array(key.utf8)) != nil { found.append(key) }
            return found
        }
        try expect(found, is: kept, "records kept")
    }

    static let idempotency: [Check] = [
        Check("an idempotency record comes back as it was, in the order that was asked for", keeps: true) { place in
            var storage = try place.open()
            let keys = ["one", "two\u{0}", "\u{e9}", ""]
            try store(keys, in: storage)
            let expected = [nil, record("\u{e9}", at: 4, time: 4), record("one", at: 2, time: 2), nil]
            func compare() throws {
                let write = try storage.beginWrite(durable: true)
                defer { write.rollback() }
                let found = try write.idempotencyRecords(["ONE", "\u{e9}", "one", "two"].map { Array($0.utf8) })
                try expect(found, is: expected, "records")
                try expect(write.idempotencyRecords([]), is: [], "records of no keys")
            }
            try compare()
            try expectKept(keys, of: keys, in: storage)
            try storage.close(head: 5)
            storage = try place.open()
            try compare()
        },
        Check("a later record replaces the one with the same key") { place in
            let storage = try place.open()
            try store(["key", "other", "key"], in: storage)
            let found = try storage.look { s throws(HoldfastError) in try s.idempotencyRecord(Array("key".utf8)) }
            try expect(found, is: record("key", at: 4, time: 4), "record")
        },
        Check("records from before a time are dropped") { place in
            let storage = try place.open()
            let keys = ["a", "b", "c", "d"]
            try store(keys, in: storage)
            var batch = WriteBatch(at: 9)
            batch.trimIdempotencyBefore = 4
            try storage.store(batch)
            try expectKept(["c", "d"], of: keys, in: storage)
        },
        Check("of more records than are wanted the newest are kept") { place in
            let storage = try place.open()
            let keys = ["a", "b", "c", "d"]
            try store(keys, in: storage)
            var batch = WriteBatch(at: 9)
            batch.keepIdempotency = 3
            try storage.store(batch)
            try expectKept(["b", "c", "d"], of: keys, in: storage)
        },
    ]
}
