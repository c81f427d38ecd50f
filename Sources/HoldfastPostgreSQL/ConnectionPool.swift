internal import HoldfastEnvironment
internal import HoldfastStorage

/// The connections of a store, at most so many. Those that nobody uses are kept for the next, a few of them.
final class ConnectionPool: Sendable {
    private enum Phase {
        /// `ending`: who reads is not served any more, and the last word is not said yet.
        case serving, ending, closed
    }

    private struct State {
        var phase = Phase.serving
        /// Rises when everything that was lent is no longer valid.
        var epoch: UInt64 = 0
        var idle: [Connection] = []
        var lent: [ObjectIdentifier: Connection] = [:]
        /// How many are just being opened.
        var opening = 0
        /// Whether one was opened before, so that the store is.
        var hasOpened = false

        func require(_ closes: Bool) throws(HoldfastError) {
            if phase == .closed || phase == .ending && !closes { throw HoldfastError.storeClosed }
        }

        var count: Int { idle.count + lent.count + opening }
    }

    private let url: ServerURL
    private let process = processEpoch()
    private let environment: Environment
    private let limit: Int
    private let patience: UInt64
    private let state = Lock(State())
    private let changes = Gate()
    private let host = Lock<WeakHost>(WeakHost())
    /// Of all connections.
    private let roundTrips = RoundTrips()
    let preparation = Preparation()

    private struct WeakHost {
        weak var host: (any StorageHost)?
    }

    init(_ url: ServerURL, _ options: PostgreSQLOptions, _ environment: Environment) {
        self.url = url
        self.environment = environment
        limit = options.maxConnections
        patience = options.patience
    }

    func attach(_ host: any StorageHost) { self.host.withLock { $0.host = host } }

    func historyWasLost() { host.withLock { $0.host }?.historyWasLost() }

    /// How many connections are open, and how often the server was asked.
    var counts: (connections: Int, roundTrips: UInt64) {
        (state.withLock { $0.idle.count + $0.lent.count }, roundTrips.count)
    }

    var epoch: UInt64 { state.withLock { $0.epoch } }

    /// Throws where what was lent in this epoch is no longer valid.
    func require(_ epoch: UInt64) throws(HoldfastError) {
        try state.withLock { state throws(HoldfastError) in
            if state.phase != .serving { throw HoldfastError.storeClosed }
            if state.epoch != epoch { throw Self.ended }
        }
    }

    static let ended = HoldfastError(
        .io, "the snapshot was closed, or ended because the connection to the server was opened anew: begin a new one")

    // MARK: Lending

    /// Whether this is a child that was forked in the middle of a call, where the host was asked whether to wait on: it has none
    /// of the connections, and others of the parent's threads may have had the locks.
    var isForeign: Bool { processEpoch() != process }

    private func requireSameProcess() throws(HoldfastError) { if isForeign { throw HoldfastError.forked } }

    /// A connection, to be given back. `isFresh`: none that was used before. `waits`: for others to give one back. `last`: when
    /// whoever takes it waits no longer. `closes`: to say the last word.
    func take(
        isFresh: Bool = false, waits: Bool = true, until last: UInt64 = .max, closes: Bool = false,
        _ stop: Interrupt.Flag = Interrupt.Flag()
    ) throws(HoldfastError) -> Connection {
        try requireSameProcess()
        let deadline = min(Connection.now() &+ patience, last)
        var hasAsked = !waits
        let turn: UInt64 = 20
        while true {
            let seen = changes.number
            let found = try state.withLock { state throws(HoldfastError) -> (ready: Connection?, mayOpen: Bool) in
                try state.require(closes)
                if isFresh { state.idle = [] }
                if let ready = state.idle.popLast() {
                    state.lent[ObjectIdentifier(ready)] = ready
                    return (ready, false)
                }
                guard state.count < limit else { return (nil, false) }
                state.opening += 1
                return (nil, true)
            }
            if let ready = found.ready { return ready }
            if found.mayOpen { return try open(deadline, closes, stop) }
            // Snapshots that are kept for speed, or have been kept longest, make room.
            if !hasAsked {
                hasAsked = true
                host.withLock { $0.host }?.releaseSnapshots(olderThanMilliseconds: nil)
                continue
            }
            let now = Connection.now()
            if now >= deadline || stop.isSet || !waits {
                throw HoldfastError(
                    .busy,
                    "all \(limit) connections to \(url.place) are in use: end transactions and cursors, or raise "
                        + "\"max_connections\"")
            }
            try Interrupt.lookInside()
            changes.wait(while: seen, nanoseconds: min(deadline - now, turn * 1_000_000))
            // Those that were opened meanwhile, and whose holders may wait for a connection, too.
            host.withLock { $0.host }?.releaseSnapshots(olderThanMilliseconds: turn)
        }
    }

