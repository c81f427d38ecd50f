internal import HoldfastCore
internal import HoldfastEnvironment

#if canImport(Combine)
    internal import Combine
#else
    internal import OpenCombine
#endif

/// An asynchronous sequence as a publisher, which iterates anew for each subscriber, as fast as that asks for values.
struct StreamPublisher<Sequence: AsyncSequence & Sendable>: Publisher where Sequence.Element: Sendable {
    typealias Output = Sequence.Element
    typealias Failure = HoldfastError

    /// Answers the sequence, for one subscriber.
    let open: @Sendable () async throws -> Sequence

    init(_ open: @escaping @Sendable () async throws -> Sequence) { self.open = open }

    func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        subscriber.receive(subscription: StreamRun(open, AnySubscriber(subscriber)))
    }
}

/// One iteration, for one subscriber.
private final class StreamRun<Sequence: AsyncSequence & Sendable>: Subscription, @unchecked Sendable
where Sequence.Element: Sendable {
    // Sendable: all that changes is behind the lock. The subscriber, which promises nothing, is handed on as publishers
    // do: it is called by one thread at a time.

    private struct State {
        /// Nil once it is to hear nothing any more.
        var downstream: AnySubscriber<Sequence.Element, HoldfastError>?
        var demand = Subscribers.Demand.none
        var task: Task<Void, Never>?
        /// Where the task waits for demand.
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let open: @Sendable () async throws -> Sequence
    private let state = Lock(State())

    init(
        _ open: @escaping @Sendable () async throws -> Sequence,
        _ downstream: AnySubscriber<Sequence.Element, HoldfastError>
    ) {
        self.open = open
        state.withLock { $0.downstream = downstream }
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.downstream != nil else { return nil }
            state.demand += demand
            // What is observed is what is committed, whatever transaction it is subscribed in.
            if state.task == nil { state.task = Task.detached { await self.run() } }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Nothing is told that was not begun to be told before.
    ///
    /// It does not wait for what another thread is just telling: a task that iterates the publisher's `values` calls it
    /// under the lock of that task, for which the other thread waits, to wake the task.
    func cancel() {
        let (downstream, task, waiter) = state.withLock { state in
            defer { (state.downstream, state.waiter) = (nil, nil) }
            return (state.downstream, state.task, state.waiter)
        }
        // Its end is the host's code, which may call back in, and so is outside the lock.
        withExtendedLifetime(downstream) {
            task?.cancel()
            waiter?.resume()
        }
    }

    // MARK: The iteration

    private func run() async {
        do {
            var iterator = try await open().makeAsyncIterator()
            while await isAskedFor(), let value = try await iterator.next() {
                guard let downstream = state.withLock({ $0.downstream }) else { return }
                let more = downstream.receive(value)
                state.withLock { $0.demand += more }
            }
        } catch is CancellationError {
            // Whoever has cancelled hears nothing.
        } catch {
            end(.failure(HoldfastError(wrapping: error)))
        }
    }

    /// Waits until a value is asked for. False when none is wanted any more.
    private func isAskedFor() async -> Bool {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.demand > .none || state.downstream == nil { return true }
                state.waiter = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
        return state.withLock { state in
            guard state.downstream != nil else { return false }
            state.demand -= 1
            return true
        }
    }

    private func end(_ completion: Subscribers.Completion<HoldfastError>) {
        let downstream = state.withLock { state in
            defer { state.downstream = nil }
            return state.downstream
        }
        downstream?.receive(completion: completion)
    }
}
