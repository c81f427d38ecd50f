import HoldfastCore
import HoldfastEnvironment
import HoldfastQuery
import HoldfastStorage
import StorageConformance
import Testing

@testable import HoldfastPostgreSQL

/// What is run again and again is prepared, and whoever takes that away is not noticed. Where statements are counted no server is near,
/// so that each read asks the same.
@Suite(.serialized) struct PreparedTests {
    private static let cluster = Cluster()
    private static let pooled = cluster.pool()
    private var cluster: Cluster { Self.cluster }

    /// What a session that reads has of prepared statements.
    private func prepared(in storage: PostgreSQLStorage, _ what: String) throws -> Int64 {
        let connection = try storage.pool.take()
        defer { storage.pool.give(connection) }
        let question = Statement("SELECT coalesce(\(what), 0)::int8 FROM pg_prepared_statements WHERE NOT from_sql")
        return try connection.run([question], "asking")[0].integer(0, 0)
    }

    private func roundTrips(of storage: PostgreSQLStorage, _ body: () throws -> Void) rethrows -> UInt64 {
        let before = storage.server!.roundTrips
        try body()
        return storage.server!.roundTrips - before
    }

    private func expect(_ text: String, in storage: PostgreSQLStorage, roundTrips: UInt64) throws {
        var found: String?
        let took = try self.roundTrips(of: storage) { found = try storage.newest("a") }
        #expect(found == text)
        #expect(took == roundTrips)
    }

