/* Forks: to a child, what it inherited is the parent's; whatever the child does, the parent notices nothing.
 */
#include "actions.h"
#include "handles.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

/* In a child, checks only count: cmocka's would go on with the parent's tests. */
static atomic_int wrong;

static void check(bool is_right, const char *sentence) {
    if (!is_right) {
        fprintf(stderr, "WRONG in a child: %s\n", sentence);
        atomic_fetch_add(&wrong, 1);
    }
}

enum { CHILD = 0, SECONDS_FOR_A_CHILD = 120 };

/* fork, for code of the form `if (fork_child(&child) == CHILD) { …; end_child(); }` and then expect_good_end.
 */
static pid_t fork_child(pid_t *child) {
    *child = fork();
    if (*child == CHILD) {
        atomic_store(&wrong, 0);
        signal(SIGALRM, SIG_DFL);
        alarm(SECONDS_FOR_A_CHILD);
    }
    return *child;
}

static void end_child(void) { _exit(atomic_load(&wrong) != 0); }

static void expect_good_end(pid_t child) {
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        fail_msg("the child ended by %s", strsignal(WTERMSIG(status)));
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void expect_saved(const fixture *f, const char *id, bool is_saved) {
    if (f->engine[0] == 'm') {
        return;
    }
    hf_store *store = open_store(f, NULL);
    hf_repository *things = open_repository(store, "things");
    bool contains = !is_saved;
    expect_ok(hf_repository_contains, things, NULL, id, HF_NTS, &contains);
    assert_int_equal(contains, is_saved);
    hf_repository_free(things);
    hf_store_free(store);
}

/* --- What is inherited --------------------------------------------------------------------------- */

static void check_all_forked(handles h) {
    results r = {0};
    for (size_t i = 0; i < function_count; i++) {
        if (h.transaction == NULL && functions[i].roles == TRANSACTION) {
            continue;
        }
        hf_error *error = NULL;
        check(functions[i].call(h, &r, &error) == HF_FORKED, functions[i].name);
        check(error == NULL || hf_error_status(error) == HF_FORKED, "the error says so, too");
        hf_error_free(error);
    }
    free_results(&r);
}

static void every_handle_of_the_parent_is_forked_in_a_child(fixture *f) {
    static const char *const deliveries[] = {"{\"delivery\":\"callback\"}", "{\"delivery\":\"queue\"}"};
    for (size_t i = 0; i < COUNT_OF(deliveries); i++) {
        handles inherited = open_handles(f, deliveries[i]);
        save(inherited.repository, inherited.transaction, "{\"id\":\"ours\"}");
        pid_t child;
        if (fork_child(&child) == CHILD) {
            check_all_forked(inherited);
            /* The repository alone, without a transaction. */
            check_all_forked((handles){inherited.store, inherited.repository, NULL});
            free_handles(inherited);
            check_all_forked(inherited);
            end_child();
        }
        expect_good_end(child);
        expect_ok(hf_transaction_commit, inherited.transaction, NULL);
        expect_entity(inherited.repository, NULL, "ours", "{\"id\":\"ours\"}");
        free_handles(inherited);
    }
}

static void an_error_of_the_parent_is_forked_in_a_child(fixture *f) {
    handles h = open_handles(f, NULL);
    hf_error *error = error_of(HF_INVALID_JSON, hf_repository_save, h.repository, NULL, "{", 1, NULL);
    pid_t child;
    if (fork_child(&child) == CHILD) {
        size_t length = 0;
        check(hf_error_status(error) == HF_FORKED, "its status");
        check(strstr(hf_error_message(error), "fork") != NULL, "its message says why");
        check(!hf_error_is_retryable(error), "it is not retryable");
        check(hf_error_commit_state(error) == HF_COMMIT_NONE, "it has no commit");
        check(strcmp(hf_error_detail(error, &length), "{}") == 0 && length == 2, "it has no detail");
        check(hf_error_cause(error) == NULL, "it has no cause");
        hf_error_free(error);
        end_child();
    }
    expect_good_end(child);
    assert_int_equal(hf_error_status(error), HF_INVALID_JSON);
    hf_error_free(error);
    free_handles(h);
}

static void a_stream_and_a_controller_of_the_parent_are_forked_in_a_child(fixture *f) {
    handles h = open_handles(f, NULL);
    hf_stream *stream = NULL;
    expect_ok(hf_stream_open, h.store, NULL, NULL, NULL, NULL, &stream);
    diary *d = keep_diary(h.repository);
    hf_controller *controller = d->controller;
    dispatch(d, "{\"action\":\"request\",\"token\":\"t\"}");
    pid_t child;
    hf_buffer state = HF_BUFFER_INIT;
    const char *action = "{\"action\":\"cancelRequest\",\"token\":\"t\"}";
    if (fork_child(&child) == CHILD) {
        check(hf_stream_acknowledge(stream, "position", NULL) == HF_FORKED, "hf_stream_acknowledge");
        check(hf_controller_dispatch(controller, action, HF_NTS, NULL) == HF_FORKED, "dispatching");
        check(hf_controller_state(controller, &state, NULL) == HF_FORKED, "the state");
        check(hf_reduce(action, HF_NTS, NULL, 0, &state, NULL) == HF_OK, "the reducer knows no store");
        hf_controller_free(controller);
        hf_stream_free(stream);
        end_child();
    }
    expect_good_end(child);
    expect_ok(hf_controller_dispatch, controller, action, HF_NTS);
    expect_ok(hf_controller_state, controller, &state);
    assert_non_null(strstr(state.data, "\"state\":\"canceled\""));
    hf_buffer_free(&state);
    close_diary(d);
    hf_stream_free(stream);
    free_handles(h);
}

static void what_was_answered_before_the_fork_is_the_child_s_own_memory(fixture *f) {
    hf_store *store = open_store(f, "{\"delivery\":\"queue\"}");
    hf_repository *things = open_repository(store, "things");
    save(things, NULL, "{\"id\":\"a\"}");
    results r = {0};
    expect_ok(hf_repository_fetch, things, NULL, "a", 1, &r.entity);
    expect_ok(hf_repository_fetch_all, things, NULL, &r.list);
    expect_ok(hf_store_describe, store, &r.buffer);
    recorder *tickets = new_recorder(1);
    hf_transaction *t = begin(store, NULL);
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(tickets, 0), free_ticket);
    hf_transaction_free(t);
    hf_event event;
    assert_int_equal(hf_store_events(store, &event, 1, -1), 1);
    pid_t child;
    if (fork_child(&child) == CHILD) {
        check(strcmp(r.entity.data, "{\"id\":\"a\"}") == 0, "an entity can be read");
        check(r.list.count == 1 && strcmp(r.list.json, "[{\"id\":\"a\"}]") == 0, "a list as well");
        check(event.status == HF_OK && strstr(event.receipt.data, "durable") != NULL, "an event as well");
        hf_events_free(&event, 1);
        check(tickets->freed == 1, "the event's user_data is freed");
        free_results(&r);
        end_child();
    }
    expect_good_end(child);
    assert_int_equal(tickets->freed, 0);
    hf_events_free(&event, 1);
    assert_int_equal(tickets->freed, 1);
    free_recorder(tickets);
    free_results(&r);
    hf_repository_free(things), hf_store_free(store);
}

