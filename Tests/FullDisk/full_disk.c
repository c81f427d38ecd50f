/*
 * A disk that is full as long as the file is there that HOLDFAST_FULL_DISK names, for a PostgreSQL server
 * that has this loaded first: what would make a file of a table longer answers ENOSPC.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static bool is_full(int file, off_t end) {
    const char *flag = getenv("HOLDFAST_FULL_DISK");
    if (flag == NULL || access(flag, F_OK) != 0)
        return false;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    struct stat status;
    if (length < 0 || fstat(file, &status) != 0)
        return false;
    path[length] = '\0';
    return strstr(path, "/base/") != NULL && end > status.st_size;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pwrite");
    if (is_full(file, offset + (off_t)count)) {
        errno = ENOSPC;
        return -1;
    }
    return next(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite(file, bytes, count, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    static ssize_t (*next)(int, const struct iovec *, int, off_t);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pwritev");
    off_t end = offset;
    for (int i = 0; i < count; i++)
        end += (off_t)parts[i].iov_len;
    if (is_full(file, end)) {
        errno = ENOSPC;
        return -1;
    }
    return next(file, parts, count, offset);
}

int posix_fallocate(int file, off_t offset, off_t length) {
    static int (*next)(int, off_t, off_t);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "posix_fallocate");
    return is_full(file, offset + length) ? ENOSPC : next(file, offset, length);
}
