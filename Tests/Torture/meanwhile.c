/*
 * Meanwhile: the files of an open store are displaced in the instant in which the library opens one of them
 * by its name, or are cut short while something of its own is under way. What was acknowledged is kept all
 * the same, what is read is true, and what was found damaged once is not taken for whole again.
 */
#include "ledger.h"
#include "oracle.h"
#include "recording_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENTRIES = 50, SECONDS = 300, LOOK_MILLISECONDS = 2 };

typedef enum deed { DELETED, MOVED, REPLACED } deed;
static const char *const deeds[] = {"deleted", "moved away", "replaced"};

static char directory[64], path[128], other[128], copy[128];
static deed chosen;
static int is_done;

static hf_store *store;
static hf_repository *entries;

static void name_of(char *out, const char *store_path, const char *ending) {
    snprintf(out, 192, "%s%s", store_path, ending);
}

/* What befalls the log; called where the library opens it. */
static void displace_log(void) {
    char log[192], target[192];
    name_of(log, path, "-wal");
    name_of(target, chosen == REPLACED ? other : path, chosen == REPLACED ? "-wal" : "-wal.away");
    int failed = chosen == DELETED ? unlink(log)
                 : chosen == MOVED ? rename(log, target)
                                   : rename(target, log);
    __atomic_store_n(&is_done, failed ? -1 : 1, __ATOMIC_RELEASE);
}

static void displace_when_opened(deed deed) {
    chosen = deed;
    __atomic_store_n(&is_done, 0, __ATOMIC_RELEASE);
    vfs_before_open(FILE_WAL, displace_log);
}

static void wait_until_displaced(void) {
    for (int i = 0; i < SECONDS * 100 && !__atomic_load_n(&is_done, __ATOMIC_ACQUIRE); i++)
        usleep(10 * 1000);
    if (is_done != 1)
        exit(2);
    usleep(LOOK_MILLISECONDS * 1000);
}

/* Each begins with stores of its own. */
static void remove_stores(void) {
    static const char *const endings[] = {"", "-wal", "-shm", "-lock", "-wal.away", "-partial"};
    const char *const stores[] = {path, other, copy};
    char name[192];
    for (size_t i = 0; i < 3; i++)
        for (size_t ending = 0; ending < sizeof endings / sizeof *endings; ending++) {
            name_of(name, stores[i], endings[ending]);
            unlink(name);
        }
}

/* An entity tells in which store it is, and how often it was saved. */
static void entity_of(char *out, int number, const char *whose) {
    sprintf(out, "{\"id\":\"e%d\",\"of\":\"%s\",\"padding\":\"%0900d\"}", number, whose, number);
}

static bool save(int number, const char *whose, hf_status *status, hf_error **error) {
    char json[1024];
    entity_of(json, number, whose);
    *status = hf_repository_save(entries, NULL, json, HF_NTS, NULL, error);
    return *status == HF_OK;
}

static void open_store(const char *at) {
    if (hf_store_open(at, NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "entries", NULL, &entries, NULL) != HF_OK)
        exit(2);
}

/* As it was opened, with its entries in the log. */
static void fill(const char *at, const char *whose) {
    hf_status status;
    open_store(at);
    for (int i = 0; i < ENTRIES; i++)
        if (!save(i, whose, &status, NULL))
            exit(2);
}

/* Another store with the same names, left open by a process that ends, so that its log is there: a longer
 * one. */
static void make_other(void) {
    pid_t child = fork();
    if (child == 0) {
        hf_status status;
        fill(other, "the other");
        for (int i = 0; i < ENTRIES; i++)
            if (!save(i, "the other", &status, NULL))
                _exit(1);
        _exit(0);
    }
    int outcome;
    waitpid(child, &outcome, 0);
    if (outcome != 0)
        exit(2);
}

static hf_status close_store(void) {
    hf_repository_free(entries);
    hf_status status = hf_store_close(store, -1, NULL);
    hf_store_free(store);
    return status;
}

static void expect_of(deed deed, bool is_right, const char *sentence) {
    char whole[256];
    snprintf(whole, sizeof whole, "the log %s: %s", deeds[deed], sentence);
    expect(is_right, whole);
}

/* Whether a store holds these entries and no others. */
static bool holds(const char *at, int count) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    open_store(at);
    bool is_right =
        hf_repository_fetch_all(entries, NULL, &list, NULL) == HF_OK && list.count == (size_t)count;
    for (int i = 0; i < count && is_right; i++) {
        hf_entity found = HF_ENTITY_INIT;
        char id[16], expected[1024];
        sprintf(id, "e%d", i);
        entity_of(expected, i, "this");
        is_right = hf_repository_fetch(entries, NULL, id, HF_NTS, &found, NULL) == HF_OK &&
                   strcmp(found.data, expected) == 0;
        hf_entity_free(&found);
    }
    hf_entity_list_free(&list);
    return close_store() == HF_OK && is_right;
}

/* --- Opened meanwhile ------------------------------------------------------------------------------- */

/* The thread that copies the log opens a connection of its own, long after the store was opened. */
static void what_was_acknowledged_is_kept(deed deed) {
    hf_status status = HF_OK;
    int saved = 0;
    make_other();
    open_store(path);
    if (!save(saved++, "this", &status, NULL))
        exit(2);
    displace_when_opened(deed);
    while (saved < ENTRIES && save(saved, "this", &status, NULL))
        saved++;
    wait_until_displaced();
    expect_of(deed, !save(saved, "this", &status, NULL) && status == HF_IO, "commits are refused soon after");
    expect_of(deed, close_store() == HF_OK, "closing keeps the commits");
    expect_of(deed, holds(path, saved), "what was acknowledged is there, and nothing else");
}

