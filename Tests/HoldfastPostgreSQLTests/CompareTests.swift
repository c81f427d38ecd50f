import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import StorageConformance
import Testing

@testable import HoldfastPostgreSQL

/// A batch is stored by one statement, which compares the store's row with the one that was judged by.
@Suite(.serialized) struct CompareTests {
    private static let cluster = Cluster()
    private var cluster: Cluster { Self.cluster }

    /// Two processes' storages of one store.
    private func pair(_ name: String) throws -> (PostgreSQLStorage, PostgreSQLStorage) {
        let one = try open(cluster.url) { $0.store = name }
        try one.store(["a": "0"], at: 1)
        let other = try open(cluster.url) { $0.store = name }
        _ = try other.readState()
        return (one, other)
    }

    private func roundTrips(of storage: PostgreSQLStorage, _ body: () throws -> Void) rethrows -> UInt64 {
        let before = storage.server!.roundTrips
        try body()
        return storage.server!.roundTrips - before
    }

    @Test func `a batch that meets nobody takes one round trip, and what it must know another`() throws {
        let (storage, other) = try pair("alone")
        defer { try? other.close(head: 0) }
        for sequence in 2...9 as ClosedRange<CommitSequence> {
            #expect(try roundTrips(of: storage) { try storage.store(["a": "\(sequence)"], at: sequence) } == 1)
        }
        let asking = try roundTrips(of: storage) {
            let write = try storage.beginWrite(durable: true)
            try write.fetch([EntityKey("a"), EntityKey("b")]) { _, _ in }
            try write.apply(batch(["a": "10", "b": "10"], at: 10))
            _ = try write.commit()
        }
        #expect(asking == 2)
        #expect(try storage.text("b") == "{10}")
        #expect(storage.server?.lostRaces == 0)
        try storage.close(head: 10)
    }

