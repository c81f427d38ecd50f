/* Calls that end because their thread's check says so: while they work, while they wait. */
#include "every_function.h"
#include "interrupts.h"

#include <fcntl.h>

/* --- Long work ---------------------------------------------------------------------------------- */

static void expect_files(const fixture *f, int expected) {
    char command[300];
    snprintf(command, sizeof command, "ls %s | grep -v -e '-wal$' -e '-shm$' -e '-lock$' | wc -l",
             f->directory);
    FILE *pipe = popen(command, "r");
    int files = 0;
    assert_int_equal(fscanf(pipe, "%d", &files), 1);
    pclose(pipe);
    assert_int_equal(files, expected);
}

static void expect_no_index(hf_repository *things) {
    double began = seconds_now();
    while (true) {
        hf_buffer indexes = HF_BUFFER_INIT;
        expect_ok(hf_repository_indexes, things, &indexes);
        bool is_gone = strcmp(indexes.data, "[]") == 0;
        assert_null(strstr(indexes.data, "\"ready\""));
        hf_buffer_free(&indexes);
        if (is_gone)
            break;
        assert_true(seconds_now() - began < 30);
        sleep_milliseconds(1);
    }
}

static void an_index_that_is_not_to_be_built_on_leaves_no_record(room r) {
    fill(r, MANY);
    for (int end_at = 1; end_at < 8; end_at++) {
        check c = {.end_at = end_at};
        hf_interrupt_set_check(is_to_end, &c);
        expect(HF_CANCELLED, hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
        hf_interrupt_set_check(NULL, NULL);
        expect_no_index(r.things);
    }
    create_index(r, "{\"fields\":{\"n\":1}}");
    assert_int_equal(index_entries(r), MANY);
}

typedef struct lock {
    const char *path;
    FILE *shell;
} lock;

static void lock_once(void *of) {
    lock *l = of;
    if (l->shell == NULL)
        l->shell = lock_file(l->path);
}

static void an_index_is_given_up_without_waiting_for_another_program(fixture *f) {
    room r = open_room(f, NULL);
    fill(r, MANY);
    lock l = {.path = f->url};
    check c = {.end_at = 30, .inside = lock_once, .of = &l};
    double began = seconds_now();
    hf_interrupt_set_check(is_to_end, &c);
    expect(HF_CANCELLED, hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    hf_interrupt_set_check(NULL, NULL);
    /* After half a minute no commit waits any longer. */
    assert_true(seconds_now() - began < 20);
    fprintf(l.shell, "ROLLBACK;\n");
    pclose(l.shell);
    expect_no_index(r.things);
    create_index(r, "{\"fields\":{\"n\":1}}");
    assert_int_equal(index_entries(r), MANY);
    close_room(r);
}

static hf_status swallow(const char *bytes, size_t length, void *user_data, hf_error **out_error) {
    (void)bytes, (void)out_error;
    *(size_t *)user_data += length;
    return HF_OK;
}

static int64_t give_lines(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    int *left = user_data;
    size_t length = 0;
    while (*left > 0 && capacity - length > 64)
        length += sprintf(buffer + length, "{\"id\":\"new %d\"}\n", (*left)--);
    return length;
}

static void what_takes_care_of_a_store_ends_and_leaves_nothing_behind(fixture *f) {
    room r = open_room(f, NULL);
    fill(r, MANY);
    create_index(r, "{\"fields\":{\"n\":1}}");
    char saved[200], copy[200], back[200];
    snprintf(saved, sizeof saved, "%s/saved.db", f->directory);
    snprintf(copy, sizeof copy, "%s/copy.db", f->directory);
    snprintf(back, sizeof back, "%s/back.db", f->directory);
    expect_ok(hf_store_backup, r.store, saved, NULL, NULL, NULL);
    for (int end_at = 1; end_at < 4; end_at++) {
        check c = {.end_at = end_at};
        hf_buffer report = HF_BUFFER_INIT;
        size_t written = 0;
        int lines = 2500;
        hf_interrupt_set_check(is_to_end, &c);
        expect(HF_CANCELLED, hf_store_verify, r.store, NULL, NULL, &report);
        expect(HF_CANCELLED, hf_store_backup, r.store, copy, NULL, NULL, NULL);
        expect(HF_CANCELLED, hf_store_export, r.store, NULL, swallow, NULL, &written, NULL);
        expect(HF_CANCELLED, hf_store_import, r.store, "{\"repository\":\"others\",\"existing\":\"replace\"}",
               give_lines, NULL, &lines, NULL);
        expect(HF_CANCELLED, hf_store_restore, saved, back, NULL, NULL, NULL);
        hf_interrupt_set_check(NULL, NULL);
        expect_files(f, 2);
        hf_buffer_free(&report);
    }
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_verify, r.store, NULL, NULL, &report);
    hf_buffer_free(&report);
    expect_ok(hf_store_backup, r.store, copy, NULL, NULL, NULL);
    close_room(r);
}

static void compacting_ends_as_it_was_or_is_done(room r) {
    fill(r, MANY);
    for (int end_at = 1; end_at < 6; end_at++) {
        check c = {.end_at = end_at};
        hf_interrupt_set_check(is_to_end, &c);
        hf_error *error = NULL;
        hf_status status = hf_store_compact(r.store, NULL, &error);
        hf_interrupt_set_check(NULL, NULL);
        assert_true(status == HF_OK || status == HF_CANCELLED);
        hf_error_free(error);
        expect_count(r.things, NULL, "{}", MANY);
        save(r.things, NULL, "{\"id\":\"00001\",\"n\":1}");
    }
    expect_ok(hf_store_compact, r.store, NULL);
}

static void many_at_once_are_stored_all_or_none(room r) {
    enum { LARGE = 400 };
    char *batch = malloc(LARGE * 4200), *end = batch;
    for (int i = 0; i < LARGE; i++)
        end += sprintf(end, "%c{\"id\":\"%d\",\"text\":\"%04000d\"}", i == 0 ? '[' : ',', i, i);
    strcpy(end, "]");
    for (int end_at = 1; end_at < 200; end_at = end_at * 3 / 2 + 1) {
        check c = {.end_at = end_at};
        hf_interrupt_set_check(is_to_end, &c);
        hf_error *error = NULL;
        hf_status status = hf_repository_save_many(r.things, NULL, batch, HF_NTS, NULL, &error);
        hf_interrupt_set_check(NULL, NULL);
        hf_error_free(error);
        if (end_at < 5)
            assert_int_equal(status, HF_CANCELLED);
        assert_true(status == HF_OK || status == HF_CANCELLED);
        expect_count(r.things, NULL, "{}", status == HF_OK ? LARGE : 0);
        uint64_t deleted;
        expect_ok(hf_repository_delete_all, r.things, NULL, NULL, 0, NULL, &deleted);
    }
    free(batch);
}

/* --- Waiting ------------------------------------------------------------------------------------ */

static void a_commit_that_waits_for_another_program_is_withdrawn_and_no_other_is(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"first\"}");
    FILE *shell = lock_file(f->url);
    pthread_t thread = begin_saving_elsewhere(r.things);
    check c = {.end_at = 20};
    hf_interrupt_set_check(is_to_end, &c);
    expect(HF_CANCELLED, hf_repository_save, r.things, NULL, "{\"id\":\"own\"}", HF_NTS, NULL);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"own\"}");
    expect(HF_CANCELLED, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    hf_interrupt_set_check(NULL, NULL);
    fprintf(shell, "ROLLBACK;\n");
    pclose(shell);
    pthread_join(thread, NULL);
    expect_absent(r.things, NULL, "own");
    expect_entity(r.things, NULL, "other", "{\"id\":\"other\"}");
    save(r.things, NULL, "{\"id\":\"own\"}");
    close_room(r);
}

