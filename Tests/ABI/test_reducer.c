/* The reducer alone: what each action makes of each state, without any store. */
#include "support.h"

/* Begins as the first state. */
typedef struct reduced {
    hf_buffer state;
} reduced;

static void reducing(fixture *f, void (*scenario)(void)) {
    (void)f;
    reduced r = {HF_BUFFER_INIT};
    ((void (*)(reduced *))scenario)(&r);
    hf_buffer_free(&r.state);
}
#undef OWN_SETTINGS
#define OWN_SETTINGS void (*)(reduced *) : reducing,

static void act(reduced *r, const char *action) {
    expect_ok(hf_reduce, action, HF_NTS, r->state.data, r->state.length, &r->state);
    assert_int_equal(strlen(r->state.data), r->state.length);
}

static char *part(const reduced *r, const char *path) {
    return part_of(r->state.data, r->state.length, path);
}

static void expect_part(const reduced *r, const char *path, const char *expected) {
    char *text = part(r, path);
    if (expected == NULL)
        assert_null(text);
    else
        assert_string_equal(text, expected);
    free(text);
}

#define ERROR "{\"status\":\"HF_FULL\",\"message\":\"m\"}"
#define SONGS "{\"filter\":{\"kind\":\"song\"},\"limit\":3}"

static void every_lane_starts_at_initial(reduced *r) {
    /* Nothing is known of what this tells. */
    act(r, "{\"action\":\"cancelRequest\"}");
    assert_string_equal(r->state.data,
                        "{\"request\":{\"state\":\"initial\"},\"persist\":{\"state\":\"initial\"},"
                        "\"delete\":{\"state\":\"initial\"},\"requests\":{},\"saves\":{},\"deletes\":{}}");
}

static void a_save_is_processing_and_then_succeeded_with_the_entity_as_it_is_stored(reduced *r) {
    act(r, "{\"action\":\"save\",\"element\":{\"n\":1.50}}");
    assert_non_null(
        strstr(r->state.data, "{\"id\":\"default\",\"state\":\"processing\",\"element\":{\"n\":1.50}}"));
    act(r, "{\"action\":\"saved\",\"element\":{\"id\":\"x\",\"n\":1.50},\"version\":7}");
    assert_non_null(strstr(r->state.data,
                           "\"persist\":{\"id\":\"default\",\"state\":\"succeeded\",\"version\":7,"
                           "\"element\":{\"id\":\"x\",\"n\":1.50}}"));
    expect_part(r, "request", "{\"state\":\"initial\"}");
    expect_part(r, "delete", "{\"state\":\"initial\"}");
}

static void a_failure_holds_the_element_and_dispatching_it_again_is_a_retry(reduced *r) {
    static const char *const verbs[][2] = {{"save", "persist"}, {"delete", "delete"}};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        char action[256];
        snprintf(action, sizeof action, "{\"action\":\"%s\",\"id\":5,\"element\":{\"id\":\"s\"}}",
                 verbs[i][0]);
        act(r, action);
        snprintf(action, sizeof action,
                 "{\"action\":\"%sFailed\",\"id\":\"5\",\"error\":" ERROR ",\"element\":{\"id\":\"s\"}}",
                 verbs[i][0]);
        act(r, action);
        expect_part(r, verbs[i][1],
                    "{\"id\":\"5\",\"state\":\"failed\",\"error\":" ERROR ",\"element\":{\"id\":\"s\"}}");
        char *element = part(r, i == 0 ? "saves.5.element" : "deletes.5.element");
        snprintf(action, sizeof action, "{\"action\":\"%s\",\"id\":\"5\",\"element\":%s}", verbs[i][0],
                 element);
        act(r, action);
        expect_part(r, verbs[i][1], "{\"id\":\"5\",\"state\":\"processing\",\"element\":{\"id\":\"s\"}}");
        free(element);
    }
}

static void parallel_saves_each_keep_their_own_outcome_and_the_lane_shows_the_latest(reduced *r) {
    act(r, "{\"action\":\"save\",\"id\":\"a\",\"element\":{\"id\":1}}");
    act(r, "{\"action\":\"save\",\"id\":\"b\",\"element\":{\"id\":2}}");
    act(r, "{\"action\":\"saveFailed\",\"id\":\"a\",\"error\":" ERROR ",\"element\":{\"id\":1}}");
    expect_part(r, "persist", "{\"id\":\"b\",\"state\":\"processing\",\"element\":{\"id\":2}}");
    act(r, "{\"action\":\"saved\",\"id\":\"b\",\"element\":{\"id\":2},\"version\":3}");
    expect_part(r, "saves.a.state", "\"failed\"");
    expect_part(r, "saves.b.state", "\"succeeded\"");
    expect_part(r, "persist.state", "\"succeeded\"");
    act(r, "{\"action\":\"saved\",\"id\":\"nobody\",\"element\":{\"id\":2}}");
    expect_part(r, "saves.nobody", NULL);
}

