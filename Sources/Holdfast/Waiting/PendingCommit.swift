internal import HoldfastCore

/// A commit that was submitted and whose task waits, without a thread, until the store's callback thread tells how it
/// ended.
final class PendingCommit: CommitObserver {
    private enum State {
        case open
        case awaited(CheckedContinuation<CommitOutcome, Never>)
        case ended(CommitOutcome)
    }

    private let state = Lock(State.open)

    func committed(_ outcome: CommitOutcome) {
        let continuation = state.withLock { state -> CheckedContinuation<CommitOutcome, Never>? in
            defer { state = .ended(outcome) }
            if case .awaited(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume(returning: outcome)
    }

    /// Waits for the end; to be called once, after the submission was accepted. When the task is cancelled, `withdraw`
    /// tries to take the commit back; what really became of it is told.
    func receipt(withdraw: @Sendable () -> Void) async throws -> HoldfastCore.Receipt {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ended = state.withLock { state -> CommitOutcome? in
                    if case .ended(let outcome) = state { return outcome }
                    state = .awaited(continuation)
                    return nil
                }
                if let ended { continuation.resume(returning: ended) }
            }
        } onCancel: {
            withdraw()
        }
        return try translatingErrors { () throws(CoreError) in try outcome.get() }
    }
}
