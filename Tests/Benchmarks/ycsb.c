/*
 * YCSB: the six core workloads of the Yahoo! Cloud Serving Benchmark, the same around every engine.
 *
 *     ycsb_ENGINE WORKLOAD DIRECTORY RECORDS COUNT THREADS
 *
 * WORKLOAD: a, half reads and half updates; b, 95 % reads and 5 % updates; c, reads; d, 95 % reads of the
 * latest and 5 % inserts; e, 95 % scans of up to 100 records in the order of the keys and 5 % inserts; f,
 * half reads and half read-modify-writes. (Cooper, Silberstein, Tam, Ramakrishnan, Sears, "Benchmarking Cloud
 * Serving Systems with YCSB", 2010.)
 *
 * A record is YCSB's: a key scattered by a hash, and 10 fields of 100 bytes. An update writes all of it; what
 * is modified is read, changed in one field and written, which YCSB does not ask to be one transaction.
 * Commits survive the end of the process, not a power cut. The directory must not be there yet: it is filled
 * with RECORDS, and each is read once, before the clock starts.
 */
#include "engine.h"
#include "measure.h"
#include "zipfian.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 10, FIELD_BYTES = 100, DIGITS = 20, LONGEST_SCAN = 100, BATCH = 1000, LETTERS = 1 << 16 };

typedef struct mix {
    const char *name;
    double reads, updates, inserts, scans; /* the rest is read, modified and written */
    bool is_of_latest;
} mix;

static const mix mixes[] = {
    {"a", 0.5, 0.5, 0, 0, false},  {"b", 0.95, 0.05, 0, 0, false}, {"c", 1, 0, 0, 0, false},
    {"d", 0.95, 0, 0.05, 0, true}, {"e", 0, 0, 0.05, 0.95, false}, {"f", 0.5, 0, 0, 0, false},
};

/* --- Records ------------------------------------------------------------------------------------ */

typedef struct record {
    document document;
    char text[FIELDS * (FIELD_BYTES + 16) + 64];
} record;

/* A record with an empty key and empty fields, and where these are. */
static record blank;
static size_t field_starts[FIELDS];
static char letters[LETTERS + FIELD_BYTES];

static void make_blank(void) {
    uint64_t chance = 1;
    for (size_t i = 0; i < sizeof letters; i++)
        letters[i] = (char)('a' + random_next(&chance) % 26);
    size_t length = (size_t)sprintf(blank.text, "{\"id\":\"user%0*d\"", DIGITS, 0);
    for (int i = 0; i < FIELDS; i++) {
        length += (size_t)sprintf(blank.text + length, ",\"field%d\":\"", i);
        field_starts[i] = length;
        length += (size_t)sprintf(blank.text + length, "%0*d\"", FIELD_BYTES, 0);
    }
    blank.text[length++] = '}';
    blank.document.length = length;
    blank.document.id_length = strlen("user") + DIGITS;
}

static void record_init(record *r) {
    *r = blank;
    r->document.body = r->text;
    r->document.id = r->text + strlen("{\"id\":\"");
}

/* Keys lie among each other in no order. */
static void set_key(record *r, size_t number) {
    uint64_t hash = scattered(number);
    char *first = r->text + strlen("{\"id\":\"user"), *digit = first + DIGITS;
    while (digit > first) {
        *--digit = (char)('0' + hash % 10);
        hash /= 10;
    }
}

static void set_field(record *r, int field, uint64_t *chance) {
    memcpy(r->text + field_starts[field], letters + random_next(chance) % LETTERS, FIELD_BYTES);
}

static void set_fields(record *r, uint64_t *chance) {
    for (int i = 0; i < FIELDS; i++)
        set_field(r, i, chance);
}

/* --- Which are there ------------------------------------------------------------------------------ */

static size_t loaded;
/* Of those that were asked to be inserted, and of those up to which all are. */
static _Atomic size_t next, newest;
static atomic_bool *is_there;

static void acknowledge(size_t number) {
    atomic_store(&is_there[number], true);
    size_t last = atomic_load(&newest);
    while (atomic_load(&is_there[last + 1]))
        if (atomic_compare_exchange_strong(&newest, &last, last + 1))
            last++;
}

/* --- Operations ----------------------------------------------------------------------------------- */

typedef struct worker {
    const mix *mix;
    const zipfian *ranks;
    void *session;
    record record;
    uint64_t chance;
    double began;
    size_t operations;
    pthread_barrier_t *start;
    pthread_t thread;
} worker;

static size_t chosen(worker *w) {
    size_t rank = zipfian_next(w->ranks, &w->chance);
    return w->mix->is_of_latest ? atomic_load(&newest) - rank : scattered(rank) % loaded;
}

static const char *read_record(worker *w) {
    const char *body;
    set_key(&w->record, chosen(w));
    if (this_engine.fetch(w->session, &w->record.document, &body) != blank.document.length)
        fail("fetch", "another record");
    return body;
}

