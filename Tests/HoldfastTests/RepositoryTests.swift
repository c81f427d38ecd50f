import Foundation
import Holdfast
import Testing

@Suite("An entity that does not fit its class")
struct UnfittingEntityTests {
    private struct Other: Codable, Identifiable, Sendable {
        var id: String
        var title: [String]
    }

    @Test("is named, with its repository and the class, by every typed read", arguments: Engine.allCases)
    func reads(engine: Engine) async throws {
        try await withStore(engine) { store in
            try await store.repository(of: Song.self).save(Song(id: "s1", title: "Gloria"))
            let others = store.repository(of: Other.self, named: "song")
            func expectNamed(_ read: nonisolated(nonsending) () async throws -> Void) async {
                let error = await expectError(.corrupt, read)
                for part in ["\"s1\"", "\"song\"", "Other", "title"] {
                    #expect(error?.message.contains(part) == true, "\(part)")
                }
                let detail = error?.detail
                #expect([detail?.id, detail?.repository, detail?.type] == ["s1", "song", "Other"])
            }
            await expectNamed { _ = try await others.fetch(id: "s1") }
            await expectNamed { _ = try await others.fetchVersioned(id: "s1") }
            await expectNamed { _ = try await others.fetchMany(ids: ["s1"]) }
            await expectNamed { _ = try await others.fetchAll() }
            await expectNamed { _ = try await others.find() }
            await expectNamed { _ = try await others.first() }
            await expectNamed { _ = try await others.find(where: { _ in true }) }
            await expectNamed { for try await _ in others.iterate() {} }
            await expectNamed { _ = try await others.patch(id: "s1", ["plays": 2]) }
            try await onThread {
                let error = #expect(throws: HoldfastError.self) { try others.blocking.fetchAll() }
                #expect(error?.message.contains("\"s1\" in \"song\" is no Other") == true)
            }
        }
    }
}

