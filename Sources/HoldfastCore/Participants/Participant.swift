public import HoldfastEnvironment

/// An object of the host's that begins, validates, commits and rolls back with others: the node of a tree.
///
/// The tree owns nobody: a participant lives as long as its owner wants, and who goes is unlinked. Its links are the
/// usual ones of ordered trees (first and last child, siblings both ways), so that attaching and detaching are constant
/// and every walk goes without recursion.
public final class Participant: @unchecked Sendable {
    // Sendable: all that changes is guarded by the trees' lock, which `TreeLock.withLock` takes.

    /// Nil once its owner has freed it: it is skipped from then on.
    private(set) var host: (any ParticipantHost)?

    // Nobody is kept alive by these: `free` unlinks before its participant can go.
    private(set) unowned(unsafe) var parent: Participant?
    private(set) unowned(unsafe) var firstChild: Participant?
    private unowned(unsafe) var lastChild: Participant?
    private(set) unowned(unsafe) var nextSibling: Participant?
    private unowned(unsafe) var previousSibling: Participant?

    /// The transaction that it joined last, which may have ended.
    var joined: TreeTransaction?
    /// How often it has joined one: who was to be called as it joined, and has left and joined again since, is called
    /// for the later time alone.
    var joinings = 0

    /// The root of a tree of its own.
    public init(_ host: any ParticipantHost) { self.host = host }

    /// The transaction that it is in.
    var transaction: TreeTransaction? {
        guard let joined, !joined.hasEnded else { return nil }
        return joined
    }

    /// What stands behind it; nil once it was freed.
    public var currentHost: (any ParticipantHost)? { TreeLock.withLock { host } }

    /// The descriptor of the transaction that it is in.
    public var activeDescriptor: TransactionDescriptor? { TreeLock.withLock { transaction?.descriptor } }

    /// The same, where it is a store's transaction.
    public var enlistedDescriptor: TransactionDescriptor? {
        TreeLock.withLock { transaction.flatMap { $0.isEnlisted ? $0.descriptor : nil } }
    }

    // MARK: The tree

    /// Makes it the last child of `parent`, wherever it was before. Where the parent is in a transaction it joins that
    /// and is begun at once, then its own sub-nodes are. One that is new may come under a sealed parent too, whose
    /// transaction it does not join.
    public func attach(to parent: Participant, isNew: Bool = false) throws(HoldfastError) {
        let joining = try TreeLock.withLock { () throws(HoldfastError) -> TreeTransaction? in
            guard host != nil, parent.host != nil else { throw Self.freed }
            try requireUnsealed()
            if !isNew { try parent.requireUnsealed() }
            let mine = transaction
            let other = parent.transaction
            if let mine, mine !== other {
                throw HoldfastError(
                    .transactionActive,
                    "the participant is in a transaction in which its new parent is not: enlist both trees, or end it "
                        + "first")
            }
            if Self.wouldBeCycle(self, under: parent) {
                throw HoldfastError(
                    .cycle, "the new parent is the participant itself or below it: the tree would be a ring")
            }
            unlink()
            link(under: parent)
            guard let other, mine == nil else { return nil }
            return other.join(self) ? other : nil
        }
        try joining?.beginNewcomers()
    }

    /// Makes it the root of a tree of its own, with its sub-nodes. Inside a transaction they leave it: none of them is
    /// called any more.
    public func detach() throws(HoldfastError) {
        try TreeLock.withLock { () throws(HoldfastError) in
            guard host != nil else { throw Self.freed }
            guard parent != nil else { return }
            try requireUnsealed()
            unlink()
            transaction?.leave(self)
        }
    }

    /// Its owner needs it no longer. It is called no more; its sub-nodes stay in their transaction, if they are in one,
    /// and become trees of their own when that ends, else at once.
    public func free() {
        // Kept until the lock was given back: the host's destructor may do as it likes.
        let host = TreeLock.withLock { () -> (any ParticipantHost)? in
            guard let host = self.host else { return nil }
            self.host = nil
            if let transaction { transaction.noteFreed(self) } else { dissolve() }
            return host
        }
        _ = host
    }

    /// Lets go of all neighbours.
    func dissolve() {
        unlink()
        while let child = firstChild { child.unlink() }
    }

    private func link(under parent: Participant) {
        self.parent = parent
        previousSibling = parent.lastChild
        if let last = parent.lastChild { last.nextSibling = self } else { parent.firstChild = self }
        parent.lastChild = self
    }

    private func unlink() {
        guard let parent else { return }
        if let previousSibling { previousSibling.nextSibling = nextSibling } else { parent.firstChild = nextSibling }
        if let nextSibling { nextSibling.previousSibling = previousSibling } else { parent.lastChild = previousSibling }
        previousSibling = nil
        nextSibling = nil
        self.parent = nil
    }

    private func requireUnsealed() throws(HoldfastError) {
        try transaction?.check(.rearrange)
    }

    static let freed = HoldfastError(.invalidHandle, "the participant was freed")
}
