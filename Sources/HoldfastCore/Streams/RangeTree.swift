internal import HoldfastEnvironment
internal import HoldfastStorage

/// Live queries by the ranges of keys to which they hold a path: finds those whose range has a key in it.
///
/// The ranges lie in an array ordered by their lower ends, read as a balanced tree whose root is in the middle; beside each
/// stands the greatest upper end of its subtree, so that whole subtrees are passed over (an augmented interval tree; Cormen
/// and others, "Introduction to Algorithms").
///
/// What is new waits outside the tree and is looked through, while it is no more than the root of what is in it; what was
/// removed stays and is passed over until it is half of all. So the tree is not made anew for each query that comes or goes.
final class RangeTree {
    private typealias Entry = (range: KeyRange, query: UInt64)

    /// By their numbers, with how many ranges each has.
    private var queries = NumberedList<(query: LiveQuery, ranges: Int)>()
    private var rangeCount = 0
    private var entries: [Entry] = []
    private var greatest: [[UInt8]] = []
    private var newcomers: [Entry] = []

    var isEmpty: Bool { queries.isEmpty }
    var all: [LiveQuery] { queries.all.map(\.element.query) }

    /// The query has a number greater than those of all before it.
    func add(_ ranges: [KeyRange], _ query: LiveQuery) {
        queries.append(query.number, (query, ranges.count))
        rangeCount += ranges.count
        for range in ranges { newcomers.append((range, query.number)) }
    }

    func remove(_ query: LiveQuery) {
        rangeCount -= queries.remove(query.number)?.ranges ?? 0
        if entries.count + newcomers.count > 2 * rangeCount { prepare() }
    }

    func find(_ key: [UInt8], _ found: inout [LiveQuery]) {
        if newcomers.count > 1 && newcomers.count > entries.count / newcomers.count { prepare() }
        find(key, 0, entries.count, &found)
        for (range, query) in newcomers where !key.isBefore(range.lower) && key.isBefore(range.upper) {
            note(query, &found)
        }
    }

    private func note(_ query: UInt64, _ found: inout [LiveQuery]) {
        if let (query, _) = queries[query] { found.append(query) }
    }

    private func prepare() {
        entries = (entries + newcomers).filter { queries[$0.query] != nil }
        newcomers = []
        entries.sort { $0.range.lower.isBefore($1.range.lower) }
        greatest = [[UInt8]](repeating: [], count: entries.count)
        _ = noteGreatest(0, entries.count)
    }

    private func noteGreatest(_ start: Int, _ end: Int) -> [UInt8] {
        if start == end { return [] }
        let middle = (start + end) / 2
        var upper = entries[middle].range.upper
        for other in [noteGreatest(start, middle), noteGreatest(middle + 1, end)] where upper.isBefore(other) {
            upper = other
        }
        greatest[middle] = upper
        return upper
    }

    /// Recurses as deep as the logarithm of their number.
    private func find(_ key: [UInt8], _ start: Int, _ end: Int, _ found: inout [LiveQuery]) {
        if start == end { return }
        let middle = (start + end) / 2
        guard key.isBefore(greatest[middle]) else { return }
        find(key, start, middle, &found)
        let (range, query) = entries[middle]
        if key.isBefore(range.lower) { return }
        if key.isBefore(range.upper) { note(query, &found) }
        find(key, middle + 1, end, &found)
    }
}

extension [UInt8] {
    fileprivate func isBefore(_ other: [UInt8]) -> Bool {
        withBytes { a in other.withBytes { b in compareBytes(a, b) < 0 } }
    }
}
