/// Committed entities, kept in memory, so that reading one again needs no storage.
///
/// All entries are as of one committed state, `head`: an entry was valid from its version on up to there. So it serves
///
/// - whoever wants the newest state, if the storage's token says that `head` is that;
/// - a snapshot at a sequence from the entry's version up to `head`.
///
/// Reading fills it, from a snapshot at `head` alone. A commit of this process brings the entries that it changed up to
/// date. A commit of somebody else empties it.
final class EntityCache: Sendable {
    struct Entity: Sendable {
        var version: CommitSequence
        var text: [UInt8]
    }

    private struct State {
        var head: CommitSequence
        /// What the storage says while `head` is the newest state; nil: not known.
        var token: ChangeToken?
        /// While a commit of this process becomes visible and the entries do not show it yet.
        var isCommitting = false
        var entries: RecencyList<EntityKey, Entity>
    }

    /// What an entry needs beside its id and its text, about.
    private static let overhead = 160

    private let state: Lock<State>

    /// With a limit of 0 it stays empty.
    init(limitBytes: Int, head: CommitSequence) {
        state = Lock(State(head: head, entries: RecencyList(limit: limitBytes)))
    }

    // MARK: Reading

    /// While it is true, a snapshot that is not pinned may be lost at any moment.
    var isCommitting: Bool { state.withLock { $0.isCommitting } }

    /// The entity in the newest state, with that state's sequence. `token` is the storage's own, read by the caller just now.
    func newest(_ key: EntityKey, _ token: ChangeToken?) -> (head: CommitSequence, entity: Entity)? {
        guard let token else { return nil }
        return state.withLock { state in
            guard state.token == token, let entity = state.entries.use(key) else { return nil }
            return (state.head, entity)
        }
    }

    /// The entity as a snapshot at this sequence shows it.
    func entity(_ key: EntityKey, at sequence: CommitSequence) -> Entity? {
        state.withLock { state in
            guard sequence <= state.head, let entity = state.entries.use(key), entity.version <= sequence else {
                return nil
            }
            return entity
        }
    }

    /// Takes in what was read from a snapshot at this sequence. Made only when it is wanted.
    func fill(_ key: EntityKey, at sequence: CommitSequence, _ entity: () -> Entity) {
        state.withLock { state in
            guard sequence == state.head, state.token != nil, !state.isCommitting, state.entries.limit > 0 else {
                return
            }
            let entity = entity()
            state.entries.set(key, entity, size: Self.size(key, entity))
        }
    }

    // MARK: Following the storage

    /// Takes note of a snapshot that was just opened. If it shows what is not known here, the entries go.
    func advance(to sequence: CommitSequence, _ token: ChangeToken?) {
        guard let token else { return }
        state.withLock { state in
            guard !state.isCommitting, token != state.token, sequence >= state.head else { return }
            state.entries.removeAll()
            state.head = sequence
            state.token = token
        }
    }

    /// Before this process's commit becomes visible. `token`: of the state on which it builds.
    func beginCommit(on head: CommitSequence, _ token: ChangeToken?) {
        state.withLock { state in
            if state.token == nil || state.token != token || state.head != head { state.entries.removeAll() }
            state.isCommitting = true
        }
    }

    /// After it: the entries that it changed follow. `token`: nil where somebody else may have committed behind it.
    func endCommit(_ changes: [EntityChange], head: CommitSequence, _ token: ChangeToken?) {
        state.withLock { state in
            for change in changes { Self.update(&state.entries, change) }
            state.head = head
            state.token = token
            state.isCommitting = false
        }
    }

    /// After a commit that failed: nothing is known.
    func clear() {
        state.withLock { state in
            state.entries.removeAll()
            state.token = nil
            state.isCommitting = false
        }
    }

    /// Entities that nobody has read are not taken in: a large load would push out what is in use.
    private static func update(_ entries: inout RecencyList<EntityKey, Entity>, _ change: EntityChange) {
        guard entries.contains(change.key) else { return }
        guard let text = change.body else { return entries.remove(change.key) }
        let entity = Entity(version: change.version, text: text)
        entries.set(change.key, entity, size: size(change.key, entity))
    }

    private static func size(_ key: EntityKey, _ entity: Entity) -> Int {
        overhead + key.id.bytes.count + entity.text.count
    }
}
