import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastSQLite
import HoldfastStorage
import Testing

@Suite struct SnapshotTests {
    let directory = Directory()

    @Test func `snapshots of several sequences are read side by side while commits go on`() throws {
        let storage = try directory.open()
        var snapshots: [any StorageSnapshot] = []
        for sequence in 1...20 {
            try storage.store(["a": "\(sequence)"], at: CommitSequence(sequence), durable: sequence % 2 == 0)
            snapshots.append(try storage.beginSnapshot())
        }
        for (index, snapshot) in snapshots.enumerated() {
            #expect(snapshot.sequence == CommitSequence(index + 1))
            var text = ""
            _ = try snapshot.fetch(EntityKey("a")) { text = String(decoding: $0.body, as: UTF8.self) }
            #expect(text == "{\(index + 1)}")
        }
        for snapshot in snapshots { snapshot.close() }
    }

    @Test func `a closed snapshot stays closed when its connection serves another`() throws {
        let storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        let first = try storage.beginSnapshot()
        first.close()
        first.close()
        let second = try storage.beginSnapshot()
        #expect(error { () throws(HoldfastError) in _ = try first.fetch(EntityKey("a")) { _ in } }?.status == .io)
        first.close()
        #expect(try second.fetch(EntityKey("a")) { _ in })
    }

    @Test func `what reads by a connection of its own answers closed once the files are gone`() throws {
        let storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        try storage.close(head: 1)
        #expect(error { () throws(HoldfastError) in _ = try storage.problems() }?.status == .closed)
        let copy = directory.path + "/copy.db"
        let failure = error { () throws(HoldfastError) in _ = try storage.backUp(to: copy) { _, _ in true } }
        #expect(failure?.status == .closed)
        #expect(!directory.names.contains("copy.db"))
    }

    @Test func `a store recovered while others read goes on, and their snapshots have ended`() async throws {
        let storage = try directory.open()
        try storage.store(["a": "1"], at: 1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<200 {
                        // Refused, ended or served; never anything but these.
                        do throws(HoldfastError) {
                            let text = try storage.text("a")
                            #expect(text == "1")
                        } catch {
                            #expect(error.status == .io)
                        }
                    }
                }
            }
            group.addTask {
                for _ in 0..<20 { #expect(error { () throws(HoldfastError) in try storage.recover() } == nil) }
            }
        }
        #expect(try storage.text("a") == "1")
        try storage.store(["a": "2"], at: 2)
        #expect(try storage.text("a") == "2")
    }
}
