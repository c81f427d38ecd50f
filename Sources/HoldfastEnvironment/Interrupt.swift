public import CHoldfastPlatform
internal import Synchronization

/// Asks the host, in the middle of a call, whether the call is to end: see `interrupt.h`.
///
/// Only the thread that makes a call is asked, if its host wants to be, and only where no lock is held and nothing is
/// lent, because whatever is asked may call the library. So what takes long is cut into stretches, with a question
/// between two of them; what cannot be cut runs on a thread of its own, while the caller waits and is asked.
public enum Interrupt {
    /// Calls the host's function `check` with its `user_data`.
    package typealias Asking = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Bool

    /// Has the calling thread be asked from now on; nil ends that. A thread of the library's, on which a function of the
    /// host's may call this, is not: it does other things besides.
    package static func set(
        _ asking: Asking?, _ check: UnsafeMutableRawPointer?, _ userData: UnsafeMutableRawPointer?
    ) {
        if hfplatform_thread_is_own() { return }
        let thread = hfplatform_thread_interrupt().unsafelyUnwrapped
        thread.pointee.ask = asking
        thread.pointee.check = check
        thread.pointee.user_data = userData
        thread.pointee.interval = UInt64((try? Limits.ofProcess.get())?.interruptInterval ?? Limits().interruptInterval)
        thread.pointee.due = 0
    }

    /// Whether the calling thread is to be asked at all. Costs a read.
    @usableFromInline package static var isWanted: Bool {
        @inlinable @inline(__always) get { hfplatform_interrupt_is_wanted() }
    }

    /// How long a thread that is to be asked may wait without a question.
    package static var interval: UInt64 { hfplatform_thread_interrupt().pointee.interval }

    /// Asks, if it is time. Throws `.cancelled` where the answer is that the call is to end.
    @inlinable
    package static func look() throws(HoldfastError) {
        if isWanted, try isAskedFor() { throw cancelled }
    }

    /// As `look`, in a wait for somebody else in which locks are held: what is asked there is refused, by `inside`, whatever
    /// could wait for them.
    package static func lookInside() throws(HoldfastError) {
        guard isWanted else { return }
        hfplatform_interrupt_set_inside(true)
        defer { hfplatform_interrupt_set_inside(false) }
        try look()
    }

    /// Whether this thread is just asked, and holds locks meanwhile. Costs a read.
    package static var isAskedInside: Bool {
        @inline(__always) get { hfplatform_interrupt_is_inside() }
    }

    package static let inside = HoldfastError(
        .reentrant,
        "the function that hf_interrupt_set_check was given was asked while its call waits for a server, where it may close "
            + "stores and do nothing else with them: let it return first")

    @usableFromInline package static let cancelled = HoldfastError(
        .cancelled, "the call was interrupted: the function that hf_interrupt_set_check was given said to end it")

    /// Asks once more, though it is not time, and whatever the answer: for a host that hears of an interrupt by being
    /// asked, before what it calls returns, or before a function of its own is called. Not where its answers take long.
    package static func hear() throws(HoldfastError) {
        guard isWanted else { return }
        let thread = hfplatform_thread_interrupt().unsafelyUnwrapped
        let now = SystemTime().monotonicNanoseconds()
        if thread.pointee.due <= now &+ thread.pointee.interval { thread.pointee.due = 0 }
        _ = try isAskedFor()
    }

    /// Does what must be done to the end, without being asked.
    @inlinable
    package static func silently<Result>(
        _ body: () throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let thread = hfplatform_thread_interrupt().unsafelyUnwrapped
        thread.pointee.silence += 1
        defer { thread.pointee.silence -= 1 }
        return try body()
    }

