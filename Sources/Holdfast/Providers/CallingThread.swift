internal import HoldfastCore
internal import HoldfastEnvironment

/// Runs asynchronous functions of the host's on the thread that waits for them, which is none of Swift's pool.
///
/// So neither waits for the other: however many threads wait for functions of the host's, each brings the thread on which
/// its function runs. What the function itself awaits elsewhere, it awaits without a thread.
final class CallingThread: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isOver = false
    }

    private let state = Lock(State())
    private let gate = Gate()

    /// Runs `body` as a task of its own, and returns or throws what comes of it.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let thread = CallingThread()
        let result = Lock<Result<Value, any Error>?>(nil)
        Task.detached(executorPreference: thread) {
            let value: Result<Value, any Error>
            do { value = .success(try await body()) } catch { value = .failure(error) }
            result.withLock { $0 = value }
            thread.gate.advance()
        }
        while true {
            let seen = thread.gate.number
            if let job = thread.next(isOver: { result.withLock { $0 != nil } }) {
                job.runSynchronously(on: thread.asUnownedTaskExecutor())
            } else if let result = result.withLock({ $0 }) {
                return try result.get()
            } else {
                thread.gate.wait(while: seen)
            }
        }
    }

    /// The oldest job; without one, it takes note whether no more will be run here.
    private func next(isOver: () -> Bool) -> UnownedJob? {
        state.withLock { state in
            if !state.jobs.isEmpty { return state.jobs.removeFirst() }
            state.isOver = isOver()
            return nil
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOver = state.withLock { state in
            if !state.isOver { state.jobs.append(job) }
            return state.isOver
        }
        // What an actor has left to do after the function's end.
        if isOver { globalConcurrentExecutor.enqueue(ExecutorJob(job)) } else { gate.advance() }
    }
}
