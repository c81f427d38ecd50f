import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage

extension StorageConformance {
    static let repositories: [Check] = [
        Check("a repository that is dropped loses its entities and indexes, and the others none", keeps: true) {
            place in
            var storage = try place.open()
            let entities = (0..<50).flatMap { number in
                [songs, albums].map { EntityChange($0, "e\(number)", 1, "{}") }
            }
            try storage.begin(with: entities.sorted { $0.key < $1.key })
            var batch = WriteBatch(at: 2)
            batch.indexes = [songs, albums].map {
                IndexRecord(id: 10 + $0, repository: $0, name: "n", definition: Array(#"{"fields":{"n":1}}"#.utf8))
            }
            batch.indexEntries = batch.indexes.flatMap { index in
                (0..<50).map { number in
                    IndexEntryChange(
                        index: index.id, key: [1], entity: EntityKey(index.repository, "e\(number)"), isRemoval: false)
                }
            }
            try storage.store(batch)
            let before = try storage.beginSnapshot()
            defer { before.close() }
            let dropped = try storage.drop(songs, at: 3)
            for _ in 0..<2 {
                let after = try storage.beginSnapshot()
                try expect(after.list(songs).count, is: 0, "songs")
                try expect(after.list(albums).count, is: 50, "albums")
                try expect(after.indexes().map(\.repository), is: [albums], "indexes")
                try expect(after.repositories().first { $0.id == songs }, is: dropped, "the record")
                var entries = 0
                try after.scan(IndexScan(index: 10 + albums, repository: albums, range: .all)) { _, _ in
                    entries += 1
                    return true
                }
                try expect(entries, is: 50, "entries")
                after.close()
                try storage.close(head: 3)
                storage = try place.open()
            }
        },
        Check(
            "a drop that is rolled back has taken nothing away, and snapshots from before see everything", keeps: true
        ) {
            place in
            let storage = try place.open()
            try storage.begin(with: (0..<50).map { EntityChange(songs, "e\($0)", 1, "{}") }.sorted { $0.key < $1.key })
            let write = try storage.beginWrite(durable: true)
            try write.apply(dropping(songs, at: 2, in: write))
            write.rollback()
            let before = try storage.beginSnapshot()
            defer { before.close() }
            try expect(before.list(songs).count, is: 50, "after the rollback")
            try storage.drop(songs, at: 2)
            try expect(before.list(songs).count, is: 50, "before the drop")
            try expect(before.repositories().contains { $0.isDropped }, is: false, "dropped before")
            try expect(storage.look { s throws(HoldfastError) in try s.list(songs).count }, is: 0, "after the drop")
        },
        Check("what is stored with a drop comes after it", keeps: true) { place in
            let storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}"), EntityChange(songs, "b", 1, "{}")])
            let write = try storage.beginWrite(durable: true)
            var batch = try dropping(songs, at: 2, in: write)
            batch.changes = [EntityChange(songs, "b", 2, "{\"new\":1}")]
            try write.apply(batch)
            try write.commit()
            let found = try storage.look { s throws(HoldfastError) in try s.list(songs) }
            try expect(found, is: [Stored("b", 2, "{\"new\":1}")], "songs")
        },
        Check("repositories take each other's names, with what they were called", keeps: true) { place in
            var storage = try place.open()
            try storage.begin(with: [EntityChange(songs, "a", 1, "{}")])
            var (first, second) = (
                RepositoryRecord(id: songs, name: "albums", key: "id"),
                RepositoryRecord(id: albums, name: "Songs \"2\"", key: "id")
            )
            (first.changed, second.changed) = (2, 2)
            first.formerNames = [RepositoryRecord.FormerName("songs", through: 2)]
            second.formerNames = [RepositoryRecord.FormerName("albums", through: 2)]
            second.isDropped = true
            var batch = WriteBatch(at: 2)
            batch.repositories = [second, first]
            try storage.store(batch)
            try expect(Set(storage.readState().repositories.map(\.name)), is: ["albums", "Songs \"2\""], "names")
            try storage.close(head: 2)
            storage = try place.open()
            let records = try storage.readState().repositories.sorted { $0.id < $1.id }
            try expect(records, is: [first, second].sorted { $0.id < $1.id }, "opened anew")
            try expect(storage.look { s throws(HoldfastError) in try s.list(songs).count }, is: 1, "entities")
        },
    ]
}

private func dropping(
    _ repository: RepositoryID, at sequence: CommitSequence, in write: any StorageWrite
) throws(HoldfastError) -> WriteBatch {
    var record = try write.repositories().first { $0.id == repository }!
    (record.isDropped, record.changed) = (true, sequence)
    var batch = WriteBatch(at: sequence)
    batch.repositories = [record]
    batch.removedIndexes = try write.indexes().filter { $0.repository == repository }.map(\.id)
    return batch
}

extension Storage {
    /// Answers the record that is stored.
    @discardableResult
    fileprivate func drop(
        _ repository: RepositoryID, at sequence: CommitSequence
    ) throws(HoldfastError) -> RepositoryRecord {
        let write = try beginWrite(durable: true)
        let batch = try dropping(repository, at: sequence, in: write)
        try write.apply(batch)
        try write.commit()
        return batch.repositories[0]
    }
}
