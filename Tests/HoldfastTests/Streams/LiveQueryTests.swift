import Foundation
import Holdfast
import SeededRandom
import Testing

@Suite("A live query", .timeLimit(.minutes(20)))
struct LiveQueryTests {
    private static let byPlays = Query<Song>(\.plays >= 0, sort: [.descending(\.plays)])

    private func songs(_ plays: Int...) -> [Song] {
        plays.enumerated().map { Song(id: "s\($0.offset + 1)", title: "Title", plays: $0.element) }
    }

    @Test(
        "tells the whole result, then each change, until the result is that of a fresh query",
        arguments: Engine.allCases)
    func follows(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany(songs(6, 5, 4, 3, 2, 1))
            var results = repository.observe(Self.byPlays).makeAsyncIterator()
            let first = try #require(try await results.next())
            #expect(first.elements.map(\.id) == ["s1", "s2", "s3", "s4", "s5", "s6"])
            #expect(first.difference == nil)
            #expect(first.mergedCommits == 0)

            try await repository.deleteMany(ids: ["s2", "s4", "s6"])
            let second = try #require(try await results.next())
            #expect(second.elements.map(\.id) == ["s1", "s3", "s5"])
            #expect(second.difference?.removals.count == 3)
            #expect(second.difference?.insertions.count == 0)
            #expect(second.mergedCommits == 1)

            try await repository.add(Song(id: "s7", title: "Title", plays: 3))
            let third = try #require(try await results.next())
            #expect(third.elements.map(\.id) == ["s1", "s3", "s7", "s5"])
            let inserted = Song(id: "s7", title: "Title", plays: 3)
            #expect(
                third.difference == CollectionDifference([.insert(offset: 2, element: inserted, associatedWith: nil)]))
            let fresh = try await repository.find(Self.byPlays.filter, sort: Self.byPlays.sort)
            #expect(third.elements == fresh)
        }
    }

    @Test("tells of what moves, changes in its place, enters and leaves", arguments: Engine.allCases)
    func moves(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany(songs(30, 20, 10))
            var results = repository.observe(\.plays >= 5, sort: [.descending(\.plays)]).makeAsyncIterator()
            let first = try #require(try await results.next())
            let (one, two, three) = (first.elements[0], first.elements[1], first.elements[2])

            let moved = try await repository.modify(id: "s3", ["$set": ["plays": 40]])
            var result = try #require(try await results.next())
            #expect(result.elements == [moved, one, two])
            #expect(
                result.difference
                    == CollectionDifference([
                        .remove(offset: 2, element: three, associatedWith: 0),
                        .insert(offset: 0, element: moved, associatedWith: 2),
                    ]))

            let renamed = try await repository.modify(id: "s1", ["$set": ["title": "Gloria"]])
            result = try #require(try await results.next())
            #expect(result.elements == [moved, renamed, two])
            #expect(
                result.difference
                    == CollectionDifference([
                        .remove(offset: 1, element: one, associatedWith: 1),
                        .insert(offset: 1, element: renamed, associatedWith: 1),
                    ]))

            try await repository.modify(id: "s2", ["$set": ["plays": 1]])
            result = try #require(try await results.next())
            #expect(result.elements == [moved, renamed])
            #expect(result.difference == CollectionDifference([.remove(offset: 2, element: two, associatedWith: nil)]))

            let entered = try await repository.modify(id: "s2", ["$set": ["plays": 35]])
            result = try #require(try await results.next())
            #expect(result.elements == [moved, entered, renamed])
        }
    }

    @Test("keeps to its limit when something enters or leaves at its edge", arguments: Engine.allCases)
    func limit(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany(songs(50, 40, 30, 20, 10))
            var results = repository.observe(.all, sort: [.descending(\.plays)], skip: 1, limit: 2).makeAsyncIterator()
            var told = try await results.next()?.elements.map(\.id)
            #expect(told == ["s2", "s3"])
            try await repository.delete(id: "s2")
            told = try await results.next()?.elements.map(\.id)
            #expect(told == ["s3", "s4"])
            try await repository.modify(id: "s5", ["$set": ["plays": 60]])
            told = try await results.next()?.elements.map(\.id)
            #expect(told == ["s1", "s3"])
        }
    }

    @Test("tells nothing of what is rolled back, or leaves the result as it is")
    func nothing() async throws {
        try await withStore(.memory) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany(songs(9, 1))
            var results = repository.observe(\.plays > 5).makeAsyncIterator()
            _ = try await results.next()
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try await repository.save(Song(id: "s8", title: "Why", plays: 8))
                    throw Refusal()
                }
            }
            try await repository.save(Song(id: "s2", title: "Other", plays: 2))
            try await store.repository(of: Draft.self).save(Draft(text: "elsewhere"))
            try await repository.save(Song(id: "s3", title: "Why", plays: 7))
            let result = try #require(try await results.next())
            #expect(result.elements.map(\.id) == ["s1", "s3"])
            #expect(result.mergedCommits == 1)
        }
    }

    @Test("brings together what comes while nobody asks, and every difference leads from result to result")
    func burst() async throws {
        try await withStore(.memory) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany(songs(1, 2, 3))
            var results = repository.observe(Self.byPlays).makeAsyncIterator()
            var elements = try #require(try await results.next()).elements
            for number in 1...100 {
                try await repository.save(Song(id: "n\(number % 30)", title: "New", plays: number))
            }
            let last = try await repository.find(Self.byPlays.filter, sort: Self.byPlays.sort)
            var merged = 0
            var events = 0
            while elements != last {
                let result = try #require(try await results.next())
                let difference = try #require(result.difference)
                elements = try #require(elements.applying(difference))
                #expect(elements == result.elements)
                merged += result.mergedCommits
                events += 1
            }
            #expect(merged == 100)
            #expect(events < 100)
        }
    }

    @Test("is followed by its differences whatever changes, also where some of what it finds cannot be read")
    func differences() async throws {
        try await withStore(.memory) { store in
            let repository = store.repository(of: Song.self)
            let loose = store.repository(of: LooseSong.self, named: "song")
            var random = SeededGenerator(seed: 7)
            var results = repository.observe(.all, sort: [.ascending(\.plays)], skip: 2, limit: 12).makeAsyncIterator()
            var elements = try #require(try await results.next()).elements
            for _ in 0..<150 {
                try await store.transaction {
                    for _ in 0..<Int.random(in: 1...5, using: &random) {
                        let id = "s\(Int.random(in: 0..<25, using: &random))"
                        let plays = Int.random(in: 0..<10, using: &random)
                        switch Int.random(in: 0..<5, using: &random) {
                        case 0: try await repository.delete(id: id, missingOK: true)
                        case 1: try await loose.save(LooseSong(id: id, plays: plays))
                        default: try await repository.save(Song(id: id, title: "Title", plays: plays))
                        }
                    }
                }
            }
            var (readable, unreadable) = ([Song](), [String]())
            for found in try await loose.find(.all, sort: [.ascending("plays")], skip: 2, limit: 12) {
                if let song = try? await repository.fetch(id: found.id) {
                    readable.append(song)
                } else {
                    unreadable.append(found.id)
                }
            }
            var told: [String?] = []
            while elements != readable || told != unreadable {
                let result = try #require(try await results.next())
                let difference = try #require(result.difference)
                elements = try #require(elements.applying(difference))
                #expect(elements == result.elements)
                told = result.unreadable.map(\.detail.id)
            }
        }
    }

    @Test("tells some members as another type, and nothing where these stay as they are", arguments: Engine.allCases)
    func fields(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany([Song(id: "s1", title: "Gloria", plays: 9), Song(id: "s2", title: "Wy")])
            var results = repository.observe(
                fields: .only(\.title), as: QueryTests.Title.self, sort: [.ascending(\.title)]
            ).makeAsyncIterator()
            var result = try #require(try await results.next())
            #expect(result.elements.map(\.title) == ["Gloria", "Wy"])
            try await repository.modify(id: "s1", ["$inc": ["plays": 1]])
            try await repository.modify(id: "s2", ["$set": ["title": "Why"]])
            result = try #require(try await results.next())
            #expect(result.elements.map(\.title) == ["Gloria", "Why"])
            let difference = try #require(result.difference)
            #expect(difference.removals.count == 1)
            #expect(difference.insertions.count == 1)
        }
    }

    @Test("names what it finds and cannot decode, and goes on", arguments: Engine.allCases)
    func unreadable(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany(songs(1, 2))
            var results = repository.observe().makeAsyncIterator()
            _ = try await results.next()
            let loose = store.repository(of: LooseSong.self, named: "song")
            try await loose.save(LooseSong(id: "s1", plays: 5))
            var result = try #require(try await results.next())
            #expect(result.elements.map(\.id) == ["s2"])
            #expect(result.unreadable.map(\.status) == [.corrupt])
            #expect(result.unreadable.map(\.detail.id) == ["s1"])
            #expect(result.difference?.removals.count == 1)
            #expect(result.versions.count == 1)
            try await repository.save(Song(id: "s1", title: "Gloria"))
            result = try #require(try await results.next())
            #expect(result.elements.map(\.id) == ["s1", "s2"])
            #expect(result.unreadable.isEmpty)
            #expect(result.difference?.insertions.count == 1)
        }
    }

    @Test("tells the versions, which an update may expect")
    func versions() async throws {
        try await withStore(.memory) { store in
            let repository = store.repository(of: Song.self)
            try await repository.saveMany(songs(1, 2))
            var results = repository.observe().makeAsyncIterator()
            let result = try #require(try await results.next())
            try await repository.update(Song(id: "s2", title: "Why"), expectedVersion: result.versions[1])
            let next = try #require(try await results.next())
            #expect(next.versions[0] == result.versions[0])
            #expect(next.versions[1] > result.versions[1])
        }
    }

    @Test("tells what is committed alone, also to who begins inside a transaction")
    func insideTransaction() async throws {
        try await withStore(.memory) { store in
            let repository = store.repository(of: Song.self)
            try await store.transaction {
                try await repository.save(Song(id: "s1", title: "Gloria"))
                var results = repository.observe().makeAsyncIterator()
                let result = try #require(try await results.next())
                #expect(result.elements.isEmpty)
            }
        }
    }

    @Test("follows entities that live with the program's own provider")
    func provider() async throws {
        let store = try await Store.open(provider: InMemoryStorage([Song(id: "s1", title: "Gloria", plays: 7)]))
        let repository = store.repository(of: Song.self)
        var results = repository.observe(\.plays > 5).makeAsyncIterator()
        var told = try await results.next()?.elements.map(\.id)
        #expect(told == ["s1"])
        try await repository.save(Song(id: "s2", title: "Why", plays: 9))
        told = try await results.next()?.elements.map(\.id)
        #expect(told == ["s1", "s2"])
        try await store.close()
    }

    // MARK: Ends

    @Test("ends with the task that iterates")
    func cancelledTask() async throws {
        try await withStore(.memory) { store in
            let repository = store.repository(of: Song.self)
            let (begun, begin) = AsyncStream<Void>.makeStream()
            let task = Task {
                for try await _ in repository.observe() { begin.yield() }
            }
            for await _ in begun { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("ends with the store, and says so once", arguments: Engine.allCases)
    func closedStore(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let repository = store.repository(of: Song.self)
            try await repository.open()
            var results = repository.observe().makeAsyncIterator()
            _ = try await results.next()
            try await store.close()
            await expectError(.closed) { _ = try await results.next() }
            let end = try await results.next()
            #expect(end == nil)
            await expectError(.closed) { for try await _ in repository.observe() {} }
        }
    }

    @Test("refuses what no query can be, when its first result is asked for")
    func refusals() async throws {
        try await withStore(.memory) { store in
            let repository = store.repository(of: Song.self)
            await expectError(.invalidQuery) { for try await _ in repository.observe(["plays": ["$least": 3]]) {} }
            await expectError(.invalidArgument) { for try await _ in repository.observe(Query(limit: 0)) {} }
            await expectError(.invalidArgument) { for try await _ in repository.observe(Query(skip: -1)) {} }
        }
    }
}

/// What shares the songs' repository and is none: it has no title.
struct LooseSong: Codable, Identifiable, Sendable {
    var id: String
    var plays: Int
}
