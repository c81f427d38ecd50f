/*
 * Payloads: every JSON text that enters the library passes here, and nothing else sees jansson.
 *
 * Two uses. A small payload (options, a filter) is parsed into a tree and walked. An entity is only
 * checked and its id found: its bytes are kept as they came. For a plain one that is done without jansson,
 * which decides all others and words every refusal.
 *
 * What counts as JSON is RFC 8259 in UTF-8, exactly one value with white space around it, and stricter
 * where the RFC leaves a choice. Refused are: a byte-order mark; a member name that appears twice in an
 * object (compared without escapes) or contains \u0000; a \u escape of one half of a surrogate pair;
 * an integer beyond 64 bits, signed; a real beyond a double (one too small for a double counts as 0).
 *
 * Lengths are bytes; `bytes` may be NULL where the length is 0. Any text is safe to pass. Functions here
 * keep no state and may run on any thread; a tree may be read from several at once. jansson is used as
 * the host has set it up, its allocator included.
 */
#ifndef CHOLDFAST_PAYLOAD_H
#define CHOLDFAST_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of one payload. Beyond what jansson can bear they count as that: 2^31 - 1 bytes and a depth
 * of 2,047. */
typedef struct hfpayload_limits {
    size_t max_bytes; /* of the whole payload, with the white space around the value */
    size_t max_depth; /* nested arrays and objects; a scalar has depth 0, {} and [] have depth 1 */
} hfpayload_limits;

typedef enum hfpayload_failure {
    HFPAYLOAD_OK = 0,
    HFPAYLOAD_INVALID_JSON,  /* no JSON, duplicate key, trailing bytes, bad UTF-8, number out of range */
    HFPAYLOAD_TOO_LARGE,     /* max_bytes exceeded */
    HFPAYLOAD_TOO_DEEP,      /* max_depth exceeded */
    HFPAYLOAD_NOT_AN_OBJECT, /* an entity that is no object */
    HFPAYLOAD_NOT_AN_ARRAY,  /* a batch that is no array */
    HFPAYLOAD_INVALID_ID,    /* empty, too long, control characters, neither text nor 64-bit integer */
    HFPAYLOAD_NO_MEMORY
} hfpayload_failure;

/* Why a payload was refused; written only on failure. `message` is one impersonal sentence in ASCII
 * without the position.
 *
 * `position` counts bytes from the payload's beginning. For a mistake of syntax, a number out of range
 * and a name that appears twice it is where reading stopped, just behind the word or sign that cannot
 * stand there. Otherwise it is exactly the first byte that is at fault: of a bad UTF-8 sequence, of text
 * behind the value, of an id's value, the bracket that is too deep, the byte behind max_bytes. */
typedef struct hfpayload_error {
    hfpayload_failure failure;
    size_t position;
    char message[200];
} hfpayload_error;

/* --- Trees ------------------------------------------------------------------------------------ */

typedef struct hfpayload_tree hfpayload_tree;   /* owned: released with hfpayload_tree_free */
typedef struct hfpayload_value hfpayload_value; /* borrowed from its tree */

typedef enum hfpayload_type {
    HFPAYLOAD_NULL,
    HFPAYLOAD_FALSE,
    HFPAYLOAD_TRUE,
    HFPAYLOAD_INTEGER,
    HFPAYLOAD_REAL,
    HFPAYLOAD_STRING,
    HFPAYLOAD_ARRAY,
    HFPAYLOAD_OBJECT
} hfpayload_type;

/* Parses one JSON value of any type. NULL on failure, with *error filled. */
hfpayload_tree *hfpayload_tree_parse(const char *bytes, size_t length, hfpayload_limits limits,
                                     hfpayload_error *error);
void hfpayload_tree_free(hfpayload_tree *tree);
const hfpayload_value *hfpayload_tree_root(const hfpayload_tree *tree);

hfpayload_type hfpayload_value_type(const hfpayload_value *value);
/* Of a value of another type the three answer 0, 0.0, and NULL with length 0. */
int64_t hfpayload_value_integer(const hfpayload_value *value);
double hfpayload_value_real(const hfpayload_value *value);
/* UTF-8 without escapes; may hold NUL bytes. */
const char *hfpayload_value_string(const hfpayload_value *value, size_t *length);
size_t
hfpayload_value_count(const hfpayload_value *value); /* elements of an array, members of an object, else 0 */
const hfpayload_value *hfpayload_value_element(const hfpayload_value *array,
                                               size_t index); /* NULL beyond the last */

