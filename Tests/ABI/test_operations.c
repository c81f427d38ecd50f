/* Operations: described now and run later, each run anew; one call for a whole transaction. */
#include "support.h"

typedef struct room {
    hf_store *store;
    hf_repository *songs;
} room;

static room open_room(const fixture *f, const char *options) {
    room r = {open_store(f, options), NULL};
    r.songs = open_repository(r.store, "songs");
    return r;
}

static void close_room(room r) {
    hf_repository_free(r.songs);
    hf_store_free(r.store);
}

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

#define STEP(operation, members) "{\"operation\":\"" operation "\",\"repository\":\"songs\"" members "}"
#define ADD_ONE STEP("add", ",\"entity\":{\"id\":\"s1\",\"plays\":0}")

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
        expect_entity(r.songs, NULL, "b", "{\"id\":\"b\",\"n\":3}");
        hf_repository_delete_all(r.songs, NULL, NULL, 0, NULL, NULL, NULL);
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
        assert_int_equal(hf_future_wait(future, NULL, 10000, &b, &other_receipt, NULL), status);
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

static void making_an_operation_does_nothing_and_each_run_runs_again(fixture *f) {
    room r = open_room(f, NULL);
    save(r.songs, NULL, "{\"id\":\"s1\"}");
    hf_operation *add = describe_operation(r, ADD_ONE);
    expect(HF_EXISTS, hf_operation_perform, add, NULL, NULL, NULL);
    expect_ok(hf_repository_delete, r.songs, NULL, "s1", 2, 0);
    expect_ok(hf_operation_perform, add, NULL, NULL, NULL);
    expect(HF_EXISTS, hf_operation_perform, add, NULL, NULL, NULL);
    hf_operation_free(add);

    hf_operation *fetch = describe_operation(r, STEP("fetch", ",\"id\":\"s1\""));
    hf_entity value = HF_ENTITY_INIT;
    expect_ok(hf_operation_perform, fetch, NULL, &value, NULL);
    assert_string_equal(value.data, "{\"id\":\"s1\",\"plays\":0}");
    assert_int_equal(value.version, version_of(r.songs, NULL, "s1"));
    save(r.songs, NULL, "{\"id\":\"s1\",\"plays\":1}");
    expect_ok(hf_operation_perform, fetch, NULL, &value, NULL);
    assert_string_equal(value.data, "{\"id\":\"s1\",\"plays\":1}");
    hf_entity_free(&value);
    hf_operation_free(fetch);

    hf_operation *anonymous = describe_operation(r, STEP("add", ",\"entity\":{}"));
    expect_ok(hf_operation_perform, anonymous, NULL, NULL, NULL);
    expect_ok(hf_operation_perform, anonymous, NULL, NULL, NULL);
    hf_operation_free(anonymous);
    expect_count(r.songs, NULL, NULL, 3);
    close_room(r);
}

static void what_is_wrong_with_a_description_is_named(fixture *f) {
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
    room r = open_room(f, NULL);
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

static void one_value_is_performed_by_several_threads_as_independent_runs(fixture *f) {
    enum { THREADS = 4 };
    room r = open_room(f, NULL);
    hf_operation *count = describe_operation(
        r,
        "{\"steps\":[" STEP("modify", ",\"id\":\"n\",\"update\":{\"$inc\":{\"n\":1}},\"initial\":{}") "]}");
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, perform_often, count);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hf_operation_free(count);
    assert_int_equal(integer_in(r.songs, NULL, "n", "n"), THREADS * 100);
    close_room(r);
}

/* --- Sequences
 * ---------------------------------------------------------------------------------------------- */

static void a_sequence_is_one_commit_or_none(fixture *f) {
    room r = open_room(f, NULL);
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
    assert_non_null(strstr(receipt.data, "\"repository\":\"songs\",\"id\":\"a\""));
    expect_detail(error_of(HF_EXISTS, hf_operation_perform, both, NULL, NULL, NULL), "index", "0");

    expect_refused(
        r, NULL,
        "{\"steps\":[" STEP("add", ",\"entity\":{\"id\":\"b\"}") "," STEP("delete", ",\"id\":\"none\"") "]}",
        HF_NOT_FOUND);
    expect_absent(r.songs, NULL, "b");

    /* Inside a transaction what it wrote before it failed is taken back, and only that. */
    hf_transaction *t = begin(r.store, NULL);
    save(r.songs, t, "{\"id\":\"kept\"}");
    expect_refused(
        r, t,
        "{\"steps\":[" STEP("add", ",\"entity\":{\"id\":\"b\"}") "," STEP("delete", ",\"id\":\"none\"") "]}",
        HF_NOT_FOUND);
    expect_absent(r.songs, t, "b");
    commit_quietly(t);
    expect_entity(r.songs, NULL, "kept", "{\"id\":\"kept\"}");
    hf_operation_free(both);
    hf_buffer_free(&receipt);
    hf_entity_free(&result);
    close_room(r);
}

