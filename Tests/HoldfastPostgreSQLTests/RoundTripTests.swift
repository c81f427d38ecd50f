import HoldfastEngines
import HoldfastStorage
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

/// How often a store asks its server, and what it reads without asking.
@Suite(.serialized) struct RoundTripTests {
    private static let cluster = Cluster()

    private struct Client {
        let store: Store
        let things: Repository

        init(_ name: String, near: Int? = nil, _ change: (inout StoreOptions) -> Void = { _ in }) throws {
            var options = StoreOptions()
            options.store = name
            change(&options)
            var environment = Environment.system
            if let near { environment.limits.serverNear = near }
            store = try StoreURL.open(cluster.url, options: options, environment: environment)
            things = try store.repository("things")
        }

        func perform(_ verb: Verb, _ text: String, in transaction: Transaction? = nil) throws {
            _ = try Array(text.utf8).withBytes { try things.perform(WriteCall(verb, nil, $0), in: transaction) }
        }

        func read(_ id: String, in transaction: Transaction? = nil) throws -> String? {
            var text: String?
            _ = try things.fetch(EntityID(unchecked: Array(id.utf8)), in: transaction) { _, body in
                text = String(decoding: body, as: UTF8.self)
            }
            return text
        }

        /// The fewest that it took in some rounds: a snapshot may be let go of in between.
        func roundTrips(_ rounds: Int = 6, _ body: (Int) throws -> Void) throws -> UInt64 {
            var fewest = UInt64.max
            for round in 0..<rounds {
                let before = store.storage.server!.roundTrips
                try body(round)
                fewest = min(fewest, store.storage.server!.roundTrips - before)
            }
            return fewest
        }
    }

    private static func change(_ id: String, _ number: Int) -> String { "{\"id\":\"\(id)\",\"n\":\(number)}" }

    @Test func `a commit takes one round trip, and one more for what it must know`() throws {
        let client = try Client("commits")
        try client.perform(.save, Self.change("a", 0))
        #expect(try client.roundTrips { try client.perform(.save, Self.change("a", $0)) } == 1)
        #expect(try client.roundTrips { try client.perform(.add, Self.change("b\($0)", 0)) } == 2)
        let refused = try client.roundTrips { _ in
            #expect(throws: HoldfastError.self) { try client.perform(.add, Self.change("a", 0)) }
        }
        #expect(refused == 1)
        _ = try client.store.close(timeoutMilliseconds: nil)
    }

    @Test func `what is read and changed of cached entities takes one round trip`() throws {
        let client = try Client("cached")
        try client.perform(.save, Self.change("a", 0))
        let trips = try client.roundTrips { round in
            let transaction = try client.store.begin()
            _ = try client.read("a", in: transaction)
            try client.perform(.save, Self.change("a", round), in: transaction)
            _ = try transaction.commit()
        }
        #expect(trips == 1)
        #expect(try client.read("a") == Self.change("a", 5))
        _ = try client.store.close(timeoutMilliseconds: nil)
    }

    @Test func `a transaction that reads what is not cached takes one round trip more, for its snapshot`() throws {
        let (client, other) = (try Client("first"), try Client("first"))
        for id in 0..<60 { try other.perform(.save, Self.change("a\(id)", 0)) }
        for isolation in [Isolation.serializable, .snapshot] {
            var options = TransactionOptions()
            options.isolation = isolation
            let reading = try client.roundTrips { round in
                let transaction = try client.store.begin(options)
                let id = "a\(isolation == .snapshot ? 6 + round : round)"
                #expect(try client.read(id, in: transaction) == Self.change(id, 0))
                _ = try transaction.commit()
            }
            #expect(reading == 2)
            let writing = try client.roundTrips { round in
                let transaction = try client.store.begin(options)
                let id = "a\(isolation == .snapshot ? 26 + round : 20 + round)"
                #expect(try client.read(id, in: transaction) == Self.change(id, 0))
                try client.perform(.save, Self.change(id, 1), in: transaction)
                _ = try transaction.commit()
                #expect(try other.read(id) == Self.change(id, 1))
            }
            // With the end of the snapshot, which nobody waits for.
            #expect(writing == 4)
        }
        // What is not there is read as that.
        let missing = try client.store.begin()
        #expect(try client.read("none", in: missing) == nil)
        try other.perform(.save, Self.change("none", 1))
        try client.perform(.save, Self.change("b", 1), in: missing)
        let error = #expect(throws: HoldfastError.self) { try missing.commit() }
        #expect(error?.status == .conflict)
        _ = try client.store.close(timeoutMilliseconds: nil)
        _ = try other.store.close(timeoutMilliseconds: nil)
    }

