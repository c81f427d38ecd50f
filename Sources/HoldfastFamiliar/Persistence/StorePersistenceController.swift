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

    private let container: StoreContainer
    private let makeRepository: @Sendable (Store) -> Holdfast.Repository<Element>

    /// The controller of a repository in a store that is opened when it is needed.
    /// - Parameters:
    ///   - container: The store.
    ///   - repository: Answers the repository; without, it is the one of the type's own name, `song` for `Song`.
    public init(
        _ container: StoreContainer,
        repository: @escaping @Sendable (Store) -> Holdfast.Repository<Element> = { $0.repository(of: Element.self) }
    ) {
        self.container = container
        makeRepository = repository
    }

    /// The controller of a repository.
    public init(_ repository: Holdfast.Repository<Element>) {
        self.init(StoreContainer(repository.store)) { _ in repository }
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

    public func deletePublisher(for element: Element) -> AnyPublisher<Void, HoldfastError> {
        publisher { try await $0.delete(id: element.id) }
    }

    public func requestPublisher(for request: Query<Element>) -> AnyPublisher<
        PersistenceFetchResult<Element>, HoldfastError
    > {
        Operation { try await repository() }.publisher
            .mapError(HoldfastError.init(wrapping:))
            .flatMap { $0.observe(request).publisher }
            .map { result in
                PersistenceFetchResult(
                    elements: result.elements, difference: result.difference, unreadable: result.unreadable)
            }
            .eraseToAnyPublisher()
    }

    private func publisher<Value: Sendable>(
        _ body: @escaping @Sendable (Holdfast.Repository<Element>) async throws -> Value
    ) -> AnyPublisher<Value, HoldfastError> {
        let operation = Operation {
            // In no transaction, whichever it is subscribed in.
            let task = Task.detached { try await body(repository()) }
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        }
        return operation.publisher.mapError(HoldfastError.init(wrapping:)).eraseToAnyPublisher()
    }
}
