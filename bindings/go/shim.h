/* What cgo cannot say: a number as user_data, and a check that looks at one. */
#ifndef HOLDFAST_GO_SHIM_H
#define HOLDFAST_GO_SHIM_H

#include <holdfast.h>

#include <stdlib.h>

/* Asked on the thread of a call, in the midst of it: so it is C, and looks at a number alone. */
static bool hf_go_is_cancelled(void *cancelled) {
    return __atomic_load_n((int *)cancelled, __ATOMIC_RELAXED) != 0;
}

static inline void hf_go_check(int *cancelled) {
    hf_interrupt_set_check(cancelled == NULL ? NULL : hf_go_is_cancelled, cancelled);
}

static inline void hf_go_cancel(int *cancelled) { __atomic_store_n(cancelled, 1, __ATOMIC_RELAXED); }

static inline uintptr_t hf_go_token(const hf_event *event) { return (uintptr_t)event->user_data; }

static inline hf_status hf_go_submit(hf_transaction *transaction, uintptr_t token, hf_error **out_error) {
    return hf_transaction_submit(transaction, NULL, (void *)token, NULL, out_error);
}

static hf_status hf_go_nothing(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)transaction, (void)user_data, (void)out_error;
    return HF_OK;
}

/* Stores nothing, and answers the first receipt where the options' idempotency key was used. */
static inline hf_status hf_go_known(hf_store *store, const char *options, hf_buffer *out_receipt,
                                    hf_error **out_error) {
    return hf_store_transact(store, hf_go_nothing, NULL, options, out_receipt, out_error);
}

static inline hf_status hf_go_observe(hf_store *store, const char *options, uintptr_t token,
                                      hf_stream **out_stream, hf_error **out_error) {
    return hf_stream_open(store, options, NULL, (void *)token, NULL, out_stream, out_error);
}

static inline hf_status hf_go_live(hf_repository *repository, const char *filter, size_t filter_length,
                                   const char *options, uintptr_t token, hf_stream **out_stream,
                                   hf_error **out_error) {
    return hf_stream_open_query(repository, filter, filter_length, options, NULL, (void *)token, NULL,
                                out_stream, out_error);
}

#endif
