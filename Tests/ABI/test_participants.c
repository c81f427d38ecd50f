/* Object trees alone: who is called, in which order and how often; descriptors; refusals; size. */
#include "members.h"

#include <malloc.h>

/* root (a (b, c), d) */
typedef struct family {
    member root, a, b, c, d;
} family;

static void make_family(family *f) {
    journal[0] = '\0';
    make_member(&f->root, "root", NULL);
    make_member(&f->a, "a", &f->root);
    make_member(&f->b, "b", &f->a);
    make_member(&f->c, "c", &f->a);
    make_member(&f->d, "d", &f->root);
}

static void free_family(family *f) {
    member *all[] = {&f->root, &f->a, &f->b, &f->c, &f->d};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        free_member(all[i]);
    }
}

static void in_family(fixture *fixture, void (*scenario)(void)) {
    (void)fixture;
    family f;
    make_family(&f);
    ((void (*)(family *))scenario)(&f);
    free_family(&f);
}
#undef OWN_SETTINGS
#define OWN_SETTINGS void (*)(family *) : in_family,

#define expect_family_calls(f, ...)                                                                          \
    do {                                                                                                     \
        expect_calls(&(f).root, __VA_ARGS__);                                                                \
        expect_calls(&(f).a, __VA_ARGS__);                                                                   \
        expect_calls(&(f).b, __VA_ARGS__);                                                                   \
        expect_calls(&(f).c, __VA_ARGS__);                                                                   \
        expect_calls(&(f).d, __VA_ARGS__);                                                                   \
    } while (0)

/* --- Order and counts ----------------------------------------------------------------------------------- */

static void parents_begin_and_validate_before_children_and_end_after_them(family *f) {
    expect_ok(hf_participant_begin, f->root.handle, NULL);
    expect_journal("begin root, begin a, begin b, begin c, begin d");
    expect_ok(hf_participant_commit, f->root.handle, NULL);
    expect_journal("validate root, validate a, validate b, validate c, validate d, "
                   "commit b, commit c, commit a, commit d, commit root");
    expect_ok(hf_participant_begin, f->c.handle, NULL);
    journal[0] = '\0';
    expect_ok(hf_participant_rollback, f->b.handle, NULL);
    expect_journal("rollback b, rollback c, rollback a, rollback d, rollback root");
    expect_family_calls(*f, 2, 1, 1, 1);
}

static void a_commit_from_a_leaf_commits_every_member_once(family *f) {
    expect_ok(hf_participant_begin, f->a.handle, NULL);
    expect_ok(hf_participant_commit, f->b.handle, NULL);
    expect_family_calls(*f, 1, 1, 1, 0);
    assert_false(is_active(&f->root) || is_active(&f->a) || is_active(&f->b) || is_active(&f->c) ||
                 is_active(&f->d));
}

static void a_second_begin_is_refused_at_every_node_and_calls_nobody(family *f) {
    expect_ok(hf_participant_begin, f->root.handle, NULL);
    expect(HF_TRANSACTION_ACTIVE, hf_participant_begin, f->root.handle, NULL);
    expect(HF_TRANSACTION_ACTIVE, hf_participant_begin, f->b.handle, NULL);
    expect_family_calls(*f, 1, 0, 0, 0);
    expect_ok(hf_participant_rollback, f->root.handle, NULL);
}

static void the_end_of_nothing_is_refused_and_calls_nobody(family *f) {
    uint8_t any[HF_DESCRIPTOR_BYTES] = {0}, stale[HF_DESCRIPTOR_BYTES];
    expect(HF_TRANSACTION_NOT_ACTIVE, hf_participant_commit, f->root.handle, NULL);
    expect(HF_TRANSACTION_NOT_ACTIVE, hf_participant_rollback, f->b.handle, any);
    expect_ok(hf_participant_begin, f->root.handle, stale);
    expect_ok(hf_participant_rollback, f->root.handle, stale);
    /* A descriptor that names a transaction is checked before whether one is active. */
    expect(HF_WRONG_DESCRIPTOR, hf_participant_commit, f->root.handle, stale);
    expect(HF_WRONG_DESCRIPTOR, hf_participant_rollback, f->b.handle, stale);
    expect_ok(hf_participant_begin, f->root.handle, NULL);
    expect(HF_WRONG_DESCRIPTOR, hf_participant_commit, f->root.handle, stale);
    expect(HF_WRONG_DESCRIPTOR, hf_participant_rollback, f->d.handle, stale);
    expect_family_calls(*f, 2, 0, 0, 1);
    assert_true(is_active(&f->root));
    expect_ok(hf_participant_rollback, f->root.handle, any);
}

