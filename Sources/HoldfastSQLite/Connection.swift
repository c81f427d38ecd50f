import CHoldfastPlatform
import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastStorage

/// One SQLite connection with its prepared statements.
///
/// Sendable: SQLite does not lock it (SQLITE_OPEN_NOMUTEX) and neither does this class; whoever owns it lets one
/// thread at a time use it: a reader's lock, the checkpointer's, or the commit queue's single leader.
final class Connection: @unchecked Sendable {
    enum Mode {
        case readWrite
        case readOnly
        /// Without locks and without a write-ahead log, for a directory in which neither can be made.
        case immutable
    }

    let path: String
    /// How many frames the write-ahead log had after the last commit of this connection.
    private(set) var walFrames = 0
    /// Whether it was found that this connection cannot write although it was opened to: see `error`.
    private(set) var cannotWrite = false
    /// Whether a COMMIT includes a sync (synchronous = FULL) or not (NORMAL).
    private(set) var commitsAreSynced = true

    /// Called when a sync of this connection has failed.
    var whenSyncFails: (@Sendable () -> Void)?

    /// What this connection has made beside the file, to be removed when it is closed.
    var traces: SideFiles?

    /// So many entries of an index are inserted by one statement. SQLite takes 32,766 parameters in one, three each.
    var indexRows = 1

    /// So many rows of a repository that is dropped are deleted by one statement.
    var deletedRows = 1

    /// Of the connection that writes.
    var rowNumbers = RowNumbers(places: 1)

    /// How a long piece of work here goes beside commits; nil: as if there were none.
    var pace: BackupPace?

    /// After so many bytes of pages that pieces have read, the pages are let go.
    var piecePageBytes = Int.max
    private var readForPieces = 0

    let handle: OpaquePointer
    private let mode: Mode
    private let busyTimeout: Int
    private let lockPoll: Int
    /// Set when what is done here, or waits, is to end soon.
    let stop: Interrupt.Flag
    /// By the number of the query.
    private let statements: UnsafeMutableBufferPointer<OpaquePointer?>
    private var indexStatements: [IndexID: [OpaquePointer?]] = [:]
    /// The catalogue as it was read last.
    var catalogue: Catalogue?
    /// Of the connection that writes: whether nobody can have changed it since, so that the mark need not be read.
    var catalogueIsCurrent = false
    private var isOpen = true
    private let epoch = hfplatform_fork_epoch()
    private let time = SystemTime()
    /// What is left of it, in nanoseconds; see `setPatience`.
    private var patience: UInt64 = 0
    /// What each wait begins with; nil where all of them share what is left.
    private var patienceOfEach: UInt64?
    /// How long it sleeps before it looks again, in microseconds.
    private var poll: UInt32 = 0

