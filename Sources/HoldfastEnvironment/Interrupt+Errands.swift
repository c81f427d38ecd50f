internal import CHoldfastPlatform
internal import Synchronization

extension Interrupt {
    /// Runs on a thread of its own what takes long and cannot ask, while this thread waits and is asked. Where the answer
    /// is that the call is to end, `stop` is called, on this thread, to have the work end soon; what has not ended a moment
    /// later goes on without the caller, so it may use nothing of the caller's. What it comes to before counts, and so does
    /// what it came to while the host was asked. Where `stop` answers false, what the work does is kept, and its end is
    /// waited for. A thread that is not asked does the work itself.
    package static func whileAsking<Value: Sendable>(
        _ limits: Limits, stop: () -> Bool = { true }, _ work: @escaping @Sendable () throws(HoldfastError) -> Value
    ) throws(HoldfastError) -> Value {
        guard isWanted else { return try work() }
        let errand = Errand(work)
        // Without a thread nobody is asked.
        guard errand.begin() else { return try work() }
        while true {
            if let outcome = errand.outcome(within: interval) { return try outcome.get() }
            do throws(HoldfastError) {
                try look()
            } catch {
                // Else the host has forked, and this is the child, which has no such thread.
                guard error.status == .cancelled else { throw error }
                let grace = stop() ? UInt64(limits.interruptGrace) : .max
                if case .success(let value)? = errand.outcome(within: grace) { return value }
                throw error
            }
        }
    }
}

/// Work on a thread of its own.
private final class Errand<Value: Sendable>: Sendable {
    private typealias Work = @Sendable () throws(HoldfastError) -> Value

    // What came of the work goes before what it rests on.
    private let result = Lock<Result<Value, HoldfastError>?>(nil)
    private let work: Lock<Work?>
    private let isOver = Atomic(false)
    private let end = Gate()

    init(_ work: @escaping @Sendable () throws(HoldfastError) -> Value) { self.work = Lock(work) }

    /// Answers false where there is no thread to be had.
    func begin() -> Bool {
        let body = Unmanaged.passRetained(Body { [self] in run() })
        let failure = hfplatform_thread_start(
            "hf-errand", { Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run() }, body.toOpaque())
        if failure != 0 { body.release() }
        return failure == 0
    }

    /// By the time that it is over this thread refers to nothing of the work's any more: whoever waits for it may rely on it
    /// that what nobody else refers to, such as a store's file, is free as soon as it lets go of that itself.
    private func run() {
        settle(perform())
        isOver.store(true, ordering: .releasing)
        end.advance()
    }

    @inline(never)
    private func perform() -> Result<Value, HoldfastError> {
        let work = work.withLock { $0 }
        return Result { () throws(HoldfastError) in try work.unsafelyUnwrapped() }
    }

    @inline(never)
    private func settle(_ outcome: Result<Value, HoldfastError>) { result.withLock { $0 = outcome } }

    private var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Its outcome, once, and with it what it rests on; nil where it has not ended by then. `.max`: however long it takes.
    func outcome(within nanoseconds: UInt64) -> Result<Value, HoldfastError>? {
        let time = SystemTime()
        let began = time.monotonicNanoseconds()
        let deadline = began.addingReportingOverflow(nanoseconds).overflow ? .max : began + nanoseconds
        while true {
            let seen = end.number
            if hasEnded { return take() }
            let now = time.monotonicNanoseconds()
            if now >= deadline { return nil }
            end.wait(while: seen, nanoseconds: deadline - now)
        }
    }

    private func take() -> Result<Value, HoldfastError>? {
        defer { work.withLock { $0 = nil } }
        return result.withLock { result in
            defer { result = nil }
            return result
        }
    }
}

/// What a thread is started with.
private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
