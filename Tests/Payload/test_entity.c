#include "payload_tests.h"

#include <stdlib.h>
#include <string.h>

static void the_id_is_found_at_the_top_level_and_decoded(void **state) {
    (void)state;
    static const struct {
        text payload;
        hfpayload_id_type type;
        text id;
    } cases[] = {
        {TEXT("{\"id\":\"s1\"}"), HFPAYLOAD_ID_STRING, TEXT("s1")},
        {TEXT("{\"n\":{\"id\":\"no\"},\"id\":\"s1\"}"), HFPAYLOAD_ID_STRING, TEXT("s1")},
        {TEXT("{\"\\u0069\\u0064\":\"s1\"}"), HFPAYLOAD_ID_STRING, TEXT("s1")},
        {TEXT("{\"id\":\"a\\\"b\\\\c\\/\\u00e9\"}"), HFPAYLOAD_ID_STRING, TEXT("a\"b\\c/\xC3\xA9")},
        {TEXT("{\"id\":\"\xE6\x97\xA5\xF0\x9F\x98\x80\"}"), HFPAYLOAD_ID_STRING,
         TEXT("\xE6\x97\xA5\xF0\x9F\x98\x80")},
        {TEXT("{\"id\":\"\\ud83d\\ude00\"}"), HFPAYLOAD_ID_STRING, TEXT("\xF0\x9F\x98\x80")},
        {TEXT("{\"id\":\"\\u0080 \"}"), HFPAYLOAD_ID_STRING, TEXT("\xC2\x80 ")},
        {TEXT("{\"id\":42}"), HFPAYLOAD_ID_INTEGER, TEXT("42")},
        {TEXT("{\"id\":-0}"), HFPAYLOAD_ID_INTEGER, TEXT("0")},
        {TEXT("{\"id\":9223372036854775807}"), HFPAYLOAD_ID_INTEGER, TEXT("9223372036854775807")},
        {TEXT("{\"id\":-9223372036854775808}"), HFPAYLOAD_ID_INTEGER, TEXT("-9223372036854775808")},
        {TEXT("{}"), HFPAYLOAD_ID_ABSENT, TEXT("")},
        {TEXT("{\"ID\":1,\"n\":{\"id\":2},\"a\":[{\"id\":3}]}"), HFPAYLOAD_ID_ABSENT, TEXT("")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hfpayload_entity entity;
        hfpayload_error error;
        if (!check_entity(cases[i].payload, roomy, &entity, &error)) {
            fail_msg("%s: %s", cases[i].payload.bytes, error.message);
        }
        assert_int_equal(entity.id_type, cases[i].type);
        assert_int_equal(entity.id_length, cases[i].id.length);
        assert_memory_equal(entity.id, cases[i].id.bytes, entity.id_length);
    }
}

static void the_key_may_have_any_name(void **state) {
    (void)state;
    static const char payload[] = "{\"\":\"empty\",\"\xC3\xA9\":\"accent\",\"a.b\":\"dot\"}";
    static const char *const names[][2] = {{"", "empty"}, {"\xC3\xA9", "accent"}, {"a.b", "dot"}};
    for (size_t i = 0; i < 3; i++) {
        hfpayload_entity entity;
        hfpayload_error error;
        assert_true(hfpayload_entity_check(payload, strlen(payload), names[i][0], roomy, &entity, &error));
        assert_int_equal(entity.id_length, strlen(names[i][1]));
        assert_memory_equal(entity.id, names[i][1], entity.id_length);
    }
}

static void the_span_leaves_out_white_space_around_the_entity(void **state) {
    (void)state;
    hfpayload_entity entity;
    hfpayload_error error;
    assert_true(check_entity((text)TEXT(" \n\t{ \"id\" : 1 } \r\n"), roomy, &entity, &error));
    assert_int_equal(entity.start, 3);
    assert_int_equal(entity.length, 12);
}

static void assert_all_refused(const refusal *cases, size_t count, hfpayload_failure failure) {
    for (size_t i = 0; i < count; i++) {
        hfpayload_entity entity;
        hfpayload_error error;
        assert_false(check_entity(cases[i].payload, roomy, &entity, &error));
        assert_refused(&error, failure, cases[i].position, cases[i].words);
    }
}

static void what_is_no_object_is_refused_by_its_type(void **state) {
    (void)state;
    static const refusal cases[] = {
        {TEXT(" []"), 1, "an array"}, {TEXT("\"x\""), 0, "a string"}, {TEXT("-1"), 0, "a number"},
        {TEXT("1.5"), 0, "a number"}, {TEXT("true"), 0, "a boolean"}, {TEXT("\nfalse"), 1, "a boolean"},
        {TEXT("null"), 0, "null"},
    };
    assert_all_refused(cases, sizeof cases / sizeof cases[0], HFPAYLOAD_NOT_AN_OBJECT);
}

static void an_invalid_id_is_refused_at_its_value(void **state) {
    (void)state;
    static const refusal cases[] = {
        {TEXT("{\"id\":null}"), 6, "left out to have an id assigned"},
        {TEXT("{\"id\":1.0}"), 6, "a real number"},
        {TEXT("{\"id\":1e3}"), 6, "a real number"},
        {TEXT("{\"id\":true}"), 6, "a boolean"},
        {TEXT("{\"id\":false}"), 6, "a boolean"},
        {TEXT("{\"id\":[\"a\"]}"), 6, "an array"},
        {TEXT("{\"id\":{\"id\":1}}"), 6, "an object"},
        {TEXT("{\"id\":\"\"}"), 6, "empty"},
        {TEXT("{\"id\":\"a\\u0000b\"}"), 6, "U+0000"},
        {TEXT("{\"id\":\"\\n\"}"), 6, "U+000A"},
        {TEXT("{\"id\":\"\\u001f\"}"), 6, "U+001F"},
        {TEXT("{\"id\":\"\x7F\"}"), 6, "U+007F"},
        {TEXT("  {\"a\":[1,{\"id\":2,\"x\":\",:\\\"\"}],\"b\":\"}{\",\"i\\u0064\" :\n null,\"c\":1}"), 53,
         "null"},
    };
    assert_all_refused(cases, sizeof cases / sizeof cases[0], HFPAYLOAD_INVALID_ID);
}

static void an_integer_id_beyond_64_bits_is_a_number_out_of_range(void **state) {
    (void)state;
    hfpayload_entity entity;
    hfpayload_error error;
    assert_false(check_entity((text)TEXT("{\"id\":9223372036854775808}"), roomy, &entity, &error));
    assert_refused(&error, HFPAYLOAD_INVALID_JSON, 25, "out of range");
}

static void an_id_has_at_most_512_bytes(void **state) {
    (void)state;
    for (size_t length = 512; length <= 513; length++) {
        char payload[600] = "{\"id\":\"";
        memset(payload + 7, 'x', length);
        strcpy(payload + 7 + length, "\"}");
        hfpayload_entity entity;
        hfpayload_error error;
        bool accepted = check_entity((text){payload, strlen(payload)}, roomy, &entity, &error);
        assert_int_equal(accepted, length == 512);
        if (accepted) {
            assert_int_equal(entity.id_length, 512);
            assert_memory_equal(entity.id, payload + 7, 512);
        } else {
            assert_refused(&error, HFPAYLOAD_INVALID_ID, 6, "513 bytes: the limit is 512");
        }
    }
}

static void an_id_by_itself_is_checked_byte_by_byte(void **state) {
    (void)state;
    static const struct {
        text id;
        bool valid;
        size_t position;
        const char *words;
    } cases[] = {
        {TEXT("a"), true, 0, ""},
        {TEXT(" /\\\"~"), true, 0, ""},
        {TEXT("\xC2\x80\xDF\xBF"), true, 0, ""},
        {TEXT("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"), true, 0, ""},
        {TEXT("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), true, 0, ""},
        {TEXT(""), false, 0, "empty"},
        {TEXT("a\0b"), false, 1, "U+0000"},
        {TEXT("ab\x1F"), false, 2, "U+001F"},
        {TEXT("\x7F"), false, 0, "U+007F"},
        {TEXT("a\x80"), false, 1, "UTF-8"},
        {TEXT("\xC1\xBF"), false, 0, "UTF-8"},
        {TEXT("\xE0\x9F\xBF"), false, 0, "UTF-8"},
        {TEXT("\xED\xA0\x80"), false, 0, "UTF-8"},
        {TEXT("\xF0\x8F\xBF\xBF"), false, 0, "UTF-8"},
        {TEXT("\xF4\x90\x80\x80"), false, 0, "UTF-8"},
        {TEXT("\xF5\x80\x80\x80"), false, 0, "UTF-8"},
        {TEXT("ab\xE2\x82"), false, 2, "UTF-8"},
        {TEXT("\xE2\x82("), false, 0, "UTF-8"},
        {TEXT("\xC3"), false, 0, "UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hfpayload_error error;
        char *copy = exact_copy(cases[i].id.bytes, cases[i].id.length);
        assert_int_equal(hfpayload_id_check(copy, cases[i].id.length, &error), cases[i].valid);
        if (!cases[i].valid) {
            assert_refused(&error, HFPAYLOAD_INVALID_ID, cases[i].position, cases[i].words);
        }
        free(copy);
    }
    hfpayload_error error;
    assert_false(hfpayload_id_check(NULL, 0, &error));
}

static void malformed_entities_are_refused_as_any_payload(void **state) {
    (void)state;
    hfpayload_entity entity;
    hfpayload_error error;
    assert_false(hfpayload_entity_check(NULL, 0, "id", roomy, &entity, &error));
    assert_refused(&error, HFPAYLOAD_INVALID_JSON, 0, "empty");
    assert_false(check_entity((text)TEXT("{\"id\":1,\"id\":2}"), roomy, &entity, &error));
    assert_refused(&error, HFPAYLOAD_INVALID_JSON, 12, "appears twice");
    assert_false(check_entity((text)TEXT("{\"id\":1} {}"), roomy, &entity, &error));
    assert_refused(&error, HFPAYLOAD_INVALID_JSON, 9, "follows the end");
    assert_false(check_entity((text)TEXT("{\"a\":[[]]}"), (hfpayload_limits){100, 2}, &entity, &error));
    assert_refused(&error, HFPAYLOAD_TOO_DEEP, 6, "limit of 2");
    assert_false(check_entity((text)TEXT("{\"id\":1}"), (hfpayload_limits){7, 2}, &entity, &error));
    assert_refused(&error, HFPAYLOAD_TOO_LARGE, 7, "limit of 7 bytes");
}

int run_entity_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_found_at_the_top_level_and_decoded),
        cmocka_unit_test(the_key_may_have_any_name),
        cmocka_unit_test(the_span_leaves_out_white_space_around_the_entity),
        cmocka_unit_test(what_is_no_object_is_refused_by_its_type),
        cmocka_unit_test(an_invalid_id_is_refused_at_its_value),
        cmocka_unit_test(an_integer_id_beyond_64_bits_is_a_number_out_of_range),
        cmocka_unit_test(an_id_has_at_most_512_bytes),
        cmocka_unit_test(an_id_by_itself_is_checked_byte_by_byte),
        cmocka_unit_test(malformed_entities_are_refused_as_any_payload),
    };
    return cmocka_run_group_tests_name("entities", tests, NULL, NULL);
}
