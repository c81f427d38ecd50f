import CHoldfastPlatform
import CSQLite
import HoldfastCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Makes a new file that holds one committed state of a store, as a store of its own: with an incarnation of its own,
/// closed cleanly, and without side files. It is written under another name, synced, and renamed when it is complete, so
/// that a copy that was cut short is never taken for one.
struct DatabaseCopy {
    private static let piecePages: Int32 = 256

    let path: String
    private let partial: String

    init(to path: String) {
        self.path = path
        partial = path + "-partial"
    }

    /// `source` is in a transaction, and what that shows is copied: others that write do not disturb it.
    func make(
        from source: Connection, head: CommitSequence, incarnation: [UInt8], _ progress: Progress
    ) throws(HoldfastError) {
        try create()
        do throws(HoldfastError) {
            try copyPages(from: source, progress)
            try settle(head, incarnation)
            try sync(partial, O_RDWR)
        } catch {
            discard()
            throw error
        }
    }

    /// Puts what was made in its place.
    func publish() throws(HoldfastError) {
        guard rename(partial, path) == 0 else {
            let reason = errno
            discard()
            throw Location.error(reason, "writing", path)
        }
        try sync(Location.split(path).parent, O_RDONLY | O_DIRECTORY)
    }

    func discard() { for end in ["", "-journal", "-wal", "-shm"] { unlink(partial + end) } }

    /// Holds the copy against SQLite's rules for a sound database.
    func check() throws(HoldfastError) {
        let connection = try Connection(path: partial, mode: .immutable, busyMilliseconds: 0)
        let problems = try connection.problems(limit: 1)
        guard let first = problems.first else { return }
        throw HoldfastError(.corrupt, "\(path) is not restored, because the backup is damaged: \(first)")
    }

    private func create() throws(HoldfastError) {
        // Of a copy whose process was killed.
        discard()
        let descriptor = hfp_open(partial, O_RDWR | O_CREAT | O_EXCL, 0o600)
        if descriptor < 0 { throw Location.error(-descriptor, "creating", partial) }
        close(descriptor)
    }

    /// sqlite3_backup_step.
    private func copyPages(from source: Connection, _ progress: Progress) throws(HoldfastError) {
        let target = try Connection(path: partial, mode: .readWrite, busyMilliseconds: 0)
        // Synced once, at the end.
        try target.execute("PRAGMA synchronous = OFF", "writing")
        guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw target.error(sqlite3_errcode(target.handle), "writing")
        }
        var code = SQLITE_OK
        do throws(HoldfastError) {
            let pageBytes = UInt64(clamping: try source.number("PRAGMA page_size", "reading") ?? 4096)
            while code == SQLITE_OK {
                code = sqlite3_backup_step(backup, Self.piecePages)
                let total = UInt64(sqlite3_backup_pagecount(backup))
                let done = total - UInt64(sqlite3_backup_remaining(backup))
                guard try progress(done * pageBytes, total * pageBytes) else { throw Self.cancelled }
            }
        } catch {
            sqlite3_backup_finish(backup)
            throw error
        }
        sqlite3_backup_finish(backup)
        // What reading finds wrong is told as the source's fault.
        if code != SQLITE_DONE { throw (code & 0xFF == SQLITE_CORRUPT ? source : target).error(code, "copying") }
    }

    /// Makes the copy a store of its own, which was closed at this sequence.
    private func settle(_ head: CommitSequence, _ incarnation: [UInt8]) throws(HoldfastError) {
        let copy = try Connection(path: partial, mode: .readWrite, busyMilliseconds: 0)
        // Alone, so that it needs no shared memory, which a file system of another machine does not have.
        try copy.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF", "writing")
        try copy.run(.beginImmediate, "writing")
        try copy.setIncarnation(incarnation)
        try copy.setMark(.reserved, Int64(clamping: head))
        try copy.run(.commit, "writing")
        copy.setCheckpointOnClose(true)
        guard try !copy.checkpoint(.truncate).isBlocked else {
            throw HoldfastError(.busy, "\(partial) is in use by another program: choose another place")
        }
        copy.close()
        // SQLite leaves the log's file behind where locks are exclusive.
        for end in ["-wal", "-shm"] { unlink(partial + end) }
    }

    private func sync(_ path: String, _ flags: Int32) throws(HoldfastError) {
        let descriptor = hfp_open(path, flags, 0)
        if descriptor < 0 { throw Location.error(-descriptor, "syncing", path) }
        defer { close(descriptor) }
        // A directory on a file system that cannot sync one is as durable as it gets.
        let failure = hfp_sync(descriptor)
        if failure != 0 && failure != EINVAL { throw Location.error(failure, "syncing", path) }
    }

    static let cancelled = HoldfastError(.cancelled, "nothing was written: the progress callback said to stop")
}
