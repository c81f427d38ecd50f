/* Futures: the first completion wins and reaches everyone who waits, observes or takes events, before or
 * after. */
#include "support.h"

static hf_future *new_future(void) {
    hf_future *future = NULL;
    expect_ok(hf_future_create, &future);
    return future;
}

static void expect_result(hf_future *future, const char *expected) {
    hf_entity value = HF_ENTITY_INIT;
    expect_ok(hf_future_wait, future, NULL, 120000, &value, NULL);
    assert_string_equal(value.data, expected);
    hf_entity_free(&value);
}

/* --- One completion ------------------------------------------------------------------------------- */

static void the_first_completion_wins_and_a_later_one_is_told(fixture *f) {
    (void)f;
    hf_future *future = new_future();
    assert_false(hf_future_is_ended(future));
    expect_ok(hf_future_complete, future, "one", HF_NTS);
    expect(HF_INVALID_STATE, hf_future_complete, future, "two", HF_NTS);
    expect(HF_INVALID_STATE, hf_future_fail, future, HF_IO, "late");
    expect(HF_INVALID_STATE, hf_future_cancel, future);
    expect_result(future, "one");
    expect_result(future, "one");
    hf_future_free(future);

    future = new_future();
    expect_ok(hf_future_fail, future, HF_IO, "the line is down");
    expect(HF_INVALID_STATE, hf_future_complete, future, "too late", HF_NTS);
    hf_error *error = error_of(HF_IO, hf_future_wait, future, NULL, 0, NULL, NULL);
    assert_string_equal(hf_error_message(error), "the line is down");
    hf_error_free(error);
    hf_future_free(future);
}

static void bytes_pass_through_as_they_are(fixture *f) {
    (void)f;
    hf_future *future = new_future();
    hf_entity value = HF_ENTITY_INIT;
    expect_ok(hf_future_complete, future, "a\0b", 3);
    expect_ok(hf_future_wait, future, NULL, -1, &value, NULL);
    assert_int_equal(value.length, 3);
    assert_memory_equal(value.data, "a\0b", 3);
    hf_entity_free(&value);
    hf_future_free(future);

    future = new_future();
    expect(HF_INVALID_ARGUMENT, hf_future_complete, future, NULL, 3);
    expect(HF_INVALID_ARGUMENT, hf_future_fail, future, HF_OK, NULL);
    expect_ok(hf_future_fail, future, (hf_status)4711, NULL);
    expect_detail(error_of(HF_HOST_ERROR, hf_future_wait, future, NULL, -1, NULL, NULL), "code", "4711");
    hf_future_free(future);
}

static void a_wait_that_runs_out_of_time_names_the_identifier_and_leaves_the_future_alive(fixture *f) {
    (void)f;
    hf_future *future = new_future();
    double start = seconds_now();
    expect_detail(error_of(HF_TIMEOUT, hf_future_wait, future, "zone lookup", 30, NULL, NULL), "identifier",
                  "\"zone lookup\"");
    assert_true(seconds_now() - start >= 0.03);
    expect(HF_TIMEOUT, hf_future_wait, future, NULL, 0, NULL, NULL);
    assert_false(hf_future_is_ended(future));
    expect_ok(hf_future_complete, future, "found", HF_NTS);
    expect_result(future, "found");
    hf_future_free(future);
}

static void a_cancelled_future_ends_as_cancelled(fixture *f) {
    (void)f;
    hf_future *future = new_future();
    expect_ok(hf_future_cancel, future);
    expect(HF_CANCELLED, hf_future_wait, future, NULL, -1, NULL, NULL);
    expect(HF_INVALID_STATE, hf_future_complete, future, "late", HF_NTS);
    hf_future_free(future);
}

static void *complete_later(void *future) {
    sleep_milliseconds(20);
    hf_future_complete(future, "late", HF_NTS, NULL);
    return NULL;
}

static void *wait_for_it(void *future) {
    expect_result(future, "late");
    return NULL;
}

static void many_threads_wait_for_one_future_and_all_get_the_result(fixture *f) {
    (void)f;
    enum { COUNT = 32 };
    hf_future *future = new_future();
    pthread_t threads[COUNT], completer;
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_it, future), 0);
    assert_int_equal(pthread_create(&completer, NULL, complete_later, future), 0);
    for (size_t i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    pthread_join(completer, NULL);
    hf_future_free(future);
}

