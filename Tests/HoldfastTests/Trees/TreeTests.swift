import Holdfast
import Testing

@Suite("A class that members are derived from")
struct DerivedMemberTests {
    /// Has nothing to do itself.
    private class Base: Transactable {
        private(set) lazy var transactionContext = TransactionContext.createRoot(owner: self)
        func onBegin(transaction: TransactionDescriptor) {}
        func onValidateCommit() throws {}
        func onCommit(transaction: TransactionDescriptor) {}
        func onRollback(transaction: TransactionDescriptor) {}
    }

    private final class Derived: Base {
        var calls: [String] = []
        override func onBegin(transaction: TransactionDescriptor) { calls.append("begin") }
        override func onValidateCommit() throws { calls.append("validate") }
        override func onCommit(transaction: TransactionDescriptor) { calls.append("commit") }
    }

    @Test("has what they override called")
    func overriding() throws {
        let derived = Derived()
        try derived.transaction {}
        #expect(derived.calls == ["begin", "validate", "commit"])
    }
}

@Suite("An object tree, explicitly")
struct ExplicitTreeTests {
    let tree = Tree()

    @Test("begins and validates parents first, commits children first, siblings in their order")
    func order() throws {
        try tree.root.beginTransaction()
        #expect(tree.log.take() == Tree.begin())
        #expect(tree.members.allSatisfy { $0.transactionIsActive })
        try tree.root.commitTransaction()
        #expect(tree.log.take() == Tree.validate() + Tree.commit())
        #expect(tree.members.allSatisfy { !$0.transactionIsActive && $0.activeTransaction == nil })
    }

    @Test("can be begun and ended from any node; rollback goes children first")
    func fromANode() throws {
        let transaction = try tree.leaf.beginTransaction()
        try tree.leaf.commitTransaction(transaction)
        #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
        try tree.right.beginTransaction()
        tree.left.value = 7
        try tree.leaf.rollbackTransaction(.any)
        #expect(tree.log.take() == Tree.begin() + Tree.rollback())
        #expect(tree.left.value == 0)
    }

    @Test("is in one transaction at a time, and other trees are independent")
    func oneAtATime() throws {
        let other = Tree()
        try tree.root.beginTransaction()
        _ = tree.log.take()
        for member in tree.members {
            expectRefusal(.transactionActive) { try member.beginTransaction() }
        }
        #expect(tree.log.take().isEmpty)
        try other.root.beginTransaction()
        try other.root.commitTransaction()
        #expect(tree.root.transactionIsActive && !other.root.transactionIsActive)
        try tree.root.rollbackTransaction()
    }

    @Test("has descriptors of 16 bytes, equal by value, never all zero but for the wildcard")
    func descriptors() throws {
        let first = try tree.root.beginTransaction()
        #expect(tree.leaf.activeTransaction == first)
        #expect(first.bytes.count == 16 && first != .any)
        #expect(TransactionDescriptor.any.bytes == Array(repeating: 0, count: 16))
        try tree.root.commitTransaction(first)
        let second = try tree.root.beginTransaction()
        #expect(first != second)
        try tree.root.rollbackTransaction(second)
    }

    @Test("looks at the descriptor before the state, and calls nobody for a wrong one")
    func descriptorFirst() throws {
        let stale = try tree.root.beginTransaction()
        try tree.root.commitTransaction()
        _ = tree.log.take()
        expectRefusal(.wrongDescriptor) { try tree.root.commitTransaction(stale) }
        expectRefusal(.wrongDescriptor) { try tree.root.rollbackTransaction(stale) }
        expectRefusal(.transactionNotActive) { try tree.leaf.commitTransaction() }
        expectRefusal(.transactionNotActive) { try tree.leaf.rollbackTransaction(.any) }
        try tree.root.beginTransaction()
        _ = tree.log.take()
        expectRefusal(.wrongDescriptor) { try tree.root.commitTransaction(stale) }
        #expect(tree.log.take().isEmpty)
        try tree.root.rollbackTransaction()
    }