static void fail_at_log(hf_log_level level, const char *message, const char *fields, void *user_data) {
    (void)level, (void)fields, (void)user_data;
    check(false, message);
}

static void a_child_begins_without_handles_and_without_a_log_receiver(fixture *f) {
    handles h = open_handles(f, NULL);
    size_t transactions = hf_handle_count("transaction");
    expect_ok(hf_log_set_callback, fail_at_log, NULL, NULL);
    pid_t child;
    if (fork_child(&child) == CHILD) {
        check(hf_handle_count(NULL) == 0, "no handle lives here");
        hf_store *own = NULL;
        check(hf_store_open("memory:", NULL, &own, NULL) == HF_OK, "a store is opened");
        check(hf_handle_count("store") == 1 && hf_handle_count(NULL) == 1, "its handle is counted");
        hf_store_free(own);
        check(hf_handle_count(NULL) == 0, "and forgotten");
        end_child();
    }
    expect_good_end(child);
    expect_ok(hf_log_set_callback, NULL, NULL, NULL);
    assert_int_equal(hf_handle_count("transaction"), transactions);
    free_handles(h);
}

/* --- What a child may do ------------------------------------------------------------------------- */

static void work_with_own_store(const char *url) {
    hf_store *own = NULL;
    hf_repository *things = NULL;
    hf_transaction *t = NULL;
    recorder *r = new_recorder(1);
    check(hf_store_open(url, NULL, &own, NULL) == HF_OK, "a store of its own is opened");
    check(hf_repository_open(own, "things", NULL, &things, NULL) == HF_OK, "with a repository");
    check(hf_repository_save(things, NULL, "{\"id\":\"a\"}", HF_NTS, NULL, NULL) == HF_OK, "it is written");
    check(hf_transaction_begin(own, NULL, &t, NULL) == HF_OK, "a transaction begins");
    check(hf_repository_save(things, t, "{\"id\":\"b\"}", HF_NTS, NULL, NULL) == HF_OK, "it saves");
    check(hf_transaction_submit(t, record_event, new_ticket(r, 0), free_ticket, NULL) == HF_OK,
          "and submits");
    wait_for_freed(r, 1);
    check(r->count == 1 && r->outcomes[0].status == HF_OK, "its callback hears of success");
    hf_transaction_free(t);
    hf_repository_free(things);
    check(hf_store_close(own, -1, NULL) == HF_OK, "it is closed");
    hf_store_free(own);
    free_recorder(r);
}

