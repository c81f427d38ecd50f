/*
 * Neighbours: what processes that share a store do to each other at the edges of their lives: while they open
 * and close, while they idle, when a sync of one fails, when they are killed.
 *
 *     neighbours [SECONDS]                  all of it; processes come and go for so long (2)
 *     neighbours --WORK PATH ARGUMENT       one process
 */
#include "ledger.h"
#include "oracle.h"
#include "recording_vfs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* SQLite itself waits five seconds for a lock. */
enum { PROCESSES = 4, SLOW_SYNC_MILLISECONDS = 6000 };

static const char *program;
static char directory[64], path[128];

static void must(const char *doing, hf_status status, hf_error *error) {
    if (status != HF_OK)
        give_up(doing, status, error);
}

static void open_visits(hf_store **store, hf_repository **visits) {
    hf_error *error = NULL;
    /* The log is overwritten from a quarter of its limit on. */
    must("opening", hf_store_open(path, "{\"wal_limit_bytes\":67108864}", store, &error), error);
    must("opening a repository", hf_repository_open(*store, "visits", NULL, visits, &error), error);
}

static void note_visit(hf_repository *visits, const char *by) {
    char text[64];
    hf_error *error = NULL;
    snprintf(text, sizeof text, "{\"by\":\"%s\"}", by);
    must("adding", hf_repository_add(visits, NULL, text, HF_NTS, NULL, &error), error);
}

static void note_relaxed_visit(hf_store *store, hf_repository *visits) {
    hf_transaction *transaction = NULL;
    hf_error *error = NULL;
    must("beginning", hf_transaction_begin(store, "{\"durability\":\"relaxed\"}", &transaction, &error),
         error);
    must("adding", hf_repository_add(visits, transaction, "{\"by\":\"busy\"}", HF_NTS, NULL, &error), error);
    must("committing", hf_transaction_commit(transaction, NULL, &error), error);
    hf_transaction_free(transaction);
}

static long query(const char *sql) {
    sqlite3 *connection;
    sqlite3_stmt *statement;
    long value = -1;
    if (sqlite3_open(path, &connection) == SQLITE_OK &&
        sqlite3_prepare_v2(connection, sql, -1, &statement, NULL) == SQLITE_OK) {
        if (sqlite3_step(statement) == SQLITE_ROW)
            value = (long)sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
    }
    sqlite3_close(connection);
    return value;
}

/* --- What the other processes do ---------------------------------------------------------------- */

/* Comes and goes until the time is over, and tells on its standard output how often it was answered. */
static void visit(const char *by, double duration) {
    long answered = 0;
    for (double end = seconds() + duration; seconds() < end;) {
        hf_store *store;
        hf_repository *visits;
        open_visits(&store, &visits);
        for (int i = 0; i < 3; i++, answered++)
            note_visit(visits, by);
        hf_repository_free(visits);
        hf_error *error = NULL;
        must("closing", hf_store_close(store, -1, &error), error);
        hf_store_free(store);
    }
    printf("%ld\n", answered);
}

/* Opens the store, reads once, says so, and waits to be killed. */
static void idle(void) {
    hf_store *store;
    hf_repository *visits;
    uint64_t count;
    open_visits(&store, &visits);
    must("counting", hf_repository_count(visits, NULL, NULL, 0, NULL, &count, NULL), NULL);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}

static pid_t start(const char *work, const char *argument, int *out_descriptor) {
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    char *arguments[] = {(char *)program, (char *)work, path, (char *)argument, NULL};
    posix_spawn_file_actions_init(&actions);
    if (pipe2(ends, O_CLOEXEC) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) != 0 ||
        posix_spawn(&pid, program, &actions, NULL, arguments, environ) != 0)
        exit(2);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out_descriptor = ends[0];
    return pid;
}

static void end(pid_t pid, int descriptor) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(descriptor);
}

static bool is_readable(int descriptor) {
    struct pollfd waited = {.fd = descriptor, .events = POLLIN};
    return poll(&waited, 1, 0) == 1;
}

static void read_line(int descriptor, char *line, size_t size) {
    ssize_t count = read(descriptor, line, size - 1);
    line[count < 0 ? 0 : count] = '\0';
}

/* --- What is expected --------------------------------------------------------------------------- */

