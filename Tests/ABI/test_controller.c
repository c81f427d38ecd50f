/* Saving and deleting by actions: what the lanes show, what fails and how it is tried again, and who is told.
 */
#include "actions.h"

#include <sys/stat.h>
#include <sys/wait.h>

static void a_save_goes_through_processing_to_succeeded_with_the_id_that_was_assigned(room r, diary *d) {
    expect_part(d, "persist", "{\"state\":\"initial\"}");
    dispatch(d, "{\"action\":\"save\",\"element\":{\"n\":1.5}}");
    await_part(d, "persist.state", "\"succeeded\"");
    expect_lane(d, "persist", "initial processing succeeded");
    expect_lane(d, "delete", "initial");
    expect_lane(d, "request", "initial");
    hf_entity stored = HF_ENTITY_INIT;
    expect_ok(hf_repository_first, r.things, NULL, NULL, 0, NULL, &stored);
    expect_part(d, "persist.element", stored.data);
    char version[32];
    snprintf(version, sizeof version, "%d", (int)stored.version);
    expect_part(d, "persist.version", version);
    /* What it answered can be saved again: an update of the same. */
    char *element = state_part(d, "persist.element"), action[256];
    snprintf(action, sizeof action, "{\"action\":\"save\",\"id\":\"again\",\"element\":%s}", element);
    dispatch(d, action);
    await_part(d, "saves.again.state", "\"succeeded\"");
    expect_count(r.things, NULL, NULL, 1);
    free(element);
    hf_entity_free(&stored);
}

static void what_has_no_id_or_token_gets_one_of_its_own_and_what_is_to_end_is_named(room r, diary *d) {
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"a\"}}");
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"b\"}}");
    dispatch(d, "{\"action\":\"request\"}");
    dispatch(d, "{\"action\":\"request\",\"request\":{\"limit\":1}}");
    await_part(d, "request.elements", "[{\"id\":\"a\"}]");
    await_part(d, "persist.state", "\"succeeded\"");
    hf_buffer text = HF_BUFFER_INIT;
    expect_ok(hf_controller_state, d->controller, &text);
    json_t *state = json_loads(text.data, 0, NULL);
    assert_int_equal(json_object_size(json_object_get(state, "saves")), 2);
    assert_int_equal(json_object_size(json_object_get(state, "requests")), 2);
    json_decref(state);
    expect(HF_INVALID_OPTION, hf_controller_dispatch, d->controller, "{\"action\":\"cancelRequest\"}",
           HF_NTS);
    expect(HF_INVALID_OPTION, hf_controller_dispatch, d->controller, "{\"action\":\"cancelSave\"}", HF_NTS);
    expect(HF_INVALID_OPTION, hf_controller_dispatch, d->controller, "{\"action\":\"cancelDelete\"}", HF_NTS);
    expect(HF_INVALID_ID, hf_controller_dispatch, d->controller, "{\"action\":\"cancelSave\",\"id\":\"\"}",
           HF_NTS);
    /* What is over, or was never there, stays as it is. */
    dispatch(d, "{\"action\":\"cancelSave\",\"id\":\"nobody's\"}");
    hf_buffer after = HF_BUFFER_INIT;
    expect_ok(hf_controller_state, d->controller, &after);
    assert_string_equal(after.data, text.data);
    expect_count(r.things, NULL, NULL, 2);
    hf_buffer_free(&after);
    hf_buffer_free(&text);
}

static hf_status refuse(hf_transaction *transaction, const char *id, size_t id_length, const char *entity,
                        size_t length, void *user_data, hf_error **out_error) {
    (void)transaction, (void)id, (void)id_length, (void)entity, (void)length, (void)user_data;
    *out_error = hf_error_create(HF_REFUSED, 7, "not today");
    return HF_REFUSED;
}

