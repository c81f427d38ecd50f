internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What the storage holds of the entities that a batch's preconditions and modifications ask for, read in one call.
struct PresentState {
    struct Entity {
        var version: CommitSequence
        /// Copied only for modifications.
        var body: [UInt8]
        /// Set where a modification would begin with what is damaged.
        var damage: HoldfastError?
    }

    /// One for each write that asks, in the order of the batch; nil where there is no such entity.
    private(set) var entities: [Entity?] = []
    /// Where those of each member begin; empty when nobody asks.
    private var starts: [Int] = []
    private(set) var idempotency: [[UInt8]: IdempotencyRecord] = [:]

    init(of batch: [Commit], in write: any StorageWrite, _ names: Catalogue) throws(HoldfastError) {
        if batch.contains(where: { $0.writes.contains(where: \.asksForState) }) {
            try readEntities(of: batch, in: write, names)
        }
        let idempotencyKeys = batch.compactMap(\.idempotencyKey)
        if !idempotencyKeys.isEmpty {
            for record in try write.idempotencyRecords(idempotencyKeys) {
                if let record { idempotency[record.key] = record }
            }
        }
    }

    private mutating func readEntities(
        of batch: [Commit], in write: any StorageWrite, _ names: Catalogue
    ) throws(HoldfastError) {
        var keys: [EntityKey] = []
        var isModified: [Bool] = []
        starts.reserveCapacity(batch.count)
        for commit in batch {
            starts.append(keys.count)
            for one in commit.writes where one.asksForState {
                keys.append(one.key)
                isModified.append(one.isModification)
            }
        }
        var found = [Entity?](repeating: nil, count: keys.count)
        try write.fetch(keys) { index, view throws(HoldfastError) in
            // What is damaged can be replaced and deleted.
            var entity = Entity(version: view.version, body: [])
            if isModified[index] {
                entity.body = try Array(asking: view.body)
                if let check = names.check(of: keys[index].repository), !check.isSound(view) {
                    entity.damage = check.refusal(of: view)
                }
            }
            found[index] = entity
        }
        entities = found
    }

    /// Where the entities begin that a batch's member asks for, in the order of its writes.
    func start(ofMember member: Int) -> Int { starts.isEmpty ? 0 : starts[member] }
}

extension Write {
    var isModification: Bool { if case .modify = action { true } else { false } }
    /// Whether evaluating it takes the entity as it is.
    var asksForState: Bool { precondition != .none || isModification }
}

/// Checks the preconditions of one commit's writes and works out what they leave, on the newest state: what the storage
/// holds, overlaid with the batch's earlier members, overlaid with the commit's own earlier writes.
struct WriteEvaluator {
    private let commit: Commit
    private let present: PresentState
    /// Of what the storage holds, the next that a write asks for.
    private var next: Int
    private let names: Catalogue

    init(_ commit: Commit, member: Int, _ present: PresentState, _ names: Catalogue) {
        self.commit = commit
        self.present = present
        next = present.start(ofMember: member)
        self.names = names
    }

    /// Of a commit with a single write: the final text, nil for a deletion.
    mutating func evaluateOne(_ overlay: inout BatchOverlay) throws(Refusal) -> [UInt8]? {
        do throws(HoldfastError) {
            let body = try body(of: commit.writes[0], after: nil, &overlay)
            if commit.wantsResults { commit.bodies = [body ?? []] }
            return body
        } catch { throw .member(error) }
    }

