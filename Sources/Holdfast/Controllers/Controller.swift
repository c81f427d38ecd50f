internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastServices

/// Persistence with one direction of flow, of one repository: actions go in, state comes out.
///
///     let controller = try await Controller(songs)
///     try await controller.dispatch(.request(Query(\.plays >= 10), token: "favourites"))
///     try await controller.dispatch(.save(song))
///     for await state in controller.states {
///         if case .received(let songs, _) = state.request("favourites") { show(songs) }
///     }
///
/// For each action, one at a time, the middleware sees it with the old state, then the reducer changes the state, then the
/// effects begin; what becomes of them comes back as an action. Every save and delete is a commit of its own. A controller that
/// nobody refers to any more is closed.
public final class Controller<Entity: Codable & Identifiable & Sendable>: Sendable where Entity.ID: EntityIdentifier {
    /// What is saved, deleted and requested.
    public let repository: Repository<Entity>
    private let coreRepository: HoldfastCore.Repository
    private let core: HoldfastServices.Controller
    private let host: StateHost

    /// A controller of a repository, which is opened where it is not. Throws what opening it throws.
    public init(_ repository: Repository<Entity>) async throws {
        self.repository = repository
        let core = try await repository.core()
        coreRepository = core
        let host = StateHost()
        self.host = host
        self.core = try translatingErrors { () throws(CoreError) in try HoldfastServices.Controller(core, for: host) }
    }

    deinit {
        // It waits for a call that is running.
        WaitingThreads.shared.run { [core] in core.close() }
        host.end()
    }

    /// The state as it is now.
    public var state: ControllerState<Entity> {
        ControllerState(core: core.state, repository: repository.name, coding: repository.coding)
    }

    /// The state as it is, and then each new one; where they come faster than they are taken, the newest. Ends when the
    /// controller or its store is closed.
    public var states: AsyncStream<ControllerState<Entity>> {
        let signals = host.signals()
        return AsyncStream { [self] in
            for await _ in signals { return state }
            return nil
        }
    }

    /// Has an action handled, and returns when it was: the state is the new one, and effects have begun. When the cancellation of
    /// a request has returned, nothing of that is told any more.
    ///
    /// Throws only for what is no action, such as an entity that cannot be stored (`.invalidEntity`); all else is told by the state.
    public func dispatch(_ action: ControllerAction<Entity>) async throws {
        let action = try action.core(repository, coreRepository)
        try await repository.store.waiting { [core] () throws(CoreError) in try core.dispatch(action) }
    }

    /// Ends the requests; no new state is told any more. What is being saved or deleted goes on. May be called again.
    public func close() async throws {
        try await repository.store.waiting { [core] () throws(CoreError) in core.close() }
        host.end()
    }
}

/// Wakes those who wait for a new state.
private final class StateHost: ControllerHost {
    private struct State {
        /// By the numbers given to them.
        var waiting: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var last: UInt64 = 0
        var hasEnded = false
    }

    private let state = Lock(State())

    /// One at once, and then one for each new state, or for several.
    func signals() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let number = state.withLock { state -> UInt64? in
            guard !state.hasEnded else { return nil }
            state.last += 1
            state.waiting[state.last] = continuation
            return state.last
        }
        if let number {
            continuation.onTermination = { [weak self] _ in self?.forget(number) }
        } else {
            continuation.finish()
        }
        return stream
    }

    private func forget(_ number: UInt64) { state.withLock { state in state.waiting[number] = nil } }

    func end() {
        let waiting = state.withLock { state in
            defer { state = State(hasEnded: true) }
            return state.waiting.values
        }
        for continuation in waiting { continuation.finish() }
    }

    func received(_ event: StreamEvent) {
        if case .ended = event { return end() }
        for continuation in state.withLock({ $0.waiting.values }) { continuation.yield() }
    }

    func willHandle(_ action: HoldfastServices.ControllerAction, _ state: HoldfastServices.ControllerState) {}
    func closed() { end() }
}
