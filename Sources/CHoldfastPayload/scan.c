#include "parse.h"

#include <string.h>

/* In ASCII a square bracket and the brace of the same kind differ in one bit only. */
static bool is_opening(char byte) { return (byte | 0x20) == '{'; }
static bool is_closing(char byte) { return (byte | 0x20) == '}'; }

size_t hfpayload_skip_white_space(const char *bytes, size_t length, size_t position) {
    while (position < length && (bytes[position] == ' ' || bytes[position] == '\n' ||
                                 bytes[position] == '\r' || bytes[position] == '\t')) {
        position++;
    }
    return position;
}

size_t hfpayload_skip_string(const char *bytes, size_t length, size_t position) {
    const char *start = bytes + position + 1, *from = start, *end = bytes + length;
    const char *quote;
    while (from < end && (quote = memchr(from, '"', (size_t)(end - from))) != NULL) {
        /* An odd number of backslashes before it means that the quote is part of the string. */
        const char *before = quote;
        while (before > from && before[-1] == '\\') {
            before--;
        }
        if ((quote - before) % 2 == 0) {
            return (size_t)(quote + 1 - bytes);
        }
        from = quote + 1;
    }
    return length;
}

/* The code unit of a \u escape; UINT32_MAX where there is none. */
static uint32_t code_unit(const char *bytes, size_t length) {
    uint32_t unit = 0;
    if (length < 6 || bytes[0] != '\\' || bytes[1] != 'u') {
        return UINT32_MAX;
    }
    for (size_t i = 2; i < 6; i++) {
        char letter = (char)(bytes[i] | 0x20);
        if (bytes[i] >= '0' && bytes[i] <= '9') {
            unit = unit * 16 + (uint32_t)(bytes[i] - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            unit = unit * 16 + (uint32_t)(letter - 'a' + 10);
        } else {
            return UINT32_MAX;
        }
    }
    return unit;
}

size_t hfpayload_escape_length(const char *bytes, size_t length) {
    if (length < 2) {
        return 0;
    }
    if (bytes[1] != 'u') {
        return bytes[1] != '\0' && strchr("\"\\/bfnrt", bytes[1]) != NULL ? 2 : 0;
    }
    uint32_t unit = code_unit(bytes, length);
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        unit = code_unit(bytes + 6, length - 6);
        return unit >= 0xDC00 && unit <= 0xDFFF ? 12 : 0;
    }
    return unit <= 0xFFFF && !(unit >= 0xDC00 && unit <= 0xDFFF) ? 6 : 0;
}

hfpayload_scan hfpayload_scan_brackets(const char *bytes, size_t length, size_t max_depth, size_t *position) {
    size_t depth = 0;
    size_t at = 0;
    while (at < length) {
        char byte = bytes[at];
        if (byte == '"') {
            at = hfpayload_skip_string(bytes, length, at);
            continue;
        }
        if (is_opening(byte)) {
            if (depth == max_depth) {
                *position = at;
                return HFPAYLOAD_SCAN_TOO_DEEP;
            }
            depth++;
        } else if (is_closing(byte)) {
            if (depth <= 1) {
                *position = at + 1;
                return HFPAYLOAD_SCAN_CLOSED;
            }
            depth--;
        }
        at++;
    }
    return HFPAYLOAD_SCAN_OPEN;
}

bool hfpayload_scan_may_exceed_depth(const char *bytes, size_t length, size_t max_depth) {
    if (length <= max_depth) {
        return false;
    }
    size_t opening = 0;
    for (size_t at = 0; at < length;) {
        /* Without branches, and in a byte for as long as it cannot overflow: many at a time. */
        size_t end = length - at < UINT8_MAX ? length : at + UINT8_MAX;
        uint8_t some = 0;
        for (; at < end; at++) {
            some += is_opening(bytes[at]);
        }
        opening += some;
    }
    return opening > max_depth;
}

const char *hfpayload_type_beginning_with(char byte) {
    switch (byte) {
    case '{':
        return "an object";
    case '[':
        return "an array";
    case '"':
        return "a string";
    case 't':
    case 'f':
        return "a boolean";
    case 'n':
        return "null";
    default:
        return byte == '-' || (byte >= '0' && byte <= '9') ? "a number" : NULL;
    }
}
