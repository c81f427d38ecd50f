/*
 * Stored entities: a check in one pass that a text which was an entity when it was stored still is JSON.
 *
 * It asks less than the check of what comes in (names may appear twice, numbers may have any size), keeps no
 * names and calls no function of itself, so that reading an entity takes hardly longer for it. The closing
 * brace that has to end the text ends all that is skipped outside of strings, so that nobody else looks for
 * the end: `at`, where it comes in and where it goes out, is at that brace or before it. Whatever
 * hfpayload_entity_check accepts for a store it accepts, too; the tests hold the two against each other. What
 * it accepts every reader can walk: this is what "damaged" means, wherever that is asked.
 */
#include "parse.h"

#include <string.h>

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* From what may not stand for itself in a string: what is behind the closing quote, or NULL. */
static const char *end_of_marked_string(const char *at, const char *end) {
    while (at != end) {
        if (*at == '"') {
            return at + 1;
        }
        size_t length = (size_t)(end - at);
        /* 0 of a control character, too, and of what is no UTF-8. */
        length = *at == '\\'                  ? hfpayload_escape_length(at, length)
                 : (unsigned char)*at >= 0x80 ? hfpayload_utf8_length(at, length)
                                              : 0;
        if (length == 0) {
            return NULL;
        }
        at = hfpayload_skip_plain_text(at + length, end);
    }
    return NULL;
}

/* Of text from behind an opening quote: what is behind the closing one, or NULL. */
static inline const char *end_of_string(const char *at, const char *end) {
    at = hfpayload_skip_plain_text(at, end);
    return at != end && *at == '"' ? at + 1 : end_of_marked_string(at, end);
}

/* Behind the digits, of which there must be one. */
static const char *end_of_digits(const char *at) {
    const char *first = at;
    while (is_digit(*at)) {
        at++;
    }
    return at == first ? NULL : at;
}

static const char *end_of_number(const char *at) {
    at += *at == '-';
    const char *first = at;
    at = end_of_digits(at);
    if (at == NULL || (at - first > 1 && *first == '0')) {
        return NULL;
    }
    if (*at == '.') {
        at = end_of_digits(at + 1);
    }
    if (at != NULL && (*at == 'e' || *at == 'E')) {
        at++;
        at += *at == '+' || *at == '-';
        at = end_of_digits(at);
    }
    return at;
}

static const char *end_of_word(const char *at, const char *end, const char *word, size_t length) {
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

/* Of a value that is neither an object nor an array. */
static const char *end_of_scalar(const char *at, const char *end) {
    switch (*at) {
    case '"':
        return end_of_string(at + 1, end);
    case 't':
        return end_of_word(at, end, "true", 4);
    case 'f':
        return end_of_word(at, end, "false", 5);
    case 'n':
        return end_of_word(at, end, "null", 4);
    default:
        return end_of_number(at);
    }
}

static const char *skip_white_space(const char *at) {
    /* Mostly there is none. */
    while ((unsigned char)*at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    return at;
}

/* Behind a member's name and its colon, or NULL. */
static const char *end_of_name(const char *at, const char *end) {
    at = skip_white_space(at);
    if (*at != '"' || (at = end_of_string(at + 1, end)) == NULL) {
        return NULL;
    }
    at = skip_white_space(at);
    return *at == ':' ? at + 1 : NULL;
}

bool hfpayload_stored_is_sound(const char *bytes, size_t length) {
    const char *at = bytes, *end = bytes + length;
    char closing[HFPAYLOAD_WIDEST_DEPTH]; /* of what is open, the innermost last */
    size_t depth = 0;
    if (length == 0 || *at != '{' || end[-1] != '}') {
        return false;
    }
    do {
        /* A value. */
        at = skip_white_space(at);
        bool is_empty = false;
        if (*at == '{' || *at == '[') {
            if (depth == HFPAYLOAD_WIDEST_DEPTH) {
                return false;
            }
            closing[depth++] = *at == '{' ? '}' : ']';
            at = skip_white_space(at + 1);
            is_empty = *at == closing[depth - 1];
            if (!is_empty) {
                if (closing[depth - 1] == '}' && (at = end_of_name(at, end)) == NULL) {
                    return false;
                }
                continue;
            }
        } else if ((at = end_of_scalar(at, end)) == NULL) {
            return false;
        }
        /* What it closes, and what follows. */
        for (;;) {
            at = skip_white_space(at);
            if (*at != closing[depth - 1]) {
                break;
            }
            at++;
            if (--depth == 0 || at == end) {
                return depth == 0 && at == end;
            }
        }
        if (*at++ != ',') {
            return false;
        }
        if (closing[depth - 1] == '}' && (at = end_of_name(at, end)) == NULL) {
            return false;
        }
    } while (true);
}
