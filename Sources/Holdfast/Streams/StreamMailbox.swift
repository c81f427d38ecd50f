internal import HoldfastCore
internal import HoldfastEnvironment

/// Where a stream's events wait for the task that takes them. The core knows what waits here, and where it is not taken
/// tells less often, and of more at once.
final class StreamMailbox: StreamObserver {
    private struct State {
        var events: [StreamEvent] = []
        var waiter: CheckedContinuation<Void, Never>?
        var stream: HoldfastCore.ChangeStream?
        var isCancelled = false
        /// Of the waits with an end of their own, the last, and whether that has come.
        var alarm: UInt64 = 0
        var isOver = false
    }

    private let state = Lock(State())
    let holdsLoad = true

    /// What fills it, unless it was cancelled meanwhile.
    func attach(_ stream: HoldfastCore.ChangeStream) {
        let isLate = state.withLock { state in
            if !state.isCancelled { state.stream = stream }
            return state.isCancelled
        }
        if isLate { stream.cancel() }
    }

    func received(_ event: StreamEvent) {
        let waiter = state.withLock { state in
            if !state.isCancelled { state.events.append(event) }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits for an event and takes it; answers nil when `sleep` ends before there is one. To be called by one task at a time,
    /// whose cancellation ends the stream.
    func next(within sleep: (@Sendable () async throws -> Void)? = nil) async throws -> StreamEvent? {
        guard let sleep else { return try await take() }
        let alarm = state.withLock { state in
            (state.alarm, state.isOver) = (state.alarm + 1, false)
            return state.alarm
        }
        let sleeper = Task.detached { [self] in
            // One that is woken by its cancellation is of no wait any more.
            try await sleep()
            ring(alarm)
        }
        defer {
            sleeper.cancel()
            state.withLock { ($0.alarm, $0.isOver) = ($0.alarm + 1, false) }
        }
        return try await take()
    }

    private func ring(_ alarm: UInt64) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.alarm == alarm else { return nil }
            defer { (state.waiter, state.isOver) = (nil, true) }
            return state.waiter
        }
        waiter?.resume()
    }

    private func take() async throws -> StreamEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if !state.events.isEmpty || state.isCancelled || state.isOver { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            // Runs under the task's own lock, for which whoever tells an event just now may be waiting, to wake the task.
            // So nothing is waited for here: the task itself lets go of the stream.
            stop()
        }
        let (event, stream) = try state.withLock { state in
            if state.isCancelled { throw CancellationError() }
            return (state.events.isEmpty ? nil : state.events.removeFirst(), state.stream)
        }
        guard let event else { return nil }
        stream?.handled()
        return event
    }

    /// Takes no more events, and wakes the task.
    private func stop() {
        let waiter = state.withLock { state in
            defer { (state.events, state.waiter, state.isCancelled) = ([], nil, true) }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Ends the stream: the core has let go of everything when this returns.
    func cancel() {
        stop()
        let stream = state.withLock { state in
            defer { state.stream = nil }
            return state.stream
        }
        stream?.cancel()
    }
}

/// A stream that an iteration holds: it is opened when its first event is asked for, and ends with the iteration, with its
/// task, or with an error.
final class StreamConsumer: Sendable {
    typealias Opening = @Sendable (StreamMailbox) async throws -> HoldfastCore.ChangeStream

    private enum Stage {
        case new(Opening)
        case open(HoldfastCore.ChangeStream)
        case ended
    }

    private let mailbox = StreamMailbox()
    private let stage: Lock<Stage>

    init(_ open: @escaping Opening) { stage = Lock(.new(open)) }

    deinit { mailbox.cancel() }

    /// What it is, once it is open.
    var stream: HoldfastCore.ChangeStream? { stage.withLock { if case .open(let stream) = $0 { stream } else { nil } } }

    /// The next event; nil after the end, which is thrown once, and where none comes before `sleep` ends.
    func next(within sleep: (@Sendable () async throws -> Void)? = nil) async throws -> StreamEvent? {
        do {
            try Task.checkCancellation()
            switch stage.withLock({ $0 }) {
            case .ended: return nil
            case .open: break
            case .new(let open):
                let stream = try await open(mailbox)
                mailbox.attach(stream)
                stage.withLock { $0 = .open(stream) }
            }
            let event = try await mailbox.next(within: sleep)
            if case .ended(let error) = event { throw HoldfastError(error) }
            if case .lost(let error) = event { throw HoldfastError(error) }
            return event
        } catch {
            end()
            throw error
        }
    }

    /// Nothing is taken any more.
    func end() {
        stage.withLock { $0 = .ended }
        mailbox.cancel()
    }
}
