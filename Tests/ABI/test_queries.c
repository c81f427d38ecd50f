/* Batches, lists and filters: many entities at a time. */
#include "support.h"

/* Expects the list's ids, written in order and separated by spaces, and frees it. */
#define expect_ids(list, ids) check_ids(list, ids, __FILE__, __LINE__)
static void check_ids(hf_entity_list *list, const char *ids, const char *file, int line) {
    char actual[1024] = "";
    for (size_t i = 0; i < list->count; i++) {
        size_t used = strlen(actual);
        snprintf(actual + used, sizeof actual - used, "%s%.*s", i > 0 ? " " : "",
                 (int)list->items[i].id_length, list->items[i].id);
    }
    _assert_string_equal(actual, ids, file, line);
    hf_entity_list_free(list);
}

static void save_five(hf_repository *things) {
    expect_ok(hf_repository_save_many, things, NULL,
              "[{\"id\":\"a\",\"n\":1,\"tag\":\"x\",\"o\":{\"city\":\"Kassel\"}},"
              "{\"id\":\"b\",\"n\":2,\"tag\":[\"x\",\"y\"],\"o\":{\"city\":\"Bonn\"}},"
              "{\"id\":\"c\",\"n\":null,\"tag\":[[\"x\"]],\"o\":[{\"city\":\"Bonn\"},{\"city\":\"Kassel\"}]},"
              "{\"id\":\"d\",\"n\":1.0,\"tag\":\"\",\"o\":\"Kassel\"},"
              "{\"id\":\"e\",\"n\":\"1\",\"tag\":{\"k\":1}}]",
              HF_NTS, NULL);
}

static void a_list_is_one_json_array_and_its_views_point_into_it(room r) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    assert_int_equal(list.count, 0);
    assert_string_equal(list.json, "[]");
    save(r.things, NULL, "{\"id\":\"b\", \"n\":1}");
    save(r.things, NULL, "{\"id\":\"a\"}");
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.json_length, strlen(list.json));
    json_t *parsed = json_loadb(list.json, list.json_length, 0, NULL);
    assert_int_equal(json_array_size(parsed), 2);
    json_decref(parsed);
    assert_true(list.items[0].data > list.json && list.items[1].data < list.json + list.json_length);
    assert_int_equal(list.items[1].length, strlen("{\"id\":\"b\", \"n\":1}"));
    assert_memory_equal(list.items[1].data, "{\"id\":\"b\", \"n\":1}", list.items[1].length);
    assert_int_equal(list.items[1].version, version_of(r.things, NULL, "b"));
    expect_ids(&list, "a b");
    assert_null(list.items);
    assert_int_equal(list.count, 0);
}

static void lists_are_ordered_by_the_bytes_of_the_ids(room r) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(
        hf_repository_save_many, r.things, NULL,
        "[{\"id\":\"b\"},{\"id\":10},{\"id\":9},{\"id\":\"B\"},{\"id\":\"\xc3\xa4\"},{\"id\":\"ab\"},"
        "{\"id\":\"a\"},{\"id\":-1},{\"id\":\"\xf0\x9f\x98\x80\"},{\"id\":\"\xef\xbf\xbd\"},{\"id\":\"~\"}]",
        HF_NTS, NULL);
    static const char order[] = "-1 10 9 B a ab b ~ \xc3\xa4 \xef\xbf\xbd \xf0\x9f\x98\x80";
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    expect_ids(&list, order);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"aa\"}");
    expect_ok(hf_repository_delete, r.things, t, "b", 1, 0);
    expect_ok(hf_repository_find, r.things, t, NULL, 0, NULL, &list);
    expect_ids(&list, "-1 10 9 B a aa ab ~ \xc3\xa4 \xef\xbf\xbd \xf0\x9f\x98\x80");
    hf_transaction_free(t);
}

