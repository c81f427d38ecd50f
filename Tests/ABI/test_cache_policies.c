/* The policy of a repository's cache: which entries stay, for how long, and what fills it. */
#include "support.h"

/* A repository "things" with a policy and a clock that stands still until the test moves it. */
typedef struct policy_room {
    hf_store *store;
    hf_repository *things;
    atomic_ullong milliseconds;
    atomic_int freed;
} policy_room;

static uint64_t shown_time(void *user_data) {
    policy_room *r = user_data;
    return atomic_load(&r->milliseconds) * 1000000;
}

static void count_freed(void *user_data) {
    policy_room *r = user_data;
    atomic_fetch_add(&r->freed, 1);
}

static hf_repository *open_with_cache(hf_store *store, const char *name, const char *policy) {
    char options[200];
    hf_repository *repository = NULL;
    snprintf(options, sizeof options, "{\"cache\":%s}", policy);
    expect_ok(hf_repository_open, store, name, options, &repository);
    return repository;
}

static void open_policy_room(const fixture *f, policy_room *r, const char *policy) {
    memset(r, 0, sizeof *r);
    r->store = open_store(f, NULL);
    r->things = open_with_cache(r->store, "things", policy);
    expect_ok(hf_store_set_clock, r->store, shown_time, r, count_freed);
}

static void close_policy_room(policy_room *r) {
    hf_repository_free(r->things);
    hf_store_free(r->store);
    assert_int_equal(atomic_load(&r->freed), 1);
}

static void save_id(policy_room *r, const char *id) {
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"%s\"}", id);
    save(r->things, NULL, json);
}

static void fetch(hf_repository *repository, const char *id) {
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_fetch, repository, NULL, id, HF_NTS, &entity);
    hf_entity_free(&entity);
}

/* Whether a fetch, which finds it in any case, finds it in the cache. Counts as use. */
static bool is_cached(hf_repository *repository, const char *id) {
    int64_t before = cache_number(repository, "hits");
    fetch(repository, id);
    return cache_number(repository, "hits") == before + 1;
}

/* --- What goes when it is full ------------------------------------------------------------------- */

static void the_third_entity_evicts_the_one_used_longest_ago(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"max_entries\":2}");
    save_id(&r, "a");
    save_id(&r, "b");
    fetch(r.things, "a");
    save_id(&r, "c");
    assert_int_equal(cache_number(r.things, "entries"), 2);
    assert_int_equal(cache_number(r.things, "evictions"), 1);
    assert_true(is_cached(r.things, "a"));
    assert_true(is_cached(r.things, "c"));
    /* Setting is use, too. */
    save_id(&r, "a");
    save_id(&r, "d");
    assert_true(is_cached(r.things, "a"));
    assert_true(is_cached(r.things, "d"));
    assert_false(is_cached(r.things, "c"));
    close_policy_room(&r);
}

static void the_third_entity_evicts_the_one_inserted_first(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"strategy\":\"fifo\",\"max_entries\":2}");
    save_id(&r, "a");
    save_id(&r, "b");
    /* Neither reading nor overwriting protects it. */
    fetch(r.things, "a");
    save_id(&r, "a");
    save_id(&r, "c");
    assert_int_equal(cache_number(r.things, "evictions"), 1);
    assert_true(is_cached(r.things, "b"));
    assert_true(is_cached(r.things, "c"));
    /* Read again it is new again, and "b" has to go. */
    assert_false(is_cached(r.things, "a"));
    assert_true(is_cached(r.things, "c"));
    assert_false(is_cached(r.things, "b"));
    close_policy_room(&r);
}

static void a_new_entity_evicts_one_and_overwriting_evicts_none(fixture *f) {
    static const char *const policies[] = {"{\"max_entries\":10}",
                                           "{\"strategy\":\"fifo\",\"max_entries\":10}"};
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        policy_room r;
        open_policy_room(f, &r, policies[p]);
        for (int i = 0; i < 30; i++) {
            char id[8];
            snprintf(id, sizeof id, "%d", i);
            save_id(&r, id);
            assert_int_equal(cache_number(r.things, "evictions"), i < 10 ? 0 : i - 9);
            save_id(&r, id);
            assert_int_equal(cache_number(r.things, "evictions"), i < 10 ? 0 : i - 9);
        }
        assert_int_equal(cache_number(r.things, "entries"), 10);
        assert_int_equal(cache_number(r.things, "fills"), 60);
        close_policy_room(&r);
        if (strcmp(f->engine, "sqlite") == 0)
            assert_int_equal(unlink(f->url), 0);
    }
}

