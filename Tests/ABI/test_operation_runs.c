/* Asynchronous runs of operations: the host's functions, subscriptions, cancelling, closing. */
#include "members.h"
#include "support.h"

static hf_operation *describe_operation(room r, const char *json) {
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create, r.store, json, HF_NTS, &operation);
    return operation;
}

#define STEP(operation, members) "{\"operation\":\"" operation "\",\"repository\":\"things\"" members "}"
#define ADD_ONE STEP("add", ",\"entity\":{\"id\":\"s1\",\"plays\":0}")

/* --- Functions
 * ------------------------------------------------------------------------------------------------ */

static hf_status count_and_write(hf_transaction *transaction, hf_buffer *result, void *things,
                                 hf_error **out_error) {
    (void)out_error;
    uint64_t count;
    hf_status status = hf_repository_count(things, transaction, NULL, 0, NULL, &count, NULL);
    if (status != HF_OK || count >= 3)
        return status == HF_OK ? HF_FULL : status;
    char json[64];
    snprintf(json, sizeof json, "{\"id\":%d}", (int)count);
    if (!hf_buffer_set(result, json, HF_NTS))
        return HF_NO_MEMORY;
    return hf_repository_add(things, transaction, json, HF_NTS, NULL, NULL);
}

static void a_function_of_the_host_is_an_operation_too(room r) {
    recorder *rec = new_recorder(3);
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create_function, r.store, count_and_write, r.things, NULL, NULL, &operation);
    hf_entity result = HF_ENTITY_INIT;
    expect_ok(hf_operation_perform, operation, NULL, &result, NULL);
    assert_string_equal(result.data, "{\"id\":0}");
    /* Runs that read the same count meet a conflict and run again; the limit holds. */
    hf_future *futures[8];
    for (size_t i = 0; i < COUNT_OF(futures); i++)
        expect_ok(hf_operation_start, operation, NULL, &futures[i]);
    size_t full = 0;
    for (size_t i = 0; i < COUNT_OF(futures); i++) {
        hf_status status = hf_future_wait(futures[i], NULL, 120000, NULL, NULL, NULL);
        assert_true(status == HF_OK || status == HF_FULL);
        full += status == HF_FULL;
        hf_future_free(futures[i]);
    }
    assert_int_equal(full, COUNT_OF(futures) - 2);
    expect_count(r.things, NULL, NULL, 3);
    hf_operation_free(operation);

    expect_ok(hf_operation_create_function, r.store, count_and_write, new_ticket(rec, 0), free_ticket, NULL,
              &operation);
    hf_operation_free(operation);
    wait_for_freed(rec, 1);
    expect(HF_INVALID_OPTION, hf_operation_create_function, r.store, count_and_write, new_ticket(rec, 1),
           free_ticket, "{\"x\":1}", &operation);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_function, r.store, NULL, new_ticket(rec, 2), free_ticket,
           NULL, &operation);
    wait_for_freed(rec, 3);
    hf_entity_free(&result);
    free_recorder(rec);
}

static hf_status wait_in_function(hf_transaction *transaction, hf_buffer *result, void *future,
                                  hf_error **out_error) {
    (void)out_error;
    (void)transaction;
    (void)result;
    return hf_future_wait(future, NULL, 5000, NULL, NULL, NULL);
}

static void waiting_inside_an_asynchronous_function_would_deadlock_and_says_so(room r) {
    hf_operation *operation = NULL;
    hf_future *never = NULL, *future = NULL;
    expect_ok(hf_future_create, &never);
    expect_ok(hf_operation_create_function, r.store, wait_in_function, never, NULL, NULL, &operation);
    expect_ok(hf_operation_start, operation, NULL, &future);
    expect(HF_WOULD_DEADLOCK, hf_future_wait, future, NULL, 120000, NULL, NULL);
    hf_future_free(never);
    hf_future_free(future);
    hf_operation_free(operation);
}

static hf_status note_thread(hf_transaction *transaction, hf_buffer *result, void *thread,
                             hf_error **out_error) {
    (void)transaction, (void)result, (void)out_error;
    *(pthread_t *)thread = pthread_self();
    return HF_OK;
}

static void *perform_here(void *operation) {
    expect_ok(hf_operation_perform, operation, NULL, NULL, NULL);
    return NULL;
}

