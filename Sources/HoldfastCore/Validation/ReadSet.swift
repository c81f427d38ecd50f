internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What a transaction read, and so relies on when it commits.
///
/// Keys are recorded whether an entity was found or not. A query is recorded as what it is, a predicate
/// (precision locking: Jordan, Banerjee, Batman 1981; used for optimistic validation by HyPer: Neumann, Mühlbauer,
/// Kemper, SIGMOD 2015), so that an entity which begins to match is noticed too.
package struct ReadSet: Sendable {
    struct Predicate: Sendable {
        var repository: RepositoryID
        var filter: Filter
        /// The ids that matched; nil when they were too many to keep, and any change of the repository counts.
        var matched: FoundIDs?
    }

    /// The sequence of the snapshot that all reads saw.
    var snapshot: CommitSequence
    /// With the version that was seen; 0 where there was no entity, `unseen` where a key that is written was not read.
    var keys = Keys()
    var predicates: [Predicate] = []

    /// Keys with versions, in no order. Most transactions read one entity, which needs no dictionary.
    struct Keys: Sendable, Sequence {
        private var first: Iterator.Element?
        private var others: [EntityKey: CommitSequence] = [:]

        var isEmpty: Bool { first == nil }

        subscript(key: EntityKey) -> CommitSequence? {
            if let first, first.key == key { return first.version }
            return others.isEmpty ? nil : others[key]
        }

        mutating func set(_ key: EntityKey, _ version: CommitSequence) {
            if let first, first.key != key { others[key] = version } else { first = (key, version) }
        }

        /// Before one is set.
        mutating func askToGrow() throws(HoldfastError) { if !isEmpty { try others.askToGrow() } }

        func makeIterator() -> Iterator { Iterator(first: first, others: others.makeIterator()) }

        struct Iterator: IteratorProtocol {
            fileprivate var first: (key: EntityKey, version: CommitSequence)?
            fileprivate var others: [EntityKey: CommitSequence].Iterator

            mutating func next() -> (key: EntityKey, version: CommitSequence)? {
                if let first = first.take() { return first }
                return others.next().map { ($0.key, $0.value) }
            }
        }
    }

    static let unseen = CommitSequence.max

    /// Of `SnapshotPool`: which history of the store it is.
    var history: UInt64

    init(snapshot: CommitSequence, in history: UInt64) { (self.snapshot, self.history) = (snapshot, history) }

    var isEmpty: Bool { keys.isEmpty && predicates.isEmpty }
}