static void a_failed_save_holds_its_element_and_is_tried_again_only_when_it_is_dispatched(room r, diary *d) {
    expect_ok(hf_repository_set_validator, r.things, refuse, NULL, NULL);
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"a\",\"n\":1}}");
    await_part(d, "persist.state", "\"failed\"");
    expect_lane(d, "persist", "initial processing failed");
    expect_part(d, "persist.error.status", "\"HF_REFUSED\"");
    expect_part(d, "persist.element", "{\"id\":\"a\",\"n\":1}");
    expect_ok(hf_repository_set_validator, r.things, NULL, NULL, NULL);
    sleep_milliseconds(20);
    expect_part(d, "persist.state", "\"failed\"");
    expect_absent(r.things, NULL, "a");
    char *element = state_part(d, "persist.element"), action[256];
    snprintf(action, sizeof action, "{\"action\":\"save\",\"element\":%s}", element);
    dispatch(d, action);
    await_part(d, "persist.state", "\"succeeded\"");
    expect_lane(d, "persist", "initial processing failed processing succeeded");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    free(element);
}

static void what_is_no_entity_fails_in_the_state_and_what_is_no_action_in_the_call(diary *d) {
    dispatch(d, "{\"action\":\"save\",\"id\":\"a\",\"element\":[1]}");
    await_part(d, "saves.a.error.status", "\"HF_INVALID_ENTITY\"");
    dispatch(d, "{\"action\":\"delete\",\"id\":\"b\",\"element\":{\"n\":1}}");
    await_part(d, "deletes.b.error.status", "\"HF_INVALID_ENTITY\"");
    expect(HF_INVALID_OPTION, hf_controller_dispatch, d->controller, "{\"action\":\"shave\"}", HF_NTS);
    expect(HF_INVALID_JSON, hf_controller_dispatch, d->controller, "{\"action\"", HF_NTS);
    expect(HF_INVALID_ARGUMENT, hf_controller_dispatch, d->controller, NULL, HF_NTS);
    assert_int_equal(json_array_size(d->entries), 4);
}

static void deleting_what_is_missing_fails_unless_that_is_allowed(room r, diary *d) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    dispatch(d, "{\"action\":\"delete\",\"id\":\"d\",\"element\":{\"id\":\"a\",\"whatever\":1}}");
    await_part(d, "delete",
               "{\"id\":\"d\",\"state\":\"succeeded\","
               "\"element\":{\"id\":\"a\",\"whatever\":1}}");
    expect_lane(d, "delete", "initial processing succeeded");
    expect_absent(r.things, NULL, "a");
    dispatch(d, "{\"action\":\"delete\",\"element\":{\"id\":\"a\"}}");
    await_part(d, "delete.error.status", "\"HF_NOT_FOUND\"");
    expect_part(d, "delete.error.detail.id", "\"a\"");
    expect_part(d, "delete.element", "{\"id\":\"a\"}");
    dispatch(d, "{\"action\":\"delete\",\"element\":{\"id\":\"a\"},\"missing_ok\":true}");
    await_part(d, "delete.state", "\"succeeded\"");
    expect_lane(d, "delete", "initial processing succeeded processing failed processing succeeded");
}

static void parallel_saves_and_deletes_each_report_their_own_outcome(room r, diary *d) {
    char action[128], path[32];
    for (int i = 0; i < 30; i++) {
        snprintf(action, sizeof action, "{\"action\":\"save\",\"id\":%d,\"element\":%s{\"id\":\"%d\"}%s}", i,
                 i % 3 == 0 ? "[" : "", i, i % 3 == 0 ? "]" : "");
        dispatch(d, action);
    }
    for (int i = 0; i < 30; i++) {
        snprintf(path, sizeof path, "saves.%d.state", i);
        await_part(d, path, i % 3 == 0 ? "\"failed\"" : "\"succeeded\"");
    }
    expect_count(r.things, NULL, NULL, 20);
    for (int i = 0; i < 30; i++) {
        snprintf(action, sizeof action, "{\"action\":\"delete\",\"id\":%d,\"element\":{\"id\":\"%d\"}}", i,
                 i);
        dispatch(d, action);
    }
    for (int i = 0; i < 30; i++) {
        snprintf(path, sizeof path, "deletes.%d.state", i);
        await_part(d, path, i % 3 == 0 ? "\"failed\"" : "\"succeeded\"");
    }
}

