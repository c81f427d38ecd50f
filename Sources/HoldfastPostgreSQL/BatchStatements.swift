internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The statements that store a batch: one for each table, with arrays, and more where the arrays would be long. Those that
/// are ready go to the server together.
///
/// Guarded statements take effect only where the common table expression `moved` has a row.
struct BatchStatements {
    typealias Run = ([Statement]) throws(HoldfastError) -> [Rows]

    private let store: Int64
    private let isUnwanted: (() -> Bool)?
    /// Nil where all go in one statement.
    private let run: Run?
    private(set) var ready: [Statement] = []
    private var bytes = 0

    /// So many bytes of values go out at once.
    static let partBytes = 8 << 20

    /// `ready`: what is to go before.
    init(_ store: Int64, isUnwanted: (() -> Bool)?, ready: [Statement], _ run: @escaping Run) {
        self.store = store
        self.isUnwanted = isUnwanted
        self.run = run
        self.ready = ready
    }

    /// Guarded, for a batch that one statement can store.
    init(_ store: Int64) {
        self.store = store
        isUnwanted = nil
        run = nil
    }

    /// What a statement is with and without the guard, which is the first source of its rows.
    private struct Text {
        let guarded: String
        let plain: String

        /// Of the rows of another source.
        init(ofMany text: (_ source: String) -> String) {
            guarded = text("FROM moved, ")
            plain = text("FROM ")
        }

        /// Of one row, whose values are parameters.
        init(ofOne text: (_ source: String) -> String) {
            guarded = text("FROM moved")
            plain = text("")
        }
    }

    private func sql(_ text: Text) -> String { run == nil ? text.guarded : text.plain }

    mutating func add(_ batch: WriteBatch, logStart: CommitSequence) throws(HoldfastError) {
        try addRepositories(batch.repositories)
        try addIndexes(batch)
        try addEntities(batch.changes)
        try addEntries(batch.indexEntries)
        try addIdempotency(batch.idempotency)
        try addLog(batch.commitLog)
        if batch.trimCommitLogBelow != nil {
            try add(
                Statement(
                    "DELETE FROM holdfast_log WHERE store = $1 AND sequence < $2", .integer(store),
                    .integer(Int64(clamping: logStart))))
        }
        try addTrimming(batch)
    }

    private mutating func flush() throws(HoldfastError) {
        if isUnwanted?() ?? false { throw Interrupt.cancelled }
        guard let run, !ready.isEmpty else { return }
        _ = try run(ready)
        ready = []
        bytes = 0
    }

    private mutating func add(_ statement: Statement) throws(HoldfastError) {
        ready.append(statement)
        bytes += statement.bytes.count
        if bytes >= Self.partBytes { try flush() }
    }

    /// Hands out elements in parts of so many bytes.
    private mutating func addParts<Element>(
        _ elements: [Element], size: (Element) -> Int, as statement: (ArraySlice<Element>) -> Statement
    ) throws(HoldfastError) {
        var first = 0
        while first < elements.count {
            var (end, bytes) = (first, 0)
            while end < elements.count, end == first || bytes + size(elements[end]) <= Self.partBytes {
                bytes += size(elements[end]) + 32
                end += 1
            }
            try Memory.ask(for: 3 * bytes)
            try add(statement(elements[first..<end]))
            first = end
        }
    }

    // MARK: The tables

    private mutating func addRepositories(_ records: [RepositoryRecord]) throws(HoldfastError) {
        for record in records {
            if record.isDropped {
                try add(
                    Statement(
                        "DELETE FROM holdfast_entity WHERE store = $1 AND repository = $2", .integer(store),
                        .integer(record.id)))
            }
            try add(
                Statement(
                    """
                    INSERT INTO holdfast_repository (store, id, name, key, history) VALUES ($1, $2, $3, $4, $5)
                    ON CONFLICT (store, id) DO UPDATE SET name = excluded.name, history = excluded.history
                    """, .integer(store), .integer(record.id), .text(record.name), .bytes(Array(record.key.utf8)),
                    .bytes(RepositoryHistory.encode(record))))
        }
    }

    private mutating func addIndexes(_ batch: WriteBatch) throws(HoldfastError) {
        for record in batch.indexes {
            try add(
                Statement(
                    """
                    INSERT INTO holdfast_index (store, id, repository, name, definition, state, has_arrays)
                    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (store, id)
                    DO UPDATE SET state = excluded.state, has_arrays = excluded.has_arrays
                    """, .integer(store), .integer(record.id), .integer(record.repository), .text(record.name),
                    .bytes(record.definition), .integer(record.state.rawValue), .boolean(record.hasArrays)))
        }
        for index in batch.removedIndexes {
            try add(
                Statement("DELETE FROM holdfast_index WHERE store = $1 AND id = $2", .integer(store), .integer(index)))
            try add(
                Statement(
                    "DELETE FROM holdfast_entry WHERE store = $1 AND index = $2", .integer(store), .integer(index)))
        }
        for (index, entity) in batch.unindexed {
            try add(
                Statement(
                    "DELETE FROM holdfast_entry WHERE store = $1 AND index = $2 AND id = $3", .integer(store),
                    .integer(index), .bytes(entity.id.bytes)))
        }
    }

