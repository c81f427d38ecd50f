/* A transaction: its states, receipts, savepoints, idempotency keys, and the body that runs again. */
#include "support.h"

static void writes_are_seen_inside_at_once_and_outside_after_the_commit(room r) {
    hf_transaction *t = begin(r.store, NULL), *other = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_entity(r.things, t, "a", "{\"id\":\"a\"}");
    expect_absent(r.things, other, "a");
    expect_absent(r.things, NULL, "a");
    commit_quietly(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    expect_absent(r.things, other, "a");
    hf_transaction_free(other);
}

static void a_rollback_changes_nothing(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    uint64_t version = version_of(r.things, NULL, "a");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\",\"n\":2}");
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_repository_delete, r.things, t, "a", 1, 0);
    expect_state(t, HF_TRANSACTION_OPEN);
    expect_ok(hf_transaction_rollback, t);
    expect_ok(hf_transaction_rollback, t);
    expect_state(t, HF_TRANSACTION_ROLLED_BACK);
    hf_transaction_free(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    assert_int_equal(version_of(r.things, NULL, "a"), version);
    expect_count(r.things, NULL, NULL, 1);
}

static void a_freed_transaction_is_rolled_back(room r) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\"}");
    hf_transaction_free(t);
    expect_absent(r.things, NULL, "a");
}

static void an_ended_transaction_refuses_everything_but_its_end(room r) {
    hf_transaction *committed = begin(r.store, NULL), *rolled_back = begin(r.store, NULL);
    save(r.things, committed, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_commit, committed, NULL);
    expect_state(committed, HF_TRANSACTION_COMMITTED);
    expect_ok(hf_transaction_rollback, rolled_back);
    hf_transaction *ended[] = {committed, rolled_back};
    hf_entity entity = HF_ENTITY_INIT;
    uint64_t savepoint = 0;
    for (size_t i = 0; i < COUNT_OF(ended); i++) {
        hf_transaction *t = ended[i];
        expect(HF_INVALID_STATE, hf_repository_save, r.things, t, "{\"id\":\"b\"}", HF_NTS, NULL);
        expect(HF_INVALID_STATE, hf_repository_fetch, r.things, t, "a", 1, &entity);
        expect(HF_INVALID_STATE, hf_transaction_commit, t, NULL);
        expect(HF_INVALID_STATE, hf_transaction_submit, t, NULL, NULL, NULL);
        expect(HF_INVALID_STATE, hf_transaction_cancel, t);
        expect(HF_INVALID_STATE, hf_transaction_savepoint, t, &savepoint);
    }
    expect(HF_INVALID_STATE, hf_transaction_rollback, committed);
    hf_transaction_free(committed), hf_transaction_free(rolled_back);
    expect_count(r.things, NULL, NULL, 1);
}

static void a_receipt_tells_the_final_changes_in_order(room r) {
    hf_repository *albums = open_repository(r.store, "albums");
    save(r.things, NULL, "{\"id\":\"gone\"}");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"b\",\"n\":1}");
    save(r.things, t, "{\"id\":\"b\",\"n\":2}");
    save(r.things, t, "{\"id\":10}");
    save(albums, t, "{\"id\":\"z\"}");
    expect_ok(hf_repository_delete, r.things, t, "gone", HF_NTS, 0);
    json_t *receipt = commit(t);
    json_int_t sequence = json_integer_value(json_object_get(receipt, "sequence"));
    assert_int_equal(sequence, version_of(r.things, NULL, "b"));
    json_t *changes = json_pack("[{sssssssI},{sssssssI},{sssssssI},{sssssssI}]", "repository", "albums", "id",
                                "z", "operation", "put", "version", sequence, "repository", "things", "id",
                                "10", "operation", "put", "version", sequence, "repository", "things", "id",
                                "b", "operation", "put", "version", sequence, "repository", "things", "id",
                                "gone", "operation", "delete", "version", sequence);
    assert_non_null(changes);
    if (!json_equal(json_object_get(receipt, "changes"), changes)) {
        fail_msg("changes: %s", json_dumps(json_object_get(receipt, "changes"), 0));
    }
    json_decref(changes);
    assert_true(json_is_true(json_object_get(receipt, "durable")));
    assert_true(json_is_false(json_object_get(receipt, "replayed")));
    assert_int_equal(json_integer_value(json_object_get(receipt, "attempts")), 1);
    assert_int_equal(json_array_size(json_object_get(receipt, "secondary")), 0);
    json_t *description = describe(r.store);
    assert_string_equal(json_string_value(json_object_get(description, "position")),
                        json_string_value(json_object_get(receipt, "position")));
    json_decref(description);
    json_decref(receipt);
    hf_repository_free(albums);
}

