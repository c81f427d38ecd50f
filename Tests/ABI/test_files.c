/* The files of a store, and what lies beside them: nothing that was there is lost or read into what comes,
 * whatever fails, and nothing is left where nothing was. */
#include "support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* --- The system's calls that the library makes, which fail on demand -------------------------------- */

static struct {
    int rename_failure, exchange_failure, link_failure; /* an errno, 0: none */
    bool directory_sync_fails;
} faults;

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned int flags) {
    enum { NOREPLACE = 1 };
    int failure = flags == NOREPLACE ? faults.rename_failure : faults.exchange_failure;
    if (failure != 0)
        return errno = failure, -1;
    if (flags == NOREPLACE && access(to, F_OK) == 0)
        return errno = EEXIST, -1;
    if (flags == NOREPLACE)
        return renameat(from_directory, from, to_directory, to);
    char aside[200];
    snprintf(aside, sizeof aside, "%s-aside", from);
    return renameat(AT_FDCWD, from, AT_FDCWD, aside) || renameat(AT_FDCWD, to, AT_FDCWD, from) ||
                   renameat(AT_FDCWD, aside, AT_FDCWD, to)
               ? -1
               : 0;
}

int rename(const char *from, const char *to) {
    if (faults.rename_failure == EIO)
        return errno = EIO, -1;
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int link(const char *from, const char *to) {
    if (faults.link_failure != 0)
        return errno = faults.link_failure, -1;
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int fsync(int descriptor) {
    struct stat status;
    if (faults.directory_sync_fails && fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode))
        return errno = EIO, -1;
    return fdatasync(descriptor);
}

/* --- Files -------------------------------------------------------------------------------------- */

static char *place(const fixture *f, const char *name, const char *end) {
    static char paths[8][200];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s%s", f->directory, name, end);
    return path;
}

static bool is_there(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

static void expect_nothing_beside(const char *path) {
    static const char *const ends[] = {"-wal", "-shm", "-journal", "-partial", "-wal-replaced"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        char name[220];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        if (is_there(name))
            fail_msg("%s is left", name);
    }
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static mode_t mode_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

static void make(const char *path, const char *json) {
    hf_store *store = open_store_at(path, NULL);
    hf_repository *things = open_repository(store, "things");
    save(things, NULL, json);
    hf_repository_free(things);
    hf_store_free(store);
}

/* A store whose process ended without closing it: `json` is in its log alone. */
static void make_unclean(const char *path, const char *json) {
    make(path, "{\"id\":\"first\"}");
    pid_t child = fork();
    if (child == 0) {
        make(path, "{\"id\":\"again\"}");
        hf_store *store = open_store_at(path, NULL);
        hf_repository *things = open_repository(store, "things");
        save(things, NULL, json);
        _exit(0);
    }
    int outcome;
    waitpid(child, &outcome, 0);
    assert_int_equal(outcome, 0);
    char log[220];
    snprintf(log, sizeof log, "%s-wal", path);
    assert_true(is_there(log));
}

static void expect_stored(const char *path, const char *id, bool is_stored) {
    hf_store *store = open_store_at(path, "{\"create\":false}");
    hf_repository *things = open_repository(store, "things");
    bool found = false;
    expect_ok(hf_repository_contains, things, NULL, id, HF_NTS, &found);
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_verify, store, NULL, NULL, &report);
    assert_memory_equal(report.data, "{\"ok\":true", 10);
    hf_buffer_free(&report);
    hf_repository_free(things);
    hf_store_free(store);
    if (found != is_stored)
        fail_msg("%s is %s in %s", id, found ? "there" : "missing", path);
}

/* --- Backup ------------------------------------------------------------------------------------- */

static void a_backup_does_not_get_a_name_beside_which_files_of_another_store_lie(fixture *f) {
    static const char *const ends[] = {"-wal", "-shm", "-journal"};
    room r = open_room(f, NULL);
    char *target = place(f, "copy.db", "");
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        char *beside = place(f, "copy.db", ends[i]);
        write_file(beside, "something");
        hf_error *error = error_of(HF_EXISTS, hf_store_backup, r.store, target, NULL, NULL, NULL);
        assert_non_null(strstr(hf_error_message(error), ends[i]));
        hf_error_free(error);
        assert_false(is_there(target));
        assert_true(is_there(beside));
        unlink(beside);
    }
    expect_ok(hf_store_backup, r.store, target, NULL, NULL, NULL);
    expect_nothing_beside(target);
    close_room(r);
}

static void a_backup_has_its_own_data_where_a_lost_store_has_left_its_log(fixture *f) {
    char *target = place(f, "copy.db", "");
    make_unclean(target, "{\"id\":\"foreign\"}");
    unlink(target);
    room r = open_room(f, NULL);
    expect(HF_EXISTS, hf_store_backup, r.store, target, NULL, NULL, NULL);
    close_room(r);
    assert_true(is_there(place(f, "copy.db", "-wal")));
}

static void a_backup_whose_directory_cannot_be_synced_leaves_nothing(fixture *f) {
    room r = open_room(f, NULL);
    char *target = place(f, "copy.db", "");
    faults.directory_sync_fails = true;
    hf_status status = hf_store_backup(r.store, target, NULL, NULL, NULL, NULL);
    faults.directory_sync_fails = false;
    assert_int_equal(status, HF_IO);
    assert_false(is_there(target));
    expect_nothing_beside(target);
    close_room(r);
}

static void a_name_is_given_once_also_where_the_file_system_cannot_do_it_in_one_step(fixture *f) {
    room r = open_room(f, NULL);
    for (int link_failure = 0; link_failure <= EPERM; link_failure += EPERM) {
        char *target = place(f, link_failure ? "reserved.db" : "linked.db", "");
        char *other = place(f, link_failure ? "other2.db" : "other1.db", "");
        faults.rename_failure = faults.exchange_failure = EINVAL;
        faults.link_failure = link_failure;
        hf_status first = hf_store_backup(r.store, target, NULL, NULL, NULL, NULL);
        hf_status again = hf_store_backup(r.store, target, NULL, NULL, NULL, NULL);
        hf_status restored = hf_store_restore(target, other, NULL, NULL, NULL, NULL);
        hf_status replaced = hf_store_restore(target, other, "{\"replace\":true}", NULL, NULL, NULL);
        memset(&faults, 0, sizeof faults);
        assert_int_equal(first, HF_OK);
        assert_int_equal(again, HF_EXISTS);
        assert_int_equal(restored, HF_OK);
        assert_int_equal(replaced, HF_OK);
        expect_nothing_beside(other);
        expect_nothing_beside(target);
    }
    close_room(r);
}

typedef struct rival {
    hf_store *store;
    const char *target;
    hf_status answered;
} rival;

static bool back_up_too(uint64_t done, uint64_t total, void *user_data) {
    (void)done, (void)total;
    rival *own = user_data;
    if (own->answered == HF_OK)
        own->answered = hf_store_backup(own->store, own->target, NULL, NULL, NULL, NULL);
    return true;
}

static void two_backups_to_one_name_do_not_write_into_each_other(fixture *f) {
    room r = open_room(f, NULL);
    char *target = place(f, "copy.db", "");
    save(r.things, NULL, "{\"id\":\"own\"}");
    /* What a killed process has left is no obstacle. */
    write_file(place(f, "copy.db", "-partial"), "half a copy");
    assert_int_equal(chmod(place(f, "copy.db", "-partial"), 01600), 0);
    rival own = {r.store, target, HF_OK};
    expect_ok(hf_store_backup, r.store, target, back_up_too, &own, NULL);
    assert_int_equal(own.answered, HF_BUSY);
    expect_nothing_beside(target);
    close_room(r);
    expect_stored(target, "own", true);
}

static void a_backup_does_not_get_the_name_of_a_store_that_lost_its_file_and_is_open(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"own\"}");
    char *lost = place(f, "lost.db", "");
    static const char *const ends[] = {"", "-wal", "-shm"};
    hf_store *open = open_store_at(lost, NULL);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        unlink(place(f, "lost.db", ends[i]));
    expect(HF_BUSY, hf_store_backup, r.store, lost, NULL, NULL, NULL);
    assert_false(is_there(lost));
    hf_store_free(open);
    expect_ok(hf_store_backup, r.store, lost, NULL, NULL, NULL);
    close_room(r);
    expect_stored(lost, "own", true);
}

