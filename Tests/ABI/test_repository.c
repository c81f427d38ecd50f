/* A repository: what each verb stores, answers and refuses, for one entity at a time. */
#include "support.h"

#include <malloc.h>

static void the_bytes_of_an_entity_are_kept(room r) {
    static const char odd[] =
        "{ \"z\" : 1.50e+1,\n\t\"id\":\"s\\u0031\", \"a\":[ ], \"\\/\":\"\\u00e4\\ud83d\\ude00\" }";
    save(r.things, NULL, odd);
    expect_entity(r.things, NULL, "s1", odd);
}

static void white_space_around_an_entity_is_not_part_of_it(room r) {
    save(r.things, NULL, " \n{\"id\":\"s1\"}\t ");
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\"}");
}

static void lengths_are_in_bytes_and_need_no_nul(room r) {
    hf_entity entity = HF_ENTITY_INIT;
    const char text[] = "{\"id\":\"s1\"}{\"id\":\"s2\"}";
    expect_ok(hf_repository_save, r.things, NULL, text, 11, NULL);
    expect_ok(hf_repository_fetch, r.things, NULL, "s1s2", 2, &entity);
    assert_string_equal(entity.data, "{\"id\":\"s1\"}");
    expect_absent(r.things, NULL, "s2");
    hf_entity_free(&entity);
}

static void add_refuses_an_id_that_is_taken(room r) {
    expect_ok(hf_repository_add, r.things, NULL, "{\"id\":\"s1\",\"n\":1}", HF_NTS, NULL);
    expect_detail(
        error_of(HF_EXISTS, hf_repository_add, r.things, NULL, "{\"id\":\"s1\",\"n\":2}", HF_NTS, NULL), "id",
        "\"s1\"");
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    expect(HF_EXISTS, hf_repository_add, r.things, t, "{\"id\":\"s1\"}", HF_NTS, NULL);
    expect_ok(hf_repository_add, r.things, t, "{\"id\":\"s2\"}", HF_NTS, NULL);
    expect(HF_EXISTS, hf_repository_add, r.things, t, "{\"id\":\"s2\"}", HF_NTS, NULL);
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 2);
}

static void an_entity_without_an_id_is_given_one_as_its_first_member(room r) {
    hf_entity entity = HF_ENTITY_INIT;
    char previous[37] = "";
    for (int i = 0; i < 100; i++) {
        hf_status status = i % 2 == 0
                               ? hf_repository_add(r.things, NULL, "{ \"n\": 1}", HF_NTS, &entity, NULL)
                               : hf_repository_save(r.things, NULL, "{ }", HF_NTS, &entity, NULL);
        assert_int_equal(status, HF_OK);
        json_t *parsed = json_loadb(entity.data, entity.length, 0, NULL);
        const char *id = json_string_value(json_object_get(parsed, "id"));
        assert_int_equal(strlen(id), 36);
        assert_int_equal(id[14], '7');           /* the version of RFC 9562 */
        assert_non_null(strchr("89ab", id[19])); /* its variant */
        assert_true(strcmp(previous, id) != 0);
        assert_memory_equal(entity.data, "{\"id\":\"", 7);
        expect_entity(r.things, NULL, id, entity.data);
        strcpy(previous, id);
        json_decref(parsed);
    }
    expect_count(r.things, NULL, NULL, 100);
    hf_entity_free(&entity);
}

static void the_integer_42_and_the_text_42_are_one_id(room r) {
    expect_ok(hf_repository_add, r.things, NULL, "{\"id\":42,\"n\":1}", HF_NTS, NULL);
    expect(HF_EXISTS, hf_repository_add, r.things, NULL, "{\"id\":\"42\"}", HF_NTS, NULL);
    expect_entity(r.things, NULL, "42", "{\"id\":42,\"n\":1}");
    expect_ok(hf_repository_update, r.things, NULL, "{\"id\":\"42\",\"n\":2}", HF_NTS, 0, NULL);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_fetch_many, r.things, NULL, "[42,\"42\"]", HF_NTS, &list);
    assert_int_equal(list.count, 2);
    hf_entity_list_free(&list);
    expect_ok(hf_repository_delete_many, r.things, NULL, "[42]", HF_NTS);
    save(r.things, NULL, "{\"id\":-9223372036854775808}");
    expect_entity(r.things, NULL, "-9223372036854775808", "{\"id\":-9223372036854775808}");
    expect_count(r.things, NULL, NULL, 1);
}

