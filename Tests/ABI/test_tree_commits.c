/* Object trees together with a store: what the members are told agrees with what is stored, always. */
#include "members.h"

/* --- Committing ----------------------------------------------------------------------------------------- */

static void objects_and_entities_change_together(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, NULL);
    expect_ok(hf_transaction_enlist, t, r->root.handle); /* a second time: nothing new */
    r->child.value = 60;
    save(r->things, t, "{\"id\":\"child\",\"n\":60}");
    expect_journal("begin root, begin child");
    commit_quietly(t);
    expect_journal("validate root, validate child, commit child, commit root");
    assert_int_equal(integer_in(r->things, NULL, "child", "n"), r->child.value);
    assert_false(is_active(&r->root));
}

static void a_rollback_brings_both_back(tree_room *r) {
    for (int frees = 0; frees < 2; frees++) {
        hf_transaction *t = begin_enlisted(r, NULL);
        r->child.value = 60;
        save(r->things, t, "{\"id\":\"child\",\"n\":60}");
        if (!frees) {
            expect_ok(hf_transaction_rollback, t);
            expect_ok(hf_transaction_rollback, t);
            expect_calls(&r->child, 1, 0, 0, 1);
        }
        hf_transaction_free(t);
        assert_int_equal(r->child.value, 0);
        expect_absent(r->things, NULL, "child");
    }
    expect_calls(&r->root, 2, 0, 0, 2);
}

static void a_conflict_rolls_back_the_objects(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, NULL);
    r->child.value = 60;
    save(r->things, t, "{\"id\":\"child\",\"n\":60}");
    (void)integer_in(r->things, t, "clock", "n");
    tick(r->things);
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    expect_journal("begin root, begin child, validate root, validate child, rollback child, rollback root");
    assert_int_equal(r->child.value, 0);
    expect_absent(r->things, NULL, "child");
    hf_transaction_free(t);
    expect_calls(&r->child, 1, 1, 0, 1);
}

static void whatever_the_store_refuses_rolls_back_the_objects(tree_room *r) {
    expect_ok(hf_repository_create_index, r->things, "{\"fields\":{\"n\":1},\"unique\":true}", NULL, NULL);
    hf_transaction *t = begin_enlisted(r, NULL);
    save(r->things, t, "{\"id\":\"child\",\"n\":0}");
    expect(HF_UNIQUE_VIOLATION, hf_transaction_commit, t, NULL);
    expect_calls(&r->child, 1, 1, 0, 1);
    hf_transaction_free(t);
}

static void a_transaction_of_objects_that_read_is_checked_also_if_it_wrote_nothing(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, NULL);
    r->child.value = (int)integer_in(r->things, t, "clock", "n") + 1;
    tick(r->things);
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    expect_calls(&r->child, 1, 1, 0, 1);
    t = begin_enlisted(r, NULL);
    (void)integer_in(r->things, t, "clock", "n");
    commit_quietly(t);
    expect_calls(&r->child, 2, 2, 1, 1);
}

static void several_trees_validate_in_the_order_of_joining_and_commit_in_reverse(tree_room *r) {
    member other;
    make_member(&other, "other", NULL);
    hf_transaction *t = begin(r->store, NULL);
    expect_ok(hf_transaction_enlist, t, other.handle);
    expect_ok(hf_transaction_enlist, t, r->root.handle);
    /* Both are in one transaction, so members may move from tree to tree. */
    expect_ok(hf_participant_attach, r->child.handle, other.handle);
    commit_quietly(t);
    expect_journal("begin other, begin root, begin child, validate other, validate child, validate root, "
                   "commit root, commit child, commit other");
    free_member(&other);
}

static void several_trees_are_rolled_back_in_reverse(tree_room *r) {
    member other;
    make_member(&other, "other", NULL);
    hf_transaction *t = begin(r->store, NULL);
    expect_ok(hf_transaction_enlist, t, other.handle);
    expect_ok(hf_transaction_enlist, t, r->root.handle);
    expect_ok(hf_transaction_rollback, t);
    expect_journal("begin other, begin root, begin child, rollback child, rollback root, rollback other");
    hf_transaction_free(t);
    free_member(&other);
}

