/*
 * Streams: what following commits costs those who commit, and how soon the news is there. Holdfast alone.
 *
 *     streams WORKLOAD DIRECTORY DOCUMENTS COUNT QUERIES
 *
 * commits: COUNT commits of one document, relaxed, by one thread that waits for each, beside QUERIES live
 * queries that none of them touches: one half holds a member to a value, the other to a range. submitted: the
 * same with 1,000 in flight. events: commits until an observer has heard of each. median, slowest-hundredth:
 * how long it takes from the beginning of a relaxed commit until an observer hears of it; distant-median,
 * distant-slowest-hundredth: an observer in another process than the one that commits.
 */
#include "documents.h"
#include "measure.h"

#include <errno.h>
#include <holdfast.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static hf_error *error;
static documents all;
static hf_store *store;
static hf_repository *repository;
static char path[440];

static void open_all(void) {
    REQUIRE(hf_store_open(path, "{\"durability\":\"relaxed\",\"max_in_flight\":1000}", &store, &error));
    REQUIRE(hf_repository_open(store, "documents", NULL, &repository, &error));
}

static void close_all(void) {
    hf_repository_free(repository);
    hf_store_free(store);
}

/* --- Beside live queries ------------------------------------------------------------------------------ */

static _Atomic size_t told, ended;

static void on_result(const hf_event *event, void *user_data) {
    (void)user_data;
    if (event->kind == HF_EVENT_CHANGES)
        told++;
}

static hf_stream **observe_nothing(size_t queries) {
    hf_stream **streams = calloc(queries + 1, sizeof *streams);
    for (size_t i = 0; i < queries; i++) {
        char filter[96];
        snprintf(filter, sizeof filter,
                 i % 2 == 0 ? "{\"section\":\"none %zu\"}" : "{\"size\":{\"$gte\":1%015zu}}", i);
        REQUIRE(hf_stream_open_query(repository, filter, HF_NTS, "{\"sort\":{\"id\":1},\"limit\":20}",
                                     on_result, NULL, NULL, &streams[i], &error));
    }
    while (told < queries)
        usleep(100);
    return streams;
}

static void on_end(const hf_event *event, void *user_data) {
    (void)user_data;
    if (event->status != HF_OK)
        fail("a commit", hf_error_message(event->error));
    ended++;
}

static void commit_one(size_t number) {
    const document *one = &all.items[number % all.count];
    REQUIRE(hf_repository_save(repository, NULL, one->body, one->length, NULL, &error));
}

static void submit_one(size_t number) {
    const document *one = &all.items[number % all.count];
    hf_transaction *transaction = NULL;
    REQUIRE(hf_transaction_begin(store, NULL, &transaction, &error));
    REQUIRE(hf_repository_save(repository, transaction, one->body, one->length, NULL, &error));
    REQUIRE(hf_transaction_submit(transaction, on_end, NULL, NULL, &error));
    hf_transaction_free(transaction);
}

static double commit_beside(size_t count, size_t queries, bool waits) {
    hf_stream **streams = observe_nothing(queries);
    double began = seconds_now();
    for (size_t i = 0; i < count; i++) {
        if (waits)
            commit_one(i);
        else
            submit_one(i);
    }
    while (!waits && ended < count)
        usleep(100);
    double seconds = seconds_now() - began;
    if (told != queries)
        fail("live queries", "were told of commits that are nothing to them");
    for (size_t i = 0; i < queries; i++)
        hf_stream_free(streams[i]);
    free(streams);
    return seconds;
}

/* --- Events ------------------------------------------------------------------------------------------- */

static size_t commits_in(const hf_event *event) {
    size_t count = 0;
    for (const char *at = event->value.data; (at = strstr(at, "{\"sequence\":")) != NULL; at++)
        count++;
    return count;
}

static void on_changes(const hf_event *event, void *user_data) {
    (void)user_data;
    if (event->kind == HF_EVENT_CHANGES)
        told += commits_in(event);
}

static double hear_of_each(size_t count) {
    hf_stream *stream = NULL;
    REQUIRE(hf_stream_open(store, "{\"entities\":false}", on_changes, NULL, NULL, &stream, &error));
    double began = seconds_now();
    for (size_t i = 0; i < count; i++)
        submit_one(i);
    while (told < count)
        usleep(100);
    double seconds = seconds_now() - began;
    hf_stream_free(stream);
    return seconds;
}

/* --- Delays ------------------------------------------------------------------------------------------- */

static double *times;

/* The entity tells when its commit began. */
static void on_timed(const hf_event *event, void *user_data) {
    (void)user_data;
    double now = seconds_now();
    const char *at = event->kind == HF_EVENT_CHANGES ? event->value.data : "";
    for (; (at = strstr(at, "\"began\":")) != NULL; told++) {
        at += strlen("\"began\":");
        times[told] = now - strtod(at, NULL);
    }
}

static void commit_timed(size_t number) {
    char text[80];
    int length = snprintf(text, sizeof text, "{\"id\":\"%zu\",\"began\":%.9f}", number, seconds_now());
    REQUIRE(hf_repository_save(repository, NULL, text, (size_t)length, NULL, &error));
}

static void measure_delays(size_t count, bool distant) {
    times = calloc(count, sizeof *times);
    int begin[2];
    pid_t child = -1;
    if (distant) {
        if (pipe(begin) != 0 || (child = fork()) < 0)
            fail("fork", strerror(errno));
        if (child == 0) {
            char sign;
            open_all();
            if (read(begin[0], &sign, 1) != 1)
                fail("read", "nobody listens");
            for (size_t i = 0; i < count; i++) {
                commit_timed(i);
                /* Not in step with how often the other looks. */
                usleep((useconds_t)(3000 + i * 7919 % 7000));
            }
            close_all();
            _exit(0);
        }
    }
    open_all();
    hf_stream *stream = NULL;
    REQUIRE(hf_stream_open(store, NULL, on_timed, NULL, NULL, &stream, &error));
    if (distant && write(begin[1], "!", 1) != 1)
        fail("write", strerror(errno));
    for (size_t i = 0; i < count; i++) {
        if (!distant)
            commit_timed(i);
        while (told <= i)
            usleep(20);
    }
    if (distant)
        waitpid(child, NULL, 0);
    hf_stream_free(stream);
    close_all();
}

int main(int argc, char **argv) {
    if (argc != 6)
        fail(argv[0], "WORKLOAD DIRECTORY DOCUMENTS COUNT QUERIES");
    const char *workload = argv[1];
    size_t count = strtoull(argv[4], NULL, 10), queries = strtoull(argv[5], NULL, 10);
    if (mkdir(argv[2], 0700) != 0 && errno != EEXIST)
        fail(argv[2], "the directory cannot be created");
    snprintf(path, sizeof path, "%s/store", argv[2]);
    bool distant = strncmp(workload, "distant-", 8) == 0;
    if (distant)
        workload += 8;
    bool median = strcmp(workload, "median") == 0;
    if (median || strcmp(workload, "slowest-hundredth") == 0) {
        measure_delays(count, distant);
        report_time(times, count, median ? 0.5 : 0.99);
        return 0;
    }
    all = documents_load(argv[3]);
    open_all();
    double seconds;
    if (strcmp(workload, "events") == 0)
        seconds = hear_of_each(count);
    else if (strcmp(workload, "commits") == 0 || strcmp(workload, "submitted") == 0)
        seconds = commit_beside(count, queries, strcmp(workload, "commits") == 0);
    else
        fail(workload, "no such workload");
    report(count, seconds, 0, 0);
    close_all();
    documents_free(&all);
    return 0;
}
