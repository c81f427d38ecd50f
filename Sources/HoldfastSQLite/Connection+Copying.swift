import CSQLite
import HoldfastCore
internal import HoldfastEnvironment

extension Connection {
    /// Has the next checkpoint, of whatever process, copy the WAL from its beginning.
    ///
    /// A checkpoint that ends before the WAL does, because somebody reads or has just committed, does not sync the
    /// database's file, and SQLite counts what it has copied as copied (walCheckpoint in wal.c): the sync comes with
    /// the last page. If that one fails, Linux marks all these pages as clean, and the next checkpoint would copy the
    /// last of them alone, sync nothing else, and have the WAL overwritten. SQLite forgets that count itself when it
    /// makes the index anew, which it does not while another process has the store open.
    ///
    /// Outside a transaction. The count is changed under the lock of those who copy; who reads may go on, since what is
    /// copied once more is what was copied before.
    func copyAllAnew(_ limits: Limits) throws(HoldfastError) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        try check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file), "recovering")
        guard let file, walFile != nil, let methods = file.pointee.pMethods?.pointee, methods.iVersion >= 2 else {
            return
        }
        var index: UnsafeMutableRawPointer?
        try check(methods.xShmMap(file, 0, WALIndex.regionBytes, 0, &index), "recovering")
        guard let index else { return }
        let deadline = SystemTime().monotonicNanoseconds() &+ UInt64(limits.busyTimeout)
        while true {
            let code = methods.xShmLock(file, Self.copyingLock, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)
            if code == SQLITE_OK { break }
            guard code & 0xFF == SQLITE_BUSY, SystemTime().monotonicNanoseconds() < deadline else {
                throw error(code, "recovering")
            }
            usleep(microseconds(limits.checkpointPoll))
        }
        holdfast_wal_forget_copied(index)
        try check(
            methods.xShmLock(file, Self.copyingLock, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE), "recovering")
    }

    /// WAL_CKPT_LOCK ("WAL Locks" in SQLite's walformat.html).
    private static let copyingLock: Int32 = 1
}
