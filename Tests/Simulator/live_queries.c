/*
 * Live queries: what one shows, once nothing changes any more, is what the query finds.
 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct live_query {
    hf_stream *stream;
    char filter[64], options[128];
    hf_buffer state; /* as hf_reduce makes it */
    bool is_busy, has_ended;
};

static void reduce(live_query *live, const char *action) {
    hf_error *error = NULL;
    hf_status status = hf_reduce(action, HF_NTS, live->state.data, live->state.length, &live->state, &error);
    if (status != HF_OK)
        report("reducing %.200s answered %s: %s", action, hf_status_name(status), hf_error_message(error));
    hf_error_free(error);
}

static void take(live_query *live, const hf_event *event) {
    const char *value = event->value.data;
    const char *action = behind(value, "snapshot") != NULL ? "received" : "changed";
    size_t room = event->value.length + 80;
    char *text = malloc(room);
    snprintf(text, room, "{\"action\":\"%s\",\"token\":\"t\",\"result\":%s}", action, value);
    reduce(live, text);
    free(text);
}

static void hear(const hf_event *event, void *user_data) {
    live_query *live = user_data;
    live->is_busy = true;
    if (event->kind == HF_EVENT_CHANGES && event->status == HF_OK)
        take(live, event);
    else
        live->has_ended = true;
    live->is_busy = false;
}

void open_live_query(desk *d) {
    live_query *live = calloc(1, sizeof *live);
    static const char *const sorts[] = {"", ",\"sort\":{\"batch\":-1}", ",\"sort\":{\"batch\":1,\"id\":-1}"};
    snprintf(live->filter, sizeof live->filter, "{\"batch\":{\"$gte\":\"e%d-\"}}", told->era);
    snprintf(live->options, sizeof live->options, "{\"fields\":[\"batch\"],\"limit\":%d,\"skip\":%d%s}",
             1 + (int)draw(40), (int)draw(4), sorts[draw(3)]);
    reduce(live, "{\"action\":\"request\",\"token\":\"t\",\"request\":{}}");
    hf_error *error = NULL;
    hf_status status = hf_stream_open_query(d->things, live->filter, HF_NTS, live->options, hear, live, NULL,
                                            &live->stream, &error);
    if (look("live query", status, &error))
        d->live = live;
    else
        hf_buffer_free(&live->state), free(live);
}

/* `"name":[…]` of what is shown; NULL where there is none. To be freed. */
static char *shown(const live_query *live, const char *name) {
    const char *begin = live->state.data == NULL ? NULL : behind(live->state.data, name);
    const char *end = begin == NULL ? NULL : strchr(begin, ']');
    return end == NULL ? NULL : strndup(begin, (size_t)(end + 1 - begin));
}

/* The same of what the query finds now. */
static bool find(desk *d, const live_query *live, char *elements, char *versions, size_t room) {
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    hf_status status =
        hf_repository_find(d->things, NULL, live->filter, HF_NTS, live->options, &found, &error);
    if (!look("find", status, &error))
        return false;
    snprintf(elements, room, "%s", found.json);
    size_t length = (size_t)snprintf(versions, room, "[");
    for (size_t i = 0; i < found.count; i++)
        length += (size_t)snprintf(versions + length, room - length, "%s%llu", i > 0 ? "," : "",
                                   (unsigned long long)found.items[i].version);
    snprintf(versions + length, room - length, "]");
    hf_entity_list_free(&found);
    return true;
}

enum { ROOM = 4096, PATIENCE = 400 };

static void compare(desk *d, live_query *live) {
    char elements[ROOM], versions[ROOM], before[ROOM] = "", seen[ROOM] = "";
    int unchanged = 0;
    for (int i = 0; i < PATIENCE && !live->has_ended && the->switches < the->enough; i++) {
        if (!live->is_busy && find(d, live, elements, versions, ROOM)) {
            char *a = shown(live, "elements"), *b = shown(live, "versions");
            bool is_same = a != NULL && b != NULL && strcmp(a, elements) == 0 && strcmp(b, versions) == 0;
            if (a != NULL)
                snprintf(seen, sizeof seen, "%s", a);
            free(a), free(b);
            if (is_same) {
                told->counted.live_queries++;
                return;
            }
            unchanged = strcmp(before, versions) == 0 ? unchanged + 1 : 0;
            strcpy(before, versions);
        }
        if (unchanged >= 200) {
            report("a live query %s of %s shows %.150s, and finds %.150s", live->options, live->filter, seen,
                   elements);
            return;
        }
        usleep(100000);
    }
}

void close_live_query(desk *d) {
    live_query *live = d->live;
    if (live == NULL)
        return;
    compare(d, live);
    hf_stream_free(live->stream);
    hf_buffer_free(&live->state);
    free(live);
    d->live = NULL;
}
