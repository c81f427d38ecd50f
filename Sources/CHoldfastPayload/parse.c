#include "parse.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* jansson descends 2,048 values deep, a scalar in the innermost array included, and counts bytes in an int.
 */
#define JANSSON_MAX_DEPTH ((size_t)2047)
#define JANSSON_MAX_BYTES ((size_t)INT_MAX)

/* The end of the text is checked here and not by jansson, which would answer with the end of the
 * surplus token instead of its beginning. */
enum { FLAGS = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK };

/* Otherwise the first object would do it, while other threads wait, as would those of a child that was forked
 * in that moment, for ever. */
__attribute__((constructor)) static void seed_hashes(void) { json_object_seed(0); }

/* --- Refusals --- */

bool hfpayload_refuse(hfpayload_error *error, hfpayload_failure failure, size_t position, const char *format,
                      ...) {
    va_list arguments;
    error->failure = failure;
    error->position = position;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return false;
}

bool hfpayload_refuse_blank(const char *bytes, size_t length, hfpayload_error *error) {
    if (length == 0) {
        hfpayload_refuse(error, HFPAYLOAD_INVALID_JSON, 0, "the payload is empty: a JSON value is expected");
    } else if (hfpayload_skip_white_space(bytes, length, 0) == length) {
        hfpayload_refuse(error, HFPAYLOAD_INVALID_JSON, length,
                         "the payload is nothing but white space: a JSON value is expected");
    } else if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        hfpayload_refuse(error, HFPAYLOAD_INVALID_JSON, 0,
                         "the payload begins with a byte-order mark: JSON is sent without one");
    } else {
        return false;
    }
    return true;
}

/* One code of jansson's stands for all mistakes of syntax; its text tells them apart. A text that is
 * not listed costs only precision of wording. */
static const char *syntax_message(const char *text) {
    static const struct {
        const char *beginning, *message;
    } known[] = {
        {"string or '}' expected", "a member name in double quotes is expected"},
        {"':' expected", "a colon is expected behind a member name"},
        {"'}' expected", "a comma or a closing brace is expected behind a member"},
        {"']' expected", "a comma or a closing bracket is expected behind an element"},
        {"unexpected token", "a value is expected where a bracket, a comma or a colon stands"},
        {"unexpected newline", "a string contains a line break: it must be written as \\n"},
        {"control character", "a string contains a control character: it must be escaped"},
        {"invalid escape", "a string contains an unknown escape: a backslash must be doubled"},
        {"invalid Unicode", "a string contains one half of a surrogate pair: both are needed"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(text, known[i].beginning, strlen(known[i].beginning)) == 0) {
            return known[i].message;
        }
    }
    return "a value is expected, but the text here is no JSON: names and texts need double quotes";
}

/* jansson reports a string for which it found no memory as an invalid token. Nothing else that it calls
 * so can end in a quote. */
static bool is_string_without_memory(const char *bytes, const json_error_t *why) {
    return why->position > 0 && bytes[why->position - 1] == '"' &&
           (strncmp(why->text, "invalid token", 13) == 0 || strncmp(why->text, "string or", 9) == 0);
}

static void refuse_as_jansson(const char *bytes, size_t length, const json_error_t *why,
                              hfpayload_error *error) {
    size_t position = why->position > 0 ? (size_t)why->position : 0;
    if (hfpayload_refuse_blank(bytes, length, error)) {
        return;
    }
    if (why->text[0] == '\0' || json_error_code(why) == json_error_out_of_memory ||
        is_string_without_memory(bytes, why)) {
        hfpayload_refuse(error, HFPAYLOAD_NO_MEMORY, 0, "no memory is left to parse the payload");
        return;
    }
    const char *message;
    switch (json_error_code(why)) {
    case json_error_invalid_utf8:
        message = "the text is not valid UTF-8";
        break;
    case json_error_premature_end_of_input:
        message = "the text ends before its JSON value is complete";
        break;
    case json_error_duplicate_key:
        message = "a member name appears twice: each may appear once in an object";
        break;
    case json_error_null_byte_in_key:
        message = "a member name contains \\u0000, which is allowed in values only";
        break;
    case json_error_numeric_overflow:
        message = "a number is out of range: an integer must fit 64 bits, a real a double";
        break;
    default:
        message = syntax_message(why->text);
    }
    hfpayload_refuse(error, HFPAYLOAD_INVALID_JSON, position, "%s", message);
}

/* --- Parsing --- */

size_t hfpayload_max_bytes(hfpayload_limits limits) {
    return limits.max_bytes < JANSSON_MAX_BYTES ? limits.max_bytes : JANSSON_MAX_BYTES;
}

/* Refuses what must not reach jansson. */
static bool keeps_limits(const char *bytes, size_t length, hfpayload_limits limits, hfpayload_error *error) {
    size_t max_bytes = hfpayload_max_bytes(limits);
    size_t max_depth = limits.max_depth < JANSSON_MAX_DEPTH ? limits.max_depth : JANSSON_MAX_DEPTH;
    if (length > max_bytes) {
        return hfpayload_refuse(error, HFPAYLOAD_TOO_LARGE, max_bytes,
                                "the payload is longer than the limit of %zu bytes", max_bytes);
    }
    size_t bracket;
    if (hfpayload_scan_may_exceed_depth(bytes, length, max_depth) &&
        hfpayload_scan_brackets(bytes, length, max_depth, &bracket) == HFPAYLOAD_SCAN_TOO_DEEP) {
        return hfpayload_refuse(error, HFPAYLOAD_TOO_DEEP, bracket,
                                "arrays and objects are nested deeper than the limit of %zu", max_depth);
    }
    /* jansson loses a NUL byte that follows a number or a word, and would accept the text. */
    const char *nul = memchr(bytes, '\0', length);
    if (nul != NULL) {
        return hfpayload_refuse(error, HFPAYLOAD_INVALID_JSON, (size_t)(nul - bytes),
                                "the text contains a NUL byte: in a string it must be written as \\u0000");
    }
    return true;
}

json_t *hfpayload_parse(const char *bytes, size_t length, hfpayload_limits limits, size_t *end,
                        hfpayload_error *error) {
    if (length == 0) {
        hfpayload_refuse_blank(bytes, length, error);
        return NULL;
    }
    if (!keeps_limits(bytes, length, limits, error)) {
        return NULL;
    }
    json_error_t why;
    json_t *value = json_loadb(bytes, length, FLAGS, &why);
    if (value == NULL) {
        refuse_as_jansson(bytes, length, &why, error);
        return NULL;
    }
    *end = (size_t)why.position;
    size_t rest = hfpayload_skip_white_space(bytes, length, *end);
    if (rest < length) {
        json_decref(value);
        hfpayload_refuse(error, HFPAYLOAD_INVALID_JSON, rest,
                         "text follows the end of the JSON value: a payload is exactly one value");
        return NULL;
    }
    return value;
}