static void a_key_makes_a_sequence_run_once(fixture *f) {
    room r = open_room(f, NULL);
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
    assert_int_equal(integer_in(r.songs, NULL, "n", "n"), 1);
    hf_buffer_free(&receipt);
    hf_operation_free(order);
    close_room(r);
}

/* --- Functions
 * ------------------------------------------------------------------------------------------------ */

static hf_status count_and_write(hf_transaction *transaction, hf_buffer *result, void *songs) {
    uint64_t count;
    hf_status status = hf_repository_count(songs, transaction, NULL, 0, NULL, &count, NULL);
    if (status != HF_OK || count >= 3)
        return status == HF_OK ? HF_FULL : status;
    char json[64];
    snprintf(json, sizeof json, "{\"id\":%d}", (int)count);
    if (!hf_buffer_set(result, json, HF_NTS))
        return HF_NO_MEMORY;
    return hf_repository_add(songs, transaction, json, HF_NTS, NULL, NULL);
}

static void a_function_of_the_host_is_an_operation_too(fixture *f) {
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(3);
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create_function, r.store, count_and_write, r.songs, NULL, NULL, &operation);
    hf_entity result = HF_ENTITY_INIT;
    expect_ok(hf_operation_perform, operation, NULL, &result, NULL);
    assert_string_equal(result.data, "{\"id\":0}");
    /* Runs that read the same count meet a conflict and run again; the limit holds. */
    hf_future *futures[8];
    for (size_t i = 0; i < COUNT_OF(futures); i++)
        expect_ok(hf_operation_start, operation, NULL, &futures[i]);
    size_t full = 0;
    for (size_t i = 0; i < COUNT_OF(futures); i++) {
        hf_status status = hf_future_wait(futures[i], NULL, 20000, NULL, NULL, NULL);
        assert_true(status == HF_OK || status == HF_FULL);
        full += status == HF_FULL;
        hf_future_free(futures[i]);
    }
    assert_int_equal(full, COUNT_OF(futures) - 2);
    expect_count(r.songs, NULL, NULL, 3);
    hf_operation_free(operation);

    expect_ok(hf_operation_create_function, r.store, count_and_write, new_ticket(rec, 0), free_ticket, NULL,
              &operation);
    hf_operation_free(operation);
    wait_for_freed(rec, 1);
    expect(HF_INVALID_OPTION, hf_operation_create_function, r.store, count_and_write, new_ticket(rec, 1),
           free_ticket, "{\"x\":1}", &operation);
    expect(HF_INVALID_ARGUMENT, hf_operation_create_function, r.store, NULL, new_ticket(rec, 2), free_ticket,
           NULL, &operation);
    wait_for_freed(rec, 3);
    hf_entity_free(&result);
    free_recorder(rec);
    close_room(r);
}

static hf_status wait_in_function(hf_transaction *transaction, hf_buffer *result, void *future) {
    (void)transaction;
    (void)result;
    return hf_future_wait(future, NULL, 5000, NULL, NULL, NULL);
}

static void waiting_inside_an_asynchronous_function_would_deadlock_and_says_so(fixture *f) {
    room r = open_room(f, NULL);
    hf_operation *operation = NULL;
    hf_future *never = NULL, *future = NULL;
    expect_ok(hf_future_create, &never);
    expect_ok(hf_operation_create_function, r.store, wait_in_function, never, NULL, NULL, &operation);
    expect_ok(hf_operation_start, operation, NULL, &future);
    expect(HF_WOULD_DEADLOCK, hf_future_wait, future, NULL, 10000, NULL, NULL);
    hf_future_free(never);
    hf_future_free(future);
    hf_operation_free(operation);
    close_room(r);
}

/* --- Subscriptions, cancelling, closing
 * --------------------------------------------------------------------------- */

typedef struct heard {
    atomic_int values, ends, last_status, freed;
    char value[64];
} heard;

