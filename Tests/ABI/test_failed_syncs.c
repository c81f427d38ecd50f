/* What a process could not sync is lost to every other, too, unless that writes it anew. */
#include "support.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char *self;

/* The C library's functions by these names come behind the program's own, for SQLite and the library too. */
static atomic_bool log_syncs_fail;
/* How far the log has been written anew from its beginning. */
static atomic_long written_anew;

static bool is_log(int descriptor) {
    char link[64], path[200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

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
        execl(self, self, "commit", f->url, in, out, (char *)NULL);
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
    for (int i = 0; i < 100 && hf_repository_save(r.things, NULL, "{\"id\":3}", HF_NTS, NULL, NULL) != HF_OK;
         i++)
        sleep_milliseconds(20);
    end_other(o);
    close_room(r);
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "commit") == 0)
        return commit_when_told(argv[2], atoi(argv[3]), atoi(argv[4]));
    self = argv[0];
    static const scenario scenarios[] = {
        SQLITE_ONLY(what_a_process_could_not_sync_another_writes_anew_before_it_commits),
    };
    return run_scenarios("failed syncs", scenarios, COUNT_OF(scenarios));
}
