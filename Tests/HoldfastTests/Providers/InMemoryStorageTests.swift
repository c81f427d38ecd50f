import Holdfast
import Testing

@Suite("A storage in memory")
struct InMemoryStorageTests {
    @Test("keeps the order in which its entities came, and counts its changes")
    func order() {
        let storage = InMemoryStorage(["b", "a", "b"].map { Song(id: $0, title: "") })
        storage.save(Song(id: "b", title: "again"))
        storage.save(Song(id: "c", title: ""))
        #expect(storage.fetchAll().map(\.id) == ["b", "a", "c"])
        let before = storage.changeCount()
        storage.delete(id: "a")
        #expect(storage.changeCount() > before)
        storage.apply([.save(Song(id: "d", title: "")), .delete("b"), .delete("none")])
        #expect(storage.fetchAll().map(\.id) == ["c", "d"])
        storage.deleteAll()
        storage.deleteAll()
        #expect(storage.fetchAll() == [])
        #expect(storage.fetch(id: "c") == nil)
    }
}
