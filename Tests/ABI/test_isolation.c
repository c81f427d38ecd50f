/* Isolation: which histories of two transactions are refused, and which are not. Each scenario interleaves
 * by hand what in life two threads would do. */
#include "support.h"

typedef struct pair {
    hf_store *store;
    hf_repository *accounts;
    hf_transaction *one, *two;
} pair;

/* Two accounts of 100 each, and two open transactions. */
static pair open_pair(const fixture *f, const char *options) {
    pair p = {open_store(f, NULL), NULL, NULL, NULL};
    p.accounts = open_repository(p.store, "accounts");
    save(p.accounts, NULL, "{\"id\":\"a\",\"n\":100}");
    save(p.accounts, NULL, "{\"id\":\"b\",\"n\":100}");
    p.one = begin(p.store, options);
    p.two = begin(p.store, options);
    return p;
}

static void close_pair(pair p) {
    hf_transaction_free(p.one), hf_transaction_free(p.two);
    hf_repository_free(p.accounts);
    hf_store_free(p.store);
}

static void in_pair(fixture *f, void (*scenario)(void)) {
    pair p = open_pair(f, NULL);
    ((void (*)(pair))scenario)(p);
    close_pair(p);
}
#undef OWN_SETTINGS
#define OWN_SETTINGS void (*)(pair) : in_pair,

static void put(pair p, hf_transaction *t, const char *id, int n) {
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"%s\",\"n\":%d}", id, n);
    save(p.accounts, t, json);
}

static int64_t get(pair p, hf_transaction *t, const char *id) { return integer_in(p.accounts, t, id, "n"); }

#define expect_commit(p, t) expect_ok(hf_transaction_commit, (p).t, NULL)
#define expect_conflict(p, t) expect(HF_CONFLICT, hf_transaction_commit, (p).t, NULL)

static void a_lost_update_is_refused(pair p) {
    put(p, p.one, "a", (int)get(p, p.one, "a") + 10);
    put(p, p.two, "a", (int)get(p, p.two, "a") + 1);
    expect_commit(p, one);
    hf_error *error = error_of(HF_CONFLICT, hf_transaction_commit, p.two, NULL);
    assert_true(hf_error_is_retryable(error));
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_NONE);
    assert_non_null(strstr(hf_error_detail(error, NULL), "\"ids\""));
    assert_non_null(strstr(hf_error_detail(error, NULL), "\"a\""));
    hf_error_free(error);
    assert_int_equal(get(p, NULL, "a"), 110);
    expect_state(p.two, HF_TRANSACTION_FAILED);
    expect(HF_INVALID_STATE, hf_transaction_rollback, p.two);
}

static void a_read_repeats_itself_and_does_not_move(pair p) {
    assert_int_equal(get(p, p.one, "a"), 100);
    put(p, NULL, "a", 1);
    put(p, NULL, "b", 1);
    assert_int_equal(get(p, p.one, "a"), 100);
    assert_int_equal(get(p, p.one, "b"), 100);
    expect_ok(hf_repository_delete, p.accounts, NULL, "a", 1, 0);
    assert_int_equal(get(p, p.one, "a"), 100);
    expect_count(p.accounts, p.one, NULL, 2);
    expect_commit(p, one);
}

static void the_snapshot_is_fixed_at_the_first_read_and_not_at_begin(pair p) {
    put(p, NULL, "a", 5);
    assert_int_equal(get(p, p.one, "a"), 5);
    put(p, NULL, "a", 6);
    assert_int_equal(get(p, p.one, "a"), 5);
}

static void write_skew_is_refused(pair p) {
    put(p, p.one, "a", (int)(get(p, p.one, "a") - get(p, p.one, "b")));
    put(p, p.two, "b", (int)(get(p, p.two, "b") - get(p, p.two, "a")));
    expect_commit(p, one);
    expect_conflict(p, two);
    assert_int_equal(get(p, NULL, "b"), 100);
}

/* Of a transaction that has counted two accounts of 100, and writes so, while another account gets n. */
static void expect_conflict_of_a_count(pair p, const char *id, int n) {
    expect_count(p.accounts, p.one, "{\"n\":100}", 2);
    put(p, p.one, "sum", 2);
    put(p, NULL, id, n);
    expect_conflict(p, one);
}

static void a_phantom_in_a_count_is_refused(pair p) { expect_conflict_of_a_count(p, "c", 100); }

static void a_phantom_in_a_query_with_a_limit_is_refused(pair p) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_find, p.accounts, p.one, "{\"n\":100}", HF_NTS, "{\"limit\":1}", &list);
    hf_entity_list_free(&list);
    put(p, p.one, "sum", 1);
    put(p, NULL, "c", 100);
    expect_conflict(p, one);
}

static void an_entity_that_leaves_a_query_is_refused(pair p) { expect_conflict_of_a_count(p, "a", 1); }

static void a_change_beside_the_query_is_no_conflict(pair p) {
    expect_count(p.accounts, p.one, "{\"n\":100}", 2);
    put(p, p.one, "sum", 2);
    put(p, NULL, "c", 7);
    put(p, NULL, "c", 8);
    expect_commit(p, one);
    assert_int_equal(get(p, NULL, "sum"), 2);
}