    @Test func `a transaction that has read what is no longer so meets a conflict, also where it writes nothing`()
        throws
    {
        let (one, other) = (try Client("conflicts"), try Client("conflicts"))
        try one.perform(.save, Self.change("a", 0))
        for writes in [false, true] {
            _ = try one.read("a")
            let transaction = try one.store.begin()
            let seen = try one.read("a", in: transaction)
            try other.perform(.save, Self.change("a", writes ? 2 : 1))
            if writes { try one.perform(.save, Self.change("b", 0), in: transaction) }
            let error = #expect(throws: HoldfastError.self) { try transaction.commit() }
            #expect(error?.status == .conflict)
            // Once it is known, who runs again reads what is new.
            let again = try one.store.begin()
            #expect(try one.read("a", in: again) != seen)
            _ = try again.commit()
        }
        _ = try one.store.close(timeoutMilliseconds: nil)
        _ = try other.store.close(timeoutMilliseconds: nil)
    }

    @Test func `a transaction whose reads still hold commits on a newer state`() throws {
        let (one, other) = (try Client("moves"), try Client("moves"))
        for id in ["a", "b"] { try one.perform(.save, Self.change(id, 0)) }
        _ = try one.read("a")
        // No snapshot is open of what this leaves.
        try one.perform(.save, Self.change("a", 0))
        let transaction = try one.store.begin()
        #expect(try one.read("a", in: transaction) == Self.change("a", 0))
        try other.perform(.save, Self.change("b", 1))
        // Not in the cache, so it is read in the newest state.
        #expect(try one.read("b", in: transaction) == Self.change("b", 1))
        try one.perform(.save, Self.change("a", 1), in: transaction)
        _ = try transaction.commit()
        #expect(try other.read("a") == Self.change("a", 1))
        _ = try one.store.close(timeoutMilliseconds: nil)
        _ = try other.store.close(timeoutMilliseconds: nil)
    }

    /// Near a server what a read takes it counts for more than a round trip now and then.
    @Test(arguments: [1, 600_000_000_000])
    func `a plain read takes one round trip, also of what others have committed, and near a server one more at first`(
        _ near: Int
    ) throws {
        let name = "plain \(near)"
        let (one, other) = (try Client(name, near: near), try Client(name))
        for id in 0..<80 { try other.perform(.save, Self.change("a\(id)", 0)) }
        var found: [String?] = []
        #expect(try one.roundTrips { found.append(try one.read("a\($0)")) } == 1)
        #expect(found == (0..<6).map { Self.change("a\($0)", 0) })
        #expect(try one.roundTrips { found.append(try one.read("none\($0)")) } == 1)
        #expect(found[6...] == [nil, nil, nil, nil, nil, nil])
        // What was cached is still known afterwards, but for what they have changed.
        for id in 6..<30 { _ = try one.read("a\(id)") }
        try other.perform(.save, Self.change("a0", 1))
        #expect(try one.roundTrips(1) { _ in found.append(try one.read("a30")) } == (near == 1 ? 1 : 2))
        #expect(try one.roundTrips(1) { _ in found.append(try one.read("a1")) } == 1)
        #expect(found[12...] == [Self.change("a30", 0), Self.change("a1", 0)])
        #expect(try one.read("a0") == Self.change("a0", 1))
        let before = one.store.cache.statistics.counts.hits
        _ = try one.read("a0")
        #expect(one.store.cache.statistics.counts.hits == before + 1)
        // While they go on, each read asks at once.
        for number in 2..<20 {
            try other.perform(.save, Self.change("a79", number))
            #expect(try one.roundTrips(1) { _ in _ = try one.read("a79") } <= 2)
            try other.perform(.save, Self.change("a78", number))
            let id = "a\(30 + number)"
            #expect(try one.roundTrips(1) { _ in found.append(try one.read(id)) } == 1)
            #expect(found.last == Self.change(id, 0))
        }
        #expect(try one.read("a79") == Self.change("a79", 19))
        _ = try one.store.close(timeoutMilliseconds: nil)
        _ = try other.store.close(timeoutMilliseconds: nil)
    }

