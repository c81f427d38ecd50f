/* What is no JSON, no entity, no id or no filter is refused at every door, says where, and changes nothing.
 */
#include "support.h"

typedef struct payload {
    const char *bytes;
    size_t length;
} payload;

#define BYTES(literal)                                                                                       \
    { literal, sizeof(literal) - 1 }

/* One call for each place that takes a payload. */
typedef hf_status (*payload_call)(hf_repository *things, hf_transaction *transaction, payload p,
                                  hf_error **out_error);

#define DOOR(name, expression)                                                                               \
    static hf_status name(hf_repository *things, hf_transaction *transaction, payload p,                     \
                          hf_error **out_error) {                                                            \
        return expression;                                                                                   \
    }

DOOR(add, hf_repository_add(things, transaction, p.bytes, p.length, NULL, out_error))
DOOR(update, hf_repository_update(things, transaction, p.bytes, p.length, 0, NULL, out_error))
DOOR(save_one, hf_repository_save(things, transaction, p.bytes, p.length, NULL, out_error))
DOOR(patch, hf_repository_patch(things, transaction, "a", 1, p.bytes, p.length, 0, NULL, out_error))
DOOR(modify,
     hf_repository_modify(things, transaction, "a", 1, p.bytes, p.length, NULL, 0, 0, NULL, out_error))
DOOR(initial,
     hf_repository_modify(things, transaction, "b", 1, "{}", 2, p.bytes, p.length, 0, NULL, out_error))
DOOR(modify_all,
     hf_repository_modify_all(things, transaction, NULL, 0, p.bytes, p.length, NULL, NULL, NULL, out_error))
DOOR(add_many, hf_repository_add_many(things, transaction, p.bytes, p.length, NULL, out_error))
DOOR(update_many, hf_repository_update_many(things, transaction, p.bytes, p.length, NULL, out_error))
DOOR(save_many, hf_repository_save_many(things, transaction, p.bytes, p.length, NULL, out_error))
DOOR(patch_many, hf_repository_patch_many(things, transaction, p.bytes, p.length, NULL, out_error))
DOOR(delete_many, hf_repository_delete_many(things, transaction, p.bytes, p.length, out_error))
DOOR(delete_all, hf_repository_delete_all(things, transaction, p.bytes, p.length, NULL, NULL, out_error))

static hf_status fetch_many(hf_repository *things, hf_transaction *transaction, payload p,
                            hf_error **out_error) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_status status = hf_repository_fetch_many(things, transaction, p.bytes, p.length, &list, out_error);
    hf_entity_list_free(&list);
    return status;
}

static hf_status find(hf_repository *things, hf_transaction *transaction, payload p, hf_error **out_error) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_status status = hf_repository_find(things, transaction, p.bytes, p.length, NULL, &list, out_error);
    hf_entity_list_free(&list);
    return status;
}

static hf_status count(hf_repository *things, hf_transaction *transaction, payload p, hf_error **out_error) {
    uint64_t n = 0;
    return hf_repository_count(things, transaction, p.bytes, p.length, NULL, &n, out_error);
}

static const struct {
    const char *name;
    payload_call call;
    char opening; /* of what it takes: an object or an array */
} doors[] = {
    {"add", add, '{'},
    {"update", update, '{'},
    {"save", save_one, '{'},
    {"patch", patch, '{'},
    {"modify", modify, '{'},
    {"initial", initial, '{'},
    {"modify_all", modify_all, '{'},
    {"delete_all", delete_all, '{'},
    {"find", find, '{'},
    {"count", count, '{'},
    {"add_many", add_many, '['},
    {"update_many", update_many, '['},
    {"save_many", save_many, '['},
    {"patch_many", patch_many, '['},
    {"delete_many", delete_many, '['},
    {"fetch_many", fetch_many, '['},
};

/* A store with the one entity "a" in "things". */
static room open_filled_room(const fixture *f, const char *options) {
    room r = open_room(f, options);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    return r;
}

static void close_unchanged(room r) {
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect_count(r.things, NULL, NULL, 1);
    close_room(r);
}

