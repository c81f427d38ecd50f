/*
 * Usage: races <seconds> [seed]. Many threads call every function on shared handles, while others of their
 * calls close stores, free handles, cancel, roll back and take events, and callbacks call back in. Every
 * answer must be one that the header allows, every user_data must be freed once, and no handle may be left.
 */
#include "../ABI/every_function.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 12, ROOMS = 4, REPOSITORIES = 3, TRANSACTIONS = 12, ERRORS = 8, LATEST_SECONDS = 600 };

static atomic_int stop;
static atomic_int wrong;
static atomic_ulong calls, reopened;

static void expect(bool is_right, const char *sentence, const char *what) {
    if (!is_right && atomic_fetch_add(&wrong, 1) < 50)
        fprintf(stderr, "WRONG: %s: %s\n", sentence, what);
}

/* --- What the threads share ----------------------------------------------------------------------- */

/* Handles that any thread takes out, replaces or frees at any time; also those that were freed stay until
 * they are replaced, so that they are called. */
typedef struct room {
    const char *url, *options;
    bool has_queue;
    atomic_uintptr_t store;
    atomic_uintptr_t repositories[REPOSITORIES];
    atomic_uintptr_t transactions[TRANSACTIONS];
    pthread_mutex_t opening;
} room;

static char urls[2][96];
static room rooms[ROOMS] = {
    {.url = "memory:", .options = "{\"slow_commit_ms\":1}"},
    {.url = "memory:", .options = "{\"delivery\":\"queue\",\"max_in_flight\":40}", .has_queue = true},
    {.url = urls[0], .options = "{\"durability\":\"relaxed\",\"slow_commit_ms\":1,\"max_snapshots\":2}"},
    {.url = urls[1], .options = "{\"delivery\":\"queue\",\"max_in_flight\":40}", .has_queue = true},
};
static atomic_uintptr_t errors[ERRORS];

/* One thread's luck and memory. */
typedef struct thread {
    pthread_t id;
    uint64_t state;
    results results;
} thread;

/* The thread that runs here, NULL on those of the library. */
static _Thread_local thread *current;

/* xorshift64*, Marsaglia 2003 and Vigna 2014. */
static uint32_t luck(thread *t, uint32_t below) {
    t->state ^= t->state >> 12;
    t->state ^= t->state << 25;
    t->state ^= t->state >> 27;
    return (uint32_t)((t->state * UINT64_C(2685821657736338717)) >> 33) % below;
}

static hf_store *store_of(room *r) { return (hf_store *)atomic_load(&r->store); }

static hf_repository *any_repository(thread *t, room *r) {
    return (hf_repository *)atomic_load(&r->repositories[luck(t, REPOSITORIES)]);
}

static hf_transaction *any_transaction(thread *t, room *r) {
    return (hf_transaction *)atomic_load(&r->transactions[luck(t, TRANSACTIONS)]);
}

/* --- user_data ------------------------------------------------------------------------------------ */

/* Each is counted when it is handed over, at its event, and when it is freed. */
typedef struct ticket {
    room *room;
    atomic_int events, freed;
} ticket;

static atomic_ulong tickets_made, tickets_freed, accepted, called;

static ticket *make_ticket(room *r) {
    ticket *made = calloc(1, sizeof *made);
    made->room = r;
    atomic_fetch_add(&tickets_made, 1);
    return made;
}

static void free_ticket(void *user_data) {
    ticket *freed = user_data;
    expect(atomic_fetch_add(&freed->freed, 1) == 0, "user_data is freed once", "ticket");
    atomic_fetch_add(&tickets_freed, 1);
    free(freed);
}

/* --- One call, and what it may answer ---------------------------------------------------------------- */

static void check_answer(const char *name, hf_status status, uint64_t allowed, hf_error *error) {
    atomic_fetch_add(&calls, 1);
    if ((STATUS(status) & allowed) == 0 && atomic_fetch_add(&wrong, 1) < 50)
        fprintf(stderr, "WRONG: %s answered %s: %s\n", name, hf_status_name(status), hf_error_message(error));
    expect(error == NULL || hf_error_status(error) == status, "an error has the call's status", name);
}

