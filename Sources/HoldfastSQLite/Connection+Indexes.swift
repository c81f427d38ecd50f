import CSQLite
import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Indexes, as snapshots and write transactions use them.
extension Connection {
    /// Those in the catalogue's table.
    func readIndexes() throws(HoldfastError) -> [IndexRecord] {
        let statement = try statement(.indexes)
        defer { statement.reset() }
        var records: [IndexRecord] = []
        while try statement.step() {
            guard let id = statement.integer(0), let repository = statement.integer(1), let name = statement.text(2),
                let definition = statement.text(3),
                let state = statement.integer(4).flatMap(IndexRecord.State.init(rawValue:)),
                let hasArrays = statement.integer(5)
            else { throw corrupt("the catalogue of indexes") }
            records.append(
                IndexRecord(
                    id: id, repository: repository, name: String(decoding: name, as: UTF8.self),
                    definition: Array(definition), state: state, hasArrays: hasArrays != 0))
        }
        return records
    }

    /// As `StorageSnapshot.scan`.
    func scan(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        guard let cached = scan.cached, scan.parts != .key else { return try walk(scan, body) }
        var keys = scan
        keys.parts = .key
        var lookup = CachedLookup(cached, ofWhatIsThere: true)
        try walk(keys) { key, entry throws(HoldfastError) in
            try lookup.lend(key, entry, on: self) { view throws(HoldfastError) in
                try body(scan.parts == .entity ? UnsafeRawBufferPointer(start: nil, count: 0) : key, view)
            }
        }
        guard let behind = lookup.behind else { return }
        var rest = scan
        rest.after = behind
        try walk(rest, body)
    }

    private func walk(
        _ scan: IndexScan, _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        var range = scan.range
        if let after = scan.after {
            // What is left of its key, then the other keys: a comparison of both at once would be made for every row.
            guard try walk(.rest(of: after), scan, body) else { return }
            if scan.isReversed { range.upper = after.key } else { range.lower = after.key + [0] }
        }
        _ = try walk(.keys(range), scan, body)
    }

    /// A stretch of an index that one seek finds.
    private enum Stretch {
        case keys(KeyRange)
        /// The entries behind this one, with its key.
        case rest(of: IndexScan.Position)
    }

    /// Answers whether `body` wants more.
    private func walk(
        _ stretch: Stretch, _ scan: IndexScan,
        _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        let bounds: ([UInt8], [UInt8])
        let isRest: Bool
        switch stretch {
        case .keys(let range): (bounds, isRest) = ((range.lower, range.upper), false)
        case .rest(let position): (bounds, isRest) = ((position.key, position.id.bytes), true)
        }
        let statement = try statement(
            .walk(isRest: isRest, isReversed: scan.isReversed, parts: scan.parts), of: scan.index)
        defer { statement.reset() }
        return try bounds.0.withBytes { first throws(HoldfastError) in
            try bounds.1.withBytes { second throws(HoldfastError) in
                try statement.bind(1, blob: first)
                if isRest { try statement.bind(2, text: second) } else { try statement.bind(2, blob: second) }
                while try statement.step() {
                    guard let id = statement.text(0) else { throw corrupt("an index") }
                    let view: EntityView
                    if scan.parts == .key {
                        guard let number = statement.integer(1) else { throw corrupt("an index") }
                        view = EntityView(id: id, number: number)
                    } else {
                        view = statement.entity(id, version: 1, text: 2)
                    }
                    var key = UnsafeRawBufferPointer(start: nil, count: 0)
                    if scan.parts != .entity {
                        guard let found = statement.blob(scan.parts == .key ? 2 : 3) else { throw corrupt("an index") }
                        key = found
                    }
                    guard try body(key, view) else { return false }
                }
                return true
            }
        }
    }

    /// As `StorageWrite.ids`.
    func ids(
        under key: [UInt8], of index: IndexID, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        let statement = try statement(.ids, of: index)
        defer { statement.reset() }
        try key.withBytes { key throws(HoldfastError) in
            try statement.bind(1, blob: key)
            while try statement.step() {
                guard let id = statement.text(0) else { throw corrupt("an index") }
                guard try body(id) else { return }
            }
        }
    }