    @Test func `a statement that is run again is not parsed again, and planned anew after a while`() throws {
        for age in [1, 300_000_000, 600_000_000_000] {
            let storage = try open(
                cluster.url, { $0.store = "plans \(age)" },
                limits: { ($0.serverPlanAge, $0.serverNear) = (age, 1) })
            try storage.store(["a": "0"], at: 1)
            for _ in 0..<10 { #expect(try storage.newest("a") == "{0}") }
            let statements = try prepared(in: storage, "count(*)")
            let plans = try prepared(in: storage, "sum(generic_plans)")
            if age > 1 { #expect(plans > 0) } else { #expect(plans == 0) }
            usleep(350_000)
            for _ in 0..<3 { #expect(try storage.newest("a") == "{0}") }
            // None is left behind by the one that has taken its place.
            #expect(try prepared(in: storage, "count(*)") == statements)
            let later = try prepared(in: storage, "sum(generic_plans)")
            if age == 600_000_000_000 { #expect(later > plans) } else { #expect(later == 0) }
            try storage.close(head: 1)
        }
    }

    @Test(arguments: ["DISCARD ALL", "DEALLOCATE ALL"])
    func `what a session has forgotten is sent whole, in the same call`(_ forgetting: String) throws {
        let storage = try open(cluster.url, { $0.store = forgetting }, limits: { $0.serverNear = 1 })
        try storage.store(["a": "0"], at: 1)
        for _ in 0..<3 { #expect(try storage.newest("a") == "{0}") }
        let connection = try storage.pool.take()
        try connection.run([Statement(forgetting)], "forgetting")
        storage.pool.give(connection)
        try expect("{0}", in: storage, roundTrips: 2)
        try expect("{0}", in: storage, roundTrips: 1)
        #expect(try prepared(in: storage, "count(*)") == 0)
        // Also what was prepared by other connections is not named any more.
        let took = try roundTrips(of: storage) { try storage.store(["a": "1"], at: 2) }
        #expect(took == 1)
        #expect(try storage.newest("a") == "{1}")
        try storage.close(head: 2)
    }

    @Test func `a transaction that begins with what a session has forgotten begins once more`() throws {
        let storage = try open(cluster.url) { $0.store = "beginning" }
        try storage.store(["a": "0"], at: 1)
        #expect(try storage.text("a") == "{0}")
        let connection = try storage.pool.take()
        try connection.run([Statement("DISCARD ALL")], "forgetting")
        storage.pool.give(connection)
        #expect(try storage.text("a") == "{0}")
        #expect(try storage.text("a") == "{0}")
        try storage.store(["a": "1"], at: 2)
        #expect(try storage.text("a") == "{1}")
        try storage.close(head: 2)
    }

    /// In front of the server a pooler: a snapshot of another store keeps the session that one store had, so that it gets another.
    @Test(arguments: ["commit", "read", "reading commit", "snapshot", "confirming"])
    func `behind a pooler that gives out sessions by transaction nothing fails and nothing is unknown`(
        _ first: String
    ) throws {
        let storage = try open(Self.pooled) { $0.store = first }
        let other = try open(Self.pooled) { $0.store = "beside \(first)" }
        try other.store(["a": "0"], at: 1)
        var head: CommitSequence = 0
        func commit(reading: Bool = false) throws {
            head += 1
            let write = try storage.beginWrite(durable: true)
            if reading {
                var text = ""
                try write.fetch([EntityKey("a"), EntityKey("none")]) { _, view in
                    text += String(decoding: view.body, as: UTF8.self)
                }
                #expect(text == "{\(head - 1)}")
            }
            try write.apply(batch(["a": "\(head)"], at: head))
            guard case .stored = try write.commit() else { throw HoldfastError(.internal, "nobody else was there") }
        }
        func confirm() throws {
            let write = try storage.beginWrite(durable: true)
            try write.fetch([EntityKey("a")]) { _, _ in }
            #expect(try write.confirm())
        }
        func all() throws {
            try commit()
            #expect(try storage.newest("a") == "{\(head)}")
            try commit(reading: true)
            #expect(try storage.text("a") == "{\(head)}")
            try confirm()
        }
        func one() throws {
            switch first {
            case "commit": try commit()
            case "read": #expect(try storage.newest("a") == "{\(head)}")
            case "reading commit": try commit(reading: true)
            case "snapshot": #expect(try storage.text("a") == "{\(head)}")
            default: try confirm()
            }
        }
        try commit()
        for _ in 0..<3 { try one() }
        let holding = try (0..<4).map { _ in try other.beginSnapshot() }
        try one()
        #expect(!storage.pool.preparation.isPossible)
        for _ in 0..<3 { try all() }
        for snapshot in holding { snapshot.close() }
        #expect(storage.server?.resolvedCommits == 0)
        #expect(storage.server?.lostRaces == 0)
        let snapshot = try storage.beginSnapshot()
        #expect(try snapshot.commitLog(after: 0)?.map(\.sequence) == Array(1...head))
        snapshot.close()
        try storage.close(head: head)
        try other.close(head: 1)
    }

    @Test func `a table that another machine has changed is read as it is now`() throws {
        let url = cluster.database("changed")
        let storage = try open(url, limits: { ($0.serverPlanAge, $0.serverNear) = (600_000_000_000, 1) })
        try storage.store(["a": "0"], at: 1)
        for _ in 0..<9 { #expect(try storage.newest("a") == "{0}") }
        cluster.sql("CREATE INDEX ON holdfast_entity (version)", at: url)
        try expect("{0}", in: storage, roundTrips: 1)
        // What it answers is of another type by now.
        cluster.sql("ALTER TABLE holdfast_entity ALTER version TYPE int4", at: url)
        try expect("{0}", in: storage, roundTrips: 2)
        try storage.store(["a": "1"], at: 2)
        #expect(try storage.newest("a") == "{1}")
        try storage.close(head: 2)
    }

    @Test func `a plan of when a store was small is not used for long`() throws {
        let url = cluster.database("growing")
        let storage = try open(url, limits: { $0.serverPlanAge = 100_000_000 })
        try storage.store(["a": "0"], at: 1)
        cluster.sql("ALTER TABLE holdfast_entity SET (autovacuum_enabled = off)", at: url)
        // It has its statistics of a table that is read fastest as a whole.
        cluster.sql("ANALYZE holdfast_entity", at: url)
        for _ in 0..<10 { #expect(try storage.newest("a") == "{0}") }
        let many = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("s\($0)", "\"n\":\($0)") })
        try storage.store(many, at: 2)
        usleep(150_000)
        let reading = try storage.pool.take()
        let scans = Statement("SELECT pg_stat_get_xact_tuples_returned('holdfast_entity'::regclass)")
        let question = StoreRow.statement(storage.number, CommitName(0, at: 0), with: EntityKey("s7"))
        for round in 0..<8 {
            let rows = try reading.run([question, scans], "reading")
            #expect(rows[1].integer(0, 0) < 100, "in round \(round)")
        }
        storage.pool.give(reading)
        try storage.close(head: 2)
    }
}
