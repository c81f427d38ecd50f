/* Operations: described now and run later, each run anew; one call for a whole transaction. */
#include "support.h"

static hf_operation *describe_operation(room r, const char *json) {
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create, r.store, json, HF_NTS, &operation);
    return operation;
}

/* Performs the description once and expects the result. */
static void expect_result(room r, hf_transaction *transaction, const char *json, const char *result) {
    hf_operation *operation = describe_operation(r, json);
    hf_entity value = HF_ENTITY_INIT;
    expect_ok(hf_operation_perform, operation, transaction, &value, NULL);
    assert_string_equal(value.data, result);
    hf_entity_free(&value);
    hf_operation_free(operation);
}

static void expect_refused(room r, hf_transaction *transaction, const char *json, hf_status status) {
    hf_operation *operation = describe_operation(r, json);
    expect(status, hf_operation_perform, operation, transaction, NULL, NULL);
    hf_operation_free(operation);
}

#define STEP(operation, members) "{\"operation\":\"" operation "\",\"repository\":\"things\"" members "}"
#define ADD_ONE STEP("add", ",\"entity\":{\"id\":\"s1\",\"plays\":0}")

static void what_takes_a_receipt_is_empty_where_there_is_none(room r) {
    hf_operation *add = describe_operation(r, ADD_ONE), *count = describe_operation(r, STEP("count", ""));
    hf_entity value = HF_ENTITY_INIT;
    hf_buffer receipt = HF_BUFFER_INIT;
    expect_ok(hf_operation_perform, add, NULL, &value, &receipt);
    assert_true(receipt.length > 2);
    expect_ok(hf_operation_perform, count, NULL, &value, &receipt);
    assert_string_equal(value.data, "1");
    assert_int_equal(receipt.length, 0);
    assert_string_equal(receipt.data, "");
    hf_entity_free(&value);
    hf_buffer_free(&receipt);
    hf_operation_free(add), hf_operation_free(count);
}

/* --- Every call of a repository ------------------------------------------------------------------------ */

