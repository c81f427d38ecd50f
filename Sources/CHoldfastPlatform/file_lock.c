#define _GNU_SOURCE
#include "CHoldfastFileLock.h"
#include "CHoldfastPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/vfs.h>

struct hfp_claim {
    uint64_t device;
    uint64_t inode;
    uint32_t epoch;
    int descriptor;
    hfp_claim *next;
};

/* Guarded by hfp_fork_hold. A forked child inherits the entries, which tell it why it may not open these
 * files. */
static hfp_claim *claims;

int hfp_claim_create(uint64_t device, uint64_t inode, hfp_claim **out_claim) {
    hfp_claim *created = malloc(sizeof *created);
    if (created == NULL)
        return ENOMEM;
    int failure = 0;
    hfp_fork_hold();
    for (hfp_claim *claim = claims; claim != NULL && failure == 0; claim = claim->next)
        if (claim->device == device && claim->inode == inode)
            failure = claim->epoch == hfp_fork_epoch() ? EBUSY : ECHILD;
    if (failure == 0) {
        *created = (hfp_claim){device, inode, hfp_fork_epoch(), -1, claims};
        claims = created;
        *out_claim = created;
    }
    hfp_fork_release();
    if (failure != 0)
        free(created);
    return failure;
}

static int set_lock(int descriptor, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    while (fcntl(descriptor, F_OFD_SETLK, &lock) != 0)
        if (errno != EINTR)
            return errno == EACCES ? EAGAIN : errno;
    return 0;
}

int hfp_claim_lock(hfp_claim *claim, int descriptor, bool exclusive) {
    int failure = set_lock(descriptor, exclusive ? F_WRLCK : F_RDLCK);
    if (failure != 0)
        return failure;
    claim->descriptor = descriptor;
    return 0;
}

void hfp_claim_free(hfp_claim *claim) {
    if (claim->epoch != hfp_fork_epoch())
        return; /* The parent's: its entry stays, so that this child goes on refusing the file. */
    hfp_fork_hold();
    hfp_claim **link = &claims;
    while (*link != NULL && *link != claim)
        link = &(*link)->next;
    if (*link == claim)
        *link = claim->next;
    hfp_fork_release();
    if (claim->descriptor >= 0) {
        set_lock(claim->descriptor, F_UNLCK);
        hfp_close_unshared(claim->descriptor);
    }
    free(claim);
}

uint32_t hfp_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (uint32_t)status.f_type : 0;
}
