/* Entities that are damaged where they are stored: each read of one says which, and none hides the others. */
#include "support.h"

static const char *damaged_bodies[] = {
    "",
    "no JSON",
    "[1,2]",
    "{\"id\":\"b\",\"n\":",
    "{\"id\":\"b\",\"n\":}",
    "{\"id\":\"b\",\"n\":1.2.3}",
    "{\"id\":\"b\",\"n\":[1}",
    "{\"n\":2}",
    "{\"id\":\"c\",\"n\":2}",
    "{\"id\":null,\"n\":2}",
    "{\"id\":7,\"n\":2}",
};

/* Three entities, of which "b" was replaced in the file. */
static room damaged_room(fixture *f, const char *body) {
    char sql[200];
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":2}");
    save(r.things, NULL, "{\"id\":\"c\",\"n\":3}");
    close_room(r);
    snprintf(sql, sizeof sql, "UPDATE holdfast_entity SET body = '%s' WHERE id = 'b'", body);
    run_sqlite(f->url, sql);
    return open_room(f, NULL);
}

#define expect_damage(function, ...)                                                                         \
    do {                                                                                                     \
        hf_error *damage_ = NULL;                                                                            \
        assert_int_equal(function(__VA_ARGS__, &damage_), HF_CORRUPT);                                       \
        assert_non_null(strstr(hf_error_message(damage_), "things \"b\""));                                  \
        assert_non_null(strstr(hf_error_detail(damage_, NULL), "\"repository\":\"things\""));                \
        assert_non_null(strstr(hf_error_detail(damage_, NULL), "\"id\":\"b\""));                             \
        hf_error_free(damage_);                                                                              \
    } while (0)

static hf_status drop(const char *bytes, size_t length, void *user_data, hf_error **out_error) {
    (void)bytes, (void)length, (void)user_data, (void)out_error;
    return HF_OK;
}

static bool is_any(const hf_entity_view *entity, void *user_data) {
    (void)entity, (void)user_data;
    return true;
}

static void read_all(room r, hf_transaction *t) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_buffer buffer = HF_BUFFER_INIT;
    hf_cursor *cursor = NULL;
    bool is_there;
    /* Twice: nothing of it is kept in the cache. */
    for (int i = 0; i < 2; i++) {
        expect_damage(hf_repository_fetch, r.things, t, "b", HF_NTS, &entity);
        expect_ok(hf_repository_fetch, r.things, t, "a", HF_NTS, &entity);
        expect_ok(hf_repository_fetch, r.things, t, "c", HF_NTS, &entity);
    }
    expect_damage(hf_repository_contains, r.things, t, "b", HF_NTS, &is_there);
    expect_damage(hf_repository_fetch_many, r.things, t, "[\"a\",\"b\"]", HF_NTS, &list);
    expect_damage(hf_repository_fetch_all, r.things, t, &list);
    expect_damage(hf_repository_find, r.things, t, NULL, 0, NULL, &list);
    expect_damage(hf_repository_find, r.things, t, NULL, 0, "{\"sort\":{\"n\":1},\"limit\":2}", &list);
    expect_damage(hf_repository_find, r.things, t, "{\"id\":\"b\"}", HF_NTS, NULL, &list);
    expect_damage(hf_repository_find_if, r.things, t, is_any, NULL, NULL, &list);
    expect_damage(hf_repository_first, r.things, t, "{\"n\":{\"$gt\":2}}", HF_NTS, NULL, &entity);
    expect_damage(hf_repository_distinct, r.things, t, "n", NULL, 0, NULL, &buffer);
    expect_ok(hf_cursor_open, r.things, t, NULL, 0, NULL, &cursor);
    expect_ok(hf_cursor_next, cursor, 1, &list);
    expect_damage(hf_cursor_next, cursor, 1, &list);
    hf_cursor_free(cursor);
    hf_entity_free(&entity);
    hf_entity_list_free(&list);
    hf_buffer_free(&buffer);
}

static void each_read_of_a_damaged_entity_says_which_it_is(fixture *f) {
    for (size_t i = 0; i < COUNT_OF(damaged_bodies); i++) {
        room r = damaged_room(f, damaged_bodies[i]);
        read_all(r, NULL);
        hf_transaction *t = begin(r.store, NULL);
        read_all(r, t);
        expect_damage(hf_repository_patch, r.things, t, "b", HF_NTS, "{\"m\":1}", HF_NTS, 0, NULL);
        hf_transaction_free(t);
        expect_damage(hf_repository_patch, r.things, NULL, "b", HF_NTS, "{\"m\":1}", HF_NTS, 0, NULL);
        expect_damage(hf_repository_modify, r.things, NULL, "b", HF_NTS, "{\"$set\":{\"m\":1}}", HF_NTS, NULL,
                      0, 0, NULL);
        expect_damage(hf_store_export, r.store, NULL, drop, NULL, NULL, NULL);
        close_room(r);
    }
}

