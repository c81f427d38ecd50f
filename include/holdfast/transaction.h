/*
 * Transaction: one unit of work over a store. All of it is stored, or nothing.
 *
 *                   commit / submit                  stored
 *      OPEN  ------------------------->  COMMITTING  --------->  COMMITTED
 *       |  ^                               |      \
 *       |  | HF_BUSY from submit           |       \  refused, withdrawn, or failed
 *       |  +-------------------------------+        +--------->  FAILED
 *       |      rollback, free, or close of the store
 *       +----------------------------------------------------->  ROLLED_BACK
 *
 * Reads. The snapshot is fixed at the transaction's first read; later reads see that snapshot overlaid
 * with the transaction's own writes. A transaction that only writes holds no snapshot.
 *
 * Isolation is serializable: a transaction is refused with HF_CONFLICT if something that it read (an
 * entity, the absence of one, the result of a query) was changed by a commit after its snapshot.
 * A transaction that wrote nothing never conflicts at commit. With "isolation": "snapshot" only the
 * entities that it wrote are compared: the first to commit wins.
 *
 * Durability. "full": nothing is visible or completed before it is synced to the disk. "relaxed":
 * completed when visible; a power cut may lose the last moments, never consistency; a killed process
 * loses nothing.
 *
 * What a commit answers is its receipt: see receipt.h.
 *
 * Threads: a transaction is bound to no thread. Calls on one transaction from several threads at once
 * are safe and take turns.
 *
 * Parameters, where a function says nothing else of them:
 *
 *   savepoint     its number, as hf_transaction_savepoint gave it
 *   scope         its number, as hf_transaction_begin_scope gave it
 */
#ifndef HOLDFAST_TRANSACTION_H
#define HOLDFAST_TRANSACTION_H

#include "base.h"
#include "error.h"
#include "event.h"
#include "receipt.h"
#include "status.h"
#include "store.h"

HF_BEGIN_DECLS

typedef struct hf_transaction hf_transaction;

/** Where a transaction stands: see the diagram at the top. */
typedef enum HF_ENUM(hf_transaction_state) {
    /** It reads and writes. */
    HF_TRANSACTION_OPEN = 1,
    /** Its commit was accepted, and is not decided yet. */
    HF_TRANSACTION_COMMITTING = 2,
    /** It is stored. */
    HF_TRANSACTION_COMMITTED = 3,
    /** It was given up, by whoever had it or because its store closed. */
    HF_TRANSACTION_ROLLED_BACK = 4,
    /** Its commit was refused, withdrawn, or failed. */
    HF_TRANSACTION_FAILED = 5
} hf_transaction_state;

