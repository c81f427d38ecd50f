import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import StorageConformance
import Testing

@testable import HoldfastPostgreSQL

/// What becomes of a storage whose connections, commits, or server are lost.
@Suite(.serialized) struct LostTests {
    private static let cluster = Cluster()
    private var cluster: Cluster { Self.cluster }

    @Test func `connections that the server has ended are replaced where nothing was under way`() throws {
        let storage = try open(cluster.url) { $0.store = "ended" }
        try storage.store(["a": "1"], at: 1)
        for round in 2...4 as ClosedRange<CommitSequence> {
            let token = try storage.changeToken
            endSessions()
            #expect(try token != nil && storage.changeToken == token)
            endSessions()
            #expect(try storage.text("a") == "{\(round - 1)}")
            endSessions()
            try storage.store(["a": "\(round)"], at: round)
            endSessions()
            try storage.sync()
        }
        try storage.close(head: 4)
    }

    @Test func `a snapshot whose connection is lost answers io, and another one can be begun`() throws {
        let storage = try open(cluster.url) { $0.store = "snapshot" }
        try storage.store(["a": "1"], at: 1)
        let snapshot = try storage.beginSnapshot()
        endSessions()
        let lost = error { () throws(HoldfastError) in _ = try snapshot.fetch(EntityKey("a")) { _ in } }
        #expect(lost?.status == .io)
        snapshot.close()
        #expect(try storage.text("a") == "{1}")
        try storage.close(head: 1)
    }

    @Test func `a write whose connection is lost has stored nothing, and is found out after recovery`() throws {
        let storage = try open(cluster.url) { $0.store = "write" }
        try storage.store(["a": "1"], at: 1)
        let write = try storage.beginWrite(durable: true)
        let batch = batch(["a": "2"], at: 2)
        try write.apply(batch)
        endSessions()
        let lost = error { () throws(HoldfastError) in _ = try write.commit() }
        #expect(lost?.status == .io)
        try storage.recover()
        #expect(try storage.resolve([batch.commitLog[0].name]) == [false])
        // The sequence that it had is given to nobody else.
        #expect(try storage.readState().head == 2)
        let again = HoldfastPostgreSQLTests.batch(["a": "2"], at: 3)
        try storage.store(again)
        #expect(try storage.resolve([batch.commitLog[0].name, again.commitLog[0].name]) == [false, true])
        try storage.close(head: 3)
    }

    @Test func `a recovery waits for a server that starts anew, and no longer than asked`() throws {
        let storage = try open(cluster.url) { options in
            (options.store, options.lockTimeoutMilliseconds) = ("recovery", 300)
        }
        try storage.store(["a": "1"], at: 1)
        cluster.crash()
        let began = SystemTime().monotonicNanoseconds()
        #expect(error { () throws(HoldfastError) in try storage.recover() } != nil)
        #expect(SystemTime().monotonicNanoseconds() - began > 250_000_000)
        #expect(try storage.changeToken == nil)
        #expect(error { () throws(HoldfastError) in _ = try storage.beginSnapshot() } != nil)
        cluster.start()
        try storage.recover()
        #expect(try storage.text("a") == "{1}")
        try storage.store(["a": "2"], at: 1_001)
        try storage.close(head: 1_001)
    }

    @Test func `what was durable is there after a crash, though the server leaves its log in memory for long`() throws {
        cluster.sql("ALTER SYSTEM SET wal_writer_delay = '10s'")
        cluster.sql("SELECT pg_reload_conf()")
        let storage = try open(cluster.url) { $0.store = "durable" }
        try storage.store(["a": "1"], at: 1)
        for sequence in 2...4 as ClosedRange<CommitSequence> { try storage.store(["a": "\(sequence)"], at: sequence) }
        cluster.crash()
        cluster.start()
        try storage.recover()
        #expect(try storage.text("a") == "{4}")
        try storage.close(head: 4)
        cluster.sql("ALTER SYSTEM RESET wal_writer_delay")
    }

    @Test func `a commit that is found, though nobody was told of it, is durable from then on`() throws {
        cluster.sql("ALTER SYSTEM SET wal_writer_delay = '10s'")
        cluster.sql("SELECT pg_reload_conf()")
        let storage = try open(cluster.url) { $0.store = "found" }
        try storage.store(["a": "1"], at: 1)
        let found = batch(["a": "2"], at: 2)
        try storage.store(found, durable: false)
        let written = cluster.sql("SELECT pg_current_wal_insert_lsn()")
        #expect(try storage.resolve([found.commitLog[0].name]) == [true])
        #expect(cluster.sql("SELECT pg_current_wal_flush_lsn() >= '\(written)'") == "t")
        #expect(try storage.readState().head == 2)
        try storage.store(["a": "3"], at: 3)
        try storage.close(head: 3)
        cluster.sql("ALTER SYSTEM RESET wal_writer_delay")
    }

