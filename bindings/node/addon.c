/* Calls: what returns at once, and the addon's table of functions. The classes that programs use are in
 * index.js. */
#include "addon.h"

/* An exception where the call has failed, else undefined. */
static napi_value answer(napi_env env, hf_status status, hf_error *error) {
    return status == HF_OK ? NULL : throw_error(env, status, error);
}

static void free_transaction(napi_env env, void *handle, void *hint) {
    (void)env, (void)hint;
    hf_transaction_free(handle);
}

static void free_future(napi_env env, void *handle, void *hint) {
    (void)env, (void)hint;
    hf_future_free(handle);
}

/* (store, options): a transaction. */
static napi_value begin(napi_env env, napi_callback_info info) {
    napi_value values[2];
    listener *self;
    char *options;
    hf_transaction *transaction = NULL;
    hf_error *error = NULL;
    if (!arguments(env, info, 2, values) || !pointer_of(env, values[0], &self) ||
        !text_of(env, values[1], &options, NULL))
        return NULL;
    hf_status status = hf_transaction_begin(self->store, options, &transaction, &error);
    free(options);
    return status == HF_OK ? handle_value(env, transaction, free_transaction)
                           : throw_error(env, status, error);
}

/* (transaction, token): its end is an event. */
static napi_value submit(napi_env env, napi_callback_info info) {
    napi_value values[2];
    hf_transaction *transaction;
    double token = 0;
    hf_error *error = NULL;
    if (!arguments(env, info, 2, values) || !pointer_of(env, values[0], &transaction))
        return NULL;
    TRY(napi_get_value_double(env, values[1], &token));
    hf_status status = hf_transaction_submit(transaction, NULL, (void *)(uintptr_t)token, NULL, &error);
    return answer(env, status, error);
}

/* (transaction, token): the next attempt, and the future of its turn, which is an event, too. */
static napi_value retry(napi_env env, napi_callback_info info) {
    napi_value values[2], handles[2], both;
    hf_transaction *transaction, *next = NULL;
    hf_future *turn = NULL;
    double token = 0;
    hf_error *error = NULL;
    if (!arguments(env, info, 2, values) || !pointer_of(env, values[0], &transaction))
        return NULL;
    TRY(napi_get_value_double(env, values[1], &token));
    hf_status status = hf_transaction_retry(transaction, NULL, &next, &turn, &error);
    if (status != HF_OK)
        return throw_error(env, status, error);
    status = hf_future_observe(turn, NULL, (void *)(uintptr_t)token, NULL, &error);
    handles[0] = handle_value(env, next, free_transaction);
    handles[1] = handle_value(env, turn, free_future);
    if (handles[0] == NULL || handles[1] == NULL)
        return NULL;
    if (status != HF_OK)
        return throw_error(env, status, error);
    TRY(napi_create_array_with_length(env, 2, &both));
    TRY(napi_set_element(env, both, 0, handles[0]));
    TRY(napi_set_element(env, both, 1, handles[1]));
    return both;
}

/* (transaction) */
static napi_value rollback(napi_env env, napi_callback_info info) {
    napi_value value;
    hf_transaction *transaction;
    hf_error *error = NULL;
    if (!arguments(env, info, 1, &value) || !pointer_of(env, value, &transaction))
        return NULL;
    hf_status status = hf_transaction_rollback(transaction, &error);
    return answer(env, status, error);
}

/* (transaction) */
static napi_value cancel(napi_env env, napi_callback_info info) {
    napi_value value;
    hf_transaction *transaction;
    hf_error *error = NULL;
    if (!arguments(env, info, 1, &value) || !pointer_of(env, value, &transaction))
        return NULL;
    hf_status status = hf_transaction_cancel(transaction, &error);
    return answer(env, status, error);
}

/* (store, description, repository or null, transaction or null, token): its end is an event. */
static napi_value operate(napi_env env, napi_callback_info info) {
    napi_value values[5];
    listener *self;
    char *description;
    size_t length;
    hf_repository *repository;
    hf_transaction *transaction;
    hf_operation *operation = NULL;
    double token = 0;
    hf_error *error = NULL;
    if (!arguments(env, info, 5, values) || !pointer_of(env, values[0], &self) ||
        !pointer_of(env, values[2], &repository) || !pointer_of(env, values[3], &transaction))
        return NULL;
    TRY(napi_get_value_double(env, values[4], &token));
    if (!text_of(env, values[1], &description, &length))
        return NULL;
    hf_status status = hf_operation_create_on(self->store, description, length, &repository,
                                              repository != NULL, &operation, &error);
    free(description);
    if (status == HF_OK)
        status =
            hf_operation_submit(operation, transaction, NULL, (void *)(uintptr_t)token, NULL, NULL, &error);
    hf_operation_free(operation);
    return answer(env, status, error);
}

/* (stream): no event of it comes any more. */
static napi_value end_stream(napi_env env, napi_callback_info info) {
    napi_value value;
    hf_stream *stream;
    if (arguments(env, info, 1, &value) && pointer_of(env, value, &stream))
        hf_stream_free(stream);
    return NULL;
}

/* (kind): how many handles live. */
static napi_value handle_count(napi_env env, napi_callback_info info) {
    napi_value value, count;
    char *kind;
    if (!arguments(env, info, 1, &value) || !text_of(env, value, &kind, NULL))
        return NULL;
    size_t handles = hf_handle_count(kind);
    free(kind);
    TRY(napi_create_double(env, (double)handles, &count));
    return count;
}

NAPI_MODULE_INIT() {
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = {
        {"setErrorClass", set_error_class},
        {"setWanted", set_wanted},
        {"openStore", open_store},
        {"closeStore", close_store},
        {"begin", begin},
        {"openRepository", open_repository},
        {"observe", observe},
        {"live", live},
        {"submit", submit},
        {"retry", retry},
        {"rollback", rollback},
        {"cancel", cancel},
        {"operate", operate},
        {"endStream", end_stream},
        {"handleCount", handle_count},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value function;
        TRY(napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL,
                                 &function));
        TRY(napi_set_named_property(env, exports, functions[i].name, function));
    }
    return exports;
}