static void a_child_and_its_child_may_open_stores_of_their_own(fixture *f) {
    handles inherited = open_handles(f, NULL);
    pid_t child;
    if (fork_child(&child) == CHILD) {
        char url[160];
        snprintf(url, sizeof url, "%s/child.db", f->directory);
        work_with_own_store(url);
        work_with_own_store("memory:");
        handles own = {NULL, NULL, NULL};
        check(hf_store_open(url, NULL, &own.store, NULL) == HF_OK, "its own store again");
        check(hf_repository_open(own.store, "things", NULL, &own.repository, NULL) == HF_OK,
              "and repository");
        check(hf_transaction_begin(own.store, NULL, &own.transaction, NULL) == HF_OK, "and transaction");
        pid_t grandchild;
        if (fork_child(&grandchild) == CHILD) {
            check_all_forked(inherited);
            check_all_forked(own);
            hf_store *none = NULL;
            check(hf_store_open(url, NULL, &none, NULL) == HF_FORKED, "the child's file is refused");
            snprintf(url, sizeof url, "%s/grandchild.db", f->directory);
            work_with_own_store(url);
            end_child();
        }
        int status = 0;
        waitpid(grandchild, &status, 0);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the grandchild ended well");
        free_handles(own);
        end_child();
    }
    expect_good_end(child);
    free_handles(inherited);
}

static void a_file_that_was_open_at_the_fork_cannot_be_opened_in_the_child(fixture *f) {
    handles inherited = open_handles(f, NULL);
    pid_t child;
    if (fork_child(&child) == CHILD) {
        for (int i = 0; i < 2; i++) {
            hf_store *again = NULL;
            hf_error *error = NULL;
            check(hf_store_open(f->url, NULL, &again, &error) == HF_FORKED && again == NULL, "it is refused");
            check(hf_error_status(error) == HF_FORKED && strstr(hf_error_message(error), f->url) != NULL,
                  "the message names the file");
            hf_error_free(error);
            check(hf_store_open(f->url, "{\"read_only\":true}", &again, NULL) == HF_FORKED, "reading, too");
            free_handles(inherited);
        }
        end_child();
    }
    expect_good_end(child);
    free_handles(inherited);
}

