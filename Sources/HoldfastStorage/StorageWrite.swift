public import HoldfastEnvironment
public import HoldfastQuery

/// The engine's write transaction, which carries a batch of commits. Used by one thread. Exactly one of
/// `commit`, `confirm` and `rollback` ends it; `rollback` may follow the two others, and then does nothing.
public protocol StorageWrite: AnyObject {
    /// The newest sequence in the commit log, read inside.
    var head: CommitSequence { get }

    /// The storage's token for the state on which this builds.
    var changeToken: ChangeToken? { get }

    /// Whether nobody else commits before this ends. If somebody may, all that is read is of the state on which this builds,
    /// and what is validated by it counts only once `commit` or `confirm` has said so.
    var excludesOthers: Bool { get }

    /// Whether somebody else has committed, so that what was read fails: the batch begins anew with another transaction.
    var isOvertaken: Bool { get }

    /// Has everything ready that the batch will ask for, as far as that is known when it begins: what is named here and asked
    /// for afterwards takes no round trip of its own.
    ///
    ///     SQLite       nothing
    ///     PostgreSQL   the statements of the calls below, in one round trip
    func prefetch(_ needs: WriteNeeds) throws(HoldfastError)

    /// Lends those of the entities that exist, each with its index in `keys`, in any order.
    ///
    ///     SQLite       SELECT version, body FROM holdfast_entity WHERE repository = ? AND id = ?     (for each)
    ///     PostgreSQL   SELECT … FROM holdfast_entity JOIN unnest($1, $2) … FOR UPDATE                 (for all)
    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError)

    /// As `StorageSnapshot.commitLog`.
    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]?

    /// Tells of the commit log how many bytes its entries take, newest first, each with its sequence, until `body`
    /// answers false. What is stored together may be told together, with the newest sequence. It is asked once after
    /// opening, and of what others have stored: an engine whose log is always empty at first, and that nobody else
    /// writes to, need not answer.
    ///
    ///     both         SELECT sequence, length(changes) FROM holdfast_log ORDER BY sequence DESC
    func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError)

    /// As `StorageSnapshot.changes`, up to the state on which this builds.
    func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]?

    /// As `StorageSnapshot.idempotencyRecord`, for several keys.
    func idempotencyRecords(_ keys: [[UInt8]]) throws(HoldfastError) -> [IdempotencyRecord?]

    /// The catalogue as it is inside this transaction.
    func repositories() throws(HoldfastError) -> [RepositoryRecord]

    /// The catalogue of indexes as it is inside this transaction.
    func indexes() throws(HoldfastError) -> [IndexRecord]

    /// Lends the ids to which a key of an index leads, until `body` answers false.
    ///
    ///     both         SELECT id FROM holdfast_index_N WHERE key = $1
    func ids(
        under key: [UInt8], of index: IndexRecord, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError)

    /// Lends the greatest key in each of some ranges of an index's keys, with the range's place among them, in any order; of
    /// a range without keys nothing.
    ///
    ///     SQLite       SELECT key FROM holdfast_index_N WHERE key >= $1 AND key < $2 ORDER BY key DESC LIMIT 1   (for each)
    ///     PostgreSQL   SELECT … FROM unnest($1, $2) CROSS JOIN LATERAL (SELECT … LIMIT 1)                      (for all)
    func lastKeys(
        in ranges: [KeyRange], of index: IndexRecord,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError)

    /// Takes away some of an index's entries, at most `limit`, and answers whether none is left.
    ///
    ///     both         DELETE FROM holdfast_index_N WHERE key <= (SELECT key … ORDER BY key LIMIT 1 OFFSET $1)
    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool

    /// Stores everything of a batch. Nothing of it is left when it fails, or is rolled back; an engine that cannot keep that
    /// says so by the error's commit state, and is recovered.
    ///
    ///     SQLite       INSERT INTO holdfast_repository … ON CONFLICT (id) DO UPDATE SET …; DROP VIEW …; CREATE VIEW …;
    ///                  INSERT INTO holdfast_entity … ON CONFLICT (repository, id) DO UPDATE SET …; DELETE …;
    ///                  INSERT INTO holdfast_log …;
    ///                  DELETE FROM holdfast_index_N WHERE id = …;
    ///                  INSERT INTO or DELETE FROM holdfast_index_N …; INSERT OR REPLACE INTO holdfast_index …;
    ///                  INSERT OR REPLACE INTO holdfast_idempotency …; UPDATE holdfast_meta …; DELETE of old log
    ///     PostgreSQL   the same with unnest of arrays, and UPDATE holdfast_store SET head = $2 WHERE id = $1 last
    func apply(_ batch: WriteBatch) throws(HoldfastError)

    /// Ends with everything stored, or tells why nothing is. What it throws leaves the outcome unknown.
    ///
    ///     SQLite       COMMIT
    ///     PostgreSQL   everything that `apply` has noted and UPDATE holdfast_store SET head = $2 … WHERE head = $1, as one
    ///                  statement
    @discardableResult func commit() throws(HoldfastError) -> WriteOutcome

    /// Ends with nothing stored, and answers whether the state on which this builds was still the newest: what was validated by
    /// it is told only then.
    func confirm() throws(HoldfastError) -> Bool

    /// Ends with nothing stored.
    func rollback()
}

