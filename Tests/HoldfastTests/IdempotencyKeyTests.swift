import Holdfast
import Testing

@Suite("A transaction with an idempotency key")
struct IdempotencyKeyTests {
    @Test("is stored once", arguments: Engine.allCases)
    func storedOnce(engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.save(Account(id: 1, balance: 0))
            var runs = 0
            var receipts: [Receipt] = []
            for _ in 0..<3 {
                receipts.append(
                    try await store.transaction(idempotencyKey: "payment 17") {
                        runs += 1
                        let balance = try await accounts.fetch(id: 1)!.balance
                        try await accounts.save(Account(id: 1, balance: balance + 10))
                    })
            }
            #expect(runs == 1)
            try await #expect(accounts.fetch(id: 1)?.balance == 10)
            #expect(receipts.map(\.isReplayed) == [false, true, true])
            #expect(Set(receipts.map(\.sequence)).count == 1)
            #expect(receipts[1].changes == receipts[0].changes)
            await expectError(.invalidOption) { try await store.transaction(idempotencyKey: "") {} }
        }
    }

    @Test("gets the receipt of the same one that was faster, whatever it has failed with", arguments: Engine.allCases)
    func twiceAtOnce(engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            var faster: Receipt?
            let slower = try await store.transaction(idempotencyKey: "payment 17") {
                if faster == nil {
                    faster = try await Task.detached {
                        try await store.transaction(idempotencyKey: "payment 17") {
                            try await accounts.save(Account(id: 1, balance: 10))
                        }
                    }.value
                }
                try await accounts.save(Account(id: 1, balance: 20))
            }
            #expect(slower.isReplayed)
            #expect(slower.sequence == faster?.sequence)
            try await #expect(accounts.fetch(id: 1)?.balance == 10)

            // Whatever stopped it, as what the faster one has stored.
            struct Overdrawn: Error {}
            let refused = try await store.transaction(idempotencyKey: "payment 18") {
                if faster?.sequence == slower.sequence {
                    faster = try await Task.detached {
                        try await store.transaction(idempotencyKey: "payment 18") {
                            try await accounts.save(Account(id: 1, balance: 0))
                        }
                    }.value
                }
                throw Overdrawn()
            }
            #expect(refused.isReplayed)
            #expect(refused.sequence == faster?.sequence)
        }
    }
}
