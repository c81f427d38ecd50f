/*
 * Ledger: the load of the torture programs, made so that a glance at the store tells what was lost.
 *
 * Transaction n adds the entity "t-<n>" and sets each of three slots to n. So a store that kept everything up
 * to m holds exactly t-1 … t-m, and each slot says m; anything else is a loss, a half transaction, or a
 * transaction without one before it.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <holdfast.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ledger {
    hf_store *store;
    hf_repository *entries;
    hf_repository *slots;
} ledger;

/* What a store may hold. */
typedef struct expectation {
    uint32_t at_least;      /* the last transaction known to be durable */
    uint32_t at_most;       /* the last transaction that was begun */
    uint64_t last_sequence; /* the greatest that was told to anybody */
} expectation;

/* Opens the store and its repositories. The status, with *out_error as the library gives it. */
hf_status ledger_open(ledger *l, const char *path, const char *options, hf_error **out_error);
void ledger_close(ledger *l);

/* Transaction n, its entries padded by so many bytes. */
hf_status ledger_begin(ledger *l, uint32_t n, size_t padding, bool is_durable, hf_transaction **out,
                       hf_error **out_error);
hf_status ledger_commit(ledger *l, uint32_t n, size_t padding, bool is_durable, uint64_t *out_sequence,
                        hf_error **out_error);
/* The sequence in a receipt. */
uint64_t ledger_sequence(const char *receipt);

/* Opens the store and compares; commits once more, to see which sequence is next. *out_last receives the last
 * transaction there. False, with the reason printed, when the store is not as it must be. */
bool ledger_verify(const char *path, const expectation *e, bool check_integrity, uint32_t *out_last);

/* Writes the name of a new folder in this one; ends the program where there can be none. */
void make_directory(char *name, const char *inside);

/* A directory for files, in memory where the system has that; `name` receives its path (64 bytes). */
void ledger_directory(char *name);
/* Removes the store's files, and the directory if asked. */
void ledger_remove(const char *directory, bool with_directory);

#endif
