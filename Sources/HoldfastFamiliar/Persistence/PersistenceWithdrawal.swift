/// How a save or a delete hears that it is to be withdrawn: what still waits then is not stored, and fails; what is being stored
/// goes on, and is told as it ends.
///
/// A controller of one's own that can withdraw implements `savePublisher(for:withdrawal:)`, `deletePublisher(for:withdrawal:)`.
public final class PersistenceWithdrawal: Sendable {
    private struct State {
        var isAsked = false
        var listener: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    /// One that nobody has asked for.
    public init() {}

    /// Whether somebody wants it withdrawn.
    public var isAsked: Bool { state.withLock { $0.isAsked } }

    /// Has `body` called once when it is asked for; at once where it was already. Only the last one given is.
    public func onAsked(_ body: @escaping @Sendable () -> Void) {
        let isAsked = state.withLock { state in
            if !state.isAsked { state.listener = body }
            return state.isAsked
        }
        if isAsked { body() }
    }

    /// Asks for it.
    public func ask() {
        let listener = state.withLock { state in
            defer { state = State(isAsked: true) }
            return state.listener
        }
        listener?()
    }
}
