#include "payload_tests.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* --- Mutations --- */

static void assert_describes(const hfpayload_entity *entity, const char *bytes, size_t length) {
    assert_true(entity->start <= length && entity->length <= length - entity->start);
    assert_true(entity->length >= 2);
    assert_int_equal(bytes[entity->start], '{');
    assert_int_equal(bytes[entity->start + entity->length - 1], '}');
    hfpayload_error error;
    if (entity->id_type == HFPAYLOAD_ID_ABSENT) {
        assert_int_equal(entity->id_length, 0);
    } else {
        assert_true(hfpayload_id_check(entity->id, entity->id_length, &error));
    }
    /* The span by itself is the same entity. */
    hfpayload_entity again;
    assert_true(hfpayload_entity_check(bytes + entity->start, entity->length, "id", roomy, &again, &error));
    assert_int_equal(again.start, 0);
    assert_int_equal(again.length, entity->length);
}

static void assert_explained(const hfpayload_error *error, size_t length) {
    assert_in_range(error->failure, HFPAYLOAD_INVALID_JSON, HFPAYLOAD_INVALID_ID);
    assert_true(error->position <= length);
    assert_in_range(strlen(error->message), 1, sizeof error->message - 1);
}

static void no_mutation_of_an_entity_does_harm(void **state) {
    (void)state;
    static const text seeds[] = {
        TEXT("{\"id\":\"s1\",\"title\":\"Caf\xC3\xA9 \\u00e9\\ud83d\\ude00\",\"plays\":-12,\"r\":1.5e-3}"),
        TEXT(" {\"a\":[1,[true,false,null],{\"id\":2}],\"id\":9223372036854775807,\"\\u0069\":{}} "),
        TEXT("{\"id\":\"\\\"\\\\\\/\\b\\f\\u0020\",\"n\":{\"n\":{\"n\":{\"n\":[[[[]]]]}}}}"),
    };
    random_seed(1);
    size_t accepted = 0;
    for (size_t round = 0; round < 200000; round++) {
        text seed = seeds[round % 3];
        char buffer[128];
        memcpy(buffer, seed.bytes, seed.length);
        size_t length = mutate(buffer, seed.length);
        char *copy = exact_copy(buffer, length);
        hfpayload_entity entity;
        hfpayload_error error;
        if (hfpayload_entity_check(copy, length, "id", (hfpayload_limits){90, 8}, &entity, &error)) {
            assert_describes(&entity, copy, length);
            accepted++;
        } else {
            assert_explained(&error, length);
        }
        free(copy);
    }
    assert_in_range(accepted, 10000, 190000); /* both outcomes were met */
}

static void no_mutation_of_a_batch_does_harm(void **state) {
    (void)state;
    static const text seed =
        TEXT("[{\"id\":\"a\",\"x\":[1,2]}, {\"id\":2,\"y\":{\"z\":\"\\u00e9\"}} ,{},{\"id\":\"}]\"}]");
    random_seed(2);
    size_t ended = 0;
    for (size_t round = 0; round < 100000; round++) {
        char buffer[128];
        memcpy(buffer, seed.bytes, seed.length);
        size_t length = mutate(buffer, seed.length);
        char *copy = exact_copy(buffer, length);
        hfpayload_batch batch;
        hfpayload_entity entity;
        hfpayload_error error;
        hfpayload_batch_step step = HFPAYLOAD_BATCH_FAILED;
        if (hfpayload_batch_begin(&batch, copy, length, "id", (hfpayload_limits){30, 3}, &error)) {
            size_t behind = 0;
            while ((step = hfpayload_batch_next(&batch, &entity, &error)) == HFPAYLOAD_BATCH_ENTITY) {
                assert_describes(&entity, copy, length);
                assert_true(entity.start > behind);
                behind = entity.start + entity.length;
            }
        }
        if (step == HFPAYLOAD_BATCH_END) {
            ended++;
        } else {
            assert_explained(&error, length);
        }
        free(copy);
    }
    assert_in_range(ended, 5000, 95000);
}

/* --- The host's allocator --- */

static size_t allocations_left, blocks;

static void *scarce_malloc(size_t size) {
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left--;
    blocks++;
    return malloc(size);
}

static void counting_free(void *block) {
    blocks -= block != NULL;
    free(block);
}

/* Of an entity that jansson parses, because an escape in a name makes it no plain one. Tokens are kept below
 * the 16 bytes from which jansson's token buffer grows, because jansson does not check that growth. */
static void every_failed_allocation_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    static const char payload[] =
        "{\"id\":\"s1\",\"a\":[1,2.5,\"x\",null],\"\\u006f\":{\"k\":{},\"l\":true}}";
    json_malloc_t host_malloc;
    json_free_t host_free;
    json_get_alloc_funcs(&host_malloc, &host_free);
    json_set_alloc_funcs(scarce_malloc, counting_free);
    size_t failures = 0;
    bool accepted = false;
    hfpayload_error error = {HFPAYLOAD_NO_MEMORY, 0, ""};
    for (; !accepted && error.failure == HFPAYLOAD_NO_MEMORY; failures += !accepted) {
        hfpayload_entity entity;
        allocations_left = failures;
        accepted = hfpayload_entity_check(payload, strlen(payload), "id", roomy, &entity, &error);
    }
    json_malloc_t malloc_after;
    json_free_t free_after;
    json_get_alloc_funcs(&malloc_after, &free_after);
    json_set_alloc_funcs(host_malloc, host_free);
    assert_true(accepted);
    assert_in_range(failures, 10, 100);
    assert_int_equal(blocks, 0);
    assert_true(malloc_after == scarce_malloc && free_after == counting_free);
}

int run_robustness_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_mutation_of_an_entity_does_harm),
        cmocka_unit_test(no_mutation_of_a_batch_does_harm),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("robustness", tests, NULL, NULL);
}
