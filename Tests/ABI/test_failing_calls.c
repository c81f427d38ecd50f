/* What calls into the system that fail must not leave behind, or be taken for, and what others tell. */
#include "support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The C library's functions by these names come behind the program's own, for SQLite and the library too. */

/* What cannot be looked at, and which file cannot be locked for itself alone, by the end of its name; empty:
 * all can. */
static char unseen[32], unlockable[32];
static atomic_int refused;
/* Whether SQLite gets no lock at all. */
static atomic_bool locks_lack;

static bool ends_with(const char *path, const char *end) {
    size_t length = strlen(path), size = strlen(end);
    return size > 0 && length >= size && strcmp(path + length - size, end) == 0;
}

static int look(const char *path, struct stat *out) {
    if (ends_with(path, unseen)) {
        atomic_fetch_add(&refused, 1);
        return errno = EIO, -1;
    }
    return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int lstat(const char *restrict path, struct stat *restrict out) { return look(path, out); }

int lstat64(const char *restrict path, struct stat64 *restrict out) { return look(path, (struct stat *)out); }

/* What is told to be mounted by itself, by the end of its name; empty: nothing is. */
static char mounted[32];

int statx(int directory, const char *restrict path, int flags, unsigned int mask,
          struct statx *restrict out) {
    if (syscall(SYS_statx, directory, path, flags, mask, out) != 0)
        return -1;
    uint64_t known = STATX_ATTR_MOUNT_ROOT;
    out->stx_attributes_mask |= known;
    out->stx_attributes = (out->stx_attributes & ~known) | (ends_with(path, mounted) ? known : 0);
    return 0;
}

static int control(int descriptor, int command, void *argument) {
    if (atomic_load(&locks_lack) && command == F_SETLK && ((struct flock *)argument)->l_type != F_UNLCK)
        return errno = ENOLCK, -1;
    if (command == F_OFD_SETLK && ((struct flock *)argument)->l_type == F_WRLCK &&
        ((struct flock *)argument)->l_start == 0 && unlockable[0] != 0) {
        char link[64], path[200] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        if (readlink(link, path, sizeof path - 1) > 0 && ends_with(path, unlockable)) {
            atomic_fetch_add(&refused, 1);
            return errno = ENOLCK, -1;
        }
    }
    return (int)syscall(SYS_fcntl, descriptor, command, argument);
}

#define CONTROLLING(name)                                                                                    \
    int name(int descriptor, int command, ...) {                                                             \
        va_list arguments;                                                                                   \
        va_start(arguments, command);                                                                        \
        void *argument = va_arg(arguments, void *);                                                          \
        va_end(arguments);                                                                                   \
        return control(descriptor, command, argument);                                                       \
    }
CONTROLLING(fcntl)
CONTROLLING(fcntl64)

/* SQLite's allocations are counted down to the one that is refused; below 0 none is. */
static atomic_long granted = -1;
extern void *__libc_realloc(void *memory, size_t bytes), *__libc_malloc(size_t bytes);

static bool is_refused(void *caller) {
    Dl_info of;
    return atomic_load(&granted) >= 0 && dladdr(caller, &of) && strstr(of.dli_fname, "libsqlite3") &&
           atomic_fetch_sub(&granted, 1) == 0;
}

void *malloc(size_t bytes) { return is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes); }

void *realloc(void *memory, size_t bytes) {
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

static void refuse(char *what, const char *end) {
    atomic_store(&refused, 0);
    strcpy(what, end);
}

static bool is_there(const fixture *f, const char *name) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", f->directory, name);
    return access(path, F_OK) == 0;
}

static void a_backup_gets_no_name_beside_which_a_log_may_lie_unseen(fixture *f) {
    static const char *const beside[] = {"copy.db", "copy.db-journal", "copy.db-wal", "copy.db-shm"};
    char path[160];
    snprintf(path, sizeof path, "%s/copy.db", f->directory);
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":1}");
    for (size_t i = 0; i < COUNT_OF(beside); i++) {
        refuse(unseen, beside[i]);
        hf_status status = hf_store_backup(r.store, path, NULL, NULL, NULL, NULL);
        unseen[0] = 0;
        assert_true(status == HF_IO || status == HF_CANNOT_OPEN);
        assert_true(atomic_load(&refused) > 0);
        assert_false(is_there(f, "copy.db"));
        assert_false(is_there(f, "copy.db-partial"));
    }
    expect_ok(hf_store_backup, r.store, path, NULL, NULL, NULL);
    close_room(r);
}

static void a_backup_whose_file_cannot_be_locked_leaves_none(fixture *f) {
    char path[160];
    snprintf(path, sizeof path, "%s/copy.db", f->directory);
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":1}");
    refuse(unlockable, "copy.db-partial");
    expect(HF_CANNOT_OPEN, hf_store_backup, r.store, path, NULL, NULL, NULL);
    unlockable[0] = 0;
    assert_int_equal(atomic_load(&refused), 1);
    assert_false(is_there(f, "copy.db-partial"));
    expect_ok(hf_store_backup, r.store, path, NULL, NULL, NULL);
    close_room(r);
}

