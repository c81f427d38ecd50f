/*
 * LMDB: one database, a large map, its default durability; else what survives the end of the process and is
 * fastest: nothing is synced, and pages are written where they are mapped. One thread at a time can write, by
 * LMDB's own lock.
 */
#include "engine.h"
#include "measure.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

typedef struct store {
    MDB_env *environment;
    MDB_dbi documents;
} store;

typedef struct session {
    store *store;
    MDB_txn *reader;
    char *body;
    size_t capacity;
} session;

static void require(int code, const char *what) {
    if (code != MDB_SUCCESS)
        fail(what, mdb_strerror(code));
}

static MDB_val bytes(const char *data, size_t length) { return (MDB_val){length, (void *)(uintptr_t)data}; }

static void *store_open(const char *directory, bool is_durable, caching cache) {
    (void)cache; /* the file is mapped */
    store *opened = calloc(1, sizeof *opened);
    MDB_txn *transaction;
    require(mdb_env_create(&opened->environment), "mdb_env_create");
    require(mdb_env_set_mapsize(opened->environment, (size_t)8 << 30), "mdb_env_set_mapsize");
    unsigned flags = is_durable ? 0 : MDB_NOSYNC | MDB_WRITEMAP;
    require(mdb_env_open(opened->environment, directory, flags, 0600), "mdb_env_open");
    require(mdb_txn_begin(opened->environment, NULL, 0, &transaction), "mdb_txn_begin");
    require(mdb_dbi_open(transaction, NULL, 0, &opened->documents), "mdb_dbi_open");
    require(mdb_txn_commit(transaction), "mdb_txn_commit");
    return opened;
}

static void store_close(void *opaque) {
    store *opened = opaque;
    mdb_env_close(opened->environment);
    free(opened);
}

static void *session_open(void *opened) {
    session *s = calloc(1, sizeof *s);
    s->store = opened;
    return s;
}

static void session_close(void *opaque) {
    session *s = opaque;
    if (s->reader != NULL)
        mdb_txn_abort(s->reader);
    free(s->body);
    free(s);
}

static void write_documents(void *opaque, const document *d, size_t count) {
    session *s = opaque;
    MDB_txn *transaction;
    require(mdb_txn_begin(s->store->environment, NULL, 0, &transaction), "mdb_txn_begin");
    for (size_t i = 0; i < count; i++) {
        MDB_val key = bytes(d[i].id, d[i].id_length), value = bytes(d[i].body, d[i].length);
        require(mdb_put(transaction, s->store->documents, &key, &value, 0), "mdb_put");
    }
    require(mdb_txn_commit(transaction), "mdb_txn_commit");
}

static void save(void *opaque, const document *d) { write_documents(opaque, d, 1); }

static void begin_reading(session *s) {
    if (s->reader == NULL)
        require(mdb_txn_begin(s->store->environment, NULL, MDB_RDONLY, &s->reader), "mdb_txn_begin");
    else
        require(mdb_txn_renew(s->reader), "mdb_txn_renew");
}

static size_t fetch(void *opaque, const document *d, const char **out_body) {
    session *s = opaque;
    MDB_val key = bytes(d->id, d->id_length), value;
    begin_reading(s);
    require(mdb_get(s->reader, s->store->documents, &key, &value), "mdb_get");
    if (value.mv_size > s->capacity) {
        s->capacity = value.mv_size;
        s->body = realloc(s->body, value.mv_size);
        if (s->body == NULL)
            fail("document", "no memory");
    }
    memcpy(s->body, value.mv_data, value.mv_size);
    mdb_txn_reset(s->reader);
    *out_body = s->body;
    return value.mv_size;
}

static size_t range(void *opaque, const document *first, size_t count) {
    session *s = opaque;
    MDB_val key = bytes(first->id, first->id_length), value;
    MDB_cursor *cursor;
    size_t found = 0, length = 0;
    begin_reading(s);
    require(mdb_cursor_open(s->reader, s->store->documents, &cursor), "mdb_cursor_open");
    int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (code == MDB_SUCCESS && found < count) {
        found++;
        length += value.mv_size;
        if (found < count)
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    if (length < found || (code != MDB_SUCCESS && code != MDB_NOTFOUND))
        fail("mdb_cursor_get", mdb_strerror(code));
    mdb_cursor_close(cursor);
    mdb_txn_reset(s->reader);
    return found;
}

const engine this_engine = {
    WHAT_ALL_CAN,
    .add_many = write_documents,
    .fetch = fetch,
    .range = range,
};
