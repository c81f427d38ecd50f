/*
 * Sharing: several processes of several threads work on one store at once.
 *
 *     sharing [SECONDS]                      all of it, the timed parts so long each (2)
 *     sharing --worker PATH WORK INDEX       one process
 *
 * No increment of a counter is lost, and none is made that nobody was told of, but for those under way when
 * their process was killed. "Count, and insert if there are fewer than the limit" never exceeds it. Killing
 * processes, also one that just has its turn to write, holds nobody up. Whatever a process keeps in memory,
 * no read is older than a commit that any process had completed before it.
 */
#include "ledger.h"
#include "oracle.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PROCESSES = 4, THREADS = 4, COUNTERS = 100, LIMIT = 10, ROUNDS = 10000, WRITTEN = 12 };

/* What all processes see of each other, in a file that they map. */
typedef struct board {
    volatile bool stop;
    volatile bool started[PROCESSES];
    volatile long rounds;
    struct {
        volatile long begun, done, failures;
    } increments[PROCESSES][THREADS];
    volatile long exceeded;
    /* The writes of one entity, each by the same process: the odd ones store it with their number, the even
     * ones delete it. */
    struct {
        long begun, done;
    } histories[WRITTEN];
    long reads, stale, hits;
} board;

static board *shared;
/* Whether the line in which processes wait is as it is shipped: drawn otherwise, whoever comes first is next.
 */
static bool takes_turns;
static char directory[64], path[128];

/* --- A process ---------------------------------------------------------------------------------- */

typedef struct worker {
    hf_store *store;
    hf_repository *entities;
    const char *options;
    int process, thread;
    unsigned seed;
} worker;

static hf_status increment(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    worker *w = user_data;
    char id[16], text[64];
    int length = snprintf(id, sizeof id, "c%u", w->seed % COUNTERS);
    hf_entity counter = HF_ENTITY_INIT;
    hf_status status = hf_repository_fetch(w->entities, t, id, (size_t)length, &counter, NULL);
    if (status == HF_OK) {
        long value = strtol(strstr(counter.data, "\"n\":") + 4, NULL, 10);
        length = snprintf(text, sizeof text, "{\"id\":\"%s\",\"n\":%ld}", id, value + 1);
        status = hf_repository_save(w->entities, t, text, (size_t)length, NULL, NULL);
    }
    hf_entity_free(&counter);
    return status;
}

static void *count_up(void *argument) {
    worker *w = argument;
    hf_error *error = NULL;
    while (!shared->stop) {
        w->seed = w->seed * 1664525 + 1013904223;
        shared->increments[w->process][w->thread].begun++;
        hf_status status = hf_store_transact(w->store, increment, w, w->options, NULL, &error);
        if (status != HF_OK)
            give_up("counting", status, error);
        shared->increments[w->process][w->thread].done++;
    }
    return NULL;
}

static hf_status insert_under_the_limit(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    worker *w = user_data;
    static const char filter[] = "{\"open\":true}";
    uint64_t count = 0;
    hf_status status = hf_repository_count(w->entities, t, filter, HF_NTS, NULL, &count, NULL);
    if (status != HF_OK)
        return status;
    if (count > LIMIT)
        shared->exceeded++;
    return count < LIMIT ? hf_repository_save(w->entities, t, "{\"open\":true}", HF_NTS, NULL, NULL)
                         : hf_repository_delete_all(w->entities, t, filter, HF_NTS, NULL, NULL, NULL);
}

static void *keep_the_limit(void *argument) {
    worker *w = argument;
    hf_error *error = NULL;
    while (__atomic_add_fetch(&shared->rounds, 1, __ATOMIC_SEQ_CST) <= ROUNDS) {
        hf_status status = hf_store_transact(w->store, insert_under_the_limit, w, w->options, NULL, &error);
        if (status != HF_OK)
            give_up("inserting", status, error);
    }
    return NULL;
}

static long get(long *number) { return __atomic_load_n(number, __ATOMIC_SEQ_CST); }
static void set(long *number, long value) { __atomic_store_n(number, value, __ATOMIC_SEQ_CST); }
static void add(long *number, long value) { __atomic_add_fetch(number, value, __ATOMIC_SEQ_CST); }

