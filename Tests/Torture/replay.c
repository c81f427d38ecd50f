/*
 * Replay: what a power cut would leave, at any moment of a recorded run.
 *
 *     replay [--every]        --every: each moment, several times; else a sample
 *
 * The run's writes, truncations and syncs are played into images of the files. A sync makes a file's earlier
 * writes durable; of those after it, any subset of sectors may reach the disk in a power cut, the last
 * perhaps in part. Each such state is written out, opened, and compared with what the run had acknowledged.
 *
 * A sync that failed lets go of its writes: some have reached the disk, and the others never will, unless
 * they are written again. That is what Linux does, and what recovery must survive.
 */
#include "ledger.h"
#include "oracle.h"
#include "recording_vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTOR = 512 };

typedef struct image {
    bool exists;
    uint8_t *bytes;
    size_t size, capacity;
} image;

typedef struct disk {
    image files[FILE_COUNT];
    const vfs_record **pending; /* not durable yet, in order, of all files */
    size_t count, capacity;
} disk;

static uint64_t seed;
static uint32_t chance(uint32_t bound) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(seed >> 33) % bound;
}

/* --- Images ------------------------------------------------------------------------------------- */

static void image_resize(image *i, size_t size) {
    if (size > i->capacity) {
        i->capacity = size * 2;
        i->bytes = realloc(i->bytes, i->capacity);
    }
    if (size > i->size)
        memset(i->bytes + i->size, 0, size - i->size);
    i->size = size;
    i->exists = true;
}

static void image_write(image *i, size_t offset, const uint8_t *data, size_t size) {
    if (size > 0 && offset + size > i->size)
        image_resize(i, offset + size);
    memcpy(i->bytes + offset, data, size);
}

static void image_copy(image *to, const image *from) {
    to->size = 0;
    image_resize(to, from->size);
    if (from->size > 0)
        memcpy(to->bytes, from->bytes, from->size);
    to->exists = from->exists;
}

/* Does the record to the image, of a write only the sectors that `keeps_all` or luck keeps. */
static void image_apply(image *i, const vfs_record *r, bool keeps_all, uint32_t luck, bool is_last) {
    switch (r->operation) {
    case VFS_TRUNCATE:
        if (keeps_all || chance(100) < luck)
            image_resize(i, (size_t)r->offset);
        break;
    case VFS_DELETE:
        if (keeps_all || chance(100) < luck) {
            i->size = 0;
            i->exists = false;
        }
        break;
    case VFS_WRITE:
        for (size_t done = 0; done < r->size;) {
            size_t offset = (size_t)r->offset + done;
            size_t piece = SECTOR - offset % SECTOR;
            if (piece > r->size - done)
                piece = r->size - done;
            bool is_torn = is_last && !keeps_all && done + piece == r->size && chance(2);
            if (keeps_all || is_torn || chance(100) < luck)
                image_write(i, offset, r->data + done, is_torn ? chance((uint32_t)piece) : piece);
            done += piece;
        }
        break;
    }
}

/* --- The disk ----------------------------------------------------------------------------------- */

static void disk_sync(disk *d, const vfs_record *sync) {
    uint32_t luck = chance(101);
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        if (d->pending[i]->file == sync->file)
            image_apply(&d->files[sync->file], d->pending[i], !sync->failed, luck, false);
        else
            d->pending[kept++] = d->pending[i];
    }
    d->count = kept;
}

static void disk_play(disk *d, const vfs_record *r) {
    switch (r->operation) {
    case VFS_SYNC:
        disk_sync(d, r);
        break;
    case VFS_DELETE:
        if (r->is_durable) {
            disk_sync(d, r);
            image_apply(&d->files[r->file], r, true, 0, false);
            break;
        }
        /* fall through */
    case VFS_WRITE:
    case VFS_TRUNCATE:
        if (d->count == d->capacity) {
            d->capacity = d->capacity ? d->capacity * 2 : 256;
            d->pending = realloc(d->pending, d->capacity * sizeof *d->pending);
        }
        d->pending[d->count++] = r;
    }
}

static void disk_free(disk *d) {
    for (int file = 0; file < FILE_COUNT; file++)
        free(d->files[file].bytes);
    free(d->pending);
    *d = (disk){0};
}

/* Writes out what a power cut at this moment may leave: with luck 100 everything, with 0 what was synced. */
static void disk_cut(const disk *d, const char *path, uint32_t luck) {
    static image scratch[FILE_COUNT];
    for (int file = 0; file < FILE_COUNT; file++)
        image_copy(&scratch[file], &d->files[file]);
    for (size_t i = 0; i < d->count; i++)
        image_apply(&scratch[d->pending[i]->file], d->pending[i], luck == 100, luck, i + 1 == d->count);
    for (int file = 0; file < FILE_COUNT; file++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", path, vfs_suffixes[file]);
        unlink(name);
        /* The database file is created, and its directory synced, before SQLite sees it. */
        if (!scratch[file].exists && file != FILE_DATABASE)
            continue;
        FILE *out = fopen(name, "w");
        if (out == NULL || fwrite(scratch[file].bytes, 1, scratch[file].size, out) != scratch[file].size) {
            perror(name);
            exit(2);
        }
        fclose(out);
    }
}

/* --- Runs --------------------------------------------------------------------------------------- */

typedef struct run {
    const char *name;
    uint32_t transactions;
    size_t padding;
    bool is_relaxed;     /* all but every tenth */
    bool pauses;         /* so that the idle checkpoint truncates the log */
    bool reopens;        /* in the middle, cleanly */
    bool loses_syncs;    /* the planted fault */
    uint32_t fails_sync; /* at this transaction, once; 0 for none */
    uint32_t states;     /* how many to check, without --every */
} run;

