// Generated from the headers by `make abi`: change those instead.
use std::os::raw::{c_char, c_int, c_void};

/// A length that says: the bytes end at their first NUL. Accepted wherever a length in bytes is.
pub const HF_NTS: usize = 18446744073709551615;
/// The bytes of a descriptor, which names one transaction of trees. All zero stands for any.
pub const HF_DESCRIPTOR_BYTES: usize = 16;
/// The `outer` of a scope that lies in no other.
pub const HF_NO_SCOPE: u64 = 18446744073709551615;
/// The version of the contract in these headers. Rises when functions or options are added.
pub const HF_API_VERSION: i32 = 1;

/// The outcome of a call.
pub type hf_status = u32;
/// Done.
pub const HF_OK: hf_status = 0;
/// A parameter is missing, NULL where it must not be, or outside its documented range.
pub const HF_INVALID_ARGUMENT: hf_status = 1;
/// A handle that was freed, never existed, or is of another type.
pub const HF_INVALID_HANDLE: hf_status = 2;
/// A payload is no JSON, or JSON beyond the limits for depth and size. The detail has `position`.
pub const HF_INVALID_JSON: hf_status = 3;
/// An entity is no JSON object, its id is missing where one is needed, or an update does not fit it.
pub const HF_INVALID_ENTITY: hf_status = 4;
/// An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer.
pub const HF_INVALID_ID: hf_status = 5;
/// A repository's name does not follow the rule given at hf_repository_open.
pub const HF_INVALID_NAME: hf_status = 6;
/// An option is unknown or has a wrong type or value. The detail has `option` and perhaps `nearest`.
pub const HF_INVALID_OPTION: hf_status = 7;
/// A filter or an update uses an unknown operator, a wrong operand or a wrong path.
pub const HF_INVALID_QUERY: hf_status = 8;
/// The store's URL names no engine that this library has.
pub const HF_INVALID_URL: hf_status = 9;
/// The call is not allowed in the object's present state, such as a write in a finished transaction.
pub const HF_INVALID_STATE: hf_status = 10;
/// This library or engine does not offer what was asked.
pub const HF_UNSUPPORTED: hf_status = 11;
/// The library's API version is older than the one the program selects.
pub const HF_VERSION_UNSUPPORTED: hf_status = 12;
/// No such entity. From a fetch it is an answer and comes without an error object.
pub const HF_NOT_FOUND: hf_status = 20;
/// An entity, or a repository, of this name is there already.
pub const HF_EXISTS: hf_status = 21;
/// The expected version that the caller gave is not the entity's. Never retried by the library.
pub const HF_VERSION_MISMATCH: hf_status = 22;
/// The idempotency key was used before for other content.
pub const HF_KEY_REUSED: hf_status = 23;
/// A stored record cannot be read. The detail names `repository` and `id`; other records stay readable.
pub const HF_CORRUPT: hf_status = 24;
/// Two entities would have one value in a unique index. The detail names `index`, `id`, `other` and `value`.
pub const HF_UNIQUE_VIOLATION: hf_status = 25;
/// Something that the transaction read was changed since. Means only "run again"; retryable.
pub const HF_CONFLICT: hf_status = 30;
/// The queue is full, or another process or program does not let go of the store. Retryable.
pub const HF_BUSY: hf_status = 31;
/// The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a wait, and then what was waited for goes on. From hf_store_close it comes without an error object.
pub const HF_TIMEOUT: hf_status = 32;
/// The commit was withdrawn by its owner while it was queued, or the call ended by what a host's function said: progress, or the check of interrupt.h, for which any call may answer it. Nothing was done.
pub const HF_CANCELLED: hf_status = 33;
/// Waiting here would never end, such as waiting for the callback thread on the callback thread.
pub const HF_WOULD_DEADLOCK: hf_status = 34;
/// The store is closed or closing.
pub const HF_CLOSED: hf_status = 35;
/// The handle, or the open file, belongs to the parent of this forked process.
pub const HF_FORKED: hf_status = 36;
/// The server has lost commits that it had acknowledged, and the transaction has read what is no more: a replica that was behind was promoted, or a backup restored. Nothing of it is stored. What is there is served: read anew.
pub const HF_HISTORY_LOST: hf_status = 37;
/// The store's place does not exist or cannot be reached.
pub const HF_CANNOT_OPEN: hf_status = 40;
/// The place holds something that is not a Holdfast store.
pub const HF_NOT_A_STORE: hf_status = 41;
/// The store was written in a newer format than this library reads, or holds what only a newer library of its format understands; the latter is answered by queries and commits, too, where a newer library has put it there meanwhile. A file says which reader it needs.
pub const HF_FORMAT_TOO_NEW: hf_status = 42;
/// The store or the file system allows no writing.
pub const HF_READ_ONLY: hf_status = 43;
/// No space is left.
pub const HF_FULL: hf_status = 44;
/// Reading, writing or syncing failed. The commit state says what may have happened.
pub const HF_IO: hf_status = 45;
/// The system gives no memory, no thread or no descriptor, all handles are in use, or an aggregation would take more memory than its options allow. See holdfast.h.
pub const HF_NO_MEMORY: hf_status = 46;
/// The place cannot hold a store safely: a link, a file mounted by itself, or a network file system.
pub const HF_UNSAFE_LOCATION: hf_status = 47;
/// The store's schema has a greater version than the program knows. The detail has `version`.
pub const HF_SCHEMA_TOO_NEW: hf_status = 48;
/// What was committed behind a position is not known any more. The detail has the `position` to go on from.
pub const HF_CURSOR_LOST: hf_status = 49;
/// The object tree is in another transaction.
pub const HF_TRANSACTION_ACTIVE: hf_status = 50;
/// The object tree is in no transaction.
pub const HF_TRANSACTION_NOT_ACTIVE: hf_status = 51;
/// The descriptor is of another transaction than the tree's active one.
pub const HF_WRONG_DESCRIPTOR: hf_status = 52;
/// A participant would be below itself.
pub const HF_CYCLE: hf_status = 53;
/// A call from inside one of the functions that the transaction, or the store of a provider, is just calling. Nothing was changed.
pub const HF_REENTRANT: hf_status = 54;
/// A validator refused. The error has its own code and message.
pub const HF_REFUSED: hf_status = 55;
/// The host's own callback, or its provider, reported a failure; its code and message travel back.
pub const HF_HOST_ERROR: hf_status = 60;
/// A defect of the library. Please report it with the message.
pub const HF_INTERNAL: hf_status = 61;

/// What became of a commit whose call failed.
pub type hf_commit_state = u32;
/// Nothing of it was stored.
pub const HF_COMMIT_NONE: hf_commit_state = 0;
/// It may or may not have been stored: the failure came from the commit itself.
pub const HF_COMMIT_UNKNOWN: hf_commit_state = 1;
/// It was stored, although something afterwards failed.
pub const HF_COMMIT_DONE: hf_commit_state = 2;

/// What an event tells of.
pub type hf_event_kind = u32;
/// A submitted commit has ended.
pub const HF_EVENT_COMMIT: hf_event_kind = 1;
/// A future has ended, or a subscription, or a stream; of the latter two nothing comes any more.
pub const HF_EVENT_END: hf_event_kind = 2;
/// The value that a subscription brings; its end follows. user_data is not freed with this one.
pub const HF_EVENT_VALUE: hf_event_kind = 3;
/// News of a stream, in `value` as stream.h says; with HF_CURSOR_LOST instead where some is lost. user_data is not freed with this one.
pub const HF_EVENT_CHANGES: hf_event_kind = 4;
/// A controller has a new state, which hf_controller_state answers; several new states may be told as one. user_data is not freed with this one.
pub const HF_EVENT_STATE: hf_event_kind = 5;

/// Where a transaction stands: see the diagram at the top.
pub type hf_transaction_state = u32;
/// It reads and writes.
pub const HF_TRANSACTION_OPEN: hf_transaction_state = 1;
/// Its commit was accepted, and is not decided yet.
pub const HF_TRANSACTION_COMMITTING: hf_transaction_state = 2;
/// It is stored.
pub const HF_TRANSACTION_COMMITTED: hf_transaction_state = 3;
/// It was given up, by whoever had it or because its store closed.
pub const HF_TRANSACTION_ROLLED_BACK: hf_transaction_state = 4;
/// Its commit was refused, withdrawn, or failed.
pub const HF_TRANSACTION_FAILED: hf_transaction_state = 5;

/// How much of a cache is to go.
pub type hf_trim_level = u32;
/// Evicts half of the entries, at least one.
pub const HF_TRIM_WARNING: hf_trim_level = 1;
/// Evicts all.
pub const HF_TRIM_CRITICAL: hf_trim_level = 2;

/// How much a log entry matters.
pub type hf_log_level = u32;
/// Opens, closes, checkpoints.
pub const HF_LOG_INFO: hf_log_level = 1;
/// Slow commits, retries with the ids that collided, snapshots taken back from long readers.
pub const HF_LOG_WARNING: hf_log_level = 2;
/// Storage failures and recoveries.
pub const HF_LOG_ERROR: hf_log_level = 3;

/// what went wrong, as an object that travels with the call
#[repr(C)]
pub struct hf_error {
    _opaque: [u8; 0],
}

/// one database, opened by URL
#[repr(C)]
pub struct hf_store {
    _opaque: [u8; 0],
}

/// one unit of work over a store
#[repr(C)]
pub struct hf_transaction {
    _opaque: [u8; 0],
}

/// a named collection of entities in a store
#[repr(C)]
pub struct hf_repository {
    _opaque: [u8; 0],
}

/// what was committed, in order, told after the commit to whoever wants to know
#[repr(C)]
pub struct hf_stream {
    _opaque: [u8; 0],
}

/// persistence for programs with one direction of flow
#[repr(C)]
pub struct hf_controller {
    _opaque: [u8; 0],
}

/// what a query finds, in pieces, so that any number of entities takes little memory
#[repr(C)]
pub struct hf_cursor {
    _opaque: [u8; 0],
}

/// the pending result of anything asynchronous, completed by the library or by the host
#[repr(C)]
pub struct hf_future {
    _opaque: [u8; 0],
}

/// a transaction described now and run later, as often as wanted
#[repr(C)]
pub struct hf_operation {
    _opaque: [u8; 0],
}

/// an object of the host's that begins, validates, commits and rolls back with others, alone or together with what a store's transaction stores
#[repr(C)]
pub struct hf_participant {
    _opaque: [u8; 0],
}

/// Receives an event.
///
/// event: borrowed for this call, with all that it holds. user_data: as given with the commit. Runs on the store's callback thread.
pub type hf_event_fn = Option<unsafe extern "C" fn(event: *const hf_event, user_data: *mut c_void)>;

