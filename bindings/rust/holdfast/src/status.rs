// Generated from the headers by `make abi`: change those instead.
use crate::Status;

impl Status {
    /// Done.
    pub const OK: Status = Status(0);
    /// A parameter is missing, NULL where it must not be, or outside its documented range.
    pub const INVALID_ARGUMENT: Status = Status(1);
    /// A handle that was freed, never existed, or is of another type.
    pub const INVALID_HANDLE: Status = Status(2);
    /// A payload is no JSON, or JSON beyond the limits for depth and size. The detail has `position`.
    pub const INVALID_JSON: Status = Status(3);
    /// An entity is no JSON object, its id is missing where one is needed, or an update does not fit it.
    pub const INVALID_ENTITY: Status = Status(4);
    /// An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer.
    pub const INVALID_ID: Status = Status(5);
    /// A repository's name does not follow the rule given at hf_repository_open.
    pub const INVALID_NAME: Status = Status(6);
    /// An option is unknown or has a wrong type or value. The detail has `option` and perhaps `nearest`.
    pub const INVALID_OPTION: Status = Status(7);
    /// A filter or an update uses an unknown operator, a wrong operand or a wrong path.
    pub const INVALID_QUERY: Status = Status(8);
    /// The store's URL names no engine that this library has.
    pub const INVALID_URL: Status = Status(9);
    /// The call is not allowed in the object's present state, such as a write in a finished transaction.
    pub const INVALID_STATE: Status = Status(10);
    /// This library or engine does not offer what was asked.
    pub const UNSUPPORTED: Status = Status(11);
    /// The library's API version is older than the one the program selects.
    pub const VERSION_UNSUPPORTED: Status = Status(12);
    /// No such entity. From a fetch it is an answer and comes without an error object.
    pub const NOT_FOUND: Status = Status(20);
    /// An entity, or a repository, of this name is there already.
    pub const EXISTS: Status = Status(21);
    /// The expected version that the caller gave is not the entity's. Never retried by the library.
    pub const VERSION_MISMATCH: Status = Status(22);
    /// The idempotency key was used before for other content.
    pub const KEY_REUSED: Status = Status(23);
    /// A stored record cannot be read. The detail names `repository` and `id`; other records stay readable.
    pub const CORRUPT: Status = Status(24);
    /// Two entities would have one value in a unique index. The detail names `index`, `id`, `other` and `value`.
    pub const UNIQUE_VIOLATION: Status = Status(25);
    /// Something that the transaction read was changed since. Means only "run again"; retryable.
    pub const CONFLICT: Status = Status(30);
    /// The queue is full, or another process or program does not let go of the store. Retryable.
    pub const BUSY: Status = Status(31);
    /// The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a wait, and then what was waited for goes on. From hf_store_close it comes without an error object.
    pub const TIMEOUT: Status = Status(32);
    /// The commit was withdrawn by its owner while it was queued, or the call ended by what a host's function said: progress, or the check of interrupt.h, for which any call may answer it. Nothing was done.
    pub const CANCELLED: Status = Status(33);
    /// Waiting here would never end, such as waiting for the callback thread on the callback thread.
    pub const WOULD_DEADLOCK: Status = Status(34);
    /// The store is closed or closing.
    pub const CLOSED: Status = Status(35);
    /// The handle, or the open file, belongs to the parent of this forked process.
    pub const FORKED: Status = Status(36);
    /// The server has lost commits that it had acknowledged, and the transaction has read what is no more: a replica that was behind was promoted, or a backup restored. Nothing of it is stored. What is there is served: read anew.
    pub const HISTORY_LOST: Status = Status(37);
    /// The store's place does not exist or cannot be reached.
    pub const CANNOT_OPEN: Status = Status(40);
    /// The place holds something that is not a Holdfast store.
    pub const NOT_A_STORE: Status = Status(41);
    /// The store was written in a newer format than this library reads, or holds what only a newer library of its format understands; the latter is answered by queries and commits, too, where a newer library has put it there meanwhile. A file says which reader it needs.
    pub const FORMAT_TOO_NEW: Status = Status(42);
    /// The store or the file system allows no writing.
    pub const READ_ONLY: Status = Status(43);
    /// No space is left.
    pub const FULL: Status = Status(44);
    /// Reading, writing or syncing failed. The commit state says what may have happened.
    pub const IO: Status = Status(45);
    /// The system gives no memory, no thread or no descriptor, all handles are in use, or an aggregation would take more memory than its options allow. See holdfast.h.
    pub const NO_MEMORY: Status = Status(46);
    /// The place cannot hold a store safely: a link, a file mounted by itself, or a network file system.
    pub const UNSAFE_LOCATION: Status = Status(47);
    /// The store's schema has a greater version than the program knows. The detail has `version`.
    pub const SCHEMA_TOO_NEW: Status = Status(48);
    /// What was committed behind a position is not known any more. The detail has the `position` to go on from.
    pub const CURSOR_LOST: Status = Status(49);
    /// The object tree is in another transaction.
    pub const TRANSACTION_ACTIVE: Status = Status(50);
    /// The object tree is in no transaction.
    pub const TRANSACTION_NOT_ACTIVE: Status = Status(51);
    /// The descriptor is of another transaction than the tree's active one.
    pub const WRONG_DESCRIPTOR: Status = Status(52);
    /// A participant would be below itself.
    pub const CYCLE: Status = Status(53);
    /// A call from inside one of the functions that the transaction, or the store of a provider, is just calling. Nothing was changed.
    pub const REENTRANT: Status = Status(54);
    /// A validator refused. The error has its own code and message.
    pub const REFUSED: Status = Status(55);
    /// The host's own callback, or its provider, reported a failure; its code and message travel back.
    pub const HOST_ERROR: Status = Status(60);
    /// A defect of the library. Please report it with the message.
    pub const INTERNAL: Status = Status(61);
}
