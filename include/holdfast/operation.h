/*
 * Operation: a transaction described now and run later, as often as wanted.
 *
 * Making one touches no store: no read, no lock. Its form alone is checked, and that of an "id" of its own;
 * an id in an entity, a patch or an array, and whether there is such an entity, is a run's affair. Each run
 * is a run of its own, and a whole transaction takes one call: performed on the calling thread, started with
 * a future, submitted with a callback, or subscribed to. An operation may be performed by several threads at
 * once, and freed while it runs.
 *
 * Descriptions are JSON objects. One step is named like the call of a repository (see repository.h) and does
 * what that does:
 *
 *   {"operation": "add", "repository": "songs", "entity": {"id": "s1", "plays": 0}}
 *
 *   operation                    members beside "operation" and "repository"         result
 *   add, save                    "entity"                                            the entity as stored
 *   update                       "entity", "expected_version" (0)                    the entity as stored
 *   patch                        "id", "patch", "expected_version" (0)               the entity as stored
 *   modify                       "id", "update", "initial", "expected_version" (0)   the entity as stored
 *   delete                       "id", "expected_version" (0), "missing_ok" (false)  null
 *   add_many, update_many,       "entities", an array                                the entities as stored
 *     save_many
 *   patch_many                   "patches", an array                                 the entities as stored
 *   delete_many                  "ids", an array                                     null
 *   modify_all                   "filter", "update", "options"                       "matched", "modified"
 *   delete_all                   "filter", "options"                                 how many
 *   fetch                        "id", "member"                                      the entity, or of it
 *                                                                                    that member; or null
 *   contains                     "id"                                                true or false
 *   fetch_many                   "ids", an array                                     an array of entities
 *   fetch_all                                                                        an array of entities
 *   find                         "filter", "options"                                 an array of entities
 *   first                        "filter", "options"                                 the entity, or null
 *   count                        "filter", "options"                                 how many
 *   exists                       "filter", "options"                                 true or false
 *   distinct                     "path", "filter", "options"                         an array of values
 *
 * "repository" is a name, which is looked up by each run: it means whichever repository is called so then.
 * One that is open has a number instead, see hf_operation_create_on, and is meant whatever it is called.
 *
 * "options" are those of the call, as an object. A repository that is not there is created; "key" then names
 * its id, and "cache" is its cache's policy, both as for hf_repository_open. What an entity holds is stored
 * as it is written in the description.
 *
 * An operation of one step may have "when_full", as the options of hf_transaction_begin: see
 * hf_operation_start.
 *
 * Several steps are one transaction, all of it or nothing, run again after a conflict:
 *
 *   {"steps": [{"operation": "patch", ...}, {"operation": "add", ...}], "idempotency_key": "order 17"}
 *
 * Beside "steps" stand the options of hf_store_transact. Steps see what those before them wrote. The result
 * is the array of the steps' results; null when an idempotency key was used before. Errors carry the step's
 * `index` in their detail.
 */
#ifndef HOLDFAST_OPERATION_H
#define HOLDFAST_OPERATION_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "event.h"
#include "future.h"
#include "repository.h"
#include "status.h"
#include "store.h"
#include "transaction.h"

HF_BEGIN_DECLS

typedef struct hf_operation hf_operation;

/**
 * Makes an operation from its description.
 *
 * description: the JSON; length: in bytes, or HF_NTS. out_operation receives the handle, freed with
 * hf_operation_free; it keeps what it needs of the store, whose handle may be freed before.
 * Errors: HF_INVALID_JSON, HF_INVALID_OPTION (an unknown or missing member), HF_INVALID_ID,
 * HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Whatever else is wrong is told by the run. Any thread.
 * Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_create(hf_store *store, const char *description,
                                                       size_t length, hf_operation **out_operation,
                                                       hf_error **out_error);

/**
 * Makes an operation on repositories that are open: a run reaches the one that the handle stands for, also
 * when it was renamed since, and fails with HF_NOT_FOUND when it was dropped.
 *
 * A step's "repository" is a number then, {"operation": "fetch", "repository": 0, "id": "s1"}: its place
 * among `repositories`, from 0; or it is a name, as for hf_operation_create. "key" and "cache" stand beside a
 * name alone. repositories: an array of `count` handles of this store's; NULL where count is 0. The handles
 * may be freed once this returns, as may the array. Everything else as hf_operation_create; errors also:
 * HF_INVALID_OPTION (a number that none of them has), HF_INVALID_ARGUMENT (a repository of another store),
 * HF_INVALID_HANDLE (one that a step names).
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_create_on(hf_store *store, const char *description,
                                                          size_t length, hf_repository *const *repositories,
                                                          size_t count, hf_operation **out_operation,
                                                          hf_error **out_error);

/* --- Values by key -----------------------------------------------------------------------------------------
 *
 * A repository may be used as a map from keys to values: {"id": key, "value": value} is what is stored, to be
 * found, indexed and watched as any entity. Swift's KeyValueRepository and Python's Preferences keep theirs
 * so, too. A key is an id, a value any JSON but null.
 *
 * These take no options, so that a run which finds no place under "max_in_flight" waits up to 30 seconds. An
 * event loop, which has to take events for places to get free, describes the step "save", "fetch" or "delete"
 * that does the same, with "when_full": "refuse". So does who has the repository open, see
 * hf_operation_create_on.
 */

