internal import HoldfastCore
internal import HoldfastEnvironment

/// A function of the host's on its way to a thread that may wait, and the task that waits for it without one.
private final class HostCall<Value: Sendable>: Sendable {
    private enum Stage {
        case waiting
        case running
        case ended(Result<Value, any Error>)
    }

    private struct State {
        var stage = Stage.waiting
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let body: @Sendable () throws -> Value
    /// The transaction that the task is in, which no thread inherits.
    private let scope = TransactionScope.current
    private let state = Lock(State())

    init(_ body: @escaping @Sendable () throws -> Value) { self.body = body }

    func result() async throws -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasEnded = state.withLock { state in
                    if case .ended = state.stage { return true }
                    state.waiter = continuation
                    return false
                }
                if hasEnded { return continuation.resume() }
                WaitingThreads.hosts.run { [self] in run() }
            }
        } onCancel: {
            // What runs cannot be stopped: its outcome is told.
            end(.failure(CancellationError())) { if case .waiting = $0 { true } else { false } }
        }
        let stage = state.withLock { $0.stage }
        guard case .ended(let result) = stage else { throw CancellationError() }
        return try result.get()
    }

    private func run() {
        let isWanted = state.withLock { state in
            guard case .waiting = state.stage else { return false }
            state.stage = .running
            return true
        }
        guard isWanted else { return }
        let result = Result { try TransactionScope.$current.withValue(scope) { try body() } }
        end(result) { _ in true }
    }

    private func end(_ result: Result<Value, any Error>, if isAllowed: (Stage) -> Bool) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard isAllowed(state.stage) else { return nil }
            state.stage = .ended(result)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}

/// Runs a function of the host's on a thread that may wait, unless the task is cancelled before it begins.
func onWaitingThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await HostCall(body).result()
}