    @Test func `of two who build on one state the second stores nothing and begins anew`() throws {
        let (one, other) = try pair("two")
        let first = try one.beginWrite(durable: true)
        let second = try other.beginWrite(durable: true)
        var both = batch(["a": "2", "gone": "2"], at: 2)
        both.idempotency = [IdempotencyRecord(key: [1], fingerprint: 1, sequence: 2, time: 1, receipt: [])]
        both.indexEntries = [IndexEntryChange(index: 7, key: [1], entity: EntityKey("gone"), isRemoval: false)]
        try second.apply(both)
        try first.apply(batch(["a": "1"], at: 2, salt: 9))
        guard case .stored = try first.commit() else { throw HoldfastError(.internal, "nobody was before it") }
        guard case .overtaken = try second.commit() else { throw HoldfastError(.internal, "somebody was before it") }
        // The next attempt asks for what is there.
        #expect(other.states.row == nil)
        #expect(try other.text("a") == "{1}")
        #expect(try other.text("gone") == nil)
        let snapshot = try other.beginSnapshot()
        #expect(try snapshot.idempotencyRecord([1]) == nil)
        #expect(try snapshot.commitLog(after: 0)?.map(\.sequence) == [1, 2])
        snapshot.close()
        #expect(cluster.sql("SELECT count(*) FROM holdfast_entry WHERE index = 7") == "0")
        try other.store(["a": "3"], at: 3)
        #expect(try one.text("a") == "{3}")
        #expect(other.server?.lostRaces == 1)
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `what is read in a write that was overtaken fails, and what was refused is not told`() throws {
        let (one, other) = try pair("reading")
        var head: CommitSequence = 1
        func overtake() throws {
            head += 1
            try other.store(["a": "\(head)"], at: head)
        }
        // What was read was the newest then, and a refusal is told by that.
        let confirmed = try one.beginWrite(durable: true)
        try confirmed.fetch([EntityKey("a")]) { _, _ in }
        try overtake()
        #expect(try confirmed.confirm())
        let failing = try one.beginWrite(durable: true)
        try overtake()
        #expect(throws: HoldfastError.self) { try failing.fetch([EntityKey("a")]) { _, _ in } }
        #expect(failing.isOvertaken)
        failing.rollback()
        let unread = try one.beginWrite(durable: true)
        try overtake()
        #expect(try !unread.confirm())
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `who has lost two races locks the row, and compares again once nobody else writes`() throws {
        let (one, other) = try pair("racing")
        var head: CommitSequence = 1
        for _ in 0..<2 {
            let write = try one.beginWrite(durable: true)
            #expect(!write.excludesOthers)
            head += 1
            try other.store(["a": "\(head)"], at: head)
            try write.apply(batch(["a": "0"], at: head, salt: 5))
            guard case .overtaken = try write.commit() else { throw HoldfastError(.internal, "it was not overtaken") }
        }
        for isLocked in [true, true, false] {
            let write = try one.beginWrite(durable: true)
            #expect(write.excludesOthers == isLocked)
            head += 1
            try write.apply(batch(["a": "\(head)"], at: head))
            guard case .stored = try write.commit() else { throw HoldfastError(.internal, "it is not stored") }
        }
        #expect(try other.text("a") == "{\(head)}")
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `who stops waiting for the row soon waits no more at the server`() throws {
        let (one, other) = try pair("waiting")
        #expect(try one.lockRow(until: .max))
        for _ in 0..<4 {
            #expect(try !other.lockRow(until: Connection.now() + 20_000_000))
            other.releaseWriteLock()
        }
        let end = Connection.now() + 10_000_000_000
        var count = ""
        repeat {
            count = cluster.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        } while count != "0" && Connection.now() < end
        #expect(count == "0")
        one.releaseWriteLock()
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `a commit that was resolved as not stored never is, however late it arrives`() throws {
        let (one, other) = try pair("late")
        let late = try one.beginWrite(durable: true)
        let batch = batch(["a": "1"], at: 2)
        try late.apply(batch)
        #expect(try other.resolve(batch.commitLog.map(\.name)) == [false])
        guard case .overtaken = try late.commit() else { throw HoldfastError(.internal, "it is stored") }
        #expect(try other.text("a") == "{0}")
        #expect(try other.resolve(batch.commitLog.map(\.name)) == [false])
        #expect(try other.readState().head == 2)
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `a batch on a commit that the server has lost is not stored behind another one with its number`()
        throws
    {
        let (one, other) = try pair("diverged")
        try one.store(["a": "1"], at: 2)
        // As a replica is that did not get it.
        let store = "(SELECT store FROM holdfast_store WHERE name = 'diverged')"
        cluster.sql("DELETE FROM holdfast_log WHERE store = \(store) AND sequence = 2")
        cluster.sql(
            "UPDATE holdfast_store SET head = 1, writes = writes - 1, commit_id = (SELECT commit_id FROM holdfast_log "
                + "WHERE store = \(store) AND sequence = 1) WHERE name = 'diverged'")
        try other.store(["a": "2"], at: 2, salt: 7)
        let write = try one.beginWrite(durable: true)
        try write.apply(batch(["b": "3"], at: 3))
        guard case .overtaken = try write.commit() else { throw HoldfastError(.internal, "it is stored") }
        #expect(try other.text("b") == nil)
        #expect(error { () throws(HoldfastError) in _ = try one.beginWrite(durable: true) }?.status != nil)
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `a store whose row says a newer format takes no batch from who was open before`() throws {
        let (one, other) = try pair("upgraded")
        cluster.sql("UPDATE holdfast_store SET format = 2 WHERE name = 'upgraded'")
        let write = try one.beginWrite(durable: true)
        try write.apply(batch(["a": "1"], at: 2))
        guard case .overtaken = try write.commit() else { throw HoldfastError(.internal, "it is stored") }
        let refusal = error { () throws(HoldfastError) in _ = try one.beginWrite(durable: true) }
        #expect(refusal?.status == .formatTooNew)
        cluster.sql("UPDATE holdfast_store SET format = 1 WHERE name = 'upgraded'")
        #expect(try other.text("a") == "{0}")
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `an answer that comes late tells nothing new`() throws {
        let (one, other) = try pair("answers")
        let older = try #require(one.states.row)
        try one.store(["a": "1"], at: 2)
        one.states.note(older, at: Connection.now())
        #expect(one.states.row?.head == 2)
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `an index that another process has made is known to the next write`() throws {
        let (one, other) = try pair("indexes")
        let before = try one.beginWrite(durable: true)
        #expect(try before.indexes().isEmpty)
        before.rollback()
        var creation = batch([:], at: 2)
        creation.indexes = [
            IndexRecord(
                id: 1, repository: songs, name: "plays", definition: Array("{}".utf8), state: .building,
                hasArrays: false)
        ]
        try other.store(creation)
        #expect(try one.changeToken == other.changeToken)
        let after = try one.beginWrite(durable: true)
        #expect(try after.indexes().map(\.name) == ["plays"])
        after.rollback()
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `a batch that just fits into one statement is stored whole`() throws {
        let (one, other) = try pair("full")
        let limit = BatchStatements.partBytes
        for (number, room) in [1, 40, 200, 4_000].enumerated() {
            let sequence = CommitSequence(number + 2)
            let text = String(repeating: "x", count: limit - room - 35)
            var full = batch(["a": text], at: sequence)
            full.idempotency = [
                IdempotencyRecord(key: [1], fingerprint: 1, sequence: sequence, time: 1, receipt: Array(text.utf8))
            ]
            #expect(full.suitsOneStatement)
            let write = try one.beginWrite(durable: true)
            try write.apply(full)
            guard case .stored = try write.commit() else { throw HoldfastError(.internal, "it is not stored") }
            let snapshot = try other.beginSnapshot()
            defer { snapshot.close() }
            #expect(try snapshot.commitLog(after: sequence - 1)?.map(\.sequence) == [sequence])
            #expect(try snapshot.idempotencyRecord([1])?.receipt.count == text.utf8.count)
            #expect(try other.text("a")?.utf8.count == text.utf8.count + 2)
        }
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `what does not fit into one statement is stored behind the lock`() throws {
        let (one, other) = try pair("large")
        let large = String(repeating: "x", count: 5 << 20)
        try one.store(["a": large, "b": large], at: 2)
        #expect(try other.text("b")?.utf8.count == large.utf8.count + 2)
        let write = try one.beginWrite(durable: true)
        try write.apply(batch(["a": "1"], at: 3))
        try write.apply(batch(["a": "2"], at: 4))
        guard case .stored = try write.commit() else { throw HoldfastError(.internal, "it is not stored") }
        #expect(try other.text("a") == "{2}")
        let overtaken = try one.beginWrite(durable: true)
        try other.store(["b": "5"], at: 5)
        #expect(throws: HoldfastError.self) { try overtaken.apply(batch(["a": large, "b": large], at: 5, salt: 3)) }
        #expect(overtaken.isOvertaken)
        overtaken.rollback()
        #expect(try one.text("b") == "{5}")
        try one.close(head: 0)
        try other.close(head: 0)
    }
}