/* Keeps some errors where others read and free them. */
static void put_away(thread *t, hf_error *error) {
    if (error != NULL)
        hf_error_free((hf_error *)atomic_exchange(&errors[luck(t, ERRORS)], (uintptr_t)error));
}

/* The contract's functions that take no store, and errors that other threads free meanwhile. Their texts are
 * not read: they last only as long as the error. */
static void call_the_rest(thread *t) {
    hf_error *error = (hf_error *)atomic_load(&errors[luck(t, ERRORS)]);
    hf_status status = hf_error_status(error);
    expect(strcmp(hf_status_name(status), "HF_UNKNOWN") != 0, "an error has a known status",
           "hf_error_status");
    hf_error_message(error);
    hf_error_detail(error, NULL);
    hf_error_commit_state(error);
    hf_error_is_retryable(error);
    hf_error_free(hf_error_cause(error));
    if (luck(t, 4) == 0)
        hf_error_free(error);
    expect(hf_version_select(HF_API_VERSION, NULL) == HF_OK, "the version fits", hf_version_text());
    expect(hf_feature_available("sqlite"), "there is SQLite", "hf_feature_available");
    hf_handle_count(luck(t, 2) ? NULL : "transaction");
    atomic_fetch_add(&calls, 10);
}

/* --- Host code that calls back in ------------------------------------------------------------------- */

/* On threads of the library as well as on the callers'. */
static void call_back_in(room *r, bool may_close) {
    static thread for_library = {.state = 88172645463325252};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    thread *t = current;
    uint32_t what;
    if (t == NULL) {
        pthread_mutex_lock(&lock);
        what = luck(&for_library, 40);
        pthread_mutex_unlock(&lock);
    } else {
        what = luck(t, 40);
    }
    atomic_uintptr_t *slot = &r->transactions[what % TRANSACTIONS];
    hf_transaction *transaction = NULL;
    results own = {0};
    switch (what) {
    case 0:
        if (may_close)
            hf_store_free(store_of(r));
        break;
    case 1:
        if (may_close) {
            hf_status status = hf_store_close(store_of(r), -1, NULL);
            check_answer("hf_store_close", status, functions[0].statuses | STATUS(HF_INVALID_ARGUMENT), NULL);
        }
        break;
    case 2:
    case 3:
        hf_repository_free((hf_repository *)atomic_load(&r->repositories[what % REPOSITORIES]));
        break;
    case 4:
    case 5:
    case 6:
        if (hf_transaction_begin(store_of(r), NULL, &transaction, NULL) == HF_OK)
            hf_transaction_free((hf_transaction *)atomic_exchange(slot, (uintptr_t)transaction));
        break;
    case 7:
        hf_transaction_free((hf_transaction *)atomic_load(slot));
        break;
    case 8:
        hf_transaction_cancel((hf_transaction *)atomic_load(slot), NULL);
        break;
    default: {
        const function *f = &functions[1 + what % (function_count - 1)];
        handles h = {store_of(r), (hf_repository *)atomic_load(&r->repositories[0]), NULL};
        hf_error *error = NULL;
        hf_status status = f->roles == TRANSACTION ? HF_OK : f->call(h, &own, &error);
        check_answer(f->name, status, f->statuses | STATUS(HF_INVALID_ARGUMENT), error);
        hf_error_free(error);
    }
    }
    free_results(&own);
}

