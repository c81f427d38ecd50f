/*
 * Stored entities: a check in one pass that a text which was an entity when it was stored still is JSON.
 *
 * It asks less than the check of what comes in (names may appear twice, numbers may have any size), keeps no
 * names and calls no function of itself, so that reading an entity takes hardly longer for it. Whatever
 * hfpayload_entity_check accepts for a store it accepts, too; the tests hold the two against each other. What
 * it accepts every reader can walk: this is what "damaged" means, wherever that is asked.
 */
#include "parse.h"

#include <string.h>

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* Of text from behind an opening quote: what is behind the closing one, or NULL. */
static const char *end_of_string(const char *at, const char *end) {
    for (;;) {
        at = hfpayload_skip_plain_text(at, end);
        if (at == end) {
            return NULL;
        }
        if (*at == '"') {
            return at + 1;
        }
        if (*at == '\\') {
            size_t escape = hfpayload_escape_length(at, (size_t)(end - at));
            if (escape == 0) {
                return NULL;
            }
            at += escape;
            continue;
        }
        size_t length = (unsigned char)*at < 0x80 ? 0 : hfpayload_utf8_length(at, (size_t)(end - at));
        if (length == 0) { /* a control character, or no UTF-8 */
            return NULL;
        }
        at += length;
    }
}

/* Behind the digits, of which there must be one. */
static const char *end_of_digits(const char *at, const char *end) {
    const char *first = at;
    while (at < end && is_digit(*at)) {
        at++;
    }
    return at == first ? NULL : at;
}

static const char *end_of_number(const char *at, const char *end) {
    at += *at == '-';
    const char *first = at;
    at = end_of_digits(at, end);
    if (at == NULL || (at - first > 1 && *first == '0')) {
        return NULL;
    }
    if (at < end && *at == '.') {
        at = end_of_digits(at + 1, end);
    }
    if (at != NULL && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = end_of_digits(at, end);
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
        return end_of_number(at, end);
    }
}

static const char *skip_white_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    return at;
}

/* Behind a member's name and its colon, or NULL. */
static const char *end_of_name(const char *at, const char *end) {
    at = skip_white_space(at, end);
    if (at == end || *at != '"' || (at = end_of_string(at + 1, end)) == NULL) {
        return NULL;
    }
    at = skip_white_space(at, end);
    return at < end && *at == ':' ? at + 1 : NULL;
}

bool hfpayload_stored_is_sound(const char *bytes, size_t length) {
    const char *at = bytes, *end = bytes + length;
    char closing[HFPAYLOAD_WIDEST_DEPTH]; /* of what is open, the innermost last */
    size_t depth = 0;
    if (length == 0 || *at != '{') {
        return false;
    }
    do {
        /* A value. */
        at = skip_white_space(at, end);
        if (at == end) {
            return false;
        }
        bool is_empty = false;
        if (*at == '{' || *at == '[') {
            if (depth == HFPAYLOAD_WIDEST_DEPTH) {
                return false;
            }
            closing[depth++] = *at == '{' ? '}' : ']';
            at = skip_white_space(at + 1, end);
            is_empty = at < end && *at == closing[depth - 1];
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
            at = skip_white_space(at, end);
            if (at == end) {
                return false;
            }
            if (*at != closing[depth - 1]) {
                break;
            }
            at++;
            if (--depth == 0) {
                return at == end;
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
