public import Holdfast

/// What a request answers: first all that is there, then after each change again, with what is different.
public struct PersistenceFetchResult<Element: Sendable>: Sendable {
    /// All elements, in order.
    public var elements: [Element]
    /// How they differ from the result before: applied to those, it gives these. What has changed in its place, or moved, is
    /// removed and inserted, the two associated with each other. Nil: not known, as of the first result.
    public var difference: CollectionDifference<Element>?
    /// What is there and is none of the elements because it cannot be read, each naming its id.
    public var unreadable: [HoldfastError]

    /// A result, for controllers of one's own.
    public init(
        elements: [Element], difference: CollectionDifference<Element>? = nil, unreadable: [HoldfastError] = []
    ) {
        self.elements = elements
        self.difference = difference
        self.unreadable = unreadable
    }
}

extension PersistenceFetchResult: Equatable where Element: Equatable {}
