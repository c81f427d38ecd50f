/*
 * Slow sync: what callers notice of a disk whose syncs take a second. Submitting does not wait for it,
 * deadlines and withdrawals work behind it, and a close may be told to come back later.
 */
#include "ledger.h"
#include "oracle.h"
#include "recording_vfs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUBMISSIONS = 3000, SYNC_MILLISECONDS = 1000, LONG_SYNC_MILLISECONDS = 4000 };

static hf_store *store;
static hf_repository *songs;
static int ended[SUBMISSIONS + 10];
static hf_status outcome[SUBMISSIONS + 10];

static void on_done(const hf_event *event, void *user_data) {
    size_t number = (size_t)(uintptr_t)user_data;
    outcome[number] = event->status;
    __atomic_fetch_add(&ended[number], 1, __ATOMIC_RELEASE);
}

/* A transaction that saves one entity of this number. */
static hf_transaction *saving(size_t number, const char *options) {
    hf_transaction *transaction = NULL;
    char entity[64];
    snprintf(entity, sizeof entity, "{\"id\":\"s%zu\"}", number);
    if (hf_transaction_begin(store, options, &transaction, NULL) != HF_OK ||
        hf_repository_save(songs, transaction, entity, HF_NTS, NULL, NULL) != HF_OK)
        exit(2);
    return transaction;
}

static double submit(size_t number, const char *options, hf_transaction **out) {
    hf_transaction *transaction = saving(number, options);
    double began = seconds();
    hf_status status = hf_transaction_submit(transaction, on_done, (void *)(uintptr_t)number, NULL, NULL);
    double taken = seconds() - began;
    if (status != HF_OK)
        exit(2);
    if (out)
        *out = transaction;
    else
        hf_transaction_free(transaction);
    return taken;
}

