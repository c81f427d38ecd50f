import Foundation
import Holdfast
import Testing

@Suite("A sequence of changes", .timeLimit(.minutes(20)))
struct ChangeStreamTests {
    @Test("tells commit by commit what was inserted, updated and deleted, typed", arguments: Engine.allCases)
    func operations(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let drafts = store.repository(of: Draft.self)
            try await songs.open()
            try await drafts.open()
            let start = try await store.position()
            var batches = store.changes(since: start, ChangeOptions(includesOld: true)).makeAsyncIterator()
            // Once this was told, the stream is there, and knows every form of what is committed from now on.
            try await drafts.save(Draft(id: "d0", text: "first"))
            _ = try await batches.next()
            var commits: [CommittedChanges] = []

            let (_, receipt) = try await store.transactionWithReceipt {
                try await songs.save(Song(id: "s1", title: "Gloria"))
                try await drafts.save(Draft(id: "d1", text: "hello"))
            }
            try await songs.save(Song(id: "s1", title: "Why"))
            try await songs.delete(id: "s1")
            while commits.count < 3 { commits += try #require(try await batches.next()).commits }

            #expect(commits.map { $0.changes.map(\.operation) } == [[.insert, .insert], [.update], [.delete]])
            #expect(commits[0].sequence == receipt.sequence)
            #expect(Set(commits[0].changes.map(\.repository)) == ["draft", "song"])
            #expect(abs(commits[0].time.timeIntervalSinceNow) < 3600)
            let new = try commits[0].changes.compactMap { try $0.entity(in: songs) }
            #expect(new == [Song(id: "s1", title: "Gloria")])
            let update = commits[1].changes[0]
            #expect(try update.entity(in: songs)?.title == "Why")
            #expect(try update.old(in: songs)?.title == "Gloria")
            #expect(try commits[2].changes[0].entity(in: songs) == nil)
            #expect(try commits[2].changes[0].old(in: songs)?.title == "Why")
        }
    }

    @Test(
        "tells of one repository, one entity, what matches a filter, or what changes some fields",
        arguments: Engine.allCases)
    func selections(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.saveMany([Song(id: "s1", title: "Gloria"), Song(id: "s2", title: "Why", plays: 9)])
            let start = try await store.position()
            try await songs.modify(id: "s1", ["$set": ["note": "live"]])
            try await songs.modify(id: "s1", ["$inc": ["plays": 1]])
            try await songs.modify(id: "s2", ["$set": ["plays": 1]])
            try await store.repository(of: Draft.self).save(Draft(id: "d1", text: "elsewhere"))
            try await songs.save(Song(id: "end", title: "End", plays: 100))

            func told(_ sequence: ChangeStream, _ count: Int) async throws -> [String] {
                var ids: [String] = []
                var batches = sequence.makeAsyncIterator()
                while ids.count < count { ids += try #require(try await batches.next()).changes.map(\.id) }
                return ids
            }
            var ids = try await told(store.changes(of: songs, since: start), 4)
            #expect(ids == ["s1", "s1", "s2", "end"])
            ids = try await told(store.changes(of: songs, id: "s2", since: start), 1)
            #expect(ids == ["s2"])

            let next = try await store.position()
            var live = store.changes(of: songs, where: \.plays > 5, fields: ["plays"], since: next).makeAsyncIterator()
            try await songs.save(Song(id: "s4", title: "High", plays: 50))
            _ = try await live.next()
            try await songs.modify(id: "end", ["$set": ["note": "nothing that is asked for"]])
            try await songs.save(Song(id: "s3", title: "Low", plays: 1))
            try await songs.modify(id: "end", ["$set": ["plays": 2]])
            let changes = try await live.next()?.changes
            #expect(changes?.map(\.id) == ["end"])
            #expect(changes?.map(\.operation) == [.update])
        }
    }

    @Test("leaves the entities out where only the ids are wanted")
    func idsAlone() async throws {
        try await withSongs(.memory) { store, songs in
            try await songs.open()
            let start = try await store.position()
            try await songs.save(Song(id: "s1", title: "Gloria"))
            var batches = store.changes(since: start, ChangeOptions(includesEntities: false)).makeAsyncIterator()
            let change = try #require(try await batches.next()).changes[0]
            #expect(change.id == "s1")
            #expect(change.entity == nil)
        }
    }

