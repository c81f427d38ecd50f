/// Scalars of UTF-8, and what tables.inc says of them.
#ifndef SCALARS_H
#define SCALARS_H

#include <stddef.h>
#include <stdint.h>

/// What a scalar is to the rules of UAX 29. Those of no rule are `OTHER`.
enum word_class {
    OTHER,
    LINE_BREAK,
    EXTEND,
    FORMAT,
    ZWJ,
    KATAKANA,
    HEBREW_LETTER,
    LETTER,
    MID_LETTER,
    MID_NUMBER,
    MID_NUMBER_LETTER,
    SINGLE_QUOTE,
    DOUBLE_QUOTE,
    NUMERIC,
    EXTEND_NUMBER_LETTER,
};

struct scalar {
    uint32_t value;
    /// Bytes of UTF-8.
    uint8_t length;
    uint8_t class;
    uint8_t is_pictograph;
    /// Whether it is a letter or a number by its general category.
    uint8_t is_letter;
};

/// Scalars that stand for another one.
struct scalars {
    uint32_t values[3];
    unsigned count;
};

/// The value of the scalar that begins at `position`, with its length. Of bytes that are no UTF-8 each is
/// one, U+FFFD.
uint32_t scalar_decode(const uint8_t *text, size_t length, size_t position, uint8_t *taken);

struct scalar scalar_at(const uint8_t *text, size_t length, size_t position);

/// With its case folded.
struct scalars scalar_lower(uint32_t scalar);

/// Without accents; none where it is but an accent, or formats.
struct scalars scalar_plain(uint32_t scalar);

/// What stands for a letter with an accent behind it; 0 where nothing does.
uint32_t scalar_composed(uint32_t letter, uint32_t accent);

/// Appends a scalar as UTF-8. Answers the new length, or the old one where there is no room for it.
size_t scalar_append(uint32_t scalar, uint8_t *text, size_t length, size_t capacity);

#endif
