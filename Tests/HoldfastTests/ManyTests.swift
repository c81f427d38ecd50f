import Holdfast
import Testing

@Suite("Calls for many entities")
struct ManyTests {
    private func filled(_ store: Store) async throws -> Repository<Song> {
        let songs = store.repository(of: Song.self)
        try await songs.addMany((1...4).map { Song(id: "s\($0)", title: "Title \($0)") })
        return songs
    }

    @Test("fetch those that are there, in the order of the ids given", arguments: Engine.allCases)
    func fetchingMany(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = try await filled(store)
            try await #expect(songs.fetchMany(ids: ["s3", "none", "s1"]).map(\.id) == ["s3", "s1"])
            try await #expect(songs.fetchMany(ids: []).isEmpty)
            try await store.transaction {
                try await songs.delete(id: "s3")
                try await songs.save(Song(id: "none", title: "New"))
                try await #expect(songs.fetchMany(ids: ["s3", "none", "s1"]).map(\.id) == ["none", "s1"])
            }
            await expectError(.invalidID) { _ = try await songs.fetchMany(ids: ["s1", ""]) }
        }
    }

    @Test("patch each entity by its own changes, or none of them", arguments: Engine.allCases)
    func patchingMany(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = try await filled(store)
            let patched = try await songs.patchMany([
                ("s2", ["plays": 2, "note": "live"]), ("s1", ["plays": 1]), ("s2", ["note": nil, "title": "Twice"]),
            ])
            #expect(patched.map(\.id) == ["s2", "s1", "s2"])
            try await #expect(songs.fetch(id: "s2") == Song(id: "s2", title: "Twice", plays: 2))
            try await #expect(songs.fetch(id: "s1")?.plays == 1)

            await expectError(.notFound) { try await songs.patchMany([("s3", ["plays": 3]), ("none", ["plays": 3])]) }
            let error = await expectError(.invalidEntity) {
                try await songs.patchMany([("s3", ["plays": 3]), ("s4", ["id": "s5"])])
            }
            #expect(error?.message.hasPrefix("element 1, counted from 0: ") == true)
            try await #expect(songs.fetch(id: "s3")?.plays == 0)
        }
    }

    @Test("open a repository without creating it", arguments: Engine.allCases)
    func openingWithoutCreating(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            await expectError(.notFound) { try await songs.open(creating: false) }
            try #expect(store.describe().repositories.isEmpty)
            try await songs.open()
            try await store.repository(of: Song.self).open(creating: false)
            try #expect(store.describe().repositories.map(\.name) == ["song"])
        }
    }

    @Test("ask a feed of one repository, page by page", arguments: Engine.allCases)
    func feedOfOneRepository(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = try await filled(store)
            let others = store.repository(of: Song.self, named: "others")
            var position = try await store.position()
            try await others.open()
            for number in 1...3 {
                try await songs.patch(id: "s\(number)", ["plays": number])
                try await others.save(Song(id: "o\(number)", title: "Other"))
            }
            var told: [String] = []
            while true {
                let page = try await store.changes(of: songs, since: position, limit: 2)
                if page.position == position { break }
                told += page.changes.map(\.id)
                position = page.position
            }
            #expect(told == ["s1", "s2", "s3"])

            try await songs.addMany([Song(id: "s8", title: "A", plays: 80), Song(id: "s9", title: "B", plays: 90)])
            let page = try await store.changes(of: songs, where: \.plays > 85, since: position, limit: 10)
            #expect(page.changes.contains { $0.id == "s9" })
            let none = store.repository(of: Song.self, named: "none")
            await expectError(.notFound) { _ = try await store.changes(of: none, since: nil, limit: 10) }
        }
    }

    @Test("tell in a store's description what its cache does, and what waits")
    func describing() async throws {
        try await withStore(.memory) { store in
            let songs = try await filled(store)
            _ = try await songs.fetch(id: "s1")
            _ = try await songs.fetch(id: "s1")
            let description = try store.describe()
            #expect(description.cache.hits == 1 && description.cache.entries == 1)
            #expect(description.waiting == 0)
        }
    }
}
