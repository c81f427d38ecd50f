/*
 * Rolled back: a transaction that outgrew the page cache has written to the log before its end, and is then
 * rolled back. Another process commits over what it left there. Nothing of it may come back over those
 * commits, whatever the first process does next, and they are all there after both were killed.
 *
 *     rolled_back               all of it
 *     rolled_back --WORK PATH   one process
 */
#include "ledger.h"
#include "oracle.h"
#include "recording_vfs.h"

#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What is written exceeds the 32 MiB that the committing connection keeps. The reads that are let pass lead
 * beyond that, and not to the end. */
enum { LARGE = 560, LARGE_BYTES = 64 << 10, READS = 8700, VISITS = 500 };

/* What the processes know of each other, in memory that they share. */
typedef struct board {
    int rolled_back; /* what the large transaction answered */
    int is_ready;    /* it has been rolled back */
    int visits;      /* acknowledged to the other process */
    int is_over;     /* the first one has committed once more */
} board;

static const char *program;
static char directory[64], path[128];
static board *shared;

static void must(const char *doing, hf_status status, hf_error *error) {
    if (status != HF_OK)
        give_up(doing, status, error);
}

static void open_store(hf_store **store, hf_repository **large, hf_repository **visits) {
    hf_error *error = NULL;
    must("opening", hf_store_open(path, NULL, store, &error), error);
    must("opening a repository", hf_repository_open(*store, "large", NULL, large, &error), error);
    must("opening a repository", hf_repository_open(*store, "visits", NULL, visits, &error), error);
}

/* Sets every large entity to one letter. */
static hf_status write_large(hf_store *store, hf_repository *large, char letter) {
    hf_transaction *transaction = NULL;
    hf_error *error = NULL;
    char *text = malloc(LARGE_BYTES + 64);
    must("beginning", hf_transaction_begin(store, NULL, &transaction, &error), error);
    for (int i = 0; i < LARGE; i++) {
        int length = sprintf(text, "{\"id\":\"%d\",\"padding\":\"", i);
        memset(text + length, letter, LARGE_BYTES);
        strcpy(text + length + LARGE_BYTES, "\"}");
        must("saving", hf_repository_save(large, transaction, text, HF_NTS, NULL, &error), error);
    }
    free(text);
    hf_status status = hf_transaction_commit(transaction, NULL, NULL);
    hf_transaction_free(transaction);
    return status;
}

static void visit(hf_repository *visits, const char *by, int number) {
    char text[64];
    hf_error *error = NULL;
    snprintf(text, sizeof text, "{\"id\":\"%s%d\"}", by, number);
    must("adding", hf_repository_add(visits, NULL, text, HF_NTS, NULL, &error), error);
}

static void wait_for(const int *number, int value) {
    while (__atomic_load_n(number, __ATOMIC_ACQUIRE) < value)
        usleep(1000);
}

static void set(int *flag, int value) { __atomic_store_n(flag, value, __ATOMIC_RELEASE); }

/* --- Two processes ------------------------------------------------------------------------------- */

/* Begins to write all, cannot read on, and rolls back; commits once when the other has. */
static void roll_back(void) {
    hf_store *store;
    hf_repository *large, *visits;
    vfs_install();
    open_store(&store, &large, &visits);
    vfs_fail(VFS_READ, READS, true, SQLITE_IOERR_READ);
    set(&shared->rolled_back, write_large(store, large, 'b'));
    vfs_fail_nothing();
    set(&shared->is_ready, 1);
    wait_for(&shared->visits, VISITS);
    visit(visits, "own", 0);
    set(&shared->is_over, 1);
    for (;;)
        pause();
}

static void commit_beside(void) {
    hf_store *store;
    hf_repository *large, *visits;
    open_store(&store, &large, &visits);
    wait_for(&shared->is_ready, 1);
    for (int i = 0; i < VISITS; i++) {
        visit(visits, "other", i);
        set(&shared->visits, i + 1);
    }
    for (;;)
        pause();
}

static pid_t start(const char *work) {
    pid_t pid;
    char *arguments[] = {(char *)program, (char *)work, path, NULL};
    if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) != 0)
        exit(2);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* --- What is expected --------------------------------------------------------------------------- */

static void look(void) {
    hf_store *store;
    hf_repository *large, *visits;
    hf_error *error = NULL;
    hf_buffer report = HF_BUFFER_INIT;
    uint64_t count = 0, changed = 0;
    open_store(&store, &large, &visits);
    must("counting", hf_repository_count(visits, NULL, NULL, 0, NULL, &count, &error), error);
    must(
        "counting",
        hf_repository_count(large, NULL, "{\"padding\":{\"$regex\":\"^b\"}}", HF_NTS, NULL, &changed, &error),
        error);
    must("verifying", hf_store_verify(store, NULL, NULL, &report, &error), error);
    expect(count == VISITS + 1, "every visit that was acknowledged is there");
    expect(changed == 0, "nothing of what was rolled back is there");
    expect(strncmp(report.data, "{\"ok\":true", 10) == 0, "the store is sound");
    printf("rolled back: %llu of %d visits are there\n", (unsigned long long)count, VISITS + 1);
    hf_buffer_free(&report);
    hf_repository_free(large);
    hf_repository_free(visits);
    hf_store_free(store);
}

int main(int count, char **arguments) {
    program = arguments[0];
    if (count == 3) {
        snprintf(path, sizeof path, "%s", arguments[2]);
        shared = board_map(path, sizeof *shared);
        if (strcmp(arguments[1], "--roll-back") == 0)
            roll_back();
        commit_beside();
    }
    hf_store *store;
    hf_repository *large, *visits;
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    shared = board_map(path, sizeof *shared);
    open_store(&store, &large, &visits);
    must("filling", write_large(store, large, 'a'), NULL);
    hf_repository_free(large);
    hf_repository_free(visits);
    hf_store_free(store);
    pid_t first = start("--roll-back");
    pid_t other = start("--commit-beside");
    /* A process whose call fails ends. */
    while (__atomic_load_n(&shared->is_over, __ATOMIC_ACQUIRE) == 0 && waitpid(first, NULL, WNOHANG) == 0 &&
           waitpid(other, NULL, WNOHANG) == 0)
        usleep(1000);
    expect(shared->is_over, "who rolled back, and who commits beside it, go on");
    end(first);
    end(other);
    expect(shared->rolled_back == HF_IO, "what cannot be read fails its transaction");
    look();
    board_remove(path);
    ledger_remove(directory, true);
    return wrong > 0;
}
