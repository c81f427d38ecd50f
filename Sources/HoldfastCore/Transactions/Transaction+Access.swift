/// Reading and writing entities within a transaction: the snapshot, overlaid with the transaction's own writes.
extension Transaction {
    // MARK: Writing

    /// Checks the write against what the transaction sees, and buffers it. Answers the final text, nil for a deletion.
    package func write(_ write: Write, repository: String) throws(HoldfastError) -> [UInt8]? {
        try store.requireWritable()
        return try withOpen { state throws(HoldfastError) in
            try Self.write(write, &state, repository: repository)
        }
    }

    /// The same for several, one after the other: all or none. Answers the final texts, in their order.
    package func write(_ writes: [Write], wantsResults: Bool, repository: String) throws(HoldfastError) -> [[UInt8]] {
        try store.requireWritable()
        return try withOpen { state throws(HoldfastError) in
            let start = state.buffer.savepoint()
            defer { state.buffer.release(start) }
            state.buffer.reserve(writes.count)
            var texts: [[UInt8]] = []
            if wantsResults { texts.reserveCapacity(writes.count) }
            for (index, write) in writes.enumerated() {
                do throws(HoldfastError) {
                    let text = try Self.write(write, &state, repository: repository)
                    if wantsResults { texts.append(text ?? []) }
                } catch {
                    _ = state.buffer.rollBack(to: start)
                    // With one write there is nothing to tell apart.
                    throw writes.count > 1 ? error.inBatch(at: index) : error
                }
            }
            return texts
        }
    }

    private static func write(
        _ write: Write, _ state: inout State, repository: String
    ) throws(HoldfastError) -> [UInt8]? {
        let own = state.buffer[write.key]
        var isNew = own?.isNew ?? false
        var before: (version: CommitSequence, text: [UInt8])?
        if write.asksForState {
            before = try seen(write.key, &state, copying: write.isModification)
            if before == nil && own == nil { isNew = true }
            try EntityState.check(
                write.precondition, id: write.key.id, repository: repository, version: before?.version)
        }
        var entry = WriteBuffer.Entry(isNew: isNew, textBeforeAssignment: write.textBeforeAssignment)
        switch write.action {
        case .put(let new): entry.body = new
        case .delete: break
        case .modify(let modification):
            entry.body = try EntityState.modified(
                before?.text, by: modification, id: write.key.id, repository: repository)
            entry.textBeforeAssignment = own?.textBeforeAssignment
            entry.asked = Fingerprint.of(modification, after: own)
        }
        state.buffer.set(write.key, entry.body == nil && isNew ? nil : entry)
        return entry.body
    }

    /// What the transaction sees under a key: its own write, or the snapshot's entity, which counts as read.
    private static func seen(
        _ key: EntityKey, _ state: inout State, copying: Bool
    ) throws(HoldfastError) -> (version: CommitSequence, text: [UInt8])? {
        if let own = state.buffer[key] { return own.body.map { (0, $0) } }
        var found: (version: CommitSequence, text: [UInt8])?
        _ = try state.view.fetch(key) { version, text in found = (version, copying ? Array(text) : []) }
        return found
    }

    // MARK: Reading

    /// Lends the entity to `body`, or answers false. `body` may be called again when a snapshot is taken back.
    func fetch(
        _ key: EntityKey, _ body: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try withOpen { state throws(HoldfastError) in
            if let own = state.buffer[key] {
                guard let text = own.body else { return false }
                try text.withBytes { bytes throws(HoldfastError) in try body(0, bytes) }
                return true
            }
            return try state.view.fetch(key, body)
        }
    }

    /// Walks the entities that match, in the order of their ids, until `visit` answers false; `begin` is called
    /// before the first, and again with everything anew when a snapshot is taken back.
    func scan(
        _ repository: RepositoryID, _ filter: Filter, begin: () -> Void,
        visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try withOpen { state throws(HoldfastError) in
            let own = state.buffer.entries(of: repository)
            let matched = try state.view.read { snapshot throws(HoldfastError) in
                begin()
                var scan = OverlaidScan(own: own, filter: filter)
                try scan.run(repository, on: snapshot, visit)
                return scan.matched
            }
            state.view.record(ReadSet.Predicate(repository: repository, filter: filter, matched: matched))
        }
    }
}

/// A scan of a snapshot with a transaction's own writes laid over it: two ordered sequences, merged.
private struct OverlaidScan {
    let own: [(key: EntityKey, entry: WriteBuffer.Entry)]
    let filter: Filter
    /// The snapshot's ids that matched, for the read set; nil when too many, or when the filter holds for all and
    /// any change counts anyway.
    private(set) var matched: Set<EntityID>?
    private var next = 0
    private var goesOn = true

    init(own: [(key: EntityKey, entry: WriteBuffer.Entry)], filter: Filter) {
        self.own = own
        self.filter = filter
        matched = filter.isAll ? nil : []
    }

    mutating func run(
        _ repository: RepositoryID, on snapshot: any StorageSnapshot,
        _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        // A closure cannot capture an inout self across a throwing call, so the merge works on a copy.
        var merge = self
        try snapshot.scan(repository, after: nil) { view throws(HoldfastError) in
            var isOverlaid = false
            while merge.goesOn, merge.next < merge.own.count {
                let order = merge.own[merge.next].key.id.bytes.withBytes { compareBytes($0, view.id) }
                if order > 0 { break }
                isOverlaid = order == 0
                try merge.visitOwn(visit)
            }
            guard merge.goesOn else { return false }
            guard try merge.filter.matches(view.body) else { return true }
            merge.record(view.id)
            if !isOverlaid { merge.goesOn = try visit(view) }
            return merge.goesOn
        }
        while merge.goesOn, merge.next < merge.own.count { try merge.visitOwn(visit) }
        self = merge
    }

    private mutating func visitOwn(_ visit: (EntityView) throws(HoldfastError) -> Bool) throws(HoldfastError) {
        let (key, entry) = own[next]
        next += 1
        guard let body = entry.body else { return }
        let filter = filter
        let more = try key.id.bytes.withBytes { id throws(HoldfastError) in
            try body.withBytes { body throws(HoldfastError) in
                try filter.matches(body) ? try visit(EntityView(id: id, version: 0, body: body)) : true
            }
        }
        goesOn = more
    }

    private mutating func record(_ id: UnsafeRawBufferPointer) {
        guard matched != nil else { return }
        if matched!.count < ReadSet.matchedLimit {
            matched!.insert(EntityID(unchecked: Array(id)))
        } else {
            matched = nil
        }
    }
}