static void a_descriptor_names_its_transaction_in_every_callback_and_no_longer(family *f) {
    uint8_t first[HF_DESCRIPTOR_BYTES], second[HF_DESCRIPTOR_BYTES], now[HF_DESCRIPTOR_BYTES];
    const uint8_t none[HF_DESCRIPTOR_BYTES] = {0};
    bool active = true;
    expect_ok(hf_participant_begin, f->root.handle, first);
    assert_memory_not_equal(first, none, sizeof none);
    assert_true(f->b.was_active);
    assert_memory_equal(f->b.seen, first, sizeof first);
    expect_ok(hf_participant_active, f->c.handle, &active, now);
    assert_true(active);
    assert_memory_equal(now, first, sizeof first);
    memset(f->b.seen, 0, sizeof f->b.seen), memset(f->root.seen, 0, sizeof f->root.seen);
    expect_ok(hf_participant_commit, f->c.handle, first);
    assert_memory_equal(f->b.seen, first, sizeof first);
    assert_memory_equal(f->root.seen, first, sizeof first);
    expect_ok(hf_participant_active, f->c.handle, &active, now);
    assert_false(active);
    assert_memory_equal(now, none, sizeof none);
    expect_ok(hf_participant_begin, f->root.handle, second);
    assert_memory_not_equal(first, second, sizeof first);
    expect_ok(hf_participant_rollback, f->root.handle, second);
    assert_memory_equal(f->b.seen, second, sizeof second);
}

/* --- Validation ----------------------------------------------------------------------------------------- */

static void a_refusal_leaves_the_transaction_open_for_repair(family *f) {
    f->root.answer = HF_REFUSED, f->root.code = -17, f->root.message = "the sum is not 100";
    expect_ok(hf_participant_begin, f->root.handle, NULL);
    f->b.value = 5;
    hf_error *error = error_of(HF_REFUSED, hf_participant_commit, f->b.handle, NULL);
    assert_string_equal(hf_error_message(error), "the sum is not 100");
    assert_ptr_equal(hf_error_participant(error), f->root.handle);
    assert_ptr_equal(hf_participant_user_data(hf_error_participant(error)), &f->root);
    expect_detail(error, "code", "-17");
    expect_calls(&f->root, 1, 1, 0, 0);
    expect_calls(&f->a, 1, 0, 0, 0);
    assert_true(is_active(&f->root));
    assert_int_equal(f->b.value, 5);
    f->root.answer = HF_OK;
    expect_ok(hf_participant_commit, f->root.handle, NULL);
    expect_calls(&f->root, 1, 2, 1, 0);
    expect_calls(&f->b, 1, 1, 1, 0);
    assert_int_equal(f->b.value, 5);
}

static void the_first_refusal_ends_the_validation(family *f) {
    f->b.answer = f->d.answer = (hf_status)4711;
    expect_ok(hf_participant_begin, f->root.handle, NULL);
    hf_error *error = error_of(HF_REFUSED, hf_participant_commit, f->root.handle, NULL);
    assert_ptr_equal(hf_error_participant(error), f->b.handle);
    expect_calls(&f->a, 1, 1, 0, 0);
    expect_calls(&f->b, 1, 1, 0, 0);
    expect_calls(&f->c, 1, 0, 0, 0);
    expect_ok(hf_participant_rollback, f->root.handle, NULL);
    hf_participant_free(f->b.handle);
    assert_null(hf_error_participant(error));
    expect_detail(error, "code", "4711");
}

/* --- With a body ---------------------------------------------------------------------------------------- */

static hf_status change(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)out_error;
    assert_non_null(participant);
    ((member *)user_data)->value = 60;
    return HF_OK;
}

static hf_status change_and_fail(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)change(participant, user_data, out_error);
    return HF_NOT_FOUND;
}

static hf_status nest(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)out_error;
    expect_ok(hf_participant_transact, participant, change, user_data);
    return HF_OK;
}

static hf_status nest_and_catch(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)out_error;
    expect(HF_NOT_FOUND, hf_participant_transact, participant, change_and_fail, user_data);
    return HF_OK;
}

static hf_status end_by_itself(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)out_error;
    ((member *)user_data)->value = 60;
    expect_ok(hf_participant_rollback, participant, NULL);
    return HF_OK;
}

static hf_status end_by_itself_and_fail(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)end_by_itself(participant, user_data, out_error);
    return HF_EXISTS;
}

static void a_body_commits_at_its_end(family *f) {
    expect_ok(hf_participant_transact, f->b.handle, change, &f->b);
    expect_family_calls(*f, 1, 1, 1, 0);
    assert_int_equal(f->b.value, 60);
}

static void a_nested_body_joins_and_calls_nobody(family *f) {
    expect_ok(hf_participant_transact, f->root.handle, nest, &f->b);
    expect_family_calls(*f, 1, 1, 1, 0);
}

