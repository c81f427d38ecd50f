/*
 * Platform: the few things of the operating system that Swift cannot reach by itself: waiting on a word
 * (futex), starting a thread that takes no signals, eventfd, and noticing a fork.
 */
#ifndef CHOLDFAST_PLATFORM_H
#define CHOLDFAST_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CHoldfastFileLock.h"

/* --- Gate: threads wait until a number moves on --------------------------------------------------
 * A waiter reads the number, checks its own condition, and waits while the number is still that. Whoever
 * makes a condition true advances the number, which wakes all at the price of one system call, and of none
 * when nobody waits. (Futex: Franke, Russell, Kirkwood, "Fuss, Futexes and Furwocks", 2002.) */
typedef struct hfp_gate {
    uint32_t number;
    uint32_t waiters;
} hfp_gate;

uint32_t hfp_gate_number(hfp_gate *gate);
/* Returns when the number is no longer `seen`, when timeout_ns has passed (negative: never), or early. */
void hfp_gate_wait(hfp_gate *gate, uint32_t seen, int64_t timeout_ns);
void hfp_gate_advance(hfp_gate *gate);

/* --- Threads --------------------------------------------------------------------------------------
 * Starts a detached thread with all signals blocked, so that the host's handlers never run on it. `name` is
 * cut to 15 bytes. Returns 0 or an errno. */
int hfp_thread_start(const char *name, void (*body)(void *context), void *context);
/* A number that is this thread's own while it lives. */
uint64_t hfp_thread_current(void);

/* --- Event descriptor: readable while set; close-on-exec -------------------------------------------- */
int hfp_event_create(void); /* the descriptor, or -errno */
void hfp_event_set(int descriptor);
void hfp_event_clear(int descriptor);
void hfp_event_close(int descriptor);

/* --- Fork ----------------------------------------------------------------------------------------
 * How many forks lie between this process and the one that loaded the library: rises in each child, before
 * any other code of the child runs. */
uint32_t hfp_fork_epoch(void);

#endif
