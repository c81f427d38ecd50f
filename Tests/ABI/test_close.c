/* Closing: nothing accepted is lost, nothing new gets in, and it may be done from anywhere. */
#include "support.h"

typedef struct watched_room {
    hf_store *store;
    hf_repository *things;
    recorder *recorder;
} watched_room;

static watched_room open_watched_room(const fixture *f, size_t capacity) {
    watched_room r = {open_store(f, NULL), NULL, new_recorder(capacity)};
    r.things = open_repository(r.store, "things");
    return r;
}

static void close_watched_room(watched_room r) {
    hf_repository_free(r.things);
    hf_store_free(r.store);
    free_recorder(r.recorder);
}

/* Submits a commit of one entity and answers what submit answered. */
static hf_status submit(watched_room r, size_t number) {
    char json[64];
    hf_transaction *t = NULL;
    hf_status status = hf_transaction_begin(r.store, NULL, &t, NULL);
    if (status != HF_OK) {
        return status;
    }
    snprintf(json, sizeof json, "{\"id\":%zu}", number);
    status = hf_repository_save(r.things, t, json, HF_NTS, NULL, NULL);
    if (status == HF_OK) {
        status = hf_transaction_submit(t, record_event, new_ticket(r.recorder, number), free_ticket, NULL);
    }
    hf_transaction_free(t);
    return status;
}

static void a_closed_store_answers_closed_to_everything(fixture *f) {
    watched_room r = open_watched_room(f, 1);
    hf_transaction *t = begin(r.store, NULL), *out = NULL;
    hf_repository *other = NULL;
    hf_entity entity = HF_ENTITY_INIT;
    uint64_t n = 0;
    save(r.things, t, "{\"id\":\"lost\"}");
    expect_ok(hf_store_close, r.store, -1);
    expect_ok(hf_store_close, r.store, 0);
    expect(HF_CLOSED, hf_store_sync, r.store);
    expect(HF_CLOSED, hf_transaction_begin, r.store, NULL, &out);
    expect(HF_CLOSED, hf_repository_open, r.store, "others", NULL, &other);
    expect(HF_CLOSED, hf_repository_fetch, r.things, NULL, "a", 1, &entity);
    expect(HF_CLOSED, hf_repository_save, r.things, NULL, "{\"id\":1}", HF_NTS, NULL);
    expect(HF_CLOSED, hf_repository_count, r.things, NULL, NULL, 0, NULL, &n);
    expect(HF_CLOSED, hf_repository_save, r.things, t, "{\"id\":1}", HF_NTS, NULL);
    expect(HF_CLOSED, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    hf_store *store = r.store;
    r.store = NULL;
    hf_store_free(store);
    expect(HF_CLOSED, hf_repository_fetch, r.things, NULL, "a", 1, &entity);
    close_watched_room(r);
}

static void open_transactions_are_rolled_back(fixture *f) {
    watched_room r = open_watched_room(f, 1);
    save(r.things, NULL, "{\"id\":\"kept\"}");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"lost\"}");
    expect_ok(hf_store_close, r.store, -1);
    expect_state(t, HF_TRANSACTION_ROLLED_BACK);
    hf_transaction_free(t);
    close_watched_room(r);
    r = open_watched_room(f, 1);
    expect_entity(r.things, NULL, "kept", "{\"id\":\"kept\"}");
    expect_count(r.things, NULL, NULL, 1);
    close_watched_room(r);
}

static void thousands_in_flight_are_finished_and_delivered(fixture *f) {
    enum { COUNT = 5000 };
    watched_room r = open_watched_room(f, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(submit(r, i), HF_OK);
    }
    expect_ok(hf_store_close, r.store, -1);
    assert_int_equal(r.recorder->count, COUNT);
    assert_int_equal(r.recorder->freed, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(r.recorder->outcomes[i].status, HF_OK);
    }
    close_watched_room(r);
    if (strcmp(f->engine, "sqlite") == 0) {
        r = open_watched_room(f, 1);
        expect_count(r.things, NULL, NULL, COUNT);
        close_watched_room(r);
    }
}

