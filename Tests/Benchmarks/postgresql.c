/*
 * PostgreSQL through libpq, as a careful program uses it that has one table: a connection a thread, prepared
 * statements, what can go out together in one round trip, and COPY for what is loaded.
 */
#include "engine.h"
#include "measure.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTEA = 17 };

typedef struct session {
    PGconn *connection;
    char *body;
    size_t capacity;
    char *rows;
    size_t rows_capacity;
    bool is_copying;
} session;

static void require(bool is_so, PGconn *connection, const char *what) {
    if (!is_so) {
        fprintf(stderr, "%s: ", what);
        fail("libpq", PQerrorMessage(connection));
    }
}

static PGresult *expect(PGresult *result, ExecStatusType status, PGconn *connection, const char *what) {
    require(PQresultStatus(result) == status, connection, what);
    return result;
}

static void run(PGconn *connection, const char *text) {
    PQclear(expect(PQexec(connection, text), PGRES_COMMAND_OK, connection, text));
}

/* The place is the URL of a database. */
static void *store_open(const char *place, bool is_durable, caching cache) {
    (void)cache;
    PGconn *connection = PQconnectdb(place);
    require(PQstatus(connection) == CONNECTION_OK, connection, place);
    PQclear(PQexec(connection, "SET client_min_messages = warning"));
    /* As Holdfast's own table, so that the same is stored. */
    run(connection,
        "CREATE TABLE IF NOT EXISTS documents (store int8, repository int8, id bytea, version int8 NOT NULL, "
        "body bytea NOT NULL, PRIMARY KEY (store, repository, id))");
    PQfinish(connection);
    size_t length = strlen(place);
    char *store = malloc(length + 2);
    store[0] = is_durable ? 'd' : 'r';
    memcpy(store + 1, place, length + 1);
    return store;
}

static void store_close(void *store) { free(store); }

static void *session_open(void *store) {
    static const struct {
        const char *name, *text;
    } statements[] = {
        {"upsert",
         "INSERT INTO documents VALUES (1, 1, $1, 1, $2) ON CONFLICT (store, repository, id) DO UPDATE SET "
         "version = documents.version + 1, body = excluded.body"},
        {"fetch", "SELECT body FROM documents WHERE store = 1 AND repository = 1 AND id = $1"},
        {"lock", "SELECT body FROM documents WHERE store = 1 AND repository = 1 AND id = $1 FOR UPDATE"},
        {"update", "UPDATE documents SET version = version + 1, body = $2 WHERE store = 1 AND repository = 1 "
                   "AND id = $1"},
        {"begin", "BEGIN"},
        {"commit", "COMMIT"},
    };
    const char *place = store;
    session *s = calloc(1, sizeof *s);
    s->connection = PQconnectdb(place + 1);
    require(PQstatus(s->connection) == CONNECTION_OK, s->connection, place + 1);
    if (place[0] == 'r')
        run(s->connection, "SET synchronous_commit = off");
    static const Oid types[] = {BYTEA, BYTEA};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        PQclear(expect(PQprepare(s->connection, statements[i].name, statements[i].text, i < 4 ? 2 : 0, types),
                       PGRES_COMMAND_OK, s->connection, statements[i].text));
    return s;
}

static void session_close(void *opaque) {
    session *s = opaque;
    PQfinish(s->connection);
    free(s->body);
    free(s->rows);
    free(s);
}

/* What a statement is given: an id, and a body, or none. */
typedef struct values {
    const char *texts[2];
    int lengths[2];
} values;

static values values_of(const document *d, const char *body, size_t length) {
    return (values){{d->id, body}, {(int)d->id_length, (int)length}};
}

static const int binary[] = {1, 1};

/* --- Writing ------------------------------------------------------------------------------------ */

static void save(void *opaque, const document *d) {
    session *s = opaque;
    values v = values_of(d, d->body, d->length);
    PQclear(expect(PQexecPrepared(s->connection, "upsert", 2, v.texts, v.lengths, binary, 1),
                   PGRES_COMMAND_OK, s->connection, "upsert"));
}

static char *put(char *end, const void *bytes, size_t length) {
    memcpy(end, bytes, length);
    return end + length;
}

static char *put_field(char *end, const void *bytes, size_t length) {
    uint32_t network = htonl((uint32_t)length);
    return put(put(end, &network, sizeof network), bytes, length);
}

/* "COPY", "Binary Format" in PostgreSQL's documentation. What is handed over is one COPY, which `drain` ends.
 */
