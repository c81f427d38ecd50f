internal import HoldfastCore
internal import HoldfastEnvironment

/// Hears how far long work is: what is done, and all that is to be done where that is known. Called now and then, on a thread
/// of the library; what it throws gives the work up and is thrown by the call.
public typealias WorkProgress = @Sendable (_ done: Int, _ total: Int?) throws -> Void

/// Long work on a thread: its task's cancellation gives it up, and so does what the host's functions throw.
final class LongWork: Sendable {
    private struct State {
        var isCancelled = false
        var error: (any Error)?
    }

    private let progress: WorkProgress?
    private let state = Lock(State())

    private init(_ progress: WorkProgress?) { self.progress = progress }

    /// Runs `body` on one of the threads. It is to tell how far it is, and give up where that answers false.
    static func run<Value: Sendable>(
        on threads: WaitingThreads, _ progress: WorkProgress?,
        _ body: @escaping @Sendable (LongWork) throws(CoreError) -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let work = LongWork(progress)
        do {
            return try await withTaskCancellationHandler {
                try await threads.waiting { () throws(CoreError) in try body(work) }
            } onCancel: {
                work.state.withLock { $0.isCancelled = true }
            }
        } catch {
            throw work.state.withLock { $0.error } ?? error
        }
    }

    /// Answers whether the work is to go on.
    func tell(_ done: UInt64, _ total: UInt64) -> Bool {
        guard let progress else { return goesOn }
        do { try progress(Int(clamping: done), total == 0 ? nil : Int(clamping: total)) } catch { fail(error) }
        return goesOn
    }

    /// Calls a function of the host's, which the work cannot go on without.
    func calling<Value>(_ what: String, _ body: () throws -> Value) throws(CoreError) -> Value {
        do {
            return try body()
        } catch {
            fail(error)
            throw CoreError(.hostError, "the function that \(what) failed: \(EntityCoding.reason(error))")
        }
    }

    /// Whether nobody has given it up.
    var goesOn: Bool { state.withLock { !$0.isCancelled && $0.error == nil } }

    private func fail(_ error: any Error) { state.withLock { $0.error = $0.error ?? error } }
}