static void two_saves_of_one_id_under_way_at_once_both_tell_their_outcomes(room r, diary *d) {
    for (int i = 0; i < 5; i++) {
        char action[128];
        snprintf(action, sizeof action,
                 "{\"action\":\"save\",\"id\":\"one\",\"element\":{\"id\":\"a\",\"n\":%d}}", i);
        dispatch(d, action);
    }
    double limit = seconds_now() + 120;
    while (noted(d, "saved", "one") < 5 && seconds_now() < limit)
        sleep_milliseconds(1);
    assert_int_equal(noted(d, "saved", "one"), 5);
    bool told[5] = {false};
    size_t i;
    json_t *entry, *last = NULL;
    json_array_foreach(d->entries, i, entry) {
        json_t *action = json_object_get(entry, "action");
        if (strcmp(json_string_value(json_object_get(action, "action")), "saved") != 0)
            continue;
        last = json_object_get(action, "element");
        told[json_integer_value(json_object_get(last, "n"))] = true;
    }
    for (i = 0; i < COUNT_OF(told); i++)
        assert_true(told[i]);
    assert_int_equal(integer_in(r.things, NULL, "a", "n"), json_integer_value(json_object_get(last, "n")));
}

/* --- Order, threads ------------------------------------------------------------------------------- */

static void save_more(diary *d, const json_t *action) {
    if (strcmp(json_string_value(json_object_get(action, "action")), "save") != 0 || d->calls_of_then > 0)
        return;
    dispatch(d, "{\"action\":\"save\",\"id\":\"second\",\"element\":{\"id\":\"second\"}}");
    /* Not before this action was handled. */
    expect_part(d, "saves", "{}");
}

static void what_is_dispatched_inside_the_middleware_is_handled_after_its_action(diary *d) {
    d->then = save_more;
    dispatch(d, "{\"action\":\"save\",\"id\":\"first\",\"element\":{\"id\":\"first\"}}");
    assert_true(noted(d, "save", "second") == 1);
    await_part(d, "saves.first.state", "\"succeeded\"");
    await_part(d, "saves.second.state", "\"succeeded\"");
    const char *order[] = {"first", "second"};
    for (size_t i = 0; i < 2; i++) {
        json_t *action = json_object_get(json_array_get(d->entries, i), "action");
        assert_string_equal(json_string_value(json_object_get(action, "id")), order[i]);
    }
}

typedef struct dispatcher {
    diary *d;
    int number;
} dispatcher;

static void *dispatch_many(void *argument) {
    dispatcher *self = argument;
    char action[128], path[32];
    for (int i = 0; i < 50; i++) {
        int id = self->number * 100 + i;
        snprintf(action, sizeof action, "{\"action\":\"save\",\"id\":%d,\"element\":{\"id\":%d}}", id, id);
        dispatch(self->d, action);
        snprintf(path, sizeof path, "saves.%d", id);
        char *seen = state_part(self->d, path);
        assert_non_null(seen);
        free(seen);
    }
    return NULL;
}