/* --- Validation ----------------------------------------------------------------------------------------- */

static void a_refusal_leaves_everything_open_for_repair(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, NULL);
    r->child.value = 160;
    save(r->things, t, "{\"id\":\"child\",\"n\":160}");
    r->child.answer = HF_REFUSED, r->child.code = 100, r->child.message = "more than all";
    for (int i = 0; i < 2; i++) {
        hf_error *error = i == 0 ? error_of(HF_REFUSED, hf_transaction_validate, t)
                                 : error_of(HF_REFUSED, hf_transaction_commit, t, NULL);
        assert_string_equal(hf_error_message(error), "more than all");
        assert_ptr_equal(hf_error_participant(error), r->child.handle);
        expect_detail(error, "code", "100");
        hf_error_free(error);
        assert_true(is_active(&r->root));
    }
    expect_calls(&r->child, 1, 2, 0, 0);
    r->child.answer = HF_OK;
    expect_ok(hf_transaction_validate, t);
    r->child.value = 60;
    save(r->things, t, "{\"id\":\"child\",\"n\":60}");
    commit_quietly(t);
    expect_calls(&r->child, 1, 4, 1, 0);
    assert_int_equal(integer_in(r->things, NULL, "child", "n"), 60);
}

static hf_status write_in_validation(member *m, phase p, hf_transaction *transaction) {
    if (p == VALIDATE) {
        assert_non_null(transaction);
        expect_ok(hf_repository_modify, m->context, transaction, "sum", HF_NTS, "{\"$inc\":{\"n\":1}}",
                  HF_NTS, "{}", 2, 0, NULL);
    }
    return HF_OK;
}

static void validators_may_write_and_a_refusal_takes_that_back(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, NULL);
    r->root.hook = write_in_validation, r->root.context = r->things;
    r->child.answer = HF_REFUSED;
    expect(HF_REFUSED, hf_transaction_commit, t, NULL);
    expect_absent(r->things, t, "sum");
    r->child.answer = HF_OK;
    commit_quietly(t);
    assert_int_equal(integer_in(r->things, NULL, "sum", "n"), 1);
}

typedef struct intruder {
    hf_repository *things;
    hf_transaction *transaction;
} intruder;

static void *intrude(void *context) {
    intruder *i = context;
    hf_entity entity = HF_ENTITY_INIT;
    hf_status write = hf_repository_save(i->things, i->transaction, "{\"id\":\"x\"}", HF_NTS, NULL, NULL);
    hf_status read = hf_repository_fetch(i->things, i->transaction, "clock", HF_NTS, &entity, NULL);
    hf_status end = hf_transaction_commit(i->transaction, NULL, NULL);
    hf_entity_free(&entity);
    return write == HF_REENTRANT && read == HF_REENTRANT && end == HF_REENTRANT ? NULL : context;
}

static hf_status let_others_intrude(member *m, phase p, hf_transaction *transaction) {
    if (p == VALIDATE) {
        intruder i = {m->context, transaction};
        pthread_t thread;
        void *failed = NULL;
        assert_int_equal(pthread_create(&thread, NULL, intrude, &i), 0);
        assert_int_equal(pthread_join(thread, &failed), 0);
        assert_null(failed);
    }
    return HF_OK;
}

static void nobody_but_validators_may_use_the_transaction_meanwhile(tree_room *r) {
    r->child.hook = let_others_intrude, r->child.context = r->things;
    commit_quietly(begin_enlisted(r, NULL));
    expect_calls(&r->child, 1, 1, 1, 0);
    expect_absent(r->things, NULL, "x");
}

