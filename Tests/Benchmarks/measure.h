/*
 * Measure: the clock, and the one way in which a program of the benchmark tells its result or gives up.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stddef.h>

/* A monotonic clock, in seconds; the same for every process since the machine was started. */
double seconds_now(void);

/* Prints the result as one line of JSON. `repeated`: how often work had to be done again, for a conflict. */
void report(size_t operations, double seconds, size_t repeated);

/* Prints what failed and why, and exits: a run that did not do its whole work has no result. */
void fail(const char *what, const char *why) __attribute__((noreturn));

#endif