/* The entities whose number leaves the process's as the rest. What was under way when it was killed is done
 * again. */
static void *write_in_turn(void *argument) {
    worker *w = argument;
    hf_error *error = NULL;
    char id[16], text[64];
    for (int e = w->process; !shared->stop; e = e + PROCESSES < WRITTEN ? e + PROCESSES : w->process) {
        long n = get(&shared->histories[e].begun);
        if (n == get(&shared->histories[e].done))
            set(&shared->histories[e].begun, ++n);
        snprintf(id, sizeof id, "e%d", e);
        snprintf(text, sizeof text, "{\"id\":\"%s\",\"n\":%ld}", id, n);
        hf_status status = n % 2 != 0 ? hf_repository_save(w->entities, NULL, text, HF_NTS, NULL, &error)
                                      : hf_repository_delete(w->entities, NULL, id, HF_NTS, 0, &error);
        if (status != HF_OK && status != HF_NOT_FOUND)
            give_up("writing in turn", status, error);
        hf_error_free(error);
        error = NULL;
        set(&shared->histories[e].done, n);
    }
    return NULL;
}

static void *read_all_the_time(void *argument) {
    worker *w = argument;
    hf_entity entity = HF_ENTITY_INIT;
    hf_error *error = NULL;
    char id[16];
    for (long turn = 0; !shared->stop; turn++) {
        w->seed = w->seed * 1664525 + 1013904223;
        int e = (int)(w->seed >> 16) % WRITTEN;
        snprintf(id, sizeof id, "e%d", e);
        long done = get(&shared->histories[e].done), n = 0;
        hf_transaction *t = NULL;
        if (turn % 3 == 0 && hf_transaction_begin(w->store, NULL, &t, NULL) != HF_OK)
            give_up("beginning", HF_INTERNAL, NULL);
        hf_status status = hf_repository_fetch(w->entities, t, id, HF_NTS, &entity, &error);
        hf_transaction_free(t);
        long begun = get(&shared->histories[e].begun);
        if (status == HF_OK)
            n = strtol(strstr(entity.data, "\"n\":") + 4, NULL, 10);
        else if (status != HF_NOT_FOUND)
            give_up("reading", status, error);
        bool is_fresh = n > 0 ? n >= done && n <= begun : done != begun || done % 2 == 0;
        add(&shared->reads, 1);
        add(&shared->stale, is_fresh ? 0 : 1);
        /* The processors belong to the writers, too. */
        if (turn % 64 == 0)
            usleep(1000);
    }
    hf_entity_free(&entity);
    hf_buffer statistics = HF_BUFFER_INIT;
    if (w->thread == 1 && hf_repository_cache_statistics(w->entities, &statistics, NULL) == HF_OK)
        add(&shared->hits, strtol(strstr(statistics.data, "\"hits\":") + 7, NULL, 10));
    hf_buffer_free(&statistics);
    return NULL;
}

static int work(const char *what, int index) {
    static const char *const caches[PROCESSES] = {NULL, "{\"cache\":{}}",
                                                  "{\"cache\":{\"strategy\":\"fifo\",\"max_entries\":5}}",
                                                  "{\"cache\":{\"time_to_live_ms\":1}}"};
    bool limits = strcmp(what, "limit") == 0, reads = strcmp(what, "fresh") == 0;
    hf_store *store;
    hf_repository *entities;
    hf_error *error = NULL;
    hf_status status = hf_store_open(path, reads ? "{\"durability\":\"relaxed\"}" : NULL, &store, &error);
    if (status == HF_OK)
        status = hf_repository_open(store, limits ? "things" : "counters", reads ? caches[index] : NULL,
                                    &entities, &error);
    if (status != HF_OK)
        give_up("opening", status, error);
    shared->started[index] = true;
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){store,
                              entities,
                              strcmp(what, "full") == 0
                                  ? "{\"max_attempts\":1000,\"timeout_ms\":60000}"
                                  : "{\"max_attempts\":1000,\"timeout_ms\":60000,\"durability\":\"relaxed\"}",
                              index,
                              i,
                              seed_of_run() + (unsigned)(index * THREADS + i)};
        pthread_create(&threads[i], NULL,
                       limits   ? keep_the_limit
                       : !reads ? count_up
                       : i == 0 ? write_in_turn
                                : read_all_the_time,
                       &workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hf_repository_free(entities);
    status = hf_store_close(store, -1, &error);
    if (status != HF_OK)
        give_up("closing", status, error);
    hf_store_free(store);
    return 0;
}

