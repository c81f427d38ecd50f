import Foundation
import Holdfast
import Testing

@Suite("A blocking call")
struct BlockingTests {
    struct Refusal: Error, Equatable {}

    @Test("answers what its asynchronous sibling does", arguments: Engine.allCases)
    func siblings(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await onThread {
                let songs = songs.blocking
                try #expect(songs.add(Song(id: "a", title: "Gloria")).title == "Gloria")
                #expect(throws: HoldfastError.self) { try songs.add(Song(id: "a", title: "")) }
                try songs.addMany([Song(id: "b", title: "Birdland", plays: 1), Song(id: "c", title: "Free", plays: 2)])
                try songs.saveMany([Song(id: "d", title: "Horses", plays: 3), Song(id: "e", title: "Land", plays: 4)])
                try songs.save(Song(id: "f", title: "Elegie", plays: 5))
                try #expect(songs.patch(id: "a", ["plays": 6]).plays == 6)
                try #expect(songs.modify(id: "b", .increment(\.plays, by: 6)).plays == 7)
                let version = try #require(try songs.fetchVersioned(id: "c")).version
                try songs.update(Song(id: "c", title: "Free Money", plays: 8), expectedVersion: version)
                let error = #expect(throws: HoldfastError.self) {
                    try songs.update(Song(id: "c", title: ""), expectedVersion: version)
                }
                #expect(error?.status == .versionMismatch)
                try songs.updateMany([Song(id: "d", title: "Horses", plays: 9)])
                let counts = try songs.modifyAll(\.plays >= 9, .set(\.title, "Much played"))
                #expect(counts.matched == 1 && counts.modified == 1)
                try songs.delete(id: "e")
                try songs.delete(id: "e", missingOK: true)
                #expect(throws: HoldfastError.self) { try songs.delete(id: "e") }
                try songs.deleteMany(ids: ["f"])
                try #expect(songs.deleteAll(\.plays == 8) == 1)
            }
            let all = try await songs.fetchAll()
            #expect(all.map(\.id) == ["a", "b", "d"])
            #expect(all.map(\.plays) == [6, 7, 9])
            let found = try await songs.find(\.plays > 6, sort: [.descending(\.plays)])
            try await onThread {
                let songs = songs.blocking
                try #expect(songs.fetchAll() == all)
                try #expect(songs.fetch(id: "a") == all[0])
                try #expect(songs.fetch(id: "none") == nil)
                try #expect(songs.fetchMany(ids: ["d", "none", "a"]).map(\.id) == ["d", "a"])
                try #expect(songs.contains(id: "b") && !songs.contains(id: "none"))
                try #expect(songs.find(\.plays > 6, sort: [.descending(\.plays)]) == found)
                try #expect(songs.find(limit: 0).isEmpty)
                struct Title: Decodable, Equatable { var title: String }
                try #expect(
                    songs.find(\.plays == 6, fields: .only(\.title), as: Title.self) == [Title(title: "Gloria")])
                try #expect(songs.first(sort: [.descending(\.plays)])?.id == "d")
                try #expect(
                    songs.first(\.plays == 6, fields: .only(\.title), as: Title.self) == Title(title: "Gloria"))
                try #expect(songs.count(\.plays > 6) == 2)
                try #expect(songs.exists(\.plays > 8) && !songs.exists(\.plays > 9))
            }
        }
    }

    @Test(
        "answers queries as its asynchronous sibling does, and hands out entities one by one",
        arguments: Engine.allCases)
    func queries(engine: Engine) async throws {
        struct Tagged: Codable, Identifiable, Sendable, Equatable {
            var id: String
            var tags: [String]
            var plays: Int
        }
        try await withStore(engine) { store in
            let repository = store.repository(of: Tagged.self)
            try await repository.addMany(
                (0..<30).map { Tagged(id: "t\(10 + $0)", tags: ["a", "b\($0 % 2)"], plays: $0 / 10) })
            try await repository.createIndex(.ascending(\.plays))
            let expected = (
                plays: try await repository.distinct(\.plays),
                tags: try await repository.distinct(\.tags, \.plays == 1),
                json: try await repository.findJSON(\.plays == 2, limit: 3),
                explained: try await repository.explain(\.plays == 2),
                found: try await repository.find(sort: [.descending(\.plays)], limit: 5) { $0.tags.contains("b1") }
            )
            try await onThread {
                let blocking = repository.blocking
                try #expect(blocking.distinct(\.plays) == expected.plays)
                try #expect(blocking.distinct(\.tags, \.plays == 1) == expected.tags)
                try #expect(blocking.distinct("plays", as: Int.self, \.plays > 0) == [1, 2])
                #expect(throws: HoldfastError.self) { try blocking.distinct("plays", as: String.self) }
                try #expect(blocking.findJSON(\.plays == 2, limit: 3) == expected.json)
                var explained = try blocking.explain(\.plays == 2)
                #expect(explained.index != nil && explained.returned == 10 && explained.time > .zero)
                explained.time = expected.explained.time
                #expect(explained == expected.explained)
                try #expect(
                    blocking.find(sort: [.descending(\.plays)], limit: 5) { $0.tags.contains("b1") } == expected.found)
                try #expect(blocking.find(limit: 0) { _ in true }.isEmpty)
                #expect(throws: Refusal()) { try blocking.find { _ in throw Refusal() } }

                var ids: [String] = []
                try blocking.iterate(\.plays == 1, sort: [.descending(\.plays)], skip: 1, limit: 4) {
                    ids.append($0.id)
                }
                #expect(ids == ["t28", "t27", "t26", "t25"])
                try blocking.iterate(limit: 0) { _ in throw Refusal() }
                #expect(throws: Refusal()) { try blocking.iterate { _ in throw Refusal() } }

                let patched = try blocking.patchMany([("t10", ["plays": 100]), ("t11", ["tags": ["c"]])])
                #expect(patched.map(\.plays) == [100, 0] && patched[1].tags == ["c"])
                #expect(throws: HoldfastError.self) { try blocking.patchMany([("t12", ["plays": 7]), ("none", [:])]) }
                try #expect(blocking.fetch(id: "t12")?.plays == 0)
                // What has no sibling is done by a task.
                try Holdfast.Operation { try await repository.createIndex(.ascending(\.id)) }.perform()
                try #expect(Holdfast.Operation { try await repository.indexes().count }.perform() == 2)
                // All of it joins a transaction.
                try store.blocking.transaction {
                    try blocking.save(Tagged(id: "t99", tags: [], plays: -1))
                    try #expect(blocking.distinct(\.plays).contains(-1))
                    try blocking.iterate(\.plays < 0) { ids.append($0.id) }
                }
                #expect(ids.last == "t99")
            }
        }
    }

    @Test("opens and closes a store")
    func openAndClose() async throws {
        try await withDirectory { directory in
            try await onThread {
                let store = try BlockingStore.open("\(directory)/store.db")
                try store.repository(of: Song.self).save(Song(id: "a", title: "Gloria"))
                try store.sync()
                try store.close(timeout: patience)
                try store.close()
                let error = #expect(throws: HoldfastError.self) {
                    try store.repository(of: Song.self).fetch(id: "a")
                }
                #expect(error?.status == .closed)
            }
            let store = try await Store.open("\(directory)/store.db")
            let song = try await store.repository(of: Song.self).fetch(id: "a")
            #expect(song?.title == "Gloria")
            try await store.close()
        }
    }

    @Test("in a transaction joins it: all is stored or nothing", arguments: Engine.allCases)
    func transactions(engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = store.repository(of: Song.self).blocking
            let store = store.blocking
            try await onThread {
                #expect(throws: Refusal()) {
                    try store.transaction {
                        try songs.add(Song(id: "a", title: "Gloria"))
                        try #expect(songs.contains(id: "a"))
                        throw Refusal()
                    }
                }
                try #expect(!songs.contains(id: "a"))
                let outcome = try store.transactionWithReceipt {
                    try songs.add(Song(id: "a", title: "Gloria"))
                    #expect(throws: Refusal()) {
                        try store.savepoint {
                            try songs.add(Song(id: "b", title: "Birdland"))
                            throw Refusal()
                        }
                    }
                    // Joins the one around it.
                    return try store.transaction { try songs.count() }
                }
                #expect(outcome.value == 1 && outcome.receipt.changes.map(\.id) == ["a"])
                func once() throws -> Receipt {
                    try store.transaction(idempotencyKey: "once") {
                        _ = try songs.modify(id: "a", .increment(\.plays, by: 1))
                    }
                }
                try #expect(!once().isReplayed)
                try #expect(once().isReplayed)
                try #expect(songs.fetch(id: "a")?.plays == 1)
                #expect(throws: HoldfastError.self) { try store.savepoint {} }
            }
        }
    }

    @Test("in transactions of many threads: none of what they add up is lost", arguments: Engine.allCases)
    func conflicts(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "a", title: "Gloria"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await onThread {
                            for _ in 0..<50 {
                                try store.blocking.transaction(.patient) {
                                    guard var song = try songs.blocking.fetch(id: "a") else { return }
                                    song.plays += 1
                                    try songs.blocking.save(song)
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let plays = try await songs.fetch(id: "a")?.plays
            #expect(plays == 200)
        }
    }
}
