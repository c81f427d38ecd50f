/*
 * Seeds: what one makes happen, in rounds of processes that use the store, each of which is checked.
 */
#ifndef SEEDS_H
#define SEEDS_H

#include "history.h"

enum { PATIENCE = 120 /* seconds */ };

/* What a seed answers, through a pipe. */
typedef struct summary {
    uint64_t trace;
    counts counted;
    int faults;
    char text[FAULTS][512];
    char limits[1024];
} summary;

/* In a process of its own. */
void run_seed(uint64_t seed, weakness weakness, summary *out);

#endif
