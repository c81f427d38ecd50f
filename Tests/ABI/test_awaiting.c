/* Awaiting: a call that answers by a callback becomes one that returns its result. */
#include "support.h"

#include <signal.h>
#include <sys/time.h>

static void expect_result(hf_future *future, const char *expected) {
    hf_entity value = HF_ENTITY_INIT;
    expect_ok(hf_future_wait, future, NULL, 120000, &value, NULL);
    assert_string_equal(value.data, expected);
    hf_entity_free(&value);
}

static void *complete_later(void *future) {
    sleep_milliseconds(20);
    hf_future_complete(future, "late", HF_NTS, NULL);
    return NULL;
}

static hf_status complete_at_once(hf_future *future, void *value, hf_error **out_error) {
    return hf_future_complete(future, value, HF_NTS, out_error);
}

static hf_status complete_on_a_thread(hf_future *future, void *thread, hf_error **out_error) {
    (void)out_error;
    return pthread_create(thread, NULL, complete_later, future) == 0 ? HF_OK : HF_NO_MEMORY;
}

static hf_status fail_at_once(hf_future *future, void *ignored, hf_error **out_error) {
    (void)ignored;
    return hf_future_fail(future, HF_NOT_FOUND, "no such zone", out_error);
}

static hf_status start_nothing(hf_future *future, void *kept, hf_error **out_error) {
    (void)out_error;
    *(hf_future **)kept = future;
    return HF_OK;
}

static hf_status refuse_to_start(hf_future *future, void *ignored, hf_error **out_error) {
    (void)out_error;
    (void)future;
    (void)ignored;
    return HF_READ_ONLY;
}

static void await_turns_a_callback_into_a_result(fixture *f) {
    (void)f;
    hf_entity value = HF_ENTITY_INIT;
    pthread_t thread;
    expect_ok(hf_await, complete_at_once, "zone", NULL, 120000, &value, NULL);
    assert_string_equal(value.data, "zone");
    expect_ok(hf_await, complete_on_a_thread, &thread, NULL, 120000, &value, NULL);
    assert_string_equal(value.data, "late");
    pthread_join(thread, NULL);
    hf_error *error = error_of(HF_NOT_FOUND, hf_await, fail_at_once, NULL, NULL, 120000, &value, NULL);
    assert_string_equal(hf_error_message(error), "no such zone");
    hf_error_free(error);
    expect(HF_READ_ONLY, hf_await, refuse_to_start, NULL, NULL, 120000, &value, NULL);
    expect(HF_INVALID_ARGUMENT, hf_await, NULL, NULL, NULL, 120000, &value, NULL);
    hf_entity_free(&value);
}

static void await_that_runs_out_of_time_hands_over_the_future_if_it_is_wanted(fixture *f) {
    (void)f;
    hf_future *kept = NULL, *future = NULL;
    expect_detail(error_of(HF_TIMEOUT, hf_await, start_nothing, &kept, "share", 10, NULL, &future),
                  "identifier", "\"share\"");
    assert_non_null(future);
    expect_ok(hf_future_complete, kept, "after all", HF_NTS);
    expect_result(future, "after all");
    hf_future_free(future);

    expect(HF_TIMEOUT, hf_await, start_nothing, &kept, NULL, 0, NULL, NULL);
    expect(HF_INVALID_HANDLE, hf_future_complete, kept, "nobody waits", HF_NTS);
}

/* A thread that completes the future which it is handed, about when the time of who awaits it is up. */
typedef struct completer {
    pthread_t thread;
    _Atomic(hf_future *) future; /* to be completed; NULL when that was done */
    _Atomic double due;
    atomic_bool is_over;
    hf_status answer;
} completer;

static void *complete_when_due(void *argument) {
    completer *c = argument;
    while (!c->is_over) {
        hf_future *future = c->future;
        if (future == NULL)
            sched_yield();
        if (future == NULL || seconds_now() < c->due)
            continue;
        c->answer = hf_future_complete(future, "just in time", HF_NTS, NULL);
        c->future = NULL;
    }
    return NULL;
}

static hf_status hand_to_completer(hf_future *future, void *argument, hf_error **out_error) {
    (void)out_error;
    completer *c = argument;
    c->future = future;
    return HF_OK;
}

static void a_result_that_comes_as_the_time_is_up_is_returned_kept_or_refused(fixture *f) {
    (void)f;
    /* Fewer where a machine has so much to do that two threads which only look on seldom run at once. */
    enum { ROUNDS = 3000, LEAST = 200 };
    double end = seconds_now() + 30;
    completer c = {.answer = HF_OK};
    assert_int_equal(pthread_create(&c.thread, NULL, complete_when_due, &c), 0);
    hf_entity value = HF_ENTITY_INIT;
    size_t lost = 0, refused_in_vain = 0;
    for (size_t i = 0; i < ROUNDS && (i < LEAST || seconds_now() < end); i++) {
        bool is_wanted = i % 2 == 0;
        hf_future *kept = NULL;
        c.due = seconds_now() + 0.001 + (double)(i % 200) / 1e6;
        hf_status status = hf_await(hand_to_completer, &c, NULL, 1, &value, is_wanted ? &kept : NULL, NULL);
        while (c.future != NULL)
            sched_yield();
        if (status == HF_TIMEOUT && kept != NULL)
            status = hf_future_wait(kept, NULL, 0, &value, NULL, NULL);
        lost += c.answer == HF_OK && status != HF_OK;
        refused_in_vain += c.answer != HF_OK && status == HF_OK;
        hf_future_free(kept);
    }
    c.is_over = true;
    pthread_join(c.thread, NULL);
    assert_int_equal(lost, 0);
    assert_int_equal(refused_in_vain, 0);
    hf_entity_free(&value);
}