static void the_byte_limit_evicts_as_many_as_it_takes(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"max_bytes\":1000}");
    for (int i = 0; i < 5; i++)
        save_id(&r, (const char *[]){"a", "b", "c", "d", "e"}[i]);
    int64_t small = cache_number(r.things, "bytes");
    assert_true(small > 0 && small <= 1000);
    char json[2000];
    snprintf(json, sizeof json, "{\"id\":\"f\",\"text\":\"%0*d\"}", 500, 0);
    save(r.things, NULL, json);
    assert_true(cache_number(r.things, "bytes") <= 1000);
    assert_true(cache_number(r.things, "entries") < 5);
    assert_true(is_cached(r.things, "f"));
    /* What is too large by itself is not cached, and takes what was there under its id with it. */
    int64_t others = cache_number(r.things, "entries") - 1;
    snprintf(json, sizeof json, "{\"id\":\"f\",\"text\":\"%0*d\"}", 1000, 0);
    save(r.things, NULL, json);
    assert_int_equal(cache_number(r.things, "entries"), others);
    expect_entity(r.things, NULL, "f", json);
    close_policy_room(&r);
}

static void a_limit_of_none_caches_nothing(fixture *f) {
    static const char *const policies[] = {"{\"max_entries\":0}", "{\"max_bytes\":0}"};
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        hf_store *store = open_store_at("memory:", NULL);
        hf_repository *things = open_with_cache(store, "things", policies[p]);
        save(things, NULL, "{\"id\":\"a\",\"n\":1}");
        fetch(things, "a");
        expect_entity(things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
        assert_int_equal(cache_number(things, "entries"), 0);
        assert_int_equal(cache_number(things, "fills"), 0);
        assert_int_equal(cache_number(things, "hits"), 0);
        hf_repository_free(things);
        hf_store_free(store);
    }
    /* A policy without "max_bytes" has the store's. */
    hf_store *store = open_store(f, "{\"cache_bytes\":0}");
    hf_repository *things = open_with_cache(store, "things", "{}"),
                  *others = open_repository(store, "others");
    save(things, NULL, "{\"id\":\"a\"}");
    save(others, NULL, "{\"id\":\"a\"}");
    assert_false(is_cached(things, "a"));
    assert_false(is_cached(things, "a"));
    assert_false(is_cached(others, "a"));
    assert_false(is_cached(others, "a"));
    hf_repository_free(others);
    hf_repository_free(things);
    hf_store_free(store);
}

/* --- Time to live ----------------------------------------------------------------------------------- */

static void an_entity_expires_when_it_is_older_than_its_time_to_live(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"time_to_live_ms\":100}");
    atomic_store(&r.milliseconds, 1000);
    save_id(&r, "a");
    atomic_store(&r.milliseconds, 1050);
    assert_true(is_cached(r.things, "a"));
    /* Reading did not prolong it. */
    atomic_store(&r.milliseconds, 1100);
    assert_true(is_cached(r.things, "a"));
    atomic_store(&r.milliseconds, 1101);
    assert_false(is_cached(r.things, "a"));
    assert_int_equal(cache_number(r.things, "expirations"), 1);
    /* That read has set it anew; so does a commit. */
    atomic_store(&r.milliseconds, 1200);
    assert_true(is_cached(r.things, "a"));
    save_id(&r, "a");
    atomic_store(&r.milliseconds, 1300);
    assert_true(is_cached(r.things, "a"));
    atomic_store(&r.milliseconds, 1301);
    /* In a transaction, too. */
    hf_transaction *t = begin(r.store, NULL);
    int64_t hits = cache_number(r.things, "hits");
    expect_entity(r.things, t, "a", "{\"id\":\"a\"}");
    assert_int_equal(cache_number(r.things, "hits"), hits);
    assert_int_equal(cache_number(r.things, "expirations"), 2);
    hf_transaction_free(t);
    close_policy_room(&r);
}

static void without_a_time_to_live_nothing_expires(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"time_to_live_ms\":0}");
    save_id(&r, "a");
    atomic_store(&r.milliseconds, 1000ull * 60 * 60 * 24 * 365 * 100);
    assert_true(is_cached(r.things, "a"));
    close_policy_room(&r);
}

static void the_system_s_clock_is_the_one_by_default(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *things = open_with_cache(store, "things", "{\"time_to_live_ms\":20}");
    save(things, NULL, "{\"id\":\"a\"}");
    sleep_milliseconds(40);
    assert_false(is_cached(things, "a"));
    hf_repository_free(things);
    hf_store_free(store);
}

