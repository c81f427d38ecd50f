#include "every_function.h"

#include <string.h>

void free_results(results *r) {
    hf_entity_free(&r->entity);
    hf_entity_list_free(&r->list);
    hf_buffer_free(&r->buffer);
}

#define THING "{\"id\":\"a\",\"n\":1}"

#define CALL(name, ...)                                                                                      \
    static hf_status call_##name(handles h, results *r, hf_error **e) {                                      \
        (void)r;                                                                                             \
        return hf_##name(__VA_ARGS__, e);                                                                    \
    }

#define SAVE_THING "{\"operation\":\"save\",\"repository\":\"things\",\"entity\":" THING "}"

static hf_status answer_nothing(hf_transaction *transaction, hf_buffer *result, void *user_data,
                                hf_error **out_error) {
    (void)out_error;
    (void)transaction;
    (void)result;
    (void)user_data;
    return HF_OK;
}

static hf_status save_thing(hf_transaction *transaction, void *repository, hf_error **out_error) {
    (void)out_error;
    return hf_repository_save(repository, transaction, THING, HF_NTS, NULL, NULL);
}

static hf_status call_repository_open(handles h, results *r, hf_error **e) {
    (void)r;
    hf_repository *out = NULL;
    hf_status status = hf_repository_open(h.store, "others",
                                          "{\"cache\":{\"max_entries\":2,\"time_to_live_ms\":1}}", &out, e);
    hf_repository_free(out);
    return status;
}

static hf_status call_cursor_open(handles h, results *r, hf_error **e) {
    hf_cursor *out = NULL;
    hf_status status = hf_cursor_open(h.repository, h.transaction, "{\"n\":1}", HF_NTS, NULL, &out, e);
    if (status == HF_OK)
        status = hf_cursor_next(out, 0, &r->list, e);
    hf_cursor_free(out);
    return status;
}

#define CALL_MAKING(name, ...)                                                                               \
    static hf_status call_operation_##name(handles h, results *r, hf_error **e) {                            \
        (void)r;                                                                                             \
        hf_operation *out = NULL;                                                                            \
        hf_status status = hf_operation_##name(__VA_ARGS__, &out, e);                                        \
        hf_operation_free(out);                                                                              \
        return status;                                                                                       \
    }

CALL_MAKING(create, h.store, SAVE_THING, HF_NTS)
CALL_MAKING(create_on, h.store, "{\"operation\":\"save\",\"repository\":0,\"entity\":" THING "}", HF_NTS,
            &h.repository, 1)
CALL_MAKING(create_get, h.store, "things", "a", HF_NTS)
CALL_MAKING(create_put, h.store, "things", "a", HF_NTS, "1", HF_NTS)
CALL_MAKING(create_remove, h.store, "things", "a", HF_NTS)
CALL_MAKING(create_function, h.store, answer_nothing, NULL, NULL, NULL)

/* The operation is made of the handles' store, so that both are of one. */
static hf_status with_operation(handles h, results *r, hf_error **e,
                                hf_status (*call)(hf_operation *, handles, results *, hf_error **)) {
    hf_operation *operation = NULL;
    hf_status status = hf_operation_create(h.store, SAVE_THING, HF_NTS, &operation, e);
    if (status == HF_OK)
        status = call(operation, h, r, e);
    hf_operation_free(operation);
    return status;
}

#define CALL_OPERATION(name, ...)                                                                            \
    static hf_status name(hf_operation *operation, handles h, results *r, hf_error **e) {                    \
        (void)r;                                                                                             \
        return hf_operation_##name(operation, h.transaction, __VA_ARGS__, e);                                \
    }                                                                                                        \
    static hf_status call_operation_##name(handles h, results *r, hf_error **e) {                            \
        return with_operation(h, r, e, name);                                                                \
    }

CALL_OPERATION(perform, &r->entity, &r->buffer)
CALL_OPERATION(submit, NULL, NULL, NULL, NULL)
CALL_OPERATION(subscribe, NULL, NULL, NULL, NULL)

static hf_status start(hf_operation *operation, handles h, results *r, hf_error **e) {
    (void)r;
    hf_future *future = NULL;
    hf_status status = hf_operation_start(operation, h.transaction, &future, e);
    if (status == HF_OK)
        hf_future_cancel(future, NULL);
    hf_future_free(future);
    return status;
}

