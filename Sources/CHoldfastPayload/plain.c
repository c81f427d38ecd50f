/*
 * Plain entities: a check in one pass that answers "valid" or "doubtful", never "invalid".
 *
 * jansson builds a tree of each entity, of which only the id is read, because the bytes are kept as they
 * came. Building and freeing it took more than half the instructions of a commit. This check goes over the
 * text once and allocates nothing.
 *
 * Its rule: it accepts only what jansson would accept, called as parse.c calls it, with the same span and
 * the same id. Whatever is wrong, and whatever is valid but unusual (an escape in a member's name, a number
 * near the limits, deep nesting, many names), is doubtful and goes to jansson, which alone refuses and says
 * why. So a doubt costs time and changes no answer. The tests and the fuzzer hold the two against each
 * other.
 */
#include "parse.h"

#include <string.h>

enum {
    MAX_DEPTH = 32,  /* the functions below call each other once a level */
    MAX_NAMES = 64,  /* of all objects that are open at once: each is compared with those beside it */
    SAFE_DIGITS = 18 /* any integer of so many fits 64 bits; 10^18 times 10^99 fits a double */
};

/* Fewer where tests want more to go to jansson. */
static size_t most_depth = MAX_DEPTH, most_names = MAX_NAMES;

void hfpayload_limit_plain(size_t depth, size_t names) {
    __atomic_store_n(&most_depth, depth < MAX_DEPTH ? depth : MAX_DEPTH, __ATOMIC_RELAXED);
    __atomic_store_n(&most_names, names < MAX_NAMES ? names : MAX_NAMES, __ATOMIC_RELAXED);
}

typedef struct name {
    const char *bytes;
    size_t length;
    uint64_t ending; /* the last eight bytes, or all: names that differ mostly differ here */
} name;

typedef struct reader {
    const char *at, *end;
    size_t depth, max_depth;
    size_t name_count, max_names;
    name names[MAX_NAMES]; /* of the innermost object last */
} reader;

static bool read_value(reader *r);

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

static bool take(reader *r, char byte) {
    bool is_there = r->at < r->end && *r->at == byte;
    r->at += is_there;
    return is_there;
}

static void skip_white_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t')) {
        r->at++;
    }
}

/* --- Strings --- */

/* From the opening quote to behind the closing one. */
static bool read_string(reader *r, bool *has_escapes) {
    *has_escapes = false;
    if (!take(r, '"')) {
        return false;
    }
    for (;;) {
        r->at = hfpayload_skip_plain_text(r->at, r->end);
        if (r->at == r->end) {
            return false;
        }
        if (*r->at == '"') {
            r->at++;
            return true;
        }
        if (*r->at == '\\') {
            *has_escapes = true;
            size_t escape = hfpayload_escape_length(r->at, (size_t)(r->end - r->at));
            if (escape == 0) {
                return false;
            }
            r->at += escape;
            continue;
        }
        if ((unsigned char)*r->at < 0x80) { /* a control character */
            return false;
        }
        size_t length = hfpayload_utf8_length(r->at, (size_t)(r->end - r->at));
        if (length == 0) {
            return false;
        }
        r->at += length;
    }
}

/* --- Numbers and words --- */

static size_t skip_digits(reader *r) {
    const char *start = r->at;
    while (r->at < r->end && is_digit(*r->at)) {
        r->at++;
    }
    return (size_t)(r->at - start);
}

static bool read_number(reader *r) {
    take(r, '-');
    const char *first = r->at;
    size_t digits = skip_digits(r);
    if (digits == 0 || digits > SAFE_DIGITS || (digits > 1 && *first == '0')) {
        return false;
    }
    if (take(r, '.') && skip_digits(r) == 0) {
        return false;
    }
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '-')) {
            take(r, '+');
        }
        digits = skip_digits(r);
        return digits == 1 || digits == 2;
    }
    return true;
}

