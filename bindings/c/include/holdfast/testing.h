/*
 * Testing: what the tests of programs put in a storage's and a clock's place. Not a part of the library: all
 * of it is in this header, for any number of files of a test program, which links pthread.
 *
 *     hf_mock_storage *storage = hf_mock_storage_create();
 *     hf_provider provider = hf_mock_storage_provider(storage);
 *     hf_store_open_provider(&provider, NULL, &store, &error);
 *     hf_mock_storage_fail(storage, HF_MOCK_SAVE, 2, "the disk is full");
 *     ...
 *     assert(hf_mock_storage_count(storage, HF_MOCK_FETCH) == 1);
 *     hf_store_free(store);
 *     hf_mock_storage_free(storage);
 *
 * Under a store a mock is a provider. All else is what it is outside of tests: transactions, queries, the
 * cache, and how a commit is taken back that fails in the middle. Where a test needs a real store and no
 * file, one that is opened with "memory:" is that. Every function may be called from any thread, also by
 * several at once. Where memory is short a test program ends by abort.
 */
#ifndef HOLDFAST_TESTING_H
#define HOLDFAST_TESTING_H

#include <holdfast.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

HF_BEGIN_DECLS

/* --- A storage ---------------------------------------------------------------------------------------------
 */

/** What may be called of a storage: the four functions alone, so that several changes of a transaction are
 * several calls. */
typedef enum hf_mock_function {
    HF_MOCK_SAVE = 0,
    HF_MOCK_FETCH = 1,
    HF_MOCK_FETCH_ALL = 2,
    HF_MOCK_DELETE = 3,
    /** Any of them. */
    HF_MOCK_ANY = 4
} hf_mock_function;

typedef struct hf_mock_entity {
    char *repository, *id, *entity;
} hf_mock_entity;

typedef struct hf_mock_failure {
    hf_mock_function function;
    size_t call, seen;
    char *message;
} hf_mock_failure;

/** A storage in memory that counts its calls, and fails where it is told to. Its members are its own. */
typedef struct hf_mock_storage {
    pthread_mutex_t lock;
    hf_mock_entity *entities;
    size_t entity_count;
    hf_mock_failure *failures;
    size_t failure_count;
    size_t counts[HF_MOCK_ANY];
} hf_mock_storage;

static inline void *hf_mock_grown(void *memory, size_t size) {
    void *grown = realloc(memory, size);
    if (grown == NULL)
        abort();
    return grown;
}