/// The body of a transaction that may have to run more than once.
///
/// transaction: borrowed for this call; not to be committed, submitted or rolled back here (HF_INVALID_STATE). user_data: as given to hf_store_transact. out_error: may receive an error made with hf_error_create, or one that a call of the library has answered; the library takes it over. So a body may hand out_error on to the calls that it makes, and what one of them fails with is what hf_store_transact fails with. Answers HF_OK to commit; HF_CONFLICT to run again; any other status to roll back and have hf_store_transact return it, with that error, or with one that the library makes. Its hf_error_commit_state is HF_COMMIT_NONE, whatever it was of another commit. A call that is given out_error forgets what stands there: a body that goes on after a failure frees its error before. When it forks, it commits in the parent alone: in the child hf_store_transact answers HF_FORKED whatever the body answered.
pub type hf_transaction_fn = Option<unsafe extern "C" fn(transaction: *mut hf_transaction, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Answers whether an entity is meant. entity: lent until it returns.
pub type hf_predicate_fn = Option<unsafe extern "C" fn(entity: *const hf_entity_view, user_data: *mut c_void) -> bool>;

/// A function of any type: cast yours to this one.
pub type hf_function = Option<unsafe extern "C" fn()>;

/// A host's clock: nanoseconds that never go back, of no particular beginning. user_data: as given to hf_store_set_clock. Called on any thread, the library's too, by several at once, and while a commit is under way: it must return soon, must not call the library, and, other than the host's other functions, must not fork.
pub type hf_clock_fn = Option<unsafe extern "C" fn(user_data: *mut c_void) -> u64>;

/// Sees each action before the reducer does, and the state as it is before.
///
/// action, state: JSON closed with NUL, borrowed for this call. Every function is allowed inside. What is dispatched here is handled after this action. Runs on the thread that handles the action, one call at a time.
pub type hf_middleware_fn = Option<unsafe extern "C" fn(action: *const c_char, action_length: usize, state: *const c_char, state_length: usize, user_data: *mut c_void)>;

/// Starts something that will complete the future, by a callback, on any thread, or at once.
///
/// future: borrowed; it may be completed as long as hf_await waits. Once nobody waits any longer, completing it answers HF_INVALID_HANDLE or HF_INVALID_STATE. out_error: as of hf_transaction_fn. Called once, on the thread that calls hf_await. Answers HF_OK, or why nothing was started: hf_await returns it, with that error, whatever the future was completed with.
pub type hf_starter_fn = Option<unsafe extern "C" fn(future: *mut hf_future, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Hears how far the building of an index is. entities: how many are done. Called on the thread that creates the index, between pieces of the work and once at its end, never under a lock. Answering false gives up.
pub type hf_index_progress_fn = Option<unsafe extern "C" fn(entities: u64, user_data: *mut c_void) -> bool>;

/// Answers whether the call in which it is asked is to end. user_data: as given to hf_interrupt_set_check. Called on the thread that has set it, in the midst of its calls.
///
/// It is to be quick: the call stands still meanwhile. It must not end the thread, nor leave by longjmp.
pub type hf_interrupt_fn = Option<unsafe extern "C" fn(user_data: *mut c_void) -> bool>;

/// Receives one log entry.
///
/// level: how much it matters; one that only a later library knows is possible. message: one sentence, UTF-8, closed with NUL. fields: a JSON object with what the sentence speaks of, such as {"store":"music.db","milliseconds":412}, closed with NUL. Both are borrowed for this call. user_data: as given to hf_log_set_callback.
///
/// Called on the thread where the entry arose, which may be the caller's or one of the library's, and by several threads at once; no lock of the library is held. It must return soon: a committer waits. It must not close a store, which may have to wait for this very call.
pub type hf_log_fn = Option<unsafe extern "C" fn(level: hf_log_level, message: *const c_char, fields: *const c_char, user_data: *mut c_void)>;

/// Hears how far long work is.
///
/// done: in the unit that the function names. total: in the same unit, 0 where it is not known. Called on the thread that does the work, between its pieces and once at its end, never under a lock. It may use the store, and close it. Answering false gives up: the function answers HF_CANCELLED.
pub type hf_progress_fn = Option<unsafe extern "C" fn(done: u64, total: u64, user_data: *mut c_void) -> bool>;

/// Brings entities from one version of the program's schema to the next.
///
/// transaction: borrowed for this call, as for hf_transaction_fn; all reading and writing goes through it. from, to: the versions; `to` is `from` + 1. out_error: as of hf_transaction_fn, as is the answer. It is called again for the same version after a conflict.
pub type hf_upgrade_fn = Option<unsafe extern "C" fn(transaction: *mut hf_transaction, from: i64, to: i64, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// The host's function as an operation.
///
/// transaction: borrowed for this call; not to be committed, submitted or rolled back here. result: empty; the function may fill it by hf_buffer_set with what the run is to answer. out_error: as of hf_transaction_fn. Answers HF_OK to commit, HF_CONFLICT to run again, any other status to roll back and have the run fail with it. It may run more than once, on the thread that performs, or on the store's one thread for operations: there it should be short, because others wait for their turn, and hf_future_wait answers HF_WOULD_DEADLOCK.
pub type hf_operation_fn = Option<unsafe extern "C" fn(transaction: *mut hf_transaction, result: *mut hf_buffer, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Hears that a transaction begins, has committed or is rolled back. Cannot fail: what may fail belongs into on_validate.
///
/// descriptor: HF_DESCRIPTOR_BYTES, borrowed. user_data: as given to hf_participant_create.
pub type hf_participant_fn = Option<unsafe extern "C" fn(descriptor: *const u8, user_data: *mut c_void)>;

/// Checks that the participant may be committed as it is.
///
/// transaction: the store's, borrowed, to read and write in; NULL for a tree alone. user_data: as given to hf_participant_create. out_error: may receive an error made with hf_error_create, or one that a call of the library has answered; the library takes it over. Answers HF_OK to accept. Any other status refuses: the caller of the commit receives it with that error, or with one that the library makes; a number that is no status becomes HF_REFUSED with it as `code`.
pub type hf_participant_validate_fn = Option<unsafe extern "C" fn(transaction: *mut hf_transaction, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Hears that a savepoint was made, or is rolled back to: the participant goes back to what it was at that savepoint, and to how it began if it joined after that. savepoint: its number. Cannot fail.
pub type hf_participant_savepoint_fn = Option<unsafe extern "C" fn(savepoint: u64, user_data: *mut c_void)>;

/// The body of a transaction of a tree. out_error: as of hf_transaction_fn. Answers HF_OK to commit, any other status to roll back.
pub type hf_participant_body_fn = Option<unsafe extern "C" fn(participant: *mut hf_participant, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Takes one entity from on_fetch_all or on_find.
///
/// id, id_length: in bytes, or HF_NTS. entity, length: the JSON object, in bytes, or HF_NTS. Both are copied. visitor: as given to that function. Answers false when no more can be taken: then the function returns HF_OK. Only to be called on the same thread, before it returns.
pub type hf_provider_visit_fn = Option<unsafe extern "C" fn(id: *const c_char, id_length: usize, entity: *const c_char, length: usize, visitor: *mut c_void) -> bool>;

/// Stores an entity, in place of one that is there.
pub type hf_provider_save_fn = Option<unsafe extern "C" fn(repository: *const c_char, id: *const c_char, id_length: usize, entity: *const c_char, length: usize, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Fetches an entity, or answers HF_NOT_FOUND. out_entity: begins empty, to be filled with hf_buffer_set.
pub type hf_provider_fetch_fn = Option<unsafe extern "C" fn(repository: *const c_char, id: *const c_char, id_length: usize, out_entity: *mut hf_buffer, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Calls visit for each entity of a repository, in any order. One that was never saved to is empty.
pub type hf_provider_fetch_all_fn = Option<unsafe extern "C" fn(repository: *const c_char, visit: hf_provider_visit_fn, visitor: *mut c_void, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Deletes an entity; HF_OK, or HF_NOT_FOUND, where there is none.
pub type hf_provider_delete_fn = Option<unsafe extern "C" fn(repository: *const c_char, id: *const c_char, id_length: usize, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Carries out all writes, or fails with none of them done. writes: one at least.
pub type hf_provider_apply_fn = Option<unsafe extern "C" fn(writes: *const hf_provider_write, count: usize, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// As hf_provider_fetch_all_fn, but may leave out entities that do not match the filter, a JSON text of filter_length bytes, closed with NUL (repository.h describes the language). All that is visited is matched again, so understanding a part is enough.
pub type hf_provider_find_fn = Option<unsafe extern "C" fn(repository: *const c_char, filter: *const c_char, filter_length: usize, visit: hf_provider_visit_fn, visitor: *mut c_void, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Answers a number that is another one after every change, whoever makes it. out_token: receives it. Called at every read and commit: quick.
pub type hf_provider_change_token_fn = Option<unsafe extern "C" fn(out_token: *mut u64, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Makes everything saved, deleted and applied before durable.
pub type hf_provider_sync_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Takes a piece of an export: one or more whole lines. bytes: borrowed for this call, not closed with NUL. Called on the exporting thread, without a lock. out_error: as of hf_transaction_fn. Answers HF_OK, or a status with which the export ends, and with that error.
pub type hf_write_fn = Option<unsafe extern "C" fn(bytes: *const c_char, length: usize, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Gives an import its next bytes. buffer: for at most `capacity` bytes. Called on the importing thread, without a lock. out_error: as of hf_transaction_fn. Answers how many were put there, 0 at the end, or -1 when they cannot be had: then the import ends with that error, or with HF_HOST_ERROR.
pub type hf_read_fn = Option<unsafe extern "C" fn(buffer: *mut c_char, capacity: usize, user_data: *mut c_void, out_error: *mut *mut hf_error) -> i64>;

/// Checks one entity.
///
/// transaction: borrowed, to read and write in; not to be ended here. id, id_length: the entity's, in bytes. entity, length: the JSON object as it would be stored, in bytes; NULL and 0 where it is to be deleted. Neither text is closed with NUL, and both are borrowed for this call. user_data: as given to hf_repository_set_validator. out_error: may receive an error made with hf_error_create, or one that a call of the library has answered; the library takes it over. Answers HF_OK to accept. Any other status refuses: the caller of the commit receives it with that error, or with one that the library makes, whose detail has the `repository` and the `id`; a number that is no status becomes HF_REFUSED with it as `code`.
pub type hf_validator_fn = Option<unsafe extern "C" fn(transaction: *mut hf_transaction, id: *const c_char, id_length: usize, entity: *const c_char, length: usize, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status>;

/// Text that the caller owns: a receipt, a list, a description, always UTF-8 JSON.
///
/// Start with HF_BUFFER_INIT and pass the same buffer again and again: the library reuses the memory and grows it when needed. `data` is NULL before first use; afterwards it holds `length` bytes and a closing NUL that `length` does not count. On failure the buffer keeps what it held.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_buffer {
    pub data: *mut c_char,
    pub length: usize,
    pub capacity: usize,
}
const _: () = assert!(std::mem::size_of::<hf_buffer>() == 24);

/// One entity that the caller owns. Start with HF_ENTITY_INIT and pass the same one again and again: its memory is reused and grows when needed. `data` holds `length` bytes and a closing NUL that `length` does not count. On failure, and on HF_NOT_FOUND, it keeps what it held.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_entity {
    pub data: *mut c_char,
    pub length: usize,
    pub capacity: usize,
    pub version: u64,
}
const _: () = assert!(std::mem::size_of::<hf_entity>() == 32);

/// One entity of a list, borrowed from it. Neither text is closed with NUL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_entity_view {
    pub id: *const c_char,
    pub id_length: usize,
    pub data: *const c_char,
    pub length: usize,
    pub version: u64,
}
const _: () = assert!(std::mem::size_of::<hf_entity_view>() == 40);

/// Entities that the caller owns. Start with HF_ENTITY_LIST_INIT; passing a list that is in use frees what it held. `json` is all of them as one JSON array, `json_length` bytes and a closing NUL; the entities' `data` point into it. On failure the list keeps what it held.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_entity_list {
    pub items: *const hf_entity_view,
    pub count: usize,
    pub json: *const c_char,
    pub json_length: usize,
}
const _: () = assert!(std::mem::size_of::<hf_entity_list>() == 32);

/// One event. Later versions may give new kinds; a program ignores kinds it does not know.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_event {
    pub kind: hf_event_kind,
    /// HF_OK, or why it failed.
    pub status: hf_status,
    /// The commit's sequence number; 0 when it failed or wrote nothing.
    pub sequence: u64,
    /// Behind what it tells of, to be kept by whoever goes on from there later (see stream.h): of a commit that is stored, of changes, and with HF_CURSOR_LOST where the stream goes on; else empty.
    pub position: hf_buffer,
    /// The receipt (see receipt.h) of a commit that is stored, else empty.
    pub receipt: hf_buffer,
    /// The value of a future that has ended with HF_OK, of a subscription and of a stream; else empty.
    pub value: hf_entity,
    /// The error when status is not HF_OK, else NULL.
    pub error: *mut hf_error,
    /// As given with the commit, future, operation or stream. Under "queue" delivery `callback` is there for the host to call, if it likes.
    pub callback: hf_event_fn,
    pub user_data: *mut c_void,
    /// Called with user_data by hf_events_free; not for the host to call.
    pub free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
}
const _: () = assert!(std::mem::size_of::<hf_event>() == 128);

/// What became of one entity. Both texts are closed with NUL, and lent by the receipt.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_receipt_change {
    pub repository: *const c_char,
    /// An id holds no NUL.
    pub id: *const c_char,
    /// In bytes.
    pub id_length: usize,
    /// From now on.
    pub version: u64,
    /// Whether the entity was deleted; else it was stored.
    pub is_deletion: bool,
}
const _: () = assert!(std::mem::size_of::<hf_receipt_change>() == 40);

/// A receipt that was read, whose memory the caller owns. Start with HF_RECEIPT_INIT; reading into one that is in use frees what it held. On failure it keeps that.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_receipt {
    /// The commit's number in the store's order, and the version of what it wrote; 0 when it changed nothing.
    pub sequence: u64,
    /// Closed with NUL; empty when nothing was changed.
    pub position: *const c_char,
    /// Ordered by repository and id, one for each entity.
    pub changes: *const hf_receipt_change,
    pub change_count: usize,
    /// How often the transaction ran.
    pub attempts: i32,
    /// Whether it was synced to the disk when it was told.
    pub is_durable: bool,
    /// Whether an earlier commit with the same idempotency key is answered again.
    pub is_replayed: bool,
    /// False where several entities were stored one after the other.
    pub is_atomic: bool,
}
const _: () = assert!(std::mem::size_of::<hf_receipt>() == 40);

/// What a participant is called for. Start with HF_PARTICIPANT_CALLBACKS_INIT; NULL where nothing is to do.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_participant_callbacks {
    /// sizeof(hf_participant_callbacks), which tells versions apart.
    pub size: usize,
    pub on_begin: hf_participant_fn,
    pub on_validate: hf_participant_validate_fn,
    pub on_commit: hf_participant_fn,
    pub on_rollback: hf_participant_fn,
    /// Both or neither. Without them in every member a savepoint of the transaction is HF_UNSUPPORTED, and a scope that fails leaves a transaction that can only be rolled back.
    pub on_savepoint: hf_participant_savepoint_fn,
    pub on_rollback_to: hf_participant_savepoint_fn,
}
const _: () = assert!(std::mem::size_of::<hf_participant_callbacks>() == 56);

/// One write of a commit: an entity to be stored, or with a NULL entity to be deleted. Lent for the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_provider_write {
    pub repository: *const c_char,
    pub id: *const c_char,
    pub id_length: usize,
    pub entity: *const c_char,
    pub length: usize,
}
const _: () = assert!(std::mem::size_of::<hf_provider_write>() == 40);

/// What a provider does. Start with HF_PROVIDER_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hf_provider {
    /// sizeof(hf_provider), which tells versions apart.
    pub size: usize,
    /// Handed to every function; NULL allowed.
    pub user_data: *mut c_void,
    /// Called with user_data exactly once, on any thread: when the store is closed and none of the functions is running, or before hf_store_open_provider returns a failure; NULL allowed.
    pub free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
    /// These four are needed.
    pub on_save: hf_provider_save_fn,
    pub on_fetch: hf_provider_fetch_fn,
    pub on_fetch_all: hf_provider_fetch_all_fn,
    pub on_delete: hf_provider_delete_fn,
    /// These are not: NULL where there is none.
    pub on_apply: hf_provider_apply_fn,
    pub on_find: hf_provider_find_fn,
    pub on_change_token: hf_provider_change_token_fn,
    pub on_sync: hf_provider_sync_fn,
}
const _: () = assert!(std::mem::size_of::<hf_provider>() == 88);

extern "C" {
    /// Frees the memory of a buffer and sets it to HF_BUFFER_INIT. buffer: NULL and an empty one are allowed. Cannot fail. Any thread; one buffer must not be used by two threads at once.
    pub fn hf_buffer_free(buffer: *mut hf_buffer);
    /// Fills a buffer with a copy of the bytes and a closing NUL, reusing and growing its memory; for results that a host's function gives back.
    ///
    /// buffer: must not be NULL. bytes: NULL with length 0 for none. length: in bytes, or HF_NTS. Answers false, with the buffer as it was, where one of them is NULL that must not be, and without memory. Any thread.
    pub fn hf_buffer_set(buffer: *mut hf_buffer, bytes: *const c_char, length: usize) -> bool;
    /// The name of a status, such as "HF_NOT_FOUND".
    ///
    /// status: any number; one that this library does not know has the name "HF_UNKNOWN". The text is constant and never freed. Cannot fail. Any thread.
    pub fn hf_status_name(status: hf_status) -> *const c_char;
    /// The status the failing call returned. HF_INVALID_HANDLE for NULL or a freed error, HF_FORKED for a parent's, of which a forked child learns nothing else. Cannot fail. Any thread.
    pub fn hf_error_status(error: *const hf_error) -> hf_status;
    /// One sentence that names the thing and the cure: UTF-8, closed with NUL, borrowed from the error. A constant text for NULL or a freed error, never NULL. Cannot fail. Any thread.
    pub fn hf_error_message(error: *const hf_error) -> *const c_char;
    /// Whether running the same work again may succeed: a conflict, or a full queue. False for NULL or a freed error. Cannot fail. Any thread.
    pub fn hf_error_is_retryable(error: *const hf_error) -> bool;
    /// What became of the commit. HF_COMMIT_NONE for NULL or a freed error. Cannot fail. Any thread.
    pub fn hf_error_commit_state(error: *const hf_error) -> hf_commit_state;
    /// Details for programs: a JSON object, closed with NUL, borrowed from the error; "{}" when there are none. Members, each only where it applies: `position` (bytes into the payload; of a stream, the token from which it goes on), `option` and `nearest`, `repository`, `id`, `ids`, `snapshot` (the sequence that was read), `expected` and `actual` (versions; of an export that is gone on with, what it is of), `attempts`, `index` (in a batch, from 0; or the name of an index, and with it `other`, the id that has the same `value`), `operator`, `path`, `supported` and `parameter` (of a filter or an update), `line` (of an import, from 1; of a table the row), `table` and `column` (that a database to be imported has not), `version` (of a schema that is too new), `identifier` (the name of the future that was waited for), `holder` (the process that holds the store), `file` (that another program has locked), `code` (a number that a host's function answered), `cause`. Readers must ignore members they do not know.
    ///
    /// out_length receives its length in bytes; NULL allowed. Cannot fail. Any thread.
    pub fn hf_error_detail(error: *const hf_error, out_length: *mut usize) -> *const c_char;
    /// The error behind this one, or NULL. The result belongs to the caller, who frees it, and stays valid after the outer error is freed. Cannot fail. Any thread.
    #[must_use]
    pub fn hf_error_cause(error: *const hf_error) -> *mut hf_error;
    /// Makes an error, for a host's function that has to answer one.
    ///
    /// status: what it is; one that this library does not know, and HF_OK, become HF_HOST_ERROR. code: the host's own number, found again as `code` in the detail. message: NUL-terminated UTF-8, copied; NULL for none. The result belongs to the caller, until it is handed over; NULL when no handles or memory are left. Any thread.
    #[must_use]
    pub fn hf_error_create(status: hf_status, code: i64, message: *const c_char) -> *mut hf_error;
    /// Frees an error. NULL, and an error freed before, do nothing. Cannot fail. Any thread.
    pub fn hf_error_free(error: *mut hf_error);
    /// Frees the memory of an entity and sets it to HF_ENTITY_INIT. entity: NULL allowed. Cannot fail. Any thread.
    pub fn hf_entity_free(entity: *mut hf_entity);
    /// Frees the memory of a list and sets it to HF_ENTITY_LIST_INIT. list: NULL allowed. Cannot fail. Any thread.
    pub fn hf_entity_list_free(list: *mut hf_entity_list);
    /// Writes text as a JSON string, with its quotes and what has to be escaped, for entities, filters and options that a program puts together by hand:
    ///
    /// text: UTF-8; length: in bytes, or HF_NTS. out_json: receives it, in place of what it held. Errors: HF_INVALID_ARGUMENT (text or out_json is NULL, or the text is no UTF-8), HF_NO_MEMORY. Any thread.
    #[must_use]
    pub fn hf_json_quote(text: *const c_char, length: usize, out_json: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees what events taken with hf_store_events hold: positions, receipts, values, errors, and user_data through its destructor.
    ///
    /// events: the array, which itself is the caller's; NULL with count 0 is allowed. Cannot fail. Any thread, once for each event.
    pub fn hf_events_free(events: *mut hf_event, count: usize);
    /// Opens a store, creating it where there is none.
    ///
    /// url: NUL-terminated UTF-8.
    ///
    /// options: NUL-terminated JSON object, or NULL for the defaults. Unknown names are refused.
    ///
    /// Several processes on one machine may have an SQLite file open at once, each by one handle. They write in turns, in the order in which they ask, and wait for their turn as long as the commit's timeout allows; a process that dies leaves its place. One that has met no other for a tenth of a second asks once a millisecond: another that comes in between may wait about as long. While another program has the file locked for writing, commits wait as their timeouts allow, and half a minute at most. A read sees what any of them committed before it began, and a transaction conflicts with their commits as with its own process's. Read-only handles hold up nobody. Other programs may read the file whenever they like. They must not write the store's own tables: no log tells of that, so a read may show what was there before, a query may miss it, and no transaction conflicts with it.
    ///
    /// A store on a server (PostgreSQL 15 or later, a database in UTF8) may be open in any number of processes on any machines, with the promises of a file: a read sees what any of them committed before it began, commits are in one order, and one is durable as the server's own commits are ("full" waits for its disk, and for its synchronous replicas; "relaxed" does not). The URL is that of libpq, the library libpq.so.5, which is loaded when the first such store is opened: hosts, TLS, password and service files, and the variables PG... of the environment work as there. No message tells the password. A role that opens the first store of a database needs the right to create tables there, every other one SELECT, INSERT, UPDATE and DELETE on those whose names begin with "holdfast_"; with "read_only" SELECT. Each read asks the server whether it is still the newest state that the cache holds; a snapshot in use is a transaction there, and keeps its vacuum from what it sees until "snapshot_max_age_ms" have passed. The key of an index's entry has, with its id, 2,600 bytes at most: beyond that a commit is HF_INVALID_ENTITY. A server that lost commits, because a replica that was behind was promoted, or a backup was restored, is noticed by whoever knows of them: the log tells it, transactions that had read are told HF_HISTORY_LOST, streams of changes HF_CURSOR_LOST, and the store goes on with what is there. Only where a repository was lost, too, or another store lies in its place, every call answers HF_IO until the store is closed and opened again. When a connection is lost in the middle of a commit, a new one finds out what became of it; HF_COMMIT_UNKNOWN is left where the server does not come back, or not before the commit's "timeout_ms" have passed. Reads have no such limit: a server that says nothing for a minute is given up. hf_store_backup and hf_store_compact are HF_UNSUPPORTED: take pg_dump, or hf_store_export.
    ///
    /// out_store receives the handle, freed with hf_store_free.
    ///
    /// Errors: HF_INVALID_ARGUMENT (NULL), HF_INVALID_URL, HF_INVALID_JSON, HF_INVALID_OPTION, HF_CANNOT_OPEN (no such directory, a directory, no permission, no store and "create" false, a name that is kept for a part of another store, or a function fails that the process has given to sqlite3_auto_extension; on a server: libpq is missing, no server, a wrong password, no such database, one that is not in UTF8, a server that is too old, or the tables are missing and may not be created), HF_NOT_A_STORE (a foreign SQLite file, or no SQLite file), HF_FORMAT_TOO_NEW, HF_CORRUPT (a damaged file, or a "-wal" file whose store is missing), HF_READ_ONLY (a store to be recovered or created where nothing can be written), HF_BUSY (another process opens or closes it for longer than "lock_timeout_ms", or this process has it open; the detail's `holder` names it), HF_UNSAFE_LOCATION, HF_FULL, HF_IO, HF_NO_MEMORY, HF_FORKED (the file was open in the parent when this process was forked).
    ///
    /// Any thread. Does I/O; starts the store's threads.
    #[must_use]
    pub fn hf_store_open(url: *const c_char, options: *const c_char, out_store: *mut *mut hf_store, out_error: *mut *mut hf_error) -> hf_status;
    /// Closes a store: refuses new work, rolls back open transactions, finishes what was accepted, delivers its events, releases the file.
    ///
    /// timeout_ms: how long to wait, in milliseconds; -1 for ever, 0 not at all. Another negative number is HF_INVALID_ARGUMENT, and nothing is closed.
    ///
    /// The handle, and those of its repositories and transactions, stay valid until freed; their calls answer HF_CLOSED. Under "queue" delivery undelivered events can still be taken. Closing a closed store is HF_OK. From inside a callback of this store, and any other function of the host's that one of its threads calls, such as a destructor, it returns HF_OK at once and completes afterwards.
    ///
    /// Errors: HF_TIMEOUT (without an error object: still closing; call again to wait on), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. A failure of the last write to the file is HF_IO; the store is closed all the same, and what was acknowledged as durable is. HF_IO also tells that the file was deleted, moved or replaced meanwhile, HF_CORRUPT that it was truncated.
    ///
    /// Any thread. May block for timeout_ms.
    pub fn hf_store_close(store: *mut hf_store, timeout_ms: i64, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees the handle. A store that is still open is closed, as hf_store_close with -1 does (from inside a callback: afterwards). Repositories and transactions of it may be freed before or after, in any order. Events not taken are dropped, their user_data freed. NULL and a freed handle do nothing. Cannot fail. Any thread.
    pub fn hf_store_free(store: *mut hf_store);
    /// Makes everything committed before this call durable, also what was committed as "relaxed". Errors: HF_IO, HF_HISTORY_LOST (a server has lost some of it since the last call, and no call of this function has told so; what is there is durable), HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Blocks for one sync of the file, or of the server's.
    pub fn hf_store_sync(store: *mut hf_store, out_error: *mut *mut hf_error) -> hf_status;
    /// Takes events that are ready, waiting for the first.
    ///
    /// events: an array of at least `capacity` elements, overwritten. timeout_ms: how long to wait for the first event, in milliseconds; -1 for ever, 0 not at all.
    ///
    /// Returns the number of events taken, 0 when the time has passed, hf_store_wake was called or the thread's check says so (see interrupt.h), or the negative of a status: -HF_CLOSED when the store is closed and every event was taken, -HF_INVALID_ARGUMENT for a NULL array, capacity 0, another negative timeout, or a store without "queue" delivery, -HF_INVALID_HANDLE, -HF_FORKED.
    ///
    /// A signal does not end the wait. A program that is to hear of signals gives its thread a check that looks whether one has come, has its handler call hf_store_wake, or waits for the descriptor with poll or epoll_wait, which signals interrupt, and calls this with 0.
    ///
    /// What the events hold belongs to the caller: hf_events_free. Any thread, several at once.
    pub fn hf_store_events(store: *mut hf_store, events: *mut hf_event, capacity: usize, timeout_ms: i64) -> i32;
    /// Ends a wait for events: every hf_store_events that waits now returns 0, or what has come meanwhile; if none waits, the next that would. To have a loop look at something else. The descriptor is left alone.
    ///
    /// Errors: HF_UNSUPPORTED for a store without "queue" delivery, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread; also in a signal handler, with a live handle and out_error NULL.
    pub fn hf_store_wake(store: *mut hf_store, out_error: *mut *mut hf_error) -> hf_status;
    /// A descriptor that is readable while events wait to be taken, and once the store is closed, for poll, epoll and the like. It is the library's: neither read from it nor close it; it is valid until hf_store_free. close-on-exec.
    ///
    /// out_descriptor: receives it; must not be NULL. Errors: HF_UNSUPPORTED for a store without "queue" delivery, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread.
    pub fn hf_store_event_fd(store: *mut hf_store, out_descriptor: *mut c_int, out_error: *mut *mut hf_error) -> hf_status;
    /// Describes the store as a JSON object. Readers ignore other members than these:
    ///
    /// out_description: see hf_buffer. Errors: HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_IO, HF_CORRUPT. Any thread; reads from the storage.
    pub fn hf_store_describe(store: *mut hf_store, out_description: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// How many handles of a kind live in this process, for tests that nothing leaks.
    ///
    /// kind: "store", "repository", "transaction", "error", "cursor", "operation", "future", "participant", "stream", "controller", of any other there are 0; NULL for all. Cannot fail. Any thread.
    pub fn hf_handle_count(kind: *const c_char) -> usize;
    /// Reads a receipt.
    ///
    /// text: as an event or a call gave it; length: in bytes, or HF_NTS. out_receipt: receives what it says, to be freed with hf_receipt_free. Errors: HF_INVALID_JSON, HF_INVALID_ARGUMENT (text or out_receipt is NULL, or the JSON is no receipt, as the result of an operation is none), HF_NO_MEMORY. Any thread. Does not block.
    #[must_use]
    pub fn hf_receipt_read(text: *const c_char, length: usize, out_receipt: *mut hf_receipt, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees the memory of a receipt and sets it to HF_RECEIPT_INIT. receipt: NULL allowed. Cannot fail. Any thread.
    pub fn hf_receipt_free(receipt: *mut hf_receipt);
    /// Begins a transaction. Does no I/O and holds nothing of the storage until its first read.
    ///
    /// options: NUL-terminated JSON object, or NULL.
    ///
    /// out_transaction receives the handle, freed with hf_transaction_free. Errors: HF_INVALID_ARGUMENT, HF_INVALID_JSON, HF_INVALID_OPTION, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    #[must_use]
    pub fn hf_transaction_begin(store: *mut hf_store, options: *const c_char, out_transaction: *mut *mut hf_transaction, out_error: *mut *mut hf_error) -> hf_status;
    /// Commits and waits for the outcome.
    ///
    /// out_receipt: receives the receipt; NULL if not wanted.
    ///
    /// Errors: HF_CONFLICT (retryable; the detail's `ids` name what changed), HF_HISTORY_LOST (a server has lost what was read; nothing was stored), HF_UNIQUE_VIOLATION and HF_INVALID_ENTITY (what an index does not take, see index.h), HF_KEY_REUSED, HF_TIMEOUT (with an error object: withdrawn from the queue, also because another program had the file locked; nothing was stored), HF_BUSY (retryable: another program has had the file locked for writing for half a minute, and the detail's `file` is its path; nothing was stored), HF_READ_ONLY, HF_FULL, HF_IO, HF_NO_MEMORY and, of a provider, HF_HOST_ERROR (hf_error_commit_state tells whether something may have been stored), HF_CORRUPT, what an object tree's member or a validator has answered (see participant.h), HF_REENTRANT, HF_INVALID_STATE, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED; with "on_error": "abort" that of the write that failed; HF_UNSUPPORTED and HF_INVALID_STATE where a scope has failed that could not go back alone (see hf_transaction_begin_scope). A refusal of a member or a validator leaves the transaction open, and so do HF_READ_ONLY, HF_REENTRANT, HF_INVALID_STATE for one that is not open or in which a scope is under way, and HF_FORKED. After any other it has failed: it can be begun again (hf_transaction_retry) or freed.
    ///
    /// Any thread, the callback thread included. Blocks until the commit is stored.
    #[must_use]
    pub fn hf_transaction_commit(transaction: *mut hf_transaction, out_receipt: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Hands the commit over and returns; the outcome arrives as an event (see event.h).
    ///
    /// on_end: called with the event under "callback" delivery, found in the event under "queue"; NULL allowed. user_data: handed to on_end, found in the event; NULL allowed. free_user_data: called with user_data exactly once: after the event was delivered (under "queue": by hf_events_free), or before this call returns a failure; NULL allowed.
    ///
    /// Does no I/O on this thread. When "max_in_flight" commits are under way it waits up to the transaction's "timeout_ms" for a place, but not with "when_full": "refuse", and never on the store's callback thread. HF_OK: accepted, exactly one event will come. The handle may be freed at once; the commit goes on.
    ///
    /// Object trees (see participant.h) and validators (see validator.h) are asked on this thread before, and what one refuses is answered here; so is the conflict of a transaction with trees that wrote nothing, and what keeps a transaction from being stored since a write or a scope of it has failed.
    ///
    /// Errors: HF_BUSY (no place; the transaction stays open and can be submitted again), HF_INVALID_STATE (also where a scope is under way; then it stays open, too), HF_REENTRANT (others are just having it validated), HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED; with "on_error": "abort" that of the write that failed, and HF_UNSUPPORTED and HF_INVALID_STATE where a scope has failed that could not go back alone: then the transaction has failed and can only be freed, as after hf_transaction_commit, and no event comes. Other conflicts and storage failures come as events. Any thread.
    #[must_use]
    pub fn hf_transaction_submit(transaction: *mut hf_transaction, on_end: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_error: *mut *mut hf_error) -> hf_status;
    /// Withdraws a submitted commit while it is queued; its event then tells HF_CANCELLED. Errors: HF_INVALID_STATE when it is too late (it is being stored or has ended) or was never submitted, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_transaction_cancel(transaction: *mut hf_transaction, out_error: *mut *mut hf_error) -> hf_status;
    /// Discards the transaction. Rolling back one that was rolled back is HF_OK. Errors: HF_INVALID_STATE (submitted, committed or failed), HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_transaction_rollback(transaction: *mut hf_transaction, out_error: *mut *mut hf_error) -> hf_status;
    /// Marks a place to which the transaction's writes can be rolled back. out_savepoint receives its number. Errors: HF_INVALID_STATE, HF_INVALID_ARGUMENT, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_transaction_savepoint(transaction: *mut hf_transaction, out_savepoint: *mut u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Discards what was written after the savepoint, and the savepoints after it; it itself stays and can be rolled back to again. What was read stays read: the conflict check still counts it. A transaction that a write which failed after the savepoint has aborted goes on. Errors: HF_INVALID_ARGUMENT (no such savepoint; a scope's number is none), HF_INVALID_STATE, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_transaction_rollback_to(transaction: *mut hf_transaction, savepoint: u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Forgets a savepoint, and those after it; what was written stays. Until then it costs the memory of what was changed since. Errors: HF_INVALID_ARGUMENT (no such savepoint), HF_INVALID_STATE, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_transaction_release(transaction: *mut hf_transaction, savepoint: u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Begins a scope: a part of the transaction that is all or nothing by itself, for a function that works in the transaction of whoever calls it. A scope that fails takes its own writes with it, and its caller may go on; what it read stays read. This is what a transaction inside a transaction is in every language.
    ///
    /// outer: the scope in which it lies; 0 for the one that was begun last, which is right where calls nest; HF_NO_SCOPE for none. It matters where several threads or tasks work in one transaction: one whose scope fails must not take what the others wrote with it. Then the whole transaction can only be rolled back, and its commit answers HF_INVALID_STATE; also where one fails while a scope inside it is under way, which has to be ended before. While any scope is under way a commit answers HF_INVALID_STATE and leaves the transaction open, because it would store half of that. out_scope receives its number.
    ///
    /// Members of object trees take part through their savepoint functions (see participant.h). Where one has none, or its tree is being called just then, a scope that fails cannot go back alone: from then on every call, and the commit, answer HF_UNSUPPORTED, until the transaction is rolled back.
    ///
    /// Errors: what a failed write or scope has left (see "on_error"), HF_REENTRANT, HF_INVALID_STATE, HF_INVALID_ARGUMENT, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    #[must_use]
    pub fn hf_transaction_begin_scope(transaction: *mut hf_transaction, outer: u64, out_scope: *mut u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Ends a scope.
    ///
    /// succeeded: whether what it did stays a part of the transaction; false: it goes back. Errors: what keeps a scope that is told to have succeeded from being stored: with "on_error": "abort" the failure of a write in it, and then it goes back, and the transaction may go on; or what a scope that could not go back alone has left. HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. A scope that has ended, and one of a transaction that has ended, is HF_OK. Any thread. Does not block.
    #[must_use]
    pub fn hf_transaction_end_scope(transaction: *mut hf_transaction, scope: u64, succeeded: bool, out_error: *mut *mut hf_error) -> hf_status;
    /// The transaction's state, also after its store was closed. out_state: must not be NULL. Errors: HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread.
    pub fn hf_transaction_get_state(transaction: *mut hf_transaction, out_state: *mut hf_transaction_state, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees the handle; an open transaction is rolled back, a submitted one goes on. NULL and a freed handle do nothing. Cannot fail. Any thread.
    pub fn hf_transaction_free(transaction: *mut hf_transaction);
    /// Runs the body in a transaction and commits it; on a conflict runs it again on the newest state, once those of this process have ended that collided at the same entity, or by a query of the same repository, before.
    ///
    /// body: called on this thread, once or more. user_data: handed to it; NULL allowed. options: as for hf_transaction_begin, and
    ///
    /// With an idempotency key that was used, the body does not run and the first receipt is answered with "replayed": true. So it is, too, where the same request is made twice at once: what the body of the one that was slower wrote is dropped, and whatever it failed with, its own or a validator's refusal too, since that may come of what the other has stored; it gets the receipt of the other. out_receipt: receives the receipt, its `attempts` telling how often the body ran; NULL if not wanted.
    ///
    /// Errors: those of hf_transaction_commit; HF_CONFLICT only when the attempts or the time are used up, with the detail's `attempts`; what the body answered; HF_INVALID_ARGUMENT, HF_INVALID_JSON, HF_INVALID_OPTION. Any thread. Blocks.
    #[must_use]
    pub fn hf_store_transact(store: *mut hf_store, body: hf_transaction_fn, user_data: *mut c_void, options: *const c_char, out_receipt: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Opens a repository, creating it where the store has none of that name.
    ///
    /// name: NUL-terminated: a letter or underscore, then letters, digits, underscores and hyphens, all ASCII, 1 to 64 bytes; not beginning with "holdfast_" or "sqlite_". Names that differ only in case name one repository and must be written as at its creation.
    ///
    /// options: NUL-terminated JSON object, or NULL.
    ///
    /// out_repository receives the handle, freed with hf_repository_free, before the store or after it.
    ///
    /// Errors: HF_INVALID_NAME, HF_INVALID_JSON, HF_INVALID_OPTION (also another key than at creation), HF_EXISTS (the name differs in case from an existing one), HF_NOT_FOUND, HF_READ_ONLY (to be created in a read-only store). Blocks when it has to create.
    #[must_use]
    pub fn hf_repository_open(store: *mut hf_store, name: *const c_char, options: *const c_char, out_repository: *mut *mut hf_repository, out_error: *mut *mut hf_error) -> hf_status;
    /// The repository's name: what it is called by now, as far as this process has heard; of one that was dropped, what it was called then.
    ///
    /// out_name: see hf_buffer. Errors: HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_NO_MEMORY. Any thread, also when the store is closed. Does not block.
    #[must_use]
    pub fn hf_repository_name(repository: *mut hf_repository, out_name: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees the handle; the entities stay. NULL and a freed handle do nothing. Cannot fail.
    pub fn hf_repository_free(repository: *mut hf_repository);
    /// The names of the store's repositories, in the order of their bytes, as a JSON array of texts.
    ///
    /// A repository is there from when it was first opened with "create", with entities or without, in whatever process, until it is dropped; of a provider's store, where this process has opened it. (hf_store_describe tells their keys too, hf_repository_count how many entities one has.)
    ///
    /// out_names: see hf_buffer. Errors: HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_IO, HF_CORRUPT, HF_NO_MEMORY. Any thread; reads from the storage.
    #[must_use]
    pub fn hf_store_repositories(store: *mut hf_store, out_names: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Drops a repository: all its entities, its indexes (also those being built, and those after which entities expire) and the repository itself go, in one commit, durable as the store's others.
    ///
    /// name: NUL-terminated, as at its creation.
    ///
    /// Handles of it stay good, in every process. They find an empty repository, which is there again as soon as something is stored in it or it is opened with "create": then with another key, if wanted, and handles from before answer HF_NOT_FOUND to what would store. Validators and cache policies stay, as they belong to the process and not to what is stored; no validator is asked whether the entities may go. What was cached of it is gone everywhere.
    ///
    /// It is a commit of its own, also while the thread has a transaction open, and never meets a conflict. A transaction that has read an entity of the repository, or a query that found one, answers HF_CONFLICT when it commits behind the drop; one that only saves there comes after it, and brings the repository back. What reads a snapshot from before sees it as it was. An entity that is added again has a greater version than any before, so none is taken for another.
    ///
    /// Streams tell it as one change, {"repository": "songs", "operation": "drop"}, without an entity for each that is gone; live queries tell that their rows are.
    ///
    /// The storage deletes the entities one by one while other commits wait, about 2 to 5 seconds for a million small ones, in little memory (the write-ahead log grows by what is touched); hf_interrupt_set_check can end it, with nothing gone. Who cannot have commits wait deletes them in pieces first, with hf_repository_delete_all and filters.
    ///
    /// Errors: HF_NOT_FOUND (no such repository), HF_INVALID_NAME, HF_READ_ONLY, HF_UNSUPPORTED (of a provider's store, whose host keeps the entities by this name: see hf_repository_delete_all), HF_FULL, HF_IO, HF_CORRUPT, HF_BUSY, HF_CANCELLED, HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_NO_MEMORY. Any thread. Blocks for the commit.
    #[must_use]
    pub fn hf_store_drop(store: *mut hf_store, name: *const c_char, out_error: *mut *mut hf_error) -> hf_status;
    /// Gives a repository another name, in one commit, durable as the store's others, however many entities it has. They keep their versions, indexes go on, also where they are being built.
    ///
    /// name: NUL-terminated, as at its creation. new_name: NUL-terminated, as hf_repository_open has it; the same in other case is another name.
    ///
    /// Handles of it stay good, in every process, and so do streams and live queries of it: they are of the repository, by whatever name. The old name is free from then on: who opens it, in whatever process, or runs an operation that names it, creates another repository. It is a commit of its own, also while the thread has a transaction open, and conflicts with none, for no entity is another.
    ///
    /// Streams tell it as {"repository": "songs", "operation": "rename", "to": "tracks"}, and each commit under the name that the repository had then, so that who follows in order arrives at the same.
    ///
    /// Errors: HF_NOT_FOUND (no such repository), HF_EXISTS (there is one of the new name, be it this one), HF_INVALID_NAME, HF_READ_ONLY, HF_UNSUPPORTED (of a provider's store), HF_FULL, HF_IO, HF_CORRUPT, HF_BUSY, HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_NO_MEMORY. Any thread. Blocks for the commit.
    #[must_use]
    pub fn hf_store_rename(store: *mut hf_store, name: *const c_char, new_name: *const c_char, out_error: *mut *mut hf_error) -> hf_status;
    /// Stores a new entity. Without an id it is given one (UUIDv7, RFC 9562) as its first member.
    ///
    /// entity, length: the JSON object. out_entity: receives the entity as stored, its version 0 inside a transaction; NULL if not wanted.
    ///
    /// Errors: HF_EXISTS (the id is taken), HF_INVALID_JSON, HF_INVALID_ENTITY, HF_INVALID_ID.
    #[must_use]
    pub fn hf_repository_add(repository: *mut hf_repository, transaction: *mut hf_transaction, entity: *const c_char, length: usize, out_entity: *mut hf_entity, out_error: *mut *mut hf_error) -> hf_status;
    /// Replaces an existing entity.
    ///
    /// expected_version: the version the entity must have; 0 for any.
    ///
    /// Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH (the detail has `expected` and `actual`), HF_INVALID_JSON, HF_INVALID_ENTITY (also without an id), HF_INVALID_ID.
    #[must_use]
    pub fn hf_repository_update(repository: *mut hf_repository, transaction: *mut hf_transaction, entity: *const c_char, length: usize, expected_version: u64, out_entity: *mut hf_entity, out_error: *mut *mut hf_error) -> hf_status;
    /// Stores an entity, new or not. Without an id it is given one. Reads nothing, so a transaction that only saves never conflicts.
    ///
    /// Errors: HF_INVALID_JSON, HF_INVALID_ENTITY, HF_INVALID_ID.
    #[must_use]
    pub fn hf_repository_save(repository: *mut hf_repository, transaction: *mut hf_transaction, entity: *const c_char, length: usize, out_entity: *mut hf_entity, out_error: *mut *mut hf_error) -> hf_status;
    /// Changes some members of an existing entity by a JSON merge patch (RFC 7396): members of the patch replace, null removes, nested objects merge; all else keeps its bytes.
    ///
    /// id, id_length: the entity's. patch, patch_length: a JSON object. expected_version: 0 for any.
    ///
    /// Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH, HF_INVALID_JSON, HF_INVALID_ID, HF_INVALID_ENTITY (the patch is no object, would change or remove the id, or the result is over the limits).
    #[must_use]
    pub fn hf_repository_patch(repository: *mut hf_repository, transaction: *mut hf_transaction, id: *const c_char, id_length: usize, patch: *const c_char, patch_length: usize, expected_version: u64, out_entity: *mut hf_entity, out_error: *mut *mut hf_error) -> hf_status;
    /// Changes an entity by an update in MongoDB's operators. Outside a transaction it is worked out on the newest state when its turn comes, so that many may count in one entity at once: none is lost, none conflicts. In a transaction the entity counts as read; and with a validator (see validator.h) it is in one.
    ///
    /// update, update_length: a JSON object of operators, each with an object of dotted paths and operands:
    ///
    /// Objects on the way of a path are made where they are missing. In an array a part of a path is an index; behind its end it is filled up with null. No path of an update may be another one or the beginning of another one, nor lead to the id. Values compare and are equal as in filters (see hf_repository_find), types in the order null, numbers, strings, objects, arrays, booleans. Integers are calculated exactly in 64 bits, and refused beyond them; with a real number they give a real number. What no path names keeps its bytes; new members come last, in the order of their names, numbers among these by their value.
    ///
    /// initial, initial_length: a JSON object, the entity to begin with where there is none; without an id it is given this one, as text. NULL: HF_NOT_FOUND, as with an expected version. expected_version: 0 for any. out_entity: as at hf_repository_add.
    ///
    /// Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH, HF_INVALID_JSON, HF_INVALID_ID, HF_INVALID_QUERY (the update fits no entity: an unknown operator, a wrong operand or path, paths that meet), HF_INVALID_ENTITY (it does not fit this one: the value there is of another type, the path leads through a scalar, a number leaves its range, the id would change, the result is over the limits); the detail has `operator` and `path`.
    #[must_use]
    pub fn hf_repository_modify(repository: *mut hf_repository, transaction: *mut hf_transaction, id: *const c_char, id_length: usize, update: *const c_char, update_length: usize, initial: *const c_char, initial_length: usize, expected_version: u64, out_entity: *mut hf_entity, out_error: *mut *mut hf_error) -> hf_status;
    /// Deletes an entity. expected_version: 0 for any. Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH, HF_INVALID_ID.
    #[must_use]
    pub fn hf_repository_delete(repository: *mut hf_repository, transaction: *mut hf_transaction, id: *const c_char, id_length: usize, expected_version: u64, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_repository_add for each element of a JSON array. out_entities: the entities as stored, in the order given; NULL if not wanted. An id given twice is HF_EXISTS.
    #[must_use]
    pub fn hf_repository_add_many(repository: *mut hf_repository, transaction: *mut hf_transaction, entities: *const c_char, length: usize, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_repository_update, of any version, for each element of a JSON array. out_entities: as of hf_repository_add_many.
    #[must_use]
    pub fn hf_repository_update_many(repository: *mut hf_repository, transaction: *mut hf_transaction, entities: *const c_char, length: usize, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_repository_save for each element of a JSON array; of an id given twice the last stays. out_entities: as of hf_repository_add_many.
    #[must_use]
    pub fn hf_repository_save_many(repository: *mut hf_repository, transaction: *mut hf_transaction, entities: *const c_char, length: usize, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_repository_patch, of any version, for each element of a JSON array: an object that holds the id under the repository's key and the members to change beside it. out_entities: as of hf_repository_add_many.
    #[must_use]
    pub fn hf_repository_patch_many(repository: *mut hf_repository, transaction: *mut hf_transaction, patches: *const c_char, length: usize, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_repository_delete, of any version, for each element of a JSON array of ids (text or integers).
    #[must_use]
    pub fn hf_repository_delete_many(repository: *mut hf_repository, transaction: *mut hf_transaction, ids: *const c_char, length: usize, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_repository_modify for every entity that matches, or for none when one of them refuses it. filter: see hf_repository_find; NULL for all. options: "parameters" of hf_repository_find. out_matched: how many match; NULL if not wanted. out_modified: how many of them the update changes, for the others are not written; NULL if not wanted. With NULL for the transaction it is run as hf_store_transact would. Errors: HF_CONFLICT, HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION, HF_INVALID_ENTITY (the detail has `repository` and `id`).
    #[must_use]
    pub fn hf_repository_modify_all(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, update: *const c_char, update_length: usize, options: *const c_char, out_matched: *mut u64, out_modified: *mut u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Deletes every entity that matches. filter: see hf_repository_find; NULL for all. options: "parameters" of hf_repository_find. out_count: how many; NULL if not wanted. With NULL for the transaction it is run as hf_store_transact would. Errors: HF_CONFLICT, HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
    #[must_use]
    pub fn hf_repository_delete_all(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, options: *const c_char, out_count: *mut u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Fetches one entity. out_entity: receives its bytes and version; must not be NULL. HF_NOT_FOUND comes without an error object and leaves out_entity as it was. Errors: HF_INVALID_ID.
    pub fn hf_repository_fetch(repository: *mut hf_repository, transaction: *mut hf_transaction, id: *const c_char, id_length: usize, out_entity: *mut hf_entity, out_error: *mut *mut hf_error) -> hf_status;
    /// Fetches the entities of a JSON array of ids, in the order given; ids without an entity are left out. Errors: HF_INVALID_JSON, HF_INVALID_ID.
    pub fn hf_repository_fetch_many(repository: *mut hf_repository, transaction: *mut hf_transaction, ids: *const c_char, length: usize, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// Fetches every entity, ordered by the bytes of the ids. Where some are damaged, hf_repository_find without a filter answers the others.
    pub fn hf_repository_fetch_all(repository: *mut hf_repository, transaction: *mut hf_transaction, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// Fetches the entities that match a filter.
    ///
    /// filter, filter_length: a JSON object of conditions that must all hold, with MongoDB's meaning; NULL matches everything.
    ///
    /// The member under the key is compared as any other: 42 and "42" are one id, and a filter tells them apart; {"id": {"$in": [42, "42"]}} finds the entity whichever of them it has. Of $ne, $nin, $not and {"$exists": false}: no value or element passes, so an absent member does match. Numbers compare by value, strings by their bytes, objects member by member in their order. Any literal may be {"$param": "name"}, whose value comes from the options. It is taken as a literal whatever it looks like. Compiled filters are kept by their text, so that one that comes again, with other parameters, is compiled once: there is nothing to prepare. A filter has at most 1,000 conditions, and operators at most 32 deep in each other. A path, here and wherever there is one, has at most 63 parts. What is wrong with a filter is HF_INVALID_QUERY, whose detail has the `operator`, the `path`, and the `position` in bytes.
    ///
    /// options: NUL-terminated JSON object, or NULL.
    ///
    /// Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
    pub fn hf_repository_find(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, options: *const c_char, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// Fetches the first entity that hf_repository_find would answer. out_entity: receives it; must not be NULL. options: "sort", "skip", "fields", "parameters", "damaged" of hf_repository_find. HF_NOT_FOUND comes without an error object and leaves out_entity as it was. Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
    pub fn hf_repository_first(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, options: *const c_char, out_entity: *mut hf_entity, out_error: *mut *mut hf_error) -> hf_status;
    /// Counts the entities that match a filter (see hf_repository_find); NULL for all. options: NUL-terminated JSON object with "parameters" and "damaged" of hf_repository_find, or NULL. out_count: must not be NULL. Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
    ///
    /// Where an index has all that the filter asks, no entity is read, nor found to be damaged.
    pub fn hf_repository_count(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, options: *const c_char, out_count: *mut u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Whether any entity matches a filter. out_exists: must not be NULL. Parameters and errors as of hf_repository_count.
    pub fn hf_repository_exists(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, options: *const c_char, out_exists: *mut bool, out_error: *mut *mut hf_error) -> hf_status;
    /// The distinct values that a path leads to in the entities that match a filter.
    ///
    /// path: NUL-terminated. An array on the way, or at its end, gives its elements, and what is missing nothing. One that begins with "$", as in expressions, is HF_INVALID_QUERY. filter, options: see hf_repository_count. out_values: receives a JSON array in the order of hf_repository_find's "sort"; of equal values such as 1 and 1.0, that of the entity with the least id.
    ///
    /// Along an index of the path, or of it and others, few entities are read for each of its keys, and the others are neither read nor found to be damaged; hf_repository_explain tells it. Not so with "damaged": "skip", nor with a filter in a transaction, which relies on every entity that matches.
    ///
    /// Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
    pub fn hf_repository_distinct(repository: *mut hf_repository, transaction: *mut hf_transaction, path: *const c_char, filter: *const c_char, filter_length: usize, options: *const c_char, out_values: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Fetches the entities for which a function of the host answers true, where a filter cannot say what is meant.
    ///
    /// predicate: called on this thread with one entity after the other, after all were read, so that it may call any function. The call counts as a read of the whole repository, whose entities are held in memory meanwhile. options: "sort", "skip", "limit", "fields", "damaged" of hf_repository_find.
    ///
    /// Errors: HF_INVALID_OPTION.
    pub fn hf_repository_find_if(repository: *mut hf_repository, transaction: *mut hf_transaction, predicate: hf_predicate_fn, user_data: *mut c_void, options: *const c_char, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// Whether there is an entity of this id. out_contains: must not be NULL. Errors: HF_INVALID_ID.
    pub fn hf_repository_contains(repository: *mut hf_repository, transaction: *mut hf_transaction, id: *const c_char, id_length: usize, out_contains: *mut bool, out_error: *mut *mut hf_error) -> hf_status;
    /// Observes changes.
    ///
    /// options: NUL-terminated JSON object; NULL for all changes of the store:
    ///
    /// on_event: NULL allowed: under "queue" delivery the event carries user_data. free_user_data: called with user_data exactly once: by hf_stream_free, after the stream's HF_EVENT_END was delivered, or before this call returns a failure; NULL allowed. out_stream receives the handle, freed with hf_stream_free.
    ///
    /// Errors: HF_INVALID_OPTION, HF_INVALID_QUERY, HF_INVALID_JSON, HF_NOT_FOUND (no such repository), HF_CURSOR_LOST ("since" or the acknowledged position is not in the log any more, or of another store: read what is stored anew, then open with the detail's `position` as "since"), HF_INVALID_STATE (a durable subscription of this name is open in this process), HF_NO_MEMORY, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED; a durable subscription's first time, those of a commit. Any thread. Reads the storage.
    #[must_use]
    pub fn hf_stream_open(store: *mut hf_store, options: *const c_char, on_event: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_stream: *mut *mut hf_stream, out_error: *mut *mut hf_error) -> hf_status;
    /// Opens a live query: its snapshot is the first event, the next ones tell how it changes.
    ///
    /// filter, filter_length, options: as of hf_repository_find, all of its options allowed. Without "sort" the order is by id, bytewise. The rest as hf_stream_open.
    ///
    /// Errors: those of hf_repository_find, HF_NO_MEMORY. Any thread. Runs the query once on the calling thread.
    #[must_use]
    pub fn hf_stream_open_query(repository: *mut hf_repository, filter: *const c_char, filter_length: usize, options: *const c_char, on_event: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_stream: *mut *mut hf_stream, out_error: *mut *mut hf_error) -> hf_status;
    /// Notes that a durable subscription has dealt with everything up to a position: when it is opened again it goes on behind it, and behind the commits after it that it was not to be told of. An earlier position than what was noted changes nothing. The note is a commit of its own, of "relaxed" durability: after a power cut some commits may be told once more.
    ///
    /// position: NUL-terminated, of an event of this stream. Errors: HF_INVALID_STATE (the stream is not durable), HF_INVALID_ARGUMENT (no position at all), HF_CURSOR_LOST (one of another store, or of what is not committed yet), HF_READ_ONLY, those of a commit, HF_INVALID_HANDLE, HF_FORKED. Any thread. Blocks for the commit.
    pub fn hf_stream_acknowledge(stream: *mut hf_stream, position: *const c_char, out_error: *mut *mut hf_error) -> hf_status;
    /// Ends a stream and frees its handle. When it returns no event of the stream reaches the host any more: it waits for a callback that is running, unless it is called from inside a callback of the store; then, and where the callback is the stream's own, user_data is freed after that. Events that were taken with hf_store_events before are the host's, but the user_data that they name is freed here: where one thread may hold such an event while another frees the stream, let user_data be a number that the host looks up. NULL and a freed handle do nothing. Cannot fail. Any thread.
    pub fn hf_stream_free(stream: *mut hf_stream);
    /// Answers what was committed behind a position, oldest first, as changes (see above).
    ///
    /// position: NUL-terminated; NULL: from the oldest commit on that the log still has. options: those of hf_stream_open but "since", "durable", "old" and "fields", and "limit": at most so many commits (default 1000, at most 100,000). A commit of which nothing is asked for counts, but is not listed. out_changes receives the answer, freed with hf_buffer_free: its "position" is the one to ask with next, the same as before where nothing was committed since.
    ///
    /// Errors: as hf_stream_open. Any thread. Reads the storage.
    #[must_use]
    pub fn hf_store_changes_since(store: *mut hf_store, position: *const c_char, options: *const c_char, out_changes: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Answers the position behind the newest commit, of whatever process.
    ///
    /// out_position receives it as text, freed with hf_buffer_free. Errors: HF_NO_MEMORY, HF_CLOSED, HF_IO, HF_INVALID_HANDLE, HF_FORKED. Any thread. Reads the storage.
    #[must_use]
    pub fn hf_store_position(store: *mut hf_store, out_position: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Answers what a pipeline makes of a repository's entities.
    ///
    /// transaction: NULL for the newest committed state. pipeline, pipeline_length: JSON, see above; must not be NULL. options: NULL allowed. out_documents: HF_BUFFER_INIT at first; receives a JSON array of the documents, freed with hf_buffer_free; as it was where the call fails; must not be NULL.
    ///
    /// Errors: HF_INVALID_JSON, HF_INVALID_QUERY (also where an expression fails on a document), HF_INVALID_OPTION, HF_NOT_FOUND (there is no repository of the name that $lookup has), HF_NO_MEMORY (also beyond "max_memory_bytes").
    #[must_use]
    pub fn hf_repository_aggregate(repository: *mut hf_repository, transaction: *mut hf_transaction, pipeline: *const c_char, pipeline_length: usize, options: *const c_char, out_documents: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Tells how a pipeline is carried out, by carrying it out.
    ///
    /// Parameters as for hf_repository_aggregate, whose documents are counted and not given; in a transaction it counts as a read. out_report: receives a JSON object; must not be NULL. Readers ignore other members than these:
    ///
    /// Errors: those of hf_repository_aggregate.
    #[must_use]
    pub fn hf_repository_explain_aggregate(repository: *mut hf_repository, transaction: *mut hf_transaction, pipeline: *const c_char, pipeline_length: usize, options: *const c_char, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Opens a live aggregation: the documents that a pipeline makes are the first event, and again an event each time commits have changed them.
    ///
    /// The value of each event (HF_EVENT_CHANGES) is all of them, behind the commit that "position" names:
    ///
    /// "merged": how many commits to the repositories that the pipeline reads have come since the last event; 0 in the first. The pipeline is carried out anew, on a thread of the store's, after commits that change entities of these repositories; where the documents are what they were nothing is told, and to a consumer that does not keep up several commits are told as one. Where it fails, as beyond "max_memory_bytes", HF_EVENT_END tells why. Between events it keeps the documents' text, and pins no snapshot.
    ///
    /// pipeline, pipeline_length, options: as of hf_repository_aggregate. on_event, user_data, free_user_data, out_stream: as of hf_stream_open; freed with hf_stream_free.
    ///
    /// Errors: those of hf_repository_aggregate. Carries the pipeline out once on the calling thread.
    #[must_use]
    pub fn hf_stream_open_aggregate(repository: *mut hf_repository, pipeline: *const c_char, pipeline_length: usize, options: *const c_char, on_event: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_stream: *mut *mut hf_stream, out_error: *mut *mut hf_error) -> hf_status;
    /// Says that a function, of any of the types in these headers, answers by hf_answer: what it returns counts for nothing, for the rest of the process.
    ///
    /// The library calls it again, up to 100 times, until it has called hf_answer, also where it has no value to give; so that is the first thing that it is to do. One that never does has failed: it has then answered HF_HOST_ERROR, false, -1, or for a clock the time 0.
    ///
    /// function: must not be NULL. Errors: HF_INVALID_ARGUMENT (function is NULL), HF_NO_MEMORY (64 were declared). Any thread.
    pub fn hf_answer_declare(function: hf_function, out_error: *mut *mut hf_error) -> hf_status;
    /// Gives the answer of the declared function that the library is just calling on this thread.
    ///
    /// answer: a status, a truth, a length or a time; the last one counts. A predicate that answers a negative number ends its query with HF_HOST_ERROR.
    ///
    /// Answers how often the library has called the function in vain for this before: 0 as a rule, -1 where it is calling none. Cannot fail. Any thread. Does not block.
    pub fn hf_answer(answer: i64) -> i32;
    /// Drops what is cached of a repository, never what is stored: the next read asks the storage.
    ///
    /// id, id_length: of the one entity, in bytes or HF_NTS; NULL and 0 for all of them. One that is not cached is HF_OK. Errors: HF_INVALID_ID.
    pub fn hf_repository_invalidate_cache(repository: *mut hf_repository, id: *const c_char, id_length: usize, out_error: *mut *mut hf_error) -> hf_status;
    /// Drops some of what is cached of a repository because memory is short: those entries first that would be evicted first. level: one of hf_trim_level; another is HF_INVALID_ARGUMENT.
    pub fn hf_repository_trim_cache(repository: *mut hf_repository, level: hf_trim_level, out_error: *mut *mut hf_error) -> hf_status;
    /// Tells what the cache has done for a repository since the store was opened, as a JSON object:
    ///
    /// Readers ignore other members. out_statistics: see hf_buffer. hf_store_describe has the same of the whole store as "cache", with the general list's policy.
    pub fn hf_repository_cache_statistics(repository: *mut hf_repository, out_statistics: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Replaces the clock by which things expire in a store, for tests: what has a time to live can then be seen to expire without waiting. The calendar moves with it from here on, where times to live are counted by the calendar. Empties the cache. Timeouts go by the system's clock as before.
    ///
    /// clock: NULL for the system's. user_data: handed to it; NULL allowed. free_user_data: called with user_data exactly once, on any thread: when the clock was replaced or the store is closed, and no call of it is running; or before this call returns a failure; NULL allowed.
    pub fn hf_store_set_clock(store: *mut hf_store, clock: hf_clock_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes a controller.
    ///
    /// middleware: NULL allowed. on_state: told of a new state by HF_EVENT_STATE; NULL allowed: under "queue" delivery the event carries user_data. user_data: handed to both. free_user_data: called with user_data exactly once: by hf_controller_free, or before this call returns a failure; NULL allowed. out_controller receives the handle, freed with hf_controller_free; it keeps what it needs of the repository, whose handle may be freed.
    ///
    /// Errors: HF_INVALID_ARGUMENT, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    #[must_use]
    pub fn hf_controller_create(repository: *mut hf_repository, middleware: hf_middleware_fn, on_state: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_controller: *mut *mut hf_controller, out_error: *mut *mut hf_error) -> hf_status;
    /// Dispatches an action.
    ///
    /// action: JSON; length: in bytes, or HF_NTS. When this returns the action was handled: the state is the new one, effects have begun. Only inside a middleware call of the same controller it is handled after that call. When a "cancelRequest" returns, no event of its token reaches the host any more, except one whose call is just running on this very thread.
    ///
    /// Errors are those of the action's form alone: HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_ID, HF_INVALID_HANDLE, HF_FORKED. Everything else is told by the state, also that the store is closed, HF_CLOSED, or has "max_in_flight" commits and operations under way, HF_BUSY. Any thread. Waits for an action that another thread is handling, and for nothing else.
    #[must_use]
    pub fn hf_controller_dispatch(controller: *mut hf_controller, action: *const c_char, length: usize, out_error: *mut *mut hf_error) -> hf_status;
    /// Answers the state. out_state receives the JSON, freed with hf_buffer_free. Errors: HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread, also inside the middleware function, where it is the state before the action. Does not block.
    #[must_use]
    pub fn hf_controller_state(controller: *mut hf_controller, out_state: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// The reducer alone: what an action makes of a state. Knows no store, and answers the same for the same.
    ///
    /// action: any of the above; state: as hf_controller_state or this function answered it, or NULL with length 0 for the first; lengths: in bytes, or HF_NTS. Of the lanes in it only "token" and "id" are read. out_state receives the new state, freed with hf_buffer_free; it may be the buffer that the state lies in.
    ///
    /// Errors: HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_ID, HF_INVALID_ARGUMENT, HF_NO_MEMORY. Any thread.
    #[must_use]
    pub fn hf_reduce(action: *const c_char, action_length: usize, state: *const c_char, state_length: usize, out_state: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Ends the controller's requests and frees its handle. When it returns neither middleware nor on_state is called any more: it waits for a call that is running, unless it is made inside it; user_data is then freed after that. Saves and deletes that were begun go on, and nobody is told. Events that were taken with hf_store_events before are the host's. NULL and a freed handle do nothing. Cannot fail. Any thread.
    pub fn hf_controller_free(controller: *mut hf_controller);
    /// Opens a cursor over what matches a filter. Nothing is read yet.
    ///
    /// transaction: NULL for a snapshot of its own. filter, filter_length, options: as for hf_repository_find. Without an index in the order of "sort", the order is worked out at the first hf_cursor_next, which then keeps the id of every entity that matches.
    ///
    /// out_cursor receives the handle, freed with hf_cursor_free.
    ///
    /// Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
    #[must_use]
    pub fn hf_cursor_open(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, options: *const c_char, out_cursor: *mut *mut hf_cursor, out_error: *mut *mut hf_error) -> hf_status;
    /// Hands out the next entities.
    ///
    /// count: at most so many; 0 for as many as make a piece of about 256 KiB, which also ends any other. out_entities: receives them, in place of those that it held; empty once all were handed out. A call that fails has handed nothing out: the next one begins with the same entities.
    ///
    /// Errors: HF_CONFLICT (retryable: open the cursor, or begin the transaction, again), HF_CORRUPT (an entity or the index along which it goes is damaged; the message names it).
    pub fn hf_cursor_next(cursor: *mut hf_cursor, count: u64, out_entities: *mut hf_entity_list, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees the handle, and the snapshot of a cursor that has its own. NULL and a freed handle do nothing.
    pub fn hf_cursor_free(cursor: *mut hf_cursor);
    /// Creates a future for the host to complete. out_future receives the handle, freed with hf_future_free; a future that is freed before it was completed never ends: its observers are let go without a call. Errors: HF_INVALID_ARGUMENT, HF_NO_MEMORY. Any thread. Does not block.
    #[must_use]
    pub fn hf_future_create(out_future: *mut *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// Completes a future with a value.
    ///
    /// value: any bytes, copied; NULL with length 0 for none. length: in bytes, or HF_NTS. Errors: HF_INVALID_STATE (it has ended before), HF_INVALID_ARGUMENT, HF_NO_MEMORY (it has not ended), HF_INVALID_HANDLE (also: nobody waits any longer, as after hf_await), HF_FORKED. Any thread. Does not block.
    pub fn hf_future_complete(future: *mut hf_future, value: *const c_char, length: usize, out_error: *mut *mut hf_error) -> hf_status;
    /// Completes a future with an error.
    ///
    /// status: what waits will answer; other than HF_OK. A number that is no status becomes HF_HOST_ERROR, with the number as the detail's `code`. message: NUL-terminated UTF-8, copied; NULL for the status's name. Errors and thread as hf_future_complete.
    pub fn hf_future_fail(future: *mut hf_future, status: hf_status, message: *const c_char, out_error: *mut *mut hf_error) -> hf_status;
    /// Waits for the end. May be called again, and by several threads at once: each gets the result.
    ///
    /// identifier: NUL-terminated UTF-8 that a time-out's error names; NULL allowed. timeout_ms: in milliseconds of a steady clock; -1 for ever, 0 not at all, another negative number is HF_INVALID_ARGUMENT. out_value: receives the value, its `version` being the entity's where it is one that is stored; NULL if not wanted. out_receipt: receives the receipt of the commit, or an empty text where there was none; NULL if not wanted.
    ///
    /// Errors: the future's own; HF_TIMEOUT (the error's detail has the `identifier`, hf_future_is_ended answers false: wait again, cancel or free), HF_CANCELLED, HF_WOULD_DEADLOCK (on a thread of the library's, while it is pending), HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread. Blocks.
    pub fn hf_future_wait(future: *mut hf_future, identifier: *const c_char, timeout_ms: i64, out_value: *mut hf_entity, out_receipt: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Whether the future has ended. False for what is no future. Cannot fail. Any thread.
    pub fn hf_future_is_ended(future: *mut hf_future) -> bool;
    /// Has a callback hear of the end: an event HF_EVENT_END, whether the end comes later or has come.
    ///
    /// on_end: NULL allowed: under "queue" delivery the event carries user_data. free_user_data: called with user_data exactly once: after the event was delivered (under "queue": by hf_events_free), when the future goes without ever ending, or before this call returns a failure; NULL allowed.
    ///
    /// Errors: HF_CLOSED (the future has ended and its store is closed: nobody delivers any more), HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_future_observe(future: *mut hf_future, on_end: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_error: *mut *mut hf_error) -> hf_status;
    /// Cancels: an operation that has not reached its commit does not commit, a commit is withdrawn while it is queued, a future of the host's simply ends. It ends with HF_CANCELLED, and nothing was stored. Errors: HF_INVALID_STATE (too late: it is being stored or has ended; its outcome is told as if nobody had asked), HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_future_cancel(future: *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees the handle, also while other threads wait. NULL and a freed handle do nothing. Cannot fail. Any thread.
    pub fn hf_future_free(future: *mut hf_future);
    /// hf_transaction_submit with a future in place of a callback. Its value is empty; the receipt comes with it. Where object trees are enlisted it ends when their members were told, so under "queue" delivery not before its event was taken with hf_store_events. out_future receives the handle, freed with hf_future_free, or NULL on failure. Errors, thread and waiting as hf_transaction_submit.
    #[must_use]
    pub fn hf_transaction_submit_future(transaction: *mut hf_transaction, out_future: *mut *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// Begins the next attempt of a transaction that met HF_CONFLICT, for a host that runs its work again by itself; hf_store_transact and operations do so anyway. Attempts that collided at the same entity, or by a query of the same repository, get their turn one after the other, in the order in which they asked, since they would only make each other lose again.
    ///
    /// transaction: has failed or was rolled back, and stays the caller's, to be freed: until then it may keep the turn that it had. options: as hf_transaction_begin; NULL for those that it had. out_transaction receives the new transaction, freed with hf_transaction_free. out_turn receives a future without a value, freed with hf_future_free, that ends when it is its turn: wait for it before the new transaction is used. It fails with HF_CLOSED when the store closes. The turn is over when the new transaction is committed, rolled back, has failed by anything but a conflict, or is freed; a turn that takes longer than a second no longer holds up the others.
    ///
    /// Errors: HF_INVALID_STATE (it has not ended, was committed, or is managed by hf_store_transact), HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    #[must_use]
    pub fn hf_transaction_retry(transaction: *mut hf_transaction, options: *const c_char, out_transaction: *mut *mut hf_transaction, out_turn: *mut *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// Turns a call that answers by callback into one that returns its result: runs the starter on this thread, and waits until the future that it was handed is completed.
    ///
    /// starter: called once. user_data: handed to it; NULL allowed. identifier, timeout_ms: as hf_future_wait; the time counts from before the starter runs. out_value: receives the value; NULL if not wanted. out_future: receives the future, freed with hf_future_free, when the wait ends with HF_TIMEOUT, or without memory for the value, so that it can be waited for again or cancelled; else NULL; NULL if not wanted: then nobody waits any longer, and the future ends as cancelled.
    ///
    /// No result is lost: where hf_future_complete answers HF_OK, hf_await returns the value, or out_future has it.
    ///
    /// Errors: what the future was completed with or the starter answered; HF_TIMEOUT, HF_CANCELLED, HF_WOULD_DEADLOCK (on a thread of the library's, before anything was started), HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_FORKED (the starter forked and this is the child). Any thread. Blocks.
    pub fn hf_await(starter: hf_starter_fn, user_data: *mut c_void, identifier: *const c_char, timeout_ms: i64, out_value: *mut hf_entity, out_future: *mut *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// Creates an index, and returns when queries use it. Other threads and processes go on reading and writing meanwhile: what is there already is added in small pieces, between commits. Where an equal index of this name exists, nothing happens, but where it is `outdated` (see hf_repository_indexes) and not unique, it is built anew; one that was begun, by a process that ended, is gone on with. Several may create the same index at once; each is answered HF_OK only once it is there, or by itself why it cannot be.
    ///
    /// While there is the index, an entity that would have more than 10,000 entries in it, or more than 1 MiB of keys, is refused with HF_INVALID_ENTITY; of a text index, one with 100,000 different words or more, or with more than 8 MiB of keys. So is a commit whose entities have more than 256 MiB of keys in their indexes, or had them before, unless their texts are even more.
    ///
    /// options: NUL-terminated JSON object.
    ///
    /// progress: NULL if not wanted. user_data: passed to it; borrowed until the call returns.
    ///
    /// Errors: HF_INVALID_JSON, HF_INVALID_OPTION; HF_EXISTS (an index of this name over something else, or a second text index); HF_UNIQUE_VIOLATION (two entities have the same values; the index is not created); HF_INVALID_ENTITY (an entity would have too many entries); HF_CANCELLED (progress answered false, also at its last call; the index is not created); HF_READ_ONLY. After any error what was begun is taken away again, as far as the storage still can; what stays after all, as after the end of the process, is a "building" index, with which the next call goes on.
    pub fn hf_repository_create_index(repository: *mut hf_repository, options: *const c_char, progress: hf_index_progress_fn, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status;
    /// Takes an index away, and returns when its entries are gone. Queries stop using it at once; the entries are removed in small pieces, between commits.
    ///
    /// It also takes one away whose definition in the file is damaged. Until then such an index is used by no query, and changes of its repository are refused with HF_CORRUPT and the detail's `index`, because they could not keep it.
    ///
    /// name: NUL-terminated. Errors: HF_NOT_FOUND, HF_READ_ONLY.
    pub fn hf_repository_drop_index(repository: *mut hf_repository, name: *const c_char, out_error: *mut *mut hf_error) -> hf_status;
    /// Lists the repository's indexes.
    ///
    /// out_indexes: receives a JSON array, ordered by name, of objects with `name`, `fields`, `unique`, `expire_after_ms` where there is one, `state` ("building", "ready", or "dropping") and `arrays` (whether some entity has, or had, an array there, or on the way), of a text index `kind`, `language` and `stop_words`, too; and `outdated`, true, where it was created before null stood for elements that are no objects and before paths through one array went together: such an index is kept as it was begun and helps with filters, but not with sorts, until it is created again (a unique one must be dropped before). Must not be NULL.
    pub fn hf_repository_indexes(repository: *mut hf_repository, out_indexes: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Tells how a query is carried out, by carrying it out.
    ///
    /// Parameters as for hf_repository_find, whose answers are counted and not given; in a transaction it counts as a read. The option "distinct", a path, asks for hf_repository_distinct instead, and goes with none of "sort", "skip", "limit" and "fields". out_report: receives a JSON object; must not be NULL. Readers ignore other members than these:
    ///
    /// Errors: those of hf_repository_find.
    pub fn hf_repository_explain(repository: *mut hf_repository, transaction: *mut hf_transaction, filter: *const c_char, filter_length: usize, options: *const c_char, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Checks every entity of the repository, and holds its indexes against them, on one snapshot.
    ///
    /// out_report: receives a JSON object; must not be NULL. Readers ignore other members than these:
    ///
    /// An index that is not right is mended by dropping it and creating it again; so is one that is outdated (see hf_repository_indexes), which is held to what it would be then.
    pub fn hf_repository_verify(repository: *mut hf_repository, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Sets the function that the calling thread is asked by, in place of the one before. Of other threads none is asked. A thread of the library's never is: there this does nothing. After a fork the child's only thread goes on with its own.
    ///
    /// check: NULL for none, which is how a thread begins. user_data: handed to it, and to last until another function is set, or the thread ends; NULL allowed.
    ///
    /// Cannot fail. Any thread, also from inside the function. Does not block.
    pub fn hf_interrupt_set_check(check: hf_interrupt_fn, user_data: *mut c_void);
    /// Sets the one receiver of log entries of this process, in place of the one before.
    ///
    /// callback: NULL for none, which is how a process begins. user_data: handed to each call; NULL allowed. free_user_data: called exactly once with user_data, when the callback was replaced and its last call has returned, or when this call fails; NULL allowed.
    ///
    /// A forked child begins without a receiver; its parent's user_data is not freed there. Always HF_OK; out_error receives NULL. Any thread, also from inside the callback.
    pub fn hf_log_set_callback(callback: hf_log_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_error: *mut *mut hf_error) -> hf_status;
    /// Copies the newest committed state into a new file, while this and other processes go on reading and writing. The file appears under its name when it is complete, found sound by SQLite's own check, and synced; until then there is one of that name with "-partial" appended. It is a store, closed cleanly, with an incarnation of its own and the permissions of the store. Where a file system has neither exclusive renames nor links, an empty file keeps the name for the instant before; a process that is killed in it leaves that file, which hf_store_restore refuses: remove it.
    ///
    /// Where others commit meanwhile it rests up to three times as long as it works, so that they keep most of their speed. So it takes up to four times as long as it would without resting, and ends however many commit.
    ///
    /// While it copies, the write-ahead log cannot be begun anew, and from half of "wal_limit_bytes" on it does not rest. Where the log outgrows that limit all the same, because others commit and progress takes long, the copying begins anew with the state of then, and goes on at full speed, without progress until its end: so the log grows beyond the limit by what is committed while the file is copied without a pause.
    ///
    /// path: NUL-terminated, of the new file, which must not exist; nor may a file of that name with "-wal", "-shm" or "-journal" appended, which would be read as a part of it. progress: in bytes; NULL if not wanted. user_data: passed to it; borrowed until the call returns. out_report: receives {"path","sequence","bytes"}; NULL if not wanted.
    ///
    /// Errors: HF_EXISTS (the message names the file, which may be the one with "-partial" appended: what a copy that was cut short has left is known by the sticky bit of its mode, and begun anew; where the file system keeps none, remove it), HF_BUSY (that file is just being written, or a process has a store of that name open), HF_UNSUPPORTED (a store without a file: export it), HF_CANCELLED, HF_CLOSED (closed meanwhile), HF_CANNOT_OPEN (also a name that is kept for a part of another store), HF_READ_ONLY, HF_FULL, HF_IO, HF_CORRUPT (the store is damaged: verify it). Nothing is left behind then. Any thread.
    pub fn hf_store_backup(store: *mut hf_store, path: *const c_char, progress: hf_progress_fn, user_data: *mut c_void, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes a store from a backup, or from the file of any store that nobody changes meanwhile. The copy is complete, found sound and synced before it gets its name. It has a new incarnation: positions in the stream of the store that was backed up are not taken for positions in this one. A new file has the permissions of the backup, and its owner may write it all the same. Who opens the store meanwhile waits, and gets the restored one.
    ///
    /// backup: NUL-terminated path. url: as for hf_store_open, of an SQLite file that no process has open. options: NUL-terminated JSON object, or NULL.
    ///
    /// progress, user_data: as for hf_store_backup.
    ///
    /// Errors: HF_EXISTS (also a "-wal", "-shm" or "-journal" file without its store: the message names it), HF_BUSY (a process has the store open, if only for reading, or another program), HF_NOT_A_STORE, HF_FORMAT_TOO_NEW, HF_CORRUPT (the backup is damaged), HF_CANCELLED, HF_UNSUPPORTED (a URL without a file), HF_INVALID_URL, HF_INVALID_JSON, HF_INVALID_OPTION, HF_CANNOT_OPEN, HF_UNSAFE_LOCATION, HF_FULL, HF_IO. What was there is as before then. Any thread.
    pub fn hf_store_restore(backup: *const c_char, url: *const c_char, options: *const c_char, progress: hf_progress_fn, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status;
    /// Checks all that is stored: the file by the engine's own rules, every entity (valid, and stored under its own id), and every index against the entities. Others go on meanwhile. Each repository is looked at in one state; where the write-ahead log outgrows "wal_limit_bytes" meanwhile, that begins anew, without progress until its end. The check of the file by SQLite's rules is done without a pause.
    ///
    /// progress: in entities, total 0; NULL if not wanted. out_report: receives a JSON object; must not be NULL:
    ///
    /// What is wrong is an answer, not an error. Errors: HF_CANCELLED, HF_CLOSED, HF_IO. Any thread.
    pub fn hf_store_verify(store: *mut hf_store, progress: hf_progress_fn, user_data: *mut c_void, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Gives space that nothing is stored in back to the file system. Commits wait meanwhile, reads go on; open transactions lose their snapshots, as when those are too old. It needs as much free space again as the file has, in the directory of temporary files and beside the store.
    ///
    /// out_report: receives {"bytes_before","bytes_after"}, of the file; NULL if not wanted. The file may get shorter a little later, where a reader stands in the way.
    ///
    /// Errors: HF_BUSY (another process has the store open for more than reading), HF_UNSUPPORTED (a store without a file), HF_READ_ONLY, HF_FULL, HF_IO, HF_CLOSED. The store is as before then. Any thread.
    pub fn hf_store_compact(store: *mut hf_store, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Brings the store to a version of the program's schema, to be called once it is open, before its repositories are, which that creates. A store without repositories is new and gets the version as it is; one with repositories in which no version is recorded has version 0, and so has one over a provider where none is. From each version to the next the function is called once, in a transaction that records the new version too: an upgrade that fails, or whose process dies, is done again as a whole at the next call, and those before it are not. Other processes that have the store open are told nothing: they go on writing the old shapes. Where they never stop, a step may meet a conflict in each of 100 attempts, which is HF_CONFLICT, with "attempts" in its detail: end them first.
    ///
    /// version: 0..2^31, the program's. upgrade: called on this thread; it may be NULL where nothing is to be done. options: NUL-terminated JSON object, or NULL.
    ///
    /// progress: of the backup, in bytes; NULL if not wanted. user_data: passed to both; borrowed until the call returns. out_report: receives {"from","to","backup"}, backup a path or null; NULL if not wanted.
    ///
    /// Errors: HF_SCHEMA_TOO_NEW (the store has a greater version, or got one meanwhile from a newer program), what upgrade answered (with an error that says so), HF_INVALID_ARGUMENT, HF_INVALID_OPTION, HF_READ_ONLY, those of hf_store_backup and hf_store_transact. Any thread, and several processes at once: each step is done by one of them.
    pub fn hf_store_upgrade(store: *mut hf_store, version: i64, upgrade: hf_upgrade_fn, options: *const c_char, progress: hf_progress_fn, user_data: *mut c_void, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// The recorded version of the program's schema; -1 where none is. out_version must not be NULL. Errors: HF_INVALID_ARGUMENT, HF_CLOSED, HF_IO, HF_CORRUPT. Any thread.
    pub fn hf_store_schema_version(store: *mut hf_store, out_version: *mut i64, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes an operation from its description.
    ///
    /// description: the JSON; length: in bytes, or HF_NTS. out_operation receives the handle, freed with hf_operation_free; it keeps what it needs of the store, whose handle may be freed before. Errors: HF_INVALID_JSON, HF_INVALID_OPTION (an unknown or missing member), HF_INVALID_ID, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Whatever else is wrong is told by the run. Any thread. Does not block.
    #[must_use]
    pub fn hf_operation_create(store: *mut hf_store, description: *const c_char, length: usize, out_operation: *mut *mut hf_operation, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes an operation on repositories that are open: a run reaches the one that the handle stands for, also when it was renamed since, and fails with HF_NOT_FOUND when it was dropped.
    ///
    /// A step's "repository" is a number then, {"operation": "fetch", "repository": 0, "id": "s1"}: its place among `repositories`, from 0; or it is a name, as for hf_operation_create. "key" and "cache" stand beside a name alone. repositories: an array of `count` handles of this store's; NULL where count is 0. The handles may be freed once this returns, as may the array. Everything else as hf_operation_create; errors also: HF_INVALID_OPTION (a number that none of them has), HF_INVALID_ARGUMENT (a repository of another store), HF_INVALID_HANDLE (one that a step names).
    #[must_use]
    pub fn hf_operation_create_on(store: *mut hf_store, description: *const c_char, length: usize, repositories: *const *mut hf_repository, count: usize, out_operation: *mut *mut hf_operation, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes an operation that answers the value of a key: as JSON with its version, or null where there is none.
    ///
    /// repository: NUL-terminated name, looked up by each run; one that is not there is created by it. key: text; key_length: in bytes, or HF_NTS. out_operation receives the handle, freed with hf_operation_free. Errors: HF_INVALID_ID, HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    #[must_use]
    pub fn hf_operation_create_get(store: *mut hf_store, repository: *const c_char, key: *const c_char, key_length: usize, out_operation: *mut *mut hf_operation, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes an operation that stores a value under a key, whether that has one or not, and answers the entity.
    ///
    /// value: JSON, copied; NULL of any length, or the JSON null, removes the key's value, if there is one, and the answer is null. length: in bytes, or HF_NTS. Everything else as hf_operation_create_get. Errors: also HF_INVALID_JSON. A run answers HF_INVALID_OPTION where the repository has another key than "id".
    #[must_use]
    pub fn hf_operation_create_put(store: *mut hf_store, repository: *const c_char, key: *const c_char, key_length: usize, value: *const c_char, length: usize, out_operation: *mut *mut hf_operation, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes an operation that removes the value of a key. A run answers HF_NOT_FOUND where there is none, and else null as its result. Everything else as hf_operation_create_get.
    #[must_use]
    pub fn hf_operation_create_remove(store: *mut hf_store, repository: *const c_char, key: *const c_char, key_length: usize, out_operation: *mut *mut hf_operation, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes an operation from a function.
    ///
    /// function: must not be NULL. options: as for hf_store_transact, or NULL. user_data: handed to the function; NULL allowed. free_user_data: called with user_data exactly once: when the operation was freed and no run is left, or before this call returns a failure; NULL allowed. out_operation receives the handle, freed with hf_operation_free. Errors: HF_INVALID_ARGUMENT, HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_HANDLE, HF_FORKED. Any thread.
    #[must_use]
    pub fn hf_operation_create_function(store: *mut hf_store, function: hf_operation_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, options: *const c_char, out_operation: *mut *mut hf_operation, out_error: *mut *mut hf_error) -> hf_status;
    /// Runs the operation on this thread and waits for the outcome.
    ///
    /// transaction: NULL, or the one that this is to be a part of: then nothing is committed, and what the operation wrote before a failure is taken back. out_result: receives the result as JSON (what a function answered as it is), with the entity's version where it is one; NULL if not wanted. out_receipt: receives the commit's receipt, empty for a read or inside a transaction; NULL if not wanted.
    ///
    /// Errors: those of hf_store_transact, and of the calls that it consists of. Any thread. Blocks.
    #[must_use]
    pub fn hf_operation_perform(operation: *mut hf_operation, transaction: *mut hf_transaction, out_result: *mut hf_entity, out_receipt: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Starts a run and returns; the future is completed with its result and receipt.
    ///
    /// transaction: as hf_operation_perform; it must not be used by others meanwhile. out_future receives the handle, freed with hf_future_free; NULL if not wanted: the run goes on.
    ///
    /// Does no I/O on this thread. When "max_in_flight" commits and operations are under way it waits for a place, up to the operation's "timeout_ms", but not with "when_full": "refuse" (options stand beside "steps", this one also in an operation of one step), and never on a thread of the library's. Runs begin in the order in which they were started and may overtake each other.
    ///
    /// Errors: HF_BUSY (no place), HF_CLOSED, HF_NO_MEMORY (also: the system gives no thread), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED; everything else is the future's. A store that closes finishes the runs that it has accepted; one that meets a conflict then is not run again, and answers HF_CONFLICT or HF_CLOSED. Any thread.
    #[must_use]
    pub fn hf_operation_start(operation: *mut hf_operation, transaction: *mut hf_transaction, out_future: *mut *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_operation_start and hf_future_observe in one: HF_EVENT_END tells the result. on_end, user_data, free_user_data: as hf_future_observe. HF_OK: exactly one event will come.
    #[must_use]
    pub fn hf_operation_submit(operation: *mut hf_operation, transaction: *mut hf_transaction, on_end: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_future: *mut *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// hf_operation_submit for a subscriber: HF_EVENT_VALUE with the result and then HF_EVENT_END, or HF_EVENT_END with the error alone. on_event: as on_end of hf_operation_submit; NULL allowed. Nothing comes after the end. Each subscription is a run of its own; cancelling its future ends it with HF_CANCELLED, or is too late.
    #[must_use]
    pub fn hf_operation_subscribe(operation: *mut hf_operation, transaction: *mut hf_transaction, on_event: hf_event_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_future: *mut *mut hf_future, out_error: *mut *mut hf_error) -> hf_status;
    /// Frees the handle; runs go on. NULL and a freed handle do nothing. Cannot fail. Any thread.
    pub fn hf_operation_free(operation: *mut hf_operation);
    /// Creates a participant, and attaches it to a parent.
    ///
    /// parent: NULL for the root of a new tree; see hf_participant_attach. callbacks: copied; NULL for none. user_data: handed to them; NULL allowed. free_user_data: called with user_data exactly once: after hf_participant_free, when none of the callbacks is running, or before this call returns a failure; NULL allowed. out_participant receives the handle, before on_begin is called, to be freed with hf_participant_free.
    ///
    /// Errors: HF_INVALID_ARGUMENT (no out_participant, a size that is none, one savepoint function without the other), those of hf_participant_attach. Any thread. Does not block.
    #[must_use]
    pub fn hf_participant_create(parent: *mut hf_participant, callbacks: *const hf_participant_callbacks, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_participant: *mut *mut hf_participant, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes a participant, with its sub-nodes, the last child of a parent, wherever it was before. A tree that is in no transaction joins the parent's, if there is one.
    ///
    /// Errors: HF_CYCLE (the parent is the participant or below it), HF_TRANSACTION_ACTIVE (it is in a transaction in which the parent is not), HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED; after any of them nothing was changed. Any thread. Does not block.
    pub fn hf_participant_attach(participant: *mut hf_participant, parent: *mut hf_participant, out_error: *mut *mut hf_error) -> hf_status;
    /// Makes a participant, with its sub-nodes, a tree of its own. Inside a transaction they leave it. Detaching a root does nothing. Errors: HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_participant_detach(participant: *mut hf_participant, out_error: *mut *mut hf_error) -> hf_status;
    /// The participant's user_data; NULL for a freed one. Cannot fail. Any thread.
    pub fn hf_participant_user_data(participant: *mut hf_participant) -> *mut c_void;
    /// Frees a participant, which is called no more, also inside its transaction, sealed or not. Its sub-nodes stay in the transaction and become trees of their own when that ends, or at once where there is none. NULL and a freed handle do nothing. Cannot fail. Any thread.
    pub fn hf_participant_free(participant: *mut hf_participant);
    /// Whether the participant is in a transaction, of its tree alone or of a store's, and in which.
    ///
    /// out_active: must not be NULL. out_descriptor: receives HF_DESCRIPTOR_BYTES, all zero where there is none; NULL if not wanted. Readable inside every callback of the transaction, and gone after the last. Errors: HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_participant_active(participant: *mut hf_participant, out_active: *mut bool, out_descriptor: *mut u8, out_error: *mut *mut hf_error) -> hf_status;
    /// Begins a transaction of the participant's tree.
    ///
    /// out_descriptor: receives the HF_DESCRIPTOR_BYTES that name it, never all zero; NULL if not wanted. Errors: HF_TRANSACTION_ACTIVE, HF_REENTRANT, HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread.
    pub fn hf_participant_begin(participant: *mut hf_participant, out_descriptor: *mut u8, out_error: *mut *mut hf_error) -> hf_status;
    /// Validates and commits the transaction of the participant's tree.
    ///
    /// descriptor: the HF_DESCRIPTOR_BYTES of the transaction that is meant; NULL or all zero for whichever is active. Errors: HF_WRONG_DESCRIPTOR (also where none is active and the descriptor names one), HF_TRANSACTION_NOT_ACTIVE, HF_REENTRANT, HF_BUSY (sealed), HF_INVALID_STATE (it is a store's transaction, a scope is under way, or members went on joining), what a validator answered, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. After any of them the transaction is what it was. Any thread.
    #[must_use]
    pub fn hf_participant_commit(participant: *mut hf_participant, descriptor: *const u8, out_error: *mut *mut hf_error) -> hf_status;
    /// Rolls back the transaction of the participant's tree. Parameters and errors as of hf_participant_commit, without those of validation. Any thread.
    pub fn hf_participant_rollback(participant: *mut hf_participant, descriptor: *const u8, out_error: *mut *mut hf_error) -> hf_status;
    /// Marks a place to which the members can go back. out_savepoint receives its number. Errors: HF_UNSUPPORTED (a member has no savepoint functions; none was called), those of hf_participant_rollback. Any thread.
    pub fn hf_participant_savepoint(participant: *mut hf_participant, descriptor: *const u8, out_savepoint: *mut u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Has the members go back to a savepoint, children first; the savepoints after it are gone, it itself stays. Errors: HF_INVALID_ARGUMENT (no such savepoint), those of hf_participant_rollback. Any thread.
    pub fn hf_participant_rollback_to(participant: *mut hf_participant, descriptor: *const u8, savepoint: u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Begins a scope inside the transaction that the participant's tree is in, its own or a store's: a part that goes back by itself when it fails, as hf_transaction_begin_scope says. out_scope receives its number. Errors: HF_TRANSACTION_NOT_ACTIVE, HF_BUSY (sealed), what a failed scope has left, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread.
    #[must_use]
    pub fn hf_participant_begin_scope(participant: *mut hf_participant, out_scope: *mut u64, out_error: *mut *mut hf_error) -> hf_status;
    /// Ends a scope. succeeded: whether what it changed stays a part of the transaction; false: it goes back. Errors: as of hf_transaction_end_scope. Any thread.
    #[must_use]
    pub fn hf_participant_end_scope(participant: *mut hf_participant, scope: u64, succeeded: bool, out_error: *mut *mut hf_error) -> hf_status;
    /// Runs a body in a transaction of the participant's tree: begins, runs it, validates and commits; rolls back when the body or a validator refuses. Where the tree is in a transaction already, a store's too, the body joins that as a scope of it: nobody is begun, validated, committed or rolled back. When it fails, what it changed goes back: members go back to a savepoint, and what was written in a store's transaction goes back. Where a member has no functions for savepoints, the transaction can only be rolled back from then on: its commit answers HF_UNSUPPORTED.
    ///
    /// body: called on this thread. user_data: handed to it; NULL allowed. Errors: what the body answered, what a validator answered, HF_REENTRANT, HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. A body that ends the transaction itself leaves nothing to do, and its answer counts. Any thread.
    #[must_use]
    pub fn hf_participant_transact(participant: *mut hf_participant, body: hf_participant_body_fn, user_data: *mut c_void, out_error: *mut *mut hf_error) -> hf_status;
    /// Takes the participant's tree into a store's transaction and begins its members; one that is in it already stays. In the body of hf_store_transact it is called in each run: a conflict rolls the tree back before the next.
    ///
    /// Errors: HF_TRANSACTION_ACTIVE (the tree is in another transaction), HF_REENTRANT, HF_BUSY (the transaction is being committed, or the tree is sealed), HF_INVALID_STATE (the transaction has ended), HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread.
    pub fn hf_transaction_enlist(transaction: *mut hf_transaction, participant: *mut hf_participant, out_error: *mut *mut hf_error) -> hf_status;
    /// Asks all validators, as a commit will do again. The transaction stays open. Errors: what a validator answered, HF_REENTRANT, HF_INVALID_STATE, HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread.
    pub fn hf_transaction_validate(transaction: *mut hf_transaction, out_error: *mut *mut hf_error) -> hf_status;
    /// The participant whose validator refused, or NULL: the very handle that hf_participant_create gave, borrowed. NULL for NULL, a freed error, or a freed participant. Cannot fail. Any thread.
    pub fn hf_error_participant(error: *const hf_error) -> *mut hf_participant;
    /// Opens a store whose entities live with a provider.
    ///
    /// provider: copied. options: as of hf_store_open, or NULL; those of SQLite and "create" have no effect, and
    ///
    /// out_store receives it, to be closed and freed as any other.
    ///
    /// Errors: HF_INVALID_ARGUMENT (provider or out_store NULL, a size that is none, one of the four functions NULL; of a provider whose size cannot be read, nothing else is either, and user_data is not freed), HF_INVALID_OPTION, HF_HOST_ERROR (from on_change_token), HF_NO_MEMORY, HF_IO. Any thread. Calls on_change_token, where there is one, and nothing else of the provider.
    #[must_use]
    pub fn hf_store_open_provider(provider: *const hf_provider, options: *const c_char, out_store: *mut *mut hf_store, out_error: *mut *mut hf_error) -> hf_status;
    /// Exports a store, all of it as of one commit, while others go on writing.
    ///
    /// While it runs it holds a snapshot of its own, which nobody takes back ("snapshot_max_age_ms" does not hold for it): the write-ahead log cannot be begun anew, so it may grow beyond "wal_limit_bytes", and what write takes long for keeps it so.
    ///
    /// options: NUL-terminated JSON object, or NULL.
    ///
    /// write: must not be NULL. progress: in entities, total 0; NULL if not wanted. user_data: passed to both; borrowed until the call returns. out_report: receives {"sequence","entities","skipped"}, those that were written and those that were left out; NULL if not wanted.
    ///
    /// Errors: what write answered; HF_CANCELLED, HF_NOT_FOUND (no such repository), HF_CONFLICT, HF_INVALID_JSON, HF_INVALID_OPTION, HF_CLOSED, HF_CORRUPT (the detail names the entity), HF_IO. Any thread.
    pub fn hf_store_export(store: *mut hf_store, options: *const c_char, write: hf_write_fn, progress: hf_progress_fn, user_data: *mut c_void, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Imports an export, or lines that are entities themselves (blank ones are passed over), in commits of at most 1,000 entities or 4 MiB. The commits before a failure stay; a repository is created with its first entity, or at the end. All is durable when the call returns.
    ///
    /// Of an export, repositories are created with their keys, indexes after the entities, and where no schema's version is recorded, that of the export is. Into a store without entities each brings its version, where no entity of this store can have had a greater one, as in a new store; commits to come have greater numbers. A store that has entities goes on from its own number, so that who follows its commits keeps his place, and gives new versions. So does an import with "replace", one into a repository with a validator, and one of an export whose "sequence" is beyond 2^51.
    ///
    /// options: NUL-terminated JSON object, or NULL.
    ///
    /// read: must not be NULL. progress: in entities, total 0; NULL if not wanted. user_data: passed to both; borrowed until the call returns. out_report: receives {"entities","stored","skipped"}; what an earlier run stored counts as stored. NULL if not wanted.
    ///
    /// Errors, with the detail's `line`: HF_INVALID_JSON (also an export that was cut short, or has a line that is none of an export), HF_FORMAT_TOO_NEW (an export of a newer library), HF_INVALID_ENTITY, HF_INVALID_ID (also where an export's line names another id than its entity has), HF_EXISTS, HF_UNIQUE_VIOLATION, HF_KEY_REUSED, what read has failed with, HF_CANCELLED, HF_INVALID_OPTION, HF_INVALID_NAME, HF_READ_ONLY, and those of hf_transaction_commit. Any thread.
    pub fn hf_store_import(store: *mut hf_store, options: *const c_char, read: hf_read_fn, progress: hf_progress_fn, user_data: *mut c_void, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Imports the rows of a table, or of a view, of any SQLite file, which is only read. Each row becomes an entity with the columns, generated ones too, as members: numbers and text as they are, NULL as null, an infinite number as null. A BLOB becomes text in base64 (RFC 4648, section 4), and text that is not UTF-8 as well.
    ///
    /// path: NUL-terminated, of the SQLite file. table: NUL-terminated name. options: NUL-terminated JSON object, or NULL.
    ///
    /// progress, user_data, out_report: as for hf_store_import.
    ///
    /// Errors: HF_NOT_FOUND (no such table or column: the detail's `table` or `column`), HF_CANNOT_OPEN, HF_NOT_A_STORE (no SQLite file), and those of hf_store_import, whose `line` is the row's number here, from 1. Any thread.
    pub fn hf_store_import_table(store: *mut hf_store, path: *const c_char, table: *const c_char, options: *const c_char, progress: hf_progress_fn, user_data: *mut c_void, out_report: *mut hf_buffer, out_error: *mut *mut hf_error) -> hf_status;
    /// Sets the one validator of a repository, in place of another, for all handles of it that come from this store's handle. What is stored already is not checked.
    ///
    /// validator: NULL for none. user_data: handed to it; NULL allowed. free_user_data: called with user_data exactly once, on any thread: when the validator was replaced or the store is closed, and no call of it is running; or before this call returns a failure; NULL allowed.
    ///
    /// Errors: HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
    pub fn hf_repository_set_validator(repository: *mut hf_repository, validator: hf_validator_fn, user_data: *mut c_void, free_user_data: Option<unsafe extern "C" fn(user_data: *mut c_void)>, out_error: *mut *mut hf_error) -> hf_status;
    /// Says which contract the program was compiled against. Call it once, first, with HF_API_VERSION; calling it again, or not at all, does no harm.
    ///
    /// api_version: the HF_API_VERSION of the headers that the program was compiled with. Errors: HF_VERSION_UNSUPPORTED when this library is older than `api_version`, with both numbers in the message; HF_INVALID_ARGUMENT when `api_version` is less than 1. Any thread.
    pub fn hf_version_select(api_version: i32, out_error: *mut *mut hf_error) -> hf_status;
    /// The library's own version, such as "0.1.0". Constant text. Cannot fail. Any thread.
    pub fn hf_version_text() -> *const c_char;
    /// The same as a number that later versions are greater than: 1,000,000 for each major version, 1,000 for each minor one, and the patch; 1000 for "0.1.0". Cannot fail. Any thread.
    pub fn hf_version_number() -> i32;
    /// Whether this library has a feature, so that a program can ask before it relies on it.
    ///
    /// name: one that the library does not know is answered with false, as is NULL. Known are "sqlite", "memory", "postgresql", "provider" (engines); "queue_delivery", "idempotency", "savepoints", "scopes", "filters", "updates", "indexes", "cursors", "validators", "object_trees", "operations", "futures", "streams", "live_queries", "controllers", "cache_policies", "expiry", "maintenance", "upgrades", "transfer", "interrupts", "aggregation", "text_search". Cannot fail. Any thread.
    pub fn hf_feature_available(name: *const c_char) -> bool;
}
