/* Object trees that change while they are in a transaction, also from inside their own callbacks. */
#include "members.h"

static void begin_tree(member *m) { expect_ok(hf_participant_begin, m->handle, NULL); }
static void commit_tree(member *m) { expect_ok(hf_participant_commit, m->handle, NULL); }
static void roll_back_tree(member *m) { expect_ok(hf_participant_rollback, m->handle, NULL); }

/* --- Joining -------------------------------------------------------------------------------------------- */

static void a_member_created_inside_is_begun_at_once_and_no_other_again(fixture *fixture) {
    (void)fixture;
    member root, old, new;
    make_member(&root, "root", NULL), make_member(&old, "old", &root);
    begin_tree(&root);
    make_member(&new, "new", &root);
    expect_calls(&new, 1, 0, 0, 0);
    expect_calls(&root, 1, 0, 0, 0);
    commit_tree(&new);
    expect_calls(&new, 1, 1, 1, 0);
    expect_calls(&old, 1, 1, 1, 0);
    free_member(&root), free_member(&old), free_member(&new);
}

static void an_attached_tree_is_begun_with_its_sub_nodes(fixture *fixture) {
    (void)fixture;
    member root, top, below;
    make_member(&root, "root", NULL), make_member(&top, "top", NULL), make_member(&below, "below", &top);
    begin_tree(&root);
    journal[0] = '\0';
    expect_ok(hf_participant_attach, top.handle, root.handle);
    expect_journal("begin top, begin below");
    assert_true(is_active(&below));
    roll_back_tree(&root);
    expect_journal("rollback below, rollback top, rollback root");
    free_member(&root), free_member(&top), free_member(&below);
}

static void a_detached_member_leaves_with_its_sub_nodes(fixture *fixture) {
    (void)fixture;
    member root, top, below, other;
    make_member(&root, "root", NULL), make_member(&top, "top", &root), make_member(&below, "below", &top);
    make_member(&other, "other", &root);
    begin_tree(&root);
    expect_ok(hf_participant_detach, top.handle);
    assert_false(is_active(&top) || is_active(&below));
    commit_tree(&root);
    expect_calls(&top, 1, 0, 0, 0);
    expect_calls(&below, 1, 0, 0, 0);
    expect_calls(&other, 1, 1, 1, 0);
    begin_tree(&below);
    expect_calls(&top, 2, 0, 0, 0);
    expect_calls(&root, 1, 1, 1, 0);
    roll_back_tree(&top);
    free_member(&root), free_member(&top), free_member(&below), free_member(&other);
}

static void a_moved_member_stays_and_is_called_once_in_its_new_place(fixture *fixture) {
    (void)fixture;
    member root, a, b, moved;
    make_member(&root, "root", NULL), make_member(&a, "a", &root), make_member(&b, "b", &root);
    make_member(&moved, "moved", &a);
    begin_tree(&root);
    journal[0] = '\0';
    expect_ok(hf_participant_attach, moved.handle, b.handle);
    expect_ok(hf_participant_attach, a.handle, b.handle);
    expect_journal("");
    commit_tree(&root);
    expect_journal("validate root, validate b, validate moved, validate a, "
                   "commit moved, commit a, commit b, commit root");
    free_member(&root), free_member(&a), free_member(&b), free_member(&moved);
}

static void what_cannot_be_attached_changes_nothing(fixture *fixture) {
    (void)fixture;
    member root, child, other, idle;
    make_member(&root, "root", NULL), make_member(&child, "child", &root);
    make_member(&other, "other", NULL), make_member(&idle, "idle", NULL);
    expect(HF_CYCLE, hf_participant_attach, root.handle, root.handle);
    expect(HF_CYCLE, hf_participant_attach, root.handle, child.handle);
    begin_tree(&root), begin_tree(&other);
    expect(HF_TRANSACTION_ACTIVE, hf_participant_attach, child.handle, other.handle);
    expect(HF_TRANSACTION_ACTIVE, hf_participant_attach, root.handle, other.handle);
    expect(HF_TRANSACTION_ACTIVE, hf_participant_attach, child.handle, idle.handle);
    journal[0] = '\0';
    roll_back_tree(&root);
    expect_journal("rollback child, rollback root");
    roll_back_tree(&other);
    expect_calls(&idle, 0, 0, 0, 0);
    free_member(&root), free_member(&child), free_member(&other), free_member(&idle);
}