/* The diary of all actions, run through the reducer, gives the states that it saw. */
static void many_threads_dispatch_and_the_reducer_alone_explains_every_state(room r, diary *d) {
    pthread_t threads[4];
    dispatcher dispatchers[4];
    for (int i = 0; i < 4; i++) {
        dispatchers[i] = (dispatcher){d, i};
        assert_int_equal(pthread_create(&threads[i], NULL, dispatch_many, &dispatchers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    double limit = seconds_now() + 120;
    while (noted(d, "saved", NULL) < 200 && seconds_now() < limit)
        sleep_milliseconds(1);
    assert_int_equal(noted(d, "saved", NULL), 200);
    expect_count(r.things, NULL, NULL, 200);
    hf_buffer state = HF_BUFFER_INIT;
    size_t i;
    json_t *entry;
    json_array_foreach(d->entries, i, entry) {
        char *action = json_dumps(json_object_get(entry, "action"), JSON_COMPACT);
        if (state.data != NULL) {
            json_t *reduced = json_loadb(state.data, state.length, 0, NULL);
            assert_true(json_equal(reduced, json_object_get(entry, "before")));
            json_decref(reduced);
        }
        expect_ok(hf_reduce, action, HF_NTS, state.data, state.length, &state);
        free(action);
    }
    hf_buffer now = HF_BUFFER_INIT;
    expect_ok(hf_controller_state, d->controller, &now);
    assert_string_equal(now.data, state.data);
    hf_buffer_free(&now);
    hf_buffer_free(&state);
}

/* --- Being told ------------------------------------------------------------------------------------ */

/* Takes what is there. Answers how many events told of a state. */
static int take_states(room r, diary *d) {
    hf_event events[16];
    int32_t count = hf_store_events(r.store, events, COUNT_OF(events), 0);
    assert_true(count >= 0);
    int states = 0;
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(events[i].kind, HF_EVENT_STATE);
        assert_ptr_equal(events[i].user_data, d);
        assert_null(events[i].free_user_data);
        states++;
    }
    hf_events_free(events, (size_t)count);
    return states;
}

static void new_states_are_told_and_what_changes_nothing_is_not(fixture *f) {
    room r = open_room(f, NULL);
    diary *d = keep_diary(r.things);
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"a\"}}");
    double limit = seconds_now() + 120;
    while (d->states == 0 && seconds_now() < limit)
        sleep_milliseconds(1);
    assert_true(d->states > 0);
    close_diary(d);
    close_room(r);
    /* What has been told of is known where the host takes events. */
    r = open_room(f, "{\"delivery\":\"queue\"}");
    d = keep_diary(r.things);
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"a\"}}");
    limit = seconds_now() + 120;
    int states = 0;
    while (noted(d, "saved", NULL) == 0 && seconds_now() < limit)
        states += take_states(r, d);
    states += take_states(r, d);
    assert_in_range(states, 1, 2);
    dispatch(d, "{\"action\":\"cancelRequest\",\"token\":\"nobody\"}");
    dispatch(d, "{\"action\":\"saved\",\"id\":\"nobody\",\"element\":{}}");
    assert_int_equal(take_states(r, d), 0);
    close_diary(d);
    close_room(r);
}

static void under_queue_delivery_outcomes_come_when_events_are_taken_and_states_are_told_as_one(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    diary *d = keep_diary(r.things);
    char action[128];
    for (int i = 0; i < 10; i++) {
        snprintf(action, sizeof action, "{\"action\":\"save\",\"id\":%d,\"element\":{\"id\":%d}}", i, i);
        dispatch(d, action);
    }
    expect_ok(hf_store_sync, r.store);
    assert_int_equal(noted(d, "saved", NULL), 0);
    int states = 0;
    double limit = seconds_now() + 120;
    while (noted(d, "saved", NULL) < 10 && seconds_now() < limit)
        states += take_states(r, d);
    states += take_states(r, d);
    assert_in_range(states, 1, 11);
    assert_int_equal(d->states, 0);
    /* After it was freed nothing comes of what was under way. */
    dispatch(d, "{\"action\":\"save\",\"id\":\"last\",\"element\":{\"id\":\"last\"}}");
    close_diary(d);
    expect_ok(hf_store_sync, r.store);
    for (int i = 0; i < 10; i++) {
        hf_event event;
        assert_int_equal(hf_store_events(r.store, &event, 1, 5), 0);
    }
    expect_entity(r.things, NULL, "last", "{\"id\":\"last\"}");
    close_room(r);
}