static void a_damaged_store_is_not_backed_up_as_a_sound_one(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *things = open_repository(store, "things");
    hf_transaction *t = begin(store, NULL);
    for (int i = 0; i < 5000; i++) {
        char json[600];
        snprintf(json, sizeof json, "{\"id\":\"t%05d\",\"text\":\"%0500d\"}", i, i);
        save(things, t, json);
    }
    commit_quietly(t);
    hf_repository_free(things);
    hf_store_free(store);
    int file = open(f->url, O_WRONLY);
    static const char garbage[512] = {13, 7, 7, 7};
    for (long page = 300; page < 340; page += 2)
        assert_int_equal(pwrite(file, garbage, sizeof garbage, page * 4096), sizeof garbage);
    close(file);
    store = open_store(f, NULL);
    char *target = place(f, "copy.db", "");
    expect(HF_CORRUPT, hf_store_backup, store, target, NULL, NULL, NULL);
    assert_false(is_there(target));
    expect_nothing_beside(target);
    hf_store_free(store);
}

static void a_linked_directory_is_as_good_as_its_own_name(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"own\"}");
    assert_int_equal(mkdir(place(f, "real", ""), 0700), 0);
    assert_int_equal(symlink("real", place(f, "linked", "")), 0);
    expect_ok(hf_store_backup, r.store, place(f, "linked/copy.db", ""), NULL, NULL, NULL);
    expect_ok(hf_store_restore, place(f, "linked/copy.db", ""), place(f, "linked/other.db", ""), NULL, NULL,
              NULL);
    close_room(r);
    expect_stored(place(f, "real/other.db", ""), "own", true);
    run_sqlite(place(f, "real/table.db", ""), "create table t(id, x); insert into t values('a', 1)");
    r = open_room(f, NULL);
    expect_ok(hf_store_import_table, r.store, place(f, "linked/table.db", ""), "t", NULL, NULL, NULL, NULL);
    close_room(r);
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s' '%s'", place(f, "linked", ""), place(f, "real", ""));
    assert_int_equal(system(command), 0);
}

