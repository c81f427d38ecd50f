internal import CHoldfastPlatform

/// Threads wait here until a number moves on; one system call wakes them all.
///
///     while !condition() { let seen = gate.number; if condition() { break }; gate.wait(while: seen) }
public final class Gate: @unchecked Sendable {
    // Sendable: the words are only touched by the platform's atomic operations.
    private let words: UnsafeMutablePointer<hfplatform_gate>

    public init() {
        words = .allocate(capacity: 1)
        words.initialize(to: hfplatform_gate(number: 0, waiters: 0))
    }

    deinit { words.deallocate() }

    public var number: UInt32 { hfplatform_gate_number(words) }

    /// Returns when the number has moved on from `seen` and somebody was woken for one of the bits, at the latest after
    /// `nanoseconds` (nil: never), and perhaps early: the caller checks its condition again.
    public func wait(while seen: UInt32, for bits: UInt32 = .max, nanoseconds: UInt64? = nil) {
        hfplatform_gate_wait(words, seen, bits, nanoseconds.map { Int64(clamping: $0) } ?? -1)
    }

    /// Wakes all that wait for one of `bits`, and one that waits for one of `oneOf`.
    public func advance(waking bits: UInt32 = .max, andOneOf oneOf: UInt32 = 0) {
        hfplatform_gate_advance(words, bits, oneOf)
    }
}
