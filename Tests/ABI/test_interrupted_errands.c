/* Calls whose work another thread of the library's does, while the one that makes them is asked. The program
 * has an fdatasync and an fsync of its own in front of the system's, to hold them up. */
#include "interrupts.h"

#include <dlfcn.h>

static atomic_bool syncs_are_held;

static int sync_file(const char *name, int descriptor) {
    int (*sync)(int);
    *(void **)&sync = dlsym(RTLD_NEXT, name);
    while (atomic_load(&syncs_are_held))
        sleep_milliseconds(1);
    return sync(descriptor);
}

int fdatasync(int descriptor) { return sync_file("fdatasync", descriptor); }
int fsync(int descriptor) { return sync_file("fsync", descriptor); }

/* --- Waiting for another program's lock ------------------------------------------------------------- */

/* Until then what the call has left behind is gone; SQLite itself would wait for a minute. */
enum { LONG_ENOUGH = 20 };

static hf_status open_interrupted(const fixture *f, const char *options) {
    check c = {.end_at = 3};
    hf_interrupt_set_check(is_to_end, &c);
    hf_store *store = NULL;
    hf_status status = hf_store_open(f->url, options, &store, NULL);
    hf_interrupt_set_check(NULL, NULL);
    assert_null(store);
    return status;
}

/* Whoever waits for another program's lock has the file open, and in this process a file is open once. */
static void expect_opening_to_end(const fixture *f, const char *options) {
    double began = seconds_now();
    hf_status status;
    while ((status = open_interrupted(f, options)) == HF_BUSY && seconds_now() - began < LONG_ENOUGH)
        sleep_milliseconds(10);
    assert_int_equal(status, HF_CANCELLED);
}

static void opening_ends_behind_another_programs_lock(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"a\"}");
    close_room(r);
    FILE *shell = lock_file(f->url);
    expect_opening_to_end(f, NULL);
    expect_opening_to_end(f, NULL);
    fprintf(shell, "ROLLBACK;\n");
    pclose(shell);
    double began = seconds_now();
    hf_store *store = NULL;
    hf_status status;
    while ((status = hf_store_open(f->url, NULL, &store, NULL)) == HF_BUSY &&
           seconds_now() - began < LONG_ENOUGH)
        sleep_milliseconds(10);
    assert_int_equal(status, HF_OK);
    hf_repository *things = open_repository(store, "things");
    expect_entity(things, NULL, "a", "{\"id\":\"a\"}");
    save(things, NULL, "{\"id\":\"b\"}");
    close_room((room){.store = store, .things = things});
}

/* The same for reading, too. */
static FILE *shut_file(const char *path) { return lock_file_after(path, "PRAGMA locking_mode=EXCLUSIVE"); }

static void opening_ends_behind_a_program_that_lets_nobody_read(fixture *f) {
    close_room(open_room(f, NULL));
    FILE *shell = shut_file(f->url);
    expect_opening_to_end(f, NULL);
    expect_opening_to_end(f, "{\"read_only\":true}");
    pclose(shell);
}

static void wait_a_moment(void *of) {
    (void)of;
    sleep_milliseconds(100);
}

static void compacting_ends_behind_another_programs_lock(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"a\"}");
    FILE *shell = lock_file(f->url);
    check c = {.end_at = 3, .inside = wait_a_moment};
    hf_interrupt_set_check(is_to_end, &c);
    expect(HF_CANCELLED, hf_store_compact, r.store, NULL);
    hf_interrupt_set_check(NULL, NULL);
    /* Nobody else syncs while a store is compacted. */
    double began = seconds_now();
    expect_ok(hf_store_sync, r.store);
    assert_true(seconds_now() - began < LONG_ENOUGH);
    fprintf(shell, "ROLLBACK;\n");
    pclose(shell);
    save(r.things, NULL, "{\"id\":\"b\"}");
    expect_ok(hf_store_compact, r.store, NULL);
    expect_count(r.things, NULL, "{}", 2);
    close_room(r);
}

static void *compact(void *store) {
    hf_error *error = NULL;
    hf_status status = hf_store_compact(store, NULL, &error);
    hf_error_free(error);
    return (void *)(intptr_t)status;
}

static void a_compaction_that_is_cancelled_in_line_ends_no_other(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"a\"}");
    FILE *shell = lock_file(f->url);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, compact, r.store), 0);
    /* By then it waits for the lock. */
    wait_a_moment(NULL);
    check c = {.end_at = 3, .inside = wait_a_moment};
    hf_interrupt_set_check(is_to_end, &c);
    expect(HF_CANCELLED, hf_store_compact, r.store, NULL);
    hf_interrupt_set_check(NULL, NULL);
    fprintf(shell, "ROLLBACK;\n");
    pclose(shell);
    void *status = NULL;
    pthread_join(thread, &status);
    assert_int_equal((intptr_t)status, HF_OK);
    close_room(r);
}

/* --- Syncing ------------------------------------------------------------------------------------ */

static void expect_sync_to_end(hf_store *store) {
    check c = {.end_at = 3};
    hf_interrupt_set_check(is_to_end, &c);
    expect(HF_CANCELLED, hf_store_sync, store);
    hf_interrupt_set_check(NULL, NULL);
}

static void a_sync_that_takes_long_ends_and_the_next_is_done(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    save(r.things, NULL, "{\"id\":\"a\"}");
    atomic_store(&syncs_are_held, true);
    expect_sync_to_end(r.store);
    expect_sync_to_end(r.store);
    atomic_store(&syncs_are_held, false);
    check c = {0};
    hf_interrupt_set_check(is_to_end, &c);
    expect_ok(hf_store_sync, r.store);
    hf_interrupt_set_check(NULL, NULL);
    save(r.things, NULL, "{\"id\":\"b\"}");
    close_room(r);
}

