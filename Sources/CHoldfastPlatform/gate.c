#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t hfp_gate_number(hfp_gate *gate) { return __atomic_load_n(&gate->number, __ATOMIC_ACQUIRE); }

void hfp_gate_wait(hfp_gate *gate, uint32_t seen, int64_t timeout_ns) {
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    /* The count rises before the kernel compares the number, and the number moves before the count is
     * read, so an advance either sees this waiter or changes the number that the kernel compares. */
    __atomic_fetch_add(&gate->waiters, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &gate->number, FUTEX_WAIT_PRIVATE, seen, timeout_ns < 0 ? NULL : &timeout, NULL, 0);
    __atomic_fetch_sub(&gate->waiters, 1, __ATOMIC_SEQ_CST);
}

void hfp_gate_advance(hfp_gate *gate) {
    __atomic_fetch_add(&gate->number, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&gate->waiters, __ATOMIC_SEQ_CST) > 0)
        syscall(SYS_futex, &gate->number, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