static void update_replaces_what_is_there_and_refuses_what_is_not(room r) {
    expect_detail(
        error_of(HF_NOT_FOUND, hf_repository_update, r.things, NULL, "{\"id\":\"s1\"}", HF_NTS, 0, NULL),
        "id", "\"s1\"");
    save(r.things, NULL, "{\"id\":\"s1\",\"a\":1,\"b\":2}");
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_update, r.things, NULL, "{\"id\":\"s1\",\"b\":3}", HF_NTS, 0, &entity);
    assert_string_equal(entity.data, "{\"id\":\"s1\",\"b\":3}");
    assert_int_equal(entity.version, version_of(r.things, NULL, "s1"));
    hf_entity_free(&entity);
    hf_transaction *t = begin(r.store, NULL);
    expect(HF_NOT_FOUND, hf_repository_update, r.things, t, "{\"id\":\"s2\"}", HF_NTS, 0, NULL);
    expect_ok(hf_repository_update, r.things, t, "{\"id\":\"s1\",\"b\":4}", HF_NTS, 0, NULL);
    expect_entity(r.things, t, "s1", "{\"id\":\"s1\",\"b\":4}");
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\",\"b\":3}");
    commit_quietly(t);
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\",\"b\":4}");
}

static void a_version_rises_with_every_change_and_can_be_expected(room r) {
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_save, r.things, NULL, "{\"id\":\"s1\",\"n\":1}", HF_NTS, &entity);
    uint64_t first = entity.version;
    assert_true(first > 0);
    expect_ok(hf_repository_update, r.things, NULL, "{\"id\":\"s1\",\"n\":2}", HF_NTS, first, &entity);
    uint64_t second = entity.version;
    assert_true(second > first);

    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)second);
    expect_detail(error_of(HF_VERSION_MISMATCH, hf_repository_update, r.things, NULL, "{\"id\":\"s1\"}",
                           HF_NTS, first, NULL),
                  "actual", number);
    hf_error *error = error_of(HF_VERSION_MISMATCH, hf_repository_delete, r.things, NULL, "s1", 2, first);
    assert_false(hf_error_is_retryable(error));
    snprintf(number, sizeof number, "%llu", (unsigned long long)first);
    expect_detail(error, "expected", number);
    expect(HF_VERSION_MISMATCH, hf_repository_patch, r.things, NULL, "s1", 2, "{\"n\":9}", HF_NTS, first,
           NULL);
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\",\"n\":2}");

    expect_ok(hf_repository_patch, r.things, NULL, "s1", 2, "{\"n\":3}", HF_NTS, second, &entity);
    assert_true(entity.version > second);
    expect_ok(hf_repository_delete, r.things, NULL, "s1", 2, entity.version);
    hf_entity_free(&entity);
}

static void an_expected_version_holds_inside_a_transaction(room r) {
    save(r.things, NULL, "{\"id\":\"s1\"}");
    uint64_t version = version_of(r.things, NULL, "s1");
    hf_transaction *t = begin(r.store, NULL);
    hf_entity entity = HF_ENTITY_INIT;
    expect(HF_VERSION_MISMATCH, hf_repository_update, r.things, t, "{\"id\":\"s1\"}", HF_NTS, version + 1,
           NULL);
    expect_ok(hf_repository_update, r.things, t, "{\"id\":\"s1\",\"n\":1}", HF_NTS, version, &entity);
    assert_int_equal(entity.version, 0);
    expect(HF_VERSION_MISMATCH, hf_repository_delete, r.things, t, "s1", 2, version);
    assert_int_equal(version_of(r.things, t, "s1"), 0);
    commit_quietly(t);
    assert_true(version_of(r.things, NULL, "s1") > version);
    hf_entity_free(&entity);
}

static void save_stores_what_is_new_and_what_is_not(room r) {
    save(r.things, NULL, "{\"id\":\"s1\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"s1\",\"n\":2}");
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\",\"n\":2}");
    expect_count(r.things, NULL, NULL, 1);
}