static void what_is_performed_runs_on_the_thread_that_calls_and_what_is_started_on_another(room r) {
    pthread_t thread, caller;
    hf_operation *operation = NULL;
    hf_future *future = NULL;
    expect_ok(hf_operation_create_function, r.store, note_thread, &thread, NULL, NULL, &operation);
    perform_here(operation);
    assert_true(pthread_equal(thread, pthread_self()));
    assert_int_equal(pthread_create(&caller, NULL, perform_here, operation), 0);
    pthread_join(caller, NULL);
    assert_true(pthread_equal(thread, caller));
    expect_ok(hf_operation_start, operation, NULL, &future);
    expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
    assert_false(pthread_equal(thread, pthread_self()));
    hf_future_free(future);
    hf_operation_free(operation);
}

/* --- Subscriptions, cancelling, closing
 * --------------------------------------------------------------------------- */

typedef struct heard {
    atomic_int values, ends, last_status, freed;
    char value[64];
} heard;

static void hear(const hf_event *event, void *user_data) {
    heard *h = user_data;
    if (event->kind == HF_EVENT_VALUE) {
        assert_int_equal(h->ends, 0);
        snprintf(h->value, sizeof h->value, "%s", event->value.data);
        h->values++;
    } else {
        assert_int_equal(event->kind, HF_EVENT_END);
        h->last_status = (int)event->status;
        h->ends++;
    }
}

static void note_freed(void *user_data) { ((heard *)user_data)->freed++; }

static void wait_for_end(heard *h) {
    while (!h->freed)
        sleep_milliseconds(1);
}

static void a_subscription_brings_one_value_and_an_end_or_one_failure(room r) {
    hf_operation *add = describe_operation(r, ADD_ONE);
    heard first = {0}, second = {0};
    expect_ok(hf_operation_subscribe, add, NULL, hear, &first, note_freed, NULL);
    wait_for_end(&first);
    assert_int_equal(first.values, 1);
    assert_int_equal(first.ends, 1);
    assert_string_equal(first.value, "{\"id\":\"s1\",\"plays\":0}");
    expect_ok(hf_operation_subscribe, add, NULL, hear, &second, note_freed, NULL);
    hf_operation_free(add);
    wait_for_end(&second);
    assert_int_equal(second.values, 0);
    assert_int_equal(second.ends, 1);
    assert_int_equal(second.last_status, HF_EXISTS);
    assert_int_equal(first.freed, 1);
}

static hf_status enlist_and_save(hf_transaction *transaction, hf_buffer *result, void *user_data,
                                 hf_error **out_error) {
    (void)out_error;
    void **both = user_data;
    (void)result;
    hf_status status = hf_transaction_enlist(transaction, ((member *)both[1])->handle, NULL);
    return status != HF_OK ? status
                           : hf_repository_save(both[0], transaction, "{\"id\":\"a\"}", HF_NTS, NULL, NULL);
}

static void wait_until_stored(hf_repository *things, uint64_t count) {
    uint64_t stored = 0;
    for (int i = 0; i < 12000 && stored < count; i++) {
        expect_ok(hf_repository_count, things, NULL, NULL, 0, NULL, &stored);
        sleep_milliseconds(10);
    }
    assert_int_equal(stored, count);
}

/* Of an operation with members it turns out when events are taken that there are two. */
static void events_that_are_taken_one_by_one_keep_their_order(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    member root;
    make_member(&root, "root", NULL);
    void *both[] = {r.things, &root};
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create_function, r.store, enlist_and_save, both, NULL, NULL, &operation);
    expect_ok(hf_operation_subscribe, operation, NULL, NULL, NULL, NULL, NULL);
    wait_until_stored(r.things, 1);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    wait_until_stored(r.things, 2);
    static const hf_event_kind kinds[] = {HF_EVENT_VALUE, HF_EVENT_END, HF_EVENT_COMMIT};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        hf_event event;
        assert_int_equal(hf_store_events(r.store, &event, 1, 120000), 1);
        assert_int_equal(event.kind, kinds[i]);
        hf_events_free(&event, 1);
    }
    hf_transaction_free(t);
    hf_operation_free(operation);
    free_member(&root);
    close_room(r);
}

