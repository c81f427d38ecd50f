/*
 * Calls under faults: each operation of a store, with the n-th of all its calls to the system made to fail,
 * to be short, to be interrupted, or to kill the process; with all calls of one function made to fail; and
 * with the n-th allocation of the C libraries below refused.
 *
 *     calls [--every] [--seed=N] [--operation=NAME] [--fault=NAME]
 *
 * --every: each n; else a sample, which the seed chooses. The names are those that it prints.
 *
 * Whatever meets the fault: the operation answers a status that fits, and is done or not done as it says;
 * nothing that was acknowledged before is lost; with the fault gone the same handle does the operation,
 * commits and closes; no descriptor stays open and no unfinished file lies about; and the next process finds
 * a sound store.
 *
 * The same where the address space ends so many pieces behind what is in use. What Swift's runtime allocates
 * it cannot be refused: there the process may end, and the next one finds what was acknowledged and a sound
 * store.
 */
#include "failing_calls.h"
#include "operations.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Where no lock is to be had SQLite tries again for ten seconds each time. */
enum { PATIENCE_SECONDS = 600, SPACE_PIECE = 64 << 10, SPACE_PIECES = 96 };

static char directory[64], made[64];

/* --- A run: one process in which the fault is met, one that looks at what it left -------------------- */

static void complain(const operation *o, const char *what) {
    fprintf(stderr, "WRONG: %s: %s\n", o->name, what);
    board->wrong++;
}

static bool has_met(const char *call) { return strncmp(board->met, call, strlen(call)) == 0; }

/* SQLite takes a lock that cannot be had for one that somebody holds, a page that cannot be read for a
 * damaged one, and a file that cannot be opened for one that may only be read. */
static bool fits(hf_status status, call_fault fault) {
    if (status == HF_BUSY || status == HF_TIMEOUT)
        return fault == CALLS_FAIL || has_met("fcntl");
    if (status == HF_CORRUPT)
        return fault == CALLS_FAIL || has_met("pread");
    if (status == HF_READ_ONLY)
        return fault == FUNCTION_IS_FORBIDDEN || has_met("open");
    return status == HF_OK || status == HF_IO || status == HF_FULL || status == HF_CANNOT_OPEN ||
           status == HF_NO_MEMORY;
}

/* Whether other processes can open the store and close it, while this one has it open: its locks on the first
 * two bytes of the sidecar file (see StoreLock.swift). */
static bool lets_others_in(void) {
    char name[120];
    snprintf(name, sizeof name, "%s-lock", files.store);
    int descriptor = open(name, O_RDWR);
    struct flock presence = {.l_type = F_RDLCK, .l_start = 0, .l_len = 1};
    struct flock door = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};
    bool is_answered = descriptor >= 0 && fcntl(descriptor, F_OFD_GETLK, &presence) == 0 &&
                       fcntl(descriptor, F_OFD_GETLK, &door) == 0;
    close(descriptor);
    return is_answered && presence.l_type == F_UNLCK && door.l_type == F_UNLCK;
}

static int descriptors(void) {
    DIR *list = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(list) != NULL)
        count++;
    closedir(list);
    return count;
}

static hf_error *retried(room *r) {
    hf_error *error = NULL;
    (void)!hf_repository_save(r->things, NULL, "{\"id\":\"r1\",\"text\":\"r\"}", HF_NTS, NULL, &error);
    return error;
}

static bool replaces(const operation *o) { return o->act == restore_over || o->act == restore_over_by_name; }

/* What is there is left as it was by what was refused, as far as it could be taken back. */
static void look_at_what_was_kept(const operation *o) {
    room r;
    hf_error *error = NULL;
    must("opening what was kept", enter(&r, files.store, &error), &error);
    if (count_of(&r, "e") != ENTITIES)
        complain(o, "it was refused, and is done");
    leave(&r);
}

