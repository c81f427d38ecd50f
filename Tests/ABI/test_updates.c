/* Updates in MongoDB's operators: what they change and leave, what they refuse, and that none is lost. */
#include "support.h"

static void modify(hf_repository *things, hf_transaction *transaction, const char *update) {
    expect_ok(hf_repository_modify, things, transaction, "s", 1, update, HF_NTS, NULL, 0, 0, NULL);
}

static hf_error *refusal(room r, hf_status status, const char *update) {
    return error_of(status, hf_repository_modify, r.things, NULL, "s", 1, update, HF_NTS, NULL, 0, 0, NULL);
}

static void an_update_changes_what_its_paths_name_and_keeps_all_other_bytes(room r) {
    static const struct {
        const char *before, *update, *after;
    } cases[] = {
        {"{\"id\":\"s\", \"a\" : 1.0e2 ,\"b\":[ 1 , 2 ],\"c\":\"\\u0041\"}",
         "{\"$push\":{\"b\":3},\"$inc\":{\"d\":1}}",
         "{\"id\":\"s\", \"a\" : 1.0e2 ,\"b\":[ 1 , 2,3 ],\"c\":\"\\u0041\",\"d\":1}"},
        {"{\"id\":\"s\",\"o\":{ \"x\":1, \"y\":2 },\"z\": 0}", "{\"$inc\":{\"o.y\":5},\"$unset\":{\"z\":1}}",
         "{\"id\":\"s\",\"o\":{ \"x\":1, \"y\":7 }}"},
        {"{\"id\":\"s\",\"n\":1}", "{}", "{\"id\":\"s\",\"n\":1}"},
        {"{\"id\":\"s\",\"n\":2}", "{\"$mul\":{\"n\":1.5},\"$min\":{\"m\":4},\"$max\":{\"o.p\":[]}}",
         "{\"id\":\"s\",\"n\":3.0,\"m\":4,\"o\":{\"p\":[]}}"},
        {"{\"id\":\"s\",\"t\":[1,2,{\"x\":1}]}",
         "{\"$pull\":{\"t\":{\"x\":1.0}},\"$rename\":{\"none\":\"n\"},\"$set\":{\"l.m\": true}}",
         "{\"id\":\"s\",\"t\":[1,2],\"l\":{\"m\":true}}"},
        {"{\"id\":\"s\",\"t\":[1,2.0]}",
         "{\"$addToSet\":{\"t\":{\"$each\":[2,3]}},\"$rename\":{\"id2\":\"x\"}}",
         "{\"id\":\"s\",\"t\":[1,2.0,3]}"},
        {"{\"id\":\"s\",\"t\":[1,2]}", "{\"$push\":{\"t\":{\"$each\":[8,9],\"$position\":1,\"$slice\":-3}}}",
         "{\"id\":\"s\",\"t\":[8,9,2]}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hf_entity entity = HF_ENTITY_INIT;
        save(r.things, NULL, cases[i].before);
        expect_ok(hf_repository_modify, r.things, NULL, "s", 1, cases[i].update, HF_NTS, NULL, 0, 0, &entity);
        assert_string_equal(entity.data, cases[i].after);
        assert_int_equal(entity.version, version_of(r.things, NULL, "s"));
        expect_entity(r.things, NULL, "s", cases[i].after);
        hf_entity_free(&entity);
    }
}

static void an_update_that_fits_no_entity_is_an_invalid_query(room r) {
    static const char *const updates[] = {
        "[]",
        "{\"n\":1}",
        "{\"$nope\":{\"n\":1}}",
        "{\"$set\":1}",
        "{\"$inc\":{\"n\":\"1\"}}",
        "{\"$set\":{\"a..b\":1}}",
        "{\"$set\":{\"a.$.b\":1}}",
        "{\"$set\":{\"a\":1},\"$inc\":{\"a.b\":1}}",
    };
    save(r.things, NULL, "{\"id\":\"s\",\"n\":1}");
    for (size_t i = 0; i < COUNT_OF(updates); i++) {
        hf_error_free(refusal(r, HF_INVALID_QUERY, updates[i]));
        expect(HF_INVALID_QUERY, hf_repository_modify_all, r.things, NULL, "{\"id\":\"none\"}", HF_NTS,
               updates[i], HF_NTS, NULL, NULL, NULL);
    }
    expect(HF_INVALID_JSON, hf_repository_modify, r.things, NULL, "s", 1, "{\"$inc\":{\"n\":1,\"n\":1}}",
           HF_NTS, NULL, 0, 0, NULL);
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":1}");
}

