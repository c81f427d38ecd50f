internal import HoldfastEnvironment
internal import HoldfastStorage

/// The thread on which a store's asynchronous operations run, started at the first that needs it.
final class OperationWorker: Sendable {
    private struct State {
        var waiting: [OperationRun] = []
        /// Those that met a conflict, and when they are due.
        var delayed: [(due: UInt64, run: OperationRun)] = []
        var worker = WorkerOnDemand()
    }

    private let environment: Environment
    private let finished: @Sendable () -> Void
    private let state = Lock(State())

    /// `finished` hears that nothing runs any more.
    init(_ environment: Environment, finished: @escaping @Sendable () -> Void) {
        self.environment = environment
        self.finished = finished
    }

    /// Has a thread be there. Throws when none ever will: the store closes, or the system has no more threads.
    func start() throws(HoldfastError) {
        try state.withLock { state throws(HoldfastError) in try start(&state) }
    }

    /// Has a run proceed, not before the pause is over. Throws as `start`.
    func enqueue(_ run: OperationRun, after pause: UInt64 = 0) throws(HoldfastError) {
        let due = pause == 0 ? 0 : environment.time.monotonicNanoseconds() &+ pause
        try state.withLock { state throws(HoldfastError) in
            try start(&state)
            if due == 0 { state.waiting.append(run) } else { state.delayed.append((due, run)) }
            state.worker.wake()
        }
    }

    private func start(_ state: inout State) throws(HoldfastError) {
        if state.worker.isClosing { throw HoldfastError.storeClosed }
        try state.worker.start(environment.workers, name: "hf-operations") { [self] in step() }
    }

    var isCurrentThread: Bool { state.withLock { $0.worker }.isCurrent }

    /// What was accepted is run, and nothing else is.
    func beginClosing() { state.withLock { $0.worker.beginClosing() } }

    var isFinished: Bool { state.withLock { $0.worker.isFinished } }

    private func step() -> NextStep {
        let now = environment.time.monotonicNanoseconds()
        let (runs, isClosing, next) = state.withLock { state -> ([OperationRun], Bool, UInt64?) in
            var runs = state.waiting
            state.waiting = []
            let isClosing = state.worker.isClosing
            for entry in state.delayed where entry.due <= now || isClosing { runs.append(entry.run) }
            state.delayed.removeAll { $0.due <= now || isClosing }
            return (runs, isClosing, state.delayed.map(\.due).min())
        }
        for run in runs { run.proceed() }
        if !runs.isEmpty { return .again }
        guard isClosing else { return .sleep(until: next) }
        state.withLock { $0.worker.finish() }
        finished()
        return .finished
    }
}
