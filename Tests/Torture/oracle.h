/*
 * Oracle: what the torture programs find wrong, and what their processes see of each other.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <holdfast.h>
#include <stdbool.h>
#include <stddef.h>

/* How often this process has expected in vain. */
extern int wrong;

/* Counts and prints the sentence if it is not so. */
void expect(bool is_right, const char *sentence);

/* Ends this process at once where a call of the library has answered what it must not. */
void give_up(const char *doing, hf_status status, hf_error *error) __attribute__((noreturn));

/* What all chance of a run comes from: HOLDFAST_SEED, which drawn.sh prints, or another each time. */
unsigned seed_of_run(void);

/* Sets limits of the library that a program relies on, as HOLDFAST_LIMITS does, whatever else was drawn.
 * Before the library is asked for anything. */
void pin_limits(const char *limits);

/* Of a clock that never jumps. */
double seconds(void);

/* A block of so many bytes that every process with this path shares, zero at first; it lies in a file beside
 * the store's, until board_remove. */
void *board_map(const char *path, size_t size);
void board_remove(const char *path);

#endif
