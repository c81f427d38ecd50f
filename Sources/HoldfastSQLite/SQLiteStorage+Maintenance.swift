import CSQLite
internal import HoldfastCore
public import HoldfastEnvironment
public import HoldfastQuery
public import HoldfastStorage
import Synchronization

/// Backup, compacting, checking.
extension SQLiteStorage {
    public func backUp(to path: String, _ progress: Progress) throws(HoldfastError) -> CommitSequence {
        if try Location.sizeIfThere(path) != nil {
            throw HoldfastError(.exists, "there is a file at \(path) already: choose another name, or remove it first")
        }
        let target = try Location(of: path, allowUnsafe: true)
        try target.requireFree()
        try target.requireNotHeld()
        let copy = try DatabaseCopy(to: target, like: location)
        let head = try make(copy, progress)
        try copy.publish()
        return head
    }

    /// Closing the store does not wait for it: the host may close it from inside `progress`.
    ///
    /// While pages are copied the WAL cannot be begun anew. A host that takes long in `progress` would let it grow
    /// without bound, so once it is too long the copying is begun anew, and goes on at full speed, without `progress` and
    /// without resting.
    func make(_ copy: DatabaseCopy, _ progress: Progress) throws(HoldfastError) -> CommitSequence {
        if let head = try copyPages(to: copy, progress, mayBeTakenBack: true) { return head }
        return try copyPages(to: copy, progress, mayBeTakenBack: false)!
    }

    /// Answers which state was copied; nil if it was taken back.
    private func copyPages(
        to copy: DatabaseCopy, _ progress: Progress, mayBeTakenBack: Bool
    ) throws(HoldfastError) -> CommitSequence? {
        let source = try readers.open()
        try source.run(.begin, "reading")
        let head = try source.head()
        let pages = try PageCopy(from: source, to: copy.path, environment.limits)
        if mayBeTakenBack { copies.add(pages) }
        defer { copies.remove(pages) }
        let pace = mayBeTakenBack ? BackupPace(readers.walHeader, walLimit: walLimit, environment) : nil
        while true {
            guard let (done, total, isComplete) = try pages.step() else { return nil }
            if isClosing.load(ordering: .acquiring) { throw HoldfastError.storeClosed }
            if mayBeTakenBack || isComplete {
                guard try progress(done, total) else { throw DatabaseCopy.cancelled }
                if isClosing.load(ordering: .acquiring) { throw HoldfastError.storeClosed }
            }
            try Interrupt.look()
            if isComplete { break }
            if mayBeTakenBack && isWriteAheadLogTooLong { pages.takeBack() }
            pace?.rest()
        }
        try copy.complete(head, incarnation: Self.newIncarnation(environment), environment.limits)
        try copy.check(environment.limits, at: pace)
        return head
    }

    /// By the frames that it holds; its file may be longer.
    public var isWriteAheadLogTooLong: Bool { readers.walHeader().map { $0.walBytes > walLimit } ?? false }

