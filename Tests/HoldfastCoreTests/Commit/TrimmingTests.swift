import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment

@Suite("What trimming leaves")
struct TrimmingTests {
    /// A store that trims with each batch.
    private func bench(_ options: StoreOptions) throws -> Bench {
        var limits = Limits()
        limits.trimInterval = 1
        return try Bench(limits, options)
    }

    @Test func `the commit log keeps as many commits as it is asked to, and hardly more`() throws {
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
        // From here on it is known for its time again.
        for _ in 1...9 {
            bench.time.pass(milliseconds: 100)
            try bench.changeOthers(3)
            #expect(try isReplayed())
        }
    }

    @Test func `an idempotency key whose time is over is a new one, also where nothing was trimmed yet`() throws {
        var options = StoreOptions()
        options.idempotencyMaxAgeMilliseconds = 1000
        let bench = try Bench(Limits(), options)
        var transaction = TransactionOptions()
        transaction.idempotencyKey = Array("once".utf8)
        var runs = 0
        func run() throws {
            _ = try bench.store.transact(transaction) { transaction throws(HoldfastError) in
                runs += 1
                _ = try Array("{\"id\":\"k\"}".utf8).withBytes { bytes throws(HoldfastError) in
                    try bench.things.perform(WriteCall(.save, nil, bytes), in: transaction)
                }
            }
        }
        try run()
        bench.time.pass(milliseconds: 900)
        try run()
        #expect(runs == 1)
        bench.time.pass(milliseconds: 200)
        try run()
        #expect(runs == 2)
    }
}
