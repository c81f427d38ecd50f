/*
 * Operations: what a store does, each as a deed and a look at whether it is done, for programs that break it
 * off.
 */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "oracle.h"

/* What the store has before each, and how many an operation of several concerns. */
enum { ENTITIES = 60, OTHERS = 5, MEMBERS = 40 };

/* Where the files are. */
typedef struct place {
    char store[96], other[96], backup[96], copy[96];
} place;
extern place files;

/* Shared by the processes of a run. */
typedef struct outcome {
    hf_status status; /* of the operation that met the fault */
    hf_commit_state state;
    bool has_answered;
    bool is_again_done; /* it was done, once the fault was gone */
    bool is_committed;  /* and so was one more commit */
    long count;
    int wrong;
    char met[256];
    char message[512];
} outcome;
extern outcome *board;

typedef struct room {
    hf_store *store;
    hf_repository *things;
} room;

hf_status enter(room *r, const char *at, hf_error **error);
void leave(room *r);
/* A call that nothing stands in the way of; it names `error`. */
void must(const char *doing, hf_status status, hf_error **error);
/* A repository beside the things, with an index and as many entities as an operation concerns. */
void make_scratch(room *r);
hf_status save_many(room *r, const char *prefix, int count, size_t padding, hf_error **error);
/* How many entities have an id that begins so. */
long count_of(room *r, const char *prefix);
/* Whether the store is sound and has so many of the entities that it had before. */
bool is_whole(const char *at, long entities);

typedef enum progress { NOT_DONE, DONE, HALF } progress;
progress all_or_nothing(long count, long all);

typedef struct operation {
    const char *name;
    /* Where it begins; it opens what is not open. */
    enum { AT_AN_OPEN_STORE, AT_A_CLOSED_STORE, AT_NO_STORE } place;
    hf_status (*act)(room *r, hf_error **error);
    progress (*look)(room *r); /* NULL where it changes nothing that a store shows */
} operation;

extern const operation operations[];
extern const size_t operation_count;

/* Those that are looked at in a way of their own. */
hf_status create_it(room *r, hf_error **error);
hf_status open_it(room *r, hf_error **error);
hf_status close_it(room *r, hf_error **error);
hf_status delete_all(room *r, hf_error **error);
hf_status restore_over(room *r, hf_error **error);
hf_status restore_over_by_name(room *r, hf_error **error);

#endif