    private static let deletions = Text(ofMany: { source in
        """
        DELETE FROM holdfast_entity WHERE ctid = ANY (ARRAY (SELECT f.ctid
        \(source)unnest($2::int8[], $3::bytea[]) AS k (repository, id)
        CROSS JOIN LATERAL (SELECT ctid FROM holdfast_entity e WHERE e.store = $1 AND e.repository = k.repository
        AND e.id = k.id LIMIT 1) AS f))
        """
    })

    private static func upsert(_ rows: String) -> String {
        """
        INSERT INTO holdfast_entity (store, repository, id, version, body) SELECT $1, \(rows)
        ON CONFLICT (store, repository, id) DO UPDATE SET version = excluded.version, body = excluded.body
        """
    }

    private static let upserts = Text(ofMany: { source in
        upsert("c.* \(source)unnest($2::int8[], $3::bytea[], $4::int8[], $5::bytea[]) AS c")
    })

    /// Takes the server a tenth less than an array of one.
    private static let oneUpsert = Text(ofOne: { source in upsert("$2, $3, $4, $5 \(source)") })

    private mutating func addEntities(_ changes: [EntityChange]) throws(HoldfastError) {
        for change in changes where change.key.id.bytes.count > Layout.longestKey {
            throw HoldfastError(
                .invalidID,
                "on a server an id has \(Layout.longestKey) bytes at most, and one has \(change.key.id.bytes.count)")
        }
        let (store, deletions, upserts, oneUpsert) = (
            store, sql(Self.deletions), sql(Self.upserts), sql(Self.oneUpsert)
        )
        try addParts(
            changes.filter { $0.body == nil }, size: { $0.key.id.bytes.count },
            as: { part in
                Statement(
                    deletions, .integer(store), .integers(part.map(\.key.repository)),
                    .byteArrays(part.map(\.key.id.bytes)))
            })
        try addParts(
            changes.filter { $0.body != nil }, size: { $0.key.id.bytes.count + $0.body!.count },
            as: { part in
                if part.count == 1, let change = part.first {
                    return Statement(
                        oneUpsert, .integer(store), .integer(change.key.repository), .bytes(change.key.id.bytes),
                        .integer(Int64(clamping: change.version)), .bytes(change.body!))
                }
                return Statement(
                    upserts, .integer(store), .integers(part.map(\.key.repository)),
                    .byteArrays(part.map(\.key.id.bytes)),
                    .integers(part.map { Int64(clamping: $0.version) }), .byteArrays(part.map { $0.body! }))
            })
    }

    private static let removals = Text(ofMany: { source in
        """
        DELETE FROM holdfast_entry WHERE ctid = ANY (ARRAY (SELECT f.ctid
        \(source)unnest($2::int8[], $3::bytea[], $4::bytea[]) AS k (index, key, id)
        CROSS JOIN LATERAL (SELECT ctid FROM holdfast_entry e WHERE e.store = $1 AND e.index = k.index
        AND e.key = k.key AND e.id = k.id LIMIT 1) AS f))
        """
    })

    private static let additions = Text(ofMany: { source in
        """
        INSERT INTO holdfast_entry (store, index, key, id, repository)
        SELECT $1, c.* \(source)unnest($2::int8[], $3::bytea[], $4::bytea[], $5::int8[]) AS c
        ON CONFLICT (store, index, key, id) DO NOTHING
        """
    })

    /// Of several changes of one entry the last counts, so that what is taken away and what is added need no order.
    private mutating func addEntries(_ changes: [IndexEntryChange]) throws(HoldfastError) {
        struct Entry: Hashable {
            let index: IndexID
            let key: [UInt8]
            let id: EntityID
        }
        let (store, removals, additions) = (store, sql(Self.removals), sql(Self.additions))
        var last: [Entry: Int] = [:]
        if changes.count > 1 {
            for (place, change) in changes.enumerated() {
                last[Entry(index: change.index, key: change.key, id: change.entity.id)] = place
            }
        }
        var (added, removed): ([IndexEntryChange], [IndexEntryChange]) = ([], [])
        for (place, change) in changes.enumerated() {
            if last.count < changes.count, changes.count > 1,
                last[Entry(index: change.index, key: change.key, id: change.entity.id)] != place
            {
                continue
            }
            let size = change.key.count + change.entity.id.bytes.count
            guard change.isRemoval || size <= Layout.longestKey else {
                throw HoldfastError(
                    .invalidEntity,
                    "an entry of an index has \(size) bytes of key and id, and on a server \(Layout.longestKey) at most: "
                        + "shorten the entity's values, or drop the index",
                    detail: [("id", .text(change.entity.id.text))])
            }
            if change.isRemoval { removed.append(change) } else { added.append(change) }
        }
        try addParts(
            removed, size: { $0.key.count + $0.entity.id.bytes.count },
            as: { part in
                Statement(
                    removals, .integer(store), .integers(part.map(\.index)), .byteArrays(part.map(\.key)),
                    .byteArrays(part.map(\.entity.id.bytes)))
            })
        try addParts(
            added, size: { $0.key.count + $0.entity.id.bytes.count },
            as: { part in
                Statement(
                    additions, .integer(store), .integers(part.map(\.index)), .byteArrays(part.map(\.key)),
                    .byteArrays(part.map(\.entity.id.bytes)), .integers(part.map(\.entity.repository)))
            })
    }

