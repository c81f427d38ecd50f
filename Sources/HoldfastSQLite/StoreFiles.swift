import HoldfastCore
internal import HoldfastEnvironment
import Synchronization

/// The files of an open store. Another program may delete, move, replace or cut them short, and the connections that
/// are open would not notice: they would go on writing to files that no name leads to, and a checkpoint would copy
/// what is missing in the WAL, as zeros, into the database. So before anything is written it is looked whether the names
/// still lead to the files that were opened, as long as they must be. That costs a system call a file, a tenth of a small
/// commit, so whoever commits again at once goes without.
///
/// New connections are opened by name and must not be where another file stands: SQLite would write this store's log
/// into that file or, finding it empty, delete the WAL; and what it found in another WAL it would take for this one's. So
/// it is looked before, and again once all is open (`open`).
///
/// What is displaced behind that look, and before the COMMIT that relies on it has ended, counts as displaced after it.
/// A file that was found to be cut short stays so: a copying of the WAL that is under way makes it as long as before,
/// with a hole in it.
final class StoreFiles: Sendable {
    private struct File {
        let path: String
        let device: dev_t
        let inode: ino_t

        init(_ path: String) throws(HoldfastError) {
            var status = stat()
            guard stat(path, &status) == 0 else { throw Location.error(errno, "opening", path) }
            self.path = path
            device = status.st_dev
            inode = status.st_ino
        }

        /// In bytes. Refuses another file than the one that was opened; `cure` says what to do then.
        func size(_ cure: StaticString) throws(HoldfastError) -> Int {
            var status = stat()
            let isThere = stat(path, &status) == 0
            if isThere && status.st_ino == inode && status.st_dev == device { return Int(status.st_size) }
            if !isThere && errno != ENOENT && errno != ENOTDIR { throw Location.error(errno, "looking for", path) }
            throw HoldfastError(
                .io, "\(path) was \(isThere ? "replaced" : "deleted or moved") while the store was open: \(cure)")
        }
    }

    private static let moveBack: StaticString = "put the file back, or close the store and open it again"
    private static let reopen: StaticString = "close the store, which keeps its commits, and open it again"

    private let database: File
    /// The three are nil for a store that is only read: its other files come and go with those who write it.
    private let wal: File?
    private let index: File?
    private let lock: File?
    private let time: any TimeSource
    /// Monotonic.
    private let lastCheck = Atomic<UInt64>(0)
    private let interval: UInt64
    /// Whether another process may compact the database without this one's knowing, and so cut its file.
    private let mayBeCompacted: Bool
    /// The database's file, which never becomes shorter than it was seen (`least`), unless it was compacted: then it may
    /// get as short as that (`shrunk`), until it is seen so.
    private let sizes = Lock((least: 0, shrunk: Int.max))
    /// That a file has lost its end.
    private let loss = Lock<HoldfastError?>(nil)

    /// To be made when all the files are there.
    init(_ path: String, _ mode: Connection.Mode, _ environment: Environment) throws(HoldfastError) {
        let readOnly = mode != .readWrite
        mayBeCompacted = mode == .readOnly
        time = environment.time
        interval = UInt64(environment.limits.filesInterval)
        database = try File(path)
        wal = readOnly ? nil : try File(path + "-wal")
        index = readOnly ? nil : try File(path + "-shm")
        lock = readOnly ? nil : try File(path + "-lock")
    }

    /// Which files the database, its WAL and the WAL's index are, as text; nil where one is missing.
    static func identity(_ path: String) -> String? {
        guard let database = try? File(path), let wal = try? File(path + "-wal"), let index = try? File(path + "-shm")
        else { return nil }
        return identity(database, wal, index)
    }

    var identity: String {
        guard let wal, let index else { return "" }
        return Self.identity(database, wal, index)
    }

    private static func identity(_ database: File, _ wal: File, _ index: File) -> String {
        "database \(database.device) \(database.inode) log \(wal.device) \(wal.inode) "
            + "index \(index.device) \(index.inode)"
    }

