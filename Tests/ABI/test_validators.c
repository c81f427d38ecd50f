/* Validators of repositories: what they refuse is not stored, whichever way it was written. */
#include "members.h"

#include <sys/wait.h>

/* Asked about every entity: refuses a negative "n" and the deletion of "pinned"; writes a journal. */
typedef struct guard {
    hf_repository *things;
    char seen[1024];
    int calls, freed;
    /* Called within; its answer counts. */
    hf_status (*hook)(struct guard *g, hf_transaction *t, const char *id);
} guard;

static hf_status check_thing(hf_transaction *t, const char *id, size_t id_length, const char *entity,
                             size_t length, void *user_data, hf_error **out_error) {
    guard *g = user_data;
    assert_non_null(t);
    assert_true((entity == NULL) == (length == 0));
    size_t end = strlen(g->seen);
    snprintf(g->seen + end, sizeof g->seen - end, "%s%.*s %.*s", end > 0 ? ", " : "", (int)id_length, id,
             (int)length, entity != NULL ? entity : "");
    g->calls++;
    if (entity == NULL && id_length == 6 && memcmp(id, "pinned", 6) == 0)
        return HF_READ_ONLY;
    json_t *object = entity == NULL ? NULL : json_loadb(entity, length, 0, NULL);
    bool is_negative = json_integer_value(json_object_get(object, "n")) < 0;
    json_decref(object);
    if (is_negative) {
        *out_error = hf_error_create(HF_REFUSED, 17, "n is below 0");
        return HF_REFUSED;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)id_length, id);
    return g->hook != NULL ? g->hook(g, t, name) : HF_OK;
}

static void count_free(void *user_data) { ((guard *)user_data)->freed++; }

typedef struct guarded_room {
    hf_store *store;
    hf_repository *things, *others;
    guard guard;
} guarded_room;

static void open_guarded_room(const fixture *f, guarded_room *r) {
    memset(r, 0, sizeof *r);
    r->store = open_store(f, NULL);
    r->things = r->guard.things = open_repository(r->store, "things");
    r->others = open_repository(r->store, "others");
    save(r->things, NULL, "{\"id\":\"pinned\",\"n\":1}");
    save(r->things, NULL, "{\"id\":\"a\",\"n\":1}");
    expect_ok(hf_repository_set_validator, r->things, check_thing, &r->guard, count_free);
}

static void close_guarded_room(guarded_room *r) {
    hf_repository_free(r->things);
    hf_repository_free(r->others);
    hf_store_free(r->store);
    assert_int_equal(r->guard.freed, 1);
}

static void in_guarded_room(fixture *f, void (*scenario)(void)) {
    guarded_room r;
    open_guarded_room(f, &r);
    ((void (*)(guarded_room *))scenario)(&r);
    close_guarded_room(&r);
}
#undef OWN_SETTINGS
#define OWN_SETTINGS void (*)(guarded_room *) : in_guarded_room,

#define expect_seen(r, text)                                                                                 \
    do {                                                                                                     \
        assert_string_equal((r)->guard.seen, text);                                                          \
        (r)->guard.seen[0] = '\0';                                                                           \
    } while (0)

/* Expects the guard's own refusal, of the entity `id`. */
#define expect_refused(id, function, ...)                                                                    \
    do {                                                                                                     \
        hf_error *refusal_ = error_of(HF_REFUSED, function, __VA_ARGS__);                                    \
        assert_string_equal(hf_error_message(refusal_), "n is below 0");                                     \
        const char *detail_ = hf_error_detail(refusal_, NULL);                                               \
        assert_non_null(strstr(detail_, "\"code\":17"));                                                     \
        assert_non_null(strstr(detail_, "\"repository\":\"things\""));                                       \
        assert_non_null(strstr(detail_, "\"id\":\"" id "\""));                                               \
        hf_error_free(refusal_);                                                                             \
    } while (0)

/* --- Single writes ----------------------------------------------------------------------------------------
 */

