import Foundation
import Holdfast
import Synchronization
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

@Suite("An operation")
struct OperationTests {
    @Test("does nothing when it is made, and runs anew each time")
    func lazy() async throws {
        let runs = Mutex(0)
        let operation = Holdfast.Operation.blocking {
            runs.withLock {
                $0 += 1
                return $0
            }
        }
        #expect(runs.withLock { $0 } == 0)
        #expect(try operation.perform() == 1)
        let second = try await operation.performAsync()
        #expect(second == 2)
    }

    @Test("of an asynchronous function makes a thread wait for it, and none of Swift's pool")
    func asynchronousFunction() async throws {
        let operation = Holdfast.Operation { 7 }
        expectRefusal(.wouldDeadlock) { try operation.perform() }
        let value = try await onThread { try operation.perform() }
        #expect(value == 7)
        let refused = Holdfast.Operation<Int> { throw Refusal() }
        await #expect(throws: Refusal()) { try await onThread { try refused.perform() } }
        await #expect(throws: Refusal()) { try await refused.performAsync() }
    }

    @Test("told by a publisher has one value, or the error that its run has thrown")
    func publisher() async throws {
        var values: [Int] = []
        let seven = Holdfast.Operation { 7 }
        for try await value in seven.publisher.values { values.append(value) }
        #expect(values == [7])
        let refused = Holdfast.Operation<Int> { throw Refusal() }
        await #expect(throws: Refusal()) {
            for try await _ in refused.publisher.values {}
        }
    }
}

@Suite("A deferred call")
struct DeferredTests {
    @Test("of an id that is none is made without any error, which its run throws", arguments: Engine.allCases)
    func invalidIDs(_ engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            for id in ["", "a\nb", String(repeating: "x", count: 10_000)] {
                let song = Song(id: id, title: "")
                let (add, save, delete) = (
                    songs.deferred.add(song), songs.deferred.save(song), songs.deferred.delete(id: id)
                )
                let (fetch, patch) = (songs.deferred.fetch(id: id), songs.deferred.patch(id: id, ["plays": 1]))
                await expectError(.invalidID) { _ = try await add.performAsync() }
                await expectError(.invalidID) { _ = try await save.performAsync() }
                await expectError(.invalidID) { try await delete.performAsync() }
                await expectError(.invalidID) { _ = try await fetch.performAsync() }
                await expectError(.invalidID) { _ = try await patch.performAsync() }
                expectRefusal(.invalidID) { _ = try add.perform() }
            }
            try await #expect(songs.count() == 0)
        }
    }

    @Test("is made without any error, and fails when it is run, in both ways", arguments: Engine.allCases)
    func lateErrors(_ engine: Engine) async throws {
        try await withSongs(engine) { _, songs in
            let song = Song(id: "s1", title: "Gloria")
            let (add, update, delete) = (
                songs.deferred.add(song), songs.deferred.update(song), songs.deferred.delete(id: "s1")
            )
            for run in [{ _ = try update.perform() }, { try delete.perform() }] {
                expectRefusal(.notFound) { try run() }
            }
            await expectError(.notFound) { try await update.performAsync() }
            await expectError(.notFound) { try await delete.performAsync() }
            try await #expect(songs.count() == 0)
            #expect(try add.perform() == song)
            expectRefusal(.exists) { try add.perform() }
            await expectError(.exists) { try await add.performAsync() }
            try update.perform()
            try await delete.performAsync()
            try await #expect(songs.count() == 0)
        }
    }

    @Test("does what the call of its name does, blocking and not", arguments: [false, true])
    func everyCall(isBlocking: Bool) async throws {
        try await withSongs(.memory) { _, songs in
            let calls = songs.deferred
            nonisolated(nonsending) func run<Value>(_ operation: Holdfast.Operation<Value>) async throws -> Value {
                if isBlocking { return try await onThread { try operation.perform() } }
                return try await operation.performAsync()
            }
            let all = (1...4).map { Song(id: "s\($0)", title: "Title", plays: $0) }
            try await #expect(run(calls.addMany(Array(all[..<2]))) == Array(all[..<2]))
            try await #expect(run(calls.saveMany(Array(all[2...]))).count == 2)
            try await #expect(run(calls.updateMany([all[0]])) == [all[0]])
            try await #expect(run(calls.save(all[0])) == all[0])
            try await #expect(run(calls.patch(id: "s1", ["plays": 5])).plays == 5)
            try await #expect(
                run(calls.patchMany([("s1", ["plays": 6]), ("s2", ["plays": 7])])).map(\.plays) == [6, 7])
            try await #expect(run(calls.modify(id: "s1", .increment(\.plays, by: 1))).plays == 7)
            let counts = try await run(calls.modifyAll(\.plays == 7, .set(\.title, "Seven")))
            #expect(counts == (matched: 2, modified: 2))
            try await #expect(run(calls.fetch(id: "s1"))?.title == "Seven")
            try await #expect(run(calls.fetch(id: "none")) == nil)
            try await #expect(run(calls.fetchVersioned(id: "s1"))?.version ?? 0 > 0)
            try await #expect(run(calls.fetchMany(ids: ["s2", "none", "s1"])).map(\.id) == ["s2", "s1"])
            try await #expect(run(calls.fetchAll()).count == 4)
            try await #expect(run(calls.contains(id: "s4")))
            try await #expect(run(calls.find(\.title == "Seven", limit: 1)).map(\.id) == ["s1"])
            try await #expect(run(calls.first(sort: [.descending(\.plays)]))?.plays == 7)
            try await #expect(run(calls.count(\.plays > 3)) == 3)
            try await #expect(run(calls.exists(\.plays > 9)) == false)
            try await #expect(run(calls.distinct("title", as: String.self)).sorted() == ["Seven", "Title"])
            try await run(calls.delete(id: "none", missingOK: true))
            try await run(calls.deleteMany(ids: ["s1"]))
            try await #expect(run(calls.deleteAll(\.plays > 3)) == 2)
            try await #expect(songs.fetchAll().map(\.id) == ["s3"])
        }
    }

    @Test("joins the transaction that it is run in, and runs alone outside of it")
    func joining() async throws {
        try await withSongs(.memory) { store, songs in
            let add = songs.deferred.add(Song(id: "s1", title: "Gloria"))
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try await add.performAsync()
                    throw Refusal()
                }
            }
            try await #expect(songs.count() == 0)
            try await add.performAsync()
            try await #expect(songs.count() == 1)
        }
    }

    @Test("fails cleanly when its store is closed")
    func closedStore() async throws {
        let store = try await Store.open("memory:")
        let songs = store.repository(of: Song.self)
        let add = songs.deferred.add(Song(id: "s1", title: "Gloria"))
        try await store.close()
        expectRefusal(.closed) { try add.perform() }
        await expectError(.closed) { try await add.performAsync() }
    }
}
