#include "payload_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Reads to the end or to the first failure, and counts the entities before it. */
static hfpayload_batch_step read_all(text payload, hfpayload_limits limits, size_t *count,
                                     hfpayload_error *error) {
    char *copy = exact_copy(payload.bytes, payload.length);
    hfpayload_batch batch;
    hfpayload_batch_step step = HFPAYLOAD_BATCH_FAILED;
    *count = 0;
    if (hfpayload_batch_begin(&batch, copy, payload.length, "id", limits, error)) {
        hfpayload_entity entity;
        while ((step = hfpayload_batch_next(&batch, &entity, error)) == HFPAYLOAD_BATCH_ENTITY) {
            (*count)++;
        }
        assert_int_equal(batch.index, *count);
        size_t position = error->position;
        assert_int_equal(hfpayload_batch_next(&batch, &entity, error), step);
        assert_true(step == HFPAYLOAD_BATCH_END || error->position == position);
    }
    free(copy);
    return step;
}

static void an_empty_batch_ends_at_once(void **state) {
    (void)state;
    static const text payloads[] = {TEXT("[]"), TEXT(" [ \n] \t")};
    for (size_t i = 0; i < 2; i++) {
        size_t count;
        hfpayload_error error = {HFPAYLOAD_OK, 0, ""};
        assert_int_equal(read_all(payloads[i], roomy, &count, &error), HFPAYLOAD_BATCH_END);
        assert_int_equal(count, 0);
    }
}

static void entities_come_in_order_with_their_spans(void **state) {
    (void)state;
    static const char payload[] = " [{\"id\":\"a\"} , {\"id\":7,\"x\":[\"]},{\"]}\n,{}] ";
    static const struct {
        size_t start, length;
        hfpayload_id_type type;
        const char *id;
    } expected[] = {
        {2, 10, HFPAYLOAD_ID_STRING, "a"},
        {15, 21, HFPAYLOAD_ID_INTEGER, "7"},
        {38, 2, HFPAYLOAD_ID_ABSENT, ""},
    };
    hfpayload_batch batch;
    hfpayload_entity entity;
    hfpayload_error error;
    assert_true(hfpayload_batch_begin(&batch, payload, strlen(payload), "id", roomy, &error));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(batch.index, i);
        assert_int_equal(hfpayload_batch_next(&batch, &entity, &error), HFPAYLOAD_BATCH_ENTITY);
        assert_int_equal(entity.start, expected[i].start);
        assert_int_equal(entity.length, expected[i].length);
        assert_int_equal(entity.id_type, expected[i].type);
        assert_int_equal(entity.id_length, strlen(expected[i].id));
        assert_memory_equal(entity.id, expected[i].id, entity.id_length);
    }
    assert_int_equal(hfpayload_batch_next(&batch, &entity, &error), HFPAYLOAD_BATCH_END);
}

