internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What this process has stored in one engine transaction, with the texts, for those who follow the commits.
struct CommittedBatch: Sendable {
    enum BeforeImage: Sendable {
        case unknown
        case absent
        case body([UInt8])
    }

    struct Change: Sendable {
        let key: EntityKey
        let version: CommitSequence
        /// Nil of a deletion.
        let body: [UInt8]?
        let beforeImage: BeforeImage
    }

    struct Commit: Sendable {
        let entry: CommitLogEntry
        let changes: [Change]
    }

    /// The newest commit before these.
    let base: CommitSequence
    let commits: [Commit]
    let size: Int
    /// The storage's token once they are stored; nil: not known.
    var token: ChangeToken?

    var last: CommitSequence { commits.last?.entry.sequence ?? base }

    /// `needsBeforeImages`: of which repositories somebody wants the before-images. That is read here, so before
    /// the batch is applied.
    init(
        _ overlay: BatchOverlay, in write: any StorageWrite, needsBeforeImages: (RepositoryID) -> Bool
    ) throws(HoldfastError) {
        base = write.head
        let members = overlay.members
        let keys = Set(members.joined().map(\.key).filter { needsBeforeImages($0.repository) })
        var beforeImages: [EntityKey: BeforeImage] = [:]
        if !keys.isEmpty {
            let ordered = keys.sorted()
            for key in ordered { beforeImages[key] = .absent }
            try write.fetch(ordered) { number, view throws(HoldfastError) in
                beforeImages[ordered[number]] =
                    EntityCheck.isJSON(view.body) ? .body(try Array(asking: view.body)) : .unknown
            }
        }
        var size = 0
        commits = zip(overlay.commitLog, members).map { entry, changes in
            Commit(
                entry: entry,
                changes: changes.map { change in
                    let before = beforeImages[change.key] ?? .unknown
                    if beforeImages[change.key] != nil {
                        beforeImages[change.key] = change.body.map { .body($0) } ?? .absent
                    }
                    size += 128 + (change.body?.count ?? 0)
                    return Change(key: change.key, version: change.version, body: change.body, beforeImage: before)
                })
        }
        self.size = size
    }
}
