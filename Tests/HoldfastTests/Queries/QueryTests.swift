import Foundation
import Holdfast
import Testing

@Suite("A query")
struct QueryTests {
    @Test("sorts in mixed directions, by key paths and by paths, and skips and limits", arguments: Engine.allCases)
    func sorting(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            func numbers(_ found: [Album]) -> [Int] { found.map { $0.year - 1960 } }
            let sort: [Order<Album>] = [.descending(\.plays), .ascending("label.name"), .descending(\.year)]
            try await #expect(numbers(albums.find(sort: sort)) == [3, 11, 7, 2, 10, 6, 5, 1, 9, 4, 0, 8])
            try await #expect(numbers(albums.find(sort: sort, skip: 4, limit: 3)) == [10, 6, 5])
            try await #expect(numbers(albums.find(\.plays < 2, sort: [.ascending(\.year)], limit: 2)) == [0, 1])
            try await #expect(albums.find(sort: sort, limit: 0) == [])
            try await #expect(albums.first(\.plays == 2, sort: [.descending(\.year)])?.year == 1970)
            try await #expect(albums.first(\.plays == 2, sort: [.descending(\.year)], skip: 1)?.year == 1966)
            try await #expect(albums.first(\.plays == 9) == nil)
            await expectError(.invalidOption) {
                _ = try await albums.find(sort: (0..<33).map { .ascending("member\($0)") })
            }
            await expectError(.invalidArgument) { _ = try await albums.find(limit: -1) }
        }
    }

    struct Title: Decodable, Sendable, Equatable {
        var id: String
        var title: String
    }

    @Test("answers some members as another type, or as JSON", arguments: Engine.allCases)
    func fields(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            try await #expect(
                albums.find(\.year == 1964, fields: .only(\.title), as: Title.self) == [
                    Title(id: "a04", title: "Title 4")
                ])
            let last = try await albums.first(fields: .only(\.title), as: Title.self, sort: [.descending(\.year)])
            #expect(last?.title == "Title 11")
            try await #expect(albums.first(\.year == 1900, fields: .only(\.title), as: Title.self) == nil)
            let json = try await albums.findJSON(\.year >= 1970, fields: .only("label.name"), limit: 1)
            #expect(String(decoding: json, as: UTF8.self) == #"[{"id":"a10","label":{"name":"RCA"}}]"#)
            let whole = try await albums.findJSON()
            try #expect(JSONDecoder().decode([Album].self, from: whole) == Album.dozen)
            let without = try await albums.findJSON(
                \.year == 1961,
                fields: .without(
                    \.label, \.genre, \.isLive, \.isRare, \.plays, \.rating, \.released, \.reviews, \.scores, \.tags))
            #expect(String(decoding: without, as: UTF8.self) == #"[{"id":"a01","released_in":1961,"title":"Title 1"}]"#)
            try await #expect(albums.findJSON(limit: 0) == Data("[]".utf8))
            let misfit = await expectError(.corrupt) {
                let _: [Title] = try await albums.find(fields: .only(\.year))
            }
            #expect(misfit?.detail.id == "a00")
        }
    }

    @Test("takes values for the parameters of its filter, and refuses what is too few or too many")
    func parameters() async throws {
        try await withAlbums(.memory) { albums in
            let filter: Filter<Album> = ["released_in": ["$gte": ["$param": "first"]]]
            try await #expect(albums.count(filter, parameters: ["first": 1970]) == 2)
            try await #expect(albums.count(filter, parameters: ["first": 1971]) == 1)
            try await #expect(albums.find(filter && \.plays == 3, parameters: ["first": 1970]).map(\.year) == [1971])
            try await #expect(albums.exists(filter, parameters: ["first": 1972]) == false)
            try await #expect(albums.modifyAll(filter, .set(\.plays, 9), parameters: ["first": 1971]) == (1, 1))
            try await #expect(albums.deleteAll(filter, parameters: ["first": 1971]) == 1)
            await expectError(.invalidQuery) { _ = try await albums.count(filter) }
            await expectError(.invalidQuery) { _ = try await albums.count(parameters: ["first": 1]) }
        }
    }

    @Test("counts, tells whether any matches, and lists distinct values", arguments: Engine.allCases)
    func counting(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            try await #expect(albums.count(\.year < 1965) == 5)
            try await #expect(albums.exists(\.year < 1961))
            try await #expect(!albums.exists(\.year < 1960))
            try await #expect(albums.distinct(\.plays) == [0, 1, 2, 3])
            try await #expect(albums.distinct(\.genre, \.year < 1962) == [.rock, .soul])
            try await #expect(albums.distinct(\.tags) == ["piano", "voice"])
            let tags = try await albums.distinct(\.tags)
            #expect(tags.map(\.count) == [5, 5], "an array's elements are meant, also where nothing says so")
            try await #expect(albums.distinct(\.scores, \.year < 1963) == [1, 2, 10, 20])
            try await #expect(albums.distinct(\.rating, \.plays == 2) == [1, 5])
            try await #expect(albums.distinct("reviews.author", as: String.self) == ["x", "y"])
            await expectError(.corrupt) { _ = try await albums.distinct("label.name", as: Int.self) }
        }
    }

    @Test("asks a function of the host, whose error it throws on", arguments: Engine.allCases)
    func predicates(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            let found = try await albums.find(sort: [.descending(\.year)], skip: 1, limit: 2) { $0.title.count == 7 }
            #expect(found.map(\.year) == [1968, 1967])
            await #expect(throws: Refusal.self) { try await albums.find { _ in throw Refusal() } }
            try await albums.store.transaction {
                try await albums.modify(id: "a00", .set(\.plays, 100))
                try await #expect(albums.find { $0.plays > 50 }.map(\.id) == ["a00"])
            }
        }
    }

    @Test("answers versions, to be expected when what was found is changed", arguments: Engine.allCases)
    func versions(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            try await albums.modify(id: "a03", .set(\.title, "changed"))
            let found = try await albums.findVersioned(.in(\.id, ["a02", "a03"]), sort: [.descending(\.id)])
            #expect(found.map(\.entity.id) == ["a03", "a02"] && found[0].version > found[1].version)
            for var each in found {
                try await #expect(albums.fetchVersioned(id: each.entity.id) == each)
                each.entity.title = "mine"
                try await albums.update(each.entity, expectedVersion: each.version)
                await expectError(.versionMismatch) {
                    try await albums.update(each.entity, expectedVersion: each.version)
                }
            }
            try await albums.store.transaction {
                try await albums.modify(id: "a03", .set(\.title, "own"))
                try await #expect(albums.findVersioned(\.title == "own").map(\.version) == [0])
            }
            let again = try await albums.findVersioned(skip: 1, limit: 2)
            try await onThread { try #expect(albums.blocking.findVersioned(skip: 1, limit: 2) == again) }
        }
    }

    @Test("sees, in a transaction, what that has written", arguments: Engine.allCases)
    func transactions(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            try await albums.store.transaction {
                try await albums.delete(id: "a03")
                try await albums.modifyAll(\.year == 1964, .set(\.title, "new"))
                try await #expect(albums.count() == 11)
                try await #expect(albums.find(.in(\.title, ["new", "Title 3"])).map(\.id) == ["a04"])
                try await #expect(albums.distinct(\.title, \.year < 1965).count == 4)
            }
        }
    }
}

