/* Many live queries at once. */
#include "growth.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void count_event(const hf_event *event, void *count) {
    (void)event;
    atomic_fetch_add((atomic_int *)count, 1);
}

static atomic_int told;

static void wait_until_told(int count) {
    while (atomic_load(&told) < count)
        usleep(1000);
}

/* Each of a value of its own, which no entity has. */
void live_queries(void) {
    few_entities();
    for (int i = 0; i < size; i++) {
        char filter[64];
        hf_stream *stream;
        snprintf(filter, sizeof filter, "{\"n\":%d}", 1000000 + i);
        must(hf_stream_open_query(things, filter, HF_NTS, NULL, count_event, &told, NULL, &stream, &error));
    }
    wait_until_told(size);
}

/* Each over a range of its own, in which all entities are. */
void open_and_close_live_queries(void) {
    hf_stream **streams = malloc(size * sizeof *streams);
    for (int i = 0; i < size; i++) {
        char filter[64];
        snprintf(filter, sizeof filter, "{\"n\":{\"$gt\":%d}}", -1 - i);
        must(hf_stream_open_query(things, filter, HF_NTS, NULL, count_event, &told, NULL, &streams[i],
                                  &error));
    }
    wait_until_told(size);
    must(hf_repository_save(things, NULL, "{\"id\":\"new\",\"n\":17}", HF_NTS, NULL, &error));
    wait_until_told(2 * size);
    for (int i = 0; i < size; i++)
        hf_stream_free(streams[i]);
    /* It is told once the others were taken out. */
    hf_stream *last;
    must(hf_stream_open_query(things, NULL, 0, NULL, count_event, &told, NULL, &last, &error));
    wait_until_told(2 * size + 1);
    free(streams);
}
