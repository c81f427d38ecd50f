/*
 * A scene for tables of states (see state_table.h): a store, a transaction in some state of it, and the one
 * call that is made on it there.
 */
#ifndef SCENE_H
#define SCENE_H

#include "members.h"
#include "state_table.h"

typedef struct scene {
    hf_store *store;
    hf_repository *things;
    member tree;  /* takes part in savepoints */
    member other; /* a tree of its own, in no transaction */
    hf_transaction *t;
    uint64_t savepoint, scope;
    size_t call;
    bool is_held; /* its commit goes on when the scene lets it */
    void *context;
    char *answer;
    size_t size;
} scene;

enum { SCENE_CALLS = 15 };
extern const char *const scene_call_names[SCENE_CALLS];

/* Sets up the rest of a scene, with an entity "clock" in the store. */
void begin_scene(scene *s, room r, size_t call, char *answer, size_t size);
/* Frees everything, the store too. */
void end_scene(scene *s);

/* A transaction with a savepoint and a write after it; the same with the tree enlisted. */
void open_one(scene *s, const char *options);
void open_enlisted(scene *s, const char *options);

/* Makes the call, and notes its answer; to be done once. */
void make_call(scene *s);
void make_call_elsewhere(scene *s);
/* The transaction's, once it is settled. */
const char *state_of(const scene *s);

#endif