static void malformed_json_is_refused_with_its_position_at_every_door(fixture *f) {
    /* Each is malformed before anything else could be wrong with it. */
    static const payload malformed[] = {
        BYTES(""),
        BYTES("   "),
        BYTES("{"),
        BYTES("{\"id\""),
        BYTES("{\"id\":"),
        BYTES("{\"id\":\"b\""),
        BYTES("{\"id\":\"b\",}"),
        BYTES("{'id':'b'}"),
        BYTES("{\"id\":nul}"),
        BYTES("{\"id\":\"b\"} x"),
        BYTES("{}{}"),
        BYTES("{\"id\":\"b\"}\0"),
        BYTES("{\"id\":\"\xff\"}"),
        BYTES("{\"id\":\"b\",\"x\":\"\xed\xa0\x80\"}"),
        BYTES("["),
        BYTES("[ "),
        BYTES("[,]"),
        BYTES("[}"),
        BYTES("[{]"),
        BYTES("[{\"\xff\":1}]"),
        BYTES("[] x"),
        BYTES("[][]"),
        BYTES("[]\0"),
    };
    room r = open_filled_room(f, NULL);
    hf_transaction *t = begin(r.store, NULL);
    for (size_t d = 0; d < COUNT_OF(doors); d++) {
        for (size_t m = 0; m < COUNT_OF(malformed); m++) {
            if (malformed[m].length > 0 && strchr("{[", malformed[m].bytes[0]) != NULL &&
                malformed[m].bytes[0] != doors[d].opening) {
                continue;
            }
            for (int with = 0; with < 2; with++) {
                hf_error *error = NULL;
                hf_status status = doors[d].call(r.things, with ? t : NULL, malformed[m], &error);
                if (status != HF_INVALID_JSON) {
                    fail_msg("%s of %s answered %s", doors[d].name, malformed[m].bytes,
                             hf_status_name(status));
                }
                json_t *detail = json_loads(hf_error_detail(error, NULL), 0, NULL);
                json_t *position = json_object_get(detail, "position");
                if (!json_is_integer(position) ||
                    (size_t)json_integer_value(position) > malformed[m].length) {
                    fail_msg("%s of %s: detail %s", doors[d].name, malformed[m].bytes,
                             hf_error_detail(error, NULL));
                }
                json_decref(detail);
                hf_error_free(error);
            }
        }
    }
    commit_quietly(t);
    close_unchanged(r);
}

static void an_entity_with_a_bad_value_inside_is_no_json(fixture *f) {
    static const payload bad[] = {
        BYTES("{\"id\":\"b\",\"x\":1,\"x\":2}"),
        BYTES("{\"id\":\"b\",\"id\":\"c\"}"),
        BYTES("{\"id\":\"b\",\"o\":{\"x\":1,\"\\u0078\":2}}"),
        BYTES("{\"id\":\"b\",\"x\":\"\\ud800\"}"),
        BYTES("{\"id\":\"b\",\"x\":\"\\udc00\\ud800\"}"),
        BYTES("{\"id\":\"b\",\"x\":\"\\x41\"}"),
        BYTES("{\"id\":\"b\",\"x\":\"\t\"}"),
        BYTES("{\"id\":\"b\",\"x\":9223372036854775808}"),
        BYTES("{\"id\":\"b\",\"x\":-9223372036854775809}"),
        BYTES("{\"id\":\"b\",\"x\":1e999}"),
        BYTES("{\"id\":\"b\",\"x\":NaN}"),
        BYTES("{\"id\":\"b\",\"x\":+1}"),
        BYTES("{\"id\":\"b\",\"x\":01}"),
        BYTES("{\"id\":\"b\",\"x\":.5}"),
        BYTES("{\"id\":\"b\",\"x\":0x10}"),
        BYTES("{\"id\":\"b\",\"x\":1} // no"),
    };
    room r = open_filled_room(f, NULL);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        expect(HF_INVALID_JSON, hf_repository_add, r.things, NULL, bad[i].bytes, bad[i].length, NULL);
        expect(HF_INVALID_JSON, hf_repository_save, r.things, NULL, bad[i].bytes, bad[i].length, NULL);
        char batch[128];
        int length = snprintf(batch, sizeof batch, "[{\"id\":\"ok\"},%s]", bad[i].bytes);
        expect(HF_INVALID_JSON, hf_repository_save_many, r.things, NULL, batch, (size_t)length, NULL);
    }
    close_unchanged(r);
}

static void what_is_no_object_is_no_entity(fixture *f) {
    static const char *const others[] = {"[]", "1", "null", "\"text\"", "true"};
    room r = open_filled_room(f, NULL);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        expect(HF_INVALID_ENTITY, hf_repository_add, r.things, NULL, others[i], HF_NTS, NULL);
        expect(HF_INVALID_ENTITY, hf_repository_update, r.things, NULL, others[i], HF_NTS, 0, NULL);
        expect(HF_INVALID_ENTITY, hf_repository_save, r.things, NULL, others[i], HF_NTS, NULL);
        expect(HF_INVALID_ENTITY, hf_repository_patch, r.things, NULL, "a", 1, others[i], HF_NTS, 0, NULL);
        char batch[64];
        snprintf(batch, sizeof batch, "[{\"id\":\"b\"},%s]", others[i]);
        expect(HF_INVALID_ENTITY, hf_repository_save_many, r.things, NULL, batch, HF_NTS, NULL);
    }
    close_unchanged(r);
}

