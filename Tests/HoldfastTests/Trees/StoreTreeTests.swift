import Foundation
import Testing

@testable import Holdfast

@Suite("An object tree with a store")
struct StoreTreeTests {
    let tree = Tree()

    @Test("changes together with what is stored", arguments: Engine.allCases)
    func together(_ engine: Engine) async throws {
        try await withAccounts(engine) { store, accounts in
            let value = try await store.transaction(tree.root) {
                tree.left.value = 5
                try await accounts.save(Account(id: 1, balance: 5))
                #expect(tree.leaf.transactionIsActive)
                return "done"
            }
            #expect(value == "done" && tree.left.value == 5 && !tree.root.transactionIsActive)
            #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
            let stored = try await accounts.fetchAll()
            #expect(stored == [Account(id: 1, balance: 5)])
            let receipt = try await store.transactionWithReceipt(tree.root) {
                try await accounts.save(Account(id: 2, balance: 5))
            }.receipt
            #expect(receipt.changes.map(\.id) == ["2"])
        }
    }

    @Test("goes back, with nothing stored, when the body or a member refuses", arguments: [false, true])
    func refused(byMember: Bool) async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            if byMember { tree.leaf.atValidation = { throw Refusal() } }
            await #expect(throws: Refusal()) {
                try await store.transaction(tree.root) {
                    tree.left.value = 5
                    try await accounts.save(Account(id: 1, balance: 5))
                    if !byMember { throw Refusal() }
                }
            }
            let validated = byMember ? ["validate root", "validate left", "validate leaf"] : []
            #expect(tree.log.take() == Tree.begin() + validated + Tree.rollback())
            #expect(tree.left.value == 0 && !tree.root.transactionIsActive)
            let count = try await accounts.count()
            #expect(count == 0)
        }
    }

    @Test("goes back when the store cannot commit")
    func refusedByStore() async throws {
        let store = try await Store.open("memory:")
        let accounts = store.repository(of: Account.self)
        await expectError(.closed) {
            try await store.transaction(tree.root) {
                tree.left.value = 5
                try await accounts.save(Account(id: 1, balance: 5))
                try await store.close()
            }
        }
        #expect(tree.left.value == 0 && !tree.root.transactionIsActive)
        #expect(tree.log.take().suffix(4) == Tree.rollback()[...])
        await expectError(.closed) { try await store.transaction(tree.root) {} }
        #expect(tree.log.take().isEmpty)
    }

    @Test("lets its validators read and write the store")
    func validators() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            tree.root.atValidation = {
                let sum = try accounts.blocking.fetchAll().reduce(0) { $0 + $1.balance }
                if sum != 10 { throw Refusal() }
                try accounts.blocking.add(Account(id: 99, balance: sum))
            }
            try await store.transaction(tree.root) { try await accounts.save(Account(id: 1, balance: 10)) }
            let ids = try await accounts.fetchAll().map(\.id)
            #expect(ids == [1, 99])
            await #expect(throws: Refusal()) {
                try await store.transaction(tree.root) { try await accounts.save(Account(id: 2, balance: 10)) }
            }
            let count = try await accounts.count()
            #expect(count == 2)
        }
    }

    @Test(
        "agrees with the store after a conflict between any two steps", arguments: Engine.allCases,
        [Isolation.serializable, .snapshot])
    func conflicts(_ engine: Engine, _ isolation: Isolation) async throws {
        try await withAccounts(engine) { store, accounts in
            let options = TransactionOptions(isolation: isolation)
            var retried = 0
            for position in 0...8 {
                let tree = Tree()
                try await accounts.saveMany([Account(id: 1, balance: 10), Account(id: 2, balance: 20)])
                (tree.left.value, tree.right.value) = (10, 20)
                var attempts = 0
                var step = 0
                // Another task commits, before this step of the first attempt.
                nonisolated(nonsending) func other() async throws {
                    defer { step += 1 }
                    guard attempts == 1, step == position else { return }
                    try await inAnotherTask { try await accounts.save(Account(id: 1, balance: 1000 + position)) }
                }
                // The same from inside a validator.
                tree.left.atValidation = {
                    guard attempts == 1, position == 8 else { return }
                    let saved = DispatchSemaphore(value: 0)
                    Thread.detachNewThread {
                        _ = try? accounts.blocking.update(Account(id: 1, balance: 1008))
                        saved.signal()
                    }
                    saved.wait()
                }
                tree.root.atValidation = {
                    let balances = try accounts.blocking.fetchAll().map(\.balance)
                    if balances != [tree.left.value, tree.right.value] { throw Refusal() }
                }
                try await store.transaction(tree.root, options: options) {
                    attempts += 1
                    step = 0
                    try await other()
                    guard var first = try await accounts.fetch(id: 1) else { throw Refusal() }
                    try await other()
                    tree.left.value = first.balance + 1
                    try await other()
                    first.balance += 1
                    try await accounts.save(first)
                    try await other()
                    guard var second = try await accounts.fetch(id: 2) else { throw Refusal() }
                    try await other()
                    second.balance -= 1
                    tree.right.value = second.balance
                    try await other()
                    try await accounts.save(second)
                    try await other()
                    _ = Member("newcomer \(attempts)", under: tree.right)
                    try await other()
                }
                let stored = try await accounts.fetchAll().map(\.balance)
                #expect(stored == [tree.left.value, tree.right.value], "position \(position)")
                #expect(stored[0] == (1000 + position) + 1 && stored[1] == 19)
                #expect(!tree.root.transactionIsActive)
                let calls = tree.log.take()
                #expect(calls.filter { $0 == "begin root" }.count == attempts)
                #expect(calls.filter { $0 == "rollback root" }.count == attempts - 1)
                #expect(calls.suffix(4) == Tree.commit()[...])
                retried += attempts - 1
            }
            #expect(retried == 8)
        }
    }

    @Test("is rolled back once more when the attempts are used up")
    func givingUp() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            try await accounts.save(Account(id: 1, balance: 0))
            let options = TransactionOptions(maxAttempts: 3)
            await expectError(.conflict) {
                try await store.transaction(tree.root, options: options) {
                    tree.left.value += 1
                    let balance = try await accounts.fetch(id: 1)!.balance
                    try await inAnotherTask { try await accounts.save(Account(id: 1, balance: balance + 1)) }
                    try await accounts.save(Account(id: 1, balance: -1))
                }
            }
            #expect(tree.left.value == 0)
            #expect(tree.log.take().filter { $0 == "rollback root" }.count == 3)
        }
    }

    @Test("validates several trees in the order in which they came, and commits in reverse")
    func severalTrees() async throws {
        try await withStore(.memory) { store in
            let log = CallLog()
            let first = Member("first", log: log)
            let second = Member("second", log: log)
            try await store.transaction(first, second) {}
            #expect(
                log.take() == [
                    "begin first", "begin second", "validate first", "validate second", "commit second", "commit first",
                ])
        }
    }

    @Test("joins the transaction around, and is begun and ended once")
    func joining() async throws {
        try await withStore(.memory) { store in
            try await store.transaction {
                try await store.transaction(tree.root) {
                    try await store.transaction(tree.leaf) { try tree.left.transaction { tree.left.value = 1 } }
                }
                #expect(tree.log.take() == Tree.begin())
                await expectError(.invalidState) { try tree.root.commitTransaction() }
                expectRefusal(.transactionActive) { try tree.root.beginTransaction() }
            }
            #expect(tree.log.take() == Tree.validate() + Tree.commit())
            try tree.root.beginTransaction()
            await expectError(.transactionActive) {
                try await store.transaction(tree.root) {}
            }
            try tree.root.rollbackTransaction()
        }
    }

    @Test("goes back with a part that throws, or leaves a transaction that can only roll back")
    func failingInside() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            // Enlisted around the part, and in it.
            for isInside in [false, true] {
                let error = await expectError(.unsupported) {
                    try await store.transaction(isInside ? SavepointMember("other", log: CallLog()) : tree.root) {
                        try await accounts.save(Account(id: 1, balance: 1))
                        try? await store.transaction(isInside ? tree.root : tree.leaf) {
                            tree.left.value = 2
                            throw Refusal()
                        }
                    }
                }
                #expect(error?.message.contains("roll all back") == true)
                #expect(tree.left.value == 0 && !tree.root.transactionIsActive)
            }
            try await #expect(accounts.count() == 0)
            let keeping = SavepointMember("keeping", log: CallLog())
            try await store.transaction(keeping) {
                keeping.value = 1
                try? await store.transaction {
                    keeping.value = 2
                    try await accounts.save(Account(id: 1, balance: 1))
                    throw Refusal()
                }
                #expect(keeping.value == 1)
                try await accounts.save(Account(id: 2, balance: 1))
            }
            #expect(keeping.value == 1)
            try await #expect(accounts.fetchAll().map(\.id) == [2])
        }
    }

    @Test("takes what was written in the store with it, by a blocking part of the tree's own")
    func blockingPart() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            try await onThread {
                let keeping = SavepointMember("keeping", log: CallLog())
                try store.blocking.transaction(keeping) {
                    #expect(throws: Refusal()) {
                        try keeping.transaction {
                            keeping.value = 2
                            try accounts.blocking.save(Account(id: 1, balance: 1))
                            throw Refusal()
                        }
                    }
                    #expect(throws: Refusal()) {
                        try store.blocking.transaction {
                            keeping.value = 3
                            try accounts.blocking.save(Account(id: 2, balance: 1))
                            throw Refusal()
                        }
                    }
                    try accounts.blocking.save(Account(id: 3, balance: 1))
                }
                #expect(keeping.value == 0)
            }
            try await #expect(accounts.fetchAll().map(\.id) == [3])
        }
    }

    @Test("is refused in a child task, which ends before the transaction does")
    func childTask() async throws {
        try await withStore(.memory) { store in
            await expectError(.invalidState) {
                try await store.transaction {
                    async let child: Void = store.transaction(Member("child", log: CallLog())) {}
                    try await child
                }
            }
        }
    }

    @Test("goes back to a savepoint together with what was written since")
    func savepoints() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            await expectError(.unsupported) { try await store.transaction(tree.root) { try await store.savepoint {} } }
            let root = SavepointMember("root", log: CallLog())
            try await store.transaction(root) {
                root.value = 1
                try await accounts.save(Account(id: 1, balance: 1))
                try? await store.savepoint {
                    root.value = 2
                    try await accounts.save(Account(id: 2, balance: 2))
                    throw Refusal()
                }
                #expect(root.value == 1)
            }
            let ids = try await accounts.fetchAll().map(\.id)
            #expect(ids == [1] && root.value == 1)
        }
    }
}