/* By this program, run anew. */
static bool can_be_opened_by_another(const fixture *f) {
    pid_t child = fork();
    if (child == 0) {
        execl(program_invocation_name, program_invocation_name, "open", f->url, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void a_compaction_that_does_not_learn_whether_it_is_alone_shuts_nobody_out(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":1}");
    refuse(unlockable, "-lock");
    expect(HF_CANNOT_OPEN, hf_store_compact, r.store, NULL);
    unlockable[0] = 0;
    assert_true(atomic_load(&refused) > 0);
    assert_true(can_be_opened_by_another(f));
    expect_ok(hf_store_compact, r.store, NULL);
    assert_true(can_be_opened_by_another(f));
    close_room(r);
}

static int64_t give_a_line(char *buffer, size_t capacity, void *at, hf_error **out_error) {
    (void)out_error;
    int *line = at;
    return *line == 0 ? snprintf(buffer, capacity, "{\"id\":%d}\n", ++*line) : 0;
}

/* An import has no time of its own after which it gives up. */
static void who_gets_no_lock_does_not_wait_for_ever(room r) {
    int line = 0;
    save(r.things, NULL, "{\"id\":0}");
    alarm(300);
    atomic_store(&locks_lack, true);
    expect(HF_BUSY, hf_store_import, r.store, "{\"repository\":\"things\"}", give_a_line, NULL, &line, NULL);
    atomic_store(&locks_lack, false);
    alarm(0);
    line = 0;
    expect_ok(hf_store_import, r.store, "{\"repository\":\"things\"}", give_a_line, NULL, &line, NULL);
    expect_count(r.things, NULL, NULL, 2);
}

static void a_store_is_not_found_damaged_for_want_of_memory(fixture *f) {
    room r = open_room(f, NULL);
    /* More pages than SQLite's cache gets in one piece. */
    for (int i = 0; i < 40; i++) {
        char json[2100];
        snprintf(json, sizeof json, "{\"id\":%d,\"text\":\"%02000d\"}", i, i);
        save(r.things, NULL, json);
    }
    long count = 0;
    for (bool is_met = true; is_met; count++) {
        /* In memory there is no page yet. */
        close_room(r);
        r = open_room(f, NULL);
        hf_buffer report = HF_BUFFER_INIT;
        atomic_store(&granted, count);
        hf_status status = hf_store_verify(r.store, NULL, NULL, &report, NULL);
        is_met = atomic_exchange(&granted, -1) < 0;
        if (status == HF_OK)
            assert_memory_equal(report.data, "{\"ok\":true", 10);
        else
            assert_true(is_met && status == HF_NO_MEMORY);
        hf_buffer_free(&report);
    }
    assert_true(count > 50);
    close_room(r);
}

/* The file that another folder has too has a log in each of them. */
static void a_file_that_is_mounted_by_itself_is_unsafe_unless_allowed(fixture *f) {
    close_room(open_room(f, NULL));
    refuse(mounted, strrchr(f->url, '/'));
    hf_store *store = NULL;
    expect(HF_UNSAFE_LOCATION, hf_store_open, f->url, "{\"read_only\":true}", &store);
    hf_error *error = error_of(HF_UNSAFE_LOCATION, hf_store_open, f->url, NULL, &store);
    assert_non_null(strstr(hf_error_message(error), "mount its folder"));
    hf_error_free(error);
    hf_store_free(open_store(f, "{\"allow_unsafe_location\":true}"));
    mounted[0] = 0;
    close_room(open_room(f, NULL));
}

int main(int argc, char **argv) {
    setenv("HOLDFAST_LIMITS", "foreignLock=1000000000", 1);
    if (argc == 3 && strcmp(argv[1], "open") == 0) {
        hf_store *store = NULL;
        return hf_store_open(argv[2], NULL, &store, NULL) != HF_OK ||
               hf_store_close(store, -1, NULL) != HF_OK;
    }
    static const scenario scenarios[] = {
        SQLITE_ONLY(a_backup_gets_no_name_beside_which_a_log_may_lie_unseen),
        SQLITE_ONLY(a_backup_whose_file_cannot_be_locked_leaves_none),
        SQLITE_ONLY(a_compaction_that_does_not_learn_whether_it_is_alone_shuts_nobody_out),
        SQLITE_ONLY(who_gets_no_lock_does_not_wait_for_ever),
        SQLITE_ONLY(a_store_is_not_found_damaged_for_want_of_memory),
        SQLITE_ONLY(a_file_that_is_mounted_by_itself_is_unsafe_unless_allowed),
    };
    return run_scenarios("failing calls", scenarios, COUNT_OF(scenarios));
}
