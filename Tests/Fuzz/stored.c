/*
 * Stored: what a store finds in its file when the file was damaged, or made by somebody hostile.
 *
 * The first byte is a letter that says where the rest of the input is put: into a column of a table, or, 'f',
 * over bytes of the file. Then the store is opened, read, queried and written. Every call must answer a
 * status; a text that is read as a whole is one that is there.
 */
#include "outcome.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static uint8_t *image; /* the file of a sound store, closed */
static size_t image_length;

/* An INTEGER is written in digits. */
typedef enum type { TEXT, BLOB, INTEGER } type;

static const struct {
    char letter;
    type type;
    const char *sql;
} places[] = {
    {'b', TEXT, "UPDATE holdfast_entity SET body = ?1 WHERE id = 'b'"},
    {'i', TEXT, "UPDATE OR IGNORE holdfast_entity SET id = ?1 WHERE id = 'b'"},
    {'v', INTEGER, "UPDATE holdfast_entity SET version = ?1 WHERE id = 'b'"},
    {'e', INTEGER, "UPDATE holdfast_entity SET repository = ?1 WHERE id = 'b'"},
    {'r', BLOB, "UPDATE holdfast_idempotency SET receipt = ?1"},
    {'k', BLOB, "UPDATE holdfast_idempotency SET key = ?1"},
    {'p', INTEGER, "UPDATE holdfast_idempotency SET fingerprint = ?1"},
    {'t', INTEGER, "UPDATE holdfast_idempotency SET time = ?1"},
    {'q', INTEGER, "UPDATE holdfast_idempotency SET sequence = ?1"},
    {'l', BLOB, "UPDATE holdfast_log SET changes = ?1"},
    {'h', INTEGER, "UPDATE OR REPLACE holdfast_log SET sequence = ?1 WHERE sequence > 3"},
    {'d', INTEGER, "UPDATE holdfast_log SET time = ?1"},
    {'c', TEXT, "UPDATE OR IGNORE holdfast_repository SET name = ?1 WHERE name = 'things'"},
    {'y', TEXT, "UPDATE holdfast_repository SET key = ?1"},
    {'z', INTEGER, "UPDATE OR IGNORE holdfast_repository SET id = ?1 WHERE name = 'others'"},
    {'m', INTEGER, "UPDATE holdfast_meta SET value = ?1 WHERE name = 'reserved'"},
    {'s', INTEGER, "UPDATE holdfast_meta SET value = ?1 WHERE name = 'log_start'"},
    {'n', BLOB, "UPDATE holdfast_meta SET value = ?1 WHERE name = 'incarnation'"},
    {'x', TEXT, "UPDATE holdfast_meta SET value = ?1"},
    {'f', TEXT, NULL},
    /* Behind the store's back, while it is open. */
    {'L', BLOB, "INSERT INTO holdfast_log SELECT max(sequence) + 1, 1, 1, ?1 FROM holdfast_log"},
    {'B', TEXT, "UPDATE holdfast_entity SET body = ?1 WHERE id = 'b'"},
};
enum { PLACES = sizeof places / sizeof *places };

/* --- Files -------------------------------------------------------------------------------------- */

static void remove_files(void) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock", "-journal"};
    char file[80];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
        unlink(file);
    }
}

static void write_image(const uint8_t *bytes, size_t length) {
    remove_files();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, bytes, length) != (ssize_t)length || close(file) != 0)
        fail("%s cannot be written", path);
}

