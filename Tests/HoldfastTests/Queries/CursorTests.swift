import Foundation
import Holdfast
import Testing

@Suite("A cursor")
struct CursorTests {
    /// Runs `body` with many entities of half a kilobyte, which are many pieces.
    private nonisolated(nonsending) func withMany(
        _ engine: Engine, _ body: nonisolated(nonsending) (Repository<Song>) async throws -> Void
    ) async throws {
        try await withSongs(engine) { _, songs in
            let note = String(repeating: "x", count: 500)
            try await songs.saveMany(
                (0..<5000).map { Song(id: "\(10_000 + $0)", title: "t\($0 % 10)", plays: $0, note: note) })
            try await body(songs)
        }
    }

    @Test("hands out all that matches, in order, whichever way it is found", arguments: Engine.allCases)
    func iterating(engine: Engine) async throws {
        try await withMany(engine) { songs in
            var count = 0
            for try await song in songs.iterate() {
                #expect(song.plays == count)
                count += 1
            }
            #expect(count == 5000)
            func plays(_ cursor: Cursor<Song>) async throws -> [Int] {
                try await cursor.reduce(into: []) { $0.append($1.plays) }
            }
            let third = (0..<5000).filter { $0 % 10 == 3 }
            try await #expect(plays(songs.iterate(\.title == "t3")) == third)
            try await #expect(plays(songs.iterate(\.title == "t3", sort: [.descending(\.plays)])) == third.reversed())
            try await songs.createIndex(.ascending(\.plays))
            try await #expect(
                plays(songs.iterate(\.plays >= 1000, sort: [.descending(\.plays)], skip: 10, limit: 3000))
                    == (1990..<4990).reversed())
            try await #expect(plays(songs.iterate(limit: 0)) == [])
            let titles = songs.iterate(\.plays < 20, fields: .only(\.title), as: QueryTests.Title.self, limit: 3)
            try await #expect(
                titles.reduce(into: []) { $0.append($1.title) } == ["t0", "t1", "t2"])
        }
    }

    @Test("reads one snapshot, and gives it back at the end, on leaving and on an error", arguments: Engine.allCases)
    func snapshots(engine: Engine) async throws {
        try await withMany(engine) { songs in
            var seen = 0
            for try await _ in songs.iterate() {
                if seen == 0 {
                    try await songs.deleteAll(\.plays >= 1000)
                    #expect(try songs.store.describe().transactions == 1)
                }
                seen += 1
            }
            // All of them, unless its snapshot was taken back meanwhile, which is told.
            #expect(seen == 5000)
            try await until("the snapshot is given back") { (try? songs.store.describe().transactions) == 0 }
            for try await _ in songs.iterate() { break }
            try await until("the snapshot is given back") { (try? songs.store.describe().transactions) == 0 }
            await expectError(.corrupt) {
                for try await _ in songs.iterate(fields: .only(\.plays), as: QueryTests.Title.self) {}
            }
            try await until("the snapshot is given back") { (try? songs.store.describe().transactions) == 0 }
            await expectError(.invalidQuery) { for try await _ in songs.iterate(["plays": ["$near": 1]]) {} }
        }
    }

    @Test("ends when its task is cancelled", arguments: Engine.allCases)
    func cancelling(engine: Engine) async throws {
        try await withMany(engine) { songs in
            let reading = Task {
                var seen = 0
                do {
                    for try await _ in songs.iterate() {
                        seen += 1
                        if seen == 100 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                } catch is CancellationError { return seen }
                return -1
            }
            try await #expect(reading.value == 100)
            try await until("the snapshot is given back") { (try? songs.store.describe().transactions) == 0 }
        }
    }

    @Test("reads within the transaction that it is used in", arguments: Engine.allCases)
    func transactions(engine: Engine) async throws {
        try await withMany(engine) { songs in
            try await songs.store.transaction {
                try await songs.deleteAll(\.plays >= 7)
                try await songs.modify(id: "10000", .set(\.title, "new"))
                var titles: [String] = []
                for try await song in songs.iterate(\.plays < 3) { titles.append(song.title) }
                #expect(titles == ["new", "t1", "t2"])
            }
            try await #expect(songs.count() == 7)
        }
    }
}
