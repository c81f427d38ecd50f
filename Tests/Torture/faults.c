/*
 * Faults: every read, write, truncation, sync, open and shared-memory map made to fail, once and for good.
 *
 *     faults [--every]        --every: each operation of the run; else a sample
 *
 * The run opens a store, commits and reads, closes it, and does so again. Whatever fails in it, each call
 * must answer with a status that fits, what was acknowledged must be there afterwards, the file must be
 * sound, and with the fault gone the store must work again.
 */
#include "ledger.h"
#include "recording_vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMITS = 8, PADDING = 3000 };

static char directory[64], path[128];
static size_t wrong;

static void complain(const char *what, hf_status status, const hf_error *error) {
    fprintf(stderr, "WRONG: %s: %s (%s)\n", what, hf_status_name(status),
            error ? hf_error_message(error) : "");
    wrong++;
}

/* Whether a failing file layer may answer so. */
static bool fits(hf_status status) {
    return status == HF_OK || status == HF_IO || status == HF_FULL || status == HF_CANNOT_OPEN;
}

static hf_status checked(const char *what, hf_status status, hf_error **error) {
    if (!fits(status))
        complain(what, status, *error);
    hf_error_free(*error);
    *error = NULL;
    return status;
}

/* Reads what must be at least as new as the last acknowledged transaction. */
static void read_slot(ledger *l, uint32_t at_least) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_error *error = NULL;
    hf_status status =
        checked("a read", hf_repository_fetch(l->slots, NULL, "slot-0", HF_NTS, &entity, &error), &error);
    if (status == HF_OK && strtoul(strstr(entity.data, "\"n\":") + 4, NULL, 10) < at_least)
        complain("a read shows an old state", status, NULL);
    hf_entity_free(&entity);
}

/* One session with a store. Updates what is expected; a transaction that fails is tried once more. */
static void session(expectation *e) {
    ledger l;
    hf_error *error = NULL;
    if (checked("opening", ledger_open(&l, path, NULL, &error), &error) != HF_OK) {
        ledger_close(&l);
        return;
    }
    for (int i = 0, tries = 2 * COMMITS; i < COMMITS && tries > 0; tries--) {
        uint32_t n = e->at_least + 1;
        uint64_t sequence = 0;
        e->at_most = n;
        hf_status status =
            checked("a commit", ledger_commit(&l, n, PADDING, i % 4 != 3, &sequence, &error), &error);
        if (status != HF_OK)
            continue;
        i++;
        e->at_least = n;
        if (sequence <= e->last_sequence)
            complain("a sequence was given twice", status, NULL);
        e->last_sequence = sequence;
        read_slot(&l, n);
    }
    checked("closing", hf_store_close(l.store, -1, &error), &error);
    ledger_close(&l);
}

static void verify(expectation *e, const char *what, long nth, bool forever) {
    uint32_t last;
    vfs_fail_nothing();
    if (!ledger_verify(path, e, true, &last)) {
        fprintf(stderr, "  after %s %ld failed %s\n", what, nth, forever ? "for good" : "once");
        wrong++;
    }
    ledger_remove(directory, false);
}

static size_t fail_each(const char *what, int operations, int code, size_t samples) {
    expectation e = {0, 0, 0};
    vfs_fail(operations, 0, false, SQLITE_OK);
    session(&e);
    session(&e);
    long count = vfs_operation_count();
    verify(&e, what, 0, false);
    long step = samples == 0 || (size_t)count <= samples ? 1 : count / (long)samples;
    size_t runs = 0;
    for (long nth = 1; nth <= count; nth += step)
        for (int forever = 0; forever <= 1; forever++, runs++) {
            e = (expectation){0, 0, 0};
            vfs_fail(operations, nth, forever, code);
            session(&e);
            session(&e);
            verify(&e, what, nth, forever);
        }
    printf("%s: %ld operations, %zu runs\n", what, count, runs);
    fflush(stdout);
    return runs;
}

/* --- A sync that fails at COMMIT ------------------------------------------------------------------ */

static void expect_status(const char *what, hf_status expected, hf_status status, hf_error **error) {
    if (status != expected)
        complain(what, status, *error);
    hf_error_free(*error);
    *error = NULL;
}

/* What a commit was answered. */
typedef struct answer {
    hf_status status;
    hf_commit_state state;
} answer;

static answer commit(ledger *l, uint32_t n, uint64_t *sequence) {
    hf_error *error = NULL;
    answer a = {ledger_commit(l, n, 10, true, sequence, &error), HF_COMMIT_NONE};
    if (a.status != HF_OK && a.status != HF_IO)
        complain("a commit whose sync fails", a.status, error);
    a.state = hf_error_commit_state(error);
    hf_error_free(error);
    return a;
}

