internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage
internal import Synchronization

/// Committed entities, kept in memory, so that reading one again needs no storage.
///
/// All entries are as of one committed state, `head`: an entry was valid from its version on up to there. So it serves
///
/// - whoever wants the newest state, if the storage's token says that `head` is that;
/// - a snapshot at a sequence from the entry's version up to `head`.
///
/// Reading fills it, from a snapshot at `head` alone. A commit of this process brings the entries that it changed up to
/// date. Of commits of other processes the entries go that the commit log names; what else was stored, by another
/// program, empties it.
///
/// The entries of a repository with a policy of its own stand in an order of their own, and its commits fill them in, too.
/// All others share the general one, which commits do not fill: a large load would push out what is in use.
///
/// Who reads takes no lock: it looks which state the entities show (`ShownState`), finds the entity in its repository's
/// table, sees that the state is still shown, and is lent the entity, which stays in memory meanwhile (`Readers`). All else,
/// also where that fails, is done under the lock.
package final class EntityCache: Sendable {
    // What changes, and what guards it:
    //  - `state`: its lock.
    //  - `shown`, and the tables in `state` as far as they are read: see there. Written under the lock.
    //  - `hasTimesToLive`: atomic, and changed under the lock.

    /// What an entry needs beside its id and its text, about.
    private static let overhead = 160

    private let clock: StoreClock
    /// Whether any policy has a time to live: without one nobody asks for the time.
    let hasTimesToLive = Atomic<Bool>(false)
    let state: Lock<CacheState>
    private let shown: ShownState
    private let limits: Limits

    /// With a limit of 0 the general list stays empty.
    init(limitBytes: Int, head: CommitSequence, clock: StoreClock, limits: Limits = Limits()) {
        self.clock = clock
        self.limits = limits
        state = Lock(CacheState(limitBytes: limitBytes, head: head))
        shown = ShownState(head: head)
    }

    /// Read outside the lock: the clock may be the host's.
    private func now() -> UInt64 { hasTimesToLive.load(ordering: .relaxed) ? clock.monotonicNanoseconds() : 0 }

    /// Changes which state the entities show, or what they are in it: who reads without the lock notices.
    private func change<Result>(_ body: (inout CacheState) -> Result) -> Result {
        state.withLock { state in
            shown.beginChange()
            defer { shown.endChange(head: state.head, floor: state.floor, state.token) }
            return body(&state)
        }
    }

    // MARK: Reading

    /// While it is true, a snapshot that is not pinned may be lost at any moment.
    var isCommitting: Bool { state.withLock { $0.isCommitting } }

    /// Where a repository's entities are, which whoever reads many of them keeps.
    func table(of repository: RepositoryID) -> CacheTable {
        state.withLock { state in
            let index = state.index(of: repository)
            return state.repositories[index].table
        }
    }

    /// What a look at the newest state finds.
    enum Look: Equatable {
        /// The entity was lent; the state's sequence.
        case found(head: CommitSequence)
        case missing
        /// Somebody else has committed: nothing is known before a snapshot of the newest state was opened. Counts as
        /// neither hit nor miss, because `lend(_:_:at:_:)` follows.
        case outdated
    }

    /// Lends the entity as the newest state has it, without the lock, and answers the state's sequence; nil where it is not
    /// there, or more would have to be done. `token` is the storage's own, read by the caller just now.
    func lendNewestAtOnce(
        _ table: CacheTable, _ id: UnsafeRawBufferPointer, _ token: ChangeToken?,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> CommitSequence? {
        guard let token else { return nil }
        let (now, hash) = (now(), table.hash(id))
        return try table.visiting { lend throws(HoldfastError) in
            guard let (entity, head) = findNewest(table, id, hash, token, now) else { return nil }
            try lend(entity, visit)
            return head
        }
    }

    /// The same, and says why not.
    func lendNewest(
        _ table: CacheTable, _ id: UnsafeRawBufferPointer, _ token: ChangeToken?, countsMiss: Bool = true,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Look {
        let (now, hash) = (now(), table.hash(id))
        return try table.visiting { lend throws(HoldfastError) in
            if let token, let (entity, head) = findNewest(table, id, hash, token, now) {
                try lend(entity, visit)
                return .found(head: head)
            }
            let (look, entity) = state.withLock { state -> (Look, CacheState.Entity?) in
                guard let token, state.token == token else { return (.outdated, nil) }
                let entity = state.find(id, hash, at: table.index, now)
                if entity == nil, countsMiss { state.repositories[table.index].counts.misses += 1 }
                return (entity == nil ? .missing : .found(head: state.head), entity)
            }
            // The state may have been changing when it was looked at without the lock.
            if let entity { try lend(entity, visit) }
            return look
        }
    }

    /// Without the lock, by whoever is visiting the table.
    @inline(__always)
    private func findNewest(
        _ table: CacheTable, _ id: UnsafeRawBufferPointer, _ hash: UInt64, _ token: ChangeToken, _ now: UInt64
    ) -> (entity: CacheTable.Entity, head: CommitSequence)? {
        guard let seen = shown.see(token), let entity = table.find(id, hash), shown.isStill(seen),
            !table.isExpired(entity, now)
        else { return nil }
        return (entity, seen.head)
    }

    /// The storage was asked for what was looked for in no state that is the newest.
    func countMiss(_ table: CacheTable) { state.withLock { $0.repositories[table.index].counts.misses += 1 } }

    /// Lends the entity as a snapshot at this sequence shows it, without the lock, or answers false: it is not there, or more
    /// would have to be done. That counts as no miss.
    func lendAtOnce(
        _ table: CacheTable, _ id: UnsafeRawBufferPointer, at sequence: CommitSequence,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        let (now, hash) = (now(), table.hash(id))
        return try table.visiting { lend throws(HoldfastError) in
            guard let entity = find(table, id, hash, at: sequence, now) else { return false }
            try lend(entity, visit)
            return true
        }
    }

    /// The same, and says why not.
    func lend(
        _ table: CacheTable, _ id: UnsafeRawBufferPointer, at sequence: CommitSequence,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        let (now, hash) = (now(), table.hash(id))
        return try table.visiting { lend throws(HoldfastError) in
            if let entity = find(table, id, hash, at: sequence, now) {
                try lend(entity, visit)
                return true
            }
            let entity = state.withLock { state -> CacheState.Entity? in
                guard state.shows(sequence), let entity = state.find(id, hash, at: table.index, now),
                    entity.pointee.version <= sequence
                else {
                    state.repositories[table.index].counts.misses += 1
                    return nil
                }
                return entity
            }
            guard let entity else { return false }
            try lend(entity, visit)
            return true
        }
    }

    /// Without the lock, by whoever is visiting the table.
    @inline(__always)
    private func find(
        _ table: CacheTable, _ id: UnsafeRawBufferPointer, _ hash: UInt64, at sequence: CommitSequence, _ now: UInt64
    ) -> CacheTable.Entity? {
        guard let seen = shown.see(at: sequence), let entity = table.find(id, hash), shown.isStill(seen),
            !table.isExpired(entity, now), entity.pointee.version <= sequence
        else { return nil }
        return entity
    }

    /// Takes in what was read from this snapshot, if there is memory for it.
    func fill(_ key: EntityKey, from snapshot: any StorageSnapshot, _ view: EntityView) {
        fill(key, at: snapshot.sequence, snapshot.changeToken, version: view.version, view.body)
    }

    func fill(
        _ key: EntityKey, at sequence: CommitSequence, _ token: ChangeToken?, version: CommitSequence,
        _ body: UnsafeRawBufferPointer
    ) {
        let now = now()
        state.withLock { state in
            guard sequence == state.head, let token, token == state.token, !state.isCommitting else { return }
            let index = state.index(of: key.repository)
            if state.holdsNothing(at: index) { return }
            key.id.bytes.withBytes { state.set($0, body, version: version, at: index, now) }
        }
    }

    /// The same of what a query has met at `table`, as long as there is room: a query that reads much is not to push out what
    /// is in use. Answers whether more may be taken in.
    func fillWhileRoom(_ table: CacheTable, from snapshot: any StorageSnapshot, _ view: EntityView) -> Bool {
        let now = now()
        let (sequence, token) = (snapshot.sequence, snapshot.changeToken)
        return state.withLock { state in
            guard sequence == state.head, let token, token == state.token, !state.isCommitting else { return false }
            // It may be there, and not have been asked.
            if state.find(view.id, table.hash(view.id), at: table.index, now) == nil {
                let size = Self.size(idBytes: view.id.count, bodyBytes: view.body.count)
                guard state.makesRoom(for: size, at: table.index, now) else { return false }
                state.set(view.id, view.body, version: view.version, at: table.index, now)
            }
            return true
        }
    }

    // MARK: Following the storage

    /// The state that the entries show.
    private struct Known: Equatable {
        let history: UInt64
        let head: CommitSequence
        let token: ChangeToken?
        let isCommitting: Bool
        let isEmpty: Bool

        init(_ state: CacheState) {
            history = state.history
            head = state.head
            token = state.token
            isCommitting = state.isCommitting
            isEmpty = state.isEmpty
        }

        /// What has changed since, nil: anything.
        func changes(_ read: Changes, limit: Int) -> [CommitLogEntry]? {
            guard !isEmpty, let token else { return nil }
            // What cannot be read now is as good as unknown.
            return try? read(token, head, limit)
        }
    }

    /// What was stored since the state that entries show, as `StorageSnapshot.changes` answers.
    typealias Changes = (ChangeToken, CommitSequence, _ limit: Int) throws(HoldfastError) -> [CommitLogEntry]?

    /// Takes note of a snapshot that was just opened. Of the entries those go that may be others there.
    /// `history`: in which it was begun.
    func advance(to snapshot: any StorageSnapshot, in history: UInt64 = 0) {
        advance(to: snapshot.sequence, in: history, snapshot.changeToken) { token, head, limit throws(HoldfastError) in
            try snapshot.changes(since: token, behind: head, limit: limit)
        }
    }

    func advance(
        to sequence: CommitSequence, in history: UInt64 = 0, _ token: ChangeToken?,
        _ changes: Changes = { _, _, _ in nil }
    ) {
        guard let token else { return }
        while true {
            let known = state.withLock { Known($0) }
            if known.history != history || known.isCommitting || known.token == token || known.head > sequence {
                return
            }
            // The commit log is not read under the lock, so that the others go on meanwhile.
            let changes = known.changes(changes, limit: limits.cachedTransactions)
            let isDone = change { state in
                guard Known(state) == known else { return false }
                state.advance(to: sequence, token, changes)
                return true
            }
            if isDone { return }
        }
    }

    /// The state that the entries show, of which it may be asked what was stored since; nil where that is of no use.
    var known: KnownState? {
        state.withLock { state in
            let known = Known(state)
            guard !known.isEmpty, !known.isCommitting, let token = known.token else { return nil }
            return KnownState(token: token, sequence: known.head, limit: limits.cachedTransactions)
        }
    }

    /// Takes note of what was read of the newest state. `known`: what was known before.
    func advance(to read: NewestRead, in history: UInt64, since known: KnownState?) {
        advance(to: read.sequence, in: history, read.token) { token, head, _ in
            known.flatMap { $0.token == token && $0.sequence == head ? read.changes : nil }
        }
    }

    /// Whether there is an entry, of whatever state.
    func holds(_ table: CacheTable, _ id: UnsafeRawBufferPointer) -> Bool {
        let hash = table.hash(id)
        return state.withLock { _ in table.find(id, hash) != nil }
    }

    /// Before this process's commit becomes visible. `token`: of the state on which it builds.
    func beginCommit(on head: CommitSequence, _ token: ChangeToken?, _ changes: Changes = { _, _, _ in nil }) {
        while true {
            let known = state.withLock { Known($0) }
            let isCurrent = known.token != nil && known.token == token && known.head == head
            let changes = isCurrent ? [] : known.changes(changes, limit: limits.cachedTransactions)
            let isDone = change { state in
                guard Known(state) == known else { return false }
                if !isCurrent { state.advance(to: head, token, changes) }
                state.isCommitting = true
                return true
            }
            if isDone { return }
        }
    }

    /// After it: the entries that it changed follow. `token`: nil where somebody else may have committed behind it.
    /// `dropping`: repositories that are empty by it. `keepsVersions`: some changes have smaller versions than the commit's.
    func endCommit(
        _ changes: [EntityChange], dropping dropped: [RepositoryID] = [], head: CommitSequence, _ token: ChangeToken?,
        keepsVersions: Bool = false
    ) {
        let now = now()
        change { state in
            if keepsVersions { state.floor = head }
            for repository in dropped { state.invalidate(repository) }
            state.follow(changes, now)
            state.head = head
            state.token = token
            state.isCommitting = false
        }
    }

    /// After one that has stored nothing: everything is as it was.
    func abandonCommit() { state.withLock { $0.isCommitting = false } }

    /// After a commit that failed: nothing is known.
    func clear() {
        change { state in
            state.invalidateAll()
            state.token = nil
            state.isCommitting = false
        }
    }

    /// After the storage has lost commits: nothing that is known need be true, and no snapshot of before is served.
    func beginHistory(_ history: UInt64) {
        change { state in
            state.invalidateAll()
            state.token = nil
            state.isCommitting = false
            (state.head, state.floor, state.history) = (0, 0, history)
        }
    }

    // MARK: What the host asks for

    /// Gives the repository a list of its own, or another one. The same policy again changes nothing.
    func setPolicy(_ policy: CachePolicy, of repository: RepositoryID) {
        state.withLock { state in
            if state.setPolicy(policy, of: repository) {
                hasTimesToLive.store(
                    state.repositories.contains { $0.table.timeToLive.load(ordering: .relaxed) > 0 }, ordering: .relaxed
                )
            }
        }
    }

    func hasPolicy(_ repository: RepositoryID) -> Bool {
        state.withLock { state in
            let index = state.index(of: repository)
            return state.repositories[index].policy != nil
        }
    }

    func invalidate(_ key: EntityKey) {
        state.withLock { state in
            let index = state.index(of: key.repository)
            if state.remove(key, at: index) { state.repositories[index].counts.invalidations += 1 }
        }
    }

    /// All of a repository.
    func invalidate(_ repository: RepositoryID) {
        state.withLock { $0.invalidate(repository) }
    }

    func trim(_ repository: RepositoryID, _ level: CacheTrim) {
        state.withLock { state in
            let index = state.index(of: repository)
            let count =
                switch level {
                case .warning: max(1, state.repositories[index].table.count / 2)
                case .critical: Int.max
                }
            state.repositories[index].counts.evictions += UInt64(state.drop(count, at: index))
        }
    }

    /// Entries that were set by one clock must not be measured by another.
    func setClock(_ host: (any HostClock)?) {
        clock.set(host)
        state.withLock { $0.invalidateAll() }
    }

    func statistics(of repository: RepositoryID) -> CacheStatistics {
        state.withLock { state in
            let index = state.index(of: repository)
            return state.statistics(at: index)
        }
    }

    var statistics: CacheStatistics { state.withLock { $0.statistics } }

    static func size(idBytes: Int, bodyBytes: Int) -> Int { overhead + idBytes + bodyBytes }
}
