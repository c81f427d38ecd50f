public import HoldfastEnvironment
public import HoldfastQuery
internal import HoldfastStorage

extension Store {
    /// Observes changes. `stream.h` says of which, and from when on.
    public func openStream(
        _ options: StreamOptions, _ observer: any StreamObserver
    ) throws(HoldfastError) -> ChangeStream {
        try requireOpen()
        try refreshCatalogue()
        let selection = try selection(options)
        try checkDurableName(options)
        let history = try follower.begin(options.durableName)
        do throws(HoldfastError) {
            let acknowledged = try options.durableName.flatMap { name throws(HoldfastError) in try subscription(name) }
            let since = try firstPosition(options, acknowledged)
            if let name = options.durableName, acknowledged == nil {
                // What is committed from here on must be told also if it ends before anything was acknowledged.
                try requireWritable()
                try setSubscription(name, to: since)
            }
            var place: SubscriptionPlace?
            if let name = options.durableName, !storage.isReadOnly {
                place = SubscriptionPlace(try subscriptionKey(name), at: acknowledged ?? since, since: since, of: self)
            }
            let outbox = follower.outbox(observer)
            follower.attach(
                ChangeObserver(selection, outbox, since: since, place, incarnation: incarnation, environment.limits),
                begunIn: history)
            return ChangeStream(self, outbox, selection, durableName: options.durableName, place)
        } catch {
            follower.end(options.durableName)
            throw error
        }
    }

    /// What was committed behind a position (nil: since the commit log begins), at most so many commits.
    public func changes(since position: String?, _ options: StreamOptions) throws(HoldfastError) -> ChangeBatch {
        try requireOpen()
        let selection = try selection(options)
        try refreshCatalogue()
        return try read { snapshot throws(HoldfastError) in
            let sequence = try position.map { position throws(HoldfastError) in
                try StreamPosition.sequence(position, in: incarnation, on: snapshot)
            }
            let first = if let sequence { sequence } else { max(1, try snapshot.commitLogStart()) - 1 }
            guard let entries = try snapshot.commitLog(after: first, limit: options.limit) else {
                throw StreamPosition.trimmed(incarnation, snapshot.sequence)
            }
            let texts = try LoggedBodies(entries, from: snapshot, of: selection)
            let last = entries.last?.sequence ?? sequence ?? snapshot.sequence
            var batch = ChangeBatch(position: StreamPosition.text(incarnation, last))
            for entry in entries {
                let changes = texts.known(entry).compactMap { selection.change($0, at: entry.sequence) }
                if changes.isEmpty { continue }
                batch.commits.append(ChangeBatch.Commit(sequence: entry.sequence, time: entry.time, changes: changes))
            }
            return batch
        }
    }

    /// The position behind the newest commit, of whatever process.
    public func position() throws(HoldfastError) -> String {
        try requireOpen()
        return StreamPosition.text(incarnation, try head())
    }

    // MARK: Options

    private func selection(_ options: StreamOptions) throws(HoldfastError) -> ChangeSelection {
        var selection = ChangeSelection(names: catalogue)
        selection.includesOld = options.includesOld
        selection.includesEntities = options.includesEntities
        guard let name = options.repository else {
            let option = options.id != nil ? "id" : options.filter != nil ? "filter" : "fields"
            guard options.id == nil, options.filter == nil, options.fields.isEmpty else {
                throw StreamOptions.refusal(option, "needs a repository: give \"repository\"")
            }
            return selection
        }
        var opening = RepositoryOptions()
        opening.create = false
        let repository: Repository
        do throws(HoldfastError) { repository = try self.repository(name, options: opening) } catch {
            // Nobody follows what they are to create.
            guard error.status == .notFound else { throw error }
            throw HoldfastError(
                .notFound, "the store has no repository \"\(name)\": open it first, or see which it has",
                detail: error.detail)
        }
        selection.repository = repository.record.id
        selection.id = options.id
        selection.filter = try options.filter?.withBytes { filter throws(HoldfastError) in
            try repository.filter(filter)
        }
        if !options.fields.isEmpty {
            let paths = options.fields.map { JSONValue.string(Array($0.utf8)) }
            selection.fields = try Projection(.array(paths), key: repository.record.key)
        }
        return selection
    }

