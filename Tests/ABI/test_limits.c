/* Isolation beyond every limit of what is remembered, and patterns beyond what their compiled code may do.
 * With HOLDFAST_LIMITS, which is for tests alone, the library remembers three changes, and so what follows
 * holds whatever their number is as it is shipped. */
#include "indexes.h"

#include <sys/wait.h>

/* So many commits, each of so many entities. */
static void change_others(hf_repository *things, int commits, int entities) {
    static int number;
    for (int i = 0; i < commits; i++) {
        char *json = malloc((size_t)entities * 32 + 3);
        size_t length = 0;
        for (int j = 0; j < entities; j++)
            length += (size_t)sprintf(json + length, "%c{\"id\":\"other%d\"}", j == 0 ? '[' : ',', number++);
        length += (size_t)sprintf(json + length, "]");
        expect_ok(hf_repository_save_many, things, NULL, json, length, NULL);
        free(json);
    }
}

typedef void (*change)(hf_repository *things);

static void nothing(hf_repository *things) { (void)things; }
static void a_few_commits(hf_repository *things) { change_others(things, 10, 1); }
static void one_large_commit(hf_repository *things) { change_others(things, 1, 10); }
static void large_and_small(hf_repository *things) {
    change_others(things, 1, 4), change_others(things, 2, 1), change_others(things, 1, 3);
}
/* More than 100,000, which is how many are remembered as the library is shipped. */
static void very_many(hf_repository *things) { change_others(things, 101, 1000); }

/* What t writes at its end is not stored, whatever others have done meanwhile. */
static void expect_refusal(room r, hf_transaction *t, change others, const char *entity) {
    others(r.things);
    save(r.things, t, entity);
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
}

static void a_lost_update_is_refused_after(const fixture *f, change others) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"k\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    assert_int_equal(integer_in(r.things, t, "k", "n"), 1);
    save(r.things, NULL, "{\"id\":\"k\",\"n\":10}");
    expect_refusal(r, t, others, "{\"id\":\"k\",\"n\":2}");
    assert_int_equal(integer_in(r.things, NULL, "k", "n"), 10);
    close_room(r);
}

/* The same of a key that is only written, where the first committer wins. */
static void a_blind_write_is_refused_after(const fixture *f, change others) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"j\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"k\",\"n\":1}");
    hf_transaction *t = begin(r.store, "{\"isolation\":\"snapshot\"}");
    assert_int_equal(integer_in(r.things, t, "j", "n"), 1);
    expect_ok(hf_repository_delete, r.things, NULL, "k", 1, 0);
    expect_refusal(r, t, others, "{\"id\":\"k\",\"n\":2}");
    close_room(r);
}

static void a_phantom_is_refused_after(const fixture *f, change others) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"k\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    expect_count(r.things, t, "{\"n\":{\"$gt\":0}}", 1);
    save(r.things, NULL, "{\"id\":\"phantom\",\"n\":1}");
    expect_refusal(r, t, others, "{\"id\":\"total\",\"is\":1}");
    expect_absent(r.things, NULL, "total");
    close_room(r);
}

/* A match that ceased to match is a conflict too. */
static void a_match_that_left_is_refused_after(const fixture *f, change others) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"k\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    expect_count(r.things, t, "{\"n\":{\"$gt\":0}}", 1);
    expect_ok(hf_repository_delete, r.things, NULL, "k", 1, 0);
    expect_refusal(r, t, others, "{\"id\":\"total\",\"is\":1}");
    close_room(r);
}

