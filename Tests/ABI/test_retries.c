/* After a conflict transactions of one process run again one after the other, not all at once. */
#include "support.h"

enum { THREADS = 48 };

typedef struct crowd {
    room r;
    pthread_barrier_t start;
    atomic_long attempts, failures;
} crowd;

static hf_status count_up(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    crowd *c = user_data;
    int64_t n = integer_in(c->r.things, t, "hot", "n");
    /* Long enough for the others to have read it, too. */
    sleep_milliseconds(1);
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"hot\",\"n\":%lld}", (long long)n + 1);
    return hf_repository_save(c->r.things, t, json, HF_NTS, NULL, NULL);
}

static void *count_once(void *user_data) {
    crowd *c = user_data;
    hf_buffer receipt = HF_BUFFER_INIT;
    pthread_barrier_wait(&c->start);
    if (hf_store_transact(c->r.store, count_up, c, NULL, &receipt, NULL) == HF_OK)
        atomic_fetch_add(&c->attempts, strtol(strstr(receipt.data, "\"attempts\":") + 11, NULL, 10));
    else
        atomic_fetch_add(&c->failures, 1);
    hf_buffer_free(&receipt);
    return NULL;
}

static void many_that_change_one_entity_at_once_get_through_in_few_attempts(fixture *f) {
    crowd c = {.r = open_room(f, NULL)};
    save(c.r.things, NULL, "{\"id\":\"hot\",\"n\":0}");
    pthread_barrier_init(&c.start, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_once, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&c.start);
    assert_int_equal(atomic_load(&c.failures), 0);
    assert_int_equal(integer_in(c.r.things, NULL, "hot", "n"), THREADS);
    if (atomic_load(&c.attempts) > 3 * THREADS)
        fail_msg("%ld attempts for %d transactions", atomic_load(&c.attempts), THREADS);
    close_room(c.r);
}

/* --- Turns -------------------------------------------------------------------------------------- */

/* A transaction that has just lost a race for an entity. */
static hf_transaction *loser(room r, const char *id) {
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"%s\"}", id);
    save(r.things, NULL, json);
    hf_transaction *t = begin(r.store, NULL);
    bool contains;
    expect_ok(hf_repository_contains, r.things, t, id, HF_NTS, &contains);
    save(r.things, t, json);
    save(r.things, NULL, json);
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    return t;
}

typedef struct attempt {
    hf_transaction *transaction;
    hf_future *turn;
} attempt;

static attempt again(hf_transaction *lost) {
    attempt a = {0};
    expect_ok(hf_transaction_retry, lost, NULL, &a.transaction, &a.turn);
    hf_transaction_free(lost);
    return a;
}

static void expect_turn(attempt a, bool has_come) {
    expect(has_come ? HF_OK : HF_TIMEOUT, hf_future_wait, a.turn, NULL, has_come ? 120000 : 0, NULL, NULL);
}

static void free_attempt(attempt a) {
    hf_future_free(a.turn);
    hf_transaction_free(a.transaction);
}

static void losers_have_their_turn_one_after_the_other_in_the_order_in_which_they_asked(room r) {
    attempt a[5];
    for (int i = 0; i < 5; i++)
        a[i] = again(loser(r, "hot"));
    attempt elsewhere = again(loser(r, "cold"));
    expect_turn(a[0], true);
    expect_turn(elsewhere, true);
    expect_turn(a[1], false);
    save(r.things, a[0].transaction, "{\"id\":\"hot\",\"by\":0}");
    expect_ok(hf_transaction_commit, a[0].transaction, NULL);
    expect_turn(a[1], true);
    expect_turn(a[2], false);
    expect_ok(hf_transaction_rollback, a[1].transaction);
    expect_turn(a[2], true);
    /* Who never waits gives up its place. */
    free_attempt(a[3]);
    expect_turn(a[4], false);
    save(r.things, a[2].transaction, "{\"id\":\"hot\",\"by\":2}");
    recorder *recorder = new_recorder(1);
    expect_ok(hf_transaction_submit, a[2].transaction, record_event, new_ticket(recorder, 0), free_ticket);
    expect_turn(a[4], true);
    wait_for_freed(recorder, 1);
    free_recorder(recorder);
    for (int i = 0; i < 5; i++)
        if (i != 3)
            free_attempt(a[i]);
    free_attempt(elsewhere);
}

