/* What another thread of the library's still does for a call that has ended without it comes to nothing. */
#include "interrupts.h"

static void wait_a_moment(void *of) {
    (void)of;
    sleep_milliseconds(1);
}

/* {"id":"large","n":0,"text":"xxx…"} */
static void save_large(room r) {
    enum { LENGTH = 8 << 20 };
    char *text = malloc(LENGTH + 64), *end = text + sprintf(text, "{\"id\":\"large\",\"n\":0,\"text\":\"");
    memset(end, 'x', LENGTH);
    strcpy(end + LENGTH, "\"}");
    save(r.things, NULL, text);
    free(text);
}

/* The check ends the call at the first question, the second, and so on, until the patch is done before that.
 * Many end it while the patch is worked out, which takes milliseconds; nobody waits for that then. */
static void a_write_that_ends_after_its_call_was_cancelled_is_taken_back(room r) {
    save_large(r);
    hf_status status = HF_CANCELLED;
    for (int end_at = 1; status == HF_CANCELLED; end_at++) {
        check c = {.end_at = end_at, .inside = wait_a_moment};
        hf_transaction *t = begin(r.store, NULL);
        save(r.things, t, "{\"id\":\"small\"}");
        hf_interrupt_set_check(is_to_end, &c);
        status = hf_repository_patch_many(r.things, t, "[{\"id\":\"large\",\"n\":1}]", HF_NTS, NULL, NULL);
        hf_interrupt_set_check(NULL, NULL);
        assert_true(status == HF_OK || status == HF_CANCELLED);
        /* Which waits until nobody writes there any more. */
        assert_int_equal(integer_in(r.things, t, "large", "n"), status == HF_OK);
        expect_count(r.things, t, "{}", 2);
        expect_ok(hf_transaction_rollback, t);
        hf_transaction_free(t);
    }
    assert_int_equal(status, HF_OK);
}

int main(void) {
    /* Asked as soon as may be, and not waiting for anything after that. */
    setenv("HOLDFAST_LIMITS", "interruptInterval=1,interruptGrace=1,largeCommitBytes=1", 1);
    static const scenario scenarios[] = {
        EACH_ENGINE(a_write_that_ends_after_its_call_was_cancelled_is_taken_back),
    };
    return run_scenarios("late_work", scenarios, COUNT_OF(scenarios));
}
