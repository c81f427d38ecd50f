/* Listener: hears a stream's events for a test, and follows a live query's result. */
#ifndef LISTENER_H
#define LISTENER_H

#include "support.h"

typedef struct listener {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    json_t *events; /* their values, in order, and each commit by itself */
    json_t *result; /* of a live query, as followed */
    size_t calls, lost, ended, freed;
    hf_status end;
    bool is_held; /* while it is, a callback does not return */
    /* Called in each callback, behind everything else. */
    void (*inside)(struct listener *l, const hf_event *event);
    void *hook;
    hf_stream *stream;
} listener;

void begin_listening(listener *l);
/* Frees the stream and all that was heard; the listener must have been let go exactly once if it had a
 * stream. */
void end_listening(listener *l);

/* Has no callback return, and lets them go on. */
void hold(listener *l);
void hold_no_more(listener *l);

/* As callback, and as destructor. */
void hear(const hf_event *event, void *user_data);
void let_go(void *user_data);

void observe(listener *l, hf_store *store, const char *options);
void observe_aggregation(listener *l, hf_repository *repository, const char *pipeline);
void observe_query(listener *l, hf_repository *repository, const char *filter, const char *options);

/* Waits until so many events have come, at most for half a minute. */
void wait_for_events(listener *l, size_t count);
size_t event_count(listener *l);
/* The event's value as compact JSON without what differs from run to run: positions, sequences, times and
 * versions. The caller frees it. */
char *event_text(listener *l, size_t number);
#define expect_event(l, number, expected)                                                                    \
    do {                                                                                                     \
        char *text_ = event_text(l, number);                                                                 \
        assert_string_equal(text_, expected);                                                                \
        free(text_);                                                                                         \
    } while (0)

/* Waits until the followed result equals what the query finds now, at most for half a minute. */
void expect_followed(listener *l, hf_repository *repository, const char *filter, const char *options);

/* Applies an event of a live query to a result. */
void follow_result(json_t **result, json_t *event);

/* The newest commit's, to be freed. */
char *position_of(hf_store *store);
void save_one(hf_repository *things, char id);
/* What hf_store_changes_since answers, to be let go of. */
json_t *changes_since(hf_store *store, const char *position, const char *options);

#endif
