/* The cache serves what is committed: never what is not, nothing older than the last completed commit, and to
 * a transaction nothing newer than its snapshot. Each scenario runs with the general list and with a policy.
 */
#include "support.h"

#include <malloc.h>

enum { RACING_IDS = 4, RACERS = 4, RACES = 400, SAVERS = 100, HELD = 20000 };

static const char *const opened_with[] = {
    NULL, "{\"cache\":{}}", "{\"cache\":{\"strategy\":\"fifo\",\"max_entries\":3,\"time_to_live_ms\":1}}"};

static hf_repository *open_things(hf_store *store, size_t how) {
    hf_repository *things = NULL;
    expect_ok(hf_repository_open, store, "things", opened_with[how], &things);
    return things;
}

/* Runs a scenario with the general list, and with a list of its own. */
static void run_both(const fixture *f, void (*run)(hf_store *store, hf_repository *things)) {
    for (size_t how = 0; how < 2; how++) {
        hf_store *store = open_store(f, NULL);
        hf_repository *things = open_things(store, how);
        save(things, NULL, "{\"id\":\"a\",\"n\":1}");
        save(things, NULL, "{\"id\":\"b\",\"n\":1}");
        assert_int_equal(integer_in(things, NULL, "a", "n"), 1);
        assert_int_equal(integer_in(things, NULL, "b", "n"), 1);
        run(store, things);
        expect_ok(hf_repository_delete_all, things, NULL, NULL, 0, NULL, NULL);
        assert_int_equal(cache_number(things, "entries"), 0);
        expect_absent(things, NULL, "b");
        hf_repository_free(things);
        hf_store_free(store);
    }
}

/* Reads "n" of an entity, which must come from the cache. */
static void expect_cached(hf_repository *things, const char *id, int64_t n) {
    int64_t before = cache_number(things, "hits");
    assert_int_equal(integer_in(things, NULL, id, "n"), n);
    assert_int_equal(cache_number(things, "hits"), before + 1);
}

/* --- Reading and writing ------------------------------------------------------------------------ */

static void read_again(hf_store *store, hf_repository *things) {
    (void)store;
    expect_cached(things, "a", 1);
    expect_cached(things, "a", 1);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    int64_t misses = cache_number(things, "misses");
    expect_ok(hf_repository_fetch_many, things, NULL, "[\"a\",\"b\"]", HF_NTS, &list);
    assert_string_equal(list.json, "[{\"id\":\"a\",\"n\":1},{\"id\":\"b\",\"n\":1}]");
    assert_int_equal(cache_number(things, "misses"), misses);
    hf_entity_list_free(&list);
}

static void what_was_read_is_not_read_from_the_storage_again(fixture *f) { run_both(f, read_again); }

static void look_for_what_is_missing(hf_store *store, hf_repository *things) {
    (void)store;
    int64_t entries = cache_number(things, "entries"), misses = cache_number(things, "misses");
    for (int i = 0; i < 3; i++)
        expect_absent(things, NULL, "missing");
    assert_int_equal(cache_number(things, "entries"), entries);
    assert_int_equal(cache_number(things, "misses"), misses + 3);
    save(things, NULL, "{\"id\":\"missing\",\"n\":1}");
    assert_int_equal(integer_in(things, NULL, "missing", "n"), 1);
}

static void that_there_is_none_is_not_remembered(fixture *f) { run_both(f, look_for_what_is_missing); }

static void change(hf_store *store, hf_repository *things) {
    (void)store;
    save(things, NULL, "{\"id\":\"a\",\"n\":2}");
    expect_cached(things, "a", 2);
    expect_ok(hf_repository_patch, things, NULL, "a", HF_NTS, "{\"n\":3}", HF_NTS, 0, NULL);
    expect_cached(things, "a", 3);
    int64_t invalidations = cache_number(things, "invalidations");
    expect_ok(hf_repository_delete, things, NULL, "a", HF_NTS, 0);
    assert_int_equal(cache_number(things, "invalidations"), invalidations + 1);
    expect_absent(things, NULL, "a");
    save(things, NULL, "{\"id\":\"a\",\"n\":4}");
    assert_int_equal(integer_in(things, NULL, "a", "n"), 4);
}

static void what_is_committed_is_read_next(fixture *f) { run_both(f, change); }

static void roll_back(hf_store *store, hf_repository *things) {
    int64_t fills = cache_number(things, "fills");
    hf_transaction *t = begin(store, NULL);
    save(things, t, "{\"id\":\"a\",\"n\":2}");
    expect_ok(hf_repository_delete, things, t, "b", HF_NTS, 0);
    save(things, t, "{\"id\":\"c\",\"n\":2}");
    assert_int_equal(integer_in(things, t, "a", "n"), 2);
    /* While it is open nobody else sees any of it. */
    expect_cached(things, "a", 1);
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);
    expect_cached(things, "a", 1);
    expect_cached(things, "b", 1);
    expect_absent(things, NULL, "c");
    assert_int_equal(cache_number(things, "fills"), fills);
}