static void a_commit_of_nothing_has_no_sequence(room r) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_transaction *t = begin(r.store, NULL);
    expect_entity(r.things, t, "a", "{\"id\":\"a\"}");
    json_t *receipt = commit(t);
    assert_int_equal(json_integer_value(json_object_get(receipt, "sequence")), 0);
    assert_null(json_string_value(json_object_get(receipt, "position")));
    assert_int_equal(json_array_size(json_object_get(receipt, "changes")), 0);
    json_decref(receipt);
}

static void a_relaxed_commit_is_visible_and_says_so(room r) {
    hf_transaction *t = begin(r.store, "{\"durability\":\"relaxed\"}");
    save(r.things, t, "{\"id\":\"a\"}");
    json_t *receipt = commit(t);
    assert_true(json_is_boolean(json_object_get(receipt, "durable")));
    json_decref(receipt);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    expect_ok(hf_store_sync, r.store);
}

static void a_transaction_of_another_store_is_refused(room r) {
    hf_store *other = open_store_at("memory:", NULL);
    hf_transaction *t = begin(other, NULL);
    hf_entity entity = HF_ENTITY_INIT;
    expect(HF_INVALID_ARGUMENT, hf_repository_save, r.things, t, "{\"id\":\"a\"}", HF_NTS, NULL);
    expect(HF_INVALID_ARGUMENT, hf_repository_fetch, r.things, t, "a", 1, &entity);
    commit_quietly(t);
    hf_store_free(other);
}

static void a_savepoint_takes_back_what_was_written_after_it(room r) {
    hf_transaction *t = begin(r.store, NULL);
    uint64_t first = 0, second = 0;
    save(r.things, NULL, "{\"id\":\"old\"}");
    save(r.things, t, "{\"id\":\"a\",\"n\":1}");
    expect_ok(hf_transaction_savepoint, t, &first);
    save(r.things, t, "{\"id\":\"a\",\"n\":2}");
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_repository_delete, r.things, t, "old", 3, 0);
    expect_ok(hf_transaction_savepoint, t, &second);
    assert_true(second != first);
    save(r.things, t, "{\"id\":\"c\"}");
    expect_ok(hf_transaction_rollback_to, t, second);
    expect_absent(r.things, t, "c");
    expect_entity(r.things, t, "b", "{\"id\":\"b\"}");
    expect_ok(hf_transaction_rollback_to, t, first);
    expect(HF_INVALID_ARGUMENT, hf_transaction_rollback_to, t, second);
    expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}");
    expect_absent(r.things, t, "b");
    expect_entity(r.things, t, "old", "{\"id\":\"old\"}");
    save(r.things, t, "{\"id\":\"d\"}");
    expect_ok(hf_transaction_rollback_to, t, first);
    expect_absent(r.things, t, "d");
    expect(HF_INVALID_ARGUMENT, hf_transaction_rollback_to, t, 12345);
    save(r.things, t, "{\"id\":\"e\"}");
    commit_quietly(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect_count(r.things, NULL, NULL, 3);
}

