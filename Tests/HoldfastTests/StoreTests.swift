import Foundation
import Holdfast
import Testing

@Suite("A store")
struct StoreTests {
    @Test("keeps what it acknowledged when it is opened again")
    func reopening() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            var store = try await Store.open(path)
            try await store.repository(of: Song.self).save(Song(id: "s1", title: "Sinnerman"))
            try await store.close()
            store = try await Store.open("sqlite:" + path)
            try await #expect(store.repository(of: Song.self).fetch(id: "s1")?.title == "Sinnerman")
            try await store.close()
        }
    }

    @Test("tells the version of its library, the one that is built and installed")
    func libraryVersion() throws {
        let makefile = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Makefile")
        let text = try String(contentsOf: makefile.standardized, encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VERSION := ") })
        #expect(line == "VERSION := \(Store.libraryVersion)")
    }

    @Test("stores the bytes that the encoder gives, and gives them in a fixed order")
    func bytes() async throws {
        struct Raw: Codable, Identifiable, Sendable {
            var id: String
            var zebra = 1
            var apple = "a/b"
        }
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            let store = try await Store.open(path)
            try await store.repository(of: Raw.self, named: "raws").save(Raw(id: "r"))
            try await store.close()
            let file = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(file.range(of: Data(#"{"apple":"a/b","id":"r","zebra":1}"#.utf8)) != nil)
        }
    }

    @Test("encodes and decodes as it is told")
    func ownCoders() async throws {
        struct Event: Codable, Identifiable, Sendable, Equatable {
            var id: String
            var time: Date
        }
        try await withStore(.memory) { store in
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let events = store.repository(of: Event.self, encoder: encoder, decoder: decoder)
            let event = Event(id: "e", time: Date(timeIntervalSince1970: 1_700_000_000))
            try await events.save(event)
            try await #expect(events.fetchAll() == [event])
            try await #expect(events.count(["time": "2023-11-14T22:13:20Z"]) == 1)
            try await #expect(events.find(["time": event.time]) == [event])
        }
    }

    @Test("names the entity that its type cannot hold, and hides no other", arguments: Engine.allCases)
    func undecodable(engine: Engine) async throws {
        try await withStore(engine) { store in
            try await store.repository(of: Draft.self, named: "things").saveMany([
                Draft(id: "a", text: "no song"), Draft(id: "b", text: "no song either"),
            ])
            let songs = store.repository(of: Song.self, named: "things")
            try await songs.save(Song(id: "c", title: "a song"))
            let error = await expectError(.corrupt) { _ = try await songs.fetchAll() }
            #expect(error?.message.contains("\"a\" in \"things\"") == true)
            #expect(error?.message.contains("\"title\"") == true)
            #expect(error?.detail.json == #"{"repository":"things","id":"a","type":"Song"}"#)
            #expect(error?.cause is DecodingError)
            await expectError(.corrupt) { _ = try await songs.fetch(id: "b") }
            try await #expect(songs.fetch(id: "c")?.title == "a song")
            try await #expect(songs.count() == 3)
        }
    }

    @Test("refuses an entity that cannot be encoded")
    func unencodable() async throws {
        struct Weight: Codable, Identifiable, Sendable {
            var id: String
            var grams: Double
        }
        try await withStore(.memory) { store in
            let weights = store.repository(of: Weight.self)
            let error = await expectError(.invalidEntity) { try await weights.save(Weight(id: "w", grams: .infinity)) }
            #expect(error?.cause is EncodingError)
            try await #expect(weights.count() == 0)
        }
    }

    @Test("refuses work once it is closed, and closing again does nothing", arguments: Engine.allCases)
    func closing(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "s1", title: ""))
            try await store.close()
            try await store.close(timeout: .zero)
            await expectError(.closed) { try await songs.save(Song(id: "s2", title: "")) }
            await expectError(.closed) { _ = try await songs.fetch(id: "s1") }
            await expectError(.closed) { try await store.transaction {} }
            await expectError(.closed) { try await store.repository(of: Draft.self).open() }
            await expectError(.closed) { try await store.sync() }
            await expectError(.closed) { _ = try store.describe() }
        }
    }

    @Test("that is closed finishes what it accepted and rolls back what is open", arguments: Engine.allCases)
    func closingInUse(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.open()
            let saves = (0..<200).map { number in
                Task { try await songs.save(Song(id: "s\(number)", title: "")) }
            }
            await expectError(.closed) {
                try await store.transaction {
                    try await songs.save(Song(id: "open", title: ""))
                    try await store.close()
                    try await songs.save(Song(id: "late", title: ""))
                }
            }
            for save in saves {
                if case .failure(let error) = await save.result {
                    #expect((error as? HoldfastError)?.status == .closed)
                }
            }
        }
    }

    @Test("tells what it is", arguments: Engine.allCases)
    func describing(engine: Engine) async throws {
        try await withStore(engine) { store in
            try await store.repository(of: Song.self).save(Song(id: "s1", title: ""))
            let description = try store.describe()
            #expect(description.engine == engine.rawValue)
            #expect(description.sequence > 0)
            #expect(description.position.hasPrefix(description.incarnation))
            #expect(!description.isReadOnly)
            #expect(description.repositories.map(\.key) == ["id"])
            #expect((description.sizes?.store ?? 0 > 0) == (engine == .sqlite))
            #expect(description.schemaVersion == nil)
        }
    }

    @Test("tells who holds a snapshot of it, by name", arguments: Engine.allCases)
    func describingSnapshots(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "s1", title: ""))
            try await store.transaction(TransactionOptions(name: "nightly report")) {
                _ = try await songs.fetchAll()
                let held = try store.describe().openSnapshots
                #expect(held.map(\.names).contains(["nightly report"]))
                #expect(held.allSatisfy { $0.age >= .zero && $0.sequence > 0 })
            }
            await expectError(.invalidOption) { try await store.transaction(TransactionOptions(name: "")) {} }
        }
    }

    @Test("tells why it cannot be opened")
    func failingToOpen() async throws {
        try await withDirectory { directory in
            await expectError(.cannotOpen) { _ = try await Store.open("\(directory)/none/store.db") }
            await expectError(.invalidURL) { _ = try await Store.open("gopher:x") }
            let error = await expectError(.invalidOption) {
                _ = try await Store.open("memory:", StoreOptions(maxInFlight: 0))
            }
            #expect(error?.detail.option == "maxInFlight")
            await expectError(.cannotOpen) {
                _ = try await Store.open("\(directory)/store.db", StoreOptions(create: false))
            }
        }
    }

    @Test("that was opened read-only reads, and refuses to write")
    func readOnly() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            var store = try await Store.open(path)
            try await store.repository(of: Song.self).save(Song(id: "s1", title: ""))
            try await store.close()
            let options = StoreOptions(readOnly: true)
            store = try await Store.open(path, options)
            let songs = store.repository(of: Song.self)
            try await #expect(songs.count() == 1)
            await expectError(.readOnly) { try await songs.save(Song(id: "s2", title: "")) }
            await expectError(.readOnly) {
                _ = try await store.transaction { try await songs.save(Song(id: "s2", title: "")) }
            }
            try await store.close()
        }
    }

    @Test("is held by one at a time")
    func holding() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            let first = try await Store.open(path)
            let error = await expectError(.busy) { _ = try await Store.open(path) }
            #expect(error?.isRetryable == true)
            try await first.close()
            try await Store.open(path).close()
        }
    }

    @Test("can be made durable after relaxed commits")
    func syncing() async throws {
        let options = StoreOptions(durability: .relaxed)
        try await withStore(.sqlite, options) { store in
            let songs = store.repository(of: Song.self)
            let (_, receipt) = try await store.transactionWithReceipt {
                try await songs.save(Song(id: "s1", title: ""))
            }
            #expect(!receipt.isDurable)
            try await store.sync()
            var durable = TransactionOptions()
            durable.durability = .full
            let (_, synced) = try await store.transactionWithReceipt(durable) {
                try await songs.save(Song(id: "s2", title: ""))
            }
            #expect(synced.isDurable)
        }
    }

    @Test("has an error text that says it all")
    func errorText() {
        let error = HoldfastError(.conflict, "something changed")
        #expect("\(error)" == "conflict: something changed")
        #expect(error.isRetryable)
        #expect(!HoldfastError(.conflict, "", commitState: .unknown).isRetryable)
    }
}