static void on_event(const hf_event *event, void *user_data) {
    ticket *t = user_data;
    expect(atomic_load(&t->freed) == 0, "an event comes before its user_data is freed", "event");
    expect(atomic_fetch_add(&t->events, 1) == 0, "a commit has one event", "event");
    expect((event->status == HF_OK) == (event->error == NULL), "a failure has an error", "event");
    expect(event->status == HF_OK || event->status == HF_CONFLICT || event->status == HF_CANCELLED ||
               event->status == HF_TIMEOUT || event->status == HF_EXISTS || event->status == HF_NOT_FOUND,
           "a commit ends as the header says", hf_status_name(event->status));
    if (!t->room->has_queue)
        atomic_fetch_add(&called, 1);
    call_back_in(t->room, true);
}

static void on_log(hf_log_level level, const char *message, const char *fields, void *user_data) {
    (void)level;
    ticket *t = user_data;
    expect(atomic_load(&t->freed) == 0, "a log receiver lives while it is called", message);
    expect(fields[0] == '{', "a log entry has fields", message);
    /* Not into the room of which the entry may speak: a committer must not wait for itself. */
    hf_handle_count(NULL);
    hf_transaction *transaction = NULL;
    if (hf_transaction_begin(store_of(t->room), NULL, &transaction, NULL) == HF_OK)
        hf_transaction_free(transaction);
}

static hf_status body(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)out_error;
    room *r = user_data;
    hf_repository *things = (hf_repository *)atomic_load(&r->repositories[0]);
    if (current != NULL && luck(current, 50) == 0)
        hf_transaction_free(transaction); /* borrowed, and still harmless */
    expect(hf_transaction_commit(transaction, NULL, NULL) != HF_OK, "a body's transaction is not its own",
           "hf_transaction_commit");
    hf_status status = hf_repository_save(things, transaction, "{\"id\":\"a\",\"n\":5}", HF_NTS, NULL, NULL);
    (void)status;
    call_back_in(r, false);
    return HF_OK;
}

/* --- What a thread does ----------------------------------------------------------------------------- */

static void begin_another(thread *t, room *r) {
    hf_transaction *transaction = NULL;
    const char *options =
        luck(t, 2) ? "{\"timeout_ms\":5}" : "{\"isolation\":\"snapshot\",\"timeout_ms\":20}";
    hf_status status = hf_transaction_begin(store_of(r), options, &transaction, NULL);
    check_answer("hf_transaction_begin", status,
                 STATUS(HF_OK) | STATUS(HF_CLOSED) | STATUS(HF_INVALID_HANDLE) | STATUS(HF_INVALID_ARGUMENT),
                 NULL);
    uintptr_t old = atomic_exchange(&r->transactions[luck(t, TRANSACTIONS)], (uintptr_t)transaction);
    hf_transaction_free((hf_transaction *)old);
}

static void submit(thread *t, room *r) {
    ticket *user_data = make_ticket(r);
    hf_error *error = NULL;
    if (luck(t, 2))
        begin_another(t, r);
    hf_transaction *transaction = any_transaction(t, r);
    hf_status status =
        hf_repository_save(any_repository(t, r), transaction, "{\"id\":\"b\"}", HF_NTS, NULL, NULL);
    status = hf_transaction_submit(transaction, on_event, user_data, free_ticket, &error);
    check_answer("hf_transaction_submit", status,
                 STATUS(HF_OK) | STATUS(HF_BUSY) | STATUS(HF_INVALID_STATE) | STATUS(HF_CLOSED) |
                     STATUS(HF_INVALID_ARGUMENT) | STATUS(HF_INVALID_HANDLE) | STATUS(HF_READ_ONLY) |
                     STATUS(HF_REENTRANT) | STATUS(HF_CONFLICT),
                 error);
    if (status == HF_OK && !r->has_queue)
        atomic_fetch_add(&accepted, 1);
    put_away(t, error);
    if (luck(t, 4) == 0)
        hf_transaction_cancel(transaction, NULL);
}

static void take_events(thread *t, room *r) {
    hf_event events[8];
    int32_t taken = hf_store_events(store_of(r), events, 1 + luck(t, 8), luck(t, 3));
    atomic_fetch_add(&calls, 1);
    for (int32_t i = 0; i < taken; i++) {
        if (events[i].callback != NULL)
            events[i].callback(&events[i], events[i].user_data);
    }
    if (taken > 0)
        hf_events_free(events, (size_t)taken);
}

