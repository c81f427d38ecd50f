/* What every call on an object tree answers, in every state of a transaction of the tree alone, or of a
 * store's that it is enlisted in. */
#include "members.h"
#include "state_table.h"

typedef struct scene {
    hf_store *store;
    hf_repository *things;
    hf_transaction *t, *another;
    member root, child;
    member plain; /* takes no part in savepoints */
    member other; /* a tree of its own, in no transaction */
    uint8_t descriptor[HF_DESCRIPTOR_BYTES];
    uint64_t savepoint, scope;
    size_t call;
    char *answer;
    size_t size;
} scene;

/* --- The calls ------------------------------------------------------------------------------------------ */

static hf_status call_begin(scene *s) { return hf_participant_begin(s->root.handle, NULL, NULL); }

static hf_status call_commit(scene *s) { return hf_participant_commit(s->child.handle, NULL, NULL); }

static hf_status call_commit_it(scene *s) {
    return hf_participant_commit(s->child.handle, s->descriptor, NULL);
}

static hf_status call_commit_another(scene *s) {
    static const uint8_t another[HF_DESCRIPTOR_BYTES] = {1};
    return hf_participant_commit(s->child.handle, another, NULL);
}

static hf_status call_rollback(scene *s) { return hf_participant_rollback(s->root.handle, NULL, NULL); }

static hf_status call_savepoint(scene *s) {
    uint64_t number = 0;
    return hf_participant_savepoint(s->root.handle, NULL, &number, NULL);
}

static hf_status call_rollback_to(scene *s) {
    return hf_participant_rollback_to(s->root.handle, NULL, s->savepoint, NULL);
}

static hf_status call_begin_scope(scene *s) {
    uint64_t number = 0;
    return hf_participant_begin_scope(s->root.handle, &number, NULL);
}

static hf_status call_end_scope(scene *s) {
    return hf_participant_end_scope(s->root.handle, s->scope, true, NULL);
}

static hf_status call_fail_scope(scene *s) {
    return hf_participant_end_scope(s->root.handle, s->scope, false, NULL);
}

static hf_status accept_body(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)participant, (void)user_data;
    return HF_OK;
}

static hf_status call_transact(scene *s) {
    return hf_participant_transact(s->root.handle, accept_body, NULL, NULL);
}

static hf_status refuse_body(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)participant, (void)user_data;
    return HF_REFUSED;
}

static hf_status call_transact_in_vain(scene *s) {
    return hf_participant_transact(s->root.handle, refuse_body, NULL, NULL);
}

static hf_status call_attach(scene *s) {
    return hf_participant_attach(s->other.handle, s->child.handle, NULL);
}

static hf_status call_create(scene *s) {
    hf_participant *leaf = NULL;
    hf_status status = hf_participant_create(s->child.handle, NULL, NULL, NULL, &leaf, NULL);
    hf_participant_free(leaf);
    return status;
}

static hf_status call_detach(scene *s) { return hf_participant_detach(s->child.handle, NULL); }

static hf_status call_enlist_elsewhere(scene *s) {
    return hf_transaction_enlist(s->another, s->root.handle, NULL);
}

static const char *const call_names[] = {"begin",     "commit",     "commit_it",   "commit_another",
                                         "rollback",  "savepoint",  "rollback_to", "begin_scope",
                                         "end_scope", "fail_scope", "transact",    "transact_in_vain",
                                         "attach",    "create",     "detach",      "enlist_elsewhere"};

static hf_status (*const calls[])(scene *) = {
    call_begin,     call_commit,     call_commit_it,   call_commit_another,
    call_rollback,  call_savepoint,  call_rollback_to, call_begin_scope,
    call_end_scope, call_fail_scope, call_transact,    call_transact_in_vain,
    call_attach,    call_create,     call_detach,      call_enlist_elsewhere};

static void make_call(scene *s) {
    assert_int_equal(s->answer[0], '\0'); /* once */
    hf_status status = calls[s->call](s);
    snprintf(s->answer, s->size, "%s %s", hf_status_name(status), is_active(&s->root) ? "active" : "free");
}

static void *make_call_on_thread(void *s) {
    make_call(s);
    return NULL;
}

static void make_call_elsewhere(scene *s) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_call_on_thread, s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* --- Between calls ----------------------------------------------------------------------------------------
 */

static void begin_alone(scene *s) {
    expect_ok(hf_participant_begin, s->root.handle, s->descriptor);
    expect_ok(hf_participant_savepoint, s->root.handle, NULL, &s->savepoint);
}

static void begin_scope(scene *s) { expect_ok(hf_participant_begin_scope, s->root.handle, &s->scope); }

static void fail_half(scene *s) {
    expect_ok(hf_participant_attach, s->plain.handle, s->root.handle);
    begin_scope(s);
    expect_ok(hf_participant_end_scope, s->root.handle, s->scope, false);
}