/* Does it again where it has not been done: with the fault gone that must succeed. */
static void do_again(const operation *o, room *r, call_fault fault) {
    hf_error *error = NULL;
    if (r->store == NULL && !replaces(o))
        must("opening again", enter(r, files.store, &error), &error);
    if (r->store != NULL && o->act != close_it) {
        /* What failed for good may need the next commit. */
        if ((fault == CALL_FAILS || fault == CALL_INTERRUPTED) && !lets_others_in())
            complain(o, "no other process can open the store");
        /* A store that could not be reopened after a commit of unknown outcome tries it again with the next
         * commit, which may be told. */
        hf_error_free(retried(r));
        if (!lets_others_in())
            complain(o, "no other process can open the store, also after a commit");
    }
    /* Where nothing can be removed any more either, a name that was reserved stays, and is in the way. */
    if (fault == CALLS_FAIL && strcmp(o->name, "backing-up-by-name") == 0 &&
        (has_met("close") || has_met("rename ")))
        unlink(files.backup);
    progress done = o->look == NULL ? NOT_DONE : o->look(r);
    if (done == HALF)
        complain(o, "it is half done, for the process that did it");
    if (done == NOT_DONE && o->act != close_it && o->act != open_it && o->act != create_it)
        must("doing it again", o->act(r, &error), &error);
    board->is_again_done = true;
}

/* Leaves so many pieces of address space beside what is in use; a negative number: all. */
static void leave_space(long pieces) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    struct rlimit limit;
    if (file == NULL || fscanf(file, "%ld", &pages) != 1 || getrlimit(RLIMIT_AS, &limit) != 0)
        exit(2);
    fclose(file);
    limit.rlim_cur =
        pieces < 0 ? limit.rlim_max : (rlim_t)(pages * sysconf(_SC_PAGESIZE) + pieces * SPACE_PIECE);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        exit(2);
}

static void meet_the_fault(const operation *o, call_fault fault, long nth) {
    room r = {NULL, NULL};
    hf_error *error = NULL;
    /* What the library opens once for the process is not to be counted as left open. */
    must("warming up", enter(&r, "memory:", &error), &error);
    leave(&r);
    int open_before = descriptors();
    if (o->place == AT_AN_OPEN_STORE)
        must("opening", enter(&r, files.store, &error), &error);
    if (fault == SPACE_ENDS)
        leave_space(nth);
    else
        calls_arm(fault, nth);
    hf_status status = o->act(&r, &error);
    if (fault == SPACE_ENDS)
        leave_space(-1);
    else
        board->count = calls_disarm();
    snprintf(board->met, sizeof board->met, "%s", calls_met());
    if (error != NULL) {
        board->state = hf_error_commit_state(error);
        snprintf(board->message, sizeof board->message, "%s", hf_error_message(error));
    }
    board->status = status;
    board->has_answered = true;
    hf_error_free(error);
    error = NULL;
    if (!fits(status, fault))
        complain(o, hf_status_name(status));
    if (replaces(o) && status != HF_OK && fault != CALLS_FAIL)
        look_at_what_was_kept(o);
    do_again(o, &r, fault);
    if (o->act == close_it || replaces(o)) {
        leave(&r);
        must("opening anew", enter(&r, files.store, &error), &error);
    }
    must("one more commit", hf_repository_save(r.things, NULL, "{\"id\":\"a1\"}", HF_NTS, NULL, &error),
         &error);
    board->is_committed = true;
    must("closing", hf_store_close(r.store, -1, &error), &error);
    leave(&r);
    if (descriptors() != open_before)
        complain(o, "descriptors stay open");
}

/* In a process of its own. */
static void look_afterwards(const operation *o) {
    room r;
    hf_error *error = NULL;
    bool is_restored = replaces(o), is_new = o->act == create_it;
    must("opening afterwards", enter(&r, files.store, &error), &error);
    long entities = count_of(&r, "e");
    progress done = o->look == NULL ? NOT_DONE : o->look(&r);
    if (is_restored)
        done = entities == ENTITIES ? NOT_DONE : entities == OTHERS ? DONE : HALF;
    if (is_new)
        done = all_or_nothing(entities, ENTITIES);
    if (done == HALF)
        complain(o, "it is half done");
    if (board->is_again_done && done == NOT_DONE && (o->look != NULL || is_restored))
        complain(o, "it was done, and is lost");
    if (board->has_answered && board->status == HF_OK && done == NOT_DONE &&
        (o->look != NULL || is_restored || is_new))
        complain(o, "it answered HF_OK and is not done");
    if (board->is_committed && count_of(&r, "a") != 1)
        complain(o, "an acknowledged commit is lost");
    leave(&r);
    if (!is_whole(files.store, entities))
        complain(o, "the store is damaged");
    if (!is_restored && !is_new && o->act != delete_all && entities != ENTITIES)
        complain(o, "entities are lost");
}