static void every_kind_of_write_is_shown_as_it_would_be_stored(guarded_room *r) {
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_add, r->things, NULL, "{\"id\":\"b\"}", HF_NTS, &entity);
    assert_true(entity.version > 0);
    assert_int_equal(entity.version, version_of(r->things, NULL, "b"));
    expect_seen(r, "b {\"id\":\"b\"}");
    expect_ok(hf_repository_update, r->things, NULL, "{\"id\":\"b\",\"n\":2}", HF_NTS, entity.version, NULL);
    expect_seen(r, "b {\"id\":\"b\",\"n\":2}");
    expect_ok(hf_repository_patch, r->things, NULL, "b", HF_NTS, "{\"m\":3}", HF_NTS, 0, &entity);
    expect_seen(r, "b {\"id\":\"b\",\"n\":2,\"m\":3}");
    assert_string_equal(entity.data, "{\"id\":\"b\",\"n\":2,\"m\":3}");
    expect_ok(hf_repository_modify, r->things, NULL, "b", HF_NTS, "{\"$inc\":{\"n\":5}}", HF_NTS, NULL, 0, 0,
              NULL);
    expect_seen(r, "b {\"id\":\"b\",\"n\":7,\"m\":3}");
    expect_ok(hf_repository_delete, r->things, NULL, "b", HF_NTS, 0);
    expect_seen(r, "b ");
    expect_ok(hf_repository_save_many, r->things, NULL, "[{\"id\":\"d\"},{\"id\":\"c\"}]", HF_NTS, NULL);
    expect_seen(r, "c {\"id\":\"c\"}, d {\"id\":\"d\"}");
    save(r->others, NULL, "{\"id\":\"x\",\"n\":-1}");
    expect_seen(r, "");
    hf_entity_free(&entity);
}

static void what_is_refused_is_not_stored(guarded_room *r) {
    expect_refused("b", hf_repository_add, r->things, NULL, "{\"id\":\"b\",\"n\":-1}", HF_NTS, NULL);
    expect_refused("a", hf_repository_patch, r->things, NULL, "a", HF_NTS, "{\"n\":-1}", HF_NTS, 0, NULL);
    expect_refused("a", hf_repository_modify, r->things, NULL, "a", HF_NTS, "{\"$inc\":{\"n\":-2}}", HF_NTS,
                   NULL, 0, 0, NULL);
    expect_refused("c", hf_repository_add_many, r->things, NULL, "[{\"id\":\"b\"},{\"id\":\"c\",\"n\":-1}]",
                   HF_NTS, NULL);
    expect_refused("a", hf_repository_modify_all, r->things, NULL, NULL, 0, "{\"$set\":{\"n\":-1}}", HF_NTS,
                   NULL, NULL, NULL);
    expect(HF_READ_ONLY, hf_repository_delete, r->things, NULL, "pinned", HF_NTS, 0);
    /* What is wrong for another reason says that. */
    expect(HF_EXISTS, hf_repository_add, r->things, NULL, "{\"id\":\"a\",\"n\":-1}", HF_NTS, NULL);
    expect(HF_NOT_FOUND, hf_repository_delete, r->things, NULL, "b", HF_NTS, 0);
    expect_entity(r->things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect_count(r->things, NULL, NULL, 2);
}

static void operations_are_checked_too_however_they_are_run(fixture *f) {
    static const char *const texts[] = {
        "{\"operation\":\"add\",\"repository\":\"things\",\"entity\":{\"id\":\"b\",\"n\":%d}}",
        "{\"operation\":\"modify\",\"repository\":\"things\",\"id\":\"b\",\"update\":{\"$set\":{\"n\":%d}}}",
        "{\"steps\":[{\"operation\":\"save\",\"repository\":\"things\",\"entity\":{\"id\":\"b\",\"n\":%d}}]}",
    };
    guarded_room r;
    open_guarded_room(f, &r);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (int value = -1; value <= 1; value += 2) {
            char text[256];
            snprintf(text, sizeof text, texts[i], value);
            hf_operation *operation = NULL;
            hf_future *future = NULL;
            hf_entity result = HF_ENTITY_INIT;
            expect_ok(hf_operation_create, r.store, text, HF_NTS, &operation);
            if (value < 0) {
                expect_refused("b", hf_operation_perform, operation, NULL, NULL, NULL);
                expect_ok(hf_operation_start, operation, NULL, &future);
                expect_refused("b", hf_future_wait, future, NULL, -1, NULL, NULL);
            } else {
                expect_ok(hf_operation_start, operation, NULL, &future);
                expect_ok(hf_future_wait, future, NULL, -1, &result, NULL);
                if (i < 2)
                    assert_int_equal(result.version, version_of(r.things, NULL, "b"));
                assert_int_equal(integer_in(r.things, NULL, "b", "n"), 1);
            }
            hf_entity_free(&result);
            hf_future_free(future);
            hf_operation_free(operation);
        }
    }
    close_guarded_room(&r);
}

