/*
 * Workloads: what is timed, the same loops around every engine.
 *
 *     ENGINE WORKLOAD DIRECTORY DOCUMENTS COUNT [THREADS]
 *
 * Workloads that write create the directory, which must not be there yet; those that read want one that
 * "load" has filled with all the documents. In the place of a directory there may be the URL of a server's
 * database, which is there already, for engines that take one. Opening and closing are not timed. Prints one
 * line of JSON; see measure.h.
 */
#include "engine.h"
#include "measure.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000, HOT = 1000, FOUND = 1000 };

/* One thread of a run. */
typedef struct worker {
    const documents *documents;
    size_t count; /* operations of all threads together */
    size_t threads;
    size_t index;
    void *session;
    double began;
    size_t operations;
    size_t repeated;
    double longest; /* seconds of one operation, where that is what counts */
    double megabytes;
    void (*work)(struct worker *);
    pthread_barrier_t *start;
    pthread_t thread;
} worker;

typedef struct workload {
    const char *name;
    bool is_durable;
    caching cache;
    bool reads;      /* what is already there */
    bool adds;       /* each document once at most */
    bool is_offered; /* by this engine */
    void (*prepare)(void *session, const documents *d);
    void (*work)(worker *w);
    void (*check)(void *session, const documents *d, size_t count);
} workload;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* --- Writing ------------------------------------------------------------------------------------ */

static void commit_each(worker *w) {
    for (size_t i = w->index; i < w->count; i += w->threads, w->operations++)
        this_engine.save(w->session, &w->documents->items[i]);
}

static void submit_each(worker *w) {
    for (size_t i = w->index; i < w->count; i += w->threads, w->operations++)
        this_engine.submit(w->session, &w->documents->items[i], 1);
    this_engine.drain(w->session);
}

static void commit_batches(worker *w) {
    for (size_t i = 0; i < w->count; i += BATCH)
        this_engine.add_many(w->session, &w->documents->items[i], smaller(BATCH, w->count - i));
    w->operations = w->count;
}

static void submit_batches(worker *w) {
    for (size_t i = 0; i < w->count; i += BATCH)
        this_engine.submit(w->session, &w->documents->items[i], smaller(BATCH, w->count - i));
    this_engine.drain(w->session);
    w->operations = w->count;
}

/* --- Read, modify, write a few hot documents ------------------------------------------------------ */

static size_t hot_count(const documents *d) { return smaller(HOT, d->count); }

static long long installed_size(const char *body, size_t length) {
    static const char name[] = "\"installed_size\":";
    const char *found = memmem(body, length, name, strlen(name));
    if (found == NULL)
        fail("document", "no installed_size");
    return strtoll(found + strlen(name), NULL, 10);
}

/* All of them have been read once. */
static void store_hot(void *session, const documents *d) {
    this_engine.add_many(session, d->items, hot_count(d));
    for (size_t i = 0; i < hot_count(d); i++) {
        const char *body;
        this_engine.fetch(session, &d->items[i], &body);
    }
}

static void increment_hot(worker *w) {
    uint64_t chance = w->index + 1;
    for (size_t i = w->index; i < w->count; i += w->threads, w->operations++) {
        const document *d = &w->documents->items[random_next(&chance) % hot_count(w->documents)];
        w->repeated += this_engine.increment(w->session, d);
    }
}

/* No increment was lost. */
static void sum_hot(void *session, const documents *d, size_t count) {
    long long added = 0;
    for (size_t i = 0; i < hot_count(d); i++) {
        const char *body;
        size_t length = this_engine.fetch(session, &d->items[i], &body);
        added += installed_size(body, length) - installed_size(d->items[i].body, d->items[i].length);
    }
    if (added != (long long)count)
        fail("increments", "some were lost");
}

/* --- Reading ------------------------------------------------------------------------------------ */

static void read_each(worker *w) {
    for (size_t i = w->index; i < w->count; i += w->threads, w->operations++) {
        const document *d = &w->documents->items[i % w->documents->count];
        const char *body;
        if (this_engine.fetch(w->session, d, &body) != d->length)
            fail("fetch", "another document");
    }
}

