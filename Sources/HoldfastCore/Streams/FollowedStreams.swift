internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A store's streams, and how far they have followed its commits. Confined to the follower's thread.
///
/// What this process commits comes with its texts. Everything else is read from the commit log: then live queries take
/// the texts as they are by now, and so several commits at once.
final class FollowedStreams {
    // What changes, and what guards it: everything here, with the observers and the live queries once they are added, is the
    // worker's. What is on its way to a stream is guarded by the lock of its outbox.

    let storage: any Storage
    private let catalogue: Catalogue
    let limits: Limits
    /// Commits of this process that are stored, or being stored, and were not followed yet.
    private let ownCommits: () -> [CommittedBatch]

    /// Everything up to this commit was followed; nil while there are no streams.
    private(set) var position: CommitSequence?
    /// What the storage says while `position` is the newest.
    private var token: ChangeToken?
    /// Something is in the commit log that could not be followed yet.
    private var mustFollowCommitLog = false
    /// The storage has lost commits, and what it has was not read yet.
    private var mustBeginHistory = false
    private(set) var observers: [ChangeObserver] = []
    private(set) var queries: [RepositoryID: LiveQueries] = [:]
    /// By what brings them their events.
    private var queryByOutbox: [ObjectIdentifier: LiveQuery] = [:]
    /// Queries with something to tell that had to wait.
    private(set) var waiting: [LiveQuery] = []
    /// Queries whose result could not be read again.
    private(set) var unread: [LiveQuery] = []
    var aggregations: [LiveAggregation] = []
    /// To be posted.
    var events: [Event] = []

    init(
        storage: any Storage, catalogue: Catalogue, limits: Limits, ownCommits: @escaping () -> [CommittedBatch]
    ) {
        self.storage = storage
        self.catalogue = catalogue
        self.limits = limits
        self.ownCommits = ownCommits
    }

    var isEmpty: Bool { observers.isEmpty && queries.isEmpty && aggregations.isEmpty }

    /// What is to be posted by now.
    func takeEvents() -> [Event] {
        defer { events = [] }
        return events
    }

    // MARK: Streams come and go

    func add(_ observer: ChangeObserver) {
        observer.attach(at: begin(at: observer.sequence))
        observers.append(observer)
    }

    func add(_ query: LiveQuery) {
        let position = begin(at: query.sequence)
        queries[query.repository, default: LiveQueries()].add(query)
        queryByOutbox[ObjectIdentifier(query.outbox)] = query
        events.append(query.outbox.notice(.result(query.snapshot(isReset: false))))
        // Between its reading and now something may have been committed that was followed already.
        if query.sequence < position { read(query) }
    }

    func remove(_ outbox: StreamOutbox) {
        observers.removeAll { $0.outbox === outbox }
        waiting.removeAll { $0.outbox === outbox }
        unread.removeAll { $0.outbox === outbox }
        aggregations.removeAll { $0.outbox === outbox }
        if let query = queryByOutbox.removeValue(forKey: ObjectIdentifier(outbox)) {
            queries[query.repository]!.remove(query)
            if queries[query.repository]!.isEmpty { queries[query.repository] = nil }
        }
        if isEmpty { (position, token, mustFollowCommitLog, mustBeginHistory) = (nil, nil, false, false) }
    }

    /// Where the streams are. The first one brings them there.
    func begin(at sequence: CommitSequence) -> CommitSequence {
        if let position { return position }
        position = sequence
        return sequence
    }

    /// Tells all that nothing comes any more.
    func end(with reason: HoldfastError) {
        for query in waiting { tell(query) }
        for aggregation in aggregations where aggregation.isTouched { tell(aggregation) }
        for aggregation in aggregations { events.append(aggregation.outbox.notice(.ended(reason))) }
        for observer in observers { events.append(observer.outbox.notice(.ended(reason))) }
        for query in queries.values.flatMap(\.all) { events.append(query.outbox.notice(.ended(reason))) }
        observers = []
        queries = [:]
        queryByOutbox = [:]
        waiting = []
        unread = []
        aggregations = []
        (position, token, mustFollowCommitLog) = (nil, nil, false)
    }

