import Foundation
import Holdfast
import HoldfastTestSupport
import SeededRandom
import Synchronization
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

private struct Track: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var genre: String
    var title: String
}

@Suite("A live query in sections", .timeLimit(.minutes(20)))
struct SectionedQueryTests {
    private static let sorted = Query<Track>(sort: [.ascending(\.genre), .ascending(\.title)])

    @Test("tells its sections in order, and what changed in them and among them", arguments: Engine.allCases)
    func sections(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let tracks = store.repository(of: Track.self)
            try await tracks.saveMany([
                Track(id: "t1", genre: "jazz", title: "b"), Track(id: "t2", genre: "folk", title: "a"),
                Track(id: "t3", genre: "jazz", title: "a"),
            ])
            var results = tracks.observe(Self.sorted).sections(by: \.genre).makeAsyncIterator()
            let first = try #require(try await results.next())
            #expect(first.sections.map(\.id) == ["folk", "jazz"])
            #expect(first.sections.map { $0.elements.map(\.id) } == [["t2"], ["t3", "t1"]])
            #expect(first.difference == nil && first.sections.allSatisfy { $0.difference == nil })

            try await tracks.modify(id: "t1", .set(\.title, "c"))
            let renamed = try #require(try await results.next())
            #expect(renamed.difference?.isEmpty == true && renamed.sections[0].difference?.isEmpty == true)
            #expect(
                renamed.sections[1].difference
                    == CollectionDifference([
                        .remove(offset: 1, element: first.sections[1].elements[1], associatedWith: 1),
                        .insert(offset: 1, element: renamed.sections[1].elements[1], associatedWith: 1),
                    ]))

            try await tracks.modify(id: "t2", .set(\.genre, "rock"))
            let moved = try #require(try await results.next())
            #expect(moved.sections.map(\.id) == ["jazz", "rock"])
            #expect(
                moved.difference
                    == CollectionDifference([
                        .remove(offset: 0, element: "folk", associatedWith: nil),
                        .insert(offset: 1, element: "rock", associatedWith: nil),
                    ]))
            #expect(moved.sections[1].difference == nil && moved.mergedCommits == 1)
        }
    }

    @Test("differs from result to result as it says, whatever changes")
    func differences() async throws {
        try await withStore(.memory) { store in
            let tracks = store.repository(of: Track.self)
            // Sorted by another member, too, so that sections are brought together, and move.
            for query in [Self.sorted, Query<Track>(sort: [.ascending(\.title)])] {
                _ = try await tracks.deleteAll()
                var results = tracks.observe(query).sections(by: \.genre).makeAsyncIterator()
                var before = try #require(try await results.next()).sections
                for _ in 0..<200 {
                    let genres = ["folk", "jazz", "rock"]
                    let track = Track(
                        id: "t\(Int.random(in: 0..<12))", genre: genres.randomElement()!,
                        title: "\(UInt64.random(in: 0...UInt64.max))")
                    try await tracks.save(track)
                    let deleted = "t\(Int.random(in: 0..<36))"
                    try await tracks.delete(id: deleted, missingOK: true)
                    // The save alone, or both.
                    let result = try #require(try await results.next())
                    let ids = try #require(result.difference.flatMap { before.map(\.id).applying($0) })
                    #expect(ids == result.sections.map(\.id))
                    for section in result.sections {
                        guard let old = before.first(where: { $0.id == section.id }) else {
                            #expect(section.difference == nil)
                            continue
                        }
                        let elements = try #require(section.difference.flatMap { old.elements.applying($0) })
                        #expect(elements == section.elements)
                    }
                    before = result.sections
                }
                // What remains to be told.
                let sorted = try await tracks.find(query.filter, sort: query.sort)
                while Set(before.flatMap(\.elements).map(\.title)) != Set(sorted.map(\.title)) {
                    before = try #require(try await results.next()).sections
                }
                for section in before { #expect(section.elements == sorted.filter { $0.genre == section.id }) }
            }
        }
    }

    @Test("is held back as the query is that it is of, and told to subscribers, too")
    func pace() async throws {
        try await withStore(.memory) { store in
            let (clock, tracks) = (MockClock(), store.repository(of: Track.self))
            try store.setClock(clock)
            try await tracks.save(Track(id: "t1", genre: "jazz", title: "a"))
            let query = tracks.observe(Self.sorted).sections(by: \.genre)
            for held in [query.debounce(for: .seconds(1)), query.throttle(for: .seconds(1))] {
                let told = Mutex<[[String]]>([])
                let subscription = held.publisher.sink(receiveCompletion: { _ in }) { result in
                    told.withLock { $0.append(result.sections.map(\.id)) }
                }
                try await until("told at once") { told.withLock { $0.count } == 1 }
                try await tracks.save(Track(id: "t2", genre: "folk", title: "a"))
                try await tracks.save(Track(id: "t3", genre: "rock", title: "a"))
                try await until("it waits") { clock.nextWake != nil }
                #expect(told.withLock { $0.count } == 1)
                try await until("told") {
                    clock.advance(by: .seconds(1))
                    return told.withLock { $0.last } == ["folk", "jazz", "rock"]
                }
                subscription.cancel()
                try await tracks.deleteMany(ids: ["t2", "t3"])
            }
        }
    }
}
