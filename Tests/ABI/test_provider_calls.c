/* Calls of a provider: from where they come, what may be done in them, and what they hold up. */
#include "every_function.h"
#include "shelf.h"

#include <sys/wait.h>

/* --- Calling back --------------------------------------------------------------------------------------- */

typedef struct callback {
    handles h;
    size_t calls, others;
} callback;

/* What only describes a piece of work, or tells without looking. */
static bool needs_nothing(const char *name) {
    static const char *const names[] = {"hf_operation_create",        "hf_operation_create_function",
                                        "hf_operation_create_get",    "hf_operation_create_put",
                                        "hf_operation_create_on",     "hf_repository_name",
                                        "hf_operation_create_remove", "hf_transaction_get_state",
                                        "hf_store_event_fd",          "hf_store_wake"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Calls every function with the handles of the store that calls, once. */
static hf_status call_everything(shelf *s, const char *function, hf_error **out_error) {
    (void)function, (void)out_error;
    callback *c = s->hook;
    s->before = NULL;
    results r = {0};
    for (size_t i = 0; i < function_count; i++) {
        const char *name = functions[i].name;
        /* It works, and takes effect afterwards. */
        if (strcmp(name, "hf_store_close") == 0)
            continue;
        hf_error *error = NULL;
        hf_status status = functions[i].call(c->h, &r, &error);
        hf_error_free(error);
        c->calls++;
        if (status != HF_REENTRANT && !needs_nothing(name)) {
            fprintf(stderr, "%s answered %s\n", name, hf_status_name(status));
            c->others++;
        }
    }
    free_results(&r);
    return HF_OK;
}

static void every_call_from_inside_is_refused_and_changes_nothing(fixture *f) {
    (void)f;
    for (int writing = 0; writing < 2; writing++) {
        shelf s;
        room r = begin_shelf_with_one(&s);
        hf_transaction *t = begin(r.store, NULL);
        callback c = {{r.store, r.things, t}, 0, 0};
        s.hook = &c;
        s.before = call_everything;
        if (writing)
            save(r.things, NULL, "{\"id\":\"b\"}");
        expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}");
        assert_int_equal(c.calls, function_count - 1);
        assert_int_equal(c.others, 0);
        save(r.things, t, "{\"id\":\"t\"}");
        commit_quietly(t);
        expect_count(r.things, NULL, NULL, writing ? 3 : 2);
        close_room(r);
        end_shelf(&s);
    }
}

static hf_status free_everything(shelf *s, const char *function, hf_error **out_error) {
    (void)function, (void)out_error;
    callback *c = s->hook;
    s->before = NULL;
    hf_transaction_free(c->h.transaction);
    hf_repository_free(c->h.repository);
    if (hf_store_close(c->h.store, -1, NULL) != HF_OK)
        abort();
    hf_store_free(c->h.store);
    return HF_OK;
}

static void a_provider_may_free_and_close_what_calls_it(shelf *s) {
    room r = open_shelf(s, 0, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    callback c = {{r.store, r.things, t}, 0, 0};
    s->hook = &c;
    s->before = free_everything;
    hf_entity entity = HF_ENTITY_INIT;
    (void)hf_repository_fetch(r.things, t, "a", HF_NTS, &entity, NULL);
    hf_entity_free(&entity);
    for (int i = 0; i < 20000 && s->freed == 0; i++)
        sleep_milliseconds(5);
}

static hf_status fork_inside(shelf *s, const char *function, hf_error **out_error) {
    (void)function, (void)out_error;
    s->before = NULL;
    pid_t child = fork();
    *(pid_t *)s->hook = child;
    return HF_OK;
}

static void a_provider_may_fork(fixture *f) {
    (void)f;
    for (int writing = 0; writing < 2; writing++) {
        shelf s;
        room r = begin_shelf_with_one(&s);
        pid_t child = -1;
        s.hook = &child;
        s.before = fork_inside;
        hf_entity entity = HF_ENTITY_INIT;
        hf_status status = writing
                               ? hf_repository_save(r.things, NULL, "{\"id\":\"b\"}", HF_NTS, &entity, NULL)
                               : hf_repository_fetch(r.things, NULL, "a", HF_NTS, &entity, NULL);
        if (child == 0)
            _exit(status == HF_FORKED && s.freed == 0 ? 0 : 1);
        assert_int_equal(status, HF_OK);
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_int_equal(how, 0);
        hf_entity_free(&entity);
        close_room(r);
        end_shelf(&s);
    }
}

/* --- Blocking and threads ------------------------------------------------------------------------------- */

static hf_status wait_for_hook(shelf *s, const char *function, hf_error **out_error) {
    (void)function, (void)out_error;
    while (!atomic_load((atomic_bool *)s->hook))
        sleep_milliseconds(1);
    return HF_OK;
}

static void *read_slowly(void *things) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_status status = hf_repository_fetch(things, NULL, "a", HF_NTS, &entity, NULL);
    hf_entity_free(&entity);
    /* The store is closed meanwhile. */
    return status == HF_OK || status == HF_CLOSED ? things : NULL;
}

static void a_provider_that_blocks_holds_up_the_close_and_no_submission(shelf *s) {
    room r = open_shelf(s, 0, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    atomic_bool released = false;
    s->hook = &released;
    s->before = wait_for_hook;
    pthread_t reader;
    pthread_create(&reader, NULL, read_slowly, r.things);
    while (s->reads < 2)
        sleep_milliseconds(1);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
    hf_transaction_free(t);
    expect_answer(HF_TIMEOUT, hf_store_close, r.store, 50);
    atomic_store(&released, true);
    void *answered;
    pthread_join(reader, &answered);
    assert_non_null(answered);
    expect_ok(hf_store_close, r.store, -1);
    assert_string_equal(find_book(s, "b"), "{\"id\":\"b\"}");
    hf_repository_free(r.things);
    hf_store_free(r.store);
}

static void a_submission_that_waits_for_no_place_has_a_deadline_in_the_queue(shelf *s) {
    room r = open_shelf(s, 0, "{\"delivery\":\"queue\"}");
    atomic_bool released = false;
    s->hook = &released;
    s->before = wait_for_hook;
    for (int i = 0; i < 2; i++) {
        hf_transaction *t = begin(r.store, i == 0 ? NULL : "{\"when_full\":\"refuse\",\"timeout_ms\":50}");
        save(r.things, t, i == 0 ? "{\"id\":\"a\"}" : "{\"id\":\"b\"}");
        expect_ok(hf_transaction_submit, t, NULL, NULL, NULL);
        hf_transaction_free(t);
        while (s->reads == 0)
            sleep_milliseconds(1);
    }
    static const hf_status ends[] = {HF_TIMEOUT, HF_OK};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        hf_event event;
        assert_int_equal(hf_store_events(r.store, &event, 1, -1), 1);
        assert_int_equal(event.status, ends[i]);
        hf_events_free(&event, 1);
        atomic_store(&released, true);
    }
    assert_null(find_book(s, "b"));
    close_room(r);
}

static hf_status linger(shelf *s, const char *function, hf_error **out_error) {
    (void)s, (void)function, (void)out_error;
    sleep_milliseconds(1);
    return HF_OK;
}

static void *read_and_write(void *things) {
    for (int i = 0; i < 20; i++) {
        uint64_t count;
        (void)hf_repository_count(things, NULL, NULL, 0, NULL, &count, NULL);
        save(things, NULL, "{\"id\":\"a\"}");
    }
    return NULL;
}

static void calls_come_one_at_a_time_unless_it_is_asked_otherwise(fixture *f) {
    (void)f;
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        shelf s;
        begin_shelf(&s);
        room r = open_shelf(&s, 0, concurrent ? "{\"concurrent_calls\":true}" : NULL);
        s.before = linger;
        pthread_t threads[4];
        for (size_t i = 0; i < COUNT_OF(threads); i++)
            pthread_create(&threads[i], NULL, read_and_write, r.things);
        for (size_t i = 0; i < COUNT_OF(threads); i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(s.most_running > 1, concurrent);
        close_room(r);
        end_shelf(&s);
    }
}

static size_t walk(hf_cursor *cursor, const char *word) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_cursor_next, cursor, 3, &list);
    for (size_t i = 0; i < list.count; i++)
        assert_non_null(strstr(list.items[i].data, word));
    size_t count = list.count;
    hf_entity_list_free(&list);
    return count;
}

