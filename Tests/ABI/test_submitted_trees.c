/* Object trees of submitted transactions: sealed until the event, told just before it. */
#include "members.h"

static const char *const queue = "{\"delivery\":\"queue\"}";

/* An entity and a value that belong together. */
static void change(tree_room *r, hf_transaction *t, int value) {
    char text[64];
    snprintf(text, sizeof text, "{\"id\":\"child\",\"n\":%d}", value);
    r->child.value = value;
    save(r->things, t, text);
}

static hf_transaction *begin_change(tree_room *r, int value) {
    hf_transaction *t = begin_enlisted(r, NULL);
    change(r, t, value);
    return t;
}

static void expect_agreement(tree_room *r) {
    assert_int_equal(integer_in(r->things, NULL, "child", "n"), r->child.value);
    assert_false(is_active(&r->child));
}

/* Takes one event and answers its status; the journal then ends with its name. */
static hf_status take_one(tree_room *r) {
    hf_event event;
    assert_int_equal(hf_store_events(r->store, &event, 1, -1), 1);
    hf_status status = event.status;
    hf_events_free(&event, 1);
    return status;
}

/* --- On the callback thread -------------------------------------------------------------------------------
 */

typedef struct arrival {
    char journal[sizeof journal]; /* as it was when the event came */
    atomic_int status;            /* of the event; -1 until then */
} arrival;

static void note_arrival(const hf_event *event, void *context) {
    arrival *a = context;
    memcpy(a->journal, journal, sizeof journal);
    atomic_store(&a->status, event->status);
}

static void members_hear_before_the_event_does(tree_room *r) {
    arrival a = {"", -1};
    hf_transaction *t = begin_change(r, 60);
    expect_ok(hf_transaction_submit, t, note_arrival, &a, NULL);
    hf_transaction_free(t);
    while (atomic_load(&a.status) == -1)
        sleep_milliseconds(1);
    assert_int_equal(atomic_load(&a.status), HF_OK);
    assert_string_equal(a.journal, "begin root, begin child, validate root, validate child, commit child, "
                                   "commit root");
    expect_agreement(r);
}

static void a_future_ends_after_its_members_were_told(tree_room *r) {
    for (int i = 1; i <= 20; i++) {
        hf_transaction *t = begin_change(r, i);
        hf_future *future = NULL;
        expect_ok(hf_transaction_submit_future, t, &future);
        expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
        // It has ended: nobody needs to wait for it any more.
        expect(HF_INVALID_STATE, hf_transaction_enlist, t, r->root.handle);
        hf_transaction_free(t);
        expect_calls(&r->child, i, i, i, 0);
        expect_agreement(r);
        hf_future_free(future);
        journal[0] = '\0';
    }
}

static void closing_with_many_in_flight_tells_every_tree(fixture *f) {
    enum { COUNT = 200 };
    tree_room r;
    open_tree_room(f, &r, NULL);
    static member members[COUNT];
    recorder *rec = new_recorder(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        make_member(&members[i], "one", NULL);
        hf_transaction *t = begin(r.store, NULL);
        expect_ok(hf_transaction_enlist, t, members[i].handle);
        save(r.things, t, "{}");
        expect_ok(hf_transaction_submit, t, record_event, new_ticket(rec, i), free_ticket);
        hf_transaction_free(t);
        journal[0] = '\0';
    }
    expect_ok(hf_store_close, r.store, -1);
    wait_for_freed(rec, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        expect_calls(&members[i], 1, 1, 1, 0);
        free_member(&members[i]);
    }
    free_recorder(rec);
    close_tree_room(&r);
}

/* --- Under queue delivery: told where the event is taken
 * ---------------------------------------------------- */

static void a_tree_is_sealed_until_its_event_is_taken(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, queue);
    member other;
    make_member(&other, "other", NULL);
    hf_transaction *t = begin_change(&r, 60), *second = begin(r.store, NULL);
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    expect_ok(hf_store_sync, r.store);
    expect_calls(&r.child, 1, 1, 0, 0);
    assert_true(is_active(&r.child));
    hf_participant *leaf = NULL;
    expect(HF_BUSY, hf_participant_begin, r.root.handle, NULL);
    expect(HF_BUSY, hf_participant_commit, r.root.handle, NULL);
    expect(HF_BUSY, hf_participant_rollback, r.child.handle, NULL);
    expect(HF_BUSY, hf_participant_detach, r.child.handle);
    expect(HF_BUSY, hf_participant_attach, other.handle, r.child.handle);
    expect(HF_BUSY, hf_participant_attach, r.child.handle, other.handle);
    expect(HF_BUSY, hf_participant_create, r.root.handle, NULL, NULL, NULL, &leaf);
    assert_null(leaf);
    expect(HF_BUSY, hf_transaction_enlist, second, r.root.handle);
    hf_transaction_free(second);
    expect_calls(&r.child, 1, 1, 0, 0);

    assert_int_equal(take_one(&r), HF_OK);
    expect_calls(&r.child, 1, 1, 1, 0);
    expect_agreement(&r);
    expect_ok(hf_participant_attach, other.handle, r.child.handle);
    hf_transaction_free(t);
    free_member(&other);
    close_tree_room(&r);
}

