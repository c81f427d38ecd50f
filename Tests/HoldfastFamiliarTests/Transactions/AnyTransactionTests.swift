import Foundation
import HoldfastFamiliar
import Synchronization
import Testing

@Suite("A transaction as a value")
struct AnyTransactionTests {
    @Test("does nothing when it is made, and runs anew each time")
    func lazy() async throws {
        let runs = Mutex(0)
        let transaction = AnyTransaction {
            runs.withLock {
                $0 += 1
                return $0
            }
        }
        #expect(runs.withLock { $0 } == 0)
        #expect(try transaction.perform() == 1)
        let second = try await transaction.performAsync()
        #expect(second == 2)
        #expect(try AnyTransaction(transaction).perform() == 3)
    }

    @Test("is performed on the caller's thread, and asynchronously on none of Swift's pool")
    func threads() async throws {
        let transaction = AnyTransaction { (pthread_self(), withUnsafeCurrentTask { $0 != nil }) }
        let performed = try transaction.perform()
        #expect(pthread_equal(performed.0, pthread_self()) != 0)
        let isInTask = try await transaction.performAsync().1
        #expect(!isInTask)
    }

    @Test("throws its function's error unchanged, in both ways")
    func errors() async throws {
        let transaction = AnyTransaction<Int> { throw Refusal() }
        #expect(throws: Refusal()) { try transaction.perform() }
        await #expect(throws: Refusal()) { try await transaction.performAsync() }
    }

    @Test("keeps a function for each way of running it")
    func twoFunctions() async throws {
        let transaction = AnyTransaction(transactionClosure: { "here" }, asyncTransactionClosure: { "elsewhere" })
        #expect(try transaction.perform() == "here")
        let result = try await transaction.performAsync()
        #expect(result == "elsewhere")
    }

    @Test("is prevented by a cancellation before it begins, and once begun tells its outcome")
    func cancellation() async throws {
        let hasRun = Mutex(false)
        let transaction = AnyTransaction { hasRun.withLock { $0 = true } }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await transaction.performAsync()
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(!hasRun.withLock { $0 })

        let (begun, begin) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let slow = AnyTransaction {
            begin.yield()
            gate.wait()
            return 7
        }
        let task = Task { try await slow.performAsync() }
        for await _ in begun { break }
        task.cancel()
        gate.signal()
        let value = try await task.value
        #expect(value == 7)
    }

    @Test("leaves the library's own threads free, however many functions wait for them")
    func manyWaiting() async throws {
        let store = try await Store.open("memory:")
        let songs = store.repository(of: Song.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await AnyTransaction {
                        let stored = DispatchSemaphore(value: 0)
                        Task {
                            try await songs.save(Song(id: "\(number)", title: "Gloria"))
                            stored.signal()
                        }
                        stored.wait()
                    }.performAsync()
                }
            }
            try await group.waitForAll()
        }
        let count = try await songs.count()
        #expect(count == 40)
        try await store.close()
    }

    @Test("runs twice when two tasks perform it at once, and outlives those who let go of it")
    func twoRuns() async throws {
        let runs = Mutex(0)
        var transaction: AnyTransaction<Void>? = AnyTransaction { runs.withLock { $0 += 1 } }
        let tasks = (0..<2).map { [transaction] _ in Task { try await transaction!.performAsync() } }
        transaction = nil
        for task in tasks { try await task.value }
        #expect(runs.withLock { $0 } == 2)
    }
}
