/* What every call on a store's transaction answers, in every state that a host can bring it into; but for the
 * time in which it is stored, which test_stored_states.c has. */
#include "scene.h"

/* --- States that a transaction has between calls ----------------------------------------------------------
 */

static void begin_scope(scene *s) { expect_ok(hf_transaction_begin_scope, s->t, 0, &s->scope); }

static void fail_a_write(scene *s) {
    expect(HF_EXISTS, hf_repository_add, s->things, s->t, "{\"id\":\"clock\"}", HF_NTS, NULL);
}

static void end_outer_scope_first(scene *s) {
    uint64_t outer = 0;
    expect_ok(hf_transaction_begin_scope, s->t, 0, &outer);
    begin_scope(s);
    expect_ok(hf_transaction_end_scope, s->t, outer, false);
}

static void in_open(void *s) {
    open_one(s, NULL);
    make_call(s);
}

static void in_open_with_a_tree(void *s) {
    open_enlisted(s, NULL);
    make_call(s);
}

static void in_a_scope(void *s) {
    open_one(s, NULL);
    begin_scope(s);
    make_call(s);
}

static const char *const aborting = "{\"on_error\":\"abort\"}";

static void in_aborted(void *s) {
    open_one(s, aborting);
    fail_a_write(s);
    make_call(s);
}

static void in_aborted_in_a_scope(void *s) {
    open_one(s, aborting);
    begin_scope(s);
    fail_a_write(s);
    make_call(s);
}

static void in_half_failed(void *s) {
    open_one(s, NULL);
    end_outer_scope_first(s);
    make_call(s);
}

static void in_refused(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    s->tree.answer = HF_REFUSED;
    expect(HF_REFUSED, hf_transaction_commit, s->t, NULL);
    s->tree.answer = HF_OK;
    make_call(s);
}

static void in_committed(void *p) {
    scene *s = p;
    open_one(s, NULL);
    expect_ok(hf_transaction_commit, s->t, NULL);
    make_call(s);
}

static void in_committed_by_submission(void *p) {
    scene *s = p;
    open_one(s, NULL);
    expect_ok(hf_transaction_submit, s->t, NULL, NULL, NULL);
    expect_ok(hf_store_sync, s->store);
    (void)state_of(s);
    make_call(s);
}

static void in_rolled_back(void *p) {
    scene *s = p;
    open_one(s, NULL);
    expect_ok(hf_transaction_rollback, s->t);
    make_call(s);
}

static void lose_a_race(scene *s) {
    (void)integer_in(s->things, s->t, "clock", "n");
    tick(s->things);
}

static void in_failed(void *p) {
    scene *s = p;
    open_one(s, NULL);
    lose_a_race(s);
    expect(HF_CONFLICT, hf_transaction_commit, s->t, NULL);
    make_call(s);
}

static void in_failed_by_submission(void *p) {
    scene *s = p;
    open_one(s, NULL);
    lose_a_race(s);
    expect_ok(hf_transaction_submit, s->t, NULL, NULL, NULL);
    (void)state_of(s);
    make_call(s);
}

static void in_failed_as_aborted(void *p) {
    scene *s = p;
    open_one(s, aborting);
    fail_a_write(s);
    expect(HF_EXISTS, hf_transaction_commit, s->t, NULL);
    make_call(s);
}

static void in_closed(void *p) {
    scene *s = p;
    open_one(s, NULL);
    expect_ok(hf_store_close, s->store, -1);
    make_call(s);
}

static void in_closed_after_commit(void *p) {
    scene *s = p;
    open_one(s, NULL);
    expect_ok(hf_transaction_commit, s->t, NULL);
    expect_ok(hf_store_close, s->store, -1);
    make_call(s);
}

static void in_freed(void *p) {
    scene *s = p;
    open_one(s, NULL);
    hf_transaction_free(s->t);
    make_call(s);
}

/* --- States within a body ---------------------------------------------------------------------------------
 */

typedef struct body {
    scene *s;
    void (*prepare)(scene *s);
} body;

static hf_status call_in_body(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    body *b = user_data;
    b->s->t = t;
    expect_ok(hf_transaction_savepoint, t, &b->s->savepoint);
    save(b->s->things, t, "{\"id\":\"a\"}");
    if (b->prepare != NULL)
        b->prepare(b->s);
    make_call(b->s);
    return HF_REFUSED;
}

