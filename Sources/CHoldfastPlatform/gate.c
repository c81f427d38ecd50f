#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#ifdef __APPLE__
#include <os/os_sync_wait_on_address.h>

/* There the kernel knows no bits: all are woken, and who was not meant waits again. */
static void sleep_on(hfplatform_gate *gate, uint32_t seen, uint32_t bits, int64_t timeout_ns) {
    (void)bits;
    if (timeout_ns < 0)
        os_sync_wait_on_address(&gate->number, seen, sizeof seen, OS_SYNC_WAIT_ON_ADDRESS_NONE);
    else if (timeout_ns > 0)
        os_sync_wait_on_address_with_timeout(&gate->number, seen, sizeof seen, OS_SYNC_WAIT_ON_ADDRESS_NONE,
                                             OS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)timeout_ns);
}

static void wake(hfplatform_gate *gate, uint32_t bits, uint32_t one_of) {
    if ((bits | one_of) != 0)
        os_sync_wake_by_address_all(&gate->number, sizeof gate->number, OS_SYNC_WAKE_BY_ADDRESS_NONE);
}
#else
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void sleep_on(hfplatform_gate *gate, uint32_t seen, uint32_t bits, int64_t timeout_ns) {
    struct timespec end, *timeout = NULL;
    if (timeout_ns >= 0) {
        /* The kernel takes the end and not the length of this kind of wait. */
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += timeout_ns / 1000000000;
        end.tv_nsec += timeout_ns % 1000000000;
        if (end.tv_nsec >= 1000000000) {
            end.tv_sec++;
            end.tv_nsec -= 1000000000;
        }
        timeout = &end;
    }
    syscall(SYS_futex, &gate->number, FUTEX_WAIT_BITSET_PRIVATE, seen, timeout, NULL, bits);
}

static void wake_some(hfplatform_gate *gate, int count, uint32_t bits) {
    if (bits != 0)
        syscall(SYS_futex, &gate->number, FUTEX_WAKE_BITSET_PRIVATE, count, NULL, NULL, bits);
}

static void wake(hfplatform_gate *gate, uint32_t bits, uint32_t one_of) {
    wake_some(gate, 1, one_of);
    wake_some(gate, INT32_MAX, bits);
}
#endif

uint32_t hfplatform_gate_number(hfplatform_gate *gate) {
    return __atomic_load_n(&gate->number, __ATOMIC_ACQUIRE);
}

void hfplatform_gate_wait(hfplatform_gate *gate, uint32_t seen, uint32_t bits, int64_t timeout_ns) {
    /* The count rises before the kernel compares the number, and the number moves before the count is
     * read, so an advance either sees this waiter or changes the number that the kernel compares. */
    __atomic_fetch_add(&gate->waiters, 1, __ATOMIC_SEQ_CST);
    sleep_on(gate, seen, bits, timeout_ns);
    __atomic_fetch_sub(&gate->waiters, 1, __ATOMIC_SEQ_CST);
}

void hfplatform_gate_advance(hfplatform_gate *gate, uint32_t bits, uint32_t one_of) {
    __atomic_fetch_add(&gate->number, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&gate->waiters, __ATOMIC_SEQ_CST) != 0)
        wake(gate, bits, one_of);
}
