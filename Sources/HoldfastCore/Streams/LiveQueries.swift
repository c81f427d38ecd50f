internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The live queries of one repository, and which of them a change can concern: those that hold the entity already, and
/// those whose filter may hold for its new text. Most filters hold one of their paths to a value or a range; such a query
/// is met only where that path's value is the one, or in the range. So a change that concerns none of many queries
/// costs a lookup for each path that some of them look at, not a match for each query.
///
/// Confined to the follower.
struct LiveQueries {
    struct Holder {
        let query: LiveQuery
        let row: ResultRow
    }

    /// The queries that hold one path to a value, or to a range.
    private struct Guarded {
        let definition: IndexDefinition
        var byValue: [[UInt8]: NumberedList<LiveQuery>] = [:]
        var byRange = RangeTree()
    }

    private var numbered = NumberedList<LiveQuery>()
    private var added: UInt64 = 0
    private(set) var holders: [EntityID: NumberedList<Holder>] = [:]
    private var guarded: [Guarded] = []
    /// Those that may hold for any text.
    private var unguarded = NumberedList<LiveQuery>()

    var all: some Sequence<LiveQuery> { numbered.all.lazy.map(\.element) }
    var isEmpty: Bool { numbered.isEmpty }

    // MARK: Who is here

    mutating func add(_ query: LiveQuery) {
        added += 1
        query.number = added
        numbered.append(query.number, query)
        hold(query)
        guard let condition = Self.condition(of: query.filter, in: query.repository) else {
            unguarded.append(query.number, query)
            return
        }
        let index: Int
        if let known = guarded.firstIndex(where: { $0.definition == condition.definition }) {
            index = known
        } else {
            index = guarded.count
            guarded.append(Guarded(definition: condition.definition))
        }
        if !condition.isValues { guarded[index].byRange.add(condition.ranges, query) }
        for range in condition.ranges where condition.isValues {
            guarded[index].byValue[range.lower, default: NumberedList()].insert(query.number, query)
        }
    }

    mutating func remove(_ query: LiveQuery) {
        numbered.remove(query.number)
        release(query)
        unguarded.remove(query.number)
        guard let condition = Self.condition(of: query.filter, in: query.repository),
            let index = guarded.firstIndex(where: { $0.definition == condition.definition })
        else { return }
        for range in condition.ranges where condition.isValues {
            guarded[index].byValue[range.lower]?.remove(query.number)
            if guarded[index].byValue[range.lower]?.isEmpty == true { guarded[index].byValue[range.lower] = nil }
        }
        guarded[index].byRange.remove(query)
        if guarded[index].byValue.isEmpty && guarded[index].byRange.isEmpty { guarded.remove(at: index) }
    }

    private mutating func hold(_ query: LiveQuery) {
        for (id, row) in query.identifiers { hold(id, query, row) }
    }

    private mutating func hold(_ id: EntityID, _ query: LiveQuery, _ row: ResultRow) {
        holders[id, default: NumberedList()].insert(query.number, Holder(query: query, row: row))
    }

    private mutating func release(_ query: LiveQuery) {
        for (id, _) in query.identifiers { release(id, query) }
    }

    private mutating func release(_ id: EntityID, _ query: LiveQuery) {
        holders[id]?.remove(query.number)
        if holders[id]?.isEmpty == true { holders[id] = nil }
    }

    /// Reads a query's result anew.
    mutating func read(_ query: LiveQuery, from snapshot: any StorageSnapshot) throws(HoldfastError) {
        release(query)
        defer { hold(query) }
        try query.read(from: snapshot)
    }

    /// The value, or values, or range to which a filter holds one of its paths; as an index over that path would find it.
    private static func condition(
        of filter: Filter, in repository: RepositoryID
    ) -> (definition: IndexDefinition, ranges: [KeyRange], isValues: Bool)? {
        var indexes: [Index] = []
        for case .path(let path, _) in filter.conjuncts {
            indexes.append(Index(imagined: IndexDefinition(path), in: repository))
        }
        let parts = Plan.best(for: filter, among: indexes).parts
        guard parts.count == 1, let index = parts[0].index, let tests = parts[0].bounds.first?.tests else { return nil }
        let isValues =
            switch tests.first {
            case .equal, .in: true
            default: false
            }
        return (index.definition, parts[0].ranges, isValues)
    }

    // MARK: Changes

    /// Tells those that a change concerns, and answers whose rows are others now. `failed` hears of one that cannot go on.
    mutating func follow(
        _ id: EntityID, _ body: [UInt8]?, _ version: CommitSequence, at sequence: CommitSequence,
        failed: (LiveQuery, HoldfastError) -> Void
    ) -> [LiveQuery] {
        var touched: [LiveQuery] = []
        let holding = holders[id] ?? NumberedList()
        for (_, holder) in holding.all where holder.query.sequence < sequence {
            follow(id, body, version, holder.query, holder.row, &touched, failed)
        }
        guard let body else { return touched }
        for query in candidates(body)
        where query.sequence < sequence && holding[query.number] == nil {
            follow(id, body, version, query, nil, &touched, failed)
        }
        return touched
    }

    private mutating func follow(
        _ id: EntityID, _ body: [UInt8]?, _ version: CommitSequence, _ query: LiveQuery, _ old: ResultRow?,
        _ touched: inout [LiveQuery], _ failed: (LiveQuery, HoldfastError) -> Void
    ) {
        do throws(HoldfastError) {
            guard let effect = try query.follow(id, body, version, old: old) else { return }
            if old != nil { release(id, query) }
            if let row = effect.row { hold(id, query, row) }
            if let dropped = effect.dropped { release(dropped.id, query) }
            touched.append(query)
        } catch {
            failed(query, error)
        }
    }

    /// Each once.
    private func candidates(_ body: [UInt8]) -> [LiveQuery] {
        var found = unguarded.all.map(\.element)
        for group in guarded {
            let keys: IndexKeys?
            do throws(HoldfastError) {
                keys = try body.withBytes { body throws(HoldfastError) in try IndexKeys(of: body, for: group.definition)
                }
            } catch { keys = nil }
            guard let keys else {
                // Too many values to look each up.
                found += group.byValue.values.lazy.flatMap { $0.all.map(\.element) }
                found += group.byRange.all
                continue
            }
            for key in keys.keys {
                if let queries = group.byValue[key] { found += queries.all.lazy.map(\.element) }
                group.byRange.find(key, &found)
            }
        }
        guard found.count > 1 else { return found }
        var seen: Set<ObjectIdentifier> = []
        return found.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
}
