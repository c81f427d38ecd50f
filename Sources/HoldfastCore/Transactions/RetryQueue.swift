internal import HoldfastEnvironment
internal import HoldfastQuery

/// Where transactions that lost a race collided: at an entity that they read, or at what a query of a repository relied on.
public struct Contention: Hashable, Sendable {
    var repository: RepositoryID
    /// Nil: a query's.
    var id: EntityID?
}

extension HoldfastError {
    /// Of a conflict: where the transaction collided.
    package var contention: Contention? { origin as? Contention }
}

/// Where transactions of this process stand in line after a conflict, to run again one after the other: those that run at
/// once would only make each other lose once more.
///
/// There is a line for each place of contention. Whoever is in front has the turn until its transaction has ended, and
/// keeps it through further conflicts at the same place: then it lost to one that has never collided, and is not in the
/// line. A turn that lasts long is over for the others, which go on beside it: so nobody waits for ever for one that was
/// forgotten, or that waits for them.
package final class RetryQueue: Sendable {
    /// A place in a line. Its state is guarded by the queue's lock.
    package final class Place: @unchecked Sendable {
        package let contention: Contention
        fileprivate let deadline: UInt64
        fileprivate let onTurn: @Sendable (_ isInTime: Bool) -> Void
        /// When its turn began; nil while it waits.
        fileprivate var begun: UInt64?
        fileprivate var hasLeft = false

        fileprivate init(
            _ contention: Contention, _ deadline: UInt64, _ onTurn: @escaping @Sendable (_ isInTime: Bool) -> Void
        ) {
            self.contention = contention
            self.deadline = deadline
            self.onTurn = onTurn
        }
    }

    /// Whoever leaves is passed over when those before it have left, so that leaving looks at nobody else.
    private struct Line {
        private var places: [Place] = []
        private var next = 0
        private(set) var count = 0

        var first: Place? { next < places.count ? places[next] : nil }
        var waiting: [Place] { places[next...].filter { !$0.hasLeft } }

        mutating func append(_ place: Place) {
            places.append(place)
            count += 1
        }

        /// One has left.
        mutating func noteLeft() {
            count -= 1
            while let first, first.hasLeft { next += 1 }
            guard places.count > 2 * count + Limits.inForce.passedPlaces else { return }
            places = waiting
            next = 0
        }
    }

    private struct State {
        var lines: [Contention: Line] = [:]
        /// No turn and no deadline ends before this.
        var due = UInt64.max
        /// When `tend` is going to be called; nil: not by itself.
        var tended: UInt64?
        var isClosed = false
    }

    private let time: any TimeSource
    private let longestTurn: UInt64
    private let wakeTender: @Sendable () -> Void
    private let state = Lock(State())

    /// `wakeTender`: has `tend` called soon.
    init(time: any TimeSource, limits: Limits, wakeTender: @escaping @Sendable () -> Void) {
        self.time = time
        longestTurn = UInt64(limits.longestRetry)
        self.wakeTender = wakeTender
    }

    // MARK: For those who run again

    /// Gets in line. `onTurn` is called once, on whatever thread, perhaps at once: when it is its turn, or when the deadline
    /// has passed, or the store closes, which is not in time. Whoever got in calls `leave` in the end.
    package func enter(
        _ contention: Contention, until deadline: UInt64 = .max,
        _ onTurn: @escaping @Sendable (_ isInTime: Bool) -> Void
    ) -> Place {
        let place = Place(contention, deadline, onTurn)
        let now = time.monotonicNanoseconds()
        let (hasTurn, isClosed, mustWake) = state.withLock { state in
            if state.isClosed {
                place.hasLeft = true
                return (false, true, false)
            }
            state.lines[contention, default: Line()].append(place)
            let hasTurn = state.lines[contention]!.count == 1
            if hasTurn { begin(place, now, &state) }
            state.due = min(state.due, deadline)
            let mustWake = state.due < state.tended ?? .max
            if mustWake { state.tended = state.due }
            return (hasTurn, false, mustWake)
        }
        if mustWake { wakeTender() }
        if hasTurn || isClosed { onTurn(hasTurn) }
        return place
    }

    /// Gives up the place, and the turn to the next. May be called again.
    package func leave(_ place: Place) {
        let now = time.monotonicNanoseconds()
        let next = state.withLock { state -> Place? in remove(place, now, &state) }
        next?.onTurn(true)
    }

    /// Whether it has the turn, for another attempt at the same place.
    package func hasTurn(_ place: Place) -> Bool { state.withLock { _ in !place.hasLeft && place.begun != nil } }

    /// As `enter`, and waits for the turn. Nil when the deadline has passed before.
    func wait(in contention: Contention, until deadline: UInt64) throws(HoldfastError) -> Place? {
        let gate = Gate()
        let isTurn = Lock<Bool?>(nil)
        let place = enter(contention, until: deadline) { isInTime in
            isTurn.withLock { $0 = isInTime }
            gate.advance()
        }
        while true {
            let seen = gate.number
            if let isTurn = isTurn.withLock({ $0 }) {
                if isTurn { return place }
                leave(place)
                return nil
            }
            do throws(HoldfastError) { try gate.waitAsking(while: seen) } catch {
                // In a forked child it is the parent's.
                if error.status != .forked { leave(place) }
                throw error
            }
        }
    }

    // MARK: For the committer

    /// Ends turns that last too long, and waits whose deadline has passed. Answers when to call again, nil: when
    /// `wakeTender` says so. Called by one thread.
    func tend() -> UInt64? {
        let now = time.monotonicNanoseconds()
        let (called, next) = state.withLock { state -> ([(place: Place, isInTime: Bool)], UInt64?) in
            var called: [(place: Place, isInTime: Bool)] = []
            if state.due <= now {
                for place in state.lines.values.flatMap(\.waiting) {
                    let isOver = place.begun.map { now &- $0 >= longestTurn } ?? (place.deadline <= now)
                    guard isOver else { continue }
                    if place.begun == nil { called.append((place, false)) }
                    if let next = remove(place, now, &state) { called.append((next, true)) }
                }
                state.due = state.lines.values.lazy.flatMap(\.waiting).map(due).min() ?? .max
            }
            state.tended = state.due == .max ? nil : state.due
            return (called, state.tended)
        }
        for (place, isInTime) in called { place.onTurn(isInTime) }
        return next
    }

    /// Nobody waits from now on.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            let places = state.lines.values.flatMap(\.waiting)
            state.lines = [:]
            for place in places { place.hasLeft = true }
            return places.filter { $0.begun == nil }
        }
        for place in waiting { place.onTurn(false) }
    }

    // MARK: Under the lock

    private func begin(_ place: Place, _ now: UInt64, _ state: inout State) {
        place.begun = now
        state.due = min(state.due, now &+ longestTurn)
    }

    private func due(_ place: Place) -> UInt64 { place.begun.map { $0 &+ longestTurn } ?? place.deadline }

    /// Answers who has the turn now because of it.
    private func remove(_ place: Place, _ now: UInt64, _ state: inout State) -> Place? {
        if place.hasLeft { return nil }
        place.hasLeft = true
        state.lines[place.contention]!.noteLeft()
        guard let next = state.lines[place.contention]!.first else {
            state.lines[place.contention] = nil
            return nil
        }
        if next.begun != nil { return nil }
        begin(next, now, &state)
        return next
    }
}
