/* Events: the store's queue, whose descriptor libuv's loop waits for. */
#include "addon.h"

static void free_listener(uv_handle_t *handle) {
    listener *self = handle->data;
    napi_remove_async_cleanup_hook(self->hook);
    self->polls = false;
    if (!self->owned)
        free(self);
}

/* Hears of nothing any more. The loop frees the poll later; the descriptor may go at once. */
static void stop(listener *self) {
    uv_handle_t *handle = (uv_handle_t *)&self->poll;
    if (self->callback == NULL)
        return;
    napi_delete_reference(self->env, self->callback);
    napi_async_destroy(self->env, self->context);
    self->callback = NULL;
    uv_close(handle, free_listener);
}

/* The environment ends before the store was collected. */
static void on_teardown(napi_async_cleanup_hook_handle hook, void *data) {
    (void)hook;
    stop(data);
}

/* The store was collected: nobody waits for its events. Commits that were accepted are finished here. */
static void finalize(napi_env env, void *data, void *hint) {
    listener *self = data;
    (void)env, (void)hint;
    stop(self);
    hf_store_free(self->store);
    self->owned = false;
    if (!self->polls)
        free(self);
}

static napi_value text(napi_env env, const char *data, size_t length) {
    napi_value value;
    TRY(napi_create_string_utf8(env, data == NULL ? "" : data, length, &value));
    return value;
}

/* Calls JavaScript, with nothing or with one event. What it throws ends the program as any other uncaught
 * exception. */
static void call(listener *self, const hf_event *event) {
    napi_env env = self->env;
    napi_handle_scope scope;
    napi_value callback, receiver, undefined, values[7], ignored;
    if (napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    napi_get_reference_value(env, self->callback, &callback);
    napi_get_global(env, &receiver);
    napi_get_undefined(env, &undefined);
    if (event != NULL) {
        bool is_end = event->kind == HF_EVENT_COMMIT || event->kind == HF_EVENT_END;
        napi_create_double(env, (double)(uintptr_t)event->user_data, &values[0]);
        napi_get_boolean(env, is_end, &values[1]);
        values[2] = event->status == HF_OK ? undefined : error_value(env, event->status, event->error);
        values[3] = text(env, event->value.data, event->value.length);
        napi_create_double(env, (double)event->value.version, &values[4]);
        values[5] = text(env, event->receipt.data, event->receipt.length);
        values[6] = text(env, event->position.data, event->position.length);
    }
    if (napi_make_callback(env, self->context, receiver, callback, event == NULL ? 0 : 7, values, &ignored) ==
        napi_pending_exception) {
        napi_value exception;
        napi_get_and_clear_last_exception(env, &exception);
        napi_fatal_exception(env, exception);
    }
    napi_close_handle_scope(env, scope);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    enum { ROOM = 64 };
    listener *self = poll->data;
    hf_event taken[ROOM];
    (void)status, (void)events;
    int32_t count = hf_store_events(self->store, taken, ROOM, 0);
    if (count < 0) {
        call(self, NULL);
        stop(self);
        return;
    }
    /* What comes into JavaScript may collect the store, and stop this listener; what was taken is still to be
     * freed. */
    for (int32_t i = 0; i < count && self->callback != NULL; i++)
        call(self, &taken[i]);
    hf_events_free(taken, (size_t)count);
}

napi_value listener_value(napi_env env, hf_store *store, napi_value callback) {
    listener *self = calloc(1, sizeof *self);
    uv_loop_t *loop = NULL;
    napi_value name;
    int descriptor = -1;
    bool ready = self != NULL && hf_store_event_fd(store, &descriptor, NULL) == HF_OK &&
                 napi_get_uv_event_loop(env, &loop) == napi_ok &&
                 napi_create_string_utf8(env, "holdfast", NAPI_AUTO_LENGTH, &name) == napi_ok &&
                 napi_create_reference(env, callback, 1, &self->callback) == napi_ok;
    if (!ready || napi_async_init(env, NULL, name, &self->context) != napi_ok ||
        uv_poll_init(loop, &self->poll, descriptor) != 0) {
        free(self);
        hf_store_free(store);
        return thrown(env);
    }
    self->env = env;
    self->store = store;
    self->poll.data = self;
    self->polls = self->owned = true;
    napi_add_async_cleanup_hook(env, on_teardown, self, &self->hook);
    uv_poll_start(&self->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&self->poll);
    return handle_value(env, self, finalize);
}

napi_value set_wanted(napi_env env, napi_callback_info info) {
    napi_value values[2];
    listener *self;
    bool wanted = false;
    if (!arguments(env, info, 2, values) || !pointer_of(env, values[0], &self))
        return NULL;
    TRY(napi_get_value_bool(env, values[1], &wanted));
    if (self->callback != NULL && wanted)
        uv_ref((uv_handle_t *)&self->poll);
    else if (self->callback != NULL)
        uv_unref((uv_handle_t *)&self->poll);
    return NULL;
}
