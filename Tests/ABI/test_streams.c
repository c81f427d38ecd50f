/* Streams of changes: what an observer, a feed and a durable subscription are told. */
#include "listener.h"

#include <sys/stat.h>

static void an_observer_is_told_of_each_commit_in_order(room r, listener *l) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    observe(l, r.store, "{\"old\":true}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":2}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":3}");
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_repository_delete, r.things, t, "b", HF_NTS, 0);
    save(r.things, t, "{\"id\":\"c\"}");
    commit_quietly(t);
    expect_event(
        l, 0,
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"b\",\"operation\":\"insert\","
        "\"entity\":{\"id\":\"b\",\"n\":2}}]}]}");
    expect_event(
        l, 1,
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"a\",\"operation\":\"update\","
        "\"entity\":{\"id\":\"a\",\"n\":3},\"old\":{\"id\":\"a\",\"n\":1}}]}]}");
    expect_event(
        l, 2,
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"b\",\"operation\":\"delete\","
        "\"old\":{\"id\":\"b\",\"n\":2}},{\"repository\":\"things\",\"id\":\"c\",\"operation\":"
        "\"insert\",\"entity\":{\"id\":\"c\"}}]}]}");
}

static void it_hears_only_of_what_it_asks_for(room r) {
    hf_repository *others = open_repository(r.store, "others");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1,\"m\":1}");
    static const char *wanted[] = {
        "{\"repository\":\"others\",\"entities\":false}",
        "{\"repository\":\"things\",\"id\":\"b\",\"entities\":false}",
        "{\"repository\":\"things\",\"filter\":{\"n\":{\"$gt\":5}},\"entities\":false}",
        "{\"repository\":\"things\",\"fields\":[\"m\"],\"entities\":false}",
    };
    listener l[COUNT_OF(wanted)];
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        begin_listening(&l[i]);
        observe(&l[i], r.store, wanted[i]);
    }
    save(r.things, NULL, "{\"id\":\"a\",\"n\":9,\"m\":1}"); /* enters the filter, the same in m */
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1,\"m\":2}"); /* leaves it */
    save(r.things, NULL, "{\"id\":\"b\",\"n\":1,\"m\":2}"); /* never in it */
    save(others, NULL, "{\"id\":\"a\"}");
    expect_event(
        &l[0], 0,
        "{\"commits\":[{\"changes\":[{\"repository\":\"others\",\"id\":\"a\",\"operation\":\"insert\"}]"
        "}]}");
    static const char *in_filter =
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"a\",\"operation\":\"update\"}]}]}";
    static const char *b_inserted =
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"b\",\"operation\":\"insert\"}]}]}";
    expect_event(&l[1], 0, b_inserted);
    expect_event(&l[2], 0, in_filter);
    expect_event(&l[2], 1, in_filter);
    expect_event(&l[3], 0, in_filter);
    expect_event(&l[3], 1, b_inserted);
    assert_int_equal(event_count(&l[0]), 1);
    assert_int_equal(event_count(&l[1]), 1);
    assert_int_equal(event_count(&l[2]), 2);
    assert_int_equal(event_count(&l[3]), 2);
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        end_listening(&l[i]);
    hf_repository_free(others);
}

static void nobody_hears_of_what_is_rolled_back_or_refused(room r, listener *l) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    observe(l, r.store, NULL);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);
    expect(HF_EXISTS, hf_repository_add, r.things, NULL, "{\"id\":\"a\"}", HF_NTS, NULL);
    save(r.things, NULL, "{\"id\":\"c\"}");
    expect_event(
        l, 0,
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"c\",\"operation\":\"insert\","
        "\"entity\":{\"id\":\"c\"}}]}]}");
    assert_int_equal(event_count(l), 1);
}

/* What it was told, one sign for each change: the last sign of the id. */
static void spell(listener *l, char *text) {
    pthread_mutex_lock(&l->lock);
    size_t i, k, n;
    json_t *event, *commit, *change;
    json_array_foreach(l->events, i, event){json_array_foreach(json_object_get(event, "commits"), k, commit){
        json_array_foreach(json_object_get(commit, "changes"), n,
                           change){const char *id = json_string_value(json_object_get(change, "id"));
    *text++ = id[strlen(id) - 1];
}
}
}
*text = '\0';
pthread_mutex_unlock(&l->lock);
}

static void wait_for_spelling(listener *l, const char *expected) {
    char text[1024] = "";
    for (int i = 0; i < 12000; i++) {
        spell(l, text);
        if (strcmp(text, expected) == 0)
            return;
        sleep_milliseconds(10);
    }
    assert_string_equal(text, expected);
}

