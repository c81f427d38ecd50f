public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// Writing. A `WriteCall` makes the writes that it stands for; one function below carries them out, inside a transaction or
/// as a commit of their own.
extension Repository {
    // MARK: All that match

    /// Deletes what matches and answers how many that were.
    public func deleteAll(_ filter: Filter = .all, in transaction: Transaction? = nil) throws(HoldfastError) -> UInt64 {
        guard let transaction = try checked(transaction) else {
            var count: UInt64 = 0
            _ = try store.transact(TransactionOptions()) { transaction throws(HoldfastError) in
                count = try self.deleteAll(filter, in: transaction)
            }
            return count
        }
        let matching = try find(filter, in: transaction)
        let writes = matching.items.map { item in
            Write(key: key(matching.id(of: item)), action: .delete)
        }
        _ = try perform(writes, in: transaction, wantsResults: false)
        return UInt64(writes.count)
    }

    /// Applies an update to what matches, and answers how many matched and how many of them it changed: the others are
    /// not written.
    public func modifyAll(
        _ filter: Filter = .all, _ update: UnsafeRawBufferPointer, in transaction: Transaction? = nil
    ) throws(HoldfastError) -> (matched: UInt64, modified: UInt64) {
        let update = try self.update(update)
        if let transaction = try checked(transaction) { return try modifyAll(filter, update, in: transaction) }
        var counts: (matched: UInt64, modified: UInt64) = (0, 0)
        _ = try store.transact(TransactionOptions()) { transaction throws(HoldfastError) in
            counts = try modifyAll(filter, update, in: transaction)
        }
        return counts
    }

    private func modifyAll(
        _ filter: Filter, _ update: Update, in transaction: Transaction
    ) throws(HoldfastError) -> (matched: UInt64, modified: UInt64) {
        let matching = try find(filter, in: transaction)
        var writes: [Write] = []
        var pace = Interrupt.Pace()
        for item in matching.items {
            try pace.look(item.body.count)
            let id = matching.id(of: item)
            let body = try matching.body(of: item)
            try writes.askToGrow()
            let modified = try EntityState.modified(body, by: .update(update, initial: nil), id: id, repository: name)
            if modified != body { writes.append(Write(key: key(id), action: .put(modified))) }
        }
        _ = try perform(writes, in: transaction, wantsResults: false)
        return (UInt64(matching.count), UInt64(writes.count))
    }

    // MARK: Making writes

    package func put(
        _ entity: UnsafeRawBufferPointer, _ precondition: Write.Precondition, assigning: Bool
    ) throws(HoldfastError) -> Write {
        try put(
            EntityPayload(entity, key: record.key, limits: store.options.limits), precondition, assigning: assigning)
    }

    func put(
        _ payload: EntityPayload, _ precondition: Write.Precondition, assigning: Bool
    ) throws(HoldfastError) -> Write {
        if let id = payload.id {
            return Write(key: key(id), action: .put(try Array(asking: payload.body)), precondition: precondition)
        }
        guard assigning else { throw missingID("entity") }
        let id = store.assignID()
        let body = try AssignedID.insert(id, named: record.key, into: payload.body)
        return Write(
            key: key(id), action: .put(body), precondition: precondition,
            bodyBeforeAssignment: try Array(asking: payload.body))
    }

    package func patch(
        _ id: EntityID, _ patch: UnsafeRawBufferPointer, _ precondition: Write.Precondition
    ) throws(HoldfastError) -> Write {
        let payload: EntityPayload
        do throws(HoldfastError) {
            payload = try EntityPayload(patch, key: record.key, limits: store.options.limits, what: "patch")
        } catch {
            throw error.status == .invalidID ? changesID(id) : error
        }
        if let changed = payload.id, changed != id { throw changesID(id) }
        return try self.patch(id, payload, precondition)
    }

    func patchOfBatch(_ payload: EntityPayload) throws(HoldfastError) -> Write {
        guard let id = payload.id else { throw missingID("patch") }
        return try patch(id, payload, .present)
    }

    func deletions(of ids: UnsafeRawBufferPointer) throws(HoldfastError) -> [Write] {
        try EntityID.list(ids, limits: store.options.limits).map {
            Write(key: key($0), action: .delete, precondition: .present)
        }
    }