    // MARK: Following

    /// Takes in what this process has stored.
    func follow(_ batch: CommittedBatch) throws(HoldfastError) {
        guard let position, batch.last > position else { return }
        guard batch.base <= position else {
            // Others have committed before.
            return try followCommitLog(knowing: batch)
        }
        for commit in batch.commits { follow(commit) }
        let byNumber = Dictionary(uniqueKeysWithValues: batch.commits.map { ($0.entry.sequence, $0) })
        notifyObservers(batch.commits.lazy.map(\.entry), through: batch.last) { byNumber[$0.sequence]!.known }
        self.position = batch.last
        token = batch.token
    }

    private func follow(_ commit: CommittedBatch.Commit) {
        let sequence = commit.entry.sequence
        var touched: [LiveQuery] = []
        for change in commit.changes where queries[change.key.repository] != nil {
            if change.key.isWhole {
                if change.body == nil { touched += empty(change.key.repository, at: sequence) }
                continue
            }
            touched += follow(change.key, change.body, change.version, at: sequence)
        }
        touch(touched, at: sequence)
        for aggregation in aggregations { aggregation.follow(commit.changes.lazy.map(\.key), at: sequence) }
    }

    private func follow(
        _ key: EntityKey, _ body: [UInt8]?, _ version: CommitSequence, at sequence: CommitSequence
    ) -> [LiveQuery] {
        var failures: [(query: LiveQuery, error: HoldfastError)] = []
        let touched = queries[key.repository]!.follow(key.id, body, version, at: sequence) { failures.append(($0, $1)) }
        for (query, error) in failures { fail(query, error) }
        return touched
    }

    /// Of a repository that was dropped nothing is left: its queries are read anew.
    private func empty(_ repository: RepositoryID, at sequence: CommitSequence) -> [LiveQuery] {
        let emptied = queries[repository]!.all.filter { $0.sequence < sequence }
        for query in emptied { query.needsReading = true }
        return emptied
    }

    /// One commit, or what stands for several, has touched these.
    private func touch(_ touched: [LiveQuery], at sequence: CommitSequence) {
        var seen: Set<ObjectIdentifier> = []
        for query in touched where seen.insert(ObjectIdentifier(query)).inserted {
            query.advance(to: sequence)
            query.touches += 1
            if query.needsReading { read(query) } else { notifyOrWait(query) }
        }
    }

    /// Whether `poll` has to look from time to time.
    var needsPolling: Bool {
        position != nil
            && (storage.noticesChanges || mustFollowCommitLog || !unread.isEmpty
                || aggregations.contains(where: \.isTouched))
    }

    /// Looks whether somebody else has committed. `newcomersWait`: whether there are streams to be taken in first.
    func poll(unless newcomersWait: () -> Bool) throws(HoldfastError) {
        guard position != nil, storage.noticesChanges || mustFollowCommitLog else { return }
        if let token, !mustFollowCommitLog, !mustBeginHistory, try storage.changeToken == token { return }
        try followCommitLog(unless: newcomersWait)
    }

    /// Takes in what the commit log tells, of whomever.
    func followCommitLog(
        knowing batch: CommittedBatch? = nil, unless newcomersWait: () -> Bool = { false }
    ) throws(HoldfastError) {
        if mustBeginHistory { return try beginHistory() }
        guard let position else { return }
        mustFollowCommitLog = true
        let snapshot = try storage.beginSnapshot()
        defer { snapshot.close() }
        // Asked behind the snapshot: who came before a commit that it shows would else be behind that, and hear of it
        // from the commit log alone, which does not say what was there before.
        if newcomersWait() { return }
        if snapshot.sequence > position {
            try follow(from: snapshot, after: position, knowing: batch)
            self.position = snapshot.sequence
        }
        token = snapshot.changeToken
        mustFollowCommitLog = false
    }