static void a_conflict_takes_the_objects_back_with_its_event(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, queue);
    change(&r, NULL, 7);
    hf_transaction *t = begin_change(&r, 60);
    (void)integer_in(r.things, t, "clock", "n");
    tick(r.things);
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    assert_int_equal(r.child.value, 60);
    assert_int_equal(take_one(&r), HF_CONFLICT);
    expect_calls(&r.child, 1, 1, 0, 1);
    expect_agreement(&r);
    hf_transaction_free(t);
    close_tree_room(&r);
}

static void a_refusal_leaves_it_open_to_be_submitted_again(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, queue);
    hf_transaction *t = begin_change(&r, 160);
    hf_future *future = NULL;
    r.child.answer = HF_REFUSED, r.child.code = 100, r.child.message = "more than all";
    for (int i = 0; i < 2; i++) {
        hf_error *error = i == 0 ? error_of(HF_REFUSED, hf_transaction_submit, t, NULL, NULL, NULL)
                                 : error_of(HF_REFUSED, hf_transaction_submit_future, t, &future);
        assert_string_equal(hf_error_message(error), "more than all");
        assert_ptr_equal(hf_error_participant(error), r.child.handle);
        hf_error_free(error);
    }
    assert_null(future);
    r.child.answer = HF_OK;
    change(&r, t, 60);
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    assert_int_equal(take_one(&r), HF_OK);
    expect_calls(&r.child, 1, 3, 1, 0);
    expect_agreement(&r);
    hf_transaction_free(t);
    close_tree_room(&r);
}

static void a_withdrawn_commit_takes_the_objects_back(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, queue);
    change(&r, NULL, 7);
    int withdrawn = 0;
    /* The committer mostly comes first, above all where the machine has much to do. */
    double end = seconds_now() + 60;
    for (int i = 0; withdrawn == 0 && seconds_now() < end; i++) {
        int before = r.child.value;
        hf_transaction *t = begin_change(&r, i);
        expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
        hf_status asked = hf_transaction_cancel(t, NULL);
        hf_status told = take_one(&r);
        assert_int_equal(told, asked == HF_OK ? HF_CANCELLED : HF_OK);
        if (asked == HF_OK)
            assert_int_equal(r.child.value, before);
        withdrawn += asked == HF_OK;
        expect_agreement(&r);
        hf_transaction_free(t);
        journal[0] = '\0';
    }
    assert_int_equal(withdrawn, 1);
    close_tree_room(&r);
}

static void without_a_place_the_tree_stays_open(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, "{\"delivery\":\"queue\",\"max_in_flight\":1}");
    hf_transaction *first = begin(r.store, NULL);
    save(r.things, first, "{}");
    expect_ok(hf_transaction_submit, first, NULL, NULL, NULL);
    hf_transaction *t = begin_enlisted(&r, "{\"timeout_ms\":500}");
    change(&r, t, 60);
    expect(HF_BUSY, hf_transaction_submit, t, NULL, NULL, NULL);
    expect_calls(&r.child, 1, 1, 0, 0);
    assert_int_equal(take_one(&r), HF_OK);
    change(&r, t, 61);
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    assert_int_equal(take_one(&r), HF_OK);
    expect_calls(&r.child, 1, 2, 1, 0);
    expect_agreement(&r);
    hf_transaction_free(first), hf_transaction_free(t);
    close_tree_room(&r);
}

static void a_store_freed_with_events_not_taken_tells_the_members(fixture *f) {
    for (int conflicts = 0; conflicts < 2; conflicts++) {
        tree_room r;
        open_tree_room(f, &r, queue);
        hf_transaction *t = begin_change(&r, 60);
        (void)integer_in(r.things, t, "clock", "n");
        if (conflicts)
            tick(r.things);
        hf_future *future = NULL;
        expect_ok(hf_transaction_submit_future, t, &future);
        hf_transaction_free(t);
        hf_store_free(r.store);
        expect_calls(&r.child, 1, 1, !conflicts, conflicts);
        assert_int_equal(r.child.value, conflicts ? 0 : 60);
        expect(conflicts ? HF_CONFLICT : HF_OK, hf_future_wait, future, NULL, 0, NULL, NULL);
        hf_future_free(future);
        hf_repository_free(r.things);
        free_member(&r.root), free_member(&r.child);
    }
}

static void a_member_freed_while_sealed_is_skipped(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, queue);
    hf_transaction *t = begin_change(&r, 60);
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    free_member(&r.root);
    assert_int_equal(take_one(&r), HF_OK);
    expect_calls(&r.root, 1, 1, 0, 0);
    expect_calls(&r.child, 1, 1, 1, 0);
    expect_agreement(&r);
    hf_transaction_free(t);
    hf_repository_free(r.things);
    hf_store_free(r.store);
    free_member(&r.child);
}

