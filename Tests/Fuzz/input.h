/*
 * What the fuzz targets make of the fuzzer's bytes: decisions, copies, JSON.
 *
 * A target that finds something wrong says what and aborts, which the fuzzer records with its input.
 */
#ifndef INPUT_H
#define INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct input {
    const uint8_t *bytes;
    size_t length;
} input;

/* The next byte, 0 behind the last. */
uint8_t take(input *in);
/* The next eight bytes. */
uint64_t take_number(input *in);
/* Below the bound. */
size_t choose(input *in, size_t bound);

/* Writes JSON that the fuzzer's bytes describe, from few names and values, so that documents and filters
 * meet. Answers its length, at most `capacity`; not closed with NUL. An object at the top, with this id
 * unless it is NULL. */
size_t generate_object(input *in, const char *id, char *out, size_t capacity);

/* A copy closed with NUL, to be freed; and one of exactly these bytes, so that reading behind them is seen.
 */
char *text_copy(const uint8_t *bytes, size_t length);
char *exact_copy(const void *bytes, size_t length);

/* --- JSON --------------------------------------------------------------------------------------- */

/* Parses as strictly as the library says it does; NULL for what is no JSON. */
json_t *parse_json(const char *bytes, size_t length);

/* An id as the library writes it: the text, or the decimal digits. False for what is no id. */
bool id_of(const json_t *value, const char **bytes, size_t *length, char digits[24]);

#endif
