public import HoldfastEnvironment

/// What stands behind a participant: the host's object, which a face hands to the core.
///
/// All are called on the thread that begins, attaches, commits or rolls back; the last two of an asynchronous commit
/// where its outcome is delivered. No lock is held.
public protocol ParticipantHost: AnyObject, Sendable {
    func began(_ descriptor: TransactionDescriptor)
    /// The only one that may refuse. `transaction`: of the store, nil for a tree alone.
    func validate(in transaction: Transaction?) throws(HoldfastError)
    func committed(_ descriptor: TransactionDescriptor)
    func rolledBack(_ descriptor: TransactionDescriptor)

    /// Whether it takes part in savepoints: else none can be made while it is a member.
    var hasSavepoints: Bool { get }
    func savepoint(_ number: UInt64)
    /// One that joined after the savepoint was made goes back to how it began.
    func rollBack(to number: UInt64)
}

extension HoldfastError {
    /// The participant that refused, when one did.
    public var participant: Participant? { origin as? Participant }
}
