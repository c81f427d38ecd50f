/* Requests of a controller: a snapshot, then what changes, until they are canceled or fail. */
#include "actions.h"

#define SORTED "{\"sort\":{\"n\":1}}"
#define REQUEST(token, members) "{\"action\":\"request\",\"token\":\"" token "\",\"request\":{" members "}}"
#define CANCEL(token) "{\"action\":\"cancelRequest\",\"token\":\"" token "\"}"
#define BY_N "\"sort\":{\"n\":1}"

static void save_rows(hf_repository *things, int count) {
    char json[64];
    for (int i = 0; i < count; i++) {
        snprintf(json, sizeof json, "{\"id\":\"%c\",\"n\":%d}", 'a' + i, i);
        save(things, NULL, json);
    }
}

static void a_request_brings_one_snapshot_and_then_what_each_commit_changes(room r) {
    diary *d = keep_diary(r.things);
    save_rows(r.things, 6);
    dispatch(d, REQUEST("t", BY_N));
    await_found(d, "t", r.things, NULL, SORTED);
    /* Three of six in one commit are one change; one more is another. */
    expect_ok(hf_repository_delete_many, r.things, NULL, "[\"a\",\"c\",\"f\"]", HF_NTS);
    await_found(d, "t", r.things, NULL, SORTED);
    save(r.things, NULL, "{\"id\":\"g\",\"n\":2}");
    await_found(d, "t", r.things, NULL, SORTED);
    expect_part(d, "request.ids", "[\"b\",\"g\",\"d\",\"e\"]");
    assert_int_equal(noted(d, "received", "t"), 1);
    assert_int_equal(noted(d, "changed", "t"), 2);
    /* What the controller itself saves is told as well. */
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"h\",\"n\":0}}");
    await_part(d, "persist.state", "\"succeeded\"");
    await_found(d, "t", r.things, NULL, SORTED);
    dispatch(d, CANCEL("t"));
    expect_lane(d, "request", "initial loading received canceled");
    close_diary(d);
}

static void of_three_requests_the_middle_one_is_canceled_and_the_others_hear_of_the_commit(room r, diary *d) {
    save_rows(r.things, 3);
    dispatch(d, REQUEST("one", "\"filter\":{\"n\":{\"$gte\":1}}"));
    dispatch(d, REQUEST("two", BY_N));
    dispatch(d, REQUEST("three", BY_N ",\"limit\":2"));
    await_part(d, "requests.one.ids", "[\"b\",\"c\"]");
    await_part(d, "requests.two.ids", "[\"a\",\"b\",\"c\"]");
    await_part(d, "requests.three.ids", "[\"a\",\"b\"]");
    dispatch(d, CANCEL("two"));
    expect_ok(hf_repository_delete, r.things, NULL, "b", 1, 0);
    await_part(d, "requests.one.ids", "[\"c\"]");
    await_part(d, "requests.three.ids", "[\"a\",\"c\"]");
    expect_part(d, "requests.two.state", "\"canceled\"");
    assert_int_equal(noted(d, "changed", "two"), 0);
    expect_part(d, "request.token", "\"three\"");
}

static void rollbacks_and_commits_that_change_nothing_relevant_send_nothing(room r, diary *d) {
    hf_repository *others = open_repository(r.store, "others");
    save_rows(r.things, 3);
    dispatch(d, REQUEST("t", "\"filter\":{\"n\":{\"$lt\":10}},\"fields\":[\"n\"]," BY_N));
    await_part(d, "request.state", "\"received\"");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"rolled back\",\"n\":1}");
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);
    save(r.things, NULL, "{\"id\":\"irrelevant\",\"n\":11}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":0,\"not shown\":true}");
    save(others, NULL, "{\"id\":\"elsewhere\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"relevant\",\"n\":9}");
    await_part(d, "request.ids", "[\"a\",\"b\",\"c\",\"relevant\"]");
    assert_int_equal(noted(d, "changed", NULL), 1);
    hf_repository_free(others);
}

