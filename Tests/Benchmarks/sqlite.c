/*
 * SQLite: a rowid table with a unique key, a connection a thread, statements kept prepared, the write-ahead
 * log, copied back less often than by default and with a page cache for all documents, because both make it
 * faster.
 */
#include "engine.h"
#include "measure.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGIN, COMMIT, INSERT, UPSERT, INCREMENT, FETCH, RANGE, SCAN, FIND, GROUP, SEARCH, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [INSERT] = "INSERT INTO documents (id, body) VALUES (?1, ?2)",
    [UPSERT] = "INSERT INTO documents (id, body) VALUES (?1, ?2) "
               "ON CONFLICT (id) DO UPDATE SET body = excluded.body",
    [INCREMENT] = "UPDATE documents SET body = json_set(body, '$.installed_size', "
                  "json_extract(body, '$.installed_size') + 1) WHERE id = ?1",
    [FETCH] = "SELECT body FROM documents WHERE id = ?1",
    [RANGE] = "SELECT id, body FROM documents WHERE id >= ?1 ORDER BY id LIMIT ?2",
    [SCAN] = "SELECT id, body FROM documents WHERE json_extract(body, '$.section') = ?1",
    [FIND] = "SELECT id, body FROM documents WHERE json_extract(body, '$.installed_size') >= ?1 "
             "AND json_extract(body, '$.installed_size') < ?2",
    [GROUP] =
        "SELECT json_extract(body, '$.section'), CAST(SUM(json_extract(body, '$.installed_size')) AS TEXT) "
        "FROM documents GROUP BY 1",
    [SEARCH] = "SELECT id, body FROM texts JOIN documents ON documents.rowid = texts.rowid "
               "WHERE texts MATCH ?1 ORDER BY rank LIMIT 10",
};

typedef struct connection {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
} connection;

typedef struct store {
    char path[4096];
    bool is_durable;
    long long mapped_bytes;
    pthread_mutex_t turn;
    size_t sessions;
    connection writer;
} store;

typedef struct session {
    store *store;
    connection reader;
    char *body;
    size_t capacity;
} session;

static void require(bool is_right, connection *c, const char *what) {
    if (!is_right)
        fail(what, sqlite3_errmsg(c->database));
}

static void connection_open(connection *c, const store *opened) {
    char settings[512];
    snprintf(settings, sizeof settings,
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = %s; PRAGMA wal_autocheckpoint = 16000;"
             "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = %lld;"
             "CREATE TABLE IF NOT EXISTS documents (id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
             opened->is_durable ? "FULL" : "NORMAL", opened->mapped_bytes);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    require(sqlite3_open_v2(opened->path, &c->database, flags, NULL) == SQLITE_OK, c, "sqlite3_open_v2");
    require(sqlite3_exec(c->database, settings, NULL, NULL, NULL) == SQLITE_OK, c, "settings");
}

/* Prepared at its first use. */
static sqlite3_stmt *prepared(connection *c, int statement) {
    if (c->statements[statement] == NULL)
        require(sqlite3_prepare_v3(c->database, texts[statement], -1, SQLITE_PREPARE_PERSISTENT,
                                   &c->statements[statement], NULL) == SQLITE_OK,
                c, texts[statement]);
    return c->statements[statement];
}

static void connection_close(connection *c) {
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(c->statements[i]);
    sqlite3_close(c->database);
}

static void *store_open(const char *directory, bool is_durable, caching cache) {
    store *opened = calloc(1, sizeof *opened);
    /* A page cache is a connection's own; what all share is the file, mapped. */
    opened->mapped_bytes = cache == CACHED_LARGE ? LARGE_CACHE : 0;
    snprintf(opened->path, sizeof opened->path, "%s/sqlite.db", directory);
    opened->is_durable = is_durable;
    pthread_mutex_init(&opened->turn, NULL);
    return opened;
}

static void store_close(void *opaque) {
    store *opened = opaque;
    connection_close(&opened->writer);
    pthread_mutex_destroy(&opened->turn);
    free(opened);
}

static void *session_open(void *opened) {
    session *s = calloc(1, sizeof *s);
    s->store = opened;
    s->store->sessions++;
    connection_open(&s->reader, opened);
    return s;
}

static void session_close(void *opaque) {
    session *s = opaque;
    connection_close(&s->reader);
    s->store->sessions--;
    free(s->body);
    free(s);
}

/* Who is alone writes by the connection that it reads by: what another one writes costs that its page cache.
 */
static connection *take_turn(session *s) {
    pthread_mutex_lock(&s->store->turn);
    if (s->store->sessions == 1)
        return &s->reader;
    if (s->store->writer.database == NULL)
        connection_open(&s->store->writer, s->store);
    return &s->store->writer;
}

static void end_turn(session *s) { pthread_mutex_unlock(&s->store->turn); }

static void bind_text(connection *c, int statement, int parameter, const char *text, size_t length) {
    require(sqlite3_bind_text(prepared(c, statement), parameter, text, (int)length, SQLITE_STATIC) ==
                SQLITE_OK,
            c, "sqlite3_bind_text");
}

/* Runs a statement that answers no rows. */
static void run(connection *c, int statement) {
    require(sqlite3_step(prepared(c, statement)) == SQLITE_DONE, c, texts[statement]);
    require(sqlite3_reset(c->statements[statement]) == SQLITE_OK, c, texts[statement]);
}