    @Test("is read as a feed, in pages, from the position that the caller keeps", arguments: Engine.allCases)
    func feed(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.open()
            var position = try await store.position()
            for number in 1...7 { try await songs.save(Song(id: "s\(number)", title: "Title")) }
            var pages: [[String]] = []
            while true {
                let page = try await store.changes(since: position, limit: 3)
                if page.commits.isEmpty {
                    #expect(page.position == position)
                    break
                }
                pages.append(page.changes.map(\.id))
                position = page.position
            }
            #expect(pages == [["s1", "s2", "s3"], ["s4", "s5", "s6"], ["s7"]])
            let all = try await store.changes(since: nil, limit: 100_000)
            #expect(all.changes.filter { $0.repository == "song" }.count == 7)
            let one = try await store.changes(of: songs, id: "s5", since: nil, limit: 100_000)
            #expect(one.changes.map(\.id) == ["s5"] && one.position == all.position)
            await expectError(.invalidArgument) { _ = try await store.changes(since: nil, limit: 0) }
            await expectError(.invalidState) { try await all.acknowledge() }
        }
    }

    @Test("goes on, as a durable subscription, behind what was acknowledged, in another run of the program too")
    func durable() async throws {
        try await withDirectory { directory in
            let url = "\(directory)/store.db"
            func told(_ count: Int, acknowledging: Int) async throws -> [String] {
                let store = try await Store.open(url)
                let songs = store.repository(of: Song.self)
                try await songs.save(Song(id: UUID().uuidString, title: "Title"))
                var titles: [String] = []
                for try await batch in store.changes(of: songs, durable: "mailer") {
                    for commit in batch.commits { titles += commit.changes.map(\.id) }
                    if titles.count <= acknowledging { try await batch.acknowledge() }
                    if titles.count >= count { break }
                }
                try await store.close()
                return titles
            }
            let store = try await Store.open(url)
            let songs = store.repository(of: Song.self)
            let start = try await store.position()
            var first = store.changes(since: start, durable: "mailer").makeAsyncIterator()
            try await songs.save(Song(id: "s1", title: "Title"))
            try await first.next()?.acknowledge()
            await expectError(.invalidState) { for try await _ in store.changes(durable: "mailer") {} }
            try await store.close()

            let second = try await told(1, acknowledging: 0)
            let third = try await told(2, acknowledging: 2)
            #expect(third.first == second.first, "what was not acknowledged is told again")
            let fourth = try await told(1, acknowledging: 1)
            #expect(!third.contains(fourth[0]))
        }
    }

    @Test("of one entity is a durable subscription too", arguments: Engine.allCases)
    func durableOfOne(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.open()
            let start = try await store.position()
            for plays in 1...3 {
                try await songs.save(Song(id: "s1", title: "Gloria", plays: plays))
                try await songs.save(Song(id: "s2", title: "Why", plays: plays))
                var batches = store.changes(of: songs, id: "s2", since: start, durable: "follower").makeAsyncIterator()
                let batch = try #require(try await batches.next())
                #expect(try batch.changes.map { try $0.entity(in: songs)?.plays } == [plays])
                #expect(batch.changes.map(\.id) == ["s2"])
                try await batch.acknowledge()
            }
        }
    }

    @Test("has let go of its stream as soon as its iteration is left, or its task cancelled")
    func letsGo() async throws {
        try await withSongs(.memory) { store, songs in
            try await songs.open()
            let start = try await store.position()
            try await songs.save(Song(id: "s1", title: "Gloria"))
            // A name that is open twice would be refused.
            for _ in 1...3 {
                for try await _ in store.changes(since: start, durable: "mailer") { break }
            }
            for _ in 1...3 {
                let (begun, begin) = AsyncStream<Void>.makeStream()
                let task = Task {
                    for try await _ in store.changes(since: start, durable: "mailer") { begin.yield() }
                }
                for await _ in begun { break }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }

    @Test("is told from the log to who does not keep up, and misses nothing", arguments: Engine.allCases)
    func behind(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.open()
            var batches = store.changes(of: songs, since: try await store.position()).makeAsyncIterator()
            try await songs.save(Song(id: "first", title: "Title"))
            var ids = try #require(try await batches.next()).changes.map(\.id)
            for page in 0..<15 {
                try await songs.saveMany((0..<1000).map { Song(id: "s\(page * 1000 + $0)", title: "Title") })
            }
            var wasBehind = false
            while ids.count < 15_001 {
                let batch = try #require(try await batches.next())
                wasBehind = wasBehind || batch.isBehind
                ids += batch.changes.map(\.id)
            }
            #expect(wasBehind)
            #expect(Set(ids).count == 15_001)
            #expect(ids.count == 15_001)
        }
    }

    @Test("ends where its position is not in the log any more, and names one to go on from")
    func lost() async throws {
        let options = StoreOptions(logRetention: 1000)
        try await withSongs(.memory, options) { store, songs in
            try await songs.open()
            let start = try await store.position()
            for number in 0..<3000 { try await songs.save(Song(id: "s1", title: "Title", plays: number)) }
            let error = await expectError(.cursorLost) { for try await _ in store.changes(since: start) {} }
            let position = try #require(error?.detail.position)
            var batches = store.changes(since: position).makeAsyncIterator()
            try await songs.save(Song(id: "s2", title: "Why"))
            let batch = try await batches.next()
            #expect(batch?.changes.map(\.id) == ["s2"])
            await expectError(.cursorLost) { _ = try await store.changes(since: start, limit: 10) }
        }
    }

    @Test("ends where its position has become too old for the log")
    func tooOld() async throws {
        var options = StoreOptions(logMaxAge: .zero)
        try await withSongs(.memory, options) { store, songs in
            try await songs.open()
            let start = try await store.position()
            for number in 0..<3000 { try await songs.save(Song(id: "s1", title: "Title", plays: number)) }
            await expectError(.cursorLost) { for try await _ in store.changes(since: start) {} }
        }
        options.logMaxAge = .seconds(-1)
        await expectError(.invalidOption) { _ = try await Store.open("memory:", options) }
    }

    @Test("refuses a position that is none, a repository that is not there, and a filter that is none")
    func refusals() async throws {
        try await withSongs(.memory) { store, songs in
            await expectError(.invalidArgument) { for try await _ in store.changes(since: "yesterday") {} }
            await expectError(.notFound) { for try await _ in store.changes(of: songs) {} }
            try await songs.open()
            await expectError(.invalidQuery) {
                for try await _ in store.changes(of: songs, where: ["plays": ["$least": 1]]) {}
            }
            await expectError(.invalidOption) { for try await _ in store.changes(durable: "") {} }
        }
    }
}
