public import HoldfastQuery

/// A walk along the entities of a repository, in the order of their ids' bytes.
public struct EntityScan: Sendable {
    public var repository: RepositoryID
    /// Of ids, as bytes.
    public var range: KeyRange
    /// From the greatest id to the smallest.
    public var isReversed: Bool
    /// What does not match it may be left out, by an engine that understands filters by itself; the others lend everything.
    public var filter: Filter
    /// Not nil: entities come as they lie in the storage, those behind the one of this number, and not by their ids. For a
    /// whole repository alone, of a snapshot that says it pays.
    public var behindNumber: Int64?
    /// As `IndexScan.cached`, where they come by their ids.
    package var cached: (any CachedEntities)?

    public init(
        _ repository: RepositoryID, _ range: KeyRange = .all, isReversed: Bool = false, filter: Filter = .all
    ) {
        self.repository = repository
        self.range = range
        self.isReversed = isReversed
        self.filter = filter
    }

    /// Beginning behind an id; nil: with the first.
    public init(_ repository: RepositoryID, after: EntityID?) {
        self.init(repository, KeyRange(lower: after?.next ?? [], upper: KeyRange.end))
    }

    /// The id, where the range has no other.
    package var onlyID: EntityID? {
        let id = EntityID(unchecked: range.lower)
        return !range.lower.isEmpty && id.next == range.upper ? id : nil
    }
}

extension KeyRange {
    /// Of one id.
    package init(_ id: EntityID) { self.init(lower: id.bytes, upper: id.next) }

    /// What is left of a range of ids for a walk that goes on behind `id`; nil for nothing.
    package func rest(behind id: EntityID?, isReversed: Bool) -> KeyRange? {
        guard let id else { return self }
        let rest =
            isReversed
            ? KeyRange(lower: lower, upper: min(upper, id.bytes))
            : KeyRange(lower: max(lower, id.next), upper: upper)
        return rest.lower.lexicographicallyPrecedes(rest.upper) ? rest : nil
    }

    private func min(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        right.lexicographicallyPrecedes(left) ? right : left
    }

    private func max(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        left.lexicographicallyPrecedes(right) ? right : left
    }
}

extension EntityID {
    /// The smallest bytes behind it.
    package var next: [UInt8] { bytes + [0] }
}