typedef struct crowd {
    watched_room watched_room;
    size_t first, last;
    atomic_size_t *accepted;
} crowd;

static void *submit_until_closed(void *argument) {
    crowd *c = argument;
    for (size_t i = c->first; i < c->last; i++) {
        hf_status status = submit(c->watched_room, i);
        if (status == HF_CLOSED) {
            return NULL;
        }
        if (status != HF_OK) {
            return (void *)(intptr_t)status;
        }
        atomic_fetch_add(c->accepted, 1);
    }
    return NULL;
}

static void whoever_submits_while_it_closes_is_accepted_wholly_or_refused(fixture *f) {
    enum { THREADS = 4, EACH = 20000 };
    watched_room r = open_watched_room(f, THREADS * EACH);
    atomic_size_t accepted = 0;
    pthread_t threads[THREADS];
    crowd crowds[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        crowds[i] = (crowd){r, i * EACH, (i + 1) * EACH, &accepted};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_until_closed, &crowds[i]), 0);
    }
    sleep_milliseconds(30);
    expect_ok(hf_store_close, r.store, -1);
    for (size_t i = 0; i < THREADS; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        assert_int_equal((intptr_t)answer, HF_OK);
    }
    assert_int_equal(r.recorder->count, atomic_load(&accepted));
    size_t stored = 0;
    for (size_t i = 0; i < r.recorder->count; i++) {
        stored += r.recorder->outcomes[i].status == HF_OK;
    }
    assert_int_equal(stored, atomic_load(&accepted));
    close_watched_room(r);
    if (strcmp(f->engine, "sqlite") == 0) {
        r = open_watched_room(f, 1);
        expect_count(r.things, NULL, NULL, stored);
        close_watched_room(r);
    }
}

/* --- From inside a callback, and with little patience ---------------------------------------------- */

typedef struct closing {
    hf_store *store;
    bool free_it;
    atomic_int status; /* what close answered in the callback, -1 before */
    atomic_int freed;
} closing;

static void close_here(void *user_data) {
    closing *c = user_data;
    if (c->free_it) {
        hf_store_free(c->store);
        atomic_store(&c->status, HF_OK);
    } else {
        atomic_store(&c->status, (int)hf_store_close(c->store, -1, NULL));
    }
}

static void close_from_inside(const hf_event *event, void *user_data) {
    (void)event;
    close_here(user_data);
}

static void count_freed(void *user_data) { atomic_fetch_add(&((closing *)user_data)->freed, 1); }

static void a_callback_may_close_its_store(fixture *f) {
    watched_room r = open_watched_room(f, 1);
    closing c = {r.store, false, -1, 0};
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_transaction_submit, t, close_from_inside, &c, count_freed);
    expect_ok(hf_store_close, r.store, -1);
    hf_transaction_free(t);
    assert_int_equal(atomic_load(&c.status), HF_OK);
    assert_int_equal(atomic_load(&c.freed), 1);
    close_watched_room(r);
}

static void a_callback_may_free_its_store(fixture *f) {
    watched_room r = open_watched_room(f, 1);
    closing c = {r.store, true, -1, 0};
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_transaction_submit, t, close_from_inside, &c, count_freed);
    hf_transaction_free(t);
    while (atomic_load(&c.freed) == 0) {
        sleep_milliseconds(1);
    }
    expect(HF_INVALID_HANDLE, hf_store_sync, r.store);
    close_watched_room(r);
    /* It closes after the callback; until then the file is busy. */
    hf_store *again = NULL;
    while (hf_store_open(f->url, NULL, &again, NULL) == HF_BUSY) {
        sleep_milliseconds(1);
    }
    assert_non_null(again);
    hf_store_free(again);
}

static hf_status accept(hf_transaction *t, const char *id, size_t id_length, const char *entity,
                        size_t length, void *user_data, hf_error **error) {
    (void)t, (void)id, (void)id_length, (void)entity, (void)length, (void)user_data, (void)error;
    return HF_OK;
}

static uint64_t stand_still(void *user_data) {
    (void)user_data;
    return 1;
}