    private static let log = Text(ofOne: Statement.logText)

    /// All in one row, as on every engine.
    private mutating func addLog(_ entries: [CommitLogEntry]) throws(HoldfastError) {
        if let newest = entries.last {
            try add(.log(store, newest, CommitLogEncoding.encode(entries, under: newest), sql(Self.log)))
        }
    }

    private static let receipts = Text(ofMany: { source in
        """
        INSERT INTO holdfast_idempotency (store, key, sequence, fingerprint, time, receipt)
        SELECT $1, r.* \(source)unnest($2::bytea[], $3::int8[], $4::int8[], $5::int8[], $6::bytea[]) AS r
        ON CONFLICT (store, key) DO UPDATE SET sequence = excluded.sequence, fingerprint = excluded.fingerprint,
        time = excluded.time, receipt = excluded.receipt
        """
    })

    private mutating func addIdempotency(_ records: [IdempotencyRecord]) throws(HoldfastError) {
        if records.isEmpty { return }
        let (store, receipts) = (store, sql(Self.receipts))
        var last: [[UInt8]: IdempotencyRecord] = [:]
        for record in records { last[record.key] = record }
        let records = last.values.sorted { $0.sequence < $1.sequence }
        try addParts(
            records, size: { $0.receipt.count + $0.key.count },
            as: { part in
                Statement(
                    receipts, .integer(store), .byteArrays(part.map(\.key)),
                    .integers(part.map { Int64(clamping: $0.sequence) }),
                    .integers(part.map { Int64(bitPattern: $0.fingerprint) }),
                    .integers(part.map { Int64(clamping: $0.time) }), .byteArrays(part.map(\.receipt)))
            })
    }

    /// Sequences rise with time, except where a clock jumped back: there a record is kept longer.
    private mutating func addTrimming(_ batch: WriteBatch) throws(HoldfastError) {
        if let time = batch.trimIdempotencyBefore {
            try add(
                Statement(
                    """
                    DELETE FROM holdfast_idempotency WHERE store = $1 AND sequence < coalesce(
                    (SELECT sequence FROM holdfast_idempotency WHERE store = $1 AND time >= $2 ORDER BY sequence LIMIT 1),
                    \(Int64.max))
                    """, .integer(store), .integer(Int64(clamping: time))))
        }
        if let limit = batch.keepIdempotency {
            try add(
                Statement(
                    """
                    DELETE FROM holdfast_idempotency WHERE store = $1 AND key IN (SELECT key FROM holdfast_idempotency
                    WHERE store = $1 ORDER BY sequence DESC OFFSET $2)
                    """, .integer(store), .integer(Int64(clamping: limit))))
        }
    }
}

extension Statement {
    /// A row of the commit log.
    static func log(
        _ store: Int64, _ newest: CommitLogEntry, _ changes: [UInt8], _ text: String = logText(from: "")
    ) -> Statement {
        Statement(
            text, .integer(store), .integer(Int64(clamping: newest.sequence)),
            .integer(Int64(bitPattern: newest.commitIdentifier)), .integer(Int64(clamping: newest.time)),
            .bytes(changes))
    }

    fileprivate static func logText(from source: String) -> String {
        "INSERT INTO holdfast_log (store, sequence, commit_id, time, changes) SELECT $1, $2, $3, $4, $5 \(source)"
    }
}

extension WriteBatch {
    /// Whether one statement, whose parts see nothing of each other, may store it.
    var suitsOneStatement: Bool {
        guard !changesCatalogue, unindexed.isEmpty, trimCommitLogBelow == nil,
            trimIdempotencyBefore == nil, keepIdempotency == nil
        else { return false }
        let bytes =
            changes.reduce(0) { $0 + $1.key.id.bytes.count + ($1.body?.count ?? 0) + 32 }
            + indexEntries.reduce(0) { $0 + $1.key.count + $1.entity.id.bytes.count + 32 }
        return bytes < BatchStatements.partBytes
    }
}
