#include "seeds.h"

#include "clients.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 4 };

/* --- Processes ------------------------------------------------------------------------------------ */

typedef void (*deed)(const void *argument);

static void start(int number, deed deed, const void *argument, uint32_t failing, uint64_t kill_at) {
    the->processes[number] = (process){.kill_at = kill_at, .failing = failing};
    int task = task_add(number);
    int pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        task_begin(task);
        deed(argument);
    }
    the->processes[number].pid = pid;
}

static void as_client(const void *plan) { run_clients(plan); }
static void as_inspector(const void *was_cut) { run_inspection(*(const bool *)was_cut); }
static void as_keeper(const void *none) { (void)none, run_keeping(); }
static void as_restorer(const void *none) { (void)none, run_restoring(); }
static void as_leaver(const void *none) { (void)none, run_leaving(); }
static void as_exporter(const void *none) { (void)none, run_exporting(); }
static void as_remover(const void *none) { (void)none, run_removing(); }
static void as_importer(const void *none) { (void)none, run_importing(); }
static void as_reader(const void *path) { run_dump(path); }

static void collect(void) {
    for (int i = 0; i < PROCESSES; i++)
        if (the->processes[i].pid != 0 && the->processes[i].ending != STILL_RUNS) {
            waitpid(the->processes[i].pid, NULL, 0);
            the->processes[i].pid = 0;
            process_clear(i);
        }
}

