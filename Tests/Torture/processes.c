/*
 * Processes: what one that has a store open, or a fork of it, can do to another.
 */
#include "ledger.h"
#include "oracle.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64], path[128];

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

/* A lock on a byte of the sidecar file, as another process has it. The byte stands for: */
enum { DOOR = 1, TURN = 2 };

static int hold(int byte) {
    char sidecar[160];
    snprintf(sidecar, sizeof sidecar, "%s-lock", path);
    int descriptor = open(sidecar, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (descriptor < 0 || fcntl(descriptor, F_OFD_SETLK, &lock) != 0) {
        perror(sidecar);
        exit(2);
    }
    return descriptor;
}

static void a_process_that_opens_for_long_keeps_others_waiting(void) {
    pid_t none, holder = start_holder(false, &none);
    int door = hold(DOOR);
    char words[1024], expected[64];
    double began = seconds();
    expect(try_open("{\"lock_timeout_ms\":300}", words, sizeof words) == HF_BUSY, "the store is busy");
    expect(seconds() - began >= 0.3, "the time allowed is waited for");
    snprintf(expected, sizeof expected, "process %d (processes)", (int)holder);
    expect(strstr(words, expected) != NULL, "the message names process and program");
    snprintf(expected, sizeof expected, "\"holder\":{\"pid\":%d,\"program\":\"processes\"", (int)holder);
    expect(strstr(words, expected) != NULL, "the detail names them too");
    expect(try_open("{\"read_only\":true}", words, sizeof words) == HF_OK, "reading waits for nobody");
    close(door);
    expect(try_open(NULL, words, sizeof words) == HF_OK, "two processes have it open");
    end(holder);
    expect(try_open(NULL, words, sizeof words) == HF_OK, "what a killed process had open can be opened");
}

static void a_process_that_keeps_its_turn_costs_others_their_timeout_and_nothing_else(void) {
    ledger l;
    uint64_t sequence;
    expect(ledger_open(&l, path, NULL, NULL) == HF_OK, "opening");
    int turn = hold(TURN);
    hf_transaction *t;
    hf_error *error = NULL;
    expect(hf_transaction_begin(l.store, "{\"timeout_ms\":200}", &t, NULL) == HF_OK, "beginning");
    expect(hf_repository_save(l.slots, t, "{\"id\":\"late\"}", HF_NTS, NULL, NULL) == HF_OK, "saving");
    double began = seconds();
    expect(hf_transaction_commit(t, NULL, &error) == HF_TIMEOUT, "a commit that gets no turn is withdrawn");
    expect(seconds() - began >= 0.19, "its timeout is waited for");
    hf_error_free(error);
    hf_transaction_free(t);
    bool is_there = true;
    expect(hf_repository_contains(l.slots, NULL, "late", HF_NTS, &is_there, NULL) == HF_OK && !is_there,
           "nothing was stored");
    close(turn);
    expect(ledger_commit(&l, 3, 10, true, &sequence, NULL) == HF_OK, "after it commits go on");
    ledger_close(&l);
}

/* The first to open a store that was not closed goes on after the reserved sequences. */
static void a_child_does_not_stand_in_for_its_dead_parent(void) {
    ledger_remove(directory, false);
    pid_t grandchild, holder = start_holder(true, &grandchild);
    end(holder);
    ledger l;
    uint64_t sequence = 0;
    expect(ledger_open(&l, path, NULL, NULL) == HF_OK, "opening beside the child");
    expect(ledger_commit(&l, 2, 10, true, &sequence, NULL) == HF_OK && sequence > 65536,
           "who opens the store beside a forked child is alone with it");
    ledger_close(&l);
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
    /* By the sequences that are skipped it is seen who opened the store as the first. */
    pin_limits("sequenceReservation=65536");
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    a_process_that_opens_for_long_keeps_others_waiting();
    a_process_that_keeps_its_turn_costs_others_their_timeout_and_nothing_else();
    a_child_does_not_stand_in_for_its_dead_parent();
    a_child_is_refused_what_its_parent_had_open();
    ledger_remove(directory, true);
    printf("processes and forks: %d wrong\n", wrong);
    return wrong > 0;
}