static hf_status await_another(hf_future *future, void *depth, hf_error **out_error) {
    size_t *left = depth;
    if (--*left > 0) {
        hf_status status = hf_await(await_another, left, NULL, 120000, NULL, NULL, out_error);
        if (status != HF_OK)
            return status;
    }
    return hf_future_complete(future, NULL, 0, out_error);
}

static void a_thousand_awaits_may_be_nested(fixture *f) {
    (void)f;
    size_t depth = 1000;
    expect_ok(hf_await, await_another, &depth, NULL, 120000, NULL, NULL);
}

/* --- Where and when ----------------------------------------------------------------------------------- */

static hf_status note_thread(hf_future *future, void *thread, hf_error **out_error) {
    *(pthread_t *)thread = pthread_self();
    return hf_future_complete(future, NULL, 0, out_error);
}

static void *await_and_compare(void *unused) {
    (void)unused;
    pthread_t thread;
    expect_ok(hf_await, note_thread, &thread, NULL, 120000, NULL, NULL);
    assert_true(pthread_equal(thread, pthread_self()));
    return NULL;
}

static void a_starter_runs_on_the_thread_that_awaits(fixture *f) {
    (void)f;
    await_and_compare(NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, await_and_compare, NULL), 0);
    pthread_join(thread, NULL);
}

static hf_status fail_as_a_call_has(hf_future *future, void *store, hf_error **out_error) {
    (void)future;
    hf_status status = hf_transaction_begin(store, NULL, NULL, out_error);
    return status == HF_INVALID_ARGUMENT ? HF_REFUSED : status;
}

static void what_a_starter_hands_over_is_what_its_caller_is_told(room r) {
    hf_error *error = error_of(HF_REFUSED, hf_await, fail_as_a_call_has, r.store, NULL, -1, NULL, NULL);
    assert_non_null(strstr(hf_error_message(error), "out_transaction"));
    hf_error_free(error);
}

/* How often the thread was asked whether its call is to end, which it is while it waits. */
static bool count_and_end(void *asked) { return ++*(size_t *)asked > 4; }

static hf_status take_longer(hf_future *future, void *unused, hf_error **out_error) {
    (void)future, (void)unused, (void)out_error;
    sleep_milliseconds(600);
    return HF_OK;
}

static void the_time_counts_from_before_the_starter(fixture *f) {
    (void)f;
    size_t asked = 0;
    hf_interrupt_set_check(count_and_end, &asked);
    expect(HF_TIMEOUT, hf_await, take_longer, NULL, NULL, 500, NULL, NULL);
    hf_interrupt_set_check(NULL, NULL);
}

/* --- Signals ------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t signals;
static void note_signal(int number) { signals += number == SIGALRM; }

/* One every so many microseconds, which interrupts what waits in the system; 0: none any more. */
static void send_signals(suseconds_t every) {
    struct sigaction action = {.sa_handler = note_signal};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    struct itimerval timer = {{0, every}, {0, every}};
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void no_wait_ends_early_where_a_signal_comes_every_other_millisecond(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    hf_future *future = NULL;
    hf_entity value = HF_ENTITY_INIT;
    hf_event event;
    pthread_t thread;
    expect_ok(hf_future_create, &future);
    signals = 0;
    send_signals(2000);
    double began = seconds_now();
    expect(HF_TIMEOUT, hf_future_wait, future, NULL, 200, NULL, NULL);
    assert_true(seconds_now() - began >= 0.19);
    began = seconds_now();
    assert_int_equal(hf_store_events(r.store, &event, 1, 200), 0);
    assert_true(seconds_now() - began >= 0.19);
    expect_ok(hf_await, complete_on_a_thread, &thread, NULL, 120000, &value, NULL);
    assert_string_equal(value.data, "late");
    pthread_join(thread, NULL);
    for (int i = 0; i < 20; i++) {
        hf_transaction *t = begin(r.store, NULL);
        save(r.things, t, "{\"id\":\"a\"}");
        if (i % 2 == 0)
            commit_quietly(t);
        else {
            expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
            hf_transaction_free(t);
            assert_int_equal(hf_store_events(r.store, &event, 1, -1), 1);
            assert_int_equal(event.status, HF_OK);
            hf_events_free(&event, 1);
        }
    }
    expect_ok(hf_store_close, r.store, -1);
    send_signals(0);
    assert_true(signals > 20);
    hf_future_free(future);
    hf_entity_free(&value);
    hf_repository_free(r.things);
    hf_store_free(r.store);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(await_turns_a_callback_into_a_result),
        ONCE(await_that_runs_out_of_time_hands_over_the_future_if_it_is_wanted),
        ONCE(a_result_that_comes_as_the_time_is_up_is_returned_kept_or_refused),
        ONCE(a_thousand_awaits_may_be_nested),
        ONCE(a_starter_runs_on_the_thread_that_awaits),
        ONCE(what_a_starter_hands_over_is_what_its_caller_is_told),
        ONCE(the_time_counts_from_before_the_starter),
        EACH_ENGINE(no_wait_ends_early_where_a_signal_comes_every_other_millisecond),
    };
    return run_scenarios("awaiting", scenarios, COUNT_OF(scenarios));
}