    /// sqlite3_open_v2. NOFOLLOW: that the path is no symbolic link was checked before, and might have changed.
    /// `limits` tell how long it waits for others; without them it does not. `stop` ends that.
    init(
        path: String, mode: Mode, waiting limits: Limits? = nil, stop: Interrupt.Flag = Interrupt.Flag()
    ) throws(HoldfastError) {
        SQLiteForks.prepare()
        self.path = path
        self.mode = mode
        // PRIVATECACHE: a host may have turned on the shared cache, under which connections lock each other's tables.
        var flags =
            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE
        flags |= mode == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        if mode == .immutable { flags |= SQLITE_OPEN_URI }
        var opened: OpaquePointer?
        let name = mode == .immutable ? Self.immutableAddress(path) : path
        let code = sqlite3_open_v2(name, &opened, flags, Self.fileLayer)
        guard code == SQLITE_OK, let opened else {
            let error = ResultCode.error(code, "opening", path, connection: opened)
            sqlite3_close(opened)
            throw error
        }
        // Where opening a file for writing fails, for whatever reason, SQLite opens it for reading.
        if mode == .readWrite && sqlite3_db_readonly(opened, "main") == 1 && Location.isWritable(path) {
            sqlite3_close(opened)
            throw Self.openedForReading(path)
        }
        handle = opened
        statements = .allocate(capacity: Query.allCases.count)
        statements.initialize(repeating: nil)
        busyTimeout = limits?.busyTimeout ?? 0
        lockPoll = limits?.lockPoll ?? 0
        self.stop = stop
        setBusyTimeout()
        holdfast_sqlite3_db_switch(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        setCheckpointOnClose(false)
    }

    deinit {
        close()
        statements.deallocate()
    }

    /// SQLite's own way to files, whatever the host has made its default: another may lock otherwise than the processes
    /// that share the store, or keep nothing on the disk. A program that wants the files of its stores to go through a
    /// layer of its own, as the tests do that make files fail, registers it (sqlite3_vfs) under the name "holdfast".
    private static var fileLayer: String { sqlite3_vfs_find("holdfast") == nil ? "unix" : "holdfast" }

    /// sqlite3_close. In a forked child it does nothing: the connection is the parent's.
    func close() {
        guard isOpen, epoch == hfplatform_fork_epoch() else { return }
        isOpen = false
        for statement in statements { sqlite3_finalize(statement) }
        for index in Array(indexStatements.keys) { forgetStatements(of: index) }
        sqlite3_close(handle)
        traces?.remove()
    }

    /// sqlite3_interrupt: has what is just run here end soon, with `.cancelled`, or with `.busy` where it waits, which that
    /// alone does not end. Any thread, while it is open. Nothing waits here any more until `stop` is cleared.
    @discardableResult func interrupt() -> Bool {
        defer { sqlite3_interrupt(handle) }
        return stop.set()
    }

    /// Has what `body` runs end where `stop` is set, even before it has begun, of which sqlite3_interrupt knows nothing, and
    /// go at its pace.
    func endingWhereStopped<Result>(
        _ body: () throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let steps: Int32 = 1000
        sqlite3_progress_handler(
            handle, steps,
            { context in
                // Called inside this connection's own call, so the connection is alive and its thread is ours.
                let connection = Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
                connection.pace?.rest()
                return connection.stop.isSet ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { sqlite3_progress_handler(handle, 0, nil, nil) }
        return try body()
    }

    /// sqlite3_db_release_memory: the pages that are kept for the next reading.
    func releaseMemory() { sqlite3_db_release_memory(handle) }

    /// sqlite3_db_status: the bytes of pages that are kept.
    var pageBytes: Int {
        var (bytes, most): (Int32, Int32) = (0, 0)
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_USED, &bytes, &most, 0)
        return Int(bytes)
    }

    /// At the end of a piece of a long walk, before which so many bytes of pages were kept. Such a walk comes to most pages
    /// but once: it must not make all of a store's pages stay in memory.
    func endPiece(before: Int) {
        readForPieces += max(0, pageBytes - before)
        if readForPieces < piecePageBytes { return }
        readForPieces = 0
        releaseMemory()
    }

    /// Whether closing the last connection checkpoints and removes the write-ahead log.
    func setCheckpointOnClose(_ isOn: Bool) {
        holdfast_sqlite3_db_switch(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isOn ? 0 : 1)
    }

    /// Counts the frames of the WAL from here on (sqlite3_wal_hook).
    func watchCommits() {
        // The hook runs inside this connection's own COMMIT, so the connection is alive and its thread is ours.
        sqlite3_wal_hook(
            handle,
            { context, _, _, frames in
                Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue().walFrames = Int(frames)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    // MARK: Statements

    func statement(_ query: Query) throws(HoldfastError) -> Statement {
        if let ready = statements[query.rawValue] { return Statement(pointer: ready, connection: self) }
        let prepared = try prepare(query.sql)
        statements[query.rawValue] = prepared
        return Statement(pointer: prepared, connection: self)
    }

    func statement(_ query: IndexQuery, of index: IndexID) throws(HoldfastError) -> Statement {
        if let ready = indexStatements[index]?[query.number] { return Statement(pointer: ready, connection: self) }
        let prepared = try prepare(query.sql(index))
        indexStatements[index, default: .init(repeating: nil, count: IndexQuery.count)][query.number] = prepared
        return Statement(pointer: prepared, connection: self)
    }

    func forgetStatements(of index: IndexID) {
        for statement in indexStatements.removeValue(forKey: index) ?? [] { sqlite3_finalize(statement) }
    }

    /// To be finalized by the caller.
    func prepared(_ sql: String) throws(HoldfastError) -> Statement {
        Statement(pointer: try prepare(sql), connection: self)
    }

    private func prepare(_ sql: String) throws(HoldfastError) -> OpaquePointer {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw error(code, "reading") }
        return prepared
    }

    func run(_ query: Query, _ doing: String) throws(HoldfastError) { try statement(query).run(doing) }

    /// Runs statements that are needed once.
    func execute(_ sql: String, _ doing: String) throws(HoldfastError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), doing)
    }

    /// The single number that a statement gives.
    func number(_ sql: String, _ doing: String) throws(HoldfastError) -> Int64? {
        try first(sql, doing) { $0.integer(0) }
    }

    /// Each row of a statement that is needed once.
    func each(
        _ sql: String, _ doing: String, _ body: (Statement) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil), doing)
        defer { sqlite3_finalize(prepared) }
        let statement = Statement(pointer: prepared!, connection: self)
        while try statement.step(doing) { try body(statement) }
    }