@Suite("An update of key paths")
struct TypedUpdateTests {
    @Test("changes what it names, by each of the operators", arguments: Engine.allCases)
    func operators(engine: Engine) async throws {
        try await withAlbums(engine) { albums in
            func changed(_ update: Update<Album>) async throws -> Album { try await albums.modify(id: "a04", update) }
            var expected = try await #require(albums.fetch(id: "a04"))
            func check(_ update: Update<Album>, _ change: (inout Album) -> Void) async throws {
                change(&expected)
                try await #expect(changed(update) == expected)
            }
            try await check(.set(\.label.city, "Berlin")) { $0.label.city = "Berlin" }
            try await check(.unset(\.rating)) { $0.rating = nil }
            try await check(.increment(\.rating, by: 1.5)) { $0.rating = 1.5 }
            try await check(.increment(\.plays, by: 7)) { $0.plays = 7 }
            try await check(.multiply(\.plays, by: 6)) { $0.plays = 42 }
            try await check(.min(\.plays, 40)) { $0.plays = 40 }
            try await check(.max(\.plays, 41)) { $0.plays = 41 }
            try await check(.set(\.rating, nil)) { $0.rating = nil }
            try await check(.push(\.tags, "live")) { $0.tags.append("live") }
            try await check(.push(\.scores, each: [1, 2], position: 0, slice: 3)) { $0.scores = [1, 2, 4] }
            try await check(.addToSet(\.tags, "live", "late")) { $0.tags.append("late") }
            try await check(.pull(\.tags, "live", "late")) { $0.tags.removeLast(2) }
            try await check(.pull(\.scores, where: \.self >= 2 && \.self < 4)) { $0.scores = [1, 4] }
            try await check(.push(\.reviews, .init(author: "z", stars: 1))) {
                $0.reviews = [.init(author: "z", stars: 1)]
            }
            try await check(.pull(\.reviews, where: \.author == "z")) { $0.reviews = [] }
            let label = Album.Label(name: "Verve", city: nil)
            try await check(.set(\.formerLabel, label)) { $0.formerLabel = label }
        }
    }

    @Test("is put together of several, in one operator or more, and of paths")
    func combining() async throws {
        try await withAlbums(.memory) { albums in
            let update: Update<Album> = [
                .increment(\.plays, by: 2), .set(\.isLive, true),
                ["$set": ["title": "Gloria"], "$inc": ["released_in": 1]],
            ]
            let album = try await albums.modify(id: "a01", update)
            #expect(album.plays == 3 && album.isLive && album.title == "Gloria" && album.year == 1962)
            await expectError(.invalidQuery) {
                try await albums.modify(id: "a01", [Update(json: "{}"), .set(\.plays, 1)])
            }
            // One path twice, and a path within another.
            await expectError(.invalidJSON) {
                try await albums.modify(id: "a01", [.set(\.plays, 1), .set(\.plays, 2)])
            }
            await expectError(.invalidQuery) {
                try await albums.modify(
                    id: "a01", [.set(\.label.name, "x"), .unset(\.label.city), .min(\.label.name, "y")])
            }
        }
    }
}