    @Test func `another writer's lock is waited for in pieces, and let go of without it`() throws {
        let storage = try open(cluster.url) { $0.store = "locked" }
        let other = try open(cluster.url) { $0.store = "locked" }
        try storage.store(["a": "1"], at: 1)
        try other.store(["a": "2"], at: 2)
        let now = SystemTime().monotonicNanoseconds()
        #expect(try other.lockRow(until: now + 60_000_000_000))
        // Who meets the lock waits for it a moment, and queues for it from then on.
        #expect(try storage.changeToken == other.changeToken)
        let met = try storage.beginWrite(durable: true)
        try met.apply(batch(["a": "3"], at: 3))
        guard case .overtaken = try met.commit() else { throw HoldfastError(.internal, "the lock was no obstacle") }
        #expect(SystemTime().monotonicNanoseconds() - now < 10_000_000_000)
        #expect(try storage.acquireWriteLock(until: now + 20_000_000) == false)
        #expect(try storage.acquireWriteLock(until: now + 40_000_000) == false)
        storage.releaseWriteLock()
        #expect(try storage.acquireWriteLock(until: now + 60_000_000) == false)
        other.releaseWriteLock()
        #expect(try storage.acquireWriteLock(until: now + 120_000_000_000))
        storage.releaseWriteLock()
        try other.store(["a": "3"], at: 3)
        #expect(try storage.text("a") == "{3}")
        try storage.close(head: 1)
        try other.close(head: 3)
    }

    @Test func `a sync waits for nobody who has the lock`() throws {
        let storage = try open(cluster.url) { $0.store = "synced" }
        let other = try open(cluster.url) { $0.store = "synced" }
        try storage.store(["a": "1"], at: 1, durable: false)
        #expect(try other.lockRow(until: .max))
        let before = cluster.sql("SELECT pg_current_wal_flush_lsn()")
        let written = cluster.sql("SELECT pg_current_wal_insert_lsn()")
        let began = SystemTime().monotonicNanoseconds()
        try storage.sync()
        #expect(SystemTime().monotonicNanoseconds() - began < 10_000_000_000)
        #expect(cluster.sql("SELECT pg_current_wal_flush_lsn() >= '\(written)'") == "t", "flushed before: \(before)")
        #expect(cluster.sql("SELECT count(*) FROM holdfast_idempotency") == "0")
        other.releaseWriteLock()
        try storage.close(head: 1)
        try other.close(head: 1)
    }

    @Test func `an open store whose server is gone answers io`() throws {
        let storage = try open(cluster.url) { ($0.store, $0.lockTimeoutMilliseconds) = ("gone", 100) }
        try storage.store(["a": "1"], at: 1)
        cluster.crash()
        for _ in 1...2 {
            let gone = error { () throws(HoldfastError) in _ = try storage.beginSnapshot() }
            #expect(gone?.status == .io)
        }
        let gone = error { () throws(HoldfastError) in _ = try storage.beginWrite(durable: true) }
        #expect(gone?.status == .io)
        #expect(gone?.message.contains("cannot be connected to") == true)
        cluster.start()
        #expect(try storage.text("a") == "{1}")
        try storage.close(head: 1)
    }

    @Test func `who does not let go of the lock is told of as another program is`() throws {
        let storage = try open(cluster.url, { $0.store = "held" }, limits: { $0.foreignLock = 50_000_000 })
        let other = try open(cluster.url) { $0.store = "held" }
        #expect(try other.lockRow(until: .max))
        #expect(error { () throws(HoldfastError) in try storage.store(["a": "1"], at: 1) }?.status == .busy)
        other.releaseWriteLock()
        try storage.store(["a": "1"], at: 1)
        try storage.close(head: 1)
        try other.close(head: 0)
    }

    @Test(arguments: [0, 3])
    func `a server that has lost commits is told of, and nothing of it is served`(others: Int) throws {
        let name = "lost\(others)"
        let storage = try open(cluster.url) { $0.store = name }
        for sequence in 1...4 as ClosedRange<CommitSequence> { try storage.store(["a": "\(sequence)"], at: sequence) }
        // As a replica is that did not get the last two.
        let store = "(SELECT store FROM holdfast_store WHERE name = '\(name)')"
        cluster.sql("DELETE FROM holdfast_log WHERE store = \(store) AND sequence > 2")
        cluster.sql(
            "UPDATE holdfast_store SET head = 2, commit_id = (SELECT commit_id FROM holdfast_log WHERE store = \(store) "
                + "AND sequence = 2) WHERE name = '\(name)'")
        // What others have committed there does not hide it.
        let other = try open(cluster.url) { $0.store = name }
        for sequence in 0..<CommitSequence(others) { try other.store(["b": "0"], at: 3 + sequence, salt: 7) }
        let errors = [
            error { () throws(HoldfastError) in _ = try storage.beginSnapshot() },
            error { () throws(HoldfastError) in _ = try storage.beginWrite(durable: true) },
            error { () throws(HoldfastError) in try storage.recover() },
        ]
        #expect(errors.map { $0?.status } == [.historyLost, .historyLost, .historyLost])
        #expect(errors[0]?.message.contains("no longer has commit 4") == true)
        #expect(try storage.changeToken == nil)
        // It goes on with what is there, and gives the sequences that were lost to nobody.
        try storage.beginHistory(with: [RepositoryRecord(id: songs, name: "songs", key: "id")])
        #expect(try storage.readState().head == max(5, CommitSequence(2 + others)))
        #expect(try storage.readState().head == other.readState().head)
        try storage.store(["a": "6"], at: 6)
        #expect(try other.text("a") == "{6}")
        try storage.close(head: 6)
        try other.close(head: 0)
    }

