import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What is done with a file before it serves as a store, and when it ceases to.
extension Connection {
    /// Refuses what is not a store of a format that this library reads. Answers whether the database is empty, which
    /// is taken as a store to be created: a creation that was cut short leaves it so.
    func isNew() throws(HoldfastError) -> Bool {
        let application = try number("PRAGMA application_id", "opening") ?? 0
        let format = try number("PRAGMA user_version", "opening") ?? 0
        let objects = try number("SELECT count(*) FROM sqlite_schema", "opening")
        if application == 0 && format == 0 && objects == 0 { return true }
        guard application == Schema.applicationID, format >= 1 else {
            throw HoldfastError(
                .notAStore, "\(path) is the SQLite database of another program: choose another place for the store")
        }
        guard format <= Schema.format else {
            throw HoldfastError(
                .formatTooNew,
                "\(path) has format \(format), and this library reads up to \(Schema.format): use a newer library")
        }
        try checkReader()
        return false
    }

    /// Refuses a file in which there is what only later libraries of this format understand.
    func checkReader() throws(HoldfastError) {
        let wanted = try mark(.minimumReader) ?? 1
        guard wanted <= Schema.reader else {
            throw HoldfastError(
                .formatTooNew,
                "\(path) holds what needs a reader of version \(wanted) of format \(Schema.format), and this library is one "
                    + "of version \(Schema.reader): use a newer library")
        }
    }

    func create(incarnation: [UInt8]) throws(HoldfastError) {
        try execute(Schema.beforeCreation, "creating")
        try run(.beginImmediate, "creating")
        do throws(HoldfastError) {
            try execute(Schema.creation, "creating")
            try setIncarnation(incarnation)
            try setMark(.reserved, 0)
            try setMark(.commitLogStart, 0)
            try setMark(.minimumReader, Schema.reader)
            try run(.commit, "creating")
        } catch {
            rollbackIfNeeded()
            throw error
        }
    }

    /// Makes everything that can be read durable, also what another process left in the WAL without a sync, or
    /// with one that failed; and what cannot be read, for good unreadable.
    ///
    /// A commit whose sync failed has left frames at the end of the WAL. Whoever opens the WAL as the first finds them
    /// and takes them for committed; others do not see them. So beside others (not `isFirst`) something is written
    /// there, lest they come to light one day.
    func settle(isFirst: Bool, _ limits: Limits) throws(HoldfastError) {
        try copyAllAnew(limits)
        // What was read before may have come from where the disk has lost it.
        releaseMemory()
        // The write lock keeps everybody else from the WAL while it is written anew.
        try run(.beginImmediate, "recovering")
        do throws(HoldfastError) {
            try walFile?.rewrite(limits.rewriteBytes)
            if !isFirst, let reserved = try mark(.reserved) {
                // The same value again, in two steps, because SQLite writes no page that it finds unchanged.
                try setMark(.reserved, reserved ^ 1)
                try setMark(.reserved, reserved)
            }
            try run(.commit, "recovering")
        } catch {
            rollbackIfNeeded()
            throw error
        }
        do throws(HoldfastError) {
            // The database file's own pages are written and synced by this. Whoever reads beside us may keep it
            // from ending, and then the WAL, which is durable by now, serves on; so it does on a full disk.
            setPatience(limits.settlePatience, limits)
            defer { setBusyTimeout() }
            _ = try checkpoint(.truncate)
        } catch  where error.status == .full {}
    }

    /// After an unclean close: puts an entry without changes into the commit log at the end of the block of sequences
    /// that was reserved, so that none of them is given out a second time.
    func skipReserved(at time: UInt64) throws(HoldfastError) {
        let reserved = CommitSequence(try mark(.reserved) ?? 0)
        guard reserved > (try head()) else { return }
        try write("recovering") { () throws(HoldfastError) in
            try append([CommitLogEntry(sequence: reserved, commitIdentifier: 0, time: time, changes: [])])
        }
    }

    /// Gives back the sequences that were reserved and not used.
    func noteClosed(at head: CommitSequence) throws(HoldfastError) {
        let used = max(head, try self.head())
        guard CommitSequence(try mark(.reserved) ?? 0) != used else { return }
        try write("closing") { () throws(HoldfastError) in try setMark(.reserved, Int64(clamping: used)) }
    }

    /// A small transaction of the engine's own, durable when this returns.
    private func write(_ doing: String, _ body: () throws(HoldfastError) -> Void) throws(HoldfastError) {
        try setCommitsAreSynced(true)
        try run(.beginImmediate, doing)
        do throws(HoldfastError) {
            try body()
            try run(.commit, doing)
        } catch {
            rollbackIfNeeded()
            throw error
        }
    }
}
