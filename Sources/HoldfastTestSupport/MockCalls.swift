internal import Synchronization

/// What a mock was called for, and what it is to fail at.
public final class MockCalls<Function: Hashable & Sendable>: Sendable {
    private struct Failure: Sendable {
        var function: Function?
        /// Counted from 1, since the failure was set up; nil: always.
        var call: Int?
        var error: any Error
        var seen = 0
    }

    private struct State: Sendable {
        var counts: [Function: Int] = [:]
        var failures: [Failure] = []
    }

    private let state = Mutex(State())

    init() {}

    /// How often this function was called, calls that failed included.
    public func count(of function: Function) -> Int { state.withLock { $0.counts[function] ?? 0 } }

    /// How often any function was called.
    public var count: Int { state.withLock { $0.counts.values.reduce(0, +) } }

    /// Makes calls throw.
    /// - Parameters:
    ///   - function: Calls of this function; nil: of any.
    ///   - call: Which of them: the first from now on is 1. Nil: every one.
    ///   - error: What they throw.
    public func fail(_ function: Function? = nil, at call: Int? = nil, with error: any Error = MockError()) {
        state.withLock { $0.failures.append(Failure(function: function, call: call, error: error)) }
    }

    /// Forgets the counts, and lets every call succeed.
    public func reset() { state.withLock { $0 = State() } }

    /// Counts a call, and throws what it is to fail with.
    func record(_ function: Function) throws {
        let error = state.withLock { state -> (any Error)? in
            state.counts[function, default: 0] += 1
            var error: (any Error)?
            for index in state.failures.indices {
                let failure = state.failures[index]
                guard failure.function == nil || failure.function == function else { continue }
                state.failures[index].seen += 1
                if failure.call == nil || failure.call == failure.seen + 1 { error = error ?? failure.error }
            }
            return error
        }
        if let error { throw error }
    }
}

/// What a mock throws where nothing else is said.
public struct MockError: Error, Hashable, Sendable {
    /// An error like every other.
    public init() {}
}
