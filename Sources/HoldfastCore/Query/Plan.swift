internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// How a query finds its candidates: those in some ranges of ids, or of an index; or what several of these lead to
/// together. The ranges hold every entity that matches, and perhaps others; where they hold no others, the filter need
/// not be asked.
struct Plan: Sendable {
    /// Walked one behind the other.
    let parts: [Part]
    /// Whether the ranges imply the filter.
    let isExact: Bool
    /// Whether the candidates come in the order that the query asks for.
    let isSorted: Bool
    /// By which those that are found are scored, where that is asked for.
    var ranking: TextRanking?
    /// Whether others match, too, that are scored less.
    var isOfTheBest = false

    struct Part: Sendable {
        /// Nil for the entities themselves, by their ids.
        let index: Index?
        /// In order, none overlapping another. Of an index's keys, or of ids.
        let ranges: [KeyRange]
        var isReversed = false
        /// Whether all entities are walked as they lie in the storage, and not by their ids.
        var isAsTheyLie = false
        /// Whether an entity may be met more than once.
        var meetsTwice = false
        /// The index's field of which each value is wanted once; nil where every entry is.
        var wantedField: Int?
        /// What the ranges stand for, as conditions on the index's paths: for `explain`.
        var bounds: [(path: Path, tests: [Filter.Test])] = []
        /// What a text index is asked for, instead of ranges.
        var search: WordSearch?
        /// What it has found: the numbers of its documents, in order.
        var documents: [UInt64]?

        /// Whether no entities are walked but those of listed ids.
        fileprivate var seeksNoRange: Bool {
            index != nil || ranges.allSatisfy { EntityScan(0, $0).onlyID != nil }
        }

        /// Whether every entity is a candidate.
        var isEverything: Bool { index == nil && ranges == [.all] }
    }

    static func everything(_ filter: Filter) -> Plan {
        Plan(parts: [Part(index: nil, ranges: [.all])], isExact: filter.isAll, isSorted: false)
    }

    var isReversed: Bool { parts[0].isReversed }
    var meetsTwice: Bool { parts.count > 1 || parts[0].meetsTwice }

    /// Whether the candidates come in the order of their ids, or against it.
    var isByID: Bool { parts.count == 1 && parts[0].index == nil && !parts[0].isAsTheyLie }

    /// Whether they come as they lie in the storage.
    var isAsTheyLie: Bool { parts[0].isAsTheyLie }

    /// The same, where the filter has to be asked.
    var asked: Plan {
        var plan = Plan(parts: parts, isExact: false, isSorted: isSorted)
        plan.ranking = ranking
        return plan
    }

    /// The same, as they lie.
    var asTheyLie: Plan {
        var part = parts[0]
        part.isAsTheyLie = true
        var plan = Plan(parts: [part], isExact: isExact, isSorted: isSorted)
        plan.ranking = ranking
        return plan
    }

    /// Whether an index has all that the filter asks.
    var isOfKeysAlone: Bool { isExact && parts.allSatisfy { $0.index != nil } }

    /// The plan that looks at the fewest candidates, as far as that can be told from the filter alone: that of listed ids;
    /// the index with the longest run of fields held to single values, then one with a range behind them, or a range of
    /// ids; and where none helps, but one for each alternative of a `$or`, those. `sort` is what the query asks for, empty if
    /// nothing, and `indexSort` what an index may come in; `isLimited` tells whether it ends early, which makes walking a
    /// whole index in order worth while. `key` is what the id is called where the repository's own order may be walked;
    /// `seeksIDs` as of a snapshot.
    static func best(
        for filter: Filter, among indexes: [Index], key: String? = nil, seeksIDs: Bool = true,
        idsAreTexts: Bool = false, sort: [SortOrder.Field] = [], indexSort: [SortOrder.Field] = [],
        isLimited: Bool = false
    ) -> Plan {
        let ready = indexes.filter { $0.record.state == .ready }
        var (best, score) = best(
            for: filter, ready, key, idsAreTexts, sort: sort, indexSort: indexSort, isLimited: isLimited)
        if let alternatives = alternatives(of: filter, ready, key, seeksIDs), alternatives.score > score {
            best = alternatives.plan
        }
        return best
    }