static void a_child_that_was_forked_after_the_close_may_open_the_file(fixture *f) {
    handles h = open_handles(f, NULL);
    free_handles(h);
    pid_t child;
    if (fork_child(&child) == CHILD) {
        work_with_own_store(f->url);
        end_child();
    }
    expect_good_end(child);
    expect_saved(f, "b", true);
}

static void a_child_that_exits_leaves_the_parent_s_store_alone(fixture *f) {
    handles h = open_handles(f, NULL);
    save(h.repository, NULL, "{\"id\":\"before\"}");
    for (int i = 0; i < 3; i++) {
        pid_t child;
        if (fork_child(&child) == CHILD) {
            free_handles(h);
            work_with_own_store("memory:");
            exit(atomic_load(&wrong) != 0); /* with exit hooks */
        }
        expect_good_end(child);
        save(h.repository, NULL, "{\"id\":\"after\"}");
        expect_entity(h.repository, NULL, "before", "{\"id\":\"before\"}");
    }
    free_handles(h);
    expect_saved(f, "before", true);
    expect_saved(f, "after", true);
}

/* --- Forks on a stack of ours ---------------------------------------------------------------------- */

static pid_t forked_in_body;

static hf_status save_and_fork(hf_transaction *transaction, void *things, hf_error **out_error) {
    (void)out_error;
    hf_status status = hf_repository_save(things, transaction, "{\"id\":\"once\"}", HF_NTS, NULL, NULL);
    if (fork_child(&forked_in_body) == CHILD) {
        check(hf_repository_save(things, transaction, "{\"id\":\"twice\"}", HF_NTS, NULL, NULL) == HF_FORKED,
              "the body's transaction is the parent's");
    }
    return status;
}

static hf_status conflict_and_fork(hf_transaction *transaction, void *unused, hf_error **out_error) {
    (void)out_error;
    (void)transaction, (void)unused;
    fork_child(&forked_in_body);
    return forked_in_body == CHILD ? HF_CONFLICT : HF_OK;
}

static void a_body_that_forks_commits_in_the_parent_alone(fixture *f) {
    handles h = open_handles(f, NULL);
    hf_error *error = NULL;
    hf_status status = hf_store_transact(h.store, save_and_fork, h.repository, NULL, NULL, &error);
    if (forked_in_body == CHILD) {
        check(status == HF_FORKED && hf_error_status(error) == HF_FORKED, "the child's call answers so");
        end_child();
    }
    assert_int_equal(status, HF_OK);
    expect_good_end(forked_in_body);
    status = hf_store_transact(h.store, conflict_and_fork, NULL, NULL, NULL, NULL);
    if (forked_in_body == CHILD) {
        check(status == HF_FORKED, "the child does not run the body again");
        end_child();
    }
    assert_int_equal(status, HF_OK);
    expect_good_end(forked_in_body);
    expect_entity(h.repository, NULL, "once", "{\"id\":\"once\"}");
    expect_absent(h.repository, NULL, "twice");
    free_handles(h);
}

static pid_t forked_in_callback;

static void fork_in_callback(const hf_event *event, void *ticket) {
    if (fork_child(&forked_in_callback) == CHILD) {
        atexit(abort); /* what the library does not run */
    } else {
        record_event(event, ticket);
    }
}

static void a_child_that_returns_from_a_callback_ends_there(fixture *f) {
    handles h = open_handles(f, NULL);
    recorder *r = new_recorder(2);
    save(h.repository, h.transaction, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_submit, h.transaction, fork_in_callback, new_ticket(r, 0), free_ticket);
    wait_for_freed(r, 1);
    expect_good_end(forked_in_callback);
    hf_transaction *t = begin(h.store, NULL);
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(r, 1), free_ticket);
    hf_transaction_free(t);
    wait_for_freed(r, 2);
    assert_int_equal(r->count, 2);
    free_recorder(r);
    free_handles(h);
}

static _Thread_local bool is_host_thread;
static pid_t forked_in_log[64];
static atomic_int log_forks;

