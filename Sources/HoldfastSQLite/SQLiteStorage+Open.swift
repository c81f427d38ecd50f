internal import HoldfastCore
public import HoldfastEnvironment

extension SQLiteStorage {
    /// Opens a store's file, creating it where there is none.
    ///
    /// Opening for reading (`readOnly`) takes part in SQLite's locking where it can. In a directory that cannot be
    /// written and without SQLite's side files it reads the database file alone, which is right as long
    /// as nobody changes it; a store there that was not closed cleanly is refused with `.readOnly`.
    ///
    /// Errors: `.cannotOpen`, `.notAStore`, `.formatTooNew`, `.readOnly`, `.busy` (the detail's `holder` names the process
    /// that holds it), `.unsafeLocation`, `.forked`, `.full`, `.io`, `.corrupt`, `.noMemory`.
    public static func open(
        path: String, options: SQLiteOptions, environment: Environment
    ) throws(HoldfastError) -> SQLiteStorage {
        var location = try Location(of: path, allowUnsafe: options.allowUnsafeLocation)
        try location.checkWAL()
        if !location.exists {
            guard options.create && !options.readOnly else {
                throw HoldfastError(
                    .cannotOpen, "there is no store at \(location.path): allow \"create\", or check the path")
            }
            try location.create(mode: options.mode)
        }
        try location.checkPermissions(readOnly: options.readOnly)
        // SQLite would take a file shorter than its header for an empty database and overwrite it.
        if let size = try Location.sizeIfThere(location.path), size > 0, size < 512 {
            throw HoldfastError(
                .notAStore, "\(location.path) is no SQLite database: choose another place for the store")
        }
        if options.readOnly {
            let lock = try StoreLock(location, readOnly: true, environment: environment)
            return try openForReading(location, lock, options, environment)
        }
        let (lock, isFirst) = try enter(location, options, environment)
        let traces = SideFiles(of: location.path)
        do throws(HoldfastError) {
            return try openForWriting(location, lock, isFirst, options, environment)
        } catch {
            // A file that is no store is left as it was found, an empty one too.
            if [.notAStore, .cannotOpen].contains(error.status) && isFirst {
                traces.remove()
                lock.removeIfMade()
            }
            throw error
        }
    }

    /// Waits at the door of what stands at this place, and answers whether no other process has it open.
    static func enter(
        _ location: Location, _ options: SQLiteOptions, _ environment: Environment
    ) throws(HoldfastError) -> (StoreLock, isFirst: Bool) {
        while true {
            let lock = try StoreLock(location, readOnly: false, environment: environment)
            let isFirst = try lock.knock(timeoutMilliseconds: options.lockTimeoutMilliseconds)
            // A restore may have put another file there while this waited.
            if try lock.isCurrent() { return (lock, isFirst) }
        }
    }

    private static func openForWriting(
        _ location: Location, _ storeLock: StoreLock, _ isFirst: Bool, _ options: SQLiteOptions,
        _ environment: Environment
    ) throws(HoldfastError) -> SQLiteStorage {
        let path = location.path
        let limits = environment.limits
        if isFirst { storeLock.forgetFiles() } else { try storeLock.checkFiles() }
        let doubt = Doubt(storeLock)
        let stop = Interrupt.Flag()
        let connectWriter: @Sendable () throws(HoldfastError) -> Connection = { () throws(HoldfastError) in
            let connection = try connect(path, .readWrite, limits, cacheBytes: limits.writerPageBytes, stop)
            connection.whenSyncFails = { doubt.noteFailedSync() }
            connection.watchCommits()
            connection.indexRows = min(limits.indexRows, 10_000)
            connection.deletedRows = limits.droppedEntities
            connection.rowNumbers = RowNumbers(places: limits.knownRows)
            return connection
        }
        let writer = try Interrupt.whileAsking(limits, stop: stop.set) { () throws(HoldfastError) in
            // Who has the lock may be gone before this has ended.
            defer { withExtendedLifetime(storeLock) {} }
            let writer = try connectWriter()
            if writer.isReadOnly {
                throw HoldfastError(.readOnly, "\(path) cannot be written: open it with \"read_only\": true")
            }
            if try writer.isNew() {
                guard options.create else {
                    throw HoldfastError(
                        .cannotOpen, "\(path) is empty and no store: allow \"create\", or check the path")
                }
                try writer.create(incarnation: newIncarnation(environment))
            } else if isFirst {
                if try !writer.usesWriteAheadLog() { try writer.execute("PRAGMA journal_mode = WAL", "opening") }
                try writer.settle(isFirst: true, limits)
                try writer.skipReserved(at: environment.time.wallMilliseconds())
            }
            return writer
        }
        stop.clear()
        let files = try StoreFiles(path, .readWrite, environment)
        // With a compaction in the WAL the file gets shorter by the next checkpoint.
        files.allowShrinking(to: Int(clamping: try writer.databaseBytes()))
        if isFirst { storeLock.noteFiles(files) }
        let connectReader: @Sendable () throws(HoldfastError) -> Connection = { () throws(HoldfastError) in
            let reader = try connect(path, .readWrite, limits, cacheBytes: limits.readerPageBytes)
            reader.piecePageBytes = limits.piecePageBytes
            try reader.execute("PRAGMA query_only = ON", "opening")
            return reader
        }
        let readers = try ReaderPool(of: files, limits, connect: connectReader)
        let copies = PageCopies()
        let keptRead = KeptRead(most: limits.keptReads)
        let checkpointer = Checkpointer(
            settings: Checkpointer.Settings(
                limitBytes: Int(clamping: options.walLimitBytes), snapshotMaxAge: options.snapshotMaxAgeMilliseconds,
                limits: limits),
            time: environment.time, doubt: doubt, keptRead: keptRead,
            check: { () throws(HoldfastError) in try files.check(readers.walHeader) },
            isHeldUp: { readers.hasLingering }, takeBackCopies: { copies.takeBack() },
            connect: { () throws(HoldfastError) in
                let connection = try files.open(readers.walHeader) { () throws(HoldfastError) in
                    try connect(path, .readWrite, limits, cacheBytes: limits.checkpointPageBytes)
                }
                connection.whenSyncFails = { doubt.noteFailedSync() }
                return connection
            })
        try storeLock.enter()
        try checkpointer.start(environment.workers)
        return SQLiteStorage(
            path: path, writer: writer, readers: readers, checkpointer: checkpointer, doubt: doubt,
            files: files, storeLock: storeLock, queue: WriteQueue(storeLock, environment), traces: nil,
            copies: copies, keptRead: keptRead, walLimit: options.walLimitBytes,
            environment: environment, connectWriter: connectWriter)
    }