static hf_status call_operation_start(handles h, results *r, hf_error **e) {
    return with_operation(h, r, e, start);
}

static hf_status call_transaction_submit_future(handles h, results *r, hf_error **e) {
    (void)r;
    hf_future *future = NULL;
    hf_status status = hf_transaction_submit_future(h.transaction, &future, e);
    hf_future_free(future);
    return status;
}

static hf_status call_transaction_retry(handles h, results *r, hf_error **e) {
    (void)r;
    hf_transaction *next = NULL;
    hf_future *turn = NULL;
    hf_status status = hf_transaction_retry(h.transaction, NULL, &next, &turn, e);
    hf_future_free(turn);
    hf_transaction_free(next);
    return status;
}

static hf_status call_transaction_begin(handles h, results *r, hf_error **e) {
    (void)r;
    hf_transaction *out = NULL;
    hf_status status = hf_transaction_begin(h.store, NULL, &out, e);
    hf_transaction_free(out);
    return status;
}

/* With an answer that nobody looks at. */
#define ANSWERING(name, type, ...)                                                                           \
    static hf_status call_##name(handles h, results *r, hf_error **e) {                                      \
        (void)r;                                                                                             \
        type answer;                                                                                         \
        return hf_##name(__VA_ARGS__, &answer, e);                                                           \
    }

static hf_status call_store_event_fd(handles h, results *r, hf_error **e) {
    (void)r;
    int descriptor = -1;
    return hf_store_event_fd(h.store, &descriptor, e);
}

static hf_status call_store_wake(handles h, results *r, hf_error **e) {
    (void)r;
    return hf_store_wake(h.store, e);
}

static hf_status call_store_events(handles h, results *r, hf_error **e) {
    (void)r;
    hf_event events[4];
    int32_t taken = hf_store_events(h.store, events, 4, 0);
    *e = NULL;
    if (taken < 0) {
        return (hf_status)-taken;
    }
    hf_events_free(events, (size_t)taken);
    return HF_OK;
}

ANSWERING(transaction_savepoint, uint64_t, h.transaction)

ANSWERING(transaction_get_state, hf_transaction_state, h.transaction)

static hf_status call_repository_delete_all(handles h, results *r, hf_error **e) {
    (void)r;
    uint64_t n;
    return hf_repository_delete_all(h.repository, h.transaction, "{\"n\":2}", HF_NTS, NULL, &n, e);
}

static hf_status call_repository_modify_all(handles h, results *r, hf_error **e) {
    (void)r;
    uint64_t n;
    return hf_repository_modify_all(h.repository, h.transaction, "{\"n\":2}", HF_NTS, "{\"$inc\":{\"m\":1}}",
                                    HF_NTS, NULL, &n, NULL, e);
}

static void see(const char *action, size_t action_length, const char *state, size_t state_length,
                void *user_data) {
    (void)action, (void)action_length, (void)state, (void)state_length, (void)user_data;
}

/* Made, used and freed with what it has begun under way. */
static hf_status call_controller_create(handles h, results *r, hf_error **e) {
    hf_controller *out = NULL;
    hf_status status = hf_controller_create(h.repository, see, NULL, NULL, NULL, &out, e);
    if (status == HF_OK)
        status = hf_controller_dispatch(out, "{\"action\":\"request\"}", HF_NTS, e);
    if (status == HF_OK)
        status = hf_controller_dispatch(out, "{\"action\":\"save\",\"element\":" THING "}", HF_NTS, e);
    if (status == HF_OK)
        status = hf_controller_state(out, &r->buffer, e);
    hf_controller_free(out);
    return status;
}

ANSWERING(repository_count, uint64_t, h.repository, h.transaction, NULL, 0, NULL)

ANSWERING(repository_exists, bool, h.repository, h.transaction, "{\"n\":2}", HF_NTS, NULL)

static bool is_meant(const hf_entity_view *entity, void *user_data) {
    (void)user_data;
    return entity->length > 2;
}

ANSWERING(repository_contains, bool, h.repository, h.transaction, "a", 1)

