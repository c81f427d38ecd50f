/*
 * Handles: the bytes are a program of calls, with handles that are live, freed, of another kind, of another
 * store, NULL, or invented.
 *
 * A handle that is not live is refused and touches nothing. Whatever was called in whatever order, at the end
 * each destructor has run once, each accepted commit was told once, and no handle is left.
 */
#include "outcome.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum kind { STORE, REPOSITORY, TRANSACTION, ERROR, KINDS } kind;
enum { PLACES = 6, CALLS = 64, DEPTH = 2 };

/* The handles that the program has had, the newest in place of the oldest. */
typedef struct place {
    void *handle;
    bool is_live;
} place;

static place places[KINDS][PLACES];
static size_t next[KINDS];
static input program;
static int depth;
static char path[64];
static atomic_size_t submitted, accepted, told, ended;

static bool is_live(kind kind, const void *handle) {
    for (size_t i = 0; i < PLACES; i++)
        if (places[kind][i].is_live && places[kind][i].handle == handle)
            return true;
    return false;
}

static void release(kind kind, void *handle) {
    for (size_t i = 0; i < PLACES; i++)
        if (places[kind][i].handle == handle)
            places[kind][i].is_live = false;
    switch (kind) {
    case STORE:
        hf_store_free(handle);
        break;
    case REPOSITORY:
        hf_repository_free(handle);
        break;
    case TRANSACTION:
        hf_transaction_free(handle);
        break;
    default:
        hf_error_free(handle);
    }
}

static void remember(kind kind, void *handle) {
    if (handle == NULL)
        return;
    place *place = &places[kind][next[kind]++ % PLACES];
    if (place->is_live)
        release(kind, place->handle);
    *place = (struct place){handle, true};
}

static void *pick(kind kind) {
    uint8_t how = take(&program);
    void *near = places[kind][how / 16 % PLACES].handle;
    switch (how % 16) {
    case 0:
        return NULL;
    case 1:
        return places[(kind + 1 + how / 64) % KINDS][how / 16 % PLACES].handle;
    case 2:
        return (void *)(uintptr_t)take_number(&program);
    case 3:
        return (void *)((uintptr_t)near ^ (uintptr_t)1 << choose(&program, 64));
    case 4:
        return &places;
    default:
        return near;
    }
}

/* --- Calls ---------------------------------------------------------------------------------------- */

/* What the call answered, where these handles were its own; keeps the error. */
static hf_status answered(const char *call, hf_status status, hf_error *error, bool are_live) {
    bool is_refused = status == HF_INVALID_HANDLE || status == HF_INVALID_ARGUMENT || status == HF_FORKED;
    if (!are_live && !is_refused)
        fail("%s answered %s with a handle that is none", call, hf_status_name(status));
    if (error != NULL && (hf_error_status(error) != status || hf_error_message(error)[0] == '\0'))
        fail("%s: the error is another than the status", call);
    remember(ERROR, error);
    return status;
}

#define WITH(live, function, ...)                                                                            \
    ({                                                                                                       \
        hf_error *error_ = NULL;                                                                             \
        hf_status status_ = function(__VA_ARGS__, &error_);                                                  \
        answered(#function, status_, error_, live);                                                          \
    })

static void on_done(const hf_event *event, void *user_data) {
    (void)user_data;
    if ((event->status == HF_OK) != (event->error == NULL))
        fail("an event contradicts itself");
    told++;
}

static void on_end(void *user_data) {
    (void)user_data;
    ended++;
}

static void run(size_t calls);

static hf_status body(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)user_data;
    remember(TRANSACTION, transaction);
    depth++;
    run(4);
    depth--;
    for (size_t i = 0; i < PLACES; i++)
        if (places[TRANSACTION][i].handle == transaction)
            places[TRANSACTION][i].is_live = false;
    return (hf_status)(take(&program) % 3 == 0 ? take(&program) : HF_OK);
}