    public func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        guard let lock = storeLock.withLock({ $0 }), let checkpointer else { throw HoldfastError.storeClosed }
        // A file that becomes shorter is damage to every other process that has it open.
        defer {
            try? lock.enter()
            // A lock that the system could not give is often to be had at once after it.
            lock.enterIfNeeded()
        }
        guard try lock.isLast() else {
            throw HoldfastError(
                .busy, "\(location) is open in another process, and is compacted only where this one is alone")
        }
        if doubt.isElsewhere { try settleElsewhere() }
        // A checkpoint that has begun before still copies pages that the compaction cuts off.
        return try checkpointer.pausing { () throws(HoldfastError) in
            try writer.withLock { writer throws(HoldfastError) in try compact(usable(writer), unless: end) }
        }
    }

    private func compact(
        _ connection: Connection, unless end: Interrupt.Flag
    ) throws(HoldfastError) -> (before: UInt64, after: UInt64) {
        keptRead.giveUp()
        try files.check(readers.walHeader)
        let before = try connection.databaseBytes()
        try connection.setCommitsAreSynced(true)
        // In memory there may be no room for a second copy.
        try connection.execute("PRAGMA temp_store = FILE", "compacting")
        defer { try? connection.execute("PRAGMA temp_store = MEMORY", "compacting") }
        // Whether it is done is not known where it fails, and another program may checkpoint as soon as it is.
        files.allowShrinking(to: 0)
        defer { if let bytes = try? connection.databaseBytes() { files.allowShrinking(to: Int(clamping: bytes)) } }
        let after: UInt64
        var isCompacted = false
        compacting.withLock { $0 = (connection, end) }
        defer {
            compacting.withLock { $0 = nil }
            connection.stop.clear()
        }
        do throws(HoldfastError) {
            // Where it is set from now on, the connection is told.
            if end.isSet { throw Interrupt.cancelled }
            try connection.endingWhereStopped { () throws(HoldfastError) in
                try connection.execute("VACUUM", "compacting")
            }
            isCompacted = true
            after = try connection.databaseBytes()
        } catch {
            // It ends with a COMMIT and its sync. Whether the file gets shorter is found when the store is reopened.
            if isCompacted || error.status == .io { doubt.arise() }
            throw error
        }
        // The store is compacted now. Where a reader, or a full disk, stands in the way, the checkpointer does it later:
        // commits wait meanwhile.
        do throws(HoldfastError) {
            connection.setPatience(environment.limits.checkpointLongPatience, environment.limits)
            defer { connection.setBusyTimeout() }
            let (frames, _, isBlocked) = try connection.checkpoint(.truncate)
            if isBlocked { checkpointer?.noteCommit(frames: max(frames, 1)) }
        } catch  where error.status != .io {}
        return (before, after)
    }

    public func stopCompacting(_ end: Interrupt.Flag) {
        compacting.withLock { if let running = $0, running.end === end { running.connection.interrupt() } }
    }

    public func problems() throws(HoldfastError) -> [String] {
        let connection: Connection
        do throws(HoldfastError) {
            connection = try readers.open()
        } catch  where error.status == .corrupt {
            return [error.message]
        }
        return try Interrupt.whileAsking(environment.limits, stop: connection.interrupt) { () throws(HoldfastError) in
            try connection.run(.begin, "reading")
            return try connection.problems(limit: 100)
        }
    }

    public func size() throws(HoldfastError) -> StorageSize? {
        try reading { connection, _ throws(HoldfastError) in
            let pageBytes = try connection.number("PRAGMA page_size", "reading") ?? 0
            let free = try connection.number("PRAGMA freelist_count", "reading") ?? 0
            return StorageSize(
                store: UInt64(Location.size(location) ?? 0),
                writeAheadLog: UInt64(Location.size(location + "-wal") ?? 0),
                free: UInt64(clamping: free * pageBytes))
        }
    }

    static func newIncarnation(_ environment: Environment) -> [UInt8] {
        (0..<16).map { _ in UInt8(truncatingIfNeeded: environment.random.next()) }
    }
}

extension Connection {
    /// The database as its last commit left it, which may still be in the WAL.
    func databaseBytes() throws(HoldfastError) -> UInt64 {
        let pages = try number("PRAGMA page_count", "reading") ?? 0
        return UInt64(clamping: pages * (try number("PRAGMA page_size", "reading") ?? 0))
    }

    /// PRAGMA integrity_check.
    func problems(limit: Int) throws(HoldfastError) -> [String] {
        var problems: [String] = []
        try each("PRAGMA integrity_check(\(limit))", "checking") { row throws(HoldfastError) in
            problems.append(String(decoding: row.text(0) ?? .init(start: nil, count: 0), as: UTF8.self))
        }
        for line in problems.flatMap({ $0.split(separator: "\n") }) {
            switch Self.reasonNotRead(line) {
            case .noMemory?:
                throw HoldfastError(
                    .noMemory,
                    "checking \(path) failed for want of memory (\(line)): free some memory, then run it again")
            case .some:
                throw HoldfastError(
                    .io, "checking \(path) failed, because a page could not be read (\(line)): check the disk")
            case nil: continue
            }
        }
        return problems == ["ok"] ? [] : problems
    }

    /// Why a page was not read, or nil of any other problem. A page that cannot be read, or that there is no memory for, is to
    /// the check like one that is damaged. It says of the first "unable to get the page. error code=" or "failed to get page"
    /// (checkTreePage and checkList in btree.c), having seen that the page's number is a possible one; so what is missing of
    /// a file that was cut short, which reads as zeros, is not among them.
    private static func reasonNotRead(_ problem: Substring) -> Status? {
        let words = problem.split(separator: " ")
        for index in words.indices {
            let rest = words[index...]
            if rest.starts(with: ["failed", "to", "get", "page"]) { return .io }
            guard rest.starts(with: ["get", "the", "page.", "error"]), rest.count > 4 else { continue }
            guard let code = Int32(rest[index + 4].dropFirst("code=".count)) else { continue }
            if ResultCode.isOutOfMemory(code) { return .noMemory }
            if code & 0xFF == SQLITE_IOERR { return .io }
        }
        return nil
    }
}