CALL(store_close, h.store, 0)
CALL(store_sync, h.store)
CALL(store_describe, h.store, &r->buffer)
CALL(store_repositories, h.store, &r->buffer)
CALL(repository_name, h.repository, &r->buffer)
CALL(store_drop, h.store, "scratch")
CALL(store_rename, h.store, "scratch", "scratched")
CALL(store_transact, h.store, save_thing, h.repository, NULL, &r->buffer)
CALL(transaction_commit, h.transaction, &r->buffer)
CALL(transaction_submit, h.transaction, NULL, NULL, NULL)
CALL(transaction_cancel, h.transaction)
CALL(transaction_rollback, h.transaction)
CALL(transaction_rollback_to, h.transaction, 1)
CALL(transaction_release, h.transaction, 1)

ANSWERING(transaction_begin_scope, uint64_t, h.transaction, 0)

CALL(transaction_end_scope, h.transaction, 1, true)
CALL(repository_add, h.repository, h.transaction, THING, HF_NTS, &r->entity)
CALL(repository_update, h.repository, h.transaction, THING, HF_NTS, 0, &r->entity)
CALL(repository_save, h.repository, h.transaction, THING, HF_NTS, &r->entity)
CALL(repository_patch, h.repository, h.transaction, "a", 1, "{\"n\":2}", HF_NTS, 0, &r->entity)
CALL(repository_modify, h.repository, h.transaction, "a", 1, "{\"$inc\":{\"n\":1}}", HF_NTS, NULL, 0, 0,
     &r->entity)
CALL(repository_delete, h.repository, h.transaction, "a", 1, 0)
CALL(repository_add_many, h.repository, h.transaction, "[" THING "]", HF_NTS, &r->list)
CALL(repository_update_many, h.repository, h.transaction, "[" THING "]", HF_NTS, &r->list)
CALL(repository_save_many, h.repository, h.transaction, "[" THING ",{\"id\":\"b\"}]", HF_NTS, &r->list)
CALL(repository_patch_many, h.repository, h.transaction, "[{\"id\":\"a\",\"n\":3}]", HF_NTS, &r->list)
CALL(repository_delete_many, h.repository, h.transaction, "[\"b\"]", HF_NTS)
CALL(repository_fetch, h.repository, h.transaction, "a", 1, &r->entity)
CALL(repository_fetch_many, h.repository, h.transaction, "[\"a\",\"b\"]", HF_NTS, &r->list)
CALL(repository_fetch_all, h.repository, h.transaction, &r->list)
CALL(repository_create_index, h.repository, "{\"fields\":{\"n\":1}}", NULL, NULL)
CALL(repository_drop_index, h.repository, "n")
CALL(repository_indexes, h.repository, &r->buffer)
CALL(repository_explain, h.repository, h.transaction, "{\"n\":1}", HF_NTS, NULL, &r->buffer)
CALL(repository_aggregate, h.repository, h.transaction, "[{\"$count\":\"n\"}]", HF_NTS, NULL, &r->buffer)
CALL(repository_explain_aggregate, h.repository, h.transaction, "[]", HF_NTS, NULL, &r->buffer)
CALL(repository_verify, h.repository, &r->buffer)
CALL(repository_find, h.repository, h.transaction, "{\"n\":1}", HF_NTS, "{\"limit\":3}", &r->list)
CALL(repository_find_if, h.repository, h.transaction, is_meant, NULL, NULL, &r->list)
CALL(repository_first, h.repository, h.transaction, "{\"n\":1}", HF_NTS, "{\"sort\":{\"n\":1}}", &r->entity)
CALL(repository_distinct, h.repository, h.transaction, "n", NULL, 0, NULL, &r->buffer)

static void hear(const uint8_t *descriptor, void *user_data) { (void)descriptor, (void)user_data; }

/* A tree of two, of which one is freed at once and the other when the transaction was asked about it. */
static hf_status call_transaction_enlist(handles h, results *r, hf_error **e) {
    (void)r;
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_begin = callbacks.on_commit = callbacks.on_rollback = hear;
    hf_participant *root = NULL, *leaf = NULL;
    hf_status status = hf_participant_create(NULL, &callbacks, NULL, NULL, &root, e);
    if (status == HF_OK)
        status = hf_participant_create(root, &callbacks, NULL, NULL, &leaf, e);
    if (status == HF_OK)
        status = hf_transaction_enlist(h.transaction, leaf, e);
    hf_participant_free(root);
    bool is_active = false;
    hf_participant_active(leaf, &is_active, NULL, NULL);
    hf_participant_free(leaf);
    return status;
}

