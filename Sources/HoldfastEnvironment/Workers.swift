internal import CHoldfastPlatform

/// Runs loops beside the callers. A store has its committer, its callback thread (with callback delivery), and its
/// engine's checkpointer; and, from the first time that they are needed, a thread for operations, one that follows the
/// commit log for streams, and one that deletes what expires. All stores of a process share the thread that calls
/// observers of futures of the host's own.
public protocol Workers: Sendable {
    /// Runs `step` again and again, never twice at once, as its answers say. Fails only when the system
    /// has no more threads.
    func start(name: String, step: @escaping @Sendable () -> NextStep) throws(HoldfastError) -> any Worker
}

/// What a step answers: when the next is due.
public enum NextStep: Sendable {
    case again
    /// At the next wake, or at this monotonic time if it comes first.
    case sleep(until: UInt64? = nil)
    /// Never.
    case finished
}

public protocol Worker: Sendable {
    /// Has the next step run soon. A wake during a step is not lost. Any thread.
    func wake()
    /// Whether the caller runs on this worker.
    var isCurrent: Bool { get }
    /// Waits until the last step, which answered `.finished`, has returned, at most until this monotonic time
    /// (nil: for ever). Answers whether it has. Not to be called by the worker itself.
    func waitUntilFinished(deadline: UInt64?) -> Bool
}

/// A worker that is started when it is first needed, and ends with its owner: a part of what its owner's lock guards.
public struct WorkerOnDemand: Sendable {
    private var worker: (any Worker)?
    public private(set) var isClosing = false

    public init() {}

    /// Whether it runs no more, and never will.
    public var isFinished: Bool { isClosing && worker == nil }
    public var isStarted: Bool { worker != nil }
    public var isCurrent: Bool { worker?.isCurrent ?? false }

    /// Starts it where it does not run. Not while its owner closes.
    public mutating func start(
        _ workers: any Workers, name: String, step: @escaping @Sendable () -> NextStep
    ) throws(HoldfastError) {
        if worker == nil { worker = try workers.start(name: name, step: step) }
    }

    public func wake() { worker?.wake() }

    /// Its next step is to be the last.
    public mutating func beginClosing() {
        isClosing = true
        wake()
    }

    /// By the last step.
    public mutating func finish() { worker = nil }
}

/// A thread for each worker.
public struct ThreadWorkers: Workers {
    public init() {}

    public func start(name: String, step: @escaping @Sendable () -> NextStep) throws(HoldfastError) -> any Worker {
        let worker = ThreadWorker(step: step)
        // The retain is given to the thread and taken back by its body below.
        let context = Unmanaged.passRetained(worker).toOpaque()
        let failure = hfplatform_thread_start(
            name, { Unmanaged<ThreadWorker>.fromOpaque($0!).takeRetainedValue().run() }, context)
        if failure != 0 {
            Unmanaged<ThreadWorker>.fromOpaque(context).release()
            throw HoldfastError(
                .noMemory, "the system gives no more threads (error \(failure)): close other stores, or raise the limit"
            )
        }
        return worker
    }
}

private final class ThreadWorker: Worker {
    private struct State {
        var thread: UInt64?
        var finished = false
    }

    private let step: Lock<(@Sendable () -> NextStep)?>
    private let state = Lock(State())
    private let signal = Gate()
    private let end = Gate()
    private let time = SystemTime()

    init(step: @escaping @Sendable () -> NextStep) { self.step = Lock(step) }

    func wake() { signal.advance() }

    var isCurrent: Bool { state.withLock { $0.thread } == hfplatform_thread_current() }

    func waitUntilFinished(deadline: UInt64?) -> Bool {
        while true {
            let seen = end.number
            if state.withLock({ $0.finished }) { return true }
            guard let deadline else {
                end.wait(while: seen)
                continue
            }
            let now = time.monotonicNanoseconds()
            if now >= deadline { return false }
            end.wait(while: seen, nanoseconds: deadline - now)
        }
    }

    func run() {
        state.withLock { $0.thread = hfplatform_thread_current() }
        let step = step.withLock { $0! }
        loop: while true {
            let seen = signal.number
            switch step() {
            case .again: continue
            case .sleep(let until):
                guard let until else {
                    signal.wait(while: seen)
                    continue
                }
                let now = time.monotonicNanoseconds()
                if now < until { signal.wait(while: seen, nanoseconds: until - now) }
            case .finished: break loop
            }
        }
        // The loop's closure holds what it works on; it goes before anyone is told that this is over.
        self.step.withLock { $0 = nil }
        state.withLock {
            $0.finished = true
            $0.thread = nil
        }
        end.advance()
    }
}