static void hear(const hf_event *event, void *user_data) {
    heard *h = user_data;
    if (event->kind == HF_EVENT_VALUE) {
        assert_int_equal(h->ends, 0);
        snprintf(h->value, sizeof h->value, "%s", event->value.data);
        h->values++;
    } else {
        assert_int_equal(event->kind, HF_EVENT_END);
        h->last_status = (int)event->status;
        h->ends++;
    }
}

static void note_freed(void *user_data) { ((heard *)user_data)->freed++; }

static void wait_for_end(heard *h) {
    while (!h->freed)
        sleep_milliseconds(1);
}

static void a_subscription_brings_one_value_and_an_end_or_one_failure(fixture *f) {
    room r = open_room(f, NULL);
    hf_operation *add = describe_operation(r, ADD_ONE);
    heard first = {0}, second = {0};
    expect_ok(hf_operation_subscribe, add, NULL, hear, &first, note_freed, NULL);
    wait_for_end(&first);
    assert_int_equal(first.values, 1);
    assert_int_equal(first.ends, 1);
    assert_string_equal(first.value, "{\"id\":\"s1\",\"plays\":0}");
    expect_ok(hf_operation_subscribe, add, NULL, hear, &second, note_freed, NULL);
    hf_operation_free(add);
    wait_for_end(&second);
    assert_int_equal(second.values, 0);
    assert_int_equal(second.ends, 1);
    assert_int_equal(second.last_status, HF_EXISTS);
    assert_int_equal(first.freed, 1);
    close_room(r);
}

static void under_queue_delivery_a_subscription_is_two_events(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    hf_operation *add = describe_operation(r, ADD_ONE);
    heard h = {0};
    hf_event events[4];
    expect_ok(hf_operation_subscribe, add, NULL, NULL, &h, note_freed, NULL);
    size_t count = 0;
    while (count < 2) {
        int32_t taken = hf_store_events(r.store, events + count, 4 - count, 10000);
        assert_true(taken > 0);
        count += (size_t)taken;
    }
    assert_int_equal(count, 2);
    assert_int_equal(events[0].kind, HF_EVENT_VALUE);
    assert_string_equal(events[0].value.data, "{\"id\":\"s1\",\"plays\":0}");
    assert_int_equal(events[1].kind, HF_EVENT_END);
    assert_int_equal(events[1].status, HF_OK);
    assert_true(events[0].user_data == &h && events[1].user_data == &h);
    hf_events_free(events, 1);
    assert_int_equal(h.freed, 0);
    hf_events_free(events + 1, 1);
    assert_int_equal(h.freed, 1);
    hf_operation_free(add);
    close_room(r);
}

typedef struct gate {
    pthread_mutex_t lock;
    atomic_int entered;
} gate;

static hf_status hold(hf_transaction *transaction, hf_buffer *result, void *user_data) {
    (void)transaction;
    (void)result;
    gate *g = user_data;
    g->entered = 1;
    pthread_mutex_lock(&g->lock);
    pthread_mutex_unlock(&g->lock);
    return HF_OK;
}

static void what_has_not_begun_or_not_reached_its_commit_can_be_cancelled(fixture *f) {
    room r = open_room(f, NULL);
    gate g = {PTHREAD_MUTEX_INITIALIZER, 0};
    hf_operation *blocker = NULL;
    hf_operation *fetch = describe_operation(r, STEP("count", ""));
    hf_future *running = NULL, *waiting = NULL;
    expect_ok(hf_operation_create_function, r.store, hold, &g, NULL, NULL, &blocker);
    pthread_mutex_lock(&g.lock);
    expect_ok(hf_operation_start, blocker, NULL, &running);
    while (!g.entered)
        sleep_milliseconds(1);
    expect_ok(hf_operation_start, fetch, NULL, &waiting);
    expect_ok(hf_future_cancel, waiting);
    expect(HF_CANCELLED, hf_future_wait, waiting, NULL, 0, NULL, NULL);
    expect(HF_INVALID_STATE, hf_future_cancel, waiting);
    expect_ok(hf_future_cancel, running);
    expect(HF_CANCELLED, hf_future_wait, running, NULL, 0, NULL, NULL);
    pthread_mutex_unlock(&g.lock);
    hf_future_free(running);
    hf_future_free(waiting);
    hf_operation_free(blocker);
    hf_operation_free(fetch);
    close_room(r);
}

