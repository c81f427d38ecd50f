internal import HoldfastEnvironment
internal import HoldfastStorage

/// Live queries by the ranges of keys to which they hold a path: finds those whose range has a key in it.
///
/// The ranges lie in an array ordered by their lower ends, read as a balanced tree whose root is in the middle; beside each
/// stands the greatest upper end of its subtree, so that whole subtrees are passed over (an augmented interval tree; Cormen
/// and others, "Introduction to Algorithms"). It is made at the first lookup after a change.
final class RangeTree {
    private var entries: [(range: KeyRange, query: LiveQuery)] = []
    private var greatest: [[UInt8]] = []
    private var isReady = true

    var isEmpty: Bool { entries.isEmpty }
    var all: [LiveQuery] { entries.map(\.query) }

    func add(_ range: KeyRange, _ query: LiveQuery) {
        entries.append((range, query))
        isReady = false
    }

    func remove(_ query: LiveQuery) {
        entries.removeAll { $0.query === query }
        isReady = false
    }

    func find(_ key: [UInt8], _ found: inout [LiveQuery]) {
        if !isReady { prepare() }
        find(key, 0, entries.count, &found)
    }

    private func prepare() {
        entries.sort { $0.range.lower.isBefore($1.range.lower) }
        greatest = [[UInt8]](repeating: [], count: entries.count)
        _ = noteGreatest(0, entries.count)
        isReady = true
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
        if key.isBefore(range.upper) { found.append(query) }
        find(key, middle + 1, end, &found)
    }
}

extension [UInt8] {
    fileprivate func isBefore(_ other: [UInt8]) -> Bool {
        withBytes { a in other.withBytes { b in compareBytes(a, b) < 0 } }
    }
}