    private func follow(
        from snapshot: any StorageSnapshot, after position: CommitSequence, knowing batch: CommittedBatch?
    ) throws(HoldfastError) {
        let own = observers.isEmpty ? [:] : ownBodies(and: batch)
        // Who is told waits until all was taken in: in between the rows are no state that ever was.
        var touched = TouchedQueries()
        var reached = position
        do throws(HoldfastError) {
            while reached < snapshot.sequence {
                guard let entries = try snapshot.commitLog(after: reached, limit: limits.logPage) else {
                    return try begin(anewFrom: snapshot)
                }
                reached = entries.count < limits.logPage ? snapshot.sequence : entries.last!.sequence
                try follow(entries, through: reached, from: snapshot, own, &touched)
            }
        } catch {
            // What was taken in already is not seen as a change at the next attempt.
            for (query, _) in touched.counts.values { readLater(query) }
            throw error
        }
        for (query, count) in touched.counts.values {
            query.advance(to: snapshot.sequence)
            query.touches += count
            if query.needsReading { read(query) } else { notifyOrWait(query) }
        }
    }

    private func follow(
        _ entries: [CommitLogEntry], through last: CommitSequence, from snapshot: any StorageSnapshot,
        _ own: [CommitName: [ChangeSelection.Known]], _ touched: inout TouchedQueries
    ) throws(HoldfastError) {
        if entries.contains(where: {
            $0.changes.contains { $0.key.isWhole || catalogue.record(of: $0.key.repository) == nil }
        }) {
            catalogue.add(try storage.readState().repositories)
        }
        let wanted = observers.filter { $0.selection.includesEntities || $0.selection.filter != nil }.map(\.selection)
        let bodies = try LoggedBodies(entries, from: snapshot) { key in
            queries[key.repository] != nil || wanted.contains { $0.mayConcern(key) }
        }
        var touchedBy: [EntityKey: [LiveQuery]] = [:]
        for entry in entries {
            for change in entry.changes where queries[change.key.repository] != nil && touchedBy[change.key] == nil {
                if change.key.isWhole {
                    if change.isDeletion { touchedBy[change.key] = empty(change.key.repository, at: entry.sequence) }
                    continue
                }
                let newest = bodies.newest(change.key)
                touchedBy[change.key] = follow(change.key, newest?.body, newest?.version ?? 0, at: snapshot.sequence)
            }
            for aggregation in aggregations { aggregation.follow(entry.changes.lazy.map(\.key), at: entry.sequence) }
            touched.add(entry.changes.flatMap { touchedBy[$0.key] ?? [] })
        }
        notifyObservers(entries, through: last) { own[$0.name] ?? bodies.known($0) }
    }

    /// What this process knows of commits that are in the commit log already. What is just being stored may turn out not to be:
    /// the commit log has another commit there then.
    private func ownBodies(and batch: CommittedBatch?) -> [CommitName: [ChangeSelection.Known]] {
        var bodies: [CommitName: [ChangeSelection.Known]] = [:]
        for commit in (ownCommits() + [batch].compactMap(\.self)).flatMap(\.commits) {
            bodies[commit.entry.name] = commit.known
        }
        return bodies
    }

    /// The commit log was trimmed before it was read.
    private func begin(anewFrom snapshot: any StorageSnapshot) throws(HoldfastError) {
        for observer in observers { observer.attach(at: snapshot.sequence) }
        for aggregation in aggregations { aggregation.touch() }
        for repository in queries.keys {
            for query in queries[repository]!.all {
                do throws(HoldfastError) {
                    try queries[repository]!.read(query, from: snapshot)
                    events.append(query.outbox.notice(.result(query.snapshot(isReset: true))))
                } catch {
                    // One that cannot be read keeps no other one waiting.
                    guard [.corrupt, .invalidQuery].contains(error.status) else { throw error }
                    fail(query, error)
                }
            }
        }
    }