static void a_nested_body_that_fails_leaves_what_can_only_be_rolled_back(family *f) {
    hf_error *error =
        error_of(HF_UNSUPPORTED, hf_participant_transact, f->root.handle, nest_and_catch, &f->b);
    assert_non_null(strstr(hf_error_message(error), "takes no part in savepoints: roll all back"));
    hf_error_free(error);
    expect_family_calls(*f, 1, 0, 0, 1);
    assert_int_equal(f->b.value, 0);
    assert_false(is_active(&f->root));
    expect_ok(hf_participant_begin, f->root.handle, NULL);
    expect(HF_NOT_FOUND, hf_participant_transact, f->a.handle, change_and_fail, &f->b);
    expect(HF_UNSUPPORTED, hf_participant_commit, f->root.handle, NULL);
    expect_ok(hf_participant_rollback, f->root.handle, NULL);
    assert_int_equal(f->b.value, 0);
}

static void a_nested_body_that_fails_takes_back_what_it_changed_where_members_can(fixture *fixture) {
    (void)fixture;
    member saving;
    make_saving_member(&saving, "saving", NULL);
    expect_ok(hf_participant_begin, saving.handle, NULL);
    saving.value = 7;
    expect(HF_NOT_FOUND, hf_participant_transact, saving.handle, change_and_fail, &saving);
    assert_int_equal(saving.value, 7);
    expect_ok(hf_participant_transact, saving.handle, change, &saving);
    expect_ok(hf_participant_commit, saving.handle, NULL);
    assert_int_equal(saving.value, 60);
    expect_calls(&saving, 1, 1, 1, 0);
    free_member(&saving);
}

static void a_failing_body_rolls_back_and_its_answer_travels_out(family *f) {
    f->b.value = 50;
    expect(HF_NOT_FOUND, hf_participant_transact, f->root.handle, change_and_fail, &f->b);
    expect_family_calls(*f, 1, 0, 0, 1);
    assert_int_equal(f->b.value, 50);
}

static void a_refused_body_rolls_back_and_the_refusal_travels_out(family *f) {
    f->b.value = 50;
    f->d.answer = HF_REFUSED, f->d.code = 3, f->d.message = "never";
    hf_error *error = error_of(HF_REFUSED, hf_participant_transact, f->root.handle, change, &f->b);
    assert_string_equal(hf_error_message(error), "never");
    hf_error_free(error);
    expect_family_calls(*f, 1, 1, 0, 1);
    assert_int_equal(f->b.value, 50);
    assert_false(is_active(&f->root));
}

static void a_body_that_ends_the_transaction_itself_hides_nothing(family *f) {
    expect_ok(hf_participant_transact, f->root.handle, end_by_itself, &f->b);
    expect(HF_EXISTS, hf_participant_transact, f->root.handle, end_by_itself_and_fail, &f->b);
    expect_family_calls(*f, 2, 0, 0, 2);
    assert_int_equal(f->b.value, 0);
}

/* --- Size ----------------------------------------------------------------------------------------------- */

enum { MANY = 100000 };

static void count_call(const uint8_t *descriptor, void *user_data) {
    (void)descriptor;
    ++*(size_t *)user_data;
}

static hf_status count_validation(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)transaction, (void)out_error;
    ++*(size_t *)user_data;
    return HF_OK;
}

/* Each of the four calls once for each, in far less than the time that a scenario has. */
static void use_many(hf_participant **all, size_t *calls) {
    *calls = 0;
    expect_ok(hf_participant_begin, all[MANY - 1], NULL);
    expect_ok(hf_participant_commit, all[MANY - 1], NULL);
    assert_int_equal(*calls, 3 * MANY);
    expect_ok(hf_participant_begin, all[0], NULL);
    expect_ok(hf_participant_rollback, all[0], NULL);
    assert_int_equal(*calls, 5 * MANY);
}

static hf_participant **make_many(size_t *calls, size_t parent_of(size_t)) {
    hf_participant **all = calloc(MANY, sizeof *all);
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_begin = callbacks.on_commit = callbacks.on_rollback = count_call;
    callbacks.on_validate = count_validation;
    for (size_t i = 0; i < MANY; i++) {
        expect_ok(hf_participant_create, i == 0 ? NULL : all[parent_of(i)], &callbacks, calls, NULL, &all[i]);
    }
    return all;
}

static size_t first(size_t index) {
    (void)index;
    return 0;
}

static size_t previous(size_t index) { return index - 1; }

