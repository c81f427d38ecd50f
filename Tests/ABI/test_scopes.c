/* Scopes: parts of a transaction that go back by themselves when they fail; and transactions in which the
 * first write that fails ends all. */
#include "members.h"
#include "support.h"

static uint64_t begin_scope(hf_transaction *t) {
    uint64_t scope = 0;
    expect_ok(hf_transaction_begin_scope, t, 0, &scope);
    return scope;
}

static size_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* --- Writes ------------------------------------------------------------------------------------- */

static void a_scope_that_fails_takes_its_own_writes_with_it(room r) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\",\"n\":1}");
    uint64_t scope = begin_scope(t);
    save(r.things, t, "{\"id\":\"a\",\"n\":2}");
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_transaction_end_scope, t, scope, false);
    expect_absent(r.things, t, "b");
    save(r.things, t, "{\"id\":\"c\"}");
    commit_quietly(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect_count(r.things, NULL, NULL, 2);
}

static void a_scope_that_succeeds_stays_and_goes_with_the_one_around_it(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t outer = begin_scope(t);
    uint64_t inner = begin_scope(t);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_end_scope, t, inner, true);
    expect_entity(r.things, t, "a", "{\"id\":\"a\"}");
    expect_ok(hf_transaction_end_scope, t, outer, false);
    expect_absent(r.things, t, "a");
    /* What has ended is left alone. */
    expect_ok(hf_transaction_end_scope, t, inner, false);
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 0);
}

static void what_a_failed_scope_has_read_still_counts(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    uint64_t scope = begin_scope(t);
    expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}");
    expect_ok(hf_transaction_end_scope, t, scope, false);
    save(r.things, t, "{\"id\":\"b\"}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":2}");
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
}

static void a_savepoint_that_is_rolled_back_to_inside_a_scope_leaves_the_scope(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t savepoint = 0, later = 0;
    expect_ok(hf_transaction_savepoint, t, &savepoint);
    save(r.things, t, "{\"id\":\"a\"}");
    uint64_t scope = begin_scope(t);
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_transaction_savepoint, t, &later);
    expect_ok(hf_transaction_rollback_to, t, savepoint);
    expect(HF_INVALID_ARGUMENT, hf_transaction_rollback_to, t, later);
    save(r.things, t, "{\"id\":\"c\"}");
    expect_ok(hf_transaction_end_scope, t, scope, false);
    expect_absent(r.things, t, "a");
    expect_absent(r.things, t, "c");
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 0);
}

static void a_released_savepoint_is_gone_and_what_was_written_stays(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t first = 0, second = 0;
    expect_ok(hf_transaction_savepoint, t, &first);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_savepoint, t, &second);
    expect_ok(hf_transaction_release, t, first);
    expect(HF_INVALID_ARGUMENT, hf_transaction_rollback_to, t, second);
    expect(HF_INVALID_ARGUMENT, hf_transaction_release, t, first);
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 1);
}

/* What two tasks of one transaction do, one after the other. */
static void a_scope_that_fails_beside_another_leaves_nothing_half_stored(room r) {
    for (int first_fails = 0; first_fails < 2; first_fails++) {
        hf_transaction *t = begin(r.store, NULL);
        uint64_t before = 0, one = 0, other = 0;
        expect_ok(hf_transaction_savepoint, t, &before);
        expect_ok(hf_transaction_begin_scope, t, HF_NO_SCOPE, &one);
        save(r.things, t, "{\"id\":\"one\"}");
        expect_ok(hf_transaction_begin_scope, t, HF_NO_SCOPE, &other);
        save(r.things, t, "{\"id\":\"other\"}");
        expect_ok(hf_transaction_end_scope, t, first_fails ? one : other, false);
        expect(HF_INVALID_STATE, hf_transaction_end_scope, t, first_fails ? other : one, true);
        expect(HF_INVALID_STATE, hf_transaction_rollback_to, t, before);
        hf_error *error = error_of(HF_INVALID_STATE, hf_transaction_commit, t, NULL);
        assert_non_null(strstr(hf_error_message(error), "roll all back"));
        hf_error_free(error);
        expect_state(t, HF_TRANSACTION_FAILED);
        hf_transaction_free(t);
    }
    expect_count(r.things, NULL, NULL, 0);
}