static void a_commit_that_waits_for_another_program_is_stored_where_it_may_go_on(fixture *f) {
    room r = open_room(f, NULL);
    FILE *shell = lock_file(f->url);
    pthread_t thread = begin_saving_elsewhere(r.things);
    sleep_milliseconds(100);
    fprintf(shell, ".shell sleep 0.2\nROLLBACK;\n");
    fflush(shell);
    check c = {0};
    hf_interrupt_set_check(is_to_end, &c);
    save(r.things, NULL, "{\"id\":\"own\"}");
    hf_interrupt_set_check(NULL, NULL);
    assert_true(c.asked > 0);
    pthread_join(thread, NULL);
    pclose(shell);
    expect_count(r.things, NULL, "{}", 2);
    close_room(r);
}

static hf_status start_nothing(hf_future *future, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)future;
    (void)user_data;
    return HF_OK;
}

static void waiting_for_a_future_ends_and_the_future_goes_on(fixture *f) {
    (void)f;
    hf_future *future, *kept;
    expect_ok(hf_future_create, &future);
    check c = {.end_at = 3};
    hf_interrupt_set_check(is_to_end, &c);
    expect(HF_CANCELLED, hf_future_wait, future, NULL, -1, NULL, NULL);
    expect(HF_CANCELLED, hf_await, start_nothing, NULL, NULL, -1, NULL, NULL);
    expect(HF_CANCELLED, hf_await, start_nothing, NULL, NULL, -1, NULL, &kept);
    expect_ok(hf_future_complete, kept, "1", 1);
    expect_ok(hf_future_complete, future, "1", 1);
    expect_ok(hf_future_wait, future, NULL, -1, NULL, NULL);
    expect_ok(hf_future_wait, kept, NULL, -1, NULL, NULL);
    hf_interrupt_set_check(NULL, NULL);
    hf_future_free(kept);
    hf_future_free(future);
}

