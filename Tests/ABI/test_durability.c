/* What was acknowledged is there after the process was killed, and nothing is there by half. */
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ROUNDS = 20, IN_FLIGHT = 64 };

/* --- What is synced, and what gets a name --------------------------------------------------------------- */

/* The C library's functions by these names come behind the program's own, for SQLite and the library too. */
typedef struct deed {
    bool is_sync; /* else something gets this name */
    char path[200];
} deed;

static deed deeds[4096];
static atomic_size_t deed_count;

static void note(bool is_sync, const char *path) {
    size_t number = atomic_fetch_add(&deed_count, 1);
    if (number < COUNT_OF(deeds)) {
        deeds[number].is_sync = is_sync;
        snprintf(deeds[number].path, sizeof deeds[number].path, "%s", path);
    }
}

static bool name_of(int descriptor, char path[200]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, 199);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool is_log(const char *path) {
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, "-wal") == 0;
}

/* Of the logs: syncs that wait, and how many more pass before one fails; -1: none fails. */
static atomic_bool log_syncs_wait;
static atomic_int log_syncs_before_a_failure = -1;
/* Since the one that failed: how long the log was, how far it has been written anew from its beginning, and
 * how far it had been when it was synced next; -1: not yet. */
static atomic_long failed_length, written_anew, written_anew_when_synced = -1;

static int sync_by(long number, int descriptor) {
    char path[200];
    struct stat status;
    if (!name_of(descriptor, path) || !is_log(path)) {
        note(true, path);
        return (int)syscall(number, descriptor);
    }
    note(true, path);
    while (atomic_load(&log_syncs_wait))
        sleep_milliseconds(1);
    if (atomic_load(&log_syncs_before_a_failure) >= 0 &&
        atomic_fetch_sub(&log_syncs_before_a_failure, 1) == 0) {
        atomic_store(&failed_length, fstat(descriptor, &status) == 0 ? (long)status.st_size : 0);
        atomic_store(&written_anew, 0);
        atomic_store(&written_anew_when_synced, -1);
        return errno = EIO, -1;
    }
    if (atomic_load(&written_anew_when_synced) < 0)
        atomic_store(&written_anew_when_synced, atomic_load(&written_anew));
    return (int)syscall(number, descriptor);
}

int fsync(int descriptor) { return sync_by(SYS_fsync, descriptor); }

int fdatasync(int descriptor) { return sync_by(SYS_fdatasync, descriptor); }

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off_t offset) {
    char path[200];
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, length, offset);
    if (written > 0 && offset == atomic_load(&written_anew) && name_of(descriptor, path) && is_log(path))
        atomic_fetch_add(&written_anew, written);
    return written;
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    int result = (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
    if (result == 0)
        note(false, to);
    return result;
}

/* The number of the first such deed from this one on, which must be there. */
static size_t deed_from(size_t first, bool is_sync, const char *path) {
    for (size_t i = first; i < atomic_load(&deed_count); i++)
        if (deeds[i].is_sync == is_sync && strcmp(deeds[i].path, path) == 0)
            return i;
    fail_msg("%s is not %s", path, is_sync ? "synced" : "named");
    return 0;
}

/* --- The writer, this program run anew: commits pairs, and tells each acknowledged one ------------------ */

static int acknowledgements;

static void tell(const hf_event *event, void *user_data) {
    uint32_t number = (uint32_t)(uintptr_t)user_data;
    if (event->status != HF_OK || write(acknowledgements, &number, sizeof number) != sizeof number) {
        _exit(3);
    }
}

static int write_until_killed(const char *url, uint32_t first, const char *options, int descriptor) {
    hf_store *store = NULL;
    hf_repository *left = NULL, *right = NULL;
    acknowledgements = descriptor;
    if (hf_store_open(url, "{\"max_in_flight\":64}", &store, NULL) != HF_OK ||
        hf_repository_open(store, "left", NULL, &left, NULL) != HF_OK ||
        hf_repository_open(store, "right", NULL, &right, NULL) != HF_OK) {
        return 2;
    }
    for (uint32_t number = first;; number++) {
        char json[64];
        hf_transaction *t = NULL;
        snprintf(json, sizeof json, "{\"id\":%u}", number);
        if (hf_transaction_begin(store, options, &t, NULL) != HF_OK ||
            hf_repository_save(left, t, json, HF_NTS, NULL, NULL) != HF_OK ||
            hf_repository_save(right, t, json, HF_NTS, NULL, NULL) != HF_OK ||
            hf_transaction_submit(t, tell, (void *)(uintptr_t)number, NULL, NULL) != HF_OK) {
            return 4;
        }
        hf_transaction_free(t);
    }
}

/* --- The scenario ----------------------------------------------------------------------------------- */

