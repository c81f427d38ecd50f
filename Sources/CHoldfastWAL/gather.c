#include "CHoldfastWAL.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Thirty frames with pages of 4 KiB. Larger pages are written as they come. */
enum { FRAME_HEADER = 24, CAPACITY = 128 << 10 };

/* Takes the place of the file's methods, which come first so that the one leads to the other. */
typedef struct gathering {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *below;
    sqlite3_int64 start; /* of what is gathered */
    int length;
    sqlite3_int64 end; /* of the last write */
    bool commits;      /* whether the last header was that of a frame that commits */
    char bytes[CAPACITY];
} gathering;

static gathering *of(sqlite3_file *file) { return (gathering *)file->pMethods; }

/* What could not be written is forgotten: SQLite takes its transaction for failed. */
static int flush(sqlite3_file *file) {
    gathering *g = of(file);
    int length = g->length;
    g->length = 0;
    return length == 0 ? SQLITE_OK : g->below->xWrite(file, g->bytes, length, g->start);
}

/* A header tells in its second word how many pages the database has, if the frame commits ("WAL File Format"
 * in SQLite's fileformat2.html). */
static bool is_commit(const unsigned char *header) {
    return (header[4] | header[5] | header[6] | header[7]) != 0;
}

static int write_later(sqlite3_file *file, const void *bytes, int amount, sqlite3_int64 offset) {
    gathering *g = of(file);
    bool goes_on = offset == g->end;
    g->end = offset + amount;
    if (amount == FRAME_HEADER)
        g->commits = is_commit(bytes);
    /* A transaction that has written a page twice writes that page, and the headers with their checksums,
     * again where they lie: nothing tells which of these is the last. */
    if (!goes_on || amount > CAPACITY - g->length) {
        int code = flush(file);
        if (code != SQLITE_OK)
            return code;
        if (!goes_on || amount > CAPACITY)
            return g->below->xWrite(file, bytes, amount, offset);
    }
    if (g->length == 0)
        g->start = offset;
    memcpy(g->bytes + g->length, bytes, (size_t)amount);
    g->length += amount;
    return amount != FRAME_HEADER && g->commits ? flush(file) : SQLITE_OK;
}

static int read_all(sqlite3_file *file, void *bytes, int amount, sqlite3_int64 offset) {
    int code = flush(file);
    return code != SQLITE_OK ? code : of(file)->below->xRead(file, bytes, amount, offset);
}

static int cut(sqlite3_file *file, sqlite3_int64 size) {
    int code = flush(file);
    return code != SQLITE_OK ? code : of(file)->below->xTruncate(file, size);
}

static int sync_all(sqlite3_file *file, int flags) {
    int code = flush(file);
    return code != SQLITE_OK ? code : of(file)->below->xSync(file, flags);
}

static int size_of(sqlite3_file *file, sqlite3_int64 *size) {
    int code = flush(file);
    return code != SQLITE_OK ? code : of(file)->below->xFileSize(file, size);
}

static int close_log(sqlite3_file *file) {
    gathering *g = of(file);
    int flushed = flush(file);
    file->pMethods = g->below;
    free(g);
    int code = file->pMethods->xClose(file);
    return code != SQLITE_OK ? code : flushed;
}

bool hfw_gather(void *opaque) {
    sqlite3_file *log = opaque;
    gathering *g = malloc(sizeof *g);
    if (g == NULL)
        return false;
    g->methods = *log->pMethods;
    g->below = log->pMethods;
    g->length = 0;
    g->end = -1;
    g->commits = false;
    g->methods.xClose = close_log;
    g->methods.xRead = read_all;
    g->methods.xWrite = write_later;
    g->methods.xTruncate = cut;
    g->methods.xSync = sync_all;
    g->methods.xFileSize = size_of;
    log->pMethods = &g->methods;
    return true;
}
