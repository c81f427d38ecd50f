public import HoldfastEnvironment
public import HoldfastQuery

/// Where a store's entities live: the interface between the core and an engine.
///
/// It is small and key-value shaped. An engine keeps entities under (repository, id) with a version, keeps the
/// commit log, and gives snapshots. It decides nothing: conflicts, preconditions, filters and merges are decided
/// once, in the core, inside the engine's write transaction. An engine therefore needs five calls for a whole
/// batch of commits, whatever their number, which is what one reached over a network needs.
///
/// Beside each method stand its statements on SQLite and on PostgreSQL. Tables, SQLite's layout:
///
///     holdfast_meta(name, value)                           marks: format, incarnation, reserved sequence
///     holdfast_repository(id, name, key)                   the catalogue
///     holdfast_entity(number, repository, id, version, body) one row an entity
///     holdfast_index(id, repository, name, definition, …)  the catalogue of indexes
///     holdfast_index_N(key, id, entity)                    the entries of the index whose id is N
///     holdfast_log(sequence, commit_id, time, changes)     one row a batch of commits, named by the newest
///     holdfast_idempotency(key, fingerprint, sequence, time, receipt)
///
/// On PostgreSQL each key begins with the store's number, all indexes share one table, and the lock of the row
/// `holdfast_store(store, head, …)` stands for SQLite's one writer.
///
/// Every engine passes the conformance suite (`Tests/StorageConformance`).
public protocol Storage: AnyObject, Sendable {
    /// "sqlite", "memory".
    var engine: String { get }

    /// What the host would call the place: the path.
    var location: String { get }

    var isReadOnly: Bool { get }

    /// Whether a store that is opened again knows its repositories; else they are known from when they are opened.
    var keepsCatalogue: Bool { get }

    /// Whether what a commit changes is stored together or not at all, also where the process ends in the middle.
    var isAtomic: Bool { get }

    /// Whether `changeToken` tells of what others have stored.
    var noticesChanges: Bool { get }

    /// The catalogue and the marks as they are now. Called after opening and after `recover`.
    ///
    ///     SQLite       SELECT name, value FROM holdfast_meta; SELECT id, name, key FROM holdfast_repository;
    ///                  SELECT max(sequence) FROM holdfast_log
    ///     PostgreSQL   the same WHERE store = $1, and SELECT head FROM holdfast_store WHERE id = $1
    func readState() throws(HoldfastError) -> StorageState

    /// Stands for the newest committed state; nil when that cannot be told just now. Asked at every read: cheap, and never
    /// waits for another call. Throws `.cancelled` and `.forked` alone, where the caller was asked meanwhile.
    ///
    ///     SQLite       the header of the write-ahead log's index
    ///     PostgreSQL   SELECT head FROM holdfast_store …, unless the caller allows what is stale
    var changeToken: ChangeToken? { get throws(HoldfastError) }

    /// The same without asking a server: stands for a state that was the newest at most so many nanoseconds ago, `.max` for the
    /// newest that is known; nil where none is. An engine for which asking is cheap asks.
    func knownToken(within age: UInt64) -> ChangeToken?

    /// Whether each call takes a round trip, so that nothing is asked ahead that may not be needed.
    var isRemote: Bool { get }

    /// Why nothing of it is served just now, as far as is known: commits that it had acknowledged were lost. `.historyLost` until
    /// `beginHistory`, other errors until it is opened anew. Asks nobody.
    var loss: HoldfastError? { get }

    /// Opens a view of the newest committed state that later commits do not change. Any thread.
    ///
    ///     SQLite       BEGIN; SELECT max(sequence) FROM holdfast_log        (on a connection of its own)
    ///     PostgreSQL   BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT head FROM holdfast_store …
    func beginSnapshot() throws(HoldfastError) -> any StorageSnapshot

    /// Lends an entity of the newest committed state, with what was stored since a state that is known. For engines that are
    /// asked for each read: in one round trip, and without a snapshot.
    ///
    ///     PostgreSQL   SELECT … FROM holdfast_store LEFT JOIN holdfast_entity …; SELECT … FROM holdfast_log WHERE sequence > …
    func fetchNewest(
        _ key: EntityKey, since known: KnownState?, _ body: (NewestRead) throws(HoldfastError) -> Void
    ) throws(HoldfastError)