static void where_too_much_is_under_way_a_save_fails_at_once_and_can_be_dispatched_again(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":1}");
    diary *d = keep_diary(r.things);
    dispatch(d, "{\"action\":\"save\",\"id\":\"a\",\"element\":{\"id\":\"a\"}}");
    double before = seconds_now();
    dispatch(d, "{\"action\":\"save\",\"id\":\"b\",\"element\":{\"id\":\"b\"}}");
    dispatch(d, "{\"action\":\"request\",\"token\":\"t\"}");
    assert_true(seconds_now() - before < 10);
    expect_part(d, "saves.b.error.status", "\"HF_BUSY\"");
    expect_part(d, "saves.b.error.retryable", "true");
    expect_part(d, "requests.t.error.status", "\"HF_BUSY\"");
    double limit = seconds_now() + 120;
    while (noted(d, "saved", "a") == 0 && seconds_now() < limit)
        take_states(r, d);
    dispatch(d, "{\"action\":\"save\",\"id\":\"b\",\"element\":{\"id\":\"b\"}}");
    while (noted(d, "saved", "b") == 0 && seconds_now() < limit)
        take_states(r, d);
    expect_entity(r.things, NULL, "b", "{\"id\":\"b\"}");
    close_diary(d);
    close_room(r);
}

/* --- Ends ------------------------------------------------------------------------------------------ */

static void free_controller(diary *d, const json_t *action) {
    (void)action;
    hf_controller_free(d->controller);
    assert_int_equal(d->freed, 0);
}

static void a_controller_is_freed_inside_its_middleware_and_then_nothing_is_told(room r) {
    diary *d = keep_diary(r.things);
    d->then = free_controller;
    hf_controller *controller = d->controller;
    expect_ok(hf_controller_dispatch, controller, "{\"action\":\"save\",\"element\":{\"id\":\"a\"}}", HF_NTS);
    assert_int_equal(d->freed, 1);
    assert_int_equal(json_array_size(d->entries), 1);
    expect(HF_INVALID_HANDLE, hf_controller_dispatch, controller, "{\"action\":\"cancelRequest\"}", HF_NTS);
    free_diary(d);
}

static pid_t children[2];

/* On the thread that dispatches, then on the one that delivers. */
static void fork_twice(diary *d, const json_t *action) {
    (void)action;
    if (d->calls_of_then < (int)COUNT_OF(children) && (children[d->calls_of_then] = fork()) == 0)
        alarm(120);
}

static void a_child_that_is_forked_inside_the_middleware_has_no_part_in_it(diary *d) {
    d->then = fork_twice;
    hf_status status = hf_controller_dispatch(d->controller, "{\"action\":\"request\"}", HF_NTS, NULL);
    if (children[0] == 0)
        _exit(status == HF_FORKED ? 0 : 1);
    assert_int_equal(status, HF_OK);
    await_part(d, "request.state", "\"received\"");
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        int ending = -1;
        assert_int_equal(waitpid(children[i], &ending, 0), children[i]);
        assert_int_equal(ending, 0);
    }
}

static void user_data_is_freed_once_also_where_nothing_is_made(room r) {
    diary *d = keep_diary(NULL);
    expect(HF_INVALID_ARGUMENT, hf_controller_create, r.things, note_action, note_state, d, note_freed, NULL);
    assert_int_equal(d->freed, 1);
    hf_controller *controller = NULL;
    expect(HF_INVALID_ARGUMENT, hf_controller_create, NULL, note_action, note_state, d, note_freed,
           &controller);
    assert_int_equal(d->freed, 2);
    expect(HF_INVALID_HANDLE, hf_controller_create, (hf_repository *)r.store, note_action, note_state, d,
           note_freed, &controller);
    assert_int_equal(d->freed, 3);
    /* Without any function it works all the same. */
    expect_ok(hf_controller_create, r.things, NULL, NULL, d, note_freed, &controller);
    expect_ok(hf_controller_dispatch, controller, "{\"action\":\"save\",\"element\":{\"id\":\"a\"}}", HF_NTS);
    hf_controller_free(controller);
    assert_int_equal(d->freed, 4);
    hf_controller_free(controller);
    hf_controller_free(NULL);
    assert_int_equal(d->freed, 4);
    d->freed = 1;
    free_diary(d);
}

