/*
 * Threads, waiting, time and chance as the C library offers them, in front of the system's: within a
 * simulation they belong to it.
 */
#include "calls.h"

#include <errno.h>
#include <jansson.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* --- Threads -------------------------------------------------------------------------------------- */

static void *run(void *argument) {
    int number = (int)(intptr_t)argument;
    task_begin(number);
    void *result = the->tasks[number].body(the->tasks[number].argument);
    task_end();
    self = -1;
    return result;
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*body)(void *), void *restrict argument) {
    REAL(pthread_create)
    if (self < 0)
        return real(thread, attributes, body, argument);
    int number = task_add(the->tasks[self].process);
    the->tasks[number].body = body;
    the->tasks[number].argument = argument;
    int failure = real(thread, attributes, run, (void *)(intptr_t)number);
    if (failure == 0)
        the->tasks[number].thread = *thread;
    else
        the->tasks[number].state = NO_TASK;
    note("thread", NULL, number, 0, failure);
    return failure;
}

static bool is_running(pthread_t thread) {
    for (int i = 0; i < TASKS; i++) {
        task *task = &the->tasks[i];
        if (i != self && task->state != NO_TASK && task->process == the->tasks[self].process &&
            task->thread != 0 && pthread_equal(task->thread, thread))
            return true;
    }
    return false;
}

int pthread_join(pthread_t thread, void **result) {
    REAL(pthread_join)
    while (self >= 0 && is_running(thread))
        wait_in(AT_AN_END);
    return real(thread, result);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    REAL(pthread_mutex_lock)
    if (self < 0)
        return real(mutex);
    int failure;
    while ((failure = pthread_mutex_trylock(mutex)) == EBUSY) {
        the->tasks[self].address = mutex;
        wait_in(AT_A_MUTEX);
    }
    return failure;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    REAL(pthread_mutex_unlock)
    int failure = real(mutex);
    if (self >= 0)
        for (int i = 0; i < TASKS; i++)
            if (the->tasks[i].state == AT_A_MUTEX && the->tasks[i].address == mutex &&
                the->tasks[i].process == the->tasks[self].process)
                the->tasks[i].state = ABLE;
    return failure;
}

/* --- Futex ---------------------------------------------------------------------------------------- */

static uint64_t nanoseconds(const struct timespec *time) {
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static long futex_wait(uint32_t *address, uint32_t seen, uint64_t until, uint32_t bits) {
    if (*address != seen) {
        errno = EAGAIN;
        return -1;
    }
    task *own = &the->tasks[self];
    own->address = address;
    own->bits = bits;
    own->until = until;
    own->is_woken = false;
    wait_in(AT_A_FUTEX);
    own->until = UINT64_MAX;
    if (own->is_woken)
        return 0;
    errno = ETIMEDOUT;
    return -1;
}

static long futex_wake(const uint32_t *address, long most, uint32_t bits) {
    long count = 0;
    for (int i = 0; i < TASKS && count < most; i++) {
        task *task = &the->tasks[i];
        if (task->state == AT_A_FUTEX && task->address == address && !task->is_woken &&
            task->process == the->tasks[self].process && (task->bits & bits) != 0) {
            task->is_woken = true;
            count++;
        }
    }
    return count;
}

long syscall(long number, ...) {
    va_list arguments;
    va_start(arguments, number);
    long a[6];
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    REAL(syscall)
    if (self >= 0 && number == SYS_futex) {
        const struct timespec *time = (const struct timespec *)a[3];
        switch (a[1] & FUTEX_CMD_MASK) {
        case FUTEX_WAIT:
            return futex_wait((uint32_t *)a[0], (uint32_t)a[2],
                              time == NULL ? UINT64_MAX : the->now + nanoseconds(time), UINT32_MAX);
        case FUTEX_WAIT_BITSET:
            return futex_wait((uint32_t *)a[0], (uint32_t)a[2], time == NULL ? UINT64_MAX : nanoseconds(time),
                              (uint32_t)a[5]);
        case FUTEX_WAKE:
            return futex_wake((uint32_t *)a[0], a[2], UINT32_MAX);
        case FUTEX_WAKE_BITSET:
            return futex_wake((uint32_t *)a[0], a[2], (uint32_t)a[5]);
        }
    }
    if (self >= 0 && number == SYS_getrandom) {
        for (long i = 0; i < a[1]; i++)
            ((uint8_t *)a[0])[i] = (uint8_t)draw(256);
        return a[1];
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* --- Time ----------------------------------------------------------------------------------------- */

enum { CALENDAR = 1750000000 };

int usleep(useconds_t microseconds) {
    REAL(usleep)
    if (self < 0)
        return real(microseconds);
    sleep_for((uint64_t)microseconds * 1000 + 1);
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    REAL(nanosleep)
    if (self < 0)
        return real(time, left);
    sleep_for(nanoseconds(time) + 1);
    return 0;
}

int sched_yield(void) {
    REAL(sched_yield)
    if (self < 0)
        return real();
    the->now += 1000;
    give_way();
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime)
    if (self < 0)
        return real(clock, time);
    /* Who looks again and again finds that time passes. */
    the->now += 50;
    time->tv_sec = (time_t)(the->now / 1000000000) + (clock == CLOCK_REALTIME ? CALENDAR : 0);
    time->tv_nsec = (long)(the->now % 1000000000);
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    REAL(gettimeofday)
    if (self < 0)
        return real(time, zone);
    time->tv_sec = (time_t)(the->now / 1000000000) + CALENDAR;
    time->tv_usec = (suseconds_t)(the->now / 1000 % 1000000);
    return 0;
}

time_t time(time_t *out) {
    REAL(time)
    if (self < 0)
        return real(out);
    time_t now = (time_t)(the->now / 1000000000) + CALENDAR;
    if (out != NULL)
        *out = now;
    return now;
}

/* The true number is another one each time. */
pid_t getpid(void) {
    REAL(getpid)
    return self < 0 ? real() : 1000 + the->tasks[self].process;
}

/* --- Chance --------------------------------------------------------------------------------------- */

/*
 * The library draws it when it is loaded. It says where in an object the members lie, thus in which order
 * their memory is given back, and where what is made next comes to lie.
 */
void json_object_seed(size_t seed) {
    (void)seed;
    REAL(json_object_seed)
    real(1);
}
