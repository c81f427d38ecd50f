/*
 * The C library's functions for files, in front of the system's: what they are asked about files of the
 * simulated directory is answered from there, all else is passed on.
 *
 * SQLite's own file layer and the library meet these functions, and nothing of either is replaced.
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- Opening and closing -------------------------------------------------------------------------- */

static int describe(int file) {
    for (int i = 0; i < DESCRIPTORS; i++)
        if (!the->descriptors[i].is_used) {
            the->descriptors[i] = (descriptor){true, the->tasks[self].process, file,
                                               file >= 0 ? the->files[file].failed_syncs : 0};
            if (file >= 0)
                the->files[file].open++;
            return FIRST_DESCRIPTOR + i;
        }
    return fail(EMFILE);
}

static int open_simulated(const char *path, int flags, mode_t mode) {
    const char *text = name_in(path);
    bool creates = flags & O_CREAT;
    int error = enter("open", text, creates ? OFTEN : SELDOM, creates ? write_error() : EIO);
    if (error != 0)
        return fail(error);
    int file = THE_DIRECTORY;
    if (*text != 0) {
        file = file_named(text);
        if (flags & O_DIRECTORY)
            return fail(file < 0 ? ENOENT : ENOTDIR);
        if (file >= 0 && creates && (flags & O_EXCL))
            return fail(EEXIST);
        if (file < 0 && !creates)
            return fail(ENOENT);
        if (file < 0)
            file = file_create(text, mode & 07777);
        if (file < 0)
            return fail(ENOSPC);
        if (flags & O_TRUNC)
            file_resize(file, 0);
    }
    int number = describe(file);
    note("open", text, flags, file, number);
    return leave(number);
}

static int open_any(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
    if (is_simulated(path))
        return open_simulated(path, flags, mode);
    if (self >= 0 && (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0))
        return describe(RANDOM_BYTES);
    return real(path, flags, mode);
}

#define OPEN_LIKE(name)                                                                                      \
    int name(const char *path, int flags, ...) {                                                             \
        mode_t mode = 0;                                                                                     \
        if (flags & O_CREAT) {                                                                               \
            va_list arguments;                                                                               \
            va_start(arguments, flags);                                                                      \
            mode = va_arg(arguments, mode_t);                                                                \
            va_end(arguments);                                                                               \
        }                                                                                                    \
        REAL(name)                                                                                           \
        return open_any(real, path, flags, mode);                                                            \
    }
OPEN_LIKE(open)
OPEN_LIKE(open64)

int close(int number) {
    descriptor *open = simulated(number);
    if (open == NULL) {
        REAL(close)
        return real(number);
    }
    if (!open->is_used)
        return fail(EBADF);
    if (open->file < 0) {
        open->is_used = false;
        return 0;
    }
    begin();
    note("close", name_of(open->file), number, 0, 0);
    locks_drop(open->file, open->process, -1);
    locks_drop(open->file, open->process, number - FIRST_DESCRIPTOR);
    open->is_used = false;
    the->files[open->file].open--;
    files_forget();
    return leave(0);
}

/* --- Reading and writing -------------------------------------------------------------------------- */

static void random_bytes(uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)draw(256);
}

static ssize_t read_simulated(descriptor *open, void *bytes, size_t count, off_t offset) {
    if (open->file == RANDOM_BYTES) {
        random_bytes(bytes, count);
        return (ssize_t)count;
    }
    if (open->file < 0)
        return fail(EISDIR);
    /* As a drive that does not answer in time. EIO SQLite takes for damage of the file. */
    int error = enter("read", name_of(open->file), SELDOM, ETIMEDOUT);
    if (error != 0)
        return fail(error);
    int64_t result = file_read(open->file, bytes, (int64_t)count, offset);
    note("read", name_of(open->file), offset, (int64_t)count, result);
    return leave((int)result);
}

