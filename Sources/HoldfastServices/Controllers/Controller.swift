internal import CHoldfastPlatform
public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery

/// For whom a controller works. As an observer it is told `.state` where there is a new one.
public protocol ControllerHost: StreamObserver {
    /// Sees an action before the reducer does, and the state as it is before. One call at a time, on the thread that
    /// handles the action.
    func willHandle(_ action: ControllerAction, _ state: ControllerState)
    /// `willHandle` is not called any more. (`cancelled` says so of `received`.)
    func closed()
}

/// Persistence with one direction of flow: actions go in, the reducer makes of action and state the next state, effects
/// do the work and tell its outcome as actions. `controller.h` describes it.
///
/// Actions are handled one after the other by whichever thread comes first; others leave theirs to it.
public final class Controller: Sendable {
    private struct Entry {
        var action: ControllerAction
        /// What tells of it: of no interest any more once the request has another.
        var source: LiveRequest?
    }

    private struct Work {
        var state = ControllerState()
        /// What was taken in; what stands before `next` was handled.
        var entries: [Entry] = []
        var next = 0
        /// How many actions were taken in, and how many of them were handled.
        var accepted: UInt64 = 0
        var handled: UInt64 = 0
        /// The thread that handles actions, and the number up to which it does.
        var handler: UInt64?
        var limit: UInt64 = 0
        var live: [EntityID: LiveRequest] = [:]
        /// Of the saves and deletes that are under way. Not these themselves, which hold the controller: what has ended lets
        /// go of them, also where its news are never taken.
        var futures: [ProcessRun.Name: [ObjectIdentifier: Future]] = [:]
        var host: (any ControllerHost)?
        var isClosed = false

        /// Makes a thread the handler of what waits up to this number.
        mutating func begin(_ thread: UInt64, upTo number: UInt64) -> Bool {
            guard handler == nil, hasMore, handled < number else { return false }
            handler = thread
            limit = number
            return true
        }

        /// The next to be handled; with the last the handler is none any more.
        mutating func take() -> Entry? {
            guard hasMore, handled < limit else {
                handler = nil
                return nil
            }
            defer {
                next += 1
                if next > Limits.inForce.passedPlaces && next * 2 > entries.count {
                    entries.removeFirst(next)
                    next = 0
                }
            }
            return entries[next]
        }

        var hasMore: Bool { next < entries.count }
    }

    let repository: Repository
    private let work: Lock<Work>
    private let progress = Gate()
    /// Tells of new states.
    private let outbox: StreamOutbox
    /// Tells this controller that a thread which handled actions has left some.
    private let leftovers: StreamOutbox

    private var store: Store { repository.store }

    public init(_ repository: Repository, for host: any ControllerHost) throws(HoldfastError) {
        try repository.store.requireOpen()
        self.repository = repository
        work = Lock(Work(host: host))
        outbox = StreamOutbox(host, repository.store.delivery, drained: {})
        let successor = Successor()
        leftovers = StreamOutbox(successor, repository.store.delivery, drained: {})
        successor.controller.withLock { $0 = self }
    }

    public var state: ControllerState { work.withLock { $0.state } }

    // MARK: Dispatching

    /// An action of the host's; what begins without a token or id gets a new one.
    public func dispatch(json: UnsafeRawBufferPointer) throws(HoldfastError) {
        try dispatch(ControllerAction(json: json, assigning: store.assignID))
    }

    /// Returns when the action was handled, or at once inside the middleware, after which it is handled. It is handled all
    /// the same where the host ends the wait.
    public func dispatch(_ action: ControllerAction) throws(HoldfastError) {
        guard let number = accept(Entry(action: action)) else { return }
        let thread = hfplatform_thread_current()
        while true {
            try handle(upTo: number)
            let seen = progress.number
            let (isHandled, handler) = work.withLock { ($0.handled >= number || $0.isClosed, $0.handler) }
            if isHandled { break }
            if handler == thread { return }
            if handler != nil { try progress.waitAsking(while: seen) }
        }
        if action.isCancellation { outbox.waitForCall() }
    }

    /// For effects, on whatever thread they end: waits for nobody.
    func tell(_ action: ControllerAction, from source: LiveRequest? = nil) {
        guard let number = accept(Entry(action: action, source: source)) else { return }
        // A process that was forked by the middleware has nobody to tell.
        try? handle(upTo: number, isDelivery: true)
    }

    /// Answers its number; nil when nobody wants to know any more.
    private func accept(_ entry: Entry) -> UInt64? {
        work.withLock { work in
            if work.isClosed { return nil }
            work.entries.append(entry)
            work.accepted += 1
            // What is told or dispatched in the course of handling belongs to it.
            if work.handler == hfplatform_thread_current() { work.limit = work.accepted }
            return work.accepted
        }
    }

    // MARK: Handling

