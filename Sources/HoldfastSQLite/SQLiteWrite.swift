import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// BEGIN IMMEDIATE to COMMIT on the one connection that writes.
final class SQLiteWrite: StorageWrite {
    let head: CommitSequence

    private let storage: SQLiteStorage
    private let connection: Connection
    private let header: WALHeader?
    private var newest: CommitSequence?
    private var isOpen = true

    init(of storage: SQLiteStorage, on connection: Connection) throws(HoldfastError) {
        self.storage = storage
        self.connection = connection
        do throws(HoldfastError) {
            try storage.keptRead.begin(on: connection)
            header = storage.readers.walHeader()
            if let known = storage.head(if: header) {
                head = known
            } else {
                storage.noteOthers()
                head = try connection.head()
                connection.catalogueIsCurrent = false
            }
        } catch {
            storage.keptRead.giveUp()
            connection.rollbackIfNeeded()
            throw error
        }
    }

    deinit { rollback() }

    /// Whether its COMMIT includes a sync.
    var isSynced: Bool { connection.commitsAreSynced }

    var changeToken: ChangeToken? { header.map { ChangeToken($0.words) } }

    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        for (index, key) in keys.enumerated() {
            _ = try connection.fetch(key) { view throws(HoldfastError) in try body(index, view) }
        }
    }

    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]? {
        try connection.commitLog(after: sequence, limit: limit)
    }

    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) {
        try connection.commitLogSizes(body)
    }

    func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard let count = changeToken?.transactions(since: token), count <= limit else { return nil }
        return try connection.commitLog(
            ofTransactions: count, behind: sequence, through: head, storage.environment.limits)
    }

    func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?] {
        var records: [IdempotencyRecord?] = []
        for key in keys { records.append(try connection.idempotencyRecord(key)) }
        return records
    }

    func repositories() throws(HoldfastError) -> [RepositoryRecord] { try catalogue().repositories }

    func indexes() throws(HoldfastError) -> [IndexRecord] { try catalogue().indexes }

    private func catalogue() throws(HoldfastError) -> Connection.Catalogue {
        if connection.catalogueIsCurrent, let known = connection.catalogue { return known }
        let catalogue = try connection.readCatalogue()
        connection.catalogueIsCurrent = true
        return catalogue
    }

    func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try connection.ids(under: key, of: index.id, body)
    }

    func lastKeys(
        in ranges: [KeyRange], of index: IndexRecord,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        try connection.lastKeys(in: ranges, of: index.id, body)
    }

    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        try connection.removeEntries(of: index, limit: limit)
    }

    func apply(_ batch: WriteBatch) throws(HoldfastError) {
        try requireTransaction()
        if batch.changesCatalogue {
            // Read anew by the next, whatever becomes of this.
            connection.catalogueIsCurrent = false
            // No table can be dropped while a statement reads.
            storage.keptRead.giveUp()
        }
        try connection.apply(batch)
        if let last = batch.commitLog.last { newest = last.sequence }
    }

    func commit() throws(HoldfastError) -> WriteOutcome {
        isOpen = false
        storage.keptRead.keep(connection) { storage.isAlone }
        do throws(HoldfastError) { try requireTransaction() } catch {
            storage.keptRead.giveUp()
            throw error
        }
        try storage.commit(on: connection)
        // Another program may commit at once. If it has, the count has gone on by more than one.
        guard let header, let now = storage.readers.walHeader(), now.changes == header.changes &+ 1 else {
            return .stored(nil)
        }
        storage.note(newest ?? head, at: now)
        return .stored(ChangeToken(now.words))
    }

    /// After some failures SQLite has rolled back by itself, also where it only read (sqlite3VdbeHalt in vdbeaux.c). What were
    /// written behind that would be stored statement by statement.
    private func requireTransaction() throws(HoldfastError) {
        guard connection.isInTransaction else {
            throw HoldfastError(
                .io,
                "\(connection.path) could not be read in the middle of a commit, which was rolled back: check the disk")
        }
    }

    func rollback() {
        if isOpen {
            storage.keptRead.giveUp()
            connection.rollbackIfNeeded()
        }
        isOpen = false
    }
}
