/*
 * Plain entities are those that jansson accepts, too: the two ways to check an entity against each other.
 */
#include "payload_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../Sources/CHoldfastPayload/parse.h"

/* Whether the text is a plain entity from its beginning to its end. Then jansson must accept it, with the
 * same span and the same id; where a plain entity is but the beginning, that by itself. */
static bool is_plain(const char *bytes, size_t length, hfpayload_limits limits) {
    char *copy = exact_copy(bytes, length);
    hfpayload_entity plain, parsed;
    hfpayload_error error;
    bool is_whole = false;
    if (hfpayload_plain_entity(copy, length, "id", limits.max_depth, &plain)) {
        size_t end = plain.start + plain.length;
        is_whole = end == length;
        if (!hfpayload_parsed_entity(copy, end, "id", limits, &parsed, &error)) {
            fail_msg("plain, but %s: %.*s", error.message, (int)length, bytes);
        }
        if (plain.start != parsed.start || plain.length != parsed.length || plain.id_type != parsed.id_type ||
            plain.id_length != parsed.id_length || memcmp(plain.id, parsed.id, plain.id_length) != 0) {
            fail_msg("another span or id: %.*s", (int)length, bytes);
        }
    }
    free(copy);
    return is_whole;
}

static void what_programs_write_is_plain(void **state) {
    (void)state;
    static const text cases[] = {
        TEXT("{}"),
        TEXT(" \r\n\t{ }"),
        TEXT("{\"id\":\"s1\",\"title\":\"A song\",\"plays\":12,\"tags\":[\"a\",\"b\"],\"on\":true}"),
        TEXT("{ \"id\" : 42 ,\n \"none\" : null, \"off\" : false, \"list\" : [ ], \"object\" : { } }"),
        TEXT("{\"id\":-7,\"numbers\":[0,-0,1.5,-0.25,1e9,1E+99,2.5e-10,999999999999999999]}"),
        TEXT("{\"text\":\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9\\u0000\\uD83D\\uDE00 Caf\xC3\xA9 "
             "\xE6\x97\xA5\xF0\x9F\x98\x80 \x7F\"}"),
        TEXT("{\"Caf\xC3\xA9\":1,\"a\":{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]}},\"\":2}"),
        TEXT("{\"id\":\"Caf\xC3\xA9 \xC2\x80\"}"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!is_plain(cases[i].bytes, cases[i].length, roomy)) {
            fail_msg("doubtful: %s", cases[i].bytes);
        }
    }
}

/* Texts of values, each told to be plain or not where it stands as a member's and as an element's value.
 * What is not plain is wrong or unusual. */