static void under_queue_delivery_a_subscription_is_two_events(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    hf_operation *add = describe_operation(r, ADD_ONE);
    heard h = {0};
    hf_event events[4];
    expect_ok(hf_operation_subscribe, add, NULL, NULL, &h, note_freed, NULL);
    size_t count = 0;
    while (count < 2) {
        int32_t taken = hf_store_events(r.store, events + count, 4 - count, 120000);
        assert_true(taken > 0);
        count += (size_t)taken;
    }
    assert_int_equal(count, 2);
    assert_int_equal(events[0].kind, HF_EVENT_VALUE);
    assert_string_equal(events[0].value.data, "{\"id\":\"s1\",\"plays\":0}");
    assert_int_equal(events[1].kind, HF_EVENT_END);
    assert_int_equal(events[1].status, HF_OK);
    assert_true(events[0].user_data == &h && events[1].user_data == &h);
    hf_events_free(events, 1);
    assert_int_equal(h.freed, 0);
    hf_events_free(events + 1, 1);
    assert_int_equal(h.freed, 1);
    hf_operation_free(add);
    close_room(r);
}

typedef struct gate {
    pthread_mutex_t lock;
    atomic_int entered, left;
} gate;

static hf_status hold(hf_transaction *transaction, hf_buffer *result, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)transaction;
    (void)result;
    gate *g = user_data;
    g->entered = 1;
    pthread_mutex_lock(&g->lock);
    pthread_mutex_unlock(&g->lock);
    g->left = 1;
    return HF_OK;
}

static void a_read_is_cancelled_or_answers_never_both(room r) {
    hf_operation *count = describe_operation(r, STEP("count", ""));
    for (size_t i = 0; i < 20000; i++) {
        hf_future *future = NULL;
        expect_ok(hf_operation_start, count, NULL, &future);
        /* As long as a run takes, more or less, so that some cancels meet it at its end. */
        for (volatile size_t turn = 0; turn < i % 1000 * 50; turn++)
            ;
        hf_status cancelled = hf_future_cancel(future, NULL);
        hf_status outcome = hf_future_wait(future, NULL, 120000, NULL, NULL, NULL);
        assert_int_equal(outcome, cancelled == HF_OK ? HF_CANCELLED : HF_OK);
        hf_future_free(future);
    }
    hf_operation_free(count);
}

static void what_has_not_begun_or_not_reached_its_commit_can_be_cancelled(room r) {
    gate g = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    hf_operation *blocker = NULL;
    hf_operation *fetch = describe_operation(r, STEP("count", ""));
    hf_future *running = NULL, *waiting = NULL;
    expect_ok(hf_operation_create_function, r.store, hold, &g, NULL, NULL, &blocker);
    pthread_mutex_lock(&g.lock);
    expect_ok(hf_operation_start, blocker, NULL, &running);
    while (!g.entered)
        sleep_milliseconds(1);
    expect_ok(hf_operation_start, fetch, NULL, &waiting);
    expect_ok(hf_future_cancel, waiting);
    expect(HF_CANCELLED, hf_future_wait, waiting, NULL, 0, NULL, NULL);
    expect(HF_INVALID_STATE, hf_future_cancel, waiting);
    expect_ok(hf_future_cancel, running);
    expect(HF_CANCELLED, hf_future_wait, running, NULL, 0, NULL, NULL);
    pthread_mutex_unlock(&g.lock);
    /* A run that is cancelled is not waited for, and the gate is this function's. */
    while (!g.left)
        sleep_milliseconds(1);
    hf_future_free(running);
    hf_future_free(waiting);
    hf_operation_free(blocker);
    hf_operation_free(fetch);
}

static void a_subscription_that_is_cancelled_brings_its_end_and_nothing_else(room r) {
    gate g = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    heard cancelled = {0}, ended = {0};
    hf_operation *blocker = NULL, *add = describe_operation(r, ADD_ONE);
    hf_future *future = NULL;
    expect_ok(hf_operation_create_function, r.store, hold, &g, NULL, NULL, &blocker);
    pthread_mutex_lock(&g.lock);
    expect_ok(hf_operation_subscribe, blocker, NULL, hear, &cancelled, note_freed, &future);
    while (!g.entered)
        sleep_milliseconds(1);
    expect_ok(hf_future_cancel, future);
    expect(HF_INVALID_STATE, hf_future_cancel, future);
    wait_for_end(&cancelled);
    pthread_mutex_unlock(&g.lock);
    while (!g.left)
        sleep_milliseconds(1);
    hf_future_free(future);

    /* What has come to its end is not cancelled any more. */
    expect_ok(hf_operation_subscribe, add, NULL, hear, &ended, note_freed, &future);
    wait_for_end(&ended);
    expect(HF_INVALID_STATE, hf_future_cancel, future);
    hf_future_free(future);
    hf_operation_free(blocker), hf_operation_free(add);
    expect_ok(hf_store_close, r.store, -1);
    assert_int_equal(cancelled.values, 0);
    assert_int_equal(cancelled.ends, 1);
    assert_int_equal(cancelled.last_status, HF_CANCELLED);
    assert_int_equal(cancelled.freed, 1);
    assert_int_equal(ended.values + ended.ends + ended.freed, 3);
}