    /// Waits for the write lock among the processes that share the store, at most until the monotonic time `deadline`,
    /// and answers whether this process has it. If it has not, it keeps a position in the queue of processes.
    /// `releaseWriteLock` gives up lock or position. Both are called by one thread at a time, as are the calls below.
    ///
    ///     SQLite       locks on a sidecar file
    ///     PostgreSQL   nothing; where others were faster, BEGIN; SELECT head FROM holdfast_store … FOR UPDATE: its row
    ///                  locks have a queue
    func acquireWriteLock(until deadline: UInt64) throws(HoldfastError) -> Bool
    func releaseWriteLock()

    /// Opens the write transaction: from here to its end no other writer commits, or its end tells that one has. With
    /// `durable` it is on the disk before its `commit` returns and before anybody sees it. `.busy` when another program does
    /// not let go in time.
    ///
    ///     SQLite       PRAGMA synchronous = FULL or NORMAL; BEGIN IMMEDIATE; SELECT max(sequence) FROM holdfast_log
    ///     PostgreSQL   nothing: it begins with the newest row that is known; or goes on with the row's lock
    ///
    /// Where a server has to be waited for, this and the transaction's calls wait no longer than until the monotonic time
    /// `deadline`, `.max` for as long as servers are given at all: before `commit` it is overtaken then, behind it the outcome
    /// is unknown.
    func beginWrite(durable: Bool, until deadline: UInt64) throws(HoldfastError) -> any StorageWrite

    /// Makes every commit that returned before durable, in whatever process.
    ///
    ///     SQLite       xSync of the write-ahead log
    ///     PostgreSQL   a commit with synchronous_commit = on
    func sync() throws(HoldfastError)

    /// After `StorageWrite.commit` has failed: drops every connection and opens anew, so that what is then
    /// readable is durable. Open snapshots answer `.io` from here on.
    func recover() throws(HoldfastError)

    /// After `.historyLost`, and in place of `recover`: goes on with what is there, of which nothing that was known need hold, but
    /// that it must still have these repositories. Where it has not, nothing is served until it is opened anew.
    func beginHistory(with repositories: [RepositoryRecord]) throws(HoldfastError)

    /// Whether the commit log holds these commits, one answer for each: how the outcome of a failed `commit` is found out. What
    /// it does not hold it never will: an engine whose commit may be under way still sees to that first.
    ///
    ///     both         SELECT sequence, commit_id, time, changes FROM holdfast_log WHERE sequence >= $1
    ///                  ORDER BY sequence LIMIT 1
    ///     PostgreSQL   behind SELECT … FOR UPDATE of the store's row; where one is missing the row's head moves on, so
    ///                  that what arrives late finds another head than it compares with
    func resolve(_ commits: [CommitName]) throws(HoldfastError) -> [Bool]

    /// Nobody writes any more: has calls that wait for a server end soon with `.closed`. Before `close`, any number of times.
    func endReads()

    /// Notes that no sequence after `head`, and after the newest in the commit log, was used, so that none is skipped
    /// at the next open, and lets go of the place. Called once, also if it throws. Whoever is reading is not waited
    /// for: from here on snapshots that were not closed, and calls that read, answer `.closed`.
    ///
    ///     SQLite       UPDATE holdfast_meta SET value = $head WHERE name = 'reserved'; PRAGMA wal_checkpoint(TRUNCATE)
    ///     PostgreSQL   UPDATE holdfast_store SET reserved = $head …
    func close(head: CommitSequence) throws(HoldfastError)

    /// Gives the engine the core's help with what only the core can do. Called once, right after opening.
    func attach(_ host: any StorageHost)

    // Maintenance of the files; engines without files leave these to StorageMaintenance.swift.

    /// Copies the newest committed state, while others read and write, into a new file, a store of its own with a new
    /// incarnation. The file appears when it is complete and on the disk. Answers which state it is.
    ///
    ///     SQLite       BEGIN, then sqlite3_backup_step
    func backUp(to path: String, _ progress: Progress) throws(HoldfastError) -> CommitSequence

    /// Gives space that nothing is stored in back to the file system. By the one who holds the write lock. Answers
    /// the file's size before and after, in bytes. Where `end` is set it ends soon, with everything as before and
    /// `.cancelled`; or as it would have.
    ///
    ///     SQLite       VACUUM
    func compact(unless end: Interrupt.Flag) throws(HoldfastError) -> (before: UInt64, after: UInt64)

    /// Has the compaction that looks at `end`, which was set, end sooner, if it is under way. Any thread; waits for nobody.
    func stopCompacting(_ end: Interrupt.Flag)

    /// Whether a write-ahead log has grown longer than it may, so that long work lets go of its snapshot and begins anew.
    ///
    ///     SQLite       by the header of the write-ahead log's index
    var isWriteAheadLogTooLong: Bool { get }

