#include "failing_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static _Atomic(call_fault) armed = CALLS_COUNTED;
static atomic_bool is_counting;
static atomic_long count, target;
static char met[256];
static atomic_int lacking;

/* Where the code of the C libraries lies whose allocations may fail. */
static struct range { uintptr_t begin, end; } ranges[8];
static int range_count;

static int note_library(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (strstr(info->dlpi_name, "libsqlite3") == NULL && strstr(info->dlpi_name, "libjansson") == NULL &&
        strstr(info->dlpi_name, "libpcre2") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && range_count < 8; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            ranges[range_count++] = (struct range){begin, begin + info->dlpi_phdr[i].p_memsz};
        }
    return 0;
}

void calls_lack(int lacks) { lacking = lacks; }

void calls_arm(call_fault fault, long nth) {
    if (range_count == 0)
        dl_iterate_phdr(note_library, NULL);
    met[0] = 0;
    count = 0;
    target = nth;
    armed = fault;
    is_counting = true;
}

long calls_disarm(void) {
    is_counting = false;
    armed = CALLS_COUNTED;
    return count;
}

const char *calls_met(void) { return met; }

const char *call_fault_name(call_fault fault) {
    static const char *const names[] = {"counted",
                                        "fails once",
                                        "fails for good",
                                        "is short",
                                        "is interrupted",
                                        "kills before",
                                        "kills after",
                                        "allocation fails",
                                        "allocations fail for good",
                                        "sync of a directory fails",
                                        "function fails always",
                                        "function is forbidden",
                                        "pieces of address space"};
    return names[fault];
}

static bool is_for_allocations(call_fault fault) {
    return fault == ALLOCATION_FAILS || fault == ALLOCATIONS_FAIL;
}

static void note(const char *name, const char *path) {
    if (met[0] == 0)
        snprintf(met, sizeof met, "%s%s%s", name, path ? " " : "", path ? path : "");
}

/* The functions that were called, in the order in which they were first. */
static pthread_mutex_t functions_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *functions[64];

/* The place of a function among them, from 1. */
static long number_of(const char *name) {
    long number = 1;
    pthread_mutex_lock(&functions_lock);
    while (number <= count && strcmp(functions[number - 1], name) != 0)
        number++;
    if (number > count) {
        functions[number - 1] = name;
        count = number;
    }
    pthread_mutex_unlock(&functions_lock);
    return number;
}

static bool is_for_functions(call_fault fault) {
    return fault == FUNCTION_FAILS || fault == FUNCTION_IS_FORBIDDEN;
}

/* What a call answers that fails: `usual`, unless it is not allowed at all. */
static int error_of(int usual) { return armed == FUNCTION_IS_FORBIDDEN ? EPERM : usual; }

/* What becomes of the call that is about to be made. */
typedef enum fate { PASSES, FAILS, IS_SHORT, IS_INTERRUPTED, KILLS_AFTER } fate;

static fate next(const char *name, const char *path) {
    if (!is_counting || is_for_allocations(armed) || armed == DIRECTORY_SYNC_FAILS)
        return PASSES;
    call_fault fault = armed;
    if (is_for_functions(fault)) {
        if (number_of(name) != target)
            return PASSES;
        note(name, path);
        return FAILS;
    }
    long number = atomic_fetch_add(&count, 1) + 1;
    if (fault == CALLS_COUNTED || number < target || (number > target && fault != CALLS_FAIL))
        return PASSES;
    note(name, path);
    switch (fault) {
    case CALL_FAILS:
    case CALLS_FAIL:
        return FAILS;
    case CALL_IS_SHORT:
        return IS_SHORT;
    case CALL_INTERRUPTED:
        return IS_INTERRUPTED;
    case KILLED_BEFORE:
        raise(SIGKILL);
        return FAILS;
    case KILLED_AFTER:
        return KILLS_AFTER;
    default:
        return PASSES;
    }
}

/* The function of the C library. */
#define REAL(name)                                                                                           \
    static __typeof__(name) *real;                                                                           \
    if (real == NULL)                                                                                        \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);

/* Carries the call out, or not: `failure` is what it answers then, `error` its errno; where the result must
 * be freed or a lock let go of, a failure comes after the deed. */
#define CALL(name, path, failure, error, call)                                                               \
    do {                                                                                                     \
        switch (next(name, path)) {                                                                          \
        case FAILS:                                                                                          \
        case IS_SHORT:                                                                                       \
            errno = error_of(error);                                                                         \
            return failure;                                                                                  \
        case IS_INTERRUPTED:                                                                                 \
            errno = EINTR;                                                                                   \
            return failure;                                                                                  \
        case KILLS_AFTER:                                                                                    \
            (void)!(call);                                                                                   \
            raise(SIGKILL);                                                                                  \
            return failure;                                                                                  \
        case PASSES:                                                                                         \
            break;                                                                                           \
        }                                                                                                    \
        return call;                                                                                         \
    } while (0)