static void processes_come_and_go(double duration) {
    pid_t pids[PROCESSES], victim;
    int ends[PROCESSES], victim_end;
    char names[PROCESSES][8], length[16], line[32];
    snprintf(length, sizeof length, "%f", duration);
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        setenv("VISITOR", names[i], 1);
        pids[i] = start("--visit", length, &ends[i]);
    }
    /* One that is killed again and again, at moments of no choosing. */
    setenv("VISITOR", "victim", 1);
    int kills = 0;
    for (double until = seconds() + duration; seconds() < until; kills++) {
        victim = start("--visit", "60", &victim_end);
        usleep((useconds_t)(5000 + kills * 7919 % 30000));
        end(victim, victim_end);
    }
    long all = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int outcome;
        char sql[128];
        read_line(ends[i], line, sizeof line);
        waitpid(pids[i], &outcome, 0);
        close(ends[i]);
        expect(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0, "a visitor ends well");
        snprintf(sql, sizeof sql, "select count(*) from visits where body like '%%\"by\":\"%d\"%%'", i);
        expect(query(sql) == atol(line) && atol(line) > 0, "each visit that was answered is there, once");
        all += atol(line);
    }
    expect(query("select count(*) - count(distinct version) from visits") == 0,
           "no sequence is given out twice");
    expect(query("select count(*) from pragma_integrity_check where integrity_check <> 'ok'") == 0,
           "the file is sound");
    printf("neighbours: %ld visits answered beside %d kills\n", all, kills);
}

static void a_repository_that_another_process_makes_is_found(void) {
    hf_store *store;
    hf_repository *visits;
    hf_error *error = NULL;
    uint64_t count = 0;
    int descriptor;
    char line[32];
    ledger_remove(directory, false);
    must("opening", hf_store_open(path, NULL, &store, &error), error);
    expect(hf_repository_open(store, "visits", "{\"create\":false}", &visits, NULL) == HF_NOT_FOUND,
           "it is not there yet");
    setenv("VISITOR", "maker", 1);
    pid_t maker = start("--visit", "0.01", &descriptor);
    read_line(descriptor, line, sizeof line);
    waitpid(maker, NULL, 0);
    close(descriptor);
    must("opening what another made",
         hf_repository_open(store, "visits", "{\"create\":false}", &visits, &error), error);
    must("counting", hf_repository_count(visits, NULL, NULL, 0, NULL, &count, &error), error);
    expect(count == strtoull(line, NULL, 10), "what the other stored is seen");
    note_visit(visits, "self");
    hf_repository_free(visits);
    hf_store_free(store);
}

/* A snapshot that an idle process keeps for speed must not keep the log from being overwritten. */
static void an_idle_process_does_not_let_the_log_grow(void) {
    enum { MEBIBYTES = 96, LIMIT_BYTES = 48 << 20 };
    int descriptor;
    char line[32], wal[160];
    hf_store *store;
    hf_repository *visits;
    struct stat status;
    ledger_remove(directory, false);
    open_visits(&store, &visits);
    note_visit(visits, "self");
    pid_t idler = start("--idle", "", &descriptor);
    read_line(descriptor, line, sizeof line);
    snprintf(wal, sizeof wal, "%s-wal", path);
    char *text = malloc((1 << 20) + 64);
    long largest = 0;
    for (int i = 0; i < MEBIBYTES; i++) {
        int length = sprintf(text, "{\"id\":\"large-%d\",\"padding\":\"", i % 4);
        memset(text + length, 'a' + i % 26, 1 << 20);
        strcpy(text + length + (1 << 20), "\"}");
        must("saving", hf_repository_save(visits, NULL, text, HF_NTS, NULL, NULL), NULL);
        largest = stat(wal, &status) == 0 && status.st_size > largest ? status.st_size : largest;
        usleep(50000);
    }
    free(text);
    expect(largest < LIMIT_BYTES, "the log is overwritten although another process has read");
    printf("neighbours: %d MiB written beside an idle process, the log had %ld MiB at most\n", MEBIBYTES,
           largest >> 20);
    end(idler, descriptor);
    hf_repository_free(visits);
    hf_store_free(store);
}

/* The frames of a commit whose sync failed lie at the end of the log, where whoever opens it as the first
 * would find them. */
