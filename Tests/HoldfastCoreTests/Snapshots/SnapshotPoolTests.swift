import Foundation
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

@Suite("Open snapshots")
struct SnapshotPoolTests {
    @Test(arguments: [1, 3]) func `are no more than allowed, however many threads open one at once`(most: Int) throws {
        let storage = HookedStorage()
        var options = StoreOptions()
        options.maxSnapshots = most
        let store = try Store(url: "memory:", storage: storage, options: options)
        let things = try store.repository("things")
        let transactions = try (0..<8).map { _ in try store.begin(TransactionOptions()) }
        _ = storage.takeCounts()
        storage.hold(.beginSnapshot)
        let threads = try transactions.enumerated().map { number, transaction in
            try ThreadWorkers().start(name: "reading") {
                let id = EntityID(unchecked: Array("a\(number)".utf8))
                _ = try? things.fetch(id, in: transaction) { _, _ in }
                return .finished
            }
        }
        while storage.count(of: .beginSnapshot) < threads.count { sched_yield() }
        storage.letGo()
        for thread in threads { _ = thread.waitUntilFinished(deadline: nil) }
        #expect(store.snapshots.openCount == most)
        for transaction in transactions { try transaction.rollback() }
        #expect(try store.close(timeoutMilliseconds: nil))
    }
}
