/*
 * Future: the pending result of anything asynchronous, completed by the library or by the host.
 *
 *                 completed by the library or hf_future_complete        value, receipt
 *      PENDING  ---------------------------------------------------->   ENDED
 *               hf_future_fail, hf_future_cancel, a failed commit        error
 *
 * The first completion wins; a later one is told HF_INVALID_STATE and changes nothing. Three ways to hear of
 * the end, in any number and combination, before and after it: wait on a thread of one's own, observe with a
 * callback, or, in a store with "queue" delivery, take the event. Running out of time ends a wait and nothing
 * else. The future of a commit or an operation goes on when its handle is freed.
 *
 * Observers of a commit's or an operation's future hear as event.h says for their store, in commit order.
 * Observers of a future that the host created hear on one callback thread that all those share, whatever
 * the delivery of any store; never on the stack of who completes or observes.
 */
#ifndef HOLDFAST_FUTURE_H
#define HOLDFAST_FUTURE_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "event.h"
#include "status.h"
#include "transaction.h"

HF_BEGIN_DECLS

typedef struct hf_future hf_future;

/**
 * Creates a future for the host to complete. out_future receives the handle, freed with hf_future_free; a
 * future that is freed before it was completed never ends: its observers are let go without a call.
 * Errors: HF_INVALID_ARGUMENT, HF_NO_MEMORY. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_future_create(hf_future **out_future, hf_error **out_error);

/**
 * Completes a future with a value.
 *
 * value: any bytes, copied; NULL with length 0 for none. length: in bytes, or HF_NTS.
 * Errors: HF_INVALID_STATE (it has ended before), HF_INVALID_ARGUMENT, HF_NO_MEMORY (it has not ended),
 * HF_INVALID_HANDLE (also: nobody waits any longer, as after hf_await), HF_FORKED. Any thread. Does not
 * block.
 */
HF_EXPORT hf_status hf_future_complete(hf_future *future, const char *value, size_t length,
                                       hf_error **out_error);

/**
 * Completes a future with an error.
 *
 * status: what waits will answer; other than HF_OK. A number that is no status becomes HF_HOST_ERROR, with
 * the number as the detail's `code`. message: NUL-terminated UTF-8, copied; NULL for the status's name.
 * Errors and thread as hf_future_complete.
 */
HF_EXPORT hf_status hf_future_fail(hf_future *future, hf_status status, const char *message,
                                   hf_error **out_error);

/**
 * Waits for the end. May be called again, and by several threads at once: each gets the result.
 *
 * identifier: NUL-terminated UTF-8 that a time-out's error names; NULL allowed. timeout_ms: in milliseconds
 * of a steady clock; -1 for ever, 0 not at all, another negative number is HF_INVALID_ARGUMENT. out_value:
 * receives the value, its `version` being the entity's where it is one that is stored; NULL if not wanted.
 * out_receipt: receives the receipt of the commit, or an empty text where there was none; NULL if not wanted.
 *
 * Errors: the future's own; HF_TIMEOUT (the error's detail has the `identifier`, hf_future_is_ended answers
 * false: wait again, cancel or free), HF_CANCELLED, HF_WOULD_DEADLOCK (on a thread of the library's, while it
 * is pending), HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread. Blocks.
 */
HF_EXPORT hf_status hf_future_wait(hf_future *future, const char *identifier, int64_t timeout_ms,
                                   hf_entity *out_value, hf_buffer *out_receipt, hf_error **out_error);

/** Whether the future has ended. False for what is no future. Cannot fail. Any thread. */
HF_EXPORT bool hf_future_is_ended(hf_future *future);

/**
 * Has a callback hear of the end: an event HF_EVENT_END, whether the end comes later or has come.
 *
 * on_end: NULL allowed: under "queue" delivery the event carries user_data. free_user_data: called with
 * user_data exactly once: after the event was delivered (under "queue": by hf_events_free), when the future
 * goes without ever ending, or before this call returns a failure; NULL allowed.
 *
 * Errors: HF_CLOSED (the future has ended and its store is closed: nobody delivers any more),
 * HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_future_observe(hf_future *future, hf_event_fn on_end, void *user_data,
                                      void (*free_user_data)(void *), hf_error **out_error);

/**
 * Cancels: an operation that has not reached its commit does not commit, a commit is withdrawn while it is
 * queued, a future of the host's simply ends. It ends with HF_CANCELLED, and nothing was stored.
 * Errors: HF_INVALID_STATE (too late: it is being stored or has ended; its outcome is told as if nobody had
 * asked), HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_future_cancel(hf_future *future, hf_error **out_error);

/** Frees the handle, also while other threads wait. NULL and a freed handle do nothing. Cannot fail. Any
 * thread.
 */
