/*
 * Controller: persistence for programs with one direction of flow: actions go in, a reducer makes of action
 * and state the next state, effects do the work and tell its outcome as further actions.
 *
 * A controller works on one repository. For each action, one after the other:
 *
 *   1. the middleware function of the host sees the action, and the state as it is before;
 *   2. the reducer changes the state. It is pure: hf_reduce runs it alone, without any store;
 *   3. effects begin: a save or delete is submitted, a live query opened or ended. What becomes of them comes
 *      back as an action. Nothing is tried again by itself: to retry, dispatch what the failure holds.
 *
 * The actions that a host dispatches:
 *
 *   {"action": "save", "id": "a", "element": {…}}
 *       insert or update; an id is assigned where the entity has none
 *   {"action": "delete", "id": "a", "element": {"id": "s1"}, "missing_ok": false}
 *       of the element only the repository's key is looked at; a missing one is HF_NOT_FOUND by default
 *   {"action": "cancelSave", "id": "a"}, {"action": "cancelDelete", "id": "a"}
 *       withdraws those of this id that are still queued: they fail with HF_CANCELLED. What is being stored,
 *       or has ended, goes on as if nobody had asked
 *   {"action": "request", "token": "t", "request": {"filter": {…}, "sort": {…}, "limit": 20}}
 *       a live query, as of hf_stream_open_query: beside "filter" stand the options of hf_repository_find
 *   {"action": "cancelRequest", "token": "t"}
 *
 * "id" names a save or delete among others of its kind, "token" a request; both are texts, or integers, as
 * ids of entities are (see entity.h). Where they are left out a new one is assigned, which the middleware and
 * the state's lanes tell; what cancels names them (else HF_INVALID_OPTION). hf_reduce, which assigns nothing,
 * takes "default" for those that are left out. A request with a token that is
 * in use ends the former request first. Two saves of one id may be under way at once: both outcomes are told.
 *
 * The actions by which effects tell what happened. A host may dispatch them too, or hand them to hf_reduce:
 *
 *   {"action": "saved", "id": "a", "element": {…}, "version": 42}
 *   {"action": "saveFailed", "id": "a", "error": {…}, "element": {…}}
 *   {"action": "deleted", "id": "a", "element": {…}}
 *   {"action": "deleteFailed", "id": "a", "error": {…}, "element": {…}}
 *   {"action": "received", "token": "t", "result": {…}, "ids": ["s1", "s2"]}
 *   {"action": "changed", "token": "t", "result": {…}}
 *   {"action": "requestFailed", "token": "t", "error": {…}, "request": {…}}
 *
 * What was saved is told as it is stored, with its id; what has failed, as it was given. "result" is the
 * value of a live query's event (see stream.h): with a "snapshot" it is "received", without one "changed".
 * "ids" are those of the snapshot, where they are known. An error is
 *
 *   {"status": "HF_NOT_FOUND", "message": "…", "retryable": false, "commit_state": "none", "detail": {…}}
 *
 * with the parts that error.h describes; "commit_state" is "none", "unknown" or "done".
 *
 * The state has three lanes, each "initial" at first: they show what was dispatched last of their kind, just
 * as it stands in one of the maps below.
 *
 *   {"request":  {"token": "t", "state": …},
 *    "persist":  {"id": "a", "state": …},
 *    "delete":   {"state": "initial"},
 *    "requests": {"t": {"state": …}},
 *    "saves":    {"a": {"state": …}},
 *    "deletes":  {}}
 *
 * A request is one of
 *
 *   {"state": "loading", "request": {…}}
 *   {"state": "received", "position": "5c…:42", "elements": [{…}], "ids": ["s1"], "versions": [42],
 *    "request": {…}}
 *   {"state": "failed", "error": {…}, "request": {…}}
 *   {"state": "canceled", "request": {…}}
 *
 * and a save or delete, which has no "version", one of
 *
 *   {"state": "processing", "element": {…}}
 *   {"state": "succeeded", "version": 42, "element": {…}}
 *   {"state": "failed", "error": {…}, "element": {…}}
 *
 * A request that was received goes on: each commit that changes its result changes the elements, until it is
 * canceled or fails. What has ended is not changed by what comes late. Of each map the 100 that ended last
 * are kept. A change that does not fit the elements at hand makes a request fail; the controller then
 * requests the same again by itself, so that a new snapshot comes.
 *
 * Threads. An action is handled on the thread that dispatches it, or on one that is handling others just
 * then; outcomes on the store's callback thread, or under "queue" delivery on the thread that takes events.
 * Effects do no I/O there. The middleware function must not wait for another thread that dispatches.
 */
