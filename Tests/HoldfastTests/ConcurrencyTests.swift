import Foundation
import Holdfast
import Testing

@Suite("Many tasks")
struct ConcurrencyTests {
    @Test("save thousands of entities at once, each told when it is stored", arguments: Engine.allCases)
    func manySaves(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            var told = 0
            try await withThrowingTaskGroup(of: Song.self) { group in
                for number in 0..<5000 {
                    group.addTask { try await songs.save(Song(id: "s\(number)", title: "", plays: number)) }
                }
                for try await _ in group { told += 1 }
            }
            #expect(told == 5000)
            try await #expect(songs.fetchAll().map(\.plays).sorted() == Array(0..<5000))
        }
    }

    @Test(
        "that fetch without an end what the cache holds let others have their turn", .timeLimit(.minutes(20)),
        arguments: Engine.allCases)
    func polling(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await songs.save(Song(id: "s", title: "", plays: 0))
            for _ in 0..<2 { try await #expect(songs.fetch(id: "s")?.plays == 0) }
            try await #expect(songs.cacheStatistics().hits == 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // More of them than the pool has threads.
                for _ in 0..<2 * ProcessInfo.processInfo.activeProcessorCount {
                    group.addTask { while try await songs.fetch(id: "s")?.plays == 0 {} }
                }
                group.addTask { try await songs.save(Song(id: "s", title: "", plays: 1)) }
                try await group.waitForAll()
            }
        }
    }

    @Test("wait for a slot when more commits are wanted than the store lets in", arguments: Engine.allCases)
    func fewSlots(engine: Engine) async throws {
        // None of so few waits half a minute, which is all that a save alone does, however busy the machine is.
        var options = StoreOptions.relaxed
        options.maxInFlight = 2
        try await withSongs(engine, options) { store, songs in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    let song = Song(id: "s\(number)", title: "")
                    if number.isMultiple(of: 2) {
                        group.addTask { try await songs.save(song) }
                    } else {
                        group.addTask { _ = try await store.transaction(.patient) { try await songs.save(song) } }
                    }
                }
                try await group.waitForAll()
            }
            try await #expect(songs.count() == 100)
        }
    }

    @Test("read while others write, and see whole transactions only", arguments: Engine.allCases)
    func readers(engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.saveMany([Account(id: 1, balance: 100), Account(id: 2, balance: 100)])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for amount in 1...50 {
                        try await accounts.saveMany([
                            Account(id: 1, balance: 100 - amount), Account(id: 2, balance: 100 + amount),
                        ])
                    }
                }
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<50 {
                            let sum = try await accounts.fetchAll().map(\.balance).reduce(0, +)
                            guard sum == 200 else { throw Refusal() }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

@Suite("A cancelled task")
struct CancellationTests {
    @Test("that was cancelled before it began does nothing", arguments: Engine.allCases)
    func before(engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            try await songs.open()
            for write in [false, true] {
                let task = Task {
                    while !Task.isCancelled { await Task.yield() }
                    if write {
                        try await songs.save(Song(id: "s1", title: ""))
                    } else {
                        _ = try await songs.count()
                    }
                }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            try await #expect(songs.count() == 0)
        }
    }

    @Test("is told the truth: what was withdrawn is not stored, what was answered is", arguments: Engine.allCases)
    func truth(engine: Engine) async throws {
        let options = StoreOptions(maxInFlight: 200)
        try await withSongs(engine, options) { store, songs in
            try await songs.open()
            var stored: Set<String> = []
            var withdrawn = 0
            // Until one of them was: all may be stored before they are cancelled.
            for round in 0..<100 where withdrawn == 0 {
                let tasks = (0..<2000).map { number in
                    let song = Song(id: "r\(round)s\(number)", title: "")
                    return number.isMultiple(of: 2)
                        ? Task { try await songs.save(song) }
                        : Task { try await store.transaction { try await songs.save(song) } }
                }
                _ = try await tasks[0].value
                for task in tasks { task.cancel() }
                for (number, task) in tasks.enumerated() {
                    switch await task.result {
                    case .success: stored.insert("r\(round)s\(number)")
                    case .failure(let error):
                        #expect(error is CancellationError, "\(error)")
                        withdrawn += 1
                    }
                }
            }
            #expect(withdrawn > 0)
            try await #expect(Set(songs.fetchAll().map(\.id)) == stored)
            // Every place was given back.
            try await songs.saveMany([Song(id: "after", title: "")])
            try await #expect(songs.contains(id: "after"))
            try #expect(store.describe().transactions == 0)
        }
    }

    @Test("rolls its transaction back", arguments: Engine.allCases)
    func inTransaction(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let written = AsyncStream<Void>.makeStream()
            let task = Task {
                try await store.transaction {
                    try await songs.save(Song(id: "s1", title: ""))
                    written.continuation.yield()
                    while !Task.isCancelled { await Task.yield() }
                }
            }
            for await _ in written.stream { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await #expect(songs.count() == 0)
            try #expect(store.describe().transactions == 0)
        }
    }
}