/**
 * Makes an operation that answers the value of a key: as JSON with its version, or null where there is none.
 *
 * repository: NUL-terminated name, looked up by each run; one that is not there is created by it. key: text;
 * key_length: in bytes, or HF_NTS. out_operation receives the handle, freed with hf_operation_free. Errors:
 * HF_INVALID_ID, HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_create_get(hf_store *store, const char *repository,
                                                           const char *key, size_t key_length,
                                                           hf_operation **out_operation,
                                                           hf_error **out_error);

/**
 * Makes an operation that stores a value under a key, whether that has one or not, and answers the entity.
 *
 * value: JSON, copied; NULL of any length, or the JSON null, removes the key's value, if there is one, and
 * the answer is null. length: in bytes, or HF_NTS. Everything else as hf_operation_create_get. Errors: also
 * HF_INVALID_JSON. A run answers HF_INVALID_OPTION where the repository has another key than "id".
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_create_put(hf_store *store, const char *repository,
                                                           const char *key, size_t key_length,
                                                           const char *value, size_t length,
                                                           hf_operation **out_operation,
                                                           hf_error **out_error);

/**
 * Makes an operation that removes the value of a key. A run answers HF_NOT_FOUND where there is none, and
 * else null as its result. Everything else as hf_operation_create_get.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_create_remove(hf_store *store, const char *repository,
                                                              const char *key, size_t key_length,
                                                              hf_operation **out_operation,
                                                              hf_error **out_error);

/* --- Functions, and runs ----------------------------------------------------------------------------------
 */

/**
 * The host's function as an operation.
 *
 * transaction: borrowed for this call; not to be committed, submitted or rolled back here. result: empty; the
 * function may fill it by hf_buffer_set with what the run is to answer. out_error: as of hf_transaction_fn.
 * Answers HF_OK to commit, HF_CONFLICT to run again, any other status to roll back and have the run fail with
 * it. It may run more than once, on the thread that performs, or on the store's one thread for operations:
 * there it should be short, because others wait for their turn, and hf_future_wait answers HF_WOULD_DEADLOCK.
 */
typedef hf_status (*hf_operation_fn)(hf_transaction *transaction, hf_buffer *result, void *user_data,
                                     hf_error **out_error);

/**
 * Makes an operation from a function.
 *
 * function: must not be NULL. options: as for hf_store_transact, or NULL. user_data: handed to the function;
 * NULL allowed. free_user_data: called with user_data exactly once: when the operation was freed and no run
 * is left, or before this call returns a failure; NULL allowed. out_operation receives the handle, freed with
 * hf_operation_free. Errors: HF_INVALID_ARGUMENT, HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_HANDLE,
 * HF_FORKED. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_create_function(
    hf_store *store, hf_operation_fn function, void *user_data, void (*free_user_data)(void *),
    const char *options, hf_operation **out_operation, hf_error **out_error);

/**
 * Runs the operation on this thread and waits for the outcome.
 *
 * transaction: NULL, or the one that this is to be a part of: then nothing is committed, and what the
 * operation wrote before a failure is taken back. out_result: receives the result as JSON (what a function
 * answered as it is), with the entity's version where it is one; NULL if not wanted. out_receipt: receives
 * the commit's receipt, empty for a read or inside a transaction; NULL if not wanted.
 *
 * Errors: those of hf_store_transact, and of the calls that it consists of. Any thread. Blocks.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_perform(hf_operation *operation, hf_transaction *transaction,
                                                        hf_entity *out_result, hf_buffer *out_receipt,
                                                        hf_error **out_error);

/**
 * Starts a run and returns; the future is completed with its result and receipt.
 *
 * transaction: as hf_operation_perform; it must not be used by others meanwhile. out_future receives the
 * handle, freed with hf_future_free; NULL if not wanted: the run goes on.
 *
 * Does no I/O on this thread. When "max_in_flight" commits and operations are under way it waits for a place,
 * up to the operation's "timeout_ms", but not with "when_full": "refuse" (options stand beside "steps", this
 * one also in an operation of one step), and never on a thread of the library's. Runs begin in the order in
 * which they were started and may overtake each other.
 *
 * Errors: HF_BUSY (no place), HF_CLOSED, HF_NO_MEMORY (also: the system gives no thread),
 * HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED; everything else is the future's. A store that closes
 * finishes the runs that it has accepted; one that meets a conflict then is not run again, and answers
 * HF_CONFLICT or HF_CLOSED. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_start(hf_operation *operation, hf_transaction *transaction,
                                                      hf_future **out_future, hf_error **out_error);

/**
 * hf_operation_start and hf_future_observe in one: HF_EVENT_END tells the result. on_end, user_data,
 * free_user_data: as hf_future_observe. HF_OK: exactly one event will come.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_submit(hf_operation *operation, hf_transaction *transaction,
                                                       hf_event_fn on_end, void *user_data,
                                                       void (*free_user_data)(void *), hf_future **out_future,
                                                       hf_error **out_error);

/**
 * hf_operation_submit for a subscriber: HF_EVENT_VALUE with the result and then HF_EVENT_END, or HF_EVENT_END
 * with the error alone. on_event: as on_end of hf_operation_submit; NULL allowed. Nothing comes after the
 * end. Each subscription is a run of its own; cancelling its future ends it with HF_CANCELLED, or is too
 * late.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_operation_subscribe(hf_operation *operation,
                                                          hf_transaction *transaction, hf_event_fn on_event,
                                                          void *user_data, void (*free_user_data)(void *),
                                                          hf_future **out_future, hf_error **out_error);

/** Frees the handle; runs go on. NULL and a freed handle do nothing. Cannot fail. Any thread. */
HF_EXPORT void hf_operation_free(hf_operation *operation);

HF_END_DECLS

#endif