    private static func best(
        for filter: Filter, _ indexes: [Index], _ key: String?, _ idsAreTexts: Bool = false,
        sort: [SortOrder.Field] = [], indexSort: [SortOrder.Field] = [], isLimited: Bool = false
    ) -> (plan: Plan, score: Int) {
        let ids = key.map { IDPlan(filter, key: $0, idsAreTexts, sort: sort) }
        var best = ids?.plan ?? everything(filter)
        var bestScore = ids?.score ?? 0
        if best.isSorted && bestScore > 0 { bestScore += 1 }
        let wanted = IndexOrder(indexSort, key, idsAreTexts: ids?.areTexts ?? false)
        for index in indexes where index.definition.text == nil {
            let choice = IndexChoice(index, for: filter, sort: wanted)
            var score = choice.score
            if score == 0 && !(choice.plan.isSorted && isLimited) { continue }
            if choice.plan.isSorted { score += 1 }
            if score > bestScore {
                best = choice.plan
                bestScore = score
            }
        }
        if bestScore < textScore, let plan = text(of: filter, indexes) { (best, bestScore) = (plan, textScore) }
        return (best, bestScore)
    }

    /// As that of a field held to one value: words are as selective as values are.
    private static let textScore = 2

    /// Whether a text index has to be asked before it can be walked.
    var asksForText: Bool { parts.contains { $0.search != nil } }

    /// With what a text index has found for its one search. Where that is all that the filter asks, it need not be asked.
    func found(_ documents: [UInt64], isExact: Bool, for filter: Filter) -> Plan {
        let parts = parts.map { part in
            var part = part
            if part.search != nil { part.documents = documents }
            return part
        }
        var plan = Plan(
            parts: parts, isExact: isExact && parts.count == 1 && filter.conjuncts.count == 1, isSorted: isSorted)
        plan.ranking = ranking
        return plan
    }

    /// By the documents that a text index finds.
    private static func text(of filter: Filter, _ indexes: [Index]) -> Plan? {
        for case .text(let search) in filter.conjuncts {
            guard let index = indexes.first(where: { $0.definition.text == search.definition }) else { return nil }
            let part = Plan.Part(index: index, ranges: [], search: search)
            return Plan(parts: [part], isExact: false, isSorted: false)
        }
        return nil
    }

    /// Of one of the filter's `$or`: what the best plans for each alternative, with what must hold beside it, lead to.
    /// The score is that of the worst; nil where one has to look at every entity.
    private static func alternatives(
        of filter: Filter, _ indexes: [Index], _ key: String?, _ seeksIDs: Bool
    ) -> (plan: Plan, score: Int)? {
        var best: (plan: Plan, score: Int)?
        let conjuncts = filter.conjuncts
        let limit = Limits.inForce.planRanges
        for (number, node) in conjuncts.enumerated() {
            guard case .any(let nodes) = node, nodes.count <= limit else { continue }
            let rest = conjuncts.enumerated().filter { $0.offset != number }.map(\.element)
            var parts: [Part] = []
            var ranges = 0
            var worst = Int.max
            for node in nodes where worst > best?.score ?? 0 && ranges <= limit {
                let (plan, score) = self.best(for: Filter(root: .conjunction([node] + rest)), indexes, key)
                worst = min(worst, seeksIDs || plan.parts.allSatisfy(\.seeksNoRange) ? score : 0)
                parts += plan.parts
                ranges += plan.parts.reduce(0) { $0 + $1.ranges.count }
            }
            if worst > best?.score ?? 0, ranges <= limit, !parts.isEmpty {
                best = (Plan(parts: parts, isExact: false, isSorted: false), worst)
            }
        }
        return best
    }
}

extension Plan.Part {
    /// Lends the entities in ranges of ids until `body` answers false. `after` is the id behind which an earlier walk goes
    /// on, and `number` the one where they come as they lie. Those that do not match the filter may be left out. `cached`:
    /// where entities in ranges of ids may be before the storage is asked.
    func walk(
        _ repository: RepositoryID, on snapshot: any StorageSnapshot, cached: CachedWalk?, after: EntityID?,
        behind number: Int64, filter: Filter,
        _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        if isAsTheyLie {
            var scan = EntityScan(repository, filter: filter)
            scan.behindNumber = number
            return try snapshot.scan(scan, body)
        }
        var goesOn = true
        for range in isReversed ? ranges.reversed() : ranges where goesOn {
            guard let rest = range.rest(behind: after, isReversed: isReversed) else { continue }
            var scan = EntityScan(repository, rest, isReversed: isReversed, filter: filter)
            scan.cached = cached
            try snapshot.scan(scan) { view throws(HoldfastError) in
                goesOn = try body(view)
                return goesOn
            }
        }
    }