static void each_call_of_a_repository_can_be_described(fixture *f) {
    static const struct {
        const char *json, *result;
    } steps[] = {
        {STEP("add", ",\"entity\":{\"id\":\"a\",\"n\": 1}"), "{\"id\":\"a\",\"n\": 1}"},
        {STEP("save", ",\"entity\":{\"id\":\"b\",\"n\":2}"), "{\"id\":\"b\",\"n\":2}"},
        {STEP("update", ",\"entity\":{\"id\":\"b\",\"n\":3}"), "{\"id\":\"b\",\"n\":3}"},
        {STEP("patch", ",\"id\":\"a\",\"patch\":{\"m\":true}"), "{\"id\":\"a\",\"n\": 1,\"m\":true}"},
        {STEP("modify", ",\"id\":\"c\",\"update\":{\"$inc\":{\"n\":5}},\"initial\":{}"),
         "{\"id\":\"c\",\"n\":5}"},
        {STEP("add_many", ",\"entities\":[{\"id\":7},{\"id\":\"e\"}]"), "[{\"id\":7},{\"id\":\"e\"}]"},
        {STEP("patch_many", ",\"patches\":[{\"id\":7,\"n\":7}]"), "[{\"id\":7,\"n\":7}]"},
        {STEP("update_many", ",\"entities\":[{\"id\":\"e\",\"n\":8}]"), "[{\"id\":\"e\",\"n\":8}]"},
        {STEP("save_many", ",\"entities\":[{\"id\":\"f\"}]"), "[{\"id\":\"f\"}]"},
        {STEP("add_many", ",\"entities\":[]"), "[]"},
        {STEP("fetch", ",\"id\":7"), "{\"id\":7,\"n\":7}"},
        {STEP("fetch", ",\"id\":\"none\""), "null"},
        {STEP("contains", ",\"id\":\"f\""), "true"},
        {STEP("fetch_many", ",\"ids\":[\"f\",\"none\",7]"), "[{\"id\":\"f\"},{\"id\":7,\"n\":7}]"},
        {STEP("find", ",\"filter\":{\"n\":{\"$gt\":4}},\"options\":{\"sort\":{\"n\":-1},\"fields\":[\"n\"],"
                      "\"limit\":2}"),
         "[{\"id\":\"e\",\"n\":8},{\"id\":7,\"n\":7}]"},
        {STEP("first", ",\"filter\":{\"n\":{\"$param\":\"x\"}},\"options\":{\"parameters\":{\"x\":5}}"),
         "{\"id\":\"c\",\"n\":5}"},
        {STEP("first", ",\"filter\":{\"n\":99}"), "null"},
        {STEP("count", ""), "6"},
        {STEP("count", ",\"filter\":{\"n\":{\"$exists\":true}}"), "5"},
        {STEP("exists", ",\"filter\":{\"n\":99}"), "false"},
        {STEP("distinct", ",\"path\":\"n\",\"filter\":{\"n\":{\"$lt\":6}}"), "[1,3,5]"},
        {STEP("modify_all", ",\"filter\":{\"n\":{\"$gt\":4}},\"update\":{\"$max\":{\"n\":7}}"),
         "{\"matched\":3,\"modified\":1}"},
        {STEP("delete", ",\"id\":\"f\""), "null"},
        {STEP("delete", ",\"id\":\"f\",\"missing_ok\":true"), "null"},
        {STEP("delete_many", ",\"ids\":[\"e\"]"), "null"},
        {STEP("delete_all", ",\"filter\":{\"n\":7}"), "2"},
        {STEP("fetch_all", ""), "[{\"id\":\"a\",\"n\": 1,\"m\":true},{\"id\":\"b\",\"n\":3}]"},
    };
    for (int inside = 0; inside < 2; inside++) {
        room r = open_room(f, NULL);
        hf_transaction *t = inside ? begin(r.store, NULL) : NULL;
        for (size_t i = 0; i < COUNT_OF(steps); i++) {
            /* What is missing inside a transaction was seen to be missing. */
            expect_result(r, t, steps[i].json, steps[i].result);
        }
        if (inside)
            commit_quietly(t);
        expect_entity(r.things, NULL, "b", "{\"id\":\"b\",\"n\":3}");
        expect_ok(hf_repository_delete_all, r.things, NULL, NULL, 0, NULL, NULL);
        close_room(r);
    }
}

static void asynchronous_runs_answer_what_performing_answers(fixture *f) {
    static const char *const steps[] = {
        STEP("add", ",\"entity\":{\"id\":\"a\",\"n\":1}"),
        STEP("modify", ",\"id\":\"a\",\"update\":{\"$inc\":{\"n\":1}}"),
        STEP("add", ",\"entity\":{\"id\":\"a\"}"),
        STEP("fetch", ",\"id\":\"a\""),
        STEP("delete", ",\"id\":\"none\""),
        STEP("delete", ",\"id\":\"none\",\"missing_ok\":true"),
        STEP("add_many", ",\"entities\":[{\"id\":\"b\"},{\"id\":\"c\"}]"),
        STEP("update", ",\"entity\":{\"id\":\"b\"},\"expected_version\":1"),
        STEP("modify_all", ",\"update\":{\"$set\":{\"m\":1}}"),
        STEP("add_many", ",\"entities\":[]"),
        STEP("count", ",\"filter\":{\"$nope\":1}"),
        "{\"steps\":[" STEP("delete", ",\"id\":\"a\"") "," STEP("count", "") "]}",
        "{\"steps\":[" STEP("delete", ",\"id\":\"b\"") "," STEP("delete", ",\"id\":\"a\"") "]}",
        STEP("fetch_all", ""),
    };
    room r = open_room(f, NULL);
    fixture other = *f;
    snprintf(other.url, sizeof other.url, strcmp(f->engine, "memory") == 0 ? "memory:" : "%s/other.db",
             f->directory);
    room s = open_room(&other, NULL);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        hf_operation *one = describe_operation(r, steps[i]), *two = describe_operation(s, steps[i]);
        hf_future *future = NULL;
        hf_entity a = HF_ENTITY_INIT, b = HF_ENTITY_INIT;
        hf_buffer receipt = HF_BUFFER_INIT, other_receipt = HF_BUFFER_INIT;
        hf_status status = hf_operation_perform(one, NULL, &a, &receipt, NULL);
        expect_ok(hf_operation_start, two, NULL, &future);
        assert_int_equal(hf_future_wait(future, NULL, 120000, &b, &other_receipt, NULL), status);
        if (status == HF_OK) {
            assert_string_equal(a.data, b.data);
            assert_int_equal(a.version == 0, b.version == 0);
            assert_int_equal(strstr(receipt.data, "\"changes\":[]") == NULL,
                             strstr(other_receipt.data, "\"changes\":[]") == NULL);
            assert_int_equal(receipt.length == 0, other_receipt.length == 0);
        }
        hf_entity_free(&a);
        hf_entity_free(&b);
        hf_buffer_free(&receipt);
        hf_buffer_free(&other_receipt);
        hf_future_free(future);
        hf_operation_free(one);
        hf_operation_free(two);
    }
    close_room(r);
    close_room(s);
}