    /// The storage has lost commits of which streams may have told: all begin with what is there, and say so.
    func beginHistory() throws(HoldfastError) {
        guard position != nil else { return }
        mustBeginHistory = true
        let snapshot = try storage.beginSnapshot()
        defer { snapshot.close() }
        try begin(anewFrom: snapshot)
        for observer in observers { events.append(observer.beginHistory(at: snapshot.sequence)) }
        (position, token) = (snapshot.sequence, snapshot.changeToken)
        (mustFollowCommitLog, mustBeginHistory) = (false, false)
    }

    private func notifyObservers(
        _ entries: some Sequence<CommitLogEntry>, through last: CommitSequence,
        _ known: (CommitLogEntry) -> [ChangeSelection.Known]
    ) {
        for observer in observers {
            if let event = observer.follow(entries, through: last, known) { events.append(event) }
        }
    }

    // MARK: Live queries

    private func notifyOrWait(_ query: LiveQuery) {
        if query.needsReading { return }
        // More events on their way are too many: then commits are merged.
        let limit = limits.liveQueryEvents
        if query.outbox.load(awaitedIf: { $0.events >= limit }).events < limit {
            tell(query)
        } else if !waiting.contains(where: { $0 === query }) {
            waiting.append(query)
        }
    }

    private func tell(_ query: LiveQuery) {
        if let change = query.difference() { events.append(query.outbox.notice(.result(change))) }
    }

    /// Reads its result again, from the newest state; where that is not possible just now, later.
    private func read(_ query: LiveQuery) {
        do throws(HoldfastError) {
            let snapshot = try storage.beginSnapshot()
            defer { snapshot.close() }
            try queries[query.repository]?.read(query, from: snapshot)
            notifyOrWait(query)
        } catch {
            switch error.status {
            case .corrupt, .invalidQuery: fail(query, error)
            default: readLater(query)
            }
        }
    }

    private func readLater(_ query: LiveQuery) {
        query.needsReading = true
        if !unread.contains(where: { $0 === query }) { unread.append(query) }
    }

    private func fail(_ query: LiveQuery, _ error: HoldfastError) {
        events.append(query.outbox.notice(.ended(error)))
        remove(query.outbox)
    }

    // MARK: Consumers

    /// Serves those that had to wait for their consumers.
    func serveWaiting() throws(HoldfastError) {
        let queries = waiting
        waiting = []
        for query in queries { notifyOrWait(query) }
        let unread = unread
        self.unread = []
        for query in unread { read(query) }
        let behind = observers.filter(\.canCatchUp)
        guard !behind.isEmpty, let position else { return }
        let snapshot = try storage.beginSnapshot()
        defer { snapshot.close() }
        // It may be newer than what was followed, and tell of repositories that are.
        if snapshot.sequence > position { catalogue.add(try snapshot.repositories()) }
        for observer in behind { events += try observer.catchUp(to: position, from: snapshot) }
    }

    /// Keeps the durable subscriptions that miss nothing within what the commit log keeps.
    func moveSubscriptions() { SubscriptionPlace.move(observers.compactMap(\.place)) }
}

extension CommittedBatch.Commit {
    var known: [ChangeSelection.Known] {
        changes.map {
            ChangeSelection.Known(key: $0.key, isDeletion: $0.body == nil, new: $0.body, beforeImage: $0.beforeImage)
        }
    }
}

/// Queries that commits have touched, and how many of them each.
private struct TouchedQueries {
    var counts: [ObjectIdentifier: (query: LiveQuery, count: Int)] = [:]

    /// One commit touched these; some may be given more than once.
    mutating func add(_ queries: [LiveQuery]) {
        var seen: Set<ObjectIdentifier> = []
        for query in queries where seen.insert(ObjectIdentifier(query)).inserted {
            counts[ObjectIdentifier(query), default: (query, 0)].count += 1
        }
    }
}