static void an_update_that_does_not_fit_an_entity_tells_entity_path_and_operator(room r) {
    static const char *const updates[] = {
        "{\"$inc\":{\"t\":1}}",
        "{\"$push\":{\"t\":1}}",
        "{\"$set\":{\"t\":{}},\"$inc\":{\"n\":1}}",
        "{\"$set\":{\"t.u\":1}}",
        "{\"$unset\":{\"t\":1},\"$mul\":{\"n\":2}}",
    };
    static const char *const paths[] = {"\"t\"", "\"t\"", "\"n\"", "\"t.u\"", "\"n\""};
    static const char *const operators[] = {"\"$inc\"", "\"$push\"", "\"$inc\"", "\"$set\"", "\"$mul\""};
    static const char before[] = "{\"id\":\"s\",\"t\":\"x\",\"n\":9223372036854775807}";
    save(r.things, NULL, before);
    hf_transaction *t = begin(r.store, NULL);
    for (size_t i = 0; i < COUNT_OF(updates); i++) {
        expect_detail(refusal(r, HF_INVALID_ENTITY, updates[i]), "path", paths[i]);
        expect_detail(refusal(r, HF_INVALID_ENTITY, updates[i]), "operator", operators[i]);
        expect_detail(refusal(r, HF_INVALID_ENTITY, updates[i]), "repository", "\"things\"");
        expect_detail(refusal(r, HF_INVALID_ENTITY, updates[i]), "id", "\"s\"");
        expect(HF_INVALID_ENTITY, hf_repository_modify, r.things, t, "s", 1, updates[i], HF_NTS, NULL, 0, 0,
               NULL);
    }
    commit_quietly(t);
    expect_entity(r.things, NULL, "s", before);
}

static void no_update_changes_the_id(room r) {
    static const char *const updates[] = {"{\"$set\":{\"id\":\"t\"}}", "{\"$unset\":{\"id\":1}}",
                                          "{\"$rename\":{\"n\":\"id\"}}", "{\"$rename\":{\"id\":\"n\"}}",
                                          "{\"$set\":{\"id.x\":1}}"};
    save(r.things, NULL, "{\"id\":\"s\",\"n\":1}");
    for (size_t i = 0; i < COUNT_OF(updates); i++) {
        hf_error_free(refusal(r, HF_INVALID_ENTITY, updates[i]));
    }
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":1}");
}

static void the_limits_of_entities_hold_for_what_an_update_makes(fixture *f) {
    room r = open_room(f, "{\"max_entity_bytes\":64,\"max_depth\":2}");
    save(r.things, NULL, "{\"id\":\"s\",\"t\":[\"0123456789\"]}");
    modify(r.things, NULL, "{\"$push\":{\"t\":\"0123456789012345\"}}");
    hf_error_free(refusal(r, HF_INVALID_ENTITY, "{\"$push\":{\"t\":\"01234567890123\"}}"));
    hf_error_free(refusal(r, HF_INVALID_ENTITY, "{\"$set\":{\"t.1000000000000\":1}}"));
    hf_error_free(refusal(r, HF_INVALID_ENTITY, "{\"$set\":{\"a.b\":{}}}"));
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"t\":[\"0123456789\",\"0123456789012345\"]}");
    close_room(r);
}

static void an_update_keeps_to_the_expected_version(room r) {
    save(r.things, NULL, "{\"id\":\"s\",\"n\":1}");
    uint64_t first = version_of(r.things, NULL, "s");
    expect_ok(hf_repository_modify, r.things, NULL, "s", 1, "{\"$inc\":{\"n\":1}}", HF_NTS, NULL, 0, first,
              NULL);
    expect(HF_VERSION_MISMATCH, hf_repository_modify, r.things, NULL, "s", 1, "{\"$inc\":{\"n\":1}}", HF_NTS,
           NULL, 0, first, NULL);
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":2}");
}