static void a_stream_may_begin_in_the_past(room r) {
    save_one(r.things, 'a');
    char *position = position_of(r.store), options[128];
    save_one(r.things, 'b');
    save_one(r.things, 'c');
    listener l;
    begin_listening(&l);
    snprintf(options, sizeof options, "{\"since\":\"%s\"}", position);
    observe(&l, r.store, options);
    save_one(r.things, 'd');
    wait_for_spelling(&l, "bcd");
    end_listening(&l);
    free(position);
}

static void a_feed_answers_in_pieces_from_a_position_that_the_caller_keeps(room r) {
    for (char id = 'a'; id <= 'g'; id++)
        save_one(r.things, id);
    save_one(r.things, 'a'); /* what it was before is not known any more */
    char *position = NULL;
    char heard[64] = "";
    size_t length = 0, unknown = 0;
    for (int i = 0; i < 20; i++) {
        json_t *changes = changes_since(r.store, position, "{\"limit\":2,\"repository\":\"things\"}"),
               *commit;
        size_t k;
        json_array_foreach(json_object_get(changes, "commits"), k, commit) {
            json_t *change = json_array_get(json_object_get(commit, "changes"), 0);
            assert_string_equal(json_string_value(json_object_get(change, "operation")), "put");
            heard[length++] = json_string_value(json_object_get(change, "id"))[0];
            unknown += json_object_get(change, "entity") == NULL;
        }
        free(position);
        position = strdup(json_string_value(json_object_get(changes, "position")));
        json_decref(changes);
    }
    assert_string_equal(heard, "abcdefga");
    assert_int_equal(unknown, 1);
    char *newest = position_of(r.store);
    assert_string_equal(position, newest);
    free(newest);
    free(position);
}

static void a_receipt_has_the_position_of_its_commit(room r) {
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\"}");
    json_t *receipt = commit(t);
    char *position = position_of(r.store);
    assert_string_equal(json_string_value(json_object_get(receipt, "position")), position);
    json_decref(receipt);
    free(position);
}

static void acknowledge_last(listener *l) {
    pthread_mutex_lock(&l->lock);
    json_t *event = json_array_get(l->events, json_array_size(l->events) - 1);
    char *position = strdup(json_string_value(json_object_get(event, "position")));
    pthread_mutex_unlock(&l->lock);
    expect_ok(hf_stream_acknowledge, l->stream, position);
    free(position);
}

static void a_durable_subscription_goes_on_behind_what_was_acknowledged(fixture *f) {
    room r = open_room(f, NULL);
    listener l;
    begin_listening(&l);
    observe(&l, r.store, "{\"durable\":\"mailer\"}");
    save_one(r.things, 'a');
    wait_for_spelling(&l, "a");
    acknowledge_last(&l);
    save_one(r.things, 'b');
    wait_for_spelling(&l, "ab");
    /* Acknowledging tells nobody. */
    assert_int_equal(event_count(&l), 2);
    end_listening(&l);
    save_one(r.things, 'c');
    close_room(r);

    r = open_room(f, NULL);
    save_one(r.things, 'd');
    begin_listening(&l);
    observe(&l, r.store, "{\"durable\":\"mailer\"}");
    wait_for_spelling(&l, "bcd");
    hf_stream *second;
    expect(HF_INVALID_STATE, hf_stream_open, r.store, "{\"durable\":\"mailer\"}", NULL, NULL, NULL, &second);
    acknowledge_last(&l);
    end_listening(&l);
    begin_listening(&l);
    observe(&l, r.store, "{\"durable\":\"mailer\"}");
    save_one(r.things, 'e');
    wait_for_spelling(&l, "e");
    end_listening(&l);
    close_room(r);
}

static void what_was_acknowledged_stays_so_when_an_earlier_position_is_acknowledged(room r) {
    listener l;
    begin_listening(&l);
    observe(&l, r.store, "{\"durable\":\"mailer\"}");
    char *early = position_of(r.store);
    save_one(r.things, 'a');
    save_one(r.things, 'b');
    wait_for_spelling(&l, "ab");
    acknowledge_last(&l);
    expect_ok(hf_stream_acknowledge, l.stream, early);
    end_listening(&l);
    save_one(r.things, 'c');
    begin_listening(&l);
    observe(&l, r.store, "{\"durable\":\"mailer\"}");
    wait_for_spelling(&l, "c");
    end_listening(&l);
    free(early);
}

