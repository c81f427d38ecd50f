public import HoldfastQuery

/// Stands for one committed state of a storage. Two that are equal stand for the same state; after a commit, of whatever
/// process or program, it is another. What the words mean is the engine's.
public struct ChangeToken: Equatable, Sendable {
    public typealias Words = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
    public var words: Words

    public init(_ words: Words) { self.words = words }

    /// For an engine whose sequence says it all.
    public init(_ sequence: CommitSequence) { words = (sequence, 0, 0, 0, 0, 0) }

    @inlinable
    public static func == (left: ChangeToken, right: ChangeToken) -> Bool { left.words == right.words }
}
