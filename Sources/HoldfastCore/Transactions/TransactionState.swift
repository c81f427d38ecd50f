internal import HoldfastEnvironment

/// Where a transaction stands. `answer(to:)` is the table of what each call makes of it.
///
/// A store's transaction holds one under its own lock, the object trees that end with it hold one under the trees' lock,
/// for they are told of the end later and elsewhere; a tree alone is a transaction without a store, and holds the second
/// only.
///
///     open ─ validate ─> validating ─ accepted ─> sealed ─ store ─> committing ─ stored ─> committed
///      │ <── refused ──────┘                        │                  ├─ notAccepted ─> open
///      │ <── reopen ────────────────────────────────┘                  └─ failed ──────> failed
///      ├─ commit, where nobody is to be asked ─> committing
///      ├─ rollback ─> rolledBack
///      └─ giveUp ──> failed
///     open ─ claim ─> claimed ─ seal ─> validating … sealed ─ keep ─> ready ─ store ─> committing
///
///     and of the trees, from open or sealed:
///     commitTrees ───> notifyingCommit ─ notified ─> committed, or commitTreesLater ─> heldCommit ─ release ─> notifyingCommit
///     rollBackTrees ─> notifyingRollback ─ notified ─> rolledBack, or rollBackTreesLater ─> heldRollback ─ release ─> …
public enum TransactionState: UInt8, Sendable, CaseIterable {
    /// It may be read and written in, and be ended.
    case open
    /// The same, while one call of the Swift face is at its end: another is refused.
    case ending
    /// Of trees: the same, while members are called, who must not have them called again.
    case calling
    /// Kept for the thread that is to ask validators.
    case claimed
    /// Validators are asked, and only the thread that asks them may go on.
    case validating
    /// Everybody has accepted: nothing can be changed any more before the commit, or before it is opened again.
    case sealed
    /// The same, for a commit that comes by another call.
    case ready
    /// Its commit is being stored.
    case committing
    /// Of trees: it has ended, and is still sealed until somebody tells the members in their place.
    case heldCommit
    case heldRollback
    /// Of trees: their members are notified.
    case notifyingCommit
    case notifyingRollback
    case committed
    case rolledBack
    case failed

    /// Whether it can still be ended one way or the other.
    var isOpen: Bool {
        switch self {
        case .open, .ending, .calling, .claimed, .validating, .sealed, .ready: true
        case .committing, .heldCommit, .heldRollback, .notifyingCommit, .notifyingRollback, .committed, .rolledBack,
            .failed:
            false
        }
    }

    /// Whether members of trees are notified of the end.
    var isNotifying: Bool { self == .notifyingCommit || self == .notifyingRollback }

    var hasEnded: Bool { self == .committed || self == .rolledBack || self == .failed }

    /// What a host is told.
    public enum Phase: Sendable {
        case open
        case committing
        case committed
        case rolledBack
        case failed
    }

    var phase: Phase {
        switch self {
        case .open, .ending, .calling, .claimed, .validating, .sealed, .ready: .open
        case .committing, .heldCommit, .heldRollback, .notifyingCommit, .notifyingRollback: .committing
        case .committed: .committed
        case .rolledBack: .rolledBack
        case .failed: .failed
        }
    }
}

/// What is done with a transaction, and what comes of it.
enum TransactionCall: UInt8, CaseIterable {
    // A store's.

    /// Reads, writes, begins a scope, takes one back.
    case use
    /// Has the members of its trees called: a savepoint, and going back to it.
    case change
    case enlist
    case validate
    /// Its end begins, and there is somebody to be asked, or nobody.
    case claim
    case claimInVain
    /// Validates what was claimed.
    case seal
    /// Commits where nobody is to be asked.
    case commit
    /// Commits what is sealed.
    case store
    /// The same two while a scope is under way.
    case commitAroundScope
    /// The same by the body of a call that commits by itself.
    case commitFromBody
    case rollback
    case rollbackFromBody
    /// Nothing can be stored any more.
    case giveUp
    case retry
    case retryFromBody
    /// No commit comes for what was claimed.
    case letGo
    /// What was validated waits for another call.
    case keep
    /// What became of the commit; `notAccepted`: there was no slot for it.
    case stored
    case notAccepted
    case failed

