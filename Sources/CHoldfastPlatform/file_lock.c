#define _GNU_SOURCE
#include "CHoldfastFileLock.h"
#include "CHoldfastPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

struct hfp_claim {
    uint64_t device;
    uint64_t inode;
    uint32_t epoch;
    int descriptor;
    hfp_claim *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static hfp_claim *claims;

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&mutex); }

/* The child shares the parent's open file descriptions: without closing them it would go on holding the
 * lock after the parent has died. The entries stay, to tell the child why it may not open these files. */
static void after_fork_in_child(void) {
    for (hfp_claim *claim = claims; claim != NULL; claim = claim->next) {
        if (claim->descriptor >= 0)
            close(claim->descriptor);
        claim->descriptor = -1;
    }
    pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int hfp_claim_create(uint64_t device, uint64_t inode, hfp_claim **out_claim) {
    hfp_claim *created = malloc(sizeof *created);
    if (created == NULL)
        return ENOMEM;
    int failure = 0;
    pthread_mutex_lock(&mutex);
    for (hfp_claim *claim = claims; claim != NULL && failure == 0; claim = claim->next)
        if (claim->device == device && claim->inode == inode)
            failure = claim->epoch == hfp_fork_epoch() ? EBUSY : ECHILD;
    if (failure == 0) {
        *created = (hfp_claim){device, inode, hfp_fork_epoch(), -1, claims};
        claims = created;
        *out_claim = created;
    }
    pthread_mutex_unlock(&mutex);
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
    pthread_mutex_lock(&mutex);
    claim->descriptor = descriptor;
    pthread_mutex_unlock(&mutex);
    return 0;
}

void hfp_claim_free(hfp_claim *claim) {
    if (claim->epoch != hfp_fork_epoch())
        return; /* The parent's: its entry stays, so that this child goes on refusing the file. */
    pthread_mutex_lock(&mutex);
    hfp_claim **link = &claims;
    while (*link != NULL && *link != claim)
        link = &(*link)->next;
    if (*link == claim)
        *link = claim->next;
    pthread_mutex_unlock(&mutex);
    if (claim->descriptor >= 0) {
        set_lock(claim->descriptor, F_UNLCK);
        close(claim->descriptor);
    }
    free(claim);
}

int hfp_open(const char *path, int flags, uint32_t mode) {
    int descriptor;
    do {
        descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
}

uint32_t hfp_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (uint32_t)status.f_type : 0;
}
