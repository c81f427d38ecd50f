import Holdfast
import HoldfastTestSupport
import Testing

/// Counts what it is asked for. It understands no filter, and gives a song more than is meant.
private actor Library: SearchingStorageProvider, DurableStorageProvider {
    private var songs: [String: Song] = [:]
    private(set) var filters: [String] = []
    private(set) var listings = 0
    private(set) var syncs = 0
    private var failure: (any Error)?

    func save(_ song: Song) { songs[song.id] = song }
    func fetchAll() -> [Song] {
        listings += 1
        return Array(songs.values)
    }
    func fetch(id: String) -> Song? { songs[id] }
    func delete(id: String) { songs[id] = nil }
    func find(_ filter: String, in repository: String) throws -> [Song] {
        if let failure { throw failure }
        filters.append("\(repository) \(filter)")
        return Array(songs.values)
    }
    func sync() throws {
        if let failure { throw failure }
        syncs += 1
    }
    func fail(with error: (any Error)?) { failure = error }
}

@Suite("A provider that can do more")
struct ProviderAbilityTests {
    @Test("is asked to search, and what it gives too much is left out")
    func searching() async throws {
        let library = Library()
        let store = try await Store.open(provider: library)
        let songs = store.repository(of: Song.self)
        try await songs.saveMany((1...5).map { Song(id: "s\($0)", title: "Title", plays: $0) })
        let listings = await library.listings
        try await #expect(songs.find(\.plays > 3).map(\.id) == ["s4", "s5"])
        await #expect(library.filters.contains(#"song {"plays":{"$gt":3}}"#))
        await #expect(library.listings == listings)

        await library.fail(with: MockError())
        let error = await expectError(.hostError) { _ = try await songs.find(\.plays > 3) }
        #expect(error?.cause is MockError)
        await library.fail(with: nil)
        try await #expect(songs.count(\.plays > 3) == 2)
        try await store.close()
    }

    @Test("searches in the repository that is meant, where it keeps several")
    func searchingDocuments() async throws {
        struct Documents: SearchingStorageProvider {
            let storage = InMemoryStorage<StoredDocument>()
            func save(_ document: StoredDocument) { storage.save(document) }
            func fetchAll() -> [StoredDocument] { storage.fetchAll() }
            func fetch(id: StoredDocument.ID) -> StoredDocument? { storage.fetch(id: id) }
            func delete(id: StoredDocument.ID) { storage.delete(id: id) }
            func find(_ filter: String, in repository: String) -> [StoredDocument] { storage.fetchAll() }
        }
        let store = try await Store.open(provider: Documents())
        let (songs, others) = (store.repository(of: Song.self), store.repository(of: Song.self, named: "others"))
        try await songs.save(Song(id: "s1", title: "Title", plays: 9))
        try await others.save(Song(id: "o1", title: "Title", plays: 9))
        try await #expect(songs.find(\.plays == 9).map(\.id) == ["s1"])
        try await #expect(others.find(\.plays == 9).map(\.id) == ["o1"])
        try await store.close()
    }

    @Test("makes commits durable, where that is asked for")
    func durability() async throws {
        let library = Library()
        let store = try await Store.open(provider: library)
        let songs = store.repository(of: Song.self)
        let (_, receipt) = try await store.transactionWithReceipt {
            try await songs.save(Song(id: "s1", title: "Title"))
        }
        #expect(receipt.isDurable)
        let syncs = await library.syncs
        #expect(syncs > 0)

        var relaxed = TransactionOptions()
        relaxed.durability = .relaxed
        let (_, later) = try await store.transactionWithReceipt(relaxed) {
            try await songs.save(Song(id: "s2", title: "Title"))
        }
        #expect(!later.isDurable)
        await #expect(library.syncs == syncs)
        try await store.sync()
        await #expect(library.syncs > syncs)

        await library.fail(with: MockError())
        await #expect(throws: HoldfastError.self) { try await songs.save(Song(id: "s3", title: "Title")) }
        await library.fail(with: nil)
        try await store.close()
    }
}
