import Foundation
import Testing

@testable import Holdfast

@Suite("A transaction of steps")
struct TransactionStepTests {
    @Test("stores what its parts did when it commits, and shows nothing before", arguments: Engine.allCases)
    func committing(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let accounts = store.repository(of: Account.self)
            try await songs.save(Song(id: "old", title: "Strange Fruit"))
            let transaction = try store.begin()
            let title = try await transaction.joined {
                try await songs.add(Song(id: "s1", title: "Sinnerman")).title
            }
            #expect(title == "Sinnerman")
            try await transaction.joined {
                try await accounts.addMany([Account(id: 1, balance: 5), Account(id: 2, balance: 6)])
                try await songs.delete(id: "old")
                try await songs.patch(id: "s1", ["plays": 7])
            }
            try await transaction.joined {
                try await #expect(songs.find(\.plays == 7).map(\.id) == ["s1"])
                try await #expect(accounts.count() == 2)
                try await #expect(accounts.modifyAll(\.balance > 5, .increment(\.balance, by: 1)).modified == 1)
            }
            try await #expect(songs.fetchAll().map(\.id) == ["old"])
            try await #expect(accounts.count() == 0)
            await #expect(transaction.state == .open)
            let receipt = try await transaction.commit()
            #expect(receipt.changes.map(\.id) == ["1", "2", "old", "s1"])
            #expect(receipt.attempts == 1 && receipt.isDurable && !receipt.isReplayed)
            await #expect(transaction.state == .committed)
            try await #expect(songs.fetchAll() == [Song(id: "s1", title: "Sinnerman", plays: 7)])
            try await #expect(accounts.fetchAll().map(\.balance) == [5, 7])
        }
    }

    @Test("leaves nothing behind when it is rolled back, again too", arguments: Engine.allCases)
    func rollingBack(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let transaction = try store.begin()
            // What a part throws comes out, and ends nothing.
            await #expect(throws: Refusal()) {
                try await transaction.joined {
                    try await songs.save(Song(id: "s1", title: ""))
                    throw Refusal()
                }
            }
            try await #expect(transaction.joined { try await songs.count() } == 1)
            try await transaction.rollback()
            try await transaction.rollback()
            await #expect(transaction.state == .rolledBack)
            try await #expect(songs.count() == 0)
            #expect(try store.describe().transactions == 0)

            let other = try store.begin()
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await other.rollback()
            }
            try await task.value
            await #expect(other.state == .rolledBack)
        }
    }

    @Test("that changes what another has changed meanwhile is refused, once", arguments: Engine.allCases)
    func conflicts(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.save(Account(id: 1, balance: 10))
            let transactions = [try store.begin(), try store.begin()]
            for (index, transaction) in transactions.enumerated() {
                try await transaction.joined {
                    var account = try await accounts.fetch(id: 1)!
                    account.balance += index + 1
                    try await accounts.save(account)
                }
            }
            try await transactions[1].commit()
            let error = await expectError(.conflict) { try await transactions[0].commit() }
            #expect(error?.isRetryable == true && error?.detail.ids == ["1"])
            await #expect(transactions[0].state == .failed)
            try await #expect(accounts.fetch(id: 1)?.balance == 12)
        }
    }

    @Test("reads one snapshot in all its parts", arguments: Engine.allCases)
    func snapshot(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.saveMany([Account(id: 1, balance: 1), Account(id: 2, balance: 1)])
            let transaction = try store.begin()
            try await #expect(transaction.joined { try await accounts.fetch(id: 1)?.balance } == 1)
            try await accounts.save(Account(id: 2, balance: 100))
            try await #expect(transaction.joined { try await accounts.fetch(id: 2)?.balance } == 1)
            // What only reads conflicts with nobody.
            try await #expect(transaction.commit().sequence == 0)
        }
    }

    @Test("that has ended refuses every call", arguments: Engine.allCases, [true, false])
    func afterTheEnd(_ engine: Engine, isCommitted: Bool) async throws {
        try await withSongs(engine) { store, songs in
            let transaction = try store.begin()
            try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
            if isCommitted { try await transaction.commit() } else { try await transaction.rollback() }
            await expectError(.invalidState) { try await transaction.joined { _ = try await songs.fetch(id: "s1") } }
            await expectError(.invalidState) { try await transaction.joined { _ = try await songs.count() } }
            await expectError(.invalidState) {
                try await transaction.joined { _ = try await songs.add(Song(id: "s2", title: "")) }
            }
            await expectError(.invalidState) { try await transaction.commit() }
            await expectError(.invalidState) { try await transaction.validate() }
            await expectError(.invalidState) { _ = try await transaction.savepoint() }
            await expectError(.invalidState) { try await transaction.rollback(to: 1) }
            await expectError(.invalidState) { try await transaction.enlist(Member("late", log: CallLog())) }
            if isCommitted { await expectError(.invalidState) { try await transaction.rollback() } }
            try await #expect(songs.fetchAll().map(\.id) == (isCommitted ? ["s1"] : []))
        }
    }

    @Test("that nobody refers to any more is rolled back", arguments: Engine.allCases)
    func dropped(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            do {
                let transaction = try store.begin()
                try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
                #expect(try store.describe().transactions == 1)
            }
            // The thread that made its last call may hold on to it for a moment.
            try await until("it was rolled back") { (try? store.describe().transactions) == 0 }
            try await #expect(songs.count() == 0)
        }
    }

    @Test("is rolled back by the store that closes")
    func closing() async throws {
        let store = try await Store.open("memory:")
        let songs = store.repository(of: Song.self)
        let transaction = try store.begin()
        try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
        try await store.close()
        await expectError(.closed) { try await transaction.commit() }
        await expectError(.closed) { try await transaction.validate() }
        await expectError(.closed) { _ = try await transaction.savepoint() }
        await #expect(transaction.state == .rolledBack)
        try await transaction.rollback()
        await expectError(.closed) { _ = try store.begin() }
    }

    @Test("goes back to its savepoints", arguments: Engine.allCases)
    func savepoints(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let transaction = try store.begin()
            try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
            let first = try await transaction.savepoint()
            try await transaction.joined { try await songs.save(Song(id: "s2", title: "")) }
            let second = try await transaction.savepoint()
            try await transaction.joined {
                try await songs.delete(id: "s1")
                try? await store.savepoint {
                    try await songs.save(Song(id: "s3", title: ""))
                    throw Refusal()
                }
                try await #expect(songs.fetchAll().map(\.id) == ["s2"])
            }
            for _ in 0..<2 {
                try await transaction.rollback(to: first)
                try await #expect(transaction.joined { try await songs.fetchAll().map(\.id) } == ["s1"])
            }
            await expectError(.invalidArgument) { try await transaction.rollback(to: second) }
            try await transaction.commit()
            try await #expect(songs.fetchAll().map(\.id) == ["s1"])
        }
    }

    @Test("takes the calls of many tasks", arguments: Engine.allCases)
    func manyTasks(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let transaction = try store.begin()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        try await transaction.joined {
                            try await songs.add(Song(id: "s\(number)", title: ""))
                            _ = try await songs.find(\.plays == 1)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await #expect(transaction.commit().changes.count == 100)
        }
    }

    @Test("is committed by one of many tasks", arguments: Engine.allCases)
    func manyCommits(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            for _ in 0..<20 {
                let transaction = try store.begin()
                try await transaction.joined { try await songs.modify(id: "s", .increment(\.plays, by: 1), initial: s) }
                let commits = await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            do {
                                try await transaction.commit()
                                return true
                            } catch {
                                #expect((error as? HoldfastError)?.status == .invalidState)
                                return false
                            }
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(commits == 1)
            }
            try await #expect(songs.fetch(id: "s")?.plays == 20)
        }
    }

    private let s = Song(id: "s", title: "")

    @Test("gone through again after each conflict, loses nothing that tasks add up", arguments: Engine.allCases)
    func counting(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.save(Account(id: 1, balance: 0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var count = 0
                        while count < 50 {
                            let transaction = try store.begin()
                            let balance = try await transaction.joined { try await accounts.fetch(id: 1)!.balance }
                            try await transaction.joined {
                                _ = try await accounts.save(Account(id: 1, balance: balance + 1))
                            }
                            do {
                                try await transaction.commit()
                                count += 1
                            } catch let error as HoldfastError where error.status == .conflict {}
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await #expect(accounts.fetch(id: 1)?.balance == 200)
        }
    }

    @Test("with an idempotency key is stored once", arguments: Engine.allCases)
    func idempotency(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            func pay(_ balance: Int) async throws -> Receipt {
                let transaction = try store.begin(idempotencyKey: "payment 17")
                try await transaction.joined { try await accounts.save(Account(id: 1, balance: balance)) }
                return try await transaction.commit()
            }
            let first = try await pay(10)
            try await accounts.save(Account(id: 1, balance: 11))
            let second = try await pay(10)
            #expect(!first.isReplayed && second.isReplayed && second.sequence == first.sequence)
            await expectError(.keyReused) { _ = try await pay(20) }
            try await #expect(accounts.fetch(id: 1)?.balance == 11)
        }
    }

    @Test("refuses options that are none of its own")
    func options() async throws {
        try await withStore(.memory) { store in
            for options in [TransactionOptions(maxAttempts: 3), TransactionOptions(timeout: .seconds(-1))] {
                await expectError(.invalidOption) { _ = try store.begin(options) }
            }
            await expectError(.invalidOption) { _ = try store.begin(idempotencyKey: "") }
            let transaction = try store.begin(TransactionOptions(name: "form"))
            _ = try await transaction.joined { try await store.repository(of: Song.self).count() }
            #expect(try store.describe().openSnapshots.contains { $0.names == ["form"] })
        }
    }

    @Test("is joined by transactions of closures inside it, and joins none around it", arguments: Engine.allCases)
    func nesting(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let transaction = try store.begin()
            try await transaction.joined {
                try await store.transaction { try await songs.save(Song(id: "s1", title: "")) }
                await expectError(.invalidState) { _ = try await store.transactionWithReceipt {} }
            }
            try await #expect(songs.count() == 0)
            await #expect(throws: Refusal()) {
                try await store.transaction {
                    try await songs.save(Song(id: "s2", title: ""))
                    try await transaction.commit()
                    throw Refusal()
                }
            }
            try await #expect(songs.fetchAll().map(\.id) == ["s1"])
        }
    }

    @Test("that a validator refuses stays open, to be repaired", arguments: Engine.allCases)
    func validators(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            try await songs.setValidator { _, song in
                if song?.title.isEmpty == true { throw Refusal() }
                if song?.id == "s1" { try songs.blocking.save(Song(id: "noted", title: "by the validator")) }
            }
            let transaction = try store.begin()
            try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
            await #expect(throws: Refusal()) { try await transaction.validate() }
            await #expect(throws: Refusal()) { try await transaction.commit() }
            await #expect(transaction.state == .open)
            try await transaction.joined { try await songs.save(Song(id: "s1", title: "Sinnerman")) }
            try await transaction.validate()
            try await transaction.joined { try await songs.save(Song(id: "s2", title: "Lilac Wine")) }
            try await #expect(transaction.commit().changes.map(\.id) == ["noted", "s1", "s2"])
        }
    }
}