static void call_store(void) {
    static const char *const options[] = {NULL, "{\"delivery\":\"queue\"}",
                                          "{\"delivery\":\"queue\",\"max_in_flight\":2}",
                                          "{\"max_in_flight\":1,\"max_snapshots\":1}"};
    hf_store *store = NULL;
    hf_repository *repository = NULL;
    hf_transaction *transaction = NULL;
    hf_buffer buffer = HF_BUFFER_INIT;
    hf_event events[4];
    int descriptor;
    uint8_t which = take(&program) % 16;
    if (which < 2) {
        bool is_file = take(&program) % 8 == 0;
        (void)WITH(true, hf_store_open, is_file ? path : "memory:", options[choose(&program, 4)], &store);
        remember(STORE, store);
        return;
    }
    store = pick(STORE);
    bool live = is_live(STORE, store);
    switch (which) {
    case 2:
    case 3:
    case 4:
        (void)WITH(live, hf_repository_open, store, choose(&program, 2) ? "a" : "b", NULL, &repository);
        remember(REPOSITORY, repository);
        break;
    case 5:
    case 6:
    case 7:
        (void)WITH(live, hf_transaction_begin, store, choose(&program, 4) ? NULL : "{\"timeout_ms\":0}",
                   &transaction);
        remember(TRANSACTION, transaction);
        break;
    case 8:
        (void)WITH(live, hf_store_describe, store, &buffer);
        break;
    case 9:
        (void)WITH(live, hf_store_sync, store);
        break;
    case 10: {
        int32_t count = hf_store_events(store, choose(&program, 8) ? events : NULL, choose(&program, 5), 0);
        if (!live && count >= 0)
            fail("events of no store");
        for (int32_t i = 0; i < count; i++)
            told += events[i].callback != NULL;
        hf_events_free(events, count > 0 ? (size_t)count : 0);
        break;
    }
    case 11:
        (void)WITH(live, hf_store_event_fd, store, &descriptor);
        break;
    case 12:
        if (depth < DEPTH)
            (void)WITH(live, hf_store_transact, store, body, NULL, "{\"max_attempts\":2}", &buffer);
        break;
    case 13:
        (void)WITH(live, hf_store_close, store, choose(&program, 2) ? -1 : 0);
        break;
    default:
        if (live)
            release(STORE, store);
        else
            hf_store_free(store);
    }
    hf_buffer_free(&buffer);
}

static void call_transaction(void) {
    hf_transaction *transaction = pick(TRANSACTION);
    bool live = is_live(TRANSACTION, transaction);
    uint64_t savepoint = 0;
    hf_transaction_state state;
    switch (take(&program) % 8) {
    case 0:
        (void)WITH(live, hf_transaction_commit, transaction, NULL);
        break;
    case 1:
        submitted++;
        accepted += WITH(live, hf_transaction_submit, transaction, on_done, NULL, on_end) == HF_OK;
        break;
    case 2:
        (void)WITH(live, hf_transaction_cancel, transaction);
        break;
    case 3:
        (void)WITH(live, hf_transaction_rollback, transaction);
        break;
    case 4:
        (void)WITH(live, hf_transaction_savepoint, transaction, choose(&program, 8) ? &savepoint : NULL);
        break;
    case 5:
        (void)WITH(live, hf_transaction_rollback_to, transaction, take(&program));
        break;
    case 6:
        (void)WITH(live, hf_transaction_get_state, transaction, &state);
        break;
    default:
        if (live)
            release(TRANSACTION, transaction);
        else
            hf_transaction_free(transaction);
    }
}

