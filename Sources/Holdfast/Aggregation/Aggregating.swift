public import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

// The verbs of aggregation: what each asks of the core, and its doors.

/// All that an aggregation is asked with.
struct AggregationCall<Entity: Codable & Sendable>: Sendable {
    let pipeline: Pipeline<Entity>
    let options: AggregationOptions
    let parameters: QueryParameters

    init(_ pipeline: Pipeline<Entity>, _ options: AggregationOptions, _ parameters: QueryParameters) {
        (self.pipeline, self.options, self.parameters) = (pipeline, options, parameters)
    }

    /// As the core takes it.
    func compiled(
        for core: HoldfastCore.Repository, _ coding: EntityCoding, skipsDamaged: Bool
    ) throws -> (HoldfastQuery.Pipeline, HoldfastCore.AggregationOptions) {
        let text = Array(try pipeline.json(coding).utf8)
        let options = try options.core(parameters, coding, skipsDamaged: skipsDamaged)
        let pipeline = try translatingErrors { () throws(CoreError) in
            try text.withBytes { bytes throws(CoreError) in try core.pipeline(bytes, options) }
        }
        return (pipeline, options)
    }
}

extension RepositoryCall {
    private static func asking(
        _ call: AggregationCall<Entity>,
        _ ask:
            @escaping @Sendable (HoldfastCore.Repository) -> (
                HoldfastQuery.Pipeline, HoldfastCore.AggregationOptions, HoldfastCore.Transaction?
            ) throws(CoreError) -> [UInt8],
        _ decode: @escaping @Sendable (Repository<Entity>, [UInt8]) throws -> Answer
    ) -> RepositoryCall {
        RepositoryCall(writes: false) { repository, core in
            let (pipeline, options) = try call.compiled(
                for: core, repository.coding, skipsDamaged: repository.skipsDamaged)
            return .read { transaction throws(CoreError) in
                let found = try ask(core)(pipeline, options, transaction)
                return { try decode(repository, found) }
            }
        }
    }

    static func aggregate<Document: Decodable>(
        _ call: AggregationCall<Entity>, as type: Document.Type
    ) -> RepositoryCall where Answer == [Document] {
        asking(call, HoldfastCore.Repository.aggregate) { try $0.decode(values: $1, as: type) }
    }

    static func aggregateJSON(_ call: AggregationCall<Entity>) -> RepositoryCall where Answer == Data {
        asking(call, HoldfastCore.Repository.aggregate) { Data($1) }
    }

    static func explain(_ call: AggregationCall<Entity>) -> RepositoryCall where Answer == AggregationExplanation {
        asking(call, HoldfastCore.Repository.explain) { try AggregationExplanation($1) }
    }
}

/// Aggregation: documents made of entities. In a transaction it sees that one's writes, and what it reads counts as read.
extension Repository {
    /// What a pipeline makes of the entities, all at one state of the store.
    ///
    ///     struct Year: Codable { var _id: Int, plays: Int }
    ///     let years = try await songs.aggregate(
    ///         [["$group": ["_id": .member(\.album.year), "plays": ["$sum": .member(\.plays)]]]], as: Year.self)
    ///
    /// Throws `.invalidQuery` (the pipeline is wrong, or fails on a document: the detail has the stage), `.notFound` (no
    /// repository is called what `$lookup` names), `.noMemory` (stages would keep more than `maxMemoryBytes`), `.corrupt` (a
    /// document is no `Document`).
    /// - Parameters:
    ///   - pipeline: Its stages.
    ///   - type: What each document is decoded as.
    ///   - options: What it may use.
    ///   - parameters: Values for the parameters of the pipeline.
    public func aggregate<Document: Decodable & Sendable>(
        _ pipeline: Pipeline<Entity>, as type: Document.Type = Document.self, options: AggregationOptions = .init(),
        parameters: QueryParameters = [:]
    ) async throws -> [Document] {
        try await perform(.aggregate(AggregationCall(pipeline, options, parameters), as: type))
    }

    /// The documents as a JSON array.
    public func aggregateJSON(
        _ pipeline: Pipeline<Entity>, options: AggregationOptions = .init(), parameters: QueryParameters = [:]
    ) async throws -> Data {
        try await perform(.aggregateJSON(AggregationCall(pipeline, options, parameters)))
    }

    /// How `aggregate` carries the pipeline out, found by carrying it out: it counts as a read.
    public func explain(
        aggregate pipeline: Pipeline<Entity>, options: AggregationOptions = .init(), parameters: QueryParameters = [:]
    ) async throws -> AggregationExplanation {
        try await perform(.explain(AggregationCall(pipeline, options, parameters)))
    }
}

/// Aggregation: the blocking siblings of the calls of the same names.
extension BlockingRepository {
    /// What a pipeline makes of the entities: ``Repository/aggregate(_:as:options:parameters:)``.
    public func aggregate<Document: Decodable & Sendable>(
        _ pipeline: Pipeline<Entity>, as type: Document.Type = Document.self, options: AggregationOptions = .init(),
        parameters: QueryParameters = [:]
    ) throws -> [Document] {
        try perform(.aggregate(AggregationCall(pipeline, options, parameters), as: type))
    }

    /// The documents as a JSON array.
    public func aggregateJSON(
        _ pipeline: Pipeline<Entity>, options: AggregationOptions = .init(), parameters: QueryParameters = [:]
    ) throws -> Data {
        try perform(.aggregateJSON(AggregationCall(pipeline, options, parameters)))
    }

    /// How `aggregate` carries a pipeline out: ``Repository/explain(aggregate:options:parameters:)``.
    public func explain(
        aggregate pipeline: Pipeline<Entity>, options: AggregationOptions = .init(), parameters: QueryParameters = [:]
    ) throws -> AggregationExplanation {
        try perform(.explain(AggregationCall(pipeline, options, parameters)))
    }
}

/// Aggregation.
extension DeferredRepository {
    /// What a pipeline makes of the entities.
    public func aggregate<Document: Decodable & Sendable>(
        _ pipeline: Pipeline<Entity>, as type: Document.Type = Document.self, options: AggregationOptions = .init(),
        parameters: QueryParameters = [:]
    ) -> Operation<[Document]> {
        operation(.aggregate(AggregationCall(pipeline, options, parameters), as: type))
    }
}
