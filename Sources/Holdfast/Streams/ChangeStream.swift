internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// What is committed from now on, or from a position on, by whatever process:
///
///     for try await batch in store.changes(of: songs) {
///         for change in batch.changes { show(change.operation, change.id) }
///     }
///
/// Each iteration is a stream of its own. It begins when it asks for its first batch, and ends when it is left, or its task
/// is cancelled (`CancellationError`); then nothing of it stays. What is rolled back is never told.
///
/// One that takes its time falls behind: more than 10,000 changes, or 16 MiB, are not kept for it, but read from the
/// store's log (`ChangeBatch.isBehind`). Where that was trimmed meanwhile, it ends with `.cursorLost`: read anew what is
/// stored, then begin at the `position` of the error's detail. When the store closes, it ends with `.closed`.
public struct ChangeStream: AsyncSequence, Sendable {
    public typealias Element = ChangeBatch

    let store: Store
    let options: @Sendable () throws -> StreamOptions

    /// A stream, which begins when its first batch is asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            store: store,
            consumer: StreamConsumer { [store, options] mailbox in
                let options = try options()
                return try await store.waiting { [core = store.core] () throws(CoreError) in
                    try core.openStream(options, mailbox)
                }
            })
    }

    /// One stream.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let store: Store
        fileprivate let consumer: StreamConsumer

        /// The next batch, once there is one. Nil after it has thrown.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> ChangeBatch? {
            while let event = try await consumer.next() {
                if case .changes(let batch) = event { return ChangeBatch(batch, store, consumer.stream) }
            }
            return nil
        }
    }
}

/// Which changes a stream or a feed tells of, and how.
public struct ChangeOptions: Sendable, Hashable {
    /// Whether changes have the entity's new form.
    public var includesEntities = true
    /// Whether they have its before-image, too, where it is known. Not of a feed.
    public var includesOld = false

    /// With the new forms alone, if nothing else is said.
    public init(includesEntities: Bool = true, includesOld: Bool = false) {
        self.includesEntities = includesEntities
        self.includesOld = includesOld
    }
}

extension Store {
    /// What is committed in the whole store.
    /// - Parameters:
    ///   - position: Where to begin, as a receipt, a batch or `position()` names it; nil: with the next commit.
    ///   - durable: The name of a durable subscription, 1 to 64 bytes. Its place is kept in the store and moved by
    ///     `ChangeBatch.acknowledge`: it begins behind what was acknowledged last, and at `position` where nothing was, or
    ///     where the log has lost that. For one consumer at a time: another process hears everything under it, too.
    ///   - options: What is told of a change.
    public func changes(
        since position: String? = nil, durable: String? = nil, _ options: ChangeOptions = .init()
    ) -> ChangeStream {
        ChangeStream(store: self) { StreamOptions(options, since: position, durable: durable) }
    }

    /// What is committed in one repository, which must be there (`.notFound`).
    /// - Parameters:
    ///   - repository: The repository.
    ///   - filter: Only of entities that match before or after. Of other processes' commits, and of those from the store's
    ///     log, no form from before is known, and not each new one: what cannot be decided is told, whether it matches or not.
    ///   - fields: Updates only where one of these dotted paths leads to another value; empty: every update. Otherwise as
    ///     `filter`.
    ///   - position: As of the other `changes`.
    ///   - durable: As of the other `changes`.
    ///   - options: What is told of a change.
    public func changes<Entity>(
        of repository: Repository<Entity>, where filter: Filter<Entity> = .all, fields: [String] = [],
        since position: String? = nil, durable: String? = nil, _ options: ChangeOptions = .init()
    ) -> ChangeStream {
        ChangeStream(store: self) {
            var stream = StreamOptions(options, since: position, durable: durable)
            stream.repository = repository.name
            stream.filter = try filter.text(repository.coding).map { Array($0.utf8) }
            stream.fields = fields
            return stream
        }
    }

    /// What becomes of one entity, in a repository that must be there (`.notFound`).
    /// - Parameters:
    ///   - repository: The repository.
    ///   - id: Of the entity, which need not be there.
    ///   - position: As of the other `changes`.
    ///   - durable: As of the other `changes`.
    ///   - options: What is told of a change.
    public func changes<Entity>(
        of repository: Repository<Entity>, id: Entity.ID, since position: String? = nil, durable: String? = nil,
        _ options: ChangeOptions = .init()
    ) -> ChangeStream {
        ChangeStream(store: self) {
            var stream = StreamOptions(options, since: position, durable: durable)
            stream.repository = repository.name
            stream.id = try repository.text(of: id)
            return stream
        }
    }

    /// A feed: what was committed behind a position, oldest first, at most so many commits (1 to 100,000). Ask again with the
    /// batch's position, which is the same where nothing was committed since.
    /// - Parameters:
    ///   - position: Nil: before the store's first commit. Where the log does not reach so far back any more,
    ///     `.cursorLost` is thrown.
    ///   - limit: How many commits at most.
    ///   - options: What is told of a change.
    public func changes(
        since position: String?, limit: Int, _ options: ChangeOptions = .init()
    ) async throws -> ChangeBatch {
        try await feed(position, limit, StreamOptions(options))
    }

    /// A feed of one repository, which must be there (`.notFound`). A commit of which nothing is asked for counts, and is not
    /// listed.
    /// - Parameters:
    ///   - repository: The repository.
    ///   - filter: Only of entities that match, or whose form is not known.
    ///   - position: As of the other feed.
    ///   - limit: How many commits at most, those that are not listed among them.
    ///   - options: What is told of a change.
    public func changes<Entity>(
        of repository: Repository<Entity>, where filter: Filter<Entity> = .all, since position: String?,
        limit: Int, _ options: ChangeOptions = .init()
    ) async throws -> ChangeBatch {
        var stream = StreamOptions(options)
        stream.repository = repository.name
        stream.filter = try filter.text(repository.coding).map { Array($0.utf8) }
        return try await feed(position, limit, stream)
    }

    /// A feed of one entity, in a repository that must be there (`.notFound`).
    /// - Parameters:
    ///   - repository: The repository.
    ///   - id: Of the entity, which need not be there.
    ///   - position: As of the other feeds.
    ///   - limit: As of the other feeds.
    ///   - options: What is told of a change.
    public func changes<Entity>(
        of repository: Repository<Entity>, id: Entity.ID, since position: String?, limit: Int,
        _ options: ChangeOptions = .init()
    ) async throws -> ChangeBatch {
        var stream = StreamOptions(options)
        stream.repository = repository.name
        stream.id = try repository.text(of: id)
        return try await feed(position, limit, stream)
    }

    private func feed(_ position: String?, _ limit: Int, _ options: StreamOptions) async throws -> ChangeBatch {
        guard (1...100_000).contains(limit) else {
            throw HoldfastError(.invalidArgument, "the limit of a feed is 1 to 100,000 commits")
        }
        var stream = options
        stream.limit = limit
        let batch = try await waiting { [core, stream] () throws(CoreError) in
            try core.changes(since: position, stream)
        }
        return ChangeBatch(batch, self)
    }

    /// The place behind the newest commit, of whatever process.
    public func position() async throws -> String {
        try await waiting { [core] () throws(CoreError) in try core.position() }
    }
}

extension StreamOptions {
    fileprivate init(_ options: ChangeOptions, since position: String? = nil, durable: String? = nil) {
        self.init()
        includesEntities = options.includesEntities
        includesOld = options.includesOld
        since = position
        durableName = durable
    }
}
