public import HoldfastEnvironment
public import HoldfastQuery

/// A view of the committed state at one sequence. Used by several threads; an engine whose connection serves
/// one thread at a time locks it inside. The closures that are handed in only copy, compare and match; they
/// never call back into the storage.
public protocol StorageSnapshot: AnyObject, Sendable {
    /// The newest commit that is visible here, read inside the snapshot itself.
    var sequence: CommitSequence { get }

    /// The storage's token for what is visible here; nil where somebody committed while it was opened.
    var changeToken: ChangeToken? { get }

    /// Whether it has come to an end by itself, such as with the connection to a server: what is read from it fails, and who
    /// reads begins again on another one. Told from the failure on. By default never.
    var isLost: Bool { get }

    /// Whether many entities are fetched in one question, which may be asked ahead for that. By default not.
    var fetchesTogether: Bool { get }

    /// Lends the entity to `body` and answers true, or answers false if there is none.
    ///
    ///     both         SELECT version, body FROM holdfast_entity WHERE repository = $1 AND id = $2
    func fetch(
        _ key: EntityKey, _ body: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool

    /// Lends those of the entities that exist, each with its index in `keys`, in any order.
    ///
    ///     SQLite       as `fetch` of each
    ///     PostgreSQL   SELECT … FROM unnest($1, $2) …                                                  (for all)
    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError)

    /// Lends entities of a repository in the order of their ids' bytes until `body` answers false.
    ///
    ///     both         SELECT id, version, body, number FROM holdfast_entity
    ///                  WHERE repository = $1 AND id >= $2 AND id < $3 ORDER BY id         (PostgreSQL: COLLATE "C")
    func scan(_ scan: EntityScan, _ body: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError)

    /// Whether the walk along a range of ids costs what lies in it, and not as much as one along all of them.
    var seeksIDs: Bool { get }

    /// Whether it costs less to lend all of a repository as it lies than by its ids (`EntityScan.behindNumber`). By default
    /// not.
    ///
    ///     SQLite       SELECT repository, number FROM holdfast_entity WHERE number >= $1 ORDER BY number LIMIT 1 for some $1;
    ///                  as they lie: SELECT … FROM holdfast_entity WHERE number > $2 AND repository = $1 ORDER BY number
    func readsFasterAsItLies(_ repository: RepositoryID) throws(HoldfastError) -> Bool

    /// The catalogue as it is in this snapshot.
    ///
    ///     both         as `indexes`
    func repositories() throws(HoldfastError) -> [RepositoryRecord]

    /// The catalogue of indexes as it is in this snapshot.
    ///
    ///     both         SELECT value FROM holdfast_meta WHERE name = 'catalogue', and where that is news
    ///                  SELECT id, repository, name, definition, state, has_arrays FROM holdfast_index
    func indexes() throws(HoldfastError) -> [IndexRecord]

    /// Lends the entries of an index, each key with the entity that it leads to, ordered by key and id, until `body`
    /// answers false.
    ///
    ///     both         SELECT i.key, i.id, e.version, e.body FROM holdfast_index_N i JOIN holdfast_entity e ON …
    ///                  WHERE (i.key, i.id) > ($1, $2) AND i.key < $3 ORDER BY i.key, i.id
    func scan(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError)

    /// Whether each entity that a walk along an index, or along ids, leads to is looked up by itself, so that
    /// `IndexScan.cached` and `EntityScan.cached` save that.
    /// By default not.
    var asksForCached: Bool { get }

    /// The commit log behind `sequence`, oldest first, at most so many entries; nil where it was trimmed past that.
    ///
    ///     both         SELECT sequence, commit_id, time, changes FROM holdfast_log WHERE sequence > $1 ORDER BY sequence
    func commitLog(after sequence: CommitSequence, limit: Int) throws(HoldfastError) -> [CommitLogEntry]?

    /// The first sequence that `commitLog` can begin with: what was committed before has been trimmed.
    ///
    ///     both         SELECT value FROM holdfast_meta WHERE name = 'log_start'
    func commitLogStart() throws(HoldfastError) -> CommitSequence

    /// The commit log behind `sequence`, where it tells of everything that was stored since the state for which `token`
    /// stands and up to this one, by whatever program; nil where something else was stored, too, where nobody can know,
    /// and where it is more than so many transactions. For caches: where it is nil, anything may have changed.
    ///
    ///     SQLite       as `commitLog`; how many transactions there were is told by the index of the write-ahead log
    func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]?

    /// Looks up what a commit with this idempotency key left.
    ///
    ///     both         SELECT fingerprint, sequence, time, receipt FROM holdfast_idempotency WHERE key = $1
    func idempotencyRecord(_ key: [UInt8]) throws(HoldfastError) -> IdempotencyRecord?

    /// Ends the snapshot; calls after it answer `.io`. Waits for nobody: it is the committer who calls it, too. A call in
    /// progress goes on, and what it reads from is let go of when it returns. May be called again.
    func close()
}

extension StorageSnapshot {
    public var isLost: Bool { false }

    public func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        for (index, key) in keys.enumerated() {
            _ = try fetch(key) { view throws(HoldfastError) in try body(index, view) }
        }
    }

    public func changes(
        since token: ChangeToken, behind sequence: CommitSequence, limit: Int
    ) throws(HoldfastError) -> [CommitLogEntry]? { nil }

    /// As `scan`, and asks the host between two stretches, while nothing is lent, whether to go on.
    package func scanAsking(
        _ repository: RepositoryID, after: EntityID?, _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        var last = after
        try inStretches { stretch throws(HoldfastError) in
            try scan(EntityScan(repository, after: last)) { view throws(HoldfastError) in
                guard try body(view) else { return false }
                guard stretch.ends(behind: view) else { return true }
                last = EntityID(unchecked: Array(view.id))
                return false
            }
        }
    }

    /// The same of an index.
    package func scanAsking(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        var rest = scan
        try inStretches { stretch throws(HoldfastError) in
            try self.scan(rest) { key, view throws(HoldfastError) in
                guard try body(key, view) else { return false }
                guard stretch.ends(key.count + view.body.count) else { return true }
                rest.after = IndexScan.Position(key: Array(key), id: EntityID(unchecked: Array(view.id)))
                return false
            }
        }
    }

    private func inStretches(_ walk: (inout Stretch) throws(HoldfastError) -> Void) throws(HoldfastError) {
        while true {
            var stretch = Stretch()
            try walk(&stretch)
            if !stretch.isPaused { return }
            try Interrupt.look()
        }
    }

    public func commitLog(after sequence: CommitSequence) throws(HoldfastError) -> [CommitLogEntry]? {
        try commitLog(after: sequence, limit: .max)
    }

    public var seeksIDs: Bool { true }
    public var asksForCached: Bool { false }

    public var fetchesTogether: Bool { false }
    public func readsFasterAsItLies(_ repository: RepositoryID) throws(HoldfastError) -> Bool { false }

    /// All entities of a repository.
    package func scan(
        _ repository: RepositoryID, _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try scan(EntityScan(repository), body)
    }
}

/// What is read of a scan before the host is asked whether to go on.
private struct Stretch {
    private var pace = Interrupt.Pace()
    /// Whether more may follow.
    private(set) var isPaused = false

    /// Behind what has no id nobody could go on.
    mutating func ends(behind view: EntityView) -> Bool { !view.id.isEmpty && ends(view.body.count) }

    mutating func ends(_ bytes: Int) -> Bool {
        isPaused = pace.isOver(bytes)
        return isPaused
    }
}