static void entities_move_enter_leave_and_stand_at_the_edge_of_a_limit(room r) {
    static const char *const commits[] = {
        "{\"id\":\"a\",\"n\":9}",              /* moves behind the limit */
        "{\"id\":\"a\",\"n\":2.5}",            /* and back, in between */
        "{\"id\":\"e\",\"n\":-1}",             /* from behind the limit to the front */
        "{\"id\":\"b\",\"n\":1,\"off\":true}", /* leaves the filter */
        "{\"id\":\"b\",\"n\":1}",              /* enters it */
        "{\"id\":\"z\",\"n\":0}",              /* is new, within the limit */
        "{\"id\":\"z\",\"n\":100}",
    };
    diary *d = keep_diary(r.things);
    save_rows(r.things, 6);
    dispatch(d, REQUEST("t", "\"filter\":{\"off\":{\"$exists\":false}}," BY_N ",\"limit\":4,\"skip\":1"));
    for (size_t i = 0; i < COUNT_OF(commits); i++) {
        save(r.things, NULL, commits[i]);
        await_found(d, "t", r.things, "{\"off\":{\"$exists\":false}}",
                    "{\"sort\":{\"n\":1},\"limit\":4,\"skip\":1}");
    }
    for (const char *id = "eabz"; *id != '\0'; id++) {
        expect_ok(hf_repository_delete, r.things, NULL, id, 1, 0);
        await_found(d, "t", r.things, "{\"off\":{\"$exists\":false}}",
                    "{\"sort\":{\"n\":1},\"limit\":4,\"skip\":1}");
    }
    assert_int_equal(noted(d, "requestFailed", NULL), 0);
    assert_int_equal(noted(d, "received", NULL), 1);
    close_diary(d);
}

static void of_a_hundred_commits_in_a_burst_the_changes_in_order_give_the_final_state(room r, diary *d) {
    dispatch(d, REQUEST("t", BY_N));
    char json[64];
    for (int i = 0; i < 100; i++) {
        snprintf(json, sizeof json, "{\"id\":\"%d\",\"n\":%d}", i % 40, i * 37 % 101);
        save(r.things, NULL, json);
    }
    await_found(d, "t", r.things, NULL, SORTED);
    assert_int_equal(noted(d, "received", NULL), 1);
}

static void a_token_that_is_in_use_again_lives_however_many_others_end(room r, diary *d) {
    char action[96];
    save_rows(r.things, 1);
    dispatch(d, REQUEST("t", BY_N));
    dispatch(d, CANCEL("t"));
    dispatch(d, REQUEST("t", BY_N));
    for (int i = 0; i < 150; i++) {
        snprintf(action, sizeof action, "{\"action\":\"request\",\"token\":%d}", i);
        dispatch(d, action);
        snprintf(action, sizeof action, "{\"action\":\"cancelRequest\",\"token\":%d}", i);
        dispatch(d, action);
    }
    await_part(d, "requests.t.state", "\"received\"");
}

static void a_request_with_a_token_in_use_ends_the_former_and_lives(room r, diary *d) {
    save_rows(r.things, 3);
    dispatch(d, REQUEST("t", "\"filter\":{\"n\":0}"));
    await_part(d, "request.ids", "[\"a\"]");
    dispatch(d, REQUEST("t", "\"filter\":{\"n\":1}"));
    await_part(d, "request.ids", "[\"b\"]");
    save(r.things, NULL, "{\"id\":\"x\",\"n\":0}");
    save(r.things, NULL, "{\"id\":\"y\",\"n\":1}");
    await_part(d, "request.ids", "[\"b\",\"y\"]");
    assert_int_equal(noted(d, "received", "t"), 2);
    assert_int_equal(noted(d, "changed", "t"), 1);
    /* Also while the former is still being opened. */
    for (int i = 0; i < 20; i++)
        dispatch(d, REQUEST("t", "\"filter\":{\"n\":0}"));
    dispatch(d, REQUEST("t", "\"filter\":{\"n\":2}"));
    await_part(d, "request.ids", "[\"c\"]");
    expect_part(d, "request.request", "{\"filter\":{\"n\":2}}");
}

/* --- Cancelling ----------------------------------------------------------------------------------- */

static void save_one_of_ten(hf_repository *things, int number) {
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"%d\",\"n\":%d}", number % 10, number);
    save(things, NULL, json);
}

static void dawdle(diary *d, const json_t *action) {
    (void)d;
    if (json_object_get(action, "result") != NULL)
        sleep_milliseconds(2);
}

static void when_a_cancel_has_returned_nothing_of_its_token_is_told_any_more(room r, diary *d) {
    d->then = dawdle;
    writer w;
    begin_writing(&w, r.things, save_one_of_ten);
    for (int i = 0; i < 20; i++) {
        size_t before = noted(d, "changed", "t");
        dispatch(d, REQUEST("t", BY_N));
        double limit = seconds_now() + 120;
        while (i % 2 == 0 && noted(d, "changed", "t") == before && seconds_now() < limit)
            sleep_milliseconds(1);
        dispatch(d, CANCEL("t"));
        size_t actions = json_array_size(d->entries);
        expect_part(d, "request.state", "\"canceled\"");
        sleep_milliseconds(3);
        assert_int_equal(json_array_size(d->entries), actions);
        /* What has ended is not ended again, and the state stays. */
        char *before_it = state_part(d, "");
        dispatch(d, CANCEL("t"));
        expect_part(d, "", before_it);
        free(before_it);
    }
    end_writing(&w);
}

