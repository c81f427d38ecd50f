#include "CHoldfastPlatform.h"

#include <stdatomic.h>

/* Functions of the host's that are known by their addresses; and calls, as answer.h promises. */
enum { MOST_DECLARED = 64, MOST_CALLS = 100 };

/* Filled from the front, never emptied, so that it is read without a lock. */
static _Atomic(const void *) declared[MOST_DECLARED];

static __thread hfplatform_answer *innermost;

bool hfplatform_answer_is_declared(const void *function) {
    for (int i = 0; i < MOST_DECLARED; i++) {
        const void *one = atomic_load_explicit(&declared[i], memory_order_acquire);
        if (one == function || one == NULL)
            return one != NULL;
    }
    return false;
}

bool hfplatform_answer_declare(const void *function) {
    for (int i = 0; i < MOST_DECLARED; i++) {
        const void *one = NULL;
        if (atomic_compare_exchange_strong(&declared[i], &one, function) || one == function)
            return true;
    }
    return false;
}

void hfplatform_answer_begin(hfplatform_answer *answer) {
    answer->outer = innermost;
    innermost = answer;
}

bool hfplatform_answer_is_awaited(hfplatform_answer *answer) {
    return !answer->is_given && ++answer->missed < MOST_CALLS;
}

void hfplatform_answer_end(hfplatform_answer *answer) { innermost = answer->outer; }

int32_t hfplatform_answer_give(int64_t value) {
    if (innermost == NULL)
        return -1;
    innermost->value = value;
    innermost->is_given = true;
    return innermost->missed;
}
