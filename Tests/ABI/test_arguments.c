/* NULL where something is needed is an answer and never a crash, and it leaves no trace. */
#include "support.h"

static const char thing[] = "{\"id\":\"a\"}";

static void every_missing_parameter_of_a_repository_is_told(room r) {
    hf_transaction *both[] = {NULL, begin(r.store, NULL)};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        hf_transaction *t = both[i];
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        hf_entity entity = HF_ENTITY_INIT;
        hf_buffer buffer = HF_BUFFER_INIT;
        bool contains = false;
        expect(HF_INVALID_ARGUMENT, hf_repository_add, r.things, t, NULL, 4, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_add, r.things, t, NULL, HF_NTS, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_update, r.things, t, NULL, HF_NTS, 0, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_save, r.things, t, NULL, HF_NTS, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_patch, r.things, t, NULL, HF_NTS, "{}", 2, 0, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_patch, r.things, t, "a", 1, NULL, HF_NTS, 0, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_modify, r.things, t, NULL, 1, "{}", 2, NULL, 0, 0, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_modify, r.things, t, "a", 1, NULL, HF_NTS, NULL, 0, 0,
               NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_modify_all, r.things, t, "{}", 2, NULL, 2, NULL, NULL,
               NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_delete, r.things, t, NULL, 1, 0);
        expect(HF_INVALID_ARGUMENT, hf_repository_add_many, r.things, t, NULL, HF_NTS, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_update_many, r.things, t, NULL, HF_NTS, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_save_many, r.things, t, NULL, HF_NTS, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_patch_many, r.things, t, NULL, HF_NTS, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_delete_many, r.things, t, NULL, HF_NTS);
        expect(HF_INVALID_ARGUMENT, hf_repository_fetch, r.things, t, NULL, HF_NTS, &entity);
        expect(HF_INVALID_ARGUMENT, hf_repository_fetch, r.things, t, "a", 1, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_fetch_many, r.things, t, NULL, HF_NTS, &list);
        expect(HF_INVALID_ARGUMENT, hf_repository_fetch_many, r.things, t, "[]", 2, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_fetch_all, r.things, t, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_find, r.things, t, "{}", 2, NULL, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_count, r.things, t, "{}", 2, NULL, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_exists, r.things, t, "{}", 2, NULL, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_first, r.things, t, "{}", 2, NULL, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_distinct, r.things, t, NULL, "{}", 2, NULL, &buffer);
        expect(HF_INVALID_ARGUMENT, hf_repository_distinct, r.things, t, "a", "{}", 2, NULL, NULL);
        expect(HF_INVALID_ARGUMENT, hf_repository_find_if, r.things, t, NULL, NULL, NULL, &list);
        expect(HF_INVALID_ARGUMENT, hf_repository_contains, r.things, t, NULL, HF_NTS, &contains);
        expect(HF_INVALID_ARGUMENT, hf_repository_contains, r.things, t, "a", 1, NULL);
    }
    commit_quietly(both[1]);
    expect_count(r.things, NULL, NULL, 0);
}

static void every_missing_parameter_of_a_store_and_a_transaction_is_told(fixture *f) {
    hf_store *store = open_store(f, NULL), *other = NULL;
    hf_repository *r = NULL;
    hf_transaction *t = begin(store, NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_open, NULL, NULL, &other);
    expect(HF_INVALID_ARGUMENT, hf_store_open, "memory:", NULL, NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_describe, store, NULL);
    expect(HF_INVALID_ARGUMENT, hf_repository_open, store, NULL, NULL, &r);
    expect(HF_INVALID_ARGUMENT, hf_repository_open, store, "things", NULL, NULL);
    expect(HF_INVALID_ARGUMENT, hf_transaction_begin, store, NULL, NULL);
    expect(HF_INVALID_ARGUMENT, hf_transaction_savepoint, t, NULL);
    expect(HF_INVALID_ARGUMENT, hf_transaction_get_state, t, NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_transact, store, NULL, NULL, NULL, NULL);
    assert_int_equal(hf_store_events(store, NULL, 1, 0), -HF_INVALID_ARGUMENT);
    hf_transaction_free(t);
    hf_store_free(store);

    store = open_store(f, "{\"delivery\":\"queue\"}");
    hf_event event;
    expect(HF_INVALID_ARGUMENT, hf_store_event_fd, store, NULL);
    assert_int_equal(hf_store_events(store, NULL, 1, 0), -HF_INVALID_ARGUMENT);
    assert_int_equal(hf_store_events(store, &event, 0, 0), -HF_INVALID_ARGUMENT);
    assert_int_equal(hf_store_events(store, &event, 1, 0), 0);
    hf_store_free(store);
}

