internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// A pipeline whose documents are told again whenever commits have changed them, of whatever process:
///
///     for try await result in songs.observe(aggregate: [["$sortByCount": .member(\.genre)]], as: Genre.self) {
///         show(result.documents)
///     }
///
/// Each iteration is a live aggregation of its own, which begins and ends as one of a ``LiveQuery`` does. The pipeline is carried
/// out anew after commits to the repositories that it reads; where that makes the documents which were told, nothing is. One
/// that fails then, as beyond `maxMemoryBytes`, ends the iteration with its error, and so does a document that is no
/// `Document`.
public struct LiveAggregation<Document: Decodable & Sendable>: AsyncSequence, Sendable {
    /// What the pipeline makes, as a whole.
    public struct Result: Sendable {
        /// All documents.
        public var documents: [Document]
        /// How many commits that may concern it this brings together; 0 of the first.
        public var mergedCommits: Int
        /// The commit behind which these are the documents.
        public var position: String
    }

    public typealias Element = Result

    private let store: Store
    private let open: StreamConsumer.Opening
    private let decode: @Sendable ([UInt8]) throws -> [Document]
    private var pace = StreamPace.none

    init<Entity>(_ repository: Repository<Entity>, _ call: AggregationCall<Entity>) {
        store = repository.store
        decode = { try repository.decode(values: $0, as: Document.self) }
        open = { mailbox in
            let core = try await repository.core()
            let (pipeline, options) = try call.compiled(
                for: core, repository.coding, skipsDamaged: repository.skipsDamaged)
            return try await repository.store.waiting { () throws(CoreError) in
                try core.openLiveAggregation(pipeline, options, mailbox)
            }
        }
    }

    /// A live aggregation, which begins when its first result is asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: PacedConsumer(StreamConsumer(open), pace, store), decode: decode)
    }

    /// One live aggregation.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var consumer: PacedConsumer
        fileprivate let decode: @Sendable ([UInt8]) throws -> [Document]

        /// The result, once it is there, or there is another. Nil after it has thrown.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Result? {
            var newest: ResultChange?
            var merged = 0
            let isThere = try await consumer.next { change in
                newest = change
                merged += change.merged
            }
            guard isThere, let newest, let documents = newest.documents else { return nil }
            do {
                return Result(documents: try decode(documents), mergedCommits: merged, position: newest.position)
            } catch {
                consumer.consumer.end()
                throw error
            }
        }
    }

    /// The same, held back as ``LiveQuery/debounce(for:)`` does.
    public func debounce(for interval: Duration) -> LiveAggregation { paced(.debounce(interval)) }

    /// The same, held back as ``LiveQuery/throttle(for:)`` does.
    public func throttle(for interval: Duration) -> LiveAggregation { paced(.throttle(interval)) }

    private func paced(_ pace: StreamPace) -> LiveAggregation {
        var aggregation = self
        aggregation.pace = pace
        return aggregation
    }

    /// The same as a publisher: as ``LiveQuery/publisher``.
    public var publisher: AnyPublisher<Result, HoldfastError> { StreamPublisher { self }.eraseToAnyPublisher() }
}

extension Repository {
    /// What a pipeline makes of the entities, now and after each change.
    public func observe<Document: Decodable & Sendable>(
        aggregate pipeline: Pipeline<Entity>, as type: Document.Type = Document.self,
        options: AggregationOptions = .init(), parameters: QueryParameters = [:]
    ) -> LiveAggregation<Document> {
        LiveAggregation(self, AggregationCall(pipeline, options, parameters))
    }
}