static hf_status end_in_callback(member *m, phase p, hf_transaction *transaction) {
    (void)p;
    hf_transaction *t = transaction != NULL ? transaction : m->context;
    uint64_t savepoint;
    if (p == COMMIT || p == ROLLBACK) {
        return HF_OK; /* the store's part has ended by then */
    }
    expect(HF_REENTRANT, hf_transaction_commit, t, NULL);
    expect(HF_REENTRANT, hf_transaction_validate, t);
    expect(HF_REENTRANT, hf_transaction_submit, t, NULL, NULL, NULL);
    expect(HF_REENTRANT, hf_transaction_rollback, t);
    expect(HF_REENTRANT, hf_transaction_savepoint, t, &savepoint);
    return HF_OK;
}

static void ending_inside_a_callback_is_refused_and_changes_nothing(tree_room *r) {
    hf_transaction *t = begin(r->store, NULL);
    r->child.hook = end_in_callback, r->child.context = t;
    expect_ok(hf_transaction_enlist, t, r->root.handle);
    save(r->things, t, "{\"id\":\"a\"}");
    commit_quietly(t);
    expect_calls(&r->child, 1, 1, 1, 0);
    expect_entity(r->things, NULL, "a", "{\"id\":\"a\"}");
}

static hf_status read_the_clock(member *m, phase p, hf_transaction *transaction) {
    if (p == VALIDATE) {
        (void)integer_in(m->context, transaction, "clock", "n");
        tick(m->context);
    }
    return HF_OK;
}

static void what_validators_read_is_checked_under_every_isolation(fixture *f) {
    static const char *const isolations[] = {"{\"isolation\":\"serializable\"}",
                                             "{\"isolation\":\"snapshot\"}"};
    tree_room r;
    open_tree_room(f, &r, NULL);
    for (size_t i = 0; i < COUNT_OF(isolations); i++) {
        hf_transaction *t = begin_enlisted(&r, isolations[i]);
        save(r.things, t, "{\"id\":\"a\"}");
        r.child.hook = read_the_clock, r.child.context = r.things;
        expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
        hf_transaction_free(t);
        expect_absent(r.things, NULL, "a");
        expect_calls(&r.child, (int)i + 1, (int)i + 1, 0, (int)i + 1);
    }
    close_tree_room(&r);
}

/* --- With a body that runs again ------------------------------------------------------------------------ */

typedef struct work {
    tree_room *r;
    int runs;
} work;

static hf_status count_on(hf_transaction *t, void *context, hf_error **out_error) {
    (void)out_error;
    work *w = context;
    expect_ok(hf_transaction_enlist, t, w->r->root.handle);
    w->r->child.value += 1;
    expect_ok(hf_repository_modify, w->r->things, t, "clock", HF_NTS, "{\"$inc\":{\"n\":10}}", HF_NTS, NULL,
              0, 0, NULL);
    if (w->runs++ == 0) {
        tick(w->r->things);
    }
    return HF_OK;
}

static void a_conflict_runs_the_body_again_on_objects_as_they_were(tree_room *r) {
    work w = {r, 0};
    r->root.hook = write_in_validation, r->root.context = r->things;
    expect_ok(hf_store_transact, r->store, count_on, &w, NULL, NULL);
    assert_int_equal(w.runs, 2);
    assert_int_equal(r->child.value, 1);
    assert_int_equal(integer_in(r->things, NULL, "sum", "n"), 1);
    assert_int_equal(integer_in(r->things, NULL, "clock", "n"), 11);
    expect_calls(&r->child, 2, 2, 1, 1);
}

static void a_refused_body_rolls_back_and_does_not_run_again(tree_room *r) {
    work w = {r, 1};
    r->child.answer = HF_REFUSED, r->child.code = 5, r->child.message = "not today";
    hf_error *error = error_of(HF_REFUSED, hf_store_transact, r->store, count_on, &w, NULL, NULL);
    assert_string_equal(hf_error_message(error), "not today");
    hf_error_free(error);
    assert_int_equal(w.runs, 2);
    expect_calls(&r->child, 1, 1, 0, 1);
    assert_int_equal(r->child.value, 0);
    assert_int_equal(integer_in(r->things, NULL, "clock", "n"), 0);
}

