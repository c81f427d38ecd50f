/* A read that takes long, from a snapshot that was taken back meanwhile, holds up nobody: neither commits
 * that were submitted nor who closes the store.
 */
#include "support.h"

enum { THINGS = 200, TEXT = 100000, SECONDS = 4 };

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

/* So many clauses take several seconds, on this machine as busy as it is. */
static int clauses_of_a_long_read(room r) {
    for (int clauses = 4;; clauses *= 2) {
        char *filter = slow_filter(clauses);
        double began = seconds_now();
        expect_count(r.things, NULL, filter, 0);
        double seconds = seconds_now() - began;
        free(filter);
        if (seconds > SECONDS / 8.0)
            return (int)(clauses * (SECONDS / seconds)) + 1;
    }
}

static void begin_long_read(long_read *l, int clauses) {
    l->filter = slow_filter(clauses);
    l->transaction = begin(l->r.store, NULL);
    atomic_store(&l->ended, false);
    assert_int_equal(pthread_create(&l->thread, NULL, read_long, l), 0);
}

static void end_long_read(long_read *l) {
    pthread_join(l->thread, NULL);
    free(l->filter);
    hf_transaction_free(l->transaction);
}

static double submit_one(room r, const char *json) {
    recorder *recorder = new_recorder(1);
    double began = seconds_now();
    hf_transaction *t = begin(r.store, "{\"durability\":\"relaxed\"}");
    save(r.things, t, json);
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(recorder, 0), free_ticket);
    hf_transaction_free(t);
    wait_for_freed(recorder, 1);
    assert_int_equal(recorder->outcomes[0].status, HF_OK);
    free_recorder(recorder);
    return seconds_now() - began;
}

static void submitted_commits_go_on_beside_a_long_read_of_an_old_snapshot(fixture *f) {
    long_read l = {.r = open_room(f, "{\"snapshot_max_age_ms\":100,\"wal_limit_bytes\":1048576}")};
    fill(l.r);
    /* So that the log grows beyond its limit, too. */
    char *large = text_of(THINGS);
    int clauses = clauses_of_a_long_read(l.r);
    double longest;
    do {
        longest = 0;
        begin_long_read(&l, clauses);
        while (!atomic_load(&l.ended)) {
            double seconds = submit_one(l.r, large);
            longest = seconds > longest ? seconds : longest;
            sleep_milliseconds(5);
        }
        end_long_read(&l);
        assert_int_equal(l.status, HF_OK);
        clauses *= 2;
        /* A shorter one, on a machine that is less busy by now, proves nothing. */
    } while (l.seconds < SECONDS * 0.75);
    if (longest > l.seconds / 3)
        fail_msg("a commit waited %.1f of the %.1f seconds of the read", longest, l.seconds);
    free(large);
    close_room(l.r);
}

static void closing_a_store_ends_a_long_read(fixture *f) {
    long_read l = {.r = open_room(f, NULL)};
    fill(l.r);
    begin_long_read(&l, 2 * clauses_of_a_long_read(l.r));
    sleep_milliseconds(100);
    double began = seconds_now();
    expect_ok(hf_store_close, l.r.store, 60000);
    double seconds = seconds_now() - began;
    end_long_read(&l);
    assert_int_equal(l.status, HF_CLOSED);
    assert_true(seconds < SECONDS);
    close_room(l.r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(submitted_commits_go_on_beside_a_long_read_of_an_old_snapshot),
        SQLITE_ONLY(closing_a_store_ends_a_long_read),
    };
    return run_scenarios("long reads", scenarios, COUNT_OF(scenarios));
}
