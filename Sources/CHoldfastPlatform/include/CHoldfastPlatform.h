/*
 * Platform: the few things of the operating system that Swift cannot reach by itself: waiting on a word
 * (futex), starting a thread that takes none of the process's signals, eventfd, and noticing a fork. What is
 * written here for Apple's systems was never run.
 */
#ifndef CHOLDFAST_PLATFORM_H
#define CHOLDFAST_PLATFORM_H

#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "CHoldfastFileLock.h"

/* --- Gate: threads wait until a number moves on --------------------------------------------------
 * A waiter reads the number, checks its own condition, and waits while the number is still that. Whoever
 * makes a condition true advances the number, which wakes all at the price of one system call, and of none
 * when nobody waits. (Futex: Franke, Russell, Kirkwood, "Fuss, Futexes and Furwocks", 2002.)
 *
 * Waiters for different things may share a gate: each says with its bits what it waits for. */
typedef struct hfplatform_gate {
    uint32_t number;
    uint32_t waiters;
} hfplatform_gate;

uint32_t hfplatform_gate_number(hfplatform_gate *gate);
/* Returns when the number is no longer `seen` and somebody was woken for one of the bits, when timeout_ns has
 * passed (negative: never), or early. */
void hfplatform_gate_wait(hfplatform_gate *gate, uint32_t seen, uint32_t bits, int64_t timeout_ns);
/* Moves the number, which keeps whoever saw the old one from falling asleep. Of those asleep, all are woken
 * that wait for one of the bits, and one that waits for one of `one_of`. */
void hfplatform_gate_advance(hfplatform_gate *gate, uint32_t bits, uint32_t one_of);

/* --- Threads --------------------------------------------------------------------------------------
 * Starts a detached thread on which all signals are blocked but those that a thread brings upon itself
 * (SIGSEGV and the like), so that of the host's handlers only those for crashes run on it. `name` is cut to
 * 15 bytes. Returns 0 or an errno. */
int hfplatform_thread_start(const char *name, void (*body)(void *context), void *context);
/* Runs the body on a thread that has 8 MiB of stack, and waits for it: for work whose depth a caller's text
 * decides. It must not call the host. Returns 0 or an errno. */
int hfplatform_on_large_stack(void (*body)(void *context), void *context);
/* To be called on return from the host's code, with the epoch from before. If that code has forked and this
 * is the child, and the only thread that it has is one of ours, the child ends here: it has nothing to do,
 * and exit hooks would be the parent's. */
void hfplatform_thread_end_if_forked(uint32_t epoch);
/* Whether this thread was started by hfplatform_thread_start. */
bool hfplatform_thread_is_own(void);
/* A number that is this thread's own while it lives. */
uint64_t hfplatform_thread_current(void);
/* Threads count from 1 in the order in which they first ask, and keep their number. */
uint32_t hfplatform_thread_number(void);
/* What this thread is in the middle of: an address of the caller's choice, NULL at first. */
const void *hfplatform_thread_frame(void);
void hfplatform_thread_set_frame(const void *innermost);

/* --- Moments ----------------------------------------------------------------------------------------
 * A number that rises with time, by steps of a few nanoseconds (some tens on ARM), the same for all threads
 * as far as the processors' clocks agree: which of two moments was the earlier one, at the least cost. */
