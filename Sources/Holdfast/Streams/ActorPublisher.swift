internal import HoldfastCore
internal import HoldfastEnvironment

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

extension Publisher where Output: Sendable {
    /// The publisher's events, told in an actor's isolation, one after the other: where a closure may be that belongs there.
    ///
    ///     songs.observe().publisher.receive(on: MainActor.shared).sink { … }     // in code of the main actor
    ///
    /// Publishers of this library tell on a thread of Swift's pool. A closure that is written in code of an actor belongs to
    /// that actor, whatever `sink` says, and Swift ends the program where it is called elsewhere.
    public func receive<Place: Actor>(on actor: Place) -> ActorPublisher<Self, Place> {
        ActorPublisher(upstream: self, actor: actor)
    }
}

/// A publisher whose events are told in an actor's isolation.
public struct ActorPublisher<Upstream: Publisher, Place: Actor>: Publisher where Upstream.Output: Sendable {
    public typealias Output = Upstream.Output
    public typealias Failure = Upstream.Failure

    let upstream: Upstream
    let actor: Place

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        upstream.receive(subscriber: ActorRun(AnySubscriber(subscriber), in: actor))
    }
}

extension ActorPublisher: Sendable where Upstream: Sendable {}

/// One subscription: hears on any thread, and tells in the actor.
private final class ActorRun<Input: Sendable, Failure: Error, Place: Actor>: Subscriber, Subscription,
    @unchecked Sendable
{
    // Sendable: all that changes is behind the lock. The subscriber, which promises nothing, is called in the actor alone
    // once it was told of its subscription.

    private enum Event: Sendable {
        case value(Input)
        case end(Subscribers.Completion<Failure>)
    }

    private struct State {
        /// Nil once it is to hear nothing any more.
        var downstream: AnySubscriber<Input, Failure>?
        var subscription: (any Subscription)?
    }

    private let state = Lock(State())
    private let events: AsyncStream<Event>.Continuation

    init(_ downstream: AnySubscriber<Input, Failure>, in actor: Place) {
        let (stream, continuation) = AsyncStream<Event>.makeStream()
        events = continuation
        state.withLock { $0.downstream = downstream }
        // Not a part of the transaction in which it is subscribed.
        Task.detached { [self] in
            for await event in stream { await tell(event, in: actor) }
        }
    }

    func receive(subscription: any Subscription) {
        let downstream = state.withLock { state in
            state.subscription = subscription
            return state.downstream
        }
        downstream?.receive(subscription: self)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        events.yield(.value(input))
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) { events.yield(.end(completion)) }

    func request(_ demand: Subscribers.Demand) { state.withLock { $0.subscription }?.request(demand) }

    func cancel() {
        let state = state.withLock { state in
            defer { state = State() }
            return state
        }
        events.finish()
        // Their ends are the host's code, and so outside the lock.
        withExtendedLifetime(state.downstream) { state.subscription?.cancel() }
    }

    private func tell(_ event: Event, in actor: isolated Place) {
        guard let downstream = state.withLock({ $0.downstream }) else { return }
        switch event {
        case .value(let value):
            let more = downstream.receive(value)
            if more > .none { request(more) }
        case .end(let completion):
            state.withLock { $0 = State() }
            events.finish()
            downstream.receive(completion: completion)
        }
    }
}