    // Of both.

    /// Everybody has accepted, or somebody has refused.
    case accepted
    case refused
    /// No commit comes for what was validated.
    case reopen

    // Of trees.

    /// Another tree comes, or another member.
    case enlistTree
    /// Members come, go, begin a scope.
    case rearrange
    /// Another transaction wants its trees.
    case beginAnother
    /// Has members called.
    case callMembers
    case validateTrees
    case commitTrees
    case commitTreesLater
    case rollBackTrees
    case rollBackTreesLater
    /// Tells members of the end that was held.
    case release
    /// All members were notified.
    case notified
    /// Its last member was freed, so that nobody can end it.
    case desert
}

extension TransactionState {
    enum Answer: Equatable {
        /// It is done, or there is nothing to do.
        case stay
        case to(TransactionState)
        /// It is done, but only on the thread that asks validators.
        case onlyForValidators
        case refuse(TransactionRefusal)
        /// No such call comes in this state.
        case unreachable
    }

    /// The table.
    func answer(to call: TransactionCall) -> Answer {
        switch call {
        case .use:
            switch self {
            case .open, .ending: .stay
            case .validating: .onlyForValidators
            case .claimed, .ready, .sealed: .refuse(.onlyValidators)
            default: over
            }
        case .change: whileUnsealed(.stay)
        case .enlist:
            switch self {
            case .open, .ending: .stay
            case .validating: .onlyForValidators
            case .claimed, .ready, .sealed, .committing: .refuse(.sealed)
            default: over
            }
        case .validate: whileUnsealed(.to(.validating))
        case .claim: whileNobodyEnds(.to(.claimed))
        case .claimInVain: whileNobodyEnds(.to(.ending))
        case .seal: whileOpen(self == .claimed ? .to(.validating) : .unreachable)
        case .commit: whileUnsealed(.to(.committing))
        case .store: whileOpen(self == .sealed || self == .ready ? .to(.committing) : .unreachable)
        case .commitAroundScope: whileOpen(.refuse(.scopeUnderWay))
        case .commitFromBody: whileOpen(.refuse(.managed))
        case .rollback: self == .rolledBack ? .stay : whileUnsealed(.to(.rolledBack))
        case .rollbackFromBody: self == .rolledBack ? .stay : ofStore(.refuse(.managed))
        case .giveUp: self == .open || self == .ending ? .to(.failed) : ofStore(.stay)
        case .retry: self == .failed || self == .rolledBack ? .stay : ofStore(.refuse(.notFailed))
        case .retryFromBody: self == .failed || self == .rolledBack ? .refuse(.managed) : ofStore(.refuse(.notFailed))
        case .letGo:
            switch self {
            case .ending, .claimed, .ready: .to(.open)
            default: ofStore(.stay)
            }
        case .keep: self == .sealed ? .to(.ready) : .unreachable
        case .stored: self == .committing ? .to(.committed) : .unreachable
        case .notAccepted: self == .committing ? .to(.open) : .unreachable
        case .failed: self == .committing ? .to(.failed) : .unreachable

        case .accepted: self == .validating ? .to(.sealed) : .unreachable
        case .refused: self == .validating ? .to(.open) : .unreachable
        case .reopen:
            switch self {
            case .sealed, .ready: .to(.open)
            default: .stay
            }

        case .enlistTree:
            switch self {
            case .open, .calling, .validating: .stay
            case .committed, .rolledBack: .refuse(.hasEnded)
            default: ofTrees(.refuse(.membersCalled))
            }
        case .rearrange: ofTrees(.stay)
        case .beginAnother:
            switch self {
            case .open: .refuse(.active)
            case .committed, .rolledBack: .stay
            default: ofTrees(.refuse(.membersCalled))
            }
        case .callMembers: whileQuiet(.stay)
        case .validateTrees: whileQuiet(.to(.validating))
        case .commitTrees: ending(in: .notifyingCommit)
        case .commitTreesLater: ending(in: .heldCommit)
        case .rollBackTrees: ending(in: .notifyingRollback)
        case .rollBackTreesLater: ending(in: .heldRollback)
        case .release:
            switch self {
            case .heldCommit: .to(.notifyingCommit)
            case .heldRollback: .to(.notifyingRollback)
            default: ofTrees(.stay, isSealed: .stay)
            }
        case .notified:
            switch self {
            case .notifyingCommit: .to(.committed)
            case .notifyingRollback: .to(.rolledBack)
            default: .unreachable
            }
        case .desert: self == .open ? .to(.rolledBack) : ofTrees(.stay, isSealed: .stay)
        }
    }

