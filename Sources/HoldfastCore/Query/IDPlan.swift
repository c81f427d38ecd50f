internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What a repository's own order can do for a query: its entities are kept by their ids, as in an index.
///
/// An id is a text or an integer, and both are kept as text, in the order of its bytes. So that is the order of the ids
/// only where all are texts, as those are that a comparison with a text holds for. And "42" is where 42 is: the filter is
/// asked in any case.
struct IDPlan {
    /// As that of an index: more than any has for ids that are listed, 1 for a range.
    private(set) var score = 0
    let plan: Plan
    /// Whether all ids that are found are texts.
    let areTexts: Bool

    private static let listedScore = 2 * IndexDefinition.maxFields + 1

    /// `idsAreTexts` tells it of all that the repository has.
    init(_ filter: Filter, key: String, _ idsAreTexts: Bool, sort: [SortOrder.Field]) {
        let tests = filter.conjuncts.compactMap { node -> (path: Path, test: Filter.Test)? in
            guard case .path(let path, let test) = node, path.leads(to: key) else { return nil }
            return (path, test)
        }
        var ranges = [KeyRange.all]
        var bounds: [Filter.Test] = []
        var areTexts = idsAreTexts
        if let (values, test) = Self.fewest(tests.map(\.test)) {
            let ids = Set(values.compactMap(EntityID.init(of:))).sorted()
            ranges = ids.map { KeyRange($0) }
            bounds = [test]
            areTexts = areTexts || values.allSatisfy { $0.kind == .string }
            score = Self.listedScore
        } else {
            var range = KeyRange.all
            for (_, test) in tests {
                guard let part = Self.range(test) else { continue }
                range = range.intersection(part)
                bounds.append(test)
            }
            if !bounds.isEmpty {
                ranges = range.isEmpty ? [] : [range]
                areTexts = true
                score = 1
            }
        }
        self.areTexts = areTexts
        let isSorted = areTexts && sort.first.map { $0.path.leads(to: key) } ?? false
        let part = Plan.Part(
            index: nil, ranges: ranges, isReversed: isSorted && sort[0].descending,
            bounds: bounds.isEmpty ? [] : [(tests[0].path, bounds)])
        plan = Plan(parts: [part], isExact: filter.isAll, isSorted: isSorted)
    }

    /// The shortest list of values of which the id must be one, if there is one that is not too long.
    private static func fewest(_ tests: [Filter.Test]) -> (values: [JSONValue], test: Filter.Test)? {
        var fewest: (values: [JSONValue], test: Filter.Test)?
        for test in tests {
            let values: [JSONValue]
            switch test {
            case .equal(let value): values = [value]
            case .in(let set): values = set.values
            default: continue
            }
            if values.count <= min(Limits.inForce.planRanges, (fewest?.values.count ?? .max) - 1) {
                fewest = (values, test)
            }
        }
        return fewest
    }

    /// Where the texts are that pass the test; nil where it says nothing of texts alone.
    private static func range(_ test: Filter.Test) -> KeyRange? {
        switch test {
        case .greater(.string(let text)): KeyRange(lower: text + [0], upper: KeyRange.end)
        case .greaterOrEqual(.string(let text)): KeyRange(lower: text, upper: KeyRange.end)
        case .less(.string(let text)): KeyRange(lower: [], upper: text)
        case .lessOrEqual(.string(let text)): KeyRange(lower: [], upper: text + [0])
        case .regex(let pattern) where !pattern.prefix.isEmpty:
            KeyRange(lower: pattern.prefix, upper: KeyRange.successor(of: pattern.prefix))
        default: nil
        }
    }
}

extension KeyRange {
    fileprivate var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }

    fileprivate func intersection(_ other: KeyRange) -> KeyRange {
        KeyRange(
            lower: lower.lexicographicallyPrecedes(other.lower) ? other.lower : lower,
            upper: other.upper.lexicographicallyPrecedes(upper) ? other.upper : upper)
    }
}
