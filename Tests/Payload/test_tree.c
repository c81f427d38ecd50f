#include "payload_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hfpayload_tree *parse(text payload, hfpayload_limits limits, hfpayload_error *error) {
    char *copy = exact_copy(payload.bytes, payload.length);
    hfpayload_tree *tree = hfpayload_tree_parse(copy, payload.length, limits, error);
    free(copy);
    return tree;
}

static hfpayload_tree *parsed(text payload) {
    hfpayload_error error;
    hfpayload_tree *tree = parse(payload, roomy, &error);
    if (tree == NULL) {
        fail_msg("%.*s: %s", (int)payload.length, payload.bytes, error.message);
    }
    return tree;
}

static void a_value_of_any_type_is_parsed(void **state) {
    (void)state;
    static const struct {
        text payload;
        hfpayload_type type;
    } cases[] = {
        {TEXT("null"), HFPAYLOAD_NULL},    {TEXT("false"), HFPAYLOAD_FALSE},
        {TEXT("true"), HFPAYLOAD_TRUE},    {TEXT("7"), HFPAYLOAD_INTEGER},
        {TEXT("7.5"), HFPAYLOAD_REAL},     {TEXT("7e2"), HFPAYLOAD_REAL},
        {TEXT("\"7\""), HFPAYLOAD_STRING}, {TEXT("[]"), HFPAYLOAD_ARRAY},
        {TEXT("{}"), HFPAYLOAD_OBJECT},    {TEXT(" \t\r\n7 "), HFPAYLOAD_INTEGER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hfpayload_tree *tree = parsed(cases[i].payload);
        assert_int_equal(hfpayload_value_type(hfpayload_tree_root(tree)), cases[i].type);
        hfpayload_tree_free(tree);
    }
}

static void integers_keep_all_64_bits(void **state) {
    (void)state;
    hfpayload_tree *tree = parsed((text)TEXT("[9223372036854775807, -9223372036854775808, -0, 0]"));
    const hfpayload_value *array = hfpayload_tree_root(tree);
    assert_int_equal(hfpayload_value_count(array), 4);
    assert_true(hfpayload_value_integer(hfpayload_value_element(array, 0)) == INT64_MAX);
    assert_true(hfpayload_value_integer(hfpayload_value_element(array, 1)) == INT64_MIN);
    assert_true(hfpayload_value_integer(hfpayload_value_element(array, 2)) == 0);
    assert_null(hfpayload_value_element(array, 4));
    hfpayload_tree_free(tree);
}

static void reals_are_read_and_one_too_small_is_zero(void **state) {
    (void)state;
    hfpayload_tree *tree = parsed((text)TEXT("[1.5, -2.5e3, 1e-400]"));
    const hfpayload_value *array = hfpayload_tree_root(tree);
    assert_true(hfpayload_value_real(hfpayload_value_element(array, 0)) == 1.5);
    assert_true(hfpayload_value_real(hfpayload_value_element(array, 1)) == -2500.0);
    assert_true(hfpayload_value_real(hfpayload_value_element(array, 2)) == 0.0);
    hfpayload_tree_free(tree);
}

static void strings_are_decoded_and_may_hold_nul_bytes(void **state) {
    (void)state;
    hfpayload_tree *tree = parsed((text)TEXT("\"a\\u0000\\n\\u00e9\\ud83d\\ude00\xC3\xA9\""));
    size_t length;
    const char *string = hfpayload_value_string(hfpayload_tree_root(tree), &length);
    assert_int_equal(length, 11);
    assert_memory_equal(string, "a\0\n\xC3\xA9\xF0\x9F\x98\x80\xC3\xA9", 11);
    hfpayload_tree_free(tree);
}

static void members_come_in_the_order_of_the_text(void **state) {
    (void)state;
    char payload[2000] = "{";
    for (int i = 0; i < 100; i++) {
        char member[20];
        snprintf(member, sizeof member, "%s\"m%d\": %d", i > 0 ? ", " : "", i * 37 % 100, i);
        strcat(payload, member);
    }
    strcat(payload, "}");
    hfpayload_tree *tree = parsed((text){payload, strlen(payload)});
    const hfpayload_value *object = hfpayload_tree_root(tree);
    assert_int_equal(hfpayload_value_count(object), 100);
    int i = 0;
    for (void *m = hfpayload_object_first(object); m != NULL; m = hfpayload_object_next(object, m), i++) {
        char name[10];
        size_t length;
        snprintf(name, sizeof name, "m%d", i * 37 % 100);
        assert_string_equal(hfpayload_member_name(m, &length), name);
        assert_int_equal(length, strlen(name));
        assert_int_equal(hfpayload_value_integer(hfpayload_member_value(m)), i);
    }
    assert_int_equal(i, 100);
    hfpayload_tree_free(tree);
}

static void a_question_to_the_wrong_type_is_answered_with_nothing(void **state) {
    (void)state;
    hfpayload_tree *tree = parsed((text)TEXT("true"));
    const hfpayload_value *value = hfpayload_tree_root(tree);
    size_t length = 7;
    assert_int_equal(hfpayload_value_integer(value), 0);
    assert_true(hfpayload_value_real(value) == 0.0);
    assert_null(hfpayload_value_string(value, &length));
    assert_int_equal(length, 0);
    assert_int_equal(hfpayload_value_count(value), 0);
    assert_null(hfpayload_value_element(value, 0));
    assert_null(hfpayload_object_first(value));
    hfpayload_tree_free(tree);
}

static void no_tree_is_freed_without_harm(void **state) {
    (void)state;
    hfpayload_tree_free(NULL);
}

static void malformed_text_is_refused_with_position_and_reason(void **state) {
    (void)state;
    static const refusal cases[] = {
        {TEXT(""), 0, "empty"},
        {TEXT(" \n\t\r "), 5, "white space"},
        {TEXT("\xEF\xBB\xBF{}"), 0, "byte-order mark"},
        {TEXT("{\"a\":1,}"), 8, "member name in double quotes"},
        {TEXT("{a:1}"), 2, "member name in double quotes"},
        {TEXT("{'a':1}"), 2, "member name in double quotes"},
        {TEXT("{\"a\" 1}"), 6, "colon"},
        {TEXT("{\"a\":}"), 6, "a value is expected"},
        {TEXT("{\"a\":1 \"b\":2}"), 10, "comma or a closing brace"},
        {TEXT("{\"a\":1]"), 7, "comma or a closing brace"},
        {TEXT("[1 2]"), 4, "comma or a closing bracket"},
        {TEXT("[1,]"), 4, "a value is expected"},
        {TEXT("[1}"), 3, "comma or a closing bracket"},
        {TEXT("]"), 1, "a value is expected"},
        {TEXT("[1"), 2, "ends before"},
        {TEXT("{"), 1, "ends before"},
        {TEXT("{\"a"), 3, "ends before"},
        {TEXT("{\"a\":"), 5, "ends before"},
        {TEXT("\"a\\"), 3, "escape"},
        {TEXT("tru"), 3, "no JSON"},
        {TEXT("True"), 4, "no JSON"},
        {TEXT("NaN"), 3, "no JSON"},
        {TEXT("-Infinity"), 1, "no JSON"},
        {TEXT("+1"), 1, "no JSON"},
        {TEXT("01"), 1, "no JSON"},
        {TEXT("1."), 2, "no JSON"},
        {TEXT(".5"), 1, "no JSON"},
        {TEXT("1e"), 2, "no JSON"},
        {TEXT("/* 1 */ 1"), 1, "no JSON"},
        {TEXT("1 2"), 2, "follows the end"},
        {TEXT("{} \n x"), 5, "follows the end"},
        {TEXT("{}}"), 2, "follows the end"},
        {TEXT("{}\xFF"), 2, "follows the end"},
        {TEXT("{\"a\":1,\"a\":2}"), 10, "appears twice"},
        {TEXT("{\"a\":1,\"\\u0061\":2}"), 15, "appears twice"},
        {TEXT("{\"b\":{\"a\":1,\"a\":2}}"), 15, "appears twice"},
        {TEXT("{\"a\\u0000\":1}"), 10, "\\u0000"},
        {TEXT("\"\xFF\""), 1, "UTF-8"},
        {TEXT("\"\xC0\x80\""), 1, "UTF-8"},
        {TEXT("\"a\xED\xA0\x80\""), 2, "UTF-8"},
        {TEXT("\"\xF4\x90\x80\x80\""), 1, "UTF-8"},
        {TEXT("\"\xE2\x82"), 1, "UTF-8"},
        {TEXT("\"\\ud83d\""), 8, "surrogate"},
        {TEXT("\"\\ude00\""), 8, "surrogate"},
        {TEXT("\"\\ud83d\\u0041\""), 14, "surrogate"},
        {TEXT("\"\\x41\""), 3, "escape"},
        {TEXT("\"\\u00g1\""), 6, "escape"},
        {TEXT("\"a\nb\""), 2, "line break"},
        {TEXT("\"a\tb\""), 2, "control character"},
        {TEXT("9223372036854775808"), 19, "out of range"},
        {TEXT("-9223372036854775809"), 20, "out of range"},
        {TEXT("1e400"), 5, "out of range"},
        {TEXT("[-1e400]"), 7, "out of range"},
        {TEXT("\"a\0b\""), 2, "NUL"},
        {TEXT("12\0"), 2, "NUL"},
        {TEXT("[1\0]"), 2, "NUL"},
        {TEXT("[true\0]"), 5, "NUL"},
        {TEXT("\0"), 0, "NUL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hfpayload_error error;
        hfpayload_tree *tree = parse(cases[i].payload, roomy, &error);
        if (tree != NULL) {
            fail_msg("accepted: %s", cases[i].payload.bytes);
        }
        assert_refused(&error, HFPAYLOAD_INVALID_JSON, cases[i].position, cases[i].words);
    }
}

static void a_nul_byte_is_refused_wherever_it_stands(void **state) {
    (void)state;
    enum { LONGEST = 1 << 17 };
    char *payload = malloc(LONGEST);
    for (size_t at = 2; at < LONGEST; at *= 2) {
        /* Behind a number, where jansson does not see it. */
        memset(payload, ' ', LONGEST);
        payload[0] = '[';
        payload[at - 1] = '1';
        payload[at] = '\0';
        payload[LONGEST - 1] = ']';
        hfpayload_error error;
        assert_null(hfpayload_tree_parse(payload, LONGEST, roomy, &error));
        assert_refused(&error, HFPAYLOAD_INVALID_JSON, at, "NUL");
    }
    free(payload);
}

static void nothing_at_all_is_refused_as_empty(void **state) {
    (void)state;
    hfpayload_error error;
    assert_null(hfpayload_tree_parse(NULL, 0, roomy, &error));
    assert_refused(&error, HFPAYLOAD_INVALID_JSON, 0, "empty");
}

static void a_payload_of_exactly_max_bytes_is_accepted_and_one_byte_more_is_not(void **state) {
    (void)state;
    hfpayload_error error;
    hfpayload_tree *tree = parse((text)TEXT("[12345]"), (hfpayload_limits){7, 9}, &error);
    assert_non_null(tree);
    hfpayload_tree_free(tree);
    assert_null(parse((text)TEXT("[12345] "), (hfpayload_limits){7, 9}, &error));
    assert_refused(&error, HFPAYLOAD_TOO_LARGE, 7, "limit of 7 bytes");
}

static void depth_counts_arrays_and_objects_and_is_limited(void **state) {
    (void)state;
    static const struct {
        text payload;
        size_t depth;
        size_t bracket; /* the first one too deep for depth - 1 */
    } cases[] = {
        {TEXT("[]"), 1, 0},
        {TEXT(" {\"a\":1}"), 1, 1},
        {TEXT("[1,[2],[3,{}]]"), 3, 10},
        {TEXT("{\"a\":[{\"[[[\\\"{{{\":\"]]]\"}]}"), 3, 6},
        {TEXT("[[],[],[],[],[],[]]"), 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hfpayload_error error;
        hfpayload_tree *tree = parse(cases[i].payload, (hfpayload_limits){100, cases[i].depth}, &error);
        assert_non_null(tree);
        hfpayload_tree_free(tree);
        assert_null(parse(cases[i].payload, (hfpayload_limits){100, cases[i].depth - 1}, &error));
        assert_refused(&error, HFPAYLOAD_TOO_DEEP, cases[i].bracket, "nested deeper");
    }
}

static void a_scalar_has_depth_zero(void **state) {
    (void)state;
    hfpayload_error error;
    hfpayload_tree *tree = parse((text)TEXT("\"[[[[\""), (hfpayload_limits){100, 0}, &error);
    assert_non_null(tree);
    hfpayload_tree_free(tree);
}

static void the_deepest_limit_is_2047_whatever_is_asked_for(void **state) {
    (void)state;
    hfpayload_limits limits = {SIZE_MAX, SIZE_MAX};
    for (size_t depth = 2047; depth <= 1000000; depth += 997953) {
        char *payload = malloc(2 * depth + 1);
        memset(payload, '[', depth);
        payload[depth] = '1';
        memset(payload + depth + 1, ']', depth);
        hfpayload_error error;
        hfpayload_tree *tree = hfpayload_tree_parse(payload, 2 * depth + 1, limits, &error);
        if (depth == 2047) {
            assert_non_null(tree);
            hfpayload_tree_free(tree);
            payload[depth] = '['; /* one deeper, and never closed */
            assert_null(hfpayload_tree_parse(payload, 2 * depth + 1, limits, &error));
        }
        assert_refused(&error, HFPAYLOAD_TOO_DEEP, 2047, "limit of 2047");
        free(payload);
    }
}

int run_tree_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_of_any_type_is_parsed),
        cmocka_unit_test(integers_keep_all_64_bits),
        cmocka_unit_test(reals_are_read_and_one_too_small_is_zero),
        cmocka_unit_test(strings_are_decoded_and_may_hold_nul_bytes),
        cmocka_unit_test(members_come_in_the_order_of_the_text),
        cmocka_unit_test(a_question_to_the_wrong_type_is_answered_with_nothing),
        cmocka_unit_test(no_tree_is_freed_without_harm),
        cmocka_unit_test(malformed_text_is_refused_with_position_and_reason),
        cmocka_unit_test(a_nul_byte_is_refused_wherever_it_stands),
        cmocka_unit_test(nothing_at_all_is_refused_as_empty),
        cmocka_unit_test(a_payload_of_exactly_max_bytes_is_accepted_and_one_byte_more_is_not),
        cmocka_unit_test(depth_counts_arrays_and_objects_and_is_limited),
        cmocka_unit_test(a_scalar_has_depth_zero),
        cmocka_unit_test(the_deepest_limit_is_2047_whatever_is_asked_for),
    };
    return cmocka_run_group_tests_name("trees", tests, NULL, NULL);
}
