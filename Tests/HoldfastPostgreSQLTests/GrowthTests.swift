import HoldfastCore
import HoldfastEnvironment
import HoldfastPostgreSQL
import HoldfastQuery
import HoldfastStorage
import StorageConformance
import Testing

/// What the server reads for an answer does not grow with the store, also where it knows nothing of that yet.
@Suite struct GrowthTests {
    private static let entities = 20_000

    @Test(arguments: [[], ["nestloop"]])
    func `what is found by its key is all that the server reads`(without methods: [String]) throws {
        let cluster = Cluster()
        for method in methods { cluster.sql("ALTER SYSTEM SET enable_\(method) = off") }
        cluster.sql("ALTER SYSTEM SET autovacuum = off")
        cluster.sql("SELECT pg_reload_conf()")
        var storage = try open(cluster.url)
        try storage.store(["a": "0"], at: 1)
        let index = IndexRecord(id: 7, repository: songs, name: "n", definition: Array(#"{"fields":{"n":1}}"#.utf8))
        var filling = batch(
            Dictionary(uniqueKeysWithValues: (0..<Self.entities).map { ("s\($0)", "\"n\":\($0)") }), at: 2)
        filling.indexes = [index]
        filling.indexEntries = filling.changes.enumerated().map { number, change in
            IndexEntryChange(
                index: 7, key: [1, UInt8(number >> 8), UInt8(number & 255)], entity: change.key, isRemoval: false)
        }
        try storage.store(filling)
        try storage.close(head: 2)
        let before = rowsRead(cluster)

        storage = try open(cluster.url)
        let ids = filling.changes.map(\.key)
        let snapshot = try storage.beginSnapshot()
        for range in [KeyRange.all, KeyRange(lower: ids[9_000].id.bytes, upper: KeyRange.end)] {
            for isReversed in [false, true] {
                var count = 0
                try snapshot.scan(EntityScan(songs, range, isReversed: isReversed)) { _ in
                    count += 1
                    return count < 10
                }
                count = 0
                let scan = IndexScan(
                    index: 7, repository: songs, range: KeyRange(lower: [1, 20], upper: [1, 60]), isReversed: isReversed
                )
                try snapshot.scan(scan) { _, _ in
                    count += 1
                    return count < 10
                }
            }
        }
        snapshot.close()
        let write = try storage.beginWrite(durable: true)
        var found = 0
        try write.fetch(Array(ids[5_000..<5_100])) { _, _ in found += 1 }
        #expect(found == 100)
        #expect(try write.removeEntries(of: 7, limit: 100) == false)
        try write.apply(batch([:], at: 3))
        try write.commit()
        var few = batch([:], at: 4)
        few.changes = ids[7_000..<7_100].enumerated().map { number, key in
            EntityChange(key: key, version: 4, body: number < 50 ? nil : Array("{}".utf8))
        }
        few.indexEntries = (7_000..<7_050).map { number in
            IndexEntryChange(
                index: 7, key: [1, UInt8(number >> 8), UInt8(number & 255)], entity: ids[number], isRemoval: true)
        }
        let compared = try storage.beginWrite(durable: true)
        #expect(!compared.excludesOthers)
        found = 0
        try compared.fetch(Array(ids[5_000..<5_100])) { _, _ in found += 1 }
        #expect(found == 100)
        try compared.apply(few)
        guard case .stored = try compared.commit() else { throw HoldfastError(.internal, "nobody else was there") }
        try storage.close(head: 4)
        let read = rowsRead(cluster) - before
        #expect((100..<4_000).contains(read), "\(read) rows of \(Self.entities)")
    }

    /// Of the tables that grow. Sessions tell it when they end.
    private func rowsRead(_ cluster: Cluster) -> Int {
        while cluster.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'") != "0" {
            usleep(10_000)
        }
        let sum = cluster.sql(
            "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE relname IN "
                + "('holdfast_entity', 'holdfast_entry')")
        return Int(sum) ?? 0
    }
}