/* For what moves bytes. A half of one byte is none, which a file's end looks like too, so it fails. */
#define MOVE(name, error, size, call)                                                                        \
    do {                                                                                                     \
        fate fate = next(name, NULL);                                                                        \
        if (fate == IS_SHORT && size > 1) {                                                                  \
            size /= 2;                                                                                       \
            return call;                                                                                     \
        }                                                                                                    \
        if (fate == KILLS_AFTER) {                                                                           \
            (void)!(call);                                                                                   \
            raise(SIGKILL);                                                                                  \
        }                                                                                                    \
        if (fate != PASSES) {                                                                                \
            errno = fate == IS_INTERRUPTED ? EINTR : error_of(error);                                        \
            return -1;                                                                                       \
        }                                                                                                    \
        return call;                                                                                         \
    } while (0)

static mode_t mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPENING(name)                                                                                        \
    int name(const char *path, int flags, ...) {                                                             \
        REAL(name)                                                                                           \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        mode_t mode = mode_of(flags, arguments);                                                             \
        va_end(arguments);                                                                                   \
        CALL(#name, path, -1, EMFILE, real(path, flags, mode));                                              \
    }
OPENING(open)
OPENING(open64)

int openat(int directory, const char *path, int flags, ...) {
    REAL(openat)
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    CALL("openat", path, -1, EMFILE, real(directory, path, flags, mode));
}

/* The descriptor is gone also where closing it fails. */
int close(int descriptor) {
    REAL(close)
    fate fate = next("close", NULL);
    int result = real(descriptor);
    if (fate == KILLS_AFTER)
        raise(SIGKILL);
    if (fate == PASSES)
        return result;
    errno = fate == IS_INTERRUPTED ? EINTR : EIO;
    return -1;
}

/* Letting go of a lock never fails. */
static bool lets_go(int command, const void *argument) {
    return (command == F_SETLK || command == F_SETLKW) && ((const struct flock *)argument)->l_type == F_UNLCK;
}

#define LOCKING(name)                                                                                        \
    int name(int descriptor, int command, ...) {                                                             \
        REAL(name)                                                                                           \
        va_list arguments;                                                                                   \
        va_start(arguments, command);                                                                        \
        void *argument = va_arg(arguments, void *);                                                          \
        va_end(arguments);                                                                                   \
        if (lets_go(command, argument))                                                                      \
            return real(descriptor, command, argument);                                                      \
        CALL(#name, NULL, -1, command == F_DUPFD_CLOEXEC ? EMFILE : ENOLCK,                                  \
             real(descriptor, command, argument));                                                           \
    }
LOCKING(fcntl)
LOCKING(fcntl64)

ssize_t read(int descriptor, void *bytes, size_t size) {
    REAL(read)
    MOVE("read", EIO, size, real(descriptor, bytes, size));
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
    REAL(write)
    MOVE("write", ENOSPC, size, real(descriptor, bytes, size));
}

#define READING_AT(name, offset_type)                                                                        \
    ssize_t name(int descriptor, void *bytes, size_t size, offset_type offset) {                             \
        REAL(name)                                                                                           \
        MOVE(#name, EIO, size, real(descriptor, bytes, size, offset));                                       \
    }
READING_AT(pread, off_t)
READING_AT(pread64, off64_t)

#define WRITING_AT(name, offset_type)                                                                        \
    ssize_t name(int descriptor, const void *bytes, size_t size, offset_type offset) {                       \
        REAL(name)                                                                                           \
        MOVE(#name, ENOSPC, size, real(descriptor, bytes, size, offset));                                    \
    }
WRITING_AT(pwrite, off_t)
WRITING_AT(pwrite64, off64_t)

#define ON_DESCRIPTOR(name, error)                                                                           \
    int name(int descriptor) {                                                                               \
        REAL(name)                                                                                           \
        CALL(#name, NULL, -1, error, real(descriptor));                                                      \
    }

static bool is_directory(int descriptor) {
    struct stat status;
    return syscall(SYS_fstat, descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

int fsync(int descriptor) {
    REAL(fsync)
    if (is_counting && armed == DIRECTORY_SYNC_FAILS && is_directory(descriptor) &&
        atomic_fetch_add(&count, 1) + 1 == target) {
        note("fsync", "of a directory");
        errno = EIO;
        return -1;
    }
    CALL("fsync", NULL, -1, EIO, real(descriptor));
}
ON_DESCRIPTOR(fdatasync, EIO)

#define TRUNCATING(name, size_type)                                                                          \
    int name(int descriptor, size_type size) {                                                               \
        REAL(name)                                                                                           \
        CALL(#name, NULL, -1, EIO, real(descriptor, size));                                                  \
    }
TRUNCATING(ftruncate, off_t)
TRUNCATING(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
    REAL(rename)
    CALL("rename", to, -1, EIO, real(from, to));
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    REAL(renameat2)
    if ((lacking & LACKS_EXCHANGE && flags == RENAME_EXCHANGE) ||
        (lacking & LACKS_EXCLUSIVE_RENAMES && flags == RENAME_NOREPLACE)) {
        errno = EINVAL;
        return -1;
    }
    CALL("renameat2", to, -1, EIO, real(from_directory, from, to_directory, to, flags));
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    REAL(linkat)
    CALL("linkat", to, -1, EIO, real(from_directory, from, to_directory, to, flags));
}

int link(const char *from, const char *to) {
    REAL(link)
    if (lacking & LACKS_LINKS) {
        errno = EPERM;
        return -1;
    }
    CALL("link", to, -1, EIO, real(from, to));
}

int unlink(const char *path) {
    REAL(unlink)
    CALL("unlink", path, -1, EIO, real(path));
}

#define LOOKING_AT(name, structure)                                                                          \
    int name(const char *restrict path, struct structure *restrict out) {                                    \
        REAL(name)                                                                                           \
        CALL(#name, path, -1, EIO, real(path, out));                                                         \
    }
LOOKING_AT(stat, stat)
LOOKING_AT(lstat, stat)
LOOKING_AT(stat64, stat64)
LOOKING_AT(lstat64, stat64)
LOOKING_AT(statfs, statfs)

#define LOOKING_INTO(name, structure)                                                                        \
    int name(int descriptor, struct structure *out) {                                                        \
        REAL(name)                                                                                           \
        CALL(#name, NULL, -1, EIO, real(descriptor, out));                                                   \
    }
LOOKING_INTO(fstat, stat)
LOOKING_INTO(fstat64, stat64)

int access(const char *path, int mode) {
    REAL(access)
    CALL("access", path, -1, EIO, real(path, mode));
}

int fchmod(int descriptor, mode_t mode) {
    REAL(fchmod)
    CALL("fchmod", NULL, -1, EPERM, real(descriptor, mode));
}

int fchown(int descriptor, uid_t owner, gid_t group) {
    REAL(fchown)
    CALL("fchown", NULL, -1, EPERM, real(descriptor, owner, group));
}

char *realpath(const char *restrict path, char *restrict out) {
    REAL(realpath)
    CALL("realpath", path, NULL, EIO, real(path, out));
}

#define MAPPING(name, offset_type)                                                                           \
    void *name(void *at, size_t size, int protection, int flags, int descriptor, offset_type offset) {       \
        REAL(name)                                                                                           \
        /* Memory of the allocator's own is another matter. */                                               \
        if (descriptor < 0)                                                                                  \
            return real(at, size, protection, flags, descriptor, offset);                                    \
        CALL(#name, NULL, MAP_FAILED, ENOMEM, real(at, size, protection, flags, descriptor, offset));        \
    }
MAPPING(mmap, off_t)
MAPPING(mmap64, off64_t)

int eventfd(unsigned value, int flags) {
    REAL(eventfd)
    CALL("eventfd", NULL, -1, EMFILE, real(value, flags));
}

/* Answers its error itself. */
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*body)(void *), void *restrict argument) {
    REAL(pthread_create)
    fate fate = next("pthread_create", NULL);
    if (fate == FAILS || fate == IS_SHORT)
        return EAGAIN;
    int result = real(thread, attributes, body, argument);
    if (fate == KILLS_AFTER)
        raise(SIGKILL);
    return result;
}

/* --- Allocations ---------------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_calloc(size_t number, size_t size);

static bool allocation_fails(void *caller) {
    if (!is_counting || !is_for_allocations(armed))
        return false;
    uintptr_t address = (uintptr_t)caller;
    for (int i = 0; i < range_count; i++)
        if (address >= ranges[i].begin && address < ranges[i].end) {
            long number = atomic_fetch_add(&count, 1) + 1;
            if (number < target || (number > target && armed == ALLOCATION_FAILS))
                return false;
            note("an allocation", NULL);
            return true;
        }
    return false;
}

void *malloc(size_t size) {
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *realloc(void *block, size_t size) {
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

void *calloc(size_t number, size_t size) {
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(number, size);
}