    // MARK: The table at work

    /// What the call is to bring it to: nil where it stays. Throws where it is refused. `isValidator`: whether the caller is
    /// the one who asks validators.
    func next(
        on call: TransactionCall, isValidator: @autoclosure () -> Bool = false
    ) throws(HoldfastError) -> TransactionState? {
        switch answer(to: call) {
        case .stay: return nil
        case .to(let next): return next
        case .onlyForValidators:
            if isValidator() { return nil }
            throw TransactionRefusal.onlyValidators.error
        case .refuse(let refusal): throw refusal.error
        case .unreachable: throw TransactionRefusal.impossible.error
        }
    }

    /// Goes where a call brings it that was let in. Answers whether it has gone anywhere.
    mutating func follow(_ call: TransactionCall) -> Bool {
        guard case .to(let next) = answer(to: call) else { return false }
        self = next
        return true
    }

    // MARK: What rows have in common

    /// For what only a store's transaction is asked.
    private func ofStore(_ answer: Answer) -> Answer {
        switch self {
        case .calling, .heldCommit, .heldRollback, .notifyingCommit, .notifyingRollback: .unreachable
        default: answer
        }
    }

    private func whileOpen(_ answer: Answer) -> Answer { isOpen ? ofStore(answer) : over }

    private var over: Answer {
        switch self {
        case .committing: .refuse(.committing)
        case .committed: .refuse(.committed)
        case .rolledBack: .refuse(.rolledBack)
        case .failed: .refuse(.failed)
        default: .unreachable
        }
    }

    /// Not under the feet of validators, and before anything is changed.
    private func whileUnsealed(_ answer: Answer) -> Answer {
        whileOpen(self == .open || self == .ending ? answer : .refuse(.validatorsAsked))
    }

    private func whileNobodyEnds(_ answer: Answer) -> Answer {
        if self == .open { return answer }
        return hasEnded ? over : ofStore(.refuse(.beingEnded))
    }

    /// For what only trees are asked.
    private func ofTrees(_ answer: Answer, isSealed: Answer = .refuse(.sealed)) -> Answer {
        switch self {
        case .ending, .claimed, .ready, .committing, .failed: .unreachable
        case .sealed, .heldCommit, .heldRollback: isSealed
        default: answer
        }
    }

    /// While no member is called.
    private func whileQuiet(_ answer: Answer) -> Answer {
        switch self {
        case .open: answer
        case .committed, .rolledBack: .refuse(.notActive)
        default: ofTrees(.refuse(.membersCalled))
        }
    }

    /// Of what has ended, or is just being ended, there is nothing to do.
    private func ending(in last: TransactionState) -> Answer {
        switch self {
        case .open, .calling, .sealed: .to(last)
        default: ofTrees(.stay, isSealed: .stay)
        }
    }
}