static bool read_word(reader *r, const char *word, size_t length) {
    bool is_there = (size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0;
    r->at += length * is_there;
    return is_there;
}

/* --- Arrays and objects --- */

static bool read_elements(reader *r) {
    r->at++;
    skip_white_space(r);
    if (take(r, ']')) {
        return true;
    }
    do {
        skip_white_space(r);
        if (!read_value(r)) {
            return false;
        }
        skip_white_space(r);
    } while (take(r, ','));
    return take(r, ']');
}

/* Reads a name and keeps it; doubtful where the object, whose names begin at `first`, has it already. */
static bool read_name(reader *r, size_t first) {
    const char *start = r->at + 1;
    bool has_escapes;
    if (r->name_count == r->max_names || !read_string(r, &has_escapes) || has_escapes) {
        return false;
    }
    name read = {start, (size_t)(r->at - 1 - start), 0};
    size_t kept = read.length < 8 ? read.length : 8;
    memcpy(&read.ending, start + read.length - kept, kept);
    for (size_t i = first; i < r->name_count; i++) {
        const name *other = &r->names[i];
        if (other->ending == read.ending && other->length == read.length &&
            memcmp(other->bytes, read.bytes, read.length) == 0) {
            return false;
        }
    }
    r->names[r->name_count++] = read;
    return true;
}

/* The value of the member last read is the entity's id. */
static bool take_id(const char *value, size_t length, hfpayload_entity *entity) {
    bool is_string = *value == '"';
    if (is_string) {
        value++;
        length -= 2;
        /* What is left of a valid string to be no id. */
        if (length == 0 || memchr(value, '\\', length) != NULL || memchr(value, 0x7F, length) != NULL) {
            return false;
        }
    } else {
        /* As jansson would write it: no real, no other value, and no -0. */
        size_t sign = *value == '-';
        for (size_t i = sign; i < length; i++) {
            if (!is_digit(value[i])) {
                return false;
            }
        }
        if (sign == 1 && value[1] == '0') {
            return false;
        }
    }
    if (length > HFPAYLOAD_ID_MAX_BYTES) {
        return false;
    }
    entity->id_type = is_string ? HFPAYLOAD_ID_STRING : HFPAYLOAD_ID_INTEGER;
    entity->id_length = length;
    memcpy(entity->id, value, length);
    return true;
}

/* `entity` is NULL for the objects inside of it. */
static bool read_members(reader *r, const char *key, hfpayload_entity *entity) {
    size_t first = r->name_count;
    r->at++;
    skip_white_space(r);
    if (take(r, '}')) {
        return true;
    }
    size_t key_length = entity != NULL ? strlen(key) : 0;
    do {
        skip_white_space(r);
        if (!read_name(r, first)) {
            return false;
        }
        const name *read = &r->names[r->name_count - 1];
        bool is_id =
            entity != NULL && read->length == key_length && memcmp(read->bytes, key, key_length) == 0;
        skip_white_space(r);
        if (!take(r, ':')) {
            return false;
        }
        skip_white_space(r);
        const char *value = r->at;
        if (!read_value(r) || (is_id && !take_id(value, (size_t)(r->at - value), entity))) {
            return false;
        }
        skip_white_space(r);
    } while (take(r, ','));
    r->name_count = first;
    return take(r, '}');
}

static bool read_value(reader *r) {
    bool is_valid = false, has_escapes;
    if (r->at == r->end) {
        return false;
    }
    switch (*r->at) {
    case '"':
        return read_string(r, &has_escapes);
    case '[':
    case '{':
        if (r->depth < r->max_depth) {
            r->depth++;
            is_valid = *r->at == '[' ? read_elements(r) : read_members(r, NULL, NULL);
            r->depth--;
        }
        return is_valid;
    case 't':
        return read_word(r, "true", 4);
    case 'f':
        return read_word(r, "false", 5);
    case 'n':
        return read_word(r, "null", 4);
    default:
        return read_number(r);
    }
}

bool hfpayload_plain_entity(const char *bytes, size_t length, const char *key, size_t max_depth,
                            hfpayload_entity *entity) {
    size_t start = hfpayload_skip_white_space(bytes, length, 0);
    if (start == length || bytes[start] != '{' || max_depth == 0) {
        return false;
    }
    reader r;
    r.at = bytes + start;
    r.end = bytes + length;
    r.depth = 1;
    r.max_depth = __atomic_load_n(&most_depth, __ATOMIC_RELAXED);
    if (r.max_depth > max_depth) {
        r.max_depth = max_depth;
    }
    r.name_count = 0;
    r.max_names = __atomic_load_n(&most_names, __ATOMIC_RELAXED);
    entity->id_type = HFPAYLOAD_ID_ABSENT;
    entity->id_length = 0;
    if (!read_members(&r, key, entity)) {
        return false;
    }
    entity->start = start;
    entity->length = (size_t)(r.at - bytes) - start;
    return true;
}
