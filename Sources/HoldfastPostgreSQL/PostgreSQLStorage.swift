public import HoldfastEnvironment
public import HoldfastQuery
public import HoldfastStorage
internal import Synchronization

/// The engine that keeps stores in a PostgreSQL database. See LAYOUT.md for the tables.
///
///     writer      one connection, used by whoever leads the commit queue: it compares the store's row and moves it on; where
///                 other processes were faster it locks the row first, and the server keeps the queue
///     teller      one connection, which asks for the newest state
///     pool        one connection for each open snapshot, idle ones kept
///
/// What this process knows to be committed is held against what every statement finds: a server that has lost commits, such
/// as a replica that was behind and was promoted, is told, and nothing more is served.
public final class PostgreSQLStorage: Storage {
    public let engine = "postgresql"
    public let location: String
    public let isReadOnly: Bool

    /// The store's, in the database.
    let number: Int64
    let states: KnownStates
    let pool: ConnectionPool
    let environment: Environment
    private let patience: UInt64
    /// What reads outside of transactions allow.
    let maxStaleness: UInt64
    let follower: StateFollower

    private struct Writer {
        var connection: Connection?
        /// What was known when the lock was asked for; nil where it was not asked for.
        var asked: KnownStates.Question?
        var locked: StoreRow?
        var isWriting = false
        /// What is written is the last.
        var isClosing = false
        /// How often in a row somebody else was faster.
        var lostRaces = 0
        /// Whether the row is locked before anything is validated, so that nobody can be faster: others write, too.
        var locksFirst = false
        /// What the row counted when this process had written last.
        var writes: UInt64?
    }

    struct Told {
        /// Whichever question was answered last.
        var number: UInt64 = 0
        var token: ChangeToken?
        var connection: Connection?
    }

    private let writer = Lock(Writer())
    let told = Lock(Told())
    let questions = Atomic<UInt64>(0)
    let expectation: Expectation
    let texts = CombinedTexts()
    /// How many commits `resolve` was asked about.
    private let resolved = Atomic<UInt64>(0)
    /// How often somebody else was faster.
    private let lostRaces = Atomic<UInt64>(0)
    /// What the core takes to be reserved.
    private let reserved = Lock<CommitSequence>(0)

    init(
        number: Int64, incarnation: [UInt8], location: String, pool: ConnectionPool, _ options: PostgreSQLOptions,
        _ environment: Environment
    ) {
        self.number = number
        self.location = location
        let states = KnownStates(incarnation: incarnation, location: location) { [pool] in pool.historyWasLost() }
        self.states = states
        self.pool = pool
        self.environment = environment
        isReadOnly = options.readOnly
        patience = options.patience
        maxStaleness = options.maxStaleness
        expectation = Expectation(near: environment.limits.serverNear)
        follower = StateFollower(options.maxStaleness, environment.workers) {
            // What cannot be asked now is asked the next time, and takes no snapshot from anybody.
            guard let connection = try? pool.take(waits: false) else { return }
            _ = try? states.row(of: number, on: connection)
            pool.give(connection)
        }
    }

    deinit {
        follower.close()
        pool.close()
    }

    public func attach(_ host: any StorageHost) { pool.attach(host) }

    // MARK: Reading

    public func readState() throws(HoldfastError) -> StorageState {
        let (row, catalogue) = try pool.using { connection throws(HoldfastError) in
            let row = try self.row(on: connection)
            return (row, try connection.catalogue(row.catalogue, of: self.number))
        }
        let through = max(row.reserved, row.head)
        reserved.withLock { $0 = through }
        return StorageState(
            incarnation: states.incarnation, head: row.head, reservedThrough: through,
            repositories: catalogue.repositories,
            format: Int(row.format))
    }

    public func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot {
        let deadline = Connection.now() &+ patience
        while true {
            do throws(HoldfastError) { return try snapshot() } catch {
                guard error.tellsOfStandbyBehind, Connection.now() < deadline else { throw error }
                try Interrupt.lookInside()
                usleep(5_000)
            }
        }
    }