static inline char *hf_mock_copy(const char *text, size_t length) {
    if (length == HF_NTS)
        length = strlen(text);
    char *copy = (char *)hf_mock_grown(NULL, length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static inline hf_mock_entity *hf_mock_find(hf_mock_storage *storage, const char *repository, const char *id) {
    for (size_t i = 0; i < storage->entity_count; i++) {
        hf_mock_entity *one = &storage->entities[i];
        if (strcmp(one->repository, repository) == 0 && strcmp(one->id, id) == 0)
            return one;
    }
    return NULL;
}

static inline void hf_mock_forget_entity(hf_mock_storage *storage, hf_mock_entity *one) {
    free(one->repository);
    free(one->id);
    free(one->entity);
    *one = storage->entities[--storage->entity_count];
}

static inline void hf_mock_set(hf_mock_storage *storage, const char *repository, const char *id,
                               const char *entity, size_t length) {
    hf_mock_entity *one = hf_mock_find(storage, repository, id);
    if (one == NULL) {
        size_t size = (storage->entity_count + 1) * sizeof *one;
        storage->entities = (hf_mock_entity *)hf_mock_grown(storage->entities, size);
        one = &storage->entities[storage->entity_count++];
        one->repository = hf_mock_copy(repository, HF_NTS);
        one->id = hf_mock_copy(id, HF_NTS);
    } else {
        free(one->entity);
    }
    one->entity = hf_mock_copy(entity, length);
}

/** Counts a call, which holds the lock until hf_mock_end, and answers what it is to fail with. */
static inline hf_status hf_mock_begin(hf_mock_storage *storage, hf_mock_function function,
                                      hf_error **out_error) {
    hf_status status = HF_OK;
    pthread_mutex_lock(&storage->lock);
    storage->counts[function]++;
    for (size_t i = 0; i < storage->failure_count; i++) {
        hf_mock_failure *failure = &storage->failures[i];
        if (failure->function != HF_MOCK_ANY && failure->function != function)
            continue;
        failure->seen++;
        if (status == HF_OK && (failure->call == 0 || failure->call == failure->seen)) {
            status = HF_HOST_ERROR;
            *out_error = hf_error_create(status, 0, failure->message);
        }
    }
    return status;
}

static inline hf_status hf_mock_end(hf_mock_storage *storage, hf_status status) {
    pthread_mutex_unlock(&storage->lock);
    return status;
}

static inline hf_status hf_mock_save(const char *repository, const char *id, size_t id_length,
                                     const char *entity, size_t length, void *user_data,
                                     hf_error **out_error) {
    hf_mock_storage *storage = (hf_mock_storage *)user_data;
    hf_status status = hf_mock_begin(storage, HF_MOCK_SAVE, out_error);
    (void)id_length;
    if (status == HF_OK)
        hf_mock_set(storage, repository, id, entity, length);
    return hf_mock_end(storage, status);
}

static inline hf_status hf_mock_fetch(const char *repository, const char *id, size_t id_length,
                                      hf_buffer *out_entity, void *user_data, hf_error **out_error) {
    hf_mock_storage *storage = (hf_mock_storage *)user_data;
    hf_status status = hf_mock_begin(storage, HF_MOCK_FETCH, out_error);
    (void)id_length;
    if (status == HF_OK) {
        hf_mock_entity *one = hf_mock_find(storage, repository, id);
        if (one == NULL)
            status = HF_NOT_FOUND;
        else if (!hf_buffer_set(out_entity, one->entity, HF_NTS))
            status = HF_NO_MEMORY;
    }
    return hf_mock_end(storage, status);
}

static inline hf_status hf_mock_fetch_all(const char *repository, hf_provider_visit_fn visit, void *visitor,
                                          void *user_data, hf_error **out_error) {
    hf_mock_storage *storage = (hf_mock_storage *)user_data;
    hf_status status = hf_mock_begin(storage, HF_MOCK_FETCH_ALL, out_error);
    for (size_t i = 0; status == HF_OK && i < storage->entity_count; i++) {
        hf_mock_entity *one = &storage->entities[i];
        if (strcmp(one->repository, repository) == 0 && !visit(one->id, HF_NTS, one->entity, HF_NTS, visitor))
            break;
    }
    return hf_mock_end(storage, status);
}

static inline hf_status hf_mock_delete(const char *repository, const char *id, size_t id_length,
                                       void *user_data, hf_error **out_error) {
    hf_mock_storage *storage = (hf_mock_storage *)user_data;
    hf_status status = hf_mock_begin(storage, HF_MOCK_DELETE, out_error);
    hf_mock_entity *one = hf_mock_find(storage, repository, id);
    (void)id_length;
    if (status == HF_OK && one != NULL)
        hf_mock_forget_entity(storage, one);
    return hf_mock_end(storage, status);
}

/** Makes a storage without entities, to be freed with hf_mock_storage_free. Never NULL. */
static inline hf_mock_storage *hf_mock_storage_create(void) {
    hf_mock_storage *storage = (hf_mock_storage *)calloc(1, sizeof *storage);
    if (storage == NULL || pthread_mutex_init(&storage->lock, NULL) != 0)
        abort();
    return storage;
}

/** The provider for hf_store_open_provider, with the storage as its user_data; it has to last until that
 * store is closed, and may be given to another one then. */
static inline hf_provider hf_mock_storage_provider(hf_mock_storage *storage) {
    hf_provider provider = HF_PROVIDER_INIT;
    provider.user_data = storage;
    provider.on_save = hf_mock_save;
    provider.on_fetch = hf_mock_fetch;
    provider.on_fetch_all = hf_mock_fetch_all;
    provider.on_delete = hf_mock_delete;
    return provider;
}

/** How often the function was called, calls that failed included. */
static inline size_t hf_mock_storage_count(hf_mock_storage *storage, hf_mock_function function) {
    size_t count = 0;
    pthread_mutex_lock(&storage->lock);
    for (int i = 0; i < HF_MOCK_ANY; i++)
        count += function == HF_MOCK_ANY || (int)function == i ? storage->counts[i] : 0;
    pthread_mutex_unlock(&storage->lock);
    return count;
}

/**
 * Plans that calls of the function fail, with HF_HOST_ERROR and this message for the store.
 *
 * call: which of them from now on, the first being 1; 0 for all. message: NUL-terminated, copied.
 */
static inline void hf_mock_storage_fail(hf_mock_storage *storage, hf_mock_function function, size_t call,
                                        const char *message) {
    pthread_mutex_lock(&storage->lock);
    size_t size = (storage->failure_count + 1) * sizeof *storage->failures;
    storage->failures = (hf_mock_failure *)hf_mock_grown(storage->failures, size);
    hf_mock_failure *failure = &storage->failures[storage->failure_count++];
    failure->function = function;
    failure->call = call;
    failure->seen = 0;
    failure->message = hf_mock_copy(message, HF_NTS);
    pthread_mutex_unlock(&storage->lock);
}

/** Puts an entity there behind the store's back, which counts as no call; NULL takes it away. All texts are
 * NUL-terminated and copied. */
static inline void hf_mock_storage_put(hf_mock_storage *storage, const char *repository, const char *id,
                                       const char *entity) {
    pthread_mutex_lock(&storage->lock);
    hf_mock_entity *one = hf_mock_find(storage, repository, id);
    if (entity != NULL)
        hf_mock_set(storage, repository, id, entity, HF_NTS);
    else if (one != NULL)
        hf_mock_forget_entity(storage, one);
    pthread_mutex_unlock(&storage->lock);
}

/** What is stored there, which counts as no call: a copy, to be given to free, or NULL where there is
 * nothing. */
static inline char *hf_mock_storage_get(hf_mock_storage *storage, const char *repository, const char *id) {
    pthread_mutex_lock(&storage->lock);
    hf_mock_entity *one = hf_mock_find(storage, repository, id);
    char *entity = one == NULL ? NULL : hf_mock_copy(one->entity, HF_NTS);
    pthread_mutex_unlock(&storage->lock);
    return entity;
}

/** Forgets the counts and what is to fail, and takes every entity away. */
static inline void hf_mock_storage_reset(hf_mock_storage *storage) {
    pthread_mutex_lock(&storage->lock);
    while (storage->entity_count > 0)
        hf_mock_forget_entity(storage, storage->entities);
    while (storage->failure_count > 0)
        free(storage->failures[--storage->failure_count].message);
    memset(storage->counts, 0, sizeof storage->counts);
    pthread_mutex_unlock(&storage->lock);
}

/** Frees a storage whose store is closed. NULL is allowed. */
static inline void hf_mock_storage_free(hf_mock_storage *storage) {
    if (storage == NULL)
        return;
    hf_mock_storage_reset(storage);
    free(storage->entities);
    free(storage->failures);
    pthread_mutex_destroy(&storage->lock);
    free(storage);
}

/* --- A clock -----------------------------------------------------------------------------------------------
 */

/**
 * A clock that stands still until it is told otherwise, for what expires:
 *
 *     hf_mock_clock clock = HF_MOCK_CLOCK_INIT;
 *     hf_store_set_clock(store, hf_mock_clock_now, &clock, NULL, &error);
 *     hf_mock_clock_advance(&clock, 300000);
 */
typedef struct hf_mock_clock {
    pthread_mutex_t lock;
    uint64_t nanoseconds;
} hf_mock_clock;

#define HF_MOCK_CLOCK_INIT                                                                                   \
    { PTHREAD_MUTEX_INITIALIZER, 0 }

/** The function for hf_store_set_clock; user_data: the clock, which has to last until the store is closed or
 * has another one. */
static inline uint64_t hf_mock_clock_now(void *user_data) {
    hf_mock_clock *clock = (hf_mock_clock *)user_data;
    pthread_mutex_lock(&clock->lock);
    uint64_t now = clock->nanoseconds;
    pthread_mutex_unlock(&clock->lock);
    return now;
}

/** Lets time pass. */
static inline void hf_mock_clock_advance(hf_mock_clock *clock, uint64_t milliseconds) {
    pthread_mutex_lock(&clock->lock);
    clock->nanoseconds += milliseconds * 1000000;
    pthread_mutex_unlock(&clock->lock);
}

HF_END_DECLS

#endif
