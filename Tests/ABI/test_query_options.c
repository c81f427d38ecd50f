/* What a query is asked with besides its filter: order, a part of the members, parameters, a host's
 * predicate. */
#include "support.h"

static room open_filled_room(const fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_repository_save_many, r.things, NULL,
              "[{\"id\":\"a\", \"n\":3, \"o\":{\"x\":1, \"y\":2}, \"t\":[5,1]},"
              "{\"id\":\"b\",\"n\":\"s\",\"o\":{\"x\":2},\"t\":[]},"
              "{\"id\":\"c\",\"n\":1.5,\"t\":[3]},"
              "{\"id\":\"d\",\"n\":null,\"o\":[{\"x\":9,\"y\":8},7],\"t\":\"q\"},"
              "{\"id\":\"e\",\"o\":{\"x\":0},\"t\":true},"
              "{\"id\":\"f\",\"n\":3.0,\"t\":{\"k\":1}}]",
              HF_NTS, NULL);
    return r;
}

static void expect_found(room r, hf_transaction *t, const char *filter, const char *options,
                         const char *ids) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_find, r.things, t, filter, HF_NTS, options, &list);
    char actual[256] = "";
    for (size_t i = 0; i < list.count; i++)
        strncat(actual, list.items[i].id, list.items[i].id_length);
    if (strcmp(actual, ids) != 0)
        fail_msg("%s with %s found %s, not %s", filter != NULL ? filter : "all", options, actual, ids);
    hf_entity_list_free(&list);
}

static void sorting_follows_mongodb_s_order_and_then_the_ids(fixture *f) {
    room r = open_filled_room(f);
    hf_transaction *t = begin(r.store, NULL);
    static const struct {
        const char *options, *ids;
    } cases[] = {
        {"{\"sort\":{\"n\":1}}", "decafb"},
        {"{\"sort\":{\"n\":-1}}", "bfaced"},
        {"{\"sort\":{\"t\":1}}", "bacdfe"},
        {"{\"sort\":{\"t\":-1}}", "efdacb"},
        {"{\"sort\":{\"o.x\":1,\"id\":-1}}", "fdceab"},
        {"{\"sort\":{\"n\":-1},\"limit\":2}", "bf"},
        {"{\"sort\":{\"n\":-1},\"limit\":2,\"skip\":1}", "fa"},
        {"{\"sort\":{\"n\":1},\"skip\":5}", "b"},
        {"{\"sort\":{\"n\":1},\"skip\":9007199254740992,\"limit\":9007199254740992}", ""},
        {"{\"sort\":{},\"limit\":1}", "a"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect_found(r, NULL, NULL, cases[i].options, cases[i].ids);
        expect_found(r, t, NULL, cases[i].options, cases[i].ids);
    }
    save(r.things, t, "{\"id\":\"ab\",\"n\":3}");
    expect_found(r, t, NULL, "{\"sort\":{\"n\":1}}", "decaabfb");
    hf_transaction_free(t);
    close_room(r);
}

static void fields_cut_members_and_keep_the_bytes_of_the_rest(fixture *f) {
    static const struct {
        const char *filter, *options, *text;
    } cases[] = {
        {"{\"id\":\"a\"}", "{\"fields\":[\"o.y\",\"n\"]}", "{\"id\":\"a\",\"n\":3,\"o\":{\"y\":2}}"},
        {"{\"id\":\"a\"}", "{\"fields\":{\"t\":0,\"o.x\":0}}", "{\"id\":\"a\",\"n\":3,\"o\":{\"y\":2}}"},
        {"{\"id\":\"a\"}", "{\"fields\":{\"o\":1,\"id\":0}}", "{\"o\":{\"x\":1, \"y\":2}}"},
        {"{\"id\":\"a\"}", "{\"fields\":{\"id\":0,\"o\":0}}", "{\"n\":3,\"t\":[5,1]}"},
        {"{\"id\":\"a\"}", "{\"fields\":{\"id\":1}}", "{\"id\":\"a\"}"},
        {"{\"id\":\"d\"}", "{\"fields\":[\"o.x\"]}", "{\"id\":\"d\",\"o\":[{\"x\":9}]}"},
        {"{\"id\":\"d\"}", "{\"fields\":{\"o.x\":0,\"n\":0}}",
         "{\"id\":\"d\",\"o\":[{\"y\":8},7],\"t\":\"q\"}"},
        {"{\"id\":\"f\"}", "{\"fields\":[\"t.k.z\",\"none\"]}", "{\"id\":\"f\",\"t\":{}}"},
        {"{\"id\":\"a\"}", "{\"fields\":[]}",
         "{\"id\":\"a\", \"n\":3, \"o\":{\"x\":1, \"y\":2}, \"t\":[5,1]}"},
    };
    room r = open_filled_room(f);
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect_ok(hf_repository_first, r.things, NULL, cases[i].filter, HF_NTS, cases[i].options, &entity);
        assert_string_equal(entity.data, cases[i].text);
        expect_ok(hf_repository_find, r.things, NULL, cases[i].filter, HF_NTS, cases[i].options, &list);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.items[0].length, strlen(cases[i].text));
        assert_memory_equal(list.items[0].data, cases[i].text, list.items[0].length);
    }
    hf_entity_free(&entity);
    hf_entity_list_free(&list);
    close_room(r);
}