HF_EXPORT void hf_future_free(hf_future *future);

/**
 * hf_transaction_submit with a future in place of a callback. Its value is empty; the receipt comes with it.
 * Where object trees are enlisted it ends when their members were told, so under "queue" delivery not before
 * its event was taken with hf_store_events.
 * out_future receives the handle, freed with hf_future_free, or NULL on failure. Errors, thread and waiting
 * as hf_transaction_submit.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_transaction_submit_future(hf_transaction *transaction,
                                                                hf_future **out_future, hf_error **out_error);

/**
 * Begins the next attempt of a transaction that met HF_CONFLICT, for a host that runs its work again by
 * itself; hf_store_transact and operations do so anyway. Attempts that collided at the same entity, or by a
 * query of the same repository, get their turn one after the other, in the order in which they asked, since
 * they would only make each other lose again.
 *
 * transaction: has failed or was rolled back, and stays the caller's, to be freed: until then it may keep the
 * turn that it had. options: as hf_transaction_begin; NULL for those that it had. out_transaction receives
 * the new transaction, freed with hf_transaction_free. out_turn receives a future without a value, freed with
 * hf_future_free, that ends when it is its turn: wait for it before the new transaction is used. It fails
 * with HF_CLOSED when the store closes. The turn is over when the new transaction is committed, rolled back,
 * has failed by anything but a conflict, or is freed; a turn that takes longer than a second no longer holds
 * up the others.
 *
 * Errors: HF_INVALID_STATE (it has not ended, was committed, or is managed by hf_store_transact),
 * HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_CLOSED, HF_INVALID_HANDLE,
 * HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_transaction_retry(hf_transaction *transaction, const char *options,
                                                        hf_transaction **out_transaction,
                                                        hf_future **out_turn, hf_error **out_error);

/**
 * Starts something that will complete the future, by a callback, on any thread, or at once.
 *
 * future: borrowed; it may be completed as long as hf_await waits. Once nobody waits any longer, completing
 * it answers HF_INVALID_HANDLE or HF_INVALID_STATE. out_error: as of hf_transaction_fn. Called once, on the
 * thread that calls hf_await. Answers HF_OK, or why
 * nothing was started: hf_await returns it, with that error, whatever the future was completed with.
 */
typedef hf_status (*hf_starter_fn)(hf_future *future, void *user_data, hf_error **out_error);

/**
 * Turns a call that answers by callback into one that returns its result: runs the starter on this thread,
 * and waits until the future that it was handed is completed.
 *
 * starter: called once. user_data: handed to it; NULL allowed. identifier, timeout_ms: as hf_future_wait; the
 * time counts from before the starter runs. out_value: receives the value; NULL if not wanted. out_future:
 * receives the future, freed with hf_future_free, when the wait ends with HF_TIMEOUT, or without memory for
 * the value, so that it can be waited for again or cancelled; else NULL; NULL if not wanted: then nobody
 * waits any longer, and the future ends as cancelled.
 *
 * No result is lost: where hf_future_complete answers HF_OK, hf_await returns the value, or out_future has
 * it.
 *
 * Errors: what the future was completed with or the starter answered; HF_TIMEOUT, HF_CANCELLED,
 * HF_WOULD_DEADLOCK (on a thread of the library's, before anything was started), HF_INVALID_ARGUMENT,
 * HF_NO_MEMORY, HF_FORKED (the starter forked and this is the child). Any thread. Blocks.
 */
HF_EXPORT hf_status hf_await(hf_starter_fn starter, void *user_data, const char *identifier,
                             int64_t timeout_ms, hf_entity *out_value, hf_future **out_future,
                             hf_error **out_error);

HF_END_DECLS

#endif
