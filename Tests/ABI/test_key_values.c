/* Values by key: get, put and remove are operations, which may be run again, in transactions and beside each
 * other. */
#include "support.h"

static hf_operation *get(room r, const char *key) {
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create_get, r.store, "things", key, HF_NTS, &operation);
    return operation;
}

static hf_operation *put(room r, const char *key, const char *value) {
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create_put, r.store, "things", key, HF_NTS, value, HF_NTS, &operation);
    return operation;
}

static hf_operation *take_away(room r, const char *key) {
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create_remove, r.store, "things", key, HF_NTS, &operation);
    return operation;
}

/* Performs it once, and frees it. */
static void perform(hf_operation *operation, hf_transaction *t, const char *expected) {
    hf_entity result = HF_ENTITY_INIT;
    expect_ok(hf_operation_perform, operation, t, &result, NULL);
    assert_string_equal(result.data, expected);
    hf_entity_free(&result);
    hf_operation_free(operation);
}

static void perform_refused(hf_operation *operation, hf_status expected) {
    expect(expected, hf_operation_perform, operation, NULL, NULL, NULL);
    hf_operation_free(operation);
}

static void what_is_put_under_a_key_is_got_until_it_is_removed(room r) {
    perform(get(r, "a"), NULL, "null");
    perform(put(r, "a", "{\"x\": [1, null]}"), NULL, "{\"id\":\"a\",\"value\":{\"x\": [1, null]}}");
    perform(get(r, "a"), NULL, "{\"x\": [1, null]}");
    perform(put(r, "a", " 2 "), NULL, "{\"id\":\"a\",\"value\": 2 }");
    perform(get(r, "a"), NULL, "2");
    perform(get(r, "b"), NULL, "null");
    perform(take_away(r, "a"), NULL, "null");
    perform(get(r, "a"), NULL, "null");
    perform_refused(take_away(r, "a"), HF_NOT_FOUND);
}

static void no_value_removes_whether_there_was_one_or_not(room r) {
    static const char *const nothing[] = {NULL, "null", " null\n"};
    for (size_t i = 0; i < COUNT_OF(nothing); i++) {
        perform(put(r, "a", "1"), NULL, "{\"id\":\"a\",\"value\":1}");
        perform(put(r, "a", nothing[i]), NULL, "null");
        expect_absent(r.things, NULL, "a");
        perform(put(r, "a", nothing[i]), NULL, "null");
    }
}

static void a_key_is_any_id(room r) {
    static const char *const keys[] = {"42", "\"},{", "\xC3\xA9\\u0000", " "};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        perform(get(r, keys[i]), NULL, "null");
        hf_operation_free(put(r, keys[i], "0")); /* makes it, and does nothing else */
        hf_entity result = HF_ENTITY_INIT;
        hf_operation *operation = put(r, keys[i], "\"v\"");
        expect_ok(hf_operation_perform, operation, NULL, &result, NULL);
        assert_int_equal(result.version, version_of(r.things, NULL, keys[i]));
        hf_operation_free(operation);
        hf_entity_free(&result);
        perform(get(r, keys[i]), NULL, "\"v\"");
    }
    expect_count(r.things, NULL, "{\"value\":\"v\"}", COUNT_OF(keys));
}

static void they_are_one_with_the_entities_and_the_transaction(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"value\":1,\"note\":\"kept by nobody\"}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    perform(get(r, "a"), t, "1");
    perform(get(r, "b"), t, "null");
    perform(put(r, "a", "2"), t, "{\"id\":\"a\",\"value\":2}");
    perform(get(r, "a"), t, "2");
    perform(get(r, "a"), NULL, "1");
    perform(take_away(r, "b"), t, "null");
    commit_quietly(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"value\":2}");
    expect_absent(r.things, NULL, "b");
}

static void each_run_runs_again_and_runs_meet_in_the_background(room r) {
    hf_operation *operations[] = {put(r, "a", "1"), get(r, "a"), put(r, "a", NULL)};
    hf_future *futures[3 * COUNT_OF(operations)];
    for (size_t i = 0; i < COUNT_OF(futures); i++)
        expect_ok(hf_operation_start, operations[i % 3], NULL, &futures[i]);
    for (size_t i = 0; i < COUNT_OF(futures); i++) {
        hf_entity value = HF_ENTITY_INIT;
        expect_ok(hf_future_wait, futures[i], NULL, 120000, &value, NULL);
        if (i % 3 == 1)
            assert_true(strcmp(value.data, "1") == 0 || strcmp(value.data, "null") == 0);
        hf_entity_free(&value);
        hf_future_free(futures[i]);
    }
    for (int i = 0; i < 3; i++)
        hf_operation_free(operations[i]);
}

