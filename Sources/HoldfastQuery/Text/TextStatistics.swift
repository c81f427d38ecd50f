internal import HoldfastEnvironment

/// How many entities a text index has, and how long they are together: counted in one snapshot, and remembered for those
/// who read the same state after. Scores depend on it alone, so nothing is lost when it is forgotten.
package final class TextStatistics: Sendable {
    package struct Totals: Sendable {
        package var entities: UInt64 = 0
        package var length: UInt64 = 0

        package init() {}
    }

    private let newest = Lock<(index: Int64, sequence: UInt64, totals: Totals)?>(nil)

    package init() {}

    /// Those of an index as of a commit; nil where they are not known.
    package func totals(of index: Int64, at sequence: UInt64) -> Totals? {
        guard let known = newest.withLock({ $0 }), known.index == index, known.sequence == sequence else { return nil }
        return known.totals
    }

    package func keep(_ totals: Totals, of index: Int64, at sequence: UInt64) {
        newest.withLock { $0 = (index, sequence, totals) }
    }
}
