/// An object that changes together with the others of its tree, and with a store where one takes part, or not at all.
///
///     final class Chart: Transactable {
///         private(set) var transactionContext: TransactionContext! ...
///
/// It makes its `transactionContext` when it is initialised, as a root or below a parent, and keeps it. In a transaction
/// all members of the tree are begun and validated parents first, committed and rolled back children first, siblings in
/// the order in which they came. None of the functions may begin or end a transaction of its own tree.
///
/// What a tree refuses is `HoldfastError`: `.transactionActive` where it is in a transaction already, `.transactionNotActive`
/// where it is in none, `.wrongDescriptor` for the descriptor of another, `.reentrant` for a call from inside one of its
/// functions, and `.busy` while it is being committed.
///
/// All four are written, also where one does nothing: with implementations of the protocol's own, those of a class below
/// one that leaves them out would never be called. In a class that others are derived from they are overridden as usual.
///
/// Members need not be `Sendable`: a tree belongs to one isolation, an actor's or a task's, and all its functions are
/// called there. An actor's class conforms there: `final class Chart: @MainActor Transactable`.
public protocol Transactable: AnyObject {
    /// What links it with its tree.
    var transactionContext: TransactionContext { get }

    /// The transaction begins, or the object has come into one: from now on its changes may be undone.
    func onBegin(transaction: TransactionDescriptor)
    /// The only one that may refuse: what it throws reaches whoever commits, unchanged.
    func onValidateCommit() throws
    /// All have accepted, and what is to be stored is stored.
    func onCommit(transaction: TransactionDescriptor)
    /// The object goes back to how it was when its transaction began.
    func onRollback(transaction: TransactionDescriptor)
}

/// A member that takes part in savepoints. Where one does not, its tree has none.
public protocol SavepointTransactable: Transactable {
    /// Keeps how it is, by this number. Numbers rise.
    func onSavepoint(_ savepoint: UInt64)
    /// Goes back to how it was then; if it came into the transaction later, to how it began. The savepoint stays.
    func onRollback(to savepoint: UInt64)
}