static ssize_t write_simulated(descriptor *open, const void *bytes, size_t count, off_t offset) {
    if (open->file < 0)
        return fail(EBADF);
    begin();
    uint32_t failing = the->processes[the->tasks[self].process].failing;
    bool fails = failing != 0 && draw(1000000) < (uint64_t)failing * OFTEN;
    /* Who dies, or whose disk is full, may have written a part. */
    int64_t part =
        is_last() || (fails && happens(500)) ? (int64_t)draw(count / SECTOR + 1) * SECTOR : (int64_t)count;
    if (fails && part == (int64_t)count)
        part = 0;
    int64_t result = file_write(open->file, bytes, part, offset);
    note("write", name_of(open->file), offset, (int64_t)count, result);
    note_bytes(bytes, (size_t)result);
    if (is_last())
        process_end(KILLED);
    if (fails)
        the->failures++;
    if (result == 0 && count > 0)
        return fail(fails ? write_error() : ENOSPC);
    return (ssize_t)result;
}

#define MOVE_LIKE(name, pointer, simulate)                                                                   \
    ssize_t name(int number, pointer bytes, size_t count, off_t offset) {                                    \
        descriptor *open = simulated(number);                                                                \
        if (open != NULL)                                                                                    \
            return simulate(open, bytes, count, offset);                                                     \
        REAL(name)                                                                                           \
        return real(number, bytes, count, offset);                                                           \
    }
MOVE_LIKE(pread, void *, read_simulated)
MOVE_LIKE(pread64, void *, read_simulated)
MOVE_LIKE(pwrite, const void *, write_simulated)
MOVE_LIKE(pwrite64, const void *, write_simulated)

/* Of the simulated files only the source of random bytes is read so. */
ssize_t read(int number, void *bytes, size_t count) {
    descriptor *open = simulated(number);
    if (open != NULL)
        return open->file == RANDOM_BYTES ? read_simulated(open, bytes, count, 0) : fail(EINVAL);
    REAL(read)
    return real(number, bytes, count);
}

static int truncate_simulated(int file, off_t size) {
    int error = enter("truncate", name_of(file), OFTEN, write_error());
    if (error != 0)
        return fail(error);
    if (size > MOST_BYTES)
        return fail(ENOSPC);
    file_resize(file, size);
    note("truncate", name_of(file), size, 0, 0);
    return leave(0);
}

#define TRUNCATE_LIKE(name)                                                                                  \
    int name(int number, off_t size) {                                                                       \
        descriptor *open = simulated(number);                                                                \
        if (open != NULL)                                                                                    \
            return truncate_simulated(open->file, size);                                                     \
        REAL(name)                                                                                           \
        return real(number, size);                                                                           \
    }
TRUNCATE_LIKE(ftruncate)
TRUNCATE_LIKE(ftruncate64)

int truncate(const char *path, off_t size) {
    if (is_simulated(path)) {
        int file = file_named(name_in(path));
        return file < 0 ? fail(ENOENT) : truncate_simulated(file, size);
    }
    REAL(truncate)
    return real(path, size);
}

/* `may_fail_for_names`: SQLite does not look whether the directory could be synced (see unixSync in
 * os_unix.c), so for its sake that never fails. */
static int sync_simulated(descriptor *open, bool may_fail_for_names) {
    if (open->file < 0) {
        int error = enter("sync", DIRECTORY, MOST_OFTEN, may_fail_for_names ? EIO : 0);
        if (error != 0)
            return fail(error);
        directory_sync();
        note("sync", DIRECTORY, 0, 0, 0);
        return leave(0);
    }
    the->now += draw(8) == 0 ? draw(50000000) : draw(500000);
    int file = open->file;
    int error = enter("sync", name_of(file), MOST_OFTEN, EIO);
    file_sync(file, error != 0);
    if (error != 0 && the->weakness != FAILED_SYNCS_ARE_CONCEALED)
        the->files[file].failed_syncs++;
    if (open->known_failures == the->files[file].failed_syncs) {
        note("sync", name_of(file), 0, 0, 0);
        return leave(0);
    }
    open->known_failures = the->files[file].failed_syncs;
    if (error == 0)
        note("sync", name_of(file), 0, 0, -EIO);
    return leave(fail(EIO));
}

int fsync(int number) {
    descriptor *open = simulated(number);
    if (open != NULL)
        return sync_simulated(open, true);
    REAL(fsync)
    return real(number);
}

int fdatasync(int number) {
    descriptor *open = simulated(number);
    if (open != NULL)
        return sync_simulated(open, false);
    REAL(fdatasync)
    return real(number);
}

