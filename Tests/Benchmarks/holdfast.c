/*
 * Holdfast, through its header alone.
 */
#include "engine.h"
#include "measure.h"

#include <holdfast.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct session {
    hf_store *store;
    hf_repository *documents;
    hf_entity entity;

    size_t submitted;
    pthread_mutex_t lock;
    pthread_cond_t drained;
    size_t done;
    size_t awaited; /* told by drain; none before */

    char *array; /* the text of the batch at hand */
    size_t array_capacity;
} session;

/* What the body of a transaction works on. */
typedef struct incrementing {
    session *session;
    const document *document;
    size_t attempts;
} incrementing;

static void require(hf_status status, hf_error *error, const char *what) {
    if (status != HF_OK)
        fail(what, error == NULL ? hf_status_name(status) : hf_error_message(error));
}

/* What the repository is opened with. */
static const char *repository_options;

static void *store_open(const char *directory, bool is_durable, caching cache) {
    static const char *const options_by_caching[] = {
        [CACHED_LRU] = "{\"cache\":{\"max_entries\":1000000,\"time_to_live_ms\":3600000}}",
        [CACHED_FIFO] =
            "{\"cache\":{\"strategy\":\"fifo\",\"max_entries\":1000000,\"time_to_live_ms\":3600000}}",
        [CACHED_FEW] = "{\"cache\":{\"max_entries\":100}}",
    };
    repository_options = options_by_caching[cache];
    char path[4096], options[128];
    hf_store *store = NULL;
    hf_error *error = NULL;
    snprintf(path, sizeof path, is_on_server(directory) ? "%s" : "%s/holdfast.db", directory);
    char large[32];
    snprintf(large, sizeof large, ",\"cache_bytes\":%d", LARGE_CACHE);
    const char *more = cache == NO_CACHE       ? ",\"cache_bytes\":0"
                       : cache == CACHED_LARGE ? large
                       : cache == CACHED_STALE ? ",\"max_staleness_ms\":100"
                                               : "";
    snprintf(options, sizeof options, "{\"max_in_flight\":%d,\"durability\":\"%s\"%s}", IN_FLIGHT,
             is_durable ? "full" : "relaxed", more);
    require(hf_store_open(path, options, &store, &error), error, "hf_store_open");
    return store;
}

static void store_close(void *store) { hf_store_free(store); }

static void *session_open(void *store) {
    session *s = calloc(1, sizeof *s);
    hf_error *error = NULL;
    s->store = store;
    s->awaited = SIZE_MAX;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->drained, NULL);
    require(hf_repository_open(store, "documents", repository_options, &s->documents, &error), error,
            "hf_repository_open");
    return s;
}

static void session_close(void *opaque) {
    session *s = opaque;
    hf_repository_free(s->documents);
    hf_entity_free(&s->entity);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->drained);
    free(s->array);
    free(s);
}

/* --- Writing ------------------------------------------------------------------------------------ */

static void save(void *opaque, const document *d) {
    session *s = opaque;
    hf_error *error = NULL;
    require(hf_repository_save(s->documents, NULL, d->body, d->length, NULL, &error), error,
            "hf_repository_save");
}

/* The documents as a JSON array. */
static size_t write_array(session *s, const document *d, size_t count) {
    size_t length = 1;
    for (size_t i = 0; i < count; i++)
        length += d[i].length + 1;
    if (length > s->array_capacity) {
        s->array_capacity = length;
        s->array = realloc(s->array, length);
        if (s->array == NULL)
            fail("batch", "no memory");
    }
    char *end = s->array;
    for (size_t i = 0; i < count; i++) {
        *end++ = i == 0 ? '[' : ',';
        memcpy(end, d[i].body, d[i].length);
        end += d[i].length;
    }
    *end = ']';
    return length;
}

static void add_many(void *opaque, const document *d, size_t count) {
    session *s = opaque;
    hf_error *error = NULL;
    size_t length = write_array(s, d, count);
    require(hf_repository_add_many(s->documents, NULL, s->array, length, NULL, &error), error,
            "hf_repository_add_many");
}

