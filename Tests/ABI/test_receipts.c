/* Receipts: what a commit answers is read without a reader of JSON, and where it stands is told with its
 * event. */
#include "listener.h"

static hf_receipt read_receipt(const char *text, size_t length) {
    hf_receipt receipt = HF_RECEIPT_INIT;
    expect_ok(hf_receipt_read, text, length, &receipt);
    return receipt;
}

static void expect_change(const hf_receipt *receipt, size_t number, const char *repository, const char *id,
                          bool is_deletion) {
    const hf_receipt_change *change = &receipt->changes[number];
    assert_string_equal(change->repository, repository);
    assert_string_equal(change->id, id);
    assert_int_equal(change->id_length, strlen(id));
    assert_int_equal(change->version, receipt->sequence);
    assert_int_equal(change->is_deletion, is_deletion);
}

static void a_receipt_says_what_its_commit_has_changed(room r) {
    hf_repository *others = open_repository(r.store, "others");
    save(r.things, NULL, "{\"id\":\"gone\"}");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"\\\"\xC3\xA9\"}");
    save(others, t, "{\"id\":42}");
    expect_ok(hf_repository_delete, r.things, t, "gone", HF_NTS, 0);
    hf_buffer text = HF_BUFFER_INIT;
    expect_ok(hf_transaction_commit, t, &text);
    hf_transaction_free(t);
    hf_receipt receipt = read_receipt(text.data, text.length);
    assert_int_equal(receipt.sequence, version_of(others, NULL, "42"));
    assert_int_equal(receipt.attempts, 1);
    assert_true(receipt.is_durable && receipt.is_atomic && !receipt.is_replayed);
    assert_int_equal(receipt.change_count, 3);
    expect_change(&receipt, 0, "others", "42", false);
    expect_change(&receipt, 1, "things", "\"\xC3\xA9", false);
    expect_change(&receipt, 2, "things", "gone", true);
    char *position = position_of(r.store);
    assert_string_equal(receipt.position, position);
    free(position);
    hf_receipt_free(&receipt);
    hf_buffer_free(&text);
    hf_repository_free(others);
}

static void a_version_from_a_receipt_is_one_to_expect(room r) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\"}");
    hf_buffer text = HF_BUFFER_INIT;
    expect_ok(hf_transaction_commit, t, &text);
    hf_transaction_free(t);
    hf_receipt receipt = read_receipt(text.data, HF_NTS);
    uint64_t version = receipt.changes[0].version;
    expect_ok(hf_repository_update, r.things, NULL, "{\"id\":\"a\",\"n\":1}", HF_NTS, version, NULL);
    expect(HF_VERSION_MISMATCH, hf_repository_update, r.things, NULL, "{\"id\":\"a\"}", HF_NTS, version,
           NULL);
    hf_receipt_free(&receipt);
    hf_buffer_free(&text);
}

static void a_commit_that_changed_nothing_has_neither_sequence_nor_position_nor_changes(room r) {
    hf_transaction *t = begin(r.store, NULL);
    hf_buffer text = HF_BUFFER_INIT;
    expect_ok(hf_transaction_commit, t, &text);
    hf_transaction_free(t);
    hf_receipt receipt = read_receipt(text.data, text.length);
    assert_int_equal(receipt.sequence, 0);
    assert_string_equal(receipt.position, "");
    assert_int_equal(receipt.change_count, 0);
    hf_receipt_free(&receipt);
    assert_null(receipt.position);
    hf_receipt_free(&receipt);
    hf_receipt_free(NULL);
    hf_buffer_free(&text);
}

static hf_status save_a(hf_transaction *t, void *things, hf_error **out_error) {
    return hf_repository_save(things, t, "{\"id\":\"a\"}", HF_NTS, NULL, out_error);
}

static void a_receipt_that_is_answered_again_says_so_and_else_the_same(room r) {
    hf_buffer text = HF_BUFFER_INIT;
    hf_receipt receipts[2];
    for (int i = 0; i < 2; i++) {
        expect_ok(hf_store_transact, r.store, save_a, r.things, "{\"idempotency_key\":\"k\"}", &text);
        receipts[i] = read_receipt(text.data, text.length);
        assert_int_equal(receipts[i].is_replayed, i == 1);
        assert_int_equal(receipts[i].change_count, 1);
        expect_change(&receipts[i], 0, "things", "a", false);
    }
    assert_int_equal(receipts[0].sequence, receipts[1].sequence);
    assert_string_equal(receipts[0].position, receipts[1].position);
    hf_receipt_free(&receipts[0]);
    hf_receipt_free(&receipts[1]);
    hf_buffer_free(&text);
}