static void an_entity_found_missing_that_appears_is_refused(pair p) {
    expect_absent(p.accounts, p.one, "c");
    put(p, p.one, "sum", 2);
    put(p, NULL, "c", 1);
    expect_conflict(p, one);
}

static void adding_the_same_id_twice_is_refused(pair p) {
    expect_ok(hf_repository_add, p.accounts, p.one, "{\"id\":\"c\"}", HF_NTS, NULL);
    expect_ok(hf_repository_add, p.accounts, p.two, "{\"id\":\"c\"}", HF_NTS, NULL);
    expect_commit(p, one);
    expect_conflict(p, two);
}

static void every_way_of_reading_counts(fixture *f) {
    for (int way = 0; way < 8; way++) {
        pair p = open_pair(f, NULL);
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        uint64_t n;
        bool contains;
        switch (way) {
        case 0:
            expect_ok(hf_repository_contains, p.accounts, p.one, "a", 1, &contains);
            break;
        case 1:
            expect_ok(hf_repository_fetch_many, p.accounts, p.one, "[\"a\"]", HF_NTS, &list);
            break;
        case 2:
            expect_ok(hf_repository_fetch_all, p.accounts, p.one, &list);
            break;
        case 3:
            expect_ok(hf_repository_count, p.accounts, p.one, NULL, 0, NULL, &n);
            break;
        case 4:
            expect_ok(hf_repository_update, p.accounts, p.one, "{\"id\":\"a\"}", HF_NTS, 0, NULL);
            break;
        case 5:
            expect_ok(hf_repository_patch, p.accounts, p.one, "a", 1, "{\"m\":1}", HF_NTS, 0, NULL);
            break;
        case 6:
            expect_ok(hf_repository_delete, p.accounts, p.one, "a", 1, 0);
            break;
        case 7:
            expect_ok(hf_repository_delete_all, p.accounts, p.one, "{\"n\":100}", HF_NTS, NULL, &n);
            break;
        }
        put(p, p.one, "sum", way);
        expect_ok(hf_repository_delete, p.accounts, NULL, "a", 1, 0);
        expect_conflict(p, one);
        hf_entity_list_free(&list);
        expect_ok(hf_repository_delete_all, p.accounts, NULL, NULL, 0, NULL, NULL);
        close_pair(p);
    }
}

static void a_transaction_that_only_saves_never_conflicts(pair p) {
    put(p, p.one, "a", 1);
    put(p, p.two, "a", 2);
    expect_commit(p, one);
    expect_commit(p, two);
    assert_int_equal(get(p, NULL, "a"), 2);
}

static void a_transaction_that_wrote_nothing_never_conflicts(pair p) {
    expect_count(p.accounts, p.one, NULL, 2);
    put(p, NULL, "a", 1);
    put(p, NULL, "c", 1);
    expect_commit(p, one);
}

static void under_snapshot_isolation_write_skew_passes_and_a_lost_update_does_not(fixture *f) {
    pair p = open_pair(f, "{\"isolation\":\"snapshot\"}");
    put(p, p.one, "a", (int)get(p, p.one, "b"));
    put(p, p.two, "b", (int)get(p, p.two, "a") + 1);
    expect_commit(p, one);
    expect_commit(p, two);
    assert_int_equal(get(p, NULL, "b"), 101);
    hf_transaction_free(p.one), hf_transaction_free(p.two);

    p.one = begin(p.store, "{\"isolation\":\"snapshot\"}");
    p.two = begin(p.store, "{\"isolation\":\"snapshot\"}");
    put(p, p.one, "a", (int)get(p, p.one, "a") + 1);
    put(p, p.two, "a", (int)get(p, p.two, "a") + 1);
    expect_commit(p, one);
    expect_conflict(p, two);
    close_pair(p);
}

static void under_snapshot_isolation_the_first_committer_wins_also_where_the_second_has_not_read(fixture *f) {
    pair p = open_pair(f, "{\"isolation\":\"snapshot\"}");
    put(p, p.one, "a", (int)get(p, p.one, "b") + 1);
    put(p, p.two, "a", (int)get(p, p.two, "b") + 2);
    expect_commit(p, one);
    expect_conflict(p, two);
    assert_int_equal(get(p, NULL, "a"), 101);
    close_pair(p);
}

static void outside_a_transaction_a_write_is_judged_on_the_newest_state(pair p) {
    assert_int_equal(get(p, p.one, "a"), 100);
    put(p, NULL, "a", 1);
    expect_ok(hf_repository_patch, p.accounts, NULL, "a", 1, "{\"m\":1}", HF_NTS, 0, NULL);
    expect_entity(p.accounts, NULL, "a", "{\"id\":\"a\",\"n\":1,\"m\":1}");
    expect_ok(hf_repository_delete, p.accounts, NULL, "a", 1, 0);
    expect(HF_NOT_FOUND, hf_repository_update, p.accounts, NULL, "{\"id\":\"a\"}", HF_NTS, 0, NULL);
    expect_ok(hf_repository_add, p.accounts, NULL, "{\"id\":\"a\"}", HF_NTS, NULL);
    expect(HF_EXISTS, hf_repository_add, p.accounts, NULL, "{\"id\":\"a\"}", HF_NTS, NULL);
}

