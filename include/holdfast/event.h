/*
 * Event: how the library tells that something asynchronous has ended.
 *
 * Each accepted commit has exactly one event: successes arrive in commit order, failures when they
 * are decided; so has each future that is observed, a subscription has two, and a stream any number. A
 * transaction begun after an event was received sees what it tells of. A store is opened for one of two ways
 * to hear of its events:
 *
 *   "delivery": "callback" (default)  the store's one callback thread calls the function given with
 *                                     the commit. The call may come before hf_transaction_submit has
 *                                     returned, never on the submitting thread's stack.
 *   "delivery": "queue"               nothing is called. The host takes events with hf_store_events,
 *                                     on any thread, whenever it likes or when the descriptor of
 *                                     hf_store_event_fd becomes readable.
 *
 * No lock of the library is held while a callback runs. Inside it every function is allowed;
 * hf_transaction_submit answers HF_BUSY there rather than wait for a place, and hf_store_close returns at
 * once and completes after the callback. Callbacks must not throw C++ exceptions or longjmp out. A child that
 * forked there ends when it returns from the callback.
 */
#ifndef HOLDFAST_EVENT_H
#define HOLDFAST_EVENT_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "status.h"

HF_BEGIN_DECLS

struct hf_event;

/**
 * Receives an event.
 *
 * event: borrowed for this call, with all that it holds. user_data: as given with the commit.
 * Runs on the store's callback thread.
 */
typedef void (*hf_event_fn)(const struct hf_event *event, void *user_data);

/** What an event tells of. */
typedef enum HF_ENUM(hf_event_kind) {
    /** A submitted commit has ended. */
    HF_EVENT_COMMIT = 1,
    /** A future has ended, or a subscription, or a stream; of the latter two nothing comes any more. */
    HF_EVENT_END = 2,
    /** The value that a subscription brings; its end follows. user_data is not freed with this one. */
    HF_EVENT_VALUE = 3,
    /** News of a stream, in `value` as stream.h says; with HF_CURSOR_LOST instead where some is lost.
     * user_data is not freed with this one. */
    HF_EVENT_CHANGES = 4,
    /** A controller has a new state, which hf_controller_state answers; several new states may be told as
     * one. user_data is not freed with this one. */
    HF_EVENT_STATE = 5
} hf_event_kind;

/** One event. Later versions may give new kinds; a program ignores kinds it does not know. */
typedef struct hf_event {
    hf_event_kind kind;
    /** HF_OK, or why it failed. */
    hf_status status;
    /** The commit's sequence number; 0 when it failed or wrote nothing. */
    uint64_t sequence;
    /** Behind what it tells of, to be kept by whoever goes on from there later (see stream.h): of a commit
     * that is stored, of changes, and with HF_CURSOR_LOST where the stream goes on; else empty. */
    hf_buffer position;
    /** The receipt (see receipt.h) of a commit that is stored, else empty. */
    hf_buffer receipt;
    /** The value of a future that has ended with HF_OK, of a subscription and of a stream; else empty. */
    hf_entity value;
    /** The error when status is not HF_OK, else NULL. */
    hf_error *error;
    /** As given with the commit, future, operation or stream. Under "queue" delivery `callback` is there for
     * the host to call, if it likes. */
    hf_event_fn callback;
    void *user_data;
    /** Called with user_data by hf_events_free; not for the host to call. */
    void (*free_user_data)(void *);
} hf_event;

/**
 * Frees what events taken with hf_store_events hold: positions, receipts, values, errors, and user_data
 * through its destructor.
 *
 * events: the array, which itself is the caller's; NULL with count 0 is allowed.
 * Cannot fail. Any thread, once for each event.
 */
HF_EXPORT void hf_events_free(hf_event *events, size_t count);

HF_END_DECLS

#endif