typedef struct stubborn {
    gate gate;
    atomic_int runs;
} stubborn;

/* Stumbles each time, the first time behind the gate. */
static hf_status stumble(hf_transaction *transaction, hf_buffer *result, void *user_data,
                         hf_error **out_error) {
    stubborn *s = user_data;
    if (s->runs++ == 0)
        hold(transaction, result, &s->gate, out_error);
    return HF_CONFLICT;
}

static void what_was_cancelled_while_it_ran_does_not_run_again(room r) {
    stubborn s = {{PTHREAD_MUTEX_INITIALIZER, 0, 0}, 0};
    hf_operation *operation = NULL;
    hf_future *future = NULL;
    expect_ok(hf_operation_create_function, r.store, stumble, &s, NULL, "{\"max_attempts\":3}", &operation);
    pthread_mutex_lock(&s.gate.lock);
    expect_ok(hf_operation_start, operation, NULL, &future);
    while (!s.gate.entered)
        sleep_milliseconds(1);
    expect_ok(hf_future_cancel, future);
    pthread_mutex_unlock(&s.gate.lock);
    hf_future_free(future);
    /* Others run behind it, and it does not. */
    hf_operation *fetch = describe_operation(r, STEP("count", ""));
    for (int i = 0; i < 20; i++) {
        sleep_milliseconds(10);
        expect_ok(hf_operation_start, fetch, NULL, &future);
        expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
        hf_future_free(future);
    }
    assert_int_equal(s.runs, 1);
    hf_operation_free(fetch);
    hf_operation_free(operation);
}

static void a_run_is_attempted_as_often_as_it_may_be(room r) {
    for (int most = 1; most <= 3; most++) {
        stubborn s = {{PTHREAD_MUTEX_INITIALIZER, 0, 0}, 0};
        char options[64];
        hf_operation *operation = NULL;
        hf_future *future = NULL;
        snprintf(options, sizeof options, "{\"max_attempts\":%d}", most);
        expect_ok(hf_operation_create_function, r.store, stumble, &s, NULL, options, &operation);
        expect_ok(hf_operation_start, operation, NULL, &future);
        expect(HF_CONFLICT, hf_future_wait, future, NULL, 120000, NULL, NULL);
        assert_int_equal(s.runs, most);
        hf_future_free(future);
        hf_operation_free(operation);
    }
}

static void an_abandoned_run_goes_on(fixture *f) {
    room r = open_room(f, NULL);
    for (int i = 0; i < 100; i++) {
        char json[128];
        snprintf(json, sizeof json, STEP("add", ",\"entity\":{\"id\":%d}"), i);
        hf_operation *add = describe_operation(r, json);
        hf_future *future = NULL;
        expect_ok(hf_operation_start, add, NULL, i % 2 ? &future : NULL);
        hf_future_free(future);
        hf_operation_free(add);
    }
    expect_ok(hf_store_close, r.store, -1);
    hf_repository_free(r.things);
    hf_store_free(r.store);
    if (strcmp(f->engine, "memory") == 0)
        return;
    room again = open_room(f, NULL);
    expect_count(again.things, NULL, NULL, 100);
    close_room(again);
}

