internal import CHoldfastPlatform
public import HoldfastEnvironment

/// Hears of a stream's events, on the thread that delivers, one at a time for each stream.
public protocol StreamObserver: EventObserver {
    func received(_ event: StreamEvent)
    /// It was cancelled: it is not called any more. On the thread that cancels; where that is the one that calls it, after
    /// the call.
    func cancelled()
    /// Whether what it was told counts as on its way until `ChangeStream.handled` is called, once for each event: for those
    /// who pass events on to somebody who takes them later.
    var holdsLoad: Bool { get }
}

extension StreamObserver {
    public func cancelled() {}
    public var holdsLoad: Bool { false }
}

public enum StreamEvent: Sendable {
    /// What was committed.
    case changes(ChangeBatch)
    /// A live query's result, or how it differs from what was told before.
    case result(ResultChange)
    /// What was committed in between is not known any more; the stream goes on. Of a live query it is never told: that
    /// tells its result anew.
    case lost(HoldfastError)
    /// Nothing comes any more: the store was closed, or what made it impossible.
    case ended(HoldfastError)
    /// A controller has a new state.
    case state
}

/// An event on its way to its stream's observer.
public final class StreamNotice: Sendable {
    package let outbox: StreamOutbox
    package let event: StreamEvent
    fileprivate let load: StreamOutbox.Load

    fileprivate init(_ outbox: StreamOutbox, _ event: StreamEvent, _ load: StreamOutbox.Load) {
        self.outbox = outbox
        self.event = event
        self.load = load
    }
}

/// Brings a stream's events to its observer until the stream is cancelled, and knows how many are on their way.
package final class StreamOutbox: Sendable {
    /// What is on its way.
    package struct Load: Sendable {
        package var events = 0
        package var changes = 0
        package var bytes = 0
    }

    struct State {
        /// Nil once nothing may reach it any more.
        package var observer: (any StreamObserver)?
        package var load = Load()
        /// Of what was delivered and still counts, in order.
        var held: [Load] = []
        /// The thread that is just calling the observer.
        var caller: UInt64?
        /// Of an observer that is not the host: what was not delivered yet. Several threads may be delivering.
        var undelivered: [StreamEvent] = []
        /// Whether it was cancelled by the one who calls it.
        var isCancelledInside = false
        /// Whether somebody waits for the load to become less.
        var isAwaited = false

        /// It is not on its way any more. Answers whether somebody waits for that.
        mutating func arrived(_ load: Load) -> Bool {
            self.load.events -= load.events
            self.load.changes -= load.changes
            self.load.bytes -= load.bytes
            defer { isAwaited = false }
            return isAwaited
        }
    }

    package let isHost: Bool
    private let holdsLoad: Bool
    let state: Lock<State>
    private let ended = Gate()
    private let delivery: Delivery
    private let drained: @Sendable () -> Void

    /// `drained` hears that some of what was on its way has arrived, where that was asked for.
    package init(_ observer: any StreamObserver, _ delivery: Delivery, drained: @escaping @Sendable () -> Void) {
        isHost = observer.isHost
        holdsLoad = observer.holdsLoad
        state = Lock(State(observer: observer))
        self.delivery = delivery
        self.drained = drained
    }

    /// What is on its way. Where `isEnough` says that it is too much, `drained` will be told of a change.
    package func load(awaitedIf isEnough: (Load) -> Bool) -> Load {
        state.withLock { state in
            if isEnough(state.load) { state.isAwaited = true }
            return state.load
        }
    }

    /// An event to be posted.
    package func notice(_ event: StreamEvent) -> Event {
        var load = Load(events: 1)
        if case .changes(let batch) = event { (load.changes, load.bytes) = (batch.changeCount, batch.size) }
        state.withLock { state in
            state.load.events += 1
            state.load.changes += load.changes
            state.load.bytes += load.bytes
            if !isHost { state.undelivered.append(event) }
        }
        return .stream(StreamNotice(self, event, load))
    }

    // MARK: Where events are delivered

    /// Calls the observer, if it may still be called.
    func deliver(_ notice: StreamNotice) {
        let thread = hfplatform_thread_current()
        guard let (observer, event, isInside) = enter(notice, thread) else { return }
        // What the host does there may fork: the child leaves alone what is the parent's.
        guard isSameProcess(after: { observer.received(event) }), !isInside else { return }
        let isCancelledInside = state.withLock { state in
            state.caller = nil
            return state.isCancelledInside
        }
        if isCancelledInside { observer.cancelled() }
        ended.advance()
    }

    /// Waits until no other thread is calling the observer. Answers what to tell it, and whether this thread is calling it
    /// already; nil for nobody to tell.
    private func enter(
        _ notice: StreamNotice, _ thread: UInt64
    ) -> (observer: any StreamObserver, event: StreamEvent, isInside: Bool)? {
        while true {
            let seen = ended.number
            let entered = state.withLock { state -> (any StreamObserver, StreamEvent, Bool)?? in
                if let caller = state.caller, caller != thread { return nil }
                guard let observer = state.observer else { return .some(nil) }
                let event = isHost ? notice.event : state.undelivered.removeFirst()
                defer { state.caller = thread }
                return (observer, event, state.caller != nil)
            }
            if let entered {
                _ = take(notice)
                return entered
            }
            ended.wait(while: seen)
        }
    }

    /// Who is to be told by the host that takes the event; nil for nobody any more.
    package func take(_ notice: StreamNotice) -> (any StreamObserver)? {
        let (observer, isAwaited) = state.withLock { state in
            if holdsLoad { state.held.append(notice.load) }
            let isAwaited = holdsLoad ? false : state.arrived(notice.load)
            let observer = state.observer
            if case .ended = notice.event { state.observer = nil }
            return (observer, isAwaited)
        }
        if isAwaited { drained() }
        return observer
    }

    /// The observer has dealt with the oldest of what it was told and still counts.
    package func handled() {
        let isAwaited = state.withLock { $0.held.isEmpty ? false : $0.arrived($0.held.removeFirst()) }
        if isAwaited { drained() }
    }

    /// When it returns the observer is not called any more, unless the caller is being called by it.
    package func cancel() {
        let thread = hfplatform_thread_current()
        let observer = state.withLock { state in
            defer { state.observer = nil }
            if state.caller == thread { state.isCancelledInside = state.observer != nil || state.isCancelledInside }
            return state.caller == thread ? nil : state.observer
        }
        waitForCall()
        observer?.cancelled()
    }

    /// Waits for a call of the observer that another thread is in.
    package func waitForCall() {
        let thread = hfplatform_thread_current()
        while true {
            let seen = ended.number
            guard let caller = state.withLock({ $0.caller }), caller != thread else { return }
            ended.wait(while: seen)
        }
    }
}