/* --- Freeing -------------------------------------------------------------------------------------------- */

static void a_freed_member_is_skipped_and_its_children_are_not(fixture *fixture) {
    (void)fixture;
    member root, middle, child;
    make_member(&root, "root", NULL), make_member(&middle, "middle", &root);
    make_member(&child, "child", &middle);
    begin_tree(&root);
    free_member(&middle);
    journal[0] = '\0';
    commit_tree(&child);
    expect_journal("validate root, validate child, commit child, commit root");
    /* Afterwards the child is a tree of its own. */
    begin_tree(&child);
    assert_false(is_active(&root));
    free_member(&root);
    roll_back_tree(&child);
    expect_calls(&child, 2, 1, 1, 1);
    free_member(&child);
}

static void a_root_may_be_freed_first_in_a_transaction_or_outside(fixture *fixture) {
    (void)fixture;
    for (int inside = 0; inside < 2; inside++) {
        member root, child, grandchild;
        make_member(&root, "root", NULL), make_member(&child, "child", &root);
        make_member(&grandchild, "grandchild", &child);
        if (inside) {
            begin_tree(&root);
        }
        free_member(&root);
        if (inside) {
            roll_back_tree(&grandchild);
        }
        begin_tree(&child);
        commit_tree(&grandchild);
        expect_calls(&grandchild, 1 + inside, 1, 1, inside);
        free_member(&child), free_member(&grandchild);
    }
}

static void all_members_may_be_freed_inside_their_transaction(fixture *fixture) {
    (void)fixture;
    member root, child;
    make_member(&root, "root", NULL), make_member(&child, "child", &root);
    begin_tree(&root);
    free_member(&root), free_member(&child);
    expect_calls(&root, 1, 0, 0, 0);
    expect(HF_INVALID_HANDLE, hf_participant_commit, root.handle, NULL);
}

static void user_data_is_freed_once_also_when_creating_fails(fixture *fixture) {
    (void)fixture;
    member parent;
    make_member(&parent, "parent", NULL);
    free_member(&parent);
    recorder *r = new_recorder(1);
    hf_participant *out = NULL;
    hf_participant_callbacks half = HF_PARTICIPANT_CALLBACKS_INIT, wrong = HF_PARTICIPANT_CALLBACKS_INIT;
    half.on_savepoint = (hf_participant_savepoint_fn)abort;
    wrong.size = 3;
    expect(HF_INVALID_HANDLE, hf_participant_create, parent.handle, NULL, new_ticket(r, 0), free_ticket,
           &out);
    expect(HF_INVALID_ARGUMENT, hf_participant_create, NULL, NULL, new_ticket(r, 0), free_ticket, NULL);
    expect(HF_INVALID_ARGUMENT, hf_participant_create, NULL, &half, new_ticket(r, 0), free_ticket, &out);
    expect(HF_INVALID_ARGUMENT, hf_participant_create, NULL, &wrong, new_ticket(r, 0), free_ticket, &out);
    assert_int_equal(r->freed, 4);
    assert_null(out);
    expect_ok(hf_participant_create, NULL, NULL, new_ticket(r, 0), free_ticket, &out);
    expect_ok(hf_participant_begin, out, NULL);
    expect_ok(hf_participant_commit, out, NULL);
    assert_int_equal(r->freed, 4);
    hf_participant_free(out);
    hf_participant_free(out);
    hf_participant_free(NULL);
    assert_int_equal(r->freed, 5);
    free_recorder(r);
}

/* --- From inside the callbacks -------------------------------------------------------------------------- */

static const phase four[] = {BEGIN, VALIDATE, COMMIT, ROLLBACK};

static void end_tree(member *m, phase p) {
    if (p == ROLLBACK) {
        roll_back_tree(m);
    } else {
        commit_tree(m);
    }
}