static void submit(void *opaque, const document *d, size_t count) {
    static const char header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0", one[8] = {0, 0, 0, 0, 0, 0, 0, 1};
    static const char fields[2] = {0, 5};
    session *s = opaque;
    size_t length = sizeof header;
    for (size_t i = 0; i < count; i++)
        length += 64 + d[i].id_length + d[i].length;
    if (length > s->rows_capacity) {
        s->rows_capacity = length;
        s->rows = realloc(s->rows, length);
        if (s->rows == NULL)
            fail("batch", "no memory");
    }
    char *end = s->rows;
    if (!s->is_copying) {
        PQclear(expect(PQexec(s->connection, "COPY documents FROM STDIN (FORMAT binary)"), PGRES_COPY_IN,
                       s->connection, "COPY"));
        /* The NUL that closes it is the last of its bytes. */
        end = put(end, header, sizeof header);
        s->is_copying = true;
    }
    for (size_t i = 0; i < count; i++) {
        end = put(end, fields, sizeof fields);
        end = put_field(put_field(end, one, sizeof one), one, sizeof one);
        end = put_field(end, d[i].id, d[i].id_length);
        end = put_field(end, one, sizeof one);
        end = put_field(end, d[i].body, d[i].length);
    }
    require(PQputCopyData(s->connection, s->rows, (int)(end - s->rows)) == 1, s->connection, "PQputCopyData");
}

static void drain(void *opaque) {
    static const char end_of_rows[2] = {-1, -1};
    session *s = opaque;
    if (!s->is_copying)
        return;
    s->is_copying = false;
    require(PQputCopyData(s->connection, end_of_rows, sizeof end_of_rows) == 1 &&
                PQputCopyEnd(s->connection, NULL) == 1,
            s->connection, "PQputCopyData");
    PGresult *result;
    while ((result = PQgetResult(s->connection)) != NULL)
        PQclear(expect(result, PGRES_COMMAND_OK, s->connection, "COPY"));
}

static void add_many(void *opaque, const document *d, size_t count) {
    submit(opaque, d, count);
    drain(opaque);
}

/* --- Reading ------------------------------------------------------------------------------------ */

static size_t keep(session *s, const PGresult *result) {
    require(PQntuples(result) == 1, s->connection, "a document that is not there");
    size_t length = (size_t)PQgetlength(result, 0, 0);
    if (length + 32 > s->capacity) {
        s->capacity = length + 32;
        s->body = realloc(s->body, s->capacity);
        require(s->body != NULL, s->connection, "memory");
    }
    memcpy(s->body, PQgetvalue(result, 0, 0), length);
    return length;
}

static size_t fetch(void *opaque, const document *d, const char **out_body) {
    session *s = opaque;
    values v = values_of(d, NULL, 0);
    PGresult *result = expect(PQexecPrepared(s->connection, "fetch", 2, v.texts, v.lengths, binary, 1),
                              PGRES_TUPLES_OK, s->connection, "fetch");
    size_t length = keep(s, result);
    PQclear(result);
    *out_body = s->body;
    return length;
}

/* --- Read, modify, write ------------------------------------------------------------------------- */

static size_t add_one(char *body, size_t length) {
    static const char name[] = "\"installed_size\":";
    char *found = memmem(body, length, name, strlen(name)), *number, digits[24];
    if (found == NULL)
        fail("document", "no installed_size");
    number = found + strlen(name);
    char *rest;
    int count = snprintf(digits, sizeof digits, "%lld", strtoll(number, &rest, 10) + 1);
    memmove(number + count, rest, (size_t)(body + length - rest));
    memcpy(number, digits, (size_t)count);
    return length + (size_t)count - (size_t)(rest - number);
}

static void dispatch(session *s, const char *statement, int count, const values *v) {
    require(PQsendQueryPrepared(s->connection, statement, count, count ? v->texts : NULL,
                                count ? v->lengths : NULL, count ? binary : NULL, 1) == 1,
            s->connection, statement);
}

/* The result of the next statement that was sent; the end of each, and of the pipeline, is passed over. */
static PGresult *next(session *s, ExecStatusType status, const char *what) {
    PGresult *result;
    while ((result = PQgetResult(s->connection)) == NULL)
        ;
    return expect(result, status, s->connection, what);
}

/* Two round trips: what begins it goes out together, and so does what ends it. */
static size_t increment(void *opaque, const document *d) {
    session *s = opaque;
    require(PQenterPipelineMode(s->connection) == 1, s->connection, "PQenterPipelineMode");
    values v = values_of(d, NULL, 0);
    dispatch(s, "begin", 0, NULL);
    dispatch(s, "lock", 2, &v);
    require(PQpipelineSync(s->connection) == 1, s->connection, "PQpipelineSync");
    PQclear(next(s, PGRES_COMMAND_OK, "begin"));
    PGresult *result = next(s, PGRES_TUPLES_OK, "lock");
    size_t length = keep(s, result);
    PQclear(result);
    PQclear(next(s, PGRES_PIPELINE_SYNC, "sync"));
    v = values_of(d, s->body, add_one(s->body, length));
    dispatch(s, "update", 2, &v);
    dispatch(s, "commit", 0, NULL);
    require(PQpipelineSync(s->connection) == 1, s->connection, "PQpipelineSync");
    PQclear(next(s, PGRES_COMMAND_OK, "update"));
    PQclear(next(s, PGRES_COMMAND_OK, "commit"));
    PQclear(next(s, PGRES_PIPELINE_SYNC, "sync"));
    require(PQexitPipelineMode(s->connection) == 1, s->connection, "PQexitPipelineMode");
    return 0;
}

const engine this_engine = {
    WHAT_ALL_CAN,   .add_many = add_many, .submit = submit,
    .drain = drain, .fetch = fetch,       .increment = increment,
};
