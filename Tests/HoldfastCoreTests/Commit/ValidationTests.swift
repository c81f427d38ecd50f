import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment

@Suite("Validating what a transaction has read")
struct ValidationTests {
    /// So many transactions, each of which relies on what `look` reads, go into one batch after so many changes of
    /// others; what was asked of the storage to validate them.
    private func counts(
        _ transactions: Int, after others: Int, _ limits: Limits,
        _ look: (Bench, Int, Transaction) throws -> Void
    ) throws -> [HookedStorage.Call: Int] {
        let bench = try Bench(limits)
        for number in 0..<transactions { try bench.save("{\"id\":\"k\(number)\",\"n\":\(number)}") }
        let begun = try (0..<transactions).map { number in
            let transaction = try bench.store.begin()
            try look(bench, number, transaction)
            return transaction
        }
        try bench.changeOthers(others)
        let outcomes = try begun.enumerated().map { number, transaction in
            try bench.save("{\"id\":\"new\(number)\"}", in: transaction)
            return try bench.submit(transaction)
        }
        _ = bench.storage.takeCounts()
        #expect(bench.store.queue.leadOnce())
        #expect(outcomes.allSatisfy { $0.isKnown && $0.status == nil })
        return bench.storage.takeCounts()
    }

    @Test func `of keys nothing is asked but what was read, once, however much has changed`() throws {
        for limit in [10, 1_000_000] {
            var limits = Limits()
            limits.recentChanges = limit
            for others in [50, 400] {
                let found = try counts(30, after: others, limits) { bench, number, transaction in
                    try bench.read("k\(number)", in: transaction)
                }
                #expect(found[.commitLog] == nil)
                // What is remembered tells without the storage.
                #expect(found[.fetch] ?? 0 == (limit == 10 ? 30 : 0))
            }
        }
    }

    @Test(arguments: [10, 1_000_000])
    func `of queries the changes are read once for all of a batch`(limit: Int) throws {
        var limits = Limits()
        limits.recentChanges = limit
        limits.checkPage = 100
        let look: (Bench, Int, Transaction) throws -> Void = { bench, number, transaction in
            try bench.find("{\"n\":\(number)}", in: transaction)
        }
        let few = try counts(3, after: 350, limits, look)
        let many = try counts(60, after: 350, limits, look)
        #expect(few == many)
        #expect(few[.fetch] == 350)
        #expect(few[.commitLog] == (limit == 10 ? 4 : nil))
    }

    @Test func `who began later is not refused because somebody else is too old`() throws {
        var limits = Limits()
        limits.recentChanges = 1
        limits.checkedChanges = 20
        let bench = try Bench(limits)
        let others = try bench.store.repository("others")
        try bench.save("{\"id\":\"k\",\"n\":1}")
        let old = try bench.store.begin()
        try bench.find("{\"n\":7}", in: old)
        try bench.changeOthers(25)
        let young = try bench.store.begin()
        try bench.find("{\"n\":7}", in: young)
        try bench.changeOthers(3)
        // Of these nobody asks.
        try bench.changeOthers(100, in: others)
        var outcomes: [Outcome] = []
        for (number, transaction) in [old, young].enumerated() {
            try bench.save("{\"id\":\"new\(number)\"}", in: transaction)
            outcomes.append(try bench.submit(transaction))
        }
        #expect(bench.store.queue.leadOnce())
        #expect(outcomes.map(\.status) == [.conflict, nil])
    }

    @Test func `earlier members of a batch count as committed, also where nothing is remembered`() throws {
        for limit in [1, 1_000_000] {
            var limits = Limits()
            limits.recentChanges = limit
            let bench = try Bench(limits)
            try bench.save("{\"id\":\"k\",\"n\":1}")
            var outcomes: [Outcome] = []
            let begun = try (0..<4).map { number in
                let transaction = try bench.store.begin()
                if number < 2 {
                    try bench.read("k", in: transaction)
                } else {
                    try bench.find("{\"n\":2}", in: transaction)
                }
                return transaction
            }
            try bench.changeOthers(5)
            for (number, transaction) in begun.enumerated() {
                try bench.save(number < 2 ? "{\"id\":\"k\",\"n\":2}" : "{\"id\":\"new\(number)\"}", in: transaction)
                outcomes.append(try bench.submit(transaction))
            }
            #expect(bench.store.queue.leadOnce())
            #expect(outcomes.map(\.status) == [nil, .conflict, .conflict, .conflict])
        }
    }

    @Test func `a batch ends when it has taken its time, and the others are carried by the next`() throws {
        var limits = Limits()
        limits.batchTime = 1
        let bench = try Bench(limits)
        let outcomes = try (0..<5).map { number in
            let transaction = try bench.store.begin()
            try bench.save("{\"id\":\"k\(number)\"}", in: transaction)
            return try bench.submit(transaction)
        }
        for number in 1...5 {
            #expect(bench.store.queue.leadOnce())
            #expect(outcomes.map(\.isKnown) == (0..<5).map { $0 < number })
        }
        #expect(!bench.store.queue.leadOnce())
        #expect(outcomes.allSatisfy { $0.status == nil })
    }

    @Test func `who was given back can be withdrawn`() throws {
        var limits = Limits()
        limits.batchTime = 1
        let bench = try Bench(limits)
        let begun = try (0..<3).map { number in
            let transaction = try bench.store.begin()
            try bench.save("{\"id\":\"k\(number)\"}", in: transaction)
            return transaction
        }
        let outcomes = try begun.map(bench.submit)
        #expect(bench.store.queue.leadOnce())
        try begun[1].cancel()
        #expect(bench.store.queue.leadOnce())
        #expect(outcomes.map(\.status) == [nil, .cancelled, nil])
        #expect(outcomes.map(\.isKnown) == [true, true, true])
    }
}