/**
 * Begins a transaction. Does no I/O and holds nothing of the storage until its first read.
 *
 * options: NUL-terminated JSON object, or NULL.
 *   "isolation": "serializable" | "snapshot"   (serializable)
 *   "durability": "full" | "relaxed"           (the store's)
 *   "timeout_ms": 0..86400000 (30000)          how long the commit may wait: for a place under
 *                                              "max_in_flight" and then in the queue; then it is told,
 *                                              whoever is in the way. Once it is being stored the true result
 *                                              is told, late if need be; but on a server, who waits for it is
 *                                              told HF_TIMEOUT while the server cannot have it, and then
 *                                              HF_IO with HF_COMMIT_UNKNOWN, and what became of it is found
 *                                              out all the same. 0: it waits for no place, and is not
 *                                              withdrawn once it is accepted.
 *   "when_full": "wait" | "refuse"             (wait) what a submission does that finds no place under
 *                                              "max_in_flight": "refuse" answers HF_BUSY at once, as an event
 *                                              loop wants it, and leaves "timeout_ms" to the queue
 *   "idempotency_key": text, 1..255 bytes      The first commit with this key is stored and its receipt
 *                                              kept. A later one with the same key and the same writes
 *                                              changes nothing and gets that receipt with "replayed":
 *                                              true; with other writes it is HF_KEY_REUSED.
 *   "on_error": "continue" | "abort"           (continue) what a write that fails leaves behind. "continue":
 *                                              the transaction as it was, and open, so that a program may
 *                                              react, add and else update. "abort": nothing is stored any
 *                                              more without it. Every later call that reads or writes, and
 *                                              the commit, answer that failure (retryable if it was a
 *                                              conflict), until the transaction is rolled back, or rolled
 *                                              back to a savepoint before; reads that fail, and HF_NOT_FOUND
 *                                              of a fetch, are no failed writes. A read, to which
 *                                              HF_NOT_FOUND is an answer, answers HF_INVALID_STATE where the
 *                                              failure was that, with it as the cause.
 *   "name": text, 1..64 bytes                  told by hf_store_describe while it holds a snapshot
 *
 * out_transaction receives the handle, freed with hf_transaction_free.
 * Errors: HF_INVALID_ARGUMENT, HF_INVALID_JSON, HF_INVALID_OPTION, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED.
 * Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_transaction_begin(hf_store *store, const char *options,
                                                        hf_transaction **out_transaction,
                                                        hf_error **out_error);

/**
 * Commits and waits for the outcome.
 *
 * out_receipt: receives the receipt; NULL if not wanted.
 *
 * Errors: HF_CONFLICT (retryable; the detail's `ids` name what changed), HF_HISTORY_LOST (a server has lost
 * what was read; nothing was stored), HF_UNIQUE_VIOLATION and
 * HF_INVALID_ENTITY (what an index does not take, see index.h), HF_KEY_REUSED, HF_TIMEOUT (with an error
 * object: withdrawn from the queue, also because another program had the file locked; nothing was stored),
 * HF_BUSY (retryable: another program has had the file locked for writing for half a minute, and the detail's
 * `file` is its path; nothing was stored), HF_READ_ONLY, HF_FULL, HF_IO, HF_NO_MEMORY and, of a provider,
 * HF_HOST_ERROR (hf_error_commit_state tells whether something may have been stored), HF_CORRUPT, what an
 * object tree's member or a validator has answered (see participant.h), HF_REENTRANT, HF_INVALID_STATE,
 * HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED; with "on_error": "abort" that of the write that failed;
 * HF_UNSUPPORTED and HF_INVALID_STATE where a scope has failed that could not go back alone (see
 * hf_transaction_begin_scope).
 * A refusal of a member or a validator leaves the transaction open, and so do HF_READ_ONLY, HF_REENTRANT,
 * HF_INVALID_STATE for one that is not open or in which a scope is under way, and HF_FORKED. After any other
 * it has failed: it can be begun again (hf_transaction_retry) or freed.
 *
 * Any thread, the callback thread included. Blocks until the commit is stored.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_transaction_commit(hf_transaction *transaction, hf_buffer *out_receipt,
                                                         hf_error **out_error);

/**
 * Hands the commit over and returns; the outcome arrives as an event (see event.h).
 *
 * on_end: called with the event under "callback" delivery, found in the event under "queue"; NULL allowed.
 * user_data: handed to on_end, found in the event; NULL allowed.
 * free_user_data: called with user_data exactly once: after the event was delivered (under "queue": by
 * hf_events_free), or before this call returns a failure; NULL allowed.
 *
 * Does no I/O on this thread. When "max_in_flight" commits are under way it waits up to the transaction's
 * "timeout_ms" for a place, but not with "when_full": "refuse", and never on the store's callback thread.
 * HF_OK: accepted, exactly one event will come. The handle may be freed at once; the commit goes on.
 *
 * Object trees (see participant.h) and validators (see validator.h) are asked on this thread before, and what
 * one refuses is answered here; so is the conflict of a transaction with trees that wrote nothing, and what
 * keeps a transaction from being stored since a write or a scope of it has failed.
 *
 * Errors: HF_BUSY (no place; the transaction stays open and can be submitted again), HF_INVALID_STATE (also
 * where a scope is under way; then it stays open, too), HF_REENTRANT (others are just having it validated),
 * HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED; with "on_error": "abort" that of the write
 * that failed, and HF_UNSUPPORTED and HF_INVALID_STATE where a scope has failed that could not go back alone:
 * then the transaction has failed and can only be freed, as after hf_transaction_commit, and no event comes.
 * Other conflicts and storage failures come as events. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_transaction_submit(hf_transaction *transaction, hf_event_fn on_end,
                                                         void *user_data, void (*free_user_data)(void *),
                                                         hf_error **out_error);

/**
 * Withdraws a submitted commit while it is queued; its event then tells HF_CANCELLED.
 * Errors: HF_INVALID_STATE when it is too late (it is being stored or has ended) or was never submitted,
 * HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_transaction_cancel(hf_transaction *transaction, hf_error **out_error);

/**
 * Discards the transaction. Rolling back one that was rolled back is HF_OK.
 * Errors: HF_INVALID_STATE (submitted, committed or failed), HF_INVALID_HANDLE, HF_FORKED. Any thread.
 * Does not block.
 */