static void cancel_it(diary *d, const json_t *action) {
    if (strcmp(json_string_value(json_object_get(action, "action")), "changed") == 0)
        dispatch(d, CANCEL("t"));
}

static void a_request_is_canceled_inside_its_own_event(room r, diary *d) {
    d->then = cancel_it;
    dispatch(d, REQUEST("t", ""));
    await_part(d, "request.state", "\"received\"");
    save(r.things, NULL, "{\"id\":\"a\"}");
    await_part(d, "request.state", "\"canceled\"");
    save(r.things, NULL, "{\"id\":\"b\"}");
    sleep_milliseconds(20);
    assert_int_equal(noted(d, "changed", "t"), 1);
    /* The change itself had come before. */
    expect_lane(d, "request", "initial loading received canceled");
}

static void cancel_by_event(const hf_event *event, void *user_data) {
    diary *d = user_data;
    note_state(event, d);
    if (noted(d, "received", "t") == 1)
        dispatch(d, CANCEL("t"));
}

static void a_request_is_canceled_inside_the_callback_that_tells_of_the_state(room r) {
    diary *d = keep_diary(NULL);
    expect_ok(hf_controller_create, r.things, note_action, cancel_by_event, d, note_freed, &d->controller);
    dispatch(d, REQUEST("t", ""));
    await_part(d, "request.state", "\"canceled\"");
    save(r.things, NULL, "{\"id\":\"b\"}");
    sleep_milliseconds(20);
    assert_int_equal(noted(d, "changed", "t"), 0);
    close_diary(d);
}

static void under_queue_delivery_a_request_is_canceled_inside_its_own_event_too(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    diary *d = keep_diary(r.things);
    d->then = cancel_it;
    dispatch(d, REQUEST("t", ""));
    hf_event events[4];
    double limit = seconds_now() + 120;
    for (const char *wanted = "received"; wanted != NULL && seconds_now() < limit;) {
        int32_t count = hf_store_events(r.store, events, 4, 10);
        assert_true(count >= 0);
        hf_events_free(events, (size_t)count);
        if (noted(d, wanted, "t") == 0)
            continue;
        save(r.things, NULL, "{\"id\":\"a\"}");
        wanted = strcmp(wanted, "received") == 0 ? "cancelRequest" : NULL;
    }
    expect_lane(d, "request", "initial loading received canceled");
    close_diary(d);
    close_room(r);
}

/* --- Failing --------------------------------------------------------------------------------------- */

static void a_request_that_cannot_be_opened_fails_with_itself_and_works_when_it_is_mended(diary *d) {
    dispatch(d, REQUEST("t", "\"filter\":{\"n\":{\"$near\":1}}"));
    await_part(d, "request.state", "\"failed\"");
    expect_part(d, "request.error.status", "\"HF_INVALID_QUERY\"");
    expect_part(d, "request.error.detail.operator", "\"$near\"");
    expect_part(d, "request.request", "{\"filter\":{\"n\":{\"$near\":1}}}");
    dispatch(d, REQUEST("u", "\"limit\":-1"));
    await_part(d, "request.error.status", "\"HF_INVALID_OPTION\"");
    expect_lane(d, "request", "initial loading failed loading failed");
    dispatch(d, REQUEST("t", ""));
    await_part(d, "request.state", "\"received\"");
    expect_part(d, "requests.u.state", "\"failed\"");
}

static void an_entity_that_cannot_be_read_fails_its_request_by_name_and_hides_no_other(fixture *f) {
    room r = open_room(f, NULL);
    save_rows(r.things, 2);
    close_room(r);
    run_sqlite(f->url, "UPDATE holdfast_entity SET body = '{\"id\":' WHERE id = 'b';");
    r = open_room(f, NULL);
    diary *d = keep_diary(r.things);
    dispatch(d, REQUEST("t", "\"filter\":{\"n\":{\"$gte\":0}}"));
    await_part(d, "request.state", "\"failed\"");
    expect_part(d, "request.error.status", "\"HF_CORRUPT\"");
    expect_part(d, "request.error.detail.id", "\"b\"");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":0}");
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"b\",\"n\":3}}");
    await_part(d, "persist.state", "\"succeeded\"");
    dispatch(d, REQUEST("t", "\"filter\":{\"n\":{\"$gte\":0}}"));
    await_part(d, "request.ids", "[\"a\",\"b\"]");
    close_diary(d);
    close_room(r);
}

static void a_change_that_does_not_fit_is_a_failure_and_then_a_fresh_snapshot(room r, diary *d) {
    save_rows(r.things, 3);
    dispatch(d, REQUEST("t", BY_N));
    await_found(d, "t", r.things, NULL, SORTED);
    dispatch(d, "{\"action\":\"changed\",\"token\":\"t\",\"result\":{\"removed\":[{\"position\":7}]}}");
    await_found(d, "t", r.things, NULL, SORTED);
    expect_lane(d, "request", "initial loading received failed loading received");
    assert_int_equal(noted(d, "request", "t"), 2);
    save(r.things, NULL, "{\"id\":\"g\",\"n\":2}");
    await_found(d, "t", r.things, NULL, SORTED);
}