/* --- Restore ------------------------------------------------------------------------------------- */

static char *make_backup(const fixture *f) {
    char *backup = place(f, "backup.db", "");
    make(backup, "{\"id\":\"restored\"}");
    return backup;
}

static void a_restore_that_fails_leaves_the_store_with_all_its_commits(fixture *f) {
    char *backup = make_backup(f);
    for (int way = 0; way < 3; way++) {
        char name[16];
        snprintf(name, sizeof name, "old%d.db", way);
        char *path = place(f, name, "");
        make_unclean(path, "{\"id\":\"logged\"}");
        faults.rename_failure = faults.exchange_failure = way == 0 ? EIO : 0;
        faults.directory_sync_fails = way == 1;
        hf_status status = hf_store_restore(way < 2 ? backup : place(f, "none.db", ""), path,
                                            "{\"replace\":true}", NULL, NULL, NULL);
        memset(&faults, 0, sizeof faults);
        assert_int_equal(status, way < 2 ? HF_IO : HF_CANNOT_OPEN);
        expect_stored(path, "logged", true);
        expect_nothing_beside(path);
    }
}

static void a_restore_reads_nothing_of_what_it_replaces(fixture *f) {
    char *backup = make_backup(f), *path = place(f, "old.db", "");
    make_unclean(path, "{\"id\":\"logged\"}");
    expect_ok(hf_store_restore, backup, path, "{\"replace\":true}", NULL, NULL);
    expect_nothing_beside(path);
    expect_stored(path, "restored", true);
    expect_stored(path, "logged", false);
}

