/*
 * Usage: futures <seconds> [seed]. Many threads complete, cancel, observe, await and free the same futures,
 * of the host's own, of operations and of submitted transactions, while their stores close with many in
 * flight. Each future ends once, for one reason; each observer hears once or is let go; no handle is left.
 */
#include <holdfast.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 10, SLOTS = 12, STORES = 2, LATEST_SECONDS = 600 };

static atomic_int stop, wrong;
static atomic_ulong calls, told, tickets_made, tickets_freed, reopened;

static void expect(bool is_right, const char *sentence, hf_status status) {
    if (!is_right && atomic_fetch_add(&wrong, 1) < 50)
        fprintf(stderr, "WRONG: %s: %s\n", sentence, hf_status_name(status));
}

/* --- What the threads share -------------------------------------------------------------------------------
 */

/* A future and how often it was ended from outside. It stays until the end of the program, unlike its handle.
 */
typedef struct shared {
    struct shared *next;
    hf_future *handle;
    bool is_hosts;
    atomic_int ends;
} shared;

static _Atomic(shared *) all, slots[SLOTS];
static atomic_uintptr_t stores[STORES], repositories[STORES];
static pthread_mutex_t reopening = PTHREAD_MUTEX_INITIALIZER;
static const char *const options[STORES] = {"{}", "{\"max_in_flight\":50}"};

/* xorshift64*, Marsaglia 2003 and Vigna 2014. */
static uint32_t luck(uint64_t *state, uint32_t below) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(2685821657736338717)) >> 33) % below;
}

/* --- Observers --------------------------------------------------------------------------------------------
 */

typedef struct ticket {
    atomic_int events, freed;
} ticket;

static void free_ticket(void *user_data) {
    ticket *t = user_data;
    expect(atomic_fetch_add(&t->freed, 1) == 0, "user_data is freed once", HF_OK);
    atomic_fetch_add(&tickets_freed, 1);
    free(t);
}

static void on_end(const hf_event *event, void *user_data) {
    ticket *t = user_data;
    expect(atomic_load(&t->freed) == 0, "user_data lives until its event", event->status);
    if (event->kind == HF_EVENT_VALUE)
        return;
    expect(atomic_fetch_add(&t->events, 1) == 0, "an observer hears once", event->status);
    expect((event->status == HF_OK) == (event->error == NULL), "a failure has an error", event->status);
    atomic_fetch_add(&told, 1);
}

static ticket *make_ticket(void) {
    atomic_fetch_add(&tickets_made, 1);
    return calloc(1, sizeof(ticket));
}

/* --- Making futures ---------------------------------------------------------------------------------------
 */

static hf_future *operation_future(size_t n, uint32_t kind) {
    static const char *const texts[] = {
        "{\"operation\":\"modify\",\"repository\":\"things\",\"id\":\"n\",\"update\":{\"$inc\":{\"n\":1}},"
        "\"initial\":{}}",
        "{\"operation\":\"count\",\"repository\":\"things\"}",
        "{\"steps\":[{\"operation\":\"patch\",\"repository\":\"things\",\"id\":\"n\",\"patch\":{\"m\":1}},"
        "{\"operation\":\"first\",\"repository\":\"things\"}]}",
    };
    hf_operation *operation = NULL;
    hf_future *future = NULL;
    hf_store *store = (hf_store *)atomic_load(&stores[n]);
    if (hf_operation_create(store, texts[kind], HF_NTS, &operation, NULL) != HF_OK)
        return NULL;
    if (kind == 2) {
        ticket *t = make_ticket();
        if (hf_operation_submit(operation, NULL, on_end, t, free_ticket, &future, NULL) != HF_OK)
            expect(future == NULL, "a refused submission has no future", HF_OK);
    } else if (hf_operation_start(operation, NULL, &future, NULL) != HF_OK) {
        expect(future == NULL, "a refused start has no future", HF_OK);
    }
    hf_operation_free(operation);
    return future;
}

static hf_future *transaction_future(size_t n) {
    hf_transaction *t = NULL;
    hf_future *future = NULL;
    if (hf_transaction_begin((hf_store *)atomic_load(&stores[n]), "{\"timeout_ms\":20}", &t, NULL) != HF_OK)
        return NULL;
    hf_repository *things = (hf_repository *)atomic_load(&repositories[n]);
    hf_status status = hf_repository_modify(things, t, "n", HF_NTS, "{\"$inc\":{\"n\":1}}", HF_NTS, "{}",
                                            HF_NTS, 0, NULL, NULL);
    (void)status; /* the store may be closing, and then the rest is refused, too */
    if (hf_transaction_submit_future(t, &future, NULL) != HF_OK)
        expect(future == NULL, "a refused submission has no future", HF_OK);
    hf_transaction_free(t);
    return future;
}

