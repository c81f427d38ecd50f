/* A read that takes long, from a snapshot that was taken back meanwhile, holds up nobody: neither commits
 * that were submitted nor who closes the store.
 */
#include "support.h"

enum { THINGS = 200, TEXT = 20000, MOST_CLAUSES = 4000, SECONDS = 4 };

/* Matches nothing, and looks at every character once for each clause. */
static char *slow_filter(int clauses) {
    char *filter = malloc((size_t)clauses * 64 + 64), *end = filter;
    end += sprintf(end, "{\"$or\":[");
    for (int i = 0; i < clauses; i++)
        end += sprintf(end, "%s{\"text\":{\"$regex\":\"[0-9%c]\"}}", i == 0 ? "" : ",", 'c' + i % 20);
    sprintf(end, "]}");
    return filter;
}

static char *text_of(int thing) {
    char *json = malloc(TEXT + 64);
    int length = sprintf(json, "{\"id\":\"%d\",\"text\":\"", thing);
    memset(json + length, 'b', TEXT);
    strcpy(json + length + TEXT, "\"}");
    return json;
}

static void fill(room r) {
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < THINGS; i++) {
        char *json = text_of(i);
        save(r.things, t, json);
        free(json);
    }
    commit_quietly(t);
}

typedef struct long_read {
    room r;
    hf_transaction *transaction;
    char *filter;
    pthread_t thread;
    hf_status status;
    double seconds;
    atomic_bool ended;
} long_read;

static void *read_long(void *context) {
    long_read *l = context;
    double began = seconds_now();
    uint64_t count = 0;
    l->status = hf_repository_count(l->r.things, l->transaction, l->filter, HF_NTS, NULL, &count, NULL);
    l->seconds = seconds_now() - began;
    atomic_store(&l->ended, true);
    return NULL;
}

/* Begins a read of several seconds, on this machine as busy as it is, in a transaction whose snapshot is old.
 */
static void begin_long_read(long_read *l) {
    double began = seconds_now();
    char *filter = slow_filter(4);
    expect_count(l->r.things, NULL, filter, 0);
    free(filter);
    double clauses = SECONDS / ((seconds_now() - began) / 4) + 1;
    l->filter = slow_filter(clauses < MOST_CLAUSES ? (int)clauses : MOST_CLAUSES);
    l->transaction = begin(l->r.store, NULL);
    expect_count(l->r.things, l->transaction, NULL, THINGS);
    save(l->r.things, NULL, "{\"id\":\"0\"}");
    assert_int_equal(pthread_create(&l->thread, NULL, read_long, l), 0);
}

static void end_long_read(long_read *l) {
    pthread_join(l->thread, NULL);
    free(l->filter);
    hf_transaction_free(l->transaction);
}

static void submitted_commits_go_on_beside_a_long_read_of_an_old_snapshot(fixture *f) {
    long_read l = {.r = open_room(f, "{\"snapshot_max_age_ms\":100,\"wal_limit_bytes\":1048576}")};
    fill(l.r);
    begin_long_read(&l);
    /* So that the log grows beyond its limit, too. */
    char *large = text_of(THINGS);
    double longest = 0;
    size_t commits = 0;
    while (!atomic_load(&l.ended)) {
        recorder *r = new_recorder(1);
        double began = seconds_now();
        hf_transaction *t = begin(l.r.store, "{\"durability\":\"relaxed\"}");
        save(l.r.things, t, large);
        expect_ok(hf_transaction_submit, t, record_event, new_ticket(r, 0), free_ticket);
        hf_transaction_free(t);
        wait_for_freed(r, 1);
        assert_int_equal(r->outcomes[0].status, HF_OK);
        free_recorder(r);
        double seconds = seconds_now() - began;
        longest = seconds > longest ? seconds : longest;
        commits++;
        sleep_milliseconds(5);
    }
    end_long_read(&l);
    free(large);
    assert_int_equal(l.status, HF_OK);
    assert_true(l.seconds > 2);
    if (longest > l.seconds / 3)
        fail_msg("one of %zu commits waited %.1f of the %.1f seconds of the read", commits, longest,
                 l.seconds);
    close_room(l.r);
}

static void closing_a_store_ends_a_long_read(fixture *f) {
    long_read l = {.r = open_room(f, NULL)};
    fill(l.r);
    begin_long_read(&l);
    sleep_milliseconds(100);
    double began = seconds_now();
    expect_ok(hf_store_close, l.r.store, 60000);
    double seconds = seconds_now() - began;
    end_long_read(&l);
    assert_int_equal(l.status, HF_CLOSED);
    assert_true(seconds < SECONDS / 2.0);
    close_room(l.r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(submitted_commits_go_on_beside_a_long_read_of_an_old_snapshot),
        SQLITE_ONLY(closing_a_store_ends_a_long_read),
    };
    return run_scenarios("long reads", scenarios, COUNT_OF(scenarios));
}