    /// What the engine finds wrong in its own structures, a sentence each; at most a hundred.
    ///
    ///     SQLite       PRAGMA integrity_check
    func problems() throws(HoldfastError) -> [String]

    /// nil where there are no files.
    func size() throws(HoldfastError) -> StorageSize?

    /// nil where there is no server.
    var server: ServerStatistics? { get }
}

extension Storage {
    public var isAtomic: Bool { true }
    public var noticesChanges: Bool { true }
    public var isRemote: Bool { false }
    public var loss: HoldfastError? { nil }
    public func endReads() {}
    public func beginWrite(durable: Bool) throws(HoldfastError) -> any StorageWrite {
        try beginWrite(durable: durable, until: .max)
    }

    public func beginHistory(with repositories: [RepositoryRecord]) throws(HoldfastError) { try recover() }
    public func knownToken(within age: UInt64) -> ChangeToken? { try? changeToken }

    public func fetchNewest(
        _ key: EntityKey, since known: KnownState?, _ body: (NewestRead) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        let snapshot = try beginSnapshot()
        defer { snapshot.close() }
        let changes = try known.flatMap { known throws(HoldfastError) in
            try snapshot.changes(since: known.token, behind: known.sequence, limit: known.limit)
        }
        var read = NewestRead(sequence: snapshot.sequence, token: snapshot.changeToken, changes: changes, entity: nil)
        let isThere = try snapshot.fetch(key) { view throws(HoldfastError) in
            read.entity = view
            try body(read)
        }
        if !isThere { try body(read) }
    }

    /// Of a state that was the newest at most so many nanoseconds ago.
    package func changeToken(within age: UInt64) throws(HoldfastError) -> ChangeToken? {
        if let known = knownToken(within: age) { return known }
        return try changeToken
    }
}

/// A state of which it is asked what was stored since, in at most so many transactions.
public struct KnownState: Sendable {
    public let token: ChangeToken
    public let sequence: CommitSequence
    public let limit: Int

    public init(token: ChangeToken, sequence: CommitSequence, limit: Int) {
        (self.token, self.sequence, self.limit) = (token, sequence, limit)
    }
}

/// What `Storage.fetchNewest` finds: the entity as the state at this sequence has it.
public struct NewestRead {
    public let sequence: CommitSequence
    public let token: ChangeToken?
    /// As `StorageSnapshot.changes`: nil where anything may have changed.
    public let changes: [CommitLogEntry]?
    public var entity: EntityView?

    public init(sequence: CommitSequence, token: ChangeToken?, changes: [CommitLogEntry]?, entity: EntityView?) {
        (self.sequence, self.token, self.changes, self.entity) = (sequence, token, changes, entity)
    }
}

/// What the core does for an engine. Held weakly by the engine.
public protocol StorageHost: AnyObject, Sendable {
    /// Takes snapshots back that are older than this (nil: all of them, also one kept only for speed), so that
    /// the engine can reuse the space that they pin. Their transactions move forward or meet a conflict.
    func releaseSnapshots(olderThanMilliseconds age: UInt64?)

    /// Has `beginHistory` called soon. Waits for nobody.
    func historyWasLost()
}

/// What a store begins with.
public struct StorageState: Sendable {
    /// 16 random bytes, set when the store was created, and anew when it is restored.
    public var incarnation: [UInt8]
    /// The newest sequence in the commit log. An engine that finds at its opening that sequences were reserved beyond
    /// it, which only an unclean close leaves, puts an entry without changes at the mark, so that none is given out
    /// twice.
    public var head: CommitSequence
    /// Sequences up to this one may be used without being reserved first.
    public var reservedThrough: CommitSequence
    public var repositories: [RepositoryRecord]
    /// The format of the storage's layout, for `describe`.
    public var format: Int

    public init(
        incarnation: [UInt8], head: CommitSequence, reservedThrough: CommitSequence,
        repositories: [RepositoryRecord], format: Int
    ) {
        self.incarnation = incarnation
        self.head = head
        self.reservedThrough = reservedThrough
        self.repositories = repositories
        self.format = format
    }
}

/// A repository as the catalogue knows it.
public struct RepositoryRecord: Sendable, Equatable {
    public var id: RepositoryID
    public var name: String
    /// The member that holds an entity's id.
    public var key: String
    /// Whether it was dropped: it has no entities and no indexes, and nobody is told of it. Its number stays, so that
    /// who opened it before, in whatever process, has it again when it is created anew.
    public var isDropped = false
    /// The commit that dropped or renamed it, or brought it back; 0 for none.
    public var changed: CommitSequence = 0
    /// Whether no entity has, or had, a number for an id, so that the order of the ids is that of their bytes. False where
    /// nobody knows.
    public var idsAreTexts = false
    /// What it was called before, oldest first: commits in the log are told under the names that they had.
    public var formerNames: [FormerName] = []