static void call_repository(void) {
    static hf_entity entity = HF_ENTITY_INIT;
    static hf_entity_list list = HF_ENTITY_LIST_INIT;
    static const char *const ids[] = {"x", "y"};
    static const char *const entities[] = {"{\"id\":\"x\",\"n\":1}", "{\"id\":\"y\"}", "{}", "{"};
    hf_repository *r = pick(REPOSITORY);
    hf_transaction *t = choose(&program, 2) ? pick(TRANSACTION) : NULL;
    bool live = is_live(REPOSITORY, r) && (t == NULL || is_live(TRANSACTION, t));
    const char *id = ids[choose(&program, 2)], *text = entities[choose(&program, 4)];
    uint64_t version = take(&program) % 4, count;
    bool contains;
    switch (take(&program) % 18) {
    case 0:
        (void)WITH(live, hf_repository_add, r, t, text, HF_NTS, choose(&program, 2) ? &entity : NULL);
        break;
    case 1:
        (void)WITH(live, hf_repository_update, r, t, text, HF_NTS, version, &entity);
        break;
    case 2:
        (void)WITH(live, hf_repository_save, r, t, text, HF_NTS, &entity);
        break;
    case 3:
        (void)WITH(live, hf_repository_patch, r, t, id, 1, "{\"n\":2}", HF_NTS, version, &entity);
        break;
    case 4:
        (void)WITH(live, hf_repository_delete, r, t, id, 1, version);
        break;
    case 5:
        (void)WITH(live, hf_repository_add_many, r, t, "[{},{\"id\":\"x\"}]", HF_NTS, &list);
        break;
    case 6:
        (void)WITH(live, hf_repository_update_many, r, t, "[{\"id\":\"x\"}]", HF_NTS, &list);
        break;
    case 7:
        (void)WITH(live, hf_repository_save_many, r, t, "[{\"id\":\"y\"}]", HF_NTS, NULL);
        break;
    case 8:
        (void)WITH(live, hf_repository_patch_many, r, t, "[{\"id\":\"x\",\"m\":1}]", HF_NTS, &list);
        break;
    case 9:
        (void)WITH(live, hf_repository_delete_many, r, t, "[\"x\"]", HF_NTS);
        break;
    case 10:
        (void)WITH(live, hf_repository_delete_all, r, t, NULL, 0, NULL, &count);
        break;
    case 11:
        (void)WITH(live, hf_repository_fetch, r, t, id, 1, choose(&program, 8) ? &entity : NULL);
        break;
    case 12:
        (void)WITH(live, hf_repository_fetch_many, r, t, "[\"x\",\"y\"]", HF_NTS, &list);
        break;
    case 13:
        (void)WITH(live, hf_repository_fetch_all, r, t, &list);
        break;
    case 14:
        (void)WITH(live, hf_repository_find, r, t, "{\"n\":1}", HF_NTS, NULL, &list);
        break;
    case 15:
        (void)WITH(live, hf_repository_count, r, t, NULL, 0, NULL, &count);
        break;
    case 16:
        (void)WITH(live, hf_repository_contains, r, t, id, 1, &contains);
        break;
    default:
        if (is_live(REPOSITORY, r))
            release(REPOSITORY, r);
        else
            hf_repository_free(r);
    }
}

static void call_error(void) {
    hf_error *error = pick(ERROR);
    hf_status status = hf_error_status(error);
    size_t length;
    if (hf_error_message(error)[0] == '\0' || hf_error_detail(error, &length)[0] != '{')
        fail("an error that says nothing");
    /* An invented number may look like a handle of the process that forked this one. */
    if (!is_live(ERROR, error) && status != HF_INVALID_HANDLE && status != HF_FORKED)
        fail("%s of no error", hf_status_name(status));
    (void)hf_error_is_retryable(error);
    (void)hf_error_commit_state(error);
    remember(ERROR, hf_error_cause(error));
    if (choose(&program, 2) == 0)
        return;
    if (is_live(ERROR, error))
        release(ERROR, error);
    else
        hf_error_free(error);
}

static void run(size_t calls) {
    for (; calls > 0 && program.length > 0; calls--) {
        switch (take(&program) % 8) {
        case 0:
        case 1:
            call_store();
            break;
        case 2:
        case 3:
            call_transaction();
            break;
        case 4:
            call_error();
            break;
        default:
            call_repository();
        }
    }
}

/* --- One input ------------------------------------------------------------------------------------ */

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    snprintf(path, sizeof path, "%s/holdfast-fuzz-%d.db", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    return 0;
}

static void remove_files(void) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    char file[80];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
        unlink(file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    program = (input){data, size};
    size_t first = size > 0 ? data[0] % KINDS : 0; /* freed first */
    submitted = accepted = told = ended = 0;
    run(CALLS);
    for (size_t i = 0; i < KINDS * PLACES; i++) {
        place *place = &places[(i / PLACES + first) % KINDS][i % PLACES]; /* in any order */
        if (place->is_live)
            release((kind)((i / PLACES + first) % KINDS), place->handle);
    }
    memset(places, 0, sizeof places);
    if (hf_handle_count(NULL) != 0)
        fail("%zu handles are left", hf_handle_count(NULL));
    if (ended != submitted || told > accepted)
        fail("%zu destructors ran of %zu, %zu commits were told of %zu", (size_t)ended, (size_t)submitted,
             (size_t)told, (size_t)accepted);
    remove_files();
    return 0;
}