/* How often Swift's runtime has ended a process that had no address space left, and how often a call was
 * refused for that. */
static int deaths, refusals;

/* The process hangs: its parent hears in what. */
static void note_hang(int signal_number) {
    memccpy(board->met, calls_met(), 0, sizeof board->met);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Runs it in a process; false where that was killed, as it should be, or ended in another way. */
static bool in_a_process(const operation *o, const char *what,
                         void (*run)(const operation *, call_fault, long), call_fault fault, long nth,
                         bool may_be_killed) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, note_hang);
        alarm(PATIENCE_SECONDS);
        run(o, fault, nth);
        board->wrong += wrong;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (may_be_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return false;
    if (fault == SPACE_ENDS && run == meet_the_fault && WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM) {
        deaths++;
        return false;
    }
    char sentence[64];
    snprintf(sentence, sizeof sentence, "%s %s %d", what,
             WIFSIGNALED(status) ? "ended with signal" : "gave up with",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    complain(o, sentence);
    return false;
}

static void look(const operation *o, call_fault fault, long nth) {
    (void)fault, (void)nth;
    look_afterwards(o);
}

/* --- Files ---------------------------------------------------------------------------------------- */

static void each_file(const char *in, void (*visit)(const char *path, const char *name)) {
    DIR *list = opendir(in);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        char at[400];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(at, sizeof at, "%s/%s", in, entry->d_name);
        visit(at, entry->d_name);
    }
    closedir(list);
}

static void remove_file(const char *at, const char *name) {
    (void)name;
    unlink(at);
}

static void copy_file(const char *at, const char *name) {
    char to[400], bytes[65536];
    snprintf(to, sizeof to, "%s/%s", directory, name);
    int from = open(at, O_RDONLY), into = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t length; (length = read(from, bytes, sizeof bytes)) > 0;)
        if (write(into, bytes, (size_t)length) != length)
            exit(2);
    close(from);
    close(into);
}

static void look_for_unfinished(const char *at, const char *name) {
    (void)at;
    if (strstr(name, "-partial") != NULL || strstr(name, "-replaced") != NULL) {
        fprintf(stderr, "WRONG: %s lies about\n", name);
        board->wrong++;
    }
}

/* Makes the files with which each run begins: "clean" after a close, "killed" as a killed process leaves
 * them. */
static void make_files(const operation *o, call_fault is_killed, long nth) {
    (void)o, (void)nth;
    room r;
    hf_error *error = NULL;
    must("making", enter(&r, files.other, &error), &error);
    must("making", save_many(&r, "e", OTHERS, 10, &error), &error);
    leave(&r);
    must("making", enter(&r, files.store, &error), &error);
    must("making", hf_repository_create_index(r.things, "{\"fields\":{\"n\":1}}", NULL, NULL, &error),
         &error);
    must("making", save_many(&r, "e", ENTITIES, 400, &error), &error);
    make_scratch(&r);
    /* Leaves room, which compacting gives back. */
    must("making", save_many(&r, "gone", 100, 2000, &error), &error);
    must("making",
         hf_repository_delete_all(r.things, NULL, "{\"id\":{\"$regex\":\"^gone\"}}", HF_NTS, NULL, NULL,
                                  &error),
         &error);
    if (is_killed)
        raise(SIGKILL);
    leave(&r);
}

static void move_file(const char *at, const char *name) {
    char to[400];
    snprintf(to, sizeof to, "%s/%s", made, name);
    if (rename(at, to) != 0)
        exit(2);
}

/* --- The whole ------------------------------------------------------------------------------------ */

static int total_wrong;

static long run(const operation *o, call_fault fault, long nth) {
    memset(board, 0, sizeof *board);
    each_file(directory, remove_file);
    if (o->place != AT_NO_STORE)
        each_file(made, copy_file);
    bool kills = fault == KILLED_BEFORE || fault == KILLED_AFTER;
    bool has_ended = in_a_process(o, "the process", meet_the_fault, fault, nth, kills);
    if (has_ended)
        each_file(directory, look_for_unfinished);
    in_a_process(o, "the next process", look, fault, nth, false);
    if (board->wrong > 0) {
        fprintf(stderr, "WRONG in %s, call %ld %s (%s): %s %s\n", o->name, nth, call_fault_name(fault),
                board->met, board->has_answered ? hf_status_name(board->status) : "no answer",
                board->message);
        total_wrong += board->wrong;
    }
    return board->count;
}

