/* What the tests of programs in C put in a storage's and a clock's place. */
#include "support.h"

#include <holdfast/testing.h>

static room open_mock(hf_mock_storage *storage, const char *options) {
    room r = {NULL, NULL};
    hf_provider provider = hf_mock_storage_provider(storage);
    expect_ok(hf_store_open_provider, &provider, options, &r.store);
    r.things = open_repository(r.store, "things");
    return r;
}

static void expect_stored(hf_mock_storage *storage, const char *id, const char *expected) {
    char *entity = hf_mock_storage_get(storage, "things", id);
    if (expected == NULL)
        assert_null(entity);
    else
        assert_string_equal(entity, expected);
    free(entity);
}

static void a_mock_stores_what_a_program_does_and_counts_the_calls(fixture *f) {
    (void)f;
    hf_mock_storage *storage = hf_mock_storage_create();
    hf_mock_storage_put(storage, "things", "a", "{\"id\":\"a\",\"n\":1}");
    hf_mock_storage_put(storage, "others", "a", "{\"id\":\"a\"}");
    room r = open_mock(storage, NULL);
    assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_ANY), 0);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_FETCH), 1);
    save(r.things, NULL, "{\"id\":\"b\"}");
    expect_ok(hf_repository_delete, r.things, NULL, "a", 1, 0);
    assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_SAVE), 1);
    assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_DELETE), 1);
    expect_count(r.things, NULL, NULL, 1);
    assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_FETCH_ALL), 1);
    expect_stored(storage, "a", NULL);
    expect_stored(storage, "b", "{\"id\":\"b\"}");
    size_t sum = 0;
    for (int i = 0; i < HF_MOCK_ANY; i++)
        sum += hf_mock_storage_count(storage, (hf_mock_function)i);
    assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_ANY), sum);
    hf_mock_storage_put(storage, "things", "b", NULL);
    expect_absent(r.things, NULL, "b");
    close_room(r);
    hf_mock_storage_free(storage);
    hf_mock_storage_free(NULL);
}

static void the_call_fails_that_was_planned_and_its_transaction_stores_nothing(fixture *f) {
    (void)f;
    hf_mock_storage *storage = hf_mock_storage_create();
    room r = open_mock(storage, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    hf_mock_storage_fail(storage, HF_MOCK_SAVE, 2, "the disk is full");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\",\"n\":2}");
    save(r.things, t, "{\"id\":\"b\"}");
    hf_error *error = error_of(HF_HOST_ERROR, hf_transaction_commit, t, NULL);
    assert_non_null(strstr(hf_error_message(error), "the disk is full"));
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_NONE);
    hf_error_free(error);
    hf_transaction_free(t);
    expect_stored(storage, "a", "{\"id\":\"a\",\"n\":1}");
    expect_stored(storage, "b", NULL);
    save(r.things, NULL, "{\"id\":\"b\"}"); /* only the second was to fail */

    hf_mock_storage_fail(storage, HF_MOCK_ANY, 0, "gone");
    for (int i = 0; i < 3; i++)
        expect(HF_HOST_ERROR, hf_repository_save, r.things, NULL, "{\"id\":\"c\"}", HF_NTS, NULL);
    hf_mock_storage_reset(storage);
    assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_ANY), 0);
    expect_stored(storage, "a", NULL);
    close_room(r);
    hf_mock_storage_free(storage);
}

static void one_mock_is_opened_again_with_what_it_holds(fixture *f) {
    (void)f;
    hf_mock_storage *storage = hf_mock_storage_create();
    for (int i = 0; i < 3; i++) {
        room r = open_mock(storage, "{\"concurrent_calls\":true}");
        char json[32];
        snprintf(json, sizeof json, "{\"id\":%d}", i);
        save(r.things, NULL, json);
        expect_count(r.things, NULL, NULL, i + 1);
        close_room(r);
    }
    hf_mock_storage_free(storage);
}

static void put_some(hf_repository *things, int number) {
    char json[32];
    snprintf(json, sizeof json, "{\"id\":%d}", number % 20);
    save(things, NULL, json);
}

static void a_test_may_look_while_others_use_the_store(fixture *f) {
    (void)f;
    hf_mock_storage *storage = hf_mock_storage_create();
    room r = open_mock(storage, "{\"concurrent_calls\":true}");
    writer w;
    begin_writing(&w, r.things, put_some);
    for (int i = 0; i < 200; i++) {
        free(hf_mock_storage_get(storage, "things", "7"));
        hf_mock_storage_count(storage, HF_MOCK_ANY);
        expect_ok(hf_repository_count, r.things, NULL, NULL, 0, NULL, &(uint64_t){0});
    }
    end_writing(&w);
    close_room(r);
    hf_mock_storage_free(storage);
}

static void what_has_a_time_to_live_expires_when_the_clock_is_moved(fixture *f) {
    (void)f;
    hf_mock_clock clock = HF_MOCK_CLOCK_INIT;
    hf_mock_storage *storage = hf_mock_storage_create();
    room r = open_mock(storage, NULL);
    hf_repository *cached = NULL;
    expect_ok(hf_repository_open, r.store, "things", "{\"cache\":{\"time_to_live_ms\":1000}}", &cached);
    expect_ok(hf_store_set_clock, r.store, hf_mock_clock_now, &clock, NULL);
    save(cached, NULL, "{\"id\":\"a\"}");
    size_t before = hf_mock_storage_count(storage, HF_MOCK_FETCH);
    for (int i = 0; i < 3; i++) {
        expect_entity(cached, NULL, "a", "{\"id\":\"a\"}");
        assert_int_equal(hf_mock_storage_count(storage, HF_MOCK_FETCH) - before, i / 2);
        hf_mock_clock_advance(&clock, 600);
    }
    assert_int_equal(hf_mock_clock_now(&clock), 1800000000);
    hf_repository_free(cached);
    close_room(r);
    hf_mock_storage_free(storage);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(a_mock_stores_what_a_program_does_and_counts_the_calls),
        ONCE(the_call_fails_that_was_planned_and_its_transaction_stores_nothing),
        ONCE(one_mock_is_opened_again_with_what_it_holds),
        ONCE(a_test_may_look_while_others_use_the_store),
        ONCE(what_has_a_time_to_live_expires_when_the_clock_is_moved),
    };
    return run_scenarios("testing", scenarios, COUNT_OF(scenarios));
}