static void a_tree_may_be_wide(fixture *fixture) {
    (void)fixture;
    size_t calls = 0;
    hf_participant **all = make_many(&calls, first);
    use_many(all, &calls);
    for (size_t i = 0; i < MANY; i++) {
        hf_participant_free(all[i]);
    }
    free(all);
}

static void a_tree_may_be_deep_and_built_and_taken_down_from_either_end(fixture *fixture) {
    (void)fixture;
    size_t calls = 0;
    hf_participant **all = make_many(&calls, previous);
    use_many(all, &calls);
    expect(HF_CYCLE, hf_participant_attach, all[0], all[MANY - 1]);
    for (size_t i = 1; i < MANY; i++) {
        expect_ok(hf_participant_detach, all[i]);
    }
    for (size_t i = MANY - 1; i > 0; i--) {
        expect_ok(hf_participant_attach, all[i], all[i - 1]);
    }
    use_many(all, &calls);
    expect_ok(hf_participant_begin, all[0], NULL);
    for (size_t i = MANY - 1; i > 0; i--) {
        expect_ok(hf_participant_detach, all[i]);
    }
    for (size_t i = 1; i < MANY; i++) {
        expect_ok(hf_participant_attach, all[i], all[i - 1]);
    }
    expect_ok(hf_participant_commit, all[0], NULL);
    for (size_t i = 0; i < MANY; i++) {
        hf_participant_free(all[i]);
    }
    free(all);
}

/* --- What is left of them ------------------------------------------------------------------------------- */

typedef struct last_member {
    hf_participant *handle;
    bool goes_at_savepoints;
} last_member;

static void go_at_savepoints(uint64_t savepoint, void *user_data) {
    last_member *m = user_data;
    (void)savepoint;
    if (m->goes_at_savepoints)
        hf_participant_free(m->handle);
}

static hf_status go_and_refuse(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)transaction, (void)out_error;
    hf_participant_free(((last_member *)user_data)->handle);
    return HF_REFUSED;
}

/* A transaction that nobody can end any more: its last member goes while members are called, or is detached
 * from a parent that was freed before. */
static void leave_a_transaction(int way) {
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_validate = go_and_refuse;
    callbacks.on_savepoint = callbacks.on_rollback_to = go_at_savepoints;
    last_member m = {NULL, way == 0};
    hf_participant *child = NULL;
    uint64_t savepoint = 0;
    expect_ok(hf_participant_create, NULL, &callbacks, &m, NULL, &m.handle);
    if (way == 2)
        expect_ok(hf_participant_create, m.handle, NULL, NULL, NULL, &child);
    expect_ok(hf_participant_begin, m.handle, NULL);
    if (way == 0)
        expect_ok(hf_participant_savepoint, m.handle, NULL, &savepoint);
    if (way == 1)
        expect(HF_REFUSED, hf_participant_commit, m.handle, NULL);
    hf_participant_free(m.handle);
    if (way == 2)
        expect_ok(hf_participant_detach, child);
    hf_participant_free(child);
}

static void a_transaction_whose_last_member_goes_leaves_nothing_behind(fixture *fixture) {
    (void)fixture;
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < 100; i++)
            leave_a_transaction(way);
        size_t before = mallinfo2().uordblks;
        for (int i = 0; i < 1000; i++)
            leave_a_transaction(way);
        /* Each takes some hundred bytes as long as it is there. */
        assert_true(mallinfo2().uordblks < before + 100 * 1000);
    }
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(parents_begin_and_validate_before_children_and_end_after_them),
        ONCE(a_commit_from_a_leaf_commits_every_member_once),
        ONCE(a_second_begin_is_refused_at_every_node_and_calls_nobody),
        ONCE(the_end_of_nothing_is_refused_and_calls_nobody),
        ONCE(a_descriptor_names_its_transaction_in_every_callback_and_no_longer),
        ONCE(a_refusal_leaves_the_transaction_open_for_repair),
        ONCE(the_first_refusal_ends_the_validation),
        ONCE(a_body_commits_at_its_end),
        ONCE(a_nested_body_joins_and_calls_nobody),
        ONCE(a_nested_body_that_fails_leaves_what_can_only_be_rolled_back),
        ONCE(a_nested_body_that_fails_takes_back_what_it_changed_where_members_can),
        ONCE(a_failing_body_rolls_back_and_its_answer_travels_out),
        ONCE(a_refused_body_rolls_back_and_the_refusal_travels_out),
        ONCE(a_body_that_ends_the_transaction_itself_hides_nothing),
        ONCE(a_tree_may_be_wide),
        ONCE(a_tree_may_be_deep_and_built_and_taken_down_from_either_end),
        ONCE(a_transaction_whose_last_member_goes_leaves_nothing_behind),
    };
    return run_scenarios("participants", scenarios, COUNT_OF(scenarios));
}