static void read_once(void *session, const documents *d) {
    const char *body;
    for (size_t i = 0; i < d->count; i++)
        this_engine.fetch(session, &d->items[i], &body);
}

static void scan_all(worker *w) {
    static const char section[] = "games", member[] = "\"section\":\"games\"";
    size_t expected = 0;
    for (size_t i = 0; i < w->documents->count; i++)
        expected += memmem(w->documents->items[i].body, w->documents->items[i].length, member,
                           strlen(member)) != NULL;
    do {
        if (this_engine.scan(w->session, section) != expected)
            fail("scan", "another number of documents");
        w->operations += w->documents->count;
    } while (w->operations < w->count);
}

/* --- Indexes ------------------------------------------------------------------------------------ */

/* What each document is indexed by, in order. */
static long long *sizes;

static int compare_sizes(const void *left, const void *right) {
    long long a = *(const long long *)left, b = *(const long long *)right;
    return (a > b) - (a < b);
}

static void index_sizes(void *session, const documents *d) {
    this_engine.create_index(session, "installed_size");
    sizes = malloc(d->count * sizeof *sizes);
    for (size_t i = 0; i < d->count; i++)
        sizes[i] = installed_size(d->items[i].body, d->items[i].length);
    qsort(sizes, d->count, sizeof *sizes, compare_sizes);
}

/* From one size to another between which there are about so many documents; the last takes in the greatest.
 */
static void find_all(worker *w) {
    size_t count = w->documents->count, first = 0;
    while (w->operations < w->count) {
        size_t last = smaller(first + FOUND, count);
        while (last < count && sizes[last] == sizes[last - 1])
            last++;
        long long high = last < count ? sizes[last] : sizes[count - 1] + 1;
        if (this_engine.find(w->session, sizes[first], high) != last - first)
            fail("find", "another number of documents");
        w->operations += last - first;
        first = last % count;
    }
}

/* Where a document has its section, up to the end of that. */
static const char *section_of(const document *d) {
    static const char member[] = "\"section\":";
    return memmem(d->body, d->length, member, strlen(member));
}

static int compare_sections(const void *left, const void *right) {
    const char *a = section_of(left), *b = section_of(right);
    while (*a == *b && *a != ',' && *a != '}')
        a++, b++;
    return (*a > *b) - (*a < *b);
}

/* How many sections there are. */
static size_t sections;

static void count_sections(void *session, const documents *d) {
    (void)session;
    document *sorted = malloc(d->count * sizeof *sorted);
    memcpy(sorted, d->items, d->count * sizeof *sorted);
    qsort(sorted, d->count, sizeof *sorted, compare_sections);
    sections = 1;
    for (size_t i = 1; i < d->count; i++)
        sections += compare_sections(&sorted[i - 1], &sorted[i]) != 0;
    free(sorted);
}

static void index_sections(void *session, const documents *d) {
    this_engine.create_index(session, "section");
    count_sections(session, d);
}

static void group_all(worker *w) {
    do {
        if (this_engine.group(w->session, "section") != sections)
            fail("group", "another number of groups");
        w->operations += w->documents->count;
    } while (w->operations < w->count);
}

static void build_index(worker *w) {
    this_engine.create_index(w->session, "section");
    w->operations = w->documents->count;
}

static void drop_built_index(void *session, const documents *d, size_t count) {
    (void)d;
    (void)count;
    this_engine.drop_index(session, "section");
}

/* One thread builds, the other commits until the index is there: the longest that a commit took. */
static void build_or_commit(worker *w) {
    static atomic_bool is_built;
    if (w->index == 0) {
        build_index(w);
        atomic_store(&is_built, true);
        return;
    }
    for (size_t i = 0; !atomic_load(&is_built); i = (i + 1) % w->documents->count) {
        double began = seconds_now();
        this_engine.save(w->session, &w->documents->items[i]);
        double seconds = seconds_now() - began;
        if (seconds > w->longest)
            w->longest = seconds;
    }
}

/* --- Texts -------------------------------------------------------------------------------------- */

enum { LONGEST_WORD = 32, SEARCHED_WORDS = 2 };

static void index_texts(void *session, const documents *d) {
    (void)d;
    this_engine.create_text_index(session);
}

