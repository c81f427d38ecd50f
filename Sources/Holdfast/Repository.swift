internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import Synchronization

/// A named collection of a store's entities, as JSON objects.
///
/// Inside `store.transaction { }` its calls join the transaction: reads see its snapshot and its own writes, writes
/// are checked at once and stored when it commits. Outside, a read sees the newest committed state, and a write is a
/// commit of its own, evaluated on the newest state when its turn comes: it never meets a conflict, and returns when it
/// is stored. Calls of many tasks share their syncs.
///
/// No asynchronous call makes a thread of Swift's pool wait. A cancelled task's commit is withdrawn while it is queued
/// (`CancellationError`); once it is being stored, its true outcome is told.
///
/// Calls that do nothing yet, and are run later, are those of ``deferred``; calls that block their thread those of ``blocking``.
///
/// Every call may throw `.closed`, `.io`, `.corrupt`, the first one also `.invalidName`, `.invalidOption` (another key
/// than at the repository's creation) and `.exists` (another repository's name differs only in case); writes also
/// `.readOnly`, `.full`, `.busy` and `.timeout`.
public final class Repository<Entity: Codable & Identifiable & Sendable>: Sendable
where Entity.ID: EntityIdentifier {
    /// The store that it belongs to.
    public let store: Store
    /// Its name.
    public let name: String
    /// The member of the encoded entity that holds its id.
    public let key: String

    let coding: EntityCoding
    let skipsDamaged: Bool
    private let cachePolicy: CachePolicy?
    private let opened = Lock<HoldfastCore.Repository?>(nil)
    /// How many fetches the cache has answered.
    private let fetchesFromCache = Atomic<UInt64>(0)

    init(
        store: Store, name: String, key: String, cachePolicy: CachePolicy?, coding: EntityCoding,
        skipsDamaged: Bool = false
    ) {
        self.store = store
        self.name = name
        self.key = key
        self.cachePolicy = cachePolicy
        self.coding = coding
        self.skipsDamaged = skipsDamaged
    }

    /// The same repository, whose queries leave out entities that are damaged where they are stored, as if they were not
    /// there: `try await songs.skippingDamaged().find()`. Otherwise one that is met is `.corrupt`, and the detail names it.
    /// `verify` tells which they are.
    public func skippingDamaged() -> Repository<Entity> {
        Repository(
            store: store, name: name, key: key, cachePolicy: cachePolicy, coding: coding, skipsDamaged: true)
    }

    /// Opens the repository now rather than at the first call, creating it where the store has none of this name: by a
    /// commit of its own, whatever transaction the call is made in.
    /// - Parameter creating: Whether it is created; else `.notFound` is thrown where there is none.
    public func open(creating: Bool = true) async throws { _ = try await core(creating: creating) }

    func core(creating: Bool = true) async throws -> HoldfastCore.Repository {
        try store.requireOutsideProvider()
        if let ready = opened.withLock({ $0 }) { return ready }
        let options = try options(creating: creating)
        return try await store.waiting { [self] () throws(CoreError) in try open(options) }
    }

    /// The same on this thread, which may wait.
    func coreNow() throws -> HoldfastCore.Repository {
        try store.requireBlocking()
        if let ready = opened.withLock({ $0 }) { return ready }
        let options = try options()
        return try translatingErrors { () throws(CoreError) in try open(options) }
    }

    /// The entity in the newest state, if the cache holds it and may answer. Nobody waits for that, so a task that does
    /// nothing else lets the others of its pool have a turn now and then.
    func cached(_ id: EntityID) async throws -> Versioned<Entity>? {
        // A provider would have to be asked whether it is the newest.
        guard store.provider == nil, try TransactionScope.joined(by: store) == nil else { return nil }
        try Task.checkCancellation()
        let core = try await core()
        guard let (version, text) = try translatingErrors({ () throws(CoreError) in try core.cached(id) }) else {
            return nil
        }
        let fetches = fetchesFromCache.wrappingAdd(1, ordering: .relaxed).newValue
        if fetches.isMultiple(of: UInt64(Limits.inForce.cachedFetches)) { await Task.yield() }
        return Versioned(entity: try decode(text, id: id), version: version)
    }

    private func open(_ options: RepositoryOptions) throws(CoreError) -> HoldfastCore.Repository {
        try store.provider?.requireKeeps(name)
        let repository = try store.core.repository(name, options: options)
        opened.withLock { $0 = repository }
        return repository
    }

    /// Checked and named by the core's own reader, so that every face refuses the same.
    private func options(creating: Bool = true) throws -> RepositoryOptions {
        let json = Array(try JSONEncoder().encode(NamedOptions(key: key, create: creating, cache: cachePolicy)))
        return try translatingOptions { () throws(CoreError) in
            try json.withBytes { bytes throws(CoreError) in try RepositoryOptions(json: bytes) }
        }
    }

    /// The text that an id is stored under.
    func text(of id: Entity.ID) throws -> EntityID {
        guard let text = id.identifierText else {
            throw HoldfastError(
                .invalidID, "an entity without an id cannot be meant: give the one that it was assigned")
        }
        return try translatingErrors { () throws(CoreError) in
            try Array(text.utf8).withBytes { bytes throws(CoreError) in try EntityID(checking: bytes) }
        }
    }

    func decode(_ text: [UInt8], id: EntityID) throws -> Entity {
        try coding.decode(Entity.self, from: text, id: id.text, repository: name)
    }
}

/// A repository's options as the C interface names them.
private struct NamedOptions: Encodable {
    var key: String
    var create: Bool
    var cache: CachePolicy?
}