static void waiting_for_events_for_a_place_and_for_closing_ends(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":1}");
    hf_event event;
    check c = {.end_at = 3};
    hf_interrupt_set_check(is_to_end, &c);
    assert_int_equal(hf_store_events(r.store, &event, 1, -1), 0);
    hf_transaction *transactions[2];
    for (int i = 0; i < 2; i++) {
        transactions[i] = begin(r.store, NULL);
        save(r.things, transactions[i], i == 0 ? "{\"id\":\"a\"}" : "{\"id\":\"b\"}");
    }
    expect_ok(hf_transaction_submit, transactions[0], NULL, NULL, NULL);
    expect(HF_CANCELLED, hf_transaction_submit, transactions[1], NULL, NULL, NULL);
    hf_interrupt_set_check(NULL, NULL);
    while (hf_store_events(r.store, &event, 1, -1) < 1)
        ;
    hf_events_free(&event, 1);
    for (int i = 0; i < 2; i++)
        hf_transaction_free(transactions[i]);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    expect_absent(r.things, NULL, "b");
    close_room(r);
}

static void hold(const hf_event *event, void *user_data) {
    (void)event;
    while (atomic_load((atomic_int *)user_data) == 0)
        sleep_milliseconds(1);
}

static void closing_ends_its_wait_and_can_be_called_again(room r) {
    atomic_int may_go_on = 0;
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_submit, t, hold, &may_go_on, NULL);
    hf_transaction_free(t);
    check c = {.end_at = 3};
    hf_interrupt_set_check(is_to_end, &c);
    expect(HF_CANCELLED, hf_store_close, r.store, -1);
    hf_interrupt_set_check(NULL, NULL);
    atomic_store(&may_go_on, 1);
    expect_ok(hf_store_close, r.store, -1);
}

static void opening_does_not_wait_on_behind_who_is_at_the_door(fixture *f) {
    close_room(open_room(f, NULL));
    char path[200];
    snprintf(path, sizeof path, "%s-lock", f->url);
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock door = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    assert_int_equal(fcntl(descriptor, F_OFD_SETLK, &door), 0);
    check c = {.end_at = 3};
    hf_interrupt_set_check(is_to_end, &c);
    hf_store *store = NULL;
    expect(HF_CANCELLED, hf_store_open, f->url, "{\"lock_timeout_ms\":60000}", &store);
    hf_interrupt_set_check(NULL, NULL);
    close(descriptor);
    close_room(open_room(f, NULL));
}

/* --- All ---------------------------------------------------------------------------------------- */

static hf_status call(const function *one, room r, results *answers) {
    handles h = {.store = r.store, .repository = r.things, .transaction = begin(r.store, NULL)};
    hf_error *error = NULL;
    hf_status status = one->call(h, answers, &error);
    hf_error_free(error);
    hf_transaction_free(h.transaction);
    return status;
}