static void begin_in_store(scene *s) {
    s->t = begin(s->store, NULL);
    save(s->things, s->t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_enlist, s->t, s->root.handle);
    bool is_active = false;
    expect_ok(hf_participant_active, s->root.handle, &is_active, s->descriptor);
    expect_ok(hf_transaction_savepoint, s->t, &s->savepoint);
}

static void in_none(void *s) { make_call(s); }

static void in_ended(void *p) {
    scene *s = p;
    begin_alone(s);
    expect_ok(hf_participant_commit, s->root.handle, NULL);
    make_call(s);
}

static void in_open(void *s) {
    begin_alone(s);
    make_call(s);
}

static void in_a_scope(void *s) {
    begin_alone(s);
    begin_scope(s);
    make_call(s);
}

static void in_half_failed(void *s) {
    begin_alone(s);
    fail_half(s);
    make_call(s);
}

static void in_refused(void *p) {
    scene *s = p;
    begin_alone(s);
    s->child.answer = HF_REFUSED;
    expect(HF_REFUSED, hf_participant_commit, s->root.handle, NULL);
    s->child.answer = HF_OK;
    make_call(s);
}

static hf_status call_in_body(hf_participant *participant, void *p, hf_error **out_error) {
    (void)out_error;
    scene *s = p;
    bool is_active = false;
    expect_ok(hf_participant_active, participant, &is_active, s->descriptor);
    make_call(s);
    return HF_OK;
}

static void in_a_body(void *p) {
    scene *s = p;
    /* What the call has left may be no transaction to commit. */
    (void)!hf_participant_transact(s->root.handle, call_in_body, s, NULL);
}

static void in_store(void *s) {
    begin_in_store(s);
    make_call(s);
}

static void in_a_scope_in_store(void *p) {
    scene *s = p;
    begin_in_store(s);
    expect_ok(hf_transaction_begin_scope, s->t, 0, &s->scope);
    make_call(s);
}

static void in_half_failed_in_store(void *s) {
    begin_in_store(s);
    fail_half(s);
    make_call(s);
}

static void in_submitted(void *p) {
    scene *s = p;
    begin_in_store(s);
    expect_ok(hf_transaction_submit, s->t, NULL, NULL, NULL);
    expect_ok(hf_store_sync, s->store);
    make_call(s);
    hf_event event;
    assert_int_equal(hf_store_events(s->store, &event, 1, -1), 1);
    hf_events_free(&event, 1);
}

static void in_failed_submission(void *p) {
    scene *s = p;
    begin_in_store(s);
    (void)integer_in(s->things, s->t, "clock", "n");
    tick(s->things);
    expect_ok(hf_transaction_submit, s->t, NULL, NULL, NULL);
    expect_ok(hf_store_sync, s->store);
    make_call(s);
}

static void in_committed_in_store(void *p) {
    scene *s = p;
    begin_in_store(s);
    expect_ok(hf_transaction_commit, s->t, NULL);
    make_call(s);
}

/* --- Within the functions of members
 * ------------------------------------------------------------------------ */

static hf_status call_in(member *m, phase p, phase wanted, void (*call)(scene *)) {
    if (p != wanted)
        return HF_OK;
    m->hook = NULL;
    call(m->context);
    return HF_REFUSED;
}

#define CALL_IN(wanted, name, call)                                                                          \
    static hf_status name(member *m, phase p, hf_transaction *t) {                                           \
        (void)t;                                                                                             \
        return call_in(m, p, wanted, call);                                                                  \
    }

CALL_IN(BEGIN, call_in_begin, make_call)
CALL_IN(BEGIN, call_beside_begin, make_call_elsewhere)
CALL_IN(VALIDATE, call_in_validate, make_call)
CALL_IN(VALIDATE, call_beside_validate, make_call_elsewhere)
CALL_IN(COMMIT, call_in_commit, make_call)
CALL_IN(COMMIT, call_beside_commit, make_call_elsewhere)
CALL_IN(ROLLBACK, call_in_rollback, make_call)
CALL_IN(ROLLBACK, call_beside_rollback, make_call_elsewhere)
CALL_IN(SAVEPOINT, call_in_savepoint, make_call)
CALL_IN(ROLLBACK_TO, call_in_rollback_to, make_call)

typedef hf_status (*hook)(member *m, phase p, hf_transaction *t);

static void within_begin(scene *s, hook h) {
    s->root.hook = h;
    expect_ok(hf_participant_begin, s->root.handle, s->descriptor);
}

static void in_begin(void *s) { within_begin(s, call_in_begin); }
static void beside_begin(void *s) { within_begin(s, call_beside_begin); }

