internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// An entity in a live query's result.
final class ResultRow: Sendable {
    let id: EntityID
    /// By which it is ordered.
    let key: [UInt8]
    let version: CommitSequence
    let body: [UInt8]

    init(id: EntityID, key: [UInt8], version: CommitSequence, body: [UInt8]) {
        self.id = id
        self.key = key
        self.version = version
        self.body = body
    }
}

/// The first of all entities that match a query, in its order: as far as its limit goes, and some behind it, so that few
/// changes need the storage.
struct ResultRows {
    /// Without a sort order by id alone.
    let order: SortOrder?
    /// The part that is asked for.
    private let skip: Int
    private let limit: Int?
    /// So many are kept.
    private let capacity: Int
    private(set) var rows: [ResultRow] = []
    /// Whether there may be others behind the last.
    private(set) var hasMore = false

    init(_ options: QueryOptions) {
        let skip = Int(clamping: options.skip)
        let limit = options.limit == 0 ? nil : Int(clamping: options.limit)
        order = options.sort
        self.skip = skip
        self.limit = limit
        let wanted = limit.map { skip.addingClamped($0) } ?? .max
        capacity = wanted.addingClamped(max(16, wanted / 2))
    }

    /// What is asked for.
    var window: ArraySlice<ResultRow> {
        let start = min(skip, rows.count)
        return rows[start..<(limit.map { min(rows.count, start.addingClamped($0)) } ?? rows.count)]
    }

    /// Whether entities that belong into the result are not here.
    var lacksRows: Bool { hasMore && limit.map { rows.count < skip.addingClamped($0) } ?? false }

    // MARK: Filling

    mutating func removeAll() {
        rows = []
        hasMore = false
    }

    func row(_ view: EntityView) throws(HoldfastError) -> ResultRow {
        ResultRow(
            id: EntityID(unchecked: Array(view.id)), key: try key(of: view.body), version: view.version,
            body: try Array(asking: view.body))
    }

    func key(of body: UnsafeRawBufferPointer) throws(HoldfastError) -> [UInt8] {
        guard let order else { return [] }
        var key = OrderedKey()
        try order.appendKey(of: body, to: &key)
        return key.bytes
    }

    /// Takes in one of those that match, in any order; `finish` follows.
    mutating func collect(_ row: ResultRow) throws(HoldfastError) {
        try rows.askToGrow()
        rows.append(row)
        if capacity < .max / 2, rows.count >= 2 * capacity { finish() }
    }

    mutating func finish() {
        let order = order
        rows.sort { Self.precedes($0, $1, order) }
        trim()
    }

    // MARK: Following

    static func precedes(_ left: ResultRow, _ right: ResultRow, _ order: SortOrder?) -> Bool {
        let keys = left.key.withBytes { a in right.key.withBytes { b in compareBytes(a, b) } }
        if keys != 0 { return keys < 0 }
        let ids = left.id.compare(right.id)
        // As `Sorter` has it.
        return order?.isReversed ?? false ? ids > 0 : ids < 0
    }

    /// Where a row stands, or would stand.
    private func index(of row: ResultRow) -> Int { rows.partitioningIndex { !Self.precedes($0, row, order) } }

    /// Replaces one row (nil: none was there) by another (nil: none is). Answers which was pushed out of what is kept, and
    /// whether the new one is in it.
    mutating func replace(_ old: ResultRow?, by new: ResultRow?) -> (dropped: ResultRow?, isKept: Bool) {
        if let old, let new, old.key == new.key {
            rows[index(of: old)] = new
            return (nil, true)
        }
        if let old { rows.remove(at: index(of: old)) }
        guard let new else { return (nil, false) }
        let index = index(of: new)
        // Behind the last there may be others that come before it.
        if hasMore && index == rows.count { return (nil, false) }
        rows.insert(new, at: index)
        guard rows.count > capacity else { return (nil, true) }
        let dropped = rows[rows.count - 1]
        trim()
        return (dropped === new ? nil : dropped, dropped !== new)
    }

    private mutating func trim() {
        guard rows.count > capacity else { return }
        rows.removeLast(rows.count - capacity)
        hasMore = true
    }
}

extension Int {
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
