import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage

extension StorageConformance {
    static let indexes: [Check] = [
        Check("an index is walked in the order of its keys, then of the ids, both ways and in any range") { place in
            let storage = try place.open()
            try storage.begin(with: ["a", "b", "c", "d"].map { EntityChange(songs, $0, 1, "{\"is\":\"\($0)\"}") })
            try storage.store(indexed(at: 2, [([1], "b"), ([1], "a"), ([2, 0], "c"), ([2], "d"), ([3], "a")]))
            try storage.look { snapshot throws(HoldfastError) in
                try expectEntries(snapshot, .all, is: ["1a", "1b", "2d", "2.0c", "3a"])
                try expectEntries(snapshot, .all, isReversed: true, is: ["3a", "2.0c", "2d", "1b", "1a"])
                try expectEntries(snapshot, KeyRange(lower: [1, 0], upper: [3]), is: ["2d", "2.0c"])
                try expectEntries(snapshot, KeyRange(lower: [2], upper: [3]), isReversed: true, is: ["2.0c", "2d"])
                try expectEntries(snapshot, KeyRange(lower: [3, 0], upper: KeyRange.end), is: [])
            }
        },
        Check("a walk goes on behind the entry where it ended") { place in
            let storage = try place.open()
            try storage.begin(with: ["a", "b", "c"].map { EntityChange(songs, $0, 1, "{}") })
            try storage.store(indexed(at: 2, [([1], "a"), ([1], "b"), ([1], "c"), ([2], "a")]))
            try storage.look { snapshot throws(HoldfastError) in
                let position = IndexScan.Position(key: [1], id: EntityID(unchecked: Array("b".utf8)))
                try expectEntries(snapshot, .all, after: position, is: ["1c", "2a"])
                try expectEntries(snapshot, .all, isReversed: true, after: position, is: ["1a"])
            }
        },
        Check("an entry leads to the entity as the snapshot has it") { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{\"n\":1}")])
            try storage.store(indexed(at: 2, [([1], "a")]))
            let before = try storage.beginSnapshot()
            defer { before.close() }
            var batch = WriteBatch(
                at: 3, [EntityChange(songs, "a", 3, "{\"n\":2}"), EntityChange(songs, "b", 3, "{}")])
            batch.indexEntries = [entry([1], "a", isRemoval: true), entry([2], "a"), entry([3], "b")]
            try storage.store(batch)
            try expectEntries(before, .all, is: ["1a"])
            try storage.look { snapshot throws(HoldfastError) in
                try expectEntries(snapshot, .all, is: ["2a", "3b"])
                var found: [Stored] = []
                try snapshot.scan(IndexScan(index: 7, repository: songs, range: .all)) { _, view in
                    found.append(Stored(view))
                    return true
                }
                try expectStored(found, is: [Stored("a", 3, "{\"n\":2}"), Stored("b", 3, "{}")])
            }
        },
        Check("a write transaction tells the ids under a key, and takes entries away piece by piece") { place in
            let storage = try place.open()
            try storage.begin(with: ["a", "b", "c"].map { EntityChange(songs, $0, 1, "{}") })
            try storage.store(indexed(at: 2, [([1], "a"), ([1], "b"), ([2], "c")]))
            let write = try storage.beginWrite(durable: true)
            var ids: [String] = []
            try write.ids(under: [1], of: record) { id in
                ids.append(String(decoding: id, as: UTF8.self))
                return true
            }
            try expect(ids.sorted(), is: ["a", "b"], "ids")
            try expect(write.removeEntries(of: 7, limit: 2), is: false, "that nothing is left")
            try expect(write.removeEntries(of: 7, limit: 2), is: true, "that nothing is left")
            write.rollback()
            try storage.look { snapshot throws(HoldfastError) in
                try expectEntries(snapshot, .all, is: ["1a", "1b", "2c"])
            }
        },
        Check("entries that lead to no entity are lent by scans of keys alone, and a write tells the last of a range") {
            place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            var batch = indexed(at: 2, [([1], "a")])
            func keyed(_ key: [UInt8], isRemoval: Bool = false) -> IndexEntryChange {
                IndexEntryChange(
                    index: 7, key: key, entity: EntityKey(whole: songs), number: 0, isRemoval: isRemoval)
            }
            let keys: [[UInt8]] = [[2], [2, 0], [2, 7], [3]]
            batch.indexEntries += keys.map { keyed($0) }
            try storage.store(batch)
            var found: [[UInt8]] = []
            try storage.look { snapshot throws(HoldfastError) in
                let range = KeyRange(lower: [1, 0], upper: KeyRange.end)
                try snapshot.scan(IndexScan(index: 7, repository: songs, range: range, parts: .key)) { key, view in
                    found.append(Array(key) + view.id)
                    return true
                }
                try snapshot.scan(IndexScan(index: 7, repository: songs, range: range)) { key, _ in
                    found.append([0] + key)
                    return true
                }
            }
            try expect(found, is: keys, "keys")
            var change = WriteBatch(at: 3)
            change.indexEntries = [keyed([2, 7], isRemoval: true), keyed([2, 9])]
            try storage.store(change)
            // Before it applies anything: what was applied may be noted alone.
            let write = try storage.beginWrite(durable: true)
            var last: [Int: [UInt8]] = [:]
            let bounds: [[[UInt8]]] = [[[2], [3]], [[2, 1], [2, 8]], [[2], [2, 9]], [[2], [2, 1]], [[0], [4]]]
            try write.lastKeys(in: bounds.map { KeyRange(lower: $0[0], upper: $0[1]) }, of: record) { place, key in
                last[place] = Array(key)
            }
            write.rollback()
            try expect(last, is: [0: [2, 9], 2: [2, 0], 3: [2, 0], 4: [3]], "last keys")
        },
        Check(
            "the catalogue of indexes belongs to the snapshot, and is kept when the storage is opened again",
            keeps: true
        ) {
            place in
            let storage = try place.open()
            try storage.begin()
            let before = try storage.beginSnapshot()
            defer { before.close() }
            try storage.store(indexed(at: 2, []))
            var ready = record
            ready.state = .ready
            ready.hasArrays = true
            var batch = WriteBatch(at: 3)
            batch.indexes = [ready]
            try storage.store(batch)
            try expect(before.indexes(), is: [], "indexes before")
            try storage.look { snapshot throws(HoldfastError) in try expectIndexes(snapshot, is: [ready]) }
            try storage.close(head: 3)
            let again = try place.open()
            try again.look { snapshot throws(HoldfastError) in try expectIndexes(snapshot, is: [ready]) }
            batch = WriteBatch(at: 4)
            batch.removedIndexes = [7]
            try again.store(batch)
            try again.look { snapshot throws(HoldfastError) in try expectIndexes(snapshot, is: []) }
        },
    ]

    private static let record = IndexRecord(
        id: 7, repository: songs, name: "by n", definition: Array("{\"fields\":{\"n\":1}}".utf8))

    private static func entry(_ key: [UInt8], _ id: String, isRemoval: Bool = false) -> IndexEntryChange {
        IndexEntryChange(index: 7, key: key, entity: EntityKey(songs, id), isRemoval: isRemoval)
    }

    /// Creates the index with entries.
    private static func indexed(at sequence: CommitSequence, _ entries: [([UInt8], String)]) -> WriteBatch {
        var batch = WriteBatch(at: sequence)
        batch.indexes = [record]
        batch.indexEntries = entries.map { entry($0.0, $0.1) }
        return batch
    }

    private static func expectEntries(
        _ snapshot: any StorageSnapshot, _ range: KeyRange, isReversed: Bool = false,
        after: IndexScan.Position? = nil, is expected: [String]
    ) throws(HoldfastError) {
        for parts in [IndexScan.Parts.key, .keyAndEntity, .entity] {
            var found: [String] = []
            let scan = IndexScan(
                index: 7, repository: songs, range: range, isReversed: isReversed, after: after,
                parts: parts)
            try snapshot.scan(scan) { key, view in
                let key = parts == .entity ? "" : key.map(String.init).joined(separator: ".")
                found.append(key + String(decoding: view.id, as: UTF8.self))
                return true
            }
            let expected = parts == .entity ? expected.map { String($0.drop { $0.isNumber || $0 == "." }) } : expected
            if found != expected { throw HoldfastError(.internal, "expected \(expected), got \(found)") }
        }
    }

    private static func expectStored(_ found: [Stored], is expected: [Stored]) throws(HoldfastError) {
        if found != expected { throw HoldfastError(.internal, "expected \(expected), got \(found)") }
    }

    private static func expectIndexes(
        _ snapshot: any StorageSnapshot, is expected: [IndexRecord]
    ) throws(HoldfastError) {
        let found = try snapshot.indexes()
        if found != expected { throw HoldfastError(.internal, "expected \(expected), got \(found)") }
    }
}