static void a_fetch_may_be_described_to_answer_one_member(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"\\u006Eame\":{\"b\":1},\"c.d\":2}");
    static const struct {
        const char *member, *value;
    } members[] = {{"name", "{\"b\":1}"}, {"c.d", "2"}, {"name.b", "null"}, {"", "null"}, {"id", "\"a\""}};
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "{\"operation\":\"fetch\",\"repository\":\"things\",\"id\":\"a\",\"member\":\"%s\"}",
                 members[i].member);
        hf_operation *operation = NULL;
        expect_ok(hf_operation_create, r.store, text, HF_NTS, &operation);
        perform(operation, NULL, members[i].value);
    }
}

static void in_a_repository_under_another_key_nothing_is_put(room r) {
    hf_repository *codes = NULL;
    hf_operation *operation = NULL;
    expect_ok(hf_repository_open, r.store, "codes", "{\"key\":\"code\"}", &codes);
    expect_ok(hf_operation_create_put, r.store, "codes", "a", 1, "1", 1, &operation);
    perform_refused(operation, HF_INVALID_OPTION);
    expect_count(codes, NULL, NULL, 0);
    hf_repository_free(codes);
}

static void what_is_no_value_or_no_key_is_refused_at_once(room r) {
    static const char *const values[] = {"", " ", "{", "1,\"x\":2", "1}", "1 2", "nul", "\"\xFF\""};
    hf_operation *operation = NULL;
    for (size_t i = 0; i < COUNT_OF(values); i++)
        expect(HF_INVALID_JSON, hf_operation_create_put, r.store, "things", "a", 1, values[i], HF_NTS,
               &operation);
    char long_key[514];
    memset(long_key, 'k', sizeof long_key);
    const struct {
        const char *key;
        size_t length;
        hf_status status;
    } keys[] = {{"", 0, HF_INVALID_ID},
                {"a\n", HF_NTS, HF_INVALID_ID},
                {long_key, 513, HF_INVALID_ID},
                {NULL, 1, HF_INVALID_ARGUMENT},
                {"a", SIZE_MAX / 2 + 1, HF_INVALID_ARGUMENT}};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        expect(keys[i].status, hf_operation_create_get, r.store, "things", keys[i].key, keys[i].length,
               &operation);
        expect(keys[i].status, hf_operation_create_put, r.store, "things", keys[i].key, keys[i].length, "1",
               1, &operation);
        expect(keys[i].status, hf_operation_create_remove, r.store, "things", keys[i].key, keys[i].length,
               &operation);
    }
    expect(HF_INVALID_ARGUMENT, hf_operation_create_put, r.store, "things", "a", 1, "1", SIZE_MAX / 2 + 1,
           &operation);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_put, r.store, NULL, "a", 1, "1", 1, &operation);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_get, r.store, NULL, "a", 1, &operation);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_remove, r.store, NULL, "a", 1, &operation);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_get, r.store, "things", "a", 1, NULL);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_put, r.store, "things", "a", 1, "1", 1, NULL);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_remove, r.store, "things", "a", 1, NULL);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_get, NULL, "things", "a", 1, &operation);
    assert_null(operation);
    expect_ok(hf_operation_create_get, r.store, "9 is no name", "a", 1, &operation);
    perform_refused(operation, HF_INVALID_NAME);
    expect_count(r.things, NULL, NULL, 0);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(what_is_put_under_a_key_is_got_until_it_is_removed),
        EACH_ENGINE(no_value_removes_whether_there_was_one_or_not),
        EACH_ENGINE(a_key_is_any_id),
        EACH_ENGINE(they_are_one_with_the_entities_and_the_transaction),
        EACH_ENGINE(each_run_runs_again_and_runs_meet_in_the_background),
        ONCE(a_fetch_may_be_described_to_answer_one_member),
        ONCE(in_a_repository_under_another_key_nothing_is_put),
        ONCE(what_is_no_value_or_no_key_is_refused_at_once),
    };
    return run_scenarios("key values", scenarios, COUNT_OF(scenarios));
}
