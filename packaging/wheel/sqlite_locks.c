/*
 * Makes the copy of SQLite that a wheel brings safe beside another copy in the process.
 *
 * SQLite locks files by the locks of POSIX, which belong to the process: whoever closes a descriptor of a
 * file drops all of them, and within the process they keep nobody out. Two copies of SQLite in one process,
 * such as this one and that of Python's module sqlite3, know nothing of each other: when the other one closes
 * a store's file, this one's locks are gone, and the other one, which finds nobody in its way, deletes the
 * write-ahead log that this one goes on writing to. (https://www.sqlite.org/howtocorrupt.html, section 2.2.1)
 *
 * So this copy is given open-file-description locks instead, by the door that SQLite has for replacing system
 * calls. They belong to a descriptor: another copy meets them as it meets another process's, and cannot drop
 * them by closing its own. As SQLite takes a lock by one descriptor of a file and may give it back by
 * another, each file has one descriptor of ours, for as long as SQLite has one that it locked the file by.
 *
 * Of other processes nothing changes: both kinds keep each other out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A descriptor by which SQLite has locked a file, and the one that holds the locks of that file. */
typedef struct {
    int descriptor, holder;
    dev_t device;
    ino_t inode;
} entry;

/* Not by the calls that the linker leads to Sources/CHoldfastPlatform/runtime_locks.c: those are the
 * runtime's. */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *entries;
static size_t count, capacity;

/* The file behind a descriptor anew, so that closing SQLite's drops nothing; with as much access as may be
 * had, because whoever comes later may need more. Where there is no /proc, the same opening of the file
 * again. */
static int open_holder(int descriptor) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int holder = open(path, O_RDWR | O_CLOEXEC);
    if (holder < 0)
        holder = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return holder;
}

/* The holder of the locks of a descriptor's file, or -1 with errno. */
static int holder_of(int descriptor) {
    struct stat file;
    if (fstat(descriptor, &file) != 0)
        return -1;
    int holder = -1;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].descriptor == descriptor)
            return entries[i].holder;
        if (entries[i].device == file.st_dev && entries[i].inode == file.st_ino)
            holder = entries[i].holder;
    }
    if (count == capacity) {
        entry *more = realloc(entries, (capacity + 16) * sizeof *entries);
        if (more == NULL) {
            errno = ENOLCK;
            return -1;
        }
        entries = more;
        capacity += 16;
    }
    if (holder < 0)
        holder = open_holder(descriptor);
    if (holder >= 0)
        entries[count++] = (entry){descriptor, holder, file.st_dev, file.st_ino};
    return holder;
}

static int control(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (command != F_SETLK && command != F_SETLKW && command != F_GETLK)
        return fcntl(descriptor, command, argument);
    __real_pthread_mutex_lock(&lock);
    int holder = holder_of(descriptor);
    __real_pthread_mutex_unlock(&lock);
    if (holder < 0)
        return -1;
    struct flock *range = argument;
    range->l_pid = 0; /* As the kernel wants it. */
    return fcntl(holder,
                 command == F_SETLK   ? F_OFD_SETLK
                 : command == F_GETLK ? F_OFD_GETLK
                                      : F_OFD_SETLKW,
                 range);
}

static int close_file(int descriptor) {
    __real_pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].descriptor != descriptor)
            continue;
        int holder = entries[i].holder;
        entries[i] = entries[--count];
        bool is_used = false;
        for (size_t j = 0; j < count; j++)
            is_used = is_used || entries[j].holder == holder;
        if (!is_used)
            close(holder);
        break;
    }
    __real_pthread_mutex_unlock(&lock);
    return close(descriptor);
}

static void take(void) { __real_pthread_mutex_lock(&lock); }
static void give_back(void) { __real_pthread_mutex_unlock(&lock); }

/* These locks are inherited, unlike the other kind: a child that kept the holders would go on holding its
 * parent's locks when the parent is gone. */
static void let_go(void) {
    for (size_t i = 0; i < count; i++) {
        bool is_closed = false;
        for (size_t j = 0; j < i; j++)
            is_closed = is_closed || entries[j].holder == entries[i].holder;
        if (!is_closed)
            close(entries[i].holder);
    }
    count = 0;
    __real_pthread_mutex_unlock(&lock);
}

/* A program that is linked with an SQLite of its own has all its libraries use that: one copy needs nothing.
 */
static bool is_the_wheel_s(void) {
    Dl_info sqlite, own;
    if (dladdr((void *)sqlite3_libversion_number, &sqlite) == 0 || dladdr((void *)is_the_wheel_s, &own) == 0)
        return false;
    const char *folder = strrchr(own.dli_fname, '/');
    return folder != NULL && strstr(sqlite.dli_fname, "holdfast_store.libs/") != NULL;
}

/* Before all other constructors of the library: what is registered first is taken last by who forks, and all
 * that the library holds meanwhile may be held by a thread that waits for this lock. */
__attribute__((constructor(101))) static void use(void) {
    sqlite3_vfs *files = is_the_wheel_s() ? sqlite3_vfs_find("unix") : NULL;
    if (files == NULL)
        return;
    files->xSetSystemCall(files, "fcntl", (sqlite3_syscall_ptr)control);
    files->xSetSystemCall(files, "close", (sqlite3_syscall_ptr)close_file);
    pthread_atfork(take, give_back, let_go);
}