/* Who holds no snapshot any more moves to a newer one, and must notice the same. */
static void who_moves_to_a_newer_snapshot_notices_after(const fixture *f, change others) {
    room r = open_room(f, "{\"max_snapshots\":1}");
    save(r.things, NULL, "{\"id\":\"k\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    assert_int_equal(integer_in(r.things, t, "k", "n"), 1);
    expect_count(r.things, t, "{\"n\":{\"$gt\":0}}", 1);
    save(r.things, NULL, "{\"id\":\"phantom\",\"n\":1}");
    others(r.things);
    hf_transaction *other = begin(r.store, NULL);
    expect_count(r.things, other, "{\"n\":{\"$gt\":0}}", 2);
    uint64_t count = 0;
    hf_error_free(
        error_of(HF_CONFLICT, hf_repository_count, r.things, t, "{\"n\":{\"$gt\":0}}", HF_NTS, NULL, &count));
    hf_transaction_free(t), hf_transaction_free(other);
    close_room(r);
}

/* Nothing that it read was changed, so it must get through, however much else was. */
static void what_did_not_change_is_no_conflict_after(const fixture *f, change others) {
    room r = open_room(f, NULL);
    hf_repository *accounts = open_repository(r.store, "accounts");
    save(accounts, NULL, "{\"id\":\"k\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    assert_int_equal(integer_in(accounts, t, "k", "n"), 1);
    expect_absent(accounts, t, "missing");
    expect_count(accounts, t, "{\"n\":{\"$gt\":0}}", 1);
    others(r.things);
    save(accounts, t, "{\"id\":\"k\",\"n\":2}");
    expect_ok(hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    assert_int_equal(integer_in(accounts, NULL, "k", "n"), 2);
    hf_repository_free(accounts);
    close_room(r);
}

static void each(const fixture *f, void (*check)(const fixture *, change)) {
    static const change changes[] = {nothing, a_few_commits, one_large_commit, large_and_small};
    fixture own = *f;
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        if (strcmp(f->engine, "memory") != 0)
            snprintf(own.url, sizeof own.url, "%s/store%zu.db", f->directory, i);
        check(&own, changes[i]);
    }
}

static void no_update_is_lost(fixture *f) { each(f, a_lost_update_is_refused_after); }
static void no_blind_write_passes(fixture *f) { each(f, a_blind_write_is_refused_after); }
static void no_phantom_passes(fixture *f) { each(f, a_phantom_is_refused_after); }
static void no_match_leaves_unseen(fixture *f) { each(f, a_match_that_left_is_refused_after); }
static void no_move_passes_over_a_change(fixture *f) { each(f, who_moves_to_a_newer_snapshot_notices_after); }
static void what_did_not_change_is_no_conflict(fixture *f) {
    each(f, what_did_not_change_is_no_conflict_after);
}

static void no_update_is_lost_after_very_many_changes(fixture *f) {
    a_lost_update_is_refused_after(f, very_many);
}
static void no_phantom_passes_after_very_many_changes(fixture *f) {
    a_phantom_is_refused_after(f, very_many);
}

static void a_pattern_beyond_its_steps_is_interpreted_and_finds_the_same(room r) {
    save(r.things, NULL, "{\"id\":\"1\",\"name\":\"\"}");
    save(r.things, NULL, "{\"id\":\"2\",\"name\":\"Anna and Otto\"}");
    save(r.things, NULL, "{\"id\":\"3\",\"name\":\"abcabcabcabc\"}");
    expect_count(r.things, NULL, "{\"name\":{\"$regex\":\"^$\"}}", 1);
    expect_count(r.things, NULL, "{\"name\":{\"$regex\":\"^(?:abc)*$\"}}", 2);
    expect_count(r.things, NULL,
                 "{\"name\":{\"$regex\":\"\\\\b(\\\\w)(\\\\w)\\\\2\\\\1\\\\b\",\"$options\":\"i\"}}", 1);
    expect_count(r.things, NULL, "{\"name\":{\"$not\":{\"$regex\":\"[^a-c]\"}}}", 2);
}

/* In a process of its own, because the library looks once. `check` answers which of its steps went wrong. */
static void with_limits(const char *limits, int (*check)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("HOLDFAST_LIMITS", limits, 1);
        _exit(check());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int opening_is_refused(void) {
    hf_store *store = NULL;
    return hf_store_open("memory:", NULL, &store, NULL) == HF_INVALID_OPTION ? 0 : 1;
}

static void a_limit_that_is_none_is_refused_at_open(fixture *f) {
    (void)f;
    with_limits("recentChanges=none", opening_is_refused);
}

static hf_store *a_store(void) {
    hf_store *store = NULL;
    hf_status status = hf_store_open("memory:", NULL, &store, NULL);
    return status == HF_OK ? store : NULL;
}

static hf_status begin_one(hf_store *store, hf_transaction **t) {
    return hf_transaction_begin(store, NULL, t, NULL);
}

/* The store's and the transaction's. */
static int two_handles_live(void) {
    hf_store *store = a_store();
    hf_transaction *first = NULL, *second = NULL;
    for (int round = 0; round < 5; round++) {
        if (begin_one(store, &first) != HF_OK)
            return 1;
        if (begin_one(store, &second) != HF_NO_MEMORY || second != NULL)
            return 2;
        hf_transaction_free(first);
    }
    return hf_transaction_commit(first, NULL, NULL) == HF_INVALID_HANDLE ? 0 : 3;
}

static void a_handle_more_than_there_may_be_is_refused_until_one_is_freed(fixture *f) {
    (void)f;
    with_limits("handles=2", two_handles_live);
}

/* The only place beside the store's is taken three times. */
static int three_handles_are_made(void) {
    hf_store *store = a_store();
    hf_transaction *made[3], *more = NULL;
    for (int i = 0; i < 3; i++) {
        if (begin_one(store, &made[i]) != HF_OK)
            return 1;
        for (int j = 0; j < i; j++) {
            if (made[j] == made[i] || hf_transaction_commit(made[j], NULL, NULL) != HF_INVALID_HANDLE)
                return 2;
        }
        hf_transaction_free(made[i]);
    }
    return begin_one(store, &more) == HF_NO_MEMORY && more == NULL ? 0 : 3;
}

static void no_handle_comes_back_when_its_place_is_used_up(fixture *f) {
    (void)f;
    with_limits("handles=2,handleGenerations=3", three_handles_are_made);
}

/* Each entity that is written has another one written, as long as its number is not 0. */
static hf_status write_the_next(hf_transaction *t, const char *id, size_t id_length, const char *entity,
                                size_t length, void *things, hf_error **out_error) {
    (void)id_length, (void)entity, (void)length;
    char text[64];
    int number = *id - '0';
    if (number == 0)
        return HF_OK;
    snprintf(text, sizeof text, "{\"id\":%d}", number - 1);
    return hf_repository_save(things, t, text, HF_NTS, NULL, out_error);
}

static int validators_write_twice(void) {
    hf_store *store = a_store();
    hf_repository *things = NULL;
    if (hf_repository_open(store, "things", NULL, &things, NULL) != HF_OK ||
        hf_repository_set_validator(things, write_the_next, things, NULL, NULL) != HF_OK)
        return 1;
    uint64_t count = 0;
    if (hf_repository_save(things, NULL, "{\"id\":1}", HF_NTS, NULL, NULL) != HF_OK ||
        hf_repository_count(things, NULL, NULL, 0, NULL, &count, NULL) != HF_OK || count != 2)
        return 2;
    if (hf_repository_save(things, NULL, "{\"id\":4}", HF_NTS, NULL, NULL) != HF_INVALID_STATE)
        return 3;
    return hf_repository_count(things, NULL, NULL, 0, NULL, &count, NULL) == HF_OK && count == 2 ? 0 : 4;
}

static void what_validators_write_is_validated_in_so_many_rounds(fixture *f) {
    (void)f;
    with_limits("validationRounds=2", validators_write_twice);
}

static void a_list_beyond_the_ranges_of_an_index_is_looked_for_as_a_whole(room r) {
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < 20; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":%d,\"n\":%d,\"even\":%d}", i, i, i % 2);
        save(r.things, t, json);
    }
    commit_quietly(t);
    create_index(r, "{\"fields\":{\"n\":1}}");
    create_index(r, "{\"fields\":{\"even\":1,\"n\":1}}");
    expect_count(r.things, NULL, "{\"n\":{\"$in\":[1,2,3]}}", 3);
    expect_count(r.things, NULL, "{\"n\":{\"$in\":[1,2,3,4]}}", 4);
    expect_count(r.things, NULL, "{\"n\":{\"$in\":[9,8,7,6,5,4,3,2,1,0,-1]}}", 10);
    expect_count(r.things, NULL, "{\"even\":{\"$in\":[0,1]},\"n\":{\"$in\":[1,2,3]}}", 3);
    expect_count(r.things, NULL, "{\"id\":{\"$in\":[1,2,3,4,5,6]}}", 6);
}

int main(void) {
    setenv("HOLDFAST_LIMITS",
           "recentChanges=3,checkPage=2,patternSteps=1,patternShortText=1,patternShort=1,patternLong=1,"
           "patternStackBytes=1,planRanges=3",
           1);
    static const scenario scenarios[] = {
        /* First, before this process looks. */
        ONCE(a_limit_that_is_none_is_refused_at_open),
        ONCE(a_handle_more_than_there_may_be_is_refused_until_one_is_freed),
        ONCE(no_handle_comes_back_when_its_place_is_used_up),
        ONCE(what_validators_write_is_validated_in_so_many_rounds),
        EACH_ENGINE(no_update_is_lost),
        EACH_ENGINE(no_blind_write_passes),
        EACH_ENGINE(no_phantom_passes),
        EACH_ENGINE(no_match_leaves_unseen),
        EACH_ENGINE(no_move_passes_over_a_change),
        EACH_ENGINE(what_did_not_change_is_no_conflict),
        ONCE(a_pattern_beyond_its_steps_is_interpreted_and_finds_the_same),
        EACH_ENGINE(a_list_beyond_the_ranges_of_an_index_is_looked_for_as_a_whole),
        ONCE(no_update_is_lost_after_very_many_changes),
        ONCE(no_phantom_passes_after_very_many_changes),
    };
    return run_scenarios("limits", scenarios, COUNT_OF(scenarios));
}