static void replace(uint64_t *state, size_t slot) {
    hf_future *future = NULL;
    uint32_t kind = luck(state, 8);
    if (kind >= 4)
        expect(hf_future_create(&future, NULL) == HF_OK, "a future is made", HF_OK);
    else
        future =
            kind == 3 ? transaction_future(luck(state, STORES)) : operation_future(luck(state, STORES), kind);
    if (future == NULL)
        return;
    shared *made = calloc(1, sizeof *made);
    made->handle = future;
    made->is_hosts = kind >= 4;
    made->next = atomic_load(&all);
    while (!atomic_compare_exchange_weak(&all, &made->next, made))
        ;
    shared *old = atomic_exchange(&slots[slot], made);
    if (old != NULL)
        hf_future_free(old->handle);
}

/* --- Using them -------------------------------------------------------------------------------------------
 */

static void count_end(shared *s, hf_status status, const char *sentence) {
    if (status == HF_OK)
        expect(atomic_fetch_add(&s->ends, 1) == 0, "a future ends once", status);
    else
        expect(status == HF_INVALID_STATE || status == HF_INVALID_HANDLE, sentence, status);
}

static void use(uint64_t *state, shared *s) {
    hf_entity value = HF_ENTITY_INIT;
    hf_status status;
    atomic_fetch_add(&calls, 1);
    switch (luck(state, 8)) {
    case 0:
        /* The library completes its own; a host that does so too wins, or is told that it came late. */
        if (s->is_hosts)
            count_end(s, hf_future_complete(s->handle, "value", HF_NTS, NULL), "completing answers so");
        break;
    case 1:
        if (s->is_hosts)
            count_end(s, hf_future_fail(s->handle, HF_NOT_FOUND, "none", NULL), "failing answers so");
        break;
    case 2:
        count_end(s, hf_future_cancel(s->handle, NULL), "cancelling answers so");
        break;
    case 3:
    case 4:
        status = hf_future_observe(s->handle, on_end, make_ticket(), free_ticket, NULL);
        expect(status == HF_OK || status == HF_CLOSED || status == HF_INVALID_HANDLE, "observing answers so",
               status);
        break;
    case 5:
    case 6:
        status = hf_future_wait(s->handle, "race", luck(state, 3), &value, NULL, NULL);
        expect(status == HF_OK || status == HF_TIMEOUT || status == HF_CANCELLED || status == HF_NOT_FOUND ||
                   status == HF_CLOSED || status == HF_CONFLICT || status == HF_INVALID_HANDLE,
               "waiting answers so", status);
        break;
    default:
        if (luck(state, 8) == 0)
            hf_future_free(s->handle);
        else
            hf_future_is_ended(s->handle);
    }
    hf_entity_free(&value);
}

static void reopen(size_t n) {
    if (pthread_mutex_trylock(&reopening) != 0)
        return;
    hf_repository_free((hf_repository *)atomic_exchange(&repositories[n], 0));
    hf_store_free((hf_store *)atomic_exchange(&stores[n], 0));
    hf_store *store = NULL;
    hf_repository *things = NULL;
    expect(hf_store_open("memory:", options[n], &store, NULL) == HF_OK, "a store opens", HF_OK);
    expect(hf_repository_open(store, "things", NULL, &things, NULL) == HF_OK, "a repository opens", HF_OK);
    atomic_store(&repositories[n], (uintptr_t)things);
    atomic_store(&stores[n], (uintptr_t)store);
    atomic_fetch_add(&reopened, 1);
    pthread_mutex_unlock(&reopening);
}

static void *work(void *argument) {
    uint64_t state = (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&stop)) {
        size_t slot = luck(&state, SLOTS);
        shared *s = atomic_load(&slots[slot]);
        uint32_t what = luck(&state, 2000);
        if (what == 0)
            reopen(luck(&state, STORES));
        else if (s == NULL || what < 300)
            replace(&state, slot);
        else
            use(&state, s);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int seconds = argc >= 2 ? atoi(argv[1]) : 0;
    uint64_t seed = argc == 3 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    if (seconds < 1 || argc > 3)
        return fprintf(stderr, "usage: %s <seconds> [seed]\n", argv[0]), 2;
    alarm((unsigned)seconds + LATEST_SECONDS);
    for (size_t n = 0; n < STORES; n++)
        reopen(n);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work,
                       (void *)(uintptr_t)((seed + 1) * UINT64_C(0x9E3779B97F4A7C15) + i + 1));
    sleep((unsigned)seconds);
    atomic_store(&stop, 1);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t n = 0; n < STORES; n++) {
        hf_repository_free((hf_repository *)atomic_load(&repositories[n]));
        hf_store_free((hf_store *)atomic_load(&stores[n]));
    }
    for (shared *s = atomic_load(&all), *next; s != NULL; s = next) {
        next = s->next;
        hf_future_free(s->handle);
        free(s);
    }
    /* The callback thread that belongs to no store may have some to tell yet. */
    for (int i = 0; i < 1000 && hf_handle_count(NULL) + tickets_made - tickets_freed > 0; i++)
        usleep(10000);
    expect(hf_handle_count(NULL) == 0, "no handle is left", HF_OK);
    expect(tickets_freed == tickets_made, "every user_data is freed", HF_OK);
    printf("futures: %lu calls, %lu observers told, %lu stores opened, seed %llu: %d wrong\n", calls, told,
           reopened, (unsigned long long)seed, wrong);
    return wrong > 0;
}
