import HoldfastFamiliar
import HoldfastTestSupport
import Testing

@Suite("A repository over a provider")
struct ProviderRepositoryTests {
    private let song = Song(id: "s1", title: "Sinnerman")

    @Test("asks the provider once for an entity that it has read, and never for one that it has saved")
    func cacheAside() async throws {
        let storage = MockStorageProvider([song])
        let songs = ProviderRepository(storage: storage)
        try await #expect(songs.fetch(id: "s1") == song)
        try await #expect(songs.fetch(id: "s1") == song)
        #expect(storage.calls.count(of: .fetch) == 1)
        try await songs.save(Song(id: "s2", title: "saved"))
        let asked = storage.calls.count(of: .fetch)
        try await #expect(songs.fetch(id: "s2")?.title == "saved")
        #expect(storage.calls.count(of: .fetch) == asked)
    }

    @Test("asks again for what is not there")
    func misses() async throws {
        let storage = MockStorageProvider<Song>()
        let songs = ProviderRepository(storage: storage)
        try await #expect(songs.fetch(id: "s1") == nil)
        let asked = storage.calls.count(of: .fetch)
        storage.storage.save(song)
        try await #expect(songs.fetch(id: "s1") == song)
        #expect(storage.calls.count(of: .fetch) > asked)
    }

    @Test("shows what was saved and no more what was deleted, in the provider too")
    func writing() async throws {
        let storage = MockStorageProvider([song])
        let songs = ProviderRepository(storage: storage)
        try await #expect(songs.fetch(id: "s1") == song)
        let played = Song(id: "s1", title: "Sinnerman", plays: 1)
        try await #expect(songs.save(played) == played)
        try await #expect(songs.fetch(id: "s1") == played)
        #expect(storage.storage.fetch(id: "s1") == played)
        try await songs.delete(id: "s1")
        try await #expect(songs.fetch(id: "s1") == nil)
        #expect(storage.storage.fetchAll() == [])
        await expectError(.notFound) { try await songs.delete(id: "s1") }
    }

    @Test("keeps what it knows when the provider fails, and names what failed with its cause")
    func failedWrite() async throws {
        let storage = MockStorageProvider([song])
        let songs = ProviderRepository(storage: storage)
        try await #expect(songs.fetch(id: "s1") == song)
        storage.calls.fail(.save, with: Refusal())
        let error = await expectError(.hostError) {
            try await songs.save(Song(id: "s1", title: "Sinnerman", plays: 1))
        }
        #expect(error?.cause as? Refusal == Refusal())
        #expect(error?.message.contains("save song \"s1\"") == true)
        #expect(error?.detail.id == "s1")
        try await #expect(songs.fetch(id: "s1") == song)
        storage.calls.reset()
        try await #expect(songs.fetch(id: "s1") == song)
        #expect(storage.calls.count == 0)
    }

    @Test("always asks the provider for all, and remembers them, ordered by the bytes of their ids")
    func fetchingAll() async throws {
        let storage = MockStorageProvider(["b", "a", "B"].map { Song(id: $0, title: $0) })
        let songs = ProviderRepository(storage: storage)
        try await #expect(songs.fetchAll().map(\.id) == ["B", "a", "b"])
        try await #expect(songs.fetchAll().count == 3)
        #expect(storage.calls.count(of: .fetchAll) == 2)
        try await #expect(songs.fetch(id: "a")?.title == "a")
        #expect(storage.calls.count(of: .fetch) == 0)
    }

    @Test("finds an entity again after its cache was invalidated, as it is by then")
    func invalidating() async throws {
        let storage = MockStorageProvider([song])
        let songs = ProviderRepository(storage: storage)
        await songs.invalidateCache()
        try await #expect(songs.fetch(id: "s1") == song)
        let played = Song(id: "s1", title: "Sinnerman", plays: 1)
        storage.storage.save(played)
        await songs.invalidateCache()
        try await #expect(songs.fetch(id: "s1") == played)
    }

    @Test("never shows an entity as it was before somebody wrote to a provider that counts its changes")
    func writingBehindItsBack() async throws {
        let storage = InMemoryStorage([song])
        let songs = InMemoryRepository(storage: storage)
        for plays in 1...20 {
            try await #expect(songs.fetch(id: "s1")?.plays == plays - 1)
            storage.save(Song(id: "s1", title: "Sinnerman", plays: plays))
            try await #expect(songs.fetch(id: "s1")?.plays == plays)
        }
        storage.delete(id: "s1")
        try await #expect(songs.fetch(id: "s1") == nil)
    }

    @Test("asks the provider each time when it is to cache nothing")
    func noCache() async throws {
        let storage = MockStorageProvider([song])
        let songs = ProviderRepository(storage: storage, cachePolicy: .noCache)
        for calls in 1...3 {
            try await #expect(songs.fetch(id: "s1") == song)
            #expect(storage.calls.count(of: .fetch) == calls)
        }
    }

    @Test("stores a hundred entities that a hundred tasks save at once")
    func parallelSaves() async throws {
        let storage = InMemoryStorage<Song>()
        let songs = InMemoryRepository(storage: storage)
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask { try await songs.save(Song(id: "s\(number)", title: "")) }
            }
            try await group.waitForAll()
        }
        try await #expect(songs.fetchAll().count == 100)
        #expect(storage.fetchAll().count == 100)
    }

    @Test("opens again at the next call when the provider could not be asked at first")
    func openingAgain() async throws {
        let storage = MockStorageProvider([song])
        storage.calls.fail(at: 1, with: Refusal())
        let songs = ProviderRepository(storage: storage)
        await expectError(.hostError) { _ = try await songs.fetch(id: "s1") }
        try await #expect(songs.fetch(id: "s1") == song)
    }

    @Test("gives the whole repository for transactions and queries")
    func opening() async throws {
        let songs = InMemoryRepository(storage: InMemoryStorage([song]))
        let repository = try await songs.open()
        try await repository.store.transaction { try await repository.save(Song(id: "s2", title: "Feeling Good")) }
        try await #expect(repository.find(\.title == "Feeling Good").map(\.id) == ["s2"])
    }
}