static void limit_and_skip_cut_from_the_order(room r) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    save_five(r.things);
    expect_ok(hf_repository_find, r.things, NULL, NULL, 0, "{\"limit\":2}", &list);
    expect_ids(&list, "a b");
    expect_ok(hf_repository_find, r.things, NULL, NULL, 0, "{\"limit\":2,\"skip\":1}", &list);
    expect_ids(&list, "b c");
    expect_ok(hf_repository_find, r.things, NULL, NULL, 0, "{\"limit\":0,\"skip\":3}", &list);
    expect_ids(&list, "d e");
    expect_ok(hf_repository_find, r.things, NULL, "{\"o.city\":\"Kassel\"}", HF_NTS, "{\"skip\":1}", &list);
    expect_ids(&list, "c");
    expect_ok(hf_repository_find, r.things, NULL, NULL, 0, "{\"skip\":9007199254740992}", &list);
    expect_ids(&list, "");
}

static void filters_match_as_in_mongodb(room r) {
    static const struct {
        const char *filter, *ids;
    } cases[] = {
        {"{}", "a b c d e"},
        {"{\"id\":\"b\"}", "b"},
        {"{\"n\":1}", "a d"},
        {"{\"n\":1.0}", "a d"},
        {"{\"n\":{\"$eq\":2}}", "b"},
        {"{\"n\":\"1\"}", "e"},
        {"{\"n\":null}", "c"},
        {"{\"missing\":null}", "a b c d e"},
        {"{\"o\":null}", "e"},
        {"{\"tag\":\"x\"}", "a b"},
        {"{\"tag\":[\"x\",\"y\"]}", "b"},
        {"{\"tag\":[\"x\"]}", "c"},
        {"{\"tag\":[\"y\",\"x\"]}", ""},
        {"{\"tag.1\":\"y\"}", "b"},
        {"{\"tag\":{\"k\":1}}", "e"},
        {"{\"tag.k\":1}", "e"},
        {"{\"o.city\":\"Kassel\"}", "a c"},
        {"{\"o.city\":\"Bonn\"}", "b c"},
        {"{\"o.0.city\":\"Bonn\"}", "c"},
        {"{\"o.city\":\"Kassel\",\"n\":1}", "a"},
        {"{\"n\":true}", ""},
        {"{\"n\":{\"$gt\":0,\"$lt\":2}}", "a d"},
        {"{\"n\":{\"$ne\":1}}", "b c e"},
        {"{\"n\":{\"$in\":[2,\"1\",null]}}", "b c e"},
        {"{\"n\":{\"$not\":{\"$type\":\"number\"}}}", "c e"},
        {"{\"o.city\":{\"$exists\":false}}", "d e"},
        {"{\"tag\":{\"$all\":[\"x\",\"y\"]}}", "b"},
        {"{\"tag\":{\"$size\":2}}", "b"},
        {"{\"o\":{\"$elemMatch\":{\"city\":{\"$gte\":\"K\"}}}}", "c"},
        {"{\"o.city\":{\"$regex\":\"^b\",\"$options\":\"i\"}}", "b c"},
        {"{\"$or\":[{\"n\":2},{\"tag\":\"\"}]}", "b d"},
        {"{\"$nor\":[{\"n\":2},{\"tag\":\"\"}],\"n\":{\"$mod\":[2,1]}}", "a"},
    };
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    save_five(r.things);
    hf_transaction *t = begin(r.store, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *filter = cases[i].filter;
        expect_ok(hf_repository_find, r.things, NULL, filter, HF_NTS, NULL, &list);
        size_t found = list.count;
        check_ids(&list, cases[i].ids, filter, (int)i);
        expect_ok(hf_repository_find, r.things, t, filter, HF_NTS, NULL, &list);
        check_ids(&list, cases[i].ids, filter, (int)i);
        expect_count(r.things, NULL, filter, found);
    }
    hf_transaction_free(t);
}