static void transact(thread *t, room *r) {
    hf_error *error = NULL;
    hf_status status =
        hf_store_transact(store_of(r), body, r, "{\"max_attempts\":3}", &t->results.buffer, &error);
    check_answer("hf_store_transact", status,
                 STATUS(HF_OK) | STATUS(HF_CLOSED) | STATUS(HF_CONFLICT) | STATUS(HF_INVALID_HANDLE) |
                     STATUS(HF_INVALID_ARGUMENT) | STATUS(HF_TIMEOUT),
                 error);
    put_away(t, error);
}

static void replace_repository(thread *t, room *r) {
    hf_repository *repository = NULL;
    hf_error *error = NULL;
    hf_status status = hf_repository_open(store_of(r), "things", NULL, &repository, &error);
    check_answer("hf_repository_open", status,
                 STATUS(HF_OK) | STATUS(HF_CLOSED) | STATUS(HF_INVALID_HANDLE) | STATUS(HF_INVALID_ARGUMENT),
                 error);
    put_away(t, error);
    uintptr_t old = atomic_exchange(&r->repositories[luck(t, REPOSITORIES)], (uintptr_t)repository);
    hf_repository_free((hf_repository *)old);
}

static void call_anything(thread *t, room *r) {
    const function *f = &functions[1 + luck(t, (uint32_t)function_count - 1)]; /* 0 closes: see close_store */
    handles h = {store_of(r), any_repository(t, r), any_transaction(t, r)};
    uint64_t allowed = f->statuses | STATUS(HF_INVALID_ARGUMENT); /* nothing there */
    if (luck(t, 8) == 0 && f->roles & REPOSITORY)
        h.transaction = NULL;
    if (luck(t, 16) == 0)
        h.transaction = any_transaction(t, &rooms[luck(t, ROOMS)]); /* perhaps of another store */
    if (luck(t, 64) == 0)
        h.repository = (hf_repository *)h.store; /* of another type */
    hf_error *error = NULL;
    hf_status status = f->call(h, &t->results, &error);
    check_answer(f->name, status, allowed, error);
    put_away(t, error);
    /* So that most calls find something. */
    if (status == HF_INVALID_HANDLE || status == HF_INVALID_ARGUMENT) {
        replace_repository(t, r);
        begin_another(t, r);
    }
}

static void replace_log(thread *t, room *r) {
    bool is_none = luck(t, 4) == 0;
    expect(hf_log_set_callback(is_none ? NULL : on_log, make_ticket(r), free_ticket, NULL) == HF_OK,
           "a log receiver is set", "hf_log_set_callback");
}

/* Closes in the ways there are, and sees to it that the room is open again. */
static void close_store(thread *t, room *r) {
    static const int64_t timeouts[] = {0, 1, -1};
    hf_store *old = store_of(r);
    for (uint32_t i = luck(t, 3); i > 0; i--) {
        hf_error *error = NULL;
        hf_status status = hf_store_close(old, timeouts[luck(t, 3)], &error);
        check_answer("hf_store_close", status, functions[0].statuses | STATUS(HF_INVALID_ARGUMENT), error);
        put_away(t, error);
    }
    if (pthread_mutex_trylock(&r->opening) != 0)
        return;
    hf_store_free((hf_store *)atomic_load(&r->store));
    hf_store *store = NULL;
    hf_error *error = NULL;
    hf_status status;
    do {
        hf_error_free(error);
        status = hf_store_open(r->url, r->options, &store, &error);
        /* A store that was freed inside a callback closes after it. */
        check_answer("hf_store_open", status, STATUS(HF_OK) | STATUS(HF_BUSY), error);
    } while (status == HF_BUSY && usleep(1000) == 0);
    hf_error_free(error);
    atomic_store(&r->store, (uintptr_t)store);
    pthread_mutex_unlock(&r->opening);
    atomic_fetch_add(&reopened, 1);
    for (int i = 0; i < REPOSITORIES; i++)
        replace_repository(t, r);
}

