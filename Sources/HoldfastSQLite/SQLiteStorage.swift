internal import HoldfastCore
public import HoldfastEnvironment
public import HoldfastQuery
public import HoldfastStorage
internal import Synchronization

/// The engine that keeps a store in one SQLite file, with the system's libsqlite3. See Schema.swift for the layout.
///
///     writer          one connection, used by whoever leads the commit queue
///     readers         one connection for each open snapshot, idle ones kept
///     checkpointer    one connection and one thread
///
/// A sync or a COMMIT that fails puts the engine in doubt: no further commit succeeds until `recover`.
public final class SQLiteStorage: Storage {
    public let engine = "sqlite"
    public let location: String
    public let isReadOnly: Bool

    /// Called by one thread at a time, as the protocol says; locked all the same, so that a mistake there is
    /// no data race here.
    let writer: Lock<Connection?>
    let readers: ReaderPool
    let doubt: Doubt
    /// nil for a store that is only read.
    let checkpointer: Checkpointer?
    let files: StoreFiles
    let environment: Environment
    private let namesAreSynced = Atomic(false)
    /// Whether files were found to be open for reading alone.
    private let mustReopen = Atomic(false)
    /// Ends backups, which have connections of their own.
    let isClosing = Atomic(false)
    /// Nil where none is under way.
    let compacting = Lock<(connection: Connection, end: Interrupt.Flag)?>(nil)
    private let lastCommit = Lock<(head: CommitSequence, header: WALHeader)?>(nil)
    private let connectWriter: @Sendable () throws(HoldfastError) -> Connection
    /// nil once the store is closed.
    let storeLock: Lock<StoreLock?>
    /// nil for a store that is only read, and once it is closed.
    private let queue: Lock<WriteQueue?>
    /// For whoever has the write lock: the write transaction that was begun with it.
    private let begunWrite = Lock<SQLiteWrite?>(nil)
    /// Since when another program has SQLite's lock, where it was in the way last, and when that was seen last.
    private let held = Lock<(since: UInt64, seen: UInt64)?>(nil)
    /// Of a store that is only read.
    private let traces: SideFiles?
    let copies: PageCopies
    let keptRead: KeptRead
    /// In bytes.
    let walLimit: Int

    init(
        path: String, writer: Connection?, readers: ReaderPool, checkpointer: Checkpointer?, doubt: Doubt,
        files: StoreFiles, storeLock: StoreLock, queue: WriteQueue?, traces: SideFiles?,
        copies: PageCopies, keptRead: KeptRead, walLimit: UInt64,
        environment: Environment, connectWriter: @escaping @Sendable () throws(HoldfastError) -> Connection
    ) {
        location = path
        isReadOnly = writer == nil
        self.writer = Lock(writer)
        self.readers = readers
        self.checkpointer = checkpointer
        self.doubt = doubt
        self.files = files
        self.storeLock = Lock(storeLock)
        self.queue = Lock(queue)
        self.traces = traces
        self.copies = copies
        self.keptRead = keptRead
        self.walLimit = Int(clamping: walLimit)
        self.environment = environment
        self.connectWriter = connectWriter
    }

    deinit { letGo() }

    public func attach(_ host: any StorageHost) { checkpointer?.attach(host) }

    // MARK: Reading

    public func readState() throws(HoldfastError) -> StorageState {
        try reading { connection, head throws(HoldfastError) in
            let reserved = CommitSequence(try connection.mark(.reserved) ?? 0)
            return StorageState(
                incarnation: try connection.incarnation(), head: head, reservedThrough: max(reserved, head),
                repositories: try connection.repositories(), format: Int(Schema.format))
        }
    }

    public var changeToken: ChangeToken? { readers.changeToken }

    public func knownToken(within age: UInt64) -> ChangeToken? { readers.changeToken }

    public func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot { try SQLiteSnapshot(in: readers) }

    public func resolve(_ commits: [CommitName]) throws(HoldfastError) -> [Bool] {
        try reading { connection, _ throws(HoldfastError) in
            var answers: [Bool] = []
            for commit in commits { answers.append(try connection.contains(commit)) }
            return answers
        }
    }

    func reading<Result>(
        _ body: (Connection, CommitSequence) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let (reader, lease, sequence) = try readers.begin()
        defer { readers.end(reader, lease: lease) }
        return try readers.read(reader, lease) { connection throws(HoldfastError) in try body(connection, sequence) }
    }

    // MARK: Writing

    /// The head after this process's last commit, if nobody has committed since: spares asking for it.
    func head(if header: WALHeader?) -> CommitSequence? {
        lastCommit.withLock { last in header != nil && last?.header == header ? last?.head : nil }
    }

