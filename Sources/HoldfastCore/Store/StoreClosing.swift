internal import HoldfastEnvironment
internal import HoldfastStorage
internal import Synchronization

/// How a store ends: new work is refused, what was accepted is finished and delivered, and the storage is let go.
/// The committer does it, step by step and without waiting, so that a close may be asked for from anywhere, the
/// callback thread included.
///
///     open → draining (commits end) → delivering (observers hear) → closed
final class StoreClosing: Sendable {
    private enum Step { case open, draining, delivering, closed }

    private struct State {
        var step = Step.open
        var failure: HoldfastError?
        /// When whoever follows the commits reads no longer.
        var followingEnds: UInt64?
    }

    private let parts: StoreParts
    private let state = Lock(State())
    private let begun = Atomic<Bool>(false)
    private let ended = Gate()

    /// For how many nanoseconds a server is waited for that says nothing.
    private let patience: UInt64

    init(_ parts: StoreParts, _ options: StoreOptions) {
        self.parts = parts
        patience = max(1_000, options.lockTimeoutMilliseconds) &* 1_000_000
    }

    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// Asks for the end. Returns at once.
    func begin() {
        let isFirst = state.withLock { state in
            guard state.step == .open else { return false }
            state.step = .draining
            return true
        }
        guard isFirst else { return }
        begun.store(true, ordering: .releasing)
        parts.queue.refuseNew()
        parts.retries.close()
        parts.operations.beginClosing()
        parts.services.beginClosing()
        parts.committer.wake()
    }

    /// Waits for the end at most until the monotonic deadline (nil: for ever). Answers whether it was reached. Where the host
    /// is asked and ends the wait, the store closes all the same.
    func wait(until deadline: UInt64?) throws(HoldfastError) -> Bool {
        while true {
            let seen = ended.number
            let (step, failure) = state.withLock { state in
                defer { if state.step == .closed { state.failure = nil } }
                return (state.step, state.failure)
            }
            if step == .closed {
                if let failure { throw failure }
                return true
            }
            guard let deadline else {
                try ended.waitAsking(while: seen)
                continue
            }
            let now = parts.environment.time.monotonicNanoseconds()
            if now >= deadline { return false }
            try ended.waitAsking(while: seen, nanoseconds: deadline - now)
        }
    }

    /// The committer's step when no batch waits.
    func step() -> NextStep {
        switch state.withLock({ $0.step }) {
        case .open:
            let due = [parts.snapshots.sweep(), parts.retries.sweep(), parts.queue.sweep()]
            return .sleep(until: due.compactMap(\.self).min())
        case .draining:
            guard parts.operations.isFinished, parts.services.isFinished else { return .sleep() }
            // Not before: operations commit what they were accepted for.
            parts.queue.beginClosing()
            guard parts.queue.isDrained else { return .sleep() }
            parts.deadlines.beginClosing()
            guard parts.deadlines.isFinished else { return .sleep() }
            parts.follower.beginClosing()
            guard parts.follower.isFinished else { return waitForFollower() }
            // A thread that is just opening a snapshot is done in a moment, and tells nobody.
            guard parts.snapshots.close() else { return endReads() }
            parts.delivery.close()
            state.withLock { $0.step = .delivering }
            return .again
        case .delivering:
            guard parts.delivery.isFinished else { return .sleep() }
            finish()
            return .finished
        case .closed: return .finished
        }
    }

    /// Streams are to hear of what was committed before, but not for as long as a read waits.
    private func waitForFollower() -> NextStep {
        guard parts.storage.isRemote else { return .sleep() }
        let now = parts.environment.time.monotonicNanoseconds()
        let end = state.withLock { state in
            let end = state.followingEnds ?? now &+ patience
            state.followingEnds = end
            return end
        }
        return now < end ? .sleep(until: end) : endReads()
    }

    /// Looks again soon: who has read meanwhile tells nobody that he does no more.
    private func endReads() -> NextStep {
        parts.storage.endReads()
        return .sleep(
            until: parts.environment.time.monotonicNanoseconds() &+ UInt64(parts.environment.limits.closingPoll))
    }

    private func finish() {
        var failure: HoldfastError?
        do throws(HoldfastError) {
            try parts.storage.close(head: parts.queue.head)
        } catch {
            failure = error
            parts.diagnostics.error("the store could not be closed cleanly", [("reason", .text(error.message))])
        }
        parts.validators.removeAll()
        parts.clock.set(nil)
        if failure == nil { parts.diagnostics.info("store closed") }
        parts.committer.set(nil)
        state.withLock { state in
            state.step = .closed
            state.failure = failure
        }
        ended.advance()
    }
}
