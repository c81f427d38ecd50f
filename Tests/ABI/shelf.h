/* Shelf: a provider in memory for the tests of providers, that counts, fails and misbehaves as it is told. */
#ifndef SHELF_H
#define SHELF_H

#include "support.h"

enum { MOST_BOOKS = 64 };

typedef struct book {
    char repository[32], id[64], entity[256];
} book;

/* What it can do beside the four functions. */
enum { CAN_APPLY = 1, CAN_FIND = 2, CAN_TELL_CHANGES = 4, CAN_SYNC = 8, FINDS_LITERALLY = 16 };

typedef struct shelf {
    pthread_mutex_t lock; /* of what follows */
    book books[MOST_BOOKS];
    size_t count;
    uint64_t token;
    size_t writes, reads, syncs, freed;
    char filter[128];     /* that on_find was given last */
    bool finds_literally; /* on_find visits what holds the text between the filter's braces */
    size_t running, most_running;

    /* Called in each function, before it does anything, with its name; other than HF_OK is its answer. */
    hf_status (*before)(struct shelf *shelf, const char *function, hf_error **out_error);
    size_t fail_from, fail_to; /* which writes fail, counted from 1 */
    void *hook;
} shelf;

void begin_shelf(shelf *s);
void end_shelf(shelf *s);

/* Without asking the store. */
void put_book(shelf *s, const char *id, const char *entity);
/* NULL where there is none. */
const char *find_book(shelf *s, const char *id);

/* A provider whose user data is the shelf. */
hf_provider provider_of(shelf *s, int abilities);

/* A store on it with the repository "things". */
room open_shelf(shelf *s, int abilities, const char *options);
/* Both, with {"id":"a","n":1} in it. */
room begin_shelf_with_one(shelf *s);

#endif