    /// What `read` takes from the first row of a statement that is needed once.
    private func first<Value>(
        _ sql: String, _ doing: String, _ read: (Statement) -> Value?
    ) throws(HoldfastError) -> Value? {
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil), doing)
        defer { sqlite3_finalize(prepared) }
        let statement = Statement(pointer: prepared!, connection: self)
        return try statement.step(doing) ? read(statement) : nil
    }

    /// Whether a transaction is open. After an error SQLite may have rolled back by itself.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// A ROLLBACK that fails leaves a transaction open, which the next one ends first.
    func rollbackIfNeeded() { try? endTransaction() }

    func endTransaction() throws(HoldfastError) {
        if isInTransaction { try run(.rollback, "rolling back") }
    }

    /// Outside a transaction only: SQLite refuses it inside. One whose ROLLBACK failed is ended first.
    func setCommitsAreSynced(_ synced: Bool) throws(HoldfastError) {
        if synced == commitsAreSynced { return }
        try endTransaction()
        try execute("PRAGMA synchronous = \(synced ? "FULL" : "NORMAL")", "preparing a commit in")
        commitsAreSynced = synced
    }

    /// How long a checkpoint waits for whoever stands in its way. It looks again all the time: between two commits a
    /// busy writer lets go of its lock for some ten microseconds, which SQLite's own busy timeout, whose sleeps
    /// take milliseconds, would hardly ever meet.
    func setPatience(_ nanoseconds: Int, _ limits: Limits) {
        patience = UInt64(nanoseconds)
        patienceOfEach = nil
        wait(polling: limits.checkpointPoll)
    }

    /// How long anything else waits, each time: as it was opened. In whole milliseconds.
    func setBusyTimeout() {
        patienceOfEach = UInt64(busyTimeout / 1_000_000 * 1_000_000)
        wait(polling: lockPoll)
    }

    private func wait(polling interval: Int) {
        poll = microseconds(interval)
        sqlite3_busy_handler(
            handle,
            { context, tries in
                // Called inside this connection's own call, so the connection is alive and its thread is ours.
                let connection = Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
                if tries == 0, let patience = connection.patienceOfEach { connection.patience = patience }
                guard connection.patience > 0, !connection.stop.isSet else { return 0 }
                let began = connection.time.monotonicNanoseconds()
                usleep(connection.poll)
                let slept = connection.time.monotonicNanoseconds() &- began
                connection.patience -= min(connection.patience, max(slept, 1))
                return 1
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

    // MARK: Reading between commits

    /// Begins to read, and leaves it at that: from here on the connection is in a read transaction, also behind a COMMIT, until
    /// `leave`. Answers whether it could.
    func stay() -> Bool {
        if let isThere = try? statement(.stay).step(), isThere { return true }
        leave()
        return false
    }

    /// In a forked child it does nothing, as `close`.
    func leave() {
        if isOpen, epoch == hfplatform_fork_epoch() { try? statement(.stay).reset() }
    }

    // MARK: The write-ahead log

    enum Checkpoint {
        case passive, restart, truncate

        var mode: Int32 {
            switch self {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        }
    }

    /// sqlite3_wal_checkpoint_v2: how many frames the WAL has, how many of them are in the database file, and
    /// whether somebody stood in the way.
    func checkpoint(_ kind: Checkpoint) throws(HoldfastError) -> (frames: Int, done: Int, isBlocked: Bool) {
        var frames: Int32 = 0
        var done: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(handle, "main", kind.mode, &frames, &done)
        if code & 0xFF == SQLITE_BUSY { return (Int(frames), Int(done), true) }
        try check(code, "checkpointing")
        return (Int(frames), Int(done), false)
    }

    func usesWriteAheadLog() throws(HoldfastError) -> Bool {
        try first("PRAGMA journal_mode", "opening") { $0.text(0)?.elementsEqual("wal".utf8) } ?? false
    }

    /// The file of the write-ahead log, nil where there is none yet (SQLITE_FCNTL_JOURNAL_POINTER).
    var walFile: WALFile? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard code == SQLITE_OK, let file, file.pointee.pMethods != nil else { return nil }
        return WALFile(file: file, connection: self)
    }

    // MARK: Errors

    @inline(__always)
    func check(_ code: Int32, _ doing: String) throws(HoldfastError) {
        if code != SQLITE_OK { throw error(code, doing) }
    }

    /// The WAL and its index, too, SQLite opens for reading where opening them for writing fails, and only says so when
    /// something is written. Such a connection is of no use any more.
    func error(_ code: Int32, _ doing: String) -> HoldfastError {
        if ResultCode.isOpenedForReading(code) && mode == .readWrite && !isReadOnly && Location.isWritable(path) {
            cannotWrite = true
            return Self.openedForReading("\(path)-wal or \(path)-shm")
        }
        if ResultCode.isFailedSync(code) { whenSyncFails?() }
        return ResultCode.error(code, doing, path, connection: handle)
    }

    private static func openedForReading(_ path: String) -> HoldfastError {
        HoldfastError(
            .io, "\(path) could not be opened for writing when it was needed: check the disk, then run it again")
    }

    /// A URI whose path cannot be misread.
    private static func immutableAddress(_ path: String) -> String {
        let hexadecimal = Array("0123456789ABCDEF".utf8)
        var address = Array("file:".utf8)
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"):
                address.append(byte)
            default:
                address += [UInt8(ascii: "%"), hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]]
            }
        }
        return String(decoding: address, as: UTF8.self) + "?immutable=1"
    }
}
