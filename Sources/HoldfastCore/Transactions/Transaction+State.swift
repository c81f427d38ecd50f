internal import CHoldfastPlatform
internal import HoldfastEnvironment

/// The table at work. What is called changes the state in place, or is inlined: a call that only reads it would copy all of it,
/// and count what it refers to.
extension Transaction.State {
    /// Where it stands: what was submitted may have ended meanwhile.
    @inline(__always)
    var current: TransactionState {
        guard stage == .committing, let submitted, submitted.isDone else { return stage }
        if case .success? = submitted.outcome { return .committed }
        return .failed
    }

    /// What the call is to bring it to: nil where it stays. Throws where it is refused.
    mutating func next(on call: TransactionCall) throws(HoldfastError) -> TransactionState? {
        try current.next(on: call, isValidator: validator == hfplatform_thread_current())
    }

    /// Refuses the call where the table does.
    mutating func check(_ call: TransactionCall) throws(HoldfastError) { _ = try next(on: call) }

    /// Whether the call is not refused.
    @inline(__always)
    func permits(_ call: TransactionCall) -> Bool {
        switch current.answer(to: call) {
        case .stay, .to: true
        case .onlyForValidators: validator == hfplatform_thread_current()
        case .refuse, .unreachable: false
        }
    }

    /// Where no commit follows: what validators wrote they write again when they are asked again.
    mutating func takeBackValidation() {
        guard let start = validationStart.take() else { return }
        _ = buffer.rollBack(to: start)
        buffer.release(start)
    }

    /// What came of a call that was let in.
    mutating func note(_ outcome: TransactionCall) { _ = stage.follow(outcome) }
}
