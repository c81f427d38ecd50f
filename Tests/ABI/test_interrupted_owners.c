/* Who leads while the owner of a commit is asked whether its call is to end. */
#include "interrupts.h"

#include <fcntl.h>

typedef struct waiting {
    room r;
    FILE *shell;
    bool is_done, was_stored;
} waiting;

static void note(const hf_event *event, void *user_data) {
    assert_int_equal(event->status, HF_OK);
    __atomic_store_n((bool *)user_data, true, __ATOMIC_RELEASE);
}

/* Lets go of the lock that the thread's own commit waits for, behind another thread's, and waits for what it
 * submits. */
static void wait_for_another_commit(void *of) {
    waiting *w = of;
    if (w->is_done)
        return;
    w->is_done = true;
    hf_transaction *t = begin(w->r.store, NULL);
    save(w->r.things, t, "{\"id\":\"submitted\"}");
    bool is_stored = false;
    expect_ok(hf_transaction_submit, t, note, &is_stored, NULL);
    fprintf(w->shell, "ROLLBACK;\n");
    fflush(w->shell);
    for (int wait = 0; wait < 12000 && !__atomic_load_n(&is_stored, __ATOMIC_ACQUIRE); wait++)
        sleep_milliseconds(10);
    w->was_stored = __atomic_load_n(&is_stored, __ATOMIC_ACQUIRE);
    hf_transaction_free(t);
}

static void others_lead_while_an_owner_is_asked(fixture *f) {
    room r = open_room(f, NULL);
    waiting w = {.r = r, .shell = lock_file(f->url)};
    pthread_t thread = begin_saving_elsewhere(r.things);
    /* It leads, and waits for the lock. */
    sleep_milliseconds(200);
    check c = {.inside = wait_for_another_commit, .of = &w};
    hf_interrupt_set_check(is_to_end, &c);
    save(r.things, NULL, "{\"id\":\"own\"}");
    hf_interrupt_set_check(NULL, NULL);
    assert_true(w.is_done);
    assert_true(w.was_stored);
    pthread_join(thread, NULL);
    pclose(w.shell);
    expect_count(r.things, NULL, "{}", 3);
    close_room(r);
}

int main(void) {
    /* Asked as soon as may be, and each commit by itself. */
    setenv("HOLDFAST_LIMITS", "interruptInterval=1000000,batchCommits=1", 1);
    static const scenario scenarios[] = {
        SQLITE_ONLY(others_lead_while_an_owner_is_asked),
    };
    return run_scenarios("interrupted_owners", scenarios, COUNT_OF(scenarios));
}
