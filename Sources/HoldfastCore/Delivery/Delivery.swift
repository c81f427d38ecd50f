internal import CHoldfastPlatform
internal import HoldfastEnvironment
internal import Synchronization

/// How the outcomes of asynchronous commits reach the host.
public enum DeliveryMode: String, Sendable {
    /// One thread of the store's calls the observers.
    case callback
    /// The host takes the events when it likes, and a descriptor tells when there are any.
    case queue
}

/// Hears of events when they are delivered.
public protocol EventObserver: AnyObject, Sendable {
    /// Under queue delivery the host takes the events of its own observers; the library's hear just before. And a commit is
    /// in flight until the host's own observer was told; the library's is when it is in flight no more, because the task that
    /// awaits it may go on with the next at once.
    var isHost: Bool { get }
}

extension EventObserver {
    public var isHost: Bool { true }
}

/// An outcome on its way to its observer.
public enum Event: Sendable {
    /// It has ended.
    case commit(Commit, any CommitObserver)
    case completion(Completion)
    /// The members of its object trees are to be told before its owner is.
    case members(Commit)
    /// News of a stream, which may be cancelled by the time it is delivered.
    case stream(StreamNotice)
    /// The same, taken by the host.
    case streamTaken(any StreamObserver, StreamEvent)

    /// `delivered` hears when that freed a slot under the store's limit.
    public func deliver(_ delivered: (Int) -> Void = { _ in }) {
        switch self {
        case .commit(let commit, let observer) where !observer.isHost:
            delivered(1)
            return observer.committed(commit.outcome!)
        case .commit(let commit, let observer): observer.committed(commit.outcome!)
        case .completion(let completion): completion.observer.completed(completion)
        case .members(let commit):
            var events: [Event] = []
            commit.notifyMembers(&events)
            for event in events { event.deliver(delivered) }
        case .stream(let notice): notice.outbox.deliver(notice)
        case .streamTaken(let observer, let event): observer.received(event)
        }
        if holdsSlot { delivered(1) }
    }

    /// Whether something else can be accepted under the store's limit once this was delivered.
    var holdsSlot: Bool {
        switch self {
        case .commit: true
        case .completion(let completion): completion.holdsSlot
        case .members, .stream, .streamTaken: false
        }
    }
}