    private static func openForReading(
        _ location: Location, _ storeLock: StoreLock, _ options: SQLiteOptions, _ environment: Environment
    ) throws(HoldfastError) -> SQLiteStorage {
        let mode: Connection.Mode = try location.readingMode(isUnchanging: options.isUnchanging)
        let path = location.path
        let limits = environment.limits
        let traces = mode == .immutable ? nil : SideFiles(of: path)
        let files = try StoreFiles(path, mode, environment)
        let connectReader: @Sendable () throws(HoldfastError) -> Connection = { () throws(HoldfastError) in
            let reader = try connect(path, mode, limits, cacheBytes: limits.readerPageBytes)
            reader.piecePageBytes = limits.piecePageBytes
            return reader
        }
        let stop = Interrupt.Flag()
        let readers: ReaderPool
        do throws(HoldfastError) {
            readers = try Interrupt.whileAsking(limits, stop: stop.set) { () throws(HoldfastError) in
                // Who has the lock may be gone before this has ended.
                defer { withExtendedLifetime(storeLock) {} }
                if try connect(path, mode, limits, cacheBytes: limits.readerPageBytes, stop).isNew() {
                    throw HoldfastError(.cannotOpen, "\(path) is empty and no store: open it for writing once")
                }
                return try ReaderPool(of: files, limits, isImmutable: mode == .immutable, connect: connectReader)
            }
        } catch {
            traces?.remove()
            throw error
        }
        return SQLiteStorage(
            path: path, writer: nil, readers: readers, checkpointer: nil, doubt: Doubt(nil), files: files,
            storeLock: storeLock, queue: nil, traces: traces, copies: PageCopies(), keptRead: KeptRead(most: 1),
            walLimit: options.walLimitBytes, environment: environment, connectWriter: connectReader)
    }

    private static func connect(
        _ path: String, _ mode: Connection.Mode, _ limits: Limits, cacheBytes: Int,
        _ stop: Interrupt.Flag = Interrupt.Flag()
    ) throws(HoldfastError) -> Connection {
        let connection = try Connection(path: path, mode: mode, waiting: limits, stop: stop)
        try connection.execute(Schema.settings(cacheKibibytes: max(1, cacheBytes >> 10)), "opening")
        return connection
    }
}

extension Location {
    /// How a file that is only read has to be opened.
    fileprivate func readingMode(isUnchanging: Bool) throws(HoldfastError) -> Connection.Mode {
        if isDirectoryWritable && !(isUnchanging && (Self.size(path + "-wal") ?? 0) == 0) { return .readOnly }
        guard let size = Self.size(path + "-wal"), size > 0 else { return .immutable }
        // SQLite can read a WAL beside others if their shared memory file is there.
        if Self.size(path + "-shm") != nil { return .readOnly }
        throw HoldfastError(
            .readOnly,
            "\(path) was not closed cleanly and its directory cannot be written: open it once where it can, to recover it"
        )
    }
}
