#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int answer(int result) { return result == 0 ? 0 : errno; }

/* In one step, where the file system can. */
static int rename_exclusively(const char *from, const char *to) {
#ifdef __APPLE__
    return answer(renamex_np(from, to, RENAME_EXCL));
#else
    return answer(renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE));
#endif
}

/* A second name is given to nothing that has one already; then the first is taken away. */
static int link_and_unlink(const char *from, const char *to) {
    int failure = answer(link(from, to));
    if (failure != 0)
        return failure;
    /* A store is not opened under one of two names. */
    failure = answer(unlink(from));
    if (failure != 0)
        unlink(to);
    return failure;
}

/* An empty file of our own keeps the name until the rename. */
static int reserve_and_rename(const char *from, const char *to) {
    int descriptor = hfplatform_open(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0)
        return -descriptor;
    close(descriptor);
    int failure = answer(rename(from, to));
    if (failure != 0)
        unlink(to);
    return failure;
}

static bool is_unsupported(int failure) {
    return failure == EINVAL || failure == ENOSYS || failure == EPERM || failure == ENOTSUP ||
           failure == EOPNOTSUPP || failure == EMLINK;
}

int hfplatform_publish(const char *from, const char *to, hfplatform_publication first) {
    static int (*const ways[])(const char *, const char *) = {rename_exclusively, link_and_unlink,
                                                              reserve_and_rename};
    int failure = EINVAL;
    for (size_t way = first; way < sizeof ways / sizeof *ways && is_unsupported(failure); way++)
        failure = ways[way](from, to);
    return failure;
}

int hfplatform_exchange(const char *one, const char *other) {
#ifdef __APPLE__
    return answer(renamex_np(one, other, RENAME_SWAP));
#else
    return answer(renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE));
#endif
}