/* Runs a transaction that comes to the phase: one that rolls back for ROLLBACK, else one that commits. */
static void pass_through(member *m, phase p) {
    begin_tree(m);
    end_tree(m, p);
}

typedef struct act {
    phase when;
    member *whom;
} act;

static hf_status detach_one(member *m, phase p, hf_transaction *transaction) {
    (void)transaction;
    act *a = m->context;
    if (p == a->when) {
        expect_ok(hf_participant_detach, a->whom->handle);
    }
    return HF_OK;
}

static void detaching_inside_each_callback_skips_the_member_from_then_on(fixture *fixture) {
    (void)fixture;
    /* a comes before b, and root before both or after both. */
    static const struct {
        phase when;
        int calls_of_b[4];
    } cases[] = {
        {BEGIN, {0, 0, 0, 0}}, {VALIDATE, {1, 0, 0, 0}}, {COMMIT, {1, 1, 0, 0}}, {ROLLBACK, {1, 0, 0, 0}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        member root, a, b;
        make_member(&root, "root", NULL), make_member(&a, "a", &root), make_member(&b, "b", &root);
        act detach_b = {cases[i].when, &b};
        a.hook = detach_one, a.context = &detach_b;
        pass_through(&root, cases[i].when);
        const int *calls = cases[i].calls_of_b;
        expect_calls(&b, calls[0], calls[1], calls[2], calls[3]);
        bool rolls_back = cases[i].when == ROLLBACK;
        expect_calls(&root, 1, !rolls_back, !rolls_back, rolls_back);
        assert_false(is_active(&root) || is_active(&b));
        free_member(&root), free_member(&a), free_member(&b);
    }
}

typedef struct move {
    phase when;
    member *whom, *under;
} move;

static hf_status move_one(member *m, phase p, hf_transaction *transaction) {
    (void)transaction;
    move *a = m->context;
    if (p == a->when) {
        expect_ok(hf_participant_detach, a->whom->handle);
        expect_ok(hf_participant_attach, a->whom->handle, a->under->handle);
    }
    return HF_OK;
}

static void a_member_that_leaves_and_joins_again_before_its_turn_is_called_once(fixture *fixture) {
    (void)fixture;
    static const phase phases[] = {BEGIN, VALIDATE};
    for (size_t i = 0; i < COUNT_OF(phases); i++) {
        member root, parent, child, below, other;
        make_member(&root, "root", NULL), make_member(&parent, "parent", &root);
        make_member(&child, "child", &parent), make_member(&below, "below", &child);
        make_member(&other, "other", &root);
        move to_other = {phases[i], &child, &other};
        parent.hook = move_one, parent.context = &to_other;
        pass_through(&root, phases[i]);
        /* To join again is to begin again, where it had begun before. */
        int begun = phases[i] == BEGIN ? 1 : 2;
        expect_calls(&child, begun, 1, 1, 0);
        expect_calls(&below, begun, 1, 1, 0);
        expect_calls(&other, 1, 1, 1, 0);
        free_member(&root), free_member(&parent), free_member(&child), free_member(&below),
            free_member(&other);
    }
}

static hf_status free_one(member *m, phase p, hf_transaction *transaction) {
    (void)transaction;
    act *a = m->context;
    if (p == a->when) {
        hf_participant_free(a->whom->handle);
    }
    return HF_OK;
}

static void a_member_may_free_itself_or_its_parent_in_each_callback(fixture *fixture) {
    (void)fixture;
    for (size_t i = 0; i < COUNT_OF(four); i++) {
        for (int parent = 0; parent < 2; parent++) {
            member root, middle, leaf, other;
            make_member(&root, "root", NULL), make_member(&middle, "middle", &root);
            make_member(&leaf, "leaf", &middle), make_member(&other, "other", &root);
            act freeing = {four[i], parent ? &root : &leaf};
            leaf.hook = free_one, leaf.context = &freeing;
            begin_tree(&middle);
            end_tree(&middle, four[i]);
            assert_int_equal((parent ? root : leaf).freed, 1);
            bool rolls_back = four[i] == ROLLBACK;
            expect_calls(&middle, 1, !rolls_back, !rolls_back, rolls_back);
            expect_calls(&other, 1, !rolls_back, !rolls_back, rolls_back);
            assert_false(is_active(&middle) || is_active(&other));
            hf_participant_free(root.handle), hf_participant_free(leaf.handle);
            free_member(&middle), free_member(&other);
            assert_int_equal(root.freed + leaf.freed, 2);
        }
    }
}

typedef struct nursery {
    phase when;
    int left;
    member children[8];
} nursery;

static hf_status give_birth(member *m, phase p, hf_transaction *transaction) {
    (void)transaction;
    nursery *n = m->context;
    if (p == n->when && n->left > 0) {
        member *child = &n->children[--n->left];
        make_member(child, "child", m);
        child->hook = give_birth, child->context = n;
    }
    return HF_OK;
}

static void members_that_join_inside_a_callback_take_part_in_what_follows(fixture *fixture) {
    (void)fixture;
    for (size_t i = 0; i < COUNT_OF(four); i++) {
        member root;
        make_member(&root, "root", NULL);
        nursery n = {four[i], COUNT_OF(n.children), {{.calls = {0}}}};
        root.hook = give_birth, root.context = &n;
        pass_through(&root, four[i]);
        bool takes_part = four[i] == BEGIN || four[i] == VALIDATE;
        /* A child is made by the one before it, or, at the end, by the root alone. */
        assert_int_equal(n.left, takes_part ? 0 : COUNT_OF(n.children) - 1);
        for (size_t c = (size_t)n.left; c < COUNT_OF(n.children); c++) {
            expect_calls(&n.children[c], takes_part, takes_part, takes_part, 0);
            free_member(&n.children[c]);
        }
        assert_false(is_active(&root));
        free_member(&root);
    }
}

static hf_status go_on_for_ever(member *m, phase p, hf_transaction *transaction) {
    (void)transaction;
    if (p == VALIDATE) {
        member *next = calloc(1, sizeof *next);
        make_member(next, "next", m);
        next->hook = go_on_for_ever;
        next->context = m->context;
        m->context = next;
    }
    return HF_OK;
}

static void members_without_end_are_a_status(fixture *fixture) {
    (void)fixture;
    member root;
    make_member(&root, "root", NULL);
    root.hook = go_on_for_ever;
    begin_tree(&root);
    expect(HF_INVALID_STATE, hf_participant_commit, root.handle, NULL);
    assert_true(is_active(&root));
    journal[0] = '\0';
    roll_back_tree(&root);
    expect_calls(&root, 1, 1, 0, 1);
    size_t count = 0;
    for (member *m = root.context; m != NULL; count++) {
        member *next = m->context;
        assert_int_equal(m->calls[ROLLBACK], 1);
        free_member(m);
        free(m);
        m = next;
    }
    assert_in_range(count, 100, 102);
    free_member(&root);
}

static hf_status re_enter(member *m, phase p, hf_transaction *transaction) {
    (void)p, (void)transaction;
    uint64_t savepoint;
    expect(HF_REENTRANT, hf_participant_begin, m->handle, NULL);
    expect(HF_REENTRANT, hf_participant_commit, m->handle, NULL);
    expect(HF_REENTRANT, hf_participant_commit, m->handle, m->seen);
    expect(HF_REENTRANT, hf_participant_rollback, m->handle, NULL);
    expect(HF_REENTRANT, hf_participant_savepoint, m->handle, NULL, &savepoint);
    assert_true(m->was_active && is_active(m));
    return HF_OK;
}

static void beginning_and_ending_inside_a_callback_is_refused_and_changes_nothing(fixture *fixture) {
    (void)fixture;
    member root, child;
    make_member(&root, "root", NULL), make_member(&child, "child", &root);
    root.hook = child.hook = re_enter;
    pass_through(&root, COMMIT);
    pass_through(&child, ROLLBACK);
    expect_calls(&root, 2, 1, 1, 1);
    expect_calls(&child, 2, 1, 1, 1);
    free_member(&root), free_member(&child);
}

static hf_status use_another_tree(member *m, phase p, hf_transaction *transaction) {
    (void)transaction;
    pass_through(m->context, p);
    return HF_OK;
}

static void another_tree_is_free_inside_a_callback(fixture *fixture) {
    (void)fixture;
    member root, other;
    make_member(&root, "root", NULL), make_member(&other, "other", NULL);
    root.hook = use_another_tree, root.context = &other;
    pass_through(&root, COMMIT);
    pass_through(&root, ROLLBACK);
    expect_calls(&other, 5, 4, 4, 1);
    free_member(&root), free_member(&other);
}

/* --- Savepoints ----------------------------------------------------------------------------------------- */

static void a_savepoint_brings_members_back(fixture *fixture) {
    (void)fixture;
    member root, child, late;
    make_saving_member(&root, "root", NULL), make_saving_member(&child, "child", &root);
    uint64_t one = 0, two = 0;
    begin_tree(&root);
    root.value = 1, child.value = 10;
    expect_ok(hf_participant_savepoint, child.handle, NULL, &one);
    root.value = 2;
    expect_ok(hf_participant_savepoint, root.handle, NULL, &two);
    make_saving_member(&late, "late", &root);
    root.value = 3, child.value = 30, late.value = 99;
    journal[0] = '\0';
    expect_ok(hf_participant_rollback_to, root.handle, NULL, two);
    expect_journal("rollback to child, rollback to late, rollback to root");
    assert_true(root.value == 2 && child.value == 10 && late.value == 0);
    root.value = 4;
    expect_ok(hf_participant_rollback_to, root.handle, NULL, one);
    assert_int_equal(root.value, 1);
    expect(HF_INVALID_ARGUMENT, hf_participant_rollback_to, root.handle, NULL, two);
    expect(HF_INVALID_ARGUMENT, hf_participant_rollback_to, root.handle, NULL, 77);
    commit_tree(&root);
    assert_true(root.value == 1 && child.value == 10);
    expect(HF_TRANSACTION_NOT_ACTIVE, hf_participant_savepoint, root.handle, NULL, &one);
    free_member(&root), free_member(&child), free_member(&late);
}

static void a_savepoint_needs_every_member(fixture *fixture) {
    (void)fixture;
    member root, child;
    make_saving_member(&root, "root", NULL), make_member(&child, "child", &root);
    uint64_t savepoint = 0;
    begin_tree(&root);
    journal[0] = '\0';
    expect(HF_UNSUPPORTED, hf_participant_savepoint, root.handle, NULL, &savepoint);
    expect_journal("");
    free_member(&child);
    expect_ok(hf_participant_savepoint, root.handle, NULL, &savepoint);
    expect_journal("savepoint root");
    roll_back_tree(&root);
    free_member(&root);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(a_member_created_inside_is_begun_at_once_and_no_other_again),
        ONCE(an_attached_tree_is_begun_with_its_sub_nodes),
        ONCE(a_detached_member_leaves_with_its_sub_nodes),
        ONCE(a_moved_member_stays_and_is_called_once_in_its_new_place),
        ONCE(what_cannot_be_attached_changes_nothing),
        ONCE(a_freed_member_is_skipped_and_its_children_are_not),
        ONCE(a_root_may_be_freed_first_in_a_transaction_or_outside),
        ONCE(all_members_may_be_freed_inside_their_transaction),
        ONCE(user_data_is_freed_once_also_when_creating_fails),
        ONCE(detaching_inside_each_callback_skips_the_member_from_then_on),
        ONCE(a_member_that_leaves_and_joins_again_before_its_turn_is_called_once),
        ONCE(a_member_may_free_itself_or_its_parent_in_each_callback),
        ONCE(members_that_join_inside_a_callback_take_part_in_what_follows),
        ONCE(members_without_end_are_a_status),
        ONCE(beginning_and_ending_inside_a_callback_is_refused_and_changes_nothing),
        ONCE(another_tree_is_free_inside_a_callback),
        ONCE(a_savepoint_brings_members_back),
        ONCE(a_savepoint_needs_every_member),
    };
    return run_scenarios("participant_membership", scenarios, COUNT_OF(scenarios));
}