static void cursors_that_take_turns_each_find_their_own(shelf *s) {
    room r = open_shelf(s, CAN_FIND | FINDS_LITERALLY, NULL);
    for (int i = 0; i < 60; i++) {
        char id[8], json[64];
        snprintf(id, sizeof id, "%02d", i);
        snprintf(json, sizeof json, "{\"id\":\"%02d\",\"kind\":\"%s\"}", i, i % 2 == 0 ? "even" : "odd");
        put_book(s, id, json);
    }
    hf_transaction *t = begin(r.store, NULL);
    hf_cursor *even = NULL, *odd = NULL, *all = NULL;
    expect_ok(hf_cursor_open, r.things, t, "{\"kind\":\"even\"}", HF_NTS, NULL, &even);
    expect_ok(hf_cursor_open, r.things, t, "{\"kind\":\"odd\"}", HF_NTS, NULL, &odd);
    expect_ok(hf_cursor_open, r.things, t, NULL, 0, NULL, &all);
    size_t evens = 0, odds = 0, everything = 0;
    for (int round = 0; round < 21; round++) {
        everything += walk(all, "kind");
        evens += walk(even, "even");
        odds += walk(odd, "odd");
    }
    assert_int_equal(evens, 30);
    assert_int_equal(odds, 30);
    assert_int_equal(everything, 60);
    /* Each was listed once, and nothing again for a piece. */
    assert_in_range(s->reads, 3, 6);
    hf_cursor_free(even);
    hf_cursor_free(odd);
    hf_cursor_free(all);
    hf_transaction_free(t);
    close_room(r);
}

