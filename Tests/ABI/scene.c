#include "scene.h"

/* --- The calls ------------------------------------------------------------------------------------------ */

static hf_status call_fetch(scene *s) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_status status = hf_repository_fetch(s->things, s->t, "clock", HF_NTS, &entity, NULL);
    hf_entity_free(&entity);
    return status;
}

static hf_status call_save(scene *s) {
    return hf_repository_save(s->things, s->t, "{\"id\":\"b\"}", HF_NTS, NULL, NULL);
}

static hf_status call_savepoint(scene *s) {
    uint64_t number = 0;
    return hf_transaction_savepoint(s->t, &number, NULL);
}

static hf_status call_rollback_to(scene *s) { return hf_transaction_rollback_to(s->t, s->savepoint, NULL); }

static hf_status call_release(scene *s) { return hf_transaction_release(s->t, s->savepoint, NULL); }

static hf_status call_begin_scope(scene *s) {
    uint64_t number = 0;
    return hf_transaction_begin_scope(s->t, 0, &number, NULL);
}

static hf_status call_end_scope(scene *s) { return hf_transaction_end_scope(s->t, s->scope, true, NULL); }

static hf_status call_fail_scope(scene *s) { return hf_transaction_end_scope(s->t, s->scope, false, NULL); }

static hf_status call_enlist(scene *s) { return hf_transaction_enlist(s->t, s->other.handle, NULL); }

static hf_status call_validate(scene *s) { return hf_transaction_validate(s->t, NULL); }

static hf_status call_commit(scene *s) { return hf_transaction_commit(s->t, NULL, NULL); }

static hf_status call_submit(scene *s) { return hf_transaction_submit(s->t, NULL, NULL, NULL, NULL); }

static hf_status call_cancel(scene *s) { return hf_transaction_cancel(s->t, NULL); }

static hf_status call_rollback(scene *s) { return hf_transaction_rollback(s->t, NULL); }

static hf_status call_retry(scene *s) {
    hf_transaction *next = NULL;
    hf_future *turn = NULL;
    hf_status status = hf_transaction_retry(s->t, NULL, &next, &turn, NULL);
    hf_future_free(turn);
    hf_transaction_free(next);
    return status;
}

const char *const scene_call_names[SCENE_CALLS] = {
    "fetch",  "save",     "savepoint", "rollback_to", "release", "begin_scope", "end_scope", "fail_scope",
    "enlist", "validate", "commit",    "submit",      "cancel",  "rollback",    "retry"};

static hf_status (*const calls[SCENE_CALLS])(scene *) = {
    call_fetch,       call_save,      call_savepoint,  call_rollback_to, call_release,
    call_begin_scope, call_end_scope, call_fail_scope, call_enlist,      call_validate,
    call_commit,      call_submit,    call_cancel,     call_rollback,    call_retry};

const char *state_of(const scene *s) {
    static const char *const names[] = {"none", "open", "committing", "committed", "rolled back", "failed"};
    hf_transaction_state state = (hf_transaction_state)0;
    do {
        if (state != 0)
            sleep_milliseconds(1);
        if (hf_transaction_get_state(s->t, &state, NULL) != HF_OK)
            return "gone";
    } while (state == HF_TRANSACTION_COMMITTING && !s->is_held);
    return names[state];
}

void make_call(scene *s) {
    assert_int_equal(s->answer[0], '\0'); /* once */
    hf_status status = calls[s->call](s);
    const char *name = hf_status_name(status);
    snprintf(s->answer, s->size, "%s %s", name, state_of(s));
}

static void *make_call_on_thread(void *s) {
    make_call(s);
    return NULL;
}

void make_call_elsewhere(scene *s) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_call_on_thread, s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* --- The scene ------------------------------------------------------------------------------------------ */

void begin_scene(scene *s, room r, size_t call, char *answer, size_t size) {
    s->store = r.store, s->things = r.things;
    s->call = call, s->answer = answer, s->size = size;
    save(s->things, NULL, "{\"id\":\"clock\",\"n\":0}");
    make_saving_member(&s->tree, "tree", NULL);
    make_saving_member(&s->other, "other", NULL);
    s->tree.context = s;
}

void end_scene(scene *s) {
    hf_transaction_free(s->t);
    hf_repository_free(s->things);
    hf_store_free(s->store);
    free_member(&s->tree), free_member(&s->other);
    journal[0] = '\0';
}

void open_one(scene *s, const char *options) {
    s->t = begin(s->store, options);
    expect_ok(hf_transaction_savepoint, s->t, &s->savepoint);
    save(s->things, s->t, "{\"id\":\"a\"}");
}

void open_enlisted(scene *s, const char *options) {
    open_one(s, options);
    expect_ok(hf_transaction_enlist, s->t, s->tree.handle);
}