static void fetch_many_answers_in_the_order_asked_and_leaves_out_what_is_missing(room r) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    save_five(r.things);
    expect_ok(hf_repository_fetch_many, r.things, NULL, "[\"d\",\"zz\",\"a\",\"d\"]", HF_NTS, &list);
    expect_ids(&list, "d a d");
    expect_ok(hf_repository_fetch_many, r.things, NULL, "[]", HF_NTS, &list);
    expect_ids(&list, "");
}

/* Expects a batch to be refused for its element 1, and nothing of it stored. */
static void expect_refused_at_one(hf_error *error, hf_repository *things, const char *json) {
    if (strstr(hf_error_message(error), "1") == NULL) {
        fail_msg("the message does not name index 1: %s", hf_error_message(error));
    }
    hf_error_free(error);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_fetch_all, things, NULL, &list);
    assert_string_equal(list.json, json);
    hf_entity_list_free(&list);
}

static void a_batch_is_stored_as_a_whole_or_not_at_all_and_says_at_which_index(room r) {
    static const char before[] = "[{\"id\":\"k\"}]";
    hf_repository *t = r.things;
    save(t, NULL, "{\"id\":\"k\"}");
    expect_refused_at_one(
        error_of(HF_EXISTS, hf_repository_add_many, t, NULL, "[{\"id\":\"a\"},{\"id\":\"k\"}]", HF_NTS, NULL),
        t, before);
    expect_refused_at_one(
        error_of(HF_EXISTS, hf_repository_add_many, t, NULL, "[{\"id\":\"a\"},{\"id\":\"a\"}]", HF_NTS, NULL),
        t, before);
    expect_refused_at_one(error_of(HF_NOT_FOUND, hf_repository_update_many, t, NULL,
                                   "[{\"id\":\"k\",\"n\":1},{\"id\":\"b\"}]", HF_NTS, NULL),
                          t, before);
    expect_refused_at_one(error_of(HF_NOT_FOUND, hf_repository_patch_many, t, NULL,
                                   "[{\"id\":\"k\",\"n\":1},{\"id\":\"b\",\"n\":1}]", HF_NTS, NULL),
                          t, before);
    expect_refused_at_one(error_of(HF_NOT_FOUND, hf_repository_delete_many, t, NULL, "[\"k\",\"b\"]", HF_NTS),
                          t, before);
    expect_refused_at_one(
        error_of(HF_INVALID_ENTITY, hf_repository_save_many, t, NULL, "[{\"id\":\"a\"},7]", HF_NTS, NULL), t,
        before);
    expect_refused_at_one(error_of(HF_INVALID_ID, hf_repository_save_many, t, NULL,
                                   "[{\"id\":\"a\"},{\"id\":\"\"}]", HF_NTS, NULL),
                          t, before);
    expect_refused_at_one(error_of(HF_INVALID_JSON, hf_repository_save_many, t, NULL,
                                   "[{\"id\":\"a\"},{\"id\"}]", HF_NTS, NULL),
                          t, before);
}

static void a_refused_batch_leaves_its_transaction_as_it_was(room r) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\",\"n\":1}");
    expect(HF_EXISTS, hf_repository_add_many, r.things, t, "[{\"id\":\"b\"},{\"id\":\"a\"}]", HF_NTS, NULL);
    expect(HF_INVALID_JSON, hf_repository_save_many, r.things, t, "[{\"id\":\"a\"},{\"id\":\"c\"},", HF_NTS,
           NULL);
    expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}");
    expect_count(r.things, t, NULL, 1);
    commit_quietly(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect_count(r.things, NULL, NULL, 1);
}