static void wait_for(size_t number) {
    while (__atomic_load_n(&ended[number], __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
}

static bool is_stored(size_t number) {
    char id[32];
    bool contains = false;
    snprintf(id, sizeof id, "s%zu", number);
    return hf_repository_contains(songs, NULL, id, HF_NTS, &contains, NULL) == HF_OK && contains;
}

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void submitting_does_not_wait(void) {
    static double taken[SUBMISSIONS];
    for (size_t number = 0; number < SUBMISSIONS; number++)
        taken[number] = submit(number, NULL, NULL);
    qsort(taken, SUBMISSIONS, sizeof *taken, by_size);
    printf("      submit: p50 %.1f µs, p99 %.1f µs\n", taken[SUBMISSIONS / 2] * 1e6,
           taken[SUBMISSIONS * 99 / 100] * 1e6);
    expect(taken[SUBMISSIONS * 99 / 100] < SYNC_MILLISECONDS / 1e4, "submissions do not wait for the sync");
    wait_for(SUBMISSIONS - 1);
    bool each_once = true;
    for (size_t number = 0; number < SUBMISSIONS; number++)
        each_once = each_once && ended[number] == 1 && outcome[number] == HF_OK;
    expect(each_once, "each is told once, and is stored");
}

static void deadlines_and_withdrawals(void) {
    size_t first = SUBMISSIONS, late = first + 1, withdrawn = first + 2, waiting = first + 3;
    hf_transaction *leader, *second;
    long syncs = vfs_begun_syncs();
    vfs_slow_syncs(LONG_SYNC_MILLISECONDS);
    submit(first, NULL, &leader);
    while (vfs_begun_syncs() == syncs)
        usleep(1000);
    vfs_slow_syncs(SYNC_MILLISECONDS);
    submit(late, "{\"timeout_ms\":100}", NULL);
    submit(withdrawn, NULL, &second);
    expect(hf_transaction_cancel(second, NULL) == HF_OK, "a queued commit can be withdrawn");
    expect(hf_transaction_cancel(leader, NULL) == HF_INVALID_STATE, "one that is being stored cannot");

    size_t patient = first + 5;
    submit(patient, "{\"timeout_ms\":0}", NULL);

    hf_transaction *blocking = saving(waiting, "{\"timeout_ms\":100}");
    double began = seconds();
    hf_status status = hf_transaction_commit(blocking, NULL, NULL);
    double taken = seconds() - began;
    expect(status == HF_TIMEOUT && taken > 0.09 && taken < LONG_SYNC_MILLISECONDS / 1e3,
           "a waiting owner gives up at its deadline");

    wait_for(first);
    wait_for(late);
    wait_for(withdrawn);
    expect(outcome[first] == HF_OK, "the true result of one that was being stored is told");
    expect(outcome[late] == HF_TIMEOUT, "a submitted commit past its deadline is told so");
    expect(outcome[withdrawn] == HF_CANCELLED, "a withdrawn one as well");
    wait_for(patient);
    expect(outcome[patient] == HF_OK, "one without a time limit is not withdrawn");
    expect(is_stored(first) && !is_stored(late) && !is_stored(withdrawn) && !is_stored(waiting),
           "what was told not to be stored is not");
    hf_transaction_free(leader);
    hf_transaction_free(second);
    hf_transaction_free(blocking);
}

/* Adds the entity, or opens the repository, that another thread adds or opens in the same batch. */
typedef struct rival {
    pthread_t thread;
    hf_status status;
    bool is_there; /* seen right after the answer */
} rival;

static void *add_the_same(void *argument) {
    rival *r = argument;
    r->status = hf_repository_add(songs, NULL, "{\"id\":\"same\"}", HF_NTS, NULL, NULL);
    hf_repository_contains(songs, NULL, "same", HF_NTS, &r->is_there, NULL);
    return NULL;
}

static void *open_the_same(void *argument) {
    rival *r = argument;
    hf_repository *opened = NULL;
    r->status = hf_repository_open(store, "same", NULL, &opened, NULL);
    r->is_there = opened != NULL;
    hf_repository_free(opened);
    return NULL;
}

static void rivals_in_one_batch(void) {
    size_t first = SUBMISSIONS + 6;
    rival adding[2] = {{0}}, opening[2] = {{0}};
    submit(first, NULL, NULL);
    usleep(200 * 1000); /* what comes now is stored together, after this sync */
    for (int i = 0; i < 2; i++) {
        pthread_create(&adding[i].thread, NULL, add_the_same, &adding[i]);
        pthread_create(&opening[i].thread, NULL, open_the_same, &opening[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(adding[i].thread, NULL);
        pthread_join(opening[i].thread, NULL);
    }
    expect(adding[0].status + adding[1].status == HF_OK + HF_EXISTS,
           "of two that add the same one is refused");
    expect(adding[0].is_there && adding[1].is_there, "and finds what it was refused for");
    expect(opening[0].status == HF_OK && opening[1].status == HF_OK, "two may create the same repository");
    expect(opening[0].is_there && opening[1].is_there, "and both have it");
}

static void closing(void) {
    size_t last = SUBMISSIONS + 4;
    submit(last, NULL, NULL);
    usleep(50 * 1000);
    expect(hf_store_close(store, 10, NULL) == HF_TIMEOUT, "a close that may not wait is told to come back");
    expect(hf_store_close(store, -1, NULL) == HF_OK, "coming back, it waits");
    expect(ended[last] == 1 && outcome[last] == HF_OK, "and what was accepted was stored and told");
}

int main(void) {
    char directory[64], path[128];
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    vfs_install();
    if (hf_store_open(path, NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "songs", NULL, &songs, NULL) != HF_OK)
        return 2;
    vfs_slow_syncs(SYNC_MILLISECONDS);
    submitting_does_not_wait();
    deadlines_and_withdrawals();
    rivals_in_one_batch();
    closing();
    hf_repository_free(songs);
    hf_store_free(store);
    ledger_remove(directory, true);
    printf("slow syncs: %d wrong\n", wrong);
    return wrong > 0;
}