static void a_closed_store_is_a_result_and_a_controller_of_one_opened_anew_works(fixture *f) {
    room r = open_room(f, NULL);
    diary *d = keep_diary(r.things);
    expect_ok(hf_store_close, r.store, -1);
    dispatch(d, "{\"action\":\"save\",\"id\":\"s\",\"element\":{\"id\":\"a\"}}");
    expect_part(d, "persist",
                "{\"id\":\"s\",\"state\":\"failed\",\"error\":{\"status\":\"HF_CLOSED\","
                "\"message\":\"the store is closed: open it again\",\"retryable\":false,"
                "\"commit_state\":\"none\",\"detail\":{}},\"element\":{\"id\":\"a\"}}");
    hf_controller *none = NULL;
    expect(HF_CLOSED, hf_controller_create, r.things, NULL, NULL, NULL, NULL, &none);
    close_diary(d);
    close_room(r);
    r = open_room(f, NULL);
    d = keep_diary(r.things);
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"a\"}}");
    await_part(d, "persist.state", "\"succeeded\"");
    close_diary(d);
    close_room(r);
}

static void a_failed_opening_is_a_result_and_opening_again_may_succeed(fixture *f) {
    char directory[96], url[128];
    snprintf(directory, sizeof directory, "%s/later", f->directory);
    snprintf(url, sizeof url, "%s/store.db", directory);
    hf_store *store = NULL;
    for (int i = 0; i < 2; i++) {
        expect(HF_CANNOT_OPEN, hf_store_open, url, NULL, &store);
        assert_null(store);
    }
    assert_int_equal(mkdir(directory, 0700), 0);
    room r = {open_store_at(url, NULL), NULL};
    r.things = open_repository(r.store, "things");
    diary *d = keep_diary(r.things);
    dispatch(d, "{\"action\":\"save\",\"element\":{\"id\":\"a\"}}");
    await_part(d, "persist.state", "\"succeeded\"");
    close_diary(d);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_save_goes_through_processing_to_succeeded_with_the_id_that_was_assigned),
        ONCE(what_has_no_id_or_token_gets_one_of_its_own_and_what_is_to_end_is_named),
        EACH_ENGINE(a_failed_save_holds_its_element_and_is_tried_again_only_when_it_is_dispatched),
        ONCE(what_is_no_entity_fails_in_the_state_and_what_is_no_action_in_the_call),
        EACH_ENGINE(deleting_what_is_missing_fails_unless_that_is_allowed),
        EACH_ENGINE(parallel_saves_and_deletes_each_report_their_own_outcome),
        EACH_ENGINE(two_saves_of_one_id_under_way_at_once_both_tell_their_outcomes),
        ONCE(what_is_dispatched_inside_the_middleware_is_handled_after_its_action),
        EACH_ENGINE(many_threads_dispatch_and_the_reducer_alone_explains_every_state),
        ONCE(new_states_are_told_and_what_changes_nothing_is_not),
        EACH_ENGINE(under_queue_delivery_outcomes_come_when_events_are_taken_and_states_are_told_as_one),
        ONCE(where_too_much_is_under_way_a_save_fails_at_once_and_can_be_dispatched_again),
        ONCE(a_controller_is_freed_inside_its_middleware_and_then_nothing_is_told),
        EACH_ENGINE(a_child_that_is_forked_inside_the_middleware_has_no_part_in_it),
        ONCE(user_data_is_freed_once_also_where_nothing_is_made),
        EACH_ENGINE(a_closed_store_is_a_result_and_a_controller_of_one_opened_anew_works),
        SQLITE_ONLY(a_failed_opening_is_a_result_and_opening_again_may_succeed),
    };
    return run_scenarios("controller", scenarios, COUNT_OF(scenarios));
}