static void fork_in_log(hf_log_level level, const char *message, const char *fields, void *is_child) {
    (void)level, (void)message, (void)fields;
    int i = atomic_fetch_add(&log_forks, 1);
    if (i < (int)COUNT_OF(forked_in_log) && fork_child(&forked_in_log[i]) == CHILD) {
        *(bool *)is_child = true;
    }
}

/* Ends a child that a log receiver forked and that has come back to the host's code with this status. */
static void end_log_child(const bool *is_child, hf_status status) {
    if (*is_child) {
        check(is_host_thread && status == HF_FORKED, "a call of the child answers HF_FORKED");
        end_child();
    }
}

static void a_log_receiver_may_fork(fixture *f) {
    bool is_child = false;
    is_host_thread = true;
    atomic_store(&log_forks, 0);
    expect_ok(hf_log_set_callback, fork_in_log, &is_child, NULL);
    hf_store *store = NULL;
    end_log_child(&is_child, hf_store_open(f->url, "{\"slow_commit_ms\":1}", &store, NULL));
    assert_true(atomic_load(&log_forks) > 0); /* "store opened" */
    hf_repository *things = NULL;
    end_log_child(&is_child, hf_repository_open(store, "things", NULL, &things, NULL));
    for (int i = 0; i < 5; i++) {
        hf_status status = hf_repository_save(things, NULL, "{\"id\":\"a\"}", HF_NTS, NULL, NULL);
        end_log_child(&is_child, status); /* that it was slow, perhaps */
    }
    hf_repository_free(things);
    expect_ok(hf_store_close, store, -1); /* "store closed", on a thread of the library's */
    hf_store_free(store);
    expect_ok(hf_log_set_callback, NULL, NULL, NULL);
    int forks = atomic_load(&log_forks);
    assert_true(forks >= 2 && forks <= (int)COUNT_OF(forked_in_log));
    for (int i = 0; i < forks; i++) {
        expect_good_end(forked_in_log[i]);
    }
    expect_saved(f, "a", true);
}

/* --- Descriptors --------------------------------------------------------------------------------- */

/* How many descriptors are open; which is what this program answers when it is called to list them. */
static int count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static int count_descriptors_after_exec(pid_t child) {
    if (child == CHILD) {
        execl(program_invocation_name, program_invocation_name, "count-descriptors", NULL);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) > 0);
    return WEXITSTATUS(status);
}

static void a_program_that_is_executed_inherits_no_descriptor(fixture *f) {
    int before = count_descriptors_after_exec(fork());
    handles h = open_handles(f, "{\"delivery\":\"queue\"}");
    save(h.repository, NULL, "{\"id\":\"a\"}");
    expect_count(h.repository, h.transaction, NULL, 1);
    assert_true(count_descriptors() > before);
    assert_int_equal(count_descriptors_after_exec(fork()), before);
    free_handles(h);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "count-descriptors") == 0) {
        return count_descriptors();
    }
    static const scenario scenarios[] = {
        EACH_ENGINE(every_handle_of_the_parent_is_forked_in_a_child),
        EACH_ENGINE(an_error_of_the_parent_is_forked_in_a_child),
        EACH_ENGINE(a_stream_and_a_controller_of_the_parent_are_forked_in_a_child),
        EACH_ENGINE(what_was_answered_before_the_fork_is_the_child_s_own_memory),
        ONCE(a_child_begins_without_handles_and_without_a_log_receiver),
        EACH_ENGINE(a_child_and_its_child_may_open_stores_of_their_own),
        SQLITE_ONLY(a_file_that_was_open_at_the_fork_cannot_be_opened_in_the_child),
        SQLITE_ONLY(a_child_that_was_forked_after_the_close_may_open_the_file),
        EACH_ENGINE(a_child_that_exits_leaves_the_parent_s_store_alone),
        EACH_ENGINE(a_body_that_forks_commits_in_the_parent_alone),
        EACH_ENGINE(a_child_that_returns_from_a_callback_ends_there),
        EACH_ENGINE(a_log_receiver_may_fork),
        EACH_ENGINE(a_program_that_is_executed_inherits_no_descriptor),
    };
    return run_scenarios("fork", scenarios, COUNT_OF(scenarios));
}
