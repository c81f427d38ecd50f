public import HoldfastCore

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
    struct Writer {
        var connection: Connection?
        /// Whether the next COMMIT includes its sync: SQLite wants to know before the transaction begins, the core
        /// tells at its end. The last answer is taken for the next.
        var expectsDurable = true
        var hasUnsyncedCommits = false
    }

    let writer: Lock<Writer>
    let readers: ReaderPool
    let doubt: Doubt
    /// nil for a store that is only read.
    let checkpointer: Checkpointer?
    private let connectWriter: @Sendable () throws(HoldfastError) -> Connection
    private let storeLock: Lock<StoreLock?>

    init(
        path: String, writer: Connection?, readers: ReaderPool, checkpointer: Checkpointer?, doubt: Doubt,
        storeLock: StoreLock, connectWriter: @escaping @Sendable () throws(HoldfastError) -> Connection
    ) {
        location = path
        isReadOnly = writer == nil
        self.writer = Lock(Writer(connection: writer))
        self.readers = readers
        self.checkpointer = checkpointer
        self.doubt = doubt
        self.storeLock = Lock(storeLock)
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

    public func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot { try SQLiteSnapshot(in: readers) }

    public func contains(commit identifier: UInt64, at sequence: CommitSequence) throws(HoldfastError) -> Bool {
        try reading { connection, _ throws(HoldfastError) in
            try connection.contains(commit: identifier, at: sequence)
        }
    }

    private func reading<Result>(
        _ body: (Connection, CommitSequence) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let (reader, lease, sequence) = try readers.begin()
        defer { readers.end(reader, lease: lease) }
        return try reader.withLock { slot throws(HoldfastError) in
            guard let connection = slot.connection else { throw ReaderPool.taken }
            return try body(connection, sequence)
        }
    }

    // MARK: Writing

    public func beginWrite() throws(HoldfastError) -> any StorageWrite {
        let connection = try writer.withLock { writer throws(HoldfastError) in
            let connection = try usable(writer)
            try connection.setCommitsAreSynced(writer.expectsDurable)
            return connection
        }
        return try SQLiteWrite(of: self, on: connection)
    }

    /// The end of a write transaction.
    func commit(on connection: Connection, durable: Bool) throws(HoldfastError) {
        do throws(HoldfastError) {
            if doubt.lasts { throw Self.doubtful(location) }
            if durable && !connection.commitsAreSynced {
                // This COMMIT does not sync, so the sync follows, and until it has ended no snapshot shows the commit.
                try readers.withholding { () throws(HoldfastError) in
                    try connection.run(.commit, "committing to")
                    try connection.walFile?.sync()
                }
            } else {
                try connection.run(.commit, "committing to")
            }
        } catch {
            doubt.arise()
            connection.rollbackIfNeeded()
            throw error
        }
        writer.withLock { writer in
            writer.expectsDurable = durable
            writer.hasUnsyncedCommits = !durable && !connection.commitsAreSynced
        }
        checkpointer?.noteCommit(frames: connection.walFrames)
    }

    public func sync() throws(HoldfastError) {
        try writer.withLock { writer throws(HoldfastError) in
            if isReadOnly { return }
            let connection = try usable(writer)
            if doubt.lasts { throw Self.doubtful(location) }
            guard writer.hasUnsyncedCommits else { return }
            do throws(HoldfastError) {
                try connection.walFile?.sync()
            } catch {
                doubt.arise()
                throw error
            }
            writer.hasUnsyncedCommits = false
        }
    }

    // MARK: Recovering and closing

    public func recover() throws(HoldfastError) {
        guard let checkpointer else { return }
        doubt.arise()
        // With no connection left in the process, the next one reads the log anew, and so finds a transaction whose
        // frames were written and only their sync failed.
        try checkpointer.pausing { () throws(HoldfastError) in
            readers.closeAll()
            try writer.withLock { writer throws(HoldfastError) in
                writer.connection?.close()
                writer.connection = nil
                let connection = try connectWriter()
                try connection.settle()
                writer.connection = connection
                writer.hasUnsyncedCommits = false
            }
        }
        doubt.settle()
        readers.serve()
    }

    public func close(head: CommitSequence) throws(HoldfastError) {
        defer { letGo() }
        checkpointer?.stop()
        if doubt.lasts { try recover() }
        readers.close()
        try writer.withLock { writer throws(HoldfastError) in
            guard let connection = writer.connection else { return }
            try connection.noteClosed(at: head)
            // With the log empty, and removed by SQLite as its last connection goes, the store is a single file.
            _ = try connection.checkpoint(.truncate)
            connection.setCheckpointOnClose(true)
        }
    }

    /// Closes what is open, without writing.
    private func letGo() {
        checkpointer?.stop()
        readers.close()
        writer.withLock { writer in
            writer.connection?.close()
            writer.connection = nil
        }
        storeLock.withLock { $0 = nil }
    }

    private func usable(_ writer: Writer) throws(HoldfastError) -> Connection {
        if let connection = writer.connection { return connection }
        throw isReadOnly
            ? HoldfastError(.readOnly, "\(location) was opened for reading: open it without \"read_only\" to write")
            : Self.doubtful(location)
    }

    private static func doubtful(_ path: String) -> HoldfastError {
        HoldfastError(.io, "\(path) takes no commits since a sync or a commit failed: check the disk, then recover it")
    }
}