static void what_was_read_before_a_rollback_to_a_savepoint_still_counts(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    uint64_t savepoint = 0;
    expect_ok(hf_transaction_savepoint, t, &savepoint);
    expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}");
    expect_ok(hf_transaction_rollback_to, t, savepoint);
    save(r.things, t, "{\"id\":\"b\"}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":2}");
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
}

static json_t *commit_with_key(room r, const char *json, hf_status expected) {
    hf_transaction *t = begin(r.store, "{\"idempotency_key\":\"order 7\"}");
    save(r.things, t, json);
    if (expected == HF_OK) {
        return commit(t);
    }
    expect(expected, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    return NULL;
}

static void a_key_used_again_for_the_same_writes_answers_the_first_receipt(room r) {
    json_t *first = commit_with_key(r, "{\"id\":\"a\",\"n\":1}", HF_OK);
    assert_true(json_is_false(json_object_get(first, "replayed")));
    save(r.things, NULL, "{\"id\":\"a\",\"n\":2}");
    json_t *second = commit_with_key(r, "{\"id\":\"a\",\"n\":1}", HF_OK);
    assert_true(json_is_true(json_object_get(second, "replayed")));
    assert_true(json_equal(json_object_get(first, "sequence"), json_object_get(second, "sequence")));
    assert_true(json_equal(json_object_get(first, "changes"), json_object_get(second, "changes")));
    json_decref(first), json_decref(second);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":2}");
}

static void a_key_used_again_for_other_writes_is_refused(room r) {
    json_decref(commit_with_key(r, "{\"id\":\"a\",\"n\":1}", HF_OK));
    commit_with_key(r, "{\"id\":\"a\",\"n\":2}", HF_KEY_REUSED);
    commit_with_key(r, "{\"id\":\"b\",\"n\":1}", HF_KEY_REUSED);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect_count(r.things, NULL, NULL, 1);
}

static void a_key_holds_for_entities_whose_id_is_assigned(room r) {
    json_t *first = commit_with_key(r, "{\"n\":1}", HF_OK);
    json_t *second = commit_with_key(r, "{\"n\":1}", HF_OK);
    assert_true(json_is_true(json_object_get(second, "replayed")));
    assert_true(json_equal(json_object_get(first, "changes"), json_object_get(second, "changes")));
    json_decref(first), json_decref(second);
    expect_count(r.things, NULL, NULL, 1);
}

static void a_key_is_remembered_across_reopening(fixture *f) {
    room r = open_room(f, NULL);
    json_decref(commit_with_key(r, "{\"id\":\"a\",\"n\":1}", HF_OK));
    close_room(r);
    r = open_room(f, NULL);
    json_t *again = commit_with_key(r, "{\"id\":\"a\",\"n\":1}", HF_OK);
    assert_true(json_is_true(json_object_get(again, "replayed")));
    json_decref(again);
    commit_with_key(r, "{\"id\":\"a\",\"n\":2}", HF_KEY_REUSED);
    close_room(r);
}

/* --- hf_store_transact ------------------------------------------------------------------------------ */

typedef struct body {
    room room;
    int runs;
    int collisions; /* so many runs are disturbed by a commit of another */
    hf_status answer;
} body;

static hf_status increment(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)out_error;
    body *b = user_data;
    char json[64];
    b->runs++;
    int64_t n = integer_in(b->room.things, transaction, "a", "n");
    if (b->runs <= b->collisions) {
        snprintf(json, sizeof json, "{\"id\":\"a\",\"n\":%d}", 100 * b->runs);
        save(b->room.things, NULL, json);
    }
    snprintf(json, sizeof json, "{\"id\":\"a\",\"n\":%lld}", (long long)n + 1);
    save(b->room.things, transaction, json);
    return b->answer;
}

