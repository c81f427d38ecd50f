/*
 * Processes: one at a time holds a store, and forks share nothing of it.
 */
#include "ledger.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[64], path[128];
static int wrong;

static void expect(bool is_right, const char *sentence) {
    if (!is_right) {
        fprintf(stderr, "WRONG: %s\n", sentence);
        wrong++;
    }
}

/* Opens and closes; the status, and the error's message and detail in `words`. */
static hf_status try_open(const char *options, char *words, size_t size) {
    hf_store *store = NULL;
    hf_error *error = NULL;
    hf_status status = hf_store_open(path, options, &store, &error);
    snprintf(words, size, "%s %s", error ? hf_error_message(error) : "",
             error ? hf_error_detail(error, NULL) : "");
    hf_error_free(error);
    hf_store_free(store);
    return status;
}

/* A process that opens the store, commits once, and then waits to be killed, or forks and waits. */
static pid_t start_holder(bool forks, pid_t *out_grandchild) {
    int ends[2];
    if (pipe(ends) != 0)
        exit(2);
    pid_t pid = fork();
    if (pid == 0) {
        ledger l;
        uint64_t sequence;
        if (ledger_open(&l, path, NULL, NULL) != HF_OK ||
            ledger_commit(&l, 1, 10, true, &sequence, NULL) != HF_OK)
            _exit(3);
        /* The last to begin tells that both are there. */
        pid_t child = forks ? fork() : getpid();
        pid_t self = getpid();
        if ((child == 0 || !forks) && write(ends[1], &self, sizeof self) != sizeof self)
            _exit(4);
        for (;;)
            pause();
    }
    if (read(ends[0], out_grandchild, sizeof *out_grandchild) != sizeof *out_grandchild)
        exit(2);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void a_second_process_is_told_who_holds_the_store(void) {
    pid_t none, holder = start_holder(false, &none);
    char words[1024], expected[64];
    expect(try_open(NULL, words, sizeof words) == HF_BUSY, "a held store is busy");
    snprintf(expected, sizeof expected, "process %d (processes)", (int)holder);
    expect(strstr(words, expected) != NULL, "the message names process and program");
    snprintf(expected, sizeof expected, "\"holder\":{\"pid\":%d,\"program\":\"processes\"", (int)holder);
    expect(strstr(words, expected) != NULL, "the detail names process and program");
    double began = seconds();
    expect(try_open("{\"lock_timeout_ms\":300}", words, sizeof words) == HF_BUSY, "it stays busy");
    expect(seconds() - began >= 0.3, "the time allowed is waited for");
    expect(try_open("{\"read_only\":true}", words, sizeof words) == HF_BUSY, "reading is refused too");
    end(holder);
    expect(try_open(NULL, words, sizeof words) == HF_OK, "the end of the holder frees the store");
}

static void waiting_ends_when_the_holder_does(void) {
    pid_t none, holder = start_holder(false, &none);
    pid_t killer = fork();
    if (killer == 0) {
        usleep(200000);
        kill(holder, SIGKILL);
        _exit(0);
    }
    char words[1024];
    expect(try_open("{\"lock_timeout_ms\":10000}", words, sizeof words) == HF_OK,
           "a store that is let go of in time is opened");
    waitpid(killer, NULL, 0);
    end(holder);
}

static void a_child_does_not_hold_what_its_dead_parent_held(void) {
    pid_t grandchild, holder = start_holder(true, &grandchild);
    end(holder);
    char words[1024];
    expect(try_open(NULL, words, sizeof words) == HF_OK, "a forked child holds no lock");
    kill(grandchild, SIGKILL);
}

static void a_child_is_refused_what_its_parent_had_open(void) {
    ledger l;
    expect(ledger_open(&l, path, NULL, NULL) == HF_OK, "opening in the parent");
    pid_t child = fork();
    if (child == 0) {
        char words[1024];
        bool is_refused = try_open(NULL, words, sizeof words) == HF_FORKED;
        hf_store_free(l.store);
        _exit(is_refused && try_open(NULL, words, sizeof words) == HF_FORKED ? 0 : 1);
    }
    int outcome;
    waitpid(child, &outcome, 0);
    expect(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0, "the child is told that it is one");
    uint64_t sequence;
    expect(ledger_commit(&l, 2, 10, true, &sequence, NULL) == HF_OK, "the parent goes on");
    ledger_close(&l);
}

int main(void) {
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    a_second_process_is_told_who_holds_the_store();
    waiting_ends_when_the_holder_does();
    a_child_does_not_hold_what_its_dead_parent_held();
    a_child_is_refused_what_its_parent_had_open();
    ledger_remove(directory, true);
    printf("processes and forks: %d wrong\n", wrong);
    return wrong > 0;
}
