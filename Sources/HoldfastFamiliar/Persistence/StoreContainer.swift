public import Holdfast

/// A store that is opened when it is first needed, for controllers that share it.
///
///     let container = StoreContainer("music.db")
///     let songs = StorePersistenceController<Song>(container)
///     let artists = StorePersistenceController<Artist>(container)
///
/// However many need it at once, it is opened once. A failure is told to all of them and not kept: whoever needs it next
/// opens it again.
public final class StoreContainer: Sendable {
    private enum Stage {
        case closed
        case opening(Task<Store, any Error>)
        case open(Store)
    }

    private let opening: @Sendable () async throws -> Store
    private let stage: Lock<Stage>

    /// The store of this URL; see `Store.open`.
    public convenience init(_ url: String, _ options: StoreOptions = .init()) {
        self.init { try await Store.open(url, options) }
    }

    /// A store that a function opens.
    public init(opening: @escaping @Sendable () async throws -> Store) {
        self.opening = opening
        stage = Lock(.closed)
    }

    /// A store that is open.
    public init(_ store: Store) {
        opening = { store }
        stage = Lock(.open(store))
    }

    /// The store, opened by now. Throws what opening it throws.
    public func store() async throws -> Store {
        let task = stage.withLock { stage -> Task<Store, any Error> in
            switch stage {
            case .open(let store): return Task { store }
            case .opening(let task): return task
            case .closed:
                // Apart from the task that needs it first, whose cancellation is nothing to the others.
                let task = Task.detached { [opening] in try await opening() }
                stage = .opening(task)
                return task
            }
        }
        let result = await task.result
        stage.withLock { stage in
            guard case .opening(task) = stage else { return }
            if case .success(let store) = result { stage = .open(store) } else { stage = .closed }
        }
        return try result.get()
    }
}
