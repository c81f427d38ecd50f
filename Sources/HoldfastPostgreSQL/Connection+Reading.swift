internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What snapshots and write transactions read alike. Long answers come in pages: a page ends with the row that reaches so
/// many bytes.
extension Connection {
    /// How a page of rows is asked for.
    private struct Page {
        var rows: Int
        var bytes: Int

        /// The first is small, because who reads may want no more.
        init(_ limits: Limits) {
            rows = min(64, limits.serverRows)
            bytes = min(64 << 10, limits.serverPageBytes)
        }

        /// Answers whether nothing follows a page with so many rows and bytes.
        mutating func isLast(_ count: Int, _ sum: Int, _ limits: Limits) -> Bool {
            defer { (rows, bytes) = (limits.serverRows, limits.serverPageBytes) }
            return count < rows && sum < bytes
        }

        /// Cuts rows of `columns`, ordered as `order` says, whose text is in the column `body`.
        func sql(_ columns: String, _ body: String, _ source: String, _ order: String) -> String {
            """
            SELECT \(columns) FROM (SELECT *, sum(octet_length(\(body))) OVER (ORDER BY \(order) ROWS UNBOUNDED PRECEDING)
            - octet_length(\(body)) AS before FROM (\(source) ORDER BY \(order) LIMIT \(rows)) AS page) AS pages
            WHERE before < \(bytes) ORDER BY \(order)
            """
        }
    }