/* --- Requests ------------------------------------------------------------------------------------- */

#define REQUEST(token) "{\"action\":\"request\",\"token\":\"" token "\",\"request\":" SONGS "}"
#define RECEIVED(token)                                                                                      \
    "{\"action\":\"received\",\"token\":\"" token "\",\"result\":{\"position\":\"p:1\",\"snapshot\":["       \
    "{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"},{\"id\":\"d\"}],\"versions\":[1,2,3,4]},"                  \
    "\"ids\":[\"a\",\"b\",\"c\",\"d\"]}"
#define CHANGED(lists)                                                                                       \
    "{\"action\":\"changed\",\"token\":\"t\",\"result\":{\"position\":\"p:2\",\"merged\":1," lists "}}"

static reduced received(void) {
    reduced r = {HF_BUFFER_INIT};
    act(&r, REQUEST("t"));
    act(&r, RECEIVED("t"));
    return r;
}

static void a_request_is_loading_then_received_and_canceled(reduced *r) {
    act(r, REQUEST("t"));
    expect_part(r, "request", "{\"token\":\"t\",\"state\":\"loading\",\"request\":" SONGS "}");
    act(r, RECEIVED("t"));
    expect_part(r, "requests.t",
                "{\"state\":\"received\",\"position\":\"p:1\",\"elements\":[{\"id\":\"a\"},{\"id\":\"b\"},"
                "{\"id\":\"c\"},{\"id\":\"d\"}],\"ids\":[\"a\",\"b\",\"c\",\"d\"],\"versions\":[1,2,3,4],"
                "\"request\":" SONGS "}");
    expect_part(r, "request.elements", "[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"},{\"id\":\"d\"}]");
    act(r, "{\"action\":\"cancelRequest\",\"token\":\"t\"}");
    expect_part(r, "request", "{\"token\":\"t\",\"state\":\"canceled\",\"request\":" SONGS "}");
}

static void a_failed_request_holds_what_was_requested(reduced *r) {
    act(r, REQUEST("t"));
    act(r, "{\"action\":\"requestFailed\",\"token\":\"t\",\"error\":" ERROR ",\"request\":" SONGS "}");
    expect_part(r, "request",
                "{\"token\":\"t\",\"state\":\"failed\",\"error\":" ERROR ",\"request\":" SONGS "}");
    act(r, REQUEST("t"));
    expect_part(r, "request.state", "\"loading\"");
}

/* What is "late" comes for a request that was canceled, has failed, or never was. */
static void late_results_change_nothing_and_nor_does_cancelling_what_has_ended(fixture *f) {
    (void)f;
    static const char *const ends[] = {"{\"action\":\"cancelRequest\",\"token\":\"t\"}",
                                       "{\"action\":\"requestFailed\",\"token\":\"t\",\"error\":" ERROR
                                       ",\"request\":" SONGS "}"};
    static const char *const late[] = {RECEIVED("t"), RECEIVED("unknown"), CHANGED("\"removed\":[]"),
                                       "{\"action\":\"requestFailed\",\"token\":\"t\",\"error\":{\"x\":1}}",
                                       "{\"action\":\"cancelRequest\",\"token\":\"t\"}"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        reduced r = received();
        act(&r, ends[i]);
        char *before = strdup(r.state.data);
        for (size_t j = 0; j < COUNT_OF(late); j++) {
            act(&r, late[j]);
            assert_string_equal(r.state.data, before);
        }
        free(before);
        hf_buffer_free(&r.state);
    }
}

static void several_requests_live_at_once_and_the_lane_shows_the_latest(reduced *r) {
    act(r, REQUEST("one"));
    act(r, REQUEST("t"));
    act(r, REQUEST("three"));
    act(r, RECEIVED("one"));
    act(r, RECEIVED("t"));
    expect_part(r, "request", "{\"token\":\"three\",\"state\":\"loading\",\"request\":" SONGS "}");
    act(r, "{\"action\":\"cancelRequest\",\"token\":\"t\"}");
    expect_part(r, "requests.one.state", "\"received\"");
    expect_part(r, "requests.t.state", "\"canceled\"");
    expect_part(r, "requests.three.state", "\"loading\"");
    /* Tokens are told apart byte for byte: composed and decomposed are two. */
    act(r, "{\"action\":\"request\",\"token\":\"\\u00e9\"}");
    act(r, "{\"action\":\"request\",\"token\":\"e\\u0301\"}");
    expect_part(r, "requests.\u00e9.state", "\"loading\"");
    expect_part(r, "requests.e\u0301.state", "\"loading\"");
}

static void a_change_is_followed_as_the_stream_tells_it(fixture *f) {
    (void)f;
    reduced r = received();
    /* a b c d: b goes, d moves to the front, x and y come, c changes. */
    act(&r, CHANGED("\"removed\":[{\"position\":1,\"id\":\"b\"}],"
                    "\"inserted\":[{\"position\":1,\"id\":\"x\",\"version\":9,\"entity\":{\"id\":\"x\"}},"
                    "{\"position\":4,\"id\":\"y\",\"version\":9,\"entity\":{\"id\":\"y\"}}],"
                    "\"moved\":[{\"from\":3,\"to\":0,\"id\":\"d\"}],"
                    "\"changed\":[{\"position\":3,\"id\":\"c\",\"version\":9,\"entity\":{\"id\":\"c\",\"n\":"
                    "0.10}}]"));
    expect_part(&r, "requests.t.ids", "[\"d\",\"x\",\"a\",\"c\",\"y\"]");
    expect_part(&r, "requests.t.versions", "[4,9,1,9,9]");
    expect_part(&r, "requests.t.position", "\"p:2\"");
    assert_non_null(strstr(r.state.data,
                           "[{\"id\":\"d\"},{\"id\":\"x\"},{\"id\":\"a\"},{\"id\":\"c\",\"n\":0.10},"
                           "{\"id\":\"y\"}]"));
    hf_buffer_free(&r.state);
}

static void a_change_that_does_not_fit_makes_the_request_fail(fixture *f) {
    (void)f;
    static const char *const misfits[] = {
        "\"removed\":[{\"position\":4,\"id\":\"a\"}]",
        "\"removed\":[{\"position\":0,\"id\":\"b\"}]",
        "\"removed\":[{\"position\":0,\"id\":\"a\"},{\"position\":0,\"id\":\"a\"}]",
        "\"removed\":[{\"position\":0,\"id\":\"a\"}],\"moved\":[{\"from\":0,\"to\":1,\"id\":\"a\"}]",
        "\"moved\":[{\"from\":1,\"to\":4,\"id\":\"b\"}]",
        "\"moved\":[{\"from\":1,\"to\":0,\"id\":\"a\"}]",
        "\"inserted\":[{\"position\":5,\"id\":\"x\",\"entity\":{}}]",
        "\"inserted\":[{\"position\":9223372036854775807,\"id\":\"x\",\"entity\":{}}]",
        "\"inserted\":[{\"position\":1,\"id\":\"x\",\"entity\":{}},{\"position\":1,\"id\":\"y\",\"entity\":{}"
        "}]",
        "\"changed\":[{\"position\":4,\"id\":\"a\",\"entity\":{}}]",
        "\"changed\":[{\"position\":1,\"id\":\"a\",\"entity\":{}}]",
    };
    for (size_t i = 0; i < COUNT_OF(misfits); i++) {
        reduced r = received();
        char action[512];
        snprintf(action, sizeof action, CHANGED("%s"), misfits[i]);
        act(&r, action);
        expect_part(&r, "request.error.status", "\"HF_INVALID_STATE\"");
        expect_part(&r, "request.request", SONGS);
        hf_buffer_free(&r.state);
    }
    /* Before any result nothing fits. */
    reduced r = {HF_BUFFER_INIT};
    act(&r, REQUEST("t"));
    act(&r, CHANGED("\"removed\":[]"));
    expect_part(&r, "request.state", "\"failed\"");
    hf_buffer_free(&r.state);
}

static void of_what_has_ended_the_latest_hundred_are_kept_and_of_what_lives_everything(reduced *r) {
    char action[128];
    act(r, "{\"action\":\"save\",\"id\":\"first\",\"element\":{}}");
    for (int i = 0; i < 150; i++) {
        snprintf(action, sizeof action, "{\"action\":\"save\",\"id\":%d,\"element\":{}}", i);
        act(r, action);
        snprintf(action, sizeof action, "{\"action\":\"saved\",\"id\":%d,\"element\":{}}", i);
        act(r, action);
    }
    json_t *root = json_loadb(r->state.data, r->state.length, 0, NULL);
    assert_int_equal(json_object_size(json_object_get(root, "saves")), 101);
    json_decref(root);
    expect_part(r, "saves.first.state", "\"processing\"");
    expect_part(r, "saves.49", NULL);
    expect_part(r, "saves.50.state", "\"succeeded\"");
}

static void the_reducer_changes_neither_its_inputs_nor_its_mind(fixture *f) {
    (void)f;
    reduced r = received();
    const char *action = CHANGED("\"removed\":[{\"position\":1,\"id\":\"b\"}]");
    char *before = strdup(r.state.data);
    hf_buffer first = HF_BUFFER_INIT, second = HF_BUFFER_INIT;
    expect_ok(hf_reduce, action, HF_NTS, r.state.data, r.state.length, &first);
    expect_ok(hf_reduce, action, HF_NTS, r.state.data, r.state.length, &second);
    assert_string_equal(first.data, second.data);
    assert_string_equal(r.state.data, before);
    free(before);
    hf_buffer_free(&first);
    hf_buffer_free(&second);
    hf_buffer_free(&r.state);
}

static void what_is_no_action_or_no_state_is_refused_by_name(fixture *f) {
    (void)f;
    static const struct {
        hf_status status;
        const char *action, *state;
    } wrong[] = {
        {HF_INVALID_JSON, "{\"action\":\"save\"", NULL},
        {HF_INVALID_JSON, "{\"action\":\"save\",\"element\":{\"a\":1,\"a\":2}}", NULL},
        {HF_INVALID_OPTION, "[]", NULL},
        {HF_INVALID_OPTION, "{}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"safe\",\"element\":{}}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"save\"}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"save\",\"element\":{},\"token\":\"t\"}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"saveFailed\",\"element\":{}}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"request\",\"request\":[]}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"received\",\"result\":{\"removed\":[]}}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"changed\",\"result\":{\"snapshot\":[]}}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"changed\",\"result\":{\"removed\":[{\"id\":\"a\"}]}}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"changed\",\"result\":{\"removed\":[{\"position\":-1}]}}", NULL},
        {HF_INVALID_OPTION, "{\"action\":\"received\",\"result\":{\"snapshot\":[{}]},\"ids\":[]}", NULL},
        {HF_INVALID_ID, "{\"action\":\"cancelRequest\",\"token\":\"\"}", NULL},
        {HF_INVALID_ID, "{\"action\":\"cancelRequest\",\"token\":true}", NULL},
        {HF_INVALID_JSON, "{\"action\":\"cancelRequest\"}", "{"},
        {HF_INVALID_OPTION, "{\"action\":\"cancelRequest\"}", "[]"},
        {HF_INVALID_OPTION, "{\"action\":\"cancelRequest\"}", "{\"lanes\":{}}"},
        {HF_INVALID_OPTION, "{\"action\":\"cancelRequest\"}", "{\"persist\":{\"id\":\"a\"}}"},
        {HF_INVALID_OPTION, "{\"action\":\"cancelRequest\"}", "{\"requests\":{\"t\":{}}}"},
        {HF_INVALID_OPTION, "{\"action\":\"cancelRequest\"}", "{\"requests\":{\"t\":{\"state\":\"done\"}}}"},
        {HF_INVALID_OPTION, "{\"action\":\"cancelRequest\"}",
         "{\"requests\":{\"t\":{\"state\":\"received\",\"elements\":[{}],\"versions\":[1,2]}}}"},
        {HF_INVALID_OPTION, "{\"action\":\"cancelRequest\"}", "{\"saves\":{\"a\":{\"state\":\"failed\"}}}"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        hf_buffer out = HF_BUFFER_INIT;
        assert_true(hf_buffer_set(&out, "untouched", HF_NTS));
        const char *state = wrong[i].state;
        expect(wrong[i].status, hf_reduce, wrong[i].action, HF_NTS, state, state ? HF_NTS : 0, &out);
        assert_string_equal(out.data, "untouched");
        hf_buffer_free(&out);
    }
    expect(HF_INVALID_ARGUMENT, hf_reduce, NULL, HF_NTS, NULL, 0, &(hf_buffer)HF_BUFFER_INIT);
    expect(HF_INVALID_ARGUMENT, hf_reduce, "{\"action\":\"cancelRequest\"}", HF_NTS, NULL, 0, NULL);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(every_lane_starts_at_initial),
        ONCE(a_save_is_processing_and_then_succeeded_with_the_entity_as_it_is_stored),
        ONCE(a_failure_holds_the_element_and_dispatching_it_again_is_a_retry),
        ONCE(parallel_saves_each_keep_their_own_outcome_and_the_lane_shows_the_latest),
        ONCE(a_request_is_loading_then_received_and_canceled),
        ONCE(a_failed_request_holds_what_was_requested),
        ONCE(late_results_change_nothing_and_nor_does_cancelling_what_has_ended),
        ONCE(several_requests_live_at_once_and_the_lane_shows_the_latest),
        ONCE(a_change_is_followed_as_the_stream_tells_it),
        ONCE(a_change_that_does_not_fit_makes_the_request_fail),
        ONCE(of_what_has_ended_the_latest_hundred_are_kept_and_of_what_lives_everything),
        ONCE(the_reducer_changes_neither_its_inputs_nor_its_mind),
        ONCE(what_is_no_action_or_no_state_is_refused_by_name),
    };
    return run_scenarios("reducer", scenarios, COUNT_OF(scenarios));
}