static void *wait_for_long(void *future) {
    expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
    return NULL;
}

static void all_who_wait_for_a_future_hear_of_it_and_not_when_their_time_is_up(fixture *f) {
    (void)f;
    enum { COUNT = 16 };
    hf_future *future = new_future();
    pthread_t threads[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_long, future), 0);
    sleep_milliseconds(200);
    double began = seconds_now();
    expect_ok(hf_future_complete, future, "now", HF_NTS);
    for (size_t i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    assert_true(seconds_now() - began < 30);
    hf_future_free(future);
}

static void *wait_until_it_is_over(void *future) {
    hf_future_wait(future, NULL, 200, NULL, NULL, NULL);
    return NULL;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void a_wait_takes_no_processor_s_time(fixture *f) {
    (void)f;
    hf_future *future = new_future();
    /* From early in a second of the clock into the next. */
    double now = seconds_of(CLOCK_MONOTONIC);
    sleep_milliseconds(1050 - (long)((now - (double)(long)now) * 1000));
    double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    expect(HF_TIMEOUT, hf_future_wait, future, NULL, 980, NULL, NULL);
    assert_true(seconds_of(CLOCK_THREAD_CPUTIME_ID) - before < 0.1);
    hf_future_free(future);
}

static void a_future_may_be_freed_while_another_thread_waits(fixture *f) {
    (void)f;
    hf_future *future = new_future();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_until_it_is_over, future), 0);
    sleep_milliseconds(20);
    hf_future_free(future);
    expect(HF_INVALID_HANDLE, hf_future_complete, future, "nobody", HF_NTS);
    pthread_join(thread, NULL);
}

typedef struct race {
    hf_future *future;
    pthread_barrier_t barrier;
    atomic_int winners;
} race;

static void *try_to_complete(void *argument) {
    race *r = argument;
    pthread_barrier_wait(&r->barrier);
    if (hf_future_complete(r->future, "mine", HF_NTS, NULL) == HF_OK)
        r->winners++;
    return NULL;
}

static void *try_to_cancel(void *argument) {
    race *r = argument;
    pthread_barrier_wait(&r->barrier);
    if (hf_future_cancel(r->future, NULL) == HF_OK)
        r->winners++;
    return NULL;
}

