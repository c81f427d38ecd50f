import CHoldfastPlatform
import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
import Synchronization

/// Copies the pages of one committed state into another file, piece by piece.
///
/// As long as it lasts it keeps the WAL from being begun anew. So it can be ended from outside, which waits for no more
/// than the piece that is just copied, and for no callback of the host's between two.
final class PageCopy: Sendable {
    /// Sendable: used under the lock alone.
    private struct Ends: @unchecked Sendable {
        let source: Connection
        let target: Connection
        let backup: OpaquePointer
        let pageBytes: UInt64
        let epoch = hfplatform_fork_epoch()
    }

    private let piecePages: Int32

    private let ends: Lock<Ends?>
    private let isUnwanted = Atomic(false)

    /// `source` is in a transaction, and what that shows is copied: others that write do not disturb it.
    init(from source: Connection, to path: String, _ limits: Limits) throws(HoldfastError) {
        piecePages = Int32(clamping: limits.copyPages)
        let target = try Connection(path: path, mode: .readWrite)
        // Synced once, at the end.
        try target.execute("PRAGMA synchronous = OFF", "writing")
        let pageBytes = UInt64(clamping: try source.number("PRAGMA page_size", "reading") ?? 4096)
        guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw target.error(sqlite3_errcode(target.handle), "writing")
        }
        ends = Lock(Ends(source: source, target: target, backup: backup, pageBytes: pageBytes))
    }

    deinit { finish() }

    /// Copies a piece (sqlite3_backup_step), and tells how far it is, in bytes; nil once it was taken back.
    func step() throws(HoldfastError) -> (done: UInt64, total: UInt64, isComplete: Bool)? {
        let progress = try ends.withLock { slot throws(HoldfastError) -> (UInt64, UInt64, Bool)? in
            guard !isUnwanted.load(ordering: .sequentiallyConsistent), let ends = slot else { return nil }
            let code = sqlite3_backup_step(ends.backup, piecePages)
            guard code == SQLITE_OK || code == SQLITE_DONE else {
                // What reading finds wrong is told as the source's fault.
                throw (code & 0xFF == SQLITE_CORRUPT ? ends.source : ends.target).error(code, "copying")
            }
            let total = UInt64(sqlite3_backup_pagecount(ends.backup))
            let done = total - UInt64(sqlite3_backup_remaining(ends.backup))
            return (done * ends.pageBytes, total * ends.pageBytes, code == SQLITE_DONE)
        }
        if progress == nil || progress!.2 || isUnwanted.load(ordering: .sequentiallyConsistent) { finish() }
        return progress.map { (done: $0.0, total: $0.1, isComplete: $0.2) }
    }

    /// Ends it. Any thread; waits for nobody.
    func takeBack() {
        isUnwanted.store(true, ordering: .sequentiallyConsistent)
        // Who is just copying finds what was noted.
        _ = ends.withLockIfFree { Self.finish(&$0) }
    }

    private func finish() { ends.withLock { Self.finish(&$0) } }

    private static func finish(_ slot: inout Ends?) {
        // In a forked child they are the parent's.
        guard let ends = slot.take(), ends.epoch == hfplatform_fork_epoch() else { return }
        sqlite3_backup_finish(ends.backup)
        ends.target.close()
        ends.source.close()
    }
}

/// The copies that are being made and can be made anew.
final class PageCopies: Sendable {
    private let copies = Lock<[ObjectIdentifier: PageCopy]>([:])

    func add(_ copy: PageCopy) { copies.withLock { $0[ObjectIdentifier(copy)] = copy } }
    func remove(_ copy: PageCopy) { _ = copies.withLock { $0.removeValue(forKey: ObjectIdentifier(copy)) } }
    func takeBack() { for copy in copies.withLock({ Array($0.values) }) { copy.takeBack() } }
}