static void read_the_others(room r, hf_transaction *t) {
    static const char *options[] = {
        "{\"damaged\":\"skip\"}",
        "{\"damaged\":\"skip\",\"sort\":{\"n\":-1}}",
        "{\"damaged\":\"skip\",\"fields\":[\"n\"]}",
    };
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_buffer buffer = HF_BUFFER_INIT;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        hf_cursor *cursor = NULL;
        expect_ok(hf_repository_find, r.things, t, NULL, 0, options[i], &list);
        assert_int_equal(list.count, 2);
        expect_ok(hf_repository_find_if, r.things, t, is_any, NULL, options[i], &list);
        assert_int_equal(list.count, 2);
        expect_ok(hf_cursor_open, r.things, t, NULL, 0, options[i], &cursor);
        expect_ok(hf_cursor_next, cursor, 0, &list);
        assert_int_equal(list.count, 2);
        hf_cursor_free(cursor);
    }
    expect_ok(hf_repository_find, r.things, t, "{\"id\":\"b\"}", HF_NTS, options[0], &list);
    assert_int_equal(list.count, 0);
    expect_ok(hf_repository_first, r.things, t, "{\"n\":{\"$gt\":1}}", HF_NTS, options[0], &entity);
    assert_string_equal(entity.data, "{\"id\":\"c\",\"n\":3}");
    uint64_t count = 0;
    expect_ok(hf_repository_count, r.things, t, "{\"n\":{\"$gt\":0}}", HF_NTS, options[0], &count);
    assert_int_equal(count, 2);
    bool exists = false;
    expect_ok(hf_repository_exists, r.things, t, "{\"n\":3}", HF_NTS, options[0], &exists);
    assert_true(exists);
    expect_ok(hf_repository_distinct, r.things, t, "n", NULL, 0, options[0], &buffer);
    assert_string_equal(buffer.data, "[1,3]");
    hf_entity_free(&entity);
    hf_entity_list_free(&list);
    hf_buffer_free(&buffer);
}

static void a_query_leaves_out_what_is_damaged_where_that_is_asked_for(fixture *f) {
    for (size_t i = 0; i < COUNT_OF(damaged_bodies); i++) {
        room r = damaged_room(f, damaged_bodies[i]);
        read_the_others(r, NULL);
        hf_transaction *t = begin(r.store, NULL);
        read_the_others(r, t);
        hf_transaction_free(t);
        expect(HF_INVALID_OPTION, hf_repository_count, r.things, NULL, NULL, 0, "{\"damaged\":\"hide\"}",
               &(uint64_t){0});
        close_room(r);
    }
}

static void an_index_leads_to_no_damaged_entity(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    close_room(r);
    r = damaged_room(f, "{\"id\":\"b\",\"n\":2");
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_damage(hf_repository_find, r.things, NULL, "{\"n\":2}", HF_NTS, NULL, &list);
    expect_ok(hf_repository_find, r.things, NULL, "{\"n\":3}", HF_NTS, NULL, &list);
    assert_int_equal(list.count, 1);
    expect_ok(hf_repository_find, r.things, NULL, "{\"n\":{\"$gt\":0}}", HF_NTS, "{\"damaged\":\"skip\"}",
              &list);
    assert_int_equal(list.count, 2);
    hf_entity_list_free(&list);
    expect_ok(hf_repository_drop_index, r.things, "n");
    close_room(r);
    run_sqlite(f->url, "UPDATE holdfast_entity SET body = '{' WHERE id = 'b'");
    r = open_room(f, NULL);
    expect_damage(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    close_room(r);
}

static void what_is_damaged_is_told_by_verifying_replaced_and_deleted(fixture *f) {
    for (size_t i = 0; i < COUNT_OF(damaged_bodies); i++) {
        for (int way = 0; way < 5; way++) {
            room r = damaged_room(f, damaged_bodies[i]);
            hf_buffer report = HF_BUFFER_INIT;
            expect_ok(hf_repository_verify, r.things, &report);
            assert_non_null(strstr(report.data, "\"damaged\":1,\"damaged_ids\":[\"b\"]"));
            hf_buffer_free(&report);
            hf_transaction *t = way % 2 == 1 ? begin(r.store, NULL) : NULL;
            const char *anew = "{\"id\":\"b\",\"n\":20}";
            if (way < 2)
                save(r.things, t, anew);
            else if (way < 4)
                expect_ok(hf_repository_update, r.things, t, anew, HF_NTS, 0, NULL);
            else
                expect_ok(hf_repository_delete, r.things, t, "b", HF_NTS, 0);
            if (t != NULL)
                commit_quietly(t);
            expect_count(r.things, NULL, "{\"n\":20}", way < 4 ? 1 : 0);
            expect_ok(hf_repository_verify, r.things, &report);
            assert_non_null(strstr(report.data, "\"damaged\":0"));
            hf_buffer_free(&report);
            close_room(r);
        }
    }
}

static void ids_are_compared_as_they_are_meant(fixture *f) {
    static const char *bodies[] = {"{ \"n\":2, \"id\" : \"b\" }", "{\"id\":\"\\u0062\",\"n\":2}",
                                   "{\"x\":{\"id\":\"c\"},\"id\":\"b\"}"};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        room r = damaged_room(f, bodies[i]);
        hf_entity entity = HF_ENTITY_INIT;
        expect_ok(hf_repository_fetch, r.things, NULL, "b", HF_NTS, &entity);
        assert_string_equal(entity.data, bodies[i]);
        hf_entity_free(&entity);
        expect_count(r.things, NULL, NULL, 3);
        save(r.things, NULL, "{\"id\":-42}");
        expect_entity(r.things, NULL, "-42", "{\"id\":-42}");
        expect_count(r.things, NULL, NULL, 4);
        expect_ok(hf_repository_delete, r.things, NULL, "-42", HF_NTS, 0);
        close_room(r);
    }
}

int main(void) {
    static const scenario scenarios[] = {
        SQLITE_ONLY(each_read_of_a_damaged_entity_says_which_it_is),
        SQLITE_ONLY(a_query_leaves_out_what_is_damaged_where_that_is_asked_for),
        SQLITE_ONLY(an_index_leads_to_no_damaged_entity),
        SQLITE_ONLY(what_is_damaged_is_told_by_verifying_replaced_and_deleted),
        SQLITE_ONLY(ids_are_compared_as_they_are_meant),
    };
    return run_scenarios("damage", scenarios, COUNT_OF(scenarios));
}
