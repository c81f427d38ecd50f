import HoldfastFamiliar
import Testing

/// What the tree does in its transactions is the same as of the library's own `Transactable`: `TreeTests`.
@Suite("A tree of objects that are told of a transaction")
struct TransactableTests {
    private final class Node: Transactable {
        var value = 0
        private var before = 0
        private(set) var calls: [String] = []
        private(set) var told: [TransactionDescriptor?] = []
        private(set) lazy var transactionContext = TransactionContext.createRoot(owner: self)

        func onBegin(transaction: any Transaction) {
            before = value
            note("begin", transaction)
        }
        func onValidateCommit() throws { if value < 0 { throw Refusal() } }
        func onCommit(transaction: any Transaction) { note("commit", transaction) }
        func onRollback(transaction: any Transaction) {
            value = before
            note("rollback", transaction)
        }
        private func note(_ call: String, _ transaction: any Transaction) {
            calls.append(call)
            told.append(transaction as? TransactionDescriptor)
        }
    }

    @Test("refuses in the words of TransactionError")
    func refusals() throws {
        let node = Node()
        #expect(throws: TransactionError.transactionIsNotActive) { try node.commitTransaction() }
        #expect(throws: TransactionError.transactionIsNotActive) { try node.rollbackTransaction(.any) }
        #expect(throws: TransactionError.transactionIsNotActive) { try node.savepoint {} }
        let transaction = try node.beginTransaction()
        #expect(throws: TransactionError.anotherTransactionIsActive) { try node.beginTransaction() }
        try node.commitTransaction(transaction)
        #expect(throws: TransactionError.wrongTransactionDescriptor) { try node.commitTransaction(transaction) }
        try node.beginTransaction()
        #expect(throws: TransactionError.wrongTransactionDescriptor) {
            try node.commitTransaction(AnyTransaction { 1 })
        }
        try node.rollbackTransaction()
        #expect(node.calls == ["begin", "commit", "begin", "rollback"])
    }

    @Test("is committed by performing its transaction")
    func performing() async throws {
        let node = Node()
        let transaction = try node.beginTransaction()
        try transaction.perform()
        #expect(!node.transactionIsActive && node.told == [transaction, transaction])
        #expect(throws: TransactionError.wrongTransactionDescriptor) { try transaction.perform() }
        #expect(throws: TransactionError.transactionIsNotActive) { try TransactionDescriptor.any.perform() }
        try await node.beginTransaction().performAsync()
        #expect(!node.transactionIsActive)
    }

    @Test("passes on what its body throws, whatever that is, and what a member refuses with")
    func errors() throws {
        let node = Node()
        let own = HoldfastError(.transactionNotActive, "of the body's own")
        #expect(throws: own) { try node.transaction { throw own } }
        #expect(throws: Refusal()) { try node.doTransactionally { node.value = -1 } }
        #expect(node.value == 0)
        let value = try node.transaction {
            node.value = 2
            return node.value
        }
        #expect(value == 2 && node.calls.last == "commit")
    }

    @Test("takes part in a store's transaction")
    func inAStore() async throws {
        try await withSongs(.memory) { store, songs in
            let node = Node()
            await #expect(throws: Refusal()) {
                try await store.transaction(node) {
                    node.value = -1
                    try await songs.save(Song(id: "s1", title: "Gloria"))
                }
            }
            try await store.transaction(node) {
                node.value = 3
                try await songs.save(Song(id: "s2", title: "Why"))
            }
            let ids = try await songs.fetchAll().map(\.id)
            #expect(ids == ["s2"] && node.value == 3)
            #expect(node.calls == ["begin", "rollback", "begin", "commit"])
        }
    }
}
