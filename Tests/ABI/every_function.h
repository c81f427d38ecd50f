/*
 * Every function of the contract that takes a store, a repository or a transaction, in one table, so that a
 * test can call them all: with handles that are stale, foreign or inherited, or while others close and free.
 */
#ifndef EVERY_FUNCTION_H
#define EVERY_FUNCTION_H

#include <holdfast.h>

/* The handles of one call; a function uses those of its roles. */
typedef struct handles {
    hf_store *store;
    hf_repository *repository;
    hf_transaction *transaction;
} handles;

enum { STORE = 1, REPOSITORY = 2, TRANSACTION = 4 };

/* What calls answer into, for one thread, used again and again. Begins zeroed. */
typedef struct results {
    hf_entity entity;
    hf_entity_list list;
    hf_buffer buffer;
} results;

void free_results(results *r);

typedef struct function {
    const char *name;
    hf_status (*call)(handles h, results *r, hf_error **out_error);
    int roles;
    /* A bit for each status that the header allows in an answer to this call, whatever other threads do. */
    uint64_t statuses;
} function;

#define STATUS(status) (UINT64_C(1) << (status))

extern const function functions[];
extern const size_t function_count;

#endif