static void transact_runs_the_body_again_after_a_conflict(fixture *f) {
    body b = {open_room(f, NULL), 0, 3, HF_OK};
    hf_buffer receipt = HF_BUFFER_INIT;
    save(b.room.things, NULL, "{\"id\":\"a\",\"n\":0}");
    expect_ok(hf_store_transact, b.room.store, increment, &b, NULL, &receipt);
    assert_int_equal(b.runs, 4);
    json_t *parsed = json_loadb(receipt.data, receipt.length, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(parsed, "attempts")), 4);
    json_decref(parsed);
    hf_buffer_free(&receipt);
    expect_entity(b.room.things, NULL, "a", "{\"id\":\"a\",\"n\":301}");
    close_room(b.room);
}

static void transact_gives_up_after_max_attempts(fixture *f) {
    body b = {open_room(f, NULL), 0, 1000, HF_OK};
    save(b.room.things, NULL, "{\"id\":\"a\",\"n\":0}");
    hf_error *error =
        error_of(HF_CONFLICT, hf_store_transact, b.room.store, increment, &b, "{\"max_attempts\":3}", NULL);
    expect_detail(error, "attempts", "3");
    assert_int_equal(b.runs, 3);
    expect_entity(b.room.things, NULL, "a", "{\"id\":\"a\",\"n\":300}");
    close_room(b.room);
}

static void what_the_body_answers_rolls_back_and_is_returned(fixture *f) {
    body b = {open_room(f, NULL), 0, 0, HF_HOST_ERROR};
    save(b.room.things, NULL, "{\"id\":\"a\",\"n\":0}");
    expect(HF_HOST_ERROR, hf_store_transact, b.room.store, increment, &b, NULL, NULL);
    b.answer = HF_NOT_FOUND;
    expect(HF_NOT_FOUND, hf_store_transact, b.room.store, increment, &b, NULL, NULL);
    assert_int_equal(b.runs, 2);
    b.answer = HF_CONFLICT;
    expect(HF_CONFLICT, hf_store_transact, b.room.store, increment, &b, "{\"max_attempts\":2}", NULL);
    assert_int_equal(b.runs, 4);
    expect_entity(b.room.things, NULL, "a", "{\"id\":\"a\",\"n\":0}");
    close_room(b.room);
}

static hf_status end_it_yourself(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)out_error;
    int *refusals = user_data;
    *refusals += hf_transaction_commit(transaction, NULL, NULL) == HF_INVALID_STATE;
    *refusals += hf_transaction_submit(transaction, NULL, NULL, NULL, NULL) == HF_INVALID_STATE;
    *refusals += hf_transaction_rollback(transaction, NULL) == HF_INVALID_STATE;
    return HF_OK;
}

static void the_body_cannot_end_its_transaction(room r) {
    int refusals = 0;
    expect_ok(hf_store_transact, r.store, end_it_yourself, &refusals, NULL, NULL);
    assert_int_equal(refusals, 3);
}

