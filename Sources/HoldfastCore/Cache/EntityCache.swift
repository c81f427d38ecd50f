internal import Synchronization

/// Committed entities, kept in memory, so that reading one again needs no storage.
///
/// All entries are as of one committed state, `head`: an entry was valid from its version on up to there. So it serves
///
/// - whoever wants the newest state, if the storage's token says that `head` is that;
/// - a snapshot at a sequence from the entry's version up to `head`.
///
/// Reading fills it, from a snapshot at `head` alone. A commit of this process brings the entries that it changed up to
/// date. A commit of somebody else empties it.
///
/// The entries of a repository with a policy of its own stand in a list of their own, which its commits fill, too. All
/// others share the general list, which they do not fill: a large load would push out what is in use.
final class EntityCache: Sendable {
    struct Entity: Sendable {
        var version: CommitSequence
        var text: [UInt8]
        /// The time when it was set.
        var setAt: UInt64 = 0

        init(version: CommitSequence, text: [UInt8]) {
            self.version = version
            self.text = text
        }
    }

    typealias Entries = CacheList<EntityKey, Entity>

    /// What an entry needs beside its id and its text, about.
    private static let overhead = 160

    private let clock: StoreClock
    /// Whether any policy has a time to live: without one nobody asks for the time.
    private let hasTimesToLive = Atomic<Bool>(false)
    private let state: Lock<CacheState>

    /// With a limit of 0 the general list stays empty.
    init(limitBytes: Int, head: CommitSequence, clock: StoreClock) {
        self.clock = clock
        state = Lock(CacheState(limitBytes: limitBytes, head: head))
    }

    /// Read outside the lock: the clock may be the host's.
    private func now() -> UInt64 { hasTimesToLive.load(ordering: .relaxed) ? clock.monotonicNanoseconds() : 0 }

    // MARK: Reading

    /// While it is true, a snapshot that is not pinned may be lost at any moment.
    var isCommitting: Bool { state.withLock { $0.isCommitting } }

    /// The entity in the newest state, with that state's sequence. `token` is the storage's own, read by the caller just now.
    func newest(
        _ key: EntityKey, _ token: ChangeToken?, countsMiss: Bool = true
    ) -> (head: CommitSequence, entity: Entity)? {
        let now = now()
        return state.withLock { state in
            let place = state.place(of: key.repository)
            guard let token, state.token == token, let entity = state.use(key, at: place, now) else {
                if countsMiss { state.repositories[place].counts.misses += 1 }
                return nil
            }
            state.repositories[place].counts.hits += 1
            return (state.head, entity)
        }
    }

    /// The entity as a snapshot at this sequence shows it.
    func entity(_ key: EntityKey, at sequence: CommitSequence) -> Entity? {
        let now = now()
        return state.withLock { state in
            let place = state.place(of: key.repository)
            guard state.shows(sequence), let entity = state.use(key, at: place, now), entity.version <= sequence else {
                state.repositories[place].counts.misses += 1
                return nil
            }
            state.repositories[place].counts.hits += 1
            return entity
        }
    }

    /// Takes in what was read from this snapshot. Made only when it is wanted.
    func fill(_ key: EntityKey, from snapshot: any StorageSnapshot, _ entity: () -> Entity) {
        fill(key, at: snapshot.sequence, snapshot.changeToken, entity)
    }

    func fill(_ key: EntityKey, at sequence: CommitSequence, _ token: ChangeToken?, _ entity: () -> Entity) {
        let now = now()
        state.withLock { state in
            guard sequence == state.head, let token, token == state.token, !state.isCommitting else { return }
            let place = state.place(of: key.repository)
            if state.holdsNothing(at: place) { return }
            state.set(key, entity(), at: place, now)
        }
    }

    // MARK: Following the storage

    /// Takes note of a snapshot that was just opened. If it shows what is not known here, the entries go.
    func advance(to sequence: CommitSequence, _ token: ChangeToken?) {
        guard let token else { return }
        state.withLock { state in
            guard !state.isCommitting, token != state.token, sequence >= state.head else { return }
            state.invalidateAll()
            // What others have committed may be an import.
            if sequence > state.head { state.floor = sequence }
            state.head = sequence
            state.token = token
        }
    }

    /// Before this process's commit becomes visible. `token`: of the state on which it builds.
    func beginCommit(on head: CommitSequence, _ token: ChangeToken?) {
        state.withLock { state in
            if state.token == nil || state.token != token || state.head != head {
                state.invalidateAll()
                state.floor = head
            }
            state.isCommitting = true
        }
    }

    /// After it: the entries that it changed follow. `token`: nil where somebody else may have committed behind it.
    /// `keepsVersions`: some changes have smaller versions than the commit's.
    func endCommit(
        _ changes: [EntityChange], head: CommitSequence, _ token: ChangeToken?, keepsVersions: Bool = false
    ) {
        let now = now()
        state.withLock { state in
            if keepsVersions { state.floor = head }
            state.follow(changes, now)
            state.head = head
            state.token = token
            state.isCommitting = false
        }
    }

    /// After a commit that failed: nothing is known.
    func clear() {
        state.withLock { state in
            state.invalidateAll()
            state.token = nil
            state.isCommitting = false
        }
    }

    // MARK: What the host asks for

    /// Gives the repository a list of its own, or another one. The same policy again changes nothing.
    func setPolicy(_ policy: CachePolicy, of repository: RepositoryID) {
        state.withLock { state in
            if state.setPolicy(policy, of: repository) {
                hasTimesToLive.store(state.repositories.contains { $0.timeToLive > 0 }, ordering: .relaxed)
            }
        }
    }

    func hasPolicy(_ repository: RepositoryID) -> Bool {
        state.withLock { state in
            let place = state.place(of: repository)
            return state.repositories[place].policy != nil
        }
    }

    func invalidate(_ key: EntityKey) {
        state.withLock { state in
            let place = state.place(of: key.repository)
            if state.remove(key, at: place) { state.repositories[place].counts.invalidations += 1 }
        }
    }

    /// All of a repository.
    func invalidate(_ repository: RepositoryID) {
        state.withLock { state in
            let place = state.place(of: repository)
            state.repositories[place].counts.invalidations += UInt64(state.drop(.max, at: place))
        }
    }

    func trim(_ repository: RepositoryID, _ level: CacheTrim) {
        state.withLock { state in
            let place = state.place(of: repository)
            let count =
                switch level {
                case .warning: max(1, state.repositories[place].entries / 2)
                case .critical: Int.max
                }
            state.repositories[place].counts.evictions += UInt64(state.drop(count, at: place))
        }
    }

    /// Entries that were set by one clock must not be judged by another.
    func setClock(_ host: (any HostClock)?) {
        clock.set(host)
        state.withLock { $0.invalidateAll() }
    }

    func statistics(of repository: RepositoryID) -> CacheStatistics {
        state.withLock { state in
            let place = state.place(of: repository)
            return state.statistics(at: place)
        }
    }

    var statistics: CacheStatistics { state.withLock { $0.statistics } }

    static func size(_ key: EntityKey, _ entity: Entity) -> Int {
        overhead + key.id.bytes.count + entity.text.count
    }
}
