import HoldfastCore
import HoldfastEnvironment
import HoldfastStorage

extension StorageConformance {
    static let writing: [Check] = [
        Check("a write begins with what is committed") { place in
            let storage = try place.open()
            try storage.begin(with: ["a", "b", "c"].map { EntityChange(songs, $0, 1, "{\"is\":\"\($0)\"}") })
            try storage.store(WriteBatch(at: 4, [EntityChange(songs, "b", 4, nil)]), durable: false)
            let write = try storage.beginWrite(durable: true)
            defer { write.rollback() }
            try expect(write.head, is: 4, "head")
            var found: [Int: Stored] = [:]
            let keys = ["c", "b", "missing", "a"].map { EntityKey(songs, $0) } + [EntityKey(albums, "a")]
            try write.fetch(keys) { index, view in found[index] = Stored(view) }
            try expect(found, is: [0: Stored("c", 1, "{\"is\":\"c\"}"), 3: Stored("a", 1, "{\"is\":\"a\"}")], "found")
            try expect(write.repositories().map(\.name), is: ["songs", "albums"], "repositories")
        },
        Check("a write fetches thousands of keys at once") { place in
            let storage = try place.open()
            try storage.begin(with: (0..<5_000).map { EntityChange(songs, "s\($0)", 1, "{\"n\":\($0)}") })
            let write = try storage.beginWrite(durable: true)
            defer { write.rollback() }
            var found = 0
            try write.fetch((0..<10_000).map { EntityKey(songs, "s\($0)") }) { index, view throws(HoldfastError) in
                if Stored(view) != Stored("s\(index)", 1, "{\"n\":\(index)}") {
                    throw HoldfastError(.corrupt, "s\(index) is \(Stored(view))")
                }
                found += 1
            }
            try expect(found, is: 5_000, "found")
        },
        Check("a change replaces text and version, and a deletion removes, also what is not there") { place in
            let storage = try place.open()
            try storage.begin(with: ["a", "b"].map { EntityChange(songs, $0, 1, "{}") })
            try storage.store(
                WriteBatch(
                    at: 2,
                    [
                        EntityChange(songs, "a", 2, "{\"longer\":\"than before\"}"), EntityChange(songs, "b", 2, nil),
                        EntityChange(songs, "never", 2, nil),
                    ]))
            let found = try storage.look { s throws(HoldfastError) in try s.list(songs) }
            try expect(found, is: [Stored("a", 2, "{\"longer\":\"than before\"}")], "songs")
            try storage.store(WriteBatch(at: 3, [EntityChange(songs, "b", 3, "{}")]))
            try expect(
                storage.look { s throws(HoldfastError) in try s.fetch(songs, "b") }, is: Stored("b", 3, "{}"), "b")
        },
        Check("one batch carries several commits") { place in
            let storage = try place.open()
            try storage.begin()
            var batch = WriteBatch(at: 2, [EntityChange(songs, "a", 2, "{}")])
            let second = WriteBatch(at: 3, [EntityChange(albums, "x", 3, "{}"), EntityChange(songs, "b", 3, "{}")])
            batch.changes = (batch.changes + second.changes).sorted { $0.key < $1.key }
            batch.commitLog += second.commitLog
            try storage.store(batch)
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            try expect(snapshot.sequence, is: 3, "sequence")
            try expect(snapshot.list(songs), is: [Stored("a", 2, "{}"), Stored("b", 3, "{}")], "songs")
            try expect(snapshot.commitLog(after: 1), is: batch.commitLog, "log")
        },
        Check("a write that is rolled back leaves nothing") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            let write = try storage.beginWrite(durable: true)
            var batch = WriteBatch(at: 2, [EntityChange(songs, "a", 2, nil), EntityChange(songs, "b", 2, "{}")])
            batch.repositories = [RepositoryRecord(id: 3, name: "never", key: "id")]
            batch.idempotency = [IdempotencyRecord(key: [1], fingerprint: 1, sequence: 2, time: 1, receipt: [])]
            batch.reservedThrough = 5_000
            try write.apply(batch)
            write.rollback()
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            try expect(snapshot.list(songs), is: [Stored("a", 1, "{}")], "songs")
            try expect(snapshot.commitLog(after: 0)?.map(\.sequence), is: [1], "log")
            try expect(snapshot.idempotencyRecord([1]), is: nil, "idempotency record")
            let state = try storage.readState()
            try expect(state.repositories.map(\.name), is: ["songs", "albums"], "repositories")
            try expect(state.reservedThrough, is: 1_000, "reserved mark")
        },
        Check("an error of the borrower passes unchanged through a write, which goes on") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            let write = try storage.beginWrite(durable: true)
            try expect(.hostError) { () throws(HoldfastError) in
                try write.fetch([EntityKey(songs, "a")]) { _, _ throws(HoldfastError) in
                    throw HoldfastError(.hostError, "the borrower's own")
                }
            }
            try write.apply(WriteBatch(at: 2, [EntityChange(songs, "b", 2, "{}")]))
            try write.commit()
            try expect(storage.look { s throws(HoldfastError) in try s.list(songs).count }, is: 2, "songs")
        },
        Check("repositories of any name and key are kept in the catalogue", keeps: true) { place in
            var storage = try place.open()
            try storage.begin()
            let records = [
                RepositoryRecord(id: 3, name: "it's \"quoted\"; --", key: "a \"key\"'"),
                RepositoryRecord(id: 70_000_000_000, name: "\u{65e5}\u{672c}", key: "\u{e9}"),
            ]
            var batch = WriteBatch(at: 2)
            batch.repositories = records
            try storage.store(batch)
            try expect(storage.readState().repositories.suffix(2), is: records[...], "repositories")
            try storage.close(head: 2)
            storage = try place.open()
            try expect(storage.readState().repositories.suffix(2), is: records[...], "repositories, opened anew")
            let write = try storage.beginWrite(durable: true)
            try expect(write.repositories().suffix(2), is: records[...], "repositories in a write")
            write.rollback()
        },
    ]
}