static void in_savepoint(void *p) {
    scene *s = p;
    begin_alone(s);
    s->root.hook = call_in_savepoint;
    uint64_t number = 0;
    expect_ok(hf_participant_savepoint, s->root.handle, NULL, &number);
}

static void in_rollback_to(void *p) {
    scene *s = p;
    begin_alone(s);
    s->root.hook = call_in_rollback_to;
    expect_ok(hf_participant_rollback_to, s->root.handle, NULL, s->savepoint);
}

static void within_validate(scene *s, hook h) {
    begin_alone(s);
    s->root.hook = h;
    expect(HF_REFUSED, hf_participant_commit, s->root.handle, NULL);
}

static void in_validate(void *s) { within_validate(s, call_in_validate); }
static void beside_validate(void *s) { within_validate(s, call_beside_validate); }

static void within_commit(scene *s, hook h) {
    begin_alone(s);
    s->root.hook = h;
    expect_ok(hf_participant_commit, s->root.handle, NULL);
}

static void in_commit(void *s) { within_commit(s, call_in_commit); }
static void beside_commit(void *s) { within_commit(s, call_beside_commit); }

static void within_rollback(scene *s, hook h) {
    begin_alone(s);
    s->root.hook = h;
    expect_ok(hf_participant_rollback, s->root.handle, NULL);
}

static void in_rollback(void *s) { within_rollback(s, call_in_rollback); }
static void beside_rollback(void *s) { within_rollback(s, call_beside_rollback); }

static void within_validate_in_store(scene *s, hook h) {
    begin_in_store(s);
    s->root.hook = h;
    /* What the call has left may be refused by itself. */
    assert_int_not_equal(hf_transaction_commit(s->t, NULL, NULL), HF_OK);
}

static void in_validate_in_store(void *s) { within_validate_in_store(s, call_in_validate); }
static void beside_validate_in_store(void *s) { within_validate_in_store(s, call_beside_validate); }

static void in_commit_in_store(void *p) {
    scene *s = p;
    begin_in_store(s);
    s->root.hook = call_in_commit;
    expect_ok(hf_transaction_commit, s->t, NULL);
}

static void in_rollback_in_store(void *p) {
    scene *s = p;
    begin_in_store(s);
    s->root.hook = call_in_rollback;
    expect_ok(hf_transaction_rollback, s->t);
}

/* --- The table --------------------------------------------------------------------------------------------
 */

static void run_call(const state_row *row, size_t call, void *context, char *answer, size_t size) {
    scene s = {.call = call, .answer = answer, .size = size};
    room r = open_room(context, "{\"delivery\":\"queue\"}");
    s.store = r.store, s.things = r.things;
    save(s.things, NULL, "{\"id\":\"clock\",\"n\":0}");
    s.another = begin(s.store, NULL);
    make_saving_member(&s.root, "root", NULL);
    make_saving_member(&s.child, "child", &s.root);
    make_saving_member(&s.other, "other", NULL);
    make_member(&s.plain, "plain", NULL);
    s.root.context = &s;
    row->bring_about(&s);
    hf_transaction_free(s.t), hf_transaction_free(s.another);
    free_member(&s.root), free_member(&s.child), free_member(&s.other), free_member(&s.plain);
    hf_repository_free(s.things);
    hf_store_free(s.store);
    journal[0] = '\0';
}

