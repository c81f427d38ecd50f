internal import Foundation

/// A lock around the state that it guards. Never held while the host's code runs. (The standard library's `Mutex` is invisible
/// to the thread sanitizer on Linux.)
final class Lock<State>: @unchecked Sendable {
    // Sendable although it holds mutable state: every access goes through `withLock`.
    private var state: State
    private let lock = NSLock()

    init(_ state: consuming sending State) { self.state = state }

    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&state)
    }
}
