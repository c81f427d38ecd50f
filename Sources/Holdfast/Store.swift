public import Foundation
internal import HoldfastCore
internal import HoldfastEngines
internal import HoldfastEnvironment

/// One database: the unit of commit order.
///
///     let store = try await Store.open("music.db"), songs = store.repository(of: Song.self)
///     try await store.transaction { try await songs.save(song) }
///
/// A store that nobody refers to any more closes by itself, soon afterwards; `close()` waits for the end and tells
/// of failures. Repositories keep their store open.
public final class Store: Sendable {
    let core: HoldfastCore.Store
    /// Of the host's, where one keeps the entities.
    let provider: (any StoreProvider)?
    private let threads: WaitingThreads
    /// The host's, or the system's.
    let clock = Lock<any Clock<Duration>>(ContinuousClock())

    private init(_ core: HoldfastCore.Store, provider: (any StoreProvider)?, threads: WaitingThreads) {
        self.core = core
        self.provider = provider
        self.threads = threads
    }

    /// Opens a store, creating it where there is none.
    ///
    ///     "music.db", "sqlite:music.db"    an SQLite file
    ///     "memory:"                        a new store in this process's memory
    ///
    /// Throws `.invalidURL`, `.invalidOption`, `.cannotOpen`, `.notAStore`, `.formatTooNew`, `.readOnly`, `.busy` (another
    /// process, or another open in this one, holds it), `.unsafeLocation`, `.full`, `.io`.
    public static func open(_ url: String, _ options: StoreOptions = .init()) async throws -> Store {
        try await open(options) { options throws(CoreError) in try StoreURL.open(url, options: options) }
    }

    /// With the threads that its calls wait on.
    static func open(
        _ options: StoreOptions, provider: (any StoreProvider)? = nil, threads: WaitingThreads = .shared,
        _ open: @escaping @Sendable (HoldfastCore.StoreOptions) throws(CoreError) -> HoldfastCore.Store
    ) async throws -> Store {
        let options = try prepared(options)
        let core = try await threads.waiting { () throws(CoreError) in try open(options) }
        return Store(core, provider: provider, threads: threads)
    }

    /// On this thread, which may wait.
    static func openNow(_ url: String, _ options: StoreOptions) throws -> Store {
        let options = try prepared(options)
        let core = try translatingErrors { () throws(CoreError) in try StoreURL.open(url, options: options) }
        return Store(core, provider: nil, threads: .shared)
    }

    private static func prepared(_ options: StoreOptions) throws -> HoldfastCore.StoreOptions {
        var options = try options.checked()
        options.delivery = .callback
        options.limitAdvice = "wait, or raise maxInFlight"
        return options
    }

    deinit {
        // Begins to close and waits for nothing; the store's own threads do the rest.
        _ = try? core.close(timeoutMilliseconds: 0)
    }

    /// Closes the store: refuses new work, rolls back open transactions, finishes what was accepted, releases the file.
    /// Closing a closed store does nothing. Throws `.timeout` when it takes longer than allowed, and goes on closing; `.io`
    /// when the last write to the file failed: the store is closed all the same, and what was acknowledged as durable is.
    public func close(timeout: Duration? = nil) async throws {
        try await waiting { [core] () throws(CoreError) in try Self.close(core, timeout) }
    }

    /// On this thread, which may wait.
    func closeNow(timeout: Duration?) throws {
        try requireBlocking()
        try translatingErrors { () throws(CoreError) in try Self.close(core, timeout) }
    }

    private static func close(_ core: HoldfastCore.Store, _ timeout: Duration?) throws(CoreError) {
        let isClosed = try core.close(timeoutMilliseconds: timeout.map(waitingMilliseconds))
        if !isClosed { throw CoreError(.timeout, "the store is still closing: call close again to wait on") }
    }

    /// Makes everything committed before this call durable, also what was committed as `.relaxed`.
    public func sync() async throws {
        try await waiting { [core] () throws(CoreError) in try core.sync() }
    }

    /// The library's own version, such as "0.1.0".
    public static var libraryVersion: String { "\(HoldfastCore.libraryVersion)" }

    /// What the store tells about itself. Reads little from the storage.
    public func describe() throws -> StoreDescription {
        let json = try translatingErrors { () throws(CoreError) in try core.describe() }
        return try JSONDecoder().decode(StoreDescription.self, from: Data(json))
    }

    /// A repository of the store, for entities of one type. Does nothing yet: its first call opens it, and creates it
    /// where the store has none of this name.
    ///
    /// - Parameters:
    ///   - type: The entities' type.
    ///   - name: A letter or underscore, then letters, digits, underscores and hyphens, all ASCII, 64 at most. Without
    ///     one, the type's name in lower case: `song` for `Song`.
    ///   - key: The member of the encoded entity that holds its id; fixed when the repository is created.
    ///   - cachePolicy: How its entities are kept in memory, apart from those of others, by this program from its next call
    ///     on, whoever makes it; nil: as they are kept, at first as the store's option `cacheBytes` says.
    ///   - encoder: How entities become JSON, instead of the standard `JSONEncoder` with sorted keys and without
    ///     escaped slashes. What it writes is stored byte for byte.
    ///   - decoder: How they come back.
    public func repository<Entity>(
        of type: Entity.Type, named name: String? = nil, key: String = "id", cachePolicy: CachePolicy? = nil,
        encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil
    ) -> Repository<Entity> {
        Repository(
            store: self, name: name ?? Self.repositoryName(of: type), key: key, cachePolicy: cachePolicy,
            coding: EntityCoding(encoder: encoder, decoder: decoder, key: key))
    }

    static func repositoryName(of type: Any.Type) -> String { String(describing: type).lowercased() }

    // MARK: Waiting

    /// Runs `body` on a thread that may wait, and hands its result back to the task.
    func waiting<Value: Sendable>(
        _ body: @escaping @Sendable () throws(CoreError) -> Value
    ) async throws -> Value {
        try requireOutsideProvider()
        return try await threads.waiting(body)
    }

    /// The same of what cannot fail, nor waits for a provider that this task is in.
    func waiting<Value: Sendable>(for body: @escaping @Sendable () -> Value) async -> Value {
        await threads.waiting(for: body)
    }

    /// Refuses a call from inside a function of the store's own provider.
    func requireOutsideProvider() throws {
        guard let provider else { return }
        try translatingErrors { () throws(CoreError) in try provider.requireOutside() }
    }

    /// Refuses a blocking call that would have a thread of Swift's pool wait for the host's provider, or come from inside it.
    func requireBlocking() throws {
        try requireOutsideProvider()
        guard provider != nil, !Self.isValidating, withUnsafeCurrentTask(body: { $0 != nil }) else { return }
        throw HoldfastError(
            .wouldDeadlock,
            "a blocking call would have a thread of Swift's pool wait for the provider: use the asynchronous one")
    }

    /// Whether the members of object trees are just validated, which is done in the task of their owner: they have no other
    /// calls than the blocking ones.
    @TaskLocal static var isValidating = false
}
