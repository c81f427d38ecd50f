#include "input.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("WRONG: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

/* --- JSON --------------------------------------------------------------------------------------- */

json_t *parse_json(const char *bytes, size_t length) {
    return json_loadb(bytes, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

bool id_of(const json_t *value, const char **bytes, size_t *length, char digits[24]) {
    if (json_is_string(value)) {
        *bytes = json_string_value(value);
        *length = json_string_length(value);
        return true;
    }
    if (!json_is_integer(value))
        return false;
    *length = (size_t)snprintf(digits, 24, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    *bytes = digits;
    return true;
}

/* --- The fuzzer's bytes --------------------------------------------------------------------------- */

uint8_t take(input *in) {
    if (in->length == 0)
        return 0;
    in->length--;
    return *in->bytes++;
}

uint64_t take_number(input *in) {
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | take(in);
    return number;
}

size_t choose(input *in, size_t bound) { return take(in) % bound; }

typedef struct writer {
    char *out;
    size_t length, capacity;
} writer;

/* Writes nothing rather than half of a token, which would be no JSON. */
static void put(writer *w, const char *text) {
    size_t length = strlen(text);
    if (length <= w->capacity - w->length) {
        memcpy(w->out + w->length, text, length);
        w->length += length;
    }
}

static const char *const names[] = {"\"a\"", "\"b\"", "\"c\"", "\"0\"", "\"1\"", "\"\\u0061\\u0062\"",
                                    "\"\""};
enum { NAMES = sizeof names / sizeof *names };

static const char *const scalars[] = {
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "-0",
    "1.0",
    "1e0",
    "10e-1",
    "0.1",
    "1.5",
    "9007199254740993",
    "9007199254740992.0",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808.0",
    "1e300",
    "5e-324",
    "123456789012345678901234567890.5",
    "\"\"",
    "\"x\"",
    "\"1\"",
    "\"\\u0078\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u0000\"",
    "\"\\\"\\\\\\/\\n\"",
    "\"\xC3\xA9\"",
};

static void generate(writer *w, input *in, int depth) {
    size_t room = 2 * (size_t)depth + 40; /* for the closing brackets and one more scalar */
    if (w->capacity - w->length < 2 * room) {
        put(w, "0");
        return;
    }
    uint8_t kind = depth > 6 ? 0 : take(in);
    if (kind % 3 == 0) {
        put(w, scalars[choose(in, sizeof scalars / sizeof *scalars)]);
        return;
    }
    bool is_object = kind % 3 == 1;
    size_t count = choose(in, 4), first = is_object ? choose(in, NAMES) : 0;
    put(w, is_object ? "{" : "[");
    for (size_t i = 0; i < count; i++) {
        put(w, i > 0 ? kind & 64 ? ", " : "," : "");
        if (is_object) {
            put(w, names[(first + i) % NAMES]);
            put(w, kind & 128 ? " : " : ":");
        }
        generate(w, in, depth + 1);
    }
    put(w, is_object ? "}" : "]");
}

size_t generate_object(input *in, const char *id, char *out, size_t capacity) {
    writer w = {out, 0, capacity - 1};
    put(&w, "{");
    if (id != NULL) {
        put(&w, "\"id\":");
        put(&w, id);
    }
    size_t count = choose(in, 4), first = choose(in, NAMES);
    for (size_t i = 0; i < count && w.capacity - w.length > 200; i++) {
        put(&w, i > 0 || id != NULL ? "," : "");
        put(&w, names[(first + i) % NAMES]);
        put(&w, ":");
        generate(&w, in, 0);
    }
    w.capacity = capacity;
    put(&w, "}");
    return w.length;
}

char *exact_copy(const void *bytes, size_t length) {
    char *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, bytes, length);
    return copy;
}

char *text_copy(const uint8_t *bytes, size_t length) {
    char *copy = malloc(length + 1);
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}
