#include "CHoldfastWords.h"

#include <libstemmer.h>
#include <stdlib.h>
#include <string.h>

#include "scalars.h"

struct sb_stemmer *hfwords_stemmer(const char *language) {
    return sb_stemmer_new(language, "UTF_8");
}

void hfwords_stemmer_free(struct sb_stemmer *stemmer) { sb_stemmer_delete(stemmer); }

static bool append(uint32_t scalar, uint8_t *term, size_t *length) {
    size_t before = *length;
    *length = scalar_append(scalar, term, before, HFWORDS_TERM_BYTES);
    return *length > before;
}

/// Folds the case. Accents that are written behind their letters are made one with them, as stemmers know
/// them.
static size_t fold_case(const uint8_t *word, size_t length, uint8_t *folded) {
    size_t count = 0, last_start = 0;
    uint32_t last = 0;
    uint8_t taken;
    for (size_t position = 0; position < length; position += taken) {
        // Most words have but these, which are no accents.
        if (word[position] < 0x80) {
            taken = 1;
            if (count == HFWORDS_TERM_BYTES)
                return count;
            last = word[position] >= 'A' && word[position] <= 'Z' ? word[position] | 0x20U : word[position];
            last_start = count;
            folded[count++] = (uint8_t)last;
            continue;
        }
        struct scalars lower = scalar_lower(scalar_decode(word, length, position, &taken));
        for (unsigned i = 0; i < lower.count; i++) {
            uint32_t composed = last == 0 ? 0 : scalar_composed(last, lower.values[i]);
            if (composed != 0)
                count = last_start;
            last = composed != 0 ? composed : lower.values[i];
            last_start = count;
            if (!append(last, folded, &count))
                return count;
        }
    }
    return count;
}

static size_t leave_accents(const uint8_t *word, size_t length, uint8_t *term) {
    size_t count = 0;
    uint8_t taken;
    for (size_t position = 0; position < length; position += taken) {
        if (word[position] < 0x80) {
            taken = 1;
            if (count == HFWORDS_TERM_BYTES)
                return count;
            term[count++] = word[position];
            continue;
        }
        struct scalars plain = scalar_plain(scalar_decode(word, length, position, &taken));
        for (unsigned i = 0; i < plain.count; i++)
            if (!append(plain.values[i], term, &count))
                return count;
    }
    return count;
}

ptrdiff_t hfwords_term(const uint8_t *word, size_t length, struct sb_stemmer *stemmer, bool accents_first,
                       uint8_t *term) {
    uint8_t folded[HFWORDS_TERM_BYTES], plain[HFWORDS_TERM_BYTES];
    size_t count = fold_case(word, length, folded);
    const uint8_t *whole = folded;
    if (accents_first) {
        count = leave_accents(folded, count, plain);
        whole = plain;
    }
    if (stemmer != NULL) {
        const uint8_t *stem = sb_stemmer_stem(stemmer, whole, (int)count);
        if (stem == NULL)
            return -1;
        size_t stem_count = leave_accents(stem, (size_t)sb_stemmer_length(stemmer), term);
        // Some stemmers leave nothing of a word that is but an ending, as Porter's of "s".
        if (stem_count > 0)
            return (ptrdiff_t)stem_count;
    }
    size_t term_count = leave_accents(whole, count, term);
    if (term_count == 0 && count > 0) {
        memcpy(term, whole, count);
        term_count = count;
    }
    return (ptrdiff_t)term_count;
}

// --- Words that were met before
// ------------------------------------------------------------------------------------------------------

enum { MEMORY_PLACES = 2048, MEMORY_BYTES = 31 };

struct known_word {
    uint8_t length, term_length;
    uint8_t word[MEMORY_BYTES], term[MEMORY_BYTES];
};

struct hfwords_memory {
    struct known_word places[MEMORY_PLACES];
};

struct hfwords_memory *hfwords_memory_create(void) {
    return calloc(1, sizeof(struct hfwords_memory));
}

void hfwords_memory_free(struct hfwords_memory *memory) { free(memory); }

static struct known_word *place_of(struct hfwords_memory *memory, const uint8_t *word, size_t length) {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ word[i]) * 16777619U;
    return &memory->places[(hash ^ hash >> 15) % MEMORY_PLACES];
}

ptrdiff_t hfwords_known_term(struct hfwords_memory *memory, const uint8_t *word, size_t length,
                             struct sb_stemmer *stemmer, bool accents_first, uint8_t *term) {
    if (length > MEMORY_BYTES)
        return hfwords_term(word, length, stemmer, accents_first, term);
    struct known_word *place = place_of(memory, word, length);
    if (place->length == length && memcmp(place->word, word, length) == 0) {
        memcpy(term, place->term, place->term_length);
        return place->term_length;
    }
    ptrdiff_t count = hfwords_term(word, length, stemmer, accents_first, term);
    if (count >= 0 && count <= MEMORY_BYTES) {
        place->length = (uint8_t)length;
        place->term_length = (uint8_t)count;
        memcpy(place->word, word, length);
        memcpy(place->term, term, (size_t)count);
    }
    return count;
}
