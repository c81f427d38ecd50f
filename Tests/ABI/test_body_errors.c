/* What the body of a transaction hands over with its answer is what its caller is told. */
#include "shelf.h"
#include "support.h"

/* What a body does, and what it was called for. */
typedef struct deed {
    hf_repository *things;
    /* The body makes the error by itself, of this status, if there is one; else it passes on that of a call.
     */
    hf_status made;
    hf_status answer;
    int runs;
} deed;

static hf_status do_it(deed *d, hf_transaction *t, hf_error **out_error) {
    d->runs++;
    if (d->made != HF_OK)
        *out_error = hf_error_create(d->made, 7, "the account is closed");
    else
        assert_int_equal(
            hf_repository_update(d->things, t, "{\"id\":\"nobody\"}", HF_NTS, 0, NULL, out_error),
            HF_NOT_FOUND);
    return d->answer;
}

static hf_status body(hf_transaction *t, void *user_data, hf_error **out_error) {
    return do_it(user_data, t, out_error);
}

static hf_status function(hf_transaction *t, hf_buffer *result, void *user_data, hf_error **out_error) {
    (void)result;
    return do_it(user_data, t, out_error);
}

static hf_status step(hf_transaction *t, int64_t from, int64_t to, void *user_data, hf_error **out_error) {
    (void)from, (void)to;
    return do_it(user_data, t, out_error);
}

static hf_status of_tree(hf_participant *participant, void *user_data, hf_error **out_error) {
    (void)participant;
    return do_it(user_data, NULL, out_error);
}

/* The four ways to have a body run. */
static hf_status transact(room r, deed *d, hf_error **out_error) {
    return hf_store_transact(r.store, body, d, "{\"max_attempts\":3}", NULL, out_error);
}

static hf_status perform(room r, deed *d, hf_error **out_error) {
    hf_operation *operation = NULL;
    expect_ok(hf_operation_create_function, r.store, function, d, NULL, "{\"max_attempts\":3}", &operation);
    hf_status status = hf_operation_perform(operation, NULL, NULL, NULL, out_error);
    hf_operation_free(operation);
    return status;
}

static hf_status upgrade(room r, deed *d, hf_error **out_error) {
    return hf_store_upgrade(r.store, 1, step, "{\"backup\":false}", NULL, d, NULL, out_error);
}

static hf_status transact_tree(room r, deed *d, hf_error **out_error) {
    (void)r;
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    hf_participant *participant = NULL;
    expect_ok(hf_participant_create, NULL, &callbacks, NULL, NULL, &participant);
    hf_status status = hf_participant_transact(participant, of_tree, d, out_error);
    hf_participant_free(participant);
    return status;
}

typedef hf_status (*way)(room r, deed *d, hf_error **out_error);
static const way ways[] = {transact, perform, upgrade, transact_tree};
enum { WAYS = sizeof ways / sizeof *ways };

static void what_a_body_makes_is_what_its_caller_is_told(room r) {
    for (int i = 0; i < WAYS; i++) {
        deed d = {r.things, HF_REFUSED, HF_REFUSED, 0};
        hf_error *error = NULL;
        assert_int_equal(ways[i](r, &d, &error), HF_REFUSED);
        assert_string_equal(hf_error_message(error), "the account is closed");
        expect_detail(error, "code", "7");
        hf_error_free(error);
        /* Nobody has to want it. */
        assert_int_equal(ways[i](r, &d, NULL), HF_REFUSED);
    }
}

static void what_a_call_in_a_body_fails_with_is_what_its_caller_is_told(room r) {
    for (int i = 0; i < WAYS; i++) {
        deed d = {r.things, HF_OK, HF_NOT_FOUND, 0};
        hf_error *error = NULL;
        assert_int_equal(ways[i](r, &d, &error), HF_NOT_FOUND);
        expect_detail(error, "id", "\"nobody\"");
        hf_error_free(error);
    }
}

static void the_answer_counts_more_than_the_status_of_the_error(room r) {
    for (int i = 0; i < WAYS; i++) {
        deed d = {r.things, HF_REFUSED, HF_EXISTS, 0};
        hf_error *error = NULL;
        assert_int_equal(ways[i](r, &d, &error), HF_EXISTS);
        assert_int_equal(hf_error_status(error), HF_EXISTS);
        assert_string_equal(hf_error_message(error), "the account is closed");
        hf_error_free(error);
        /* A number that is no status leaves the error as it is. */
        d.answer = (hf_status)4711;
        error = NULL;
        assert_int_equal(ways[i](r, &d, &error), HF_REFUSED);
        assert_string_equal(hf_error_message(error), "the account is closed");
        hf_error_free(error);
    }
}

static void what_is_handed_over_with_success_is_let_go(room r) {
    for (int i = 0; i < WAYS; i++) {
        deed d = {r.things, HF_REFUSED, HF_OK, 0};
        hf_error *error = NULL;
        assert_int_equal(ways[i](r, &d, &error), HF_OK);
        assert_null(error);
    }
}

static void a_conflict_that_is_passed_on_has_the_body_run_again(room r) {
    for (int i = 0; i < 2; i++) {
        deed d = {r.things, HF_CONFLICT, HF_CONFLICT, 0};
        hf_error *error = NULL;
        assert_int_equal(ways[i](r, &d, &error), HF_CONFLICT);
        assert_int_equal(d.runs, 3);
        expect_detail(error, "attempts", "3");
        hf_error_free(error);
    }
}

static hf_status hand_over(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)t;
    *out_error = user_data;
    return HF_REFUSED;
}

static void an_error_that_was_freed_is_as_good_as_none(room r) {
    hf_error *freed = hf_error_create(HF_REFUSED, 7, "the account is closed"), *error = NULL;
    hf_error_free(freed);
    assert_int_equal(hf_store_transact(r.store, hand_over, freed, NULL, NULL, &error), HF_REFUSED);
    assert_string_equal(hf_error_message(error), "the transaction's body answered HF_REFUSED");
    hf_error_free(error);
}

/* A commit in a store on this shelf of which nobody knows what became of it. */
static hf_status commit_elsewhere(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)t;
    shelf *s = user_data;
    room other = begin_shelf_with_one(s);
    s->fail_from = s->writes + 2;
    s->fail_to = s->fail_from + 2;
    hf_status status = hf_repository_save_many(other.things, NULL, "[{\"id\":\"a\",\"n\":2},{\"id\":\"b\"}]",
                                               HF_NTS, NULL, out_error);
    assert_int_equal(hf_error_commit_state(*out_error), HF_COMMIT_UNKNOWN);
    close_room(other);
    end_shelf(s);
    return status;
}

static void what_became_of_another_commit_is_not_told_as_what_became_of_this_one(room r) {
    shelf s;
    hf_error *error = NULL;
    assert_int_equal(hf_store_transact(r.store, commit_elsewhere, &s, NULL, NULL, &error), HF_HOST_ERROR);
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_NONE);
    hf_error_free(error);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(what_a_body_makes_is_what_its_caller_is_told),
        EACH_ENGINE(what_a_call_in_a_body_fails_with_is_what_its_caller_is_told),
        EACH_ENGINE(the_answer_counts_more_than_the_status_of_the_error),
        EACH_ENGINE(what_is_handed_over_with_success_is_let_go),
        EACH_ENGINE(a_conflict_that_is_passed_on_has_the_body_run_again),
        EACH_ENGINE(an_error_that_was_freed_is_as_good_as_none),
        EACH_ENGINE(what_became_of_another_commit_is_not_told_as_what_became_of_this_one),
    };
    return run_scenarios("body errors", scenarios, COUNT_OF(scenarios));
}