static void transact_with_a_used_key_does_not_run_the_body(fixture *f) {
    body b = {open_room(f, NULL), 0, 0, HF_OK};
    save(b.room.things, NULL, "{\"id\":\"a\",\"n\":0}");
    hf_buffer receipt = HF_BUFFER_INIT;
    for (int i = 0; i < 2; i++) {
        expect_ok(hf_store_transact, b.room.store, increment, &b, "{\"idempotency_key\":\"k\"}", &receipt);
        json_t *parsed = json_loadb(receipt.data, receipt.length, 0, NULL);
        assert_int_equal(json_is_true(json_object_get(parsed, "replayed")), i);
        json_decref(parsed);
    }
    hf_buffer_free(&receipt);
    assert_int_equal(b.runs, 1);
    expect_entity(b.room.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    close_room(b.room);
}

/* The last lamp, which one order takes. */
typedef struct order {
    room room;
    const char *request;
    int runs;
    bool looks_first; /* whether the body refuses, and not the validator */
} order;

static hf_status take_the_last(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    order *o = user_data;
    /* The same order comes a second time while this one is on its way, and is faster. */
    if (o->runs++ == 0)
        expect_ok(hf_store_transact, o->room.store, take_the_last, o, o->request, NULL);
    if (o->looks_first && integer_in(o->room.things, transaction, "lamp", "left") == 0)
        return HF_REFUSED;
    return hf_repository_modify(o->room.things, transaction, "lamp", HF_NTS, "{\"$inc\":{\"left\":-1}}",
                                HF_NTS, NULL, 0, 0, NULL, out_error);
}

static hf_status refuse_less_than_none(hf_transaction *transaction, const char *id, size_t id_length,
                                       const char *entity, size_t length, void *user_data,
                                       hf_error **out_error) {
    (void)transaction, (void)id, (void)id_length, (void)user_data, (void)out_error;
    json_t *parsed = json_loadb(entity, length, 0, NULL);
    json_int_t left = json_integer_value(json_object_get(parsed, "left"));
    json_decref(parsed);
    return left < 0 ? HF_REFUSED : HF_OK;
}

static void whatever_the_slower_of_the_same_request_fails_with_it_gets_the_receipt_of_the_faster(fixture *f) {
    order o = {open_room(f, NULL), "{\"idempotency_key\":\"the body\"}", 0, true};
    hf_buffer receipt = HF_BUFFER_INIT;
    for (int i = 0; i < 2; i++) {
        save(o.room.things, NULL, "{\"id\":\"lamp\",\"left\":1}");
        expect_ok(hf_store_transact, o.room.store, take_the_last, &o, o.request, &receipt);
        assert_non_null(strstr(receipt.data, "\"replayed\":true"));
        assert_int_equal(o.runs, 2);
        expect_entity(o.room.things, NULL, "lamp", "{\"id\":\"lamp\",\"left\":0}");
        expect_ok(hf_repository_set_validator, o.room.things, refuse_less_than_none, NULL, NULL);
        o = (order){o.room, "{\"idempotency_key\":\"the validator\"}", 0, false};
    }
    /* Another order finds none. */
    o = (order){o.room, "{\"idempotency_key\":\"another\"}", 1, true};
    expect(HF_REFUSED, hf_store_transact, o.room.store, take_the_last, &o, o.request, NULL);
    hf_buffer_free(&receipt);
    close_room(o.room);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(writes_are_seen_inside_at_once_and_outside_after_the_commit),
        EACH_ENGINE(a_rollback_changes_nothing),
        EACH_ENGINE(a_freed_transaction_is_rolled_back),
        EACH_ENGINE(an_ended_transaction_refuses_everything_but_its_end),
        EACH_ENGINE(a_receipt_tells_the_final_changes_in_order),
        EACH_ENGINE(a_commit_of_nothing_has_no_sequence),
        EACH_ENGINE(a_relaxed_commit_is_visible_and_says_so),
        EACH_ENGINE(a_transaction_of_another_store_is_refused),
        EACH_ENGINE(a_savepoint_takes_back_what_was_written_after_it),
        EACH_ENGINE(what_was_read_before_a_rollback_to_a_savepoint_still_counts),
        EACH_ENGINE(a_key_used_again_for_the_same_writes_answers_the_first_receipt),
        EACH_ENGINE(a_key_used_again_for_other_writes_is_refused),
        EACH_ENGINE(a_key_holds_for_entities_whose_id_is_assigned),
        SQLITE_ONLY(a_key_is_remembered_across_reopening),
        EACH_ENGINE(transact_runs_the_body_again_after_a_conflict),
        EACH_ENGINE(transact_gives_up_after_max_attempts),
        EACH_ENGINE(what_the_body_answers_rolls_back_and_is_returned),
        EACH_ENGINE(the_body_cannot_end_its_transaction),
        EACH_ENGINE(transact_with_a_used_key_does_not_run_the_body),
        EACH_ENGINE(whatever_the_slower_of_the_same_request_fails_with_it_gets_the_receipt_of_the_faster),
    };
    return run_scenarios("transaction", scenarios, COUNT_OF(scenarios));
}