static void every_call_answers_as_if_nobody_were_asked_or_that_it_was_ended(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"a\"}");
    results answers = {0};
    for (size_t i = 0; i < function_count; i++) {
        bool is_closed = strstr(functions[i].name, "store_close") != NULL;
        uint64_t allowed = functions[i].statuses | STATUS(HF_CANCELLED);
        if (!is_closed)
            allowed |= STATUS(call(&functions[i], r, &answers));
        check c = {.end_at = 1};
        hf_interrupt_set_check(is_to_end, &c);
        hf_status status = call(&functions[i], r, &answers);
        hf_interrupt_set_check(NULL, NULL);
        if ((allowed & STATUS(status)) == 0)
            fail_msg("%s answered %s", functions[i].name, hf_status_name(status));
        if (is_closed) {
            close_room(r);
            r = open_room(f, NULL);
        }
        save(r.things, NULL, "{\"id\":\"a\"}");
    }
    free_results(&answers);
    close_room(r);
}

/* --- Many threads ------------------------------------------------------------------------------- */

typedef struct worker {
    hf_repository *things;
    int number;
    int stored;
} worker;

static void *save_and_count(void *user_data) {
    worker *w = user_data;
    check c = {0};
    if (w->number % 2 == 0)
        hf_interrupt_set_check(is_to_end, &c);
    for (int i = 0; i < 300; i++) {
        c.end_at = c.asked + i % 5;
        char text[64];
        snprintf(text, sizeof text, "{\"id\":\"%d of %d\"}", i, w->number);
        hf_status status = hf_repository_save(w->things, NULL, text, HF_NTS, NULL, NULL);
        assert_true(status == HF_OK || (w->number % 2 == 0 && status == HF_CANCELLED));
        w->stored += status == HF_OK;
    }
    return NULL;
}

static void of_many_threads_each_ends_its_own_commits_alone(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    worker workers[6];
    pthread_t threads[COUNT_OF(workers)];
    for (size_t i = 0; i < COUNT_OF(workers); i++) {
        workers[i] = (worker){.things = r.things, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, save_and_count, &workers[i]), 0);
    }
    int stored = 0;
    for (size_t i = 0; i < COUNT_OF(workers); i++) {
        pthread_join(threads[i], NULL);
        stored += workers[i].stored;
    }
    expect_count(r.things, NULL, "{}", stored);
    close_room(r);
}

/* The last step of an index is done to the end without a question. */
static void create_an_index_and_read(void *of) {
    room *r = of;
    room other = {.store = open_store_at("memory:", NULL)};
    other.things = open_repository(other.store, "things");
    create_index(other, "{\"fields\":{\"n\":1}}");
    close_room(other);
    expect_count(r->things, NULL, "{\"n\":{\"$gt\":0}}", MANY);
}

static void what_the_function_that_is_asked_calls_asks_nobody_whatever_that_does(room r) {
    fill(r, MANY);
    check c = {.inside = create_an_index_and_read, .of = &r};
    hf_interrupt_set_check(is_to_end, &c);
    expect_count(r.things, NULL, "{\"n\":{\"$gt\":0}}", MANY);
    hf_interrupt_set_check(NULL, NULL);
    assert_true(c.asked > 0);
}

int main(void) {
    ask_all_the_time();
    static const scenario scenarios[] = {
        EACH_ENGINE(an_index_that_is_not_to_be_built_on_leaves_no_record),
        SQLITE_ONLY(an_index_is_given_up_without_waiting_for_another_program),
        SQLITE_ONLY(what_takes_care_of_a_store_ends_and_leaves_nothing_behind),
        SQLITE_ONLY(compacting_ends_as_it_was_or_is_done),
        EACH_ENGINE(many_at_once_are_stored_all_or_none),
        SQLITE_ONLY(a_commit_that_waits_for_another_program_is_withdrawn_and_no_other_is),
        SQLITE_ONLY(a_commit_that_waits_for_another_program_is_stored_where_it_may_go_on),
        ONCE(waiting_for_a_future_ends_and_the_future_goes_on),
        EACH_ENGINE(waiting_for_events_for_a_place_and_for_closing_ends),
        EACH_ENGINE(closing_ends_its_wait_and_can_be_called_again),
        SQLITE_ONLY(opening_does_not_wait_on_behind_who_is_at_the_door),
        EACH_ENGINE(every_call_answers_as_if_nobody_were_asked_or_that_it_was_ended),
        EACH_ENGINE(what_the_function_that_is_asked_calls_asks_nobody_whatever_that_does),
        EACH_ENGINE(of_many_threads_each_ends_its_own_commits_alone),
    };
    return run_scenarios("interrupts", scenarios, COUNT_OF(scenarios));
}