static void a_snapshot_taken_back_moves_forward_unless_what_was_read_has_changed(fixture *f) {
    room r = open_room(f, "{\"max_snapshots\":1,\"snapshot_max_age_ms\":100}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":1}");
    hf_transaction *lucky = begin(r.store, NULL), *unlucky = begin(r.store, NULL);
    assert_int_equal(integer_in(r.things, lucky, "a", "n"), 1);
    assert_int_equal(integer_in(r.things, unlucky, "b", "n"), 1);
    /* Other snapshots press theirs out. */
    for (int i = 2; i < 6; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"b\",\"n\":%d}", i);
        save(r.things, NULL, json);
        sleep_milliseconds(120);
        hf_transaction *other = begin(r.store, NULL);
        assert_int_equal(integer_in(r.things, other, "b", "n"), i);
        hf_transaction_free(other);
    }
    /* Whether or not it was taken back: what it read has not changed, and it reads on and commits. */
    assert_int_equal(integer_in(r.things, lucky, "a", "n"), 1);
    save(r.things, lucky, "{\"id\":\"c\"}");
    expect_ok(hf_transaction_commit, lucky, NULL);
    hf_entity entity = HF_ENTITY_INIT;
    hf_error *error = NULL;
    hf_status status = hf_repository_fetch(r.things, unlucky, "b", 1, &entity, &error);
    if (status == HF_OK) {
        assert_string_equal(entity.data, "{\"id\":\"b\",\"n\":1}");
    } else {
        assert_int_equal(status, HF_CONFLICT);
        assert_true(hf_error_is_retryable(error));
    }
    hf_error_free(error);
    hf_entity_free(&entity);
    hf_transaction_free(lucky), hf_transaction_free(unlucky);
    close_room(r);
}

/* Where the transaction cannot go on with a newer snapshot. */
static void expect_to_be_taken_back(hf_repository *accounts, hf_transaction *t) {
    hf_status status = HF_OK;
    for (int i = 0; i < 12000 && status != HF_CONFLICT; i++) {
        hf_entity entity = HF_ENTITY_INIT;
        sleep_milliseconds(10);
        status = hf_repository_fetch(accounts, t, "c", 1, &entity, NULL);
        hf_entity_free(&entity);
    }
    assert_int_equal(status, HF_CONFLICT);
}

static void a_snapshot_that_grows_too_old_is_taken_back(fixture *f) {
    room r = open_room(f, "{\"snapshot_max_age_ms\":100}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    expect_absent(r.things, t, "b");
    assert_int_equal(integer_in(r.things, t, "a", "n"), 1);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":2}");
    expect_to_be_taken_back(r.things, t);
    hf_transaction_free(t);
    close_room(r);
}

static void a_snapshot_taken_back_does_not_move_past_what_a_query_would_find_now(fixture *f) {
    room r = open_room(f, "{\"snapshot_max_age_ms\":100}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    expect_count(r.things, t, "{\"n\":1}", 1);
    save(r.things, NULL, "{\"id\":\"b\",\"n\":1}");
    expect_to_be_taken_back(r.things, t);
    hf_transaction_free(t);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_lost_update_is_refused),
        EACH_ENGINE(a_read_repeats_itself_and_does_not_move),
        EACH_ENGINE(the_snapshot_is_fixed_at_the_first_read_and_not_at_begin),
        EACH_ENGINE(write_skew_is_refused),
        EACH_ENGINE(a_phantom_in_a_count_is_refused),
        EACH_ENGINE(a_phantom_in_a_query_with_a_limit_is_refused),
        EACH_ENGINE(an_entity_that_leaves_a_query_is_refused),
        EACH_ENGINE(a_change_beside_the_query_is_no_conflict),
        EACH_ENGINE(an_entity_found_missing_that_appears_is_refused),
        EACH_ENGINE(adding_the_same_id_twice_is_refused),
        EACH_ENGINE(every_way_of_reading_counts),
        EACH_ENGINE(a_transaction_that_only_saves_never_conflicts),
        EACH_ENGINE(a_transaction_that_wrote_nothing_never_conflicts),
        EACH_ENGINE(under_snapshot_isolation_write_skew_passes_and_a_lost_update_does_not),
        EACH_ENGINE(under_snapshot_isolation_the_first_committer_wins_also_where_the_second_has_not_read),
        EACH_ENGINE(outside_a_transaction_a_write_is_judged_on_the_newest_state),
        EACH_ENGINE(a_snapshot_taken_back_moves_forward_unless_what_was_read_has_changed),
        EACH_ENGINE(a_snapshot_that_grows_too_old_is_taken_back),
        EACH_ENGINE(a_snapshot_taken_back_does_not_move_past_what_a_query_would_find_now),
    };
    return run_scenarios("isolation", scenarios, COUNT_OF(scenarios));
}