/* Whatever has to be opened first, by the one thread for that, is stored all the same. */
static void what_was_accepted_is_stored_before_the_store_closes(fixture *f) {
    enum { COUNT = 500 };
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        char json[128];
        snprintf(json, sizeof json,
                 "{\"operation\":\"add\",\"repository\":\"others%zu\",\"entity\":{\"id\":1}}", i % 50);
        hf_operation *add = describe_operation(r, json);
        expect_ok(hf_operation_submit, add, NULL, record_event, new_ticket(rec, i), free_ticket, NULL);
        hf_operation_free(add);
    }
    expect_ok(hf_store_close, r.store, -1);
    wait_for_freed(rec, COUNT);
    size_t stored = 0;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(rec->outcomes[i].status == HF_OK || rec->outcomes[i].status == HF_EXISTS);
        stored += rec->outcomes[i].status == HF_OK;
    }
    assert_int_equal(stored, 50);
    hf_repository_free(r.things);
    hf_store_free(r.store);
    free_recorder(rec);
}

static void every_run_that_was_accepted_ends_once_when_the_store_closes(fixture *f) {
    size_t count = rounds(6000);
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(count);
    hf_operation *kinds[] = {
        describe_operation(r, STEP("modify", ",\"id\":\"n\",\"update\":{\"$inc\":{\"n\":1}},\"initial\":{}")),
        describe_operation(r, STEP("count", "")),
        describe_operation(r, "{\"steps\":[" STEP("add", ",\"entity\":{}") "," STEP("count", "") "]}"),
    };
    for (size_t i = 0; i < count; i++)
        expect_ok(hf_operation_submit, kinds[i % 3], NULL, record_event, new_ticket(rec, i), free_ticket,
                  NULL);
    expect_ok(hf_store_close, r.store, -1);
    wait_for_freed(rec, count);
    assert_int_equal(rec->count, count);
    assert_int_equal(rec->out_of_step, 0);
    for (size_t i = 0; i < count; i++) {
        hf_status status = rec->outcomes[i].status;
        assert_true(status == HF_OK || status == HF_CLOSED || status == HF_CONFLICT);
        assert_true(rec->outcomes[i].ticket % 3 == 2 || status == HF_OK);
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        hf_operation_free(kinds[i]);
    hf_repository_free(r.things);
    hf_store_free(r.store);
    free_recorder(rec);
}

static void places_are_limited_for_operations_too(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":2}");
    hf_operation *count = describe_operation(r, "{\"steps\":[" STEP("count", "") "],\"timeout_ms\":20}");
    hf_event events[2];
    for (int round = 0; round < 3; round++) {
        expect_ok(hf_operation_submit, count, NULL, NULL, NULL, NULL, NULL);
        expect_ok(hf_operation_submit, count, NULL, NULL, NULL, NULL, NULL);
        expect(HF_BUSY, hf_operation_submit, count, NULL, NULL, NULL, NULL, NULL);
        size_t taken = 0;
        while (taken < 2) {
            int32_t n = hf_store_events(r.store, events + taken, 2 - taken, 120000);
            assert_true(n > 0);
            taken += (size_t)n;
        }
        assert_string_equal(events[0].value.data, "[0]");
        hf_events_free(events, taken);
    }
    /* Without anyone to tell, the place is given back when the run ends. */
    for (int i = 0; i < 50; i++) {
        hf_future *future = NULL;
        expect_ok(hf_operation_start, count, NULL, &future);
        expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
        hf_future_free(future);
    }
    hf_operation_free(count);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_function_of_the_host_is_an_operation_too),
        ONCE(waiting_inside_an_asynchronous_function_would_deadlock_and_says_so),
        ONCE(what_is_performed_runs_on_the_thread_that_calls_and_what_is_started_on_another),
        EACH_ENGINE(a_subscription_brings_one_value_and_an_end_or_one_failure),
        ONCE(a_subscription_that_is_cancelled_brings_its_end_and_nothing_else),
        EACH_ENGINE(under_queue_delivery_a_subscription_is_two_events),
        ONCE(events_that_are_taken_one_by_one_keep_their_order),
        ONCE(what_was_cancelled_while_it_ran_does_not_run_again),
        ONCE(a_run_is_attempted_as_often_as_it_may_be),
        EACH_ENGINE(a_read_is_cancelled_or_answers_never_both),
        EACH_ENGINE(what_has_not_begun_or_not_reached_its_commit_can_be_cancelled),
        EACH_ENGINE(an_abandoned_run_goes_on),
        EACH_ENGINE(what_was_accepted_is_stored_before_the_store_closes),
        EACH_ENGINE(every_run_that_was_accepted_ends_once_when_the_store_closes),
        EACH_ENGINE(places_are_limited_for_operations_too),
    };
    return run_scenarios("operation_runs", scenarios, COUNT_OF(scenarios));
}
