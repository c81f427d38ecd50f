/*
 * Provider: a place of the host's where a store's entities live, instead of an engine of the library's: a
 * directory of files, a key-value store, a server, a table of the program's own.
 *
 * Four functions are enough: on_save, on_fetch, on_fetch_all, on_delete. The store does the rest, as on every
 * engine: transactions and their isolation, versions, queries, indexes, idempotency keys, events.
 *
 * What lives where. With the provider, entities alone: under the name of their repository and their id (under
 * "holdfast_system" what the store keeps about itself, such as the version of hf_store_upgrade). In
 * the memory of this process, everything else: so a store that is opened again knows no repository until it
 * is opened, under the same key, no index until it is created, and no idempotency key. An entity's version
 * rises at each change as ever; one that was there at the opening has a version of that moment. Each entity
 * that was written costs a little memory until the store is closed. One process, and one store, use a
 * provider at a time.
 *
 * Atomicity. With on_apply a commit is stored all at once, as atomically as on_apply is. Without it the
 * entities of a commit are saved and deleted one after the other. If one of these calls fails, what was done
 * is taken back, and the commit fails with nothing stored (HF_COMMIT_NONE). If that fails too, the error's
 * commit state is HF_COMMIT_UNKNOWN; the store remains usable, shows what the provider has, and every
 * transaction that has read before meets a conflict. If the process ends in the middle, a part is left: the
 * receipt of a commit of several entities says "atomic": false.
 *
 * Durability is what the provider makes of it: a commit with "full" durability calls on_sync, where there is
 * one, before it is told.
 *
 * Who else writes. Whatever writes to the place behind the store's back should be told by on_change_token:
 * when the number is another one, everything that was read is forgotten, what is cached too, and transactions
 * that have read before meet a conflict. A write of others between the first of a commit's writes and the
 * question for the number behind them cannot be told from the commit, and is noticed with the next change
 * only: who writes there beside a store keeps out of its commits. Without on_change_token nothing is cached
 * unless "cache_bytes" or a repository's cache policy asks for it; reads show what the provider holds, while
 * versions, conflicts and indexes know only what this store has written.
 *
 * Failures. What an on_ function answers other than HF_OK fails the call that needed it with HF_HOST_ERROR,
 * whose message says what could not be done and why, whose detail has the host's own `code` and the
 * `repository` and `id`, and whose cause is the host's error. The store stays usable. What it hands over is
 * checked: bytes that are no entity, an entity of another id, an id that comes twice are HF_CORRUPT, naming
 * repository and id, for whoever reads that entity or lists the repository; HF_CORRUPT may also be answered.
 * Other entities stay readable by id, and a damaged one may be saved anew or deleted.
 *
 * Threads. The functions are called on the thread that reads or commits, which may be one of the library's:
 * one call at a time, or, with "concurrent_calls", reads at the same time as each other and as a write, but
 * never two writes. No lock is held that the host could need, except of the transaction or cursor that reads.
 * In a function nothing may be done with the store that calls it, nor may it wait for a thread that does: a
 * call answers HF_REENTRANT and changes nothing, a wait for a future of a store HF_WOULD_DEADLOCK. Only
 * hf_store_close and the _free functions work, and take effect when the function has returned. Other stores
 * may be used. A function that blocks holds up the calls that need it, and with them the closing of the
 * store.
 *
 * Parameters of the host's functions, where they say nothing else of them. All that is passed is lent for the
 * call.
 *
 *   repository    its name, closed with NUL
 *   id            in bytes, closed with a NUL that the length does not count. It holds no control characters,
 *                 and any others, so escape it where it becomes the name of a file
 *   entity        the JSON object, in bytes, closed with a NUL that the length does not count
 *   filter        as of hf_repository_find, closed with a NUL that the length does not count
 *   visit         the library's, to be called for each entity
 *   visitor       to be handed to visit
 *   user_data     as in hf_provider
 */
#ifndef HOLDFAST_PROVIDER_H
#define HOLDFAST_PROVIDER_H

#include "base.h"
#include "error.h"
#include "status.h"
#include "store.h"

HF_BEGIN_DECLS

/**
 * Takes one entity from on_fetch_all or on_find.
 *
 * id, id_length: in bytes, or HF_NTS. entity, length: the JSON object, in bytes, or HF_NTS. Both are copied.
 * visitor: as given to that function. Answers false when no more can be taken: then the function returns
 * HF_OK. Only to be called on the same thread, before it returns.
 */
