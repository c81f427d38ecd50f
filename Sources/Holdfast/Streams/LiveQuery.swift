internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// A query whose result is told again whenever a commit changes it, of whatever process:
///
///     for try await result in songs.observe(Query(\.plays > 9, sort: [.descending(\.plays)], limit: 10)) {
///         show(result.elements, changing: result.difference)
///     }
///
/// Each iteration is a live query of its own. It begins when it asks for its first result, and ends when it is left, or its
/// task is cancelled (`CancellationError`); then nothing of it stays. Only what is committed is told, and a commit that
/// leaves the result as it is tells nothing. An iteration that takes its time is told of several commits at once.
///
/// An entity that cannot be decoded is listed by its error (`LiveResult.unreadable`) and ends nothing. When the store
/// closes, the iteration ends with `.closed`.
///
/// `Answer` is the repository's type, or where only some members are asked for (`fields`) another that reads these.
public struct LiveQuery<Answer: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = LiveResult<Answer>

    private let coding: EntityCoding
    private let store: Store
    private let repository: String
    private let open: StreamConsumer.Opening
    private var pace = StreamPace.none

    init<Entity>(_ repository: Repository<Entity>, _ query: Query<Entity>) {
        coding = repository.coding
        store = repository.store
        self.repository = repository.name
        open = { mailbox in
            if query.limit == 0 {
                throw HoldfastError(.invalidArgument, "a live query needs a limit above 0, or none")
            }
            let core = try await repository.core()
            let (filter, options) = try query.compiled(
                for: core, repository.coding, skipsDamaged: repository.skipsDamaged)
            return try await repository.store.waiting { () throws(CoreError) in
                try core.openLiveQuery(filter, options, mailbox)
            }
        }
    }

    /// A live query, which begins when its first result is asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            result: FollowedResult(coding, repository: repository),
            consumer: PacedConsumer(StreamConsumer(open), pace, store))
    }

    /// One live query.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var result: FollowedResult<Answer>
        fileprivate var consumer: PacedConsumer

        /// The result, once it is there, or there is another. Nil after it has thrown.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws -> LiveResult<Answer>? {
            guard try await consumer.next({ result.follow($0) }) else { return nil }
            return result.tell()
        }
    }

    /// The same, told only when it has not changed for so long: for what is costly to show while many commits follow one
    /// another. The first result is told at once. While changes keep coming in less than that time, nothing is told: where
    /// that may be, use ``throttle(for:)``.
    ///
    ///     for try await result in songs.observe().debounce(for: .milliseconds(300)) { index(result.elements) }
    ///
    /// Time passes by the store's clock (``Store/setClock(_:)``). The difference is to the result that was told before.
    public func debounce(for interval: Duration) -> LiveQuery { paced(.debounce(interval)) }

    /// The same, told once in so long at most: the newest then. The first result is told at once. As `debounce` otherwise.
    public func throttle(for interval: Duration) -> LiveQuery { paced(.throttle(interval)) }

    private func paced(_ pace: StreamPace) -> LiveQuery {
        var query = self
        query.pace = pace
        return query
    }

    /// The same as a publisher: for each subscriber a live query of its own, which tells as much as is asked for and brings
    /// together what is not. The events come on threads of Swift's pool, one at a time. After `cancel` none is told but
    /// that which another thread is telling just then: it is not waited for, because a task that iterates `values` cancels
    /// where nothing may wait. Who cancels while it is being told hears nothing more.
    public var publisher: AnyPublisher<LiveResult<Answer>, HoldfastError> {
        StreamPublisher { self }.eraseToAnyPublisher()
    }
}

extension Repository {
    /// What a query finds, now and after each change.
    public func observe(_ query: Query<Entity> = .init()) -> LiveQuery<Entity> {
        LiveQuery(self, query)
    }

    /// What a filter finds, now and after each change.
    public func observe(
        _ filter: Filter<Entity>, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) -> LiveQuery<Entity> {
        observe(Query(filter, sort, skip, limit, parameters))
    }

    /// Some members of what a filter finds, as another type. A commit that leaves these members as they are tells nothing.
    ///
    ///     for try await result in songs.observe(\.plays > 9, fields: .only(\.title), as: Title.self) {
    ///         show(result.elements)
    ///     }
    public func observe<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, parameters: QueryParameters = [:]
    ) -> LiveQuery<Answer> {
        LiveQuery(
            self,
            Query(filter, sort, skip, limit, parameters, fields))
    }
}

extension ChangeStream {
    /// The same as a publisher: for each subscriber a stream of its own. As `LiveQuery.publisher` otherwise.
    public var publisher: AnyPublisher<ChangeBatch, HoldfastError> { StreamPublisher { self }.eraseToAnyPublisher() }
}
