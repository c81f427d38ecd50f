#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t hfp_gate_number(hfp_gate *gate) { return __atomic_load_n(&gate->number, __ATOMIC_ACQUIRE); }

void hfp_gate_wait(hfp_gate *gate, uint32_t seen, uint32_t bits, int64_t timeout_ns) {
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
    /* The count rises before the kernel compares the number, and the number moves before the count is
     * read, so an advance either sees this waiter or changes the number that the kernel compares. */
    __atomic_fetch_add(&gate->waiters, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &gate->number, FUTEX_WAIT_BITSET_PRIVATE, seen, timeout, NULL, bits);
    __atomic_fetch_sub(&gate->waiters, 1, __ATOMIC_SEQ_CST);
}

static void wake(hfp_gate *gate, int count, uint32_t bits) {
    if (bits != 0)
        syscall(SYS_futex, &gate->number, FUTEX_WAKE_BITSET_PRIVATE, count, NULL, NULL, bits);
}

void hfp_gate_advance(hfp_gate *gate, uint32_t bits, uint32_t one_of) {
    __atomic_fetch_add(&gate->number, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&gate->waiters, __ATOMIC_SEQ_CST) == 0)
        return;
    wake(gate, 1, one_of);
    wake(gate, INT32_MAX, bits);
}