    @Test("tells its descriptor in each call, and forgets it after the last")
    func descriptorInCalls() throws {
        let log = tree.log
        for member in tree.members {
            let check: (TransactionDescriptor) -> Void = { [unowned member] transaction in
                if transaction != member.activeTransaction { log.calls.append("wrong") }
            }
            (member.atBegin, member.atCommit, member.atRollback) = (check, check, check)
            member.atValidation = { [unowned member] in if !member.transactionIsActive { log.calls.append("wrong") } }
        }
        try tree.root.transaction {}
        try tree.root.beginTransaction()
        try tree.root.rollbackTransaction()
        #expect(!tree.log.calls.contains("wrong"))
        #expect(tree.root.activeTransaction == nil)
    }

    @Test("stays in its transaction when a member refuses, and can be repaired and committed")
    func refusal() throws {
        tree.left.atValidation = { throw Refusal() }
        try tree.root.beginTransaction()
        tree.left.value = 5
        _ = tree.log.take()
        #expect(throws: Refusal()) { try tree.root.commitTransaction() }
        #expect(tree.log.take() == ["validate root", "validate left"])
        #expect(tree.root.transactionIsActive && tree.left.value == 5)
        tree.left.atValidation = {}
        try tree.root.commitTransaction()
        #expect(tree.log.take() == Tree.validate() + Tree.commit())
    }

    @Test("is committed by its descriptor")
    func descriptorCommits() throws {
        let transaction = try tree.root.beginTransaction()
        try transaction.commit()
        #expect(!tree.root.transactionIsActive)
        expectRefusal(.wrongDescriptor) { try transaction.commit() }
        expectRefusal(.transactionNotActive) { try TransactionDescriptor.any.commit() }
    }
}

@Suite("An object tree, in a closure")
struct ScopedTreeTests {
    let tree = Tree()

    @Test("begins, validates and commits each member once, and returns the body's value")
    func success() throws {
        let value = try tree.leaf.transaction {
            tree.root.value = 1
            return "done"
        }
        #expect(value == "done" && tree.root.value == 1)
        #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
        try tree.root.transaction {}
        #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
    }

