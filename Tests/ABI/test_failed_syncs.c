/* What a process could not sync is lost to every other, too, unless that writes it anew. */
#include "support.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The C library's functions by these names come behind the program's own, for SQLite and the library too. */
static atomic_bool log_syncs_fail;
/* How far the log has been written anew from its beginning. */
static atomic_long written_anew;
/* How often the thread that copies the log has opened it, what it does before the first time, and how many
 * pages it has copied. */
static atomic_int log_openings, pages_copied;
static void (*before_the_first_opening)(void);

static bool ends_with(const char *path, size_t length, const char *end) {
    size_t size = strlen(end);
    return length > size && memcmp(path + length - size, end, size) == 0;
}

static bool is_named(int descriptor, const char *end) {
    char link[64], path[200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 0 && ends_with(path, (size_t)length, end);
}

static bool is_log(int descriptor) { return is_named(descriptor, "-wal"); }

static bool is_copying_thread(void) {
    char name[16];
    return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "hf-checkpoint") == 0;
}

static int open_by(const char *path, int flags, va_list arguments) {
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    if (ends_with(path, strlen(path), "-wal") && is_copying_thread() &&
        atomic_fetch_add(&log_openings, 1) == 0 && before_the_first_opening != NULL)
        before_the_first_opening();
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define OPENING(name)                                                                                        \
    int name(const char *path, int flags, ...) {                                                             \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        int descriptor = open_by(path, flags, arguments);                                                    \
        va_end(arguments);                                                                                   \
        return descriptor;                                                                                   \
    }
OPENING(open)
OPENING(open64)

static int sync_by(long number, int descriptor) {
    if (atomic_load(&log_syncs_fail) && is_log(descriptor))
        return errno = EIO, -1;
    return (int)syscall(number, descriptor);
}

int fsync(int descriptor) { return sync_by(SYS_fsync, descriptor); }

int fdatasync(int descriptor) { return sync_by(SYS_fdatasync, descriptor); }

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off_t offset) {
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, length, offset);
    if (written > 0 && offset == atomic_load(&written_anew) && is_log(descriptor))
        atomic_fetch_add(&written_anew, written);
    if (written > 0 && is_copying_thread() && is_named(descriptor, ".db"))
        atomic_fetch_add(&pages_copied, 1);
    return written;
}

/* --- The other process: this program run anew ----------------------------------------------------------- */

typedef struct reply {
    hf_status status;
    long written_anew;
} reply;

static int commit_when_told(const char *url, int commands, int answers) {
    hf_store *store = NULL;
    hf_repository *things = NULL;
    char command;
    if (hf_store_open(url, NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "things", NULL, &things, NULL) != HF_OK)
        return 2;
    while (read(commands, &command, 1) == 1) {
        atomic_store(&written_anew, 0);
        atomic_store(&log_syncs_fail, command == 'f');
        reply reply = {hf_repository_save(things, NULL, "{\"id\":\"other\"}", HF_NTS, NULL, NULL), 0};
        reply.written_anew = atomic_load(&written_anew);
        if (write(answers, &reply, sizeof reply) != sizeof reply)
            return 3;
    }
    return 0;
}

typedef struct other {
    pid_t pid;
    int commands, answers;
} other;

static other begin_other(fixture *f) {
    int commands[2], answers[2];
    assert_int_equal(pipe(commands) | pipe(answers), 0);
    other o = {fork(), commands[1], answers[0]};
    if (o.pid == 0) {
        char in[16], out[16];
        snprintf(in, sizeof in, "%d", commands[0]);
        snprintf(out, sizeof out, "%d", answers[1]);
        close(commands[1]);
        /* It leaves the copying of the log to this process. */
        setenv("HOLDFAST_LIMITS", "checkpointIdle=600000000000", 1);
        execl(program_invocation_name, program_invocation_name, "commit", f->url, in, out, (char *)NULL);
        _exit(127);
    }
    close(commands[0]), close(answers[1]);
    return o;
}

