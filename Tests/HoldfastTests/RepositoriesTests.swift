import Holdfast
import Testing

@Suite("The repositories of a store")
struct RepositoriesTests {
    @Test("are told, dropped and renamed", arguments: Engine.allCases)
    func all(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = store.repository(of: Song.self, named: "songs")
            let start = try await store.position()
            try await songs.save(Song(id: "s1", title: "Sinnerman"))
            try await #expect(store.repositories() == ["songs"])
            try await store.rename("songs", to: "tracks")
            try await #expect(store.repositories() == ["tracks"])
            try await #expect(store.repository(of: Song.self, named: "tracks").count() == 1)
            try await #expect(store.repository(of: Song.self, named: "songs").count() == 0)
            try await store.drop("tracks")
            try await #expect(store.repositories() == ["songs"])
            try await #expect(songs.count() == 0)
            try await songs.save(Song(id: "s2", title: "Feeling Good"))
            try await #expect(store.repositories() == ["songs", "tracks"])
            var told: [String] = []
            for try await batch in store.changes(since: start) {
                told += batch.commits.flatMap(\.changes).map { change in
                    "\(change.repository) \(change.operation) \(change.newName ?? change.id)"
                }
                if told.count == 4 { break }
            }
            #expect(told == ["songs put s1", "songs rename tracks", "tracks drop ", "tracks put s2"])
        }
    }

    @Test("are dropped and renamed by commits of their own", arguments: Engine.allCases)
    func transactions(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = store.repository(of: Song.self, named: "songs")
            try await songs.save(Song(id: "s1", title: "Sinnerman"))
            try await store.transaction {
                await expectError(.invalidState) { try await store.drop("songs") }
                await expectError(.invalidState) { try await store.rename("songs", to: "tracks") }
            }
            await expectError(.notFound) { try await store.drop("albums") }
            await expectError(.exists) { try await store.rename("songs", to: "songs") }
            await expectError(.invalidName) { try await store.rename("songs", to: "no name") }
            try await #expect(songs.count() == 1)
        }
    }

    @Test("are told, dropped and renamed by blocking calls")
    func blocking() async throws {
        try await onThread {
            let store = try BlockingStore.open("memory:")
            try store.repository(of: Song.self, named: "songs").save(Song(id: "s1", title: "Sinnerman"))
            try store.rename("songs", to: "tracks")
            #expect(try store.repositories() == ["tracks"])
            try store.drop("tracks")
            #expect(try store.repositories() == [])
            try store.close()
        }
    }
}