/// What a batch of commits will ask for.
public struct WriteNeeds: Sendable {
    public var entities: [EntityKey] = []
    public var idempotencyKeys: [[UInt8]] = []
    /// Keys of indexes, of which it is asked whose they are.
    public var indexKeys: [(index: IndexRecord, key: [UInt8])] = []

    public init() {}

    public var isEmpty: Bool { entities.isEmpty && idempotencyKeys.isEmpty && indexKeys.isEmpty }
}

/// What became of a write transaction.
public enum WriteOutcome: Sendable {
    /// It is stored. With the token for the new state; nil if somebody else may have committed behind it.
    case stored(ChangeToken?)
    /// Nothing is stored, for certain, for this reason.
    case refused(HoldfastError)
    /// Nothing is stored: somebody else has committed since the state on which it builds.
    case overtaken
}

extension StorageWrite {
    public var excludesOthers: Bool { true }

    public var isOvertaken: Bool { false }

    public func prefetch(_ needs: WriteNeeds) throws(HoldfastError) {}

    public func confirm() throws(HoldfastError) -> Bool {
        rollback()
        return true
    }

    public func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]? { nil }

    public func commitLogSizes(_ body: (CommitSequence, Int) -> Bool) throws(HoldfastError) {}

    public func commitLog(after sequence: CommitSequence) throws(HoldfastError) -> [CommitLogEntry]? {
        try commitLog(after: sequence, limit: .max)
    }
}

/// All that one engine transaction stores.
public struct WriteBatch: Sendable {
    /// The final change of each entity, ordered by key, so that neighbours meet on the same page.
    public var changes: [EntityChange] = []
    /// One entry for each commit, in order.
    public var commitLog: [CommitLogEntry] = []
    /// Repositories that are new, or known otherwise from now on. Of one that is dropped the entities go, before anything
    /// else of the batch is stored.
    public var repositories: [RepositoryRecord] = []
    /// Indexes that are new, or known otherwise from now on.
    public var indexes: [IndexRecord] = []
    /// Indexes that are no more. Entries that are left go with them.
    public var removedIndexes: [IndexID] = []
    /// Entities of which an index may have any entries, which all go before `indexEntries` are applied: what was stored of
    /// them was damaged, and tells no keys.
    public var unindexed: [(index: IndexID, entity: EntityKey)] = []
    /// Ordered by index and key. Applied in this order, after the entities are stored. Adding an entry that is there, and
    /// taking away one that is not, is no mistake.
    public var indexEntries: [IndexEntryChange] = []
    public var idempotency: [IdempotencyRecord] = []
    /// Sequences up to this one are reserved from now on.
    public var reservedThrough: CommitSequence?
    /// Commit log entries below this sequence are no longer needed.
    public var trimCommitLogBelow: CommitSequence?
    /// Idempotency records from before this wall time are no longer needed,
    public var trimIdempotencyBefore: UInt64?
    /// nor are any but so many of the newest.
    public var keepIdempotency: Int?
    /// Asked now and then where applying it takes long: whether to end that with `.cancelled`. Nil: no.
    public var isUnwanted: (@Sendable () -> Bool)?

    public init() {}
}

/// What becomes of one entity.
public struct EntityChange: Sendable {
    public var key: EntityKey
    public var version: CommitSequence
    /// The entity's text, or nil when it is deleted.
    public var body: [UInt8]?

    public init(key: EntityKey, version: CommitSequence, body: [UInt8]?) {
        self.key = key
        self.version = version
        self.body = body
    }
}

/// One commit in the commit log: which ids it changed, without their bodies.
public struct CommitLogEntry: Sendable, Equatable {
    /// Of an entity; with an empty id, which no entity has, of a whole repository: deleted, which is dropped, or renamed.
    public struct Change: Sendable, Equatable {
        public var key: EntityKey
        public var isDeletion: Bool

        public init(key: EntityKey, isDeletion: Bool) {
            self.key = key
            self.isDeletion = isDeletion
        }
    }

    public var sequence: CommitSequence
    /// Random; tells this commit from another that got the same sequence after a failure.
    public var commitIdentifier: UInt64
    /// When, in milliseconds since 1970.
    public var time: UInt64
    /// Ordered by key.
    public var changes: [Change]

    public init(sequence: CommitSequence, commitIdentifier: UInt64, time: UInt64, changes: [Change]) {
        self.sequence = sequence
        self.commitIdentifier = commitIdentifier
        self.time = time
        self.changes = changes
    }

    public var name: CommitName { CommitName(commitIdentifier, at: sequence) }
}

/// What is kept of a commit that carried an idempotency key.
public struct IdempotencyRecord: Sendable, Equatable {
    public var key: [UInt8]
    /// Of the write set, without assigned ids.
    public var fingerprint: UInt64
    public var sequence: CommitSequence
    public var time: UInt64
    /// The receipt's JSON as it was answered first.
    public var receipt: [UInt8]

    public init(key: [UInt8], fingerprint: UInt64, sequence: CommitSequence, time: UInt64, receipt: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
        self.sequence = sequence
        self.time = time
        self.receipt = receipt
    }
}