    @Test func `a loss is told until what is there can be gone on with`() throws {
        let storage = try open(cluster.url) { ($0.store, $0.lockTimeoutMilliseconds) = ("again", 100) }
        for sequence in 1...3 as ClosedRange<CommitSequence> { try storage.store(["a": "\(sequence)"], at: sequence) }
        let store = "(SELECT store FROM holdfast_store WHERE name = 'again')"
        cluster.sql("DELETE FROM holdfast_log WHERE store = \(store) AND sequence > 2")
        cluster.sql(
            "UPDATE holdfast_store SET head = 2, commit_id = (SELECT commit_id FROM holdfast_log WHERE store = \(store) "
                + "AND sequence = 2) WHERE name = 'again'")
        let other = try open(cluster.url) { $0.store = "again" }
        #expect(try other.lockRow(until: .max))
        #expect(error { () throws(HoldfastError) in _ = try storage.beginSnapshot() }?.status == .historyLost)
        let known = [RepositoryRecord(id: songs, name: "songs", key: "id")]
        for _ in 1...2 {
            let refused = error { () throws(HoldfastError) in try storage.beginHistory(with: known) }
            #expect(refused?.status == .busy)
            #expect(storage.loss?.status == .historyLost)
            #expect(error { () throws(HoldfastError) in _ = try storage.beginSnapshot() }?.status == .historyLost)
        }
        other.releaseWriteLock()
        try storage.beginHistory(with: known)
        #expect(storage.loss == nil)
        #expect(try storage.readState().head == 4)
        try storage.close(head: 4)
        try other.close(head: 0)
    }

    @Test func `what was asked for earlier and answered later is as old as the question`() throws {
        let storage = try open(cluster.url) { $0.store = "late" }
        try storage.store(["a": "1"], at: 1)
        let row = try storage.pool.using { connection throws(HoldfastError) in try storage.row(on: connection) }
        let now = SystemTime().monotonicNanoseconds()
        storage.states.note(row, at: now)
        storage.states.forget()
        storage.states.note(row, at: now - 60_000_000_000)
        #expect(storage.states.token(since: now - 30_000_000_000) == nil)
        #expect(storage.states.token(since: 0) != nil)
        try storage.close(head: 1)
    }

    @Test func `sequences of commits that are not in an older copy of the database are not given out again`() throws {
        let url = cluster.database("live")
        let storage = try open(url)
        for sequence in 1...2 as ClosedRange<CommitSequence> { try storage.store(["a": "1"], at: sequence) }
        endSessions()
        cluster.sql("CREATE DATABASE older TEMPLATE live")
        try storage.store(["a": "2"], at: 3)
        #expect(try storage.readState().head == 3)
        cluster.sql("DROP DATABASE live WITH (FORCE)")
        cluster.sql("CREATE DATABASE live TEMPLATE older")
        let again = try open(url)
        #expect(try again.readState().head == 1_000)
        #expect(try again.text("a") == "{1}")
        try again.close(head: 0)
    }

    @Test func `a session's time zone makes no other run of the server`() throws {
        let one = try open(cluster.url) { $0.store = "zones" }
        try one.store(["a": "1"], at: 1)
        cluster.sql("CREATE ROLE elsewhere SUPERUSER LOGIN")
        cluster.sql("ALTER ROLE elsewhere SET timezone = 'Asia/Kolkata'")
        cluster.sql("ALTER ROLE elsewhere SET datestyle = 'German'")
        let other = try open(cluster.url.replacing("postgres@", with: "elsewhere@")) { $0.store = "zones" }
        #expect(try other.readState().head == 1)
        try other.store(["a": "2"], at: 2)
        _ = try one.changeToken
        try one.store(["a": "3"], at: 3)
        #expect(one.server?.lostRaces == 0 && other.server?.lostRaces == 0)
        try one.close(head: 0)
        try other.close(head: 0)
    }

    @Test func `who closes takes away no sequences that another process counts on`() throws {
        let first = try open(cluster.url) { $0.store = "counting" }
        try first.store(["a": "1"], at: 1)
        let second = try open(cluster.url) { $0.store = "counting" }
        #expect(try second.readState().reservedThrough == 1_000)
        try first.close(head: 1)
        try second.store(["a": "2"], at: 2, durable: false)
        #expect(cluster.sql("SELECT reserved FROM holdfast_store WHERE name = 'counting'") == "1000")
        try second.close(head: 2)
        #expect(cluster.sql("SELECT reserved FROM holdfast_store WHERE name = 'counting'") == "2")
    }

    private func endSessions() {
        cluster.sql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'holdfast'")
    }
}