HF_EXPORT hf_status hf_transaction_rollback(hf_transaction *transaction, hf_error **out_error);

/**
 * Marks a place to which the transaction's writes can be rolled back. out_savepoint receives its number.
 * Errors: HF_INVALID_STATE, HF_INVALID_ARGUMENT, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread.
 * Does not block.
 */
HF_EXPORT hf_status hf_transaction_savepoint(hf_transaction *transaction, uint64_t *out_savepoint,
                                             hf_error **out_error);

/**
 * Discards what was written after the savepoint, and the savepoints after it; it itself stays and can be
 * rolled back to again. What was read stays read: the conflict check still counts it. A transaction that a
 * write which failed after the savepoint has aborted goes on.
 * Errors: HF_INVALID_ARGUMENT (no such savepoint; a scope's number is none), HF_INVALID_STATE, HF_CLOSED,
 * HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_transaction_rollback_to(hf_transaction *transaction, uint64_t savepoint,
                                               hf_error **out_error);

/**
 * Forgets a savepoint, and those after it; what was written stays. Until then it costs the memory of what was
 * changed since.
 * Errors: HF_INVALID_ARGUMENT (no such savepoint), HF_INVALID_STATE, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED.
 * Any thread. Does not block.
 */
HF_EXPORT hf_status hf_transaction_release(hf_transaction *transaction, uint64_t savepoint,
                                           hf_error **out_error);

/** The `outer` of a scope that lies in no other. */
#define HF_NO_SCOPE UINT64_MAX

