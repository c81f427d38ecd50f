internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Where transactions that lost a race collided: at an entity that they read, or at what a query of a repository relied on.
public struct Contention: Hashable, Sendable {
    var repository: RepositoryID
    /// Nil: a query's.
    var id: EntityID?
}

extension HoldfastError {
    /// Of a conflict: where the transaction collided.
    package var contention: Contention? { origin as? Contention }
}