/* As one whose key another has used meanwhile. */
static void who_fails_by_anything_but_a_conflict_gives_up_its_turn_whoever_waits_for_the_commit(room r) {
    hf_transaction *t = begin(r.store, "{\"idempotency_key\":\"used\"}");
    save(r.things, t, "{\"id\":\"used\"}");
    expect_ok(hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    attempt a[3];
    for (int i = 0; i < 3; i++) {
        hf_transaction *lost = loser(r, "hot");
        expect_ok(hf_transaction_retry, lost, "{\"idempotency_key\":\"used\"}", &a[i].transaction,
                  &a[i].turn);
        hf_transaction_free(lost);
    }
    for (int i = 0; i < 2; i++) {
        hf_future *outcome;
        expect_turn(a[i], true);
        save(r.things, a[i].transaction, "{\"id\":\"hot\",\"by\":1}");
        if (i == 0) {
            expect(HF_KEY_REUSED, hf_transaction_commit, a[i].transaction, NULL);
        } else {
            expect_ok(hf_transaction_submit_future, a[i].transaction, &outcome);
            expect(HF_KEY_REUSED, hf_future_wait, outcome, NULL, 120000, NULL, NULL);
            hf_future_free(outcome);
        }
        /* Once its end is told. */
        expect(HF_OK, hf_future_wait, a[i + 1].turn, NULL, 0, NULL, NULL);
    }
    for (int i = 0; i < 3; i++)
        free_attempt(a[i]);
}

static void who_loses_once_more_keeps_its_turn(room r) {
    attempt first = again(loser(r, "hot")), second = again(loser(r, "hot"));
    for (int i = 0; i < 3; i++) {
        expect_turn(first, true);
        bool contains;
        expect_ok(hf_repository_contains, r.things, first.transaction, "hot", HF_NTS, &contains);
        save(r.things, first.transaction, "{\"id\":\"hot\",\"by\":1}");
        save(r.things, NULL, "{\"id\":\"hot\",\"by\":2}");
        expect(HF_CONFLICT, hf_transaction_commit, first.transaction, NULL);
        expect_turn(second, false);
        hf_future_free(first.turn);
        first = again(first.transaction);
    }
    free_attempt(first);
    expect_turn(second, true);
    free_attempt(second);
}

static void a_turn_that_lasts_long_holds_up_nobody_for_ever(room r) {
    attempt forgotten = again(loser(r, "hot")), next = again(loser(r, "hot"));
    expect_turn(forgotten, true);
    expect_turn(next, true);
    free_attempt(next);
    free_attempt(forgotten);
}

static void nobody_waits_for_a_turn_in_a_store_that_closes(room r) {
    attempt first = again(loser(r, "hot")), second = again(loser(r, "hot"));
    expect_ok(hf_store_close, r.store, -1);
    expect(HF_CLOSED, hf_future_wait, second.turn, NULL, 120000, NULL, NULL);
    free_attempt(first);
    free_attempt(second);
}

static void only_what_has_failed_or_was_rolled_back_is_begun_again(fixture *f) {
    room r = open_room(f, NULL);
    hf_transaction *t = begin(r.store, NULL), *next = NULL;
    hf_future *turn = NULL;
    expect(HF_INVALID_STATE, hf_transaction_retry, t, NULL, &next, &turn);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_commit, t, NULL);
    expect(HF_INVALID_STATE, hf_transaction_retry, t, NULL, &next, &turn);
    hf_transaction_free(t);
    t = begin(r.store, "{\"durability\":\"relaxed\"}");
    expect_ok(hf_transaction_rollback, t);
    expect(HF_INVALID_OPTION, hf_transaction_retry, t, "{\"speed\":1}", &next, &turn);
    assert_null(next);
    assert_null(turn);
    attempt a = again(t);
    expect_turn(a, true);
    save(r.things, a.transaction, "{\"id\":\"b\"}");
    hf_buffer receipt = HF_BUFFER_INIT;
    expect_ok(hf_transaction_commit, a.transaction, &receipt);
    /* With the options that it had. */
    assert_true(strcmp(f->engine, "sqlite") != 0 || strstr(receipt.data, "\"durable\":false") != NULL);
    hf_buffer_free(&receipt);
    free_attempt(a);
    close_room(r);
}

int main(void) {
    /* So that a busy machine is not taken for one who forgot its turn. Unless others are drawn. */
    setenv("HOLDFAST_LIMITS", "longestRetry=5000000000", 0);
    static const scenario scenarios[] = {
        EACH_ENGINE(many_that_change_one_entity_at_once_get_through_in_few_attempts),
        EACH_ENGINE(losers_have_their_turn_one_after_the_other_in_the_order_in_which_they_asked),
        EACH_ENGINE(who_fails_by_anything_but_a_conflict_gives_up_its_turn_whoever_waits_for_the_commit),
        EACH_ENGINE(who_loses_once_more_keeps_its_turn),
        EACH_ENGINE(a_turn_that_lasts_long_holds_up_nobody_for_ever),
        EACH_ENGINE(nobody_waits_for_a_turn_in_a_store_that_closes),
        EACH_ENGINE(only_what_has_failed_or_was_rolled_back_is_begun_again),
    };
    return run_scenarios("retries", scenarios, COUNT_OF(scenarios));
}
