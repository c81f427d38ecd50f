/// What the storage holds of the entities whose state a batch's preconditions and patches ask for, read in one call.
struct PresentState {
    struct Entity {
        var version: CommitSequence
        /// Copied only for patches.
        var body: [UInt8]
    }

    private(set) var entities: [EntityKey: Entity] = [:]
    private(set) var idempotency: [[UInt8]: IdempotencyRecord] = [:]

    init(of batch: [Commit], in write: any StorageWrite) throws(HoldfastError) {
        var wanted: [EntityKey: Bool] = [:]
        var idempotencyKeys: [[UInt8]] = []
        for commit in batch {
            if let key = commit.idempotencyKey { idempotencyKeys.append(key) }
            for one in commit.writes {
                if case .patch = one.action {
                    wanted[one.key] = true
                } else if one.precondition != .none, wanted[one.key] == nil {
                    wanted[one.key] = false
                }
            }
        }
        if !wanted.isEmpty {
            let keys = Array(wanted.keys)
            var found: [EntityKey: Entity] = [:]
            try write.fetch(keys) { index, view throws(HoldfastError) in
                let key = keys[index]
                found[key] = Entity(version: view.version, body: wanted[key]! ? Array(view.body) : [])
            }
            entities = found
        }
        if !idempotencyKeys.isEmpty {
            for record in try write.idempotencyRecords(idempotencyKeys) {
                if let record { idempotency[record.key] = record }
            }
        }
    }
}

/// Judges the writes of one commit on the newest state: what the storage holds, overlaid with the batch's earlier
/// members, overlaid with the commit's own earlier writes.
enum WriteJudge {
    /// The final change of each entity, ordered by key.
    static func judge(
        _ commit: Commit, _ present: PresentState, _ overlay: BatchOverlay,
        named repositoryName: (RepositoryID) -> String
    ) throws(Refusal) -> [(key: EntityKey, body: [UInt8]?)] {
        var own: [EntityKey: [UInt8]?] = [:]
        var texts: [[UInt8]] = []
        for (index, write) in commit.writes.enumerated() {
            // Most commits have one write; only several can meet each other.
            let earlier = commit.writes.count > 1 ? own[write.key] : nil
            let (version, body) = state(of: write, earlier, present, overlay)
            do throws(HoldfastError) {
                try check(write, version: version, repositoryName)
                let text = try text(of: write, on: body)
                if commit.wantsResults { texts.append(text ?? []) }
                if commit.writes.count == 1 {
                    commit.texts = texts
                    return [(write.key, text)]
                }
                own[write.key] = .some(text)
            } catch {
                throw .member(commit.writes.count > 1 ? error.inBatch(at: index) : error)
            }
        }
        commit.texts = texts
        return own.map { ($0.key, $0.value) }.sorted { $0.key < $1.key }
    }

    /// The version (nil: no such entity; 0: written by this very commit) and the text, where a patch needs it.
    private static func state(
        of write: Write, _ earlier: [UInt8]??, _ present: PresentState, _ overlay: BatchOverlay
    ) -> (version: CommitSequence?, body: [UInt8]?) {
        if let earlier { return (earlier == nil ? nil : 0, earlier) }
        if let change = overlay[write.key] { return (change.body == nil ? nil : change.version, change.body) }
        if let entity = present.entities[write.key] { return (entity.version, entity.body) }
        return (nil, nil)
    }

    private static func check(
        _ write: Write, version: CommitSequence?, _ repositoryName: (RepositoryID) -> String
    ) throws(HoldfastError) {
        try EntityState.check(
            write.precondition, id: write.key.id, repository: repositoryName(write.key.repository), version: version)
    }

    private static func text(of write: Write, on body: [UInt8]?) throws(HoldfastError) -> [UInt8]? {
        switch write.action {
        case .put(let text): return text
        case .delete: return nil
        case .patch(let patch):
            // The precondition of a patch demands an entity.
            return try EntityState.patched(body ?? [], by: patch)
        }
    }
}

/// The one place that says whether an entity's state allows a write, for transactions at the call and for
/// writes of their own in the queue.
enum EntityState {
    static func check(
        _ precondition: Write.Precondition, id: EntityID, repository: String, version: CommitSequence?
    ) throws(HoldfastError) {
        switch precondition {
        case .none: return
        case .absent:
            guard version != nil else { return }
            throw HoldfastError(
                .exists, "\(repository) has \"\(id.text)\" already: use update or save to replace it",
                detail: named(repository, id))
        case .present:
            guard version == nil else { return }
            throw missing(repository, id)
        case .version(let expected):
            guard let version else { throw missing(repository, id) }
            guard version != expected else { return }
            throw HoldfastError(
                .versionMismatch,
                "\(repository) \"\(id.text)\" has version \(version), expected was \(expected): fetch it again",
                detail: named(repository, id) + [("expected", .number(expected)), ("actual", .number(version))])
        }
    }

    /// The patched text, within the store's limit for the size of an entity.
    static func patched(_ text: [UInt8], by patch: MergePatch) throws(HoldfastError) -> [UInt8] {
        let patched = try text.withBytes { bytes throws(HoldfastError) in try patch.applied(to: bytes) }
        guard patched.count <= patch.limits.maxBytes else {
            throw HoldfastError(
                .invalidEntity,
                "the patched entity has \(patched.count) bytes, and the store allows \(patch.limits.maxBytes): remove "
                    + "members, or raise max_entity_bytes")
        }
        return patched
    }

    private static func missing(_ repository: String, _ id: EntityID) -> HoldfastError {
        HoldfastError(
            .notFound, "\(repository) has no \"\(id.text)\": use add or save to create it",
            detail: named(repository, id))
    }

    private static func named(
        _ repository: String, _ id: EntityID
    ) -> [(name: String, value: HoldfastError.DetailValue)] {
        [("repository", .text(repository)), ("id", .text(id.text))]
    }
}

extension HoldfastError {
    /// The same error, saying which element of a batch it speaks of.
    func inBatch(at index: Int) -> HoldfastError {
        var error = self
        error.message = "element \(index), counted from 0: \(message)"
        error.detail.append(("index", .number(UInt64(index))))
        return error
    }
}
