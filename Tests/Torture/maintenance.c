/*
 * Maintenance under faults: backup, restore and compacting, with each file operation made to fail, once and
 * for good.
 *
 *     maintenance [--every]   --every: each operation of the run; else a sample
 *
 * Whatever fails, each call answers with a status that fits; what says that it succeeded is whole, what
 * failed left nothing under the name of the new file, and the store has all that was committed.
 */
#include "ledger.h"
#include "recording_vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTITIES = 60 };

static char directory[64], path[128], backup[128], copy[128];
static size_t wrong;

static void complain(const char *what, const char *why) {
    fprintf(stderr, "WRONG: %s: %s\n", what, why);
    wrong++;
}

static hf_status checked(const char *what, hf_status status, hf_error **error) {
    if (status != HF_OK && status != HF_IO && status != HF_FULL && status != HF_CANNOT_OPEN &&
        status != HF_CORRUPT && status != HF_NOT_A_STORE)
        complain(what, *error ? hf_error_message(*error) : hf_status_name(status));
    hf_error_free(*error);
    *error = NULL;
    return status;
}

static void require(const char *what, hf_status status, hf_error **error) {
    if (status == HF_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, hf_error_message(*error));
    exit(2);
}

static void fill(const char *at) {
    hf_store *store = NULL;
    hf_repository *things = NULL;
    hf_error *error = NULL;
    require("opening", hf_store_open(at, NULL, &store, &error), &error);
    require("opening", hf_repository_open(store, "things", NULL, &things, &error), &error);
    for (int round = 0; round < 2; round++) {
        hf_transaction *t = NULL;
        require("beginning", hf_transaction_begin(store, NULL, &t, &error), &error);
        for (int i = 0; i < ENTITIES * 4; i++) {
            char json[1200];
            snprintf(json, sizeof json, "{\"id\":\"t%03d\",\"text\":\"%01000d\"}", i, i);
            require("saving", hf_repository_save(things, t, json, HF_NTS, NULL, &error), &error);
        }
        require("committing", hf_transaction_commit(t, NULL, &error), &error);
        hf_transaction_free(t);
    }
    /* Something to be compacted. */
    require(
        "deleting",
        hf_repository_delete_all(things, NULL, "{\"id\":{\"$gte\":\"t060\"}}", HF_NTS, NULL, NULL, &error),
        &error);
    hf_repository_free(things);
    hf_store_free(store);
}

/* Whether the store is whole. */
static void verify(const char *at, const char *what) {
    hf_store *store = NULL;
    hf_repository *things = NULL;
    hf_error *error = NULL;
    hf_buffer report = HF_BUFFER_INIT;
    uint64_t count = 0;
    if (hf_store_open(at, "{\"create\":false}", &store, &error) != HF_OK ||
        hf_repository_open(store, "things", "{\"create\":false}", &things, &error) != HF_OK ||
        hf_repository_count(things, NULL, NULL, 0, NULL, &count, &error) != HF_OK ||
        hf_store_verify(store, NULL, NULL, &report, &error) != HF_OK)
        complain(what, hf_error_message(error));
    else if (count != ENTITIES || strncmp(report.data, "{\"ok\":true", 10) != 0)
        complain(what, "is not what was stored");
    hf_buffer_free(&report);
    hf_error_free(error);
    hf_repository_free(things);
    hf_store_free(store);
}

/* Answers whether the backup, and whether its restored copy, are said to be there. */
static void session(bool *has_backup, bool *has_copy) {
    hf_store *store = NULL;
    hf_error *error = NULL;
    *has_backup = *has_copy = false;
    if (checked("opening", hf_store_open(path, NULL, &store, &error), &error) != HF_OK)
        return;
    *has_backup =
        checked("a backup", hf_store_backup(store, backup, NULL, NULL, NULL, &error), &error) == HF_OK;
    checked("compacting", hf_store_compact(store, NULL, &error), &error);
    checked("closing", hf_store_close(store, -1, &error), &error);
    hf_store_free(store);
    if (*has_backup)
        *has_copy =
            checked("restoring", hf_store_restore(backup, copy, NULL, NULL, NULL, &error), &error) == HF_OK;
}

static void forget(void) {
    static const char *const ends[] = {"",         "-wal",         "-shm",         "-lock",
                                       "-partial", "-partial-wal", "-partial-shm", "-partial-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s%s", backup, ends[i]);
        unlink(name);
        snprintf(name, sizeof name, "%s%s", copy, ends[i]);
        unlink(name);
    }
}

static long run(int operations, long nth, bool forever, int code) {
    bool has_backup, has_copy;
    ledger_remove(directory, false);
    forget();
    vfs_fail_nothing();
    fill(path);
    vfs_fail(operations, nth, forever, code);
    session(&has_backup, &has_copy);
    long count = vfs_operation_count();
    vfs_fail_nothing();
    if (has_backup != (access(backup, F_OK) == 0))
        complain("a backup", has_backup ? "is not there" : "failed and left a file");
    if (has_copy != (access(copy, F_OK) == 0))
        complain("a restored store", has_copy ? "is not there" : "failed and left a file");
    verify(path, "the store");
    if (has_backup)
        verify(backup, "the backup");
    if (has_copy)
        verify(copy, "the restored store");
    return count;
}

static size_t fail_each(const char *what, int operations, int code, size_t samples) {
    size_t before = wrong;
    long count = run(operations, 0, false, SQLITE_OK);
    long step = samples == 0 || (size_t)count <= samples ? 1 : count / (long)samples;
    size_t runs = 0;
    for (long nth = 1; nth <= count; nth += step)
        for (int forever = 0; forever <= 1; forever++, runs++) {
            size_t seen = wrong;
            run(operations, nth, forever, code);
            if (wrong > seen)
                fprintf(stderr, "  after %s %ld failed %s\n", what, nth, forever ? "for good" : "once");
        }
    printf("%s: %ld operations, %zu runs, %zu wrong\n", what, count, runs, wrong - before);
    fflush(stdout);
    return runs;
}

int main(int argc, char **argv) {
    size_t samples = argc > 1 && strcmp(argv[1], "--every") == 0 ? 0 : 12;
    vfs_install();
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    snprintf(backup, sizeof backup, "%s/backup.db", directory);
    snprintf(copy, sizeof copy, "%s/copy.db", directory);
    fail_each("read", VFS_READ, SQLITE_IOERR_READ, samples);
    fail_each("write", VFS_WRITE, SQLITE_IOERR_WRITE, samples);
    fail_each("write on a full disk", VFS_WRITE, SQLITE_FULL, samples);
    fail_each("truncation", VFS_TRUNCATE, SQLITE_IOERR_TRUNCATE, samples);
    fail_each("sync", VFS_SYNC, SQLITE_IOERR_FSYNC, samples);
    fail_each("open", VFS_OPEN, SQLITE_CANTOPEN, samples);
    fail_each("deletion", VFS_DELETE, SQLITE_IOERR_DELETE, samples);
    forget();
    ledger_remove(directory, true);
    return wrong > 0;
}
