internal import HoldfastEnvironment
internal import HoldfastQuery

/// Where transactions of this process queue after a conflict, to run again one after the other: those that run at
/// once would only make each other lose once more.
///
/// There is a line for each contention. Whoever is in front is granted the retry until its transaction has ended, and
/// keeps the grant through further conflicts at the same entity: then it lost to one that has never collided, and is
/// not in the line. A grant that lasts long is over for the others, which go on beside it: so nobody waits for ever for
/// one that was forgotten, or that waits for them.
package final class RetryQueue: Sendable {
    // What changes, and what guards it:
    //  - `state`: its lock, which guards what changes in each `Ticket`, too.

    /// A position in a line.
    package final class Ticket: @unchecked Sendable {
        package let contention: Contention
        fileprivate let deadline: UInt64
        fileprivate let onGrant: @Sendable (_ isInTime: Bool) -> Void
        /// When it was granted; nil while it waits.
        fileprivate var begun: UInt64?
        fileprivate var isInLine = false
        fileprivate var hasLeft = false

        /// `onGrant` is called once after `enter`, unless it is left meanwhile, on whatever thread, perhaps at once: when it is
        /// granted, or when the deadline has passed, or the store closes, which is not in time.
        package init(
            _ contention: Contention, until deadline: UInt64 = .max,
            _ onGrant: @escaping @Sendable (_ isInTime: Bool) -> Void
        ) {
            self.contention = contention
            self.deadline = deadline
            self.onGrant = onGrant
        }
    }

    /// Whoever leaves is passed over when those before it have left, so that leaving looks at nobody else.
    private struct Line {
        private var tickets: [Ticket] = []
        private var next = 0
        private(set) var count = 0

        var first: Ticket? { next < tickets.count ? tickets[next] : nil }
        var waiting: [Ticket] { tickets[next...].filter { !$0.hasLeft } }

        mutating func append(_ ticket: Ticket) {
            tickets.append(ticket)
            count += 1
        }

        /// One has left.
        mutating func noteLeft() {
            count -= 1
            while let first, first.hasLeft { next += 1 }
            guard tickets.count > 2 * count + Limits.inForce.passedPlaces else { return }
            tickets = waiting
            next = 0
        }
    }

    private struct State {
        var lines: [Contention: Line] = [:]
        /// No grant and no deadline ends before this.
        var due = UInt64.max
        /// When `sweep` is going to be called; nil: not by itself.
        var nextSweep: UInt64?
        var isClosed = false
    }

    private let environment: Environment
    private var time: any TimeSource { environment.time }
    private var longestGrant: UInt64 { UInt64(environment.limits.longestRetry) }
    private let wakeSweeper: @Sendable () -> Void
    private let state = Lock(State())

    /// `wakeSweeper`: has `sweep` called soon.
    init(_ environment: Environment, wakeSweeper: @escaping @Sendable () -> Void) {
        self.environment = environment
        self.wakeSweeper = wakeSweeper
    }

    // MARK: For those who run again

    /// What follows a conflict.
    package enum Next {
        /// The next attempt.
        case now
        /// The same after so many nanoseconds: nobody knows for whom to wait.
        case afterPause(UInt64)
        /// The same when it is granted, in the line of those who collided there.
        case inLine(Contention)
        /// Nothing: there are no more attempts, or there is no more time.
        case over
    }

    /// Decides what follows a conflict in the `attempt`-th of at most `most` attempts, for all who run again, each of whom
    /// waits in a way of its own. A ticket that is granted serves at the same entity or query once more; any other is given
    /// up.
    package func next(
        after attempt: Int, of most: Int, at contention: Contention?, _ ticket: inout Ticket?, until deadline: UInt64
    ) -> Next {
        let now = time.monotonicNanoseconds()
        let isKept = ticket.map { $0.contention == contention && isGranted($0) } ?? false
        if let previous = ticket, !isKept {
            leave(previous)
            ticket = nil
        }
        guard attempt < most, now < deadline else { return .over }
        if isKept { return .now }
        if let contention { return .inLine(contention) }
        // Full jitter (Brooker, "Exponential Backoff and Jitter", 2015).
        let limits = environment.limits
        let ceiling = UInt64(min(limits.longestBackoff, limits.firstBackoff << min(attempt, 10)))
        let pause = environment.random.next() % ceiling
        return now &+ pause < deadline ? .afterPause(pause) : .over
    }

    /// Gets in line. Whoever does calls `leave` in the end. Where others may end what waits, and leave for it, they know the
    /// ticket before.
    package func enter(_ ticket: Ticket) {
        let now = time.monotonicNanoseconds()
        let (isGranted, isClosed, mustWake) = state.withLock { state in
            if ticket.hasLeft { return (true, false, false) }
            if state.isClosed {
                ticket.hasLeft = true
                return (false, true, false)
            }
            ticket.isInLine = true
            state.lines[ticket.contention, default: Line()].append(ticket)
            let isGranted = state.lines[ticket.contention]!.count == 1
            if isGranted { begin(ticket, now, &state) }
            state.due = min(state.due, ticket.deadline)
            let mustWake = state.due < state.nextSweep ?? .max
            if mustWake { state.nextSweep = state.due }
            return (isGranted, false, mustWake)
        }
        if mustWake { wakeSweeper() }
        if isGranted || isClosed { ticket.onGrant(isGranted) }
    }

    /// Gives up the ticket, and grants the retry to the next. May be called again, and before `enter`.
    package func leave(_ ticket: Ticket) {
        let now = time.monotonicNanoseconds()
        let next = state.withLock { state -> Ticket? in remove(ticket, now, &state) }
        next?.onGrant(true)
    }

    /// Whether it is granted, for another attempt at the same contention.
    package func isGranted(_ ticket: Ticket) -> Bool { state.withLock { _ in !ticket.hasLeft && ticket.begun != nil } }

    /// As `enter`, and waits for the grant. Nil when the deadline has passed before.
    func wait(in contention: Contention, until deadline: UInt64) throws(HoldfastError) -> Ticket? {
        let gate = Gate()
        let granted = Lock<Bool?>(nil)
        let ticket = Ticket(contention, until: deadline) { isInTime in
            granted.withLock { $0 = isInTime }
            gate.advance()
        }
        enter(ticket)
        while true {
            let seen = gate.number
            if let granted = granted.withLock({ $0 }) {
                if granted { return ticket }
                leave(ticket)
                return nil
            }
            do throws(HoldfastError) { try gate.waitAsking(while: seen) } catch {
                // In a forked child it is the parent's.
                if error.status != .forked { leave(ticket) }
                throw error
            }
        }
    }

    /// Whether nobody waits, or has a grant.
    package var isEmpty: Bool { state.withLock { $0.lines.isEmpty } }

    // MARK: For the committer

    /// Ends grants that last too long, and waits whose deadline has passed. Answers when to call again, nil: when
    /// `wakeSweeper` says so. Called by one thread.
    func sweep() -> UInt64? {
        let now = time.monotonicNanoseconds()
        let (called, next) = state.withLock { state -> ([(ticket: Ticket, isInTime: Bool)], UInt64?) in
            var called: [(ticket: Ticket, isInTime: Bool)] = []
            if state.due <= now {
                for ticket in state.lines.values.flatMap(\.waiting) {
                    let isOver = ticket.begun.map { now &- $0 >= longestGrant } ?? (ticket.deadline <= now)
                    guard isOver else { continue }
                    if ticket.begun == nil { called.append((ticket, false)) }
                    if let next = remove(ticket, now, &state) { called.append((next, true)) }
                }
                state.due = state.lines.values.lazy.flatMap(\.waiting).map(due).min() ?? .max
            }
            state.nextSweep = state.due == .max ? nil : state.due
            return (called, state.nextSweep)
        }
        for (ticket, isInTime) in called { ticket.onGrant(isInTime) }
        return next
    }

    /// Nobody waits from now on.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            let tickets = state.lines.values.flatMap(\.waiting)
            state.lines = [:]
            for ticket in tickets { ticket.hasLeft = true }
            return tickets.filter { $0.begun == nil }
        }
        for ticket in waiting { ticket.onGrant(false) }
    }

    // MARK: Under the lock

    private func begin(_ ticket: Ticket, _ now: UInt64, _ state: inout State) {
        ticket.begun = now
        state.due = min(state.due, now &+ longestGrant)
    }

    private func due(_ ticket: Ticket) -> UInt64 { ticket.begun.map { $0 &+ longestGrant } ?? ticket.deadline }

    /// Answers who is granted the retry now because of it.
    private func remove(_ ticket: Ticket, _ now: UInt64, _ state: inout State) -> Ticket? {
        if ticket.hasLeft { return nil }
        ticket.hasLeft = true
        guard ticket.isInLine else { return nil }
        state.lines[ticket.contention]!.noteLeft()
        guard let next = state.lines[ticket.contention]!.first else {
            state.lines[ticket.contention] = nil
            return nil
        }
        if next.begun != nil { return nil }
        begin(next, now, &state)
        return next
    }
}