static void end_other(other o) {
    int status = 0;
    close(o.commands), close(o.answers);
    assert_int_equal(waitpid(o.pid, &status, 0), o.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static reply told_to_commit(other o) {
    reply reply = {HF_INTERNAL, 0};
    assert_int_equal(write(o.commands, "c", 1), 1);
    assert_int_equal(read(o.answers, &reply, sizeof reply), sizeof reply);
    return reply;
}

/* --- Who must write anew what another process could not sync -------------------------------------------- */

static void what_a_process_could_not_sync_another_writes_anew_before_it_commits(fixture *f) {
    char log[160];
    struct stat status;
    snprintf(log, sizeof log, "%s-wal", f->url);
    room r = open_room(f, NULL);
    other o = begin_other(f);
    assert_int_equal(told_to_commit(o).status, HF_OK);
    for (int i = 0; i < 10; i++)
        save(r.things, NULL, "{\"id\":1}");
    atomic_store(&log_syncs_fail, true);
    assert_int_equal(hf_repository_save(r.things, NULL, "{\"id\":2}", HF_NTS, NULL, NULL), HF_IO);
    assert_int_equal(stat(log, &status), 0);
    assert_true(status.st_size > 10 * 4096);
    reply first = told_to_commit(o);
    assert_int_equal(first.status, HF_OK);
    assert_true(first.written_anew >= status.st_size);
    /* Once is enough. */
    reply second = told_to_commit(o);
    assert_int_equal(second.status, HF_OK);
    assert_true(second.written_anew < status.st_size);
    atomic_store(&log_syncs_fail, false);
    for (int i = 0; i < 5000 && hf_repository_save(r.things, NULL, "{\"id\":3}", HF_NTS, NULL, NULL) != HF_OK;
         i++)
        sleep_milliseconds(20);
    end_other(o);
    close_room(r);
}

static other failing;
static atomic_int failed_with;

/* On the copying thread. */
static void have_a_sync_of_the_other_fail(void) {
    reply reply = {HF_INTERNAL, 0};
    if (write(failing.commands, "f", 1) == 1 && read(failing.answers, &reply, sizeof reply) == sizeof reply)
        atomic_store(&failed_with, (int)reply.status);
}

static void a_log_of_which_a_sync_failed_while_it_was_being_opened_is_not_copied(fixture *f) {
    room r = open_room(f, NULL);
    failing = begin_other(f);
    assert_int_equal(told_to_commit(failing).status, HF_OK);
    atomic_store(&log_openings, 0);
    atomic_store(&pages_copied, 0);
    atomic_store(&failed_with, HF_OK);
    before_the_first_opening = have_a_sync_of_the_other_fail;
    save(r.things, NULL, "{\"id\":1}");
    /* Two seconds later the log is copied, or else tried again. */
    for (int i = 0; i < 6000 && atomic_load(&log_openings) < 2 && atomic_load(&pages_copied) == 0; i++)
        sleep_milliseconds(10);
    before_the_first_opening = NULL;
    assert_int_equal(atomic_load(&failed_with), HF_IO);
    assert_int_equal(atomic_load(&pages_copied), 0);
    assert_true(atomic_load(&log_openings) >= 2);
    /* The next commit writes it anew, and then it may be. */
    save(r.things, NULL, "{\"id\":2}");
    for (int i = 0; i < 6000 && atomic_load(&pages_copied) == 0; i++)
        sleep_milliseconds(10);
    assert_true(atomic_load(&pages_copied) > 0);
    end_other(failing);
    close_room(r);
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "commit") == 0)
        return commit_when_told(argv[2], atoi(argv[3]), atoi(argv[4]));
    static const scenario scenarios[] = {
        SQLITE_ONLY(what_a_process_could_not_sync_another_writes_anew_before_it_commits),
        SQLITE_ONLY(a_log_of_which_a_sync_failed_while_it_was_being_opened_is_not_copied),
    };
    return run_scenarios("failed syncs", scenarios, COUNT_OF(scenarios));
}
