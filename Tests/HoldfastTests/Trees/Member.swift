import Holdfast

/// What the members of a tree were called for, in order.
final class CallLog {
    var calls: [String] = []

    /// Those since the last time.
    func take() -> [String] {
        defer { calls = [] }
        return calls
    }
}

/// A member that notes its calls and does in them what the test says.
class Member: Transactable {
    let name: String
    let log: CallLog
    var value = 0
    private var valueAtBegin = 0
    var atBegin: (TransactionDescriptor) -> Void = { _ in }
    var atValidation: () throws -> Void = {}
    var atCommit: (TransactionDescriptor) -> Void = { _ in }
    var atRollback: (TransactionDescriptor) -> Void = { _ in }

    private var context: TransactionContext?
    var transactionContext: TransactionContext { context! }

    init(_ name: String, log: CallLog) {
        self.name = name
        self.log = log
        context = TransactionContext.createRoot(owner: self)
    }

    init(_ name: String, under parent: Member) {
        self.name = name
        log = parent.log
        context = TransactionContext.createNode(owner: self, parent: parent)
    }

    func onBegin(transaction: TransactionDescriptor) {
        log.calls.append("begin \(name)")
        valueAtBegin = value
        atBegin(transaction)
    }

    func onValidateCommit() throws {
        log.calls.append("validate \(name)")
        try atValidation()
    }

    func onCommit(transaction: TransactionDescriptor) {
        log.calls.append("commit \(name)")
        atCommit(transaction)
    }

    func onRollback(transaction: TransactionDescriptor) {
        log.calls.append("rollback \(name)")
        value = valueAtBegin
        atRollback(transaction)
    }
}

/// One that keeps savepoints too.
final class SavepointMember: Member, SavepointTransactable {
    private var kept: [UInt64: Int] = [:]

    func onSavepoint(_ savepoint: UInt64) {
        log.calls.append("savepoint \(name)")
        kept[savepoint] = value
    }

    func onRollback(to savepoint: UInt64) {
        log.calls.append("back \(name)")
        value = kept[savepoint] ?? 0
    }
}

/// Root, two nodes, and one below the first.
struct Tree {
    let log = CallLog()
    let root, left, right, leaf: Member

    init() {
        root = Member("root", log: log)
        left = Member("left", under: root)
        right = Member("right", under: root)
        leaf = Member("leaf", under: left)
    }

    var members: [Member] { [root, left, leaf, right] }

    static let downward = ["root", "left", "leaf", "right"]
    static let upward = ["leaf", "left", "right", "root"]

    static func begin() -> [String] { downward.map { "begin \($0)" } }
    static func validate() -> [String] { downward.map { "validate \($0)" } }
    static func commit() -> [String] { upward.map { "commit \($0)" } }
    static func rollback() -> [String] { upward.map { "rollback \($0)" } }
}
