public import Holdfast

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

    /// How a query is observed.
    public typealias Observing = @Sendable (Holdfast.Repository<Element>, Query<Element>) -> LiveQuery<Element>

    private let container: StoreContainer
    private let observing: Observing
    private let makeRepository: @Sendable (Store) -> Holdfast.Repository<Element>

    /// The controller of a repository in a store that is opened when it is needed.
    /// - Parameters:
    ///   - container: The store.
    ///   - repository: Answers the repository; without, it is the one of the type's own name, `song` for `Song`.
    ///   - observing: Answers the live query of a request; without, it is told of each change. To hold it back:
    ///     `{ $0.observe($1).debounce(for: .milliseconds(300)) }`.
    public init(
        _ container: StoreContainer,
        repository: @escaping @Sendable (Store) -> Holdfast.Repository<Element> = { $0.repository(of: Element.self) },
        observing: @escaping Observing = { $0.observe($1) }
    ) {
        self.container = container
        self.observing = observing
        makeRepository = repository
    }

    /// The controller of a repository. `observing`: as of the other.
    public init(
        _ repository: Holdfast.Repository<Element>, observing: @escaping Observing = { $0.observe($1) }
    ) {
        self.init(StoreContainer(repository.store), repository: { _ in repository }, observing: observing)
    }

    private func repository() async throws -> Holdfast.Repository<Element> {
        makeRepository(try await container.store())
    }

    @_disfavoredOverload
    public func savePublisher(for element: Element) -> AnyPublisher<Void, HoldfastError> {
        publisher { _ = try await $0.save(element) }
    }

    public func savePublisher(for element: Element) -> AnyPublisher<Element, HoldfastError> {
        publisher { try await $0.save(element) }
    }

    /// What is withdrawn in time fails with `.cancelled`.
    public func savePublisher(
        for element: Element, withdrawal: PersistenceWithdrawal
    ) -> AnyPublisher<Element, HoldfastError> {
        publisher(withdrawal) { try await $0.save(element) }
    }

    public func deletePublisher(for element: Element) -> AnyPublisher<Void, HoldfastError> {
        publisher { try await $0.delete(id: element.id) }
    }

    /// What is withdrawn in time fails with `.cancelled`.
    public func deletePublisher(
        for element: Element, withdrawal: PersistenceWithdrawal
    ) -> AnyPublisher<Void, HoldfastError> {
        publisher(withdrawal) { try await $0.delete(id: element.id) }
    }

    public func requestPublisher(for request: Query<Element>) -> AnyPublisher<
        PersistenceFetchResult<Element>, HoldfastError
    > {
        Operation { try await repository() }.publisher
            .mapError(HoldfastError.init(wrapping:))
            .flatMap { [observing] in observing($0, request).publisher }
            .map { result in
                PersistenceFetchResult(
                    elements: result.elements, difference: result.difference, unreadable: result.unreadable)
            }
            .eraseToAnyPublisher()
    }

    private func publisher<Value: Sendable>(
        _ withdrawal: PersistenceWithdrawal? = nil,
        _ body: @escaping @Sendable (Holdfast.Repository<Element>) async throws -> Value
    ) -> AnyPublisher<Value, HoldfastError> {
        let operation = Operation {
            // In no transaction, whichever it is subscribed in.
            let task = Task.detached { try await body(repository()) }
            withdrawal?.onAsked { task.cancel() }
            do {
                return try await withTaskCancellationHandler {
                    try await task.value
                } onCancel: {
                    task.cancel()
                }
            } catch is CancellationError where withdrawal?.isAsked == true {
                throw HoldfastError(.cancelled, "it was withdrawn before it was stored: dispatch it again to store it")
            }
        }
        return operation.publisher.mapError(HoldfastError.init(wrapping:)).eraseToAnyPublisher()
    }
}
