internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// A query whose result follows the commits. Confined to the follower once it is attached.
final class LiveQuery {
    let repository: RepositoryID
    let filter: Filter
    let outbox: StreamOutbox
    /// Of its repository's live queries the how manieth it was.
    var number: UInt64 = 0
    private let key: String
    private let check: EntityCheck
    private let options: QueryOptions
    private let incarnation: String

    private(set) var rows: ResultRows
    /// The result as it was reported last.
    private var reported: ArraySlice<ResultRow> = []
    /// The commit up to which `rows` is the result.
    private(set) var sequence: CommitSequence = 0
    /// How many commits have touched the rows since it was reported.
    var touches = 0
    /// Whether the result has to be read again.
    var needsReading = false

    init(
        _ repository: RepositoryRecord, _ filter: Filter, _ options: QueryOptions, _ outbox: StreamOutbox,
        incarnation: String
    ) {
        self.repository = repository.id
        key = repository.key
        check = EntityCheck(repository)
        self.filter = filter
        self.options = options
        self.outbox = outbox
        self.incarnation = incarnation
        rows = ResultRows(options)
    }

    var identifiers: some Sequence<(id: EntityID, row: ResultRow)> { rows.rows.lazy.map { ($0.id, $0) } }

    // MARK: Reading

    /// Reads the result anew.
    func read(from snapshot: any StorageSnapshot) throws(HoldfastError) {
        var read = ResultRows(options)
        if let id = filter.idEquality(key: key) {
            var row: ResultRow?
            let filter = filter
            _ = try snapshot.fetch(EntityKey(repository, id)) { view throws(HoldfastError) in
                if options.skipsDamaged && !check.isSound(view) { return }
                try check.require(view)
                if try filter.matches(view.body) { row = try read.row(view) }
            }
            if let row { try read.collect(row) }
        } else {
            var scan = QueryScan(filter, skipsDamaged: options.skipsDamaged)
            var isBegun = false
            repeat {
                if isBegun { try Interrupt.look() }
                try scan.run(repository, check, on: snapshot) { _ in
                    if !isBegun { read.removeAll() }
                    isBegun = true
                } _: { view throws(HoldfastError) in
                    try read.collect(try read.row(view))
                    return true
                }
            } while scan.isPaused
        }
        read.finish()
        rows = read
        sequence = snapshot.sequence
        needsReading = false
    }

    // MARK: Following

    /// How a change has changed the rows: those that hold an entity no more, and the one that holds the changed one now.
    struct Effect {
        var dropped: ResultRow?
        var row: ResultRow?
    }

    /// Takes in what became of an entity, whose row until now is `old`. Nil where that is nothing to this query.
    func follow(
        _ id: EntityID, _ body: [UInt8]?, _ version: CommitSequence, old: ResultRow?
    ) throws(HoldfastError) -> Effect? {
        var new: ResultRow?
        if let body {
            let (filter, rows) = (filter, rows)
            new = try body.withBytes { bytes throws(HoldfastError) in
                guard try filter.matches(bytes) else { return nil }
                return ResultRow(id: id, key: try rows.key(of: bytes), version: version, body: body)
            }
        }
        if new == nil && old == nil { return nil }
        let (dropped, isKept) = rows.replace(old, by: new)
        if rows.lacksRows { needsReading = true }
        if old == nil && !isKept { return nil }
        return Effect(dropped: dropped, row: isKept ? new : nil)
    }

    /// The result as of this commit from now on, whatever was followed.
    func advance(to sequence: CommitSequence) { self.sequence = max(self.sequence, sequence) }

    // MARK: Telling

    /// The whole result, from which those who follow go on.
    func snapshot(isReset: Bool) -> ResultChange {
        reported = rows.window
        touches = 0
        var change = ResultChange(position: StreamPosition.text(incarnation, sequence))
        change.isReset = isReset
        change.snapshot = reported.map(entity)
        return change
    }

    /// What has changed since it was reported; nil for nothing that shows.
    func difference() -> ResultChange? {
        let window = rows.window
        let difference = ResultDifference(from: reported, to: window)
        var change = ResultChange(position: StreamPosition.text(incarnation, sequence))
        change.merged = touches
        change.removed = difference.removed.map { ResultChange.Removed(position: $0.position, id: $0.row.id) }
        change.inserted = difference.inserted.map { ResultChange.Placed(position: $0.position, entity: entity($0.row)) }
        change.moved = difference.moved.map { ResultChange.Moved(from: $0.from, to: $0.to, id: $0.row.id) }
        change.changed = difference.changed.compactMap { position, old, new in
            let (before, after) = (entity(old), entity(new))
            return before.body == after.body ? nil : ResultChange.Placed(position: position, entity: after)
        }
        reported = window
        touches = 0
        return change.isEmpty ? nil : change
    }

    private func entity(_ row: ResultRow) -> Entity {
        Entity(id: row.id, body: options.projection?.cut(row.body) ?? row.body, version: row.version)
    }
}