static void what_is_no_receipt_is_refused_and_one_that_was_read_stays(fixture *f) {
    (void)f;
    static const char good[] =
        "{\"sequence\":7,\"position\":\"ab:7\",\"durable\":false,\"attempts\":99999999999,"
        "\"replayed\":true,\"atomic\":false,\"changes\":[],\"secondary\":[],\"new\":1}";
    hf_receipt receipt = read_receipt(good, sizeof good - 1);
    static const struct {
        const char *text;
        hf_status status;
    } wrong[] = {
        {"", HF_INVALID_JSON},
        {"{", HF_INVALID_JSON},
        {"null", HF_INVALID_ARGUMENT},
        {"[]", HF_INVALID_ARGUMENT},
        {"{\"id\":\"an entity\"}", HF_INVALID_ARGUMENT},
        {"{\"sequence\":-1,\"durable\":true,\"attempts\":1,\"changes\":[]}", HF_INVALID_ARGUMENT},
        {"{\"sequence\":1,\"durable\":true,\"attempts\":1,\"changes\":[{\"id\":1}]}", HF_INVALID_ARGUMENT},
        {"{\"sequence\":1,\"durable\":true,\"attempts\":1,\"changes\":[0]}", HF_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        expect(wrong[i].status, hf_receipt_read, wrong[i].text, HF_NTS, &receipt);
    expect(HF_INVALID_ARGUMENT, hf_receipt_read, NULL, 1, &receipt);
    expect(HF_INVALID_ARGUMENT, hf_receipt_read, good, HF_NTS, NULL);
    expect(HF_INVALID_ARGUMENT, hf_receipt_read, good, SIZE_MAX / 2 + 1, &receipt);
    assert_int_equal(receipt.sequence, 7);
    assert_int_equal(receipt.attempts, INT32_MAX);
    assert_true(!receipt.is_durable && !receipt.is_atomic && receipt.is_replayed);
    assert_string_equal(receipt.position, "ab:7");
    hf_receipt_free(&receipt);
}

/* --- Positions of events ---------------------------------------------------------------------------------
 */

static hf_event take_one(hf_store *store) {
    hf_event event;
    assert_int_equal(hf_store_events(store, &event, 1, 60000), 1);
    return event;
}

static void a_commit_s_event_has_its_position_and_one_that_stored_nothing_has_none(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    for (int writes = 1; writes >= 0; writes--) {
        hf_transaction *t = begin(r.store, NULL);
        if (writes > 0)
            save(r.things, t, "{\"id\":\"a\"}");
        expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
        hf_transaction_free(t);
        hf_event event = take_one(r.store);
        char *newest = position_of(r.store);
        assert_string_equal(event.position.length > 0 ? event.position.data : "", writes > 0 ? newest : "");
        free(newest);
        hf_events_free(&event, 1);
    }
    close_room(r);
}

static void a_stream_goes_on_behind_the_event_whose_position_was_kept(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    char *kept = position_of(r.store);
    for (char id = 'a'; id <= 'd'; id++) {
        save_one(r.things, id);
        char options[128], expected[16];
        snprintf(options, sizeof options, "{\"since\":\"%s\"}", kept);
        hf_stream *stream = NULL;
        expect_ok(hf_stream_open, r.store, options, NULL, NULL, NULL, &stream);
        hf_event event = take_one(r.store);
        json_t *value = json_loadb(event.value.data, event.value.length, 0, NULL), *ids;
        json_t *commits = json_object_get(value, "commits");
        assert_int_equal(json_array_size(commits), 1);
        ids = json_object_get(json_array_get(commits, 0), "changes");
        snprintf(expected, sizeof expected, "%c", id);
        assert_string_equal(json_string_value(json_object_get(json_array_get(ids, 0), "id")), expected);
        json_decref(value);
        free(kept);
        kept = strdup(event.position.data);
        hf_events_free(&event, 1);
        hf_stream_free(stream);
    }
    free(kept);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_receipt_says_what_its_commit_has_changed),
        EACH_ENGINE(a_version_from_a_receipt_is_one_to_expect),
        ONCE(a_commit_that_changed_nothing_has_neither_sequence_nor_position_nor_changes),
        EACH_ENGINE(a_receipt_that_is_answered_again_says_so_and_else_the_same),
        ONCE(what_is_no_receipt_is_refused_and_one_that_was_read_stays),
        EACH_ENGINE(a_commit_s_event_has_its_position_and_one_that_stored_nothing_has_none),
        EACH_ENGINE(a_stream_goes_on_behind_the_event_whose_position_was_kept),
    };
    return run_scenarios("receipts", scenarios, COUNT_OF(scenarios));
}