static long run_each(const operation *o, call_fault fault, int samples) {
    call_fault counting = fault == ALLOCATION_FAILS || fault == ALLOCATIONS_FAIL ? ALLOCATION_FAILS
                          : fault >= DIRECTORY_SYNC_FAILS                        ? fault
                                                                                 : CALLS_COUNTED;
    long count = run(o, counting, 1000000000);
    long step = samples == 0 || count <= samples ? 1 : count / samples;
    long runs = 0;
    for (long nth = 1 + (step > 1 ? rand() % step : 0); nth <= count; nth += step, runs++)
        run(o, fault, nth);
    return runs;
}

/* Under falling limits, from where nothing is missed any more. */
static long run_in_little_space(const operation *o, int samples) {
    long step = samples == 0 ? 1 : SPACE_PIECES / samples, runs = 0;
    for (long pieces = SPACE_PIECES - (step > 1 ? rand() % step : 0); pieces >= 0; pieces -= step, runs++) {
        run(o, SPACE_ENDS, pieces);
        refusals += board->has_answered && board->status == HF_NO_MEMORY;
    }
    return runs;
}

int main(int argc, char **argv) {
    int samples = 6;
    unsigned seed = seed_of_run();
    const char *only = NULL, *only_fault = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--every") == 0)
            samples = 0;
        else if (strncmp(argv[i], "--seed=", 7) == 0)
            seed = (unsigned)strtoul(argv[i] + 7, NULL, 10);
        else if (strncmp(argv[i], "--operation=", 12) == 0)
            only = argv[i] + 12;
        else if (strncmp(argv[i], "--fault=", 8) == 0)
            only_fault = argv[i] + 8;
        else if (strncmp(argv[i], "--samples=", 10) == 0)
            samples = atoi(argv[i] + 10);
    srand(seed);
    printf("seed %u\n", seed);
    /* What is imported is one commit, and so done or not done. To SQLite a lock that cannot be had is one
     * that somebody holds, for which a commit waits. */
    pin_limits("importEntities=1000,importBytes=4194304,foreignLock=2000000000");
    strcpy(directory, "/dev/shm/holdfast-XXXXXX");
    strcpy(made, "/dev/shm/holdfast-XXXXXX");
    if (mkdtemp(directory) == NULL || mkdtemp(made) == NULL) {
        perror(directory);
        return 2;
    }
    snprintf(files.store, sizeof files.store, "%s/store.db", directory);
    snprintf(files.other, sizeof files.other, "%s/other.db", directory);
    snprintf(files.backup, sizeof files.backup, "%s/backup.db", directory);
    snprintf(files.copy, sizeof files.copy, "%s/copy.db", directory);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long runs = 0;
    for (int is_killed = 0; is_killed <= 1; is_killed++) {
        each_file(directory, remove_file);
        each_file(made, remove_file);
        in_a_process(&operations[0], "making the files", make_files,
                     is_killed ? KILLED_BEFORE : CALLS_COUNTED, 0, is_killed);
        each_file(directory, move_file);
        for (size_t i = 0; i < operation_count; i++) {
            const operation *o = &operations[i];
            if ((only != NULL && strcmp(o->name, only) != 0) || (is_killed && o->place == AT_NO_STORE))
                continue;
            long before = runs;
            int wrong_before = total_wrong;
            for (call_fault fault = CALL_FAILS; fault < CALL_FAULTS; fault++)
                /* Where no lock is to be had each of many runs waits for ten seconds or more. */
                if (only_fault == NULL ? samples == 0 || fault < FUNCTION_FAILS
                                       : strcmp(call_fault_name(fault), only_fault) == 0)
                    runs += run_each(o, fault, samples);
            if (only_fault == NULL || strcmp(call_fault_name(SPACE_ENDS), only_fault) == 0)
                runs += run_in_little_space(o, samples);
            printf("%s, %s: %ld runs, %d wrong\n", o->name, is_killed ? "after a kill" : "after a close",
                   runs - before, total_wrong - wrong_before);
            fflush(stdout);
        }
    }
    printf("%ld runs with a fault, %d wrong; in little space %d refused, %d ended by Swift's runtime\n", runs,
           total_wrong, refusals, deaths);
    each_file(directory, remove_file);
    each_file(made, remove_file);
    rmdir(directory);
    rmdir(made);
    return total_wrong > 0;
}
