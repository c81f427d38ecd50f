#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct start {
    void (*body)(void *context);
    void *context;
    char name[16];
} start;

/* The host's callbacks run on these threads, and some systems give a thread no more than 128 KiB. No limits
 * that a test would move: with less a thread could not run at all. */
#define MIN_STACK ((size_t)1 << 20)
#define LARGE_STACK ((size_t)8 << 20)

static __thread bool is_ours;

/* What a thread brings upon itself. Blocked, they would end the process past the host's handlers, which
 * report crashes. */
static const int own_faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};

static void *run(void *argument) {
    is_ours = true;
    start begin = *(start *)argument;
    free(argument);
#ifdef __APPLE__
    pthread_setname_np(begin.name);
#else
    pthread_setname_np(pthread_self(), begin.name);
#endif
    begin.body(begin.context);
    return NULL;
}

/* A thread inherits the mask of its creator: blocking before and restoring after leaves no moment in which
 * the new thread could take a signal of the process's. */
static int create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                  void *argument) {
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        sigdelset(&blocked, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failure = pthread_create(thread, attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

int hfplatform_thread_start(const char *name, void (*body)(void *context), void *context) {
    start *begin = malloc(sizeof *begin);
    if (begin == NULL)
        return ENOMEM;
    begin->body = body;
    begin->context = context;
    strncpy(begin->name, name, sizeof begin->name - 1);
    begin->name[sizeof begin->name - 1] = '\0';

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    size_t size;
    if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < MIN_STACK)
        pthread_attr_setstacksize(&attributes, MIN_STACK);
    pthread_t thread;
    int failure = create(&thread, &attributes, run, begin);
    pthread_attr_destroy(&attributes);
    if (failure)
        free(begin);
    return failure;
}

typedef struct errand {
    void (*body)(void *context);
    void *context;
} errand;

static void *run_errand(void *argument) {
    errand *e = argument;
    e->body(e->context);
    return NULL;
}

int hfplatform_on_large_stack(void (*body)(void *context), void *context) {
    errand e = {body, context};
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, LARGE_STACK);
    int failure = create(&thread, &attributes, run_errand, &e);
    pthread_attr_destroy(&attributes);
    if (!failure)
        pthread_join(thread, NULL);
    return failure;
}

void hfplatform_thread_end_if_forked(uint32_t epoch) {
    if (is_ours && epoch != hfplatform_fork_epoch())
        _exit(0);
}

uint64_t hfplatform_thread_current(void) { return (uint64_t)(uintptr_t)pthread_self(); }

bool hfplatform_thread_is_own(void) { return is_ours; }

uint32_t hfplatform_thread_number(void) {
    static uint32_t numbers;
    static __thread uint32_t number;
    if (number == 0)
        number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
    return number;
}

static __thread const void *frame;

const void *hfplatform_thread_frame(void) { return frame; }

void hfplatform_thread_set_frame(const void *innermost) { frame = innermost; }

static __thread hfplatform_interrupt interrupt;

hfplatform_interrupt *hfplatform_thread_interrupt(void) { return &interrupt; }

bool hfplatform_interrupt_is_wanted(void) { return interrupt.ask != NULL && interrupt.silence == 0; }

uint32_t hfplatform_interrupts_inside;

void hfplatform_interrupt_set_inside(bool is_inside) {
    interrupt.is_inside = is_inside;
    __atomic_add_fetch(&hfplatform_interrupts_inside, is_inside ? 1 : -1, __ATOMIC_RELAXED);
}