static void a_clock_is_let_go_of_once(fixture *f) {
    policy_room r, other = {.milliseconds = 0}, refused = {.milliseconds = 0};
    open_policy_room(f, &r, "{}");
    expect_ok(hf_store_set_clock, r.store, shown_time, &other, count_freed);
    assert_int_equal(atomic_load(&r.freed), 1);
    expect_ok(hf_store_set_clock, r.store, NULL, NULL, NULL);
    assert_int_equal(atomic_load(&other.freed), 1);
    expect_ok(hf_store_set_clock, r.store, shown_time, &other, count_freed);
    expect_ok(hf_store_close, r.store, -1);
    assert_int_equal(atomic_load(&other.freed), 2);
    expect(HF_CLOSED, hf_store_set_clock, r.store, shown_time, &refused, count_freed);
    assert_int_equal(atomic_load(&refused.freed), 1);
    close_policy_room(&r);
}

/* --- What fills it -------------------------------------------------------------------------------- */

static void what_is_committed_fills_the_cache_of_a_repository_with_a_policy(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{}");
    hf_repository *others = open_repository(r.store, "others");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\",\"n\":1}");
    save(r.things, t, "{\"id\":\"b\",\"n\":1}");
    save(others, t, "{\"id\":\"a\",\"n\":1}");
    assert_int_equal(cache_number(r.things, "fills"), 0);
    commit_quietly(t);
    assert_int_equal(cache_number(r.things, "fills"), 2);
    assert_true(is_cached(r.things, "a"));
    /* The general list takes in what is read. */
    assert_int_equal(cache_number(others, "fills"), 0);
    assert_false(is_cached(others, "a"));
    assert_true(is_cached(others, "a"));
    save(others, NULL, "{\"id\":\"a\",\"n\":2}");
    int64_t hits = cache_number(others, "hits");
    expect_entity(others, NULL, "a", "{\"id\":\"a\",\"n\":2}");
    assert_int_equal(cache_number(others, "hits"), hits + 1);
    hf_repository_free(others);
    close_policy_room(&r);
}

static void fetch_all_asks_the_storage_and_fills_the_cache(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{}");
    hf_repository *repositories[] = {r.things, open_repository(r.store, "others")};
    for (size_t i = 0; i < COUNT_OF(repositories); i++) {
        hf_entity_list all = HF_ENTITY_LIST_INIT;
        save(repositories[i], NULL, "{\"id\":\"b\"}");
        save(repositories[i], NULL, "{\"id\":\"a\"}");
        expect_ok(hf_repository_invalidate_cache, repositories[i], NULL, 0);
        expect_ok(hf_repository_fetch_all, repositories[i], NULL, &all);
        assert_string_equal(all.json, "[{\"id\":\"a\"},{\"id\":\"b\"}]");
        assert_int_equal(cache_number(repositories[i], "entries"), i == 0 ? 2 : 0);
        hf_entity_list_free(&all);
    }
    assert_true(is_cached(r.things, "a"));
    /* In a transaction it answers what that has written, which nobody else is shown. */
    hf_transaction *t = begin(r.store, NULL);
    hf_entity_list all = HF_ENTITY_LIST_INIT;
    save(r.things, t, "{\"id\":\"c\"}");
    expect_ok(hf_repository_fetch_all, r.things, t, &all);
    assert_int_equal(all.count, 3);
    hf_entity_list_free(&all);
    hf_transaction_free(t);
    expect_absent(r.things, NULL, "c");
    hf_repository_free(repositories[1]);
    close_policy_room(&r);
}

/* --- Whose policy it is ----------------------------------------------------------------------------- */

static void a_later_open_replaces_the_policy_or_leaves_it(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"max_entries\":2}");
    save_id(&r, "a");
    hf_repository *same = open_repository(r.store, "things");
    assert_true(is_cached(same, "a"));
    hf_repository_free(same);
    same = open_with_cache(r.store, "things", "{\"max_entries\":2,\"strategy\":\"lru\"}");
    assert_true(is_cached(same, "a"));
    hf_repository_free(same);
    same = open_with_cache(r.store, "things", "{\"max_entries\":1}");
    assert_int_equal(cache_number(r.things, "entries"), 0);
    save_id(&r, "a");
    save_id(&r, "b");
    assert_int_equal(cache_number(r.things, "entries"), 1);
    hf_repository_free(same);
    close_policy_room(&r);
}

