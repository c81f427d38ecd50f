/* Text as JSON strings, held against jansson. */
#include "support.h"

#include <stdlib.h>

/* What jansson reads back is the text. */
static void expect_text_back(const char *text, size_t length, hf_buffer *quoted) {
    expect_ok(hf_json_quote, text, length, quoted);
    json_t *value = json_loadb(quoted->data, quoted->length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_true(json_is_string(value));
    assert_int_equal(json_string_length(value), length == HF_NTS ? strlen(text) : length);
    assert_memory_equal(json_string_value(value), text, json_string_length(value));
    assert_int_equal(strlen(quoted->data), quoted->length);
    json_decref(value);
}

static void any_text_comes_back_as_it_was(fixture *f) {
    (void)f;
    hf_buffer quoted = HF_BUFFER_INIT;
    expect_text_back("", HF_NTS, &quoted);
    assert_string_equal(quoted.data, "\"\"");
    expect_text_back("O'Hara \"the\\ first\"\n\t/", HF_NTS, &quoted);
    expect_text_back("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", HF_NTS, &quoted);
    expect_text_back("a\0b", 3, &quoted);
    for (int byte = 0; byte < 128; byte++) {
        char text[] = {'x', (char)byte, 'y'};
        expect_text_back(text, sizeof text, &quoted);
    }
    hf_buffer_free(&quoted);
}

static void what_is_no_text_is_refused_and_the_buffer_keeps_what_it_held(fixture *f) {
    (void)f;
    hf_buffer quoted = HF_BUFFER_INIT;
    expect_ok(hf_json_quote, "held", HF_NTS, &quoted);
    expect(HF_INVALID_ARGUMENT, hf_json_quote, "\xff", HF_NTS, &quoted);
    expect(HF_INVALID_ARGUMENT, hf_json_quote, "\xed\xa0\x80", HF_NTS, &quoted);
    expect(HF_INVALID_ARGUMENT, hf_json_quote, "\xc3\xa4", 1, &quoted);
    expect(HF_INVALID_ARGUMENT, hf_json_quote, NULL, HF_NTS, &quoted);
    expect(HF_INVALID_ARGUMENT, hf_json_quote, "text", HF_NTS, NULL);
    expect(HF_INVALID_ARGUMENT, hf_json_quote, "text", SIZE_MAX / 2 + 1, &quoted);
    expect(HF_NO_MEMORY, hf_json_quote, "text", (size_t)1 << 40, &quoted);
    assert_string_equal(quoted.data, "\"held\"");
    hf_buffer_free(&quoted);
}

static void a_filter_with_quoted_text_finds_it_whatever_it_is(room r) {
    const char *name = "\"}, {\"$ne\": \"";
    hf_buffer quoted = HF_BUFFER_INIT;
    expect_ok(hf_json_quote, name, HF_NTS, &quoted);
    char text[256];
    snprintf(text, sizeof text, "{\"id\": \"a\", \"name\": %s}", quoted.data);
    save(r.things, NULL, text);
    save(r.things, NULL, "{\"id\": \"b\", \"name\": \"c\"}");
    snprintf(text, sizeof text, "{\"name\": %s}", quoted.data);
    uint64_t count = 0;
    expect_ok(hf_repository_count, r.things, NULL, text, HF_NTS, NULL, &count);
    assert_int_equal(count, 1);
    hf_buffer_free(&quoted);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(any_text_comes_back_as_it_was),
        ONCE(what_is_no_text_is_refused_and_the_buffer_keeps_what_it_held),
        EACH_ENGINE(a_filter_with_quoted_text_finds_it_whatever_it_is),
    };
    return run_scenarios("quoting", scenarios, COUNT_OF(scenarios));
}
