/* Functions of the host's that answer by a call, and may end before they have begun. */
#include "support.h"

typedef struct script {
    int missed; /* so often it ends before its first line */
    int calls;
    int64_t answer;
    int32_t told;
    hf_repository *things;
} script;

/* What lies in memory where a function has answered nothing. */
#define GARBAGE ((hf_status)0x5eed)

static bool begins(script *s) { return s->calls++ >= s->missed; }

static hf_status save_one(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    script *s = user_data;
    if (!begins(s))
        return HF_OK;
    s->told = hf_answer(HF_HOST_ERROR);
    save(s->things, t, "{\"id\":\"a\"}");
    hf_answer(s->answer);
    return GARBAGE;
}

static bool is_meant(const hf_entity_view *entity, void *user_data) {
    script *s = user_data;
    (void)entity;
    if (begins(s))
        s->told = hf_answer(s->answer);
    return true;
}

static bool go_on(uint64_t done, uint64_t total, void *user_data) {
    script *s = user_data;
    (void)done;
    (void)total;
    if (begins(s))
        s->told = hf_answer(s->answer);
    return true;
}

static uint64_t now(void *user_data) {
    (void)user_data;
    return GARBAGE;
}

static void noted(const uint8_t *descriptor, void *user_data) {
    script *s = user_data;
    (void)descriptor;
    if (begins(s))
        s->told = hf_answer(0);
}

/* What is declared stays so; again it changes nothing. */
static void declare(void) {
    const hf_function all[] = {(hf_function)save_one, (hf_function)is_meant, (hf_function)go_on,
                               (hf_function)now, (hf_function)noted};
    for (int twice = 0; twice < 2; twice++)
        for (size_t i = 0; i < COUNT_OF(all); i++)
            expect_ok(hf_answer_declare, all[i]);
}

static void what_a_declared_function_returns_counts_for_nothing(room r) {
    declare();
    script s = {.things = r.things, .answer = HF_REFUSED};
    expect(HF_REFUSED, hf_store_transact, r.store, save_one, &s, NULL, NULL);
    expect_absent(r.things, NULL, "a");
    s.answer = HF_OK;
    expect_ok(hf_store_transact, r.store, save_one, &s, NULL, NULL);
    expect_count(r.things, NULL, "{}", 1);
    assert_int_equal(s.told, 0);
}

static void a_function_that_ended_before_it_began_is_called_again(room r) {
    declare();
    script s = {.things = r.things, .answer = HF_OK, .missed = 3};
    expect_ok(hf_store_transact, r.store, save_one, &s, NULL, NULL);
    assert_int_equal(s.calls, 4);
    assert_int_equal(s.told, 3);
    expect_count(r.things, NULL, "{}", 1);
}

static void a_function_that_never_begins_has_failed(room r) {
    declare();
    save(r.things, NULL, "{\"id\":\"a\"}");
    script s = {.things = r.things, .missed = 1000000};
    expect(HF_HOST_ERROR, hf_store_transact, r.store, save_one, &s, NULL, NULL);
    assert_int_equal(s.calls, 100);
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    expect(HF_HOST_ERROR, hf_repository_find_if, r.things, NULL, is_meant, &s, NULL, &found);
    hf_buffer report = HF_BUFFER_INIT;
    expect(HF_CANCELLED, hf_store_verify, r.store, go_on, &s, &report);
    hf_buffer_free(&report);
    expect_ok(hf_store_set_clock, r.store, now, NULL, NULL);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
}

static void a_predicate_that_answers_a_negative_number_ends_its_query(room r) {
    declare();
    for (int i = 0; i < 10; i++) {
        char json[32];
        snprintf(json, sizeof json, "{\"id\":\"%d\"}", i);
        save(r.things, NULL, json);
    }
    script s = {.answer = -1};
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    expect(HF_HOST_ERROR, hf_repository_find_if, r.things, NULL, is_meant, &s, NULL, &found);
    assert_int_equal(s.calls, 1);
    s.answer = 2;
    expect_ok(hf_repository_find_if, r.things, NULL, is_meant, &s, NULL, &found);
    assert_int_equal(found.count, 10);
    s.answer = 0;
    expect_ok(hf_repository_find_if, r.things, NULL, is_meant, &s, NULL, &found);
    assert_int_equal(found.count, 0);
    hf_entity_list_free(&found);
}

static void a_function_that_answers_nothing_is_called_until_it_has_begun(fixture *f) {
    (void)f;
    declare();
    script s = {.missed = 2};
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_commit = noted;
    hf_participant *member = NULL;
    expect_ok(hf_participant_create, NULL, &callbacks, &s, NULL, &member);
    expect_ok(hf_participant_begin, member, NULL);
    expect_ok(hf_participant_commit, member, NULL);
    assert_int_equal(s.calls, 3);
    assert_int_equal(s.told, 2);
    hf_participant_free(member);
}

static void an_answer_to_nobody_is_told_so(fixture *f) {
    (void)f;
    assert_int_equal(hf_answer(0), -1);
    expect(HF_INVALID_ARGUMENT, hf_answer_declare, NULL);
}

static hf_status save_beside_another(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    script *s = user_data, inner = {.answer = true};
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    s->calls++;
    hf_answer(HF_HOST_ERROR);
    save(s->things, t, "{\"id\":\"a\"}");
    expect_ok(hf_repository_find_if, s->things, t, is_meant, &inner, NULL, &list);
    assert_true(inner.calls > 0);
    hf_entity_list_free(&list);
    s->told = hf_answer(HF_OK);
    return GARBAGE;
}

static void a_function_answers_for_itself_behind_what_it_has_called(room r) {
    declare();
    expect_ok(hf_answer_declare, (hf_function)save_beside_another);
    script s = {.things = r.things, .told = -2};
    expect_ok(hf_store_transact, r.store, save_beside_another, &s, NULL, NULL);
    assert_int_equal(s.told, 0);
    assert_int_equal(s.calls, 1);
    expect_count(r.things, NULL, "{}", 1);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(what_a_declared_function_returns_counts_for_nothing),
        EACH_ENGINE(a_function_that_ended_before_it_began_is_called_again),
        EACH_ENGINE(a_function_that_never_begins_has_failed),
        EACH_ENGINE(a_predicate_that_answers_a_negative_number_ends_its_query),
        ONCE(a_function_that_answers_nothing_is_called_until_it_has_begun),
        ONCE(an_answer_to_nobody_is_told_so),
        EACH_ENGINE(a_function_answers_for_itself_behind_what_it_has_called),
    };
    return run_scenarios("answers", scenarios, COUNT_OF(scenarios));
}