static void a_patch_keeps_the_bytes_that_it_does_not_touch(room r) {
    static const struct {
        const char *before, *patch, *after;
    } cases[] = {
        {"{\"id\":\"s\", \"a\" : 1.0e2 ,\"b\":[ 1 , 2 ],\"c\":\"\\u0041\"}", "{\"b\":3}",
         "{\"id\":\"s\", \"a\" : 1.0e2 ,\"b\":3,\"c\":\"\\u0041\"}"},
        {"{\"id\":\"s\",\"o\":{ \"x\":1, \"y\":2 },\"z\": 0}", "{\"o\":{\"y\":5}}",
         "{\"id\":\"s\",\"o\":{ \"x\":1, \"y\":5 },\"z\": 0}"},
        {"{\"id\":\"s\",\"n\":1}", "{}", "{\"id\":\"s\",\"n\":1}"},
        {"{\"id\":\"s\",\"n\":1}", "{\"id\":\"s\",\"n\":2}", "{\"id\":\"s\",\"n\":2}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        save(r.things, NULL, cases[i].before);
        expect_ok(hf_repository_patch, r.things, NULL, "s", 1, cases[i].patch, HF_NTS, 0, NULL);
        expect_entity(r.things, NULL, "s", cases[i].after);
    }
}

/* The examples of RFC 7396, appendix A, that begin and end as objects. */
static void a_patch_merges_as_rfc_7396_says(room r) {
    static const struct {
        const char *before, *patch, *after;
    } cases[] = {
        {"{\"id\":1,\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"id\":1,\"a\":\"c\"}"},
        {"{\"id\":1,\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"id\":1,\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"id\":1,\"a\":\"b\"}", "{\"a\":null}", "{\"id\":1}"},
        {"{\"id\":1,\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"id\":1,\"b\":\"c\"}"},
        {"{\"id\":1,\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"id\":1,\"a\":\"c\"}"},
        {"{\"id\":1,\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"id\":1,\"a\":[\"b\"]}"},
        {"{\"id\":1,\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
         "{\"id\":1,\"a\":{\"b\":\"d\"}}"},
        {"{\"id\":1,\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"id\":1,\"a\":[1]}"},
        {"{\"id\":1,\"e\":null}", "{\"a\":1}", "{\"id\":1,\"e\":null,\"a\":1}"},
        {"{\"id\":1}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"id\":1,\"a\":{\"bb\":{}}}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hf_entity entity = HF_ENTITY_INIT;
        save(r.things, NULL, cases[i].before);
        expect_ok(hf_repository_patch, r.things, NULL, "1", 1, cases[i].patch, HF_NTS, 0, &entity);
        json_t *actual = json_loadb(entity.data, entity.length, 0, NULL);
        json_t *expected = json_loads(cases[i].after, 0, NULL);
        if (!json_equal(actual, expected)) {
            fail_msg("%s + %s = %s", cases[i].before, cases[i].patch, entity.data);
        }
        json_decref(actual), json_decref(expected);
        hf_entity_free(&entity);
    }
}

static void a_patch_cannot_change_or_remove_the_id(room r) {
    save(r.things, NULL, "{\"id\":\"s1\"}");
    expect(HF_INVALID_ENTITY, hf_repository_patch, r.things, NULL, "s1", 2, "{\"id\":\"s2\"}", HF_NTS, 0,
           NULL);
    expect(HF_INVALID_ENTITY, hf_repository_patch, r.things, NULL, "s1", 2, "{\"id\":null}", HF_NTS, 0, NULL);
    expect(HF_NOT_FOUND, hf_repository_patch, r.things, NULL, "s2", 2, "{\"n\":1}", HF_NTS, 0, NULL);
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\"}");
    expect_count(r.things, NULL, NULL, 1);
}

static void patches_outside_a_transaction_add_up(room r) {
    save(r.things, NULL, "{\"id\":\"s1\"}");
    expect_ok(hf_repository_patch, r.things, NULL, "s1", 2, "{\"a\":1}", HF_NTS, 0, NULL);
    expect_ok(hf_repository_patch, r.things, NULL, "s1", 2, "{\"b\":2}", HF_NTS, 0, NULL);
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\",\"a\":1,\"b\":2}");
}

static void delete_removes_what_is_there_and_refuses_what_is_not(room r) {
    bool contains = false;
    save(r.things, NULL, "{\"id\":\"s1\"}");
    expect_ok(hf_repository_contains, r.things, NULL, "s1", 2, &contains);
    assert_true(contains);
    expect_ok(hf_repository_delete, r.things, NULL, "s1", 2, 0);
    expect_ok(hf_repository_contains, r.things, NULL, "s1", 2, &contains);
    assert_false(contains);
    expect(HF_NOT_FOUND, hf_repository_delete, r.things, NULL, "s1", 2, 0);
    expect_absent(r.things, NULL, "s1");
    expect_ok(hf_repository_add, r.things, NULL, "{\"id\":\"s1\"}", HF_NTS, NULL);
}