    private func patch(
        _ id: EntityID, _ payload: EntityPayload, _ precondition: Write.Precondition
    ) throws(HoldfastError) -> Write {
        // The id stays as it is written in the entity: 42 does not become "42".
        let patch = try MergePatch(
            checked: payload.body, leavingOut: payload.id == nil ? nil : Array(record.key.utf8),
            limits: store.options.limits)
        return Write(key: key(id), action: .modify(.patch(patch)), precondition: precondition)
    }

    package func modify(
        _ id: EntityID, _ update: UnsafeRawBufferPointer, initial: UnsafeRawBufferPointer?,
        _ precondition: Write.Precondition
    ) throws(HoldfastError) -> Write {
        let update = try self.update(update)
        guard let initial else {
            return Write(key: key(id), action: .modify(.update(update, initial: nil)), precondition: precondition)
        }
        let payload = try EntityPayload(initial, key: record.key, limits: store.options.limits, what: "initial entity")
        if let other = payload.id, other != id {
            throw HoldfastError(
                .invalidEntity,
                "the initial entity has the id \"\(other.text)\" and is meant for \"\(id.text)\": they must be one")
        }
        let body =
            payload.id == nil
            ? try AssignedID.insert(id, named: record.key, into: payload.body) : try Array(asking: payload.body)
        return Write(
            key: key(id), action: .modify(.update(update, initial: body)),
            precondition: precondition == .present ? .none : precondition)
    }

    private func update(_ update: UnsafeRawBufferPointer) throws(HoldfastError) -> Update {
        try Update(update, key: record.key, limits: store.options.limits)
    }

    private func changesID(_ id: EntityID) -> HoldfastError {
        HoldfastError(
            .invalidEntity,
            "the patch would change or remove the id of \(name) \"\(id.text)\": leave \"\(record.key)\" out of it")
    }

    private func missingID(_ what: String) -> HoldfastError {
        HoldfastError(
            .invalidEntity, "the \(what) has no \"\(record.key)\": it must name the entity that is meant")
    }

    // MARK: Carrying them out

    /// Of a write in memory, with its id.
    private static let bytesBesideBody = 256

    /// The writes that the elements of a batch stand for.
    func writes(
        of batch: UnsafeRawBufferPointer, _ make: (EntityPayload) throws(HoldfastError) -> Write
    ) throws(HoldfastError) -> [Write] {
        var writes: [Write] = []
        var pace = Interrupt.Pace()
        try EntityPayload.forEach(in: batch, key: record.key, limits: store.options.limits, what: "batch") {
            _, entity throws(HoldfastError) in
            try writes.askToGrow()
            // What stands around a small text is more than the text.
            try Memory.ask(for: Self.bytesBesideBody)
            writes.append(try make(entity))
            try pace.look(entity.body.count)
        }
        return writes
    }

    /// The final bodies, in the order of the writes; no receipt while their transaction is open.
    package func perform(
        _ writes: [Write], in transaction: Transaction?, wantsResults: Bool
    ) throws(HoldfastError) -> (bodies: [[UInt8]], receipt: Receipt?) {
        if let transaction = try checked(transaction) {
            return (try transaction.write(writes, wantsResults: wantsResults, repository: name), nil)
        }
        try store.requireWritable()
        if writes.isEmpty { return ([], .empty(attempts: 1)) }
        if isValidated {
            var bodies: [[UInt8]] = []
            let receipt = try store.transact(TransactionOptions()) { transaction throws(HoldfastError) in
                bodies = try transaction.write(writes, wantsResults: wantsResults, repository: name)
            }
            return (bodies, receipt)
        }
        let commit = commit(of: writes, wantsResults: wantsResults)
        let receipt = try store.queue.commit(commit)
        return (commit.results, receipt)
    }

    /// A commit of their own for an owner who waits without a thread: nil where validators are to be asked first, which takes a
    /// transaction.
    package func commit(
        of writes: [Write], wantsResults: Bool, unlessValidated owner: any CommitOwner
    ) throws(HoldfastError) -> Commit? {
        try store.requireWritable()
        return isValidated ? nil : commit(of: writes, wantsResults: wantsResults, owner)
    }

    func commit(of writes: [Write], wantsResults: Bool, _ owner: (any CommitOwner)? = nil) -> Commit {
        Commit(
            writes: writes, isDurable: store.options.isDurable,
            deadline: store.deadline(inMilliseconds: TransactionOptions().timeoutMilliseconds), owner: owner,
            wantsResults: wantsResults)
    }
}

extension Write.Precondition {
    /// Present, in this version; 0 stands for any.
    package static func expecting(_ version: CommitSequence) -> Self { version == 0 ? .present : .version(version) }
}