static void build_text_index(worker *w) {
    this_engine.create_text_index(w->session);
    w->operations = w->documents->count;
}

static void drop_built_text_index(void *session, const documents *d, size_t count) {
    (void)d;
    (void)count;
    this_engine.drop_text_index(session);
}

/* The first words of a description, from `start` on, that stand between spaces, one behind the other, and are
 * of letters: whatever takes them apart, they are words. Answers whether there are such. */
static bool words_of(const document *d, size_t start, char words[SEARCHED_WORDS][LONGEST_WORD]) {
    static const char member[] = "\"description\":\"";
    const char *text = memmem(d->body, d->length, member, strlen(member));
    if (text == NULL)
        return false;
    const char *end = d->body + d->length;
    size_t met = 0, taken = 0, length = 0;
    for (text = strchr(text + strlen(member), ' '); text != NULL && ++text < end && taken < SEARCHED_WORDS;) {
        for (length = 0;
             text + length < end && ((text[length] | 0x20) >= 'a' && (text[length] | 0x20) <= 'z');)
            length++;
        bool is_word = length >= 3 && length < LONGEST_WORD && text + length < end && text[length] == ' ';
        if (is_word && met++ >= start)
            snprintf(words[taken++], LONGEST_WORD, "%.*s", (int)length, text);
        else
            taken = 0;
        text = memchr(text + length, ' ', (size_t)(end - text) - length);
    }
    return taken == SEARCHED_WORDS;
}

static void search_for(worker *w, bool is_phrase) {
    char words[SEARCHED_WORDS][LONGEST_WORD];
    const char *const searched[SEARCHED_WORDS] = {words[0], words[1]};
    for (size_t i = w->index; w->operations < w->count; i++) {
        const document *d = &w->documents->items[i * 7919 % w->documents->count];
        if (i > w->count * 1000)
            fail("search", "hardly a description");
        if (!words_of(d, i % 5, words))
            continue;
        if (this_engine.search(w->session, searched, SEARCHED_WORDS, is_phrase) == 0)
            fail("search", "no document");
        w->operations++;
    }
}

static void search_words(worker *w) { search_for(w, false); }

static void search_phrases(worker *w) { search_for(w, true); }

static void stream_all(worker *w) {
    double before = megabytes_now();
    if (this_engine.stream(w->session) != w->documents->count)
        fail("stream", "another number of documents");
    w->operations = w->documents->count;
    w->megabytes = megabytes_at_most() - before;
}

/* --- What documents take --------------------------------------------------------------------------- */

static double megabytes_before;
static const char *place;

static void note_memory(void *session, const documents *d) {
    (void)session;
    (void)d;
    megabytes_before = megabytes_now();
}

static void fill_memory(worker *w) {
    read_each(w);
    w->megabytes = megabytes_now() - megabytes_before;
}

/* Nothing was written since the store was closed, so that all lies where it stays. */
static void weigh_files(worker *w) {
    w->operations = w->documents->count;
    w->megabytes = megabytes_in(place);
}

/* --- Running ------------------------------------------------------------------------------------ */

static void *run_worker(void *opaque) {
    worker *w = opaque;
    pthread_barrier_wait(w->start);
    w->began = seconds_now();
    w->work(w);
    return NULL;
}

static void run(const workload *chosen, void *store, const documents *d, size_t count, size_t threads) {
    worker *workers = calloc(threads, sizeof *workers);
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
    for (size_t t = 0; t < threads; t++) {
        workers[t] = (worker){.documents = d,
                              .count = count,
                              .threads = threads,
                              .index = t,
                              .session = this_engine.session_open(store),
                              .work = chosen->work,
                              .start = &start};
        if (t == 0 && chosen->prepare != NULL)
            chosen->prepare(workers[t].session, d);
        if (pthread_create(&workers[t].thread, NULL, run_worker, &workers[t]) != 0)
            fail("pthread_create", strerror(errno));
    }
    pthread_barrier_wait(&start);
    /* Among many threads this one may go on when others are through. */
    double began = seconds_now();
    size_t operations = 0, repeated = 0;
    double longest = 0, megabytes = 0;
    for (size_t t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        began = fmin(began, workers[t].began);
        operations += workers[t].operations;
        repeated += workers[t].repeated;
        longest += workers[t].longest;
        megabytes += workers[t].megabytes;
    }
    double seconds = seconds_now() - began;
    if (chosen->check != NULL)
        chosen->check(workers[0].session, d, count);
    report(longest > 0 ? 1 : operations, longest > 0 ? longest : seconds, repeated, megabytes);
    for (size_t t = 0; t < threads; t++)
        this_engine.session_close(workers[t].session);
    pthread_barrier_destroy(&start);
    free(workers);
}

