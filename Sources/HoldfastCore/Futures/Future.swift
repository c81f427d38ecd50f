internal import CHoldfastPlatform
public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// What a future was completed with.
public struct FutureValue: Sendable {
    /// An operation's result is JSON; what the host completed it with is the host's affair.
    public var bytes: [UInt8]
    /// The entity's version where the value is one entity that is stored.
    public var version: CommitSequence
    /// Of the commit, where there was one.
    public var receipt: Receipt?

    public init(bytes: [UInt8], version: CommitSequence = 0, receipt: Receipt? = nil) {
        self.bytes = bytes
        self.version = version
        self.receipt = receipt
    }
}

public typealias FutureOutcome = Result<FutureValue, HoldfastError>

/// Hears of a future's end, on the thread that delivers; never on the stack of who completes it or asks.
public protocol FutureObserver: EventObserver {
    func completed(_ completion: Completion)
}

/// The news of a future's end, on its way to one observer.
public final class Completion: Sendable {
    public enum Kind: Sendable {
        /// The future has ended.
        case end
        /// Its value, for a subscriber, who hears of `.end` next.
        case value
    }

    public let kind: Kind
    public let outcome: FutureOutcome
    public let observer: any FutureObserver
    /// Whether what has ended counts as in flight until this was delivered.
    let holdsSlot: Bool

    init(_ kind: Kind, _ outcome: FutureOutcome, _ observer: any FutureObserver, holdsSlot: Bool = false) {
        self.kind = kind
        self.outcome = outcome
        self.observer = observer
        self.holdsSlot = holdsSlot
    }
}

/// What a future waits for, if that can be withdrawn.
protocol Withdrawable: AnyObject, Sendable {
    /// Prevents what has not begun to be stored, and completes the future with `.cancelled`. False: too late.
    func withdraw() -> Bool
}

/// The pending result of anything asynchronous. The first completion wins; a later one is told so and changes nothing.
///
/// Whoever wants the result waits for it, or leaves an observer, before or after it is there.
public final class Future: Sendable {
    // What changes, and what guards it:
    //  - `state`: its lock. The outcome changes once.
    //  - `end`: atomic; it moves when the outcome is there.

    private struct State {
        var outcome: FutureOutcome?
        var observers: [(observer: any FutureObserver, isSubscriber: Bool)] = []
        /// Let go at the end: it refers to this future.
        var source: (any Withdrawable)?
    }

    private let state = Lock(State())
    private let end = Gate()
    /// Nil for a future of the host's own, whose observers hear on the callback thread that belongs to no store.
    private let delivery: Delivery?
    private let time: any TimeSource

    /// For the host to complete.
    public convenience init() { self.init(delivery: nil, time: SystemTime()) }

    init(delivery: Delivery?, time: any TimeSource) {
        self.delivery = delivery
        self.time = time
    }

    func setSource(_ source: any Withdrawable) { state.withLock { $0.source = source } }

    public var isCompleted: Bool { state.withLock { $0.outcome != nil } }

    // MARK: Completing

    /// Answers false when it was completed before.
    @discardableResult
    public func complete(_ outcome: FutureOutcome) -> Bool {
        guard let completions = end(with: outcome) else { return false }
        // Where no thread can be started for observers they are let go without a call.
        if !completions.isEmpty { _ = try? callbacks().post(completions.map(Event.completion)) }
        return true
    }

    /// As `complete`, but leaves the delivery of what it answers to the caller; the last of it may hold a slot. Nil
    /// when it was completed before.
    func end(with outcome: FutureOutcome, holdingSlot holdsSlot: Bool = false) -> [Completion]? {
        let ended = state.withLock { state -> State? in
            if state.outcome != nil { return nil }
            // Let go outside the lock.
            let before = state
            state = State(outcome: outcome)
            return before
        }
        guard let observers = ended?.observers else { return nil }
        end.advance()
        var completions: [Completion] = []
        for (index, entry) in observers.enumerated() {
            Self.append(
                outcome, entry.observer, isSubscriber: entry.isSubscriber,
                holdsSlot: holdsSlot && index == observers.count - 1, to: &completions)
        }
        return completions
    }

    /// Withdraws what it waits for; a future of the host's own ends with `.cancelled`. Throws when it is too late: what
    /// became of it is told as if nobody had asked.
    public func cancel() throws(HoldfastError) {
        let (source, hasEnded) = state.withLock { ($0.source, $0.outcome != nil) }
        let isWithdrawn =
            if hasEnded {
                false
            } else if let source {
                source.withdraw()
            } else {
                complete(.failure(HoldfastError(.cancelled, "the future was cancelled")))
            }
        if !isWithdrawn {
            throw HoldfastError(
                .invalidState, "it is too late to cancel the future: its outcome tells what became of it")
        }
    }

    // MARK: Hearing of it