    private func open(
        _ deadline: UInt64, _ closes: Bool, _ stop: Interrupt.Flag
    ) throws(HoldfastError) -> Connection {
        let opened = Result { () throws(HoldfastError) in
            try Connection(to: url, environment.limits, deadline: deadline, roundTrips, preparation) { [self] in
                stop.isSet || hasEnded && !closes
            }
        }
        try requireSameProcess()
        let (isClosed, hasOpened) = state.withLock { state in
            state.opening -= 1
            if state.phase != .serving && !closes { return (true, state.hasOpened) }
            if case .success(let connection) = opened {
                state.lent[ObjectIdentifier(connection)] = connection
                state.hasOpened = true
            }
            return (false, state.hasOpened)
        }
        changes.advance()
        if isClosed { throw HoldfastError.storeClosed }
        return try opened.mapError { hasOpened ? $0.whileOpen : $0 }.get()
    }

    /// Gives it back. A transaction that it is in ends; nobody waits for that.
    func give(_ connection: Connection) {
        if isForeign { return }
        connection.rollBack()
        connection.deadline = .max
        state.withLock { state in
            // Who reads next would hear nothing on these, either.
            if connection.isSilent { state.idle = [] }
            guard state.lent.removeValue(forKey: ObjectIdentifier(connection)) != nil, !connection.isLost,
                state.phase == .serving, state.idle.count < environment.limits.idleReaders
            else { return }
            state.idle.append(connection)
        }
        changes.advance()
    }

    /// Runs on a connection what may be run twice: where one that was kept turns out to be lost, a fresh one is taken.
    func using<Result>(
        _ body: (Connection) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        for isFresh in [false, true] {
            let connection = try take(isFresh: isFresh)
            defer { give(connection) }
            do throws(HoldfastError) { return try body(connection) } catch {
                guard error.tellsOfLostConnection && !isFresh else { throw closed(error) }
            }
        }
        throw ServerError.lost("", url.place)
    }

    /// What a call is answered that failed because the store was closed.
    func closed(_ error: HoldfastError) -> HoldfastError {
        !isForeign && hasEnded ? .storeClosed : error
    }

    private var hasEnded: Bool { state.withLock { $0.phase != .serving } }

    // MARK: Ending

    /// Whoever reads finds its connection gone; who asks next gets a fresh one.
    func drop() { end(in: .serving) }

    /// As `drop`, but for this connection, and nobody gets another one who does not close the store.
    func endReads(but writer: Connection?) { end(in: .ending, but: writer) }

    /// As `drop`, for good.
    func close() { end(in: .closed) }

    private func end(in phase: Phase, but kept: Connection? = nil) {
        let connections = state.withLock { state in
            let connections = (state.idle + state.lent.values).filter { $0 !== kept }
            state.epoch += 1
            state.idle = []
            state.lent = state.lent.filter { $0.value === kept }
            if state.phase != .closed { state.phase = phase }
            return connections
        }
        // Who has one closes it by letting go.
        for connection in connections { connection.interrupt() }
        changes.advance()
    }
}
