internal import HoldfastCore
internal import HoldfastQuery

/// What a commit answers.
public struct Receipt: Sendable, Hashable {
    /// What became of one entity.
    public struct Change: Sendable, Hashable {
        /// The name of its repository.
        public var repository: String
        /// Its id, as text.
        public var id: String
        /// Whether it was deleted; else it was stored.
        public var isDeletion: Bool
        /// Its version from now on.
        public var version: UInt64
    }

    /// The commit's position in the store's order and the version of what it wrote; 0 when it changed nothing.
    public var sequence: UInt64
    /// The opaque token of that place; empty when nothing changed.
    public var position: String
    /// Whether it was synced to the disk when it was acknowledged.
    public var isDurable: Bool
    /// Whether its changes were stored together; false of several that a provider had to store one by one.
    public var isAtomic: Bool
    /// How often the transaction ran.
    public var attempts: Int
    /// Whether an earlier commit with the same idempotency key is answered again.
    public var isReplayed: Bool
    /// The final changes, one for each entity, ordered by repository and id.
    public var changes: [Change]

    init(_ core: HoldfastCore.Receipt, attempts: Int) {
        sequence = core.sequence
        position = core.position
        isDurable = core.isDurable
        isAtomic = core.isAtomic
        self.attempts = attempts
        isReplayed = core.isReplayed
        changes = core.changes.map {
            Change(repository: $0.repository, id: $0.id.text, isDeletion: $0.isDeletion, version: core.sequence)
        }
    }
}