static void the_first_of_an_order_is_fetched_with_its_version(fixture *f) {
    room r = open_filled_room(f);
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_first, r.things, NULL, "{\"n\":{\"$type\":\"number\"}}", HF_NTS,
              "{\"sort\":{\"n\":1}}", &entity);
    assert_string_equal(entity.data, "{\"id\":\"c\",\"n\":1.5,\"t\":[3]}");
    assert_int_equal(entity.version, version_of(r.things, NULL, "c"));
    expect_ok(hf_repository_first, r.things, NULL, NULL, 0, "{\"skip\":1}", &entity);
    assert_memory_equal(entity.data, "{\"id\":\"b\"", 9);
    expect_answer(HF_NOT_FOUND, hf_repository_first, r.things, NULL, "{\"n\":77}", HF_NTS, NULL, &entity);
    expect_answer(HF_NOT_FOUND, hf_repository_first, r.things, NULL, NULL, 0, "{\"skip\":6}", &entity);
    assert_memory_equal(entity.data, "{\"id\":\"b\"", 9);
    bool exists = false;
    expect_ok(hf_repository_exists, r.things, NULL, "{\"n\":1.5}", HF_NTS, NULL, &exists);
    assert_true(exists);
    expect_ok(hf_repository_exists, r.things, NULL, "{\"n\":77}", HF_NTS, NULL, &exists);
    assert_false(exists);
    hf_entity_free(&entity);
    close_room(r);
}

static void distinct_values_come_once_and_in_order(fixture *f) {
    room r = open_filled_room(f);
    hf_buffer values = HF_BUFFER_INIT;
    static const struct {
        const char *path, *filter, *values;
    } cases[] = {
        {"n", "{}", "[null,1.5,3,\"s\"]"},
        {"t", "{}", "[1,3,5,\"q\",{\"k\":1},true]"},
        {"o.x", "{}", "[0,1,2,9]"},
        {"t.0", "{}", "[3,5]"},
        {"none", "{}", "[]"},
        {"n", "{\"id\":{\"$gte\":\"c\"}}", "[null,1.5,3.0]"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect_ok(hf_repository_distinct, r.things, NULL, cases[i].path, cases[i].filter, HF_NTS, NULL,
                  &values);
        assert_string_equal(values.data, cases[i].values);
    }
    hf_buffer_free(&values);
    close_room(r);
}

static void parameters_are_literals_at_every_door(fixture *f) {
    room r = open_filled_room(f);
    static const char filter[] = "{\"n\":{\"$gte\":{\"$param\":\"least\"}}}";
    static const char two[] = "{\"parameters\":{\"least\":2}}";
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_buffer values = HF_BUFFER_INIT;
    uint64_t n = 77;
    bool exists = false;
    expect_found(r, NULL, filter, two, "af");
    expect_found(r, NULL, filter, "{\"parameters\":{\"least\":1}}", "acf");
    expect_found(r, NULL, filter, "{\"parameters\":{\"least\":\"\"}}", "b");
    expect_found(r, NULL, "{\"n\":{\"$param\":\"n\"}}", "{\"parameters\":{\"n\":{\"$gte\":0}}}", "");
    expect_ok(hf_repository_first, r.things, NULL, filter, HF_NTS, two, &entity);
    expect_ok(hf_repository_exists, r.things, NULL, filter, HF_NTS, two, &exists);
    assert_true(exists);
    expect_ok(hf_repository_distinct, r.things, NULL, "n", filter, HF_NTS, two, &values);
    assert_string_equal(values.data, "[3]");
    expect_ok(hf_repository_count, r.things, NULL, filter, HF_NTS, two, &n);
    assert_int_equal(n, 2);
    expect_ok(hf_repository_modify_all, r.things, NULL, filter, HF_NTS, "{\"$set\":{\"m\":1}}", HF_NTS, two,
              &n, NULL);
    assert_int_equal(n, 2);
    expect_ok(hf_repository_delete_all, r.things, NULL, filter, HF_NTS, two, &n);
    assert_int_equal(n, 2);
    expect(HF_INVALID_QUERY, hf_repository_find, r.things, NULL, filter, HF_NTS, NULL, &list);
    expect(HF_INVALID_QUERY, hf_repository_count, r.things, NULL, NULL, 0, two, &n);
    expect(HF_INVALID_OPTION, hf_repository_count, r.things, NULL, filter, HF_NTS, "{\"parameters\":[]}", &n);
    hf_entity_free(&entity);
    hf_buffer_free(&values);
    close_room(r);
}

static void wrong_options_are_refused_by_name(fixture *f) {
    static const struct {
        const char *options, *named;
    } cases[] = {
        {"{\"sort\":[\"n\"]}", "sort"},
        {"{\"sort\":{\"n\":2}}", "sort"},
        {"{\"sort\":{\"n\":\"asc\"}}", "sort"},
        {"{\"fields\":\"n\"}", "fields"},
        {"{\"fields\":{\"n\":1,\"o\":0}}", "fields"},
        {"{\"fields\":[\"o\",\"o.x\"]}", "fields"},
        {"{\"fields\":[\"o.x\",\"o\"]}", "fields"},
        {"{\"fields\":[1]}", "fields"},
        {"{\"fields\":{\"n\":2}}", "fields"},
        {"{\"skip\":-1}", "skip"},
        {"{\"order\":1}", "order"},
    };
    room r = open_filled_room(f);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hf_error *error =
            error_of(HF_INVALID_OPTION, hf_repository_find, r.things, NULL, NULL, 0, cases[i].options, &list);
        char named[64];
        snprintf(named, sizeof named, "{\"option\":\"%s\"", cases[i].named);
        assert_memory_equal(hf_error_detail(error, NULL), named, strlen(named));
        hf_error_free(error);
    }
    uint64_t n;
    expect(HF_INVALID_OPTION, hf_repository_count, r.things, NULL, NULL, 0, "{\"limit\":1}", &n);
    assert_null(list.items);
    close_room(r);
}

