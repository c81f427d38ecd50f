/// A repository whose calls do nothing yet: each answers an ``Operation`` that does it when it is run.
///
///     let add = songs.deferred.add(song)
///     let stored = try await add.performAsync()     // or perform(), or publisher
///
/// Parameters and results are those of the repository's calls of the same names, and so are the errors, all of which the run
/// throws.
public struct DeferredRepository<Entity: Codable & Identifiable & Sendable>: Sendable
where Entity.ID: EntityIdentifier {
    /// The repository whose calls they are.
    public let repository: Repository<Entity>
}

extension Repository {
    /// The repository's calls, described now and run later.
    public var deferred: DeferredRepository<Entity> { DeferredRepository(repository: self) }
}
