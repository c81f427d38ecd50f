#define _GNU_SOURCE
#include "CHoldfastFileLock.h"
#include "CHoldfastPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/mount.h>
/* The kernel has these locks; the public headers do not tell. */
#ifndef F_OFD_SETLK
#define F_OFD_SETLK 90
#define F_OFD_GETLK 92
#endif
#else
#include <sys/vfs.h>
#endif

struct hfplatform_claim {
    uint64_t device;
    uint64_t inode;
    uint32_t epoch;
    int descriptor;
    hfplatform_claim *next;
};

/* Guarded by hfplatform_fork_hold. A forked child inherits the entries, which tell it why it may not open
 * these files. */
static hfplatform_claim *claims;

int hfplatform_claim_create(uint64_t device, uint64_t inode, hfplatform_claim **out_claim) {
    hfplatform_claim *created = malloc(sizeof *created);
    if (created == NULL)
        return ENOMEM;
    int failure = 0;
    hfplatform_fork_hold();
    for (hfplatform_claim *claim = claims; claim != NULL && failure == 0; claim = claim->next)
        if (claim->device == device && claim->inode == inode)
            failure = claim->epoch == hfplatform_fork_epoch() ? EBUSY : ECHILD;
    if (failure == 0) {
        *created = (hfplatform_claim){device, inode, hfplatform_fork_epoch(), -1, claims};
        claims = created;
        *out_claim = created;
    }
    hfplatform_fork_release();
    if (failure != 0)
        free(created);
    return failure;
}

void hfplatform_claim_attach(hfplatform_claim *claim, int descriptor) { claim->descriptor = descriptor; }

int hfplatform_claim_lock(hfplatform_claim *claim, hfplatform_lock_kind kind, int64_t start, int64_t count) {
    static const short types[] = {F_UNLCK, F_RDLCK, F_WRLCK};
    struct flock lock = {.l_type = types[kind], .l_whence = SEEK_SET, .l_start = start, .l_len = count};
    if (claim->epoch != hfplatform_fork_epoch())
        return EBADF; /* The descriptor is closed here, and its number may be another file's. */
    while (fcntl(claim->descriptor, F_OFD_SETLK, &lock) != 0)
        if (errno != EINTR)
            return errno == EACCES ? EAGAIN : errno;
    return 0;
}

bool hfplatform_is_locked(const char *path, int64_t start, int64_t count) {
    int descriptor = hfplatform_open(path, O_RDWR, 0);
    if (descriptor < 0)
        return false;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = count};
    bool is_locked = fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(descriptor);
    return is_locked;
}

void hfplatform_claim_free(hfplatform_claim *claim) {
    if (claim->epoch != hfplatform_fork_epoch())
        return; /* The parent's: its entry stays, so that this child goes on refusing the file. */
    hfplatform_fork_hold();
    hfplatform_claim **link = &claims;
    while (*link != NULL && *link != claim)
        link = &(*link)->next;
    if (*link == claim)
        *link = claim->next;
    hfplatform_fork_release();
    if (claim->descriptor >= 0) {
        hfplatform_claim_lock(claim, HFPLATFORM_UNLOCKED, 0, 0);
        hfplatform_close_unshared(claim->descriptor);
    }
    free(claim);
}

uint32_t hfplatform_file_system(const char *path) {
    struct statfs status;
    if (statfs(path, &status) != 0)
        return 0;
#ifdef __APPLE__
    enum { NFS = 0x6969 };
    return status.f_flags & MNT_LOCAL ? 0 : NFS;
#else
    return (uint32_t)status.f_type;
#endif
}

bool hfplatform_is_mount(const char *path) {
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx status;
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status) == 0 &&
           (status.stx_attributes_mask & status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
    (void)path;
    return false;
#endif
}
