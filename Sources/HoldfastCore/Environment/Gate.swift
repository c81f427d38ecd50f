internal import CHoldfastPlatform

/// Threads wait here until a number moves on; one system call wakes them all.
///
///     while !condition() { let seen = gate.number; if condition() { break }; gate.wait(while: seen) }
public final class Gate: @unchecked Sendable {
    // Sendable: the words are only touched by the platform's atomic operations.
    private let words: UnsafeMutablePointer<hfp_gate>

    public init() {
        words = .allocate(capacity: 1)
        words.initialize(to: hfp_gate(number: 0, waiters: 0))
    }

    deinit { words.deallocate() }

    public var number: UInt32 { hfp_gate_number(words) }

    /// Returns when the number has moved on from `seen`, at the latest after `nanoseconds` (nil: never),
    /// and perhaps early: the caller checks its condition again.
    public func wait(while seen: UInt32, nanoseconds: UInt64? = nil) {
        hfp_gate_wait(words, seen, nanoseconds.map { Int64(clamping: $0) } ?? -1)
    }

    public func advance() { hfp_gate_advance(words) }
}
