/* Completions by queue: nothing is called, the host takes events when it likes. */
#include "members.h"
#include "support.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

typedef struct polled_room {
    hf_store *store;
    hf_repository *things;
    int descriptor;
} polled_room;

static polled_room open_polled_room(const fixture *f, const char *options) {
    polled_room r = {open_store(f, options), NULL, -1};
    r.things = open_repository(r.store, "things");
    expect_ok(hf_store_event_fd, r.store, &r.descriptor);
    return r;
}

static void close_polled_room(polled_room r) {
    hf_repository_free(r.things);
    hf_store_free(r.store);
}

static const char queue[] = "{\"delivery\":\"queue\"}";

static bool readable(int descriptor, int timeout_ms) {
    struct pollfd p = {descriptor, POLLIN, 0};
    return poll(&p, 1, timeout_ms) == 1;
}

/* Takes what is ready, calls the callbacks as a host's loop would, and frees the events. */
static int32_t take(polled_room r, int64_t timeout_ms) {
    hf_event events[64];
    int32_t count = hf_store_events(r.store, events, COUNT_OF(events), timeout_ms);
    for (int32_t i = 0; i < count; i++) {
        events[i].callback(&events[i], events[i].user_data);
    }
    if (count > 0) {
        hf_events_free(events, (size_t)count);
    }
    return count;
}

static void the_descriptor_is_readable_while_events_wait(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    recorder *rec = new_recorder(1);
    assert_true(fcntl(r.descriptor, F_GETFD) & FD_CLOEXEC);
    assert_false(readable(r.descriptor, 0));
    assert_int_equal(take(r, 0), 0);
    submit_numbered(r.store, r.things, rec, 0);
    assert_true(readable(r.descriptor, 60000));
    assert_true(readable(r.descriptor, 0));
    assert_int_equal(rec->count, 0); /* nothing is called by itself */
    assert_int_equal(take(r, 0), 1);
    assert_int_equal(rec->count, 1);
    assert_int_equal(rec->freed, 1);
    assert_false(readable(r.descriptor, 0));
    close_polled_room(r);
    free_recorder(rec);
}

static void ten_thousand_events_are_taken_once_each_and_in_commit_order(fixture *f) {
    enum { COUNT = 10000 };
    polled_room r = open_polled_room(f, queue);
    recorder *rec = new_recorder(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        submit_numbered(r.store, r.things, rec, i);
        if (i % 50 == 0) {
            take(r, 0);
        }
    }
    while (rec->count < COUNT) {
        assert_true(readable(r.descriptor, 60000));
        assert_true(take(r, 0) > 0);
    }
    assert_int_equal(take(r, 50), 0);
    assert_int_equal(rec->freed, COUNT);
    for (size_t i = 1; i < COUNT; i++) {
        assert_true(rec->outcomes[i].sequence > rec->outcomes[i - 1].sequence);
    }
    close_polled_room(r);
    free_recorder(rec);
}

static void the_descriptor_stays_readable_while_only_some_events_were_taken(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    recorder *rec = new_recorder(3);
    for (size_t i = 0; i < 3; i++)
        submit_numbered(r.store, r.things, rec, i);
    for (size_t i = 0; i < 3; i++) {
        hf_event event;
        assert_true(readable(r.descriptor, 60000));
        assert_int_equal(hf_store_events(r.store, &event, 1, 120000), 1);
        hf_events_free(&event, 1);
    }
    assert_false(readable(r.descriptor, 0));
    close_polled_room(r);
    free_recorder(rec);
}

static void members_are_told_of_their_end_by_a_store_that_is_freed_with_its_events(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    member root;
    make_member(&root, "root", NULL);
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_transaction_enlist, t, root.handle);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    hf_transaction_free(t);
    assert_true(readable(r.descriptor, 60000));
    expect_calls(&root, 1, 1, 0, 0);
    close_polled_room(r);
    expect_calls(&root, 1, 1, 1, 0);
    free_member(&root);
}

static void an_event_holds_what_the_callback_would_get(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    recorder *rec = new_recorder(2);
    hf_event event;
    submit_numbered(r.store, r.things, rec, 0);
    assert_int_equal(hf_store_events(r.store, &event, 1, -1), 1);
    assert_int_equal(event.kind, HF_EVENT_COMMIT);
    assert_int_equal(event.status, HF_OK);
    assert_int_equal(event.sequence, version_of(r.things, NULL, "0"));
    assert_null(event.error);
    assert_true(event.callback == record_event && event.free_user_data == free_ticket);
    json_t *receipt = json_loadb(event.receipt.data, event.receipt.length, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(receipt, "sequence")), event.sequence);
    json_decref(receipt);
    hf_events_free(&event, 1);

    hf_transaction *t = begin(r.store, NULL);
    expect_entity(r.things, t, "0", "{\"id\":0}");
    save(r.things, t, "{\"id\":1}");
    save(r.things, NULL, "{\"id\":0,\"n\":1}");
    expect_ok(hf_transaction_submit, t, NULL, new_ticket(rec, 1), free_ticket);
    hf_transaction_free(t);
    assert_int_equal(hf_store_events(r.store, &event, 1, -1), 1);
    assert_int_equal(event.status, HF_CONFLICT);
    assert_int_equal(event.sequence, 0);
    assert_int_equal(event.receipt.length, 0);
    assert_int_equal(hf_error_status(event.error), HF_CONFLICT);
    assert_true(event.callback == NULL);
    hf_events_free(&event, 1);
    assert_int_equal(rec->freed, 2);
    close_polled_room(r);
    free_recorder(rec);
}

