/*
 * Asynchronous: what operations, futures and events cost. Holdfast alone, through its header.
 *
 *     asynchronous WORKLOAD DIRECTORY DOCUMENTS COUNT [IN_FLIGHT]
 *
 * commits: each document stored by an operation of its own, with so many in flight. median,
 * slowest-hundredth: of the same, how long a commit took from its submission to its callback. callbacks,
 * queue: events delivered by the callback thread, or taken from the queue, of commits that store nothing.
 * futures: created, completed, waited for and freed. sequences, steps: transactions of ten writes that are
 * not synced, each in one call or in twelve.
 */
#include "documents.h"
#include "measure.h"

#include <holdfast.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10, TAKEN = 256 };

static hf_error *error;

static hf_store *open_store(const char *directory, const char *options) {
    char path[4096];
    hf_store *store = NULL;
    snprintf(path, sizeof path, is_on_server(directory) ? "%s" : "%s/holdfast.db", directory);
    REQUIRE(hf_store_open(path, options, &store, &error));
    return store;
}

/* --- Commits in flight ------------------------------------------------------------------------------------
 */

static double *times; /* when each was submitted, and then how long it took */
static size_t ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void on_end(const hf_event *event, void *user_data) {
    if (event->status != HF_OK)
        fail("an operation", hf_error_message(event->error));
    if (user_data != NULL) {
        double *time = user_data;
        *time = seconds_now() - *time;
    }
    pthread_mutex_lock(&lock);
    ended++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for(size_t count) {
    pthread_mutex_lock(&lock);
    while (ended < count)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void commit_each(const char *directory, const documents *d, size_t count, size_t in_flight) {
    char options[64];
    snprintf(options, sizeof options, "{\"max_in_flight\":%zu}", in_flight);
    hf_store *store = open_store(directory, options);
    hf_repository *repository = NULL;
    REQUIRE(hf_repository_open(store, "documents", NULL, &repository, &error));
    hf_repository_free(repository);
    times = calloc(count, sizeof *times);
    static char text[1 << 20];
    for (size_t i = 0; i < count; i++) {
        const document *one = &d->items[i];
        int length = snprintf(text, sizeof text,
                              "{\"operation\":\"save\",\"repository\":\"documents\",\"entity\":%.*s}",
                              (int)one->length, one->body);
        hf_operation *operation = NULL;
        REQUIRE(hf_operation_create(store, text, (size_t)length, &operation, &error));
        times[i] = seconds_now();
        REQUIRE(hf_operation_submit(operation, NULL, on_end, &times[i], NULL, NULL, &error));
        hf_operation_free(operation);
    }
    wait_for(count);
    hf_store_free(store);
}

/* --- Events
 * ------------------------------------------------------------------------------------------------- */

static void submit_nothing(hf_store *store, hf_event_fn callback) {
    hf_transaction *transaction = NULL;
    REQUIRE(hf_transaction_begin(store, NULL, &transaction, &error));
    REQUIRE(hf_transaction_submit(transaction, callback, NULL, NULL, &error));
    hf_transaction_free(transaction);
}

static void hear_callbacks(size_t count) {
    hf_store *store = NULL;
    REQUIRE(hf_store_open("memory:", NULL, &store, &error));
    for (size_t i = 0; i < count; i++)
        submit_nothing(store, on_end);
    wait_for(count);
    hf_store_free(store);
}

static void take_events(size_t count) {
    hf_store *store = NULL;
    hf_event events[TAKEN];
    size_t submitted = 0, taken = 0;
    REQUIRE(hf_store_open("memory:", "{\"delivery\":\"queue\"}", &store, &error));
    while (taken < count) {
        for (size_t i = 0; i < TAKEN && submitted < count; i++, submitted++)
            submit_nothing(store, NULL);
        int32_t n = hf_store_events(store, events, TAKEN, submitted == count ? -1 : 0);
        if (n < 0)
            fail("hf_store_events", hf_status_name((hf_status)-n));
        hf_events_free(events, (size_t)n);
        taken += (size_t)n;
    }
    hf_store_free(store);
}

/* --- Futures
 * --------------------------------------------------------------------------------------------------- */

static void complete_futures(size_t count) {
    hf_entity value = HF_ENTITY_INIT;
    for (size_t i = 0; i < count; i++) {
        hf_future *future = NULL;
        REQUIRE(hf_future_create(&future, &error));
        REQUIRE(hf_future_complete(future, "done", 4, &error));
        REQUIRE(hf_future_wait(future, NULL, -1, &value, NULL, &error));
        hf_future_free(future);
    }
    hf_entity_free(&value);
}

/* --- One call a transaction, or one a step
 * ------------------------------------------------------------------------ */

static void run_sequences(const char *directory, size_t count, bool is_one_call) {
    hf_store *store = open_store(directory, "{\"durability\":\"relaxed\"}");
    hf_repository *repository = NULL;
    REQUIRE(hf_repository_open(store, "counters", NULL, &repository, &error));
    char text[4096] = "{\"steps\":[", id[8];
    for (int step = 0; step < STEPS; step++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s{\"operation\":\"modify\",\"repository\":\"counters\",\"id\":%d,\"update\":{\"$inc\":{"
                 "\"n\":1}},"
                 "\"initial\":{}}",
                 step == 0 ? "" : ",", step);
    strcat(text, "]}");
    hf_operation *operation = NULL;
    REQUIRE(hf_operation_create(store, text, HF_NTS, &operation, &error));
    for (size_t i = 0; i < count; i++) {
        if (is_one_call) {
            REQUIRE(hf_operation_perform(operation, NULL, NULL, NULL, &error));
            continue;
        }
        hf_transaction *transaction = NULL;
        REQUIRE(hf_transaction_begin(store, NULL, &transaction, &error));
        for (int step = 0; step < STEPS; step++) {
            snprintf(id, sizeof id, "%d", step);
            REQUIRE(hf_repository_modify(repository, transaction, id, HF_NTS, "{\"$inc\":{\"n\":1}}", HF_NTS,
                                         "{}", HF_NTS, 0, NULL, &error));
        }
        REQUIRE(hf_transaction_commit(transaction, NULL, &error));
        hf_transaction_free(transaction);
    }
    hf_operation_free(operation);
    hf_repository_free(repository);
    hf_store_free(store);
}

int main(int argc, char **argv) {
    if (argc != 5 && argc != 6)
        fail(argv[0], "WORKLOAD DIRECTORY DOCUMENTS COUNT [IN_FLIGHT]");
    const char *workload = argv[1], *directory = argv[2];
    documents d = documents_load(argv[3]);
    size_t count = strtoull(argv[4], NULL, 10), in_flight = argc == 6 ? strtoull(argv[5], NULL, 10) : 1;
    make_place(directory);
    bool is_commits = strcmp(workload, "commits") == 0, is_median = strcmp(workload, "median") == 0;
    bool is_slowest = strcmp(workload, "slowest-hundredth") == 0;
    double began = seconds_now();
    if (is_commits || is_median || is_slowest)
        commit_each(directory, &d, count < d.count ? count : d.count, in_flight);
    else if (strcmp(workload, "callbacks") == 0)
        hear_callbacks(count);
    else if (strcmp(workload, "queue") == 0)
        take_events(count);
    else if (strcmp(workload, "futures") == 0)
        complete_futures(count);
    else if (strcmp(workload, "sequences") == 0 || strcmp(workload, "steps") == 0)
        run_sequences(directory, count, strcmp(workload, "sequences") == 0);
    else
        fail(workload, "no such workload");
    if (is_median || is_slowest)
        report_time(times, count, is_median ? 0.5 : 0.99);
    else
        report(count, seconds_now() - began, 0, 0);
    free(times);
    documents_free(&d);
    return 0;
}