static void an_update_without_an_id_is_refused(fixture *f) {
    room r = open_filled_room(f, NULL);
    expect(HF_INVALID_ENTITY, hf_repository_update, r.things, NULL, "{\"n\":2}", HF_NTS, 0, NULL);
    expect(HF_INVALID_ENTITY, hf_repository_update_many, r.things, NULL, "[{\"n\":2}]", HF_NTS, NULL);
    expect(HF_INVALID_ENTITY, hf_repository_patch_many, r.things, NULL, "[{\"n\":2}]", HF_NTS, NULL);
    close_unchanged(r);
}

static void a_bad_id_is_refused_wherever_it_is_given(fixture *f) {
    static const payload bare[] = {BYTES(""),     BYTES("a\x01"), BYTES("a\nb"), BYTES("\x7f"),
                                   BYTES("a\0b"), BYTES("\xff"),  BYTES("\xc3")};
    static const char *const written[] = {"\"\"", "\"\\u0000\"", "\"a\\u001f\"", "\"\\u007f\"", "null",
                                          "true", "1.5",         "1e3",          "[]",          "{}"};
    room r = open_filled_room(f, NULL);
    hf_entity entity = HF_ENTITY_INIT;
    bool contains = false;
    for (size_t i = 0; i < COUNT_OF(bare); i++) {
        const char *id = bare[i].bytes;
        size_t length = bare[i].length;
        expect(HF_INVALID_ID, hf_repository_fetch, r.things, NULL, id, length, &entity);
        expect(HF_INVALID_ID, hf_repository_delete, r.things, NULL, id, length, 0);
        expect(HF_INVALID_ID, hf_repository_contains, r.things, NULL, id, length, &contains);
        expect(HF_INVALID_ID, hf_repository_patch, r.things, NULL, id, length, "{}", HF_NTS, 0, NULL);
    }
    assert_null(entity.data);
    for (size_t i = 0; i < COUNT_OF(written); i++) {
        char json[64], batch[96];
        snprintf(json, sizeof json, "{\"id\":%s}", written[i]);
        expect(HF_INVALID_ID, hf_repository_add, r.things, NULL, json, HF_NTS, NULL);
        expect(HF_INVALID_ID, hf_repository_save, r.things, NULL, json, HF_NTS, NULL);
        expect(HF_INVALID_ID, hf_repository_update, r.things, NULL, json, HF_NTS, 0, NULL);
        snprintf(batch, sizeof batch, "[{\"id\":\"b\"},{\"id\":%s}]", written[i]);
        expect(HF_INVALID_ID, hf_repository_save_many, r.things, NULL, batch, HF_NTS, NULL);
        snprintf(batch, sizeof batch, "[\"a\",%s]", written[i]);
        expect(HF_INVALID_ID, hf_repository_delete_many, r.things, NULL, batch, HF_NTS);
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        expect(HF_INVALID_ID, hf_repository_fetch_many, r.things, NULL, batch, HF_NTS, &list);
    }
    close_unchanged(r);
}

static void an_id_of_512_bytes_is_the_longest(fixture *f) {
    room r = open_filled_room(f, NULL);
    char id[514], json[600];
    memset(id, 'x', sizeof id);
    hf_entity entity = HF_ENTITY_INIT;
    expect_answer(HF_NOT_FOUND, hf_repository_fetch, r.things, NULL, id, 512, &entity);
    expect(HF_INVALID_ID, hf_repository_fetch, r.things, NULL, id, 513, &entity);
    snprintf(json, sizeof json, "{\"id\":\"%.513s\"}", id);
    expect(HF_INVALID_ID, hf_repository_save, r.things, NULL, json, HF_NTS, NULL);
    snprintf(json, sizeof json, "{\"id\":\"%.512s\"}", id);
    save(r.things, NULL, json);
    expect_ok(hf_repository_fetch, r.things, NULL, id, 512, &entity);
    assert_string_equal(entity.data, json);
    expect_ok(hf_repository_delete, r.things, NULL, id, 512, entity.version);
    hf_entity_free(&entity);
    close_unchanged(r);
}