static void an_abandoned_run_goes_on(fixture *f) {
    room r = open_room(f, NULL);
    for (int i = 0; i < 100; i++) {
        char json[128];
        snprintf(json, sizeof json, STEP("add", ",\"entity\":{\"id\":%d}"), i);
        hf_operation *add = describe_operation(r, json);
        hf_future *future = NULL;
        expect_ok(hf_operation_start, add, NULL, i % 2 ? &future : NULL);
        hf_future_free(future);
        hf_operation_free(add);
    }
    expect_ok(hf_store_close, r.store, -1);
    hf_repository_free(r.songs);
    hf_store_free(r.store);
    if (strcmp(f->engine, "memory") == 0)
        return;
    room again = open_room(f, NULL);
    expect_count(again.songs, NULL, NULL, 100);
    close_room(again);
}

static void every_run_that_was_accepted_ends_once_when_the_store_closes(fixture *f) {
    enum { COUNT = 6000 };
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(COUNT);
    hf_operation *kinds[] = {
        describe_operation(r, STEP("modify", ",\"id\":\"n\",\"update\":{\"$inc\":{\"n\":1}},\"initial\":{}")),
        describe_operation(r, STEP("count", "")),
        describe_operation(r, "{\"steps\":[" STEP("add", ",\"entity\":{}") "," STEP("count", "") "]}"),
    };
    for (size_t i = 0; i < COUNT; i++)
        expect_ok(hf_operation_submit, kinds[i % 3], NULL, record_event, new_ticket(rec, i), free_ticket,
                  NULL);
    expect_ok(hf_store_close, r.store, -1);
    wait_for_freed(rec, COUNT);
    assert_int_equal(rec->count, COUNT);
    assert_int_equal(rec->out_of_step, 0);
    for (size_t i = 0; i < COUNT; i++) {
        hf_status status = rec->outcomes[i].status;
        assert_true(status == HF_OK || status == HF_CLOSED || status == HF_CONFLICT);
        assert_true(rec->outcomes[i].ticket % 3 != 0 || status == HF_OK);
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        hf_operation_free(kinds[i]);
    hf_repository_free(r.songs);
    hf_store_free(r.store);
    free_recorder(rec);
}

static void places_are_limited_for_operations_too(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":2}");
    hf_operation *count = describe_operation(r, "{\"steps\":[" STEP("count", "") "],\"timeout_ms\":20}");
    hf_event events[2];
    for (int round = 0; round < 3; round++) {
        expect_ok(hf_operation_submit, count, NULL, NULL, NULL, NULL, NULL);
        expect_ok(hf_operation_submit, count, NULL, NULL, NULL, NULL, NULL);
        expect(HF_BUSY, hf_operation_submit, count, NULL, NULL, NULL, NULL, NULL);
        size_t taken = 0;
        while (taken < 2) {
            int32_t n = hf_store_events(r.store, events + taken, 2 - taken, 10000);
            assert_true(n > 0);
            taken += (size_t)n;
        }
        assert_string_equal(events[0].value.data, "[0]");
        hf_events_free(events, taken);
    }
    /* Without anyone to tell, the place is given back when the run ends. */
    for (int i = 0; i < 50; i++) {
        hf_future *future = NULL;
        expect_ok(hf_operation_start, count, NULL, &future);
        expect_ok(hf_future_wait, future, NULL, 10000, NULL, NULL);
        hf_future_free(future);
    }
    hf_operation_free(count);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(each_call_of_a_repository_can_be_described),
        EACH_ENGINE(asynchronous_runs_answer_what_performing_answers),
        EACH_ENGINE(making_an_operation_does_nothing_and_each_run_runs_again),
        ONCE(what_is_wrong_with_a_description_is_named),
        EACH_ENGINE(an_operation_outlives_its_store_and_says_that_it_is_closed),
        EACH_ENGINE(one_value_is_performed_by_several_threads_as_independent_runs),
        EACH_ENGINE(a_sequence_is_one_commit_or_none),
        EACH_ENGINE(a_key_makes_a_sequence_run_once),
        EACH_ENGINE(a_function_of_the_host_is_an_operation_too),
        ONCE(waiting_inside_an_asynchronous_function_would_deadlock_and_says_so),
        EACH_ENGINE(a_subscription_brings_one_value_and_an_end_or_one_failure),
        EACH_ENGINE(under_queue_delivery_a_subscription_is_two_events),
        EACH_ENGINE(what_has_not_begun_or_not_reached_its_commit_can_be_cancelled),
        EACH_ENGINE(an_abandoned_run_goes_on),
        EACH_ENGINE(every_run_that_was_accepted_ends_once_when_the_store_closes),
        EACH_ENGINE(places_are_limited_for_operations_too),
    };
    return run_scenarios("operations", scenarios, COUNT_OF(scenarios));
}