static void a_scope_that_fails_after_another_beside_it_has_ended_takes_nothing_of_that(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t one = 0, other = 0;
    expect_ok(hf_transaction_begin_scope, t, HF_NO_SCOPE, &one);
    expect_ok(hf_transaction_begin_scope, t, HF_NO_SCOPE, &other);
    save(r.things, t, "{\"id\":\"other\"}");
    expect_ok(hf_transaction_end_scope, t, other, true);
    expect_ok(hf_transaction_end_scope, t, one, false);
    expect(HF_INVALID_STATE, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    expect_count(r.things, NULL, NULL, 0);
}

/* A scope that each change has for itself costs the memory of one change, in a scope around them too. */
static void a_thousand_changes_of_one_large_entity_are_not_all_kept(room r) {
    enum { LENGTH = 300000, CHANGES = 1000 };
    char *text = malloc(LENGTH + 64);
    hf_transaction *t = begin(r.store, NULL);
    uint64_t outer = begin_scope(t);
    size_t least = 0, most = 0;
    for (int change = 0; change < CHANGES; change++) {
        int start = sprintf(text, "{\"id\":\"a\",\"n\":%d,\"text\":\"", change);
        memset(text + start, 'x', LENGTH);
        memcpy(text + start + LENGTH, "\"}", 3);
        uint64_t scope = begin_scope(t);
        save(r.things, t, text);
        expect_ok(hf_transaction_end_scope, t, scope, true);
        most = resident_bytes();
        if (change == CHANGES / 4)
            least = most;
    }
    assert_true(most < least + 40000000);
    expect_ok(hf_transaction_end_scope, t, outer, false);
    expect_absent(r.things, t, "a");
    commit_quietly(t);
    free(text);
}

/* --- Object trees ------------------------------------------------------------------------------- */

static void a_scope_that_fails_brings_members_with_savepoints_back(tree_room *r) {
    member saving, late;
    make_saving_member(&saving, "saving", NULL);
    make_saving_member(&late, "late", NULL);
    hf_transaction *t = begin(r->store, NULL);
    expect_ok(hf_transaction_enlist, t, saving.handle);
    saving.value = 1;
    uint64_t scope = begin_scope(t);
    saving.value = 2;
    expect_ok(hf_transaction_enlist, t, late.handle);
    late.value = 7;
    save(r->things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_end_scope, t, scope, false);
    assert_int_equal(saving.value, 1);
    assert_int_equal(late.value, 0);
    commit_quietly(t);
    expect_absent(r->things, NULL, "a");
    expect_calls(&saving, 1, 1, 1, 0);
    expect_calls(&late, 1, 1, 1, 0);
    free_member(&late);
    free_member(&saving);
}

static void where_a_member_cannot_go_back_everything_must(fixture *f) {
    /* Before the scope, and inside it. */
    for (int is_late = 0; is_late < 2; is_late++) {
        tree_room r;
        open_tree_room(f, &r, NULL);
        hf_transaction *t = begin(r.store, NULL);
        save(r.things, t, "{\"id\":\"a\"}");
        if (!is_late)
            expect_ok(hf_transaction_enlist, t, r.root.handle);
        uint64_t scope = begin_scope(t);
        if (is_late)
            expect_ok(hf_transaction_enlist, t, r.root.handle);
        r.child.value = 5;
        save(r.things, t, "{\"id\":\"b\"}");
        expect_ok(hf_transaction_end_scope, t, scope, false);
        expect(HF_UNSUPPORTED, hf_repository_save, r.things, t, "{\"id\":\"c\"}", HF_NTS, NULL);
        hf_error *error = error_of(HF_UNSUPPORTED, hf_transaction_commit, t, NULL);
        assert_non_null(strstr(hf_error_message(error), "takes no part in savepoints: roll all back"));
        assert_false(hf_error_is_retryable(error));
        hf_error_free(error);
        expect_calls(&r.child, 1, 0, 0, 1);
        assert_int_equal(r.child.value, 0);
        assert_false(is_active(&r.root));
        hf_transaction_free(t);
        expect_absent(r.things, NULL, "a");
        close_tree_room(&r);
    }
}

static hf_status write_and_fail(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)participant;
    void **both = user_data;
    save(both[0], both[1], "{\"id\":\"b\"}");
    return HF_NOT_FOUND;
}

static void a_tree_s_body_inside_a_store_s_transaction_takes_its_writes_with_it(tree_room *r) {
    member saving;
    make_saving_member(&saving, "saving", NULL);
    hf_transaction *t = begin(r->store, NULL);
    expect_ok(hf_transaction_enlist, t, saving.handle);
    save(r->things, t, "{\"id\":\"a\"}");
    void *both[] = {r->things, t};
    expect(HF_NOT_FOUND, hf_participant_transact, saving.handle, write_and_fail, both);
    commit_quietly(t);
    expect_entity(r->things, NULL, "a", "{\"id\":\"a\"}");
    expect_absent(r->things, NULL, "b");
    free_member(&saving);
}