/* --- In transactions --------------------------------------------------------------------------------------
 */

static void a_transaction_is_checked_as_it_is_in_the_end(guarded_room *r) {
    hf_transaction *t = begin(r->store, NULL);
    save(r->things, t, "{\"id\":\"b\",\"n\":-5}");
    save(r->things, t, "{\"id\":\"c\",\"n\":-5}");
    save(r->things, t, "{\"id\":\"c\",\"n\":5}");
    save(r->others, t, "{\"id\":\"x\",\"n\":-1}");
    expect_seen(r, "");
    expect_refused("b", hf_transaction_validate, t);
    expect_refused("b", hf_transaction_commit, t, NULL);
    expect_refused("b", hf_transaction_submit, t, NULL, NULL, NULL);
    r->guard.seen[0] = '\0';
    save(r->things, t, "{\"id\":\"b\",\"n\":5}");
    commit_quietly(t);
    expect_seen(r, "b {\"id\":\"b\",\"n\":5}, c {\"id\":\"c\",\"n\":5}");
    expect_count(r->things, NULL, "{\"n\":5}", 2);
}

static void a_submitted_transaction_needs_no_event_of_its_own_kind(guarded_room *r) {
    for (int i = 0; i < 50; i++) {
        hf_transaction *t = begin(r->store, NULL);
        save(r->things, t, "{\"id\":\"b\",\"n\":5}");
        hf_future *future = NULL;
        expect_ok(hf_transaction_submit_future, t, &future);
        expect_ok(hf_future_wait, future, NULL, -1, NULL, NULL);
        hf_future_free(future);
        hf_transaction_free(t);
    }
    assert_int_equal(r->guard.calls, 50);
}

static hf_status require_a(guard *g, hf_transaction *t, const char *id) {
    if (strcmp(id, "b") != 0)
        return HF_OK;
    int64_t limit = integer_in(g->things, t, "a", "n");
    expect_ok(hf_repository_modify, g->things, NULL, "a", HF_NTS, "{\"$inc\":{\"n\":1}}", HF_NTS, NULL, 0, 0,
              NULL);
    return limit > 3 ? HF_REFUSED : HF_OK;
}

static void what_a_validator_reads_must_still_hold_when_it_is_stored(guarded_room *r) {
    r->guard.hook = require_a;
    hf_transaction *t = begin(r->store, "{\"isolation\":\"snapshot\"}");
    save(r->things, t, "{\"id\":\"b\"}");
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    expect_absent(r->things, NULL, "b");
    /* A write of its own runs again until the validator sees what has changed. */
    expect(HF_REFUSED, hf_repository_save, r->things, NULL, "{\"id\":\"b\"}", HF_NTS, NULL);
    expect_absent(r->things, NULL, "b");
}

static hf_status write_more(guard *g, hf_transaction *t, const char *id) {
    if (strcmp(id, "b") == 0)
        save(g->things, t, "{\"id\":\"sum\",\"n\":1}");
    if (strcmp(id, "endless") == 0) {
        char text[64];
        snprintf(text, sizeof text, "{\"id\":\"endless\",\"n\":%d}", g->calls);
        save(g->things, t, text);
    }
    return HF_OK;
}

static void what_a_validator_writes_is_stored_with_it_and_checked_too(guarded_room *r) {
    r->guard.hook = write_more;
    save(r->things, NULL, "{\"id\":\"b\"}");
    expect_seen(r, "b {\"id\":\"b\"}, sum {\"id\":\"sum\",\"n\":1}");
    assert_int_equal(integer_in(r->things, NULL, "sum", "n"), 1);
    expect(HF_INVALID_STATE, hf_repository_save, r->things, NULL, "{\"id\":\"endless\"}", HF_NTS, NULL);
    expect_absent(r->things, NULL, "endless");
}