CALL(transaction_validate, h.transaction)

static hf_status accept(hf_transaction *t, const char *id, size_t id_length, const char *entity,
                        size_t length, void *user_data, hf_error **e) {
    (void)t, (void)id, (void)id_length, (void)entity, (void)length, (void)user_data, (void)e;
    return HF_OK;
}

/* Every second time none is set. */
static hf_status call_repository_set_validator(handles h, results *r, hf_error **e) {
    static unsigned calls;
    (void)r;
    bool is_set = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 2 == 0;
    return hf_repository_set_validator(h.repository, is_set ? accept : NULL, NULL, NULL, e);
}

CALL(repository_invalidate_cache, h.repository, "a", HF_NTS)
CALL(repository_trim_cache, h.repository, HF_TRIM_WARNING)
CALL(repository_cache_statistics, h.repository, &r->buffer)

static uint64_t tick(void *user_data) {
    static uint64_t now;
    (void)user_data;
    return __atomic_add_fetch(&now, 1000, __ATOMIC_RELAXED);
}

/* Every second time it is the system's. */
static hf_status call_store_set_clock(handles h, results *r, hf_error **e) {
    static unsigned calls;
    (void)r;
    bool is_set = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 2 == 0;
    return hf_store_set_clock(h.store, is_set ? tick : NULL, NULL, NULL, e);
}

/* Where no file can be, so that nothing is left behind. */
CALL(store_backup, h.store, "/dev/null/backup", NULL, NULL, &r->buffer)
CALL(store_verify, h.store, NULL, NULL, &r->buffer)
CALL(store_compact, h.store, &r->buffer)
CALL(store_import_table, h.store, "/dev/null/other.db", "things", NULL, NULL, NULL, &r->buffer)

static hf_status take_lines(const char *bytes, size_t length, void *user_data, hf_error **out_error) {
    (void)bytes, (void)length, (void)user_data, (void)out_error;
    return HF_OK;
}

static int64_t give_lines(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    static const char line[] = "{\"id\":\"imported\"}\n";
    size_t *given = user_data;
    if (*given > 0 || capacity < sizeof line)
        return 0;
    memcpy(buffer, line, sizeof line - 1);
    return (int64_t)(*given = sizeof line - 1);
}

CALL(store_export, h.store, NULL, take_lines, NULL, NULL, &r->buffer)

static hf_status call_store_import(handles h, results *r, hf_error **e) {
    size_t given = 0;
    return hf_store_import(h.store, "{\"existing\":\"replace\",\"repository\":\"things\"}", give_lines, NULL,
                           &given, &r->buffer, e);
}

static hf_status upgrade_nothing(hf_transaction *transaction, int64_t from, int64_t to, void *user_data,
                                 hf_error **out_error) {
    (void)out_error;
    (void)transaction, (void)from, (void)to, (void)user_data;
    return HF_OK;
}

CALL(store_upgrade, h.store, 3, upgrade_nothing, "{\"backup\":false}", NULL, NULL, &r->buffer)

static hf_status call_store_schema_version(handles h, results *r, hf_error **e) {
    (void)r;
    int64_t version;
    return hf_store_schema_version(h.store, &version, e);
}

static hf_status call_stream_open(handles h, results *r, hf_error **e) {
    (void)r;
    hf_stream *stream = NULL;
    hf_status status =
        hf_stream_open(h.store, "{\"durable\":\"every\",\"old\":true}", NULL, NULL, NULL, &stream, e);
    if (status == HF_OK) {
        hf_buffer position = HF_BUFFER_INIT;
        if (hf_store_position(h.store, &position, NULL) == HF_OK)
            hf_stream_acknowledge(stream, position.data, NULL);
        hf_buffer_free(&position);
    }
    hf_stream_free(stream);
    return status;
}

#define LIVE(name, text, length)                                                                             \
    static hf_status call_##name(handles h, results *r, hf_error **e) {                                      \
        (void)r;                                                                                             \
        hf_stream *stream = NULL;                                                                            \
        hf_status status = hf_##name(h.repository, text, length, NULL, NULL, NULL, NULL, &stream, e);        \
        hf_stream_free(stream);                                                                              \
        return status;                                                                                       \
    }