static void an_invalid_query_tells_its_operator_path_and_position(fixture *f) {
    room r = open_filled_room(f);
    uint64_t n;
    hf_error *error = error_of(HF_INVALID_QUERY, hf_repository_count, r.things, NULL,
                               "{\"$or\":[{\"n\":1},{\"o.x\":{\"$in\":7}}]}", HF_NTS, NULL, &n);
    assert_string_equal(hf_error_message(error),
                        "operator \"$in\" at \"o.x\" in the filter takes an array, not a number");
    assert_string_equal(hf_error_detail(error, NULL),
                        "{\"operator\":\"$in\",\"path\":\"o.x\",\"position\":30}");
    hf_error_free(error);
    char text[300];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    char entity[400];
    snprintf(entity, sizeof entity, "{\"id\":\"z\",\"text\":\"%s\"}", text);
    save(r.things, NULL, entity);
    error = error_of(HF_INVALID_QUERY, hf_repository_count, r.things, NULL,
                     "{\"text\":{\"$regex\":\"(a+)+[xy]\"}}", HF_NTS, NULL, &n);
    assert_non_null(strstr(hf_error_message(error), "too expensive"));
    hf_error_free(error);
    close_room(r);
}

typedef struct chooser {
    room r;
    hf_transaction *transaction;
    int calls;
} chooser;

static bool has_a_short_text(const hf_entity_view *entity, void *user_data) {
    chooser *c = user_data;
    c->calls++;
    bool contains = false; /* it may call any function */
    expect_ok(hf_repository_contains, c->r.things, c->transaction, entity->id, entity->id_length, &contains);
    assert_true(contains);
    return entity->length < 40;
}

static void a_host_s_predicate_chooses_and_may_call_anything(fixture *f) {
    chooser c = {open_filled_room(f), NULL, 0};
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    for (int i = 0; i < 2; i++) {
        c.calls = 0;
        expect_ok(hf_repository_find_if, c.r.things, c.transaction, has_a_short_text, &c,
                  "{\"sort\":{\"id\":-1},\"skip\":1,\"limit\":2,\"fields\":[\"n\"]}", &list);
        assert_string_equal(list.json, "[{\"id\":\"e\"},{\"id\":\"c\",\"n\":1.5}]");
        assert_int_equal(c.calls, 4);
        if (i == 0)
            c.transaction = begin(c.r.store, NULL);
    }
    expect(HF_INVALID_ARGUMENT, hf_repository_find_if, c.r.things, NULL, NULL, NULL, NULL, &list);
    hf_transaction_free(c.transaction);
    hf_entity_list_free(&list);
    close_room(c.r);
}

static void a_predicate_counts_as_a_read_of_the_whole_repository(fixture *f) {
    chooser c = {open_filled_room(f), NULL, 0};
    c.transaction = begin(c.r.store, NULL);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_find_if, c.r.things, c.transaction, has_a_short_text, &c, NULL, &list);
    save(c.r.things, c.transaction, "{\"id\":\"new\"}");
    save(c.r.things, NULL, "{\"id\":\"other\"}");
    expect(HF_CONFLICT, hf_transaction_commit, c.transaction, NULL);
    hf_transaction_free(c.transaction);
    hf_entity_list_free(&list);
    close_room(c.r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(sorting_follows_mongodb_s_order_and_then_the_ids),
        EACH_ENGINE(fields_cut_members_and_keep_the_bytes_of_the_rest),
        EACH_ENGINE(the_first_of_an_order_is_fetched_with_its_version),
        EACH_ENGINE(distinct_values_come_once_and_in_order),
        EACH_ENGINE(parameters_are_literals_at_every_door),
        EACH_ENGINE(wrong_options_are_refused_by_name),
        EACH_ENGINE(an_invalid_query_tells_its_operator_path_and_position),
        EACH_ENGINE(a_host_s_predicate_chooses_and_may_call_anything),
        EACH_ENGINE(a_predicate_counts_as_a_read_of_the_whole_repository),
    };
    return run_scenarios("query options", scenarios, COUNT_OF(scenarios));
}