    /// Lends the candidates in ranges of an index until `body` answers false. `after` is the entry behind which an earlier
    /// walk goes on. With `keysAlone` the entities have no texts. `cached`: where entities may be before the storage is asked.
    func walk(
        _ index: Index, of repository: RepositoryID, on snapshot: any StorageSnapshot, keysAlone: Bool,
        cached: CachedWalk?, after: IndexScan.Position?,
        _ body: (UnsafeRawBufferPointer, EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        if let documents {
            let texts = TextDocuments(index: index, snapshot: snapshot)
            return try texts.walk(documents, keysAlone: keysAlone, after: after, body)
        }
        var goesOn = true
        for range in isReversed ? ranges.reversed() : ranges where goesOn {
            // Those that an earlier walk has finished.
            if let after,
                isReversed ? !range.lower.precedes(after.key, orEquals: true) : !after.key.precedes(range.upper)
            {
                continue
            }
            let isBegun = after.map { range.lower.precedes($0.key, orEquals: true) && $0.key.precedes(range.upper) }
            var scan = IndexScan(
                index: index.record.id, repository: repository, range: range, isReversed: isReversed,
                after: isBegun == true ? after : nil,
                parts: keysAlone ? .key : index.hasArrays ? .keyAndEntity : .entity)
            scan.cached = cached
            try snapshot.scan(scan) { key, view throws(HoldfastError) in
                goesOn = try body(key, view)
                return goesOn
            }
        }
    }

    /// Whether a walk comes to `next` after `position`.
    func goes(from position: IndexScan.Position, to next: IndexScan.Position) -> Bool {
        let (first, second) = isReversed ? (next, position) : (position, next)
        return first.key == second.key ? first.id < second.id : first.key.precedes(second.key)
    }
}

extension Path {
    /// Whether there may be an array through which both go.
    fileprivate func mayShareArray(with other: Path) -> Bool { parts[0].name == other.parts[0].name }
}

extension [UInt8] {
    func precedes(_ other: [UInt8], orEquals: Bool = false) -> Bool {
        let order = withBytes { left in other.withBytes { compareBytes(left, $0) } }
        return order < 0 || orEquals && order == 0
    }
}

/// What one index can do for a filter.
private struct IndexChoice {
    /// Twice the fields held to single values, plus one for a range behind them.
    private(set) var score = 0
    let plan: Plan

    init(_ index: Index, for filter: Filter, sort: IndexOrder?) {
        let conjuncts = filter.conjuncts
        var implied: Set<Int> = []
        var prefixes: [[UInt8]] = [[]]
        var bounds: [(path: Path, tests: [Filter.Test])] = []
        var range: FieldRange?
        // How many fields are held to one value each, from the first on.
        var fixed = 0
        for field in index.definition.fields {
            // An entry tells of one element of an array, and the conditions may be met by several.
            if index.hasArrays, bounds.contains(where: { $0.path.mayShareArray(with: field.path) }) { break }
            let conditions = conjuncts.enumerated().compactMap { number, node -> (number: Int, test: Filter.Test)? in
                guard case .path(let path, let test) = node, path == field.path else { return nil }
                return (number, test)
            }
            if let (number, values) = Self.values(conditions, index, times: prefixes.count) {
                prefixes = prefixes.flatMap { prefix in
                    values.map { value in
                        var key = OrderedKey()
                        key.append(value, descending: field.descending)
                        return prefix + key.bytes
                    }
                }
                if values.count == 1, fixed == bounds.count { fixed += 1 }
                implied.insert(number)
                bounds.append((field.path, [conditions.first { $0.number == number }!.test]))
                score += 2
                continue
            }
            range = FieldRange(conditions, field, hasArrays: index.hasArrays)
            if let range {
                implied.formUnion(range.numbers)
                bounds.append((field.path, range.tests))
                score += 1
            }
            break
        }
        var ranges = prefixes.map { prefix in
            KeyRange(
                lower: prefix + (range?.lower ?? []),
                upper: range?.upper.map { prefix + $0 } ?? KeyRange.successor(of: prefix))
        }
        ranges.removeAll { !$0.lower.precedes($0.upper) }
        ranges.sort { $0.lower.precedes($1.lower) }

        let direction =
            ranges.count <= 1 && !index.hasArrays ? sort?.direction(in: index, fixed: fixed) : nil
        let part = Plan.Part(
            index: index, ranges: ranges, isReversed: direction == .reversed,
            meetsTwice: index.hasArrays && (ranges.count > 1 || fixed < index.definition.fields.count), bounds: bounds)
        plan = Plan(parts: [part], isExact: implied.count == conjuncts.count, isSorted: direction != nil)
    }

    /// The values that a field is held to by one of the conditions, with that condition's number.
    private static func values(
        _ conditions: [(number: Int, test: Filter.Test)], _ index: Index, times count: Int
    ) -> (Int, [JSONValue])? {
        for (number, test) in conditions {
            if case .equal(let value) = test, isIndexed(value, index) { return (number, [value]) }
        }
        for (number, test) in conditions {
            if case .in(let set) = test, set.values.count <= Limits.inForce.planRanges / count,
                set.values.allSatisfy({ isIndexed($0, index) })
            {
                return (number, set.values)
            }
        }
        return nil
    }