    @Test func `a cached entity is read without asking as long as it may be stale, and no longer`() throws {
        let other = try Client("stale")
        try other.perform(.save, Self.change("a", 0))
        let patient = try Client("stale") { $0.maxStaleness = 600_000_000_000 }
        let brief = try Client("stale") { $0.maxStaleness = 1_000_000 }
        let strict = try Client("stale")
        for client in [patient, brief, strict] { for _ in 0..<2 { _ = try client.read("a") } }
        #expect(try patient.roundTrips { _ in _ = try patient.read("a") } == 0)
        #expect(try strict.roundTrips { _ in _ = try strict.read("a") } == 1)
        try other.perform(.save, Self.change("a", 1))
        #expect(try strict.read("a") == Self.change("a", 1))
        let deadline = SystemTime().monotonicNanoseconds() + 2_000_000
        while SystemTime().monotonicNanoseconds() < deadline {}
        #expect(try brief.read("a") == Self.change("a", 1))
        // It hears of others without asking for each read.
        let began = SystemTime().monotonicNanoseconds()
        while try patient.read("a") != Self.change("a", 1), SystemTime().monotonicNanoseconds() < began + 20_000_000_000
        {
            usleep(1_000)
        }
        #expect(try patient.read("a") == Self.change("a", 1))
        // What it has stored itself it knows.
        try patient.perform(.save, Self.change("a", 2))
        #expect(try patient.read("a") == Self.change("a", 2))
        for client in [patient, brief, strict, other] { _ = try client.store.close(timeoutMilliseconds: nil) }
    }

    @Test func `operations are handed over without asking, and many share what is asked and stored`() throws {
        let client = try Client("operations")
        try client.perform(.save, Self.change("a", 0))
        func hand(_ number: Int) throws -> Future {
            let text = "{\"operation\":\"save\",\"repository\":\"things\",\"entity\":\(Self.change("s\(number)", 0))}"
            return try Array(text.utf8).withBytes { bytes throws(HoldfastError) in
                try Operation(client.store, describedBy: bytes).start()
            }
        }
        let before = client.store.storage.server!.roundTrips
        Self.cluster.pause()
        let began = SystemTime().monotonicNanoseconds()
        let handed = Result { try (0..<500).map(hand) }
        let took = SystemTime().monotonicNanoseconds() - began
        Self.cluster.resume()
        for future in try handed.get() { _ = try future.wait(milliseconds: nil) }
        #expect(took < 5_000_000_000)
        #expect(client.store.storage.server!.roundTrips - before < 100)
        _ = try client.store.close(timeoutMilliseconds: nil)
    }

    @Test func `an operation's name means what it means when that is handed over`() throws {
        let (one, other) = (try Client("names"), try Client("names"))
        for number in 0..<5 {
            let text = "{\"operation\":\"save\",\"repository\":\"things\",\"entity\":\(Self.change("a", number))}"
            let operation = try Array(text.utf8).withBytes { bytes throws(HoldfastError) in
                try Operation(one.store, describedBy: bytes)
            }
            for _ in 0..<2 { _ = try operation.start().wait(milliseconds: nil) }
            #expect(try other.store.repository("things").count() == 1)
            try other.store.drop("things")
        }
        _ = try one.store.close(timeoutMilliseconds: nil)
        _ = try other.store.close(timeoutMilliseconds: nil)
    }
}