/**
 * Begins a scope: a part of the transaction that is all or nothing by itself, for a function that works in
 * the transaction of whoever calls it. A scope that fails takes its own writes with it, and its caller may go
 * on; what it read stays read. This is what a transaction inside a transaction is in every language.
 *
 *     status = hf_transaction_begin_scope(t, 0, &scope, &err);
 *     if (status == HF_OK) {
 *         status = move_money(t, from, to, amount, &err);
 *         ended = hf_transaction_end_scope(t, scope, status == HF_OK, NULL);
 *     }
 *
 * outer: the scope in which it lies; 0 for the one that was begun last, which is right where calls nest;
 * HF_NO_SCOPE for none. It matters where several threads or tasks work in one transaction: one whose scope
 * fails must not take what the others wrote with it. Then the whole transaction can only be rolled back, and
 * its commit answers HF_INVALID_STATE; also where one fails while a scope inside it is under way, which has
 * to be ended before. While any scope is under way a commit answers HF_INVALID_STATE and leaves the
 * transaction open, because it would store half of that. out_scope receives its number.
 *
 * Members of object trees take part through their savepoint functions (see participant.h). Where one has
 * none, or its tree is being called just then, a scope that fails cannot go back alone: from then on every
 * call, and the commit, answer HF_UNSUPPORTED, until the transaction is rolled back.
 *
 * Errors: what a failed write or scope has left (see "on_error"), HF_REENTRANT, HF_INVALID_STATE,
 * HF_INVALID_ARGUMENT, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_transaction_begin_scope(hf_transaction *transaction, uint64_t outer,
                                                              uint64_t *out_scope, hf_error **out_error);

/**
 * Ends a scope.
 *
 * succeeded: whether what it did stays a part of the transaction; false: it goes back.
 * Errors: what keeps a scope that is told to have succeeded from being stored: with "on_error": "abort" the
 * failure of a write in it, and then it goes back, and the transaction may go on; or what a scope that could
 * not go back alone has left. HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. A scope that has ended, and
 * one of a transaction that has ended, is HF_OK. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_transaction_end_scope(hf_transaction *transaction, uint64_t scope,
                                                            bool succeeded, hf_error **out_error);

/** The transaction's state, also after its store was closed. out_state: must not be NULL. Errors:
 * HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread. */
HF_EXPORT hf_status hf_transaction_get_state(hf_transaction *transaction, hf_transaction_state *out_state,
                                             hf_error **out_error);

/**
 * Frees the handle; an open transaction is rolled back, a submitted one goes on. NULL and a freed handle do
 * nothing. Cannot fail. Any thread.
 */
HF_EXPORT void hf_transaction_free(hf_transaction *transaction);

/**
 * The body of a transaction that may have to run more than once.
 *
 * transaction: borrowed for this call; not to be committed, submitted or rolled back here (HF_INVALID_STATE).
 * user_data: as given to hf_store_transact. out_error: may receive an error made with hf_error_create, or one
 * that a call of the library has answered; the library takes it over. So a body may hand out_error on to the
 * calls that it makes, and what one of them fails with is what hf_store_transact fails with. Answers HF_OK to
 * commit; HF_CONFLICT to run again; any other status to roll back and have hf_store_transact return it, with
 * that error, or with one that the library makes. Its hf_error_commit_state is HF_COMMIT_NONE, whatever it
 * was of another commit. A call that is given out_error forgets what stands there: a body that goes on after
 * a failure frees its error before. When it forks, it commits in the parent alone: in the child
 * hf_store_transact answers HF_FORKED whatever the body answered.
 */
typedef hf_status (*hf_transaction_fn)(hf_transaction *transaction, void *user_data, hf_error **out_error);

/**
 * Runs the body in a transaction and commits it; on a conflict runs it again on the newest state, once those
 * of this process have ended that collided at the same entity, or by a query of the same repository, before.
 *
 * body: called on this thread, once or more. user_data: handed to it; NULL allowed.
 * options: as for hf_transaction_begin, and
 *   "max_attempts": 1..1000 (100)
 *   "timeout_ms" holds for all attempts together.
 * With an idempotency key that was used, the body does not run and the first receipt is answered with
 * "replayed": true. So it is, too, where the same request is made twice at once: what the body of the one
 * that was slower wrote is dropped, and whatever it failed with, its own or a validator's refusal too, since
 * that may come of what the other has stored; it gets the receipt of the other.
 * out_receipt: receives the receipt, its `attempts` telling how often the body ran; NULL if not wanted.
 *
 * Errors: those of hf_transaction_commit; HF_CONFLICT only when the attempts or the time are used up, with
 * the detail's `attempts`; what the body answered; HF_INVALID_ARGUMENT,
 * HF_INVALID_JSON, HF_INVALID_OPTION. Any thread. Blocks.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_transact(hf_store *store, hf_transaction_fn body, void *user_data,
                                                     const char *options, hf_buffer *out_receipt,
                                                     hf_error **out_error);

HF_END_DECLS

#endif