static void run_body(scene *s, const char *options, void (*prepare)(scene *s)) {
    body b = {s, prepare};
    expect(HF_REFUSED, hf_store_transact, s->store, call_in_body, &b, options, NULL);
}

static void in_a_body(void *s) { run_body(s, NULL, NULL); }

static void in_a_scope_in_a_body(void *s) { run_body(s, NULL, begin_scope); }

static void in_aborted_in_a_body(void *s) { run_body(s, aborting, fail_a_write); }

static hf_status leave_to_validators(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    scene *s = user_data;
    s->t = t;
    expect_ok(hf_transaction_savepoint, t, &s->savepoint);
    save(s->things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_enlist, t, s->tree.handle);
    return HF_OK;
}

static void validate_a_body(scene *s) {
    hf_status status = hf_store_transact(s->store, leave_to_validators, s, NULL, NULL, NULL);
    assert_int_equal(status, HF_REFUSED);
}

/* --- States within the functions of members
 * ----------------------------------------------------------------- */

static hf_status call_in(member *m, phase p, phase wanted, hf_transaction *t, void (*call)(scene *)) {
    scene *s = m->context;
    if (p != wanted)
        return HF_OK;
    /* A transaction whose validation refuses is there afterwards as before. */
    m->hook = NULL;
    if (t != NULL)
        s->t = t;
    call(s);
    return HF_REFUSED;
}

static hf_status call_in_begin(member *m, phase p, hf_transaction *t) {
    return call_in(m, p, BEGIN, t, make_call);
}
static hf_status call_in_validate(member *m, phase p, hf_transaction *t) {
    return call_in(m, p, VALIDATE, t, make_call);
}
static hf_status call_beside_validate(member *m, phase p, hf_transaction *t) {
    return call_in(m, p, VALIDATE, t, make_call_elsewhere);
}
static hf_status call_in_commit(member *m, phase p, hf_transaction *t) {
    return call_in(m, p, COMMIT, t, make_call);
}
static hf_status call_in_rollback(member *m, phase p, hf_transaction *t) {
    return call_in(m, p, ROLLBACK, t, make_call);
}
static hf_status call_in_savepoint(member *m, phase p, hf_transaction *t) {
    return call_in(m, p, SAVEPOINT, t, make_call);
}

static void fail_a_write_and_call(scene *s) {
    fail_a_write(s);
    make_call(s);
}

static hf_status call_in_aborted_validate(member *m, phase p, hf_transaction *t) {
    return call_in(m, p, VALIDATE, t, fail_a_write_and_call);
}

static void in_begin(void *p) {
    scene *s = p;
    open_one(s, NULL);
    s->tree.hook = call_in_begin;
    expect_ok(hf_transaction_enlist, s->t, s->tree.handle);
}

static void in_savepoint(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    s->tree.hook = call_in_savepoint;
    uint64_t number = 0;
    expect_ok(hf_transaction_savepoint, s->t, &number);
}

static void in_validate(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    s->tree.hook = call_in_validate;
    expect(HF_REFUSED, hf_transaction_commit, s->t, NULL);
}

static void beside_validate(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    s->tree.hook = call_beside_validate;
    expect(HF_REFUSED, hf_transaction_commit, s->t, NULL);
}

static void in_validate_in_a_scope(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    begin_scope(s);
    s->tree.hook = call_in_validate;
    expect(HF_REFUSED, hf_transaction_validate, s->t);
}

static void beside_validate_in_a_scope(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    begin_scope(s);
    s->tree.hook = call_beside_validate;
    expect(HF_REFUSED, hf_transaction_validate, s->t);
}

static void in_aborted_validate(void *p) {
    scene *s = p;
    open_enlisted(s, aborting);
    s->tree.hook = call_in_aborted_validate;
    expect(HF_REFUSED, hf_transaction_commit, s->t, NULL);
}

static void in_validate_of_a_body(void *p) {
    scene *s = p;
    s->tree.hook = call_in_validate;
    validate_a_body(s);
}

static void beside_validate_of_a_body(void *p) {
    scene *s = p;
    s->tree.hook = call_beside_validate;
    validate_a_body(s);
}

static void in_commit(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    s->tree.hook = call_in_commit;
    expect_ok(hf_transaction_commit, s->t, NULL);
}

static void in_rollback(void *p) {
    scene *s = p;
    open_enlisted(s, NULL);
    s->tree.hook = call_in_rollback;
    expect_ok(hf_transaction_rollback, s->t);
}