    /// Whether other processes may have opened the store without this one's locks: by another shared memory, or by
    /// another sidecar file. Who finds that leaves the files as they are.
    var isAdrift: Bool {
        (try? index?.size(Self.reopen)) == nil && index != nil || (try? lock?.size(Self.reopen)) == nil && lock != nil
    }

    /// Whether the WAL has still its name, and so its commits.
    func checkWALName() throws(HoldfastError) { _ = try wal?.size(Self.reopen) }

    /// To be called before a commit; looks if nobody has for a while.
    func checkNowAndThen(_ header: () -> WALHeader?) throws(HoldfastError) {
        let now = time.monotonicNanoseconds()
        if now &- lastCheck.load(ordering: .relaxed) < interval { return }
        try check(header)
        lastCheck.store(now, ordering: .relaxed)
    }

    /// To be called before anything else is written, or opened. `header` reads the WAL's index.
    func check(_ header: () -> WALHeader?) throws(HoldfastError) {
        try checkDatabase()
        try checkPages(header)
        try checkWAL(header)
        _ = try index?.size(Self.reopen)
        _ = try lock?.size(Self.reopen)
    }

    /// A connection to the files that are open; `header` reads the WAL's index. SQLite opens the WAL when it reads first.
    func open(
        _ header: () -> WALHeader?, by connect: () throws(HoldfastError) -> Connection
    ) throws(HoldfastError) -> Connection {
        try check(header)
        let connection = try connect()
        do throws(HoldfastError) {
            _ = try connection.head()
        } catch {
            // What is read from other files says nothing of these.
            try check(header)
            throw error
        }
        try check(header)
        return connection
    }

    func checkDatabase() throws(HoldfastError) {
        if let error = loss.withLock({ $0 }) { throw error }
        // Looked at with the lock held, lest it be compacted, and cut, between the look and the comparison.
        try sizes.withLock { sizes throws(HoldfastError) in
            let size = try database.size(Self.moveBack)
            if mayBeCompacted { return }
            guard size >= sizes.least else { throw cutShort(database) }
            sizes.least = min(size, sizes.shrunk)
            if size <= sizes.shrunk { sizes.shrunk = .max }
        }
    }

    /// With nothing in the WAL, the file of a database that others may compact has as many pages as the last commit has left.
    private func checkPages(_ header: () -> WALHeader?) throws(HoldfastError) {
        guard mayBeCompacted, let before = header(), before.walBytes == 0 else { return }
        guard try database.size(Self.moveBack) < before.databaseBytes, header() == before else { return }
        throw cutShort(database)
    }

    /// The database was compacted to this many bytes, to which its file is cut with the next checkpoint. To be called where
    /// no checkpoint is under way that has begun before the compaction, since that may still make the file longer.
    func allowShrinking(to bytes: Int) { sizes.withLock { $0 = (least: 0, shrunk: bytes) } }

    private func checkWAL(_ header: () -> WALHeader?) throws(HoldfastError) {
        guard let wal else { return }
        let before = header()
        let size = try wal.size(Self.reopen)
        // Only while nobody changes the WAL do its length and its index belong together.
        guard let before, size < before.walBytes, header() == before else { return }
        throw cutShort(wal)
    }

    /// Whether a file has lost its end. Such files are better left as they are.
    func damage(_ header: () -> WALHeader?) -> HoldfastError? {
        do throws(HoldfastError) {
            try checkDatabase()
            try checkPages(header)
            try checkWAL(header)
            return nil
        } catch {
            return error.status == .corrupt ? error : nil
        }
    }

    private func cutShort(_ file: File) -> HoldfastError {
        let error = HoldfastError(
            .corrupt, "\(file.path) was cut short while the store was open: close the store and restore a backup")
        loss.withLock { $0 = error }
        return error
    }
}
