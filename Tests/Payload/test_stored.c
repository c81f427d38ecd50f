/*
 * What was an entity when it was stored, and what is none any more.
 */
#include "payload_tests.h"

#include <stdlib.h>
#include <string.h>

static bool is_sound(const char *bytes, size_t length) {
    char *copy = exact_copy(bytes, length);
    bool is_sound = hfpayload_stored_is_sound(copy, length);
    free(copy);
    return is_sound;
}

static const text sound[] = {
    TEXT("{}"),
    TEXT("{ }"),
    TEXT("{\"id\":\"s1\",\"title\":\"A song\",\"plays\":12,\"tags\":[\"a\",\"b\"],\"on\":true}"),
    TEXT("{ \"id\" : 42 ,\n \"none\" : null, \"off\" : false, \"list\" : [ ], \"object\" : { } }"),
    TEXT("{\"id\":-7,\"numbers\":[0,-0,1.5,-0.25,1e9,1E+99,2.5e-10,9223372036854775807]}"),
    TEXT("{\"text\":\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9\\u0000\\uD83D\\uDE00 Caf\xC3\xA9 "
         "\xE6\x97\xA5\xF0\x9F\x98\x80 \x7F\"}"),
    TEXT("{\"Caf\xC3\xA9\":1,\"a\":{\"a\":{\"a\":[{\"a\":1},[[],[{}]],{\"a\":2}]}},\"\":2}"),
};

static const text damaged[] = {
    TEXT(""),
    TEXT("{"),
    TEXT("}"),
    TEXT("[]"),
    TEXT("null"),
    TEXT(" {}"),
    TEXT("{} "),
    TEXT("{}}"),
    TEXT("{]"),
    TEXT("{\"a\":[}"),
    TEXT("{\"a\":[1}]"),
    TEXT("{\"a\"}"),
    TEXT("{\"a\":}"),
    TEXT("{\"a\" 1}"),
    TEXT("{\"a\":1,}"),
    TEXT("{,\"a\":1}"),
    TEXT("{\"a\":1 \"b\":2}"),
    TEXT("{a:1}"),
    TEXT("{\"a\":[1,]}"),
    TEXT("{\"a\":[,1]}"),
    TEXT("{\"a\":tru}"),
    TEXT("{\"a\":nul"),
    TEXT("{\"a\":truer}"),
    TEXT("{\"a\":01}"),
    TEXT("{\"a\":-}"),
    TEXT("{\"a\":1.}"),
    TEXT("{\"a\":.5}"),
    TEXT("{\"a\":1e}"),
    TEXT("{\"a\":1.2.3}"),
    TEXT("{\"a\":\"\n\"}"),
    TEXT("{\"a\":\"\0\"}"),
    TEXT("{\"a\":\"\\x\"}"),
    TEXT("{\"a\":\"\\u12G4\"}"),
    TEXT("{\"a\":\"\\uD83D\"}"),
    TEXT("{\"a\":\"\\uDE00\"}"),
    TEXT("{\"a\":\"\\uD83D\\u0041\"}"),
    TEXT("{\"a\":\"\\"),
    TEXT("{\"a\":\"\xC3\"}"),
    TEXT("{\"a\":\"\xFF\"}"),
    TEXT("{\"a\":\"abcdefgh\0ijklmnop\"}"),
    TEXT("{\"id\":\"s1\",\"title\":\"Glo"),
};

static void what_was_accepted_is_sound_and_what_cannot_have_been_is_not(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        if (!is_sound(sound[i].bytes, sound[i].length)) {
            fail_msg("not sound: %s", sound[i].bytes);
        }
        /* Cut short it is none, wherever. */
        for (size_t length = 0; length < sound[i].length; length++) {
            assert_false(is_sound(sound[i].bytes, length));
        }
    }
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        if (is_sound(damaged[i].bytes, damaged[i].length)) {
            fail_msg("sound: %s", damaged[i].bytes);
        }
    }
}

static void depth_is_borne_as_far_as_entities_may_have_it(void **state) {
    (void)state;
    enum { DEEPEST = HFPAYLOAD_WIDEST_DEPTH };
    size_t length = 5 + 2 * (DEEPEST - 1) + 1;
    char *deep = malloc(length + 2);
    memcpy(deep, "{\"a\":", 5);
    memset(deep + 5, '[', DEEPEST - 1);
    memset(deep + 5 + DEEPEST - 1, ']', DEEPEST - 1);
    deep[length - 1] = '}';
    hfpayload_limits limits = {1 << 20, DEEPEST};
    hfpayload_entity entity;
    hfpayload_error error;
    assert_true(hfpayload_entity_check(deep, length, "id", limits, &entity, &error));
    assert_true(is_sound(deep, length));
    free(deep);
    /* One more than any store takes, and what no reader walks. */
    char *deepest = malloc(length + 3);
    memcpy(deepest, "{\"a\":", 5);
    memset(deepest + 5, '[', DEEPEST);
    memset(deepest + 5 + DEEPEST, ']', DEEPEST);
    deepest[length + 1] = '}';
    assert_false(is_sound(deepest, length + 2));
    free(deepest);
    char *deeper = malloc(1 << 20);
    memset(deeper, '[', 1 << 20);
    memcpy(deeper, "{\"a\":", 5);
    assert_false(is_sound(deeper, 1 << 20));
    free(deeper);
}

/* What it is told for is that names are kept apart, and numbers within their range, where text comes in. */
static bool is_allowed_once_stored(const hfpayload_error *error) {
    static const char *reasons[] = {"twice",  "duplicate", "too big", "64 bits",
                                    "double", "\\u0000",   "NUL",     "id"};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (strstr(error->message, reasons[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void random_damage_is_judged_as_what_comes_in_is(void **state) {
    (void)state;
    random_seed(16);
    size_t accepted = 0, refused = 0;
    for (int round = 0; round < 300000; round++) {
        const text *original = &sound[2 + random_below(sizeof sound / sizeof sound[0] - 2)];
        char bytes[256];
        memcpy(bytes, original->bytes, original->length);
        size_t length = mutate(bytes, original->length);
        hfpayload_entity entity;
        hfpayload_error error;
        if (hfpayload_entity_check(bytes, length, "id", roomy, &entity, &error)) {
            accepted++;
            if (!is_sound(bytes + entity.start, entity.length)) {
                fail_msg("accepted, but not sound: %.*s", (int)length, bytes);
            }
        } else if (is_sound(bytes, length) && !is_allowed_once_stored(&error)) {
            fail_msg("sound, but %s: %.*s", error.message, (int)length, bytes);
        } else {
            refused++;
        }
    }
    assert_true(accepted > 1000 && refused > 1000);
}

int run_stored_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_accepted_is_sound_and_what_cannot_have_been_is_not),
        cmocka_unit_test(depth_is_borne_as_far_as_entities_may_have_it),
        cmocka_unit_test(random_damage_is_judged_as_what_comes_in_is),
    };
    return cmocka_run_group_tests_name("stored", tests, NULL, NULL);
}
