/// The state as it is when it is asked for: before the reducer while an action is handled, after it in effects.
public typealias GetState<StateType> = @Sendable () -> StateType

/// What sees every action before the reducer does, and answers with the effects that it is to have.
public protocol Middleware<InputActionType, OutputActionType, StateType>: Sendable {
    /// The actions that it sees.
    associatedtype InputActionType
    /// The actions that its effects send.
    associatedtype OutputActionType: Sendable
    /// The state that it may ask for.
    associatedtype StateType

    /// Answers what is to happen. It is called before the reducer, and its effects are run after it.
    func handle(
        action: InputActionType, from dispatcher: ActionSource, state: @escaping GetState<StateType>
    ) -> IO<OutputActionType>
}

/// A middleware without its type.
public struct AnyMiddleware<InputActionType, OutputActionType: Sendable, StateType>: Middleware {
    /// A middleware's `handle`.
    public typealias Handle =
        @Sendable (InputActionType, ActionSource, @escaping GetState<StateType>) -> IO<OutputActionType>

    private let handler: Handle

    /// The middleware that a function is.
    public init(handle: @escaping Handle) { handler = handle }

    /// Another middleware, without its type.
    public init(_ middleware: some Middleware<InputActionType, OutputActionType, StateType>) {
        handler = { middleware.handle(action: $0, from: $1, state: $2) }
    }

    /// What the middleware answers.
    public func handle(
        action: InputActionType, from dispatcher: ActionSource, state: @escaping GetState<StateType>
    ) -> IO<OutputActionType> {
        handler(action, dispatcher, state)
    }

    /// The middleware that does nothing.
    public static var identity: AnyMiddleware { AnyMiddleware { _, _, _ in .pure() } }

    /// All of them: each sees every action, and their effects are run in this order.
    public static func compose(_ middlewares: AnyMiddleware...) -> AnyMiddleware {
        AnyMiddleware { action, dispatcher, state in
            let effects = middlewares.map { $0.handle(action: action, from: dispatcher, state: state) }
            return IO { output in
                for effect in effects { effect.run(output) }
            }
        }
    }
}

extension Middleware {
    /// This middleware, without its type.
    public func eraseToAnyMiddleware() -> AnyMiddleware<InputActionType, OutputActionType, StateType> {
        AnyMiddleware(self)
    }

    /// The same for an application of which this is a part.
    /// - Parameters:
    ///   - inputAction: The part's action that one of the application is; nil: it is none of the part's.
    ///   - outputAction: The application's action that one of the part's is.
    ///   - state: The part's state in the application's.
    public func lift<GlobalInput, GlobalOutput: Sendable, GlobalState>(
        inputAction: @escaping @Sendable (GlobalInput) -> InputActionType?,
        outputAction: @escaping @Sendable (OutputActionType) -> GlobalOutput,
        state: @escaping @Sendable (GlobalState) -> StateType
    ) -> AnyMiddleware<GlobalInput, GlobalOutput, GlobalState> {
        AnyMiddleware { globalAction, dispatcher, globalState in
            guard let action = inputAction(globalAction) else { return .pure() }
            return handle(action: action, from: dispatcher, state: { state(globalState()) }).map(outputAction)
        }
    }
}