static void what_is_wrong_is_refused_by_name(room r, listener *l) {
    static const struct {
        const char *options;
        hf_status status;
    } wrong[] = {
        {"{\"sinse\":\"x\"}", HF_INVALID_OPTION},
        {"{\"id\":\"a\"}", HF_INVALID_OPTION},
        {"{\"filter\":{}}", HF_INVALID_OPTION},
        {"{\"repository\":\"things\",\"filter\":{\"$no\":1}}", HF_INVALID_QUERY},
        {"{\"repository\":\"things\",\"fields\":[]}", HF_INVALID_OPTION},
        {"{\"repository\":\"things\",\"id\":true}", HF_INVALID_OPTION},
        {"{\"repository\":\"nothing\"}", HF_NOT_FOUND},
        {"{\"since\":\"yesterday\"}", HF_INVALID_ARGUMENT},
        {"{\"since\":\"00112233445566778899aabbccddeeff:1\"}", HF_CURSOR_LOST},
        {"{\"durable\":\"\"}", HF_INVALID_OPTION},
        {"[]", HF_INVALID_OPTION},
        {"{", HF_INVALID_JSON},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        expect(wrong[i].status, hf_stream_open, r.store, wrong[i].options, hear, l, let_go, &l->stream);
        assert_int_equal(l->freed, i + 1);
    }
    hf_buffer changes = HF_BUFFER_INIT;
    expect(HF_INVALID_OPTION, hf_store_changes_since, r.store, NULL, "{\"old\":true}", &changes);
    expect(HF_INVALID_ARGUMENT, hf_store_changes_since, r.store, "7", NULL, &changes);
    observe(l, r.store, NULL);
    expect(HF_INVALID_STATE, hf_stream_acknowledge, l->stream, "x");
    hf_stream_free(l->stream);
    expect(HF_INVALID_HANDLE, hf_stream_acknowledge, l->stream, "x");
    hf_stream_free(l->stream);
    l->stream = NULL;
}

/* More than may wait for it. */
static void a_slow_observer_is_told_from_the_log_and_catches_up(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    listener l;
    begin_listening(&l);
    observe(&l, r.store, "{\"entities\":false}");
    hold(&l);
    /* More than is on its way at once, and of what is left more commits than are taken from the log at once.
     */
    enum { COMMITS = 400, EACH = 60 };
    for (int i = 0; i < COMMITS; i++) {
        hf_transaction *t = begin(r.store, NULL);
        for (int k = 0; k < EACH; k++) {
            char json[32];
            snprintf(json, sizeof json, "{\"id\":\"%d\"}", k);
            save(r.things, t, json);
        }
        commit_quietly(t);
    }
    hold_no_more(&l);
    size_t changes = 0, behind = 0;
    json_int_t last = 0;
    for (int wait = 0; wait < 12000 && changes < COMMITS * EACH; wait++) {
        sleep_milliseconds(10);
        changes = behind = 0;
        last = 0;
        pthread_mutex_lock(&l.lock);
        size_t i, k;
        json_t *event, *commit;
        json_array_foreach(l.events, i, event) {
            behind += json_is_true(json_object_get(event, "behind"));
            json_array_foreach(json_object_get(event, "commits"), k, commit) {
                json_int_t sequence = json_integer_value(json_object_get(commit, "sequence"));
                assert_true(sequence > last);
                last = sequence;
                changes += json_array_size(json_object_get(commit, "changes"));
            }
        }
        pthread_mutex_unlock(&l.lock);
    }
    assert_int_equal(changes, COMMITS * EACH);
    assert_true(behind > 0);
    /* From here on it is told as anybody else. */
    size_t count = event_count(&l);
    save(r.things, NULL, "{\"id\":\"new\"}");
    expect_event(&l, count,
                 "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"new\",\"operation\":"
                 "\"insert\"}]}]}");
    end_listening(&l);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(an_observer_is_told_of_each_commit_in_order),
        EACH_ENGINE(it_hears_only_of_what_it_asks_for),
        EACH_ENGINE(nobody_hears_of_what_is_rolled_back_or_refused),
        EACH_ENGINE(a_stream_may_begin_in_the_past),
        EACH_ENGINE(a_feed_answers_in_pieces_from_a_position_that_the_caller_keeps),
        EACH_ENGINE(a_receipt_has_the_position_of_its_commit),
        SQLITE_ONLY(a_durable_subscription_goes_on_behind_what_was_acknowledged),
        EACH_ENGINE(what_was_acknowledged_stays_so_when_an_earlier_position_is_acknowledged),
        ONCE(what_is_wrong_is_refused_by_name),
        EACH_ENGINE(a_slow_observer_is_told_from_the_log_and_catches_up),
    };
    return run_scenarios("streams", scenarios, COUNT_OF(scenarios));
}
