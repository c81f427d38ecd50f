public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

/// Reading.
extension Repository {
    /// Lends the entity's version and body to `visit`, or answers false. `visit` may be called again, with a newer state,
    /// when a snapshot is taken back; it only copies.
    public func fetch(
        _ id: EntityID, in transaction: Transaction? = nil,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        if let transaction = try checked(transaction) { return try transaction.fetch(key(id), visit) }
        try store.requireOpen()
        let key = key(id)
        let isRemote = store.storage.isRemote
        let look = try id.bytes.withBytes { bytes throws(HoldfastError) in
            // What is not there is read without being asked after.
            let mayBeThere = !isRemote || store.cache.holds(cached, bytes)
            let token =
                mayBeThere
                ? try store.storage.changeToken(within: store.options.maxStaleness)
                : store.storage.knownToken(within: store.options.maxStaleness)
            return try store.cache.lendNewest(cached, bytes, token, visit)
        }
        if case .found = look { return true }
        if isRemote, let isFound = try fetchNewest(key, visit) {
            if look == .outdated { store.cache.countMiss(cached) }
            return isFound
        }
        return try store.read { snapshot throws(HoldfastError) in
            // What others have committed has left most entries as they were.
            if look == .outdated {
                let isFound = try id.bytes.withBytes { bytes throws(HoldfastError) in
                    try store.cache.lend(cached, bytes, at: snapshot.sequence, visit)
                }
                if isFound { return true }
            }
            return try snapshot.fetch(key) { view throws(HoldfastError) in
                try check.require(view)
                try visit(view.version, view.body)
                store.cache.fill(key, from: snapshot, view)
            }
        }
    }

