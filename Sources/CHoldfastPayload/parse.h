/*
 * What the files of this target share. Not public: it shows jansson.
 */
#ifndef HOLDFAST_PAYLOAD_PARSE_H
#define HOLDFAST_PAYLOAD_PARSE_H

#include "CHoldfastPayload.h"

#include <jansson.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#if defined(__GNUC__)
#define HFPAYLOAD_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#define HFPAYLOAD_PRINTF(text, values)
#endif

/* --- parse.c: one JSON value ------------------------------------------------------------------ */

/* Checks the limits, then parses. *end is behind the value's last byte. */
json_t *hfpayload_parse(const char *bytes, size_t length, hfpayload_limits limits, size_t *end,
                        hfpayload_error *error);

/* The limit, or what jansson can bear. */
size_t hfpayload_max_bytes(hfpayload_limits limits);

/* Refuses a text in which no JSON value was found: empty, blank, or begun by a byte-order mark.
 * False where it is none of these. */
bool hfpayload_refuse_blank(const char *bytes, size_t length, hfpayload_error *error);

/* Fills *error and answers false, so that a check can end with it. */
bool hfpayload_refuse(hfpayload_error *error, hfpayload_failure failure, size_t position, const char *format,
                      ...) HFPAYLOAD_PRINTF(4, 5);

/* --- plain.c, entity.c: the two ways to check an entity --------------------------------------- */

/* Whether the text begins with an entity that is plain: what hfpayload_parsed_entity is sure to accept, and
 * then *entity is what it would be there. False where that is doubtful. The length is at most
 * hfpayload_max_bytes; what follows the entity is not looked at. */
bool hfpayload_plain_entity(const char *bytes, size_t length, const char *key, size_t max_depth,
                            hfpayload_entity *entity);

/* hfpayload_entity_check by jansson alone. */
bool hfpayload_parsed_entity(const char *bytes, size_t length, const char *key, hfpayload_limits limits,
                             hfpayload_entity *entity, hfpayload_error *error);

/* --- scan.c: texts that may be malformed, without a tree -------------------------------------- */

typedef enum hfpayload_scan {
    HFPAYLOAD_SCAN_CLOSED,   /* *position is behind the bracket that closes the first one */
    HFPAYLOAD_SCAN_OPEN,     /* the text ended first */
    HFPAYLOAD_SCAN_TOO_DEEP, /* *position is that of the first bracket nested too deep */
} hfpayload_scan;

/* Follows brackets outside of strings. As long as the text is valid JSON it nests as jansson sees it. */
hfpayload_scan hfpayload_scan_brackets(const char *bytes, size_t length, size_t max_depth, size_t *position);

/* Whether the text could nest deeper than that, by its number of brackets alone. */
bool hfpayload_scan_may_exceed_depth(const char *bytes, size_t length, size_t max_depth);

size_t hfpayload_skip_white_space(const char *bytes, size_t length, size_t position);

/* The bytes of the UTF-8 sequence that begins here, or 0 where none does. Overlong forms, halves of
 * surrogate pairs and code points above U+10FFFF are none. There is at least one byte. */
size_t hfpayload_utf8_length(const char *bytes, size_t length);

/* The bytes of the escape that begins here with a backslash, both halves of a surrogate pair together, or 0
 * where it stands for no character. */
size_t hfpayload_escape_length(const char *bytes, size_t length);

/* The first byte that is no character of ASCII standing for itself in a string, or the end. */
static inline const char *hfpayload_skip_plain_text(const char *at, const char *end) {
#ifdef __SSE2__
    const __m128i quotes = _mm_set1_epi8('"'), backslashes = _mm_set1_epi8('\\'), spaces = _mm_set1_epi8(' ');
    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        /* Compared with a sign, what is not ASCII is below the space, too. */
        int found = _mm_movemask_epi8(
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, backslashes)),
                         _mm_cmplt_epi8(bytes, spaces)));
        if (found != 0) {
            return at + __builtin_ctz((unsigned)found);
        }
    }
#endif
    const uint64_t ones = UINT64_MAX / 0xFF;
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
        /* A subtraction sets the high bit of a byte below what is subtracted; by its borrow also that of
         * bytes above it, so of those that are set only the lowest is sure. */
        uint64_t found = ((word - ones * 0x20) | (quote - ones) | (backslash - ones) | word) & (ones * 0x80);
        if (found != 0) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return at + (__builtin_ctzll(found) >> 3);
#else
            break;
#endif
        }
        at += 8;
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

/* From the opening quote to behind the closing one, or to the end of the text. */
size_t hfpayload_skip_string(const char *bytes, size_t length, size_t position);

/* "an array", "a string", ...: the type of the JSON value that begins with this byte; NULL for none. */
const char *hfpayload_type_beginning_with(char byte);

#endif
