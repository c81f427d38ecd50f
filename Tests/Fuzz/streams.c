/*
 * Streams: whatever they are opened with, they tell of the next commit what they must, and end when freed.
 *
 * The first byte is a letter that says which text the rest is: options of a stream, a live query's filter or
 * options, a position, options of a feed.
 */
#include "outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTITY "{\"id\":\"a\",\"g\":1,\"n\":{\"m\":[1,2]},\"s\":\"x\"}"

static hf_store *store;
static hf_repository *things;

static void open_all(void) {
    MUST(hf_store_open, "memory:", "{\"delivery\":\"queue\",\"log_retention\":1000}", &store);
    MUST(hf_repository_open, store, "things", NULL, &things);
}

/* Takes events until one is told, at most for two seconds; answers whether it came. */
static bool take_one(void) {
    hf_event event;
    int32_t count = hf_store_events(store, &event, 1, 2000);
    if (count != 1)
        return false;
    if (event.kind == HF_EVENT_CHANGES && event.status == HF_OK) {
        json_t *value = parse_json(event.value.data, event.value.length);
        if (!json_is_string(json_object_get(value, "position")))
            fail("an event without a position: %s", event.value.data);
        json_decref(value);
    }
    hf_events_free(&event, 1);
    return true;
}

static void commit_something(void) {
    MUST(hf_repository_save, things, NULL, ENTITY, HF_NTS, NULL);
    MUST(hf_repository_delete, things, NULL, "a", HF_NTS, 0);
}

static void end(hf_stream *stream) {
    hf_stream_free(stream);
    hf_event event;
    if (hf_store_events(store, &event, 1, 0) > 0)
        fail("%s", "an event came from a stream that was freed");
}

static void try_options(const char *text, size_t length) {
    (void)length;
    hf_stream *stream = NULL;
    if (CALL(hf_stream_open, store, text, NULL, NULL, NULL, &stream) != HF_OK)
        return;
    commit_something();
    end(stream);
}

/* What the query finds it tells first. */
static void query(const char *filter, size_t length, const char *options) {
    hf_stream *stream = NULL;
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    hf_status status = CALL(hf_stream_open_query, things, filter, length, options, NULL, NULL, NULL, &stream);
    hf_status finding = CALL(hf_repository_find, things, NULL, filter, length, options, &found);
    hf_entity_list_free(&found);
    if (status != finding)
        fail("finding answers %s, following %s", hf_status_name(finding), hf_status_name(status));
    if (status != HF_OK)
        return;
    if (!take_one())
        fail("%s", "a live query has told no result");
    commit_something();
    end(stream);
}

static void try_filter(const char *text, size_t length) { query(text, length, NULL); }

static void try_query_options(const char *text, size_t length) {
    (void)length;
    query(NULL, 0, text);
}

static void feed(const char *position, const char *options) {
    hf_buffer changes = HF_BUFFER_INIT;
    if (CALL(hf_store_changes_since, store, position, options, &changes) == HF_OK)
        json_decref(parse_json(changes.data, changes.length));
    hf_buffer_free(&changes);
}

static void try_position(const char *text, size_t length) {
    (void)length;
    feed(text, NULL);
    hf_stream *stream = NULL;
    if (CALL(hf_stream_open, store, "{\"durable\":\"fuzz\"}", NULL, NULL, NULL, &stream) != HF_OK) {
        /* What was acknowledged last is no longer in the log. */
        hf_buffer newest = HF_BUFFER_INIT;
        MUST(hf_store_position, store, &newest);
        char options[128];
        snprintf(options, sizeof options, "{\"durable\":\"fuzz\",\"since\":\"%s\"}", newest.data);
        hf_buffer_free(&newest);
        MUST(hf_stream_open, store, options, NULL, NULL, NULL, &stream);
    }
    CALL(hf_stream_acknowledge, stream, text);
    end(stream);
}

static void try_feed_options(const char *text, size_t length) {
    (void)length;
    feed(NULL, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        char letter;
        void (*try)(const char *text, size_t length);
    } kinds[] = {
        {'s', try_options},  {'q', try_filter},       {'l', try_query_options},
        {'p', try_position}, {'f', try_feed_options},
    };
    if (size == 0)
        return 0;
    if (store == NULL)
        open_all();
    /* Closed with NUL, and exactly as long, so that reading behind it is noticed. */
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].letter == data[0])
            kinds[i].try(text, strlen(text));
    }
    free(text);
    return 0;
}
