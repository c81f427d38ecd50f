/*
 * What the tests of controllers share: a controller that keeps a diary of its actions, and looks into its
 * state.
 */
#ifndef ACTIONS_H
#define ACTIONS_H

#include "support.h"

typedef struct diary {
    pthread_mutex_t lock;
    json_t *entries; /* {"action": …, "before": the state before it} */
    atomic_int states, freed, inside;
    hf_controller *controller;
    /* Called after an action was noted, if set. */
    void (*then)(struct diary *d, const json_t *action);
    atomic_int calls_of_then;
} diary;

/* A controller of this repository, its actions noted. Freed with close_diary. */
diary *keep_diary(hf_repository *repository);
/* The same, freed by hand: waits for nothing, frees no controller. */
void free_diary(diary *d);
void close_diary(diary *d);

/* For hf_controller_create. */
void note_action(const char *action, size_t action_length, const char *state, size_t state_length,
                 void *diary);
void note_state(const hf_event *event, void *diary);
void note_freed(void *diary);

#define dispatch(d, action) expect_ok(hf_controller_dispatch, (d)->controller, action, HF_NTS)

/* A part of the state, members joined by dots, as compact JSON that the caller frees; NULL where there is
 * none. */
char *state_part(diary *d, const char *path);
void expect_part(diary *d, const char *path, const char *expected);
/* Waits until a part of the state is this. */
void await_part(diary *d, const char *path, const char *expected);
/* Waits until the elements of a request are what finding them answers. */
void await_found(diary *d, const char *token, hf_repository *repository, const char *filter,
                 const char *options);

/* How many actions of this name, and token or id, were noted; NULL for any. */
size_t noted(diary *d, const char *name, const char *reference);
/* The states of a lane, as the diary saw them, joined by blanks: "initial processing". */
void expect_lane(diary *d, const char *lane, const char *states);

#endif