static const struct {
    text value;
    bool is_plain;
} values[] = {
    /* numbers */
    {TEXT("0"), true},
    {TEXT("-0"), true},
    {TEXT("999999999999999999"), true},
    {TEXT("-999999999999999999"), true},
    {TEXT("999999999999999999.9e99"), true},
    {TEXT("0.00000000000000000000000000000000000000000000000000000000000000000001e-99"), true},
    {TEXT("9223372036854775807"), false},
    {TEXT("9223372036854775808"), false},
    {TEXT("-9223372036854775809"), false},
    {TEXT("1e308"), false},
    {TEXT("1e309"), false},
    {TEXT("-1e999"), false},
    {TEXT("1e0000001"), false},
    {TEXT("00"), false},
    {TEXT("01"), false},
    {TEXT("-01"), false},
    {TEXT("-"), false},
    {TEXT("--1"), false},
    {TEXT("+1"), false},
    {TEXT(".5"), false},
    {TEXT("1."), false},
    {TEXT("1.e1"), false},
    {TEXT("1.5.5"), false},
    {TEXT("1e"), false},
    {TEXT("1e+"), false},
    {TEXT("1e+-1"), false},
    {TEXT("1e1.5"), false},
    {TEXT("1 2"), false},
    {TEXT("1a"), false},
    {TEXT("0x10"), false},
    {TEXT("Infinity"), false},
    {TEXT("NaN"), false},
    {TEXT("1\0"), false},
    /* words */
    {TEXT("true"), true},
    {TEXT("false"), true},
    {TEXT("null"), true},
    {TEXT("tru"), false},
    {TEXT("truex"), false},
    {TEXT("True"), false},
    {TEXT("nul"), false},
    {TEXT("true1"), false},
    {TEXT("nullnull"), false},
    {TEXT("'a'"), false},
    {TEXT("/**/1"), false},
    {TEXT(""), false},
    /* strings */
    {TEXT("\"\""), true},
    {TEXT("\"\\u0000\""), true},
    {TEXT("\"\\uFFFF\\uABCD\\uabcd\""), true},
    {TEXT("\"\\ud800\\udc00\\uDBFF\\uDFFF\""), true},
    {TEXT("\"\\ud800\""), false},
    {TEXT("\"\\ud800\\ud800\""), false},
    {TEXT("\"\\ud800\\u0041\""), false},
    {TEXT("\"\\ud800x\""), false},
    {TEXT("\"\\udc00\""), false},
    {TEXT("\"\\udfff\\udc00\""), false},
    {TEXT("\"\\u12\""), false},
    {TEXT("\"\\u123g\""), false},
    {TEXT("\"\\u12`4\""), false},
    {TEXT("\"\\u1@34\""), false},
    {TEXT("\"\\U0041\""), false},
    {TEXT("\"\\a\""), false},
    {TEXT("\"\\'\""), false},
    {TEXT("\"\\\0\""), false},
    {TEXT("\"\\"), false},
    {TEXT("\"\\\""), false},
    {TEXT("\"a"), false},
    {TEXT("\"12345678"), false},
    {TEXT("\"a\"b\""), false},
    {TEXT("\"\0\""), false},
    {TEXT("\"1234567\0\""), false},
    {TEXT("\"\n\""), false},
    {TEXT("\"\x1F\""), false},
    {TEXT("\"12345678\x1F\""), false},
    {TEXT("\"\x7F\""), true},
    {TEXT("\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\""), true},
    {TEXT("\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""), true},
    {TEXT("\"\x80\""), false},
    {TEXT("\"\xC0\x80\""), false},
    {TEXT("\"\xC1\xBF\""), false},
    {TEXT("\"\xE0\x9F\xBF\""), false},
    {TEXT("\"\xED\xA0\x80\""), false},
    {TEXT("\"\xF0\x8F\xBF\xBF\""), false},
    {TEXT("\"\xF4\x90\x80\x80\""), false},
    {TEXT("\"\xF5\x80\x80\x80\""), false},
    {TEXT("\"\xFF\""), false},
    {TEXT("\"\xE2\x82\""), false},
    {TEXT("\"\xC3\""), false},
    /* arrays and objects */
    {TEXT("[]"), true},
    {TEXT("[[],[[]]]"), true},
    {TEXT("[1 , \"a\",\ttrue ]"), true},
    {TEXT("[1,]"), false},
    {TEXT("[,1]"), false},
    {TEXT("[1,,2]"), false},
    {TEXT("[1"), false},
    {TEXT("[1}"), false},
    {TEXT("]"), false},
    {TEXT("{\"b\":{\"b\":1},\"c\":{\"b\":2}}"), true},
    {TEXT("{\"long member name 1\":1,\"long member name 2\":1,\"wrong member name 1\":1}"), true},
    {TEXT("{\"b\":1,\"c\":2,\"b\":3}"), false},
    {TEXT("{\"12345678\":1,\"12345678\":2}"), false},
    {TEXT("{\"a long member name\":1,\"a long member name\":2}"), false},
    {TEXT("{\"b\":1,\"\\u0062\":2}"), false},
    {TEXT("{\"\\u0000\":1}"), false},
    {TEXT("{\"\\n\":1}"), false},
    {TEXT("{\"\":1,\"\":2}"), false},
    {TEXT("{\"b\"}"), false},
    {TEXT("{\"b\":}"), false},
    {TEXT("{\"b\" 1}"), false},
    {TEXT("{\"b\":1,}"), false},
    {TEXT("{,\"b\":1}"), false},
    {TEXT("{\"b\":1 \"c\":2}"), false},
    {TEXT("{\"b\"::1}"), false},
    {TEXT("{b:1}"), false},
    {TEXT("{1:1}"), false},
    {TEXT("{\"b\":1]"), false},
    {TEXT("{\"b\":1"), false},
    {TEXT("{"), false},
    {TEXT("\v1"), false},
    {TEXT("\xC2\xA0 1"), false},
    {TEXT("\xEF\xBB\xBF 1"), false},
};

static void a_value_is_plain_only_where_it_is_certainly_valid(void **state) {
    (void)state;
    static const char *const around[][2] = {
        {"{\"a\":", "}"}, {"{\"a\":[1,", "]}"}, {"{\"a\":{\"d\":", " }}"}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        for (size_t a = 0; a < sizeof around / sizeof around[0]; a++) {
            char entity[256];
            size_t before = strlen(around[a][0]), after = strlen(around[a][1]),
                   length = values[i].value.length;
            memcpy(entity, around[a][0], before);
            memcpy(entity + before, values[i].value.bytes, length);
            memcpy(entity + before + length, around[a][1], after);
            if (is_plain(entity, before + length + after, roomy) != values[i].is_plain) {
                fail_msg("%s: %s", values[i].is_plain ? "doubtful" : "plain", values[i].value.bytes);
            }
        }
    }
}

static void no_byte_is_plain_where_jansson_refuses_it(void **state) {
    (void)state;
    static const char *const around[][2] = {
        {"{\"a\":\"", "\"}"},
        {"{\"a\":\"\\", "\"}"},
        {"{\"a\":\"\\u00e", "\"}"},
        {"{\"a\":1", "}"},
        {"{\"a\":\"eight or more", "1234567\"}"},
        {"{", "\"a\":1}"},
        {"{\"", "\":1}"},
    };
    size_t plain = 0;
    for (size_t a = 0; a < sizeof around / sizeof around[0]; a++) {
        for (int byte = 0; byte <= 255; byte++) {
            char entity[64];
            int length = sprintf(entity, "%s%c%s", around[a][0], byte, around[a][1]);
            plain += is_plain(entity, (size_t)length, roomy);
        }
    }
    /* Three times 94 characters in strings, 8 escapes, 22 digits of base 16 and 10 of base 10, and four times
     * as many kinds of white space as there are places for it. */
    assert_int_equal(plain, 3 * 94 + 8 + 22 + 10 + 2 * 4);
}

static void an_id_is_taken_only_where_it_needs_no_decoding(void **state) {
    (void)state;
    static const struct {
        text entity;
        bool is_plain;
    } cases[] = {
        {TEXT("{\"a\":{\"id\":true},\"ID\":null}"), true},
        {TEXT("{\"id\":0}"), true},
        {TEXT("{\"id\":-999999999999999999}"), true},
        {TEXT("{\"id\":-0}"), false},
        {TEXT("{\"id\":1.0}"), false},
        {TEXT("{\"id\":1e3}"), false},
        {TEXT("{\"id\":null}"), false},
        {TEXT("{\"id\":true}"), false},
        {TEXT("{\"id\":[1]}"), false},
        {TEXT("{\"id\":{}}"), false},
        {TEXT("{\"id\":\"\"}"), false},
        {TEXT("{\"id\":\"\x7F\"}"), false},
        {TEXT("{\"id\":\"a\\u0062\"}"), false},
        {TEXT("{\"i\\u0064\":1}"), false},
        {TEXT("{\"id\":1,\"id\":1}"), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (is_plain(cases[i].entity.bytes, cases[i].entity.length, roomy) != cases[i].is_plain) {
            fail_msg("%s: %s", cases[i].is_plain ? "doubtful" : "plain", cases[i].entity.bytes);
        }
    }
    for (size_t length = 512; length <= 513; length++) {
        char entity[600];
        int written = snprintf(entity, sizeof entity, "{\"id\":\"%0*d\"}", (int)length, 1);
        assert_int_equal(is_plain(entity, (size_t)written, roomy), length == 512);
    }
}

static void deep_and_large_entities_are_left_to_jansson(void **state) {
    (void)state;
    char entity[4096];
    for (size_t depth = 1; depth <= 40; depth++) {
        size_t length = (size_t)sprintf(entity, "{\"a\":");
        memset(entity + length, '[', depth - 1);
        memset(entity + length + depth - 1, ']', depth - 1);
        length += 2 * (depth - 1);
        length += (size_t)sprintf(entity + length, "%s}", depth == 1 ? "1" : "");
        assert_int_equal(is_plain(entity, length, (hfpayload_limits){1 << 20, 64}), depth <= 32);
        assert_int_equal(is_plain(entity, length, (hfpayload_limits){1 << 20, 8}), depth <= 8);
    }
    for (size_t names = 1; names <= 100; names++) {
        size_t length = (size_t)sprintf(entity, "{\"a\":[{\"b\":1},{\"b\":1}]");
        for (size_t i = 1; i < names; i++) {
            length += (size_t)sprintf(entity + length, ",\"member %zu\":%zu", i, i);
        }
        length += (size_t)sprintf(entity + length, "}");
        assert_int_equal(is_plain(entity, length, roomy), names <= 64);
    }
    hfpayload_entity none;
    assert_false(hfpayload_plain_entity("{}", 2, "id", 0, &none));
    assert_false(hfpayload_plain_entity(NULL, 0, "id", 64, &none));
}

static void fewer_are_plain_where_tests_say_so_and_never_more(void **state) {
    (void)state;
    static const char entity[] = "{\"a\":{\"b\":[1]},\"c\":{\"d\":1}}", flat[] = "{\"id\":1}";
    static const struct {
        size_t depth, names;
        bool is_plain;
    } cases[] = {{3, 2, false}, {2, 3, false}, {3, 3, true}, {1, 1, false}, {SIZE_MAX, SIZE_MAX, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hfpayload_limit_plain(cases[i].depth, cases[i].names);
        assert_int_equal(is_plain(entity, sizeof entity - 1, roomy), cases[i].is_plain);
        assert_true(is_plain(flat, sizeof flat - 1, roomy));
    }
    deep_and_large_entities_are_left_to_jansson(NULL);
}

static void a_name_that_comes_twice_is_not_plain_however_many_stand_between(void **state) {
    (void)state;
    for (size_t between = 0; between <= 63; between++) {
        char entity[2048];
        size_t length = (size_t)sprintf(entity, "{\"a\":{\"twice\":0");
        for (size_t i = 0; i < between; i++) {
            length += (size_t)sprintf(entity + length, ",\"member %zu\":%zu", i, i);
        }
        length += (size_t)sprintf(entity + length, ",\"twice\":1}}");
        assert_false(is_plain(entity, length, roomy));
    }
}

static void no_mutation_is_plain_that_jansson_refuses(void **state) {
    (void)state;
    static const text seeds[] = {
        TEXT("{\"id\":\"s1\",\"title\":\"Caf\xC3\xA9 \\u00e9\\ud83d\\ude00\",\"plays\":-12,\"r\":1.5e-3}"),
        TEXT(" {\"a\":[1,[true,false,null],{\"id\":2}],\"id\":123456789012345678,\"b\":{}} "),
        TEXT("{\"id\":\"abc\",\"ac\":{\"ab\":1,\"ba\":{\"a\":{\"n\":[[[[]]]]}}},\"ab\":[\"\\\"\\\\\"]}"),
        TEXT("{\"\xE6\x97\xA5\":\"\xF0\x9F\x98\x80\xED\x9F\xBF\xE0\xA0\x80\",\"i\":\"\x7F\",\"id\":-10}"),
        TEXT("{\"n\":[0,-0,10,0.0,1E+9,12e-10,999999999999999999],\"m\":\"a text of some length\\n\"}"),
    };
    random_seed(3);
    size_t plain = 0;
    for (size_t round = 0; round < 500000; round++) {
        text seed = seeds[round % (sizeof seeds / sizeof seeds[0])];
        char buffer[128];
        memcpy(buffer, seed.bytes, seed.length);
        plain += is_plain(buffer, mutate(buffer, seed.length), (hfpayload_limits){1 << 20, 6});
    }
    assert_in_range(plain, 25000, 475000); /* both were met */
}

/* Sequences of what JSON is made of, most of them senseless. */
static void no_sequence_of_tokens_is_plain_that_jansson_refuses(void **state) {
    (void)state;
    static const char *const tokens[] = {
        "{",        "}",
        "[",        "]",
        ",",        ",",
        ":",        ":",
        " ",        "\"a\"",
        "\"b\"",    "\"id\"",
        "1",        "-1",
        "0.5",      "1e5",
        "true",     "null",
        "\"",       "\\",
        "\\u00",    "{\"a\":",
        "{\"id\":", "\"a\":1",
        "\"b\":[]", "\"id\":\"c\"",
    };
    random_seed(4);
    size_t plain = 0;
    for (size_t round = 0; round < 500000; round++) {
        char buffer[256] = "{";
        size_t length = 1;
        for (size_t count = random_below(12); count > 0; count--) {
            const char *token = tokens[random_below(sizeof tokens / sizeof tokens[0])];
            memcpy(buffer + length, token, strlen(token));
            length += strlen(token);
        }
        buffer[length++] = '}';
        plain += is_plain(buffer, length, (hfpayload_limits){1 << 20, 6});
    }
    assert_in_range(plain, 1000, 250000);
}

int run_plain_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_programs_write_is_plain),
        cmocka_unit_test(a_value_is_plain_only_where_it_is_certainly_valid),
        cmocka_unit_test(no_byte_is_plain_where_jansson_refuses_it),
        cmocka_unit_test(an_id_is_taken_only_where_it_needs_no_decoding),
        cmocka_unit_test(deep_and_large_entities_are_left_to_jansson),
        cmocka_unit_test(fewer_are_plain_where_tests_say_so_and_never_more),
        cmocka_unit_test(a_name_that_comes_twice_is_not_plain_however_many_stand_between),
        cmocka_unit_test(no_mutation_is_plain_that_jansson_refuses),
        cmocka_unit_test(no_sequence_of_tokens_is_plain_that_jansson_refuses),
    };
    return cmocka_run_group_tests_name("plain entities", tests, NULL, NULL);
}
