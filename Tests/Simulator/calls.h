/*
 * Calls: what the functions have in common that stand in front of the C library's.
 */
#ifndef CALLS_H
#define CALLS_H

#include "world.h"

#include <dlfcn.h>

enum { FIRST_DESCRIPTOR = 1 << 24, THE_DIRECTORY = -1, RANDOM_BYTES = -2 };

/* The function of the C library. */
#define REAL(name)                                                                                           \
    static __typeof__(name) *real;                                                                           \
    if (real == NULL)                                                                                        \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);

/* Sets errno, and answers -1. */
int fail(int error);
/* NULL: none of the simulation's. */
descriptor *simulated(int number);
const char *name_of(int file);

/* What every call on files begins with: others may run, the power may go, time passes. */
void begin(void);
/* Whether the process is to die in the middle of this call. */
bool is_last(void);
/* As begin, for a call that changes nothing, or all at once: it may fail, `weight` tells how easily, and the
 * process may die before or after it. 0, or an errno. */
int enter(const char *what, const char *name, uint32_t weight, int error);
int leave(int result);

/* A failing disk fails at writing and syncing first of all. */
enum { SELDOM = 100, OFTEN = 1000, MOST_OFTEN = 5000 };
int write_error(void);

#endif
