/* Scopes that are under way when something is asked of the whole transaction. */
#include "members.h"
#include "support.h"

static uint64_t begin_scope(hf_transaction *t) {
    uint64_t scope = 0;
    expect_ok(hf_transaction_begin_scope, t, 0, &scope);
    return scope;
}

static void what_is_under_way_is_not_stored_by_half(room r) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\"}");
    uint64_t scope = begin_scope(t);
    save(r.things, t, "{\"id\":\"b\"}");
    hf_error *error = error_of(HF_INVALID_STATE, hf_transaction_commit, t, NULL);
    assert_non_null(strstr(hf_error_message(error), "end its scope"));
    hf_error_free(error);
    expect(HF_INVALID_STATE, hf_transaction_submit, t, NULL, NULL, NULL);
    expect_count(r.things, NULL, NULL, 0);
    /* It is open as before. */
    save(r.things, t, "{\"id\":\"c\"}");
    expect_ok(hf_transaction_end_scope, t, scope, false);
    commit_quietly(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    expect_count(r.things, NULL, NULL, 1);
}

static hf_status begin_a_scope_and_return(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    save(user_data, t, "{\"id\":\"a\"}");
    (void)begin_scope(t);
    save(user_data, t, "{\"id\":\"b\"}");
    return HF_OK;
}

static void a_body_that_leaves_its_scope_under_way_is_rolled_back(room r) {
    expect(HF_INVALID_STATE, hf_store_transact, r.store, begin_a_scope_and_return, r.things, NULL, NULL);
    expect_count(r.things, NULL, NULL, 0);
}

static void a_tree_alone_is_not_committed_while_a_scope_is_under_way(fixture *f) {
    (void)f;
    member saving;
    make_saving_member(&saving, "saving", NULL);
    uint64_t scope = 0;
    expect_ok(hf_participant_begin, saving.handle, NULL);
    expect_ok(hf_participant_begin_scope, saving.handle, &scope);
    saving.value = 3;
    expect(HF_INVALID_STATE, hf_participant_commit, saving.handle, NULL);
    expect_ok(hf_participant_end_scope, saving.handle, scope, false);
    assert_int_equal(saving.value, 0);
    expect_ok(hf_participant_commit, saving.handle, NULL);
    expect_calls(&saving, 1, 1, 1, 0);
    free_member(&saving);
}

static void a_scope_that_fails_around_another_says_that_this_one_was_under_way(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t outer = begin_scope(t);
    uint64_t inner = begin_scope(t);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_end_scope, t, outer, false);
    expect(HF_INVALID_STATE, hf_transaction_end_scope, t, inner, true);
    hf_error *error = error_of(HF_INVALID_STATE, hf_transaction_commit, t, NULL);
    assert_non_null(strstr(hf_error_message(error), "a part inside it was under way"));
    hf_error_free(error);
    hf_transaction_free(t);
    expect_count(r.things, NULL, NULL, 0);
}

static void a_scope_is_no_savepoint(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t scope = begin_scope(t);
    save(r.things, t, "{\"id\":\"a\"}");
    expect(HF_INVALID_ARGUMENT, hf_transaction_rollback_to, t, scope);
    expect(HF_INVALID_ARGUMENT, hf_transaction_release, t, scope);
    expect_ok(hf_transaction_end_scope, t, scope, true);
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 1);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(what_is_under_way_is_not_stored_by_half),
        EACH_ENGINE(a_body_that_leaves_its_scope_under_way_is_rolled_back),
        ONCE(a_tree_alone_is_not_committed_while_a_scope_is_under_way),
        EACH_ENGINE(a_scope_that_fails_around_another_says_that_this_one_was_under_way),
        EACH_ENGINE(a_scope_is_no_savepoint),
    };
    return run_scenarios("open scopes", scenarios, COUNT_OF(scenarios));
}