static hf_status set_child(hf_participant *participant, void *context, hf_error **out_error) {
    (void)out_error;
    (void)participant;
    ((member *)context)->value = 7;
    return HF_OK;
}

static void a_tree_s_own_functions_leave_a_store_s_transaction_alone(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, NULL);
    expect(HF_TRANSACTION_ACTIVE, hf_participant_begin, r->root.handle, NULL);
    expect(HF_INVALID_STATE, hf_participant_commit, r->root.handle, NULL);
    expect(HF_INVALID_STATE, hf_participant_rollback, r->root.handle, NULL);
    expect_ok(hf_participant_transact, r->child.handle, set_child, &r->child);
    expect_calls(&r->child, 1, 0, 0, 0);
    expect_ok(hf_transaction_rollback, t);
    assert_int_equal(r->child.value, 0);
    hf_transaction_free(t);
}

static void a_tree_is_in_one_transaction_at_a_time(tree_room *r) {
    hf_transaction *t = begin_enlisted(r, NULL), *other = begin(r->store, NULL);
    expect(HF_TRANSACTION_ACTIVE, hf_transaction_enlist, other, r->root.handle);
    expect_ok(hf_transaction_rollback, t);
    expect_ok(hf_transaction_enlist, other, r->root.handle);
    expect(HF_INVALID_STATE, hf_transaction_enlist, t, r->root.handle);
    commit_quietly(other);
    hf_transaction_free(t);
    expect_ok(hf_participant_begin, r->root.handle, NULL);
    t = begin(r->store, NULL);
    expect(HF_TRANSACTION_ACTIVE, hf_transaction_enlist, t, r->child.handle);
    expect_ok(hf_participant_rollback, r->root.handle, NULL);
    hf_transaction_free(t);
    expect_calls(&r->root, 3, 1, 1, 2);
}

static void a_savepoint_brings_objects_and_entities_back(tree_room *r) {
    member saving;
    make_saving_member(&saving, "saving", NULL);
    hf_transaction *t = begin(r->store, NULL);
    uint64_t savepoint = 0;
    expect_ok(hf_transaction_enlist, t, saving.handle);
    saving.value = 1;
    save(r->things, t, "{\"id\":\"a\",\"n\":1}");
    expect_ok(hf_transaction_savepoint, t, &savepoint);
    saving.value = 2;
    save(r->things, t, "{\"id\":\"a\",\"n\":2}");
    expect_ok(hf_transaction_rollback_to, t, savepoint);
    assert_int_equal(saving.value, 1);
    assert_int_equal(integer_in(r->things, t, "a", "n"), 1);
    expect_ok(hf_transaction_enlist, t, r->root.handle);
    expect(HF_UNSUPPORTED, hf_transaction_savepoint, t, &savepoint);
    assert_int_equal(saving.calls[SAVEPOINT], 1);
    commit_quietly(t);
    free_member(&saving);
}

static void a_closed_store_s_transaction_rolls_its_tree_back_when_it_ends(fixture *f) {
    for (int commits = 0; commits < 2; commits++) {
        tree_room r;
        open_tree_room(f, &r, NULL);
        hf_transaction *t = begin_enlisted(&r, NULL);
        r.child.value = 1;
        expect_ok(hf_store_close, r.store, -1);
        if (commits) {
            expect(HF_CLOSED, hf_transaction_commit, t, NULL);
            expect_calls(&r.child, 1, 0, 0, 1);
        }
        hf_transaction_free(t);
        expect_calls(&r.child, 1, 0, 0, 1);
        assert_int_equal(r.child.value, 0);
        close_tree_room(&r);
    }
}

/* --- A conflict between every two steps ----------------------------------------------------------------- */

