import Foundation
import Synchronization
import Testing

@testable import Holdfast

@Suite("An object tree in a transaction of steps")
struct TransactionStepTreeTests {
    let tree = Tree()

    @Test("changes together with what is stored", arguments: Engine.allCases)
    func together(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            let transaction = try store.begin()
            try await transaction.enlist(tree.root)
            try await transaction.enlist(tree.leaf)
            #expect(tree.log.take() == Tree.begin() && tree.leaf.transactionIsActive)
            tree.left.value = 5
            try await transaction.joined {
                try tree.right.transaction { tree.right.value = 6 }
                try await accounts.save(Account(id: 1, balance: 5))
            }
            await expectError(.invalidState) { try tree.root.commitTransaction() }
            expectRefusal(.transactionActive) { try tree.root.transaction {} }
            let other = try store.begin()
            await expectError(.transactionActive) { try await other.enlist(tree.root) }
            try await transaction.commit()
            #expect(tree.log.take() == Tree.validate() + Tree.commit())
            #expect(tree.left.value == 5 && tree.right.value == 6 && !tree.root.transactionIsActive)
            try await #expect(accounts.fetchAll() == [Account(id: 1, balance: 5)])
            await expectError(.invalidState) { try await transaction.enlist(tree.root) }
            #expect(!tree.root.transactionIsActive)
        }
    }

    @Test("goes back when the transaction is rolled back, or nobody refers to it any more", arguments: [false, true])
    func rolledBack(isDropped: Bool) async throws {
        try await withStore(.memory) { store in
            do {
                let transaction = try store.begin()
                try await transaction.enlist(tree.root)
                tree.left.value = 5
                if !isDropped {
                    try await transaction.rollback()
                    #expect(tree.log.take().suffix(4) == Tree.rollback()[...])
                }
            }
            if isDropped { #expect(tree.log.take().suffix(4) == Tree.rollback()[...]) }
            #expect(tree.left.value == 0 && !tree.root.transactionIsActive)
            #expect(try store.describe().transactions == 0)
        }
    }

    @Test("that refuses leaves the transaction open, to be repaired", arguments: Engine.allCases)
    func refusing(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            tree.leaf.atValidation = {
                if try accounts.blocking.count() != tree.left.value { throw Refusal() }
            }
            let transaction = try store.begin()
            try await transaction.enlist(tree.root)
            tree.left.value = 1
            await #expect(throws: Refusal()) { try await transaction.validate() }
            await #expect(throws: Refusal()) { try await transaction.commit() }
            #expect(tree.left.value == 1 && tree.root.transactionIsActive)
            try await transaction.joined { try await accounts.save(Account(id: 1, balance: 1)) }
            try await transaction.validate()
            try await transaction.commit()
            #expect(tree.log.take().suffix(4) == Tree.commit()[...])
        }
    }

    @Test("goes back when the store refuses", arguments: Engine.allCases)
    func refusedByStore(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            try await accounts.save(Account(id: 1, balance: 0))
            let transaction = try store.begin()
            try await transaction.enlist(tree.root)
            tree.left.value = try await transaction.joined { try await accounts.fetch(id: 1)!.balance } + 1
            try await transaction.joined { try await accounts.save(Account(id: 1, balance: 1)) }
            try await accounts.save(Account(id: 1, balance: 100))
            await expectError(.conflict) { try await transaction.commit() }
            #expect(tree.left.value == 0 && !tree.root.transactionIsActive)
            await #expect(transaction.state == .failed)
            #expect(tree.log.take().suffix(4) == Tree.rollback()[...])
        }
    }

    @Test("goes back when the store was closed")
    func closedStore() async throws {
        let store = try await Store.open("memory:")
        let transaction = try store.begin()
        try await transaction.enlist(tree.root)
        tree.left.value = 1
        try await store.close()
        try await transaction.rollback()
        #expect(tree.left.value == 0 && !tree.root.transactionIsActive)
    }

    @Test("is called in its own task alone, whatever the rest of the transaction is called in")
    func otherTask() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            try await accounts.setValidator { _, _ in }
            let transaction = try store.begin()
            // The first validation leaves nothing behind that would call them where the commit is carried out.
            try await transaction.joined { try await accounts.save(Account(id: 1, balance: 1)) }
            try await transaction.validate()
            try await transaction.enlist(tree.root)
            // Not where the store tells of commits.
            tree.root.atCommit = { _ in #expect(withUnsafeCurrentTask { $0 != nil }) }
            try await inAnotherTask {
                try await transaction.joined { try await accounts.save(Account(id: 2, balance: 2)) }
                _ = try await transaction.joined { try await accounts.count() }
                await expectError(.invalidState) { try await transaction.enlist(Member("other", log: CallLog())) }
                await expectError(.invalidState) { try await transaction.validate() }
                await expectError(.invalidState) { try await transaction.commit() }
                await expectError(.invalidState) { try await transaction.rollback() }
                await expectError(.invalidState) { _ = try await transaction.savepoint() }
                try await onThread {
                    #expect(throws: HoldfastError.self) { try transaction.blocking.commit() }
                    #expect(throws: HoldfastError.self) { try transaction.blocking.rollback() }
                    #expect(throws: HoldfastError.self) { try transaction.blocking.savepoint() }
                }
            }
            #expect(tree.log.take() == Tree.begin())
            try await #expect(transaction.commit().changes.count == 2)
            #expect(tree.log.take() == Tree.validate() + Tree.commit())
        }
    }

    @Test("is told nothing where it does not belong, also when the transaction is let go of there")
    func droppedElsewhere() async throws {
        try await withStore(.memory) { store in
            var transaction: Transaction? = try store.begin()
            try await transaction?.enlist(tree.root)
            tree.left.value = 5
            let alone = AsyncStream<Void>.makeStream()
            let holder = Task.detached { [transaction] in
                for await _ in alone.stream { break }
                withExtendedLifetime(transaction) {}
            }
            transaction = nil
            alone.continuation.yield()
            await holder.value
            try await until("it was rolled back") { (try? store.describe().transactions) == 0 }
            #expect(tree.log.take() == Tree.begin() && tree.left.value == 5)
            await expectError(.busy) { try tree.root.beginTransaction() }
        }
    }

    @Test("goes back to a savepoint together with what was written since")
    func savepoints() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            let transaction = try store.begin()
            let root = SavepointMember("root", log: CallLog())
            try await transaction.enlist(root)
            root.value = 1
            let savepoint = try await transaction.savepoint()
            root.value = 2
            try await transaction.joined { try await accounts.save(Account(id: 2, balance: 2)) }
            try await transaction.rollback(to: savepoint)
            #expect(root.value == 1)
            try await transaction.enlist(tree.root)
            await expectError(.unsupported) { _ = try await transaction.savepoint() }
            try await transaction.commit()
            #expect(root.value == 1)
            try await #expect(accounts.count() == 0)
        }
    }

    @Test("of an actor is ended by any of the actor's tasks, and told there when it is dropped elsewhere")
    @MainActor
    func actors() async throws {
        try await withStore(.memory) { store in
            let slider = Slider()
            do {
                let transaction = try store.begin()
                try await Task { try await transaction.enlist(slider) }.value
                slider.position = 0.9
                _ = try await Task { try await transaction.commit() }.value
                #expect(slider.position == 0.9 && slider.calls == ["begin", "commit"])
            }
            var transaction: Transaction? = try store.begin()
            try await transaction?.enlist(slider)
            slider.position = 0.1
            let holder = Task.detached { [transaction] in
                try await Task.sleep(for: .milliseconds(20))
                withExtendedLifetime(transaction) {}
            }
            transaction = nil
            try await holder.value
            try await until("it was told") { slider.calls.last == "rollback" }
            #expect(slider.position == 0.9 && !slider.transactionIsActive)
        }
    }

    @MainActor
    private final class Slider: @MainActor Transactable {
        var position = 0.5
        private var before = 0.5
        private(set) var calls: [String] = []
        private(set) lazy var transactionContext = TransactionContext.createRoot(owner: self)

        func onBegin(transaction: TransactionDescriptor) {
            before = position
            note("begin")
        }
        func onValidateCommit() throws {}
        func onCommit(transaction: TransactionDescriptor) { note("commit") }
        func onRollback(transaction: TransactionDescriptor) {
            position = before
            note("rollback")
        }
        private func note(_ call: String) {
            MainActor.assertIsolated()
            calls.append(call)
        }
    }
}