    /// As `StorageWrite.lastKeys`.
    func lastKeys(
        in ranges: [KeyRange], of index: IndexID,
        _ body: (Int, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        let statement = try statement(.lastKey, of: index)
        for (place, range) in ranges.enumerated() {
            defer { statement.reset() }
            try range.lower.withBytes { lower throws(HoldfastError) in
                try range.upper.withBytes { upper throws(HoldfastError) in
                    try statement.bind(1, blob: lower)
                    try statement.bind(2, blob: upper)
                    guard try statement.step() else { return }
                    guard let key = statement.blob(0) else { throw corrupt("an index") }
                    try body(place, key)
                }
            }
        }
    }

    /// As `StorageWrite.removeEntries`.
    func removeEntries(of index: IndexID, limit: Int) throws(HoldfastError) -> Bool {
        let statement = try statement(.clear, of: index)
        try statement.bind(1, Int64(limit))
        try statement.run("writing")
        return sqlite3_changes(handle) < limit
    }

    func applyIndexes(_ batch: WriteBatch) throws(HoldfastError) {
        for record in batch.indexes {
            try execute(Schema.entries(of: record.id), "writing")
            let statement = try statement(.setIndex)
            defer { statement.reset() }
            try Array(record.name.utf8).withBytes { name throws(HoldfastError) in
                try record.definition.withBytes { definition throws(HoldfastError) in
                    try statement.bind(1, record.id)
                    try statement.bind(2, record.repository)
                    try statement.bind(3, text: name)
                    try statement.bind(4, text: definition)
                    try statement.bind(5, record.state.rawValue)
                    try statement.bind(6, record.hasArrays ? 1 : 0)
                    _ = try statement.step("writing")
                }
            }
        }
        for index in batch.removedIndexes {
            let statement = try statement(.removeIndex)
            try statement.bind(1, index)
            try statement.run("writing")
            forgetStatements(of: index)
            try execute("DROP TABLE holdfast_index_\(index)", "writing")
        }
        for (index, entity) in batch.unindexed {
            try entity.id.bytes.withBytes { id throws(HoldfastError) in
                let statement = try statement(.removeAll, of: index)
                defer { statement.reset() }
                try statement.bind(1, text: id)
                _ = try statement.step("writing")
            }
        }
        var rest = batch.indexEntries[...]
        while let first = rest.first {
            if batch.isUnwanted?() ?? false { throw Interrupt.cancelled }
            let rows = rest.prefix(indexRows)
            if rows.count == indexRows,
                rows.allSatisfy({ $0.number != nil && !$0.isRemoval && $0.index == first.index })
            {
                try insert(rows, into: first.index)
                rest = rest.dropFirst(rows.count)
            } else {
                try apply(first)
                rest = rest.dropFirst()
            }
        }
    }

    /// Many entries in order by one statement, because SQLite begins to look for the place of each where the last one is.
    private func insert(_ changes: ArraySlice<IndexEntryChange>, into index: IndexID) throws(HoldfastError) {
        let bytes = changes.reduce(into: [UInt8]()) { $0 += $1.key + $1.entity.id.bytes }
        let statement = try statement(.insertMany(changes.count), of: index)
        defer { statement.reset() }
        try bytes.withBytes { bytes throws(HoldfastError) in
            var rest = bytes[...]
            func take(_ count: Int) -> UnsafeRawBufferPointer {
                defer { rest = rest.dropFirst(count) }
                return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
            }
            var parameter: Int32 = 0
            for change in changes {
                try statement.bind(parameter + 1, blob: take(change.key.count))
                try statement.bind(parameter + 2, text: take(change.entity.id.bytes.count))
                try statement.bind(parameter + 3, change.number!)
                parameter += 3
            }
            _ = try statement.step("writing")
        }
    }

    private func apply(_ change: IndexEntryChange) throws(HoldfastError) {
        let query = change.isRemoval ? IndexQuery.remove : change.number == nil ? .insert : .insertNumbered
        let statement = try statement(query, of: change.index)
        defer { statement.reset() }
        try change.key.withBytes { key throws(HoldfastError) in
            try change.entity.id.bytes.withBytes { id throws(HoldfastError) in
                try statement.bind(1, blob: key)
                try statement.bind(2, text: id)
                if !change.isRemoval { try statement.bind(3, change.number ?? change.entity.repository) }
                _ = try statement.step("writing")
            }
        }
    }
}

/// The statements on an index's own table, which a connection keeps prepared.
enum IndexQuery {
    /// All keys of a range, or the rest of one key.
    case walk(isRest: Bool, isReversed: Bool, parts: IndexScan.Parts)
    case ids, insert, insertNumbered, remove, removeAll, clear, lastKey
    /// So many rows; of one connection always as many.
    case insertMany(Int)

    static let count = 20

    var number: Int {
        switch self {
        case .walk(let isRest, let isReversed, let parts): (isRest ? 1 : 0) + (isReversed ? 2 : 0) + parts.rawValue * 4
        case .ids: 12
        case .insert: 13
        case .insertMany: 14
        case .remove: 15
        case .clear: 16
        case .removeAll: 17
        case .insertNumbered: 18
        case .lastKey: 19
        }
    }

    func sql(_ index: IndexID) -> String {
        let table = "holdfast_index_\(index)"
        switch self {
        case .walk(let isRest, let isReversed, let parts):
            let direction = isReversed ? "DESC" : "ASC"
            // SQLite works out each column of each row. CROSS JOIN keeps the order of the loops.
            let columns =
                switch parts {
                case .key: "i.entity, i.key"
                case .entity: "e.version, e.body"
                case .keyAndEntity: "e.version, e.body, i.key"
                }
            return "SELECT i.id, \(columns)"
                + " FROM \(table) AS i"
                + (parts == .key ? "" : " CROSS JOIN holdfast_entity AS e ON e.number = i.entity")
                + (isRest
                    ? " WHERE i.key = ?1 AND i.id \(isReversed ? "<" : ">") ?2" : " WHERE i.key >= ?1 AND i.key < ?2")
                + " ORDER BY i.key \(direction), i.id \(direction)"
        case .ids: return "SELECT id FROM \(table) WHERE key = ?1"
        case .insert:
            return "INSERT OR REPLACE INTO \(table) (key, id, entity) "
                + "SELECT ?1, ?2, number FROM holdfast_entity WHERE repository = ?3 AND id = ?2"
        case .insertNumbered: return "INSERT OR REPLACE INTO \(table) (key, id, entity) VALUES (?1, ?2, ?3)"
        case .lastKey:
            return "SELECT key FROM \(table) WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT 1"
        case .insertMany(let rows):
            return "INSERT OR REPLACE INTO \(table) (key, id, entity) VALUES "
                + Array(repeating: "(?, ?, ?)", count: rows).joined(separator: ", ")
        case .remove: return "DELETE FROM \(table) WHERE key = ?1 AND id = ?2"
        // Of one entity, whatever its keys were: a walk over all of the index.
        case .removeAll: return "DELETE FROM \(table) WHERE id = ?1"
        case .clear:
            return "DELETE FROM \(table) WHERE (key, id) IN (SELECT key, id FROM \(table) ORDER BY key, id LIMIT ?1)"
        }
    }
}