    @Test("rolls back when the body or a member refuses, and throws that error unchanged")
    func failure() throws {
        #expect(throws: Refusal()) {
            try tree.root.transaction {
                tree.left.value = 1
                throw Refusal()
            }
        }
        #expect(tree.log.take() == Tree.begin() + Tree.rollback())
        tree.right.atValidation = { throw Refusal() }
        #expect(throws: Refusal()) { try tree.root.transaction { tree.left.value = 2 } }
        #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.rollback())
        #expect(tree.left.value == 0 && !tree.root.transactionIsActive)
    }

    @Test("joins the one around it, and calls nobody")
    func nesting() throws {
        try tree.root.transaction { try tree.left.transaction { tree.left.value = 1 } }
        #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
        #expect(tree.left.value == 1)

        try tree.root.beginTransaction()
        try tree.root.transaction { tree.root.value = 9 }
        try tree.root.rollbackTransaction()
        #expect(tree.log.take() == Tree.begin() + Tree.rollback())
        #expect(tree.root.value == 0)
    }

    @Test("that throws inside another leaves one that can only be rolled back, where members keep no savepoints")
    func failingInside() throws {
        do {
            try tree.root.transaction {
                tree.left.value = 1
                try? tree.leaf.transaction {
                    tree.leaf.value = 2
                    throw Refusal()
                }
            }
            Issue.record("half of it was committed")
        } catch let error as HoldfastError {
            #expect(error.status == .unsupported && error.message.contains("roll all back"))
        }
        #expect(tree.log.take() == Tree.begin() + Tree.rollback())
        #expect(tree.left.value == 0 && tree.leaf.value == 0)

        let keeping = SavepointMember("keeping", log: tree.log)
        try keeping.transaction {
            keeping.value = 1
            try? keeping.transaction {
                keeping.value = 2
                throw Refusal()
            }
        }
        #expect(keeping.value == 1)
    }

    @Test("has nothing left to do where the body has ended the transaction, and masks no error")
    func endedByBody() throws {
        try tree.root.transaction { try tree.root.commitTransaction() }
        #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
        #expect(throws: Refusal()) {
            try tree.root.transaction {
                try tree.root.rollbackTransaction()
                throw Refusal()
            }
        }
        #expect(tree.log.take() == Tree.begin() + Tree.rollback())
    }

    @Test("refuses to begin, commit or roll back from inside a call, and goes on")
    func reentry() throws {
        let log = tree.log
        let node = tree.left
        for other in [tree.root, tree.leaf] {
            func attempt() {
                for call in [
                    { _ = try other.beginTransaction() }, { try other.commitTransaction() },
                    { try other.rollbackTransaction() },
                ] as [() throws -> Void] {
                    do {
                        try call()
                        log.calls.append("done")
                    } catch let error as HoldfastError where error.status == .reentrant {
                    } catch {
                        log.calls.append("\(error)")
                    }
                }
            }
            (node.atBegin, node.atCommit, node.atRollback) = (
                { _ in attempt() }, { _ in attempt() }, { _ in attempt() }
            )
            node.atValidation = attempt
            try tree.root.transaction {}
            #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
            try? tree.root.transaction { throw Refusal() }
            #expect(tree.log.take() == Tree.begin() + Tree.rollback())
        }
    }

    @Test("may use another tree from inside its calls")
    func otherTree() throws {
        let other = Tree()
        for member in tree.members {
            member.atBegin = { _ in try? other.root.transaction {} }
            member.atValidation = { try other.root.transaction {} }
            member.atCommit = { _ in try? other.root.transaction {} }
        }
        try tree.root.transaction {}
        #expect(other.log.take().count == 12 * 12)
        #expect(tree.log.take() == Tree.begin() + Tree.validate() + Tree.commit())
    }
}

@Suite("The members of an object tree")
struct TreeMemberTests {
    let tree = Tree()