static void a_rollback_leaves_the_committed_value(fixture *f) { run_both(f, roll_back); }

static void be_refused(hf_store *store, hf_repository *things) {
    int64_t fills = cache_number(things, "fills"), entries = cache_number(things, "entries");
    expect(HF_EXISTS, hf_repository_add, things, NULL, "{\"id\":\"a\",\"n\":2}", HF_NTS, NULL);
    expect(HF_VERSION_MISMATCH, hf_repository_update, things, NULL, "{\"id\":\"a\",\"n\":2}", HF_NTS,
           UINT64_C(999999), NULL);
    expect(HF_VERSION_MISMATCH, hf_repository_delete, things, NULL, "b", HF_NTS, UINT64_C(999999));
    expect(HF_EXISTS, hf_repository_add_many, things, NULL, "[{\"id\":\"c\"},{\"id\":\"a\"}]", HF_NTS, NULL);
    /* A conflict: what it read has changed. */
    hf_transaction *t = begin(store, NULL);
    (void)integer_in(things, t, "b", "n");
    save(things, t, "{\"id\":\"a\",\"n\":9}");
    save(things, NULL, "{\"id\":\"b\",\"n\":2}");
    fills++;
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    assert_int_equal(cache_number(things, "fills"), fills);
    assert_int_equal(cache_number(things, "entries"), entries);
    expect_cached(things, "a", 1);
    expect_cached(things, "b", 2);
    expect_absent(things, NULL, "c");
}

static void a_write_that_fails_leaves_the_cache_as_it_was(fixture *f) { run_both(f, be_refused); }

static void read_the_past(hf_store *store, hf_repository *things) {
    hf_transaction *t = begin(store, NULL);
    assert_int_equal(integer_in(things, t, "b", "n"), 1);
    save(things, NULL, "{\"id\":\"a\",\"n\":2}");
    save(things, NULL, "{\"id\":\"c\",\"n\":2}");
    expect_cached(things, "a", 2);
    (void)integer_in(things, NULL, "c", "n");
    /* Its snapshot is older than both. */
    assert_int_equal(integer_in(things, t, "a", "n"), 1);
    expect_absent(things, t, "c");
    /* What it read from the past did not become the present. */
    expect_cached(things, "a", 2);
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);
}

static void a_transaction_sees_nothing_newer_than_its_snapshot(fixture *f) { run_both(f, read_the_past); }

/* --- Dropping ----------------------------------------------------------------------------------- */

static void invalidate(hf_store *store, hf_repository *things) {
    (void)store;
    expect_ok(hf_repository_invalidate_cache, things, "a", 1);
    expect_ok(hf_repository_invalidate_cache, things, "nothing of this name", HF_NTS);
    expect(HF_INVALID_ID, hf_repository_invalidate_cache, things, "", HF_NTS);
    expect(HF_INVALID_ARGUMENT, hf_repository_invalidate_cache, things, NULL, 1);
    assert_int_equal(cache_number(things, "entries"), 1);
    assert_int_equal(cache_number(things, "invalidations"), 1);
    expect_cached(things, "b", 1);
    int64_t misses = cache_number(things, "misses");
    assert_int_equal(integer_in(things, NULL, "a", "n"), 1);
    assert_int_equal(cache_number(things, "misses"), misses + 1);
    expect_ok(hf_repository_invalidate_cache, things, NULL, 0);
    assert_int_equal(cache_number(things, "entries"), 0);
    assert_int_equal(cache_number(things, "bytes"), 0);
    assert_int_equal(cache_number(things, "invalidations"), 3);
    expect_count(things, NULL, NULL, 2);
    assert_int_equal(integer_in(things, NULL, "a", "n"), 1);
}

static void invalidating_drops_entries_and_no_data(fixture *f) { run_both(f, invalidate); }

