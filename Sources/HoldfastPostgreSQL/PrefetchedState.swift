internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What a write transaction has asked for when it began, in one round trip.
struct PrefetchedState {
    fileprivate struct Entity {
        let version: CommitSequence
        let rows: Rows
        let row: Int
    }

    fileprivate struct IndexKey: Hashable {
        let index: IndexID
        let key: [UInt8]
    }

    /// Nil where there is none.
    fileprivate var entities: [EntityKey: Entity?] = [:]
    fileprivate var records: [[UInt8]: IdempotencyRecord?] = [:]
    fileprivate var holders: [IndexKey: [[UInt8]]] = [:]

    /// Lends those that are known, and answers the places of those that are not.
    func fetch(
        _ keys: [EntityKey], _ body: (Int, EntityView) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> [Int] {
        if entities.isEmpty { return Array(keys.indices) }
        var missing: [Int] = []
        for (place, key) in keys.enumerated() {
            guard let known = entities[key] else {
                missing.append(place)
                continue
            }
            guard let known else { continue }
            try key.id.bytes.withBytes { id throws(HoldfastError) in
                try body(
                    place, EntityView(id: id, version: known.version, body: known.rows.bytes(known.row, 2)))
            }
        }
        return missing
    }

    /// Nil unless all are known.
    func idempotencyRecords(_ keys: [[UInt8]]) -> [IdempotencyRecord?]? {
        var found: [IdempotencyRecord?] = []
        for key in keys {
            guard let record = records[key] else { return nil }
            found.append(record)
        }
        return found
    }

    func ids(under key: [UInt8], of index: IndexID) -> [[UInt8]]? { holders[IndexKey(index: index, key: key)] }
}

extension Connection {
    func prefetch(
        _ needs: WriteNeeds, of store: Int64, _ limits: Limits
    ) throws(HoldfastError) -> PrefetchedState {
        var state = PrefetchedState()
        var statements: [Statement] = []
        var parts: [ArraySlice<EntityKey>] = []
        var first = 0
        while first < needs.entities.count {
            let part = needs.entities[first..<min(needs.entities.count, first + limits.serverRows)]
            parts.append(part)
            statements.append(.entities(part, of: store))
            first += part.count
        }
        if !needs.idempotencyKeys.isEmpty { statements.append(.idempotency(needs.idempotencyKeys, of: store)) }
        if !needs.indexKeys.isEmpty {
            statements.append(
                Statement(
                    """
                    SELECT k.place, e.id FROM unnest($2::int8[], $3::bytea[]) WITH ORDINALITY AS k (index, key, place)
                    CROSS JOIN LATERAL (SELECT id FROM holdfast_entry f WHERE f.store = $1 AND f.index = k.index
                    AND f.key = k.key ORDER BY f.id LIMIT \(limits.serverRows)) AS e
                    """, .integer(store), .integers(needs.indexKeys.map(\.index.id)),
                    .byteArrays(needs.indexKeys.map(\.key))
                ).repeated)
        }
        if statements.isEmpty { return state }
        var answers = try run(statements, "reading from")[...]
        for part in parts {
            for key in part { state.entities.updateValue(nil, forKey: key) }
            let rows = answers.removeFirst()
            for row in 0..<rows.count {
                let key = part[part.startIndex + Int(rows.integer(row, 0)) - 1]
                state.entities[key] = .some(
                    PrefetchedState.Entity(
                        version: CommitSequence(clamping: rows.integer(row, 1)), rows: rows, row: row))
            }
        }
        if !needs.idempotencyKeys.isEmpty {
            for key in needs.idempotencyKeys { state.records.updateValue(nil, forKey: key) }
            let rows = answers.removeFirst()
            for row in 0..<rows.count {
                let key = needs.idempotencyKeys[Int(rows.integer(row, 0)) - 1]
                state.records[key] = .some(IdempotencyRecord(key, in: rows, row))
            }
        }
        guard let rows = answers.first else { return state }
        let keys = needs.indexKeys.map { PrefetchedState.IndexKey(index: $0.index.id, key: $0.key) }
        for key in keys { state.holders[key] = [] }
        for row in 0..<rows.count {
            state.holders[keys[Int(rows.integer(row, 0)) - 1]]!.append(Array(rows.bytes(row, 1)))
        }
        // Of a key with more ids than were asked for not all are known.
        for (key, ids) in state.holders where ids.count >= limits.serverRows { state.holders[key] = nil }
        return state
    }
}
