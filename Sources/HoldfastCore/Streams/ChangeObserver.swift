internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A stream that tells of changes. Confined to the follower once it is attached.
final class ChangeObserver {
    let selection: ChangeSelection
    let outbox: StreamOutbox
    /// Of a durable subscription that may move it.
    let place: SubscriptionPlace?
    private let incarnation: String
    private let limits: Limits
    /// The commit up to which it was told.
    private(set) var sequence: CommitSequence
    /// Whether it is told from the commit log until it has caught up.
    private(set) var isBehind = false

    init(
        _ selection: ChangeSelection, _ outbox: StreamOutbox, since sequence: CommitSequence,
        _ place: SubscriptionPlace?, incarnation: String, _ limits: Limits
    ) {
        self.selection = selection
        self.outbox = outbox
        self.place = place
        self.sequence = sequence
        self.incarnation = incarnation
        self.limits = limits
    }

    /// The follower has seen everything up to there.
    func attach(at position: CommitSequence) { isBehind = sequence < position }

    /// What it was told may never have been: it goes on behind what is there.
    func beginHistory(at sequence: CommitSequence) -> Event {
        self.sequence = sequence
        isBehind = false
        place?.beginHistory(at: sequence)
        return outbox.notice(.lost(StreamPosition.undone(incarnation, sequence)))
    }

    /// Takes in what was committed, through this commit. Each change is known as `known` answers.
    func follow(
        _ entries: some Sequence<CommitLogEntry>, through last: CommitSequence,
        _ known: (CommitLogEntry) -> [ChangeSelection.Known]
    ) -> Event? {
        if isBehind || last <= sequence { return nil }
        let load = outbox.load { isTooMuch($0) }
        if isTooMuch(load) {
            isBehind = true
            return nil
        }
        return tell(entries, through: last, known)
    }

    /// More on its way is too much: then it is told from the commit log.
    private func isTooMuch(_ load: StreamOutbox.Load) -> Bool {
        load.changes > limits.observerChanges || load.bytes > limits.observerBytes
    }

    /// What concerns it of these commits, if any does.
    private func tell(
        _ entries: some Sequence<CommitLogEntry>, through last: CommitSequence,
        _ known: (CommitLogEntry) -> [ChangeSelection.Known]
    ) -> Event? {
        var batch = ChangeBatch(position: StreamPosition.text(incarnation, last))
        batch.isBehind = isBehind
        let new = entries.lazy.filter { [sequence] in $0.sequence > sequence && $0.sequence <= last }
        for entry in new {
            let changes = known(entry).compactMap { selection.change($0, at: entry.sequence) }
            if !changes.isEmpty {
                batch.commits.append(ChangeBatch.Commit(sequence: entry.sequence, time: entry.time, changes: changes))
            }
        }
        sequence = last
        place?.follow(new, through: last, told: batch.commits)
        return batch.commits.isEmpty ? nil : outbox.notice(.changes(batch))
    }

    /// Whether it is behind, and everything that it was told has arrived.
    var canCatchUp: Bool { isBehind && outbox.load { $0.events > 0 }.events == 0 }

    /// Tells more from the commit log. `position`: where the follower is.
    func catchUp(
        to position: CommitSequence, from snapshot: any StorageSnapshot
    ) throws(HoldfastError) -> [Event] {
        while canCatchUp {
            guard let entries = try snapshot.commitLog(after: sequence, limit: limits.logPage) else {
                sequence = max(position, snapshot.sequence)
                isBehind = false
                place?.lose(through: sequence)
                return [outbox.notice(.lost(StreamPosition.trimmed(incarnation, sequence)))]
            }
            let last = entries.last?.sequence ?? max(position, snapshot.sequence)
            let bodies = try LoggedBodies(entries, from: snapshot, of: selection)
            let event = tell(entries, through: last, bodies.known)
            isBehind = sequence < position
            if let event { return [event] }
        }
        return []
    }
}

/// The texts of what the commit log tells, which has none, as far as they are still those that the commits have stored.
struct LoggedBodies {
    private var bodies: [EntityKey: (version: CommitSequence, body: [UInt8])] = [:]

    init(
        _ entries: some Sequence<CommitLogEntry>, from snapshot: any StorageSnapshot, of selection: ChangeSelection
    ) throws(HoldfastError) {
        let needsBodies = selection.includesEntities || selection.filter != nil
        try self.init(entries, from: snapshot) { needsBodies && selection.mayConcern($0) }
    }

    init(
        _ entries: some Sequence<CommitLogEntry>, from snapshot: any StorageSnapshot, where isMeant: (EntityKey) -> Bool
    ) throws(HoldfastError) {
        var keys: Set<EntityKey> = []
        for entry in entries {
            for change in entry.changes where isMeant(change.key) { keys.insert(change.key) }
        }
        for key in keys.sorted() {
            var found: (version: CommitSequence, body: [UInt8])?
            // What is damaged is as good as gone.
            _ = try snapshot.fetch(key) { view throws(HoldfastError) in
                if EntityCheck.isJSON(view.body) { found = (view.version, try Array(asking: view.body)) }
            }
            bodies[key] = found
        }
    }

    /// As it is now.
    func newest(_ key: EntityKey) -> (version: CommitSequence, body: [UInt8])? { bodies[key] }

    func known(_ entry: CommitLogEntry) -> [ChangeSelection.Known] {
        entry.changes.map { change in
            var known = ChangeSelection.Known(key: change.key, isDeletion: change.isDeletion, beforeImage: .unknown)
            if !change.isDeletion, let newest = bodies[change.key], newest.version <= entry.sequence {
                known.new = newest.body
            }
            return known
        }
    }
}
