import Holdfast
import HoldfastTestSupport
import Testing

/// What repositories over providers are known to get wrong.
@Suite("A repository over a provider does not")
struct ProviderPitfallTests {
    private let song = Song(id: "s1", title: "Sinnerman")

    private func withSongs(
        _ songs: [Song] = [], cachePolicy: CachePolicy = .default,
        _ body: (Repository<Song>, MockStorageProvider<Song>) async throws -> Void
    ) async throws {
        let storage = MockStorageProvider(songs)
        let store = try await Store.open(provider: storage)
        let repository = store.repository(of: Song.self, cachePolicy: cachePolicy)
        try await body(repository, storage)
        try await repository.store.close()
    }

    @Test("load everything to fetch one")
    func fetchingOne() async throws {
        try await withSongs([song, Song(id: "s2", title: "")]) { songs, storage in
            try await #expect(songs.fetch(id: "s1") == song)
            try await #expect(songs.contains(id: "s2"))
            #expect(storage.calls.count(of: .fetchAll) == 0)
        }
    }

    @Test("delete an entity to save it anew")
    func savingAnew() async throws {
        try await withSongs([song]) { songs, storage in
            try await songs.save(Song(id: "s1", title: "anew"))
            #expect(storage.calls.count(of: .delete) == 0)
            #expect(storage.calls.count(of: .save) == 1)
        }
    }

    @Test("store what a transaction saves before it is committed")
    func savingInTransactions() async throws {
        try await withSongs { songs, storage in
            try await songs.store.transaction {
                try await songs.save(song)
                try await songs.save(Song(id: "s2", title: ""))
                #expect(storage.calls.count(of: .save) == 0)
            }
            #expect(storage.calls.count(of: .save) == 2)
        }
    }

    @Test("wipe out with a rollback what another task has saved meanwhile")
    func rollbacksAlone() async throws {
        try await withSongs([song]) { songs, storage in
            await #expect(throws: Refusal.self) {
                try await songs.store.transaction {
                    try await songs.save(Song(id: "s1", title: "rolled back"))
                    try await inAnotherTask { try await songs.save(Song(id: "s2", title: "meanwhile")) as Song }
                    throw Refusal()
                }
            }
            try await #expect(songs.fetchAll().map(\.title) == ["Sinnerman", "meanwhile"])
            #expect(storage.storage.fetchAll().map(\.title) == ["Sinnerman", "meanwhile"])
        }
    }

    @Test("show from its cache what was taken back after a failure")
    func cacheAfterFailure() async throws {
        try await withSongs([song]) { songs, storage in
            try await #expect(songs.fetch(id: "s1") == song)
            storage.calls.fail(.save, at: 2, with: Refusal())
            await expectError(.hostError) {
                try await songs.saveMany(["s1", "s2"].map { Song(id: $0, title: "taken back") })
            }
            try await #expect(songs.fetch(id: "s1") == song)
            try await #expect(songs.fetch(id: "s2") == nil)
        }
    }

    @Test("wrap an error once for each transaction that it comes out of")
    func nesting() async throws {
        try await withSongs { songs, storage in
            let store = songs.store
            await #expect(throws: Refusal.self) {
                try await store.transaction { try await store.transaction { throw Refusal() } }
            }
            storage.calls.fail(.save, with: Refusal())
            let error = await expectError(.hostError) {
                _ = try await store.transaction { try await store.transaction { try await songs.save(song) as Song } }
            }
            #expect(error?.cause is Refusal)
        }
    }

    @Test("leave out of a list what cannot be read")
    func unreadable() async throws {
        try await withSongs([song]) { songs, storage in
            storage.calls.fail(
                .fetchAll, with: DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "half a file")))
            await expectError(.corrupt) { _ = try await songs.fetchAll() }
            await expectError(.corrupt) { _ = try await songs.find(\.plays == 0) }
            try await #expect(songs.fetch(id: "s1") == song)
        }
    }

    @Test("fail when there is nothing to delete all of")
    func deletingNothing() async throws {
        try await withSongs { songs, _ in
            try await #expect(songs.deleteAll() == 0)
            try await #expect(songs.deleteAll() == 0)
        }
    }

    @Test("bring back from its cache what is deleted while it is read")
    func deletingWhileReading() async throws {
        try await withSongs(cachePolicy: CachePolicy(maxEntries: 10)) { songs, _ in
            for _ in 0..<50 {
                try await songs.save(song)
                try await songs.invalidateCache(id: "s1")
                async let reading = songs.fetch(id: "s1")
                try await songs.delete(id: "s1")
                _ = try await reading
                try await #expect(songs.fetch(id: "s1") == nil)
            }
        }
    }
}
