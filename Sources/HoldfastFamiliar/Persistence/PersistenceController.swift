#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// What carries out the actions of a `PersistenceAction`: one function for each.
///
///     let controller = StorePersistenceController<Song>(StoreContainer("music.db"))
///     let store = ReduxStore(
///         initialState: .init(), reducer: StorePersistenceController<Song>.makeReducer(),
///         middleware: controller.makeMiddleware())
///
/// The publishers may do nothing before they are subscribed to, and may tell on any thread.
public protocol PersistenceController: Sendable {
    /// What its publishers fail with.
    associatedtype PersistenceError: Error
    /// What is saved and deleted, and answered to requests.
    associatedtype Element: Sendable
    /// What asks for elements.
    associatedtype Request: Sendable

    /// The actions that its middleware carries out.
    typealias Action = PersistenceAction<Element, PersistenceError, Request>
    /// The state that its reducer keeps.
    typealias State = PersistenceState<Element, PersistenceError, Request>

    /// Stores an element, new or not.
    // A call whose type nothing says means the one that answers.
    @_disfavoredOverload
    func savePublisher(for element: Element) -> AnyPublisher<Void, PersistenceError>
    /// Stores an element, new or not, and answers it as it is stored. A controller that assigns ids implements it too.
    func savePublisher(for element: Element) -> AnyPublisher<Element, PersistenceError>
    /// Deletes an element.
    func deletePublisher(for element: Element) -> AnyPublisher<Void, PersistenceError>
    /// As `savePublisher(for:)`, of what may be withdrawn while it waits; without an implementation it never is.
    func savePublisher(
        for element: Element, withdrawal: PersistenceWithdrawal
    ) -> AnyPublisher<Element, PersistenceError>
    /// As `deletePublisher(for:)`, of what may be withdrawn while it waits; without an implementation it never is.
    func deletePublisher(
        for element: Element, withdrawal: PersistenceWithdrawal
    ) -> AnyPublisher<Void, PersistenceError>
    /// Answers all elements that are asked for, then, as long as somebody wants to know, all again after each change.
    func requestPublisher(for request: Request) -> AnyPublisher<PersistenceFetchResult<Element>, PersistenceError>
}

extension PersistenceController {
    public func savePublisher(for element: Element) -> AnyPublisher<Element, PersistenceError> {
        let saved: AnyPublisher<Void, PersistenceError> = savePublisher(for: element)
        return saved.map { element }.eraseToAnyPublisher()
    }

    public func savePublisher(
        for element: Element, withdrawal: PersistenceWithdrawal
    ) -> AnyPublisher<Element, PersistenceError> { savePublisher(for: element) }

    public func deletePublisher(
        for element: Element, withdrawal: PersistenceWithdrawal
    ) -> AnyPublisher<Void, PersistenceError> { deletePublisher(for: element) }

    /// A middleware that carries out what is saved, deleted and requested, and dispatches what comes of it. Each has requests
    /// of its own, which end with it.
    public func makeMiddleware() -> AnyMiddleware<Action, Action, State> {
        PersistenceMiddleware(controller: self).eraseToAnyMiddleware()
    }

    /// The reducer that keeps the state of what was saved, deleted and requested.
    public static func makeReducer() -> Reducer<Action, State> {
        .reduce { action, state in state.reduce(action) }
    }
}