/* Puts a value where the statement says. What SQLite refuses is not put. */
static void put_value(size_t where, const uint8_t *bytes, size_t length) {
    sqlite3 *connection = NULL;
    sqlite3_stmt *statement = NULL;
    sqlite3_open(path, &connection);
    sqlite3_busy_timeout(connection, 1000);
    sqlite3_exec(connection, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (sqlite3_prepare_v2(connection, places[where].sql, -1, &statement, NULL) != SQLITE_OK)
        fail("%s: %s", places[where].sql, sqlite3_errmsg(connection));
    char *digits = text_copy(bytes, length);
    switch (places[where].type) {
    case TEXT:
        sqlite3_bind_text(statement, 1, (const char *)bytes, (int)length, SQLITE_STATIC);
        break;
    case BLOB:
        sqlite3_bind_blob(statement, 1, bytes, (int)length, SQLITE_STATIC);
        break;
    default:
        sqlite3_bind_int64(statement, 1, strtoll(digits, NULL, 10));
    }
    sqlite3_step(statement);
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    free(digits);
}

/* Each four bytes: an offset, and what to put there: a byte, or over a page zeros. */
static void damage_file(const uint8_t *bytes, size_t length) {
    uint8_t *damaged = (uint8_t *)exact_copy(image, image_length);
    input in = {bytes, length};
    while (in.length > 0) {
        size_t offset = (size_t)take(&in) << 16 | (size_t)take(&in) << 8;
        offset = (offset | take(&in)) % image_length;
        uint8_t value = take(&in);
        if (value == 0xAA)
            memset(damaged + offset / 4096 * 4096, 0, 4096);
        else
            damaged[offset] = value;
    }
    write_image(damaged, image_length);
    free(damaged);
}

/* --- Work --------------------------------------------------------------------------------------- */

static hf_entity entity = HF_ENTITY_INIT;
static hf_entity_list list = HF_ENTITY_LIST_INIT;

static hf_status commit_with_key(hf_store *store, hf_repository *things) {
    hf_transaction *t = NULL;
    hf_buffer receipt = HF_BUFFER_INIT;
    hf_status status = CALL(hf_transaction_begin, store, "{\"idempotency_key\":\"k\"}", &t);
    if (status == HF_OK)
        status = CALL(hf_repository_save, things, t, "{\"id\":\"keyed\"}", HF_NTS, NULL);
    if (status == HF_OK)
        status = CALL(hf_transaction_commit, t, &receipt);
    if (receipt.data != NULL) {
        json_t *read = parse_json(receipt.data, receipt.length);
        if (!json_is_object(read))
            fail("a receipt that is none: %s", receipt.data);
        json_decref(read);
    }
    hf_buffer_free(&receipt);
    hf_transaction_free(t);
    return status;
}

static void read_entity(hf_repository *things, hf_transaction *t, const uint8_t *body, size_t length) {
    hf_status status = CALL(hf_repository_fetch, things, t, "b", 1, &entity);
    if (status == HF_OK && body != NULL &&
        (entity.length != length || memcmp(entity.data, body, length) != 0))
        fail("what is stored as %.*s is read as %s", (int)length, (const char *)body, entity.data);
}

static hf_status body(hf_transaction *t, void *things, hf_error **out_error) {
    (void)out_error;
    return hf_repository_save(things, t, "{\"id\":\"run\"}", HF_NTS, NULL, NULL);
}

/* `where` is put after the store was opened and a transaction has read. */
static void work(size_t where, const uint8_t *bytes, size_t length) {
    static const char *const filters[] = {"{\"n\":1}", "{\"a.b.1\":null}", "{\"s\":\"\xC3\xA9\"}",
                                          "{\"id\":\"b\"}"};
    char letter = places[where].letter;
    bool is_body = letter == 'b' || letter == 'B';
    hf_store *store = NULL;
    hf_repository *things = NULL, *others = NULL;
    hf_transaction *reader = NULL;
    uint64_t count;
    if (CALL(hf_store_open, path, NULL, &store) != HF_OK ||
        CALL(hf_repository_open, store, "things", NULL, &things) != HF_OK ||
        CALL(hf_repository_open, store, "others", "{\"create\":false}", &others) != HF_OK ||
        CALL(hf_transaction_begin, store, NULL, &reader) != HF_OK)
        goto end;
    (void)CALL(hf_repository_count, things, reader, "{\"n\":7}", HF_NTS, NULL, &count);
    if (letter >= 'A' && letter <= 'Z')
        put_value(where, bytes, length);
    (void)CALL(hf_repository_save, others, reader, "{\"id\":\"r\"}", HF_NTS, NULL);
    (void)CALL(hf_transaction_commit, reader, NULL);

    read_entity(things, NULL, is_body ? bytes : NULL, length);
    (void)CALL(hf_repository_fetch_all, things, NULL, &list);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        (void)CALL(hf_repository_find, things, NULL, filters[i], HF_NTS, NULL, &list);
    (void)CALL(hf_repository_patch, things, NULL, "b", 1, "{\"n\":2,\"a\":{\"b\":null},\"s\":null}", HF_NTS,
               0, &entity);
    (void)CALL(hf_repository_add, others, NULL, "{\"id\":\"new\"}", HF_NTS, &entity);
    (void)commit_with_key(store, things);
    hf_buffer receipt = HF_BUFFER_INIT;
    (void)CALL(hf_store_transact, store, body, things, "{\"idempotency_key\":\"k\"}", &receipt);
    (void)CALL(hf_store_describe, store, &receipt);
    hf_buffer_free(&receipt);
end:
    hf_transaction_free(reader);
    hf_repository_free(others);
    hf_repository_free(things);
    if (store != NULL)
        (void)CALL(hf_store_close, store, -1);
    hf_store_free(store);
}

/* --- One input ------------------------------------------------------------------------------------ */

static void make_image(void) {
    hf_store *store = NULL;
    hf_repository *things = NULL, *others = NULL;
    char large[6000];
    remove_files();
    MUST(hf_store_open, path, NULL, &store);
    MUST(hf_repository_open, store, "things", NULL, &things);
    MUST(hf_repository_open, store, "others", NULL, &others);
    MUST(hf_repository_save, things, NULL, "{\"id\":\"a\"}", HF_NTS, NULL);
    MUST(hf_repository_save, things, NULL, "{\"id\":\"b\",\"n\":1,\"a\":{\"b\":[1,null]},\"s\":\"\\u00e9\"}",
         HF_NTS, NULL);
    snprintf(large, sizeof large, "{\"id\":\"c\",\"large\":\"%05000d\"}", 0);
    MUST(hf_repository_save, things, NULL, large, HF_NTS, NULL);
    MUST(hf_repository_save, others, NULL, "{\"id\":\"o\"}", HF_NTS, NULL);
    if (commit_with_key(store, things) != HF_OK)
        fail("the sound store is none");
    hf_repository_free(things);
    hf_repository_free(others);
    MUST(hf_store_close, store, -1);
    hf_store_free(store);

    FILE *file = fopen(path, "rb");
    image = malloc(1 << 20);
    image_length = file != NULL ? fread(image, 1, 1 << 20, file) : 0;
    if (image_length == 0 || image_length % 4096 != 0 || fclose(file) != 0)
        fail("%s cannot be read", path);
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    snprintf(path, sizeof path, "%s/holdfast-stored-%d.db",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    make_image();
    atexit(remove_files);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    uint8_t letter = take(&in);
    size_t where = letter % PLACES;
    for (size_t i = 0; i < PLACES; i++)
        where = places[i].letter == letter ? i : where;
    write_image(image, image_length);
    letter = (uint8_t)places[where].letter;
    if (letter == 'f')
        damage_file(in.bytes, in.length);
    else if (letter >= 'a')
        put_value(where, in.bytes, in.length);
    work(where, in.bytes, in.length);
    return 0;
}
