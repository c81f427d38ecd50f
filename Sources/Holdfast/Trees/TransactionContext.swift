internal import HoldfastCore
internal import HoldfastEnvironment

/// What links an object with its tree. The object owns it; when it goes, the tree goes on without the object, and
/// those below it become trees of their own.
public final class TransactionContext {
    let participant: Participant

    private init(_ owner: any Transactable) {
        let host = TransactableHost(owner)
        participant = Participant(host)
        host.participant = participant
    }

    deinit { participant.free() }

    /// For the root of a tree.
    public static func createRoot(owner: any Transactable) -> TransactionContext { TransactionContext(owner) }

    /// For an object below another, after its siblings. Where the tree is in a transaction, the object joins it and is
    /// begun at once, before this returns; in one that is just ending it takes no part.
    public static func createNode(owner: any Transactable, parent: any Transactable) -> TransactionContext {
        let context = TransactionContext(owner)
        // Fails only in a forked child, where every other call on the tree says so.
        try? context.participant.attach(to: parent.transactionContext.participant, isNew: true)
        return context
    }

    /// Brings the object, with those below it, under another parent, as the last of its siblings. Where that is in a
    /// transaction and the object is in none, they join and are begun.
    ///
    /// Throws `.cycle`, `.busy` while either tree is being committed, and `.transactionActive` for an object that is in
    /// another transaction.
    public func attach(to parent: any Transactable) throws {
        try translatingErrors { () throws(CoreError) in
            try participant.attach(to: parent.transactionContext.participant)
        }
    }

    /// Makes the object, with those below it, a tree of its own. Inside a transaction they leave it: none of them is
    /// called any more. Throws `.busy` while the tree is being committed.
    public func detach() throws {
        try translatingErrors { () throws(CoreError) in try participant.detach() }
    }
}

/// The object behind a participant.
final class TransactableHost: ParticipantHost, @unchecked Sendable {
    // Sendable: its functions are called only where the tree's owner calls the tree, because trees of stores are held
    // (see `TransactionTrees`) and end there too; and nothing else changes.

    private weak var owner: (any Transactable)?
    /// Asked on any thread. One that is gone, and has nothing to keep, is asked no more.
    let hasSavepoints: Bool
    /// Set once, before anybody else knows the host. It has the host, and alone has it called.
    unowned var participant: Participant?

    init(_ owner: any Transactable) {
        self.owner = owner
        hasSavepoints = owner is any SavepointTransactable
    }

    func began(_ descriptor: HoldfastCore.TransactionDescriptor) {
        owner?.onBegin(transaction: TransactionDescriptor(descriptor, participant))
    }

    func validate(in transaction: HoldfastCore.Transaction?) throws(CoreError) {
        do {
            guard let transaction else { return try owner?.onValidateCommit() ?? () }
            // What it reads and writes joins.
            try TransactionScope.$current.withValue(TransactionScope(transaction, trees: nil)) {
                try owner?.onValidateCommit()
            }
        } catch {
            throw CoreError(throwing: error)
        }
    }

    func committed(_ descriptor: HoldfastCore.TransactionDescriptor) {
        owner?.onCommit(transaction: TransactionDescriptor(descriptor, participant))
    }

    func rolledBack(_ descriptor: HoldfastCore.TransactionDescriptor) {
        owner?.onRollback(transaction: TransactionDescriptor(descriptor, participant))
    }

    func savepoint(_ number: UInt64) { (owner as? any SavepointTransactable)?.onSavepoint(number) }
    func rollBack(to number: UInt64) { (owner as? any SavepointTransactable)?.onRollback(to: number) }
}

extension CoreError {
    /// What a function of the host's threw in a transaction, a validator's refusal at first, which comes out unchanged; a
    /// conflict that it met still has the transaction run again.
    init(throwing error: any Error, _ message: String = "a validator refused") {
        self.init(HoldfastError(behind: error)?.status == .conflict ? .conflict : .refused, message)
        thrown = error
    }
}
