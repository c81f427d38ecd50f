// Generated from the headers by `make abi`: change those instead.

/** What a call failed with. */
export type Status =
  /** A parameter is missing, NULL where it must not be, or outside its documented range. */
  | "INVALID_ARGUMENT"
  /** A handle that was freed, never existed, or is of another type. */
  | "INVALID_HANDLE"
  /** A payload is no JSON, or JSON beyond the limits for depth and size. The detail has `position`. */
  | "INVALID_JSON"
  /** An entity is no JSON object, its id is missing where one is needed, or an update does not fit it. */
  | "INVALID_ENTITY"
  /** An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer. */
  | "INVALID_ID"
  /** A repository's name does not follow the rule given at hf_repository_open. */
  | "INVALID_NAME"
  /** An option is unknown or has a wrong type or value. The detail has `option` and perhaps `nearest`. */
  | "INVALID_OPTION"
  /** A filter or an update uses an unknown operator, a wrong operand or a wrong path. */
  | "INVALID_QUERY"
  /** The store's URL names no engine that this library has. */
  | "INVALID_URL"
  /** The call is not allowed in the object's present state, such as a write in a finished transaction. */
  | "INVALID_STATE"
  /** This library or engine does not offer what was asked. */
  | "UNSUPPORTED"
  /** The library's API version is older than the one the program selects. */
  | "VERSION_UNSUPPORTED"
  /** No such entity. From a fetch it is an answer and comes without an error object. */
  | "NOT_FOUND"
  /** An entity, or a repository, of this name is there already. */
  | "EXISTS"
  /** The expected version that the caller gave is not the entity's. Never retried by the library. */
  | "VERSION_MISMATCH"
  /** The idempotency key was used before for other content. */
  | "KEY_REUSED"
  /** A stored record cannot be read. The detail names `repository` and `id`; other records stay readable. */
  | "CORRUPT"
  /** Two entities would have one value in a unique index. The detail names `index`, `id`, `other` and `value`. */
  | "UNIQUE_VIOLATION"
  /** Something that the transaction read was changed since. Means only "run again"; retryable. */
  | "CONFLICT"
  /** The queue is full, or another process or program does not let go of the store. Retryable. */
  | "BUSY"
  /** The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a wait, and then what was waited for goes on. From hf_store_close it comes without an error object. */
  | "TIMEOUT"
  /** The commit was withdrawn by its owner while it was queued, or the call ended by what a host's function said: progress, or the check of interrupt.h, for which any call may answer it. Nothing was done. */
  | "CANCELLED"
  /** Waiting here would never end, such as waiting for the callback thread on the callback thread. */
  | "WOULD_DEADLOCK"
  /** The store is closed or closing. */
  | "CLOSED"
  /** The handle, or the open file, belongs to the parent of this forked process. */
  | "FORKED"
  /** The server has lost commits that it had acknowledged, and the transaction has read what is no more: a replica that was behind was promoted, or a backup restored. Nothing of it is stored. What is there is served: read anew. */
  | "HISTORY_LOST"
  /** The store's place does not exist or cannot be reached. */
  | "CANNOT_OPEN"
  /** The place holds something that is not a Holdfast store. */
  | "NOT_A_STORE"
  /** The store was written in a newer format than this library reads, or holds what only a newer library of its format understands; the latter is answered by queries and commits, too, where a newer library has put it there meanwhile. A file says which reader it needs. */
  | "FORMAT_TOO_NEW"
  /** The store or the file system allows no writing. */
  | "READ_ONLY"
  /** No space is left. */
  | "FULL"
  /** Reading, writing or syncing failed. The commit state says what may have happened. */
  | "IO"
  /** The system gives no memory, no thread or no descriptor, all handles are in use, or an aggregation would take more memory than its options allow. See holdfast.h. */
  | "NO_MEMORY"
  /** The place cannot hold a store safely: a link, a file mounted by itself, or a network file system. */
  | "UNSAFE_LOCATION"
  /** The store's schema has a greater version than the program knows. The detail has `version`. */
  | "SCHEMA_TOO_NEW"
  /** What was committed behind a position is not known any more. The detail has the `position` to go on from. */
  | "CURSOR_LOST"
  /** The object tree is in another transaction. */
  | "TRANSACTION_ACTIVE"
  /** The object tree is in no transaction. */
  | "TRANSACTION_NOT_ACTIVE"
  /** The descriptor is of another transaction than the tree's active one. */
  | "WRONG_DESCRIPTOR"
  /** A participant would be below itself. */
  | "CYCLE"
  /** A call from inside one of the functions that the transaction, or the store of a provider, is just calling. Nothing was changed. */
  | "REENTRANT"
  /** A validator refused. The error has its own code and message. */
  | "REFUSED"
  /** The host's own callback, or its provider, reported a failure; its code and message travel back. */
  | "HOST_ERROR"
  /** A defect of the library. Please report it with the message. */
  | "INTERNAL";
