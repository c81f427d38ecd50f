internal import HoldfastCore
internal import HoldfastEnvironment

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// An operation as a publisher: one value and `.finished`, or one failure, which is what the run has thrown, unchanged.
///
/// It is cold: a subscriber that asks for a value has the operation run, each its own time; one that asks for none
/// has nothing happen. The events come on a thread of Swift's pool, after the run. Cancelling before it begins prevents
/// it; a commit that is queued is withdrawn; what is committed stays. Nothing is heard any more then, except for an event that
/// another thread is telling just as it is cancelled.
///
/// A closure written in code of an actor, such as the main actor's, belongs there, and Swift ends the program where `sink`
/// calls it on another thread: `receive(on: MainActor.shared)` has the events told in the actor.
///
/// As an asynchronous sequence, a publisher has `values`.
public struct OperationPublisher<Result: Sendable>: Publisher, Sendable {
    public typealias Output = Result
    public typealias Failure = any Error

    fileprivate let operation: Operation<Result>

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        subscriber.receive(subscription: OperationRun(operation, AnySubscriber(subscriber)))
    }
}

extension Operation {
    /// Runs the operation for each subscriber: one value, or one failure.
    public var publisher: OperationPublisher<Result> { OperationPublisher(operation: self) }
}

/// One run, for one subscriber.
private final class OperationRun<Value: Sendable>: Subscription, @unchecked Sendable {
    // Sendable: all that changes is behind the lock. The subscriber, which promises nothing, is handed on as publishers
    // do: it is called by one thread at a time.

    private enum Stage {
        case subscribed
        case running(Task<Void, Never>)
        case ended
    }

    private let operation: Operation<Value>
    private let downstream: AnySubscriber<Value, any Error>
    private let stage = Lock(Stage.subscribed)

    init(_ operation: Operation<Value>, _ downstream: AnySubscriber<Value, any Error>) {
        self.operation = operation
        self.downstream = downstream
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        stage.withLock { stage in
            guard case .subscribed = stage else { return }
            stage = .running(Task { await self.run() })
        }
    }

    func cancel() {
        let task = stage.withLock { stage -> Task<Void, Never>? in
            defer { stage = .ended }
            if case .running(let task) = stage { return task }
            return nil
        }
        task?.cancel()
    }

    private func run() async {
        do {
            let value = try await operation.performAsync()
            guard isWanted else { return }
            // At most one comes, whatever more it asks for.
            _ = downstream.receive(value)
            end(.finished)
        } catch {
            end(.failure(error))
        }
    }

    private var isWanted: Bool {
        stage.withLock { if case .ended = $0 { false } else { true } }
    }

    private func end(_ completion: Subscribers.Completion<any Error>) {
        let isWanted = stage.withLock { stage -> Bool in
            defer { stage = .ended }
            if case .ended = stage { return false }
            return true
        }
        if isWanted { downstream.receive(completion: completion) }
    }
}