static void each_state_of_a_tree_answers_each_call_as_the_table_says(fixture *f) {
    static const state_row rows[] = {
        {"in no transaction", in_none,
         "HF_OK active: begin enlist_elsewhere; HF_TRANSACTION_NOT_ACTIVE free: commit commit_it rollback "
         "savepoint rollback_to begin_scope; HF_WRONG_DESCRIPTOR free: commit_another; HF_OK free: "
         "end_scope fail_scope transact attach create detach; HF_REFUSED free: transact_in_vain"},
        {"in none any more", in_ended,
         "HF_OK active: begin enlist_elsewhere; HF_TRANSACTION_NOT_ACTIVE free: commit rollback savepoint "
         "rollback_to begin_scope; HF_WRONG_DESCRIPTOR free: commit_it commit_another; HF_OK free: "
         "end_scope fail_scope transact attach create detach; HF_REFUSED free: transact_in_vain"},
        {"open", in_open,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_OK free: commit commit_it rollback; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: savepoint rollback_to begin_scope "
         "end_scope fail_scope transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"open, a scope under way", in_a_scope,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_INVALID_STATE active: commit "
         "commit_it; HF_WRONG_DESCRIPTOR active: commit_another; HF_OK free: rollback; HF_OK active: "
         "savepoint rollback_to begin_scope end_scope fail_scope transact attach create detach; "
         "HF_REFUSED active: transact_in_vain"},
        {"half failed", in_half_failed,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_UNSUPPORTED active: commit commit_it "
         "savepoint; HF_WRONG_DESCRIPTOR active: commit_another; HF_OK free: rollback; HF_OK active: "
         "rollback_to begin_scope end_scope fail_scope transact attach create detach; HF_REFUSED active: "
         "transact_in_vain"},
        {"open, after a member refused", in_refused,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_OK free: commit commit_it rollback; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: savepoint rollback_to begin_scope "
         "end_scope fail_scope transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"in a body", in_a_body,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_OK free: commit commit_it rollback; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: savepoint begin_scope end_scope "
         "fail_scope transact attach create detach; HF_INVALID_ARGUMENT active: rollback_to; HF_REFUSED "
         "active: transact_in_vain"},
        {"while members are begun", in_begin,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"while members are begun, on another thread", beside_begin,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"while members make a savepoint", in_savepoint,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"while members go back to a savepoint", in_rollback_to,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"being validated", in_validate,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"being validated, on another thread", beside_validate,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"while members are told of the commit", in_commit,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"while members are told of the commit, on another thread", beside_commit,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"while members are told of the rollback", in_rollback,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"while members are told of the rollback, on another thread", beside_rollback,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"enlisted in a store's transaction", in_store,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_INVALID_STATE active: commit commit_it "
         "rollback savepoint rollback_to; HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: "
         "begin_scope end_scope fail_scope transact attach create detach; HF_REFUSED active: "
         "transact_in_vain"},
        {"enlisted, a scope under way", in_a_scope_in_store,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_INVALID_STATE active: commit commit_it "
         "rollback savepoint rollback_to; HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: "
         "begin_scope end_scope fail_scope transact attach create detach; HF_REFUSED active: "
         "transact_in_vain"},
        {"enlisted, half failed", in_half_failed_in_store,
         "HF_TRANSACTION_ACTIVE active: begin enlist_elsewhere; HF_INVALID_STATE active: commit commit_it "
         "rollback savepoint rollback_to; HF_WRONG_DESCRIPTOR active: commit_another; HF_UNSUPPORTED "
         "active: begin_scope transact transact_in_vain; HF_OK active: end_scope fail_scope attach create "
         "detach"},
        {"enlisted, being validated", in_validate_in_store,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: begin_scope end_scope fail_scope "
         "transact attach create detach; HF_REFUSED active: transact_in_vain"},
        {"enlisted, being validated, on another thread", beside_validate_in_store,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to begin_scope transact "
         "transact_in_vain enlist_elsewhere; HF_WRONG_DESCRIPTOR active: commit_another; HF_OK active: "
         "end_scope fail_scope attach create detach"},
        {"enlisted, submitted, the event not taken", in_submitted,
         "HF_BUSY active: begin commit commit_it rollback savepoint rollback_to transact transact_in_vain "
         "attach create detach enlist_elsewhere; HF_WRONG_DESCRIPTOR active: commit_another; "
         "HF_INVALID_STATE active: begin_scope; HF_OK active: end_scope fail_scope"},
        {"enlisted, submitted in vain, the event not taken", in_failed_submission,
         "HF_BUSY active: begin commit commit_it rollback savepoint rollback_to transact transact_in_vain "
         "attach create detach enlist_elsewhere; HF_WRONG_DESCRIPTOR active: commit_another; "
         "HF_INVALID_STATE active: begin_scope; HF_OK active: end_scope fail_scope"},
        {"enlisted, while members are told of the commit", in_commit_in_store,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_INVALID_STATE active: begin_scope transact "
         "transact_in_vain; HF_OK active: end_scope fail_scope attach create detach"},
        {"enlisted, while members are told of the rollback", in_rollback_in_store,
         "HF_REENTRANT active: begin commit commit_it rollback savepoint rollback_to enlist_elsewhere; "
         "HF_WRONG_DESCRIPTOR active: commit_another; HF_INVALID_STATE active: begin_scope transact "
         "transact_in_vain; HF_OK active: end_scope fail_scope attach create detach"},
        {"enlisted in what was committed", in_committed_in_store,
         "HF_OK active: begin enlist_elsewhere; HF_TRANSACTION_NOT_ACTIVE free: commit rollback savepoint "
         "rollback_to begin_scope; HF_WRONG_DESCRIPTOR free: commit_it commit_another; HF_OK free: "
         "end_scope fail_scope transact attach create detach; HF_REFUSED free: transact_in_vain"},
    };
    const state_table table = {call_names, COUNT_OF(calls), rows, COUNT_OF(rows), run_call};
    check_state_table(&table, f);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(each_state_of_a_tree_answers_each_call_as_the_table_says),
    };
    return run_scenarios("tree_states", scenarios, COUNT_OF(scenarios));
}
