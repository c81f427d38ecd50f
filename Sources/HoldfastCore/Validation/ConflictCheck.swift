internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Whether something that a transaction read has changed since its snapshot. Used where a commit is validated, and
/// where a transaction that lost its snapshot wants to move on to a newer one. It may refuse too much, never too little.
///
/// What matters is the state now: a query relies on which entities match it, so each entity changed since is
/// matched in its newest form. An entity that began to match and ceased again is no conflict; one that matched
/// in the snapshot and changed in any way is.
struct ConflictCheck {
    private let reads: ReadSet
    private var changed: [(key: EntityKey, actual: CommitSequence)] = []
    /// Whether it is a query that a change concerns.
    private var isOfQuery = false

    init(of reads: ReadSet) { self.reads = reads }

    /// Whether a key that was read is known to be another by now.
    var hasChangedKeys: Bool { !changed.isEmpty }

    /// Notes a change of a key that was read, unless it was before the snapshot. `sequence`: when it was last written.
    mutating func noteWrite(of key: EntityKey, at sequence: CommitSequence) {
        if sequence > reads.snapshot { changed.append((key, sequence)) }
    }

    /// Compares what is there now with what was read: whatever happened in between, and without the commit log.
    /// `version` is 0 where there is no entity. Not for a key that was written without having been read.
    mutating func compare(_ key: EntityKey, with version: CommitSequence) {
        if version != reads.keys[key] { changed.append((key, max(version, reads.snapshot + 1))) }
    }

    /// Looks for a change that concerns a query, in what the storage holds. `isOlder`: whether what the storage holds of a
    /// key is no longer the newest, so that somebody else looks at it.
    mutating func look(
        for predicate: ReadSet.Predicate, in stored: inout StoredChanges,
        except isOlder: (EntityKey) -> Bool = { _ in false }
    ) throws(HoldfastError) {
        isOfQuery = true
        let snapshot = reads.snapshot
        guard let newest = stored.changes.newestChange(in: predicate.repository), newest.sequence > snapshot else {
            return
        }
        guard let matched = predicate.matched, !predicate.filter.isAll else {
            return changed.append((newest.key, newest.sequence))
        }
        let changes = stored.changes
        if let key = matched.first(in: predicate.repository, where: { changes.lastWrite($0) > snapshot }) {
            return changed.append((key, changes.lastWrite(key)))
        }
        let filter = predicate.filter
        let found = try stored.first(in: predicate.repository, after: snapshot) { key, body throws(HoldfastError) in
            if isOlder(key) { return false }
            return try filter.matches(body)
        }
        if let found { changed.append(found) }
    }

    /// The same in what the earlier members of its batch have changed.
    mutating func look(for predicate: ReadSet.Predicate, in overlay: BatchOverlay) throws(HoldfastError) {
        isOfQuery = true
        var found: EntityChange?
        let others = overlay.newestChanges(in: predicate.repository)
        if others.isEmpty { return }
        if let matched = predicate.matched, !predicate.filter.isAll {
            found = matched.first(in: predicate.repository, where: { overlay[$0] != nil }).flatMap { overlay[$0] }
            for change in others where found == nil {
                guard let body = change.body else { continue }
                let matches = try body.withBytes { body throws(HoldfastError) in try predicate.filter.matches(body) }
                if matches { found = change }
            }
        } else {
            found = others.first
        }
        if let found { changed.append((found.key, found.version)) }
    }

    /// Nil when nothing relevant changed.
    func conflict(named repositoryName: (RepositoryID) -> String) -> HoldfastError? {
        let changed = changed.sorted { $0.key < $1.key }
        guard let first = changed.first else { return nil }
        let others = changed.count > 1 ? " and \(changed.count - 1) more" : ""
        let repository = repositoryName(first.key.repository)
        let what =
            first.key.isWhole ? "\(repository) was dropped" : "\(repository) \"\(first.key.id.text)\"\(others) changed"
        let ids = changed.lazy.filter { !$0.key.isWhole }.prefix(Limits.inForce.namedConflicts).map(\.key.id.text)
        var error = HoldfastError(
            .conflict, "\(what) since the transaction read it: run the transaction again",
            detail: [
                ("repository", .text(repository)),
                ("ids", .texts(Array(ids))),
                ("snapshot", .number(reads.snapshot)),
                ("actual", .number(first.actual)),
            ])
        error.origin = Contention(repository: first.key.repository, id: isOfQuery ? nil : first.key.id)
        return error
    }

    /// What was read may be what the storage has lost.
    static let ofLostHistory = HoldfastError(
        .historyLost,
        "the server has lost commits that it had acknowledged, which the transaction may have read: read what is stored anew"
    )

    static let tooOld = HoldfastError(
        .conflict,
        "the transaction's snapshot is too old for the commit log, or too much has changed since: run the transaction again"
    )
}
