/* Completions by callback: exactly one for each accepted commit, in commit order, whatever the callback does.
 */
#include "support.h"

static void ten_thousand_commits_complete_once_each_and_in_commit_order(fixture *f) {
    enum { COUNT = 10000 };
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        submit_numbered(r.store, r.things, rec, i);
    }
    wait_for_freed(rec, COUNT);
    assert_int_equal(rec->count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(rec->outcomes[i].status, HF_OK);
        assert_true(i == 0 || rec->outcomes[i].sequence > rec->outcomes[i - 1].sequence);
    }
    expect_count(r.things, NULL, NULL, COUNT);
    close_room(r);
    assert_int_equal(rec->freed, COUNT);
    free_recorder(rec);
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

static void submit_does_not_wait_for_the_disk(fixture *f) {
    enum { COUNT = 2000 };
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(COUNT);
    double *spent = malloc(COUNT * sizeof *spent);
    for (size_t i = 0; i < COUNT; i++) {
        hf_transaction *t = begin(r.store, NULL);
        save(r.things, t, "{\"n\":1}");
        void *ticket = new_ticket(rec, i);
        double start = seconds_now();
        hf_status status = hf_transaction_submit(t, record_event, ticket, free_ticket, NULL);
        spent[i] = seconds_now() - start;
        assert_int_equal(status, HF_OK);
        hf_transaction_free(t);
    }
    /* The median, because the machine may be busy with other things. A sync alone takes longer than this. */
    qsort(spent, COUNT, sizeof *spent, by_size);
    assert_true(spent[COUNT / 2] < 0.0005);
    free(spent);
    wait_for_freed(rec, COUNT);
    close_room(r);
    free_recorder(rec);
}

static void a_conflict_comes_as_an_event_with_its_error(fixture *f) {
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(2);
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_transaction *t = begin(r.store, NULL);
    expect_entity(r.things, t, "a", "{\"id\":\"a\"}");
    save(r.things, t, "{\"id\":\"b\"}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(rec, 0), free_ticket);
    wait_for_freed(rec, 1);
    assert_int_equal(rec->outcomes[0].status, HF_CONFLICT);
    assert_int_equal(rec->outcomes[0].sequence, 0);
    expect_state(t, HF_TRANSACTION_FAILED);
    hf_transaction_free(t);
    expect_absent(r.things, NULL, "b");
    close_room(r);
    free_recorder(rec);
}

static void a_commit_of_nothing_completes_too(fixture *f) {
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(1);
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(rec, 0), free_ticket);
    hf_transaction_free(t);
    wait_for_freed(rec, 1);
    assert_int_equal(rec->outcomes[0].status, HF_OK);
    assert_int_equal(rec->outcomes[0].sequence, 0);
    close_room(r);
    free_recorder(rec);
}

static void user_data_is_freed_once_without_a_callback_and_on_refusal(fixture *f) {
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(3);
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_transaction_submit, t, NULL, new_ticket(rec, 0), free_ticket);
    wait_for_freed(rec, 1);
    expect(HF_INVALID_STATE, hf_transaction_submit, t, record_event, new_ticket(rec, 1), free_ticket);
    assert_int_equal(rec->freed, 2);
    hf_transaction_free(t);

    t = begin(r.store, NULL);
    expect_ok(hf_store_close, r.store, -1);
    expect(HF_CLOSED, hf_transaction_submit, t, record_event, new_ticket(rec, 2), free_ticket);
    assert_int_equal(rec->freed, 3);
    assert_int_equal(rec->count, 0);
    hf_transaction_free(t);
    close_room(r);
    free_recorder(rec);
}

/* --- What a callback may do ------------------------------------------------------------------------- */

typedef struct reentry {
    room room;
    recorder *recorder;
    atomic_int done;
    int failures;
    int line; /* of the last failure */
    pthread_t submitter;
} reentry;

#define note(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            e->failures++;                                                                                   \
            e->line = __LINE__;                                                                              \
        }                                                                                                    \
    } while (0)

static void set_done(void *user_data) { atomic_store(&((reentry *)user_data)->done, 1); }

static void wait_until_done(reentry *e) {
    while (!atomic_load(&e->done)) {
        sleep_milliseconds(1);
    }
    if (e->failures > 0) {
        fail_msg("%d failures in the callback, the last in line %d", e->failures, e->line);
    }
}

static void use_everything(const hf_event *event, void *user_data) {
    reentry *e = user_data;
    hf_repository *things = e->room.things, *other = NULL;
    hf_transaction *t = NULL;
    hf_entity entity = HF_ENTITY_INIT;
    hf_buffer buffer = HF_BUFFER_INIT;
    uint64_t n = 0;

    note(event->status == HF_OK);
    note(!pthread_equal(pthread_self(), e->submitter));
    /* What the event tells of is there, outside and inside a new transaction. */
    note(hf_repository_fetch(things, NULL, "a", 1, &entity, NULL) == HF_OK);
    note(entity.version == event->sequence);
    note(hf_transaction_begin(e->room.store, NULL, &t, NULL) == HF_OK);
    note(hf_repository_fetch(things, t, "a", 1, &entity, NULL) == HF_OK);
    note(hf_repository_save(things, t, "{\"id\":\"from the callback\"}", HF_NTS, NULL, NULL) == HF_OK);
    note(hf_transaction_commit(t, &buffer, NULL) == HF_OK);
    hf_transaction_free(t);
    note(hf_repository_save(things, NULL, "{\"id\":\"by itself\"}", HF_NTS, NULL, NULL) == HF_OK);
    note(hf_repository_count(things, NULL, NULL, 0, NULL, &n, NULL) == HF_OK && n == 3);
    note(hf_repository_open(e->room.store, "others", NULL, &other, NULL) == HF_OK);
    hf_repository_free(other);
    note(hf_store_sync(e->room.store, NULL) == HF_OK);
    note(hf_store_describe(e->room.store, &buffer, NULL) == HF_OK);
    note(hf_transaction_begin(e->room.store, NULL, &t, NULL) == HF_OK);
    note(hf_repository_save(things, t, "{\"id\":\"submitted\"}", HF_NTS, NULL, NULL) == HF_OK);
    note(hf_transaction_submit(t, record_event, new_ticket(e->recorder, 0), free_ticket, NULL) == HF_OK);
    hf_transaction_free(t);
    hf_buffer_free(&buffer);
    hf_entity_free(&entity);
}