static void what_was_told_to_have_failed_does_not_come_back(void) {
    int descriptor;
    char line[32];
    hf_store *store;
    hf_repository *visits;
    ledger_remove(directory, false);
    open_visits(&store, &visits);
    note_visit(visits, "before");
    pid_t idler = start("--idle", "", &descriptor);
    read_line(descriptor, line, sizeof line);

    /* The store's own process is a child of this one, which has not opened anything yet. */
    hf_repository_free(visits);
    hf_store_free(store);
    setenv("VISITOR", "unlucky", 1);
    int own_end;
    pid_t unlucky = start("--fail", "", &own_end);
    read_line(own_end, line, sizeof line);
    int told = atoi(line);
    end(unlucky, own_end);
    end(idler, descriptor);

    long there = query("select count(*) from visits where body like '%unlucky%'");
    expect(told != HF_OK, "a sync that fails fails its commit");
    expect(there == 0 || told == -1, "what failed for certain is not there when the store is opened anew");
    expect(query("select count(*) from visits where body like '%before%'") == 1, "what was stored is there");
}

/* Who writes all the time does not ask whose turn it is, for a moment. */
static void a_busy_process_waits_for_one_whose_sync_is_slow(void) {
    int descriptor;
    char line[32] = "";
    hf_store *store;
    hf_repository *visits;
    ledger_remove(directory, false);
    open_visits(&store, &visits);
    double began = seconds(), longest = 0;
    while (seconds() - began < 0.3)
        note_relaxed_visit(store, visits);
    pid_t slow = start("--slow", "", &descriptor);
    while (line[0] == 0) {
        double asked = seconds();
        note_relaxed_visit(store, visits);
        if (seconds() - asked > longest)
            longest = seconds() - asked;
        if (is_readable(descriptor))
            read_line(descriptor, line, sizeof line);
    }
    expect(atoi(line) == HF_OK, "the slow one stores what it wants to");
    expect(longest > SLOW_SYNC_MILLISECONDS / 2e3, "who is busy waits for it");
    end(slow, descriptor);
    hf_repository_free(visits);
    hf_store_free(store);
}

/* Adds a visit whose sync takes longer than SQLite waits for a lock, says what was answered, and waits to be
 * killed. */
static void add_slowly(void) {
    hf_store *store;
    hf_repository *visits;
    vfs_install();
    open_visits(&store, &visits);
    vfs_slow_syncs(SLOW_SYNC_MILLISECONDS);
    printf("%d\n", (int)hf_repository_add(visits, NULL, "{\"by\":\"slow\"}", HF_NTS, NULL, NULL));
    fflush(stdout);
    for (;;)
        pause();
}

/* Adds a visit whose sync fails, says what was answered (-1: unknown), and waits to be killed. */
static void fail(void) {
    hf_store *store;
    hf_repository *visits;
    hf_error *error = NULL;
    vfs_install();
    open_visits(&store, &visits);
    vfs_fail(VFS_SYNC, 1, false, SQLITE_IOERR_FSYNC);
    hf_status status = hf_repository_add(visits, NULL, "{\"by\":\"unlucky\"}", HF_NTS, NULL, &error);
    printf("%d\n", hf_error_commit_state(error) == HF_COMMIT_UNKNOWN ? -1 : (int)status);
    fflush(stdout);
    for (;;)
        pause();
}

int main(int count, char **arguments) {
    program = arguments[0];
    if (count == 4) {
        snprintf(path, sizeof path, "%s", arguments[2]);
        if (strcmp(arguments[1], "--visit") == 0)
            visit(getenv("VISITOR"), atof(arguments[3]));
        else if (strcmp(arguments[1], "--idle") == 0)
            idle();
        else if (strcmp(arguments[1], "--slow") == 0)
            add_slowly();
        else
            fail();
        return 0;
    }
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    processes_come_and_go(count > 1 ? atof(arguments[1]) : 2);
    a_repository_that_another_process_makes_is_found();
    an_idle_process_does_not_let_the_log_grow();
    what_was_told_to_have_failed_does_not_come_back();
    a_busy_process_waits_for_one_whose_sync_is_slow();
    ledger_remove(directory, true);
    printf("neighbours: %d wrong\n", wrong);
    return wrong > 0;
}