static void update_record(worker *w) {
    set_key(&w->record, chosen(w));
    set_fields(&w->record, &w->chance);
    this_engine.save(w->session, &w->record.document);
}

static void insert_record(worker *w) {
    size_t number = atomic_fetch_add(&next, 1);
    set_key(&w->record, number);
    set_fields(&w->record, &w->chance);
    this_engine.save(w->session, &w->record.document);
    acknowledge(number);
}

static void scan_records(worker *w) {
    set_key(&w->record, chosen(w));
    size_t wanted = 1 + random_next(&w->chance) % LONGEST_SCAN;
    size_t found = this_engine.range(w->session, &w->record.document, wanted);
    if (found == 0 || found > wanted)
        fail("range", "another number of records");
}

static void modify_record(worker *w) {
    memcpy(w->record.text, read_record(w), blank.document.length);
    set_field(&w->record, (int)(random_next(&w->chance) % FIELDS), &w->chance);
    this_engine.save(w->session, &w->record.document);
}

static void operate(worker *w) {
    double chance = uniform_next(&w->chance);
    if ((chance -= w->mix->reads) < 0)
        read_record(w);
    else if ((chance -= w->mix->updates) < 0)
        update_record(w);
    else if ((chance -= w->mix->inserts) < 0)
        insert_record(w);
    else if ((chance -= w->mix->scans) < 0)
        scan_records(w);
    else
        modify_record(w);
}

static void *work(void *opaque) {
    worker *w = opaque;
    pthread_barrier_wait(w->start);
    w->began = seconds_now();
    for (size_t i = 0; i < w->operations; i++)
        operate(w);
    return NULL;
}

/* --- Running ------------------------------------------------------------------------------------ */

static void fetch_from(void *session, size_t first, size_t end) {
    record r;
    const char *body;
    record_init(&r);
    for (size_t i = first; i < end; i++) {
        set_key(&r, i);
        this_engine.fetch(session, &r.document, &body);
    }
}

static void fill(void *store) {
    void *session = this_engine.session_open(store);
    record *records = malloc(BATCH * sizeof *records);
    document *batch = malloc(BATCH * sizeof *batch);
    uint64_t chance = 2;
    for (size_t i = 0; i < loaded;) {
        size_t count = 0;
        for (; count < BATCH && i < loaded; i++, count++) {
            record_init(&records[count]);
            set_key(&records[count], i);
            set_fields(&records[count], &chance);
            batch[count] = records[count].document;
        }
        this_engine.add_many(session, batch, count);
    }
    free(batch);
    free(records);
    this_engine.session_close(session);
}

static void warm(void *store) {
    void *session = this_engine.session_open(store);
    fetch_from(session, 0, loaded);
    this_engine.session_close(session);
}

static void run(const mix *m, void *store, size_t count, size_t threads) {
    zipfian ranks = zipfian_of(loaded);
    worker *workers = calloc(threads, sizeof *workers);
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
    for (size_t t = 0; t < threads; t++) {
        worker *w = &workers[t];
        *w = (worker){.mix = m, .ranks = &ranks, .chance = scattered(t), .start = &start};
        w->session = this_engine.session_open(store);
        w->operations = count / threads + (t < count % threads);
        record_init(&w->record);
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            fail("pthread_create", strerror(errno));
    }
    pthread_barrier_wait(&start);
    /* Among many threads this one may go on when others are through. */
    double began = seconds_now();
    for (size_t t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        began = fmin(began, workers[t].began);
    }
    report(count, seconds_now() - began, 0, 0);
    fetch_from(workers[0].session, loaded, next);
    for (size_t t = 0; t < threads; t++)
        this_engine.session_close(workers[t].session);
    pthread_barrier_destroy(&start);
    free(workers);
}

int main(int argc, char **argv) {
    if (argc != 6)
        fail(argv[0], "WORKLOAD DIRECTORY RECORDS COUNT THREADS");
    const mix *m = NULL;
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        if (strcmp(mixes[i].name, argv[1]) == 0)
            m = &mixes[i];
    loaded = strtoull(argv[3], NULL, 10);
    size_t count = strtoull(argv[4], NULL, 10), threads = strtoull(argv[5], NULL, 10);
    if (m == NULL || loaded < 2 || count == 0 || threads == 0)
        fail(argv[1], "no such workload");
    make_blank();
    is_there = calloc(loaded + count + 1, sizeof *is_there);
    next = loaded;
    newest = loaded - 1;
    make_place(argv[2]);
    void *store = this_engine.open(argv[2], false, CACHED_LARGE);
    fill(store);
    /* What is left to do of the load is done by closing. */
    this_engine.close(store);
    store = this_engine.open(argv[2], false, CACHED_LARGE);
    warm(store);
    run(m, store, count, threads);
    this_engine.close(store);
    free(is_there);
    return 0;
}
