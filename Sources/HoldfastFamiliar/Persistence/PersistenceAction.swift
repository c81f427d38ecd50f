/// What is to be stored, deleted or requested, and what came of it.
///
///     store.dispatch(.save(song))
///     store.dispatch(.request(favourites, token: "favourites"))
///
/// Each has a token, under which the state tells what becomes of it; without one given, a new one of its own. An action
/// that is dispatched twice is two saves, deletes or requests, and the later takes the place of the earlier.
public struct PersistenceAction<Element: Sendable, PersistenceError: Error, Request: Sendable>: Sendable {
    /// What an action says. Those that a middleware dispatches also tell which run they are the outcome of, so that a late
    /// one changes nothing.
    public enum Kind: Sendable {
        /// Store it, new or not.
        case save(Element)
        /// Delete it.
        case delete(Element)
        /// Do not store it, where it still waits.
        case cancelSave
        /// Do not delete it, where it still waits.
        case cancelDelete
        /// Answer this until it is cancelled.
        case request(Request)
        /// Answer it no more.
        case cancelRequest

        /// Outcome: the element, as it is stored.
        case saved(Element, run: UInt64)
        /// Outcome: why it was not stored, and what.
        case saveFailed(PersistenceError, Element, run: UInt64)
        /// Outcome: what was deleted.
        case deleted(Element, run: UInt64)
        /// Outcome: why it was not deleted, and what.
        case deleteFailed(PersistenceError, Element, run: UInt64)
        /// Outcome: the first result of a request, or a later one.
        case received(PersistenceFetchResult<Element>, run: UInt64)
        /// Outcome: why it is not answered, or no more, and what.
        case requestFailed(PersistenceError, Request, run: UInt64)
        /// Outcome: nothing more will be received.
        case requestFinished(run: UInt64)
    }

    /// What it says.
    public let kind: Kind
    /// Of what it is about; nil: of the latest request.
    public let token: PersistenceToken?

    init(_ kind: Kind, _ token: PersistenceToken?) {
        self.kind = kind
        self.token = token
    }

    /// Ends the latest request.
    public static var cancelRequest: PersistenceAction { PersistenceAction(.cancelRequest, nil) }

    /// Ends the request of this token. Where it has ended, nothing happens.
    public static func cancelRequest(_ token: PersistenceToken) -> PersistenceAction {
        PersistenceAction(.cancelRequest, token)
    }

    /// Stores an element, new or not.
    public static func save(_ element: Element) -> PersistenceAction { save(element, token: PersistenceToken()) }

    /// Stores an element, new or not.
    public static func save(_ element: Element, token: PersistenceToken) -> PersistenceAction {
        PersistenceAction(.save(element), token)
    }

    /// Withdraws the saves of this token that still wait to be stored: they fail. What is being stored, or has ended, stays as it
    /// is, as does what a controller cannot withdraw.
    public static func cancelSave(_ token: PersistenceToken) -> PersistenceAction {
        PersistenceAction(.cancelSave, token)
    }

    /// As ``cancelSave(_:)``, of deletes.
    public static func cancelDelete(_ token: PersistenceToken) -> PersistenceAction {
        PersistenceAction(.cancelDelete, token)
    }

    /// Deletes an element.
    public static func delete(_ element: Element) -> PersistenceAction { delete(element, token: PersistenceToken()) }

    /// Deletes an element.
    public static func delete(_ element: Element, token: PersistenceToken) -> PersistenceAction {
        PersistenceAction(.delete(element), token)
    }

    /// Asks for elements, and to be told of changes until it is cancelled. Others go on beside it.
    public static func request(_ request: Request) -> PersistenceAction {
        self.request(request, token: PersistenceToken())
    }

    /// Asks for elements, and to be told of changes until it is cancelled. Another request of this token ends first.
    public static func request(_ request: Request, token: PersistenceToken) -> PersistenceAction {
        PersistenceAction(.request(request), token)
    }
}