#ifndef HOLDFAST_CONTROLLER_H
#define HOLDFAST_CONTROLLER_H

#include "base.h"
#include "error.h"
#include "event.h"
#include "repository.h"
#include "status.h"

HF_BEGIN_DECLS

typedef struct hf_controller hf_controller;

/**
 * Sees each action before the reducer does, and the state as it is before.
 *
 * action, state: JSON closed with NUL, borrowed for this call. Every function is allowed inside. What is
 * dispatched here is handled after this action. Runs on the thread that handles the action, one call at a
 * time.
 */
typedef void (*hf_middleware_fn)(const char *action, size_t action_length, const char *state,
                                 size_t state_length, void *user_data);

/**
 * Makes a controller.
 *
 * middleware: NULL allowed. on_state: told of a new state by HF_EVENT_STATE; NULL allowed: under "queue"
 * delivery the event carries user_data. user_data: handed to both. free_user_data: called with user_data
 * exactly once: by hf_controller_free, or before this call returns a failure; NULL allowed. out_controller
 * receives the handle, freed with hf_controller_free; it keeps what it needs of the repository, whose handle
 * may be freed.
 *
 * Errors: HF_INVALID_ARGUMENT, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_controller_create(hf_repository *repository,
                                                        hf_middleware_fn middleware, hf_event_fn on_state,
                                                        void *user_data, void (*free_user_data)(void *),
                                                        hf_controller **out_controller, hf_error **out_error);

/**
 * Dispatches an action.
 *
 * action: JSON; length: in bytes, or HF_NTS. When this returns the action was handled: the state is the new
 * one, effects have begun. Only inside a middleware call of the same controller it is handled after that
 * call. When a "cancelRequest" returns, no event of its token reaches the host any more, except one whose
 * call is just running on this very thread.
 *
 * Errors are those of the action's form alone: HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_ID,
 * HF_INVALID_HANDLE, HF_FORKED. Everything else is told by the state, also that the store is closed,
 * HF_CLOSED, or has "max_in_flight" commits and operations under way, HF_BUSY. Any thread. Waits for an
 * action that another thread is handling, and for nothing else.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_controller_dispatch(hf_controller *controller, const char *action,
                                                          size_t length, hf_error **out_error);

/**
 * Answers the state. out_state receives the JSON, freed with hf_buffer_free.
 * Errors: HF_INVALID_ARGUMENT, HF_NO_MEMORY, HF_INVALID_HANDLE, HF_FORKED. Any thread, also inside the
 * middleware function, where it is the state before the action. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_controller_state(hf_controller *controller, hf_buffer *out_state,
                                                       hf_error **out_error);

/**
 * The reducer alone: what an action makes of a state. Knows no store, and answers the same for the same.
 *
 * action: any of the above; state: as hf_controller_state or this function answered it, or NULL with length 0
 * for the first; lengths: in bytes, or HF_NTS. Of the lanes in it only "token" and "id" are read. out_state
 * receives the new state, freed with hf_buffer_free; it may be the buffer that the state lies in.
 *
 * Errors: HF_INVALID_JSON, HF_INVALID_OPTION, HF_INVALID_ID, HF_INVALID_ARGUMENT, HF_NO_MEMORY. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_reduce(const char *action, size_t action_length, const char *state,
                                             size_t state_length, hf_buffer *out_state, hf_error **out_error);

/**
 * Ends the controller's requests and frees its handle. When it returns neither middleware nor on_state is
 * called any more: it waits for a call that is running, unless it is made inside it; user_data is then freed
 * after that. Saves and deletes that were begun go on, and nobody is told. Events that were taken with
 * hf_store_events before are the host's. NULL and a freed handle do nothing. Cannot fail. Any thread.
 */
HF_EXPORT void hf_controller_free(hf_controller *controller);

HF_END_DECLS

#endif