    public struct FormerName: Sendable, Equatable {
        public var name: String
        /// The commit that renamed it.
        public var through: CommitSequence

        public init(_ name: String, through: CommitSequence) {
            self.name = name
            self.through = through
        }
    }

    public init(id: RepositoryID, name: String, key: String) {
        self.id = id
        self.name = name
        self.key = key
    }

    /// What it was called when this commit came.
    public func name(at sequence: CommitSequence) -> String {
        let place = formerNames.partitioningIndex { sequence <= $0.through }
        return place < formerNames.count ? formerNames[place].name : name
    }

    /// Whether it is the same repository as one that was known before, as it was or changed since.
    public func goesOn(from known: RepositoryRecord) -> Bool {
        id == known.id && key.utf8.elementsEqual(known.key.utf8)
            && (self == known
                || changed > known.changed && name(at: known.changed).utf8.elementsEqual(known.name.utf8))
    }
}

/// Names a commit in the commit log: the identifier tells it from another that got the same sequence after a failure.
public struct CommitName: Hashable, Sendable {
    public var sequence: CommitSequence
    public var identifier: UInt64

    public init(_ identifier: UInt64, at sequence: CommitSequence) {
        self.sequence = sequence
        self.identifier = identifier
    }
}

/// Names an entity within a store.
public struct EntityKey: Hashable, Comparable, Sendable {
    public var repository: RepositoryID
    public var id: EntityID

    @inlinable
    public init(_ repository: RepositoryID, _ id: EntityID) {
        self.repository = repository
        self.id = id
    }

    /// Stands for a repository as a whole, where changes are told. Before all of its entities.
    public init(whole repository: RepositoryID) { self.init(repository, EntityID(unchecked: [])) }

    public var isWhole: Bool { id.bytes.isEmpty }

    // What the compiler would make of these two could not be inlined in other targets.
    @inlinable
    public static func == (left: EntityKey, right: EntityKey) -> Bool {
        left.repository == right.repository && left.id == right.id
    }

    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(repository)
        hasher.combine(id)
    }

    @inlinable
    public static func < (left: EntityKey, right: EntityKey) -> Bool {
        left.repository == right.repository ? left.id < right.id : left.repository < right.repository
    }
}

/// An entity as it lies in the storage, lent for the duration of one call: copy what shall last. An engine lends also what
/// is damaged, so that it stands in nobody's way and can be replaced; whoever reads it looks (see EntityCheck.swift).
public struct EntityView {
    public let id: UnsafeRawBufferPointer
    public let version: CommitSequence
    /// A JSON object's text, from its opening brace to the closing one.
    public let body: UnsafeRawBufferPointer
    /// What a scan, or an index, tells of where the entity is: it stays until the entity is deleted. Of an engine that has
    /// no such number 0.
    public let number: Int64
    /// Why the text cannot be that of an entity, where the engine knows; then the body may be anything.
    public let damage: String?
    /// Whether it comes from the cache, into which nothing comes that was not looked at.
    package let isCached: Bool

    public init(
        id: UnsafeRawBufferPointer, version: CommitSequence, body: UnsafeRawBufferPointer, number: Int64 = 0,
        damage: String? = nil
    ) {
        self.init(id: id, version: version, body: body, number: number, damage: damage, isCached: false)
    }

    /// One from the cache.
    package init(cached id: UnsafeRawBufferPointer, version: CommitSequence, body: UnsafeRawBufferPointer) {
        self.init(id: id, version: version, body: body, number: 0, damage: nil, isCached: true)
    }

    private init(
        id: UnsafeRawBufferPointer, version: CommitSequence, body: UnsafeRawBufferPointer, number: Int64,
        damage: String?, isCached: Bool
    ) {
        self.id = id
        self.version = version
        self.body = body
        self.number = number
        self.damage = damage
        self.isCached = isCached
    }

    /// What an index alone tells.
    public init(id: UnsafeRawBufferPointer, number: Int64) {
        self.init(id: id, version: 0, body: UnsafeRawBufferPointer(start: nil, count: 0), number: number)
    }
}

extension HoldfastError {
    /// What every call of a closed store answers, and of a storage.
    package static let storeClosed = HoldfastError(.closed, "the store is closed: open it again")
}

/// A storage whose entities live with the host: the host's functions are called by whoever calls the store.
package protocol HostStorage: Storage {
    /// Whether this thread is inside one of those functions.
    var isInside: Bool { get }
}