static void a_missing_entity_begins_with_the_initial_one_or_is_not_found(room r) {
    static const char count[] = "{\"$inc\":{\"n\":1}}";
    expect(HF_NOT_FOUND, hf_repository_modify, r.things, NULL, "s", 1, count, HF_NTS, NULL, 0, 0, NULL);
    expect(HF_NOT_FOUND, hf_repository_modify, r.things, NULL, "s", 1, count, HF_NTS, "{}", 2, 7, NULL);
    expect(HF_INVALID_ENTITY, hf_repository_modify, r.things, NULL, "s", 1, count, HF_NTS, "{\"id\":\"t\"}",
           HF_NTS, 0, NULL);
    expect(HF_INVALID_ENTITY, hf_repository_modify, r.things, NULL, "s", 1, count, HF_NTS, "[]", 2, 0, NULL);
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < 2; i++) {
        expect_ok(hf_repository_modify, r.things, NULL, "s", 1, count, HF_NTS, "{\"x\": 0}", HF_NTS, 0, NULL);
        expect_ok(hf_repository_modify, r.things, t, "7", 1, count, HF_NTS, "{\"id\":7}", HF_NTS, 0, NULL);
    }
    commit_quietly(t);
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"x\": 0,\"n\":2}");
    expect_entity(r.things, NULL, "7", "{\"id\":7,\"n\":2}");
}

static void updates_in_a_transaction_add_up_and_see_its_snapshot(room r) {
    save(r.things, NULL, "{\"id\":\"s\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    modify(r.things, t, "{\"$inc\":{\"n\":1}}");
    modify(r.things, t, "{\"$inc\":{\"n\":1}}");
    expect_entity(r.things, t, "s", "{\"id\":\"s\",\"n\":3}");
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":1}");
    commit_quietly(t);
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":3}");
    t = begin(r.store, NULL);
    modify(r.things, t, "{\"$inc\":{\"n\":1}}");
    modify(r.things, NULL, "{\"$inc\":{\"n\":10}}");
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":13}");
}

static void modify_all_counts_what_matches_and_what_it_changed(room r) {
    uint64_t matched = 9, modified = 9;
    expect_ok(hf_repository_save_many, r.things, NULL,
              "[{\"id\":\"a\",\"k\":1,\"t\":[1]},{\"id\":\"b\",\"k\":1,\"t\":[2]},{\"id\":\"c\",\"k\":2}]",
              HF_NTS, NULL);
    uint64_t before = version_of(r.things, NULL, "a");
    expect_ok(hf_repository_modify_all, r.things, NULL, "{\"k\":1}", HF_NTS, "{\"$addToSet\":{\"t\":1}}",
              HF_NTS, NULL, &matched, &modified);
    assert_int_equal(matched, 2);
    assert_int_equal(modified, 1);
    assert_int_equal(version_of(r.things, NULL, "a"), before);
    expect_entity(r.things, NULL, "b", "{\"id\":\"b\",\"k\":1,\"t\":[2,1]}");

    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_repository_modify_all, r.things, t, NULL, 0, "{\"$inc\":{\"k\":1}}", HF_NTS, NULL, &matched,
              NULL);
    assert_int_equal(matched, 3);
    expect_count(r.things, t, "{\"k\":2}", 2);
    expect_count(r.things, NULL, "{\"k\":2}", 1);
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);

    hf_error *error = error_of(HF_INVALID_ENTITY, hf_repository_modify_all, r.things, NULL, NULL, 0,
                               "{\"$push\":{\"k\":1,\"t\":1}}", HF_NTS, NULL, &matched, &modified);
    expect_detail(error, "id", "\"a\"");
    expect(HF_INVALID_ENTITY, hf_repository_modify_all, r.things, NULL, NULL, 0,
           "{\"$inc\":{\"k\":1},\"$push\":{\"id2\":1,\"t.0.x\":1}}", HF_NTS, NULL, NULL, NULL);
    expect_count(r.things, NULL, "{\"k\":1}", 2);
    expect_ok(hf_repository_modify_all, r.things, NULL, "{\"k\":7}", HF_NTS, "{\"$inc\":{\"k\":1}}", HF_NTS,
              NULL, &matched, &modified);
    assert_int_equal(matched + modified, 0);
}