    @Test("that come during a transaction are begun at once, with those below them, and take part")
    func newcomers() throws {
        let branch = Member("branch", log: tree.log)
        let twig = Member("twig", under: branch)
        try withExtendedLifetime(twig) {
            try tree.root.beginTransaction()
            _ = tree.log.take()
            let node = Member("node", under: tree.right)
            #expect(tree.log.take() == ["begin node"])
            try branch.transactionContext.attach(to: tree.root)
            #expect(tree.log.take() == ["begin branch", "begin twig"])
            try tree.root.commitTransaction()
            #expect(
                tree.log.take()
                    == ["root", "left", "leaf", "right", "node", "branch", "twig"].map { "validate \($0)" }
                    + ["leaf", "left", "node", "right", "twig", "branch", "root"].map { "commit \($0)" })
            withExtendedLifetime(node) {}
        }
    }

    @Test("that come during validation are validated too")
    func newcomersInValidation() throws {
        var node: Member?
        tree.leaf.atValidation = { [tree] in if node == nil { node = Member("node", under: tree.root) } }
        try tree.root.transaction {}
        #expect(
            tree.log.take()
                == Tree.begin() + ["validate root", "validate left", "validate leaf", "begin node", "validate right"]
                + ["validate node"] + ["leaf", "left", "right", "node", "root"].map { "commit \($0)" })
    }

    @Test("that come in validation without end have it given up")
    func newcomersWithoutEnd() async throws {
        let log = tree.log
        var nodes: [Member] = []
        func add() {
            let node = Member("node", under: tree.root)
            node.atValidation = add
            nodes.append(node)
        }
        tree.root.atValidation = add
        await expectError(.invalidState) { try tree.root.transaction {} }
        #expect(nodes.count == 101 && !tree.root.transactionIsActive)
        #expect(log.calls.filter { $0 == "rollback node" }.count == 101)
    }

    @Test("that were detached or destroyed are called no more")
    func leaving() throws {
        try tree.root.beginTransaction()
        try tree.left.transactionContext.detach()
        #expect(!tree.leaf.transactionIsActive)
        var node: Member? = Member("node", under: tree.root)
        _ = tree.log.take()
        weak let gone = node
        node = nil
        #expect(gone == nil)
        try tree.root.commitTransaction()
        #expect(tree.log.take() == ["validate root", "validate right", "commit right", "commit root"])
        try tree.left.transaction {}
        #expect(
            tree.log.take() == [
                "begin left", "begin leaf", "validate left", "validate leaf", "commit leaf", "commit left",
            ])
    }

    @Test("may be detached or destroyed inside each of the calls, also the one that is called", arguments: 0..<4)
    func leavingInCalls(call: Int) throws {
        let log = CallLog()
        let root = Member("root", log: log)
        var first: Member? = Member("first", under: root)
        var second: Member? = Member("second", under: root)
        let third = Member("third", under: root)
        func leave() {
            // Destroys the one that is called, another, and detaches one.
            (first, second) = (nil, nil)
            try? third.transactionContext.detach()
        }
        switch call {
        case 0: first!.atBegin = { _ in leave() }
        case 1: first!.atValidation = { leave() }
        case 2: first!.atCommit = { _ in leave() }
        default: first!.atRollback = { _ in leave() }
        }
        try? root.transaction { if call == 3 { throw Refusal() } }
        #expect(first == nil && second == nil && !root.transactionIsActive && !third.transactionIsActive)
        _ = log.take()
        try root.transaction {}
        #expect(log.take() == ["begin root", "validate root", "commit root"])
    }

    @Test("live on as trees of their own when their parent is destroyed first")
    func parentDestroyed() throws {
        let log = CallLog()
        var root: Member? = Member("root", log: log)
        let node = Member("node", under: root!)
        try root!.beginTransaction()
        root = nil
        try node.commitTransaction()
        _ = log.take()
        try node.transaction {}
        #expect(log.take() == ["begin node", "validate node", "commit node"])
    }

    @Test("cannot be below themselves, nor move between transactions")
    func refusedMoves() async throws {
        await expectError(.cycle) { try tree.root.transactionContext.attach(to: tree.leaf) }
        let other = Tree()
        try tree.root.beginTransaction()
        try other.root.beginTransaction()
        expectRefusal(.transactionActive) {
            try tree.leaf.transactionContext.attach(to: other.root)
        }
        try tree.root.commitTransaction()
        try other.root.commitTransaction()
        try tree.leaf.transactionContext.attach(to: other.root)
        _ = other.log.take()
        try other.root.transaction {}
        #expect(tree.log.take().suffix(3) == ["begin leaf", "validate leaf", "commit leaf"])
    }

    @Test("take part in savepoints where all of them can")
    func savepoints() async throws {
        await expectError(.unsupported) { try tree.root.transaction { try tree.root.savepoint {} } }
        expectRefusal(.transactionNotActive) { try tree.root.savepoint {} }
        let log = CallLog()
        let root = SavepointMember("root", log: log)
        let node = SavepointMember("node", under: root)
        try root.transaction {
            root.value = 1
            try? node.savepoint {
                (root.value, node.value) = (2, 2)
                throw Refusal()
            }
            #expect(root.value == 1 && node.value == 0)
            try node.savepoint { node.value = 3 }
        }
        #expect(root.value == 1 && node.value == 3)
        #expect(log.take().filter { $0.hasPrefix("back") } == ["back node", "back root"])
    }

    @Test("may be a hundred thousand, wide or deep")
    func many() throws {
        for isDeep in [false, true] {
            let log = CallLog()
            var members = [Member("root", log: log)]
            for _ in 1..<100_000 { members.append(Member("node", under: isDeep ? members.last! : members[0])) }
            try members[0].transaction { members.last!.value = 1 }
            #expect(log.take().count == 300_000)
            #expect(throws: Refusal()) { try members.last!.transaction { throw Refusal() } }
            #expect(log.take().count == 200_000)
        }
    }
}