static void closing_the_store_fails_the_requests_that_live_and_says_so(room r, diary *d) {
    dispatch(d, REQUEST("t", BY_N));
    dispatch(d, REQUEST("u", ""));
    dispatch(d, REQUEST("gone", ""));
    await_part(d, "requests.t.state", "\"received\"");
    await_part(d, "requests.u.state", "\"received\"");
    dispatch(d, CANCEL("gone"));
    double limit = seconds_now() + 120;
    sleep_milliseconds(20);
    int states = d->states;
    expect_ok(hf_store_close, r.store, -1);
    while (noted(d, "requestFailed", NULL) < 2 && seconds_now() < limit)
        sleep_milliseconds(1);
    await_part(d, "requests.t.error.status", "\"HF_CLOSED\"");
    await_part(d, "requests.u.error.status", "\"HF_CLOSED\"");
    expect_part(d, "requests.gone.state", "\"canceled\"");
    expect_part(d, "requests.t.request", "{" BY_N "}");
    assert_true(d->states > states);
    dispatch(d, REQUEST("t", BY_N));
    expect_part(d, "requests.t.error.status", "\"HF_CLOSED\"");
}

static void two_features_of_one_store_have_states_of_their_own(room r) {
    hf_repository *titles = open_repository(r.store, "titles");
    diary *d = keep_diary(r.things), *e = keep_diary(titles);
    dispatch(d, REQUEST("all", ""));
    dispatch(e, REQUEST("all", ""));
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"artist\"}}");
    await_part(d, "requests.all.ids", "[\"artist\"]");
    expect_part(e, "persist.state", "\"initial\"");
    dispatch(e, "{\"action\":\"save\",\"element\":{\"id\":\"title\"}}");
    await_part(e, "requests.all.ids", "[\"title\"]");
    dispatch(d, CANCEL("all"));
    expect_part(e, "requests.all.state", "\"received\"");
    expect_part(d, "requests.all.state", "\"canceled\"");
    close_diary(d);
    hf_repository_free(titles);
    dispatch(e, "{\"action\":\"delete\",\"element\":{\"id\":\"title\"}}");
    await_part(e, "requests.all.ids", "[]");
    close_diary(e);
}

static void freeing_a_controller_with_requests_ends_them(room r) {
    writer w;
    begin_writing(&w, r.things, save_one_of_ten);
    for (int i = 0; i < 20; i++) {
        diary *d = keep_diary(r.things);
        dispatch(d, REQUEST("t", BY_N));
        dispatch(d, REQUEST("u", ""));
        if (i % 2 == 0)
            await_part(d, "requests.t.state", "\"received\"");
        close_diary(d);
    }
    end_writing(&w);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_request_brings_one_snapshot_and_then_what_each_commit_changes),
        EACH_ENGINE(of_three_requests_the_middle_one_is_canceled_and_the_others_hear_of_the_commit),
        EACH_ENGINE(rollbacks_and_commits_that_change_nothing_relevant_send_nothing),
        EACH_ENGINE(entities_move_enter_leave_and_stand_at_the_edge_of_a_limit),
        EACH_ENGINE(of_a_hundred_commits_in_a_burst_the_changes_in_order_give_the_final_state),
        EACH_ENGINE(a_token_that_is_in_use_again_lives_however_many_others_end),
        EACH_ENGINE(a_request_with_a_token_in_use_ends_the_former_and_lives),
        EACH_ENGINE(when_a_cancel_has_returned_nothing_of_its_token_is_told_any_more),
        ONCE(a_request_is_canceled_inside_its_own_event),
        ONCE(a_request_is_canceled_inside_the_callback_that_tells_of_the_state),
        ONCE(under_queue_delivery_a_request_is_canceled_inside_its_own_event_too),
        EACH_ENGINE(a_request_that_cannot_be_opened_fails_with_itself_and_works_when_it_is_mended),
        SQLITE_ONLY(an_entity_that_cannot_be_read_fails_its_request_by_name_and_hides_no_other),
        EACH_ENGINE(a_change_that_does_not_fit_is_a_failure_and_then_a_fresh_snapshot),
        EACH_ENGINE(closing_the_store_fails_the_requests_that_live_and_says_so),
        EACH_ENGINE(two_features_of_one_store_have_states_of_their_own),
        EACH_ENGINE(freeing_a_controller_with_requests_ends_them),
    };
    return run_scenarios("controller requests", scenarios, COUNT_OF(scenarios));
}
