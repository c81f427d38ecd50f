package import HoldfastEnvironment
package import HoldfastQuery
package import HoldfastStorage

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

    /// The same for several, one after the other: all or none. Answers the final texts, in their order. Many are written
    /// by another thread, where this one wants to be asked meanwhile: nobody is while the transaction's lock is held.
    package func write(_ writes: [Write], wantsResults: Bool, repository: String) throws(HoldfastError) -> [[UInt8]] {
        try store.requireWritable()
        guard Interrupt.isWanted, mayWriteElsewhere, isLarge(writes) else {
            return try write(writes, wantsResults, repository, unless: nil)
        }
        let stop = Interrupt.Flag()
        return try Interrupt.whileAsking(store.environment.limits, stop: stop.set) { [self] () throws(HoldfastError) in
            try write(writes, wantsResults, repository, unless: stop)
        }
    }

    /// A provider's functions are called by the caller, and only the thread that calls validators writes meanwhile.
    private var mayWriteElsewhere: Bool { !store.isOfProvider && state.withLock { $0.permits(.change) } }

    private func isLarge(_ writes: [Write]) -> Bool {
        var size = 0
        return writes.contains { write in
            size += write.size
            return size > store.environment.limits.largeCommitBytes
        }
    }

    private func write(
        _ writes: [Write], _ wantsResults: Bool, _ repository: String, unless stop: Interrupt.Flag?
    ) throws(HoldfastError) -> [[UInt8]] {
        try withOpen { state throws(HoldfastError) in
            let start = state.buffer.savepoint()
            defer { state.buffer.release(start) }
            try state.buffer.reserve(writes.count)
            var bodies: [[UInt8]] = []
            if wantsResults { bodies.reserveCapacity(writes.count) }
            for (index, write) in writes.enumerated() {
                do throws(HoldfastError) {
                    if stop?.isSet ?? false { throw Interrupt.cancelled }
                    let body = try Self.write(write, &state, repository: repository)
                    if wantsResults { bodies.append(body ?? []) }
                } catch {
                    _ = state.buffer.rollBack(to: start)
                    // With one write there is nothing to tell apart.
                    throw writes.count > 1 ? error.inBatch(at: index) : error
                }
            }
            if let stop, !stop.keep() {
                _ = state.buffer.rollBack(to: start)
                throw Interrupt.cancelled
            }
            return bodies
        }
    }

    private static func write(
        _ write: Write, _ state: inout State, repository: String
    ) throws(HoldfastError) -> [UInt8]? {
        let own = state.buffer[write.key]
        var isNew = own?.isNew ?? false
        var before: (version: CommitSequence, body: [UInt8])?
        if write.asksForState {
            before = try seen(write.key, &state, copying: write.isModification)
            if before == nil && own == nil { isNew = true }
            try EntityState.check(write, repository: repository, version: before?.version)
        }
        var entry = WriteBuffer.Entry(isNew: isNew, bodyBeforeAssignment: write.bodyBeforeAssignment)
        switch write.action {
        case .put(let new): entry.body = new
        case .delete: break
        case .modify(let modification):
            entry.body = try EntityState.modified(
                before?.body, by: modification, id: write.key.id, repository: repository)
            entry.bodyBeforeAssignment = own?.bodyBeforeAssignment
            entry.asked = Fingerprint.of(modification, after: own)
        }
        try state.buffer.askForOneMore()
        state.buffer.set(write.key, entry.body == nil && isNew ? nil : entry)
        return entry.body
    }

    /// What the transaction sees under a key: its own write, or the snapshot's entity, which counts as read.
    private static func seen(
        _ key: EntityKey, _ state: inout State, copying: Bool
    ) throws(HoldfastError) -> (version: CommitSequence, body: [UInt8])? {
        if let own = state.buffer[key] { return own.body.map { (0, $0) } }
        var found: (version: CommitSequence, body: [UInt8])?
        // What is damaged can be replaced and deleted.
        _ = try state.view.fetch(key, requiresSound: copying) { version, body throws(HoldfastError) in
            found = (version, copying ? try Array(asking: body) : [])
        }
        return found
    }

    // MARK: Reading

    /// Lends the entity to `visit`, or answers false. `visit` may be called again when a snapshot is taken back.
    /// `scan`: one that saw what the transaction had written by then, and nothing later.
    package func fetch(
        _ key: EntityKey, asSeenBy scan: QueryScan? = nil,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try withOpen(isRead: true) { state throws(HoldfastError) in
            let own = if let scan { scan.ownEntry(of: key.id) } else { state.buffer[key] }
            if let own {
                guard let body = own.body else { return false }
                try body.withBytes { bytes throws(HoldfastError) in try visit(0, bytes) }
                return true
            }
            return try state.view.fetch(key, visit)
        }
    }

    /// Walks the entities that match, until `visit` answers false; `begin` is told the plan before the first, and again,
    /// with everything anew, when a snapshot is taken back. Answers the scan as it ended: given again, it goes on from there.
    @discardableResult
    func scan(
        _ repository: RepositoryID, _ check: EntityCheck, _ query: QueryScan, begin: (Plan) -> Void,
        visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> QueryScan {
        var start = query
        if start.predicate == nil {
            start.own = try withOpen(isRead: true) { $0.buffer.entries(of: repository) }
            start.matchedLimit = store.environment.limits.matchedIDs
        }
        var scan = start
        var isAtStart = true
        repeat {
            if !isAtStart { try Interrupt.look() }
            if let next = try stretch(of: scan, isFirst: isAtStart || !scan.hasBegun, repository, check, begin, visit) {
                scan = next
                isAtStart = false
            } else {
                start.predicate = scan.predicate
                scan = start
                isAtStart = true
            }
        } while scan.isPaused || isAtStart
        return scan
    }

    /// Walks as far as it goes without a question. Nil where what was visited cannot be taken back, because this is not the
    /// first stretch, and the snapshot was taken back in the middle.
    private func stretch(
        of query: QueryScan, isFirst: Bool, _ repository: RepositoryID, _ check: EntityCheck, _ begin: (Plan) -> Void,
        _ visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> QueryScan? {
        try withOpen(isRead: true) { state throws(HoldfastError) in
            var hasBegun = false
            let walked = try state.view.read { snapshot throws(HoldfastError) -> QueryScan? in
                if hasBegun && (!isFirst || query.isSearching) { return nil }
                hasBegun = true
                var scan = query
                try scan.run(
                    repository, check, on: snapshot, cache: store.cache, begin: { if isFirst { begin($0) } }, visit)
                return scan
            }
            guard var scan = walked else { return nil }
            scan.predicate = state.view.record(
                ReadSet.Predicate(repository: repository, filter: query.filter, matched: scan.matched),
                insteadOf: scan.predicate)
            return scan
        }
    }
}