LIVE(stream_open_query, NULL, 0)
LIVE(stream_open_aggregate, "[]", HF_NTS)
CALL(store_changes_since, h.store, NULL, NULL, &r->buffer)
CALL(store_position, h.store, &r->buffer)
/* What handles and stores can answer at any call. */
#define ANY (STATUS(HF_OK) | STATUS(HF_INVALID_HANDLE) | STATUS(HF_FORKED))
#define CLOSED (ANY | STATUS(HF_CLOSED))
/* What a commit can answer where the storage does not fail. */
#define COMMIT (CLOSED | STATUS(HF_CONFLICT) | STATUS(HF_TIMEOUT))
/* What a transaction's call answers when another thread has ended it, or is just having it validated. */
#define ENDED (STATUS(HF_INVALID_STATE) | STATUS(HF_REENTRANT))
/* A transaction's call, which meets a conflict when its snapshot was taken back. */
#define READ (CLOSED | ENDED | STATUS(HF_CONFLICT))
#define WRITE (COMMIT | ENDED)
#define MISSING STATUS(HF_NOT_FOUND)
#define TAKEN STATUS(HF_EXISTS)

#define ENTRY(name, roles, statuses)                                                                         \
    { "hf_" #name, call_##name, roles, statuses }
#define REPOSITORY_ENTRY(name, statuses) ENTRY(repository_##name, REPOSITORY | TRANSACTION, statuses)

const function functions[] = {
    ENTRY(store_close, STORE, ANY | STATUS(HF_TIMEOUT)),
    ENTRY(store_sync, STORE, CLOSED),
    ENTRY(store_events, STORE, CLOSED | STATUS(HF_INVALID_ARGUMENT)),
    ENTRY(store_wake, STORE, ANY | STATUS(HF_UNSUPPORTED)),
    ENTRY(store_event_fd, STORE, ANY | STATUS(HF_UNSUPPORTED)),
    ENTRY(store_describe, STORE, CLOSED),
    ENTRY(store_repositories, STORE, CLOSED),
    ENTRY(store_drop, STORE, COMMIT | MISSING),
    ENTRY(store_rename, STORE, COMMIT | MISSING | TAKEN),
    ENTRY(store_transact, STORE, COMMIT),
    ENTRY(repository_open, STORE, COMMIT),
    ENTRY(repository_name, REPOSITORY, ANY),
    ENTRY(transaction_begin, STORE, CLOSED),
    ENTRY(transaction_commit, TRANSACTION, COMMIT | ENDED),
    ENTRY(transaction_submit, TRANSACTION, READ | STATUS(HF_BUSY)),
    ENTRY(transaction_submit_future, TRANSACTION, READ | STATUS(HF_BUSY)),
    ENTRY(transaction_retry, TRANSACTION, CLOSED | STATUS(HF_INVALID_STATE)),
    ENTRY(operation_create, STORE, ANY),
    ENTRY(operation_create_on, STORE | REPOSITORY, ANY),
    ENTRY(operation_create_get, STORE, ANY),
    ENTRY(operation_create_put, STORE, ANY),
    ENTRY(operation_create_remove, STORE, ANY),
    ENTRY(operation_create_function, STORE, ANY),
    ENTRY(operation_perform, STORE | TRANSACTION, COMMIT | ENDED),
    ENTRY(operation_start, STORE | TRANSACTION, CLOSED | STATUS(HF_BUSY)),
    ENTRY(operation_submit, STORE | TRANSACTION, CLOSED | STATUS(HF_BUSY)),
    ENTRY(operation_subscribe, STORE | TRANSACTION, CLOSED | STATUS(HF_BUSY)),
    ENTRY(transaction_cancel, TRANSACTION, ANY | ENDED),
    ENTRY(transaction_rollback, TRANSACTION, ANY | ENDED),
    ENTRY(transaction_savepoint, TRANSACTION, CLOSED | ENDED),
    ENTRY(transaction_rollback_to, TRANSACTION, CLOSED | ENDED | STATUS(HF_INVALID_ARGUMENT)),
    ENTRY(transaction_release, TRANSACTION, CLOSED | ENDED | STATUS(HF_INVALID_ARGUMENT)),
    ENTRY(transaction_begin_scope, TRANSACTION, CLOSED | ENDED),
    ENTRY(transaction_end_scope, TRANSACTION, ANY),
    ENTRY(transaction_enlist, TRANSACTION, CLOSED | ENDED | STATUS(HF_BUSY)),
    ENTRY(transaction_validate, TRANSACTION, READ),
    ENTRY(transaction_get_state, TRANSACTION, ANY),
    REPOSITORY_ENTRY(add, WRITE | TAKEN),
    REPOSITORY_ENTRY(update, WRITE | MISSING),
    REPOSITORY_ENTRY(save, WRITE),
    REPOSITORY_ENTRY(patch, WRITE | MISSING),
    REPOSITORY_ENTRY(modify, WRITE | MISSING),
    REPOSITORY_ENTRY(delete, WRITE | MISSING),
    REPOSITORY_ENTRY(add_many, WRITE | TAKEN),
    REPOSITORY_ENTRY(update_many, WRITE | MISSING),
    REPOSITORY_ENTRY(save_many, WRITE),
    REPOSITORY_ENTRY(patch_many, WRITE | MISSING),
    REPOSITORY_ENTRY(delete_many, WRITE | MISSING),
    REPOSITORY_ENTRY(modify_all, WRITE),
    REPOSITORY_ENTRY(delete_all, WRITE),
    REPOSITORY_ENTRY(fetch, READ | MISSING),
    REPOSITORY_ENTRY(fetch_many, READ),
    REPOSITORY_ENTRY(fetch_all, READ),
    REPOSITORY_ENTRY(find, READ),
    REPOSITORY_ENTRY(find_if, READ),
    REPOSITORY_ENTRY(first, READ | MISSING),
    REPOSITORY_ENTRY(count, READ),
    REPOSITORY_ENTRY(exists, READ),
    REPOSITORY_ENTRY(distinct, READ),
    REPOSITORY_ENTRY(aggregate, READ),
    REPOSITORY_ENTRY(explain_aggregate, READ),
    REPOSITORY_ENTRY(contains, READ),
    ENTRY(cursor_open, REPOSITORY | TRANSACTION, READ),
    ENTRY(controller_create, REPOSITORY, CLOSED),
    ENTRY(repository_set_validator, REPOSITORY, CLOSED),
    ENTRY(repository_invalidate_cache, REPOSITORY, CLOSED),
    ENTRY(repository_trim_cache, REPOSITORY, CLOSED),
    ENTRY(repository_cache_statistics, REPOSITORY, CLOSED),
    ENTRY(store_set_clock, STORE, CLOSED),
    /* One that was being dropped, or built, by another thread. */
    ENTRY(repository_create_index, REPOSITORY, COMMIT | MISSING | TAKEN),
    ENTRY(repository_drop_index, REPOSITORY, COMMIT | MISSING),
    ENTRY(repository_indexes, REPOSITORY, CLOSED),
    REPOSITORY_ENTRY(explain, READ),
    ENTRY(repository_verify, REPOSITORY, CLOSED),
    ENTRY(store_backup, STORE, CLOSED | STATUS(HF_UNSUPPORTED) | STATUS(HF_CANNOT_OPEN)),
    ENTRY(store_verify, STORE, CLOSED),
    ENTRY(store_compact, STORE, CLOSED | STATUS(HF_UNSUPPORTED) | STATUS(HF_BUSY)),
    ENTRY(store_export, STORE, CLOSED),
    ENTRY(store_import, STORE, COMMIT),
    ENTRY(store_import_table, STORE, COMMIT | STATUS(HF_CANNOT_OPEN)),
    ENTRY(store_upgrade, STORE, COMMIT),
    ENTRY(store_schema_version, STORE, CLOSED),
    ENTRY(stream_open, STORE, CLOSED | STATUS(HF_INVALID_STATE) | STATUS(HF_CURSOR_LOST)),
    ENTRY(stream_open_query, REPOSITORY, CLOSED),
    ENTRY(stream_open_aggregate, REPOSITORY, CLOSED),
    ENTRY(store_changes_since, STORE, CLOSED | STATUS(HF_CURSOR_LOST)),
    ENTRY(store_position, STORE, CLOSED),
};
const size_t function_count = sizeof functions / sizeof functions[0];
