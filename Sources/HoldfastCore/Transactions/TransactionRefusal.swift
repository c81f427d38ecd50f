internal import HoldfastEnvironment

/// Why a call on a transaction is refused by the state that it is in.
enum TransactionRefusal: UInt8, CaseIterable {
    case committing
    case committed
    case rolledBack
    case failed
    /// The call that runs the body ends it.
    case managed
    case scopeUnderWay
    case onlyValidators
    case validatorsAsked
    /// Another call of the Swift face is at its end.
    case beingEnded
    case notFailed
    // Of trees.
    case sealed
    case membersCalled
    case active
    case notActive
    case hasEnded
    /// The table says that it cannot be.
    case impossible

    var error: HoldfastError {
        switch self {
        case .committing: HoldfastError(.invalidState, "the transaction is being committed: begin a new one")
        case .committed: HoldfastError(.invalidState, "the transaction was committed: begin a new one")
        case .rolledBack: HoldfastError(.invalidState, "the transaction was rolled back: begin a new one")
        case .failed: HoldfastError(.invalidState, "the transaction has failed: begin a new one")
        case .managed:
            HoldfastError(
                .invalidState, "the transaction is ended by the call that runs this body: return instead")
        case .scopeUnderWay:
            HoldfastError(
                .invalidState,
                "a part of the transaction is still under way: end its scope, or wait for who is in it, and commit then"
            )
        case .onlyValidators:
            HoldfastError(
                .reentrant, "the transaction is just being validated: only validators may write and read in it")
        case .validatorsAsked:
            HoldfastError(
                .reentrant,
                "validators are just being asked about the transaction: end it, and use savepoints, outside of that")
        case .beingEnded:
            HoldfastError(.invalidState, "the transaction is just being validated or committed by another call")
        case .notFailed:
            HoldfastError(.invalidState, "the transaction has not failed: end it before it is begun again")
        case .sealed:
            HoldfastError(
                .busy, "the object tree is sealed until its submitted commit has ended: wait for its event")
        case .membersCalled:
            HoldfastError(
                .reentrant,
                "the members of the object tree are just being called: begin, commit and roll back outside of that")
        case .active:
            HoldfastError(
                .transactionActive, "the object tree is in a transaction already: end that first, or join it")
        case .notActive: HoldfastError(.transactionNotActive, "the object tree is in no transaction: begin one")
        case .hasEnded: HoldfastError(.invalidState, "the transaction has ended: begin a new one")
        case .impossible:
            HoldfastError(.internal, "the transaction was asked for what cannot come in the state that it is in")
        }
    }
}