@Suite("A blocking transaction of steps")
struct BlockingTransactionTests {
    @Test("answers what its asynchronous sibling does", arguments: Engine.allCases)
    func siblings(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = store.repository(of: Song.self).blocking
            let store = store.blocking
            try await onThread {
                let transaction = try store.begin()
                try transaction.joined { try songs.add(Song(id: "s1", title: "Sinnerman")) }
                let savepoint = try transaction.savepoint()
                try transaction.joined {
                    try store.transaction { try songs.add(Song(id: "s2", title: "")) }
                    #expect(throws: Refusal()) { try store.savepoint { throw Refusal() } }
                }
                try transaction.rollback(to: savepoint)
                try #expect(transaction.joined { try songs.count() } == 1)
                try #expect(songs.count() == 0)
                try transaction.validate()
                try #expect(transaction.state() == .open)
                try #expect(transaction.commit().changes.map(\.id) == ["s1"])
                try #expect(transaction.state() == .committed)
                for call in [
                    { try transaction.rollback() }, { try transaction.commit() }, { try transaction.validate() },
                ]
                    as [() throws -> Void]
                {
                    #expect(throws: HoldfastError.self) { try call() }
                }

                let other = try store.begin(idempotencyKey: "key")
                try other.joined { try songs.delete(id: "s1") }
                try other.rollback()
                try other.rollback()
                try #expect(other.state() == .rolledBack && songs.count() == 1)
            }
        }
    }

    @Test("is refused what another has changed meanwhile", arguments: Engine.allCases)
    func conflicts(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let songs = store.repository(of: Song.self).blocking
            try await onThread {
                try songs.add(Song(id: "s1", title: "Sinnerman"))
                let transaction = try store.blocking.begin()
                try transaction.joined { _ = try songs.update(Song(id: "s1", title: "mine")) }
                try songs.save(Song(id: "s1", title: "theirs"))
                let error = #expect(throws: HoldfastError.self) { try transaction.commit() }
                #expect(error?.status == .conflict)
                try #expect(songs.fetch(id: "s1")?.title == "theirs" && transaction.state() == .failed)
            }
        }
    }

    @Test("is the same as its asynchronous sibling: one may end what the other began", arguments: Engine.allCases)
    func bothFaces(_ engine: Engine) async throws {
        try await withSongs(engine) { store, songs in
            let transaction = try store.begin()
            try await transaction.joined { try await songs.save(Song(id: "s1", title: "")) }
            try await onThread {
                try transaction.blocking.joined { _ = try songs.blocking.save(Song(id: "s2", title: "")) }
                try transaction.blocking.commit()
            }
            try await #expect(songs.count() == 2)
            await expectError(.invalidState) { try await transaction.commit() }
        }
    }
}