static void trim(hf_store *store, hf_repository *things) {
    (void)store;
    /* Read in this order, so this is the order in which they go. */
    for (int i = 0; i < 5; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"%d\",\"n\":%d}", i, i);
        save(things, NULL, json);
        assert_int_equal(integer_in(things, NULL, (char[]){(char)('0' + i), 0}, "n"), i);
    }
    static const int left[] = {4, 2, 1, 0, 0};
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        expect_ok(hf_repository_trim_cache, things, HF_TRIM_WARNING);
        assert_int_equal(cache_number(things, "entries"), left[i]);
        if (left[i] > 0)
            expect_cached(things, "4", 4);
    }
    assert_int_equal(cache_number(things, "evictions"), 7);
    assert_int_equal(integer_in(things, NULL, "0", "n"), 0);
    assert_int_equal(integer_in(things, NULL, "1", "n"), 1);
    expect_ok(hf_repository_trim_cache, things, HF_TRIM_CRITICAL);
    assert_int_equal(cache_number(things, "entries"), 0);
    expect(HF_INVALID_ARGUMENT, hf_repository_trim_cache, things, (hf_trim_level)7);
    assert_int_equal(integer_in(things, NULL, "0", "n"), 0);
}

static void a_warning_evicts_half_and_a_critical_one_all(fixture *f) { run_both(f, trim); }

/* --- Telling ------------------------------------------------------------------------------------ */

static void the_store_s_numbers_are_the_sum_of_its_repositories(fixture *f) {
    hf_store *store = open_store(f, "{\"cache_bytes\":1000000}");
    hf_repository *things = open_things(store, 1), *others = open_repository(store, "others");
    save(things, NULL, "{\"id\":\"a\",\"n\":1}");
    save(others, NULL, "{\"id\":\"a\",\"n\":1}");
    for (int i = 0; i < 3; i++) {
        (void)integer_in(things, NULL, "a", "n");
        (void)integer_in(others, NULL, "a", "n");
    }
    expect_absent(things, NULL, "b");
    expect_ok(hf_repository_trim_cache, others, HF_TRIM_CRITICAL);
    json_t *description = describe(store), *cache = json_object_get(description, "cache");
    static const char *const names[] = {"hits",        "misses",        "fills",   "evictions",
                                        "expirations", "invalidations", "entries", "bytes"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(json_integer_value(json_object_get(cache, names[i])),
                         cache_number(things, names[i]) + cache_number(others, names[i]));
    assert_int_equal(cache_number(things, "hits"), 3);
    assert_int_equal(cache_number(others, "hits"), 2);
    json_t *policy = json_object_get(cache, "policy");
    assert_int_equal(json_integer_value(json_object_get(policy, "max_bytes")), 1000000);
    json_decref(description);
    expect_ok(hf_store_close, store, -1);
    hf_buffer statistics = HF_BUFFER_INIT;
    expect(HF_CLOSED, hf_repository_cache_statistics, things, &statistics);
    hf_repository_free(others);
    hf_repository_free(things);
    hf_store_free(store);
}

/* As the allocator counts, which keeps a few of the blocks for the thread that has freed them: what letting
 * go of all gives back is what was told to be held. */
static void what_is_held_is_what_letting_go_of_it_gives_back(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *things = open_things(store, 1);
    hf_transaction *t = begin(store, NULL);
    for (int i = 0; i < HELD; i++) {
        char json[400];
        snprintf(json, sizeof json, "{\"id\":\"%d\",\"text\":\"%0*d\"}", i, i % 300 + 1, i);
        save(things, t, json);
    }
    commit_quietly(t);
    int64_t held = cache_number(things, "held_bytes");
    assert_int_equal(cache_number(things, "entries"), HELD);
    assert_true(held > HELD * 150);
    struct mallinfo2 before = mallinfo2();
    expect_ok(hf_repository_trim_cache, things, HF_TRIM_CRITICAL);
    struct mallinfo2 after = mallinfo2();
    held -= cache_number(things, "held_bytes");
    int64_t given_back =
        (int64_t)(before.uordblks + before.hblkhd) - (int64_t)(after.uordblks + after.hblkhd);
    assert_in_range(given_back, held - held / 100, held + held / 100);
    hf_repository_free(things);
    hf_store_free(store);
}

/* --- Races -------------------------------------------------------------------------------------- */

/* The writes of one entity in order: the odd ones store it with their number, the even ones delete it. */
typedef struct history {
    atomic_long begun, done;
} history;

typedef struct race {
    hf_store *store;
    hf_repository *things;
    history histories[RACING_IDS];
    atomic_bool over;
    atomic_int wrong;
} race;

static const char *const racing_ids[RACING_IDS] = {"r", "ra", "rac", "race"};

static void *write_each(void *opaque) {
    race *r = opaque;
    char json[64];
    for (long k = 1; k <= (long)rounds(RACES); k++) {
        for (int i = 0; i < RACING_IDS; i++) {
            snprintf(json, sizeof json, "{\"id\":\"%s\",\"n\":%ld}", racing_ids[i], k);
            atomic_store(&r->histories[i].begun, k);
            hf_status status = k % 2 != 0
                                   ? hf_repository_save(r->things, NULL, json, HF_NTS, NULL, NULL)
                                   : hf_repository_delete(r->things, NULL, racing_ids[i], HF_NTS, 0, NULL);
            atomic_store(&r->histories[i].done, k);
            if (status != HF_OK)
                atomic_fetch_add(&r->wrong, 1);
        }
    }
    atomic_store(&r->over, true);
    return NULL;
}

static void *read_each(void *opaque) {
    race *r = opaque;
    hf_entity entity = HF_ENTITY_INIT;
    for (unsigned turn = 0; !atomic_load(&r->over); turn++) {
        int i = (int)(turn % RACING_IDS);
        if (turn % 64 == 0)
            hf_repository_trim_cache(r->things, HF_TRIM_WARNING, NULL);
        long done = atomic_load(&r->histories[i].done);
        hf_transaction *t = NULL;
        if (turn / RACING_IDS % 2 == 0 && hf_transaction_begin(r->store, NULL, &t, NULL) != HF_OK)
            atomic_fetch_add(&r->wrong, 1);
        hf_status status = hf_repository_fetch(r->things, t, racing_ids[i], HF_NTS, &entity, NULL);
        hf_transaction_free(t);
        long begun = atomic_load(&r->histories[i].begun), n = 0;
        if (status == HF_OK) {
            n = strtol(strstr(entity.data, "\"n\":") + 4, NULL, 10);
            if (n < done || n > begun)
                atomic_fetch_add(&r->wrong, 1);
        } else if (status != HF_NOT_FOUND || (done == begun && done % 2 != 0)) {
            atomic_fetch_add(&r->wrong, 1);
        }
    }
    hf_entity_free(&entity);
    return NULL;
}

static void no_read_is_older_than_a_commit_completed_before_it(fixture *f) {
    for (size_t how = 0; how < COUNT_OF(opened_with); how++) {
        race r = {.store = open_store(f, "{\"durability\":\"relaxed\"}")};
        r.things = open_things(r.store, how);
        pthread_t writer, readers[RACERS];
        for (int i = 0; i < RACERS; i++)
            assert_int_equal(pthread_create(&readers[i], NULL, read_each, &r), 0);
        assert_int_equal(pthread_create(&writer, NULL, write_each, &r), 0);
        pthread_join(writer, NULL);
        for (int i = 0; i < RACERS; i++)
            pthread_join(readers[i], NULL);
        assert_int_equal(atomic_load(&r.wrong), 0);
        for (int i = 0; i < RACING_IDS; i++)
            expect_absent(r.things, NULL, racing_ids[i]);
        hf_repository_free(r.things);
        hf_store_free(r.store);
    }
}

typedef struct saver {
    hf_repository *things;
    int number;
} saver;

static void *save_one(void *opaque) {
    saver *s = opaque;
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"%d\",\"n\":%d}", s->number, s->number);
    return hf_repository_save(s->things, NULL, json, HF_NTS, NULL, NULL) == HF_OK ? opaque : NULL;
}

