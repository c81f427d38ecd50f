internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What this process has stored in one engine transaction, with the texts, for those who follow the commits.
struct CommittedBatch: Sendable {
    enum Former: Sendable {
        case unknown
        case absent
        case text([UInt8])
    }

    struct Change: Sendable {
        let key: EntityKey
        let version: CommitSequence
        /// Nil of a deletion.
        let text: [UInt8]?
        let former: Former
    }

    struct Commit: Sendable {
        let entry: LogEntry
        let changes: [Change]
    }

    /// The newest commit before these.
    let base: CommitSequence
    let commits: [Commit]
    let size: Int
    /// The storage's token once they are stored; nil: not known.
    var token: ChangeToken?

    var last: CommitSequence { commits.last?.entry.sequence ?? base }

    /// `needsFormer`: of which repositories somebody wants to know what was there before. That is read here, so before
    /// the batch is applied.
    init(
        _ overlay: BatchOverlay, in write: any StorageWrite, needsFormer: (RepositoryID) -> Bool
    ) throws(HoldfastError) {
        base = write.head
        let members = overlay.members
        let keys = Set(members.joined().map(\.key).filter { needsFormer($0.repository) })
        var former: [EntityKey: Former] = [:]
        if !keys.isEmpty {
            let ordered = keys.sorted()
            for key in ordered { former[key] = .absent }
            try write.fetch(ordered) { number, view throws(HoldfastError) in
                former[ordered[number]] =
                    EntityCheck.isJSON(view.body) ? .text(try Array(asking: view.body)) : .unknown
            }
        }
        var size = 0
        commits = zip(overlay.log, members).map { entry, changes in
            Commit(
                entry: entry,
                changes: changes.map { change in
                    let before = former[change.key] ?? .unknown
                    if former[change.key] != nil { former[change.key] = change.body.map { .text($0) } ?? .absent }
                    size += 128 + (change.body?.count ?? 0)
                    return Change(key: change.key, version: change.version, text: change.body, former: before)
                })
        }
        self.size = size
    }
}