/* The closing store lets go of them on a thread that it then needs. */
static void a_destructor_may_close_or_free_the_store_that_is_closing(fixture *f) {
    for (int i = 0; i < 4; i++) {
        watched_room r = open_watched_room(f, 1);
        closing c = {r.store, i % 2 == 1, -1, 0};
        if (i < 2)
            expect_ok(hf_repository_set_validator, r.things, accept, &c, close_here);
        else
            expect_ok(hf_store_set_clock, r.store, stand_still, &c, close_here);
        expect_ok(hf_store_close, r.store, 60000);
        assert_int_equal(atomic_load(&c.status), HF_OK);
        close_watched_room(r);
    }
}

typedef struct accepting {
    hf_store *store;
    recorder *recorder;
} accepting;

enum { ACCEPTED_BEFORE_FREE = 50 };

/* More commits are accepted and end, so that their events wait behind this callback, which then frees. */
static void accept_and_free(const hf_event *event, void *user_data) {
    accepting *a = user_data;
    (void)event;
    for (size_t i = 0; i < ACCEPTED_BEFORE_FREE; i++) {
        hf_transaction *t = begin(a->store, NULL);
        expect_ok(hf_transaction_submit, t, record_event, new_ticket(a->recorder, i), free_ticket);
        while (hf_transaction_cancel(t, NULL) != HF_INVALID_STATE) {
        }
        hf_transaction_free(t);
    }
    hf_store_free(a->store);
}

static void a_store_that_is_freed_inside_a_callback_still_delivers_the_rest(fixture *f) {
    watched_room r = open_watched_room(f, 1);
    accepting a = {r.store, new_recorder(ACCEPTED_BEFORE_FREE)};
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_transaction_submit, t, accept_and_free, &a, NULL);
    hf_transaction_free(t);
    wait_for_freed(a.recorder, ACCEPTED_BEFORE_FREE);
    assert_int_equal(a.recorder->count, ACCEPTED_BEFORE_FREE);
    free_recorder(a.recorder);
    close_watched_room(r);
}

typedef struct door {
    atomic_int entered, opened, freed;
} door;

static void stand_in_the_door(const hf_event *event, void *user_data) {
    (void)event;
    door *d = user_data;
    atomic_store(&d->entered, 1);
    while (!atomic_load(&d->opened)) {
        sleep_milliseconds(1);
    }
}

static void leave_the_door(void *user_data) { atomic_fetch_add(&((door *)user_data)->freed, 1); }

static void a_close_that_timed_out_can_be_called_again(fixture *f) {
    watched_room r = open_watched_room(f, 1);
    door d = {0, 0, 0};
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_transaction_submit, t, stand_in_the_door, &d, leave_the_door);
    hf_transaction_free(t);
    while (!atomic_load(&d.entered)) {
        sleep_milliseconds(1);
    }
    expect_answer(HF_TIMEOUT, hf_store_close, r.store, 0);
    double start = seconds_now();
    expect_answer(HF_TIMEOUT, hf_store_close, r.store, 100);
    assert_true(seconds_now() - start >= 0.09);
    expect(HF_CLOSED, hf_repository_save, r.things, NULL, "{\"id\":1}", HF_NTS, NULL);
    atomic_store(&d.opened, 1);
    expect_ok(hf_store_close, r.store, -1);
    assert_int_equal(atomic_load(&d.freed), 1);
    close_watched_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_closed_store_answers_closed_to_everything),
        SQLITE_ONLY(open_transactions_are_rolled_back),
        EACH_ENGINE(thousands_in_flight_are_finished_and_delivered),
        EACH_ENGINE(whoever_submits_while_it_closes_is_accepted_wholly_or_refused),
        EACH_ENGINE(a_callback_may_close_its_store),
        EACH_ENGINE(a_callback_may_free_its_store),
        EACH_ENGINE(a_destructor_may_close_or_free_the_store_that_is_closing),
        EACH_ENGINE(a_store_that_is_freed_inside_a_callback_still_delivers_the_rest),
        EACH_ENGINE(a_close_that_timed_out_can_be_called_again),
    };
    return run_scenarios("close", scenarios, COUNT_OF(scenarios));
}
