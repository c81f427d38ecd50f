#include "CHoldfastWords.h"

#include "scalars.h"

static bool is_letter(uint8_t class) { return class == LETTER || class == HEBREW_LETTER; }

static bool is_ignored(uint8_t class) { return class == EXTEND || class == FORMAT || class == ZWJ; }

/// Rules 5, 8 to 10, 13, 13a and 13b: no boundary between these, whatever follows.
static bool joins(uint8_t before, uint8_t after) {
    if (after == EXTEND_NUMBER_LETTER)
        return is_letter(before) || before == NUMERIC || before == KATAKANA || before == EXTEND_NUMBER_LETTER;
    if (is_letter(after) || after == NUMERIC)
        return is_letter(before) || before == NUMERIC || before == EXTEND_NUMBER_LETTER;
    return after == KATAKANA && (before == KATAKANA || before == EXTEND_NUMBER_LETTER);
}

/// Rules 6, 7, 7b, 7c, 11 and 12: no boundary at what stands between these two.
static bool bridges(uint8_t before, uint8_t middle, uint8_t after) {
    if (is_letter(before) && is_letter(after) &&
        (middle == MID_LETTER || middle == MID_NUMBER_LETTER || middle == SINGLE_QUOTE))
        return true;
    if (before == HEBREW_LETTER && middle == DOUBLE_QUOTE && after == HEBREW_LETTER)
        return true;
    return before == NUMERIC && after == NUMERIC &&
           (middle == MID_NUMBER || middle == MID_NUMBER_LETTER || middle == SINGLE_QUOTE);
}

/// Whether it depends on what follows if there is a boundary between the two.
static bool may_bridge(uint8_t before, uint8_t middle) { return bridges(before, middle, before); }

static bool is_ascii_letter(uint8_t byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

/// The segment that begins at `position`: answers its end, and from where to go on, which is behind it where
/// what lies between has no letter. So nothing is looked at again, however often a text seems about to go on.
static size_t segment(const uint8_t *text, size_t length, size_t position, size_t *next, bool *is_word) {
    struct scalar scalar = scalar_at(text, length, position);
    uint8_t before = scalar.class, middle = OTHER;
    bool is_joiner = before == ZWJ;
    // Where the segment ends unless it goes on behind what is between letters or digits; 0: it is not known
    // to end.
    size_t end = 0;
    *is_word = scalar.is_letter && !is_ignored(scalar.class);
    for (position += scalar.length; position < length; position += scalar.length) {
        // Within a word, which most texts have most of.
        if (before == LETTER && end == 0 && is_ascii_letter(text[position])) {
            scalar.length = 1;
            is_joiner = false;
            *is_word = true;
            continue;
        }
        scalar = scalar_at(text, length, position);
        if (is_ignored(scalar.class)) {
            if (before == LINE_BREAK)
                break;
            is_joiner = scalar.class == ZWJ;
            // Rule 7a: of a quote behind a Hebrew letter there is no boundary before it, so that its marks
            // are in, too.
            if (end != 0 && before == HEBREW_LETTER && middle == SINGLE_QUOTE)
                end = position + scalar.length;
            continue;
        }
        if (end != 0) {
            if (!bridges(before, middle, scalar.class)) {
                // Rule 3c: then what is between is one with the pictograph behind it, which may be a letter.
                if (is_joiner && scalar.is_pictograph)
                    position = end;
                break;
            }
            end = 0;
        } else if (may_bridge(before, scalar.class)) {
            middle = scalar.class;
            end = before == HEBREW_LETTER && middle == SINGLE_QUOTE ? position + scalar.length : position;
            is_joiner = false;
            continue;
        } else if (!joins(before, scalar.class) && !(is_joiner && scalar.is_pictograph)) {
            break;
        }
        before = scalar.class;
        is_joiner = false;
        *is_word = *is_word || scalar.is_letter;
    }
    *next = position;
    return end != 0 ? end : position;
}

bool hfwords_next(const uint8_t *text, size_t length, size_t *position, size_t *start, size_t *end) {
    while (*position < length) {
        // Behind a space stands nothing that it goes together with.
        if (text[*position] == ' ' && *position + 1 < length && text[*position + 1] < 0x80) {
            ++*position;
            continue;
        }
        bool is_word;
        *start = *position;
        *end = segment(text, length, *start, position, &is_word);
        if (is_word)
            return true;
    }
    return false;
}
