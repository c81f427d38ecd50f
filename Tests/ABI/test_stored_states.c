/* What every call on a transaction answers while its commit is being stored, and after one of which nothing
 * is known. */
#include "scene.h"
#include "shelf.h"

/* A provider that stores when it is told to. */
typedef struct held_shelf {
    shelf shelf;
    atomic_int is_inside, may_go_on, fails;
} held_shelf;

static held_shelf *held_by(scene *s) { return s->context; }

static hf_status hold_apply(shelf *s, const char *function, hf_error **out_error) {
    held_shelf *held = s->hook;
    (void)out_error;
    if (strcmp(function, "apply") != 0)
        return HF_OK;
    atomic_store(&held->is_inside, 1);
    while (!atomic_load(&held->may_go_on))
        sleep_milliseconds(1);
    return atomic_load(&held->fails) ? HF_IO : HF_OK;
}

static void *commit_on_thread(void *t) {
    expect_ok(hf_transaction_commit, t, NULL);
    return NULL;
}

static void await_apply(scene *s) {
    while (!atomic_load(&held_by(s)->is_inside))
        sleep_milliseconds(1);
}

static void let_apply_go_on(scene *s) { atomic_store(&held_by(s)->may_go_on, 1); }

static void in_submitted(void *p) {
    scene *s = p;
    open_one(s, NULL);
    expect_ok(hf_transaction_submit, s->t, NULL, NULL, NULL);
    await_apply(s);
    make_call(s);
    let_apply_go_on(s);
}

static void in_submitted_with_a_tree(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    expect_ok(hf_transaction_submit, s->t, NULL, NULL, NULL);
    await_apply(s);
    make_call(s);
    let_apply_go_on(s);
}

static void beside_commit(void *p) {
    scene *s = p;
    open_one(s, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, commit_on_thread, s->t), 0);
    await_apply(s);
    make_call(s);
    let_apply_go_on(s);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void in_unknown(void *p) {
    scene *s = p;
    atomic_store(&held_by(s)->fails, 1);
    let_apply_go_on(s);
    open_one(s, NULL);
    assert_int_not_equal(hf_transaction_commit(s->t, NULL, NULL), HF_OK);
    s->is_held = false;
    make_call(s);
}

static void run_call(const state_row *row, size_t call, void *context, char *answer, size_t size) {
    (void)context;
    static held_shelf held;
    memset(&held, 0, sizeof held);
    begin_shelf(&held.shelf);
    held.shelf.hook = &held;
    room r = open_shelf(&held.shelf, CAN_APPLY, NULL);
    scene s = {.is_held = true, .context = &held};
    begin_scene(&s, r, call, answer, size);
    held.shelf.before = hold_apply;
    row->bring_about(&s);
    end_scene(&s);
    end_shelf(&held.shelf);
}

static void while_it_is_stored_each_call_answers_as_the_table_says(fixture *f) {
    static const state_row rows[] = {
        {"submitted", in_submitted,
         "HF_INVALID_STATE committing: fetch save savepoint rollback_to release begin_scope validate "
         "commit submit cancel rollback retry; HF_OK committing: end_scope fail_scope; HF_BUSY "
         "committing: enlist"},
        {"submitted, with an object tree", in_submitted_with_a_tree,
         "HF_INVALID_STATE committing: fetch save savepoint rollback_to release begin_scope validate "
         "commit submit cancel rollback retry; HF_OK committing: end_scope fail_scope; HF_BUSY "
         "committing: enlist"},
        {"being committed, on another thread", beside_commit,
         "HF_INVALID_STATE committing: fetch save savepoint rollback_to release begin_scope validate "
         "commit submit cancel rollback retry; HF_OK committing: end_scope fail_scope; HF_BUSY "
         "committing: enlist"},
        {"failed, with an unknown outcome", in_unknown,
         "HF_INVALID_STATE failed: fetch save savepoint rollback_to release begin_scope enlist validate "
         "commit submit cancel rollback; HF_OK failed: end_scope fail_scope retry"},
    };
    const state_table table = {scene_call_names, SCENE_CALLS, rows, COUNT_OF(rows), run_call};
    check_state_table(&table, f);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(while_it_is_stored_each_call_answers_as_the_table_says),
    };
    return run_scenarios("stored_states", scenarios, COUNT_OF(scenarios));
}