/* --- Values ----------------------------------------------------------------------------------------------
 */

static void making_an_operation_does_nothing_and_each_run_runs_again(room r) {
    save(r.things, NULL, "{\"id\":\"s1\"}");
    hf_operation *add = describe_operation(r, ADD_ONE);
    expect(HF_EXISTS, hf_operation_perform, add, NULL, NULL, NULL);
    expect_ok(hf_repository_delete, r.things, NULL, "s1", 2, 0);
    expect_ok(hf_operation_perform, add, NULL, NULL, NULL);
    expect(HF_EXISTS, hf_operation_perform, add, NULL, NULL, NULL);
    hf_operation_free(add);

    hf_operation *fetch = describe_operation(r, STEP("fetch", ",\"id\":\"s1\""));
    hf_entity value = HF_ENTITY_INIT;
    expect_ok(hf_operation_perform, fetch, NULL, &value, NULL);
    assert_string_equal(value.data, "{\"id\":\"s1\",\"plays\":0}");
    assert_int_equal(value.version, version_of(r.things, NULL, "s1"));
    save(r.things, NULL, "{\"id\":\"s1\",\"plays\":1}");
    expect_ok(hf_operation_perform, fetch, NULL, &value, NULL);
    assert_string_equal(value.data, "{\"id\":\"s1\",\"plays\":1}");
    hf_entity_free(&value);
    hf_operation_free(fetch);

    hf_operation *anonymous = describe_operation(r, STEP("add", ",\"entity\":{}"));
    expect_ok(hf_operation_perform, anonymous, NULL, NULL, NULL);
    expect_ok(hf_operation_perform, anonymous, NULL, NULL, NULL);
    hf_operation_free(anonymous);
    expect_count(r.things, NULL, NULL, 3);
}

static void whether_an_entity_is_there_is_a_run_s_affair(room r) {
    static const char *const descriptions[] = {
        STEP("update", ",\"entity\":{\"id\":\"s1\",\"n\":1}"),
        STEP("patch", ",\"id\":\"s1\",\"patch\":{\"n\":2}"),
        STEP("modify", ",\"id\":\"s1\",\"update\":{\"$inc\":{\"n\":1}}"),
        STEP("update_many", ",\"entities\":[{\"id\":\"s1\",\"n\":4}]"),
        STEP("delete", ",\"id\":\"s1\""),
    };
    hf_operation *operations[COUNT_OF(descriptions)];
    for (size_t i = 0; i < COUNT_OF(descriptions); i++) {
        operations[i] = describe_operation(r, descriptions[i]);
        expect(HF_NOT_FOUND, hf_operation_perform, operations[i], NULL, NULL, NULL);
    }
    expect_count(r.things, NULL, NULL, 0);
    save(r.things, NULL, "{\"id\":\"s1\"}");
    for (size_t i = 0; i < COUNT_OF(descriptions); i++) {
        expect_ok(hf_operation_perform, operations[i], NULL, NULL, NULL);
        hf_operation_free(operations[i]);
    }
    expect_absent(r.things, NULL, "s1");
}