    func fetch(
        _ key: EntityKey, of store: Int64, _ body: (EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Bool {
        let rows = try run(
            [
                Statement(
                    "SELECT version, body FROM holdfast_entity WHERE store = $1 AND repository = $2 AND id = $3",
                    .integer(store), .integer(key.repository), .bytes(key.id.bytes))
            ], "reading from")[0]
        guard rows.count > 0 else { return false }
        try key.id.bytes.withBytes { id throws(HoldfastError) in try body(Self.view(rows, 0, id: id, version: 0)) }
        return true
    }

    /// See `StorageWrite.fetch`.
    func fetch(
        _ keys: [EntityKey], of store: Int64, _ limits: Limits,
        _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        var first = 0
        while first < keys.count {
            let part = keys[first..<min(keys.count, first + limits.serverRows)]
            let rows = try run([.entities(part, of: store)], "reading from")[0]
            for row in 0..<rows.count {
                let place = first + Int(rows.integer(row, 0)) - 1
                try keys[place].id.bytes.withBytes { id throws(HoldfastError) in
                    try body(place, Self.view(rows, row, id: id, version: 1))
                }
            }
            first += part.count
        }
    }

    /// An entity in a row, whose text stands behind its version.
    static func view(_ rows: Rows, _ row: Int, id: UnsafeRawBufferPointer, version: Int) -> EntityView {
        EntityView(
            id: id, version: CommitSequence(clamping: rows.integer(row, version)), body: rows.bytes(row, version + 1))
    }

    func scan(
        _ scan: EntityScan, of store: Int64, _ limits: Limits, _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        var range = scan.range
        var page = Page(limits)
        while true {
            let source = """
                SELECT id, version, body FROM holdfast_entity WHERE store = $1 AND repository = $2 AND id >= $3 AND id < $4
                """
            let rows = try run(
                [
                    Statement(
                        page.sql("id, version, body", "body", source, scan.isReversed ? "id DESC" : "id"),
                        .integer(store), .integer(scan.repository), .bytes(range.lower), .bytes(range.upper))
                ], "reading from")[0]
            var sum = 0
            for row in 0..<rows.count {
                let view = Self.view(rows, row, id: rows.bytes(row, 0), version: 1)
                sum += view.body.count
                guard try body(view) else { return }
            }
            if page.isLast(rows.count, sum, limits) { return }
            let last = Array(rows.bytes(rows.count - 1, 0))
            if scan.isReversed { range.upper = last } else { range.lower = last + [0] }
        }
    }

    func scan(
        _ scan: IndexScan, of store: Int64, _ limits: Limits,
        _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        // No id is empty.
        let start = scan.isReversed ? scan.range.upper : scan.range.lower
        var position = scan.after ?? IndexScan.Position(key: start, id: EntityID(unchecked: []))
        var page = Page(limits)
        let order = scan.isReversed ? "key DESC, id DESC" : "key, id"
        let bounds =
            scan.isReversed
            ? "i.key >= $3 AND (i.key, i.id) < ($4, $5)" : "i.key < $3 AND (i.key, i.id) > ($4, $5)"
        let source =
            scan.parts == .key
            ? "SELECT i.key, i.id, 0::int8 AS version, ''::bytea AS body FROM holdfast_entry i "
                + "WHERE i.store = $1 AND i.index = $2 AND \(bounds)"
            : "SELECT i.key, i.id, e.version, e.body FROM holdfast_entry i JOIN holdfast_entity e "
                + "ON e.store = i.store AND e.repository = i.repository AND e.id = i.id "
                + "WHERE i.store = $1 AND i.index = $2 AND \(bounds)"
        while true {
            let rows = try run(
                [
                    Statement(
                        page.sql("key, id, version, body", "body", source, order), .integer(store),
                        .integer(scan.index),
                        .bytes(scan.isReversed ? scan.range.lower : scan.range.upper), .bytes(position.key),
                        .bytes(position.id.bytes))
                ], "reading from")[0]
            var sum = 0
            for row in 0..<rows.count {
                let view = Self.view(rows, row, id: rows.bytes(row, 1), version: 2)
                sum += view.body.count
                let key = scan.parts == .entity ? UnsafeRawBufferPointer(start: nil, count: 0) : rows.bytes(row, 0)
                guard try body(key, view) else { return }
            }
            if page.isLast(rows.count, sum, limits) { return }
            let last = rows.count - 1
            position = IndexScan.Position(
                key: Array(rows.bytes(last, 0)), id: EntityID(unchecked: Array(rows.bytes(last, 1))))
        }
    }

    func idempotencyRecords(_ keys: [[UInt8]], of store: Int64) throws(HoldfastError) -> [IdempotencyRecord?] {
        var records = [IdempotencyRecord?](repeating: nil, count: keys.count)
        if keys.isEmpty { return records }
        let rows = try run([.idempotency(keys, of: store)], "reading from")[0]
        for row in 0..<rows.count {
            let place = Int(rows.integer(row, 0)) - 1
            records[place] = IdempotencyRecord(keys[place], in: rows, row)
        }
        return records
    }

    // MARK: The commit log

    /// The commit log behind `sequence`, at most so many commits. `start`: what it is complete from.
    func commitLog(
        after sequence: CommitSequence, limit: Int, start: CommitSequence, of store: Int64, _ limits: Limits
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard sequence < Int64.max else { return [] }
        guard sequence + 1 >= start else { return nil }
        var entries: [CommitLogEntry] = []
        try walkLog(after: sequence, of: store, limits) { row, _ in
            entries += row.filter { $0.sequence > sequence }
            return entries.count < limit
        }
        return entries.count > limit ? Array(entries[..<limit]) : entries
    }

    /// The commit log behind one sequence and up to another, if so many write transactions have stored it: each stores one
    /// row. Nil where there were others, and where they take more than `cachedTransactionBytes` each.
    func commitLog(
        ofTransactions count: UInt64, behind sequence: CommitSequence, through last: CommitSequence,
        start: CommitSequence, of store: Int64, _ limits: Limits
    ) throws(HoldfastError) -> [CommitLogEntry]? {
        guard sequence < Int64.max, sequence + 1 >= start else { return nil }
        var entries: [CommitLogEntry] = []
        var (rows, bytes, isTooMuch): (UInt64, Int, Bool) = (0, 0, false)
        try walkLog(after: sequence, of: store, limits) { row, size in
            if row.last!.sequence > last { return false }
            rows += 1
            bytes += size
            isTooMuch = rows > count || bytes / max(64, Int(clamping: count)) > limits.cachedTransactionBytes
            entries += row.filter { $0.sequence > sequence }
            return !isTooMuch
        }
        return rows == count && !isTooMuch ? entries : nil
    }

    /// Visits the rows that end behind `sequence`, oldest first, each with the size of its changes. The first may begin
    /// before.
    private func walkLog(
        after sequence: CommitSequence, of store: Int64, _ limits: Limits,
        _ visit: ([CommitLogEntry], Int) -> Bool
    ) throws(HoldfastError) {
        var position = Int64(clamping: sequence)
        var page = Page(limits)
        while true {
            let source = """
                SELECT sequence, commit_id, time, changes FROM holdfast_log WHERE store = $1 AND sequence > $2
                """
            let rows = try run(
                [
                    Statement(
                        page.sql("sequence, commit_id, time, changes", "changes", source, "sequence"), .integer(store),
                        .integer(position))
                ], "reading from")[0]
            var sum = 0
            for row in 0..<rows.count {
                let changes = rows.bytes(row, 3)
                sum += changes.count
                let entries = try Self.logged(in: rows, row, place)
                guard visit(entries, changes.count) else { return }
            }
            if page.isLast(rows.count, sum, limits) { return }
            position = rows.integer(rows.count - 1, 0)
        }
    }

    /// The commits in a row of the log.
    static func logged(in rows: Rows, _ row: Int, _ place: String) throws(HoldfastError) -> [CommitLogEntry] {
        let newest = CommitLogEntry(
            sequence: CommitSequence(clamping: rows.integer(row, 0)),
            commitIdentifier: UInt64(bitPattern: rows.integer(row, 1)), time: UInt64(clamping: rows.integer(row, 2)),
            changes: [])
        guard let entries = CommitLogEncoding.decode(rows.bytes(row, 3), under: newest) else {
            throw HoldfastError(.corrupt, "the log of \(place) is damaged: restore a backup of the database")
        }
        return entries
    }

    /// See `StorageWrite.commitLogSizes`.
    func commitLogSizes(
        of store: Int64, _ limits: Limits, _ body: (CommitSequence, Int) -> Bool
    ) throws(HoldfastError) {
        var position = Int64.max
        while true {
            let rows = try run(
                [
                    Statement(
                        """
                        SELECT sequence, octet_length(changes) FROM holdfast_log WHERE store = $1 AND sequence < $2
                        ORDER BY sequence DESC LIMIT \(limits.serverRows)
                        """, .integer(store), .integer(position))
                ], "reading from")[0]
            for row in 0..<rows.count {
                let size = Int(clamping: rows.integer(row, 1)) + Self.commitLogRowBytes
                if !body(CommitSequence(clamping: rows.integer(row, 0)), size) { return }
            }
            if rows.count < limits.serverRows { return }
            position = rows.integer(rows.count - 1, 0)
        }
    }

    /// What a row of the commit log takes beside its changes, about.
    private static let commitLogRowBytes = 48

    /// Those of these commits that the log has.
    func stored(
        of commits: Set<CommitName>, _ store: Int64, _ limits: Limits
    ) throws(HoldfastError) -> Set<CommitName> {
        var found: Set<CommitName> = []
        let sequences = commits.map(\.sequence)
        guard let first = sequences.min(), let last = sequences.max() else { return found }
        try walkLog(after: first - min(first, 1), of: store, limits) { row, _ in
            found.formUnion(row.lazy.map(\.name).filter(commits.contains))
            return row.last!.sequence < last
        }
        return found
    }

    // MARK: The catalogue

    struct Catalogue: Sendable {
        let mark: Int64
        var repositories: [RepositoryRecord] = []
        var indexes: [IndexRecord] = []
    }

    func catalogue(_ mark: Int64, of store: Int64) throws(HoldfastError) -> Catalogue {
        let rows = try run(
            [
                Statement(
                    "SELECT id, name, key, history FROM holdfast_repository WHERE store = $1 ORDER BY id",
                    .integer(store)),
                Statement(
                    """
                    SELECT id, repository, name, definition, state, has_arrays FROM holdfast_index WHERE store = $1
                    ORDER BY id
                    """, .integer(store)),
            ], "reading from")
        let damaged = HoldfastError(.corrupt, "the catalogue of \(place) is damaged: restore a backup of the database")
        var catalogue = Catalogue(mark: mark)
        for row in 0..<rows[0].count {
            var record = RepositoryRecord(
                id: rows[0].integer(row, 0), name: rows[0].text(row, 1), key: rows[0].text(row, 2))
            guard try RepositoryHistory.decode(rows[0].bytes(row, 3), into: &record) else { throw damaged }
            catalogue.repositories.append(record)
        }
        for row in 0..<rows[1].count {
            guard let state = IndexRecord.State(rawValue: rows[1].integer(row, 4)) else { throw damaged }
            catalogue.indexes.append(
                IndexRecord(
                    id: rows[1].integer(row, 0), repository: rows[1].integer(row, 1), name: rows[1].text(row, 2),
                    definition: Array(rows[1].bytes(row, 3)), state: state, hasArrays: rows[1].boolean(row, 5)))
        }
        return catalogue
    }
}

extension Statement {
    /// Each row with its place among the keys, from 1.
    static func entities(_ keys: ArraySlice<EntityKey>, of store: Int64) -> Statement {
        Statement(
            """
            SELECT k.place, e.version, e.body
            FROM unnest($2::int8[], $3::bytea[]) WITH ORDINALITY AS k (repository, id, place)
            CROSS JOIN LATERAL (SELECT version, body FROM holdfast_entity f WHERE f.store = $1
            AND f.repository = k.repository AND f.id = k.id LIMIT 1) AS e
            """, .integer(store), .integers(keys.map(\.repository)), .byteArrays(keys.map(\.id.bytes))
        ).repeated
    }

    static func idempotency(_ keys: [[UInt8]], of store: Int64) -> Statement {
        Statement(
            """
            SELECT k.place, i.fingerprint, i.sequence, i.time, i.receipt
            FROM unnest($2::bytea[]) WITH ORDINALITY AS k (key, place)
            CROSS JOIN LATERAL (SELECT * FROM holdfast_idempotency f WHERE f.store = $1 AND f.key = k.key LIMIT 1) AS i
            """, .integer(store), .byteArrays(keys)
        ).repeated
    }
}

extension IdempotencyRecord {
    /// As `Statement.idempotency` finds it.
    init(_ key: [UInt8], in rows: Rows, _ row: Int) {
        self.init(
            key: key, fingerprint: UInt64(bitPattern: rows.integer(row, 1)),
            sequence: CommitSequence(clamping: rows.integer(row, 2)), time: UInt64(clamping: rows.integer(row, 3)),
            receipt: Array(rows.bytes(row, 4)))
    }
}