static void the_id_lies_under_the_key_of_the_repository(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *countries = NULL, *again = NULL;
    expect_ok(hf_repository_open, store, "countries", "{\"key\":\"alpha_2\"}", &countries);
    save(countries, NULL, "{\"name\":\"Aruba\",\"alpha_2\":\"AW\",\"id\":7}");
    expect_entity(countries, NULL, "AW", "{\"name\":\"Aruba\",\"alpha_2\":\"AW\",\"id\":7}");
    expect(HF_INVALID_ENTITY, hf_repository_update, countries, NULL, "{\"id\":\"AW\"}", HF_NTS, 0, NULL);
    again = open_repository(store, "countries");
    expect_entity(again, NULL, "AW", "{\"name\":\"Aruba\",\"alpha_2\":\"AW\",\"id\":7}");
    hf_repository_free(again);
    expect(HF_INVALID_OPTION, hf_repository_open, store, "countries", "{\"key\":\"id\"}", &again);
    expect_ok(hf_repository_open, store, "countries", "{\"key\":\"alpha_2\",\"create\":false}", &again);
    hf_repository_free(again);
    hf_repository_free(countries);
    hf_store_free(store);
}

static void names_that_differ_in_case_alone_are_refused(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *other = NULL;
    hf_repository_free(open_repository(store, "Things"));
    expect(HF_EXISTS, hf_repository_open, store, "things", NULL, &other);
    expect(HF_NOT_FOUND, hf_repository_open, store, "albums", "{\"create\":false}", &other);
    assert_null(other);
    hf_repository_free(open_repository(store, "Things"));
    hf_store_free(store);
}

static void repositories_do_not_see_each_other(room r) {
    hf_repository *albums = open_repository(r.store, "albums");
    save(r.things, NULL, "{\"id\":\"x\",\"n\":1}");
    save(albums, NULL, "{\"id\":\"x\",\"n\":2}");
    expect_entity(r.things, NULL, "x", "{\"id\":\"x\",\"n\":1}");
    expect_ok(hf_repository_delete_all, albums, NULL, NULL, 0, NULL, NULL);
    expect_count(r.things, NULL, NULL, 1);
    expect_count(albums, NULL, NULL, 0);
    hf_repository_free(albums);
}

static void a_list_that_is_passed_again_gives_up_what_it_held(room r) {
    enum { COUNT = 1000, TIMES = 200 };
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    char json[64];
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < COUNT; i++) {
        snprintf(json, sizeof json, "{\"id\":%d}", i);
        save(r.things, t, json);
    }
    commit_quietly(t);
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < TIMES; i++)
        expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    assert_int_equal(list.count, COUNT);
    /* Each has more than 40,000 bytes. */
    assert_true(mallinfo2().uordblks < before + TIMES * COUNT);
    hf_entity_list_free(&list);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(the_bytes_of_an_entity_are_kept),
        EACH_ENGINE(white_space_around_an_entity_is_not_part_of_it),
        EACH_ENGINE(lengths_are_in_bytes_and_need_no_nul),
        EACH_ENGINE(add_refuses_an_id_that_is_taken),
        EACH_ENGINE(an_entity_without_an_id_is_given_one_as_its_first_member),
        EACH_ENGINE(the_integer_42_and_the_text_42_are_one_id),
        EACH_ENGINE(update_replaces_what_is_there_and_refuses_what_is_not),
        EACH_ENGINE(a_version_rises_with_every_change_and_can_be_expected),
        EACH_ENGINE(an_expected_version_holds_inside_a_transaction),
        EACH_ENGINE(save_stores_what_is_new_and_what_is_not),
        EACH_ENGINE(a_patch_keeps_the_bytes_that_it_does_not_touch),
        EACH_ENGINE(a_patch_merges_as_rfc_7396_says),
        EACH_ENGINE(a_patch_cannot_change_or_remove_the_id),
        EACH_ENGINE(patches_outside_a_transaction_add_up),
        EACH_ENGINE(delete_removes_what_is_there_and_refuses_what_is_not),
        EACH_ENGINE(the_id_lies_under_the_key_of_the_repository),
        EACH_ENGINE(names_that_differ_in_case_alone_are_refused),
        EACH_ENGINE(repositories_do_not_see_each_other),
        ONCE(a_list_that_is_passed_again_gives_up_what_it_held),
    };
    return run_scenarios("repository", scenarios, COUNT_OF(scenarios));
}