static void run_call(const state_row *row, size_t call, void *context, char *answer, size_t size) {
    scene s = {.is_held = false};
    begin_scene(&s, open_room(context, NULL), call, answer, size);
    row->bring_about(&s);
    end_scene(&s);
}

static void each_state_answers_each_call_as_the_table_says(fixture *f) {
    static const state_row rows[] = {
        {"open", in_open,
         "HF_OK open: fetch save savepoint rollback_to release begin_scope end_scope fail_scope enlist "
         "validate; HF_OK committed: commit submit; HF_INVALID_STATE open: cancel retry; HF_OK rolled "
         "back: rollback"},
        {"open, with an object tree", in_open_with_a_tree,
         "HF_OK open: fetch save savepoint rollback_to release begin_scope end_scope fail_scope enlist "
         "validate; HF_OK committed: commit submit; HF_INVALID_STATE open: cancel retry; HF_OK rolled "
         "back: rollback"},
        {"open, a scope under way", in_a_scope,
         "HF_OK open: fetch save savepoint rollback_to release begin_scope end_scope fail_scope enlist "
         "validate; HF_INVALID_STATE open: commit submit cancel retry; HF_OK rolled back: rollback"},
        {"aborted by a failed write", in_aborted,
         "HF_EXISTS open: fetch save savepoint release begin_scope enlist validate; HF_OK open: "
         "rollback_to end_scope fail_scope; HF_EXISTS failed: commit submit; HF_INVALID_STATE open: "
         "cancel retry; HF_OK rolled back: rollback"},
        {"aborted by a failed write in a scope", in_aborted_in_a_scope,
         "HF_EXISTS open: fetch save savepoint release begin_scope end_scope enlist validate; HF_OK open: "
         "rollback_to fail_scope; HF_EXISTS failed: commit submit; HF_INVALID_STATE open: cancel retry; "
         "HF_OK rolled back: rollback"},
        {"half failed", in_half_failed,
         "HF_INVALID_STATE open: fetch save savepoint rollback_to release begin_scope end_scope enlist "
         "validate cancel retry; HF_OK open: fail_scope; HF_INVALID_STATE failed: commit submit; HF_OK "
         "rolled back: rollback"},
        {"open, after a validator refused", in_refused,
         "HF_OK open: fetch save savepoint rollback_to release begin_scope end_scope fail_scope enlist "
         "validate; HF_OK committed: commit submit; HF_INVALID_STATE open: cancel retry; HF_OK rolled "
         "back: rollback"},
        {"in a body", in_a_body,
         "HF_OK open: fetch save savepoint rollback_to release begin_scope end_scope fail_scope enlist "
         "validate; HF_INVALID_STATE open: commit submit cancel rollback retry"},
        {"in a body, a scope under way", in_a_scope_in_a_body,
         "HF_OK open: fetch save savepoint rollback_to release begin_scope end_scope fail_scope enlist "
         "validate; HF_INVALID_STATE open: commit submit cancel rollback retry"},
        {"in a body, aborted by a failed write", in_aborted_in_a_body,
         "HF_EXISTS open: fetch save savepoint release begin_scope enlist validate; HF_OK open: "
         "rollback_to end_scope fail_scope; HF_INVALID_STATE open: commit submit cancel rollback retry"},
        {"while members are begun", in_begin,
         "HF_OK open: fetch save release begin_scope end_scope fail_scope enlist; HF_REENTRANT open: "
         "savepoint rollback_to validate commit submit rollback; HF_INVALID_STATE open: cancel retry"},
        {"while members make a savepoint", in_savepoint,
         "HF_OK open: fetch save release begin_scope end_scope fail_scope enlist; HF_REENTRANT open: "
         "savepoint rollback_to validate commit submit rollback; HF_INVALID_STATE open: cancel retry"},
        {"being validated", in_validate,
         "HF_OK open: fetch save release begin_scope end_scope fail_scope enlist; HF_REENTRANT open: "
         "savepoint rollback_to validate commit submit rollback; HF_INVALID_STATE open: cancel retry"},
        {"being validated, on another thread", beside_validate,
         "HF_REENTRANT open: fetch save savepoint rollback_to release begin_scope enlist validate commit "
         "submit rollback; HF_OK open: end_scope fail_scope; HF_INVALID_STATE open: cancel retry"},
        {"being validated, a scope under way", in_validate_in_a_scope,
         "HF_OK open: fetch save release begin_scope end_scope fail_scope enlist; HF_REENTRANT open: "
         "savepoint rollback_to validate rollback; HF_INVALID_STATE open: commit submit cancel retry"},
        {"being validated, a scope under way, on another thread", beside_validate_in_a_scope,
         "HF_REENTRANT open: fetch save savepoint rollback_to release begin_scope enlist validate "
         "rollback; HF_OK open: end_scope fail_scope; HF_INVALID_STATE open: commit submit cancel retry"},
        {"being validated, aborted by a failed write", in_aborted_validate,
         "HF_EXISTS open: fetch save savepoint release begin_scope enlist validate; HF_REENTRANT open: "
         "rollback_to commit submit rollback; HF_OK open: end_scope fail_scope; HF_INVALID_STATE open: "
         "cancel retry"},
        {"a body being validated", in_validate_of_a_body,
         "HF_OK open: fetch save release begin_scope end_scope fail_scope enlist; HF_REENTRANT open: "
         "savepoint rollback_to validate; HF_INVALID_STATE open: commit submit cancel rollback retry"},
        {"a body being validated, on another thread", beside_validate_of_a_body,
         "HF_REENTRANT open: fetch save savepoint rollback_to release begin_scope enlist validate; HF_OK "
         "open: end_scope fail_scope; HF_INVALID_STATE open: commit submit cancel rollback retry"},
        {"while members are told of the commit", in_commit,
         "HF_INVALID_STATE committed: fetch save savepoint rollback_to release begin_scope enlist "
         "validate commit submit cancel rollback retry; HF_OK committed: end_scope fail_scope"},
        {"while members are told of the rollback", in_rollback,
         "HF_INVALID_STATE rolled back: fetch save savepoint rollback_to release begin_scope enlist "
         "validate commit submit cancel; HF_OK rolled back: end_scope fail_scope rollback retry"},
        {"committed", in_committed,
         "HF_INVALID_STATE committed: fetch save savepoint rollback_to release begin_scope enlist "
         "validate commit submit cancel rollback retry; HF_OK committed: end_scope fail_scope"},
        {"committed by a submission", in_committed_by_submission,
         "HF_INVALID_STATE committed: fetch save savepoint rollback_to release begin_scope enlist "
         "validate commit submit cancel rollback retry; HF_OK committed: end_scope fail_scope"},
        {"rolled back", in_rolled_back,
         "HF_INVALID_STATE rolled back: fetch save savepoint rollback_to release begin_scope enlist "
         "validate commit submit cancel; HF_OK rolled back: end_scope fail_scope rollback retry"},
        {"failed", in_failed,
         "HF_INVALID_STATE failed: fetch save savepoint rollback_to release begin_scope enlist validate "
         "commit submit cancel rollback; HF_OK failed: end_scope fail_scope retry"},
        {"failed by a submission", in_failed_by_submission,
         "HF_INVALID_STATE failed: fetch save savepoint rollback_to release begin_scope enlist validate "
         "commit submit cancel rollback; HF_OK failed: end_scope fail_scope retry"},
        {"failed, as it was aborted", in_failed_as_aborted,
         "HF_INVALID_STATE failed: fetch save savepoint rollback_to release begin_scope enlist validate "
         "commit submit cancel rollback; HF_OK failed: end_scope fail_scope retry"},
        {"open, its store closed", in_closed,
         "HF_CLOSED rolled back: fetch save savepoint rollback_to release begin_scope enlist validate "
         "commit submit; HF_OK rolled back: end_scope fail_scope rollback; HF_INVALID_STATE rolled back: "
         "cancel retry"},
        {"committed, its store closed", in_closed_after_commit,
         "HF_CLOSED committed: fetch save savepoint rollback_to release begin_scope enlist validate "
         "commit submit; HF_OK committed: end_scope fail_scope; HF_INVALID_STATE committed: cancel "
         "rollback retry"},
        {"freed", in_freed,
         "HF_INVALID_HANDLE gone: fetch save savepoint rollback_to release begin_scope end_scope "
         "fail_scope enlist validate commit submit cancel rollback retry"},
    };
    const state_table table = {scene_call_names, SCENE_CALLS, rows, COUNT_OF(rows), run_call};
    check_state_table(&table, f);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(each_state_answers_each_call_as_the_table_says),
    };
    return run_scenarios("transaction_states", scenarios, COUNT_OF(scenarios));
}
