/*
 * Holdfast in the host's own event loop: ten thousand commits in flight, and one thread that serves them all.
 *
 *   cc event_loop.c $(pkg-config --cflags --libs holdfast jansson) -o event_loop && ./event_loop
 *
 * The loop waits by epoll for two things: a timer that stands for the program's other work, and the store's
 * descriptor, which becomes readable when something has ended. Each subdivision and each language of the ISO
 * registers is an operation of its own, submitted without waiting; nothing here blocks on the disk.
 */
#include <holdfast.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define FILES "/usr/share/iso-codes/json/"
#define TICK_NANOSECONDS 1000000

enum { MOST_IN_FLIGHT = 10000, EVENTS = 256 };

static void fail(const char *what, hf_error *error) {
    fprintf(stderr, "%s: %s\n", what, hf_error_message(error));
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- What is to be stored: one description an entity ------------------------------------------------------
 */

static void describe(json_t *descriptions, const char *file, const char *name, const char *repository,
                     const char *key) {
    json_t *document = json_load_file(file, 0, NULL);
    if (document == NULL) {
        fprintf(stderr, "%s cannot be read; install the package iso-codes\n", file);
        exit(1);
    }
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(document, name), i, entry) {
        json_array_append_new(descriptions, json_pack("{s:s, s:s, s:s, s:O}", "operation", "add",
                                                      "repository", repository, "key", key, "entity", entry));
    }
    json_decref(document);
}

/* --- The loop
 * ------------------------------------------------------------------------------------------------ */

typedef struct loop {
    hf_store *store;
    json_t *descriptions;
    size_t submitted, ended, failed, most_in_flight;
    /* The other work: how often it was done, and how long it once had to wait. */
    size_t ticks;
    double last_tick, longest_wait;
} loop;

/* Hands over what there is place for. A submission does no I/O, so a few hundred take a moment. */
static void submit_some(loop *l) {
    hf_error *error = NULL;
    for (int i = 0; i < EVENTS; i++) {
        if (l->submitted == json_array_size(l->descriptions) || l->submitted - l->ended == MOST_IN_FLIGHT)
            return;
        char *text = json_dumps(json_array_get(l->descriptions, l->submitted), JSON_COMPACT);
        hf_operation *operation = NULL;
        if (hf_operation_create(l->store, text, HF_NTS, &operation, &error) != HF_OK ||
            hf_operation_submit(operation, NULL, NULL, NULL, NULL, NULL, &error) != HF_OK)
            fail("submit", error);
        hf_operation_free(operation);
        free(text);
        l->submitted++;
        if (l->submitted - l->ended > l->most_in_flight)
            l->most_in_flight = l->submitted - l->ended;
    }
}

/* Takes what has ended, at most one array at a time, so that the other work has its turn. */
static void take_events(loop *l) {
    hf_event events[EVENTS];
    int32_t count = hf_store_events(l->store, events, EVENTS, 0);
    for (int32_t i = 0; i < count; i++) {
        l->ended++;
        if (events[i].status != HF_OK) {
            l->failed++;
            fprintf(stderr, "%s\n", hf_error_message(events[i].error));
        }
    }
    if (count > 0)
        hf_events_free(events, (size_t)count);
}

static void tick(loop *l, int timer) {
    uint64_t expirations;
    if (read(timer, &expirations, sizeof expirations) != (ssize_t)sizeof expirations)
        return;
    double now = seconds();
    if (l->ticks++ > 0 && now - l->last_tick > l->longest_wait)
        l->longest_wait = now - l->last_tick;
    l->last_tick = now;
}

static void watch(int poll, int descriptor) {
    struct epoll_event interest = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &interest) != 0) {
        perror("epoll_ctl");
        exit(1);
    }
}

static void run(loop *l) {
    hf_error *error = NULL;
    int store_descriptor;
    if (hf_store_event_fd(l->store, &store_descriptor, &error) != HF_OK)
        fail("hf_store_event_fd", error);
    int poll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec every = {{0, TICK_NANOSECONDS}, {0, TICK_NANOSECONDS}};
    timerfd_settime(timer, 0, &every, NULL);
    watch(poll, store_descriptor);
    watch(poll, timer);
    while (l->ended < json_array_size(l->descriptions)) {
        submit_some(l);
        /* Until all places are taken nothing is taken back, to show what can be in flight; then the loop
         * sleeps until something happens. */
        bool is_busy =
            l->submitted < json_array_size(l->descriptions) && l->submitted - l->ended < MOST_IN_FLIGHT;
        struct epoll_event ready[2];
        int count = epoll_wait(poll, ready, 2, is_busy ? 0 : -1);
        for (int i = 0; i < count; i++) {
            if (ready[i].data.fd == timer)
                tick(l, timer);
            else if (!is_busy)
                take_events(l);
        }
    }
    close(timer);
    close(poll);
}

int main(void) {
    char directory[] = "/tmp/holdfast-event-loop-XXXXXX", path[64];
    if (mkdtemp(directory) == NULL)
        return perror(directory), 1;
    snprintf(path, sizeof path, "%s/registers.db", directory);

    loop l = {.descriptions = json_array()};
    describe(l.descriptions, FILES "iso_639-3.json", "639-3", "languages", "alpha_3");
    describe(l.descriptions, FILES "iso_3166-2.json", "3166-2", "subdivisions", "code");
    hf_error *error = NULL;
    if (hf_store_open(path, "{\"delivery\": \"queue\", \"max_in_flight\": 10000}", &l.store, &error) != HF_OK)
        fail(path, error);

    double began = seconds();
    run(&l);
    printf("%zu entities in as many durable commits, at most %zu in flight, by one thread in %.2f s\n",
           l.ended, l.most_in_flight, seconds() - began);
    printf("the loop's other work was done %zu times and waited %.1f ms at most\n", l.ticks,
           l.longest_wait * 1e3);

    hf_store_free(l.store);
    json_decref(l.descriptions);
    unlink(path);
    snprintf(path, sizeof path, "%s/registers.db-lock", directory);
    unlink(path);
    rmdir(directory);
    return l.failed > 0;
}
