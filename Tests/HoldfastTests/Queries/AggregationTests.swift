import Foundation
import Holdfast
import HoldfastTestSupport
import Testing

private struct Plays: Codable, Sendable, Equatable {
    var _id: String
    var plays: Int
    var songs: Int?
}

@Suite("An aggregation", .timeLimit(.minutes(20)))
struct AggregationTests {
    private static let byTitle: Pipeline<Song> = [
        .match(\.plays > 0),
        ["$group": ["_id": .member(\.title), "plays": ["$sum": .member(\.plays)], "songs": ["$sum": 1]]],
        ["$sort": ["plays": -1]],
    ]

    private let some = [
        Song(id: "s1", title: "Gloria", plays: 3), Song(id: "s2", title: "Gloria", plays: 4),
        Song(id: "s3", title: "Why", plays: 5), Song(id: "s4", title: "Why", plays: 0),
    ]

    @Test("makes documents of entities, awaited, blocking and later, and as JSON", arguments: Engine.allCases)
    func faces(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.saveMany(some)
            let expected = [Plays(_id: "Gloria", plays: 7, songs: 2), Plays(_id: "Why", plays: 5, songs: 1)]
            try await #expect(songs.aggregate(Self.byTitle) == expected)
            try await #expect(onThread { try songs.blocking.aggregate(Self.byTitle, as: Plays.self) } == expected)
            try await #expect(songs.deferred.aggregate(Self.byTitle, as: Plays.self).performAsync() == expected)
            let json = try await songs.aggregateJSON(Self.byTitle)
            try await #expect(onThread { try songs.blocking.aggregateJSON(Self.byTitle) } == json)
            #expect(try JSONDecoder().decode([Plays].self, from: json) == expected)
            let text = #"[{"$group":{"_id":"$title","plays":{"$sum":"$plays"}}},{"$sort":{"_id":1}}]"#
            let plays = try await songs.aggregate(Pipeline(json: text), as: Plays.self)
            #expect(plays.map(\.plays) == [7, 5])
        }
    }

    @Test("takes values as they are, whatever they look like, and literals of each kind", arguments: Engine.allCases)
    func values(_ engine: Engine) async throws {
        struct Answer: Codable, Sendable, Equatable {
            var text: String
            var path: String
            var number: Double
            var isSo: Bool
            var nothing: String?
            var list: [Int]
        }
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "s1", title: "Gloria", plays: 3))
            let answers = try await songs.aggregate(
                [
                    [
                        "$project": [
                            "text": .value("$title"), "path": "$title", "number": ["$add": [1.5, .member(\.plays)]],
                            "isSo": ["$eq": [["$param": "least"], 3]], "nothing": nil, "list": [1, 2],
                        ]
                    ]
                ], as: Answer.self, parameters: ["least": 3])
            #expect(answers == [Answer(text: "$title", path: "Gloria", number: 4.5, isSo: true, list: [1, 2])])
        }
    }

    @Test("sees the writes of its transaction, and conflicts with who changes its groups", arguments: Engine.allCases)
    func transactions(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.saveMany(some)
            let transaction = try store.begin()
            try await transaction.joined {
                try await songs.save(Song(id: "s5", title: "Why", plays: 10))
                let found = try await songs.aggregate(Self.byTitle, as: Plays.self)
                #expect(found.first == Plays(_id: "Why", plays: 15, songs: 2))
            }
            try await songs.save(Song(id: "s6", title: "New", plays: 1))
            await expectError(.conflict) { try await transaction.commit() }
        }
    }

    @Test("looks up in another repository, and tells how it was carried out", arguments: Engine.allCases)
    func explaining(_ engine: Engine) async throws {
        struct Found: Codable, Sendable { var accounts: [Account] }
        try await withSongs(engine) { store, songs in
            try await songs.saveMany(some)
            let accounts = store.repository(of: Account.self)
            try await accounts.saveMany([Account(id: 3, balance: 1), Account(id: 5, balance: 2)])
            try await songs.createIndex(.ascending(\.title))
            let lookup: Pipeline<Song> = [
                .match(\.title == "Why"),
                [
                    "$lookup": [
                        "from": "\(accounts.name)", "localField": "plays", "foreignField": "balance", "as": "accounts",
                    ]
                ],
            ]
            try await accounts.save(Account(id: 7, balance: 5))
            let found = try await songs.aggregate(lookup, as: Found.self)
            #expect(found.map { $0.accounts.map(\.id) } == [[7], []])
            let report = try await songs.explain(aggregate: lookup)
            #expect(report.query.access == .index && report.query.matched == 2 && report.returned == 2)
            #expect(report.stages.map(\.stage) == ["$lookup"] && report.stages[0].number == 1)
            #expect(report.stages[0].access == .scan && report.stages[0].examined == 3 && report.time > .zero)
            let groups: Pipeline<Song> = [["$group": ["_id": .member(\.title), "songs": ["$sum": 1]]]]
            let grouping = try await onThread { try songs.blocking.explain(aggregate: groups) }
            #expect(grouping.stages.map(\.group) == [.index] && grouping.memory > 0)
        }
    }

    @Test("that is wrong, or needs more than it may, says where, and in Swift's words")
    func refusals() async throws {
        try await withSongs(.memory) { store, songs in
            try await songs.saveMany(some)
            let error = await expectError(.invalidQuery) {
                _ = try await songs.aggregateJSON([.match(.all), ["$grup": [:]]])
            }
            #expect(error?.detail.stage == 1 && error?.detail.operator == "$grup")
            for tooFew in [0, -1] {
                let error = await expectError(.invalidOption) {
                    _ = try await songs.aggregateJSON([], options: AggregationOptions(maxMemoryBytes: tooFew))
                }
                #expect(error?.detail.option == "maxMemoryBytes")
            }
            for (wrong, name) in [
                (AggregationOptions(maxStages: 1001), "maxStages"), (AggregationOptions(maxGroups: 0), "maxGroups"),
                (AggregationOptions(maxDepth: 201), "maxDepth"),
            ] {
                let error = await expectError(.invalidOption) {
                    _ = try await songs.aggregateJSON([], options: wrong)
                }
                #expect(error?.detail.option == name)
            }
            await expectError(.invalidQuery) {
                _ = try await songs.aggregateJSON(
                    [.match(.all), .match(.all)], options: AggregationOptions(maxStages: 1))
            }
            await expectError(.noMemory) {
                _ = try await songs.aggregateJSON(Self.byTitle, options: AggregationOptions(maxMemoryBytes: 1))
            }
            await expectError(.corrupt) { _ = try await songs.aggregate(Self.byTitle, as: Song.self) }
            await expectError(.invalidJSON) { _ = try await songs.aggregateJSON(Pipeline(json: "[")) }
            await expectError(.invalidJSON) {
                _ = try await songs.aggregateJSON([.match(Filter(json: "{}},{\"$limit\":1}"))])
            }
        }
    }

    @Test("that is live tells its documents when commits have changed them", arguments: Engine.allCases)
    func live(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.saveMany(some)
            var results = songs.observe(aggregate: Self.byTitle, as: Plays.self).makeAsyncIterator()
            let first = try #require(try await results.next())
            #expect(first.documents.map(\.plays) == [7, 5] && first.mergedCommits == 0)
            // What leaves the documents as they are is not told.
            try await songs.save(Song(id: "s4", title: "Why", plays: -1))
            try await songs.save(Song(id: "s5", title: "Why", plays: 4))
            var newest = try #require(try await results.next())
            #expect(
                newest.documents == [Plays(_id: "Why", plays: 9, songs: 2), Plays(_id: "Gloria", plays: 7, songs: 2)])
            #expect(newest.position != first.position)
            try await songs.deleteAll()
            newest = try #require(try await results.next())
            #expect(newest.documents == [])
        }
    }

    @Test("that is live and throttled tells the newest once in so long")
    func throttled() async throws {
        try await withSongs(.memory) { store, songs in
            let clock = MockClock()
            try store.setClock(clock)
            let told = Lines()
            let query = songs.observe(aggregate: [["$count": "songs"]], as: [String: Int].self)
                .throttle(for: .seconds(1))
            let listener = Task { for try await result in query { await told.add(result.documents) } }
            try await until("told at once") { await told.all == [[]] }
            for number in 1...3 { try await songs.save(Song(id: "s\(number)", title: "")) }
            try await until("waiting") { clock.nextWake == clock.now.advanced(by: .seconds(1)) }
            await #expect(told.all.count == 1)
            // The commits may come to it one behind the other.
            var pauses = 0
            while await told.all.last != [["songs": 3]] {
                pauses += 1
                clock.advance(by: .seconds(1))
                try await until("told, or waiting") {
                    let isWaiting = clock.nextWake == clock.now.advanced(by: .seconds(1))
                    return await told.all.last == [["songs": 3]] || isWaiting
                }
                await #expect(told.all.count <= pauses + 1)
            }
            listener.cancel()
            await #expect(throws: CancellationError.self) { try await listener.value }
        }
    }

    @Test("that is live ends once with what is no such document")
    func unreadable() async throws {
        try await withSongs(.memory) { store, songs in
            var results = songs.observe(aggregate: [], as: Plays.self).makeAsyncIterator()
            try await #expect(results.next()?.documents == [])
            try await songs.saveMany(some)
            let ending = results
            await expectError(.corrupt) {
                var ending = ending
                _ = try await ending.next()
            }
            try await #expect(results.next() == nil)
        }
    }
}

/// What was told, in order.
private actor Lines {
    private(set) var all: [[[String: Int]]] = []
    func add(_ documents: [[String: Int]]) { all.append(documents) }
}