static void what_can_be_taken_back_is_although_a_part_cannot(shelf *s) {
    room r = open_shelf(s, 0, NULL);
    for (const char *id = "abcd"; *id != 0; id++)
        put_book(s, (char[]){*id, 0}, "{}");
    hf_transaction *t = begin(r.store, NULL);
    for (const char *id = "abcd"; *id != 0; id++) {
        char json[32];
        snprintf(json, sizeof json, "{\"id\":\"%c\",\"n\":1}", *id);
        save(r.things, t, json);
    }
    /* The fourth fails, and taking back the third, which comes next. */
    s->fail_from = s->writes + 4;
    s->fail_to = s->writes + 6;
    hf_error *error = error_of(HF_HOST_ERROR, hf_transaction_commit, t, NULL);
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_UNKNOWN);
    hf_error_free(error);
    hf_transaction_free(t);
    assert_string_equal(find_book(s, "a"), "{}");
    assert_string_equal(find_book(s, "b"), "{}");
    assert_string_equal(find_book(s, "c"), "{\"id\":\"c\",\"n\":1}");
    assert_string_equal(find_book(s, "d"), "{}");
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(cursors_that_take_turns_each_find_their_own),
        ONCE(what_can_be_taken_back_is_although_a_part_cannot),
        ONCE(every_call_from_inside_is_refused_and_changes_nothing),
        ONCE(a_provider_may_free_and_close_what_calls_it),
        ONCE(a_provider_may_fork),
        ONCE(a_provider_that_blocks_holds_up_the_close_and_no_submission),
        ONCE(a_submission_that_waits_for_no_place_has_a_deadline_in_the_queue),
        ONCE(calls_come_one_at_a_time_unless_it_is_asked_otherwise),
    };
    return run_scenarios("calls of providers", scenarios, COUNT_OF(scenarios));
}