static inline uint64_t hfplatform_moment(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/* --- Memory -----------------------------------------------------------------------------------------
 * How many bytes a block of malloc's takes: those that were asked for, what they were rounded up to, and the
 * word before them. */
static inline size_t hfplatform_block_bytes(const void *block) {
#ifdef __APPLE__
    return malloc_size(block);
#else
    return malloc_usable_size((void *)(uintptr_t)block) + sizeof(size_t);
#endif
}

/* --- Answers of the host's functions that answer by a call ------------------------------------------
 * Whether a function was declared to be one. */
bool hfplatform_answer_is_declared(const void *function);
/* False where there is no place for another one. */
bool hfplatform_answer_declare(const void *function);

/* The call of one such function, as it lies on the stack of the thread that calls. */
typedef struct hfplatform_answer {
    int64_t value; /* what counts where it never answers */
    bool is_given;
    int32_t missed;
    struct hfplatform_answer *outer;
} hfplatform_answer;

void hfplatform_answer_begin(hfplatform_answer *answer);
/* After each call: whether another one is needed. */
bool hfplatform_answer_is_awaited(hfplatform_answer *answer);
void hfplatform_answer_end(hfplatform_answer *answer);
/* How many calls were missed before; -1 where this thread is calling none. */
int32_t hfplatform_answer_give(int64_t value);

/* --- Interrupts -------------------------------------------------------------------------------------
 * What a thread of the host's is asked, in the middle of its calls: whether they are to end. */
typedef struct hfplatform_interrupt {
    bool (*ask)(void *check, void *user_data); /* calls the host's function; NULL where there is none */
    void *check;
    void *user_data;
    uint32_t silence;  /* not asked while this is above 0 */
    uint64_t interval; /* how long to wait between two questions, in nanoseconds */
    uint64_t due;      /* not asked before this monotonic time */
    bool is_inside;    /* whether it is just asked in a wait in which it has locks */
} hfplatform_interrupt;

/* The calling thread's own. */
hfplatform_interrupt *hfplatform_thread_interrupt(void);
/* Whether the calling thread is to be asked. */
bool hfplatform_interrupt_is_wanted(void);
/* The calling thread is asked from here on, or no longer, in a wait in which it has locks. */
void hfplatform_interrupt_set_inside(bool is_inside);
/* How many threads are. */
extern uint32_t hfplatform_interrupts_inside;
/* Whether the calling thread is. */
static inline bool hfplatform_interrupt_is_inside(void) {
    return __atomic_load_n(&hfplatform_interrupts_inside, __ATOMIC_RELAXED) != 0 &&
           hfplatform_thread_interrupt()->is_inside;
}

/* --- Files ----------------------------------------------------------------------------------------
 * open(2) with O_CLOEXEC and O_NOFOLLOW, made again when interrupted. The descriptor, or -errno. */
int hfplatform_open(const char *path, int flags, uint32_t mode);
/* Writes a file, or the names in a directory, to the disk itself. 0 or an errno. */
int hfplatform_sync(int descriptor);
/* Gives a file another name, which nothing may have: 0, EEXIST, or another errno, with everything as before.
 * In one step where the file system can; else by a second name of the file, and where it has no second names,
 * by an empty file that keeps the name meanwhile. `first`: the way that is tried first, usually the first. */
typedef enum hfplatform_publication {
    HFPLATFORM_BY_RENAME,
    HFPLATFORM_BY_LINK,
    HFPLATFORM_BY_RESERVATION
} hfplatform_publication;
int hfplatform_publish(const char *from, const char *to, hfplatform_publication first);
/* Two files of one directory change names in one step. 0 or an errno: EINVAL where it cannot be done. */
int hfplatform_exchange(const char *one, const char *other);

/* --- Memory ---------------------------------------------------------------------------------------
 * Whether so many bytes may be taken now: what Swift allocates cannot be refused, it ends the process, so
 * where somebody else decides the amount the system is asked before. `reserve` bytes beside it stay free for
 * what nobody asks for. Costs nothing until a thread has asked for `unasked`. More than 2^36 are refused. */
bool hfplatform_memory_ask(size_t bytes, size_t unasked, size_t reserve);

/* --- Event descriptor: readable while set; close-on-exec -------------------------------------------- */
int hfplatform_event_create(void); /* the descriptor, or -errno */
void hfplatform_event_set(int descriptor);
void hfplatform_event_clear(int descriptor);
void hfplatform_event_close(int descriptor);

/* --- Environment ----------------------------------------------------------------------------------
 * As getenv(3); NULL also where the process has more rights than whoever started it. */
const char *hfplatform_environment(const char *name);

/* Has what the calling thread calls speak as in the C locale, whatever the host's is. Answers how to end
 * that. */
void *hfplatform_locale_begin_plain(void);
void hfplatform_locale_end_plain(void *before);

/* --- Locks ----------------------------------------------------------------------------------------
 * pthread_mutex_lock and pthread_mutex_unlock for the library's own mutexes. Where it brings its own copy of
 * Swift's runtime, those names lead to runtime_locks.c, and the linker's names for the true ones are these.
 */
#ifdef HOLDFAST_OWN_RUNTIME
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
static inline void hfplatform_mutex_lock(pthread_mutex_t *mutex) { __real_pthread_mutex_lock(mutex); }
static inline void hfplatform_mutex_unlock(pthread_mutex_t *mutex) { __real_pthread_mutex_unlock(mutex); }
#else
static inline void hfplatform_mutex_lock(pthread_mutex_t *mutex) { pthread_mutex_lock(mutex); }
static inline void hfplatform_mutex_unlock(pthread_mutex_t *mutex) { pthread_mutex_unlock(mutex); }
#endif

/* --- Fork ----------------------------------------------------------------------------------------
 * How many forks lie between this process and the one that loaded the library: rises in each child, before
 * any other code of the child runs. */
uint32_t hfplatform_fork_epoch(void);

/* Between these two no thread can fork: who tries waits, so that no child finds half of what is done here.
 * They are a mutex, too. Only for what is short; the host's code must not run in between. */
void hfplatform_fork_hold(void);
void hfplatform_fork_release(void);

/* From now on `before` runs in a thread that is about to fork, and `after` in it and in the child. For the
 * one library below that has locks and does not care for forks. Called once, between hold and release. */
void hfplatform_around_forks(void (*before)(void), void (*after)(void));

/* As hfplatform_open, for a file that is going to be locked: a forked child closes its descriptor at once,
 * also when the fork comes before the lock. A child shares the open file description, and with it the lock,
 * which would otherwise outlive the parent. */
int hfplatform_open_unshared(const char *path, int flags, uint32_t mode);
/* Closes what hfplatform_open_unshared has opened; does nothing in a forked child. */
void hfplatform_close_unshared(int descriptor);

/* The same for a descriptor that another library has opened: a forked child closes it at once. False where
 * there is no memory. Before that library closes it, it is forgotten. */
bool hfplatform_unshare(int descriptor);
void hfplatform_forget_unshared(int descriptor);

#endif