/* --- All of them -------------------------------------------------------------------------------- */

static pid_t start(const char *program, const char *what, int index) {
    char number[8];
    snprintf(number, sizeof number, "%d", index);
    char *arguments[] = {(char *)program, "--worker", path, (char *)what, number, NULL};
    pid_t pid;
    shared->started[index] = false;
    if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) != 0)
        exit(2);
    while (!shared->started[index])
        usleep(1000);
    return pid;
}

static void wait_for(pid_t pid) {
    int outcome;
    waitpid(pid, &outcome, 0);
    expect(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0, "a process ends well");
}

static long done_by(int process) {
    long done = 0;
    for (int t = 0; t < THREADS; t++)
        done += shared->increments[process][t].done;
    return done;
}

static long total_done(void) {
    long total = 0;
    for (int p = 0; p < PROCESSES; p++)
        total += done_by(p);
    return total;
}

static void make_counters(void) {
    ledger_remove(directory, false);
    memset(shared, 0, sizeof *shared);
    hf_store *store;
    hf_repository *counters;
    if (hf_store_open(path, NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "counters", NULL, &counters, NULL) != HF_OK)
        exit(2);
    for (int i = 0; i < COUNTERS; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"id\":\"c%d\",\"n\":0}", i);
        expect(hf_repository_save(counters, NULL, text, HF_NTS, NULL, NULL) == HF_OK, "a counter is made");
    }
    hf_repository_free(counters);
    hf_store_free(store);
}

static long sum_of_counters(void) {
    hf_store *store;
    hf_repository *counters;
    long sum = 0;
    if (hf_store_open(path, NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "counters", NULL, &counters, NULL) != HF_OK)
        exit(2);
    for (int i = 0; i < COUNTERS; i++) {
        char id[16];
        hf_entity counter = HF_ENTITY_INIT;
        snprintf(id, sizeof id, "c%d", i);
        if (hf_repository_fetch(counters, NULL, id, HF_NTS, &counter, NULL) == HF_OK)
            sum += strtol(strstr(counter.data, "\"n\":") + 4, NULL, 10);
        hf_entity_free(&counter);
    }
    hf_repository_free(counters);
    hf_store_free(store);
    return sum;
}

/* Increments a second of so many processes, once each has begun. */
static double count_with(const char *program, const char *durability, int processes, double duration) {
    make_counters();
    pid_t pids[PROCESSES];
    for (int i = 0; i < processes; i++)
        pids[i] = start(program, durability, i);
    long own_before[PROCESSES], own_after[PROCESSES], all = 0;
    double began = seconds();
    for (int i = 0; i < processes; i++)
        while (done_by(i) == 0 && seconds() - began < 200)
            usleep(1000);
    double took = 0;
    bool has_each_its_share = false;
    /* On a busy machine one of them may have to wait for the processor, but not each time. */
    for (int tries = 0; tries < 10 && !has_each_its_share; tries++) {
        all = 0;
        has_each_its_share = true;
        began = seconds();
        for (int i = 0; i < processes; i++)
            own_before[i] = done_by(i);
        usleep((useconds_t)(duration * 1e6));
        for (int i = 0; i < processes; i++) {
            own_after[i] = done_by(i);
            all += own_after[i] - own_before[i];
        }
        took = seconds() - began;
        for (int i = 0; i < processes && takes_turns; i++)
            has_each_its_share = has_each_its_share && own_after[i] - own_before[i] > all / processes / 4;
    }
    shared->stop = true;
    for (int i = 0; i < processes; i++)
        wait_for(pids[i]);
    expect(sum_of_counters() == total_done(), "each increment is there, once");
    expect(has_each_its_share, "each process has its share");
    return (double)all / took;
}

static void processes_share_counters(const char *program, const char *durability, double duration) {
    double alone = count_with(program, durability, 1, duration);
    double together = count_with(program, durability, PROCESSES, duration);
    printf("sharing, %s: %.0f increments/s of one process, %.0f of %d, ratio %.2f\n", durability, alone,
           together, PROCESSES, together / alone);
}