static hf_status count_asking(guard *g, hf_transaction *t, const char *id) {
    if (strcmp(id, "b") == 0)
        expect_ok(hf_repository_modify, g->things, t, "asked", HF_NTS, "{\"$inc\":{\"n\":1}}", HF_NTS, "{}",
                  2, 0, NULL);
    return HF_OK;
}

static void take_one_event(hf_store *store) {
    hf_event event;
    assert_int_equal(hf_store_events(store, &event, 1, 60000), 1);
    assert_int_equal(event.status, HF_OK);
    hf_events_free(&event, 1);
}

static void what_validators_write_is_stored_once_however_often_they_are_asked(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\",\"max_in_flight\":1}");
    guard g = {.things = r.things, .hook = count_asking};
    hf_transaction *before = begin(r.store, NULL), *t = begin(r.store, "{\"timeout_ms\":0}");
    save(r.things, before, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_submit, before, NULL, NULL, NULL);
    expect_ok(hf_repository_set_validator, r.things, check_thing, &g, NULL);
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_transaction_validate, t);
    expect_absent(r.things, t, "asked");
    expect(HF_BUSY, hf_transaction_submit, t, NULL, NULL, NULL);
    expect_absent(r.things, t, "asked");
    take_one_event(r.store);
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    take_one_event(r.store);
    assert_int_equal(integer_in(r.things, NULL, "asked", "n"), 1);
    hf_transaction_free(before), hf_transaction_free(t);
    close_room(r);
}

static hf_status write_entity(member *m, phase p, hf_transaction *t) {
    if (p == VALIDATE)
        save(m->context, t, m->value < 0 ? "{\"id\":\"m\",\"n\":-1}" : "{\"id\":\"m\",\"n\":1}");
    return HF_OK;
}

static void members_and_entities_are_validated_together(guarded_room *r) {
    member m;
    make_member(&m, "m", NULL);
    m.hook = write_entity, m.context = r->things;
    hf_transaction *t = begin(r->store, NULL);
    expect_ok(hf_transaction_enlist, t, m.handle);
    m.value = -1;
    expect_refused("m", hf_transaction_commit, t, NULL);
    expect_calls(&m, 1, 1, 0, 0);
    m.value = 1;
    commit_quietly(t);
    expect_calls(&m, 1, 2, 1, 0);
    assert_int_equal(integer_in(r->things, NULL, "m", "n"), 1);
    free_member(&m);
}

static hf_status save_in_body(hf_transaction *t, void *context, hf_error **out_error) {
    (void)out_error;
    save(((guarded_room *)context)->things, t, "{\"id\":\"b\",\"n\":-1}");
    return HF_OK;
}

static void a_refused_body_rolls_back(guarded_room *r) {
    expect_refused("b", hf_store_transact, r->store, save_in_body, r, NULL, NULL);
    expect_absent(r->things, NULL, "b");
}

/* --- Forking ----------------------------------------------------------------------------------------------
 */

static pid_t forked;

static hf_status fork_once(guard *g, hf_transaction *t, const char *id) {
    (void)g, (void)t, (void)id;
    forked = fork();
    return HF_OK;
}

static hf_status fork_as_member(member *m, phase p, hf_transaction *t) {
    (void)m;
    return p == VALIDATE ? fork_once(NULL, t, NULL) : HF_OK;
}

/* The parent's commit goes on; the child's answers HF_FORKED. */
static void commit_forking(hf_transaction *t) {
    forked = -1;
    hf_status status = hf_transaction_commit(t, NULL, NULL);
    if (forked == 0)
        _exit(status == HF_FORKED ? 0 : 1);
    assert_int_equal(status, HF_OK);
    int outcome = -1;
    assert_int_equal(waitpid(forked, &outcome, 0), forked);
    assert_true(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0);
    hf_transaction_free(t);
}

