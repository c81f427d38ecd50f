public import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// What was committed, in order.
public struct ChangeBatch: Sendable {
    /// The place behind these commits, from which another stream or feed may go on.
    public var position: String
    /// Whether the stream could not keep up, and tells from the store's log: of an entity that was changed again since,
    /// only the later change then knows the new form.
    public var isBehind: Bool
    /// The commits, the oldest first. Those of which nothing was asked for are missing.
    public var commits: [CommittedChanges]

    /// All that they changed.
    public var changes: [EntityChange] { commits.flatMap(\.changes) }

    private let store: Store
    private let stream: HoldfastCore.ChangeStream?

    init(_ core: HoldfastCore.ChangeBatch, _ store: Store, _ stream: HoldfastCore.ChangeStream? = nil) {
        position = core.position
        isBehind = core.isBehind
        commits = core.commits.map { commit in
            CommittedChanges(
                sequence: commit.sequence, time: Date(timeIntervalSince1970: Double(commit.time) / 1000),
                changes: commit.changes.map(EntityChange.init))
        }
        self.store = store
        self.stream = stream
    }

    /// Notes that the durable subscription which told of this batch has dealt with it: it goes on behind it when it is opened
    /// again, by whatever program. A commit of `.relaxed` durability. Throws `.invalidState` where there is no such
    /// subscription, and what a commit throws.
    public func acknowledge() async throws {
        guard let stream else {
            throw HoldfastError(.invalidState, "a feed notes nothing: keep the position, or use a durable subscription")
        }
        try await store.waiting { [position] () throws(CoreError) in try stream.acknowledge(position) }
    }
}

/// One commit, as far as it was asked for.
public struct CommittedChanges: Sendable, Hashable {
    /// Its number, which is the version of what it wrote.
    public var sequence: UInt64
    /// When it was committed, by the clock of the process that did.
    public var time: Date
    /// What it changed, repository by repository, ordered by the ids' bytes.
    public var changes: [EntityChange]
}

/// What became of one entity in a commit, or of a repository as a whole.
public struct EntityChange: Sendable, Hashable {
    /// What was done.
    public enum Operation: String, Sendable, Hashable, Codable {
        /// It is new.
        case insert
        /// It was there before.
        case update
        /// It was deleted.
        case delete
        /// It was stored; whether there was one of its id before is not known.
        case put
        /// The repository was dropped, with all its entities.
        case drop
        /// The repository has another name from here on: ``EntityChange/newName``.
        case rename
    }

    /// The name of its repository.
    public var repository: String
    /// Its id, as text; empty where the repository was dropped or renamed.
    public var id: String
    /// What was done.
    public var operation: Operation
    /// Its new form as JSON; nil of a deleted one, and where it is not known or was not asked for. Of a commit of another
    /// process, or from the store's log, it is not known where a later commit has changed or deleted it.
    public var entity: Data?
    /// Its form before as JSON; nil of a new one, and where it is not known or was not asked for. Of a commit of another
    /// process, or from the store's log, it is never known.
    public var old: Data?
    /// The new name of a repository that was renamed.
    public var newName: String?

    init(_ core: HoldfastCore.ChangeBatch.Change) {
        repository = core.repository
        id = core.id.text
        operation =
            switch core.operation {
            case .insert: .insert
            case .update: .update
            case .delete: .delete
            case .put: .put
            case .drop: .drop
            case .rename: .rename
            }
        entity = core.entity.map { Data($0) }
        old = core.old.map { Data($0) }
        newName = core.newName
    }

    /// The new form as an entity of this repository; nil where it is another's, or of a time when the repository had another
    /// name, and where there is none. Throws `.corrupt` for what is no such entity.
    public func entity<Entity>(in repository: Repository<Entity>) throws -> Entity? {
        try decode(entity, in: repository)
    }

    /// The form before, likewise.
    public func old<Entity>(in repository: Repository<Entity>) throws -> Entity? {
        try decode(old, in: repository)
    }

    private func decode<Entity>(_ text: Data?, in repository: Repository<Entity>) throws -> Entity? {
        guard let text, repository.name == self.repository else { return nil }
        return try repository.decode(Array(text), id: EntityID(unchecked: Array(id.utf8)))
    }
}