/* --- Mapping: the memory that all processes share is the file's ------------------------------------- */

static void *map_simulated(descriptor *open, size_t size, off_t offset) {
    int error = enter("map", name_of(open->file), SELDOM, ENOMEM);
    if (error != 0) {
        errno = error;
        return MAP_FAILED;
    }
    file *file = &the->files[open->file];
    file->is_mapped = true;
    if (offset + (int64_t)size > file->highest)
        file->highest = offset + (int64_t)size;
    note("map", name_of(open->file), offset, (int64_t)size, 0);
    return contents[open->file] + offset;
}

#define MAP_LIKE(name)                                                                                       \
    void *name(void *address, size_t size, int protection, int flags, int number, off_t offset) {            \
        descriptor *open = simulated(number);                                                                \
        if (open != NULL)                                                                                    \
            return map_simulated(open, size, offset);                                                        \
        REAL(name)                                                                                           \
        return real(address, size, protection, flags, number, offset);                                       \
    }
MAP_LIKE(mmap)
MAP_LIKE(mmap64)

int munmap(void *address, size_t size) {
    if (contents != NULL && (uint8_t *)address >= contents[0] && (uint8_t *)address < contents[FILES])
        return 0;
    REAL(munmap)
    return real(address, size);
}

/* --- Locks ---------------------------------------------------------------------------------------- */

static int lock_simulated(int number, descriptor *open, int command, struct flock *wanted) {
    bool is_description = command == F_OFD_SETLK || command == F_OFD_GETLK;
    int owner = is_description ? number - FIRST_DESCRIPTOR : -1;
    int64_t begin = wanted->l_start;
    int64_t end = wanted->l_len == 0 ? INT64_MAX : begin + wanted->l_len;
    lock_kind kind = wanted->l_type == F_UNLCK ? UNLOCKED : wanted->l_type == F_RDLCK ? SHARED : EXCLUSIVE;
    int error = enter("lock", name_of(open->file), SELDOM, kind == UNLOCKED ? 0 : EIO);
    if (error != 0)
        return fail(error);
    int process = open->process;
    if (command == F_GETLK || command == F_OFD_GETLK) {
        const range_lock *lock = lock_in_the_way(open->file, process, owner, kind, begin, end);
        wanted->l_type = lock == NULL ? F_UNLCK : lock->is_exclusive ? F_WRLCK : F_RDLCK;
        if (lock != NULL) {
            wanted->l_start = lock->begin;
            wanted->l_len = lock->end == INT64_MAX ? 0 : lock->end - lock->begin;
            wanted->l_pid = lock->process + 1;
        }
        note("look", name_of(open->file), begin, end, lock != NULL);
        return leave(0);
    }
    bool is_set = lock_set(open->file, process, owner, kind, begin, end);
    note("lock", name_of(open->file), begin, end, is_set ? (int)kind : -1);
    /* What is the library's own, and not SQLite's. */
    if (strstr(name_of(open->file), "-lock") != NULL)
        lock_asked(open->file, begin, is_set);
    return leave(is_set ? 0 : fail(EAGAIN));
}

static int control(int number, descriptor *open, int command, void *argument) {
    if (!open->is_used || open->process != the->tasks[self].process)
        return fail(EBADF);
    switch (command) {
    case F_GETLK:
    case F_SETLK:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
        return open->file < 0 ? fail(EINVAL) : lock_simulated(number, open, command, argument);
    case F_GETFD:
    case F_SETFD:
        return 0;
    default:
        return fail(EINVAL);
    }
}

#define CONTROL_LIKE(name)                                                                                   \
    int name(int number, int command, ...) {                                                                 \
        va_list arguments;                                                                                   \
        va_start(arguments, command);                                                                        \
        void *argument = va_arg(arguments, void *);                                                          \
        va_end(arguments);                                                                                   \
        descriptor *open = simulated(number);                                                                \
        if (open != NULL)                                                                                    \
            return control(number, open, command, argument);                                                 \
        REAL(name)                                                                                           \
        return real(number, command, argument);                                                              \
    }
CONTROL_LIKE(fcntl)
CONTROL_LIKE(fcntl64)
