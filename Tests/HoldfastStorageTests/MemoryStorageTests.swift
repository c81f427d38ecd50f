import HoldfastEnvironment
import HoldfastStorage
import StorageConformance
import Testing

struct MemoryStorageTests {
    /// Keeps the state of the storage that was opened last.
    private final class Place: StoragePlace {
        private var last: MemoryStorage?

        func open() throws -> any Storage {
            let storage = MemoryStorage(state: last?.state ?? .fresh())
            last = storage
            return storage
        }
    }

    @Test(arguments: StorageConformance.checks)
    func `the engine in memory conforms`(check: StorageConformance.Check) throws { try check.run(at: Place()) }

    @Test func `a state that is taken out does not change with its storage`() throws {
        let storage = MemoryStorage()
        let before = storage.state
        let write = try storage.beginWrite(durable: true)
        var batch = WriteBatch()
        batch.repositories = [RepositoryRecord(id: 1, name: "songs", key: "id")]
        try write.apply(batch)
        try write.commit()
        #expect(before.repositories.isEmpty)
        #expect(try MemoryStorage(state: storage.state).readState().repositories.map(\.name) == ["songs"])
    }

    @Test func `a second write at the same time is refused`() throws {
        let storage = MemoryStorage()
        let write = try storage.beginWrite(durable: true)
        let error = #expect(throws: HoldfastError.self) { try storage.beginWrite(durable: true) }
        #expect(error?.status == .busy)
        write.rollback()
        try storage.beginWrite(durable: true).rollback()
    }

    @Test func `a closed storage refuses, also through snapshots that were left open`() throws {
        let storage = MemoryStorage()
        let snapshot = try storage.beginSnapshot()
        try storage.close(head: 0)
        #expect(throws: HoldfastError.self) { try storage.beginSnapshot() }
        #expect(throws: HoldfastError.self) { try storage.beginWrite(durable: true) }
        #expect(throws: HoldfastError.self) { try storage.sync() }
        let error = #expect(throws: HoldfastError.self) { try snapshot.commitLog(after: 0) }
        #expect(error?.status == .closed)
    }
}