static void on_done(const hf_event *event, void *user_data) {
    session *s = user_data;
    require(event->status, event->error, "a submitted commit");
    pthread_mutex_lock(&s->lock);
    s->done++;
    if (s->done == s->awaited)
        pthread_cond_signal(&s->drained);
    pthread_mutex_unlock(&s->lock);
}

static void submit(void *opaque, const document *d, size_t count) {
    session *s = opaque;
    hf_transaction *transaction = NULL;
    hf_error *error = NULL;
    require(hf_transaction_begin(s->store, NULL, &transaction, &error), error, "hf_transaction_begin");
    if (count == 1) {
        require(hf_repository_save(s->documents, transaction, d->body, d->length, NULL, &error), error,
                "hf_repository_save");
    } else {
        size_t length = write_array(s, d, count);
        require(hf_repository_save_many(s->documents, transaction, s->array, length, NULL, &error), error,
                "hf_repository_save_many");
    }
    require(hf_transaction_submit(transaction, on_done, s, NULL, &error), error, "hf_transaction_submit");
    hf_transaction_free(transaction);
    s->submitted++;
}

static void drain(void *opaque) {
    session *s = opaque;
    pthread_mutex_lock(&s->lock);
    s->awaited = s->submitted;
    while (s->done < s->awaited)
        pthread_cond_wait(&s->drained, &s->lock);
    s->awaited = SIZE_MAX;
    pthread_mutex_unlock(&s->lock);
}

static hf_status add_one(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)out_error;
    static const char name[] = "\"installed_size\":";
    incrementing *i = user_data;
    hf_entity *entity = &i->session->entity;
    const document *d = i->document;
    char patch[64];
    i->attempts++;
    hf_status status =
        hf_repository_fetch(i->session->documents, transaction, d->id, d->id_length, entity, NULL);
    if (status != HF_OK)
        return status;
    const char *number = memmem(entity->data, entity->length, name, strlen(name));
    if (number == NULL)
        fail("document", "no installed_size");
    snprintf(patch, sizeof patch, "{\"installed_size\":%lld}", strtoll(number + strlen(name), NULL, 10) + 1);
    return hf_repository_patch(i->session->documents, transaction, d->id, d->id_length, patch, HF_NTS, 0,
                               NULL, NULL);
}

static size_t increment(void *opaque, const document *d) {
    incrementing i = {opaque, d, 0};
    hf_error *error = NULL;
    require(hf_store_transact(i.session->store, add_one, &i, NULL, NULL, &error), error, "hf_store_transact");
    return i.attempts - 1;
}

/* --- Reading ------------------------------------------------------------------------------------ */

static size_t fetch(void *opaque, const document *d, const char **out_body) {
    session *s = opaque;
    hf_error *error = NULL;
    require(hf_repository_fetch(s->documents, NULL, d->id, d->id_length, &s->entity, &error), error,
            "hf_repository_fetch");
    *out_body = s->entity.data;
    return s->entity.length;
}

static size_t range(void *opaque, const document *first, size_t count) {
    session *s = opaque;
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    char filter[128], options[64];
    snprintf(filter, sizeof filter, "{\"id\":{\"$gte\":\"%.*s\"}}", (int)first->id_length, first->id);
    snprintf(options, sizeof options, "{\"limit\":%zu}", count);
    require(hf_repository_find(s->documents, NULL, filter, HF_NTS, options, &found, &error), error,
            "hf_repository_find");
    size_t bytes = 0;
    for (size_t i = 0; i < found.count; i++)
        bytes += found.items[i].length;
    size_t visited = found.count;
    if (bytes < visited)
        fail("hf_repository_find", "empty documents");
    hf_entity_list_free(&found);
    return visited;
}

static size_t scan(void *opaque, const char *section) {
    session *s = opaque;
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    char filter[128];
    snprintf(filter, sizeof filter, "{\"section\":\"%s\"}", section);
    require(hf_repository_find(s->documents, NULL, filter, HF_NTS, NULL, &found, &error), error,
            "hf_repository_find");
    size_t count = found.count;
    hf_entity_list_free(&found);
    return count;
}