    /// A subscriber hears of a value first, and then of the end.
    public func observe(_ observer: any FutureObserver, isSubscriber: Bool = false) throws(HoldfastError) {
        // Found out before, because whoever completes it has nobody to tell.
        let callbacks = try callbacks()
        let outcome = state.withLock { state in
            if state.outcome == nil { state.observers.append((observer, isSubscriber)) }
            return state.outcome
        }
        guard let outcome else { return }
        var completions: [Completion] = []
        Self.append(outcome, observer, isSubscriber: isSubscriber, holdsSlot: false, to: &completions)
        if !callbacks.post(completions.map(Event.completion)) { throw HoldfastError.storeClosed }
    }

    private static func append(
        _ outcome: FutureOutcome, _ observer: any FutureObserver, isSubscriber: Bool, holdsSlot: Bool,
        to completions: inout [Completion]
    ) {
        if isSubscriber, case .success = outcome { completions.append(Completion(.value, outcome, observer)) }
        completions.append(Completion(.end, outcome, observer, holdsSlot: holdsSlot))
    }

    private func callbacks() throws(HoldfastError) -> Delivery {
        if let delivery { return delivery }
        return try HostFutureDelivery.current()
    }

    // MARK: Waiting

    /// Waits at most so long (nil: for ever, 0: not at all). Time running out ends the wait alone: the error names what
    /// was waited for by `identifier`.
    public func wait(milliseconds: UInt64?, identifier: String? = nil) throws(HoldfastError) -> FutureValue {
        guard let outcome = try outcome(until: deadline(milliseconds)) else {
            throw Self.timedOut(milliseconds ?? 0, identifier)
        }
        return try outcome.get()
    }

    fileprivate func deadline(_ milliseconds: UInt64?) -> UInt64? {
        milliseconds.map { time.monotonicNanoseconds() &+ $0 &* 1_000_000 }
    }

    /// Nil when the time is up. What it throws is why waiting here is refused.
    fileprivate func outcome(until deadline: UInt64?) throws(HoldfastError) -> FutureOutcome? {
        while true {
            let seen = end.number
            if let outcome = state.withLock({ $0.outcome }) { return outcome }
            try Self.requireHostThread()
            if delivery != nil && hfplatform_thread_frame() != nil {
                throw HoldfastError(
                    .wouldDeadlock,
                    "waiting inside a provider's function for what a store does could wait for itself: observe the future"
                )
            }
            let now = deadline == nil ? 0 : time.monotonicNanoseconds()
            if let deadline, now >= deadline { return nil }
            do throws(HoldfastError) {
                try end.waitAsking(while: seen, nanoseconds: deadline.map { $0 - now })
            } catch {
                // What has ended meanwhile is told.
                guard error.status == .cancelled, let outcome = state.withLock({ $0.outcome }) else { throw error }
                return outcome
            }
        }
    }

    /// Ends it where nobody will wait any longer, so that whoever completes it from now on is told. Answers the outcome
    /// of who came before.
    fileprivate func giveUp() -> FutureOutcome? {
        let isFirst = complete(
            .failure(HoldfastError(.cancelled, "nobody waits for the future any longer: its time was up")))
        return isFirst ? nil : state.withLock { $0.outcome }
    }

    fileprivate static func requireHostThread() throws(HoldfastError) {
        if hfplatform_thread_is_own() {
            throw HoldfastError(
                .wouldDeadlock,
                "waiting on a thread of the library's could wait for itself: observe the future instead")
        }
    }

    fileprivate static func timedOut(_ milliseconds: UInt64, _ identifier: String?) -> HoldfastError {
        HoldfastError(
            .timeout,
            "\(identifier.map { "\"\($0)\"" } ?? "the future") was not completed within \(milliseconds) ms and goes on: "
                + "wait again, cancel or free it",
            detail: identifier.map { [("identifier", .text($0))] } ?? [])
    }
}

/// A call that answers by callback, turned into one that returns: the time counts from here, the host starts the call
/// and has it complete the future, and then asks for the result.
public struct FutureWait: Sendable {
    public let future = Future()
    private let milliseconds: UInt64?
    private let identifier: String?
    private let deadline: UInt64?

    public init(milliseconds: UInt64?, identifier: String?) throws(HoldfastError) {
        try Future.requireHostThread()
        self.milliseconds = milliseconds
        self.identifier = identifier
        deadline = future.deadline(milliseconds)
    }

    /// How the future ended; nil when the time is up. The future goes on, for whoever keeps it: see `giveUp`. So it does
    /// where this throws, because the host has ended the wait, or because waiting here is refused.
    public func outcome() throws(HoldfastError) -> FutureOutcome? { try future.outcome(until: deadline) }

    /// For who does not keep the future. It ends, so that no completion is taken and then lost: one that came before is
    /// answered, a later one is told that it comes too late.
    public func giveUp() -> FutureOutcome? { future.giveUp() }

    /// The error of a wait whose time was up.
    public var timedOut: HoldfastError { Future.timedOut(milliseconds ?? 0, identifier) }
}