static hf_status never_started(hf_future *future, void *count, hf_error **out_error) {
    (void)out_error;
    (void)future;
    ++*(int *)count;
    return HF_OK;
}

static void of_the_negative_timeouts_only_minus_one_is_for_ever(fixture *f) {
    static const int64_t wrong[] = {-2, -1000, INT64_MIN};
    hf_store *store = open_store(f, "{\"delivery\":\"queue\"}");
    hf_future *future = NULL;
    expect_ok(hf_future_create, &future);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        hf_event event;
        int started = 0;
        assert_int_equal(hf_store_events(store, &event, 1, wrong[i]), -HF_INVALID_ARGUMENT);
        expect(HF_INVALID_ARGUMENT, hf_future_wait, future, NULL, wrong[i], NULL, NULL);
        expect(HF_INVALID_ARGUMENT, hf_await, never_started, &started, NULL, wrong[i], NULL, NULL);
        assert_int_equal(started, 0);
        expect(HF_INVALID_ARGUMENT, hf_store_close, store, wrong[i]);
    }
    hf_repository_free(open_repository(store, "things")); /* nothing was closed */
    hf_future_free(future);
    hf_store_free(store);
}

static void what_may_be_null_may_be_null_all_at_once(room r) {
    hf_transaction *t = begin(r.store, NULL);
    assert_int_equal(hf_repository_add(r.things, NULL, thing, HF_NTS, NULL, NULL), HF_OK);
    assert_int_equal(hf_repository_add(r.things, NULL, thing, HF_NTS, NULL, NULL), HF_EXISTS);
    assert_int_equal(hf_repository_update(r.things, NULL, thing, HF_NTS, 0, NULL, NULL), HF_OK);
    assert_int_equal(hf_repository_update_many(r.things, NULL, "[{\"id\":\"a\"}]", HF_NTS, NULL, NULL),
                     HF_OK);
    assert_int_equal(hf_repository_delete_all(r.things, NULL, NULL, 0, NULL, NULL, NULL), HF_OK);
    assert_int_equal(hf_repository_delete_all(r.things, NULL, NULL, HF_NTS, NULL, NULL, NULL), HF_OK);
    assert_int_equal(hf_repository_save(r.things, t, "{", HF_NTS, NULL, NULL), HF_INVALID_JSON);
    assert_int_equal(hf_repository_save(r.things, t, thing, HF_NTS, NULL, NULL), HF_OK);
    assert_int_equal(hf_transaction_submit(t, NULL, NULL, NULL, NULL), HF_OK);
    assert_int_equal(hf_transaction_rollback(t, NULL), HF_INVALID_STATE);
    hf_transaction_free(t);
    assert_int_equal(hf_store_sync(r.store, NULL), HF_OK);
}

