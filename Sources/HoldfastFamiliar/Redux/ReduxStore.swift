internal import Foundation

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// A state that only actions change, one at a time: for each the middleware sees the action and the old state, then the
/// reducer changes the state, then `statePublisher` tells it, then the effects are run.
///
///     let store = ReduxStore(
///         initialState: .init(), reducer: SongsController.makeReducer(), middleware: controller.makeMiddleware())
///     store.dispatch(.save(song))
///
/// It has no thread of its own. Whoever lets go of it ends the requests of its middleware.
public final class ReduxStore<ActionType: Sendable, StateType: Sendable>: @unchecked Sendable {
    // Sendable: the subject, which promises nothing, locks for itself, and is sent to by one thread at a time. `turn` is read
    // and changed in `withTurn` alone; all else is unchanging or behind a lock.

    private struct Turn {
        /// Who handles an action just now.
        var thread: pthread_t?
        /// Dispatched from inside, and by effects: handled next, in this order.
        var waiting: [DispatchedAction<ActionType>] = []
    }

    private let reducer: Reducer<ActionType, StateType>
    private let middleware: AnyMiddleware<ActionType, ActionType, StateType>
    private let current: Lock<StateType>
    private var turn = Turn()
    /// Guards `turn`, and is where threads wait for theirs.
    private let turns = NSCondition()
    private let subject: CurrentValueSubject<StateType, Never>

    /// A store with this state. Nothing is handled before the first action.
    public init(
        initialState: StateType, reducer: Reducer<ActionType, StateType>,
        middleware: some Middleware<ActionType, ActionType, StateType>
    ) {
        self.reducer = reducer
        self.middleware = middleware.eraseToAnyMiddleware()
        current = Lock(initialState)
        subject = CurrentValueSubject(initialState)
    }

    /// The state as it is now.
    public var state: StateType { current.withLock { $0 } }

    /// The state as it is, then each new one, on the thread that handles the action. A subscriber that takes time holds up
    /// the actions, and must not wait for another thread that dispatches; one that asks for a value at a time gets the
    /// newest.
    public var statePublisher: AnyPublisher<StateType, Never> { subject.eraseToAnyPublisher() }

    /// Has an action handled, and returns when it was: on this thread, after those that others have handled just now. From
    /// inside the handling of another, as from a subscriber of the state, it returns at once, and the action is next.
    ///
    /// So nothing of a request that was cancelled by an action is heard after this call.
    public func dispatch(
        _ action: ActionType, file: String = #file, function: String = #function, line: UInt = #line,
        info: String? = nil
    ) {
        dispatch(action, from: ActionSource(file: file, function: function, line: line, info: info))
    }

    /// As the other `dispatch`.
    public func dispatch(_ action: ActionType, from dispatcher: ActionSource) {
        let action = DispatchedAction(action, dispatcher: dispatcher)
        let isMine = withTurn { turn in
            while let thread = turn.thread {
                if pthread_equal(thread, pthread_self()) != 0 {
                    turn.waiting.append(action)
                    return false
                }
                turns.wait()
            }
            turn.thread = pthread_self()
            return true
        }
        guard isMine else { return }
        handle(action)
        handleWaiting()
    }

    private func withTurn<Result>(_ body: (inout Turn) -> Result) -> Result {
        turns.lock()
        defer { turns.unlock() }
        return body(&turn)
    }

    // MARK: Handling

    /// Where effects send actions. They never wait: who handles one just now handles theirs next.
    private func enqueue(_ action: DispatchedAction<ActionType>) {
        let isMine = withTurn { turn in
            turn.waiting.append(action)
            guard turn.thread == nil else { return false }
            turn.thread = pthread_self()
            return true
        }
        if isMine { handleWaiting() }
    }

    /// Until none waits; then it is another's turn.
    private func handleWaiting() {
        while true {
            let waiting = withTurn { turn in
                defer { turn.waiting = [] }
                if turn.waiting.isEmpty { turn.thread = nil }
                return turn.waiting
            }
            if waiting.isEmpty { break }
            for action in waiting { handle(action) }
        }
        turns.broadcast()
    }

    private func handle(_ dispatched: DispatchedAction<ActionType>) {
        let effects = middleware.handle(
            action: dispatched.action, from: dispatched.dispatcher, state: { [current] in current.withLock { $0 } })
        // Only this thread changes it, and others may read it meanwhile.
        var state = self.state
        reducer.reduce(dispatched.action, &state)
        current.withLock { $0 = state }
        subject.send(state)
        effects.run { [weak self] action in self?.enqueue(action) }
    }
}
