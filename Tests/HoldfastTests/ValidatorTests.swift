import Holdfast
import Synchronization
import Testing

@Suite("A repository's validator")
struct ValidatorTests {
    @Test("refuses what is about to be stored, with its own error, however it is written", arguments: Engine.allCases)
    func refuses(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "old", title: "", plays: 1))
            try await songs.setValidator { id, song in
                guard let song else { return }
                if song.id != id || song.title.isEmpty { throw Refusal() }
            }
            let good = Song(id: "s1", title: "Gloria")
            let bad = Song(id: "s2", title: "")
            try await songs.add(good)
            await #expect(throws: Refusal()) { try await songs.save(bad) }
            await #expect(throws: Refusal()) { try await songs.addMany([Song(id: "s3", title: "Why"), bad]) }
            await #expect(throws: Refusal()) { try await songs.patch(id: "s1", ["title": ""]) }
            await #expect(throws: Refusal()) { try await songs.modify(id: "old", .increment(\.plays, by: 1)) }
            await #expect(throws: Refusal()) { try await store.transaction { try await songs.save(bad) } }
            #expect(throws: Refusal()) { try songs.blocking.add(bad) }
            let add = songs.deferred.add(bad)
            await #expect(throws: Refusal()) { try await add.performAsync() }
            // What is put right before the end is well.
            try await store.transaction {
                try await songs.save(bad)
                try await songs.save(Song(id: "s2", title: "Why"))
            }
            let patched = try await songs.patch(id: "s1", ["plays": 3])
            #expect(patched.plays == 3)
            try await songs.delete(id: "old")
            let ids = try await songs.fetchAll().map(\.id)
            #expect(ids == ["s1", "s2"])
            try await songs.setValidator(nil)
            try await songs.save(bad)
        }
    }

    @Test("reads and writes in the transaction, and runs again with it after a conflict", arguments: [false, true])
    func readsAndWrites(isBlocking: Bool) async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            let songs = store.repository(of: Song.self)
            let calls = Mutex(0)
            try await accounts.save(Account(id: 1, balance: 0))
            try await songs.setValidator { _, song in
                let isFirst = calls.withLock {
                    $0 += 1
                    return $0 == 1
                }
                var account = try accounts.blocking.fetchAll()[0]
                if isFirst { throw HoldfastError(.conflict, "as if another had written the account") }
                account.balance += song?.plays ?? 0
                try accounts.blocking.update(account)
            }
            let song = Song(id: "s1", title: "Gloria", plays: 7)
            let add = songs.deferred.add(song)
            if isBlocking { try add.perform() } else { try await songs.save(song) }
            let balance = try await accounts.fetch(id: 1)?.balance
            #expect(balance == 7)
            #expect(calls.withLock { $0 } == 2)
        }
    }

    @Test("does not keep its store open")
    func lifetime() async throws {
        weak var gone: Store?
        do {
            let store = try await Store.open("memory:")
            try await store.repository(of: Song.self).setValidator { _, _ in }
            gone = store
        }
        // A thread of the pool may just be leaving the last call.
        try await until("the store is gone") { gone == nil }
    }
}
