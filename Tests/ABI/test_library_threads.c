/* The library's own threads: what is answered where the system gives none, and which signals they take. The
 * program has a pthread_create of its own in front of the system's, to refuse. */
#include "support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>

/* How many more threads there are to be had. */
static atomic_int left = INT_MAX;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (create == NULL)
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (left <= 0)
        return EAGAIN;
    left--;
    return create(thread, attributes, run, argument);
}

static size_t count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* Threads end a moment after they were told. */
static void expect_no_thread_but_this(void) {
    for (int i = 0; i < 12000 && count_threads() != 1; i++)
        sleep_milliseconds(10);
    assert_int_equal(count_threads(), 1);
}

static void a_store_opens_with_all_its_threads_or_leaves_none(fixture *f) {
    hf_store *store = NULL;
    int needed = 0;
    for (;; needed++) {
        left = needed;
        hf_error *error = NULL;
        hf_status status = hf_store_open(f->url, NULL, &store, &error);
        left = INT_MAX;
        if (status == HF_OK)
            break;
        hf_error_free(check_outcome("hf_store_open", HF_NO_MEMORY, status, error, __FILE__, __LINE__));
        assert_null(store);
        expect_no_thread_but_this();
    }
    assert_true(needed >= 1);
    hf_repository *things = open_repository(store, "things");
    save(things, NULL, "{\"id\":1}");
    hf_repository_free(things);
    hf_store_free(store);
}

static void a_store_in_which_entities_expire_opens_with_the_thread_for_that(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_repository_create_index, r.things,
              "{\"name\":\"age\",\"fields\":{\"at\":1},\"expire_after_ms\":1000}", NULL, NULL);
    close_room(r);
    a_store_opens_with_all_its_threads_or_leaves_none(f);
}

static bool goes_on(void *user_data) {
    (void)user_data;
    return false;
}

static void a_thread_that_is_asked_syncs_without_a_new_one(room r) {
    save(r.things, NULL, "{\"id\":1}");
    hf_interrupt_set_check(goes_on, NULL);
    int before = left;
    for (int i = 0; i < 5; i++)
        expect_ok(hf_store_sync, r.store);
    assert_int_equal(left, before);
    hf_interrupt_set_check(NULL, NULL);
}

static void an_operation_without_a_thread_is_refused_and_the_store_stays_open(fixture *f) {
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(2);
    hf_operation *read = NULL;
    expect_ok(hf_operation_create, r.store, "{\"operation\":\"fetch_all\",\"repository\":\"things\"}", HF_NTS,
              &read);
    hf_future *future = (hf_future *)&future;
    left = 0;
    expect(HF_NO_MEMORY, hf_operation_start, read, NULL, &future);
    assert_null(future);
    expect(HF_NO_MEMORY, hf_operation_submit, read, NULL, record_event, new_ticket(rec, 0), free_ticket,
           NULL);
    expect(HF_NO_MEMORY, hf_operation_subscribe, read, NULL, record_event, new_ticket(rec, 1), free_ticket,
           NULL);
    wait_for_freed(rec, 2);
    assert_int_equal(rec->count, 0);

    /* A single write needs none. */
    hf_operation *write = NULL;
    expect_ok(hf_operation_create, r.store,
              "{\"operation\":\"save\",\"repository\":\"things\",\"entity\":{\"id\":1}}", HF_NTS, &write);
    expect_ok(hf_operation_start, write, NULL, &future);
    expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
    hf_future_free(future);
    left = INT_MAX;

    /* No place under the limit was lost, and all goes on. */
    expect_ok(hf_operation_start, read, NULL, &future);
    expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
    hf_future_free(future);
    json_int_t in_flight = -1;
    for (int i = 0; i < 100000 && in_flight != 0; i++) {
        json_t *description = describe(r.store);
        in_flight = json_integer_value(json_object_get(description, "in_flight"));
        json_decref(description);
        sleep_milliseconds(1);
    }
    assert_int_equal(in_flight, 0);
    hf_operation_free(read);
    hf_operation_free(write);
    close_room(r);
    free_recorder(rec);
}

static void an_observer_or_a_stream_without_a_thread_is_refused(fixture *f) {
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(2);
    hf_future *future = NULL;
    hf_stream *stream = NULL;
    expect_ok(hf_future_create, &future);
    left = 0;
    expect(HF_NO_MEMORY, hf_future_observe, future, record_event, new_ticket(rec, 0), free_ticket);
    expect(HF_NO_MEMORY, hf_stream_open, r.store, NULL, record_event, new_ticket(rec, 1), free_ticket,
           &stream);
    left = INT_MAX;
    wait_for_freed(rec, 2);
    assert_int_equal(rec->count, 0);
    hf_future_free(future);
    close_room(r);
    free_recorder(rec);
}

static atomic_int signals_blocked, faults_blocked;

static void look_at_the_mask(const hf_event *event, void *ignored) {
    (void)event;
    (void)ignored;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    static const int sent[] = {SIGINT,  SIGTERM, SIGHUP,  SIGALRM, SIGPROF,
                               SIGCHLD, SIGUSR1, SIGUSR2, SIGWINCH};
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        faults_blocked += sigismember(&mask, faults[i]);
    for (size_t i = 0; i < COUNT_OF(sent); i++)
        signals_blocked += sigismember(&mask, sent[i]) != 1;
    signals_blocked += 1000;
}

static void the_library_s_threads_take_no_signal_but_those_of_their_own_faults(fixture *f) {
    (void)f;
    hf_future *future = NULL;
    expect_ok(hf_future_create, &future);
    expect_ok(hf_future_observe, future, look_at_the_mask, NULL, NULL);
    expect_ok(hf_future_complete, future, NULL, 0);
    while (signals_blocked < 1000)
        sleep_milliseconds(1);
    assert_int_equal(signals_blocked, 1000);
    assert_int_equal(faults_blocked, 0);
    hf_future_free(future);
}

int main(void) {
    static const scenario scenarios[] = {
        /* Before the thread is there that all futures share. */
        ONCE(an_observer_or_a_stream_without_a_thread_is_refused),
        EACH_ENGINE(a_store_opens_with_all_its_threads_or_leaves_none),
        SQLITE_ONLY(a_store_in_which_entities_expire_opens_with_the_thread_for_that),
        /* A server may have to be asked what a repository's name means, which is done on a thread. */
        NOT_ON_A_SERVER(an_operation_without_a_thread_is_refused_and_the_store_stays_open),
        EACH_ENGINE(a_thread_that_is_asked_syncs_without_a_new_one),
        ONCE(the_library_s_threads_take_no_signal_but_those_of_their_own_faults),
    };
    return run_scenarios("library_threads", scenarios, COUNT_OF(scenarios));
}