/* What matches, in the batches of a cursor. */
static size_t visit(session *s, const char *filter) {
    hf_entity_list batch = HF_ENTITY_LIST_INIT;
    hf_cursor *cursor = NULL;
    hf_error *error = NULL;
    size_t count = 0, bytes = 0;
    require(hf_cursor_open(s->documents, NULL, filter, HF_NTS, NULL, &cursor, &error), error,
            "hf_cursor_open");
    do {
        require(hf_cursor_next(cursor, 0, &batch, &error), error, "hf_cursor_next");
        count += batch.count;
        for (size_t i = 0; i < batch.count; i++)
            bytes += batch.items[i].length;
    } while (batch.count > 0);
    if (bytes < count)
        fail("hf_cursor_next", "empty documents");
    hf_entity_list_free(&batch);
    hf_cursor_free(cursor);
    return count;
}

static size_t find(void *session, long long low, long long high) {
    char filter[128];
    snprintf(filter, sizeof filter, "{\"installed_size\":{\"$gte\":%lld,\"$lt\":%lld}}", low, high);
    return visit(session, filter);
}

static size_t group(void *opaque, const char *member) {
    session *s = opaque;
    hf_buffer groups = HF_BUFFER_INIT;
    hf_error *error = NULL;
    char pipeline[256];
    snprintf(pipeline, sizeof pipeline,
             "[{\"$group\":{\"_id\":\"$%s\",\"size\":{\"$sum\":\"$installed_size\"}}}]", member);
    require(hf_repository_aggregate(s->documents, NULL, pipeline, HF_NTS, NULL, &groups, &error), error,
            "hf_repository_aggregate");
    size_t count = 0;
    for (const char *one = groups.data; (one = strstr(one, "\"_id\":")) != NULL; one++)
        count++;
    hf_buffer_free(&groups);
    return count;
}

static size_t stream(void *session) { return visit(session, NULL); }

/* --- Indexes ------------------------------------------------------------------------------------ */

static void create_index(void *opaque, const char *member) {
    session *s = opaque;
    hf_error *error = NULL;
    char options[128];
    snprintf(options, sizeof options, "{\"fields\":{\"%s\":1}}", member);
    require(hf_repository_create_index(s->documents, options, NULL, NULL, &error), error,
            "hf_repository_create_index");
}

static void drop_index(void *opaque, const char *member) {
    session *s = opaque;
    hf_error *error = NULL;
    require(hf_repository_drop_index(s->documents, member, &error), error, "hf_repository_drop_index");
}

static void create_text_index(void *opaque) {
    session *s = opaque;
    hf_error *error = NULL;
    static const char options[] =
        "{\"kind\":\"text\",\"fields\":{\"description\":1},\"language\":\"porter\",\"name\":\"texts\"}";
    require(hf_repository_create_index(s->documents, options, NULL, NULL, &error), error,
            "hf_repository_create_index");
}

static void drop_text_index(void *session) { drop_index(session, "texts"); }

static size_t search(void *opaque, const char *const *words, size_t count, bool is_phrase) {
    session *s = opaque;
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    char filter[512] = "";
    const char *quote = is_phrase ? "\\\"" : "";
    size_t used = (size_t)snprintf(filter, sizeof filter, "{\"$text\":{\"$search\":\"%s", quote);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(filter + used, sizeof filter - used, "%s%s", i == 0 ? "" : " ", words[i]);
    snprintf(filter + used, sizeof filter - used, "%s\"}}", quote);
    require(hf_repository_find(s->documents, NULL, filter, HF_NTS,
                               "{\"sort\":{\"score\":{\"$meta\":\"textScore\"}},\"limit\":10}", &found,
                               &error),
            error, "hf_repository_find");
    size_t answered = found.count;
    hf_entity_list_free(&found);
    return answered;
}

const engine this_engine = {
    WHAT_ALL_CAN,
    .add_many = add_many,
    .submit = submit,
    .drain = drain,
    .fetch = fetch,
    .range = range,
    .increment = increment,
    .scan = scan,
    .create_index = create_index,
    .drop_index = drop_index,
    .find = find,
    .group = group,
    .create_text_index = create_text_index,
    .drop_text_index = drop_text_index,
    .search = search,
    .stream = stream,
};