/* Once the store works again: what was told to be there is, and what was told not to be is not. */
static void look_for(ledger *l, uint32_t n, answer told) {
    char id[16];
    bool is_there = false;
    hf_error *error = NULL;
    snprintf(id, sizeof id, "t-%u", n);
    expect_status("a look at what became of it", HF_OK,
                  hf_repository_contains(l->entries, NULL, id, HF_NTS, &is_there, &error), &error);
    if (told.status == HF_OK && !is_there)
        complain("an acknowledged commit is lost", told.status, NULL);
    if (told.status != HF_OK && told.state == HF_COMMIT_NONE && is_there)
        complain("the outcome was unknown and not told so", told.status, NULL);
}

/* The first sync that fails need not be that of the COMMIT: with a small cache it is that of a log which
 * begins anew in the middle of the transaction, and where the log is copied all the time another thread may
 * meet it before. Then it is certain that nothing was stored. */
static void fail_sync_at_commit(bool forever) {
    ledger l;
    hf_error *error = NULL;
    uint64_t sequence;
    expectation e = {0, 0, 0};
    expect_status("opening", HF_OK, ledger_open(&l, path, NULL, &error), &error);
    for (uint32_t n = 1; n <= 5; n++)
        expect_status("a commit", HF_OK, ledger_commit(&l, n, 10, true, &e.last_sequence, &error), &error);
    vfs_fail(VFS_SYNC, 1, forever, SQLITE_IOERR_FSYNC);
    answer sixth = commit(&l, 6, &sequence), seventh = {HF_OK, HF_COMMIT_NONE};
    /* With a second sync it is looked up after the recovery. */
    if (!forever && sixth.state != HF_COMMIT_NONE)
        complain("the outcome is not resolved", sixth.status, NULL);
    if (forever) {
        seventh = commit(&l, 7, &sequence);
        if (sixth.status == HF_OK || seventh.status == HF_OK)
            complain("a commit that cannot be durable", HF_OK, NULL);
    }
    vfs_fail_nothing();
    hf_status eighth = ledger_commit(&l, 8, 10, true, &sequence, &error);
    /* Where limits are drawn, and the thread that copies the log has met the fault in the end, one commit
     * more is told of it. */
    const char *drawn = getenv("HOLDFAST_LIMITS");
    if (drawn != NULL && drawn[0] != '\0' && eighth == HF_IO &&
        hf_error_commit_state(error) == HF_COMMIT_NONE) {
        hf_error_free(error);
        error = NULL;
        eighth = ledger_commit(&l, 8, 10, true, &sequence, &error);
    }
    expect_status("a commit with the fault gone", HF_OK, eighth, &error);
    if (sequence <= e.last_sequence)
        complain("a sequence was given twice", HF_OK, NULL);
    look_for(&l, 6, sixth);
    if (forever)
        look_for(&l, 7, seventh);
    /* A ledger without gaps, whatever became of those. */
    for (uint32_t n = 6; n <= 8; n++)
        expect_status("a commit after it", HF_OK, ledger_commit(&l, n, 10, true, &e.last_sequence, &error),
                      &error);
    e.at_least = e.at_most = 8;
    read_slot(&l, 8);
    ledger_close(&l);
    verify(&e, "a sync at a commit", 1, forever);
}

int main(int argc, char **argv) {
    size_t samples = argc > 1 && strcmp(argv[1], "--every") == 0 ? 0 : 25;
    vfs_install();
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);

    fail_sync_at_commit(false);
    fail_sync_at_commit(true);
    printf("a sync that fails at a commit: once, and for good\n");

    size_t runs = 0;
    runs += fail_each("read", VFS_READ, SQLITE_IOERR_READ, samples);
    runs += fail_each("write", VFS_WRITE, SQLITE_IOERR_WRITE, samples);
    runs += fail_each("write on a full disk", VFS_WRITE, SQLITE_FULL, samples);
    runs += fail_each("truncation", VFS_TRUNCATE, SQLITE_IOERR_TRUNCATE, samples);
    runs += fail_each("sync", VFS_SYNC, SQLITE_IOERR_FSYNC, samples);
    runs += fail_each("open", VFS_OPEN, SQLITE_CANTOPEN, samples);
    runs += fail_each("deletion", VFS_DELETE, SQLITE_IOERR_DELETE, samples);
    runs += fail_each("map of the shared memory", VFS_MAP, SQLITE_IOERR_SHMMAP, samples);
    printf("%zu runs with a fault, %zu wrong\n", runs, wrong);
    ledger_remove(directory, true);
    return wrong > 0;
}