typedef struct stumble {
    hf_repository *things;
    int at, step;
} stumble;

static void step(stumble *s) {
    if (s->step++ == s->at) {
        tick(s->things);
    }
}

static hf_status step_in_callback(member *m, phase p, hf_transaction *transaction) {
    (void)p, (void)transaction;
    step(m->context);
    return HF_OK;
}

static void raise_value(tree_room *r, hf_transaction *t, member *m, stumble *s) {
    char text[64];
    m->value += 1;
    step(s);
    snprintf(text, sizeof text, "{\"id\":\"%s\",\"n\":%d}", m->name, m->value);
    save(r->things, t, text);
    step(s);
}

static void objects_and_store_agree_wherever_another_commit_comes_between(tree_room *r) {
    save(r->things, NULL, "{\"id\":\"root\",\"n\":0}"), save(r->things, NULL, "{\"id\":\"child\",\"n\":0}");
    stumble s = {r->things, 0, 0};
    r->root.hook = r->child.hook = step_in_callback;
    r->root.context = r->child.context = &s;
    bool conflicted = false, committed = false;
    for (s.at = 0;; s.at++) {
        s.step = 0;
        int before = r->child.value;
        hf_transaction *t = begin(r->store, NULL);
        step(&s);
        expect_ok(hf_transaction_enlist, t, r->root.handle);
        step(&s);
        (void)integer_in(r->things, t, "clock", "n");
        step(&s);
        raise_value(r, t, &r->root, &s);
        raise_value(r, t, &r->child, &s);
        hf_status status = hf_transaction_commit(t, NULL, NULL);
        hf_transaction_free(t);
        assert_true(status == HF_OK || status == HF_CONFLICT);
        conflicted = conflicted || status == HF_CONFLICT;
        committed = committed || status == HF_OK;
        assert_int_equal(r->child.value, before + (status == HF_OK));
        assert_int_equal(integer_in(r->things, NULL, "child", "n"), r->child.value);
        assert_int_equal(integer_in(r->things, NULL, "root", "n"), r->root.value);
        assert_false(is_active(&r->root));
        if (s.step < s.at) {
            break; /* every place was tried, and one behind the last */
        }
    }
    assert_true(conflicted && committed && s.at > 10);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(objects_and_entities_change_together),
        EACH_ENGINE(a_rollback_brings_both_back),
        EACH_ENGINE(a_conflict_rolls_back_the_objects),
        EACH_ENGINE(whatever_the_store_refuses_rolls_back_the_objects),
        EACH_ENGINE(a_transaction_of_objects_that_read_is_checked_also_if_it_wrote_nothing),
        ONCE(several_trees_validate_in_the_order_of_joining_and_commit_in_reverse),
        ONCE(several_trees_are_rolled_back_in_reverse),
        EACH_ENGINE(a_refusal_leaves_everything_open_for_repair),
        EACH_ENGINE(validators_may_write_and_a_refusal_takes_that_back),
        ONCE(nobody_but_validators_may_use_the_transaction_meanwhile),
        ONCE(ending_inside_a_callback_is_refused_and_changes_nothing),
        EACH_ENGINE(what_validators_read_is_checked_under_every_isolation),
        EACH_ENGINE(a_conflict_runs_the_body_again_on_objects_as_they_were),
        EACH_ENGINE(a_refused_body_rolls_back_and_does_not_run_again),
        ONCE(a_tree_s_own_functions_leave_a_store_s_transaction_alone),
        ONCE(a_tree_is_in_one_transaction_at_a_time),
        EACH_ENGINE(a_savepoint_brings_objects_and_entities_back),
        EACH_ENGINE(a_closed_store_s_transaction_rolls_its_tree_back_when_it_ends),
        EACH_ENGINE(objects_and_store_agree_wherever_another_commit_comes_between),
    };
    return run_scenarios("tree_commits", scenarios, COUNT_OF(scenarios));
}
