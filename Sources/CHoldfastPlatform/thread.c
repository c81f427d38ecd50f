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

int hfp_thread_start(const char *name, void (*body)(void *context), void *context) {
    start *begin = malloc(sizeof *begin);
    if (begin == NULL)
        return ENOMEM;
    begin->body = body;
    begin->context = context;
    strncpy(begin->name, name, sizeof begin->name - 1);
    begin->name[sizeof begin->name - 1] = '\0';

    /* A thread inherits the mask of its creator: blocking before and restoring after leaves no moment in
     * which the new thread could take a signal of the process's. */
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        sigdelset(&blocked, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int failure = pthread_create(&thread, &attributes, run, begin);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure)
        free(begin);
    return failure;
}

void hfp_thread_end_if_forked(uint32_t epoch) {
    if (is_ours && epoch != hfp_fork_epoch())
        _exit(0);
}

uint64_t hfp_thread_current(void) { return (uint64_t)(uintptr_t)pthread_self(); }

bool hfp_thread_is_own(void) { return is_ours; }

static __thread const void *frame;

const void *hfp_thread_frame(void) { return frame; }

void hfp_thread_set_frame(const void *innermost) { frame = innermost; }
