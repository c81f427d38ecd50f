import Holdfast
import Testing

@Suite("A savepoint")
struct SavepointTests {
    @Test("undoes its own part and no more", arguments: Engine.allCases)
    func undoing(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await store.transaction {
                try await songs.save(Song(id: "s1", title: "before"))
                await #expect(throws: Refusal()) {
                    try await store.savepoint {
                        try await songs.save(Song(id: "s1", title: "inside"))
                        try await store.savepoint { try await songs.save(Song(id: "s2", title: "deeper")) }
                        throw Refusal()
                    }
                }
                try await #expect(songs.fetchAll() == [Song(id: "s1", title: "before")])
                let value = try await store.savepoint { try await songs.save(Song(id: "s3", title: "kept")).title }
                #expect(value == "kept")
            }
            try await #expect(songs.fetchAll().map(\.id) == ["s1", "s3"])
        }
    }

    @Test("undoes its part when that is cancelled, too", arguments: Engine.allCases)
    func cancellation(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await store.transaction {
                try await songs.save(Song(id: "s1", title: "before"))
                await #expect(throws: CancellationError.self) {
                    try await store.savepoint {
                        try await songs.save(Song(id: "s1", title: "inside"))
                        throw CancellationError()
                    }
                }
            }
            try await #expect(songs.fetchAll() == [Song(id: "s1", title: "before")])
        }
    }

    @Test("needs a transaction")
    func outside() async throws {
        try await withStore(.memory) { store in
            await expectError(.invalidState) { try await store.savepoint {} }
        }
    }
}
