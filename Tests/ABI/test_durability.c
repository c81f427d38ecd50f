/* What was acknowledged is there after the process was killed, and nothing is there by half. */
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ROUNDS = 20, IN_FLIGHT = 64 };

static const char *self;

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

static void note_sync(int descriptor) {
    char link[64], path[200] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (readlink(link, path, sizeof path - 1) > 0)
        note(true, path);
}

int fsync(int descriptor) {
    note_sync(descriptor);
    return (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    note_sync(descriptor);
    return (int)syscall(SYS_fdatasync, descriptor);
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
        execl(self, self, "write", url, number, options, descriptor, (char *)NULL);
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
        hf_store *store = open_store(f, NULL);
        hf_repository *left = open_repository(store, "left");
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        hf_entity entity = HF_ENTITY_INIT;
        expect_ok(hf_repository_fetch_all, left, NULL, &list);
        for (size_t i = 0; i < list.count; i++) {
            highest = list.items[i].version > highest ? list.items[i].version : highest;
        }
        expect_ok(hf_repository_save, left, NULL, "{\"id\":\"after\"}", HF_NTS, &entity);
        assert_true(entity.version > highest);
        highest = entity.version;
        expect_ok(hf_repository_delete, left, NULL, "after", HF_NTS, 0);
        hf_entity_free(&entity);
        hf_entity_list_free(&list);
        hf_repository_free(left);
        hf_store_free(store);
    }
    free(acknowledged);
}

static void a_receipt_says_whether_it_is_durable(fixture *f) {
    hf_store *store = open_store(f, "{\"durability\":\"relaxed\"}");
    hf_repository *things = open_repository(store, "things");
    hf_transaction *t = begin(store, NULL);
    save(things, t, "{\"id\":1}");
    json_t *receipt = commit(t);
    assert_true(json_is_false(json_object_get(receipt, "durable")));
    json_decref(receipt);
    t = begin(store, "{\"durability\":\"full\"}");
    save(things, t, "{\"id\":2}");
    receipt = commit(t);
    assert_true(json_is_true(json_object_get(receipt, "durable")));
    json_decref(receipt);
    expect_ok(hf_store_sync, store);
    hf_repository_free(things);
    hf_store_free(store);
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

int main(int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "write") == 0) {
        return write_until_killed(argv[2], (uint32_t)strtoul(argv[3], NULL, 10), argv[4], atoi(argv[5]));
    }
    self = argv[0];
    static const scenario scenarios[] = {
        SQLITE_ONLY(after_kill_9_every_durable_commit_is_there_and_whole),
        SQLITE_ONLY(after_kill_9_every_relaxed_commit_is_there_too),
        SQLITE_ONLY(sequences_go_on_rising_after_a_kill),
        SQLITE_ONLY(a_receipt_says_whether_it_is_durable),
        SQLITE_ONLY(a_durable_commit_is_synced_also_behind_one_that_is_not),
        SQLITE_ONLY(a_backup_and_a_restore_are_on_the_disk_before_and_with_their_names),
    };
    return run_scenarios("durability", scenarios, COUNT_OF(scenarios));
}