static void what_is_wrong_with_a_description_is_named(room r) {
    static const struct {
        const char *json;
        hf_status status;
        const char *option;
    } cases[] = {
        {"", HF_INVALID_JSON, NULL},
        {"[]", HF_INVALID_OPTION, NULL},
        {"{}", HF_INVALID_OPTION, "\"operation\""},
        {"{\"operation\":\"ad\"}", HF_INVALID_OPTION, "\"operation\""},
        {"{\"operation\":\"add\",\"entity\":{}}", HF_INVALID_OPTION, "\"repository\""},
        {STEP("add", ""), HF_INVALID_OPTION, "\"entity\""},
        {STEP("add", ",\"entity\":{},\"id\":1"), HF_INVALID_OPTION, "\"id\""},
        {STEP("add", ",\"entity\":{},\"entitys\":1"), HF_INVALID_OPTION, "\"entitys\""},
        {STEP("fetch", ""), HF_INVALID_OPTION, "\"id\""},
        {STEP("fetch", ",\"id\":1.5"), HF_INVALID_ID, NULL},
        {STEP("fetch", ",\"id\":\"\""), HF_INVALID_ID, NULL},
        {STEP("distinct", ""), HF_INVALID_OPTION, "\"path\""},
        {"{\"steps\":1}", HF_INVALID_OPTION, "\"steps\""},
        {"{\"steps\":[1]}", HF_INVALID_OPTION, NULL},
        {"{\"steps\":[],\"max_atempts\":1}", HF_INVALID_OPTION, "\"max_atempts\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hf_operation *operation = NULL;
        hf_error *error =
            error_of(cases[i].status, hf_operation_create, r.store, cases[i].json, HF_NTS, &operation);
        if (cases[i].option != NULL)
            expect_detail(error, "option", cases[i].option);
        else
            hf_error_free(error);
    }
    expect_refused(r, NULL, STEP("add", ",\"entity\":{\"id\":\"\"}"), HF_INVALID_ID);
    expect_refused(r, NULL, STEP("find", ",\"filter\":{\"$nope\":1}"), HF_INVALID_QUERY);
    expect_refused(r, NULL, STEP("find", ",\"options\":{\"sorted\":1}"), HF_INVALID_OPTION);
}

/* --- Of repositories that are open ---------------------------------------------------------------------- */

static void an_operation_on_a_handle_reaches_its_repository_whatever_it_is_called(room r) {
    hf_repository *others = NULL;
    expect_ok(hf_repository_open, r.store, "others", NULL, &others);
    hf_repository *const opened[] = {r.things, others};
    hf_operation *one = NULL, *both = NULL;
    hf_entity result = HF_ENTITY_INIT;
    hf_buffer name = HF_BUFFER_INIT;
    expect_ok(hf_operation_create_on, r.store,
              "{\"operation\":\"save\",\"repository\":0,\"entity\":{\"id\":\"a\"}}", HF_NTS, opened, 1, &one);
    expect_ok(
        hf_operation_create_on, r.store,
        "{\"steps\":[{\"operation\":\"save\",\"repository\":1,\"entity\":{\"id\":\"b\"}},"
        "{\"operation\":\"count\",\"repository\":0},{\"operation\":\"count\",\"repository\":\"things\"}]}",
        HF_NTS, opened, 2, &both);
    expect_ok(hf_repository_name, r.things, &name);
    assert_string_equal(name.data, "things");
    expect_ok(hf_store_rename, r.store, "things", "tracks");
    expect_ok(hf_repository_name, r.things, &name);
    assert_string_equal(name.data, "tracks");
    hf_repository_free(others);
    expect_ok(hf_operation_perform, one, NULL, NULL, NULL);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    expect_ok(hf_operation_perform, both, NULL, &result, NULL);
    assert_string_equal(result.data, "[{\"id\":\"b\"},1,0]");

    expect_ok(hf_store_drop, r.store, "tracks");
    expect_ok(hf_repository_open, r.store, "tracks", "{\"key\":\"code\"}", &others);
    hf_repository_free(others);
    expect(HF_NOT_FOUND, hf_operation_perform, one, NULL, NULL, NULL);
    hf_operation_free(one), hf_operation_free(both);
    hf_entity_free(&result);
    hf_buffer_free(&name);
}

static void what_is_no_handle_of_the_operation_s_is_refused_when_it_is_made(fixture *f) {
    room r = open_room(f, NULL);
    fixture other = *f;
    snprintf(other.url, sizeof other.url, strcmp(f->engine, "memory") == 0 ? "memory:" : "%s/other.db",
             f->directory);
    room s = open_room(&other, NULL);
    hf_repository *const opened[] = {r.things, s.things, NULL};
    static const struct {
        const char *repository;
        hf_status status;
    } cases[] = {
        {"3", HF_INVALID_OPTION},
        {"-1", HF_INVALID_OPTION},
        {"9223372036854775807", HF_INVALID_OPTION},
        {"1", HF_INVALID_ARGUMENT},
        {"2", HF_INVALID_ARGUMENT},
        {"0.5", HF_INVALID_OPTION},
        {"0,\"key\":\"id\"", HF_INVALID_OPTION},
        {"0,\"cache\":{}", HF_INVALID_OPTION},
    };
    hf_operation *operation = NULL;
    char json[200];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(json, sizeof json, "{\"operation\":\"count\",\"repository\":%s}", cases[i].repository);
        expect(cases[i].status, hf_operation_create_on, r.store, json, HF_NTS, opened, 3, &operation);
        assert_null(operation);
    }
    const char *first = "{\"operation\":\"count\",\"repository\":0}";
    expect(HF_INVALID_OPTION, hf_operation_create, r.store, first, HF_NTS, &operation);
    expect(HF_INVALID_OPTION, hf_operation_create_on, r.store, first, HF_NTS, NULL, 0, &operation);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_on, r.store, first, HF_NTS, NULL, 1, &operation);
    close_room(r), close_room(s);
}

