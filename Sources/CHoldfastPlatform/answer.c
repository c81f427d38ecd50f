#include "CHoldfastPlatform.h"

#include <stdatomic.h>

/* Functions of the host's that are known by their addresses; and calls, as answer.h promises. */
enum { MOST_DECLARED = 64, MOST_CALLS = 100 };

/* Filled from the front, never emptied, so that it is read without a lock. */
static _Atomic(const void *) declared[MOST_DECLARED];

static __thread hfp_answer *innermost;

bool hfp_answer_is_declared(const void *function) {
    for (int i = 0; i < MOST_DECLARED; i++) {
        const void *one = atomic_load_explicit(&declared[i], memory_order_acquire);
        if (one == function || one == NULL)
            return one != NULL;
    }
    return false;
}

bool hfp_answer_declare(const void *function) {
    for (int i = 0; i < MOST_DECLARED; i++) {
        const void *one = NULL;
        if (atomic_compare_exchange_strong(&declared[i], &one, function) || one == function)
            return true;
    }
    return false;
}

void hfp_answer_begin(hfp_answer *answer) {
    answer->outer = innermost;
    innermost = answer;
}

bool hfp_answer_is_awaited(hfp_answer *answer) { return !answer->is_given && ++answer->missed < MOST_CALLS; }

void hfp_answer_end(hfp_answer *answer) { innermost = answer->outer; }

int32_t hfp_answer_give(int64_t value) {
    if (innermost == NULL)
        return -1;
    innermost->value = value;
    innermost->is_given = true;
    return innermost->missed;
}