int main(int argc, char **argv) {
    const engine *e = &this_engine;
    const workload workloads[] = {
        {"commits", true, CACHED, false, true, e->save != NULL, NULL, commit_each, NULL},
        {"submissions", true, CACHED, false, true, e->submit != NULL, NULL, submit_each, NULL},
        {"load", true, CACHED, false, true, e->add_many != NULL, NULL, commit_batches, NULL},
        {"submitted-load", true, CACHED, false, true, e->submit != NULL, NULL, submit_batches, NULL},
        {"increments", false, CACHED, false, false, e->increment != NULL, store_hot, increment_hot, sum_hot},
        {"reads", true, NO_CACHE, true, false, e->fetch != NULL, NULL, read_each, NULL},
        {"cached-reads", true, CACHED, true, false, e->fetch != NULL, read_once, read_each, NULL},
        {"stale-reads", true, CACHED_STALE, true, false, e->fetch != NULL, read_once, read_each, NULL},
        {"lru-reads", true, CACHED_LRU, true, false, e->fetch != NULL, read_once, read_each, NULL},
        {"fifo-reads", true, CACHED_FIFO, true, false, e->fetch != NULL, read_once, read_each, NULL},
        {"missed-reads", true, CACHED_FEW, true, false, e->fetch != NULL, read_once, read_each, NULL},
        {"scans", true, CACHED, true, false, e->scan != NULL, NULL, scan_all, NULL},
        {"index-queries", true, CACHED, true, false, e->find != NULL, index_sizes, find_all, NULL},
        {"groups", true, CACHED, true, false, e->group != NULL, count_sections, group_all, NULL},
        {"index-groups", true, CACHED, true, false, e->group != NULL, index_sections, group_all, NULL},
        {"index-build", true, CACHED, true, false, e->create_index != NULL, NULL, build_index,
         drop_built_index},
        {"index-build-wait", false, CACHED, true, false, e->create_index != NULL, NULL, build_or_commit,
         drop_built_index},
        {"text-build", true, CACHED, true, false, e->create_text_index != NULL, NULL, build_text_index,
         drop_built_text_index},
        {"text-words", true, CACHED, true, false, e->search != NULL, index_texts, search_words,
         drop_built_text_index},
        {"text-phrases", true, CACHED, true, false, e->search != NULL, index_texts, search_phrases,
         drop_built_text_index},
        {"stream", true, CACHED, true, false, e->stream != NULL, NULL, stream_all, NULL},
        {"memory", true, CACHED_LARGE, true, false, e->fetch != NULL, note_memory, fill_memory, NULL},
        {"files", true, CACHED, true, false, true, NULL, weigh_files, NULL},
    };
    if (argc != 5 && argc != 6)
        fail(argv[0], "WORKLOAD DIRECTORY DOCUMENTS COUNT [THREADS]");
    place = argv[2];
    size_t count = strtoull(argv[4], NULL, 10), threads = argc == 6 ? strtoull(argv[5], NULL, 10) : 1;
    const workload *chosen = NULL;
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (strcmp(workloads[i].name, argv[1]) == 0)
            chosen = &workloads[i];
    if (chosen == NULL || !chosen->is_offered)
        fail(argv[1], "no such workload of this engine");
    documents d = documents_load(argv[3]);
    if (count == 0 || threads == 0 || (chosen->adds && count > d.count))
        fail(argv[4], "not a number of operations on these documents");
    if (!chosen->reads)
        make_place(place);
    void *store = e->open(place, chosen->is_durable, chosen->cache);
    run(chosen, store, &d, count, threads);
    e->close(store);
    documents_free(&d);
    return 0;
}