static void batches_answer_the_entities_as_stored_in_the_order_given(room r) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_add_many, r.things, NULL, "[{\"id\":\"b\"}, {\"id\":\"a\"} ]", HF_NTS, &list);
    assert_int_equal(list.items[0].version, version_of(r.things, NULL, "b"));
    assert_int_equal(list.items[0].version, list.items[1].version);
    expect_ids(&list, "b a");
    expect_ok(hf_repository_patch_many, r.things, NULL, "[{\"n\":1,\"id\":\"b\"},{\"id\":\"a\",\"n\":2}]",
              HF_NTS, &list);
    assert_string_equal(list.json, "[{\"id\":\"b\",\"n\":1},{\"id\":\"a\",\"n\":2}]");
    expect_ids(&list, "b a");
    expect_ok(hf_repository_save_many, r.things, NULL, "[{\"x\":1},{\"x\":2}]", HF_NTS, &list);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].id_length, 36);
    assert_memory_equal(list.items[0].data, "{\"id\":\"", 7);
    hf_entity_list_free(&list);
    expect_ok(hf_repository_update_many, r.things, NULL, "[]", HF_NTS, &list);
    expect_ids(&list, "");
    expect_count(r.things, NULL, NULL, 4);
}

static void of_an_id_saved_twice_in_a_batch_the_last_stays(room r) {
    expect_ok(hf_repository_save_many, r.things, NULL, "[{\"id\":7,\"n\":1},{\"id\":\"7\",\"n\":2}]", HF_NTS,
              NULL);
    expect_entity(r.things, NULL, "7", "{\"id\":\"7\",\"n\":2}");
    expect_count(r.things, NULL, NULL, 1);
}

static void delete_all_deletes_what_matches_and_counts_it(room r) {
    uint64_t n = 0;
    save_five(r.things);
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_repository_delete_all, r.things, t, "{\"tag\":\"x\"}", HF_NTS, NULL, &n);
    assert_int_equal(n, 2);
    expect_count(r.things, t, NULL, 3);
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);
    expect_ok(hf_repository_delete_all, r.things, NULL, "{\"n\":1}", HF_NTS, NULL, &n);
    assert_int_equal(n, 2);
    expect_ok(hf_repository_delete_all, r.things, NULL, NULL, 0, NULL, &n);
    assert_int_equal(n, 3);
    expect_ok(hf_repository_delete_all, r.things, NULL, NULL, 0, NULL, &n);
    assert_int_equal(n, 0);
}

static void ten_thousand_entities_go_in_and_come_out_in_one_call_each(room r) {
    enum { COUNT = 10000 };
    char *batch = malloc(COUNT * 32), *end = batch;
    for (int i = 0; i < COUNT; i++) {
        end +=
            sprintf(end, "%s{\"id\":%d,\"even\":%s}", i == 0 ? "[" : ",", i, i % 2 == 0 ? "true" : "false");
    }
    *end++ = ']';
    expect_ok(hf_repository_add_many, r.things, NULL, batch, (size_t)(end - batch), NULL);
    free(batch);
    expect_count(r.things, NULL, NULL, COUNT);
    expect_count(r.things, NULL, "{\"even\":true}", COUNT / 2);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    assert_int_equal(list.count, COUNT);
    hf_entity_list_free(&list);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_list_is_one_json_array_and_its_views_point_into_it),
        EACH_ENGINE(lists_are_ordered_by_the_bytes_of_the_ids),
        EACH_ENGINE(limit_and_skip_cut_from_the_order),
        EACH_ENGINE(filters_match_as_in_mongodb),
        EACH_ENGINE(fetch_many_answers_in_the_order_asked_and_leaves_out_what_is_missing),
        EACH_ENGINE(a_batch_is_stored_as_a_whole_or_not_at_all_and_says_at_which_index),
        EACH_ENGINE(a_refused_batch_leaves_its_transaction_as_it_was),
        EACH_ENGINE(batches_answer_the_entities_as_stored_in_the_order_given),
        EACH_ENGINE(of_an_id_saved_twice_in_a_batch_the_last_stays),
        EACH_ENGINE(delete_all_deletes_what_matches_and_counts_it),
        EACH_ENGINE(ten_thousand_entities_go_in_and_come_out_in_one_call_each),
    };
    return run_scenarios("queries", scenarios, COUNT_OF(scenarios));
}