static void a_limit_is_kept(const char *program) {
    make_counters();
    pid_t pids[PROCESSES];
    double began = seconds();
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start(program, "limit", i);
    for (int i = 0; i < PROCESSES; i++)
        wait_for(pids[i]);
    expect(shared->exceeded == 0, "the limit is never exceeded");
    printf("sharing, count and insert: %d rounds in %.1f s\n", ROUNDS, seconds() - began);
}

static void killed_processes_hold_nobody_up(const char *program, int kills) {
    make_counters();
    pid_t pids[PROCESSES];
    double longest = 0;
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start(program, "full", i);
    for (int n = 0; n < kills; n++) {
        int victim = n % PROCESSES;
        usleep((useconds_t)(1000 + n * 7919 % 20000));
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        double began = seconds();
        for (long before = total_done(); total_done() == before && seconds() - began < 200;)
            usleep(100);
        double stopped = seconds() - began;
        longest = stopped > longest ? stopped : longest;
        pids[victim] = start(program, "full", victim);
    }
    shared->stop = true;
    for (int i = 0; i < PROCESSES; i++)
        wait_for(pids[i]);
    long sum = sum_of_counters(), begun = 0;
    for (int p = 0; p < PROCESSES; p++)
        for (int t = 0; t < THREADS; t++)
            begun += shared->increments[p][t].begun;
    expect(sum >= total_done() && sum <= begun, "what was told is there, and nothing that nobody asked for");
    expect(longest < 25, "the others go on soon");
    printf("sharing, %d kills: %ld told, %ld begun, %ld there; the others went on after %.0f ms at most\n",
           kills, total_done(), begun, sum, longest * 1000);
}

static void caches_stay_fresh(const char *program, double duration) {
    make_counters();
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start(program, "fresh", i);
    int kills = 0;
    for (double began = seconds(); seconds() - began < duration; kills++) {
        usleep(200000);
        int victim = kills % PROCESSES;
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        pids[victim] = start(program, "fresh", victim);
    }
    usleep(200000);
    shared->stop = true;
    for (int i = 0; i < PROCESSES; i++)
        wait_for(pids[i]);
    long written = 0;
    for (int e = 0; e < WRITTEN; e++)
        written += shared->histories[e].done;
    expect(shared->stale == 0, "no read is older than a commit completed before it");
    expect(written > WRITTEN && shared->hits > 0, "there were commits, and reads from memory");
    printf(
        "sharing, caches: %ld commits, %ld reads, %d kills; %ld of the last processes' reads from memory\n",
        written, shared->reads, kills, shared->hits);
}

int main(int count, char **arguments) {
    if (count == 5 && strcmp(arguments[1], "--worker") == 0) {
        snprintf(path, sizeof path, "%s", arguments[2]);
        shared = board_map(path, sizeof *shared);
        return work(arguments[3], atoi(arguments[4]));
    }
    double duration = count > 1 ? atof(arguments[1]) : 2;
    const char *drawn = getenv("HOLDFAST_LIMITS");
    takes_turns = drawn == NULL || strstr(drawn, "queue") == NULL;
    /* Copying the log, or reserving sequences, for each commit would make several syncs of one, or of none,
     * and it is counted how often they come. */
    pin_limits("checkpointBytes=67108864,checkpointIdle=2000000000,checkpointRetry=1000000000,"
               "sequenceReservation=65536");
    /* On a disk, unlike the other torture: what a sync costs decides how processes take turns. */
    make_directory(directory, "/var/tmp");
    snprintf(path, sizeof path, "%s/store.db", directory);
    shared = board_map(path, sizeof *shared);
    processes_share_counters(arguments[0], "relaxed", duration);
    processes_share_counters(arguments[0], "full", duration);
    a_limit_is_kept(arguments[0]);
    killed_processes_hold_nobody_up(arguments[0], (int)(duration * 15));
    caches_stay_fresh(arguments[0], duration);
    board_remove(path);
    ledger_remove(directory, true);
    printf("sharing: %d wrong\n", wrong);
    return wrong > 0;
}
