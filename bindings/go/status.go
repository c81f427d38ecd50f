// Code generated from the headers by `make abi`. DO NOT EDIT.

package holdfast

// What a call failed with, to be asked for by errors.Is.
const (
	// ErrInvalidArgument: A parameter is missing, NULL where it must not be, or outside its documented range.
	ErrInvalidArgument Status = 1
	// ErrInvalidHandle: A handle that was freed, never existed, or is of another type.
	ErrInvalidHandle Status = 2
	// ErrInvalidJSON: A payload is no JSON, or JSON beyond the limits for depth and size. The detail has `position`.
	ErrInvalidJSON Status = 3
	// ErrInvalidEntity: An entity is no JSON object, its id is missing where one is needed, or an update does not fit it.
	ErrInvalidEntity Status = 4
	// ErrInvalidID: An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer.
	ErrInvalidID Status = 5
	// ErrInvalidName: A repository's name does not follow the rule given at hf_repository_open.
	ErrInvalidName Status = 6
	// ErrInvalidOption: An option is unknown or has a wrong type or value. The detail has `option` and perhaps `nearest`.
	ErrInvalidOption Status = 7
	// ErrInvalidQuery: A filter or an update uses an unknown operator, a wrong operand or a wrong path.
	ErrInvalidQuery Status = 8
	// ErrInvalidURL: The store's URL names no engine that this library has.
	ErrInvalidURL Status = 9
	// ErrInvalidState: The call is not allowed in the object's present state, such as a write in a finished transaction.
	ErrInvalidState Status = 10
	// ErrUnsupported: This library or engine does not offer what was asked.
	ErrUnsupported Status = 11
	// ErrVersionUnsupported: The library's API version is older than the one the program selects.
	ErrVersionUnsupported Status = 12
	// ErrNotFound: No such entity. From a fetch it is an answer and comes without an error object.
	ErrNotFound Status = 20
	// ErrExists: An entity, or a repository, of this name is there already.
	ErrExists Status = 21
	// ErrVersionMismatch: The expected version that the caller gave is not the entity's. Never retried by the library.
	ErrVersionMismatch Status = 22
	// ErrKeyReused: The idempotency key was used before for other content.
	ErrKeyReused Status = 23
	// ErrCorrupt: A stored record cannot be read. The detail names `repository` and `id`; other records stay readable.
	ErrCorrupt Status = 24
	// ErrUniqueViolation: Two entities would have one value in a unique index. The detail names `index`, `id`, `other` and `value`.
	ErrUniqueViolation Status = 25
	// ErrConflict: Something that the transaction read was changed since. Means only "run again"; retryable.
	ErrConflict Status = 30
	// ErrBusy: The queue is full, or another process or program does not let go of the store. Retryable.
	ErrBusy Status = 31
	// ErrTimeout: The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a wait, and then what was waited for goes on. From hf_store_close it comes without an error object.
	ErrTimeout Status = 32
	// ErrCancelled: The commit was withdrawn by its owner while it was queued, or the call ended by what a host's function said: progress, or the check of interrupt.h, for which any call may answer it. Nothing was done.
	ErrCancelled Status = 33
	// ErrWouldDeadlock: Waiting here would never end, such as waiting for the callback thread on the callback thread.
	ErrWouldDeadlock Status = 34
	// ErrClosed: The store is closed or closing.
	ErrClosed Status = 35
	// ErrForked: The handle, or the open file, belongs to the parent of this forked process.
	ErrForked Status = 36
	// ErrHistoryLost: The server has lost commits that it had acknowledged, and the transaction has read what is no more: a replica that was behind was promoted, or a backup restored. Nothing of it is stored. What is there is served: read anew.
	ErrHistoryLost Status = 37
	// ErrCannotOpen: The store's place does not exist or cannot be reached.
	ErrCannotOpen Status = 40
	// ErrNotAStore: The place holds something that is not a Holdfast store.
	ErrNotAStore Status = 41
	// ErrFormatTooNew: The store was written in a newer format than this library reads, or holds what only a newer library of its format understands; the latter is answered by queries and commits, too, where a newer library has put it there meanwhile. A file says which reader it needs.
	ErrFormatTooNew Status = 42
	// ErrReadOnly: The store or the file system allows no writing.
	ErrReadOnly Status = 43
	// ErrFull: No space is left.
	ErrFull Status = 44
	// ErrIO: Reading, writing or syncing failed. The commit state says what may have happened.
	ErrIO Status = 45
	// ErrNoMemory: The system gives no memory, no thread or no descriptor, all handles are in use, or an aggregation would take more memory than its options allow. See holdfast.h.
	ErrNoMemory Status = 46
	// ErrUnsafeLocation: The place cannot hold a store safely: a link, a file mounted by itself, or a network file system.
	ErrUnsafeLocation Status = 47
	// ErrSchemaTooNew: The store's schema has a greater version than the program knows. The detail has `version`.
	ErrSchemaTooNew Status = 48
	// ErrCursorLost: What was committed behind a position is not known any more. The detail has the `position` to go on from.
	ErrCursorLost Status = 49
	// ErrTransactionActive: The object tree is in another transaction.
	ErrTransactionActive Status = 50
	// ErrTransactionNotActive: The object tree is in no transaction.
	ErrTransactionNotActive Status = 51
	// ErrWrongDescriptor: The descriptor is of another transaction than the tree's active one.
	ErrWrongDescriptor Status = 52
	// ErrCycle: A participant would be below itself.
	ErrCycle Status = 53
	// ErrReentrant: A call from inside one of the functions that the transaction, or the store of a provider, is just calling. Nothing was changed.
	ErrReentrant Status = 54
	// ErrRefused: A validator refused. The error has its own code and message.
	ErrRefused Status = 55
	// ErrHostError: The host's own callback, or its provider, reported a failure; its code and message travel back.
	ErrHostError Status = 60
	// ErrInternal: A defect of the library. Please report it with the message.
	ErrInternal Status = 61
)
