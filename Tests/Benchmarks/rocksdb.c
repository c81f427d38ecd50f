/*
 * RocksDB: what its wiki recommends to start with ("Setup Options and Basic Tuning"), one cache for all
 * threads, and its defaults: among them that threads which commit at the same time share a sync.
 */
#include "engine.h"
#include "measure.h"

#include <rocksdb/c.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_CACHE = 64 << 20 };

typedef struct store {
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *writing;
    rocksdb_readoptions_t *reading;
} store;

/* A database may be used from all threads. */
typedef struct session {
    store *store;
    char *body;
    size_t capacity;
} session;

static void require(const char *error, const char *what) {
    if (error != NULL)
        fail(what, error);
}

static void set_options(store *opened, caching cache) {
    rocksdb_options_t *options = opened->options;
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_max_background_jobs(options, 6);
    rocksdb_options_set_bytes_per_sync(options, 1 << 20);
    opened->cache = rocksdb_cache_create_lru(cache == CACHED_LARGE ? LARGE_CACHE : USUAL_CACHE);
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, opened->cache);
    rocksdb_block_based_options_set_block_size(table, 16 << 10);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
}

static void *store_open(const char *directory, bool is_durable, caching cache) {
    store *opened = calloc(1, sizeof *opened);
    char *error = NULL;
    opened->options = rocksdb_options_create();
    set_options(opened, cache);
    opened->reading = rocksdb_readoptions_create();
    opened->writing = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(opened->writing, is_durable);
    opened->database = rocksdb_open(opened->options, directory, &error);
    require(error, "rocksdb_open");
    return opened;
}

static void store_close(void *opaque) {
    store *opened = opaque;
    rocksdb_close(opened->database);
    rocksdb_writeoptions_destroy(opened->writing);
    rocksdb_readoptions_destroy(opened->reading);
    rocksdb_options_destroy(opened->options);
    rocksdb_cache_destroy(opened->cache);
    free(opened);
}

static void *session_open(void *opened) {
    session *s = calloc(1, sizeof *s);
    s->store = opened;
    return s;
}

static void session_close(void *opaque) {
    session *s = opaque;
    free(s->body);
    free(s);
}

static void save(void *opaque, const document *d) {
    store *opened = ((session *)opaque)->store;
    char *error = NULL;
    rocksdb_put(opened->database, opened->writing, d->id, d->id_length, d->body, d->length, &error);
    require(error, "rocksdb_put");
}

static void add_many(void *opaque, const document *d, size_t count) {
    store *opened = ((session *)opaque)->store;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    char *error = NULL;
    for (size_t i = 0; i < count; i++)
        rocksdb_writebatch_put(batch, d[i].id, d[i].id_length, d[i].body, d[i].length);
    rocksdb_write(opened->database, opened->writing, batch, &error);
    require(error, "rocksdb_write");
    rocksdb_writebatch_destroy(batch);
}

static size_t fetch(void *opaque, const document *d, const char **out_body) {
    session *s = opaque;
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned(s->store->database, s->store->reading, d->id, d->id_length, &error);
    require(error, "rocksdb_get_pinned");
    size_t length = 0;
    const char *body = pinned == NULL ? NULL : rocksdb_pinnableslice_value(pinned, &length);
    if (body == NULL)
        fail("rocksdb_get_pinned", "a document that is not there");
    if (length > s->capacity) {
        s->capacity = length;
        s->body = realloc(s->body, length);
        if (s->body == NULL)
            fail("document", "no memory");
    }
    memcpy(s->body, body, length);
    rocksdb_pinnableslice_destroy(pinned);
    *out_body = s->body;
    return length;
}

static size_t range(void *opaque, const document *first, size_t count) {
    store *opened = ((session *)opaque)->store;
    rocksdb_iterator_t *iterator = rocksdb_create_iterator(opened->database, opened->reading);
    char *error = NULL;
    size_t found = 0, bytes = 0;
    for (rocksdb_iter_seek(iterator, first->id, first->id_length);
         found < count && rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator), found++) {
        size_t length;
        bytes += rocksdb_iter_value(iterator, &length) == NULL ? 0 : length;
    }
    rocksdb_iter_get_error(iterator, &error);
    require(error, "rocksdb_iter_next");
    if (bytes < found)
        fail("rocksdb_iter_next", "empty documents");
    rocksdb_iter_destroy(iterator);
    return found;
}

const engine this_engine = {
    WHAT_ALL_CAN,
    .add_many = add_many,
    .fetch = fetch,
    .range = range,
};
