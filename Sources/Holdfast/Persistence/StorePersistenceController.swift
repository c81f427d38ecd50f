#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// The controller of a repository: what is saved and deleted is committed there, and requests are live queries.
///
///     let controller = StorePersistenceController<Song>(StoreContainer("music.db"))
///     let store = ReduxStore(
///         initialState: .init(), reducer: StorePersistenceController<Song>.makeReducer(),
///         middleware: controller.makeMiddleware())
///     store.dispatch(.request(Query(\.plays > 9, sort: [.descending(\.plays)]), token: "favourites"))
///
/// Every save and delete is a commit of its own, whatever transaction it is asked for in. Deleting what is not there fails
/// with `.notFound`. A store that cannot be opened fails what needed it, and the next that needs it tries again.
public struct StorePersistenceController<Element: Codable & Identifiable & Sendable>: PersistenceController
where Element.ID: EntityIdentifier {
    /// The library's errors, as they are.
    public typealias PersistenceError = HoldfastError
    /// A query of the repository.
    public typealias Request = Query<Element>

    private let container: StoreContainer
    private let makeRepository: @Sendable (Store) -> StoreRepository<Element>

    /// The controller of a repository in a store that is opened when it is needed.
    /// - Parameters:
    ///   - container: The store.
    ///   - repository: Answers the repository; without, it is the one of the type's own name, `song` for `Song`.
    public init(
        _ container: StoreContainer,
        repository: @escaping @Sendable (Store) -> StoreRepository<Element> = { $0.repository(of: Element.self) }
    ) {
        self.container = container
        makeRepository = repository
    }

    /// The controller of a repository.
    public init(_ repository: StoreRepository<Element>) {
        self.init(StoreContainer(repository.store)) { _ in repository }
    }

    private func repository() async throws -> StoreRepository<Element> { makeRepository(try await container.store()) }

    @_disfavoredOverload
    public func savePublisher(for element: Element) -> AnyPublisher<Void, HoldfastError> {
        publisher { _ = try await $0.save(element) }
    }

    public func savePublisher(for element: Element) -> AnyPublisher<Element, HoldfastError> {
        publisher { try await $0.save(element) }
    }

    public func deletePublisher(for element: Element) -> AnyPublisher<Void, HoldfastError> {
        publisher { try await $0.delete(id: element.id) }
    }

    public func requestPublisher(for request: Query<Element>) -> AnyPublisher<
        PersistenceFetchResult<Element>, HoldfastError
    > {
        StreamPublisher { [self] in try await repository().observe(request) }
            .map { result in
                PersistenceFetchResult(
                    elements: result.elements, difference: result.difference, unreadable: result.unreadable)
            }
            .eraseToAnyPublisher()
    }

    private func publisher<Value: Sendable>(
        _ body: @escaping @Sendable (StoreRepository<Element>) async throws -> Value
    ) -> AnyPublisher<Value, HoldfastError> {
        let transaction = AnyTransaction<Value>(asyncTransactionClosure: { [self] in
            try await TransactionScope.$current.withValue(nil) { try await body(repository()) }
        })
        return transaction.publisher.mapError { HoldfastError(wrapping: $0.cause) }.eraseToAnyPublisher()
    }
}

extension HoldfastError {
    /// An error of the library's as it is; another, such as a validator's, as the cause of a `.hostError`.
    init(wrapping error: any Error) {
        self = HoldfastError(behind: error) ?? HoldfastError(.hostError, "\(error)", cause: error)
    }
}
