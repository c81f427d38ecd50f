import HoldfastFamiliar
import HoldfastTestSupport
import Testing

@Suite("A mock")
struct TestSupportTests {
    private struct Offline: Error {}

    private func library(_ songs: any Repository<Song>) async throws -> Int {
        guard var song = try await songs.fetch(id: "s1") else { return -1 }
        song.plays += 1
        try await songs.save(song)
        await songs.invalidateCache()
        return song.plays
    }

    @Test("of a repository counts its calls and keeps what is saved")
    func repository() async throws {
        let songs = MockRepository([Song(id: "s1", title: "Sinnerman")])
        try await #expect(library(songs) == 1)
        try await #expect(library(songs) == 2)
        #expect(songs.calls.count(of: .fetch) == 2)
        #expect(songs.calls.count(of: .save) == 2)
        #expect(songs.calls.count(of: .invalidateCache) == 2)
        #expect(songs.calls.count(of: .fetchAll) == 0)
        #expect(songs.calls.count == 6)
        #expect(songs.storage.fetchAll().map(\.plays) == [2])
        try await songs.delete(id: "s1")
        await expectError(.notFound) { try await songs.delete(id: "s1") }
    }

    @Test("fails at the call that it is told, and counts that too")
    func failingAtACall() async throws {
        let songs = MockRepository<Song>()
        try await songs.save(Song(id: "s1", title: ""))
        songs.calls.fail(.save, at: 2, with: Offline())
        try await songs.save(Song(id: "s2", title: ""))
        await #expect(throws: Offline.self) { try await songs.save(Song(id: "s3", title: "")) }
        try await songs.save(Song(id: "s4", title: ""))
        try await #expect(songs.fetchAll().map(\.id) == ["s1", "s2", "s4"])
        #expect(songs.calls.count(of: .save) == 4)
    }

    @Test("fails always, in one function or in any, until it is reset")
    func failingAlways() async throws {
        let storage = MockStorageProvider([Song(id: "s1", title: "")])
        storage.calls.fail(.fetch)
        for _ in 0..<3 {
            await #expect(throws: MockError.self) { try await storage.fetch(id: "s1") }
        }
        try await #expect(storage.fetchAll().count == 1)
        storage.calls.fail(with: Offline())
        await #expect(throws: Offline.self) { try await storage.fetchAll() }
        await #expect(throws: Offline.self) { try await storage.saveAll([Song(id: "s2", title: "")]) }
        storage.calls.reset()
        try await #expect(storage.fetch(id: "s1") != nil)
        #expect(storage.calls.count == 1)
        storage.reset()
        try await #expect(storage.fetchAll() == [])
    }

    @Test("of a provider goes by the four functions for all the others")
    func defaults() async throws {
        let storage = MockStorageProvider<Song>()
        try await storage.saveAll((0..<3).map { Song(id: "s\($0)", title: "", plays: $0) })
        #expect(storage.calls.count(of: .save) == 3)
        try await #expect(storage.fetch(matching: { $0.plays > 0 }).map(\.id) == ["s1", "s2"])
        #expect(storage.calls.count(of: .fetchAll) == 1)
        storage.calls.fail(.delete, at: 2, with: Offline())
        await #expect(throws: Offline.self) { try await storage.deleteAll() }
        try await #expect(storage.fetchAll().map(\.id) == ["s1", "s2"])
        try await storage.deleteAll()
        try await storage.deleteAll()
        try await #expect(storage.fetchAll() == [])
    }

    @Test("of a clock stands still until it is advanced")
    func clock() {
        let clock = MockClock()
        #expect(clock.now.elapsed == .zero)
        clock.advance(by: .seconds(1))
        clock.advance(by: .milliseconds(500))
        #expect(clock.now.elapsed == .milliseconds(1500))
    }
}
