internal import HoldfastEnvironment
internal import HoldfastQuery

/// How one result differs from another, in positions: what was removed, inserted, moved and changed.
///
/// Rows are told apart by identity, so finding what is alike at both ends costs a comparison of pointers a row. In between,
/// those that are in both and keep their order are a longest increasing subsequence of the previous positions (patience
/// sorting; Fredman, "On computing the length of longest increasing subsequences", 1975); the others have moved.
struct ResultDifference {
    private(set) var removed: [(position: Int, row: ResultRow)] = []
    private(set) var inserted: [(position: Int, row: ResultRow)] = []
    private(set) var moved: [(from: Int, to: Int, row: ResultRow)] = []
    /// Those with another text, at their new positions.
    private(set) var changed: [(position: Int, old: ResultRow, new: ResultRow)] = []

    init(from old: ArraySlice<ResultRow>, to new: ArraySlice<ResultRow>) {
        var start = 0
        let shorter = min(old.count, new.count)
        while start < shorter, old[old.startIndex + start] === new[new.startIndex + start] { start += 1 }
        var end = 0
        while end < shorter - start, old[old.endIndex - 1 - end] === new[new.endIndex - 1 - end] { end += 1 }

        var previousPositions: [EntityID: Int] = [:]
        for position in start..<(old.count - end) { previousPositions[old[old.startIndex + position].id] = position }
        var kept: [(from: Int, to: Int)] = []
        for position in start..<(new.count - end) {
            let row = new[new.startIndex + position]
            guard let from = previousPositions.removeValue(forKey: row.id) else {
                inserted.append((position, row))
                continue
            }
            kept.append((from, position))
            let previous = old[old.startIndex + from]
            if previous !== row, previous.body != row.body { changed.append((position, previous, row)) }
        }
        removed = previousPositions.values.sorted().map { ($0, old[old.startIndex + $0]) }
        let unmoved = Self.longestIncreasing(kept.map(\.from))
        for (index, move) in kept.enumerated() where !unmoved[index] {
            moved.append((move.from, move.to, new[new.startIndex + move.to]))
        }
    }

    /// Which of the numbers, all different, are in a longest increasing subsequence.
    private static func longestIncreasing(_ numbers: [Int]) -> [Bool] {
        /// Where the smallest last number of a run of each length stands.
        var lasts: [Int] = []
        var before = [Int](repeating: -1, count: numbers.count)
        for (index, number) in numbers.enumerated() {
            let place = lasts.partitioningIndex { numbers[$0] >= number }
            if place > 0 { before[index] = lasts[place - 1] }
            if place == lasts.count { lasts.append(index) } else { lasts[place] = index }
        }
        var isIn = [Bool](repeating: false, count: numbers.count)
        var index = lasts.last ?? -1
        while index >= 0 {
            isIn[index] = true
            index = before[index]
        }
        return isIn
    }
}