static void must(hf_status status, hf_error *error) {
    if (status == HF_OK)
        return;
    fprintf(stderr, "the run itself failed: %s\n", hf_error_message(error));
    exit(2);
}

/* Makes the run, recorded. Marks: `number` with is_durable false: begun, or visible with its sequence. */
static void record(const run *r, const char *path) {
    ledger l;
    hf_error *error = NULL;
    vfs_swallow_syncs(r->loses_syncs);
    vfs_record_begin();
    must(ledger_open(&l, path, NULL, &error), error);
    for (uint32_t n = 1; n <= r->transactions; n++) {
        bool is_durable = !r->is_relaxed || n % 10 == 0;
        uint64_t sequence = 0;
        vfs_mark(n, 0, false);
        if (n == r->fails_sync)
            vfs_fail(VFS_SYNC, 1, false, SQLITE_IOERR_FSYNC);
        hf_status status = ledger_commit(&l, n, r->padding, is_durable, &sequence, &error);
        if (n == r->fails_sync && status != HF_OK) {
            /* Not stored, or unknown: the same is tried again, as a host would. */
            hf_error_free(error);
            error = NULL;
            status = ledger_commit(&l, n, r->padding, is_durable, &sequence, &error);
        }
        must(status, error);
        vfs_fail_nothing();
        vfs_mark(n, sequence, is_durable);
        if (r->is_relaxed && n % 25 == 0) {
            must(hf_store_sync(l.store, &error), error);
            vfs_mark(n, sequence, true);
        }
        if (r->pauses && n == r->transactions / 2)
            usleep(2500000);
        if (r->reopens && n == r->transactions * 3 / 4) {
            ledger_close(&l);
            must(ledger_open(&l, path, NULL, &error), error);
        }
    }
    ledger_close(&l);
    vfs_record_end();
    vfs_swallow_syncs(false);
}

typedef struct tally {
    size_t states, wrong;
} tally;

static void check(const disk *d, const expectation *e, const char *path, uint32_t luck, tally *t) {
    disk_cut(d, path, luck);
    uint32_t last;
    if (!ledger_verify(path, e, t->states % 8 == 0, &last))
        t->wrong++;
    t->states++;
}

static tally replay(const run *r, const char *directory, bool every, size_t enough) {
    char path[128];
    snprintf(path, sizeof path, "%s/store.db", directory);
    tally t = {0, 0};
    size_t count = vfs_record_count();
    const vfs_record *records = vfs_records();
    for (int pass = 0; pass < (r->fails_sync ? 4 : 1) && t.wrong < enough; pass++) {
        disk d = {0};
        expectation e = {0, 0, 0};
        for (size_t i = 0; i < count && t.wrong < enough; i++) {
            if (records[i].operation == VFS_MARK) {
                e.at_most = records[i].number;
                if (records[i].sequence > e.last_sequence)
                    e.last_sequence = records[i].sequence;
                if (records[i].is_durable)
                    e.at_least = records[i].number;
            } else {
                disk_play(&d, &records[i]);
            }
            if (!every && chance((uint32_t)count) >= r->states)
                continue;
            uint32_t lucks[] = {0, 100, 50, 1 + chance(99)};
            for (int trial = 0; trial < (every ? 4 : 1) && t.wrong < enough; trial++)
                check(&d, &e, path, lucks[every ? trial : (int)chance(4)], &t);
        }
        disk_free(&d);
    }
    return t;
}

static const run runs[] = {
    {.name = "durable commits, idle checkpoint, clean close",
     .transactions = 60,
     .padding = 700,
     .pauses = true,
     .reopens = true,
     .states = 250},
    {.name = "relaxed commits with durable ones and syncs",
     .transactions = 150,
     .padding = 300,
     .is_relaxed = true,
     .reopens = true,
     .states = 150},
    {.name = "a log that is checkpointed and overwritten",
     .transactions = 120,
     .padding = 100000,
     .reopens = true,
     .states = 60},
    {.name = "a sync that fails at a commit, once",
     .transactions = 30,
     .padding = 5000,
     .fails_sync = 15,
     .states = 60},
    {.name = "a sync that fails after relaxed commits, once",
     .transactions = 40,
     .padding = 5000,
     .is_relaxed = true,
     .fails_sync = 30,
     .states = 60},
};

int main(int argc, char **argv) {
    bool every = argc > 1 && strcmp(argv[1], "--every") == 0;
    char directory[64];
    char path[128];
    seed = seed_of_run();
    printf("seed %llu\n", (unsigned long long)seed);
    vfs_install();
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    size_t failed = 0;

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        record(&runs[i], path);
        /* The record stays as it is while the states are opened: recording has ended. */
        tally t = replay(&runs[i], directory, every, 5);
        printf("%s: %zu operations, %zu crash states, %zu wrong\n", runs[i].name, vfs_record_count(),
               t.states, t.wrong);
        fflush(stdout);
        failed += t.wrong;
        ledger_remove(directory, false);
    }

    /* With syncs that do nothing the same replay must find losses; else its silence means nothing. */
    run planted = runs[0];
    planted.loses_syncs = true;
    planted.pauses = false;
    record(&planted, path);
    fprintf(stderr, "(a loss is expected now)\n");
    tally t = replay(&planted, directory, false, 1);
    printf("the planted fault, syncs that do nothing: %s after %zu states\n", t.wrong ? "found" : "NOT FOUND",
           t.states);
    ledger_remove(directory, true);
    return failed > 0 || t.wrong == 0;
}