/* Runs a writer, kills it after some milliseconds, and marks what it acknowledged. */
static size_t run_and_kill(const char *url, uint32_t first, const char *options, long milliseconds,
                           bool *acknowledged, uint32_t most) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char number[16], descriptor[16];
        snprintf(number, sizeof number, "%u", first);
        snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
        close(ends[0]);
        execl(program_invocation_name, program_invocation_name, "write", url, number, options, descriptor,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    uint32_t number;
    size_t count = 0;
    /* The first acknowledgement tells that the load has begun. */
    assert_int_equal(read(ends[0], &number, sizeof number), sizeof number);
    sleep_milliseconds(milliseconds);
    assert_int_equal(kill(child, SIGKILL), 0);
    do {
        assert_true(number < most && !acknowledged[number]);
        acknowledged[number] = true;
        count++;
    } while (read(ends[0], &number, sizeof number) == sizeof number);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return count;
}

static void kill_and_compare(fixture *f, const char *options) {
    enum { MOST = 4000000, STEP = MOST / ROUNDS };
    bool *acknowledged = calloc(MOST, sizeof *acknowledged);
    size_t total = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        total += run_and_kill(f->url, round * STEP, options, 3 * round, acknowledged, MOST);

        hf_store *store = open_store(f, NULL);
        hf_repository *left = open_repository(store, "left"), *right = open_repository(store, "right");
        hf_entity_list ours = HF_ENTITY_LIST_INIT, theirs = HF_ENTITY_LIST_INIT;
        expect_ok(hf_repository_fetch_all, left, NULL, &ours);
        expect_ok(hf_repository_fetch_all, right, NULL, &theirs);
        assert_int_equal(ours.json_length, theirs.json_length);
        assert_memory_equal(ours.json, theirs.json, ours.json_length);
        size_t found = 0;
        for (size_t i = 0; i < ours.count; i++) {
            assert_int_equal(ours.items[i].version, theirs.items[i].version);
            char id[16] = "";
            memcpy(id, ours.items[i].id, ours.items[i].id_length);
            found += acknowledged[strtoul(id, NULL, 10)];
        }
        assert_int_equal(found, total);
        /* More than was acknowledged may be there: what was stored when its writer was killed. */
        assert_true(ours.count <= total + (round + 1) * IN_FLIGHT);
        hf_entity_list_free(&ours), hf_entity_list_free(&theirs);
        hf_repository_free(left), hf_repository_free(right);
        hf_store_free(store);
    }
    free(acknowledged);
}

static void after_kill_9_every_durable_commit_is_there_and_whole(fixture *f) {
    kill_and_compare(f, "{\"durability\":\"full\"}");
}

static void after_kill_9_every_relaxed_commit_is_there_too(fixture *f) {
    kill_and_compare(f, "{\"durability\":\"relaxed\"}");
}

static void sequences_go_on_rising_after_a_kill(fixture *f) {
    enum { MOST = 1000000 };
    bool *acknowledged = calloc(MOST, sizeof *acknowledged);
    uint64_t highest = 0;
    for (uint32_t round = 0; round < 3; round++) {
        run_and_kill(f->url, round * (MOST / 3), "{}", 10, acknowledged, MOST);
        room r = open_room(f, NULL);
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        hf_entity entity = HF_ENTITY_INIT;
        expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
        for (size_t i = 0; i < list.count; i++) {
            highest = list.items[i].version > highest ? list.items[i].version : highest;
        }
        expect_ok(hf_repository_save, r.things, NULL, "{\"id\":\"after\"}", HF_NTS, &entity);
        assert_true(entity.version > highest);
        highest = entity.version;
        expect_ok(hf_repository_delete, r.things, NULL, "after", HF_NTS, 0);
        hf_entity_free(&entity);
        hf_entity_list_free(&list);
        close_room(r);
    }
    free(acknowledged);
}

static void a_receipt_says_whether_it_is_durable(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":1}");
    json_t *receipt = commit(t);
    assert_true(json_is_false(json_object_get(receipt, "durable")));
    json_decref(receipt);
    t = begin(r.store, "{\"durability\":\"full\"}");
    save(r.things, t, "{\"id\":2}");
    receipt = commit(t);
    assert_true(json_is_true(json_object_get(receipt, "durable")));
    json_decref(receipt);
    expect_ok(hf_store_sync, r.store);
    close_room(r);
}

static void a_durable_commit_is_synced_also_behind_one_that_is_not(fixture *f) {
    char log[160];
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    snprintf(log, sizeof log, "%s-wal", f->url);
    for (int round = 0; round < 3; round++) {
        save(r.things, NULL, "{\"id\":1}");
        size_t before = atomic_load(&deed_count);
        hf_transaction *t = begin(r.store, "{\"durability\":\"full\"}");
        save(r.things, t, "{\"id\":2}");
        commit_quietly(t);
        deed_from(before, true, log);
    }
    close_room(r);
}