static void waiting_ends_with_the_time_or_with_an_event(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    recorder *rec = new_recorder(1);
    double start = seconds_now();
    assert_int_equal(take(r, 100), 0);
    assert_true(seconds_now() - start >= 0.09);
    submit_numbered(r.store, r.things, rec, 0);
    assert_int_equal(take(r, 60000), 1);
    close_polled_room(r);
    free_recorder(rec);
}

static void without_queue_delivery_there_is_no_queue(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_event event;
    int descriptor = -1;
    assert_int_equal(hf_store_events(store, &event, 1, 0), -HF_INVALID_ARGUMENT);
    expect(HF_UNSUPPORTED, hf_store_event_fd, store, &descriptor);
    hf_store_free(store);
}

static void beyond_max_in_flight_a_commit_is_busy_until_events_are_taken(fixture *f) {
    polled_room r = open_polled_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":2}");
    recorder *rec = new_recorder(4);
    submit_numbered(r.store, r.things, rec, 0);
    submit_numbered(r.store, r.things, rec, 1);
    /* So long that a busy server stores it in that time in the end. */
    hf_transaction *t = begin(r.store, "{\"timeout_ms\":1000}");
    save(r.things, t, "{\"id\":2}");
    double start = seconds_now();
    hf_error *error =
        error_of(HF_BUSY, hf_transaction_submit, t, record_event, new_ticket(rec, 2), free_ticket);
    assert_true(hf_error_is_retryable(error));
    hf_error_free(error);
    assert_true(seconds_now() - start >= 0.9);
    assert_int_equal(rec->freed, 1);
    expect_state(t, HF_TRANSACTION_OPEN);
    while (rec->count < 2) {
        take(r, -1);
    }
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(rec, 3), free_ticket);
    hf_transaction_free(t);
    take(r, -1);
    assert_int_equal(rec->count, 3);
    assert_int_equal(rec->freed, 4);
    expect_count(r.things, NULL, NULL, 3);
    close_polled_room(r);
    free_recorder(rec);
}

static void *take_one_later(void *argument) {
    sleep_milliseconds(100);
    assert_true(take(*(polled_room *)argument, -1) > 0);
    return NULL;
}

static void a_submit_waits_for_a_place(fixture *f) {
    polled_room r = open_polled_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":1}");
    recorder *rec = new_recorder(2);
    pthread_t taker;
    submit_numbered(r.store, r.things, rec, 0);
    assert_int_equal(pthread_create(&taker, NULL, take_one_later, &r), 0);
    submit_numbered(r.store, r.things, rec, 1);
    pthread_join(taker, NULL);
    while (rec->count < 2) {
        take(r, -1);
    }
    close_polled_room(r);
    free_recorder(rec);
}

/* With a day to wait for it: a test that waited would not end. */
static void who_is_to_be_refused_waits_for_no_place(fixture *f) {
    static const char options[] = "{\"when_full\":\"refuse\",\"timeout_ms\":86400000}";
    polled_room r = open_polled_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":1}");
    recorder *rec = new_recorder(3);
    submit_numbered(r.store, r.things, rec, 0);
    hf_transaction *t = begin(r.store, options);
    save(r.things, t, "{\"id\":1}");
    hf_future *future = NULL;
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create, r.store,
              "{\"steps\":[{\"operation\":\"count\",\"repository\":\"things\"}],\"when_full\":\"refuse\","
              "\"timeout_ms\":86400000}",
              HF_NTS, &operation);
    for (int i = 0; i < 2; i++) {
        expect(HF_BUSY, hf_transaction_submit, t, record_event, new_ticket(rec, 1), free_ticket);
        expect(HF_BUSY, hf_transaction_submit_future, t, &future);
        expect(HF_BUSY, hf_operation_start, operation, NULL, &future);
        expect_state(t, HF_TRANSACTION_OPEN);
    }
    assert_int_equal(take(r, -1), 1);
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(rec, 2), free_ticket);
    hf_transaction_free(t);
    hf_operation_free(operation);
    assert_int_equal(take(r, -1), 1);
    expect_count(r.things, NULL, NULL, 2);
    close_polled_room(r);
    free_recorder(rec);
}

