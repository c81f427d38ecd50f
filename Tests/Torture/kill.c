/*
 * Kill: a writer killed with SIGKILL again and again, at moments of no choosing.
 *
 *     kill [COUNT]            COUNT kills (100)
 *     kill --writer PATH N    the writer: commits from transaction N on and tells on its standard output what
 *                             was acknowledged
 *
 * After each kill every acknowledged transaction must be there and whole, none without those before it, and
 * no sequence may be given out twice. Many commits are in flight at each kill.
 */
#include "ledger.h"
#include "oracle.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

typedef struct acknowledgement {
    uint32_t number;
    uint64_t sequence;
} acknowledgement;

/* --- The writer --------------------------------------------------------------------------------- */

static void acknowledge(const hf_event *event, void *user_data) {
    if (event->status != HF_OK) {
        fprintf(stderr, "a commit failed: %s\n", hf_error_message(event->error));
        _exit(3);
    }
    acknowledgement a = {(uint32_t)(uintptr_t)user_data, event->sequence};
    if (write(STDOUT_FILENO, &a, sizeof a) != sizeof a)
        _exit(4);
}

static int write_until_killed(const char *path, uint32_t n) {
    ledger l;
    hf_error *error = NULL;
    if (ledger_open(&l, path, "{\"max_in_flight\":200}", &error) != HF_OK) {
        fprintf(stderr, "the writer cannot open: %s\n", hf_error_message(error));
        return 3;
    }
    for (;; n++) {
        hf_transaction *t;
        /* Every eighth is not waited for by a sync; a killed process loses it no more than the others. */
        hf_status status = ledger_begin(&l, n, n % 64 == 0 ? 50000 : 200, n % 8 != 0, &t, &error);
        if (status == HF_OK)
            status = hf_transaction_submit(t, acknowledge, (void *)(uintptr_t)n, NULL, &error);
        if (status != HF_OK) {
            fprintf(stderr, "the writer cannot commit: %s\n", hf_error_message(error));
            return 3;
        }
        hf_transaction_free(t);
    }
}

/* --- The killer --------------------------------------------------------------------------------- */

static pid_t start(const char *self, const char *path, uint32_t n, int *out_pipe) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    char number[16];
    snprintf(number, sizeof number, "%u", n);
    char *arguments[] = {(char *)self, "--writer", (char *)path, number, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    pid_t pid = -1;
    if (posix_spawn(&pid, self, &actions, NULL, arguments, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out_pipe = ends[0];
    return pid;
}

/* Reads acknowledgements until the pipe ends; kills the writer a while after the first. */
static size_t read_and_kill(pid_t pid, int pipe, long microseconds, expectation *e) {
    acknowledgement a;
    size_t count = 0;
    ssize_t length;
    while ((length = read(pipe, &a, sizeof a)) == (ssize_t)sizeof a || (length < 0 && errno == EINTR)) {
        if (length < 0)
            continue;
        e->at_least = a.number;
        if (a.sequence > e->last_sequence)
            e->last_sequence = a.sequence;
        if (count++ == 0) {
            usleep((useconds_t)microseconds);
            kill(pid, SIGKILL);
        }
    }
    close(pipe);
    return count;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "--writer") == 0)
        return write_until_killed(argv[2], (uint32_t)strtoul(argv[3], NULL, 10));

    long kills = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    char self[1024] = "", directory[] = "/tmp/holdfast-kill-XXXXXX", path[128];
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || mkdtemp(directory) == NULL) {
        perror(argv[0]);
        return 2;
    }
    snprintf(path, sizeof path, "%s/store.db", directory);
    unsigned seed = seed_of_run();
    srand(seed);

    uint32_t last = 0;
    uint64_t last_sequence = 0;
    size_t acknowledged = 0, wrong = 0;
    for (long i = 0; i < kills && wrong == 0; i++) {
        int pipe, outcome;
        expectation e = {last, UINT32_MAX, last_sequence};
        pid_t pid = start(self, path, last + 1, &pipe);
        if (pid < 0)
            return 2;
        acknowledged += read_and_kill(pid, pipe, rand() % 30000, &e);
        waitpid(pid, &outcome, 0);
        if (!WIFSIGNALED(outcome))
            wrong++; /* it ended by itself, and has said why */
        if (!ledger_verify(path, &e, i % 16 == 0, &last))
            wrong++;
        /* The check has committed one more. */
        last++;
        last_sequence = e.last_sequence;
        if (i % 100 == 99) { /* a new store, lest reading it all take longer and longer */
            ledger_remove(directory, false);
            last = 0;
            last_sequence = 0;
        }
    }
    printf("seed %u: %ld kills, %zu acknowledged commits, %zu wrong\n", seed, kills, acknowledged, wrong);
    ledger_remove(directory, true);
    return wrong > 0;
}