/* --- "on_error": "abort" ------------------------------------------------------------------------ */

static void the_first_failed_write_is_what_the_rest_answers(room r) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_transaction *t = begin(r.store, "{\"on_error\":\"abort\"}");
    hf_entity entity = HF_ENTITY_INIT;
    save(r.things, t, "{\"id\":\"b\"}");
    expect(HF_EXISTS, hf_repository_add, r.things, t, "{\"id\":\"a\"}", HF_NTS, NULL);
    hf_error *error = error_of(HF_EXISTS, hf_repository_save, r.things, t, "{\"id\":\"c\"}", HF_NTS, NULL);
    expect_detail(error, "id", "\"a\"");
    expect(HF_EXISTS, hf_repository_fetch, r.things, t, "a", 1, &entity);
    expect(HF_EXISTS, hf_repository_delete, r.things, t, "zzz", 3, 0);
    error = error_of(HF_EXISTS, hf_transaction_commit, t, NULL);
    assert_false(hf_error_is_retryable(error));
    expect_detail(error, "id", "\"a\"");
    expect_state(t, HF_TRANSACTION_FAILED);
    hf_transaction_free(t);
    expect_count(r.things, NULL, NULL, 1);
}

static void every_way_for_a_write_to_fail_counts(room r) {
    for (int way = 0; way < 6; way++) {
        hf_transaction *t = begin(r.store, "{\"on_error\":\"abort\"}");
        hf_status expected = HF_NOT_FOUND;
        save(r.things, t, "{\"id\":\"b\"}");
        switch (way) {
        case 0:
            expect(HF_NOT_FOUND, hf_repository_delete, r.things, t, "zzz", 3, 0);
            break;
        case 1:
            expected = HF_INVALID_JSON;
            expect(HF_INVALID_JSON, hf_repository_save, r.things, t, "{", HF_NTS, NULL);
            break;
        case 2:
            expected = HF_INVALID_ARGUMENT;
            expect(HF_INVALID_ARGUMENT, hf_repository_save, NULL, t, "{}", HF_NTS, NULL);
            break;
        case 3:
            expect(HF_NOT_FOUND, hf_repository_update_many, r.things, t, "[{\"id\":\"x\"}]", HF_NTS, NULL);
            break;
        case 4:
            expected = HF_INVALID_QUERY;
            expect(HF_INVALID_QUERY, hf_repository_delete_all, r.things, t, "{\"$no\":1}", HF_NTS, NULL,
                   NULL);
            break;
        case 5: {
            hf_operation *operation = NULL;
            expect_ok(
                hf_operation_create, r.store,
                "{\"steps\":[{\"operation\":\"save\",\"repository\":\"things\",\"entity\":{\"id\":\"s\"}},"
                "{\"operation\":\"delete\",\"repository\":\"things\",\"id\":\"x\"}]}",
                HF_NTS, &operation);
            expect(HF_NOT_FOUND, hf_operation_perform, operation, t, NULL, NULL);
            hf_operation_free(operation);
        } break;
        }
        expect(expected, hf_transaction_submit, t, NULL, NULL, NULL);
        hf_transaction_free(t);
    }
    expect_count(r.things, NULL, NULL, 0);
}

static void only_a_scope_that_was_begun_can_be_ended(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t scope = begin_scope(t);
    save(r.things, t, "{\"id\":\"a\"}");
    expect(HF_INVALID_ARGUMENT, hf_transaction_end_scope, t, scope + 1, false);
    expect_ok(hf_transaction_end_scope, t, scope, true);
    expect_ok(hf_transaction_end_scope, t, scope, false);
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 1);
}

static void a_fetch_of_nothing_is_no_failed_write(room r) {
    hf_transaction *t = begin(r.store, "{\"on_error\":\"abort\"}");
    expect_absent(r.things, t, "a");
    save(r.things, t, "{\"id\":\"b\"}");
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 1);
}

static void nothing_is_said_to_be_missing_after_a_write_that_found_nothing(room r) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_transaction *t = begin(r.store, "{\"on_error\":\"abort\"}");
    expect(HF_NOT_FOUND, hf_repository_delete, r.things, t, "zzz", 3, 0);
    hf_entity entity = HF_ENTITY_INIT;
    expect(HF_INVALID_STATE, hf_repository_fetch, r.things, t, "a", 1, &entity);
    expect(HF_INVALID_STATE, hf_repository_first, r.things, t, NULL, 0, NULL, &entity);
    hf_operation *deletion = NULL;
    expect_ok(hf_operation_create, r.store,
              "{\"operation\":\"delete\",\"repository\":\"things\",\"id\":\"a\",\"missing_ok\":true}", HF_NTS,
              &deletion);
    expect(HF_NOT_FOUND, hf_operation_perform, deletion, t, NULL, NULL);
    hf_operation_free(deletion);
    expect(HF_NOT_FOUND, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    expect_count(r.things, NULL, NULL, 1);
}

