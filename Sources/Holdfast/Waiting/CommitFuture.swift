internal import HoldfastCore
internal import HoldfastEnvironment

/// A commit that was submitted and whose task waits, without a thread, until the store's callback thread tells how it
/// ended.
final class CommitFuture: CommitObserver {
    private struct State {
        var outcome: CommitOutcome?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())

    func committed(_ outcome: CommitOutcome) {
        let waiter = state.withLock { state in
            state.outcome = outcome
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits for the end; to be called once, after the submission was accepted. When the task is cancelled, `withdraw`
    /// tries to take the commit back; what really became of it is told.
    func receipt(withdraw: @Sendable () -> Void) async throws -> HoldfastCore.Receipt {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasEnded = state.withLock { state in
                    if state.outcome == nil { state.waiter = continuation }
                    return state.outcome != nil
                }
                if hasEnded { continuation.resume() }
            }
        } onCancel: {
            withdraw()
        }
        // Read under the lock, which orders what the committing thread wrote before what the task reads now, also for
        // a thread sanitizer that does not see into the runtime's continuations.
        let outcome = state.withLock { $0.outcome! }
        return try translatingErrors { () throws(CoreError) in try outcome.get() }
    }
}