    /// The commit behind which a stream begins.
    private func firstPosition(
        _ options: StreamOptions, _ acknowledged: CommitSequence?
    ) throws(HoldfastError) -> CommitSequence {
        try read { snapshot throws(HoldfastError) in
            let head = snapshot.sequence
            if let acknowledged, try snapshot.commitLog(after: acknowledged, limit: 1) != nil { return acknowledged }
            guard let since = options.since else {
                if acknowledged == nil { return head }
                throw StreamPosition.trimmed(incarnation, head)
            }
            let first = try StreamPosition.sequence(since, in: incarnation, on: snapshot)
            guard try snapshot.commitLog(after: first, limit: 1) != nil else {
                throw StreamPosition.trimmed(incarnation, head)
            }
            return first
        }
    }

    // MARK: Durable subscriptions

    private func checkDurableName(_ options: StreamOptions) throws(HoldfastError) {
        guard let name = options.durableName else { return }
        guard (1...64).contains(name.utf8.count), !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw StreamOptions.refusal("durable", "must be a name of 1 to 64 bytes without control characters")
        }
    }

    private static func subscriptionID(_ name: String) -> String { "subscription/\(name)" }

    private func subscriptionKey(_ name: String) throws(HoldfastError) -> EntityKey {
        try openSystemRepository().key(EntityID(unchecked: Array(Self.subscriptionID(name).utf8)))
    }

    /// What was acknowledged last.
    private func subscription(_ name: String) throws(HoldfastError) -> CommitSequence? {
        if catalogue.find(Self.systemRepository) == nil { try refreshCatalogue() }
        guard let record = catalogue.find(Self.systemRepository) else { return nil }
        let key = EntityKey(record.id, EntityID(unchecked: Array(Self.subscriptionID(name).utf8)))
        return try read { snapshot throws(HoldfastError) in
            var value: Int64?
            _ = try snapshot.fetch(key) { view throws(HoldfastError) in value = try Self.systemValue(in: view.body) }
            return value.map { CommitSequence(clamping: $0) }
        }
    }

    func setSubscription(_ name: String, to sequence: CommitSequence) throws(HoldfastError) {
        let system = try openSystemRepository()
        let name = Self.subscriptionID(name)
        let key = system.key(EntityID(unchecked: Array(name.utf8)))
        var options = TransactionOptions()
        options.isDurable = false
        _ = try transact(options) { transaction throws(HoldfastError) in
            var before: Int64 = -1
            _ = try transaction.fetch(key) { _, text throws(HoldfastError) in before = try Self.systemValue(in: text) }
            guard before < Int64(sequence) else { return }
            _ = try Self.systemEntity(name, Int64(sequence)).withBytes { entity throws(HoldfastError) in
                try system.perform(WriteCall(.save, nil, entity), in: transaction)
            }
        }
    }
}

extension Repository {
    /// Opens a live query: its result first, then how it changes. Reads the result on this thread.
    public func openLiveQuery(
        _ filter: Filter, _ options: QueryOptions, _ observer: any StreamObserver
    ) throws(HoldfastError) -> ChangeStream {
        try options.refuseScores("every commit changes those of a live query; sort by a path")
        try store.requireOpen()
        let history = try store.follower.begin(nil)
        do throws(HoldfastError) {
            let outbox = store.follower.outbox(observer)
            let query = LiveQuery(record, filter, options, outbox, incarnation: store.incarnation)
            try store.read { snapshot throws(HoldfastError) in try query.read(from: snapshot) }
            store.follower.attach(query, begunIn: history)
            return ChangeStream(store, outbox, nil)
        } catch {
            store.follower.end(nil)
            throw error
        }
    }
}