    /// Whether what equals the value is found under it. An array as a whole is not in an index, and where there are arrays
    /// null stands for more than what leads nowhere.
    private static func isIndexed(_ value: JSONValue, _ index: Index) -> Bool {
        switch value {
        case .array: false
        case .null: !index.hasArrays
        default: true
        }
    }

}

/// An order in which indexes can be walked: by some fields, and then by the ids, as entries with the same key are.
private struct IndexOrder {
    /// Those before the id.
    private let fields: ArraySlice<SortOrder.Field>
    /// Where nothing else is asked for, the order of equal entities is by their ids as the first field is.
    private let isReversed: Bool

    enum Direction { case forward, reversed }

    /// Nil where there is none.
    init?(_ sort: [SortOrder.Field], _ key: String?, idsAreTexts: Bool) {
        guard let first = sort.first else { return nil }
        let id = key.flatMap { key in sort.firstIndex { $0.path.leads(to: key) } }
        if id != nil && !idsAreTexts { return nil }
        fields = sort[..<(id ?? sort.count)]
        isReversed = id.map { sort[$0].descending } ?? first.descending
    }

    /// How an index has to be walked, of which the first fields are held to one value each; nil where it has another order.
    func direction(in index: Index, fixed: Int) -> Direction? {
        let rest = index.definition.fields.dropFirst(fixed)
        guard fields.count == rest.count else { return nil }
        for (wanted, field) in zip(fields, rest)
        where wanted.path != field.path || (wanted.descending != field.descending) != isReversed { return nil }
        return isReversed ? .reversed : .forward
    }
}

/// The codes of one field between which `$gt`, `$gte`, `$lt` and `$lte` of one type lie; or those that begin as the texts
/// do that a `$regex` matches.
private struct FieldRange {
    private(set) var lower: [UInt8]
    private(set) var upper: [UInt8]?
    /// Of the conditions that the range implies.
    private(set) var numbers: [Int] = []
    private(set) var tests: [Filter.Test] = []

    init?(_ conditions: [(number: Int, test: Filter.Test)], _ field: SortOrder.Field, hasArrays: Bool) {
        var kind: JSONKind?
        var low: [UInt8]?
        var high: [UInt8]?
        for (number, test) in conditions {
            guard let (value, isLower, includes) = Self.bound(test) else { continue }
            if kind != nil && kind != value.kind { continue }
            // Two conditions may be met by two elements of one array.
            if hasArrays && kind != nil { break }
            kind = value.kind
            numbers.append(number)
            tests.append(test)
            var key = OrderedKey()
            key.append(value, descending: field.descending)
            // A descending field has the greater values first.
            if isLower != field.descending {
                let edge = includes ? key.bytes : KeyRange.successor(of: key.bytes)
                if low == nil || low!.precedes(edge) { low = edge }
            } else {
                let edge = includes ? KeyRange.successor(of: key.bytes) : key.bytes
                if high == nil || edge.precedes(high!) { high = edge }
            }
        }
        guard let kind else {
            guard let (prefix, test) = Self.prefix(conditions, field) else { return nil }
            (lower, upper, tests) = (prefix, KeyRange.successor(of: prefix), [test])
            return
        }
        let code = field.descending ? ~kind.code : kind.code
        lower = low ?? [code]
        upper = high ?? [code + 1]
    }

    /// What the codes of all texts begin with that a regular expression matches.
    private static func prefix(
        _ conditions: [(number: Int, test: Filter.Test)], _ field: SortOrder.Field
    ) -> ([UInt8], Filter.Test)? {
        for (_, test) in conditions {
            guard case .regex(let pattern) = test, !pattern.prefix.isEmpty else { continue }
            var key = OrderedKey()
            key.append(.string(pattern.prefix), descending: field.descending)
            // Without what ends a string.
            return (key.bytes.dropLast(2), test)
        }
        return nil
    }

    /// Numbers, strings and booleans: of other types the comparisons are left to the filter.
    private static func bound(_ test: Filter.Test) -> (value: JSONValue, isLower: Bool, includes: Bool)? {
        let bound: (value: JSONValue, isLower: Bool, includes: Bool)
        switch test {
        case .greater(let value): bound = (value, true, false)
        case .greaterOrEqual(let value): bound = (value, true, true)
        case .less(let value): bound = (value, false, false)
        case .lessOrEqual(let value): bound = (value, false, true)
        default: return nil
        }
        switch bound.value {
        case .integer, .real, .string, .bool: return bound
        default: return nil
        }
    }
}