/// Brings outcomes to their observers in the order in which they were posted, each exactly once.
package final class Delivery: Sendable {
    // What changes, and what guards it:
    //  - `state`: its lock, under which alone `descriptor` is made readable or not.
    //  - `wakes`, `isWakePending`, `arrival`: atomic, because a signal handler moves them.

    private struct State {
        /// A slice, so that taking the first costs nothing for those that stay.
        var events: ArraySlice<Event> = []
        var isClosing = false
        var isFinished = false
        var worker: (any Worker)?
    }

    let mode: DeliveryMode
    private let state = Lock(State())
    private let arrival = Gate()
    /// How often takers were woken, and whether somebody has returned for that.
    private let wakes = Atomic<UInt64>(0)
    private let isWakePending = Atomic<Bool>(false)
    /// Readable while events wait, and when closed; -1 in callback mode.
    let descriptor: Int32
    private let time: any TimeSource

    init(mode: DeliveryMode, time: any TimeSource) throws(HoldfastError) {
        self.mode = mode
        self.time = time
        descriptor = mode == .queue ? hfplatform_event_create() : -1
        if mode == .queue && descriptor < 0 {
            throw HoldfastError(
                .noMemory,
                "the system gives no descriptor for events (error \(-descriptor)): close some, or raise the limit")
        }
    }

    deinit { if descriptor >= 0 { hfplatform_event_close(descriptor) } }

    /// Starts the callback thread. `delivered` hears how many events that hold a slot it has delivered; `finished`,
    /// that it ends.
    func start(
        _ workers: any Workers, delivered: @escaping @Sendable (Int) -> Void, finished: @escaping @Sendable () -> Void
    ) throws(HoldfastError) {
        guard mode == .callback else { return }
        let worker = try workers.start(name: "hf-callbacks") { [self] in
            let (events, isOver) = state.withLock { state in
                defer { state.events = [] }
                return (state.events, state.isClosing && state.events.isEmpty)
            }
            if isOver {
                state.withLock {
                    $0.isFinished = true
                    $0.worker = nil
                }
                finished()
                return .finished
            }
            if events.isEmpty { return .sleep() }
            for event in events {
                event.deliver(delivered)
            }
            return .again
        }
        state.withLock { $0.worker = worker }
    }

    /// Whether the caller is the thread that calls observers.
    var isCurrentThread: Bool { state.withLock { $0.worker }?.isCurrent ?? false }

    /// Answers false when it is too late: the store is closed, and the caller is not told of an event by it right now.
    @discardableResult
    package func post(_ events: [Event], whileDelivering isDelivery: Bool = false) -> Bool {
        if events.isEmpty { return true }
        let (isAccepted, worker) = state.withLock { state -> (Bool, (any Worker)?) in
            if state.isClosing && !isDelivery { return (false, nil) }
            if state.events.isEmpty && mode == .queue { hfplatform_event_set(descriptor) }
            state.events += events
            return (true, state.worker)
        }
        if mode == .callback { worker?.wake() } else { arrival.advance() }
        return isAccepted
    }

    /// Takes up to `limit` events, waiting for the first at most until the monotonic deadline (nil: for ever), or until
    /// it is woken, or its host ends the wait. Nil when closed and everything was taken.
    func take(limit: Int, deadline: UInt64?) -> [Event]? {
        let before = wakes.load(ordering: .acquiring)
        while true {
            let seen = arrival.number
            let taken: [Event]? = state.withLock { state in
                if state.events.isEmpty { return state.isClosing ? nil : [] }
                let taken = Array(state.events.prefix(limit))
                state.events = taken.count == state.events.count ? [] : state.events.dropFirst(limit)
                if state.events.isEmpty && !state.isClosing { hfplatform_event_clear(descriptor) }
                return taken
            }
            guard let taken, taken.isEmpty else { return taken }
            let now = deadline == nil ? 0 : time.monotonicNanoseconds()
            if let deadline, now >= deadline { return [] }
            let isWoken = wakes.load(ordering: .acquiring) != before
            if isWakePending.exchange(false, ordering: .acquiringAndReleasing) || isWoken { return [] }
            do throws(HoldfastError) {
                try arrival.waitAsking(while: seen, nanoseconds: deadline.map { $0 - now })
            } catch { return [] }
        }
    }

    /// Has all that wait in `take` return without events; if nobody does, the next that would wait. Takes no lock and no
    /// memory.
    func wakeTakers() {
        wakes.wrappingAdd(1, ordering: .acquiringAndReleasing)
        isWakePending.store(true, ordering: .releasing)
        arrival.advance()
    }

    /// Puts events that were taken back before the others.
    func putBack(_ events: ArraySlice<Event>) {
        if events.isEmpty { return }
        state.withLock { state in
            state.events = events + state.events
            hfplatform_event_set(descriptor)
        }
        arrival.advance()
    }

    /// No event comes after this one call. What waits is still delivered.
    func close() {
        let worker = state.withLock { state in
            state.isClosing = true
            if mode == .queue { hfplatform_event_set(descriptor) }
            return state.worker
        }
        worker?.wake()
        arrival.advance()
    }

    /// Whether nothing is left for this side to do: in queue mode the rest is the host's.
    var isFinished: Bool { mode == .queue || state.withLock { $0.isFinished } }

    /// In queue mode: lets go of events that nobody will take.
    func dropAll() {
        guard mode == .queue else { return }
        let dropped = state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
        for case .members(let commit) in dropped {
            var events: [Event] = []
            commit.notifyMembers(&events)
        }
    }
}