/* --- Writing ------------------------------------------------------------------------------------ */

static void write_document(connection *c, int statement, const document *d) {
    bind_text(c, statement, 1, d->id, d->id_length);
    bind_text(c, statement, 2, d->body, d->length);
    run(c, statement);
}

static void save(void *session, const document *d) {
    write_document(take_turn(session), UPSERT, d);
    end_turn(session);
}

static void add_many(void *session, const document *d, size_t count) {
    connection *c = take_turn(session);
    run(c, BEGIN);
    for (size_t i = 0; i < count; i++)
        write_document(c, INSERT, &d[i]);
    run(c, COMMIT);
    end_turn(session);
}

static size_t increment(void *session, const document *d) {
    connection *c = take_turn(session);
    bind_text(c, INCREMENT, 1, d->id, d->id_length);
    run(c, INCREMENT);
    require(sqlite3_changes(c->database) == 1, c, "a document that is not there");
    end_turn(session);
    return 0;
}

/* --- Reading ------------------------------------------------------------------------------------ */

static size_t fetch(void *opaque, const document *d, const char **out_body) {
    session *s = opaque;
    connection *c = &s->reader;
    sqlite3_stmt *statement = prepared(c, FETCH);
    bind_text(c, FETCH, 1, d->id, d->id_length);
    require(sqlite3_step(statement) == SQLITE_ROW, c, "a document that is not there");
    const void *body = sqlite3_column_text(statement, 0);
    size_t length = (size_t)sqlite3_column_bytes(statement, 0);
    if (length > s->capacity) {
        s->capacity = length;
        s->body = realloc(s->body, length);
        require(s->body != NULL, c, "memory");
    }
    memcpy(s->body, body, length);
    require(sqlite3_reset(statement) == SQLITE_OK, c, texts[FETCH]);
    *out_body = s->body;
    return length;
}

/* Steps through what a statement gives, ids and documents. */
static size_t visit(connection *c, int chosen) {
    sqlite3_stmt *statement = prepared(c, chosen);
    size_t count = 0, bytes = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        count++;
        bytes += sqlite3_column_text(statement, 1) == NULL ? 0 : (size_t)sqlite3_column_bytes(statement, 1);
    }
    require(sqlite3_reset(statement) == SQLITE_OK && bytes >= count, c, texts[chosen]);
    return count;
}

static size_t range(void *opaque, const document *first, size_t count) {
    connection *c = &((session *)opaque)->reader;
    bind_text(c, RANGE, 1, first->id, first->id_length);
    require(sqlite3_bind_int64(prepared(c, RANGE), 2, (sqlite3_int64)count) == SQLITE_OK, c,
            "sqlite3_bind_int64");
    return visit(c, RANGE);
}

static size_t scan(void *opaque, const char *section) {
    connection *c = &((session *)opaque)->reader;
    bind_text(c, SCAN, 1, section, strlen(section));
    return visit(c, SCAN);
}

static size_t find(void *opaque, long long low, long long high) {
    connection *c = &((session *)opaque)->reader;
    sqlite3_stmt *statement = prepared(c, FIND);
    require(sqlite3_bind_int64(statement, 1, low) == SQLITE_OK &&
                sqlite3_bind_int64(statement, 2, high) == SQLITE_OK,
            c, "sqlite3_bind_int64");
    return visit(c, FIND);
}

/* The workloads group by "section" alone. */
static size_t group(void *opaque, const char *member) {
    connection *c = &((session *)opaque)->reader;
    require(strcmp(member, "section") == 0, c, member);
    return visit(c, GROUP);
}

/* --- Indexes ------------------------------------------------------------------------------------ */

static void change_index(session *s, const char *format, const char *member) {
    char text[512];
    snprintf(text, sizeof text, format, member, member);
    connection *c = take_turn(s);
    require(sqlite3_exec(c->database, text, NULL, NULL, NULL) == SQLITE_OK, c, text);
    end_turn(s);
}

static void create_index(void *session, const char *member) {
    change_index(session, "CREATE INDEX IF NOT EXISTS documents_%s ON documents (json_extract(body, '$.%s'))",
                 member);
}

static void drop_index(void *session, const char *member) {
    change_index(session, "DROP INDEX documents_%s", member);
}

/* Without a copy of the texts, which stand in the documents already. */
static void create_text_index(void *session) {
    change_index(
        session,
        "CREATE VIRTUAL TABLE texts USING fts5 (%s, content = '', "
        "tokenize = 'porter unicode61 remove_diacritics 2');"
        "INSERT INTO texts (rowid, description) SELECT rowid, json_extract(body, '$.%s') FROM documents",
        "description");
}

static void drop_text_index(void *session) { change_index(session, "DROP TABLE texts", ""); }

static size_t search(void *opaque, const char *const *words, size_t count, bool is_phrase) {
    connection *c = &((session *)opaque)->reader;
    char text[512] = "";
    for (size_t i = 0, used = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 i == 0      ? ""
                                 : is_phrase ? " + "
                                             : " OR ",
                                 words[i]);
    bind_text(c, SEARCH, 1, text, strlen(text));
    return visit(c, SEARCH);
}

const engine this_engine = {
    WHAT_ALL_CAN,
    .add_many = add_many,
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
};
