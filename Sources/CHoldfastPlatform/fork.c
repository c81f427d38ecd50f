#include "CHoldfastPlatform.h"
#include "runtime_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t epoch;
static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;

/* What hfplatform_open_unshared has opened; guarded by `forks`. */
static int *unshared;
static size_t count, capacity;

/* Set once, by hfplatform_around_forks. */
static void (*before)(void), (*after)(void);

static void before_fork(void) {
    hfplatform_fork_hold();
    if (before != NULL)
        before();
    /* Last, because `before` may itself make the runtime work. */
    hfplatform_runtime_hold();
}

static void call_after(void) {
    if (after != NULL)
        after();
    hfplatform_fork_release();
}

static void after_fork_in_parent(void) {
    hfplatform_runtime_release();
    call_after();
}

static void after_fork_in_child(void) {
    hfplatform_runtime_renew();
    __atomic_fetch_add(&epoch, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < count; i++)
        close(unshared[i]);
    count = 0;
    call_after();
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

uint32_t hfplatform_fork_epoch(void) { return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE); }

void hfplatform_fork_hold(void) { hfplatform_mutex_lock(&forks); }
void hfplatform_fork_release(void) { hfplatform_mutex_unlock(&forks); }

void hfplatform_around_forks(void (*new_before)(void), void (*new_after)(void)) {
    before = new_before;
    after = new_after;
}

int hfplatform_open(const char *path, int flags, uint32_t mode) {
    int descriptor;
    do {
        descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
}

int hfplatform_sync(int descriptor) {
#ifdef __APPLE__
    /* fsync(2) leaves it in the drive's cache there. */
    if (fcntl(descriptor, F_FULLFSYNC) == 0)
        return 0;
#endif
    return fsync(descriptor) == 0 ? 0 : errno;
}

/* Room for one more in the list; under the lock. */
static bool make_room(void) {
    if (count < capacity)
        return true;
    size_t wanted = capacity * 2 + 8;
    int *grown = realloc(unshared, wanted * sizeof *grown);
    if (grown == NULL)
        return false;
    unshared = grown;
    capacity = wanted;
    return true;
}

/* Whether it was in the list; under the lock. */
static bool take_out(int descriptor) {
    size_t i = 0;
    while (i < count && unshared[i] != descriptor)
        i++;
    if (i == count)
        return false;
    unshared[i] = unshared[--count];
    return true;
}

int hfplatform_open_unshared(const char *path, int flags, uint32_t mode) {
    hfplatform_fork_hold();
    int descriptor = -ENOMEM;
    if (make_room()) {
        descriptor = hfplatform_open(path, flags, mode);
        if (descriptor >= 0)
            unshared[count++] = descriptor;
    }
    hfplatform_fork_release();
    return descriptor;
}

void hfplatform_close_unshared(int descriptor) {
    hfplatform_fork_hold();
    /* In a forked child it is closed already, and its number may be another file's. */
    if (take_out(descriptor))
        close(descriptor);
    hfplatform_fork_release();
}

bool hfplatform_unshare(int descriptor) {
    hfplatform_fork_hold();
    bool has_room = make_room();
    if (has_room)
        unshared[count++] = descriptor;
    hfplatform_fork_release();
    return has_room;
}

void hfplatform_forget_unshared(int descriptor) {
    hfplatform_fork_hold();
    take_out(descriptor);
    hfplatform_fork_release();
}