    func note(_ head: CommitSequence, at header: WALHeader) { lastCommit.withLock { $0 = (head, header) } }

    /// The write lock among the processes that share the store, and then SQLite's own lock, which another program may
    /// hold: the write transaction is begun here, where waiting can end, and `beginWrite` goes on with it.
    public func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool {
        guard let queue = queue.withLock({ $0 }) else { return true }
        storeLock.withLock { $0 }?.enterIfNeeded()
        while true {
            guard try queue.acquireWriteLock(until: deadline) else { return false }
            if try !isHeldByOthers() { return true }
            // Also a process that shares the store and does not ask before each commit.
            queue.noteOthers()
            let now = environment.time.monotonicNanoseconds()
            if now >= deadline { return false }
            usleep(microseconds(min(environment.limits.lockPoll, Int(clamping: deadline - now) + 1000)))
        }
    }

    /// Begins the write transaction ahead, and answers whether SQLite's lock is in the way. Any other failure is found
    /// again by `beginWrite`. Refuses to wait on when the lock has been held for too long.
    private func isHeldByOthers() throws(HoldfastError) -> Bool {
        guard begunWrite.withLock({ $0 == nil }), !doubt.lasts else { return false }
        // SQLite itself tries again for ten seconds where it gets no lock at all, which is waiting, too.
        let began = environment.time.monotonicNanoseconds()
        do throws(HoldfastError) {
            let connection = try writableConnection()
            connection.setPatience(0, environment.limits)
            defer { connection.setBusyTimeout() }
            let write = try SQLiteWrite(of: self, on: connection)
            begunWrite.withLock { $0 = write }
            held.withLock { $0 = nil }
            return false
        } catch {
            guard error.status == .busy else { return false }
            let now = environment.time.monotonicNanoseconds()
            let since = held.withLock { held in
                // Where nobody has waited for a while, it is not known to be the same lock.
                let memory = UInt64(environment.limits.lockMemory)
                let since = held.flatMap { began &- $0.seen < memory ? $0.since : nil } ?? began
                held = (since, now)
                return since
            }
            if now &- since > UInt64(environment.limits.foreignLock) {
                held.withLock { $0 = nil }
                throw .lockedOut(of: location)
            }
            return true
        }
    }

    /// Whether no other process has written for a while.
    var isAlone: Bool { queue.withLock { $0 }?.isAlone ?? false }

    /// A commit of another process was found.
    func noteOthers() { queue.withLock { $0 }?.noteOthers() }

    public func releaseWriteLock() {
        takeBegunWrite()?.rollback()
        queue.withLock { $0 }?.leave()
    }

    private func takeBegunWrite() -> SQLiteWrite? { begunWrite.withLock { $0.take() } }

    private func writableConnection() throws(HoldfastError) -> Connection {
        keptRead.use()
        // All connections: SQLite opens the WAL's index once for a whole process.
        if mustReopen.load(ordering: .relaxed) { try recover() }
        var connection = try writer.withLock { writer throws(HoldfastError) in try usable(writer) }
        if connection.cannotWrite {
            mustReopen.store(true, ordering: .relaxed)
            try recover()
            connection = try writer.withLock { writer throws(HoldfastError) in try usable(writer) }
        }
        try files.checkNowAndThen(readers.walHeader)
        return connection
    }

    public func beginWrite(durable: Bool, until deadline: UInt64) throws(HoldfastError) -> any StorageWrite {
        if durable { try syncNames() }
        // One that is not durable relies on nothing, but the checkpointer waits for it.
        if durable ? doubt.isElsewhere : doubt.wasElsewhere { try settleElsewhere() }
        if let begun = takeBegunWrite() {
            if begun.isSynced == durable { return begun }
            // That can be changed outside a transaction alone.
            begun.rollback()
        }
        do throws(HoldfastError) {
            let connection = try writableConnection()
            try connection.setCommitsAreSynced(durable)
            return try SQLiteWrite(of: self, on: connection)
        } catch {
            keptRead.giveUp()
            throw error
        }
    }

    /// The end of a write transaction.
    func commit(on connection: Connection) throws(HoldfastError) {
        do throws(HoldfastError) {
            if doubt.lasts { throw Self.doubtful(location) }
            try connection.run(.commit, "committing to")
        } catch {
            doubt.arise()
            keptRead.giveUp()
            connection.rollbackIfNeeded()
            throw error
        }
        keptRead.rest()
        checkpointer?.noteCommit(frames: connection.walFrames)
    }