static void what_is_no_array_is_no_batch(void **state) {
    (void)state;
    static const struct {
        text payload;
        hfpayload_failure failure;
        size_t position;
        const char *words;
    } cases[] = {
        {TEXT(""), HFPAYLOAD_INVALID_JSON, 0, "empty"},
        {TEXT("  "), HFPAYLOAD_INVALID_JSON, 2, "white space"},
        {TEXT("\xEF\xBB\xBF[]"), HFPAYLOAD_INVALID_JSON, 0, "byte-order mark"},
        {TEXT(" {\"id\":1}"), HFPAYLOAD_NOT_AN_ARRAY, 1, "an object"},
        {TEXT("\"[]\""), HFPAYLOAD_NOT_AN_ARRAY, 0, "a string"},
        {TEXT("x"), HFPAYLOAD_NOT_AN_ARRAY, 0, "no JSON value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count;
        hfpayload_error error;
        assert_int_equal(read_all(cases[i].payload, roomy, &count, &error), HFPAYLOAD_BATCH_FAILED);
        assert_refused(&error, cases[i].failure, cases[i].position, cases[i].words);
    }
}

static void a_malformed_batch_fails_where_it_is_malformed(void **state) {
    (void)state;
    static const struct {
        text payload;
        size_t count;
        hfpayload_failure failure;
        size_t position;
        const char *words;
    } cases[] = {
        {TEXT("["), 0, HFPAYLOAD_INVALID_JSON, 1, "ends before its closing bracket"},
        {TEXT("[{} "), 1, HFPAYLOAD_INVALID_JSON, 4, "ends before its closing bracket"},
        {TEXT("[{},"), 1, HFPAYLOAD_INVALID_JSON, 4, "ends before its closing bracket"},
        {TEXT("[{} {}]"), 1, HFPAYLOAD_INVALID_JSON, 4, "a comma or a closing bracket"},
        {TEXT("[{}:{}]"), 1, HFPAYLOAD_INVALID_JSON, 3, "a comma or a closing bracket"},
        {TEXT("[{}}"), 1, HFPAYLOAD_INVALID_JSON, 3, "a comma or a closing bracket"},
        {TEXT("[{}, ]"), 1, HFPAYLOAD_INVALID_JSON, 5, "no comma stands behind the last"},
        {TEXT("[,{}]"), 0, HFPAYLOAD_INVALID_JSON, 1, "element 0, counted from 0: an entity must"},
        {TEXT("[{},,{}]"), 1, HFPAYLOAD_INVALID_JSON, 4, "element 1, counted from 0: an entity must"},
        {TEXT("[{},\0{}]"), 1, HFPAYLOAD_INVALID_JSON, 4, "no JSON value"},
        {TEXT("[{}]x"), 1, HFPAYLOAD_INVALID_JSON, 4, "follows the end of the batch"},
        {TEXT("[] \0"), 0, HFPAYLOAD_INVALID_JSON, 3, "follows the end of the batch"},
        {TEXT("[]]"), 0, HFPAYLOAD_INVALID_JSON, 2, "follows the end of the batch"},
        {TEXT("[{},[]]"), 1, HFPAYLOAD_NOT_AN_OBJECT, 4, "element 1, counted from 0: an entity must"},
        {TEXT("[{},{}, \"{}\"]"), 2, HFPAYLOAD_NOT_AN_OBJECT, 8, "element 2, counted from 0: an entity must"},
        {TEXT("[null]"), 0, HFPAYLOAD_NOT_AN_OBJECT, 1, "this is null"},
        {TEXT("[{},{\"a\" 1}]"), 1, HFPAYLOAD_INVALID_JSON, 10, "element 1, counted from 0: a colon"},
        {TEXT("[{},{\"a\":1]}]"), 1, HFPAYLOAD_INVALID_JSON, 11, "closing brace"},
        {TEXT("[{},{\"a\":1"), 1, HFPAYLOAD_INVALID_JSON, 10, "element 1, counted from 0: the text ends"},
        {TEXT("[{},{\"a\":\"x},{}]"), 1, HFPAYLOAD_INVALID_JSON, 16, "ends before"},
        {TEXT("[{},{\"a\":1,\"a\":2}]"), 1, HFPAYLOAD_INVALID_JSON, 14, "appears twice"},
        {TEXT("[{},{\"a\":\"\xFF\"}]"), 1, HFPAYLOAD_INVALID_JSON, 10, "UTF-8"},
        {TEXT("[{},{\"a\":1\0}]"), 1, HFPAYLOAD_INVALID_JSON, 10, "NUL"},
        {TEXT("[{\"id\":1},{\"id\":null}]"), 1, HFPAYLOAD_INVALID_ID, 16,
         "element 1, counted from 0: the id is null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count;
        hfpayload_error error;
        assert_int_equal(read_all(cases[i].payload, roomy, &count, &error), HFPAYLOAD_BATCH_FAILED);
        assert_refused(&error, cases[i].failure, cases[i].position, cases[i].words);
        assert_int_equal(count, cases[i].count);
    }
}

static void the_limits_hold_for_each_entity_and_not_for_the_batch(void **state) {
    (void)state;
    hfpayload_limits limits = {10, 2};
    size_t count;
    hfpayload_error error = {HFPAYLOAD_OK, 0, ""};
    assert_int_equal(read_all((text)TEXT("[{\"a\":[12]}            , {\"a\":[34]}]"), limits, &count, &error),
                     HFPAYLOAD_BATCH_END);
    assert_int_equal(count, 2);
    assert_int_equal(read_all((text)TEXT("[{},{\"a\":[123]}]"), limits, &count, &error),
                     HFPAYLOAD_BATCH_FAILED);
    assert_refused(&error, HFPAYLOAD_TOO_LARGE, 14, "element 1, counted from 0: the payload is longer");
    assert_int_equal(read_all((text)TEXT("[{},{\"a\":\"never closed"), limits, &count, &error),
                     HFPAYLOAD_BATCH_FAILED);
    assert_refused(&error, HFPAYLOAD_TOO_LARGE, 14, "limit of 10 bytes");
    assert_int_equal(read_all((text)TEXT("[{},{\"a\":[[]]}]"), limits, &count, &error),
                     HFPAYLOAD_BATCH_FAILED);
    assert_refused(&error, HFPAYLOAD_TOO_DEEP, 10, "limit of 2");
    hfpayload_limits none = {SIZE_MAX, SIZE_MAX};
    assert_int_equal(read_all((text)TEXT("[{\"a\":[[[[]]]]}]"), none, &count, &error), HFPAYLOAD_BATCH_END);
}

static double seconds_for_batch_of(size_t entities) {
    static const char entity[] = "{\"id\":1,\"n\":[1]}";
    size_t step = sizeof entity; /* with a comma in the place of the NUL */
    char *payload = malloc(entities * step + 1);
    payload[0] = '[';
    for (size_t i = 0; i < entities; i++) {
        memcpy(payload + 1 + i * step, entity, step - 1);
        payload[(i + 1) * step] = i + 1 < entities ? ',' : ']';
    }
    size_t count;
    hfpayload_error error = {HFPAYLOAD_OK, 0, ""};
    clock_t start = clock();
    hfpayload_batch_step step_taken =
        read_all((text){payload, entities * step + 1}, (hfpayload_limits){SIZE_MAX, 8}, &count, &error);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(step_taken, HFPAYLOAD_BATCH_END);
    assert_int_equal(count, entities);
    free(payload);
    return seconds;
}

/* Quadratic work would need a hundred times as long for ten times as many. */
static void time_grows_in_proportion_to_the_batch(void **state) {
    (void)state;
    double small = seconds_for_batch_of(20000);
    double large = seconds_for_batch_of(200000);
    assert_true(large < 40 * small + 0.1);
}

int run_batch_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_batch_ends_at_once),
        cmocka_unit_test(entities_come_in_order_with_their_spans),
        cmocka_unit_test(what_is_no_array_is_no_batch),
        cmocka_unit_test(a_malformed_batch_fails_where_it_is_malformed),
        cmocka_unit_test(the_limits_hold_for_each_entity_and_not_for_the_batch),
        cmocka_unit_test(time_grows_in_proportion_to_the_batch),
    };
    return cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
