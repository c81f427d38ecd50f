/*
 * The locks of Swift's runtime, at a fork.
 *
 * Where a thread meets a type, a conformance or a global for the first time, the runtime works it out under a
 * lock of its own. A child that was forked in that moment would have the lock, but not the thread that holds
 * it, and wait for ever when it comes to the same place.
 *
 * So libholdfast.so, which brings its own copy of the runtime, is linked with --wrap for the functions below,
 * and compiled with HOLDFAST_OWN_RUNTIME (see Makefile): what the runtime calls is here, and a fork waits
 * until no thread is inside. The runtime does so for nothing but such work, so this costs nothing later; the
 * library's own locks do not come this way. Where the runtime is the host's, nothing is wrapped, and a fork
 * is the host's affair.
 */
#include "runtime_locks.h"
#include "CHoldfastPlatform.h"

#ifdef HOLDFAST_OWN_RUNTIME

#include <pthread.h>

/* Threads inside have it for reading, a fork for writing. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
/* How deep this thread is inside. */
static __thread unsigned depth;

void hfplatform_runtime_hold(void) { pthread_rwlock_wrlock(&gate); }
void hfplatform_runtime_release(void) { pthread_rwlock_unlock(&gate); }
/* The lock knows its writer by a number that the child's thread does not have. */
void hfplatform_runtime_renew(void) { gate = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER; }

static void enter(void) {
    if (depth++ == 0)
        pthread_rwlock_rdlock(&gate);
}

static void leave(void) {
    if (--depth == 0)
        pthread_rwlock_unlock(&gate);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
/* What the runtime does once, in its own sources as in what is compiled for it: swift_once comes here, too.
 */
#define ONCE_SLOW _ZN5swift14threading_impl9once_slowERNS0_6once_tEPFvPvES3_
#define PASTE(prefix, name) prefix##name
#define WRAP(name) PASTE(__wrap_, name)
#define REAL(name) PASTE(__real_, name)
void WRAP(ONCE_SLOW)(void *predicate, void (*body)(void *), void *context);
void REAL(ONCE_SLOW)(void *predicate, void (*body)(void *), void *context);
/* The C++ compiler's own once, for what is static in a function. */
int __wrap___cxa_guard_acquire(int64_t *guard);
int __real___cxa_guard_acquire(int64_t *guard);
void __wrap___cxa_guard_release(int64_t *guard);
void __real___cxa_guard_release(int64_t *guard);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    enter();
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int result = __real_pthread_mutex_unlock(mutex);
    leave();
    return result;
}

void WRAP(ONCE_SLOW)(void *predicate, void (*body)(void *), void *context) {
    enter();
    REAL(ONCE_SLOW)(predicate, body, context);
    leave();
}

/* Not 0: the caller is to do the work, and then releases. */
int __wrap___cxa_guard_acquire(int64_t *guard) {
    enter();
    int is_to_do = __real___cxa_guard_acquire(guard);
    if (!is_to_do)
        leave();
    return is_to_do;
}

void __wrap___cxa_guard_release(int64_t *guard) {
    __real___cxa_guard_release(guard);
    leave();
}

#else

void hfplatform_runtime_hold(void) {}
void hfplatform_runtime_release(void) {}
void hfplatform_runtime_renew(void) {}

#endif
