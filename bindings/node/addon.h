/*
 * The addon's parts: values (JavaScript's and C's), events (the store's queue in libuv's loop), and the
 * calls.
 *
 * Everything here runs on the thread of its environment, but for the `run` of a work. No call blocks that
 * thread: what does I/O is a work, or an operation whose end is an event.
 */
#ifndef HOLDFAST_NODE_ADDON_H
#define HOLDFAST_NODE_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>

#include <holdfast.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* Ends a function of type napi_value with JavaScript's exception where Node-API says no. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        if ((call) != napi_ok)                                                                               \
            return thrown(env);                                                                              \
    } while (0)

/* --- Values ------------------------------------------------------------------------------------------------
 */

/* Notes the class HoldfastError, of which every error is made. */
napi_value set_error_class(napi_env env, napi_callback_info info);

/* Throws what Node-API has failed with, unless an exception is on its way. Answers NULL. */
napi_value thrown(napi_env env);

/* A HoldfastError of what a call failed with; the error stays its owner's. NULL, with an exception, where
 * none can be made. */
napi_value error_value(napi_env env, hf_status status, const hf_error *error);

/* Throws that, and frees the error. Answers NULL. */
napi_value throw_error(napi_env env, hf_status status, hf_error *error);

/* A string's bytes, closed with NUL, to be given to free; NULL for null and undefined. False: an exception is
 * on its way. length: NULL where C reads up to the NUL: then there may be none inside. */
bool text_of(napi_env env, napi_value value, char **out_text, size_t *out_length);

/* The pointer in an external; NULL for null and undefined. False: an exception is on its way. */
bool pointer_of(napi_env env, napi_value value, void *out_pointer);

/* Takes so many arguments; those that are not given are undefined. */
bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value *out_arguments);

/* An external that frees what it holds when it is collected. */
napi_value handle_value(napi_env env, void *handle, napi_finalize finalize);

/* --- Events ------------------------------------------------------------------------------------------------
 */

/* A store, and the poll that hears of its events. The external that JavaScript has is of this. */
typedef struct listener {
    napi_env env;
    hf_store *store;
    uv_poll_t poll;
    /* Called with (token, isEnd, error, value, version, receipt, position), or with nothing once the store is
     * closed. */
    napi_ref callback;
    napi_async_context context;
    napi_async_cleanup_hook_handle hook;
    /* The poll is open; the store is this one's to free. Freed when neither. */
    bool polls, owned;
} listener;

/* Begins to listen, with a callback. NULL, with an exception, where it cannot; then the store is freed. */
napi_value listener_value(napi_env env, hf_store *store, napi_value callback);

/* (store, wanted): whether the loop is to go on for the store's events. */
napi_value set_wanted(napi_env env, napi_callback_info info);

/* --- Works -------------------------------------------------------------------------------------------------
 */

/* (url, options, callback), (store), (store, name, options), (store, options, token), (repository, filter,
 * options, token): promises. */
napi_value open_store(napi_env env, napi_callback_info info);
napi_value close_store(napi_env env, napi_callback_info info);
napi_value open_repository(napi_env env, napi_callback_info info);
napi_value observe(napi_env env, napi_callback_info info);
napi_value live(napi_env env, napi_callback_info info);

#endif
