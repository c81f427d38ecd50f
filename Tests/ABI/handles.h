/* One handle of each kind, for the tests that hand them to every function. */
#ifndef HANDLES_H
#define HANDLES_H

#include "every_function.h"
#include "support.h"

static inline handles open_handles(const fixture *f, const char *options) {
    hf_store *store = open_store(f, options);
    return (handles){store, open_repository(store, "things"), begin(store, NULL)};
}

static inline void free_handles(handles h) {
    hf_transaction_free(h.transaction);
    hf_repository_free(h.repository);
    hf_store_free(h.store);
}

#endif
