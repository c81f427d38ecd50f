#include "CHoldfastWords.h"

#include <libstemmer.h>
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
    const uint8_t *stem = folded;
    if (accents_first) {
        count = leave_accents(folded, count, plain);
        stem = plain;
    }
    if (stemmer != NULL) {
        stem = sb_stemmer_stem(stemmer, stem, (int)count);
        if (stem == NULL)
            return -1;
        count = (size_t)sb_stemmer_length(stemmer);
    }
    return (ptrdiff_t)leave_accents(stem, count, term);
}
