/* Works: the calls that do I/O before they return, each on a thread of libuv's pool, with a promise for its
 * end. */
#include "addon.h"

typedef struct work {
    void (*run)(struct work *self);
    /* Makes the promise's value of the result, in the environment's thread; NULL: undefined. */
    napi_value (*value)(napi_env env, struct work *self);
    /* What it works on. */
    void *handle;
    char *first, *second;
    size_t first_length;
    uintptr_t token;
    /* What must not be collected meanwhile: what the handle is of, or the callback of a store to be opened.
     */
    napi_ref kept;
    /* What came of it. */
    void *result;
    hf_status status;
    hf_error *error;
    napi_async_work work;
    napi_deferred deferred;
} work;

static void free_work(work *self) {
    hf_error_free(self->error);
    free(self->first);
    free(self->second);
    free(self);
}

static void on_run(napi_env env, void *data) {
    work *self = data;
    (void)env;
    self->run(self);
}

static void on_complete(napi_env env, napi_status status, void *data) {
    work *self = data;
    napi_value value = NULL;
    (void)status;
    if (self->status != HF_OK)
        value = error_value(env, self->status, self->error);
    else if (self->value == NULL)
        napi_get_undefined(env, &value);
    else
        value = self->value(env, self);
    bool resolves = self->status == HF_OK && value != NULL;
    if (value == NULL)
        napi_get_and_clear_last_exception(env, &value);
    napi_delete_reference(env, self->kept);
    if (resolves)
        napi_resolve_deferred(env, self->deferred, value);
    else
        napi_reject_deferred(env, self->deferred, value);
    napi_delete_async_work(env, self->work);
    free_work(self);
}

/* For a work that was not started. */
static napi_value refused(napi_env env, work *self) {
    if (self->kept != NULL)
        napi_delete_reference(env, self->kept);
    free_work(self);
    return thrown(env);
}

/* Starts the work, and answers its promise. Takes it over. */
static napi_value start(napi_env env, work *self) {
    napi_value promise, name;
    if (napi_create_promise(env, &self->deferred, &promise) != napi_ok ||
        napi_create_string_utf8(env, "holdfast", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_async_work(env, NULL, name, on_run, on_complete, self, &self->work) != napi_ok ||
        napi_queue_async_work(env, self->work) != napi_ok) {
        return refused(env, self);
    }
    return promise;
}

/* What a work is on, for as long as it runs. */
static bool keep(napi_env env, napi_value value, work *self) {
    return pointer_of(env, value, &self->handle) &&
           napi_create_reference(env, value, 1, &self->kept) == napi_ok;
}

static work *made(void (*run)(work *), napi_value (*value)(napi_env, work *)) {
    work *self = calloc(1, sizeof *self);
    if (self == NULL)
        abort(); /* As Node does without memory. */
    self->run = run;
    self->value = value;
    return self;
}

/* --- Stores and repositories -------------------------------------------------------------------------------
 */

static void run_open(work *self) {
    self->status = hf_version_select(HF_API_VERSION, &self->error);
    if (self->status == HF_OK)
        self->status = hf_store_open(self->first, self->second, (hf_store **)&self->result, &self->error);
}

static napi_value store_value(napi_env env, work *self) {
    napi_value callback = NULL;
    napi_get_reference_value(env, self->kept, &callback);
    return listener_value(env, self->result, callback);
}

napi_value open_store(napi_env env, napi_callback_info info) {
    napi_value values[3];
    work *self = made(run_open, store_value);
    if (!arguments(env, info, 3, values) || !text_of(env, values[0], &self->first, NULL) ||
        !text_of(env, values[1], &self->second, NULL) ||
        napi_create_reference(env, values[2], 1, &self->kept) != napi_ok) {
        return refused(env, self);
    }
    return start(env, self);
}

static void run_close(work *self) {
    self->status = hf_store_close(((listener *)self->handle)->store, -1, &self->error);
}

napi_value close_store(napi_env env, napi_callback_info info) {
    napi_value value;
    work *self = made(run_close, NULL);
    if (!arguments(env, info, 1, &value) || !keep(env, value, self)) {
        return refused(env, self);
    }
    return start(env, self);
}

static void free_repository(napi_env env, void *handle, void *hint) {
    (void)env, (void)hint;
    hf_repository_free(handle);
}

static napi_value repository_value(napi_env env, work *self) {
    return handle_value(env, self->result, free_repository);
}

static void run_repository(work *self) {
    self->status = hf_repository_open(((listener *)self->handle)->store, self->first, self->second,
                                      (hf_repository **)&self->result, &self->error);
}

napi_value open_repository(napi_env env, napi_callback_info info) {
    napi_value values[3];
    work *self = made(run_repository, repository_value);
    if (!arguments(env, info, 3, values) || !keep(env, values[0], self) ||
        !text_of(env, values[1], &self->first, NULL) || !text_of(env, values[2], &self->second, NULL)) {
        return refused(env, self);
    }
    return start(env, self);
}

/* --- Streams -----------------------------------------------------------------------------------------------
 */

static void free_stream(napi_env env, void *handle, void *hint) {
    (void)env, (void)hint;
    hf_stream_free(handle);
}

static napi_value stream_value(napi_env env, work *self) {
    return handle_value(env, self->result, free_stream);
}

static bool token_of(napi_env env, napi_value value, uintptr_t *out_token) {
    double token = 0;
    if (napi_get_value_double(env, value, &token) != napi_ok)
        return false;
    *out_token = (uintptr_t)token;
    return true;
}

static void run_observe(work *self) {
    self->status = hf_stream_open(((listener *)self->handle)->store, self->first, NULL, (void *)self->token,
                                  NULL, (hf_stream **)&self->result, &self->error);
}

napi_value observe(napi_env env, napi_callback_info info) {
    napi_value values[3];
    work *self = made(run_observe, stream_value);
    if (!arguments(env, info, 3, values) || !keep(env, values[0], self) ||
        !text_of(env, values[1], &self->first, NULL) || !token_of(env, values[2], &self->token)) {
        return refused(env, self);
    }
    return start(env, self);
}

static void run_live(work *self) {
    self->status = hf_stream_open_query(self->handle, self->first, self->first_length, self->second, NULL,
                                        (void *)self->token, NULL, (hf_stream **)&self->result, &self->error);
}

napi_value live(napi_env env, napi_callback_info info) {
    napi_value values[4];
    work *self = made(run_live, stream_value);
    if (!arguments(env, info, 4, values) || !keep(env, values[0], self) ||
        !text_of(env, values[1], &self->first, &self->first_length) ||
        !text_of(env, values[2], &self->second, NULL) || !token_of(env, values[3], &self->token)) {
        return refused(env, self);
    }
    return start(env, self);
}
