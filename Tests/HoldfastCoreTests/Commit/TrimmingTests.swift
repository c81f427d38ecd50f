import Testing

@testable import HoldfastCore

@Suite("What trimming leaves")
struct TrimmingTests {
    /// A store that trims with each batch.
    private func bench(_ options: StoreOptions) throws -> Bench {
        var limits = Limits()
        limits.trimInterval = 1
        return try Bench(limits, options)
    }

    @Test func `the log keeps as many commits as it is asked to, and hardly more`() throws {
        var options = StoreOptions()
        options.logRetention = 5
        let bench = try bench(options)
        for count in 1...30 {
            try bench.save("{\"id\":\"k\",\"n\":\(count)}")
            let kept = try bench.store.changes(since: nil, StreamOptions()).commits.count
            #expect((min(count, 5)...6).contains(kept))
        }
    }

    @Test func `an idempotency key is known for its time, however many commits come meanwhile, and no longer`() throws {
        var options = StoreOptions()
        options.idempotencyMaxAgeMilliseconds = 1000
        let bench = try bench(options)
        func isReplayed() throws -> Bool {
            var options = TransactionOptions()
            options.idempotencyKey = Array("once".utf8)
            let transaction = try bench.store.begin(options)
            try bench.save("{\"id\":\"k\"}", in: transaction)
            return try transaction.commit().isReplayed
        }
        #expect(try !isReplayed())
        for _ in 1...9 {
            bench.time.pass(milliseconds: 100)
            try bench.changeOthers(3)
            #expect(try isReplayed())
        }
        bench.time.pass(milliseconds: 200)
        #expect(try !isReplayed())
    }
}