static void *work(void *argument) {
    thread *t = current = argument;
    while (!atomic_load(&stop)) {
        room *r = &rooms[luck(t, ROOMS)];
        uint32_t what = luck(t, 1000);
        if (what < 500)
            call_anything(t, r);
        else if (what < 650)
            begin_another(t, r);
        else if (what < 780)
            submit(t, r);
        else if (what < 860)
            take_events(t, r);
        else if (what < 900)
            transact(t, r);
        else if (what < 930)
            replace_repository(t, r);
        else if (what < 980)
            call_the_rest(t);
        else if (what < 990)
            hf_transaction_free(any_transaction(t, r));
        else if (what < 998)
            replace_log(t, r);
        else
            close_store(t, r);
    }
    free_results(&t->results);
    return NULL;
}

/* --- Beginning and end ------------------------------------------------------------------------------- */

static void free_everything(void) {
    for (int i = 0; i < ROOMS; i++) {
        room *r = &rooms[i];
        for (int n = 0; n < REPOSITORIES; n++)
            hf_repository_free((hf_repository *)atomic_load(&r->repositories[n]));
        hf_store_free(store_of(r));
        for (int n = 0; n < TRANSACTIONS; n++)
            hf_transaction_free((hf_transaction *)atomic_load(&r->transactions[n]));
    }
    for (int i = 0; i < ERRORS; i++)
        hf_error_free((hf_error *)atomic_load(&errors[i]));
    hf_log_set_callback(NULL, NULL, NULL, NULL);
    /* What was freed inside a callback ends after it. */
    for (int i = 0; i < 1000 && hf_handle_count(NULL) + tickets_made - tickets_freed > 0; i++)
        usleep(10000);
}

int main(int argc, char **argv) {
    int seconds = argc >= 2 ? atoi(argv[1]) : 0;
    uint64_t seed = argc == 3 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    if (seconds < 1 || argc > 3)
        return fprintf(stderr, "usage: %s <seconds> [seed]\n", argv[0]), 2;
    /* In memory where the system has that, so that the threads do not wait for a disk. */
    char directory[64], command[128];
    snprintf(directory, sizeof directory, "%s/holdfast-races-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (mkdtemp(directory) == NULL)
        return perror(directory), 2;
    for (int i = 0; i < 2; i++)
        snprintf(urls[i], sizeof urls[i], "%s/%d.db", directory, i);
    alarm((unsigned)seconds + LATEST_SECONDS);

    static thread threads[THREADS];
    thread starter = {.state = seed + THREADS + 1};
    for (int i = 0; i < ROOMS; i++) {
        pthread_mutex_init(&rooms[i].opening, NULL);
        close_store(&starter, &rooms[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        threads[i].state = (seed + 1) * 0x9E3779B97F4A7C15u + (uint64_t)i;
        pthread_create(&threads[i].id, NULL, work, &threads[i]);
    }
    sleep((unsigned)seconds);
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].id, NULL);
    free_everything();
    free_results(&starter.results);

    char text[64];
    snprintf(text, sizeof text, "%zu", hf_handle_count(NULL));
    expect(hf_handle_count(NULL) == 0, "no handle is left", text);
    snprintf(text, sizeof text, "%lu of %lu", tickets_freed, tickets_made);
    expect(tickets_freed == tickets_made, "every user_data is freed", text);
    snprintf(text, sizeof text, "%lu of %lu", called, accepted);
    expect(called == accepted, "every accepted commit has its event", text);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    expect(system(command) == 0, "the files are removed", directory);
    printf("%lu calls, %lu events, %lu stores opened, seed %llu: %d wrong\n", calls, called, reopened,
           (unsigned long long)seed, wrong);
    return wrong != 0;
}