static void a_callback_may_read_begin_commit_and_submit(fixture *f) {
    reentry e = {.room = open_room(f, NULL), .recorder = new_recorder(1), .submitter = pthread_self()};
    hf_transaction *t = begin(e.room.store, NULL);
    save(e.room.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_submit, t, use_everything, &e, set_done);
    hf_transaction_free(t);
    wait_until_done(&e);
    wait_for_freed(e.recorder, 1);
    assert_int_equal(e.recorder->outcomes[0].status, HF_OK);
    expect_count(e.room.things, NULL, NULL, 4);
    close_room(e.room);
    free_recorder(e.recorder);
}

enum { PLACES = 4 };

/* While this callback runs nothing is delivered, so the places must run out. */
static void submit_until_busy(const hf_event *event, void *user_data) {
    reentry *e = user_data;
    (void)event;
    hf_status status = HF_OK;
    for (size_t i = 0; i <= PLACES && status == HF_OK; i++) {
        hf_transaction *t = NULL;
        hf_error *error = NULL;
        note(hf_transaction_begin(e->room.store, NULL, &t, NULL) == HF_OK);
        note(hf_repository_save(e->room.things, t, "{\"n\":1}", HF_NTS, NULL, NULL) == HF_OK);
        status = hf_transaction_submit(t, record_event, new_ticket(e->recorder, i), free_ticket, &error);
        if (status != HF_OK) {
            hf_transaction_state state = 0;
            note(status == HF_BUSY);
            note(hf_error_is_retryable(error));
            note(hf_transaction_get_state(t, &state, NULL) == HF_OK && state == HF_TRANSACTION_OPEN);
        }
        hf_error_free(error);
        hf_transaction_free(t);
    }
    note(status == HF_BUSY);
}

static void on_the_callback_thread_a_full_queue_is_busy_at_once(fixture *f) {
    reentry e = {.room = open_room(f, "{\"max_in_flight\":4}"), .recorder = new_recorder(PLACES + 1)};
    hf_transaction *t = begin(e.room.store, NULL);
    double start = seconds_now();
    expect_ok(hf_transaction_submit, t, submit_until_busy, &e, set_done);
    hf_transaction_free(t);
    wait_until_done(&e);
    assert_true(seconds_now() - start < 10);
    expect_ok(hf_store_close, e.room.store, -1);
    assert_int_equal(e.recorder->freed, e.recorder->count + 1); /* the one that was refused had no event */
    close_room(e.room);
    free_recorder(e.recorder);
}

/* --- Withdrawing ------------------------------------------------------------------------------------ */

static void a_cancelled_commit_says_so_or_it_was_too_late(fixture *f) {
    enum { COUNT = 200 };
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(COUNT);
    hf_transaction *all[COUNT];
    hf_transaction *never = begin(r.store, NULL);
    expect(HF_INVALID_STATE, hf_transaction_cancel, never);
    hf_transaction_free(never);
    hf_status cancelled[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        char json[32];
        snprintf(json, sizeof json, "{\"id\":%zu}", i);
        all[i] = begin(r.store, NULL);
        save(r.things, all[i], json);
        expect_ok(hf_transaction_submit, all[i], record_event, new_ticket(rec, i), free_ticket);
        cancelled[i] = i % 2 == 0 ? HF_INVALID_STATE : hf_transaction_cancel(all[i], NULL);
    }
    wait_for_freed(rec, COUNT);
    assert_int_equal(rec->count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        outcome o = rec->outcomes[i];
        char id[16];
        bool contains = false;
        snprintf(id, sizeof id, "%zu", o.ticket);
        expect_ok(hf_repository_contains, r.things, NULL, id, HF_NTS, &contains);
        assert_int_equal(o.status, cancelled[o.ticket] == HF_OK ? HF_CANCELLED : HF_OK);
        assert_int_equal(contains, o.status == HF_OK);
        assert_true(cancelled[o.ticket] == HF_OK || cancelled[o.ticket] == HF_INVALID_STATE);
    }
    for (size_t i = 0; i < COUNT; i++) {
        expect(HF_INVALID_STATE, hf_transaction_cancel, all[i]);
        hf_transaction_free(all[i]);
    }
    close_room(r);
    free_recorder(rec);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(ten_thousand_commits_complete_once_each_and_in_commit_order),
        EACH_ENGINE(submit_does_not_wait_for_the_disk),
        EACH_ENGINE(a_conflict_comes_as_an_event_with_its_error),
        EACH_ENGINE(a_commit_of_nothing_completes_too),
        EACH_ENGINE(user_data_is_freed_once_without_a_callback_and_on_refusal),
        EACH_ENGINE(a_callback_may_read_begin_commit_and_submit),
        EACH_ENGINE(on_the_callback_thread_a_full_queue_is_busy_at_once),
        EACH_ENGINE(a_cancelled_commit_says_so_or_it_was_too_late),
    };
    return run_scenarios("events", scenarios, COUNT_OF(scenarios));
}