/* About how many bytes of memory a copy of the value takes, with all that is in it. */
size_t hfpayload_value_weight(const hfpayload_value *value);

/* The members of an object, in the order of the text; NULL behind the last and for other types:
 *   for (void *m = hfpayload_object_first(o); m; m = hfpayload_object_next(o, m)) ... */
void *hfpayload_object_first(const hfpayload_value *object);
void *hfpayload_object_next(const hfpayload_value *object, void *member);
/* UTF-8 without escapes and without NUL bytes; one more closes it. */
const char *hfpayload_member_name(void *member, size_t *length);
const hfpayload_value *hfpayload_member_value(void *member);

/* --- Entities --------------------------------------------------------------------------------- */

#define HFPAYLOAD_ID_MAX_BYTES 512

typedef enum hfpayload_id_type {
    HFPAYLOAD_ID_ABSENT,
    HFPAYLOAD_ID_STRING,
    HFPAYLOAD_ID_INTEGER
} hfpayload_id_type;

/* One checked entity: where its text lies in the payload, and its id without escapes. An integer id
 * is its decimal text, so 42 and "42" are one id. */
typedef struct hfpayload_entity {
    size_t start;  /* of the opening brace, bytes from the payload's beginning */
    size_t length; /* up to and with the closing brace */
    hfpayload_id_type id_type;
    size_t id_length;
    char id[HFPAYLOAD_ID_MAX_BYTES];
} hfpayload_entity;

/* Checks one entity. White space around it is allowed and not part of its span. `key` is the name of
 * the member that holds the id, without escapes and NUL bytes. An absent member is no failure:
 * HFPAYLOAD_ID_ABSENT. *entity is defined only where true is answered. */
bool hfpayload_entity_check(const char *bytes, size_t length, const char *key, hfpayload_limits limits,
                            hfpayload_entity *entity, hfpayload_error *error);

/* Entities that are nested deeper, or have more names in the objects that are open at once, are parsed, where
 * others are checked in one pass: for tests, 32 and 64 otherwise and at most. The answers are the same. */
void hfpayload_limit_plain(size_t depth, size_t names);

/* No store takes entities that are nested deeper. */
#define HFPAYLOAD_WIDEST_DEPTH 200

/* Whether a text that hfpayload_entity_check has accepted once, without the white space around it, still is a
 * JSON object: true for all that it accepts down to HFPAYLOAD_WIDEST_DEPTH, and for little else. */
bool hfpayload_stored_is_sound(const char *bytes, size_t length);

/* Checks an id given by itself: 1 to HFPAYLOAD_ID_MAX_BYTES bytes of UTF-8 without control characters
 * (U+0000 to U+001F, U+007F). The position is that of the first bad byte. */
bool hfpayload_id_check(const char *bytes, size_t length, hfpayload_error *error);

/* Walks a batch, a JSON array of entities, one at a time and without building a tree of the whole.
 * max_bytes and max_depth hold for each entity, without the white space around it; the batch itself may
 * have any length. Positions count from the batch's beginning. */
typedef struct hfpayload_batch {
    const char *bytes;
    size_t length;
    size_t position; /* next byte to read */
    size_t index;    /* of the next entity */
    const char *key;
    hfpayload_limits limits;
} hfpayload_batch;

typedef enum hfpayload_batch_step {
    HFPAYLOAD_BATCH_ENTITY,
    HFPAYLOAD_BATCH_END,
    HFPAYLOAD_BATCH_FAILED
} hfpayload_batch_step;

/* Keeps the pointers; fails where the text does not begin with '['. */
bool hfpayload_batch_begin(hfpayload_batch *batch, const char *bytes, size_t length, const char *key,
                           hfpayload_limits limits, hfpayload_error *error);
/* HFPAYLOAD_BATCH_END is answered only after the closing ']' and nothing but white space behind it. After
 * HFPAYLOAD_BATCH_FAILED `index` is that of the refused element, which the message names too. Called again
 * after either, it gives the same answer. */
hfpayload_batch_step hfpayload_batch_next(hfpayload_batch *batch, hfpayload_entity *entity,
                                          hfpayload_error *error);

#endif