static void who_is_asked_before_a_commit_may_fork(guarded_room *r) {
    r->guard.hook = fork_once;
    hf_transaction *t = begin(r->store, NULL);
    save(r->things, t, "{\"id\":\"b\"}");
    commit_forking(t);
    member m;
    make_member(&m, "m", NULL);
    m.hook = fork_as_member;
    t = begin(r->store, NULL);
    expect_ok(hf_transaction_enlist, t, m.handle);
    save(r->others, t, "{\"id\":\"c\"}");
    commit_forking(t);
    expect_calls(&m, 1, 1, 1, 0);
    expect_entity(r->things, NULL, "b", "{\"id\":\"b\"}");
    expect_entity(r->others, NULL, "c", "{\"id\":\"c\"}");
    free_member(&m);
}

/* --- Setting ----------------------------------------------------------------------------------------------
 */

static void a_validator_is_replaced_and_taken_away(guarded_room *r) {
    hf_repository *same = open_repository(r->store, "things");
    guard second = {.things = r->things};
    expect_ok(hf_repository_set_validator, same, check_thing, &second, count_free);
    assert_int_equal(r->guard.freed, 1);
    save(r->things, NULL, "{\"id\":\"b\"}");
    assert_int_equal(second.calls, 1);
    expect_ok(hf_repository_set_validator, r->things, NULL, NULL, NULL);
    assert_int_equal(second.freed, 1);
    save(r->things, NULL, "{\"id\":\"b\",\"n\":-1}");
    assert_int_equal(second.calls + r->guard.calls, 1);
    hf_repository_free(same);
}

static hf_status warn(hf_transaction *t, const char *id, size_t id_length, const char *entity, size_t length,
                      void *user_data, hf_error **out_error) {
    (void)t, (void)id, (void)id_length, (void)entity, (void)length, (void)user_data;
    *out_error = hf_error_create(HF_REFUSED, 0, "not so bad after all");
    return HF_OK;
}

static void an_error_counts_for_nothing_where_the_answer_is_that_all_is_well(room r) {
    expect_ok(hf_repository_set_validator, r.things, warn, NULL, NULL);
    size_t errors = hf_handle_count("error");
    save(r.things, NULL, "{\"id\":\"a\"}");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    assert_int_equal(hf_handle_count("error"), errors);
}

static void user_data_without_a_validator_is_freed_at_once(fixture *f) {
    room r = open_room(f, NULL);
    guard unused = {.calls = 0};
    expect_ok(hf_repository_set_validator, r.things, NULL, &unused, count_free);
    assert_int_equal(unused.freed, 1);
    close_room(r);
    assert_int_equal(unused.freed, 1);
}

static void a_store_that_closes_lets_go_of_its_validators(guarded_room *r) {
    expect_ok(hf_store_close, r->store, -1);
    assert_int_equal(r->guard.freed, 1);
    guard refused = {.calls = 0};
    expect(HF_CLOSED, hf_repository_set_validator, r->things, check_thing, &refused, count_free);
    assert_int_equal(refused.freed, 1);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(every_kind_of_write_is_shown_as_it_would_be_stored),
        EACH_ENGINE(what_is_refused_is_not_stored),
        EACH_ENGINE(operations_are_checked_too_however_they_are_run),
        EACH_ENGINE(a_transaction_is_checked_as_it_is_in_the_end),
        EACH_ENGINE(a_submitted_transaction_needs_no_event_of_its_own_kind),
        EACH_ENGINE(what_a_validator_reads_must_still_hold_when_it_is_stored),
        EACH_ENGINE(what_a_validator_writes_is_stored_with_it_and_checked_too),
        EACH_ENGINE(what_validators_write_is_stored_once_however_often_they_are_asked),
        EACH_ENGINE(members_and_entities_are_validated_together),
        EACH_ENGINE(a_refused_body_rolls_back),
        EACH_ENGINE(who_is_asked_before_a_commit_may_fork),
        ONCE(a_validator_is_replaced_and_taken_away),
        ONCE(an_error_counts_for_nothing_where_the_answer_is_that_all_is_well),
        ONCE(user_data_without_a_validator_is_freed_at_once),
        ONCE(a_store_that_closes_lets_go_of_its_validators),
    };
    return run_scenarios("validators", scenarios, COUNT_OF(scenarios));
}
