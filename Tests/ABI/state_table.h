/*
 * Tables of what each call answers in each state. Of every pair of the two the state is brought about anew,
 * the call made, and its answer noted with where things stand afterwards; what a state answers is told in one
 * text, the calls grouped by their answer:
 *
 *     "OK open: fetch save; OK committed: commit submit; INVALID_STATE open: cancel retry"
 */
#ifndef STATE_TABLE_H
#define STATE_TABLE_H

#include "support.h"

typedef struct state_row {
    const char *state;
    void (*bring_about)(void *scene); /* and makes the call, when it is time */
    const char *answers;
} state_row;

typedef struct state_table {
    const char *const *calls; /* their names */
    size_t call_count;
    const state_row *rows;
    size_t row_count;
    /* Makes one call in one state; writes the answer, such as "OK open". */
    void (*run)(const state_row *row, size_t call, void *context, char *answer, size_t size);
} state_table;

/* Expects of all rows what they say, and shows those that are otherwise as they would be written here. */
void check_state_table(const state_table *table, void *context);

#endif
