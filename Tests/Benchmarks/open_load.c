/*
 * Open load: durable commits of one document that are to begin at a fixed rate, whether those before are
 * through or not, as with users who do not know of each other.
 *
 *     open_load_ENGINE PERCENT DIRECTORY DOCUMENTS MILLISECONDS
 *
 * First all threads commit as fast as they can, for half as long; the rate is that percentage of what they
 * reached. A time counts from the moment when its commit was to begin, so that one that had to wait for
 * others has waited ("coordinated omission" leaves that out; Tene, "How NOT to Measure Latency", 2013).
 */
#include "engine.h"
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { THREADS = 64, TIMES_AT_MOST = 10000000 };

static documents all;
/* When the first is to begin, how many begin in a second, and for how many seconds. 0 in a second: as many as
 * can. */
static double beginning, rate, duration;
static double *times;
static _Atomic size_t next;

static void wait_until(double moment) {
    struct timespec when = {(time_t)moment, (long)((moment - (double)(time_t)moment) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR) {
    }
}

static void *commit(void *session) {
    /* Sleepers are woken when they asked to be, not up to 50 microseconds later. */
    prctl(PR_SET_TIMERSLACK, 1);
    for (;;) {
        size_t number = atomic_fetch_add(&next, 1);
        double began = rate > 0 ? beginning + (double)number / rate : seconds_now();
        if (began >= beginning + duration || number >= TIMES_AT_MOST)
            return NULL;
        wait_until(began);
        this_engine.save(session, &all.items[number % all.count]);
        times[number] = seconds_now() - began;
    }
}

/* Answers how many were committed. */
static size_t commit_all(void **sessions) {
    pthread_t threads[THREADS];
    next = 0;
    beginning = seconds_now();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, commit, sessions[i]) != 0)
            fail("pthread_create", strerror(errno));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* Each thread has taken a number that came too late. */
    return next - THREADS;
}

int main(int argc, char **argv) {
    if (argc != 5)
        fail(argv[0], "PERCENT DIRECTORY DOCUMENTS MILLISECONDS");
    double percent = strtod(argv[1], NULL), seconds = strtod(argv[4], NULL) / 1000;
    if (percent <= 0 || seconds <= 0)
        fail(argv[1], "no load");
    all = documents_load(argv[3]);
    times = malloc(TIMES_AT_MOST * sizeof *times);
    if (times == NULL)
        fail("times", "no memory");
    make_place(argv[2]);
    void *store = this_engine.open(argv[2], true, CACHED_LARGE), *sessions[THREADS];
    for (int i = 0; i < THREADS; i++)
        sessions[i] = this_engine.session_open(store);

    duration = seconds / 2;
    size_t committed = commit_all(sessions);
    rate = (double)committed / (seconds_now() - beginning) * percent / 100;
    duration = seconds;
    committed = commit_all(sessions);
    if (committed == 0)
        fail("rate", "nothing was to begin");
    report_times(times, committed, seconds_now() - beginning);

    for (int i = 0; i < THREADS; i++)
        this_engine.session_close(sessions[i]);
    this_engine.close(store);
    free(times);
    documents_free(&all);
    return 0;
}