static void of_those_who_complete_and_cancel_at_once_one_wins_and_observers_hear_once(fixture *f) {
    (void)f;
    enum { ROUNDS = 300, THREADS = 4 };
    recorder *rec = new_recorder(ROUNDS * 2);
    for (size_t i = 0; i < ROUNDS; i++) {
        race r = {.future = new_future()};
        pthread_barrier_init(&r.barrier, NULL, THREADS + 1);
        pthread_t threads[THREADS];
        for (size_t t = 0; t < THREADS; t++)
            pthread_create(&threads[t], NULL, t % 2 ? try_to_cancel : try_to_complete, &r);
        expect_ok(hf_future_observe, r.future, record_event, new_ticket(rec, 2 * i), free_ticket);
        pthread_barrier_wait(&r.barrier);
        expect_ok(hf_future_observe, r.future, record_event, new_ticket(rec, 2 * i + 1), free_ticket);
        for (size_t t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        assert_int_equal(r.winners, 1);
        pthread_barrier_destroy(&r.barrier);
        hf_future_free(r.future);
    }
    wait_for_freed(rec, ROUNDS * 2);
    assert_int_equal(rec->count, ROUNDS * 2);
    assert_int_equal(rec->out_of_step, 0);
    free_recorder(rec);
}

/* --- Observers ------------------------------------------------------------------------------------- */

static void an_observer_of_a_future_that_never_ends_is_let_go_without_a_call(fixture *f) {
    (void)f;
    recorder *rec = new_recorder(2);
    hf_future *future = new_future();
    expect_ok(hf_future_observe, future, record_event, new_ticket(rec, 0), free_ticket);
    hf_future_free(future);
    wait_for_freed(rec, 1);
    assert_int_equal(rec->count, 0);

    expect(HF_INVALID_HANDLE, hf_future_observe, future, record_event, new_ticket(rec, 1), free_ticket);
    wait_for_freed(rec, 2);
    free_recorder(rec);
}

static atomic_int answered;

static void wait_inside(const hf_event *event, void *other) {
    (void)event;
    answered = (int)hf_future_wait(other, NULL, 5000, NULL, NULL, NULL);
}

/* What waiting for a future answers within the callback of another. */
static hf_status answer_inside(hf_future *other) {
    hf_future *future = new_future();
    answered = -1;
    expect_ok(hf_future_observe, future, wait_inside, other, NULL);
    expect_ok(hf_future_complete, future, NULL, 0);
    while (answered < 0)
        sleep_milliseconds(1);
    hf_future_free(future);
    return (hf_status)answered;
}

static void waiting_on_the_callback_thread_would_deadlock_and_says_so(fixture *f) {
    (void)f;
    hf_future *other = new_future();
    assert_int_equal(answer_inside(other), HF_WOULD_DEADLOCK);
    /* What has ended is answered there too. */
    expect_ok(hf_future_complete, other, NULL, 0);
    assert_int_equal(answer_inside(other), HF_OK);
    hf_future_free(other);
}

/* --- Commits ---------------------------------------------------------------------------------------- */

static void the_future_of_a_commit_brings_the_receipt(room r) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"s\"}");
    hf_future *future = NULL;
    expect_ok(hf_transaction_submit_future, t, &future);
    hf_transaction_free(t);
    hf_buffer receipt = HF_BUFFER_INIT;
    expect_ok(hf_future_wait, future, NULL, 120000, NULL, &receipt);
    assert_non_null(strstr(receipt.data, "\"id\":\"s\",\"operation\":\"put\""));
    expect(HF_INVALID_STATE, hf_future_cancel, future);
    hf_future_free(future);

    /* A conflict reaches whoever waits as it is. */
    hf_transaction *loser = begin(r.store, NULL);
    expect_entity(r.things, loser, "s", "{\"id\":\"s\"}");
    save(r.things, loser, "{\"id\":\"s\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"s\",\"n\":2}");
    expect_ok(hf_transaction_submit_future, loser, &future);
    hf_error *error = error_of(HF_CONFLICT, hf_future_wait, future, NULL, 120000, NULL, NULL);
    assert_true(hf_error_is_retryable(error));
    hf_error_free(error);
    hf_future_free(future);
    hf_transaction_free(loser);
    hf_buffer_free(&receipt);
}

static void a_refused_submission_leaves_no_future(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_transaction *t = begin(store, NULL);
    expect_ok(hf_transaction_commit, t, NULL);
    hf_future *future = (hf_future *)&future;
    expect(HF_INVALID_STATE, hf_transaction_submit_future, t, &future);
    assert_null(future);
    hf_transaction_free(t);
    hf_store_free(store);
}

static void futures_outlive_their_store_and_nobody_is_called_after_it(fixture *f) {
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(1);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"s\"}");
    hf_future *future = NULL;
    expect_ok(hf_transaction_submit_future, t, &future);
    hf_transaction_free(t);
    close_room(r);
    expect_ok(hf_future_wait, future, NULL, 0, NULL, NULL);
    expect(HF_CLOSED, hf_future_observe, future, record_event, new_ticket(rec, 0), free_ticket);
    wait_for_freed(rec, 1);
    assert_int_equal(rec->count, 0);
    hf_future_free(future);
    free_recorder(rec);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(the_first_completion_wins_and_a_later_one_is_told),
        ONCE(bytes_pass_through_as_they_are),
        ONCE(a_wait_that_runs_out_of_time_names_the_identifier_and_leaves_the_future_alive),
        ONCE(a_cancelled_future_ends_as_cancelled),
        ONCE(many_threads_wait_for_one_future_and_all_get_the_result),
        ONCE(all_who_wait_for_a_future_hear_of_it_and_not_when_their_time_is_up),
        ONCE(a_wait_takes_no_processor_s_time),
        ONCE(a_future_may_be_freed_while_another_thread_waits),
        ONCE(of_those_who_complete_and_cancel_at_once_one_wins_and_observers_hear_once),
        ONCE(an_observer_of_a_future_that_never_ends_is_let_go_without_a_call),
        ONCE(waiting_on_the_callback_thread_would_deadlock_and_says_so),
        EACH_ENGINE(the_future_of_a_commit_brings_the_receipt),
        EACH_ENGINE(a_refused_submission_leaves_no_future),
        EACH_ENGINE(futures_outlive_their_store_and_nobody_is_called_after_it),
    };
    return run_scenarios("futures", scenarios, COUNT_OF(scenarios));
}
