#include "scalars.h"

#include <stdlib.h>

struct mapping {
    uint32_t from;
    uint32_t to[3];
};

struct composition {
    uint16_t letter;
    uint16_t accent;
    uint16_t composed;
};

#include "tables.inc"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { PICTOGRAPH_FLAG = 0x20, LETTER_FLAG = 0x40, CLASS_BITS = 0x1F, REPLACEMENT = 0xFFFD };

// --- Reading and writing
// -----------------------------------------------------------------------------------------------

uint32_t scalar_decode(const uint8_t *text, size_t length, size_t position, uint8_t *taken) {
    uint8_t first = text[position];
    *taken = 1;
    if (first < 0x80)
        return first;
    unsigned following = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    if (following == 0 || first > 0xF4 || length - position <= following)
        return REPLACEMENT;
    uint32_t value = first & (0x3FU >> following);
    for (unsigned i = 1; i <= following; i++) {
        if ((text[position + i] & 0xC0) != 0x80)
            return REPLACEMENT;
        value = value << 6 | (text[position + i] & 0x3F);
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (value < least[following] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return REPLACEMENT;
    *taken = (uint8_t)(following + 1);
    return value;
}

size_t scalar_append(uint32_t scalar, uint8_t *text, size_t length, size_t capacity) {
    unsigned following = scalar < 0x80 ? 0 : scalar < 0x800 ? 1 : scalar < 0x10000 ? 2 : 3;
    if (capacity - length <= following)
        return length;
    static const uint8_t leads[] = {0, 0xC0, 0xE0, 0xF0};
    text[length++] = (uint8_t)(leads[following] | scalar >> (6 * following));
    for (unsigned left = following; left > 0; left--)
        text[length++] = (uint8_t)(0x80 | (scalar >> (6 * (left - 1)) & 0x3F));
    return length;
}

// --- Tables
// ------------------------------------------------------------------------------------------------------------

struct scalar scalar_at(const uint8_t *text, size_t length, size_t position) {
    struct scalar scalar;
    scalar.value = scalar_decode(text, length, position, &scalar.length);
    size_t low = 0, high = COUNT(classes);
    // Most texts have but these, and most stretches are behind them.
    if (scalar.value < 0x80) {
        uint8_t byte = (uint8_t)(scalar.value | 0x20);
        if (byte >= 'a' && byte <= 'z') {
            scalar.class = LETTER;
            scalar.is_pictograph = 0;
            scalar.is_letter = 1;
            return scalar;
        }
        if (scalar.value == ' ') {
            scalar.class = scalar.is_pictograph = scalar.is_letter = 0;
            return scalar;
        }
    }
    // The last stretch that does not begin behind it.
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (classes[middle] >> 8 <= scalar.value)
            low = middle;
        else
            high = middle;
    }
    uint8_t class = (uint8_t)classes[low];
    scalar.class = class & CLASS_BITS;
    scalar.is_pictograph = (class & PICTOGRAPH_FLAG) != 0;
    scalar.is_letter = (class & LETTER_FLAG) != 0;
    return scalar;
}

static int compare_mapping(const void *key, const void *element) {
    uint32_t wanted = *(const uint32_t *)key, found = ((const struct mapping *)element)->from;
    return wanted < found ? -1 : wanted > found;
}

static struct scalars mapped(uint32_t scalar, const struct mapping *table, size_t count) {
    const struct mapping *found = bsearch(&scalar, table, count, sizeof table[0], compare_mapping);
    struct scalars result = {{scalar}, 1};
    if (found == NULL)
        return result;
    for (result.count = 0; result.count < 3 && found->to[result.count] != 0; result.count++)
        result.values[result.count] = found->to[result.count];
    return result;
}

struct scalars scalar_lower(uint32_t scalar) {
    if (scalar < 0x80) {
        struct scalars result = {{scalar >= 'A' && scalar <= 'Z' ? scalar + 0x20 : scalar}, 1};
        return result;
    }
    return mapped(scalar, lower, COUNT(lower));
}

/// The syllables of Korean are made of letters by a rule.
static struct scalars hangul(uint32_t syllable) {
    uint32_t index = syllable - 0xAC00;
    struct scalars result = {{0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28}, 3};
    if (index % 28 == 0)
        result.count = 2;
    return result;
}

struct scalars scalar_plain(uint32_t scalar) {
    if (scalar < 0x80) {
        struct scalars result = {{scalar}, 1};
        return result;
    }
    if (scalar >= 0xAC00 && scalar < 0xD7A4)
        return hangul(scalar);
    return mapped(scalar, plain, COUNT(plain));
}

static int compare_composition(const void *key, const void *element) {
    const struct composition *wanted = key, *found = element;
    if (wanted->letter != found->letter)
        return wanted->letter < found->letter ? -1 : 1;
    return wanted->accent < found->accent ? -1 : wanted->accent > found->accent;
}

uint32_t scalar_composed(uint32_t letter, uint32_t accent) {
    if (letter > UINT16_MAX || accent < 0x300 || accent >= 0x370)
        return 0;
    struct composition key = {(uint16_t)letter, (uint16_t)accent, 0};
    const struct composition *found =
        bsearch(&key, compositions, COUNT(compositions), sizeof key, compare_composition);
    return found == NULL ? 0 : found->composed;
}