static void a_damaged_store_can_be_replaced(fixture *f) {
    char *backup = make_backup(f), *path = place(f, "old.db", "");
    make_unclean(path, "{\"id\":\"logged\"}");
    write_file(path, "This is not what it was.");
    expect_ok(hf_store_restore, backup, path, "{\"replace\":true}", NULL, NULL);
    expect_nothing_beside(path);
    expect_stored(path, "restored", true);
    /* And where it fails, nothing is gone. */
    make_unclean(path, "{\"id\":\"logged\"}");
    write_file(path, "This is not what it was.");
    faults.rename_failure = faults.exchange_failure = EIO;
    hf_status status = hf_store_restore(backup, path, "{\"replace\":true}", NULL, NULL, NULL);
    memset(&faults, 0, sizeof faults);
    assert_int_equal(status, HF_IO);
    assert_true(is_there(place(f, "old.db", "-wal")));
}

static void a_log_without_its_store_is_not_thrown_away(fixture *f) {
    char *backup = make_backup(f), *path = place(f, "old.db", "");
    make_unclean(path, "{\"id\":\"logged\"}");
    unlink(path);
    expect(HF_EXISTS, hf_store_restore, backup, path, NULL, NULL, NULL);
    assert_true(is_there(place(f, "old.db", "-wal")));
    assert_false(is_there(path));
    expect_ok(hf_store_restore, backup, path, "{\"replace\":true}", NULL, NULL);
    expect_stored(path, "restored", true);
    expect_stored(path, "logged", false);
}

/* A process that opens a store, creating it, and saves something. */
static int visit(const char *path) {
    hf_store *store = NULL;
    hf_repository *things = NULL;
    bool is_good = hf_store_open(path, NULL, &store, NULL) == HF_OK &&
                   hf_repository_open(store, "things", NULL, &things, NULL) == HF_OK &&
                   hf_repository_save(things, NULL, "{\"id\":\"visitor\"}", HF_NTS, NULL, NULL) == HF_OK;
    hf_repository_free(things);
    hf_store_free(store);
    return is_good ? 0 : 1;
}

typedef struct visitor {
    const char *path;
    pid_t process;
} visitor;

/* Lets a visitor come to the door, and then gives up. */
static bool be_visited(uint64_t done, uint64_t total, void *user_data) {
    visitor *v = user_data;
    (void)done, (void)total;
    if (v->process == 0) {
        v->process = fork();
        if (v->process == 0) {
            execl(program_invocation_name, program_invocation_name, "visit", v->path, (char *)NULL);
            _exit(127);
        }
        sleep_milliseconds(500);
    }
    return false;
}

static void who_waits_for_a_restore_that_is_given_up_finds_the_place_as_it_was(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"own\"}");
    close_room(r);
    visitor v = {place(f, "new.db", ""), 0};
    expect(HF_CANCELLED, hf_store_restore, f->url, v.path, NULL, be_visited, &v);
    int status = 0;
    assert_int_equal(waitpid(v.process, &status, 0), v.process);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect_stored(v.path, "visitor", true);
}

static void a_restore_that_fails_leaves_nothing_where_nothing_was(fixture *f) {
    char *path = place(f, "new.db", "");
    expect(HF_CANNOT_OPEN, hf_store_restore, place(f, "none.db", ""), path, NULL, NULL, NULL);
    char *backup = make_backup(f);
    faults.directory_sync_fails = true;
    hf_status status = hf_store_restore(backup, path, NULL, NULL, NULL, NULL);
    faults.directory_sync_fails = false;
    assert_int_equal(status, HF_IO);
    assert_false(is_there(path) || is_there(place(f, "new.db", "-lock")));
    expect_nothing_beside(path);
}

/* --- Modes, and foreign files ----------------------------------------------------------------------- */

static void the_files_have_the_mode_that_the_umask_or_the_option_says(fixture *f) {
    mode_t before = umask(027);
    char *path = place(f, "group.db", "");
    hf_store *store = open_store_at(path, NULL);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(mode_of(place(f, "group.db", "-wal")), 0640);
    assert_int_equal(mode_of(place(f, "group.db", "-shm")), 0640);
    assert_int_equal(mode_of(place(f, "group.db", "-lock")), 0640);
    hf_store_free(store);
    umask(077);
    path = place(f, "shared.db", "");
    store = open_store_at(path, "{\"mode\":\"0660\"}");
    assert_int_equal(mode_of(path), 0660);
    assert_int_equal(mode_of(place(f, "shared.db", "-wal")), 0660);
    assert_int_equal(mode_of(place(f, "shared.db", "-lock")), 0660);
    expect_ok(hf_store_backup, store, place(f, "copy.db", ""), NULL, NULL, NULL);
    assert_int_equal(mode_of(place(f, "copy.db", "")), 0660);
    hf_store_free(store);
    expect_ok(hf_store_restore, place(f, "group.db", ""), path, "{\"replace\":true}", NULL, NULL);
    assert_int_equal(mode_of(path), 0660);
    umask(before);
}