static void a_savepoint_or_scope_before_the_failure_leads_back(room r) {
    hf_transaction *t = begin(r.store, "{\"on_error\":\"abort\"}");
    uint64_t savepoint = 0;
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_savepoint, t, &savepoint);
    expect(HF_EXISTS, hf_repository_add, r.things, t, "{\"id\":\"a\"}", HF_NTS, NULL);
    expect(HF_EXISTS, hf_transaction_savepoint, t, &savepoint);
    expect_ok(hf_transaction_rollback_to, t, savepoint);
    uint64_t scope = begin_scope(t);
    save(r.things, t, "{\"id\":\"b\"}");
    expect(HF_EXISTS, hf_repository_add, r.things, t, "{\"id\":\"a\"}", HF_NTS, NULL);
    /* It says that it has succeeded, and was not looking. */
    expect(HF_EXISTS, hf_transaction_end_scope, t, scope, true);
    save(r.things, t, "{\"id\":\"c\"}");
    commit_quietly(t);
    expect_absent(r.things, NULL, "b");
    expect_count(r.things, NULL, NULL, 2);
}

static hf_status add_twice_unseen(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    hf_repository *things = user_data;
    expect_ok(hf_repository_add, things, t, "{\"id\":\"a\"}", HF_NTS, NULL);
    expect(HF_EXISTS, hf_repository_add, things, t, "{\"id\":\"a\"}", HF_NTS, NULL);
    return HF_OK;
}

static void transact_answers_what_its_body_has_not_seen(room r) {
    expect(HF_EXISTS, hf_store_transact, r.store, add_twice_unseen, r.things, "{\"on_error\":\"abort\"}",
           NULL);
    expect_count(r.things, NULL, NULL, 0);
    expect_ok(hf_store_transact, r.store, add_twice_unseen, r.things, "{\"on_error\":\"continue\"}", NULL);
    expect_count(r.things, NULL, NULL, 1);
    expect(HF_INVALID_OPTION, hf_store_transact, r.store, add_twice_unseen, r.things, "{\"on_error\":\"no\"}",
           NULL);
}

static void an_aborted_transaction_rolls_its_tree_back_and_asks_nobody(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, "{\"on_error\":\"abort\"}");
    r->child.value = 5;
    expect(HF_NOT_FOUND, hf_repository_delete, r->things, t, "zzz", 3, 0);
    expect(HF_NOT_FOUND, hf_transaction_commit, t, NULL);
    expect_calls(&r->child, 1, 0, 0, 1);
    assert_int_equal(r->child.value, 0);
    hf_transaction_free(t);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_scope_that_fails_takes_its_own_writes_with_it),
        EACH_ENGINE(a_scope_that_succeeds_stays_and_goes_with_the_one_around_it),
        EACH_ENGINE(what_a_failed_scope_has_read_still_counts),
        EACH_ENGINE(a_savepoint_that_is_rolled_back_to_inside_a_scope_leaves_the_scope),
        EACH_ENGINE(a_released_savepoint_is_gone_and_what_was_written_stays),
        EACH_ENGINE(a_scope_that_fails_beside_another_leaves_nothing_half_stored),
        EACH_ENGINE(a_scope_that_fails_after_another_beside_it_has_ended_takes_nothing_of_that),
        ONCE(a_thousand_changes_of_one_large_entity_are_not_all_kept),
        EACH_ENGINE(a_scope_that_fails_brings_members_with_savepoints_back),
        EACH_ENGINE(where_a_member_cannot_go_back_everything_must),
        EACH_ENGINE(a_tree_s_body_inside_a_store_s_transaction_takes_its_writes_with_it),
        EACH_ENGINE(the_first_failed_write_is_what_the_rest_answers),
        EACH_ENGINE(every_way_for_a_write_to_fail_counts),
        EACH_ENGINE(only_a_scope_that_was_begun_can_be_ended),
        EACH_ENGINE(a_fetch_of_nothing_is_no_failed_write),
        EACH_ENGINE(nothing_is_said_to_be_missing_after_a_write_that_found_nothing),
        EACH_ENGINE(a_savepoint_or_scope_before_the_failure_leads_back),
        EACH_ENGINE(transact_answers_what_its_body_has_not_seen),
        EACH_ENGINE(an_aborted_transaction_rolls_its_tree_back_and_asks_nobody),
    };
    return run_scenarios("scopes", scenarios, COUNT_OF(scenarios));
}
