/*
 * Cache: committed entities that are kept in memory, so that reading one by its id needs no storage.
 *
 * It is on by itself. What hf_repository_fetch and its like read from the storage is taken in, up to the
 * store's "cache_bytes"; beyond that, what was used longest ago goes. In a store's file a query that goes
 * along an index or a range of ids takes entities from here, too, which count as hits; along an index it
 * takes in what it has to read as long as that pushes out nothing. Whoever reads sees what he would see
 * without it: never what is not committed, never what is older than the last commit completed by any process
 * before the read began, and in a transaction never what is newer than its snapshot. A commit of this process
 * brings the entries that it changes up to date and takes deleted ones out; one of another process takes out
 * those that it changed, at the next read. After more than a thousand of those, and after what a program has
 * written that is none of this library's, the cache is emptied. A rollback and a write that is refused leave
 * it as it was; a COMMIT that fails in the storage empties it. That there is no entity of an id is never
 * remembered.
 *
 * Policies. At first all repositories share one general list. A repository that was opened with the option
 * "cache" (see hf_repository_open) has a list of its own:
 *
 *   "strategy": "lru" | "fifo" (lru)   which entry goes when there are too many: the one used longest ago,
 *                                      where reading and setting are both use; or the one inserted first,
 *                                      where overwriting keeps an entry's place
 *   "time_to_live_ms": 0..2^63/10^6 (0)  an entry older than this, counted from when it was set last, is
 *                                      not used: the next read asks the storage. Reading prolongs nothing.
 *                                      0: entries do not expire
 *   "max_entries": 0..2^31 (no limit)  a new entry beyond this evicts one; overwriting evicts none.
 *                                      0: nothing is cached
 *   "max_bytes": 0..2^40 (the store's "cache_bytes")   of ids and texts and some 160 bytes each. What is
 *                                      larger by itself is not cached. 0: nothing is cached
 *
 * Such a list is also filled by what this process commits in the repository, and by hf_repository_fetch_all
 * without a transaction; the general list is not, because a large load would push out what is in use. The
 * policy is this process's, for all handles of the repository that come from this store's handle, and is not
 * stored. A later open with another one replaces it and drops the entries; one without leaves it.
 *
 * Every function may be called from any thread, does no I/O, and may answer HF_CLOSED, HF_INVALID_ARGUMENT,
 * HF_INVALID_HANDLE, HF_FORKED.
 */
#ifndef HOLDFAST_CACHE_H
#define HOLDFAST_CACHE_H

#include "base.h"
#include "error.h"
#include "repository.h"
#include "status.h"
#include "store.h"

HF_BEGIN_DECLS

/** How much of a cache is to go. */
typedef enum HF_ENUM(hf_trim_level) {
    /** Evicts half of the entries, at least one. */
    HF_TRIM_WARNING = 1,
    /** Evicts all. */
    HF_TRIM_CRITICAL = 2
} hf_trim_level;

/**
 * Drops what is cached of a repository, never what is stored: the next read asks the storage.
 *
 * id, id_length: of the one entity, in bytes or HF_NTS; NULL and 0 for all of them. One that is not cached is
 * HF_OK. Errors: HF_INVALID_ID.
 */
HF_EXPORT hf_status hf_repository_invalidate_cache(hf_repository *repository, const char *id,
                                                   size_t id_length, hf_error **out_error);

/**
 * Drops some of what is cached of a repository because memory is short: those entries first that would be
 * evicted first. level: one of hf_trim_level; another is HF_INVALID_ARGUMENT.
 */
HF_EXPORT hf_status hf_repository_trim_cache(hf_repository *repository, hf_trim_level level,
                                             hf_error **out_error);

/**
 * Tells what the cache has done for a repository since the store was opened, as a JSON object:
 *
 *   "hits", "misses"   looks for one entity by its id that the cache answered, and that it did not
 *   "fills"            entries set, new or overwritten
 *   "evictions"        entries dropped to keep the limits, or by hf_repository_trim_cache
 *   "expirations"      entries found to be older than their time to live
 *   "invalidations"    entries dropped because they were deleted or invalidated, somebody else had committed,
 *                      a COMMIT had failed, or the policy or the clock changed
 *   "entries", "bytes" held now, also those expired that nobody has asked for since; "bytes" is what counts
 *                      against the limits: ids and texts, and 160 for each entry
 *   "held_bytes"       what they take of the process's memory as the allocator gave it, with the tables that
 *                      lead to them; divided by "entries", what a cached entity takes. The order of the
 *                      general list is counted for the whole store alone
 *   "policy"           {"strategy","time_to_live_ms","max_entries","max_bytes","shared"}: what governs the
 *                      entries, "max_entries" null for no limit; "shared" where they are in the general list
 *
 * Readers ignore other members. out_statistics: see hf_buffer. hf_store_describe has the same of the whole
 * store as "cache", with the general list's policy.
 */
HF_EXPORT hf_status hf_repository_cache_statistics(hf_repository *repository, hf_buffer *out_statistics,
                                                   hf_error **out_error);

/**
 * A host's clock: nanoseconds that never go back, of no particular beginning. user_data: as given to
 * hf_store_set_clock. Called on any thread, the library's too, by several at once, and while a commit is
 * under way: it must return soon, must not call the library, and, other than the host's other functions, must
 * not fork.
 */
typedef uint64_t (*hf_clock_fn)(void *user_data);

/**
 * Replaces the clock by which things expire in a store, for tests: what has a time to live can then be seen
 * to expire without waiting. The calendar moves with it from here on, where times to live are counted by
 * the calendar. Empties the cache. Timeouts go by the system's clock as before.
 *
 * clock: NULL for the system's. user_data: handed to it; NULL allowed. free_user_data: called with user_data
 * exactly once, on any thread: when the clock was replaced or the store is closed, and no call of it is
 * running; or before this call returns a failure; NULL allowed.
 */
HF_EXPORT hf_status hf_store_set_clock(hf_store *store, hf_clock_fn clock, void *user_data,
                                       void (*free_user_data)(void *), hf_error **out_error);

HF_END_DECLS

#endif