static void a_single_step_can_be_refused_where_there_is_no_place(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":1}");
    hf_operation *add = describe_operation(r, STEP("add", ",\"entity\":{},\"when_full\":\"refuse\""));
    hf_event event;
    for (int round = 0; round < 3; round++) {
        expect_ok(hf_operation_submit, add, NULL, NULL, NULL, NULL, NULL);
        expect(HF_BUSY, hf_operation_submit, add, NULL, NULL, NULL, NULL, NULL);
        assert_int_equal(hf_store_events(r.store, &event, 1, 120000), 1);
        assert_int_equal(event.status, HF_OK);
        hf_events_free(&event, 1);
    }
    hf_operation_free(add);
    close_room(r);
}

static void an_operation_outlives_its_store_and_says_that_it_is_closed(fixture *f) {
    room r = open_room(f, NULL);
    hf_operation *add = describe_operation(r, ADD_ONE);
    close_room(r);
    expect(HF_CLOSED, hf_operation_perform, add, NULL, NULL, NULL);
    expect(HF_CLOSED, hf_operation_start, add, NULL, NULL);
    hf_operation_free(add);
}

static void *perform_often(void *operation) {
    for (int i = 0; i < 100; i++)
        expect_ok(hf_operation_perform, operation, NULL, NULL, NULL);
    return NULL;
}

static void one_value_is_performed_by_several_threads_as_independent_runs(room r) {
    enum { THREADS = 4 };
    hf_operation *count = describe_operation(
        r,
        "{\"steps\":[" STEP("modify", ",\"id\":\"n\",\"update\":{\"$inc\":{\"n\":1}},\"initial\":{}") "]}");
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, perform_often, count);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hf_operation_free(count);
    assert_int_equal(integer_in(r.things, NULL, "n", "n"), THREADS * 100);
}

/* --- Sequences
 * ---------------------------------------------------------------------------------------------- */