@Suite("An object tree in a blocking transaction")
struct BlockingTreeTests {
    @Test("changes together with what is stored", arguments: Engine.allCases)
    func closures(_ engine: Engine) async throws {
        try await withStore(engine) { store in
            let accounts = store.repository(of: Account.self).blocking
            try await onThread {
                let store = store.blocking
                let tree = Tree()
                tree.leaf.atValidation = {
                    try tree.left.transaction {}
                    if try accounts.count() != tree.left.value { throw Refusal() }
                }
                var runs = 0
                let value = try store.transaction(tree.root) {
                    runs += 1
                    tree.left.value = 1
                    try accounts.save(Account(id: 1, balance: try accounts.fetch(id: 2)?.balance ?? 1))
                    if runs == 1 {
                        let other = Thread { _ = try? accounts.save(Account(id: 2, balance: 2)) }
                        other.start()
                        while try accounts.repository.store.describe().sequence < 2 { usleep(1000) }
                    } else {
                        tree.left.value = 2
                    }
                    return try store.transaction(tree.leaf) { "done" }
                }
                #expect(value == "done" && runs == 2 && tree.left.value == 2 && !tree.root.transactionIsActive)
                let calls = tree.log.take()
                let run = Tree.begin() + Tree.validate()
                #expect(calls == run + Tree.rollback() + run + Tree.commit())

                #expect(throws: Refusal()) { try store.transaction(tree.root) { tree.left.value = 9 } }
                #expect(tree.left.value == 2)
                let root = SavepointMember("root", log: CallLog())
                try store.transaction(root) {
                    root.value = 1
                    #expect(throws: Refusal()) {
                        try store.savepoint {
                            root.value = 2
                            throw Refusal()
                        }
                    }
                }
                #expect(root.value == 1)
            }
        }
    }

    @Test("is told on its thread, and ends there alone", arguments: Engine.allCases)
    func steps(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            let transaction = try store.begin()
            try await onThread {
                let tree = Tree()
                let blocking = transaction.blocking
                try blocking.enlist(tree.root)
                tree.left.value = 1
                try blocking.joined { _ = try accounts.blocking.save(Account(id: 1, balance: 1)) }
                let refusals = Refusals()
                let other = Thread {
                    refusals.note { try blocking.commit() }
                    refusals.note { try blocking.enlist(Member("other", log: CallLog())) }
                }
                other.start()
                while !other.isFinished { usleep(1000) }
                #expect(refusals.statuses == [.invalidState, .invalidState])
                try blocking.commit()
                #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
                let second = try store.blocking.begin()
                try second.enlist(tree.root)
                tree.left.value = 2
                try second.rollback()
                #expect(tree.left.value == 1)
                do {
                    let third = try store.blocking.begin()
                    try third.enlist(tree.root)
                    tree.left.value = 3
                }
                #expect(tree.left.value == 1 && !tree.root.transactionIsActive)
            }
            try await #expect(accounts.count() == 1)
        }
    }

    private final class Refusals: Sendable {
        private let state = Mutex<[Status]>([])
        var statuses: [Status] { state.withLock { $0 } }
        func note(_ body: () throws -> Void) {
            do { try body() } catch {
                if let error = error as? HoldfastError { state.withLock { $0.append(error.status) } }
            }
        }
    }
}