static void after_close_the_rest_can_be_taken_and_then_it_is_closed(fixture *f) {
    enum { COUNT = 100 };
    polled_room r = open_polled_room(f, queue);
    recorder *rec = new_recorder(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        submit_numbered(r.store, r.things, rec, i);
    }
    expect_ok(hf_store_close, r.store, -1);
    assert_true(readable(r.descriptor, 0));
    while (rec->count < COUNT) {
        assert_true(take(r, 0) > 0);
    }
    assert_int_equal(take(r, 0), -HF_CLOSED);
    assert_int_equal(take(r, -1), -HF_CLOSED);
    assert_true(readable(r.descriptor, 0));
    close_polled_room(r);
    free_recorder(rec);
}

static void events_not_taken_are_dropped_with_the_store(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    recorder *rec = new_recorder(10);
    for (size_t i = 0; i < 10; i++) {
        submit_numbered(r.store, r.things, rec, i);
    }
    close_polled_room(r);
    assert_int_equal(rec->freed, 10);
    assert_int_equal(rec->count, 0);
    free_recorder(rec);
}

static void *wait_for_ever(void *argument) {
    hf_event event;
    return (void *)(intptr_t)hf_store_events(*(hf_store **)argument, &event, 1, -1);
}

static void closing_wakes_those_who_wait_for_events(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    pthread_t waiters[4];
    for (size_t i = 0; i < COUNT_OF(waiters); i++) {
        assert_int_equal(pthread_create(&waiters[i], NULL, wait_for_ever, &r.store), 0);
    }
    sleep_milliseconds(50);
    expect_ok(hf_store_close, r.store, -1);
    for (size_t i = 0; i < COUNT_OF(waiters); i++) {
        void *answer = NULL;
        pthread_join(waiters[i], &answer);
        assert_int_equal((intptr_t)answer, -HF_CLOSED);
    }
    close_polled_room(r);
}

static void waking_ends_every_wait_for_events_or_the_next(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    pthread_t waiters[4];
    for (size_t i = 0; i < COUNT_OF(waiters); i++) {
        assert_int_equal(pthread_create(&waiters[i], NULL, wait_for_ever, &r.store), 0);
    }
    sleep_milliseconds(50);
    expect_ok(hf_store_wake, r.store);
    /* Who came later than that is woken by this one. */
    sleep_milliseconds(200);
    expect_ok(hf_store_wake, r.store);
    for (size_t i = 0; i < COUNT_OF(waiters); i++) {
        void *answer = (void *)-1;
        pthread_join(waiters[i], &answer);
        assert_int_equal((intptr_t)answer, 0);
    }
    expect_ok(hf_store_wake, r.store);
    assert_int_equal(take(r, 0), 0);
    assert_int_equal(take(r, -1), 0);
    assert_false(readable(r.descriptor, 0));

    /* What comes is taken as if nobody had been woken. */
    expect_ok(hf_store_wake, r.store);
    recorder *rec = new_recorder(1);
    submit_numbered(r.store, r.things, rec, 0);
    while (rec->count == 0) {
        take(r, -1);
    }
    close_polled_room(r);
    assert_int_equal(rec->freed, 1);
    free_recorder(rec);
}

static hf_store *interrupted;
static void wake_in_handler(int signal) {
    (void)signal;
    hf_store_wake(interrupted, NULL);
}

static void a_signal_s_handler_can_end_the_wait_for_events(fixture *f) {
    polled_room r = open_polled_room(f, queue);
    interrupted = r.store;
    struct sigaction action = {.sa_handler = wake_in_handler, .sa_flags = SA_RESTART}, before;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    pthread_t waiter;
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_ever, &r.store), 0);
    sleep_milliseconds(20);
    assert_int_equal(pthread_kill(waiter, SIGUSR1), 0);
    void *answer = (void *)-1;
    pthread_join(waiter, &answer);
    assert_int_equal((intptr_t)answer, 0);
    sigaction(SIGUSR1, &before, NULL);
    close_polled_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(the_descriptor_is_readable_while_events_wait),
        EACH_ENGINE(ten_thousand_events_are_taken_once_each_and_in_commit_order),
        ONCE(the_descriptor_stays_readable_while_only_some_events_were_taken),
        ONCE(members_are_told_of_their_end_by_a_store_that_is_freed_with_its_events),
        EACH_ENGINE(an_event_holds_what_the_callback_would_get),
        EACH_ENGINE(waiting_ends_with_the_time_or_with_an_event),
        EACH_ENGINE(without_queue_delivery_there_is_no_queue),
        EACH_ENGINE(beyond_max_in_flight_a_commit_is_busy_until_events_are_taken),
        EACH_ENGINE(a_submit_waits_for_a_place),
        EACH_ENGINE(who_is_to_be_refused_waits_for_no_place),
        EACH_ENGINE(after_close_the_rest_can_be_taken_and_then_it_is_closed),
        EACH_ENGINE(events_not_taken_are_dropped_with_the_store),
        EACH_ENGINE(closing_wakes_those_who_wait_for_events),
        ONCE(waking_ends_every_wait_for_events_or_the_next),
        ONCE(a_signal_s_handler_can_end_the_wait_for_events),
    };
    return run_scenarios("queue", scenarios, COUNT_OF(scenarios));
}
