internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

extension RepositoryCall {
    static func explain(
        distinct member: Member<Entity>, _ query: Query<Entity>
    ) -> RepositoryCall where Answer == QueryExplanation {
        RepositoryCall(writes: false) { repository, core in
            let path = Array(try member.path(repository.coding).utf8)
            var (filter, options) = try query.compiled(
                for: core, repository.coding, skipsDamaged: repository.skipsDamaged)
            options.distinct = try translatingErrors { () throws(CoreError) in try Path(path, what: "call") }
            return .read { [filter, options] transaction throws(CoreError) in
                let report = try core.explain(filter, options, in: transaction)
                return { try QueryExplanation(report) }
            }
        }
    }
}

/// How distinct values are found, in the two ways that `distinct` has.
extension Repository {
    /// How `distinct` is carried out, found by carrying it out: it counts as a read.
    public func explain(
        distinct member: any PartialKeyPath<Entity> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) async throws -> QueryExplanation {
        try await perform(.explain(distinct: Member(member), Query(filter, parameters: parameters)))
    }

    /// The same of a dotted path.
    public func explain(
        distinct path: String, _ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]
    ) async throws -> QueryExplanation {
        try await perform(.explain(distinct: Member(path), Query(filter, parameters: parameters)))
    }
}

/// The blocking siblings of the calls of the same names.
extension BlockingRepository {
    /// How `distinct` is carried out: the same as `Repository` tells it.
    public func explain(
        distinct member: any PartialKeyPath<Entity> & Sendable, _ filter: Filter<Entity> = .all,
        parameters: QueryParameters = [:]
    ) throws -> QueryExplanation {
        try perform(.explain(distinct: Member(member), Query(filter, parameters: parameters)))
    }

    /// The same of a dotted path.
    public func explain(
        distinct path: String, _ filter: Filter<Entity> = .all, parameters: QueryParameters = [:]
    ) throws -> QueryExplanation {
        try perform(.explain(distinct: Member(path), Query(filter, parameters: parameters)))
    }
}