@Suite("A repository")
struct RepositoryTests {
    @Test("deletes an entity that it is given, in asynchronous code too", arguments: Engine.allCases)
    func deletion(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            let song = Song(id: "s1", title: "Gloria")
            try await songs.save(song)
            try await songs.delete(song)
            try await #expect(songs.count() == 0)
            await expectError(.notFound) { try await songs.delete(song) }
            let described = songs.deferred.delete(id: "s1")
            try await songs.save(song)
            try await described.performAsync()
            try await #expect(songs.count() == 0)
        }
    }

    @Test("stores what is added, and refuses to add it again", arguments: Engine.allCases)
    func adding(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            let song = Song(id: "s1", title: "Sinnerman")
            try await #expect(songs.add(song) == song)
            try await #expect(songs.fetch(id: "s1") == song)
            await expectError(.exists) { try await songs.add(song) }
            try await #expect(songs.count() == 1)
        }
    }

    @Test("updates only what is there", arguments: Engine.allCases)
    func updating(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            await expectError(.notFound) { try await songs.update(Song(id: "s1", title: "Sinnerman")) }
            try await songs.save(Song(id: "s1", title: "Sinnerman"))
            try await songs.update(Song(id: "s1", title: "Sinnerman", plays: 1))
            try await #expect(songs.fetch(id: "s1")?.plays == 1)
        }
    }

    @Test("updates, patches and deletes only the expected version", arguments: Engine.allCases)
    func expectingVersions(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await songs.save(Song(id: "s1", title: "Sinnerman"))
            let old = try await #require(songs.fetchVersioned(id: "s1"))
            try await songs.update(Song(id: "s1", title: "Sinnerman", plays: 1), expectedVersion: old.version)
            let now = try await #require(songs.fetchVersioned(id: "s1"))
            #expect(now.version > old.version)

            let mismatch = await expectError(.versionMismatch) {
                try await songs.update(old.entity, expectedVersion: old.version)
            }
            #expect(mismatch?.isRetryable == false)
            #expect(mismatch?.detail.actual == now.version)
            await expectError(.versionMismatch) {
                try await songs.patch(id: "s1", ["plays": 9], expectedVersion: old.version)
            }
            await expectError(.versionMismatch) { try await songs.delete(id: "s1", expectedVersion: old.version) }
            try await #expect(songs.fetchVersioned(id: "s1") == now)
            try await songs.delete(id: "s1", expectedVersion: now.version)
            try await #expect(songs.fetchVersioned(id: "s1") == nil)
        }
    }

    @Test("patches what is named and leaves the rest", arguments: Engine.allCases)
    func patching(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            await expectError(.notFound) { try await songs.patch(id: "s1", ["plays": 1]) }
            try await songs.save(Song(id: "s1", title: "Sinnerman", plays: 1, note: "live"))
            let patched = try await songs.patch(id: "s1", ["plays": 2, "note": nil])
            #expect(patched == Song(id: "s1", title: "Sinnerman", plays: 2, note: nil))
            try await #expect(songs.fetch(id: "s1") == patched)
            await expectError(.invalidEntity) { try await songs.patch(id: "s1", ["id": "s2"]) }
            try await store.transaction { try await #expect(songs.patch(id: "s1", ["plays": 3]).plays == 3) }
            try await #expect(songs.fetch(id: "s1")?.plays == 3)
        }
    }

    @Test("modifies what an update's paths name and leaves the rest", arguments: Engine.allCases)
    func modifying(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            await expectError(.notFound) { try await songs.modify(id: "s1", ["$inc": ["plays": 1]]) }
            let first = Song(id: "s1", title: "Sinnerman", note: "live")
            let modified = try await songs.modify(
                id: "s1", ["$inc": ["plays": 1], "$unset": ["note": nil]], initial: first)
            #expect(modified == Song(id: "s1", title: "Sinnerman", plays: 1, note: nil))
            try await #expect(songs.modify(id: "s1", Update(json: #"{"$mul":{"plays":4}}"#), initial: first).plays == 4)
            await expectError(.versionMismatch) {
                try await songs.modify(id: "s1", ["$set": ["plays": 9]], expectedVersion: 1 << 40)
            }
            let misfit = await expectError(.invalidEntity) {
                try await songs.modify(id: "s1", ["$push": ["title": "x"]])
            }
            #expect(misfit?.detail.path == "title" && misfit?.detail.operator == "$push")
            await expectError(.invalidEntity) { try await songs.modify(id: "s1", ["$set": ["id": "s2"]]) }
            await expectError(.invalidQuery) { try await songs.modify(id: "s1", ["$shift": ["plays": 1]]) }
            try await songs.save(Song(id: "s2", title: "Feeling Good", plays: 4))
            try await store.transaction {
                let counts = try await songs.modifyAll(["plays": 4], ["$max": ["plays": 5]])
                #expect(counts == (2, 2))
            }
            let counts = try await songs.modifyAll(.all, ["$set": ["title": "Feeling Good"]])
            #expect(counts == (2, 1))
            try await #expect(songs.fetch(id: "s1") == Song(id: "s1", title: "Feeling Good", plays: 5, note: nil))
        }
    }

    @Test("loses no count when many tasks count in one entity at once", arguments: Engine.allCases)
    func counting(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await withThrowingTaskGroup { group in
                for _ in 0..<100 {
                    group.addTask {
                        try await songs.modify(id: "s1", ["$inc": ["plays": 1]], initial: Song(id: "s1", title: "x"))
                    }
                }
                try await group.waitForAll()
            }
            try await #expect(songs.fetch(id: "s1")?.plays == 100)
        }
    }

    @Test("deletes; a missing entity is an error unless it may be missing", arguments: Engine.allCases)
    func deleting(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await songs.save(Song(id: "s1", title: "Sinnerman"))
            try await songs.delete(id: "s1")
            try await #expect(songs.fetch(id: "s1") == nil)
            try await #expect(!songs.contains(id: "s1"))
            await expectError(.notFound) { try await songs.delete(id: "s1") }
            try await songs.delete(id: "s1", missingOK: true)
        }
    }

    @Test("lists entities in the bytewise order of their ids", arguments: Engine.allCases)
    func listing(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await #expect(songs.fetchAll() == [])
            try await songs.saveMany(["b", "a", "ä", "B", "aa"].map { Song(id: $0, title: $0) })
            try await #expect(songs.fetchAll().map(\.id) == ["B", "a", "aa", "b", "ä"])
        }
    }

    @Test("finds and counts by members, with skip and limit", arguments: Engine.allCases)
    func finding(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await songs.saveMany((0..<10).map { Song(id: "s\($0)", title: "t\($0 % 2)", plays: $0) })
            try await #expect(songs.find(["title": "t1"]).map(\.plays) == [1, 3, 5, 7, 9])
            try await #expect(songs.find(["title": "t1", "plays": 3]).map(\.id) == ["s3"])
            try await #expect(songs.find(["note": nil], skip: 2, limit: 3).map(\.plays) == [2, 3, 4])
            try await #expect(songs.find(.all, limit: 0) == [])
            try await #expect(songs.find(Filter(json: #"{"id": {"$eq": "s4"}}"#)).map(\.plays) == [4])
            try await #expect(songs.count(["title": "t0"]) == 5)
            await expectError(.invalidQuery) { _ = try await songs.find(["plays": ["$near": 1]]) }
            await expectError(.invalidJSON) { _ = try await songs.count(Filter(json: "{")) }
            await expectError(.invalidArgument) { _ = try await songs.find(.all, skip: -1) }
        }
    }

    @Test("changes many entities or none, and tells which one was wrong", arguments: Engine.allCases)
    func batches(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            let three = ["a", "b", "c"].map { Song(id: $0, title: $0) }
            try await #expect(songs.addMany(three) == three)
            let refusal = await expectError(.exists) {
                try await songs.addMany([Song(id: "d", title: "d"), three[0]])
            }
            #expect(refusal?.message.hasPrefix("element 1,") == true)
            try await #expect(!songs.contains(id: "d"))

            await expectError(.notFound) { try await songs.updateMany([three[0], Song(id: "z", title: "z")]) }
            try await songs.updateMany([Song(id: "a", title: "A"), Song(id: "b", title: "B")])
            try await #expect(songs.fetchAll().map(\.title) == ["A", "B", "c"])

            await expectError(.notFound) { try await songs.deleteMany(ids: ["a", "z"]) }
            try await #expect(songs.count() == 3)
            try await songs.deleteMany(ids: ["a", "b"])
            try await #expect(songs.fetchAll() == [three[2]])
            try await #expect(songs.saveMany([]) == [])
        }
    }

    @Test("deletes all that match and tells how many", arguments: Engine.allCases)
    func deletingAll(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await #expect(songs.deleteAll() == 0)
            try await songs.saveMany((0..<10).map { Song(id: "s\($0)", title: "t\($0 % 2)") })
            try await #expect(songs.deleteAll(["title": "t1"]) == 5)
            try await #expect(songs.count() == 5)
            try await #expect(songs.deleteAll() == 5)
            try await #expect(songs.count() == 0)
        }
    }

    @Test("is named after its type, in lower case", arguments: Engine.allCases)
    func naming(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            #expect(songs.name == "song")
            try await songs.open()
            #expect(try store.describe().repositories.map(\.name) == ["song"])
            await expectError(.invalidName) { try await store.repository(of: Song.self, named: "1st").open() }
            await expectError(.invalidOption) { try await store.repository(of: Song.self, key: "title").open() }
            await expectError(.exists) { try await store.repository(of: Song.self, named: "Song").open() }
        }
    }

    @Test("does for any code that knows the protocol alone")
    func protocolUse() async throws {
        func rename(_ id: String, in songs: some Repository<Song>) async throws {
            guard var song = try await songs.fetch(id: id) else { return }
            song.title = "renamed"
            try await songs.save(song)
        }
        try await withSongs(.memory) { _, songs in
            try await songs.save(Song(id: "s1", title: "Sinnerman"))
            try await rename("s1", in: songs)
            try await #expect(songs.fetch(id: "s1")?.title == "renamed")
        }
    }
}
