#include "CHoldfastPlatform.h"

#include <pthread.h>

static uint32_t epoch;

static void count_fork(void) { __atomic_fetch_add(&epoch, 1, __ATOMIC_RELEASE); }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

uint32_t hfp_fork_epoch(void) { return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE); }