    /// Before the first commit that has to be durable, the directory: the WAL's name is as new as this process's
    /// opening, or another's. SQLite syncs it for the process alone that has made the WAL, and does not look whether
    /// that fails (unixSync in os_unix.c).
    private func syncNames() throws(HoldfastError) {
        if isReadOnly || namesAreSynced.load(ordering: .relaxed) { return }
        do throws(HoldfastError) {
            try DatabaseCopy.sync(Location.split(location).parent, O_RDONLY | O_DIRECTORY)
        } catch  where error.status == .readOnly {
            // Whoever may not read the directory cannot sync it.
        }
        namesAreSynced.store(true, ordering: .relaxed)
    }

    /// Always syncs: the newest commit may be another process's.
    public func sync() throws(HoldfastError) {
        try syncNames()
        if doubt.isElsewhere { try settleElsewhere() }
        try writer.withLock { writer throws(HoldfastError) in
            if isReadOnly { return }
            let connection = try usable(writer)
            try files.check(readers.walHeader)
            if doubt.lasts { throw Self.doubtful(location) }
            keptRead.use()
            defer { keptRead.rest() }
            do throws(HoldfastError) {
                try connection.walFile?.sync()
            } catch {
                doubt.arise()
                throw error
            }
        }
    }

    // MARK: Recovering and closing

    public func recover() throws(HoldfastError) {
        guard let checkpointer else { return }
        takeBegunWrite()?.rollback()
        doubt.arise()
        let failure = doubt.failure
        // With no connection left in any process, the next one reads the WAL anew, and so finds a transaction whose
        // frames were written and only their sync failed. With another process there, they are written over.
        try checkpointer.pausing { () throws(HoldfastError) in
            // Notes what the WAL has lost, while there is its index, which alone tells how long it must be.
            _ = files.damage(readers.walHeader)
            readers.closeAll()
            try reopenWriter()
        }
        doubt.settle(failure)
        try readers.serve()
        mustReopen.store(false, ordering: .relaxed)
    }

    private func reopenWriter() throws(HoldfastError) {
        try writer.withLock { writer throws(HoldfastError) in
            keptRead.giveUp()
            writer?.close()
            writer = nil
            let connection = try files.open(readers.walHeader, by: connectWriter)
            // What failed may have been a compaction, and may turn out to be done.
            files.allowShrinking(to: Int(clamping: try connection.databaseBytes()))
            try connection.settle(isFirst: false, environment.limits)
            writer = connection
        }
    }

    /// Makes durable what another process's failed sync may have lost. What is visible is right, so those who read go on;
    /// with descriptors that are opened anew, because those of this process may tell of the same failure once more.
    func settleElsewhere() throws(HoldfastError) {
        guard let checkpointer, !doubt.lasts else { return }
        takeBegunWrite()?.rollback()
        let failure = doubt.failure
        do throws(HoldfastError) {
            try checkpointer.pausing { () throws(HoldfastError) in try reopenWriter() }
        } catch {
            mustReopen.store(true, ordering: .relaxed)
            throw error
        }
        doubt.settle(failure)
    }

    public func close(head: CommitSequence) throws(HoldfastError) {
        defer { letGo() }
        isClosing.store(true, ordering: .releasing)
        checkpointer?.stop()
        if doubt.lasts || doubt.isElsewhere { try recover() }
        let damage = files.damage(readers.walHeader)
        readers.close()
        try writer.withLock { writer throws(HoldfastError) in
            guard let connection = writer, let lock = storeLock.withLock({ $0 }) else { return }
            keptRead.giveUp()
            if let damage { throw damage }
            // Whoever has another shared memory than this process may have the WAL in use, and only the next that opens
            // the store as the first finds out what it holds.
            if files.isAdrift { return try files.checkWALName() }
            if try lock.isLast() {
                try connection.noteClosed(at: head)
                // With the WAL empty, and removed by SQLite as its last connection goes, the store is a single file.
                connection.setPatience(environment.limits.settlePatience, environment.limits)
                _ = try connection.checkpoint(.truncate)
                connection.setCheckpointOnClose(true)
            }
            try files.checkDatabase()
        }
    }

    /// Closes what is open, without writing.
    private func letGo() {
        checkpointer?.stop()
        readers.close()
        writer.withLock { writer in
            keptRead.giveUp()
            writer?.close()
            writer = nil
        }
        queue.withLock { $0 = nil }
        doubt.close()
        traces?.remove()
        storeLock.withLock { $0 = nil }
    }

    func usable(_ writer: Connection?) throws(HoldfastError) -> Connection {
        if let writer { return writer }
        throw isReadOnly
            ? HoldfastError(.readOnly, "\(location) was opened for reading: open it without \"read_only\" to write")
            : Self.doubtful(location)
    }

    private static func doubtful(_ path: String) -> HoldfastError {
        HoldfastError(.io, "\(path) takes no commits since a sync or a commit failed: check the disk, then recover it")
    }
}
