import CSQLite
import HoldfastCore
internal import HoldfastEnvironment

/// The write-ahead log's file as SQLite holds it open, used through SQLite's own file layer: opening the file
/// beside SQLite and closing it again would drop SQLite's locks.
struct WALFile {
    let file: UnsafeMutablePointer<sqlite3_file>
    let connection: Connection

    /// sqlite3_io_methods.xSync.
    func sync() throws(HoldfastError) {
        try connection.check(file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL), "syncing")
    }

    /// Makes what can be read from the WAL durable, whatever happened to it before. Inside a write transaction.
    ///
    /// After a failed sync Linux may mark the pages that it could not write as clean: they are read back, but no later
    /// sync writes them. So the WAL is written once more, byte for byte as it is, and then synced. That
    /// this truly writes is why the next checkpoint is safe: otherwise a power cut in the middle of it could leave
    /// half of its pages in the database file and not the WAL to finish from.
    func rewrite(_ pieceBytes: Int) throws(HoldfastError) {
        let methods = file.pointee.pMethods.pointee
        var size: sqlite3_int64 = 0
        try connection.check(methods.xFileSize(file, &size), "recovering")
        if size == 0 { return }
        // SQLite's own layer takes no more than 128 KiB less one byte at once.
        let capacity = min(pieceBytes, 1 << 16)
        let block = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 4096)
        defer { block.deallocate() }
        var offset: sqlite3_int64 = 0
        while offset < size {
            if connection.stop.isSet { throw Interrupt.cancelled }
            let count = Int32(min(Int64(capacity), size - offset))
            try connection.check(methods.xRead(file, block, count, offset), "recovering")
            try connection.check(methods.xWrite(file, block, count, offset), "recovering")
            offset += Int64(count)
        }
        try sync()
    }

    func isEmpty() throws(HoldfastError) -> Bool {
        var size: sqlite3_int64 = 0
        try connection.check(file.pointee.pMethods.pointee.xFileSize(file, &size), "opening")
        return size == 0
    }
}
