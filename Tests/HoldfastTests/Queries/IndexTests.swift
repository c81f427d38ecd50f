import Foundation
import Holdfast
import Testing

@Suite("An index")
struct IndexTests {
    @Test("serves queries by key path, as explain tells", arguments: Engine.allCases)
    func serving(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            let before = try await albums.explain(\.year == 1964)
            #expect(before.access == .scan && before.index == nil && before.examined == 12 && before.matched == 1)
            try await albums.createIndex(.ascending(\.year))
            let equal = try await albums.explain(\.year == 1964)
            #expect(equal.access == .index && equal.index == "released_in" && equal.isExact && equal.examined == 0)
            #expect(equal.bounds == #"{"released_in":{"$eq":1964}}"#)
            let range = try await albums.explain(
                \.year >= 1964 && \.isLive == true, sort: [.descending(\.year)], limit: 2)
            #expect(range.access == .index && !range.isExact && range.sorting == .index && range.examined == 4)
            let sorted = try await albums.explain(\.year < 1964, sort: [.ascending(\.plays)])
            #expect(sorted.sorting == .memory && sorted.matched == 4)
            try await #expect(albums.explain(\.id == "a01").access == .id)
            try await #expect(
                albums.find(\.year >= 1969, sort: [.descending(\.year)]).map(\.year) == [1971, 1970, 1969])
        }
    }

    @Test("is over several members, over the elements of arrays, and listed and dropped", arguments: Engine.allCases)
    func managing(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            let heard = Heard()
            try await albums.createIndex(.ascending(\.label.name), .descending("plays"), name: "both") { heard.add($0) }
            #expect(heard.counts.last == 12)
            try await albums.createIndex(.ascending(\.tags))
            try await albums.createIndex(.ascending(\.tags))
            let indexes = try await albums.indexes()
            #expect(indexes.map(\.name) == ["both", "tags"])
            #expect(indexes[0].fields.map(\.path) == ["label.name", "plays"])
            #expect(indexes[0].fields.map(\.isDescending) == [false, true])
            #expect(
                indexes.map(\.hasArrays) == [false, true] && indexes.allSatisfy { $0.state == .ready && !$0.isUnique })
            try await #expect(albums.explain(.contains(\.tags, "piano")).index == "tags")
            let verification = try await albums.verify()
            #expect(verification.isOK && verification.entities == 12)
            #expect(verification.indexes.map(\.entries) == [12, 18])
            await expectError(.exists) { try await albums.createIndex(.ascending(\.plays), name: "both") }
            try await albums.dropIndex("tags")
            await expectError(.notFound) { try await albums.dropIndex("tags") }
            try await #expect(albums.indexes().map(\.name) == ["both"])
        }
    }

    @Test("that is unique refuses a second entity, naming both and the value", arguments: Engine.allCases)
    func unique(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            try await albums.createIndex(.ascending(\.title), unique: true)
            let refused = await expectError(.uniqueViolation) {
                try await albums.add(Album(id: "b", title: "Title 3"))
            }
            let violation = try #require(refused?.detail)
            #expect(violation.repository == "album" && violation.index == "title" && violation.value == "\"Title 3\"")
            #expect([violation.id, violation.other] == ["b", "a03"])
            try await #expect(!albums.contains(id: "b"))
            let inTransaction = await expectError(.uniqueViolation) {
                try await albums.store.transaction {
                    _ = try await albums.modify(id: "a01", .set(\.title, "Title 2"))
                }
            }
            #expect(inTransaction?.detail.other == "a02")
            // Checked on what a transaction leaves.
            try await albums.store.transaction {
                try await albums.modify(id: "a01", .set(\.title, "Title 2"))
                try await albums.modify(id: "a02", .set(\.title, "Title 1"))
            }
            let pair = await expectError(.uniqueViolation) {
                try await albums.createIndex(.ascending(\.genre), .ascending(\.label.name), unique: true)
            }
            #expect(pair?.detail.value == #"["jazz","Philips"]"#)
            #expect(HoldfastError(.conflict, "").detail.index == nil)
        }
    }

    @Test("of the kind text finds words, the best first", arguments: Engine.allCases)
    func texts(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            try await albums.createTextIndex(["title": 1, "reviews.author": 9], stopWords: ["title"])
            let index = try #require(try await albums.indexes().first)
            #expect(index.isText && index.name == "title_reviews.author_text")
            try await albums.modify(id: "a03", .set(\.title, "Dark roasts, and title 7"))
            try await #expect(albums.find(.text("roast x"), sort: [.score]).map(\.id) == ["a07", "a03"])
            try await #expect(albums.find(.text("7 -\"dark roast\"") && \.year > 1960).map(\.id) == ["a07"])
            try await #expect(albums.count(.text("title")) == 0)
            try await #expect(albums.count(.text("roasting", language: "none")) == 0)
            try await albums.store.transaction {
                try await albums.delete(id: "a07")
                try await #expect(albums.find(.text("7"), sort: [.score]).map(\.id) == ["a03"])
            }
            await expectError(.exists) { try await albums.createTextIndex(["title": 1]) }
            await expectError(.invalidOption) { try await albums.createTextIndex(["title": 0]) }
            try await albums.dropIndex("title_reviews.author_text")
            await expectError(.invalidQuery) { _ = try await albums.count(.text("7")) }
        }
    }

    @Test("is not created when its progress throws, or the task is cancelled", arguments: Engine.allCases)
    func givingUp(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await songs.saveMany((0..<3000).map { Song(id: "s\($0)", title: "t", plays: $0) })
            await #expect(throws: Refusal.self) {
                try await songs.createIndex(.ascending(\.plays)) { _ in throw Refusal() }
            }
            // The first call of the progress waits until the task is cancelled.
            let isCancelled = DispatchSemaphore(value: 0)
            let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
            let creation = Task {
                try await songs.createIndex(.ascending(\.plays)) { _ in
                    hasBegun.finish()
                    isCancelled.wait()
                    isCancelled.signal()
                }
            }
            for await _ in begun {}
            creation.cancel()
            isCancelled.signal()
            await #expect(throws: CancellationError.self) { try await creation.value }
            try await #expect(songs.indexes() == [])
        }
    }
}

/// What a progress callback was told.
private final class Heard: @unchecked Sendable {
    // Sendable because the lock guards what it holds.
    private let lock = NSLock()
    private var all: [Int] = []

    var counts: [Int] { lock.withLock { all } }
    func add(_ count: Int) { lock.withLock { all.append(count) } }
}