    /// Whether the call is to end. Throws where the host has forked, and this is the child.
    @usableFromInline
    package static func isAskedFor() throws(HoldfastError) -> Bool {
        let time = SystemTime()
        let thread = hfplatform_thread_interrupt().unsafelyUnwrapped
        let began = time.monotonicNanoseconds()
        guard began >= thread.pointee.due, let ask = thread.pointee.ask else { return false }
        let epoch = processEpoch()
        // What it calls is not asked again.
        thread.pointee.silence += 1
        let isToEnd = ask(thread.pointee.check, thread.pointee.user_data)
        thread.pointee.silence -= 1
        if processEpoch() != epoch { throw HoldfastError.forked }
        // A host whose answer takes long, because its threads stand in line for one lock, is asked less often.
        let now = time.monotonicNanoseconds()
        let interval = thread.pointee.interval
        thread.pointee.due = now &+ max(interval, min(2 &* interval, 8 &* (now &- began)))
        return isToEnd
    }
}

extension Gate {
    /// As `wait`, for a thread that makes a call, which is asked meanwhile. Also ends, to be called again, when it was time
    /// to ask. Throws `.cancelled` where the answer is that the call is to end, whatever has happened meanwhile.
    package func waitAsking(
        while seen: UInt32, for bits: UInt32 = .max, nanoseconds: UInt64? = nil
    ) throws(HoldfastError) {
        guard Interrupt.isWanted else { return wait(while: seen, for: bits, nanoseconds: nanoseconds) }
        wait(while: seen, for: bits, nanoseconds: min(nanoseconds ?? .max, Interrupt.interval))
        try Interrupt.look()
    }
}

extension Interrupt {
    /// Says that something is not wanted any more, or that it is kept: whichever is said first.
    public final class Flag: Sendable {
        private enum Value {
            static let open: UInt8 = 0
            static let set: UInt8 = 1
            static let kept: UInt8 = 2
        }

        private let value = Atomic(Value.open)

        public init() {}

        /// Answers false where it is kept.
        @discardableResult package func set() -> Bool { settle(Value.set) != Value.kept }
        /// Answers false where it is not wanted any more.
        package func keep() -> Bool { settle(Value.kept) != Value.set }
        package func clear() { value.store(Value.open, ordering: .releasing) }
        package var isSet: Bool { value.load(ordering: .acquiring) == Value.set }

        /// What was said first.
        private func settle(_ wanted: UInt8) -> UInt8 {
            value.compareExchange(expected: Value.open, desired: wanted, ordering: .acquiringAndReleasing).original
        }
    }

    /// Tells when a stretch of work is long enough for a question.
    @usableFromInline
    package struct Pace {
        @usableFromInline package static let steps = Limits.inForce.interruptSteps
        @usableFromInline package static let bytesOfStep = Limits.inForce.interruptStepBytes

        @usableFromInline package let isWanted: Bool
        @usableFromInline package var left = Pace.steps
        private var due: UInt64 = 0

        @usableFromInline
        package init() {
            isWanted = Interrupt.isWanted
            if isWanted { due = SystemTime().monotonicNanoseconds() &+ Interrupt.interval }
        }

        /// After each step.
        @inlinable @inline(__always)
        package mutating func isOver(_ bytes: Int = 0) -> Bool {
            if !isWanted { return false }
            left -= 1 + bytes / Self.bytesOfStep
            return left <= 0 && isTime()
        }

        @usableFromInline
        package mutating func isTime() -> Bool {
            left = Self.steps
            return SystemTime().monotonicNanoseconds() >= due
        }

        /// After each step, where a question may be asked.
        @inlinable @inline(__always)
        package mutating func look(_ bytes: Int = 0) throws(HoldfastError) {
            if isOver(bytes) { try ask() }
        }

        @usableFromInline
        package mutating func ask() throws(HoldfastError) {
            try Interrupt.look()
            due = SystemTime().monotonicNanoseconds() &+ Interrupt.interval
        }
    }

    /// Sorts, and asks meanwhile.
    @inlinable
    package static func sort<Element>(
        _ elements: inout [Element], by precedes: (Element, Element) -> Bool
    ) throws(HoldfastError) {
        guard isWanted else { return elements.sort(by: precedes) }
        var pace = Pace()
        do {
            try elements.sort { left, right throws in
                try pace.look()
                return precedes(left, right)
            }
        } catch {
            throw error as? HoldfastError ?? cancelled
        }
    }
}
