/*
 * Documents: what every engine stores, in one random order that is the same in every run.
 */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct document {
    const char *id; /* points into the body, not closed with NUL */
    size_t id_length;
    const char *body; /* not closed with NUL */
    size_t length;
} document;

typedef struct documents {
    document *items;
    size_t count;
    char *text;
} documents;

/* Reads a file of JSON objects, one a line, each beginning with its id, and shuffles them. */
documents documents_load(const char *path);
void documents_free(documents *d);

/* A pseudo-random number; *state must not be 0. The same state gives the same numbers. */
uint64_t random_next(uint64_t *state);

#endif
