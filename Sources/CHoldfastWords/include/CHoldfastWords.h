/// The words of texts: where they begin and end by Unicode's rules (UAX 29), and the terms that text indexes
/// keep of them.
///
/// What a word's term is depends on the tables of tables.inc and on libstemmer, and indexes on disk hold
/// terms. So whoever changes either gives the entries of text indexes another number (IndexDefinition.swift).
#ifndef CHOLDFAST_WORDS_H
#define CHOLDFAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A term has at most so many bytes: of a longer word, what is behind them does not count.
#define HFWORDS_TERM_BYTES 256

struct sb_stemmer;

/// Finds the next word of a text in UTF-8, from `*position` on, which it sets behind the word. A word is a
/// segment, between two boundaries of UAX 29, with a letter or a digit in it. Answers false where there is
/// none. Takes time in proportion to the text, also over many calls, and reads nothing outside it, whatever
/// its bytes are.
bool hfwords_next(const uint8_t *text, size_t length, size_t *position, size_t *start, size_t *end);

/// Writes a word's term, at most HFWORDS_TERM_BYTES: its case is folded, its ending taken off by the stemmer
/// (NULL: kept), and its accents are left away. The stemmer comes before that, because many languages have
/// accents in their endings; of a language that has none of its own (`accents_first`) it comes behind, so
/// that a foreign word is the same with them and without. Of a word of which nothing would be left, what the
/// stemmer takes off is kept, and then the accents: a word has a term. Answers the number of bytes written,
/// or -1 where there is no memory.
ptrdiff_t hfwords_term(const uint8_t *word, size_t length, struct sb_stemmer *stemmer, bool accents_first,
                       uint8_t *term);

/// Words that were met before, with their terms, of one stemmer: most of a text are but a few words, again
/// and again. Of one thread at a time. NULL where there is no memory.
struct hfwords_memory;
struct hfwords_memory *hfwords_memory_create(void);
void hfwords_memory_free(struct hfwords_memory *memory);

/// As hfwords_term, always of the same stemmer and `accents_first`.
ptrdiff_t hfwords_known_term(struct hfwords_memory *memory, const uint8_t *word, size_t length,
                             struct sb_stemmer *stemmer, bool accents_first, uint8_t *term);

/// The stemmer for a language, by libstemmer's name or an ISO 639 code of two or three letters. NULL where
/// there is none, or no memory.
struct sb_stemmer *hfwords_stemmer(const char *language);
void hfwords_stemmer_free(struct sb_stemmer *stemmer);

#endif
