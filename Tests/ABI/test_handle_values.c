/* The values of handles: none is used a second time. A program of its own, because a slot of the table goes
 * round fastest where it is the only free one. */
#include "support.h"

static void a_freed_handle_stays_dead_however_many_are_made_after_it(fixture *f) {
    (void)f;
    enum { GENERATIONS = 1 << 24 };
    hf_error *first = hf_error_create(HF_IO, 0, "the first"), *last = NULL;
    hf_error_free(first);
    for (size_t i = 0; i <= GENERATIONS; i++) {
        last = hf_error_create(HF_IO, 0, NULL);
        if (last == NULL || last == first)
            fail_msg("after %zu others the handle is %p again", i, (void *)last);
        hf_error_free(last);
    }
    last = hf_error_create(HF_IO, 0, "the last");
    hf_error_free(first);
    assert_string_equal(hf_error_message(last), "the last");
    hf_error_free(last);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(a_freed_handle_stays_dead_however_many_are_made_after_it),
    };
    return run_scenarios("handle_values", scenarios, COUNT_OF(scenarios));
}
