internal import HoldfastCore
internal import HoldfastEnvironment

/// An outcome for which one task waits, without a thread, until another thread tells it.
final class PendingOutcome<Outcome: Sendable>: Sendable {
    private struct State {
        var outcome: Outcome?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())

    func tell(_ outcome: Outcome) {
        let waiter = state.withLock { state in
            state.outcome = outcome
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits for it; to be called once, by whoever is sure to be told. When the task is cancelled, `withdraw` tries to take
    /// back what was begun; what really became of it is told.
    func outcome(withdraw: @Sendable () -> Void) async -> Outcome {
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
        // Read under the lock, which orders what the telling thread wrote before what the task reads now, also for
        // a thread sanitizer that does not see into the runtime's continuations.
        return state.withLock { $0.outcome! }
    }
}

/// What becomes of a commit that was submitted.
typealias CommitFuture = PendingOutcome<CommitOutcome>

extension PendingOutcome: CommitOwner, EventObserver, CommitObserver where Outcome == CommitOutcome {
    func committed(_ outcome: CommitOutcome) { tell(outcome) }

    var isHost: Bool { false }

    /// Once the submission was accepted.
    func receipt(withdraw: @Sendable () -> Void) async throws -> HoldfastCore.Receipt {
        let outcome = await outcome(withdraw: withdraw)
        return try translatingErrors { () throws(CoreError) in try outcome.get() }
    }
}

extension Store {
    /// Submits as soon as there is a slot under the store's limit; waits for one until the core's deadline (`.busy`), or until the
    /// task is cancelled. What throws was not submitted.
    nonisolated(nonsending) func withSlot(
        until deadline: UInt64, submit: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        let queue = core.queue
        if try translatingErrors({ () throws(CoreError) in try !queue.takeFreeSlot() }) {
            let slot = PendingOutcome<CoreError?>()
            let claim = try translatingErrors { () throws(CoreError) in
                try queue.claimSlot(until: deadline) { slot.tell($0) }
            }
            if let claim, let error = await slot.outcome(withdraw: { queue.cancelClaim(claim) }) {
                return try translatingErrors { () throws(CoreError) in throw error }
            }
        }
        do { try await submit() } catch {
            queue.delivered(1)
            throw error
        }
    }
}
