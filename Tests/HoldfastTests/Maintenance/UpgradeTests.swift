import Foundation
import Holdfast
import Testing

@Suite("An upgrade plan")
struct UpgradeTests {
    private struct OldSong: Codable, Identifiable, Sendable {
        var id: String
        var name: String
    }

    /// From {"name"} by {"title"} to {"title","plays"}, and noted.
    private func plan(_ log: UpgradeLog, failingAt failing: Int? = nil, through last: Int = 3) -> UpgradePlan {
        func step(_ from: Int, _ update: Update<Song>) -> Upgrade {
            Upgrade(from: from) { store in
                log.add(from)
                let songs = store.repository(of: Song.self)
                try await songs.modifyAll(.all, update)
                if from == failing { throw Refusal() }
            }
        }
        let steps = [
            step(0, ["$rename": ["name": "title"]]), step(1, ["$set": ["plays": 1]]), step(2, ["$inc": ["plays": 1]]),
        ]
        return UpgradePlan(Array(steps.prefix(last)))
    }

    private func old(_ path: String) async throws {
        let store = try await Store.open(path)
        try await store.repository(of: OldSong.self, named: "song").save(OldSong(id: "s1", name: "Sinnerman"))
        try await #expect(store.schemaVersion() == nil)
        try await store.close()
    }

    @Test("is carried out in its order when a store is opened, once, after a backup")
    func chain() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            try await old(path)
            let log = UpgradeLog()
            let store = try await Store.open(path, upgrades: plan(log))
            #expect(log.versions == [0, 1, 2])
            try await #expect(
                store.repository(of: Song.self).fetchAll() == [Song(id: "s1", title: "Sinnerman", plays: 2)])
            try await #expect(store.schemaVersion() == 3)
            try await store.close()
            #expect(FileManager.default.fileExists(atPath: "\(path)-v0.backup"))

            let again = try await Store.open(path, upgrades: plan(log))
            #expect(log.versions == [0, 1, 2])
            let report = try await again.upgrade(plan(log))
            #expect((report.from, report.to, report.backup) == (3, 3, nil))
            try await again.close()
            await expectError(.schemaTooNew) { _ = try await Store.open(path, upgrades: plan(log, through: 2)) }
        }
    }

    @Test("goes on where one has failed, of which nothing is left, and opens no store meanwhile")
    func failing() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/store.db"
            try await old(path)
            let log = UpgradeLog()
            await #expect(throws: Refusal.self) {
                _ = try await Store.open(path, upgrades: plan(log, failingAt: 1), backup: false)
            }
            let store = try await Store.open(path)
            try await #expect(store.schemaVersion() == 1)
            let stored = try await store.repository(of: Song.self).findJSON()
            #expect(String(decoding: stored, as: UTF8.self) == #"[{"id":"s1","title":"Sinnerman"}]"#)
            try await store.upgrade(plan(log))
            #expect(log.versions == [0, 1, 1, 2])
            try await #expect(store.repository(of: Song.self).fetch(id: "s1")?.plays == 2)
            try await store.close()
        }
    }

    @Test("gives a new store its version without doing anything", arguments: Engine.allCases)
    func newStores(engine: Engine) async throws {
        try await withStore(engine) { store in
            let log = UpgradeLog()
            try await store.upgrade(plan(log))
            #expect(log.versions == [])
            try await #expect(store.schemaVersion() == 3)
        }
    }

    @Test("is done again as a whole after a conflict")
    func conflicts() async throws {
        try await withSongs(.memory) { store, songs in
            try await songs.save(Song(id: "s1", title: ""))
            let log = UpgradeLog()
            try await store.upgrade(
                UpgradePlan(
                    Upgrade(from: 0) { store in
                        log.add(0)
                        var song = try await #require(songs.fetch(id: "s1"))
                        if log.versions.count < 3 {
                            let other = Song(id: "s1", title: "", plays: song.plays + 10)
                            try await inAnotherTask { try await songs.save(other) as Song }
                        }
                        song.plays += 1
                        try await songs.save(song)
                    }))
            #expect(log.versions == [0, 0, 0])
            try await #expect(songs.fetch(id: "s1")?.plays == 21)
        }
    }

    @Test("with gaps, or that begins too late, is refused")
    func gaps() async throws {
        try await withStore(.memory) { store in
            try await store.repository(of: Song.self).open()
            let nothing: @Sendable (Store) async throws -> Void = { _ in }
            for steps in [[0, 2], [1, 0], [0, 0], [-1, 0], [1]] {
                await expectError(.invalidArgument) {
                    try await store.upgrade(UpgradePlan(steps.map { Upgrade(from: $0, nothing) }))
                }
                try await #expect(store.schemaVersion() == nil)
            }
            await expectError(.invalidState) {
                try await store.transaction { _ = try await store.upgrade(UpgradePlan(Upgrade(from: 0, nothing))) }
            }
        }
    }
}

/// Which upgrades ran.
private final class UpgradeLog: @unchecked Sendable {
    // Sendable: a lock guards it.
    private let lock = NSLock()
    private var noted: [Int] = []
    var versions: [Int] { lock.withLock { noted } }
    func add(_ version: Int) { lock.withLock { noted.append(version) } }
}