    private func snapshot() throws(HoldfastError) -> any StorageSnapshot {
        try states.requireWhole()
        for isFresh in [false, true] {
            let epoch = pool.epoch
            let question = states.question
            let connection = try pool.take(isFresh: isFresh)
            do throws(HoldfastError) {
                connection.isInTransaction = true
                let rows = try connection.run(
                    [
                        Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), .byKeys,
                        StoreRow.statement(number, question.known),
                    ], "reading from")
                let row = try states.checked(rows[2], question)
                return PostgreSQLSnapshot(of: self, row, on: connection, epoch: epoch)
            } catch {
                pool.give(connection)
                guard error.tellsOfLostConnection && !isFresh else { throw pool.closed(error) }
            }
        }
        throw ServerError.lost("", location)
    }

    public var server: ServerStatistics? {
        let (connections, roundTrips) = pool.counts
        return ServerStatistics(
            connections: connections, roundTrips: roundTrips, lagMilliseconds: states.age / 1_000_000,
            lostRaces: lostRaces.load(ordering: .relaxed),
            resolvedCommits: resolved.load(ordering: .relaxed))
    }

    // MARK: Writing

    /// Where nobody else writes the row is compared when the batch is stored, and needs no lock before.
    public func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool {
        if isReadOnly { return true }
        try states.requireWhole()
        if writer.withLock({ !$0.locksFirst }) { return true }
        return try lockRow(until: deadline)
    }

    /// The lock is asked for, and waited for in pieces: the server keeps the place in its queue meanwhile.
    func lockRow(until deadline: UInt64) throws(HoldfastError) -> Bool {
        try writer.withLock { writer throws(HoldfastError) in
            for isFresh in [false, true] {
                if writer.locked != nil || writer.isWriting { return true }
                do throws(HoldfastError) {
                    return try lock(&writer, until: deadline, isFresh: isFresh)
                } catch {
                    letGo(&writer)
                    // The server has waited as long as anybody is to wait.
                    if error.sqlState == "55P03" { throw HoldfastError.lockedOut(of: location) }
                    if error.tellsOfLostConnection && !isFresh { continue }
                    throw writer.isClosing ? error : pool.closed(error)
                }
            }
            return false
        }
    }

    private func lock(_ writer: inout Writer, until deadline: UInt64, isFresh: Bool) throws(HoldfastError) -> Bool {
        let open = writer.connection
        let last = writer.isClosing ? deadline : .max
        let connection =
            if let open { open } else { try pool.take(isFresh: isFresh, until: last, closes: writer.isClosing) }
        connection.deadline = last
        writer.connection = connection
        while true {
            let question = writer.asked ?? states.question
            if writer.asked == nil {
                connection.isInTransaction = true
                try connection.send(
                    StoreRow.locking(number, question.known, patience: environment.limits.foreignLock),
                    "beginning a commit in")
                writer.asked = question
            }
            guard let rows = try connection.take(until: deadline) else {
                // The server refuses the lock by itself before.
                let limits = environment.limits
                let longest = UInt64(limits.foreignLock) + UInt64(limits.serverReply)
                if Connection.now() &- question.time > longest { throw ServerError.silent(longest, location) }
                return false
            }
            writer.asked = nil
            let row = try states.checked(rows.last!, question)
            guard row.isSameRun || row.reserved <= row.head else {
                try skipReserved(row, on: connection)
                continue
            }
            // Who writes alone by now need not lock it the next time.
            if writer.writes == row.writes { writer.locksFirst = false }
            writer.locked = row
            return true
        }
    }

    /// Notes that somebody else was faster, and answers whether to begin anew: also where the server found that this process
    /// and others wait for each other, but not for ever.
    func loseRace(_ error: HoldfastError? = nil) -> Bool {
        lostRaces.add(1, ordering: .relaxed)
        states.forget()
        let count = writer.withLock { writer in
            writer.lostRaces += 1
            // Who has waited for the row in vain queues for it.
            if writer.lostRaces >= 2 || error != nil { writer.locksFirst = true }
            return writer.lostRaces
        }
        guard error != nil else { return true }
        if count >= environment.limits.serverAttempts { return false }
        usleep(UInt32(environment.random.next() % (1_000 << UInt64(min(count, 6)))))
        return true
    }

    /// Notes what a write transaction of this process has stored.
    func win(_ row: StoreRow, at time: UInt64) {
        states.note(row, at: time)
        writer.withLock { writer in (writer.lostRaces, writer.writes) = (0, row.writes) }
    }

    /// The server may have lost commits that were not durable: puts an entry without changes at the end of the block of
    /// sequences that was reserved, so that none of them is given out a second time.
    private func skipReserved(_ row: StoreRow, on connection: Connection) throws(HoldfastError) {
        try moveHead(to: row.reserved, row, reserved: row.reserved, on: connection)
        connection.isInTransaction = false
    }

    /// Commits an entry without changes, where the head is smaller, and how many sequences are reserved.
    private func moveHead(
        to sequence: CommitSequence, _ row: StoreRow, reserved: CommitSequence, on connection: Connection
    ) throws(HoldfastError) {
        let time = Connection.now()
        var statements = [Statement.durability(true)]
        var written = StoreRow.Written(
            head: row.head, commitIdentifier: row.commitIdentifier, reserved: reserved, logStart: row.logStart)
        if sequence > row.head {
            let entry = CommitLogEntry(
                sequence: sequence, commitIdentifier: environment.random.next(),
                time: environment.time.wallMilliseconds(), changes: [])
            statements.append(.log(number, entry, CommitLogEncoding.encode([entry], under: entry)))
            (written.head, written.commitIdentifier) = (sequence, entry.commitIdentifier)
        }
        statements += [written.statement(number), Statement("COMMIT")]
        try connection.run(statements, "committing to")
        states.note(row.after(written), at: time)
    }

    public func releaseWriteLock() {
        writer.withLock { writer in
            if writer.isWriting { return }
            if writer.locked != nil { writer.connection?.rollBack() }
            // Who waits in the server's queue leaves it with the connection.
            if writer.asked != nil { letGo(&writer) }
            writer.locked = nil
        }
    }

    private func letGo(_ writer: inout Writer) {
        if let connection = writer.connection.take() {
            if writer.asked != nil { connection.close() }
            pool.give(connection)
        }
        (writer.asked, writer.locked, writer.isWriting) = (nil, nil, false)
    }

    public func beginWrite(durable: Bool, until last: UInt64) throws(HoldfastError) -> any StorageWrite {
        if isReadOnly {
            throw HoldfastError(.readOnly, "\(location) was opened for reading: open it without \"read_only\" to write")
        }
        if writer.withLock({ $0.isWriting }) {
            throw HoldfastError(.busy, "another write transaction is open on \(location): try again")
        }
        let deadline = min(Connection.now() &+ UInt64(environment.limits.foreignLock), last)
        guard try acquireWriteLock(until: deadline) else {
            releaseWriteLock()
            throw HoldfastError.lockedOut(of: location)
        }
        return try writer.withLock { writer throws(HoldfastError) in
            if let row = writer.locked.take(), let connection = writer.connection {
                writer.isWriting = true
                connection.deadline = last
                return PostgreSQLWrite(of: self, row, on: connection, durable: durable, isLocked: true)
            }
            for isFresh in [false, true] {
                do throws(HoldfastError) {
                    let connection = try usable(&writer, isFresh: isFresh, until: last)
                    let known = states.row
                    let row = if let known { known } else { try row(on: connection) }
                    writer.isWriting = true
                    return PostgreSQLWrite(of: self, row, on: connection, durable: durable, isLocked: false)
                } catch {
                    letGo(&writer)
                    guard error.tellsOfLostConnection && !isFresh else { throw pool.closed(error) }
                }
            }
            throw ServerError.lost("", location)
        }
    }

    /// A connection that the server has not ended meanwhile: with the statement of a batch it would not be known whether the
    /// server has it.
    private func usable(
        _ writer: inout Writer, isFresh: Bool, until deadline: UInt64
    ) throws(HoldfastError) -> Connection {
        if let open = writer.connection {
            open.deadline = deadline
            if !open.isEnded { return open }
            letGo(&writer)
        }
        let connection = try pool.take(isFresh: isFresh, until: deadline)
        connection.deadline = deadline
        if !connection.isEnded {
            writer.connection = connection
            return connection
        }
        pool.give(connection)
        let fresh = try pool.take(isFresh: true, until: deadline)
        fresh.deadline = deadline
        writer.connection = fresh
        return fresh
    }

    /// What a write transaction reserves: what it was told, and what the core counts on, though another process has closed
    /// the store meanwhile and given back what it saw reserved.
    func reserve(_ wanted: CommitSequence?, over row: StoreRow) -> CommitSequence {
        let counted = reserved.withLock { reserved in
            if let wanted { reserved = max(reserved, wanted) }
            return reserved
        }
        return max(row.reserved, counted)
    }

    /// The end of a write transaction on this connection.
    func end(_ connection: Connection) {
        writer.withLock { writer in
            guard writer.connection === connection else { return }
            writer.isWriting = false
            connection.deadline = .max
            connection.rollBack()
            if connection.isLost { letGo(&writer) }
        }
    }

    // MARK: Recovering and closing

    /// Waits until whatever this process had under way is over: the lock of the row is free only then.
    public func recover() throws(HoldfastError) {
        dropConnections()
        states.forget()
        try lockAnew()
        releaseWriteLock()
    }

    private func dropConnections() {
        pool.drop()
        writer.withLock { letGo(&$0) }
        told.withLock { $0.connection = nil }
    }

    /// What others have committed meanwhile stays. Sequences that were lost are not given out again, and positions there are
    /// positions of no commit.
    public func beginHistory(with repositories: [RepositoryRecord]) throws(HoldfastError) {
        dropConnections()
        // Before anybody is served.
        let found = try pool.using { connection throws(HoldfastError) in
            try connection.catalogue(0, of: self.number).repositories
        }
        guard repositories.allSatisfy({ known in found.contains { $0.goesOn(from: known) } }) else {
            let loss = HoldfastError(
                .io,
                "the server of \(location) has lost what made, dropped or renamed a repository: close the store, and open it "
                    + "again")
            states.end(with: loss)
            throw loss
        }
        let (lost, loss) = try states.beginHistory()
        do throws(HoldfastError) {
            try lockAnew()
            defer { releaseWriteLock() }
            if isReadOnly { return }
            try writer.withLock { writer throws(HoldfastError) in try moveHead(to: lost.sequence + 1, &writer) }
        } catch {
            // Nobody was told, and a position that was lost may still come to be one of another commit.
            states.endHistory(loss, known: lost)
            throw error
        }
    }

    private func lockAnew() throws(HoldfastError) {
        let deadline = Connection.now() &+ patience
        while !isReadOnly {
            do throws(HoldfastError) {
                try states.requireWhole()
                if try lockRow(until: deadline) { break }
                releaseWriteLock()
                throw HoldfastError.lockedOut(of: location)
            } catch {
                guard error.tellsOfLostConnection || error.tellsOfUnreachable, Connection.now() < deadline else {
                    throw error
                }
                usleep(20_000)
            }
        }
    }

    /// Where the row is locked: lets go of it with a durable write, which is an entry without changes where the head is smaller.
    private func moveHead(to sequence: CommitSequence, _ writer: inout Writer) throws(HoldfastError) {
        guard let row = writer.locked, let connection = writer.connection else { return }
        try moveHead(to: sequence, row, reserved: max(row.reserved, sequence), on: connection)
        writer.locked = nil
        connection.isInTransaction = false
    }

    /// Behind the lock of the row nothing of this process's is under way that the server has begun. What it begins later, because
    /// a pooler or the network held it back, compares in vain once the head has moved on.
    public func resolve(_ commits: [CommitName]) throws(HoldfastError) -> [Bool] {
        try pool.require(pool.epoch)
        guard let last = commits.map(\.sequence).max() else { return [] }
        let deadline = Connection.now() &+ patience
        while true {
            do throws(HoldfastError) {
                let found = try stored(of: Set(commits), through: last, until: deadline)
                resolved.add(UInt64(commits.count), ordering: .relaxed)
                return commits.map(found.contains)
            } catch {
                // Who asks again finds what came of that.
                guard error.tellsOfLostConnection, Connection.now() < deadline else { throw error }
                usleep(20_000)
            }
        }
    }

    /// Those of these commits that are stored. The others never are.
    private func stored(
        of commits: Set<CommitName>, through last: CommitSequence, until deadline: UInt64
    ) throws(HoldfastError) -> Set<CommitName> {
        guard try lockRow(until: deadline) else {
            releaseWriteLock()
            throw HoldfastError.lockedOut(of: location)
        }
        defer { releaseWriteLock() }
        return try writer.withLock { writer throws(HoldfastError) in
            guard writer.locked != nil, let connection = writer.connection else {
                throw HoldfastError(.internal, "the write lock of \(location) was lost")
            }
            let found = try connection.stored(of: commits, number, environment.limits)
            // Whose answer is lost may have waited for no disk, or for a replica that has not got it. Behind what is written
            // here all before it is where commits are to be.
            try moveHead(to: last, &writer)
            return found
        }
    }

    public func endReads() { pool.endReads(but: writer.withLock { $0.connection }) }

    public func close(head: CommitSequence) throws(HoldfastError) {
        endReads()
        writer.withLock { $0.isClosing = true }
        defer {
            follower.close()
            pool.close()
            writer.withLock { letGo(&$0) }
            told.withLock { $0.connection = nil }
        }
        if isReadOnly || loss != nil { return }
        let deadline = Connection.now() &+ patience
        do throws(HoldfastError) {
            guard try lockRow(until: deadline) else { throw HoldfastError.lockedOut(of: location) }
        } catch {
            // Of what was lost there is nothing to note.
            if loss != nil { return }
            throw error
        }
        try writer.withLock { writer throws(HoldfastError) in
            guard let row = writer.locked.take(), let connection = writer.connection else { return }
            let last = max(head, row.head)
            if last == row.head && row.reserved <= last { return connection.rollBack() }
            try moveHead(to: last, row, reserved: last, on: connection)
            connection.isInTransaction = false
        }
    }
}
