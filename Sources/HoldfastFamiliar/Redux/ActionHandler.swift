/// Where an action came from, for logs.
public struct ActionSource: Sendable, Hashable {
    /// The file,
    public var file: String
    /// the function
    public var function: String
    /// and the line in which it was dispatched.
    public var line: UInt
    /// What else whoever dispatched it wants to tell.
    public var info: String?

    /// Without arguments, the place of this call.
    public init(file: String = #file, function: String = #function, line: UInt = #line, info: String? = nil) {
        self.file = file
        self.function = function
        self.line = line
        self.info = info
    }
}

/// An action on its way, with where it came from.
public struct DispatchedAction<ActionType: Sendable>: Sendable {
    /// The action.
    public var action: ActionType
    /// Where it came from; of an effect, what its cause came from.
    public var dispatcher: ActionSource

    /// An action from there.
    public init(_ action: ActionType, dispatcher: ActionSource) {
        self.action = action
        self.dispatcher = dispatcher
    }
}

/// Where effects send the actions that come of them: from any thread, without waiting.
public struct AnyActionHandler<ActionType: Sendable>: Sendable {
    private let handler: @Sendable (DispatchedAction<ActionType>) -> Void

    /// The handler that a function is.
    public init(_ handler: @escaping @Sendable (DispatchedAction<ActionType>) -> Void) { self.handler = handler }

    /// Sends an action.
    public func dispatch(_ dispatchedAction: DispatchedAction<ActionType>) { handler(dispatchedAction) }

    /// Sends an action.
    public func dispatch(_ action: ActionType, from dispatcher: ActionSource) {
        handler(DispatchedAction(action, dispatcher: dispatcher))
    }

    /// Takes another type of actions, each of which stands for one of these.
    public func contramap<Other>(_ transform: @escaping @Sendable (Other) -> ActionType) -> AnyActionHandler<Other> {
        AnyActionHandler<Other> { [handler] other in
            handler(DispatchedAction(transform(other.action), dispatcher: other.dispatcher))
        }
    }
}

/// Effects, described and not yet run: what a middleware answers.
public struct IO<OutputActionType: Sendable>: Sendable {
    private let runIO: @Sendable (AnyActionHandler<OutputActionType>) -> Void

    /// The effects of a function, which sends what comes of them to the handler: at once, later, often or never.
    public init(_ run: @escaping @Sendable (AnyActionHandler<OutputActionType>) -> Void) { runIO = run }

    /// No effects.
    public static func pure() -> IO { IO { _ in } }

    /// Runs them.
    public func run(_ output: AnyActionHandler<OutputActionType>) { runIO(output) }

    /// Runs them.
    public func run(_ output: @escaping @Sendable (DispatchedAction<OutputActionType>) -> Void) {
        runIO(AnyActionHandler(output))
    }

    /// The same, sending other actions.
    public func map<Other>(_ transform: @escaping @Sendable (OutputActionType) -> Other) -> IO<Other> {
        IO<Other> { [runIO] output in runIO(output.contramap(transform)) }
    }
}
