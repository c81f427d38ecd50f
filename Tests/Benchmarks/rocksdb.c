/*
 * RocksDB: its defaults, among them that threads which commit at the same time share a sync.
 */
#include "engine.h"
#include "measure.h"

#include <rocksdb/c.h>
#include <stdlib.h>

typedef struct store {
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *writing;
} store;

static void require(const char *error, const char *what) {
    if (error != NULL)
        fail(what, error);
}

static void *store_open(const char *directory, bool is_durable, caching cache) {
    (void)cache;
    store *opened = calloc(1, sizeof *opened);
    char *error = NULL;
    opened->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(opened->options, 1);
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
    rocksdb_options_destroy(opened->options);
    free(opened);
}

/* A database may be used from all threads. */
static void *session_open(void *opened) { return opened; }

static void session_close(void *session) { (void)session; }

static void save(void *session, const document *d) {
    store *opened = session;
    char *error = NULL;
    rocksdb_put(opened->database, opened->writing, d->id, d->id_length, d->body, d->length, &error);
    require(error, "rocksdb_put");
}

const engine this_engine = {
    WHAT_ALL_CAN,
};
