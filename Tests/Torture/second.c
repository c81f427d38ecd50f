/*
 * Second: a process that opens a store which another has open, while one call into the system fails. However
 * that ends, the store that it has got can be written: where a file cannot be opened for writing, SQLite
 * opens it for reading and does not say so. And no commit of its is called durable before the names of the
 * files are, whoever has made them.
 */
#include "failing_calls.h"
#include "oracle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/holdfast-second-XXXXXX", path[96];

static hf_status save(hf_store *store, hf_error **error) {
    hf_repository *things = NULL;
    hf_status status = hf_repository_open(store, "things", NULL, &things, error);
    if (status == HF_OK)
        status = hf_repository_save(things, NULL, "{\"id\":\"one\"}", HF_NTS, NULL, error);
    hf_repository_free(things);
    return status;
}

/* Has the store open until it is killed. */
static pid_t start_first(void) {
    int ends[2];
    char ready = 1;
    if (pipe(ends) != 0)
        exit(2);
    pid_t pid = fork();
    if (pid == 0) {
        hf_store *store;
        hf_error *error = NULL;
        hf_status status = hf_store_open(path, NULL, &store, &error);
        if (status == HF_OK)
            status = save(store, &error);
        if (status != HF_OK)
            give_up("beginning", status, error);
        if (write(ends[1], &ready, 1) != 1)
            _exit(4);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (read(ends[0], &ready, 1) != 1)
        exit(2);
    close(ends[0]);
    return pid;
}

/* The n-th call of opening fails. Answers how many there were. */
static long open_with_fault(long nth) {
    hf_store *store = NULL;
    hf_error *error = NULL;
    calls_arm(CALL_FAILS, nth);
    hf_status opened = hf_store_open(path, NULL, &store, &error);
    long count = calls_disarm();
    char met[256];
    snprintf(met, sizeof met, "%.250s", calls_met());
    hf_error_free(error);
    if (opened == HF_OK)
        for (int attempt = 1; attempt <= 2; attempt++) {
            error = NULL;
            hf_status status = save(store, &error);
            if (status == HF_OK)
                break;
            if (attempt == 2 || status != HF_IO) {
                fprintf(stderr, "call %ld (%s): ", nth, met);
                fprintf(stderr, "attempt %d answered %s: %s\n", attempt, hf_status_name(status),
                        error ? hf_error_message(error) : "");
                expect(false, "a store that could be opened can be written");
            }
            hf_error_free(error);
        }
    hf_store_free(store);
    return count;
}

static void commit_beside_unsynced_names(void) {
    hf_store *store = NULL;
    hf_error *error = NULL;
    if (hf_store_open(path, NULL, &store, &error) != HF_OK)
        give_up("opening", HF_INTERNAL, error);
    calls_arm(DIRECTORY_SYNC_FAILS, 1);
    expect(save(store, &error) == HF_IO, "what has no durable name is not durable");
    hf_error_free(error);
    error = NULL;
    expect(save(store, &error) == HF_OK, "the next commit syncs the names");
    expect(calls_disarm() > 1, "the directory was synced once more");
    hf_error_free(error);
    hf_store_free(store);
}

int main(void) {
    if (mkdtemp(directory) == NULL)
        return 2;
    snprintf(path, sizeof path, "%s/store.db", directory);
    pid_t first = start_first();
    long nth = 1;
    while (nth <= open_with_fault(nth))
        nth++;
    commit_beside_unsynced_names();
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    rmdir(directory);
    printf("second: each of %ld calls failed, %d wrong\n", nth - 1, wrong);
    return wrong != 0;
}