    /// Handles what waits, up to this number, unless another thread, or this one, is at it. Whoever waits for an action
    /// goes on with the rest, or else the thread that delivers. `isDelivery`: this is that thread.
    private func handle(upTo number: UInt64, isDelivery: Bool = false) throws(HoldfastError) {
        let thread = hfplatform_thread_current()
        var number = number
        repeat {
            guard work.withLock({ $0.begin(thread, upTo: number) }) else { return }
            while let entry = work.withLock({ $0.take() }) {
                try handle(entry, isDelivery)
                work.withLock { $0.handled += 1 }
                progress.advance()
            }
            progress.advance()
            // Where the store is closed, and nobody delivers, this thread does it all.
            number = .max
        } while work.withLock { $0.hasMore } && !post(leftovers, whileDelivering: isDelivery)
        notifyClosed()
    }

    /// Handles what another thread has left, on the thread that delivers.
    fileprivate func handleLeftovers() {
        try? handle(upTo: work.withLock { $0.accepted }, isDelivery: true)
    }

    /// Has an outbox's observer told, unless that is on its way already. False: the store is closed.
    private func post(_ outbox: StreamOutbox, whileDelivering isDelivery: Bool) -> Bool {
        if outbox.load(awaitedIf: { _ in false }).events > 0 { return true }
        let news = outbox.notice(.state)
        if store.delivery.post([news], whileDelivering: isDelivery) { return true }
        if case .stream(let notice) = news { _ = outbox.take(notice) }
        return false
    }

    private func handle(_ entry: Entry, _ isDelivery: Bool) throws(HoldfastError) {
        guard try show(entry) else { return }
        let hasChanged = work.withLock { $0.isClosed ? false : $0.state.reduce(entry.action) }
        begin(entry.action)
        // News that are on their way will find this state, too.
        if hasChanged { _ = post(outbox, whileDelivering: isDelivery) }
    }

    /// Shows the action to the host. False for what comes too late to be an action at all.
    private func show(_ entry: Entry) throws(HoldfastError) -> Bool {
        let host = work.withLock { work in
            let isLate = entry.source.map { work.live[$0.token] !== $0 } ?? false
            return isLate || work.isClosed ? nil : work.host
        }
        guard let host else { return false }
        host.willHandle(entry.action, state)
        try store.requireSameProcess()
        return true
    }

    // MARK: Effects

    private func begin(_ action: ControllerAction) {
        switch action {
        case .begin(let process, let id, let element, let isMissingAllowed):
            let run = ProcessRun(self, process, id, element)
            do throws(HoldfastError) {
                try run.begin(isMissingAllowed: isMissingAllowed)
            } catch { run.fail(error) }
        case .cancel(let process, let id):
            let futures = work.withLock { $0.futures[ProcessRun.Name(process: process, id: id)] } ?? [:]
            // Their failure is told as any other; what is too late for that goes on.
            for future in futures.values { try? future.cancel() }
        case .request(let token, let request):
            replaceLive(token, by: LiveRequest(self, token, request))?.end()
            work.withLock { $0.live[token] }?.begin()
        case .cancelRequest(let token), .received(let token, _), .requestFailed(let token, _, _):
            endWhatIsOver(token, action)
        case .succeeded, .failed: break
        }
    }

    func hasBegun(_ run: ProcessRun, _ future: Future) {
        work.withLock { $0.futures[run.name, default: [:]][ObjectIdentifier(run)] = future }
    }

    func hasEnded(_ run: ProcessRun) {
        work.withLock { work in
            work.futures[run.name]?.removeValue(forKey: ObjectIdentifier(run))
            if work.futures[run.name]?.isEmpty == true { work.futures[run.name] = nil }
        }
    }

    private func endWhatIsOver(_ token: EntityID, _ action: ControllerAction) {
        let (request, run) = work.withLock { work -> (ControllerState.RequestEntry?, LiveRequest?) in
            if work.state.isLive(token) { return (nil, nil) }
            return (work.state.requests[token], work.live.removeValue(forKey: token))
        }
        guard let run else { return }
        run.end()
        // It was a change that does not fit.
        if let request, case .received = action { _ = accept(Entry(action: .request(token, request: request.request))) }
    }

    private func replaceLive(_ token: EntityID, by run: LiveRequest) -> LiveRequest? {
        work.withLock { work in
            defer { if !work.isClosed { work.live[token] = run } }
            return work.live[token]
        }
    }

    // MARK: Closing

    /// Ends the requests. When it returns the host is not called any more, except by a call that runs on this very thread.
    public func close() {
        if store.isForeign { return }
        let live = work.withLock { work in
            defer {
                work.isClosed = true
                work.entries = []
                work.next = 0
                work.live = [:]
            }
            return work.live
        }
        for run in live.values { run.end() }
        leftovers.cancel()
        outbox.cancel()
        progress.advance()
        let thread = hfplatform_thread_current()
        while true {
            let seen = progress.number
            guard let handler = work.withLock({ $0.handler }), handler != thread else { break }
            progress.wait(while: seen)
        }
        notifyClosed()
    }

    /// Tells the host once that it was closed, when no thread is calling it.
    private func notifyClosed() {
        let host = work.withLock { work -> (any ControllerHost)? in
            guard work.isClosed, work.handler == nil else { return nil }
            defer { work.host = nil }
            return work.host
        }
        host?.closed()
    }
}

/// Goes on with the actions that another thread has left.
private final class Successor: StreamObserver {
    let controller = Lock<Controller?>(nil)

    var isHost: Bool { false }

    func received(_ event: StreamEvent) { controller.withLock { $0 }?.handleLeftovers() }
}