static void what_is_read_is_true(deed deed) {
    hf_transaction *former = NULL, *later = NULL;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    hf_status status;
    make_other();
    fill(path, "this");
    /* A second connection is opened by the second that reads while the first does. */
    if (hf_transaction_begin(store, NULL, &former, NULL) != HF_OK ||
        hf_repository_fetch_all(entries, former, &list, NULL) != HF_OK || !save(0, "this", &status, NULL) ||
        hf_transaction_begin(store, NULL, &later, NULL) != HF_OK)
        exit(2);
    displace_when_opened(deed);
    status = hf_repository_fetch_all(entries, later, &list, &error);
    if (is_done != 1)
        exit(2);
    bool is_true = status == HF_OK && list.count == ENTRIES;
    for (size_t i = 0; i < list.count && is_true; i++)
        is_true = strstr(list.items[i].data, "\"of\":\"this\"") != NULL;
    expect_of(deed, is_true || status == HF_IO, "what is read is true, or refused");
    hf_error_free(error);
    hf_entity_list_free(&list);
    hf_transaction_free(former);
    hf_transaction_free(later);
    expect_of(deed, close_store() == HF_OK, "closing keeps the commits, after reading");
    expect_of(deed, holds(path, ENTRIES), "what was read is there");
}

/* `is_late`: it happens where the backup opens the log, else before. */
static void a_backup_is_of_this_store(deed deed, bool is_late) {
    make_other();
    fill(path, "this");
    displace_when_opened(deed);
    if (!is_late) {
        vfs_before_open(FILE_WAL, NULL);
        displace_log();
    }
    hf_status status = hf_store_backup(store, copy, NULL, NULL, NULL, NULL);
    if (is_done != 1)
        exit(2);
    expect_of(deed, status == HF_IO && access(copy, F_OK) != 0, "a backup is refused, and leaves nothing");
    expect_of(deed, close_store() == HF_OK, "closing keeps the commits, after a backup");
    expect_of(deed, holds(path, ENTRIES), "what was to be backed up is there");
}

/* --- Cut short meanwhile ---------------------------------------------------------------------------- */

static int64_t resize(const char *file, int64_t size) {
    struct stat status;
    if (stat(file, &status) != 0 || truncate(file, size < 0 ? status.st_size / 2 / 4096 * 4096 : size) != 0)
        exit(2);
    usleep(LOOK_MILLISECONDS * 1000);
    return status.st_size;
}

/* As a copying of the log that was under way makes it, with a hole in it. */
static void a_file_that_was_cut_short_is_not_whole_again(const char *suffix) {
    char file[192];
    hf_status status;
    name_of(file, path, suffix);
    fill(path, "this");
    close_store();
    fill(path, "this");
    int64_t before = resize(file, -1);
    expect(!save(0, "this", &status, NULL) && status == HF_CORRUPT, "a file that is cut short is told");
    resize(file, before);
    expect(!save(0, "this", &status, NULL) && status == HF_CORRUPT, "and also when it is as long as before");
    expect(hf_store_sync(store, NULL) == HF_CORRUPT, "and so is it to who wants it synced");
    expect(close_store() == HF_CORRUPT, "and to who closes it");
}

/* Where the copying of the log has failed the store is opened anew before anything else; which must not take
 * what the log has lost for never written. */
static void a_log_cut_short_in_doubt_is_told(void) {
    char log[192];
    name_of(log, path, "-wal");
    fill(path, "this");
    close_store();
    fill(path, "this");
    vfs_fail(VFS_SYNC, 1, true, SQLITE_IOERR_FSYNC);
    /* The next sync is that of the log which is copied. */
    for (int i = 0; i < SECONDS * 100 && vfs_operation_count() == 0; i++)
        usleep(10 * 1000);
    usleep(10 * 1000);
    vfs_fail_nothing();
    resize(log, 0);
    expect(hf_store_sync(store, NULL) == HF_CORRUPT, "what is wrong with the file is told first");
    expect(close_store() == HF_CORRUPT, "a log that has lost its commits is told by closing");
}

static void begin_scene(void) {
    remove_stores();
    alarm(SECONDS);
}

int main(void) {
    int scenes = 0;
    /* The log is copied soon after the last commit, and not before. */
    pin_limits("checkpointBytes=67108864,checkpointIdle=200000000,checkpointRetry=1000000000");
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    snprintf(other, sizeof other, "%s/other.db", directory);
    snprintf(copy, sizeof copy, "%s/copy.db", directory);
    vfs_install();
    for (deed deed = DELETED; deed <= REPLACED; deed++) {
        begin_scene(), what_was_acknowledged_is_kept(deed), scenes++;
        begin_scene(), what_is_read_is_true(deed), scenes++;
        begin_scene(), a_backup_is_of_this_store(deed, true), scenes++;
        begin_scene(), a_backup_is_of_this_store(deed, false), scenes++;
    }
    begin_scene(), a_file_that_was_cut_short_is_not_whole_again(""), scenes++;
    begin_scene(), a_file_that_was_cut_short_is_not_whole_again("-wal"), scenes++;
    begin_scene(), a_log_cut_short_in_doubt_is_told(), scenes++;
    remove_stores();
    rmdir(directory);
    printf("displaced meanwhile: %d scenes, %d wrong\n", scenes, wrong);
    return wrong > 0;
}
