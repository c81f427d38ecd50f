/// A repository's calls for whoever owns a thread: see ``BlockingStore``. Outside a transaction each is a commit or a read
/// of its own; inside one, it joins.
public struct BlockingRepository<Entity: Codable & Identifiable & Sendable>: Sendable
where Entity.ID: EntityIdentifier {
    /// The same repository, to be awaited: what is not here is there. A thread without tasks has one do it:
    /// `try Operation { try await songs.createIndex(.ascending(\.plays)) }.perform()`.
    public let repository: Repository<Entity>
}

extension Repository {
    /// The repository's calls for whoever owns a thread.
    public var blocking: BlockingRepository<Entity> { BlockingRepository(repository: self) }
}
