/*
 * Measure: the clock, where a run stores, and the one way in which a program of the benchmark tells its
 * result or gives up.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>

/* A monotonic clock, in seconds; the same for every process since the machine was started. */
double seconds_now(void);

/* Whether a place is the URL of a server's database, and not a directory. */
bool is_on_server(const char *place);
/* Makes the directory of a run, which must not be there yet. A server's database is there. */
void make_place(const char *place);

/* The memory of this process: how much it has now, and the most that it has had since it was asked for that.
 */
double megabytes_now(void);
double megabytes_at_most(void);

/* What the files of a directory take on the disk. */
double megabytes_in(const char *directory);

/* Prints the result as one line of JSON, with the time at which it is printed. `repeated`: how often work had
 * to be done again, for a conflict. `megabytes`: what the work added to the process's memory, where that is
 * measured. */
void report(size_t operations, double seconds, size_t repeated, double megabytes);

/* Prints what failed and why, and exits: a run that did not do its whole work has no result. */
void fail(const char *what, const char *why) __attribute__((noreturn));

/* For a call of the library, which gets the `error` of the program. */
#define REQUIRE(call)                                                                                        \
    do {                                                                                                     \
        if ((call) != HF_OK)                                                                                 \
            fail(#call, hf_error_message(error));                                                            \
    } while (0)

/* Reports the time at this rank, between 0 and 1, of so many, which it sorts. */
void report_time(double *times, size_t count, double rank);
/* Reports so many operations in so many seconds, and of their times, which it sorts, the ranks "0.5", "0.99"
 * and "0.999". */
void report_times(double *times, size_t count, double seconds);

#endif