static void nothing_is_left_beside_what_is_only_read_or_no_store(fixture *f) {
    char *foreign = place(f, "foreign.db", ""), *own = place(f, "own.db", "");
    run_sqlite(foreign, "pragma journal_mode = wal; create table t(id, x); insert into t values('a', 1)");
    expect_nothing_beside(foreign);
    hf_store *store = NULL;
    expect(HF_NOT_A_STORE, hf_store_open, foreign, NULL, &store);
    assert_false(is_there(place(f, "foreign.db", "-lock")));
    expect_nothing_beside(foreign);
    char *empty = place(f, "empty.db", "");
    write_file(empty, "");
    expect(HF_CANNOT_OPEN, hf_store_open, empty, "{\"create\":false}", &store);
    assert_false(is_there(place(f, "empty.db", "-lock")));
    expect_nothing_beside(empty);
    expect(HF_NOT_A_STORE, hf_store_open, foreign, "{\"read_only\":true}", &store);
    assert_false(is_there(place(f, "foreign.db", "-lock")));
    expect_nothing_beside(foreign);
    expect(HF_NOT_A_STORE, hf_store_restore, foreign, place(f, "new.db", ""), NULL, NULL, NULL);
    expect_nothing_beside(foreign);
    room r = open_room(f, NULL);
    expect_ok(hf_store_import_table, r.store, foreign, "t", NULL, NULL, NULL, NULL);
    expect_nothing_beside(foreign);
    expect(HF_NOT_FOUND, hf_store_import_table, r.store, foreign, "none", NULL, NULL, NULL, NULL);
    expect_nothing_beside(foreign);
    close_room(r);
    make(own, "{\"id\":\"own\"}");
    store = open_store_at(own, "{\"read_only\":true}");
    hf_repository *things = open_repository(store, "things");
    expect_count(things, NULL, NULL, 1);
    hf_repository_free(things);
    hf_store_free(store);
    expect_nothing_beside(own);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "visit") == 0)
        return visit(argv[2]);
    static const scenario scenarios[] = {
        SQLITE_ONLY(a_backup_does_not_get_a_name_beside_which_files_of_another_store_lie),
        SQLITE_ONLY(a_backup_has_its_own_data_where_a_lost_store_has_left_its_log),
        SQLITE_ONLY(a_backup_whose_directory_cannot_be_synced_leaves_nothing),
        SQLITE_ONLY(a_name_is_given_once_also_where_the_file_system_cannot_do_it_in_one_step),
        SQLITE_ONLY(two_backups_to_one_name_do_not_write_into_each_other),
        SQLITE_ONLY(a_backup_does_not_get_the_name_of_a_store_that_lost_its_file_and_is_open),
        SQLITE_ONLY(a_damaged_store_is_not_backed_up_as_a_sound_one),
        SQLITE_ONLY(a_linked_directory_is_as_good_as_its_own_name),
        SQLITE_ONLY(a_restore_that_fails_leaves_the_store_with_all_its_commits),
        SQLITE_ONLY(a_restore_reads_nothing_of_what_it_replaces),
        SQLITE_ONLY(a_damaged_store_can_be_replaced),
        SQLITE_ONLY(a_log_without_its_store_is_not_thrown_away),
        SQLITE_ONLY(a_restore_that_fails_leaves_nothing_where_nothing_was),
        SQLITE_ONLY(who_waits_for_a_restore_that_is_given_up_finds_the_place_as_it_was),
        SQLITE_ONLY(the_files_have_the_mode_that_the_umask_or_the_option_says),
        SQLITE_ONLY(nothing_is_left_beside_what_is_only_read_or_no_store),
    };
    return run_scenarios("files", scenarios, COUNT_OF(scenarios));
}