/// A member that belongs to an actor, whose functions are called nowhere else.
@MainActor
private final class Panel: @MainActor SavepointTransactable {
    var value = 0
    private var backup = 0
    private(set) var calls: [String] = []
    private var context: TransactionContext?
    var transactionContext: TransactionContext { context! }

    init() { context = TransactionContext.createRoot(owner: self) }
    init(under parent: Panel) { context = TransactionContext.createNode(owner: self, parent: parent) }

    private func note(_ call: String) {
        MainActor.assertIsolated()
        calls.append(call)
    }

    func onBegin(transaction: TransactionDescriptor) {
        note("begin")
        backup = value
    }
    func onValidateCommit() throws { note("validate") }
    func onCommit(transaction: TransactionDescriptor) { note("commit") }
    func onRollback(transaction: TransactionDescriptor) {
        note("rollback")
        value = backup
    }
    func onSavepoint(_ savepoint: UInt64) { note("savepoint") }
    func onRollback(to savepoint: UInt64) { note("back") }
}

@Suite("An actor's object tree")
@MainActor
struct ActorTreeTests {
    @Test("is called in its actor alone, with a store too")
    func isolation() async throws {
        try await withStore(.memory) { store in
            let accounts = store.repository(of: Account.self)
            let panel = Panel()
            var attempts = 0
            try await store.transaction(panel) {
                attempts += 1
                _ = try await accounts.fetch(id: 1)
                if attempts == 1 {
                    try await inAnotherTask { try await accounts.save(Account(id: 1, balance: 1)) }
                }
                try await store.savepoint { panel.value = 1 }
                try? await store.savepoint { throw Refusal() }
                try await accounts.save(Account(id: 2, balance: 2))
            }
            let first = ["begin", "savepoint", "savepoint", "back", "validate"]
            #expect(panel.calls == first + ["rollback"] + first + ["commit"])
            try panel.transaction { panel.value = 2 }
            #expect(panel.value == 2)
            try await inTransaction(store) { MainActor.assertIsolated() }
            await #expect(throws: Refusal()) {
                try await inTransaction(store) {
                    MainActor.assertIsolated()
                    throw Refusal()
                }
            }
        }
    }

    @Test("is refused in another isolation than that of its transaction")
    func otherIsolation() async throws {
        try await withStore(.memory) { store in
            let panel = Panel()
            @concurrent func elsewhere() async throws {
                try await store.transaction { try await enlist(panel, in: store) }
            }
            await expectError(.invalidState) { try await elsewhere() }
            #expect(panel.calls.isEmpty)
        }
    }

    @Test("is closed to the actor's other tasks while its transaction awaits something")
    func otherTasks() async throws {
        try await withStore(.memory) { store in
            let panel = Panel()
            let (opened, open) = AsyncStream<Void>.makeStream()
            let (checked, check) = AsyncStream<Void>.makeStream()
            let task = Task { @MainActor in
                try await store.transaction(panel) {
                    open.yield()
                    for await _ in checked { break }
                    try panel.transaction { panel.value = 1 }
                }
            }
            for await _ in opened { break }
            expectRefusal(.transactionActive) { try panel.transaction { panel.value = 9 } }
            expectRefusal(.transactionActive) { try panel.beginTransaction() }
            check.yield()
            try await task.value
            #expect(panel.value == 1)
        }
    }

    @Test(
        "is sealed while its store commits; a new member waits, and a cancelled commit rolls back",
        arguments: [false, true])
    func sealing(isCancelled: Bool) async throws {
        let options = StoreOptions(maxInFlight: 1)
        try await withStore(.memory, options) { store in
            let accounts = store.repository(of: Account.self)
            try await accounts.open()
            let panel = Panel()
            // The only slot for commits is taken, so that the next one waits.
            try store.occupySlot()
            let task = Task { @MainActor in
                try await store.transaction(panel) {
                    panel.value = 1
                    try await accounts.save(Account(id: 1, balance: 1))
                }
            }
            while panel.calls.last != "validate" { await Task.yield() }
            await expectError(.busy) { try panel.beginTransaction() }
            expectRefusal(.transactionActive) { try panel.transaction {} }
            await expectError(.busy) { try panel.transactionContext.attach(to: Panel()) }
            await expectError(.busy) { try await store.transaction(panel) {} }
            let newcomer = Panel(under: panel)
            #expect(!newcomer.transactionIsActive && panel.transactionIsActive)
            if isCancelled {
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                store.freeSlot()
                #expect(panel.calls == ["begin", "validate", "rollback"] && panel.value == 0)
            } else {
                store.freeSlot()
                try await task.value
                #expect(panel.calls == ["begin", "validate", "commit"] && panel.value == 1)
            }
            #expect(newcomer.calls.isEmpty)
            try panel.transaction {}
            #expect(newcomer.calls == ["begin", "validate", "commit"])
        }
    }
}

/// Where the closure is isolated only as its caller is.
private nonisolated(nonsending) func inTransaction(
    _ store: Store, _ body: nonisolated(nonsending) () async throws -> Void
) async throws {
    try await store.transaction { try await body() }
}

@MainActor
private func enlist(_ panel: Panel, in store: Store) async throws {
    try await store.transaction(panel) {}
}
