internal import HoldfastCore
internal import HoldfastEnvironment

/// The kind of a failure. More may be added, so a switch over it should have a `default`.
public enum Status: Sendable, Hashable, CaseIterable {
    /// An argument is outside its documented range, or belongs to another store.
    case invalidArgument
    /// Unused here: a handle of the C interface that is none.
    case invalidHandle
    /// A payload is no JSON, or JSON beyond the limits for depth and size. The detail has the `offset`.
    case invalidJSON
    /// An entity is no JSON object, or its id is missing where one is needed.
    case invalidEntity
    /// An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer.
    case invalidID
    /// A repository's name does not follow the rule given at `Store.repository`.
    case invalidName
    /// An option is unknown or has a wrong type or value. The detail has `option` and perhaps `nearest`.
    case invalidOption
    /// A filter uses an unknown operator or a wrong operand.
    case invalidQuery
    /// The store's URL names no engine that this library has.
    case invalidURL
    /// The call is not allowed in the object's present state, such as a write in a finished transaction.
    case invalidState
    /// This library or engine does not offer what was asked.
    case unsupported
    /// Unused here: the C library is older than the program that loads it.
    case versionUnsupported
    /// No such entity. (A fetch answers nil instead.)
    case notFound
    /// An entity, or a repository, of this name is there already.
    case exists
    /// The expected version that the caller gave is not the entity's: the detail has both, `expected` and `actual`. Never
    /// retried by the library.
    case versionMismatch
    /// The idempotency key was used before for other content.
    case keyReused
    /// A stored record cannot be read. The detail names `repository` and `id`; other records stay readable.
    case corrupt
    /// Two entities would have one value in a unique index. The detail names `index`, `id`, `other` and `value`.
    case uniqueViolation
    /// Something that the transaction read was changed since: the detail's `ids`. Means only "run again"; retryable.
    case conflict
    /// The queue is full, or another process holds the store. Retryable.
    case busy
    /// The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a wait, and then
    /// what was waited for goes on.
    case timeout
    /// What was waited for was cancelled. (A withdrawn commit throws `CancellationError`.)
    case cancelled
    /// Waiting here would never end, such as waiting for the callback thread on the callback thread.
    case wouldDeadlock
    /// The store is closed or closing.
    case closed
    /// The store belongs to the parent of this forked process.
    case forked
    /// The server has lost commits that it had acknowledged, and the transaction has read what is no more: a replica that was
    /// behind was promoted, or a backup restored. Nothing of it is stored. What is there is served: read anew.
    case historyLost
    /// The store's place does not exist or cannot be reached.
    case cannotOpen
    /// The place holds something that is not a Holdfast store.
    case notAStore
    /// The store was written in a newer format than this library reads, or holds what only a newer library understands.
    case formatTooNew
    /// The store or the file system allows no writing.
    case readOnly
    /// No space is left.
    case full
    /// Reading, writing or syncing failed. The commit state says what may have happened.
    case io
    /// Memory is exhausted.
    case noMemory
    /// The place cannot hold a store safely: a link, a file mounted by itself, or a network file system.
    case unsafeLocation
    /// The store's schema has a greater version than the program knows: the detail's `version`.
    case schemaTooNew
    /// What was committed behind a position is not known any more. The detail has the `position` to go on from, once what is
    /// stored was read anew.
    case cursorLost
    /// The object tree is in another transaction.
    case transactionActive
    /// The object tree is in no transaction.
    case transactionNotActive
    /// The descriptor is of another transaction than the tree's active one.
    case wrongDescriptor
    /// A member of an object tree would be below itself.
    case cycle
    /// A call from inside one of the functions that the transaction is just calling. Nothing was changed.
    case reentrant
    /// Unused here: what a validator throws is thrown on unchanged.
    case refused
    /// The host's own callback reported a failure; it travels back unchanged.
    case hostError
    /// A defect of the library. Please report it with the message.
    case `internal`

    /// Whether the same call may succeed when made again, with nothing else changed by the caller.
    public var isRetryable: Bool { self == .conflict || self == .busy }
}

extension Status {
    /// Exhaustive, so that the compiler keeps the two lists together.
    init(_ core: HoldfastEnvironment.Status) {
        self =
            switch core {
            case .invalidArgument: .invalidArgument
            case .invalidHandle: .invalidHandle
            case .invalidJSON: .invalidJSON
            case .invalidEntity: .invalidEntity
            case .invalidID: .invalidID
            case .invalidName: .invalidName
            case .invalidOption: .invalidOption
            case .invalidQuery: .invalidQuery
            case .invalidURL: .invalidURL
            case .invalidState: .invalidState
            case .unsupported: .unsupported
            case .versionUnsupported: .versionUnsupported
            case .notFound: .notFound
            case .exists: .exists
            case .versionMismatch: .versionMismatch
            case .keyReused: .keyReused
            case .corrupt: .corrupt
            case .uniqueViolation: .uniqueViolation
            case .conflict: .conflict
            case .busy: .busy
            case .timeout: .timeout
            case .cancelled: .cancelled
            case .wouldDeadlock: .wouldDeadlock
            case .closed: .closed
            case .forked: .forked
            case .historyLost: .historyLost
            case .cannotOpen: .cannotOpen
            case .notAStore: .notAStore
            case .formatTooNew: .formatTooNew
            case .readOnly: .readOnly
            case .full: .full
            case .io: .io
            case .noMemory: .noMemory
            case .unsafeLocation: .unsafeLocation
            case .schemaTooNew: .schemaTooNew
            case .cursorLost: .cursorLost
            case .transactionActive: .transactionActive
            case .transactionNotActive: .transactionNotActive
            case .wrongDescriptor: .wrongDescriptor
            case .cycle: .cycle
            case .reentrant: .reentrant
            case .refused: .refused
            case .hostError: .hostError
            case .internal: .internal
            case .ok: .internal  // no error has it
            }
    }
}