static void a_sync_behind_a_commit_that_waits_ends(fixture *f) {
    room r = open_room(f, NULL);
    FILE *shell = lock_file(f->url);
    pthread_t thread = begin_saving_elsewhere(r.things);
    /* It leads, and waits for the lock. */
    sleep_milliseconds(200);
    expect_sync_to_end(r.store);
    fprintf(shell, "ROLLBACK;\n");
    pclose(shell);
    pthread_join(thread, NULL);
    expect_entity(r.things, NULL, "other", "{\"id\":\"other\"}");
    expect_ok(hf_store_sync, r.store);
    close_room(r);
}

static void *sync_asked(void *store) {
    check c = {0};
    hf_interrupt_set_check(is_to_end, &c);
    hf_error *error = NULL;
    hf_status status = hf_store_sync(store, &error);
    hf_error_free(error);
    assert_true(status == HF_OK || status == HF_CLOSED);
    return NULL;
}

static void a_store_closes_while_threads_wait_for_a_sync(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    save(r.things, NULL, "{\"id\":\"a\"}");
    atomic_store(&syncs_are_held, true);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sync_asked, r.store), 0);
    sleep_milliseconds(20);
    expect_answer(HF_TIMEOUT, hf_store_close, r.store, 50);
    atomic_store(&syncs_are_held, false);
    expect_ok(hf_store_close, r.store, -1);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    close_room(r);
}

/* --- Writing in a transaction ------------------------------------------------------------------- */

static bool is_asked_while_many_are_deleted(room r, const char *ids) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"before\"}");
    bool is_asked = false;
    hf_status status = HF_CANCELLED;
    for (int end_at = 1; end_at < 4 && status != HF_OK; end_at++) {
        check c = {.end_at = end_at};
        hf_interrupt_set_check(is_to_end, &c);
        status = hf_repository_delete_many(r.things, t, ids, HF_NTS, NULL);
        hf_interrupt_set_check(NULL, NULL);
        is_asked = is_asked || c.asked >= 1;
        /* Where it was done as the answer came, it counts. */
        expect_count(r.things, t, "{}", status == HF_OK ? 1 : MANY + 1);
        if (status != HF_OK)
            assert_int_equal(status, HF_CANCELLED);
    }
    hf_transaction_rollback(t, NULL);
    hf_transaction_free(t);
    return is_asked;
}

static void many_are_written_in_a_transaction_all_or_none(room r) {
    fill(r, MANY);
    char *ids = malloc(MANY * 9 + 2), *end = ids;
    for (int i = 0; i < MANY; i++)
        end += sprintf(end, "%c\"%05d\"", i == 0 ? '[' : ',', i);
    strcpy(end, "]");
    /* Whoever does it may have done it before anybody is asked. */
    int tries = 0;
    while (!is_asked_while_many_are_deleted(r, ids))
        assert_true(++tries < 1000);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"before\"}");
    check c = {0};
    hf_interrupt_set_check(is_to_end, &c);
    save(r.things, t, "{\"id\":\"after\"}");
    expect_ok(hf_repository_delete_all, r.things, t, "{\"n\":{\"$gt\":0}}", HF_NTS, NULL, &(uint64_t){0});
    hf_interrupt_set_check(NULL, NULL);
    commit_quietly(t);
    expect_count(r.things, NULL, "{}", 2);
    free(ids);
}

/* Long after the work was done. */
static void answer_late(void *of) {
    check *c = of;
    if (c->asked == c->end_at)
        wait_a_moment(NULL);
}

static void what_was_done_while_the_caller_was_asked_counts(room r) {
    char *batch = malloc(MANY * 16 + 2), *end = batch;
    for (int i = 0; i < MANY; i++)
        end += sprintf(end, "%c{\"id\":\"%05d\"}", i == 0 ? '[' : ',', i);
    strcpy(end, "]");
    hf_status status = HF_CANCELLED;
    for (int end_at = 1; status == HF_CANCELLED; end_at++) {
        check c = {.end_at = end_at, .inside = answer_late};
        c.of = &c;
        hf_transaction *t = begin(r.store, NULL);
        hf_interrupt_set_check(is_to_end, &c);
        status = hf_repository_save_many(r.things, t, batch, HF_NTS, NULL, NULL);
        hf_interrupt_set_check(NULL, NULL);
        expect_count(r.things, t, "{}", status == HF_OK ? MANY : 0);
        hf_transaction_rollback(t, NULL);
        hf_transaction_free(t);
    }
    assert_int_equal(status, HF_OK);
    free(batch);
}

int main(void) {
    /* Asked as soon as may be, SQLite patient, so that nothing but the interrupt ends a wait, and everything
     * large. */
    setenv("HOLDFAST_LIMITS", "interruptInterval=1,busyTimeout=60000000000,largeCommitBytes=1", 1);
    static const scenario scenarios[] = {
        SQLITE_ONLY(opening_ends_behind_another_programs_lock),
        SQLITE_ONLY(opening_ends_behind_a_program_that_lets_nobody_read),
        SQLITE_ONLY(compacting_ends_behind_another_programs_lock),
        SQLITE_ONLY(a_compaction_that_is_cancelled_in_line_ends_no_other),
        SQLITE_ONLY(a_sync_that_takes_long_ends_and_the_next_is_done),
        SQLITE_ONLY(a_sync_behind_a_commit_that_waits_ends),
        SQLITE_ONLY(a_store_closes_while_threads_wait_for_a_sync),
        EACH_ENGINE(many_are_written_in_a_transaction_all_or_none),
        EACH_ENGINE(what_was_done_while_the_caller_was_asked_counts),
    };
    return run_scenarios("interrupted_errands", scenarios, COUNT_OF(scenarios));
}