typedef bool (*hf_provider_visit_fn)(const char *id, size_t id_length, const char *entity, size_t length,
                                     void *visitor);

/** One write of a commit: an entity to be stored, or with a NULL entity to be deleted. Lent for the call. */
typedef struct hf_provider_write {
    const char *repository;
    const char *id;
    size_t id_length;
    const char *entity;
    size_t length;
} hf_provider_write;

/** Stores an entity, in place of one that is there. */
typedef hf_status (*hf_provider_save_fn)(const char *repository, const char *id, size_t id_length,
                                         const char *entity, size_t length, void *user_data,
                                         hf_error **out_error);

/** Fetches an entity, or answers HF_NOT_FOUND. out_entity: begins empty, to be filled with hf_buffer_set. */
typedef hf_status (*hf_provider_fetch_fn)(const char *repository, const char *id, size_t id_length,
                                          hf_buffer *out_entity, void *user_data, hf_error **out_error);

/** Calls visit for each entity of a repository, in any order. One that was never saved to is empty. */
typedef hf_status (*hf_provider_fetch_all_fn)(const char *repository, hf_provider_visit_fn visit,
                                              void *visitor, void *user_data, hf_error **out_error);

/** Deletes an entity; HF_OK, or HF_NOT_FOUND, where there is none. */
typedef hf_status (*hf_provider_delete_fn)(const char *repository, const char *id, size_t id_length,
                                           void *user_data, hf_error **out_error);

/** Carries out all writes, or fails with none of them done. writes: one at least. */
typedef hf_status (*hf_provider_apply_fn)(const hf_provider_write *writes, size_t count, void *user_data,
                                          hf_error **out_error);

/**
 * As hf_provider_fetch_all_fn, but may leave out entities that do not match the filter, a JSON text of
 * filter_length bytes, closed with NUL (repository.h describes the language). All that is visited is matched
 * again, so understanding a part is enough.
 */
typedef hf_status (*hf_provider_find_fn)(const char *repository, const char *filter, size_t filter_length,
                                         hf_provider_visit_fn visit, void *visitor, void *user_data,
                                         hf_error **out_error);

/** Answers a number that is another one after every change, whoever makes it. out_token: receives it. Called
 * at every read and commit: quick. */
typedef hf_status (*hf_provider_change_token_fn)(uint64_t *out_token, void *user_data, hf_error **out_error);

/** Makes everything saved, deleted and applied before durable. */
typedef hf_status (*hf_provider_sync_fn)(void *user_data, hf_error **out_error);

/** What a provider does. Start with HF_PROVIDER_INIT. */
typedef struct hf_provider {
    /** sizeof(hf_provider), which tells versions apart. */
    size_t size;
    /** Handed to every function; NULL allowed. */
    void *user_data;
    /** Called with user_data exactly once, on any thread: when the store is closed and none of the functions
     * is running, or before hf_store_open_provider returns a failure; NULL allowed. */
    void (*free_user_data)(void *);
    /** These four are needed. */
    hf_provider_save_fn on_save;
    hf_provider_fetch_fn on_fetch;
    hf_provider_fetch_all_fn on_fetch_all;
    hf_provider_delete_fn on_delete;
    /** These are not: NULL where there is none. */
    hf_provider_apply_fn on_apply;
    hf_provider_find_fn on_find;
    hf_provider_change_token_fn on_change_token;
    hf_provider_sync_fn on_sync;
} hf_provider;

#define HF_PROVIDER_INIT                                                                                     \
    { sizeof(hf_provider), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * Opens a store whose entities live with a provider.
 *
 * provider: copied. options: as of hf_store_open, or NULL; those of SQLite and "create" have no effect, and
 *   "cache_bytes": 0..2^40 (67108864; 0 without on_change_token)
 *   "concurrent_calls": bool (false)    true: reads call the provider at the same time as others
 * out_store receives it, to be closed and freed as any other.
 *
 * Errors: HF_INVALID_ARGUMENT (provider or out_store NULL, a size that is none, one of the four functions
 * NULL; of a provider whose size cannot be read, nothing else is either, and user_data is not freed),
 * HF_INVALID_OPTION, HF_HOST_ERROR (from on_change_token), HF_NO_MEMORY, HF_IO. Any thread. Calls
 * on_change_token, where there is one, and nothing else of the provider.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_open_provider(const hf_provider *provider, const char *options,
                                                          hf_store **out_store, hf_error **out_error);

HF_END_DECLS

#endif
