import Holdfast
import Synchronization
import Testing

@Suite("A transaction")
struct TransactionTests {
    @Test("stores everything that its body did, and answers its value", arguments: Engine.allCases)
    func committing(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let accounts = store.repository(of: Account.self)
            let value = try await store.transaction {
                try await songs.add(Song(id: "s1", title: "Sinnerman"))
                try await accounts.add(Account(id: 1, balance: 5))
                return try await songs.fetch(id: "s1")?.title
            }
            #expect(value == "Sinnerman")
            try await #expect(songs.count() == 1)
            try await #expect(accounts.count() == 1)
        }
    }

    @Test("shows nothing outside before it commits", arguments: Engine.allCases)
    func isolation(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.open()
            try await store.transaction {
                try await songs.save(Song(id: "s1", title: "Sinnerman"))
                try await #expect(songs.count() == 1)
                // A detached task does not inherit the transaction.
                try await #expect(Task.detached { try await songs.count() }.value == 0)
            }
            try await #expect(songs.count() == 1)
        }
    }

    @Test("that throws leaves nothing behind, and its own error comes out", arguments: Engine.allCases)
    func rollingBack(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "s1", title: "Sinnerman"))
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try await songs.delete(id: "s1")
                    try await songs.save(Song(id: "s2", title: "Feeling Good"))
                    throw Refusal()
                }
            }
            await expectError(.exists) {
                try await store.transaction {
                    try await songs.save(Song(id: "s2", title: "Feeling Good"))
                    try await songs.add(Song(id: "s1", title: "again"))
                }
            }
            try await #expect(songs.fetchAll() == [Song(id: "s1", title: "Sinnerman")])
            #expect(try store.describe().transactions == 0)
        }
    }

    @Test("goes on after a call that was refused", arguments: Engine.allCases)
    func goingOn(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await store.transaction {
                try await songs.save(Song(id: "s1", title: "Sinnerman"))
                await expectError(.exists) { try await songs.add(Song(id: "s1", title: "again")) }
                await expectError(.notFound) { try await songs.delete(id: "s2") }
                await expectError(.exists) {
                    try await songs.addMany([Song(id: "s3", title: ""), Song(id: "s1", title: "")])
                }
            }
            try await #expect(songs.fetchAll().map(\.id) == ["s1"])
        }
    }

    @Test("inside another joins it, and goes back alone when it throws", arguments: Engine.allCases)
    func nesting(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let receipt = try await store.transactionWithReceipt {
                try await store.transaction { try await songs.save(Song(id: "s1", title: "kept")) }
                await #expect(throws: Refusal()) {
                    try await store.transaction {
                        try await songs.save(Song(id: "s1", title: "gone"))
                        try await store.transaction { try await songs.save(Song(id: "s2", title: "gone too")) }
                        throw Refusal()
                    }
                }
                try await #expect(songs.fetch(id: "s1")?.title == "kept")
                try await #expect(!songs.contains(id: "s2"))
            }.receipt
            #expect(receipt.changes.map(\.id) == ["s1"])
            try await #expect(songs.fetchAll().map(\.title) == ["kept"])
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try await store.transaction { try await songs.save(Song(id: "s3", title: "gone")) }
                    throw Refusal()
                }
            }
            try await #expect(songs.count() == 1)
        }
    }

    @Test("counts what a part has read that went back", arguments: Engine.allCases)
    func readsOfAPart(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "s1", title: ""))
            let transaction = try store.begin()
            try await transaction.joined {
                await #expect(throws: Refusal()) {
                    try await store.transaction {
                        _ = try await songs.fetch(id: "s1")
                        throw Refusal()
                    }
                }
                try await songs.save(Song(id: "s2", title: ""))
            }
            try await songs.save(Song(id: "s1", title: "changed"))
            await expectError(.conflict) { try await transaction.commit() }
        }
    }

    @Test("of tasks beside each other stores nothing half: all is stored, or nothing", arguments: Engine.allCases)
    func partsBesideEachOther(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            func both(_ name: String, fails: Bool) async throws {
                try await store.transaction {
                    try await songs.save(Song(id: "\(name) 1", title: ""))
                    try await songs.save(Song(id: "\(name) 2", title: ""))
                    // So that the other one is under way meanwhile.
                    while try await songs.count() < 4 { await Task.yield() }
                    if fails { throw Refusal() }
                }
            }
            try await store.transaction {
                async let one: Void = both("a", fails: false)
                async let other: Void = both("b", fails: false)
                _ = try await (one, other)
            }
            try await #expect(songs.count() == 4)
            try await songs.deleteAll()
            await expectError(.invalidState) {
                try await store.transaction {
                    async let one: Void = both("a", fails: false)
                    async let other: Void = both("b", fails: true)
                    _ = try? await other
                    _ = try? await one
                }
            }
            try await #expect(songs.count() == 0)
        }
    }

    @Test(
        "that aborts on errors throws the first failed write's, whatever the body has caught",
        arguments: Engine.allCases)
    func abort(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "s1", title: ""))
            let options = TransactionOptions(onError: .abort)
            await expectError(.exists) {
                try await store.transaction(options) {
                    try await songs.save(Song(id: "s2", title: ""))
                    try await songs.delete(id: "s9", missingOK: true)
                    // A part that throws goes back, and its failure with it.
                    await expectError(.notFound) { try await store.transaction { try await songs.delete(id: "s9") } }
                    await expectError(.notFound) { try await store.savepoint { try await songs.delete(id: "s9") } }
                    await expectError(.exists) { try await songs.add(Song(id: "s1", title: "")) }
                    await expectError(.exists) { _ = try await songs.fetch(id: "s1") }
                    await expectError(.exists) { try await songs.save(Song(id: "s3", title: "")) }
                }
            }
            await expectError(.notFound) {
                try await store.transaction(options) {
                    try await songs.save(Song(id: "s2", title: ""))
                    await expectError(.notFound) {
                        _ = try await store.transaction { try? await songs.delete(id: "s9") }
                    }
                    _ = try? await songs.modify(id: "s9", ["$inc": ["plays": 1]])
                }
            }
            try await onThread { [options] in
                let blocking = songs.blocking
                #expect(throws: HoldfastError.self) {
                    try store.blocking.transaction(options) {
                        try blocking.save(Song(id: "s2", title: ""))
                        _ = try? blocking.add(Song(id: "s1", title: ""))
                    }
                }
            }
            try await #expect(songs.fetchAll().map(\.id) == ["s1"])
            try await store.transaction { _ = try? await songs.add(Song(id: "s1", title: "")) }
        }
    }

    @Test(
        "that has ended refuses single calls of a task begun in it, and lets it have transactions",
        arguments: Engine.allCases)
    func taskBehindTheEnd(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let (goOn, end) = AsyncStream<Void>.makeStream()
            let task = try await store.transaction {
                try await songs.save(Song(id: "s1", title: ""))
                return lateTask(of: store, songs, goOn)
            }
            end.finish()
            try await task.value
            try await #expect(songs.fetchAll().map(\.id) == ["s1", "s3", "s4", "s5"])
        }
    }

    @Test("includes the calls of child tasks", arguments: Engine.allCases)
    func childTasks(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<100 {
                            group.addTask { try await songs.save(Song(id: "s\(number)", title: "")) }
                        }
                        try await group.waitForAll()
                    }
                    try await #expect(songs.count() == 100)
                    throw Refusal()
                }
            }
            try await #expect(songs.count() == 0)
        }
    }

    @Test("of one store is none of another's", arguments: Engine.allCases)
    func twoStores(engine: Engine) async throws {
        try await withStore(engine) { one in
            try await withStore(.memory) { other in
                let songs = one.repository(of: Song.self)
                let others = other.repository(of: Song.self)
                await #expect(throws: Refusal()) {
                    try await one.transaction {
                        try await other.transaction {
                            try await others.save(Song(id: "s1", title: "stays"))
                            try await songs.save(Song(id: "s1", title: "goes"))
                        }
                        try await #expect(others.count() == 1)
                        throw Refusal()
                    }
                }
                try await #expect(songs.count() == 0)
                try await #expect(others.count() == 1)
            }
        }
    }

    @Test("refuses the calls of a task that outlived it")
    func outliving() async throws {
        try await withSongs(.memory) { store, songs in
            let gate = AsyncStream<Void>.makeStream()
            let late = try await store.transaction {
                try await songs.save(Song(id: "s1", title: ""))
                return Task {
                    for await _ in gate.stream { break }
                    try await songs.save(Song(id: "s2", title: ""))
                }
            }
            gate.continuation.yield()
            await expectError(.invalidState) { try await late.value }
            try await #expect(songs.count() == 1)
        }
    }

    @Test("gets through in few runs where many change one entity", arguments: Engine.allCases)
    func crowds(engine: Engine) async throws {
        try await withStore(engine, .relaxed) { store in
            let accounts = store.repository(of: Account.self)
            try await accounts.save(Account(id: 1, balance: 0))
            let runs = Runs()
            try await withThrowingTaskGroup { group in
                for _ in 0..<300 {
                    group.addTask {
                        try await store.transaction(.patient) {
                            runs.count.add(1, ordering: .relaxed)
                            var account = try await accounts.fetch(id: 1)!
                            account.balance += 1
                            try await accounts.save(account)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await #expect(accounts.fetch(id: 1)?.balance == 300)
            #expect(runs.count.load(ordering: .relaxed) < 900)
        }
    }

    @Test("runs again after a conflict, and counts its runs", arguments: Engine.allCases)
    func retrying(engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.save(Account(id: 1, balance: 0))
            var runs = 0
            let (balance, receipt) = try await store.transactionWithReceipt {
                runs += 1
                var account = try await accounts.fetch(id: 1)!
                if runs == 1 {
                    _ = try await Task.detached { try await accounts.save(Account(id: 1, balance: 100)) }.value
                }
                account.balance += 1
                try await accounts.save(account)
                return account.balance
            }
            #expect(runs == 2)
            #expect(balance == 101)
            #expect(receipt.attempts == 2)
            try await #expect(accounts.fetch(id: 1)?.balance == 101)
        }
    }

    @Test("gives up after the attempts that it is allowed", arguments: Engine.allCases)
    func givingUp(engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.save(Account(id: 1, balance: 0))
            let options = TransactionOptions(maxAttempts: 3)
            var runs = 0
            let error = await expectError(.conflict) {
                try await store.transaction(options) {
                    runs += 1
                    let balance = try await accounts.fetch(id: 1)!.balance
                    _ = try await Task.detached { try await accounts.save(Account(id: 1, balance: balance + 1)) }.value
                    try await accounts.save(Account(id: 1, balance: -1))
                }
            }
            #expect(runs == 3)
            #expect(error?.isRetryable == true)
            #expect(error?.cause is HoldfastError)
            try await #expect(accounts.fetch(id: 1)?.balance == 3)
        }
    }

    @Test("loses no increment when two tasks count to a thousand each", arguments: Engine.allCases)
    func counting(engine: Engine) async throws {
        try await withStore(engine, .relaxed) { store in
            let accounts = store.repository(of: Account.self)
            try await accounts.save(Account(id: 1, balance: 0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<1000 {
                            try await store.transaction(.patient) {
                                var account = try await accounts.fetch(id: 1)!
                                account.balance += 1
                                try await accounts.save(account)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await #expect(accounts.fetch(id: 1)?.balance == 2000)
        }
    }

    @Test("under snapshot isolation is refused only for what it wrote", arguments: Engine.allCases)
    func snapshotIsolation(engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.saveMany([Account(id: 1, balance: 1), Account(id: 2, balance: 1)])
            for isolation in [Isolation.snapshot, .serializable] {
                let options = TransactionOptions(isolation: isolation)
                var runs = 0
                try await store.transaction(options) {
                    runs += 1
                    let first = try await accounts.fetch(id: 1)!
                    if runs == 1 {
                        _ = try await Task.detached { try await accounts.patch(id: 1, ["balance": 7]) }.value
                    }
                    try await accounts.save(Account(id: 2, balance: first.balance))
                }
                #expect(runs == (isolation == .snapshot ? 1 : 2))
            }
        }
    }

    @Test("answers a receipt of what changed", arguments: Engine.allCases)
    func receipts(engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.save(Song(id: "s0", title: ""))
            let (_, receipt) = try await store.transactionWithReceipt {
                try await songs.save(Song(id: "s1", title: ""))
                try await songs.delete(id: "s0")
            }
            #expect(receipt.changes.map(\.id) == ["s0", "s1"])
            #expect(receipt.changes.map(\.isDeletion) == [true, false])
            #expect(receipt.changes.allSatisfy { $0.repository == "song" && $0.version == receipt.sequence })
            #expect(receipt.attempts == 1 && receipt.isDurable && !receipt.isReplayed)
            #expect(try store.describe().position == receipt.position)
            try await #expect(songs.fetchVersioned(id: "s1")?.version == receipt.sequence)

            let (count, nothing) = try await store.transactionWithReceipt { try await songs.count() }
            #expect(count == 1)
            #expect(nothing.sequence == 0 && nothing.changes.isEmpty)
            await expectError(.invalidState) {
                try await store.transaction { _ = try await store.transactionWithReceipt {} }
            }
        }
    }

    @Test("refuses options out of range")
    func options() async throws {
        try await withStore(.memory) { store in
            for options in [TransactionOptions(maxAttempts: 0), TransactionOptions(timeout: .seconds(-1))] {
                await expectError(.invalidOption) { try await store.transaction(options) {} }
            }
        }
    }

    @MainActor
    @Test("may change the state of the actor that it is called on")
    func actors() async throws {
        var titles: [String] = []
        try await withSongs(.memory) { store, songs in
            try await store.transaction {
                MainActor.assertIsolated()
                titles.append(try await songs.save(Song(id: "s1", title: "Sinnerman")).title)
                MainActor.assertIsolated()
            }
        }
        #expect(titles == ["Sinnerman"])
    }
}

/// Of a transaction's body, in many tasks.
private final class Runs: Sendable { let count = Atomic<Int>(0) }

/// A task of the caller's scope, which goes on when the stream ends.
private func lateTask(
    of store: Store, _ songs: Repository<Song>, _ goOn: AsyncStream<Void>
) -> Task<Void, any Error> {
    Task {
        for await _ in goOn {}
        let error = await expectError(.invalidState) { try await songs.save(Song(id: "s2", title: "")) }
        #expect(error?.message.contains("Task.detached") == true)
        await expectError(.invalidState) { _ = try await songs.fetch(id: "s1") }
        let receipt = try await store.transactionWithReceipt {
            try await #expect(songs.count() == 1)
            try await songs.save(Song(id: "s3", title: ""))
        }.receipt
        #expect(receipt.changes.map(\.id) == ["s3"])
        try await store.transaction(idempotencyKey: "once") {
            try await songs.save(Song(id: "s4", title: ""))
        }
        try await store.transaction(Member("root", log: CallLog())) {
            try await songs.save(Song(id: "s5", title: ""))
        }
        await expectError(.invalidState) { try await store.savepoint {} }
    }
}
