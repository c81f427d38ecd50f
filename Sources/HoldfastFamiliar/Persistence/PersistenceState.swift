public import Holdfast

/// What became of what was asked for: a lane each for the latest request, save and delete, and beside them a state for each
/// token.
///
/// What has ended is kept, of each of the three the last thousand.
public struct PersistenceState<Element: Sendable, PersistenceError: Error, Request: Sendable>: Sendable {
    /// What became of a request.
    public enum RequestState: Sendable {
        /// Nothing was requested yet.
        case initial
        /// The first result is not there yet.
        case loading
        /// Dispatching the request again tries again; nothing else does.
        case failed(error: PersistenceError, request: Request)
        /// All elements, as they are now.
        case received([Element])
        /// It was cancelled: nothing of it is heard any more.
        case canceled
    }

    /// What became of a save, or of a delete.
    public enum ProcessState: Sendable {
        /// Nothing was saved, or deleted, yet.
        case initial
        /// It is not known yet what becomes of it.
        case processing
        /// Dispatching the element again tries again; nothing else does.
        case failed(error: PersistenceError, element: Element)
        /// With the element as it was stored, which has the id that it was assigned; or with the deleted one.
        case succeeded(Element)
    }

    /// Of the latest request.
    public var request = RequestState.initial
    /// Of the latest save.
    public var persist = ProcessState.initial
    /// Of the latest delete.
    public var delete = ProcessState.initial

    /// Of each request.
    public var requests: [PersistenceToken: RequestState] { requestRuns.states }
    /// Of each save.
    public var saves: [PersistenceToken: ProcessState] { saveRuns.states }
    /// Of each delete.
    public var deletes: [PersistenceToken: ProcessState] { deleteRuns.states }
    /// What each live request has found and could not read, where there is such.
    public internal(set) var unreadable: [PersistenceToken: [HoldfastError]] = [:]

    var requestRuns = PersistenceRuns<RequestState>()
    var saveRuns = PersistenceRuns<ProcessState>()
    var deleteRuns = PersistenceRuns<ProcessState>()

    /// Nothing was asked for yet.
    public init() {}
}

extension PersistenceState: Equatable where Element: Equatable, PersistenceError: Equatable, Request: Equatable {}
extension PersistenceState.RequestState: Equatable
where Element: Equatable, PersistenceError: Equatable, Request: Equatable {}
extension PersistenceState.ProcessState: Equatable where Element: Equatable, PersistenceError: Equatable {}
