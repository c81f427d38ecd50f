/* A compaction beside the copying of the log, which has begun before it and ends after it, and beside
 * readers. */
#include "support.h"

#include <sys/stat.h>
#include <sys/syscall.h>

static pthread_t own;
static atomic_int copying; /* 1: the next is held up, 2: it is, 0: it goes on */

/* The C library's functions by these names come behind the program's own, for SQLite and the library too. */
static int sync_by(long number, int descriptor) {
    char link[64], path[200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path);
    int next = 1;
    if (length > 4 && memcmp(path + length - 4, "-wal", 4) == 0 && !pthread_equal(pthread_self(), own) &&
        atomic_compare_exchange_strong(&copying, &next, 2))
        for (int i = 0; i < 1000 && atomic_load(&copying) == 2; i++)
            sleep_milliseconds(1);
    return (int)syscall(number, descriptor);
}

int fsync(int descriptor) { return sync_by(SYS_fsync, descriptor); }

int fdatasync(int descriptor) { return sync_by(SYS_fdatasync, descriptor); }

static void a_compaction_may_end_while_an_older_state_is_still_being_copied(fixture *f) {
    own = pthread_self();
    room r = open_room(f, "{\"wal_limit_bytes\":1048576}");
    atomic_store(&copying, 1);
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < 100; i++) {
        char json[4200];
        snprintf(json, sizeof json, "{\"id\":\"t%d\",\"text\":\"%04000d\"}", i, 0);
        save(r.things, t, json);
    }
    commit_quietly(t);
    for (int i = 0; i < 100000 && atomic_load(&copying) == 1; i++)
        sleep_milliseconds(1);
    assert_int_equal(atomic_load(&copying), 2);
    expect_ok(hf_repository_delete_all, r.things, NULL, "{\"id\":{\"$ne\":\"t0\"}}", HF_NTS, NULL, NULL);
    expect_ok(hf_store_compact, r.store, NULL);
    sleep_milliseconds(20);
    save(r.things, NULL, "{\"id\":\"later\"}");
    atomic_store(&copying, 0);
    expect_ok(hf_store_close, r.store, -1);
    close_room(r);
    r = open_room(f, NULL);
    expect_count(r.things, NULL, NULL, 2);
    close_room(r);
}

static long bytes_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (long)status.st_size;
}

/* Another program reads from the file as it was, and goes on. */
static FILE *begin_reading(const char *path) {
    char command[200], note[200];
    snprintf(note, sizeof note, "%s.read", path);
    snprintf(command, sizeof command, "sqlite3 %s >/dev/null", path);
    FILE *shell = popen(command, "w");
    fprintf(shell, "BEGIN; SELECT count(*) FROM holdfast_entity;\n.shell touch %s\n", note);
    fflush(shell);
    while (access(note, F_OK) != 0)
        sleep_milliseconds(5);
    return shell;
}

static void a_compaction_does_not_wait_for_who_reads(fixture *f) {
    room r = open_room(f, "{\"snapshot_max_age_ms\":100}");
    save_in_one(r, 5000, "{\"id\":\"%d\",\"n\":%d,\"text\":\"something that takes some space\"}", 10);
    expect_ok(hf_repository_delete_all, r.things, NULL, "{\"n\":{\"$ne\":0}}", HF_NTS, NULL, NULL);
    expect_ok(hf_store_sync, r.store);
    FILE *shell = begin_reading(f->url);
    double begun = seconds_now();
    expect_ok(hf_store_compact, r.store, NULL);
    assert_true(seconds_now() - begun < 60);
    save(r.things, NULL, "{\"id\":\"later\"}");
    long before = bytes_of(f->url), after = before;
    pclose(shell);
    /* The file gets shorter a little later. */
    for (int i = 0; i < 6000 && after >= before; i++) {
        sleep_milliseconds(10);
        after = bytes_of(f->url);
    }
    assert_true(after < before);
    expect_count(r.things, NULL, NULL, 501);
    close_room(r);
}

int main(void) {
    /* Longer than any test takes; and the log is looked at all the time. */
    setenv("HOLDFAST_LIMITS", "busyTimeout=120000000000,checkpointIdle=1", 1);
    static const scenario scenarios[] = {
        SQLITE_ONLY(a_compaction_may_end_while_an_older_state_is_still_being_copied),
        SQLITE_ONLY(a_compaction_does_not_wait_for_who_reads),
    };
    return run_scenarios("compaction", scenarios, COUNT_OF(scenarios));
}