static void a_hundred_parallel_saves_make_a_hundred_entries(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *things = open_things(store, 1);
    saver savers[SAVERS];
    pthread_t threads[SAVERS];
    for (int i = 0; i < SAVERS; i++) {
        savers[i] = (saver){things, i};
        assert_int_equal(pthread_create(&threads[i], NULL, save_one, &savers[i]), 0);
    }
    for (int i = 0; i < SAVERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    assert_int_equal(cache_number(things, "entries"), SAVERS);
    for (int i = 0; i < SAVERS; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", i);
        expect_cached(things, id, i);
    }
    hf_repository_free(things);
    hf_store_free(store);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(what_was_read_is_not_read_from_the_storage_again),
        EACH_ENGINE(that_there_is_none_is_not_remembered),
        EACH_ENGINE(what_is_committed_is_read_next),
        EACH_ENGINE(a_rollback_leaves_the_committed_value),
        EACH_ENGINE(a_write_that_fails_leaves_the_cache_as_it_was),
        NOT_ON_A_SERVER(a_transaction_sees_nothing_newer_than_its_snapshot),
        EACH_ENGINE(invalidating_drops_entries_and_no_data),
        EACH_ENGINE(a_warning_evicts_half_and_a_critical_one_all),
        EACH_ENGINE(the_store_s_numbers_are_the_sum_of_its_repositories),
        ONCE(what_is_held_is_what_letting_go_of_it_gives_back),
        EACH_ENGINE(no_read_is_older_than_a_commit_completed_before_it),
        EACH_ENGINE(a_hundred_parallel_saves_make_a_hundred_entries),
    };
    return run_scenarios("cache", scenarios, COUNT_OF(scenarios));
}