static void a_transaction_that_wrote_nothing_ends_with_its_event_too(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, queue);
    hf_transaction *t = begin_enlisted(&r, NULL);
    r.child.value = 5;
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    assert_int_equal(take_one(&r), HF_OK);
    expect_calls(&r.child, 1, 1, 1, 0);
    assert_int_equal(r.child.value, 5);
    hf_transaction_free(t);
    close_tree_room(&r);
}

static hf_status begin_anew(member *m, phase p, hf_transaction *transaction) {
    (void)transaction;
    /* The tree is just being told, and free right after. */
    if (p == COMMIT)
        expect(HF_REENTRANT, hf_participant_begin, m->handle, NULL);
    return HF_OK;
}

static void beginning_again_is_refused_while_members_are_told(fixture *f) {
    tree_room r;
    open_tree_room(f, &r, queue);
    r.child.hook = begin_anew;
    hf_transaction *t = begin_change(&r, 60);
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    assert_int_equal(take_one(&r), HF_OK);
    expect_ok(hf_participant_begin, r.child.handle, NULL);
    expect_ok(hf_participant_commit, r.child.handle, NULL);
    expect_calls(&r.child, 2, 2, 2, 0);
    hf_transaction_free(t);
    close_tree_room(&r);
}

/* --- Operations -------------------------------------------------------------------------------------------
 */

typedef struct work {
    tree_room *r;
    int runs, conflicts;
} work;

static hf_status count_in_tree(hf_transaction *t, hf_buffer *result, void *context, hf_error **out_error) {
    (void)out_error;
    (void)result;
    work *w = context;
    expect_ok(hf_transaction_enlist, t, w->r->root.handle);
    change(w->r, t, w->r->child.value + 1);
    (void)integer_in(w->r->things, t, "clock", "n");
    if (w->runs++ < w->conflicts)
        tick(w->r->things);
    return HF_OK;
}

static void a_run_of_an_operation_goes_again_on_objects_as_they_were(tree_room *r) {
    work w = {r, 0, 3};
    hf_operation *operation = NULL;
    hf_future *future = NULL;
    expect_ok(hf_operation_create_function, r->store, count_in_tree, &w, NULL, NULL, &operation);
    expect_ok(hf_operation_start, operation, NULL, &future);
    expect_ok(hf_future_wait, future, NULL, 120000, NULL, NULL);
    hf_future_free(future);
    assert_int_equal(w.runs, 4);
    assert_int_equal(r->child.value, 1);
    expect_calls(&r->child, 4, 4, 1, 3);
    expect_agreement(r);
    expect_ok(hf_operation_perform, operation, NULL, NULL, NULL);
    assert_int_equal(r->child.value, 2);
    expect_agreement(r);
    hf_operation_free(operation);
}

static void a_refused_run_of_an_operation_takes_the_objects_back(tree_room *r) {
    work w = {r, 0, 0};
    r->child.answer = HF_REFUSED, r->child.code = 5, r->child.message = "not today";
    hf_operation *operation = NULL;
    hf_future *future = NULL;
    expect_ok(hf_operation_create_function, r->store, count_in_tree, &w, NULL, NULL, &operation);
    expect_ok(hf_operation_start, operation, NULL, &future);
    hf_error *error = error_of(HF_REFUSED, hf_future_wait, future, NULL, 120000, NULL, NULL);
    assert_string_equal(hf_error_message(error), "not today");
    hf_error_free(error);
    hf_future_free(future);
    assert_int_equal(w.runs, 1);
    assert_int_equal(r->child.value, 0);
    expect_calls(&r->child, 1, 1, 0, 1);
    expect_absent(r->things, NULL, "child");
    hf_operation_free(operation);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(members_hear_before_the_event_does),
        EACH_ENGINE(a_future_ends_after_its_members_were_told),
        EACH_ENGINE(closing_with_many_in_flight_tells_every_tree),
        EACH_ENGINE(a_tree_is_sealed_until_its_event_is_taken),
        EACH_ENGINE(a_conflict_takes_the_objects_back_with_its_event),
        EACH_ENGINE(a_refusal_leaves_it_open_to_be_submitted_again),
        EACH_ENGINE(a_withdrawn_commit_takes_the_objects_back),
        EACH_ENGINE(without_a_place_the_tree_stays_open),
        EACH_ENGINE(a_store_freed_with_events_not_taken_tells_the_members),
        EACH_ENGINE(a_member_freed_while_sealed_is_skipped),
        EACH_ENGINE(a_transaction_that_wrote_nothing_ends_with_its_event_too),
        ONCE(beginning_again_is_refused_while_members_are_told),
        EACH_ENGINE(a_run_of_an_operation_goes_again_on_objects_as_they_were),
        EACH_ENGINE(a_refused_run_of_an_operation_takes_the_objects_back),
    };
    return run_scenarios("submitted_trees", scenarios, COUNT_OF(scenarios));
}