    /// Reads from a server, in one round trip. Nil where it has to be waited for, which who opens a snapshot does.
    private func fetchNewest(
        _ key: EntityKey, _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool? {
        let history = store.snapshots.history
        let known = store.cache.known
        var isFound: Bool?
        do throws(HoldfastError) {
            try store.storage.fetchNewest(key, since: known) { read throws(HoldfastError) in
                store.cache.advance(to: read, in: history, since: known)
                isFound = false
                guard let view = read.entity else { return }
                try check.require(view)
                isFound = true
                try visit(view.version, view.body)
                store.cache.fill(key, at: read.sequence, read.token, version: view.version, view.body)
            }
        } catch {
            guard isFound == nil, [.historyLost, .busy].contains(error.status) else { throw error }
        }
        return isFound
    }

    /// Lends the newest version of the entity that has these bytes as its id, if it is cached and may be read, which takes
    /// neither a lock nor a copy of the id. False says nothing: whoever gets it fetches.
    public func lendCached(
        _ id: UnsafeRawBufferPointer,
        _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        guard !store.isOfProvider, !store.closing.hasBegun else { return false }
        let token = store.storage.knownToken(within: store.options.maxStaleness)
        return try store.cache.lendNewestAtOnce(cached, id, token, visit) != nil
    }

    /// The entity in the newest state, if the cache holds it. Asks no file and no server, so that it can be called where nobody
    /// may wait; but a store of a provider asks that. Nil says nothing, and counts as no miss: whoever gets it fetches.
    package func cached(_ id: EntityID) throws(HoldfastError) -> (version: CommitSequence, body: [UInt8])? {
        try store.requireOpen()
        let token = store.storage.knownToken(within: store.options.maxStaleness)
        var found: (version: CommitSequence, body: [UInt8])?
        _ = try id.bytes.withBytes { bytes throws(HoldfastError) in
            try store.cache.lendNewest(cached, bytes, token, countsMiss: false) {
                version, body throws(HoldfastError) in found = (version, try Array(asking: body))
            }
        }
        return found
    }

    public func contains(_ id: EntityID, in transaction: Transaction? = nil) throws(HoldfastError) -> Bool {
        try fetch(id, in: transaction) { _, _ in }
    }

    /// `ids` is a JSON array. Ids without an entity are left out.
    public func fetchMany(
        _ ids: UnsafeRawBufferPointer, in transaction: Transaction? = nil
    ) throws(HoldfastError) -> EntityList {
        let ids = try EntityID.list(ids, limits: store.options.limits)
        var list = EntityList()
        var pace = Interrupt.Pace()
        if let transaction = try checked(transaction) {
            for id in ids {
                try pace.look()
                var found: (CommitSequence, [UInt8])?
                let isThere = try transaction.fetch(key(id)) { version, body throws(HoldfastError) in
                    found = (version, try Array(asking: body))
                }
                if isThere, let (version, body) = found {
                    try list.append(id: id, version: version, body: body)
                }
            }
        } else {
            // One snapshot for all, so that they belong together.
            try store.read { snapshot throws(HoldfastError) in
                list = try all(ids, on: snapshot, &pace)
            }
        }
        try list.finish()
        return list
    }

    /// What a server has is asked for at once.
    private func all(
        _ ids: [EntityID], on snapshot: any StorageSnapshot, _ pace: inout Interrupt.Pace
    ) throws(HoldfastError) -> EntityList {
        var list = EntityList()
        if store.storage.isRemote {
            var found: [(version: CommitSequence, body: [UInt8])?] = ids.map { _ in nil }
            for (number, id) in ids.enumerated() {
                _ = try lend(id, at: snapshot.sequence) { bytes, version, body throws(HoldfastError) in
                    found[number] = (version, try Array(asking: body))
                }
            }
            let missing = found.indices.filter { found[$0] == nil }
            try snapshot.fetch(missing.map { key(ids[$0]) }) { number, view throws(HoldfastError) in
                try check.require(view)
                store.cache.fill(key(ids[missing[number]]), from: snapshot, view)
                found[missing[number]] = (view.version, try Array(asking: view.body))
            }
            for (id, entity) in zip(ids, found) {
                if let entity { try list.append(id: id, version: entity.version, body: entity.body) }
            }
            return list
        }
        for id in ids {
            try pace.look()
            let isFound = try lend(id, at: snapshot.sequence) { bytes, version, body throws(HoldfastError) in
                try list.append(id: bytes, version: version, body: body)
            }
            if isFound { continue }
            let key = key(id)
            _ = try snapshot.fetch(key) { view throws(HoldfastError) in
                try check.require(view)
                try list.append(id: view.id, version: view.version, body: view.body)
                store.cache.fill(key, from: snapshot, view)
            }
        }
        return list
    }

    /// What the cache has of it at this sequence, or false.
    private func lend(
        _ id: EntityID, at sequence: CommitSequence,
        _ visit: (UnsafeRawBufferPointer, CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        try id.bytes.withBytes { bytes throws(HoldfastError) in
            try store.cache.lend(cached, bytes, at: sequence) { version, body throws(HoldfastError) in
                try visit(bytes, version, body)
            }
        }
    }

    /// Every entity, ordered by id. Always asks the storage, and fills the cache of a repository that has a policy.
    public func fetchAll(in transaction: Transaction? = nil) throws(HoldfastError) -> EntityList {
        guard transaction == nil, store.cache.hasPolicy(record.id) else { return try find(in: transaction) }
        return try store.read { snapshot throws(HoldfastError) in
            var list = EntityList()
            try snapshot.scanAsking(record.id, after: nil) { view throws(HoldfastError) in
                try check.require(view)
                try list.append(id: view.id, version: view.version, body: view.body)
                return true
            }
            try list.finish()
            var pace = Interrupt.Pace()
            for item in list.items {
                try pace.look()
                try list.withView(of: item) { view throws(HoldfastError) in
                    store.cache.fill(key(list.id(of: item)), from: snapshot, view)
                }
            }
            return list
        }
    }

    /// Walks the entities that match, until `visit` answers false; `begin` is told the plan before the first, and again,
    /// with everything anew, when a snapshot is taken back. Answers the scan as it ended.
    @discardableResult
    func scan(
        _ query: QueryScan, in transaction: Transaction?, begin: (Plan) -> Void,
        visit: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> QueryScan {
        let transaction = try checked(transaction)
        if !query.wantsScores, let id = query.filter.idEquality(key: record.key) {
            // The filter names its one candidate, so only that one is read, and relied on.
            var query = query
            begin(query.plan)
            var copy: (version: CommitSequence, body: [UInt8])?
            do throws(HoldfastError) {
                _ = try fetch(id, in: transaction) { version, body throws(HoldfastError) in
                    copy = (version, try Array(asking: body))
                }
            } catch {
                guard query.skipsDamaged, error.status == .corrupt else { throw error }
            }
            guard let copy else { return query }
            query.examined = 1
            try id.bytes.withBytes { id throws(HoldfastError) in
                try copy.body.withBytes { body throws(HoldfastError) in
                    if try query.filter.matches(body) {
                        _ = try visit(EntityView(id: id, version: copy.version, body: body))
                    }
                }
            }
            return query
        }
        if let transaction { return try transaction.scan(record.id, check, query, begin: begin, visit: visit) }
        return try store.read { snapshot throws(HoldfastError) in
            var scan = query
            try scan.run(record.id, check, on: snapshot, cache: store.cache, begin: begin, visit)
            while scan.isPaused {
                try Interrupt.look()
                try scan.run(
                    record.id, check, on: snapshot, cache: store.cache, begin: scan.hasBegun ? { _ in } : begin, visit)
            }
            return scan
        }
    }
}