static void a_backup_and_a_restore_are_on_the_disk_before_and_with_their_names(fixture *f) {
    char backup[160], partial[200];
    snprintf(backup, sizeof backup, "%s/copy.db", f->directory);
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":1}");
    size_t before = atomic_load(&deed_count);
    expect_ok(hf_store_backup, r.store, backup, NULL, NULL, NULL);
    snprintf(partial, sizeof partial, "%s-partial", backup);
    size_t synced = deed_from(before, true, partial), named = deed_from(synced, false, backup);
    deed_from(named, true, f->directory);
    close_room(r);

    before = atomic_load(&deed_count);
    expect_ok(hf_store_restore, backup, f->url, "{\"replace\":true}", NULL, NULL);
    snprintf(partial, sizeof partial, "%s-partial", f->url);
    synced = deed_from(before, true, partial), named = deed_from(synced, false, f->url);
    deed_from(named, true, f->directory);
}

static void a_store_of_a_killed_process_is_nobody_s_though_a_child_of_it_lives(fixture *f) {
    int ends[2];
    pid_t child = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t owner = fork();
    if (owner == 0) {
        hf_store *store = NULL;
        hf_repository *things = NULL;
        if (hf_store_open(f->url, NULL, &store, NULL) != HF_OK ||
            hf_repository_open(store, "things", NULL, &things, NULL) != HF_OK ||
            hf_repository_save(things, NULL, "{\"id\":\"before\"}", HF_NTS, NULL, NULL) != HF_OK)
            _exit(2);
        /* The child tells itself who it is: once it does, what a fork does to a store is over. */
        if (fork() == 0) {
            child = getpid();
            alarm(60);
            while (write(ends[1], &child, sizeof child) == sizeof child)
                pause();
            _exit(4);
        }
        kill(getpid(), SIGKILL);
        _exit(3);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
    close(ends[0]);
    assert_int_equal(waitpid(owner, NULL, 0), owner);
    room r = open_room(f, NULL);
    /* Only whoever has the store to itself may do so. */
    expect_ok(hf_store_compact, r.store, NULL);
    expect_entity(r.things, NULL, "before", "{\"id\":\"before\"}");
    close_room(r);
    assert_int_equal(kill(child, SIGKILL), 0);
}

static void what_was_not_synced_is_written_anew_before_it_is_synced_again(fixture *f) {
    for (int by_a_checkpoint = 0; by_a_checkpoint < 2; by_a_checkpoint++) {
        room r = open_room(f, by_a_checkpoint ? "{\"durability\":\"relaxed\"}" : NULL);
        for (int i = 0; i < 10; i++)
            save(r.things, NULL, "{\"id\":1}");
        atomic_store(&log_syncs_before_a_failure, 0);
        if (by_a_checkpoint) {
            /* An idle store is checkpointed after two seconds. */
            for (int i = 0; i < 6000 && atomic_load(&log_syncs_before_a_failure) >= 0; i++)
                sleep_milliseconds(20);
            /* After a second more it would be tried again. */
            sleep_milliseconds(1500);
        } else {
            hf_status status = hf_repository_save(r.things, NULL, "{\"id\":2}", HF_NTS, NULL, NULL);
            assert_true(status == HF_OK || status == HF_IO);
        }
        assert_int_equal(atomic_load(&log_syncs_before_a_failure), -1);
        assert_true(atomic_load(&failed_length) > 0);
        for (int i = 0;
             i < 5000 && hf_repository_save(r.things, NULL, "{\"id\":3}", HF_NTS, NULL, NULL) != HF_OK; i++)
            sleep_milliseconds(20);
        expect_ok(hf_store_sync, r.store);
        assert_true(atomic_load(&written_anew_when_synced) >= atomic_load(&failed_length));
        close_room(r);
    }
}

static void of_a_batch_whose_sync_fails_each_commit_is_told_as_it_is(fixture *f) {
    enum { COUNT = 20 };
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(COUNT);
    size_t before = atomic_load(&deed_count);
    atomic_store(&log_syncs_wait, true);
    for (size_t i = 0; i < COUNT; i++) {
        submit_numbered(r.store, r.things, rec, i);
        /* The others come while the first is synced, and so together. */
        while (atomic_load(&deed_count) == before)
            sleep_milliseconds(1);
    }
    atomic_store(&log_syncs_before_a_failure, 1);
    atomic_store(&log_syncs_wait, false);
    wait_for_freed(rec, COUNT);
    assert_int_equal(atomic_load(&log_syncs_before_a_failure), -1);
    for (size_t i = 0; i < COUNT; i++) {
        char id[16];
        bool is_there = false;
        snprintf(id, sizeof id, "%zu", rec->outcomes[i].ticket);
        expect_ok(hf_repository_contains, r.things, NULL, id, HF_NTS, &is_there);
        assert_int_equal(rec->outcomes[i].status, HF_OK);
        assert_true(is_there);
    }
    close_room(r);
    free_recorder(rec);
}

/* --- One that waits in line behind a commit that is being synced, and gives up ---------------------------
 */

static int commit_when_told(const char *url, int commands, int answers) {
    hf_store *store = NULL;
    hf_repository *things = NULL;
    char command;
    if (hf_store_open(url, NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "things", NULL, &things, NULL) != HF_OK)
        return 2;
    while (read(commands, &command, 1) == 1) {
        hf_transaction *t = NULL;
        const char *options = command == 'g' ? "{\"timeout_ms\":300}" : NULL;
        hf_status status = hf_transaction_begin(store, options, &t, NULL);
        if (status == HF_OK)
            status = hf_repository_save(things, t, "{\"id\":\"other\"}", HF_NTS, NULL, NULL);
        if (status == HF_OK)
            status = hf_transaction_commit(t, NULL, NULL);
        hf_transaction_free(t);
        if (write(answers, &status, sizeof status) != sizeof status)
            return 3;
    }
    return 0;
}

/* "c": it waits; "g": it soon gives up. */
static hf_status told_to_commit(const char *command, int commands, int answers) {
    hf_status status = HF_INTERNAL;
    assert_int_equal(write(commands, command, 1), 1);
    assert_int_equal(read(answers, &status, sizeof status), sizeof status);
    return status;
}

static void a_process_that_gave_up_waiting_holds_nobody_up(fixture *f) {
    int commands[2], answers[2];
    room r = open_room(f, NULL);
    recorder *rec = new_recorder(1);
    assert_int_equal(pipe(commands) | pipe(answers), 0);
    pid_t other = fork();
    if (other == 0) {
        char in[16], out[16];
        snprintf(in, sizeof in, "%d", commands[0]);
        snprintf(out, sizeof out, "%d", answers[1]);
        close(commands[1]);
        execl(program_invocation_name, program_invocation_name, "commit", f->url, in, out, (char *)NULL);
        _exit(127);
    }
    close(commands[0]), close(answers[1]);
    assert_int_equal(told_to_commit("c", commands[1], answers[0]), HF_OK);
    /* Who has just met another asks for its turn each time. */
    save(r.things, NULL, "{\"id\":\"own\"}");
    size_t before = atomic_load(&deed_count);
    atomic_store(&log_syncs_wait, true);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"held\"}");
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(rec, 0), free_ticket);
    hf_transaction_free(t);
    while (atomic_load(&deed_count) == before)
        sleep_milliseconds(1);
    assert_true(told_to_commit("g", commands[1], answers[0]) != HF_OK);
    atomic_store(&log_syncs_wait, false);
    wait_for_freed(rec, 1);
    assert_int_equal(rec->outcomes[0].status, HF_OK);
    /* It lives on, and is not waited for. */
    for (int i = 0; i < 3; i++) {
        t = begin(r.store, "{\"timeout_ms\":120000}");
        save(r.things, t, "{\"id\":\"own\"}");
        commit_quietly(t);
    }
    close(commands[1]), close(answers[0]);
    int status = 0;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close_room(r);
    free_recorder(rec);
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "commit") == 0) {
        return commit_when_told(argv[2], atoi(argv[3]), atoi(argv[4]));
    }
    if (argc == 6 && strcmp(argv[1], "write") == 0) {
        return write_until_killed(argv[2], (uint32_t)strtoul(argv[3], NULL, 10), argv[4], atoi(argv[5]));
    }
    static const scenario scenarios[] = {
        SQLITE_ONLY(after_kill_9_every_durable_commit_is_there_and_whole),
        SQLITE_ONLY(after_kill_9_every_relaxed_commit_is_there_too),
        SQLITE_ONLY(sequences_go_on_rising_after_a_kill),
        SQLITE_ONLY(a_receipt_says_whether_it_is_durable),
        SQLITE_ONLY(a_durable_commit_is_synced_also_behind_one_that_is_not),
        SQLITE_ONLY(a_backup_and_a_restore_are_on_the_disk_before_and_with_their_names),
        SQLITE_ONLY(a_store_of_a_killed_process_is_nobody_s_though_a_child_of_it_lives),
        SQLITE_ONLY(what_was_not_synced_is_written_anew_before_it_is_synced_again),
        SQLITE_ONLY(of_a_batch_whose_sync_fails_each_commit_is_told_as_it_is),
        SQLITE_ONLY(a_process_that_gave_up_waiting_holds_nobody_up),
    };
    return run_scenarios("durability", scenarios, COUNT_OF(scenarios));
}