static void a_step_of_an_operation_carries_a_policy(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_operation *operation = NULL;
    hf_error *error = error_of(HF_INVALID_OPTION, hf_operation_create, store,
                               "{\"operation\":\"fetch\",\"repository\":\"new\",\"id\":\"a\","
                               "\"cache\":{\"strategy\":\"mru\"}}",
                               HF_NTS, &operation);
    expect_detail(error, "option", "\"strategy\"");
    expect_ok(hf_operation_create, store,
              "{\"operation\":\"save\",\"repository\":\"new\",\"entity\":{\"id\":\"a\"},"
              "\"cache\":{\"max_entries\":1}}",
              HF_NTS, &operation);
    expect_ok(hf_operation_perform, operation, NULL, NULL, NULL);
    hf_operation_free(operation);
    hf_repository *created = open_repository(store, "new");
    save(created, NULL, "{\"id\":\"b\"}");
    assert_int_equal(cache_number(created, "entries"), 1);
    assert_int_equal(cache_number(created, "fills"), 2);
    hf_repository_free(created);
    hf_store_free(store);
}

static void a_policy_governs_its_repository_alone(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"max_entries\":1}");
    /* Named so that the one's name begins the other's. */
    hf_repository *longer = open_with_cache(r.store, "things2", "{\"max_entries\":2}");
    hf_repository *shorter = open_repository(r.store, "thing");
    hf_repository *all[] = {r.things, longer, shorter};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"a\",\"n\":%zu}", i);
        save(all[i], NULL, json);
        fetch(all[i], "a");
    }
    save_id(&r, "b");
    assert_false(is_cached(r.things, "a"));
    for (size_t i = 1; i < COUNT_OF(all); i++) {
        assert_true(is_cached(all[i], "a"));
        assert_int_equal(integer_in(all[i], NULL, "a", "n"), i);
    }
    expect_ok(hf_repository_invalidate_cache, longer, NULL, 0);
    assert_int_equal(cache_number(longer, "entries"), 0);
    assert_int_equal(cache_number(r.things, "entries"), 1);
    assert_true(is_cached(shorter, "a"));
    expect_ok(hf_repository_trim_cache, shorter, HF_TRIM_CRITICAL);
    assert_int_equal(cache_number(shorter, "entries"), 0);
    assert_int_equal(cache_number(r.things, "entries"), 1);
    hf_repository_free(shorter);
    hf_repository_free(longer);
    close_policy_room(&r);
}

static void a_policy_is_not_stored(fixture *f) {
    policy_room r;
    open_policy_room(f, &r, "{\"max_entries\":1}");
    close_policy_room(&r);
    hf_store *store = open_store(f, NULL);
    hf_repository *things = open_repository(store, "things");
    hf_buffer statistics = HF_BUFFER_INIT;
    expect_ok(hf_repository_cache_statistics, things, &statistics);
    assert_non_null(strstr(statistics.data, "\"policy\":{\"strategy\":\"lru\",\"time_to_live_ms\":0,"
                                            "\"max_entries\":null,\"max_bytes\":67108864,\"shared\":true}"));
    hf_buffer_free(&statistics);
    hf_repository_free(things);
    hf_store_free(store);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(the_third_entity_evicts_the_one_used_longest_ago),
        EACH_ENGINE(the_third_entity_evicts_the_one_inserted_first),
        EACH_ENGINE(a_new_entity_evicts_one_and_overwriting_evicts_none),
        EACH_ENGINE(the_byte_limit_evicts_as_many_as_it_takes),
        EACH_ENGINE(a_limit_of_none_caches_nothing),
        EACH_ENGINE(an_entity_expires_when_it_is_older_than_its_time_to_live),
        EACH_ENGINE(without_a_time_to_live_nothing_expires),
        ONCE(the_system_s_clock_is_the_one_by_default),
        EACH_ENGINE(a_clock_is_let_go_of_once),
        EACH_ENGINE(what_is_committed_fills_the_cache_of_a_repository_with_a_policy),
        EACH_ENGINE(fetch_all_asks_the_storage_and_fills_the_cache),
        EACH_ENGINE(a_later_open_replaces_the_policy_or_leaves_it),
        EACH_ENGINE(a_step_of_an_operation_carries_a_policy),
        EACH_ENGINE(a_policy_governs_its_repository_alone),
        SQLITE_ONLY(a_policy_is_not_stored),
    };
    return run_scenarios("cache policies", scenarios, COUNT_OF(scenarios));
}