static void an_error_says_the_same_until_it_is_freed_and_nothing_afterwards(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_error *error = error_of(HF_INVALID_ARGUMENT, hf_transaction_begin, store, NULL, NULL);
    const char *message = hf_error_message(error);
    size_t length = 0;
    assert_ptr_equal(hf_error_message(error), message);
    const char *detail = hf_error_detail(error, &length);
    assert_int_equal(strlen(detail), length);
    assert_non_null(hf_error_detail(error, NULL));
    assert_false(hf_error_is_retryable(error));
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_NONE);
    assert_null(hf_error_cause(error));
    hf_error_free(error);

    hf_error *none[] = {NULL, error, (hf_error *)store};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_int_equal(hf_error_status(none[i]), HF_INVALID_HANDLE);
        assert_non_null(hf_error_message(none[i]));
        assert_string_equal(hf_error_detail(none[i], &length), "{}");
        assert_int_equal(length, 2);
        assert_false(hf_error_is_retryable(none[i]));
        assert_int_equal(hf_error_commit_state(none[i]), HF_COMMIT_NONE);
        assert_null(hf_error_cause(none[i]));
        hf_error_free(none[i]);
    }
    expect_ok(hf_store_sync, store);
    hf_store_free(store);
}

static void an_error_s_detail_is_as_long_as_its_bytes_in_every_language(room r) {
    save(r.things, NULL, "{\"id\":\"\xE9\xB4\x8E\"}");
    hf_error *error =
        error_of(HF_EXISTS, hf_repository_add, r.things, NULL, "{\"id\":\"\xE9\xB4\x8E\"}", HF_NTS, NULL);
    size_t length = 0;
    const char *detail = hf_error_detail(error, &length);
    assert_non_null(strstr(detail, "\xE9\xB4\x8E"));
    assert_int_equal(strlen(detail), length);
    hf_error_free(error);
}

static void a_call_that_succeeds_leaves_no_error_whatever_stood_there(room r) {
    hf_error *former = error_of(HF_INVALID_JSON, hf_repository_save, r.things, NULL, "{", HF_NTS, NULL),
             *error = former;
    assert_int_equal(hf_repository_save(r.things, NULL, thing, HF_NTS, NULL, &error), HF_OK);
    assert_null(error);
    error = former;
    assert_int_equal(hf_repository_fetch(r.things, NULL, "none", HF_NTS, &(hf_entity)HF_ENTITY_INIT, &error),
                     HF_NOT_FOUND);
    assert_null(error);
    hf_error_free(former);
}

static void a_failed_call_leaves_what_it_would_have_written(room r) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_add, r.things, NULL, thing, HF_NTS, &entity);
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    hf_entity kept = entity;
    hf_entity_list kept_list = list;
    expect(HF_EXISTS, hf_repository_add, r.things, NULL, thing, HF_NTS, &entity);
    expect(HF_INVALID_ID, hf_repository_fetch, r.things, NULL, "", 0, &entity);
    expect_answer(HF_NOT_FOUND, hf_repository_fetch, r.things, NULL, "b", 1, &entity);
    expect(HF_INVALID_JSON, hf_repository_fetch_many, r.things, NULL, "[", 1, &list);
    expect(HF_INVALID_QUERY, hf_repository_find, r.things, NULL, "{\"a\":{\"$b\":1}}", HF_NTS, NULL, &list);
    assert_memory_equal(&entity, &kept, sizeof entity);
    assert_memory_equal(&list, &kept_list, sizeof list);
    assert_string_equal(entity.data, thing);
    assert_memory_equal(list.items[0].data, thing, sizeof thing - 1);
    hf_entity_free(&entity);
    hf_entity_list_free(&list);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(every_missing_parameter_of_a_repository_is_told),
        EACH_ENGINE(every_missing_parameter_of_a_store_and_a_transaction_is_told),
        EACH_ENGINE(of_the_negative_timeouts_only_minus_one_is_for_ever),
        EACH_ENGINE(what_may_be_null_may_be_null_all_at_once),
        EACH_ENGINE(an_error_says_the_same_until_it_is_freed_and_nothing_afterwards),
        ONCE(an_error_s_detail_is_as_long_as_its_bytes_in_every_language),
        ONCE(a_call_that_succeeds_leaves_no_error_whatever_stood_there),
        EACH_ENGINE(a_failed_call_leaves_what_it_would_have_written),
    };
    return run_scenarios("arguments", scenarios, COUNT_OF(scenarios));
}
