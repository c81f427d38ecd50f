import Foundation
import HoldfastStorage
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

@Suite("The commits of one batch")
struct BatchTests {
    private let bench: Bench

    init() throws { bench = try Bench(Limits()) }

    private func contains(_ id: String) throws -> Bool {
        try bench.things.fetch(EntityID(unchecked: Array(id.utf8))) { _, _ in }
    }

    @Test func `are all synced where one asks for it, and each receipt says so`() throws {
        let full = try bench.submit("{\"id\":\"a\"}", isDurable: true)
        let relaxed = try bench.submit("{\"id\":\"b\"}", isDurable: false)
        #expect(bench.store.queue.leadOnce())
        #expect([full, relaxed].map { $0.receipt?.isDurable } == [true, true])
        let alone = try bench.submit("{\"id\":\"c\"}", isDurable: false)
        #expect(bench.store.queue.leadOnce())
        #expect(alone.receipt?.isDurable == false)
    }

    @Test func `are tried one by one where together they do not fit, so that only those fail that do not`() throws {
        bench.storage.refuse { batch in batch.changes.contains { $0.key.id.text.hasPrefix("large") } }
        let outcomes = try ["a", "large", "b", "larger", "c"].map { try bench.submit("{\"id\":\"\($0)\"}") }
        #expect(bench.store.queue.leadOnce())
        #expect(outcomes.map(\.isKnown) == [true, true, true, true, true])
        #expect(outcomes.map(\.status) == [nil, .full, nil, .full, nil])
        #expect(try ["a", "large", "b", "larger", "c"].map(contains) == [true, false, true, false, true])
    }

    @Test func `are told what was stored when their COMMIT has failed`() throws {
        bench.storage.failCommit(.stored)
        let stored = try ["a", "b"].map { try bench.submit("{\"id\":\"\($0)\"}") }
        #expect(bench.store.queue.leadOnce())
        #expect(stored.map { $0.receipt?.isDurable } == [true, true])
        bench.storage.failCommit(.lost)
        let lost = try ["c", "d"].map { try bench.submit("{\"id\":\"\($0)\"}") }
        #expect(bench.store.queue.leadOnce())
        #expect(lost.map(\.status) == [.io, .io])
        #expect(try ["a", "b", "c", "d"].map(contains) == [true, true, false, false])
    }

    @Test func `are not refused for what an earlier one of them would have stored, where nothing was stored`() throws {
        try bench.save("{\"id\":\"k\",\"n\":1}")
        bench.storage.failCommit(.lost)
        let outcomes = try (2...3).map { try bench.submit("{\"id\":\"k\",\"n\":\($0)}", afterReading: "k") }
        #expect(bench.store.queue.leadOnce())
        #expect(outcomes.map(\.status) == [.io, .io])
        bench.storage.failCommit(.stored)
        let others = try (2...3).map { try bench.submit("{\"id\":\"k\",\"n\":\($0)}", afterReading: "k") }
        #expect(bench.store.queue.leadOnce())
        #expect(others.map(\.status) == [nil, .conflict])
    }

    @Test func `are told of a loss that comes to light when it is asked what became of them`() throws {
        bench.storage.failCommit(.lost)
        bench.storage.loseMeanwhile()
        let lost = try ["a", "b"].map { try bench.submit("{\"id\":\"\($0)\"}") }
        #expect(bench.store.queue.leadOnce())
        #expect(lost.map(\.status) == [.historyLost, .historyLost])
        try bench.save("{\"id\":\"c\"}")
        #expect(try ["a", "b", "c"].map(contains) == [false, false, true])
    }

    @Test func `are the committer's where a server has them begin anew, and their owner has gone meanwhile`() throws {
        let bench = try Bench(Limits(), isRemote: true)
        let queue = bench.store.queue
        let submitted = try bench.submit("{\"id\":\"a\"}")
        bench.storage.hold(.acquireWriteLock)
        let leader = try ThreadWorkers().start(name: "leader") {
            _ = queue.leadOnce()
            return .finished
        }
        bench.storage.waitUntilHolding()
        let told = Lock<HoldfastError?>(nil)
        let owner = try ThreadWorkers().start(name: "owner") {
            do {
                var options = TransactionOptions()
                options.timeoutMilliseconds = 20
                let transaction = try bench.store.begin(options)
                try bench.save("{\"id\":\"b\"}", in: transaction)
                _ = try transaction.commit()
            } catch { told.withLock { $0 = error as? HoldfastError } }
            return .finished
        }
        while queue.waitingCount < 2 { sched_yield() }
        bench.storage.failCommit(.overtaken)
        bench.storage.letGo(andHold: .commit)
        bench.storage.waitUntilHolding()
        bench.time.pass(milliseconds: 100)
        _ = owner.waitUntilFinished(deadline: nil)
        #expect(told.withLock { $0?.commitState } == .unknown)
        bench.storage.letGo()
        _ = leader.waitUntilFinished(deadline: nil)
        #expect(!submitted.isKnown && queue.awaitsCommitter && queue.violatedInvariant() == nil)
        #expect(queue.leadOnce())
        #expect(submitted.receipt != nil && queue.waitingCount == 0)
        let isThere = try bench.things.fetch(EntityID(unchecked: Array("b".utf8))) { _, _ in }
        #expect(!isThere)
    }

    @Test func `leave their sequences unused when they are lost`() throws {
        let before = try bench.submit("{\"id\":\"a\"}")
        #expect(bench.store.queue.leadOnce())
        bench.storage.failCommit(.lost)
        let lost = try ["b", "c"].map { try bench.submit("{\"id\":\"\($0)\"}") }
        #expect(bench.store.queue.leadOnce())
        #expect(lost.map(\.status) == [.io, .io])
        let after = try bench.submit("{\"id\":\"d\"}")
        #expect(bench.store.queue.leadOnce())
        #expect(try #require(after.receipt).sequence == #require(before.receipt).sequence + 3)
    }

    @Test func `cannot give two entities one key of a unique index`() throws {
        try Self.options.withBytes { try bench.things.createIndex($0) }
        let outcomes = try ["a", "b", "a"].map { try bench.submit("{\"id\":\"\($0)\",\"code\":7}") }
        #expect(bench.store.queue.leadOnce())
        #expect(outcomes.map(\.status) == [nil, .uniqueViolation, nil])
    }

    private static let options = "{\"fields\":{\"code\":1},\"unique\":true}"
}