static void a_sequence_is_one_commit_or_none(room r) {
    hf_buffer receipt = HF_BUFFER_INIT;
    hf_entity result = HF_ENTITY_INIT;
    hf_operation *both = describe_operation(
        r, "{\"steps\":[" STEP(
               "add", ",\"entity\":{\"id\":\"a\"}") ",{\"operation\":\"add\",\"repository\":"
                                                    "\"albums\",\"entity\":{\"id\":\"z\"}}," STEP(
                                                        "count", "") "],\"durability\":\"relaxed\"}");
    expect_ok(hf_operation_perform, both, NULL, &result, &receipt);
    assert_string_equal(result.data, "[{\"id\":\"a\"},{\"id\":\"z\"},1]");
    assert_non_null(strstr(receipt.data, "\"repository\":\"albums\",\"id\":\"z\""));
    assert_non_null(strstr(receipt.data, "\"repository\":\"things\",\"id\":\"a\""));
    expect_detail(error_of(HF_EXISTS, hf_operation_perform, both, NULL, NULL, NULL), "index", "0");

    expect_refused(
        r, NULL,
        "{\"steps\":[" STEP("add", ",\"entity\":{\"id\":\"b\"}") "," STEP("delete", ",\"id\":\"none\"") "]}",
        HF_NOT_FOUND);
    expect_absent(r.things, NULL, "b");

    /* Inside a transaction what it wrote before it failed is taken back, and only that. */
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"kept\"}");
    expect_refused(
        r, t,
        "{\"steps\":[" STEP("add", ",\"entity\":{\"id\":\"b\"}") "," STEP("delete", ",\"id\":\"none\"") "]}",
        HF_NOT_FOUND);
    expect_absent(r.things, t, "b");
    commit_quietly(t);
    expect_entity(r.things, NULL, "kept", "{\"id\":\"kept\"}");
    hf_operation_free(both);
    hf_buffer_free(&receipt);
    hf_entity_free(&result);
}

static void a_key_makes_a_sequence_run_once(room r) {
    hf_operation *order = describe_operation(
        r, "{\"steps\":[" STEP("modify", ",\"id\":\"n\",\"update\":{\"$inc\":{\"n\":1}},\"initial\":"
                                         "{}") "],"
                                               "\"idempotency_key\":\"order 17\"}");
    hf_buffer receipt = HF_BUFFER_INIT;
    for (int i = 0; i < 3; i++) {
        hf_future *future = NULL;
        if (i == 1) {
            expect_ok(hf_operation_start, order, NULL, &future);
            expect_ok(hf_future_wait, future, NULL, -1, NULL, &receipt);
            hf_future_free(future);
        } else {
            expect_ok(hf_operation_perform, order, NULL, NULL, &receipt);
        }
        assert_int_equal(strstr(receipt.data, "\"replayed\":true") != NULL, i > 0);
    }
    assert_int_equal(integer_in(r.things, NULL, "n", "n"), 1);
    hf_buffer_free(&receipt);
    hf_operation_free(order);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(what_takes_a_receipt_is_empty_where_there_is_none),
        EACH_ENGINE(each_call_of_a_repository_can_be_described),
        EACH_ENGINE(asynchronous_runs_answer_what_performing_answers),
        EACH_ENGINE(making_an_operation_does_nothing_and_each_run_runs_again),
        EACH_ENGINE(whether_an_entity_is_there_is_a_run_s_affair),
        ONCE(what_is_wrong_with_a_description_is_named),
        EACH_ENGINE(an_operation_on_a_handle_reaches_its_repository_whatever_it_is_called),
        ONCE(what_is_no_handle_of_the_operation_s_is_refused_when_it_is_made),
        EACH_ENGINE(a_single_step_can_be_refused_where_there_is_no_place),
        EACH_ENGINE(an_operation_outlives_its_store_and_says_that_it_is_closed),
        EACH_ENGINE(one_value_is_performed_by_several_threads_as_independent_runs),
        EACH_ENGINE(a_sequence_is_one_commit_or_none),
        EACH_ENGINE(a_key_makes_a_sequence_run_once),
    };
    return run_scenarios("operations", scenarios, COUNT_OF(scenarios));
}
