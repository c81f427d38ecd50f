/// Whether something that a transaction read has changed since its snapshot. Used where a commit is judged, and
/// where a transaction that lost its snapshot wants to move on to a newer one.
///
/// What matters is the state now: a query relies on which entities match it, so each entity changed since is
/// matched in its newest form. An entity that began to match and ceased again is no conflict; one that matched
/// in the snapshot and changed in any way is.
struct ConflictCheck {
    /// When a key was last written, for key reads; any number up to the snapshot's says: not since.
    var lastWrite: (EntityKey) throws(HoldfastError) -> CommitSequence
    typealias IsMeant = (EntityKey) throws(HoldfastError) -> Bool

    /// The first of the keys changed since the snapshot that is meant, for queries.
    var firstChange: (IsMeant) throws(HoldfastError) -> EntityKey?
    /// Whether the entity exists and its newest text matches.
    var newest: (EntityKey, (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool) throws(HoldfastError) -> Bool

    /// How many ids an error names at most.
    private static let namedLimit = 16

    /// Nil when nothing relevant changed.
    func conflict(of reads: ReadSet, named repositoryName: (RepositoryID) -> String) throws(HoldfastError)
        -> HoldfastError?
    {
        var changed: [(key: EntityKey, actual: CommitSequence)] = []
        for key in reads.keys.keys {
            let written = try lastWrite(key)
            if written > reads.snapshot { changed.append((key, written)) }
        }
        let isOfKeys = !changed.isEmpty
        if changed.isEmpty {
            for predicate in reads.predicates {
                // Made when the first change asks for it.
                var matched: Set<EntityID>?
                if let key = try firstChange({ key throws(HoldfastError) in
                    try concerns(predicate, key, &matched)
                }) {
                    changed.append((key, try lastWrite(key)))
                    break
                }
            }
        }
        guard !changed.isEmpty else { return nil }
        changed.sort { $0.key < $1.key }
        var error = Self.error(
            changed.prefix(Self.namedLimit), count: changed.count, snapshot: reads.snapshot, repositoryName)
        let first = changed[0].key
        error.contention = Contention(repository: first.repository, id: isOfKeys ? first.id : nil)
        return error
    }

    /// Whether a changed key is one that the query relied on.
    private func concerns(
        _ predicate: ReadSet.Predicate, _ key: EntityKey, _ matched: inout Set<EntityID>?
    ) throws(HoldfastError) -> Bool {
        guard key.repository == predicate.repository else { return false }
        guard let found = predicate.matched, !predicate.filter.isAll else { return true }
        if matched == nil { matched = found.set }
        if matched!.contains(key.id) { return true }
        return try newest(key) { body throws(HoldfastError) in try predicate.filter.matches(body) }
    }

    static func firstChange(
        in entries: some Sequence<LogEntry>, where isMeant: IsMeant
    ) throws(HoldfastError) -> EntityKey? {
        for entry in entries {
            for change in entry.changes where try isMeant(change.key) { return change.key }
        }
        return nil
    }

    private static func error(
        _ changed: ArraySlice<(key: EntityKey, actual: CommitSequence)>, count: Int, snapshot: CommitSequence,
        _ repositoryName: (RepositoryID) -> String
    ) -> HoldfastError {
        let first = changed.first!
        let others = count > 1 ? " and \(count - 1) more" : ""
        return HoldfastError(
            .conflict,
            "\(repositoryName(first.key.repository)) \"\(first.key.id.text)\"\(others) changed since the transaction "
                + "read it: run the transaction again",
            detail: [
                ("repository", .text(repositoryName(first.key.repository))),
                ("ids", .texts(changed.map(\.key.id.text))),
                ("snapshot", .number(snapshot)),
                ("actual", .number(first.actual)),
            ])
    }

    static let trimmed = HoldfastError(
        .conflict, "the commit log no longer reaches back to the transaction's snapshot: run the transaction again")
}