/* Waits for one to end. False where nothing can go on. */
static bool await(void) {
    bool goes_on = runner_wait();
    if (the->crashed != 0) {
        int status = 0;
        waitpid(the->crashed, &status, WNOHANG);
        report("a process ended of itself, by signal %d, status %d",
               WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    } else if (!goes_on) {
        report("nothing goes on any more, or for too long (%llu switches)",
               (unsigned long long)the->switches);
    }
    collect();
    return goes_on;
}

static bool is_running(void) {
    for (int i = 0; i < PROCESSES; i++)
        if (the->processes[i].pid != 0)
            return true;
    return false;
}

/* Waits for all. */
static bool await_all(void) {
    while (is_running() && !the->power_is_cut)
        if (!await())
            return false;
    return true;
}

static bool run_calmly(deed deed, const void *argument) {
    uint32_t switching = the->switching;
    uint64_t power_at = the->power_at;
    the->switching = 50;
    the->power_at = 0;
    the->is_stuck = false;
    start(0, deed, argument, 0, 0);
    bool goes_on = await_all();
    the->switching = switching;
    the->power_at = power_at;
    return goes_on;
}

/* What the disk keeps. */
static bool restore_power(void) {
    if (!the->power_is_cut)
        return false;
    the->power_cuts++;
    power_cut();
    the->power_is_cut = false;
    the->power_at = 0;
    return true;
}

static uint64_t draw_call(uint64_t most) { return 1 + draw(happens(300) ? 60 : most); }

/* --- A seed --------------------------------------------------------------------------------------- */

static void remove_shared_memory(void) {
    /* As some program may, under those who use it. */
    if (file_named("store.db-shm") >= 0) {
        note("removed", "store.db-shm", 0, 0, 0);
        names_change(UNNAMED, "store.db-shm", NULL);
    }
}

static bool run_round(void) {
    static const char *const options[] = {NULL, "\"wal_limit_bytes\":1048576,\"snapshot_max_age_ms\":100",
                                          "\"wal_limit_bytes\":1048576,\"max_snapshots\":1",
                                          "\"cache_bytes\":0,\"lock_timeout_ms\":50"};
    history_begin();
    the->enough = the->switches + 150000;
    int count = 1 + (int)draw(4);
    bool has_kills = happens(600), has_power_cut = happens(500), removes = happens(120);
    uint32_t failing = happens(500) ? 0 : 1 + (uint32_t)draw(8);
    uint64_t begun = the->calls;
    the->switching = (uint32_t[]){20, 100, 400}[draw(3)];
    the->power_at = has_power_cut ? the->calls + 1 + draw(12000) : 0;
    uint64_t remove_at = removes ? the->calls + 1 + draw(6000) : 0;
    static plan plans[PROCESSES];
    int restarts = 6;
    for (int i = 0; i < count; i++) {
        plans[i] = (plan){1 + (int)draw(3), 10 + (int)draw(60), 1 + (int)draw(3), options[draw(4)]};
        start(i, as_client, &plans[i], failing, has_kills && happens(700) ? draw_call(4000) : 0);
    }
    while (is_running() && !the->power_is_cut) {
        if (!await())
            return false;
        if (remove_at != 0 && the->calls >= remove_at && is_running() && !the->power_is_cut) {
            remove_shared_memory();
            remove_at = 0;
        }
        for (int i = 0; i < count && restarts > 0 && !the->power_is_cut; i++)
            if (the->processes[i].pid == 0 && the->processes[i].ending == KILLED) {
                restarts--;
                start(i, as_client, &plans[i], failing, has_kills && happens(500) ? draw_call(4000) : 0);
            }
    }
    note("round", NULL, (int64_t)(the->calls - begun), 0, 0);
    bool was_cut = restore_power();
    the->power_at = 0;
    if (!run_calmly(as_inspector, &was_cut))
        return false;
    history_check(was_cut);
    return told->fault_count == 0;
}

static bool dump(const char *path, uint64_t *out) {
    bool goes_on = run_calmly(as_reader, path);
    *out = told->dump;
    return goes_on && told->fault_count == 0;
}

/* The store is what it was, or what was kept. */
static bool run_restore(void) {
    uint64_t before, kept, after;
    if (!dump(STORE, &before) || !dump(KEPT, &kept))
        return false;
    if (happens(600)) {
        /* What is replaced has commits in its log alone. */
        if (!run_calmly(as_leaver, NULL) || told->fault_count != 0)
            return false;
        before = told->dump;
    }
    uint32_t failing = happens(500) ? 0 : 1 + (uint32_t)draw(30);
    uint64_t kill_at = happens(400) ? draw_call(600) : 0;
    the->power_at = happens(500) ? the->calls + draw_call(600) : 0;
    start(0, as_restorer, NULL, failing, kill_at);
    if (!await_all())
        return false;
    restore_power();
    the->power_at = 0;
    bool was_restored = told->has_answered;
    if (file_named("store.db") < 0) {
        report("after a restore that %s there is no store", was_restored ? "succeeded" : "was broken off");
        return false;
    }
    if (!dump(STORE, &after))
        return false;
    if (was_restored ? after != kept : after != kept && after != before)
        report("after a restore that %s the store is %s", was_restored ? "succeeded" : "was broken off",
               after == before ? "as before" : "another one");
    return told->fault_count == 0;
}

/* A store that is exported and imported elsewhere, however often that is broken off, is the same. */
static bool run_copy(void) {
    uint64_t before, after;
    if (!run_calmly(as_exporter, NULL) || !dump(STORE, &before))
        return false;
    told->has_answered = false;
    for (int i = 0; i < 3 && !told->has_answered; i++) {
        the->power_at = happens(300) ? the->calls + draw_call(600) : 0;
        start(0, as_importer, NULL, happens(500) ? 0 : 1 + (uint32_t)draw(30),
              happens(500) ? draw_call(600) : 0);
        if (!await_all())
            return false;
        restore_power();
        the->power_at = 0;
    }
    if (!told->has_answered && !run_calmly(as_importer, NULL))
        return false;
    if (!told->has_answered)
        report("an import that was broken off does not go on");
    if (told->fault_count != 0 || !dump(copy_path(), &after))
        return false;
    if (!run_calmly(as_remover, NULL))
        return false;
    if (after != before)
        report("a store that was exported and imported is another one");
    return told->fault_count == 0;
}

/* Small, for what is behind a limit must be as right as what is before it; where each step of many would be a
 * commit, not too small. */
static void draw_limits(char *text, size_t size) {
    static const struct {
        const char *name;
        int least;
    } limits[] = {{"recentChanges", 1},
                  {"sequenceReservation", 1},
                  {"trimInterval", 1},
                  {"batchCommits", 1},
                  {"batchBytes", 1},
                  {"checkPage", 1},
                  {"indexPieceEntries", 20},
                  {"indexRunBytes", 20000},
                  {"clearedIndexEntries", 20},
                  {"cachedTransactions", 1},
                  {"matchedIDs", 1},
                  {"writerPageBytes", 1},
                  {"readerPageBytes", 1},
                  {"checkpointBytes", 1},
                  {"copyPages", 1},
                  {"idleReaders", 1},
                  {"warmReaders", 1},
                  {"queuePlaces", 1},
                  {"rewriteBytes", 512},
                  {"logPage", 1},
                  {"followerBytes", 1},
                  {"observerChanges", 1},
                  {"observerBytes", 1},
                  {"liveQueryEvents", 1},
                  {"pieceBytes", 100},
                  {"linePiece", 100},
                  {"importEntities", 20},
                  {"importBytes", 20000}};
    size_t length = 0;
    text[0] = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (happens(250))
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s=%d", length ? "," : "", limits[i].name,
                                 happens(400) ? limits[i].least : limits[i].least * (1 + (int)draw(50)));
}

void run_seed(uint64_t seed, weakness weakness, summary *out) {
    world_create();
    history_create();
    the->seed = the->chance = seed;
    the->now = 1000000000;
    the->weakness = weakness;
    the->is_tracing = getenv("HOLDFAST_TRACE") != NULL;
    the->most_switches = 6000000;
    the->patience = PATIENCE;
    self = task_add(PROCESSES - 1);
    draw_limits(out->limits, sizeof out->limits);
    setenv("HOLDFAST_LIMITS", out->limits, 1);
    for (int round = 0; round < ROUNDS; round++) {
        if (!run_round())
            break;
        if (round == 0 || happens(400)) {
            if (!run_calmly(as_keeper, NULL) || told->fault_count != 0)
                break;
        } else if (happens(400) ? !run_copy() : !run_restore()) {
            break;
        }
    }
    out->trace = the->trace;
    out->counted = told->counted;
    out->counted.calls = the->calls;
    out->counted.failures = the->failures;
    out->counted.switches = the->switches;
    out->counted.kills = the->kills;
    out->counted.power_cuts = the->power_cuts;
    out->counted.seconds = the->now / 1000000000;
    out->faults = told->fault_count;
    memcpy(out->text, told->faults, sizeof out->text);
}