/* The entity says something else when the work is repeated: the key must count what was asked, not what came
 * of it. */
static void a_key_holds_for_updates_whose_result_has_changed_since(room r) {
    save(r.things, NULL, "{\"id\":\"s\",\"n\":1}");
    json_t *receipts[2];
    for (int i = 0; i < 2; i++) {
        hf_transaction *t = begin(r.store, "{\"idempotency_key\":\"play 7\"}");
        expect_ok(hf_repository_add, r.things, t, "{\"of\":\"s\"}", HF_NTS, NULL);
        modify(r.things, t, "{\"$inc\":{\"n\":1}}");
        modify(r.things, t, "{\"$set\":{\"m\":1}}");
        receipts[i] = commit(t);
        expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":2,\"m\":1}");
    }
    assert_true(json_is_true(json_object_get(receipts[1], "replayed")));
    json_decref(receipts[0]), json_decref(receipts[1]);
    static const char *const others[][2] = {
        {"{\"$inc\":{\"n\":2}}", "{\"$set\":{\"m\":1}}"},
        {"{\"$set\":{\"m\":1}}", "{\"$inc\":{\"n\":1}}"},
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        hf_transaction *t = begin(r.store, "{\"idempotency_key\":\"play 7\"}");
        expect_ok(hf_repository_add, r.things, t, "{\"of\":\"s\"}", HF_NTS, NULL);
        modify(r.things, t, others[i][0]);
        modify(r.things, t, others[i][1]);
        expect(HF_KEY_REUSED, hf_transaction_commit, t, NULL);
        hf_transaction_free(t);
    }
    expect_entity(r.things, NULL, "s", "{\"id\":\"s\",\"n\":2,\"m\":1}");
}

enum { THREADS = 8, COUNTS_EACH = 100 };

static void *count_often(void *argument) {
    intptr_t failures = 0;
    for (int i = 0; i < COUNTS_EACH; i++) {
        failures += hf_repository_modify(argument, NULL, "s", 1, "{\"$inc\":{\"n\":1},\"$push\":{\"t\":0}}",
                                         HF_NTS, "{}", 2, 0, NULL, NULL) != HF_OK;
    }
    return (void *)failures;
}

static void eight_threads_count_in_one_entity_and_nothing_is_lost_or_conflicts(room r) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_often, r.things), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *failures = NULL;
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    assert_int_equal(integer_in(r.things, NULL, "s", "n"), THREADS * COUNTS_EACH);
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_fetch, r.things, NULL, "s", 1, &entity);
    json_t *song = json_loads(entity.data, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(song, "t")), THREADS * COUNTS_EACH);
    json_decref(song);
    hf_entity_free(&entity);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(an_update_changes_what_its_paths_name_and_keeps_all_other_bytes),
        ONCE(an_update_that_fits_no_entity_is_an_invalid_query),
        ONCE(an_update_that_does_not_fit_an_entity_tells_entity_path_and_operator),
        ONCE(no_update_changes_the_id),
        EACH_ENGINE(the_limits_of_entities_hold_for_what_an_update_makes),
        EACH_ENGINE(an_update_keeps_to_the_expected_version),
        EACH_ENGINE(a_missing_entity_begins_with_the_initial_one_or_is_not_found),
        EACH_ENGINE(updates_in_a_transaction_add_up_and_see_its_snapshot),
        EACH_ENGINE(modify_all_counts_what_matches_and_what_it_changed),
        EACH_ENGINE(a_key_holds_for_updates_whose_result_has_changed_since),
        EACH_ENGINE(eight_threads_count_in_one_entity_and_nothing_is_lost_or_conflicts),
    };
    return run_scenarios("updates", scenarios, COUNT_OF(scenarios));
}