static void a_filter_with_an_unknown_operator_or_of_another_type_is_an_invalid_query(fixture *f) {
    static const char *const filters[] = {
        "[]", "1", "\"a\"", "{\"n\":{\"$near\":1}}", "{\"$where\":\"1\"}", "{\"n\":{\"$eq\":1,\"$wat\":2}}"};
    room r = open_filled_room(f, NULL);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    uint64_t n = 77;
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        const char *filter = filters[i];
        expect(HF_INVALID_QUERY, hf_repository_find, r.things, NULL, filter, HF_NTS, NULL, &list);
        expect(HF_INVALID_QUERY, hf_repository_count, r.things, NULL, filter, HF_NTS, NULL, &n);
        expect(HF_INVALID_QUERY, hf_repository_delete_all, r.things, NULL, filter, HF_NTS, NULL, &n);
    }
    assert_int_equal(n, 77);
    assert_null(list.items);
    close_unchanged(r);
}

static void the_limits_for_bytes_and_depth_hold_exactly(fixture *f) {
    room r = open_filled_room(f, "{\"max_entity_bytes\":64,\"max_depth\":3}");
    save(r.things, NULL, "{\"id\":\"b\",\"x\":[[1]]}");
    expect(HF_INVALID_JSON, hf_repository_save, r.things, NULL, "{\"id\":\"b\",\"x\":[[[1]]]}", HF_NTS, NULL);
    char json[80];
    for (int length = 64; length <= 65; length++) {
        int padding = length - (int)strlen("{\"id\":\"b\",\"x\":\"\"}");
        snprintf(json, sizeof json, "{\"id\":\"b\",\"x\":\"%0*d\"}", padding, 0);
        assert_int_equal(strlen(json), length);
        expect(length == 64 ? HF_OK : HF_INVALID_JSON, hf_repository_save, r.things, NULL, json, HF_NTS,
               NULL);
    }
    expect(HF_INVALID_ENTITY, hf_repository_patch, r.things, NULL, "b", 1, "{\"y\":1}", HF_NTS, 0, NULL);
    expect_ok(hf_repository_delete, r.things, NULL, "b", 1, 0);
    close_unchanged(r);
}

static void a_hundred_thousand_brackets_are_refused_and_not_followed(fixture *f) {
    enum { BRACKETS = 100000 };
    room r = open_filled_room(f, "{\"max_depth\":200}");
    char *deep = malloc(BRACKETS);
    memset(deep, '[', BRACKETS);
    for (size_t d = 0; d < COUNT_OF(doors); d++) {
        payload p = {deep, BRACKETS};
        hf_error *error = NULL;
        hf_status status = doors[d].call(r.things, NULL, p, &error);
        assert_true(status == HF_INVALID_JSON || status == HF_INVALID_ENTITY || status == HF_INVALID_ID);
        assert_non_null(error);
        hf_error_free(error);
    }
    free(deep);
    close_unchanged(r);
}

static void a_bad_repository_name_is_refused(fixture *f) {
    static const char *const bad[] = {"",
                                      "1a",
                                      "-a",
                                      "a b",
                                      "a.b",
                                      "a\n",
                                      "\xc3\xa4",
                                      "sqlite_x",
                                      "holdfast_things",
                                      "a/b",
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    static const char *const good[] = {"a", "_", "A-1_b",
                                       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    hf_store *store = open_store(f, NULL);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hf_repository *repository = NULL;
        expect(HF_INVALID_NAME, hf_repository_open, store, bad[i], NULL, &repository);
        assert_null(repository);
    }
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        hf_repository_free(open_repository(store, good[i]));
    }
    hf_store_free(store);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(malformed_json_is_refused_with_its_position_at_every_door),
        EACH_ENGINE(an_entity_with_a_bad_value_inside_is_no_json),
        EACH_ENGINE(what_is_no_object_is_no_entity),
        EACH_ENGINE(an_update_without_an_id_is_refused),
        EACH_ENGINE(a_bad_id_is_refused_wherever_it_is_given),
        EACH_ENGINE(an_id_of_512_bytes_is_the_longest),
        EACH_ENGINE(a_filter_with_an_unknown_operator_or_of_another_type_is_an_invalid_query),
        EACH_ENGINE(the_limits_for_bytes_and_depth_hold_exactly),
        EACH_ENGINE(a_hundred_thousand_brackets_are_refused_and_not_followed),
        EACH_ENGINE(a_bad_repository_name_is_refused),
    };
    return run_scenarios("payload_errors", scenarios, COUNT_OF(scenarios));
}
