#if canImport(Combine)
    internal import Combine
#else
    internal import OpenCombine
#endif

/// A request that goes on: hears what its publisher tells, and dispatches it, one result at a time. What comes while one is
/// still waiting to be handled is brought together, so that only the newest is kept.
final class RequestRun<Controller: PersistenceController>: Subscriber, @unchecked Sendable {
    // Sendable: all that changes is behind the lock. The subscription, which promises nothing, is cancelled outside it.
    typealias Input = PersistenceFetchResult<Controller.Element>
    typealias Failure = Controller.PersistenceError
    private typealias Kind = Controller.Action.Kind

    private struct State {
        var subscription: (any Subscription)?
        var hasEnded = false
        /// Whether a result was dispatched and not yet handled.
        var isOutstanding = false
        /// What is dispatched next.
        var next: Input?
        var end: Kind?
    }

    let number: UInt64
    private let request: Controller.Request
    private let output: @Sendable (Controller.Action.Kind) -> Void
    private let state = Lock(State())

    init(
        _ request: Controller.Request, _ number: UInt64, _ output: @escaping @Sendable (Controller.Action.Kind) -> Void
    ) {
        self.request = request
        self.number = number
        self.output = output
    }

    func receive(subscription: any Subscription) {
        let isWanted = state.withLock { state in
            if !state.hasEnded { state.subscription = subscription }
            return !state.hasEnded
        }
        if isWanted { subscription.request(.unlimited) } else { subscription.cancel() }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        let isNext = state.withLock { state in
            if state.hasEnded || state.end != nil { return false }
            if state.isOutstanding {
                // It is not known how it differs from the one that is being handled.
                state.next = Input(elements: input.elements, unreadable: input.unreadable)
                return false
            }
            state.isOutstanding = true
            return true
        }
        if isNext { output(.received(input, run: number)) }
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        let end: Kind =
            switch completion {
            case .finished: .requestFinished(run: number)
            case .failure(let error): .requestFailed(error, request, run: number)
            }
        let (isNext, subscription) = state.withLock { state in
            let subscription = state.subscription.take()
            if state.hasEnded || state.end != nil { return (false, subscription) }
            state.end = end
            return (!state.isOutstanding, subscription)
        }
        // Let go of without the lock: what its publisher does then is the host's affair.
        withExtendedLifetime(subscription) { if isNext { output(end) } }
    }

    /// A result of this run was handled: the next may come.
    func handled(_ run: UInt64) {
        guard run == number else { return }
        let next = state.withLock { state -> Kind? in
            if state.hasEnded { return nil }
            if let next = state.next {
                state.next = nil
                return .received(next, run: number)
            }
            state.isOutstanding = false
            return state.end
        }
        if let next { output(next) }
    }

    /// Nothing that comes later is dispatched. What another thread is dispatching just now is of a run that has ended, and
    /// changes nothing.
    func cancel() {
        let subscription = state.withLock { state in
            defer { state = State(hasEnded: true) }
            return state.subscription
        }
        subscription?.cancel()
    }
}
