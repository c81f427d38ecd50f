/// How actions change a state, as a value: pure, and callable alone.
///
///     var state = SongsState()
///     reducer.reduce(.save(song), &state)
///
/// It does nothing else: whatever has an effect is a `Middleware`'s.
public struct Reducer<ActionType, StateType>: Sendable {
    /// Changes the state as the action says.
    public let reduce: @Sendable (_ action: ActionType, _ state: inout StateType) -> Void

    private init(_ reduce: @escaping @Sendable (ActionType, inout StateType) -> Void) { self.reduce = reduce }

    /// The reducer that a function is.
    public static func reduce(_ reduce: @escaping @Sendable (ActionType, inout StateType) -> Void) -> Reducer {
        Reducer(reduce)
    }

    /// The reducer that changes nothing.
    public static var identity: Reducer { Reducer { _, _ in } }

    /// One after the other, each on what the one before has made.
    public static func compose(_ reducers: Reducer...) -> Reducer {
        Reducer { action, state in
            for reducer in reducers { reducer.reduce(action, &state) }
        }
    }

    /// The same for an application of which this is a part.
    /// - Parameters:
    ///   - action: The part's action that one of the application is; nil: it is none of the part's.
    ///   - state: Where the part's state is in the application's.
    public func lift<GlobalAction, GlobalState>(
        action: @escaping @Sendable (GlobalAction) -> ActionType?,
        state: any WritableKeyPath<GlobalState, StateType> & Sendable
    ) -> Reducer<GlobalAction, GlobalState> {
        .reduce { [reduce] globalAction, globalState in
            guard let action = action(globalAction) else { return }
            reduce(action, &globalState[keyPath: state])
        }
    }
}