    /// The final change of each entity, ordered by key, and their texts.
    mutating func evaluateAll(
        _ overlay: inout BatchOverlay
    ) throws(Refusal) -> (changes: [CommitLogEntry.Change], bodies: [[UInt8]?]) {
        let writes = commit.writes
        let order = KeyOrder(count: writes.count) { writes[$0].key }
        // Where the last write of each key is, if any key is written more than once.
        var last: [EntityKey: Int]? = order.hasDuplicates ? [:] : nil
        var bodies: [[UInt8]?] = []
        bodies.reserveCapacity(writes.count)
        for (index, write) in writes.enumerated() {
            if commit.isUnwanted { throw .member(Interrupt.cancelled) }
            do throws(HoldfastError) {
                let earlier = last?[write.key].map { bodies[$0] }
                bodies.append(try body(of: write, after: earlier, &overlay))
                last?[write.key] = index
            } catch { throw .member(error.inBatch(at: index)) }
        }
        if commit.wantsResults { commit.bodies = bodies.map { $0 ?? [] } }

        let final = order.indexes.filter { last == nil || last![writes[$0].key] == $0 }
        return (
            final.map { CommitLogEntry.Change(key: writes[$0].key, isDeletion: bodies[$0] == nil) },
            final.map { bodies[$0] }
        )
    }

    /// What a write leaves. `earlier` is what an earlier one of the same commit has left, if there was one.
    private mutating func body(
        of write: Write, after earlier: [UInt8]??, _ overlay: inout BatchOverlay
    ) throws(HoldfastError) -> [UInt8]? {
        // The version is nil where there is no such entity, and 0 where this very commit has written it.
        var (version, body): (CommitSequence?, [UInt8]?) = (nil, nil)
        var damage: HoldfastError?
        if write.asksForState {
            let stored = present.entities[next]
            next += 1
            if let earlier {
                (version, body) = (earlier == nil ? nil : 0, earlier)
            } else if let change = overlay.change(of: write.key) {
                (version, body) = (change.body == nil ? nil : change.version, change.body)
            } else {
                (version, body, damage) = (stored?.version, stored?.body, stored?.damage)
            }
            try EntityState.check(write, repository: names.name(of: write.key.repository), version: version)
        }
        switch write.action {
        case .put(let body): return body
        case .delete: return nil
        case .modify(let modification):
            if let damage { throw damage }
            return try EntityState.modified(
                body, by: modification, id: write.key.id, repository: names.name(of: write.key.repository))
        }
    }
}

/// The one place that says whether an entity's state allows a write, for transactions at the call and for
/// writes of their own in the queue.
enum EntityState {
    static func check(
        _ write: Write, repository: @autoclosure () -> String, version: CommitSequence?
    ) throws(HoldfastError) {
        let id = write.key.id
        switch write.precondition {
        case .none: return
        case .absent:
            guard version != nil else { return }
            let repository = repository()
            throw HoldfastError(
                .exists, "\(repository) has \"\(id.text)\" already: use update or save to replace it",
                detail: named(repository, id))
        case .present:
            guard version == nil else { return }
            throw missing(repository(), write)
        case .version(let expected):
            guard let version else { throw missing(repository(), write) }
            guard version != expected else { return }
            let repository = repository()
            throw HoldfastError(
                .versionMismatch,
                "\(repository) \"\(id.text)\" has version \(version), expected was \(expected): fetch it again",
                detail: named(repository, id) + [("expected", .number(expected)), ("actual", .number(version))])
        }
    }

    /// The modified text.
    static func modified(
        _ body: [UInt8]?, by modification: Modification, id: EntityID, repository: @autoclosure () -> String
    ) throws(HoldfastError) -> [UInt8] {
        do throws(HoldfastError) {
            return try (body ?? modification.initial ?? []).withBytes { bytes throws(HoldfastError) in
                try modification.applied(to: bytes)
            }
        } catch {
            guard error.status == .invalidEntity else { throw error }
            let repository = repository()
            var error = error
            error.message = "\(repository) \"\(id.text)\": \(error.message)"
            error.detail += named(repository, id)
            throw error
        }
    }

    private static func missing(_ repository: String, _ write: Write) -> HoldfastError {
        let id = write.key.id
        let cure =
            if case .delete = write.action {
                "see that this is the id, or take it for deleted"
            } else {
                "use add or save to create it"
            }
        return HoldfastError(
            .notFound, "\(repository) has no \"\(id.text)\": \(cure)", detail: named(repository, id))
    }

    private static func named(
        _ repository: String, _ id: EntityID
    ) -> [(name: String, value: HoldfastError.DetailValue)] {
        [("repository", .text(repository)), ("id", .text(id.text))]
    }
}
