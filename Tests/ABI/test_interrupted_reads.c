/* Reads that end because their thread's check says so, and those that go on. */
#include "interrupts.h"
#include "listener.h"

typedef struct reading {
    room r;
    hf_transaction *t;
    const char *ids;
    hf_buffer answer; /* what the call answers, to be compared */
} reading;

static bool is_even(const hf_entity_view *entity, void *user_data) {
    (void)user_data;
    return entity->id[entity->id_length - 1] % 2 == 0;
}

static hf_status note(reading *o, hf_status status, hf_entity_list *list) {
    if (status == HF_OK)
        assert_true(hf_buffer_set(&o->answer, list->json, list->json_length));
    hf_entity_list_free(list);
    return status;
}

#define ON(o) (o)->r.things, (o)->t

static hf_status fetch_all(reading *o, hf_error **error) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    return note(o, hf_repository_fetch_all(ON(o), &list, error), &list);
}

static hf_status fetch_many(reading *o, hf_error **error) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    return note(o, hf_repository_fetch_many(ON(o), o->ids, HF_NTS, &list, error), &list);
}

static hf_status find(reading *o, const char *filter, const char *options, hf_error **error) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    return note(o, hf_repository_find(ON(o), filter, HF_NTS, options, &list, error), &list);
}

static hf_status find_some(reading *o, hf_error **error) {
    return find(o, "{\"n\":{\"$gt\":3}}", NULL, error);
}
static hf_status find_none(reading *o, hf_error **error) { return find(o, "{\"n\":-1}", NULL, error); }
static hf_status find_sorted(reading *o, hf_error **error) {
    return find(o, "{}", "{\"sort\":{\"n\":1}}", error);
}
static hf_status find_by_index(reading *o, hf_error **error) {
    return find(o, "{\"few\":{\"$gte\":0},\"n\":{\"$ne\":2}}", "{\"sort\":{\"few\":-1}}", error);
}

static hf_status find_if(reading *o, hf_error **error) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    return note(o, hf_repository_find_if(ON(o), is_even, NULL, NULL, &list, error), &list);
}

static hf_status set_number(reading *o, hf_status status, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    assert_true(hf_buffer_set(&o->answer, text, HF_NTS));
    return status;
}

static hf_status count(reading *o, hf_error **error) {
    uint64_t number = 0;
    hf_status status = hf_repository_count(ON(o), "{\"n\":{\"$gt\":3}}", HF_NTS, NULL, &number, error);
    return set_number(o, status, number);
}

static hf_status exists(reading *o, hf_error **error) {
    bool is_there = true;
    hf_status status = hf_repository_exists(ON(o), "{\"n\":-1}", HF_NTS, NULL, &is_there, error);
    return set_number(o, status, is_there);
}

static hf_status distinct(reading *o, hf_error **error) {
    return hf_repository_distinct(ON(o), "n", NULL, 0, NULL, &o->answer, error);
}

/* The time that it took is left out: it is another one each time. */
static hf_status explain(reading *o, hf_error **error) {
    hf_status status = hf_repository_explain(ON(o), "{\"few\":{\"$lt\":5},\"n\":{\"$gt\":1}}", HF_NTS, NULL,
                                             &o->answer, error);
    if (status == HF_OK) {
        const char *time = strstr(o->answer.data, ",\"time_us\":");
        assert_non_null(time);
        o->answer.length = (size_t)(time - o->answer.data);
    }
    return status;
}

static hf_status walk(reading *o, const char *options, hf_error **error) {
    hf_cursor *cursor;
    hf_status status = hf_cursor_open(ON(o), "{\"n\":{\"$gt\":-1}}", HF_NTS, options, &cursor, error);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_buffer all = HF_BUFFER_INIT;
    size_t length = 0;
    while (status == HF_OK && (status = hf_cursor_next(cursor, 300, &list, error)) == HF_OK &&
           list.count > 0) {
        all.data = realloc(all.data, length + list.json_length);
        memcpy(all.data + length, list.json, list.json_length);
        length += list.json_length;
    }
    if (status == HF_OK)
        assert_true(hf_buffer_set(&o->answer, all.data, length));
    free(all.data);
    hf_entity_list_free(&list);
    hf_cursor_free(cursor);
    return status;
}

static hf_status walk_plain(reading *o, hf_error **error) { return walk(o, NULL, error); }
static hf_status walk_sorted(reading *o, hf_error **error) { return walk(o, "{\"sort\":{\"n\":1}}", error); }
static hf_status walk_by_index(reading *o, hf_error **error) {
    return walk(o, "{\"sort\":{\"few\":1}}", error);
}

typedef hf_status read_fn(reading *o, hf_error **error);

static const struct {
    const char *name;
    read_fn *read;
} reads[] = {{"fetch_all", fetch_all},
             {"fetch_many", fetch_many},
             {"find", find_some},
             {"find none", find_none},
             {"find sorted", find_sorted},
             {"find by index", find_by_index},
             {"find_if", find_if},
             {"count", count},
             {"exists", exists},
             {"distinct", distinct},
             {"explain", explain},
             {"cursor", walk_plain},
             {"cursor sorted", walk_sorted},
             {"cursor by index", walk_by_index}};

static char *ids_of_many(void) {
    char *ids = malloc(MANY * 9 + 2), *end = ids;
    for (int i = 0; i < MANY; i++)
        end += sprintf(end, "%c\"%05d\"", i == 0 ? '[' : ',', i);
    strcpy(end, "]");
    return ids;
}

/* Each read by itself, and in a transaction that has written. */
static void each_read(fixture *f, void (*body)(reading *o, const char *name, read_fn *read)) {
    room r = open_room(f, NULL);
    fill(r, MANY);
    create_index(r, "{\"fields\":{\"few\":1}}");
    char *ids = ids_of_many();
    for (int inside = 0; inside < 2; inside++) {
        reading o = {.r = r, .t = inside ? begin(r.store, NULL) : NULL, .ids = ids};
        if (inside) {
            save(r.things, o.t, "{\"id\":\"00007\",\"n\":1,\"few\":3}");
            save(r.things, o.t, "{\"id\":\"z\",\"n\":2,\"few\":1}");
            expect_ok(hf_repository_delete, r.things, o.t, "00300", HF_NTS, 0);
        }
        for (size_t i = 0; i < COUNT_OF(reads); i++)
            body(&o, reads[i].name, reads[i].read);
        if (inside)
            commit_quietly(o.t);
        hf_buffer_free(&o.answer);
    }
    free(ids);
    close_room(r);
}

static void is_ended(reading *o, const char *name, read_fn *read) {
    for (int end_at = 1; end_at < 4; end_at++) {
        check c = {.end_at = end_at};
        hf_interrupt_set_check(is_to_end, &c);
        hf_error *error = NULL;
        hf_status status = read(o, &error);
        hf_interrupt_set_check(NULL, NULL);
        if (status != HF_CANCELLED || c.asked != end_at)
            fail_msg("%s answered %s after %d questions of %d", name, hf_status_name(status), c.asked,
                     end_at);
        hf_error_free(error);
    }
    hf_error *error = NULL;
    assert_int_equal(read(o, &error), HF_OK);
}

static void a_read_ends_at_the_question_that_says_so_and_the_next_is_whole(fixture *f) {
    each_read(f, is_ended);
}

static void is_whole(reading *o, const char *name, read_fn *read) {
    hf_error *error = NULL;
    assert_int_equal(read(o, &error), HF_OK);
    char *expected = strndup(o->answer.data, o->answer.length);
    size_t length = o->answer.length;
    check c = {0};
    hf_interrupt_set_check(is_to_end, &c);
    assert_int_equal(read(o, &error), HF_OK);
    hf_interrupt_set_check(NULL, NULL);
    if (c.asked < 3 || o->answer.length != length || memcmp(o->answer.data, expected, length) != 0)
        fail_msg("%s differs after %d questions", name, c.asked);
    free(expected);
}

static void a_read_that_goes_on_answers_as_if_nobody_had_asked(fixture *f) { each_read(f, is_whole); }

static void change_and_read(void *of) {
    room *r = of;
    expect_count(r->things, NULL, "{}", MANY);
    save(r->things, NULL, "{\"id\":\"00499\",\"n\":1,\"few\":6}");
    expect_ok(hf_store_sync, r->store);
}

static void a_check_may_call_the_library_and_is_not_asked_meanwhile(room r) {
    fill(r, MANY);
    check c = {.inside = change_and_read, .of = &r};
    hf_interrupt_set_check(is_to_end, &c);
    expect_count(r.things, NULL, "{\"n\":{\"$gt\":0}}", MANY);
    hf_interrupt_set_check(NULL, NULL);
    assert_true(c.asked > 2);
}

static void *count_elsewhere(void *things) {
    expect_count(things, NULL, "{\"n\":{\"$gt\":0}}", MANY);
    return NULL;
}

static void one_thread_is_asked_and_no_other(room r) {
    fill(r, MANY);
    check c = {.end_at = 1};
    hf_interrupt_set_check(is_to_end, &c);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, count_elsewhere, r.things), 0);
    pthread_join(thread, NULL);
    assert_int_equal(c.asked, 0);
    hf_interrupt_set_check(NULL, NULL);
    count_elsewhere(r.things);
    assert_int_equal(c.asked, 0);
}

typedef struct called {
    hf_repository *things;
    check c;
    hf_status status;
    uint64_t count;
    atomic_bool is_over;
} called;

static void ask_and_count(const hf_event *event, void *user_data) {
    (void)event;
    called *o = user_data;
    hf_interrupt_set_check(is_to_end, &o->c);
    o->status = hf_repository_count(o->things, NULL, "{\"n\":{\"$gt\":0}}", HF_NTS, NULL, &o->count, NULL);
    atomic_store(&o->is_over, true);
}

static void a_thread_of_the_library_is_never_asked(room r) {
    fill(r, MANY);
    called o = {.things = r.things, .c = {.end_at = 1}};
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"a\"}");
    expect_ok(hf_transaction_submit, t, ask_and_count, &o, NULL);
    hf_transaction_free(t);
    while (!atomic_load(&o.is_over))
        sleep_milliseconds(1);
    assert_int_equal(o.c.asked, 0);
    assert_int_equal(o.status, HF_OK);
    assert_int_equal(o.count, MANY);
}

static void close_it(void *of) {
    room *r = of;
    if (r->store != NULL)
        expect_ok(hf_store_close, r->store, -1);
    r->store = NULL;
}

static void a_check_may_close_the_store_that_is_read(room r) {
    hf_store *store = r.store;
    fill(r, MANY);
    check c = {.inside = close_it, .of = &r};
    hf_interrupt_set_check(is_to_end, &c);
    uint64_t number;
    expect(HF_CLOSED, hf_repository_count, r.things, NULL, "{\"n\":1}", HF_NTS, NULL, &number);
    hf_interrupt_set_check(NULL, NULL);
    r.store = store;
}

static void a_cursor_that_was_ended_goes_on_and_hands_out_all(room r) {
    fill(r, MANY);
    static const char *options[] = {NULL, "{\"sort\":{\"n\":1}}", "{\"sort\":{\"n\":-1},\"skip\":3}"};
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        for (int end_at = 1; end_at < 40; end_at++) {
            hf_cursor *cursor;
            expect_ok(hf_cursor_open, r.things, NULL, NULL, 0, options[i], &cursor);
            hf_entity_list list = HF_ENTITY_LIST_INIT;
            check c = {.end_at = end_at};
            hf_interrupt_set_check(is_to_end, &c);
            hf_status status = hf_cursor_next(cursor, 100, &list, NULL);
            hf_interrupt_set_check(NULL, NULL);
            assert_true(status == HF_OK || status == HF_CANCELLED);
            size_t count = status == HF_OK ? list.count : 0;
            do {
                expect_ok(hf_cursor_next, cursor, 100, &list);
                count += list.count;
            } while (list.count > 0);
            assert_int_equal(count, i == 2 ? MANY - 3 : MANY);
            hf_entity_list_free(&list);
            hf_cursor_free(cursor);
        }
    }
}

static void a_live_query_that_is_opened_meanwhile_begins_with_all_or_not_at_all(room r) {
    fill(r, MANY);
    for (int end_at = 0; end_at < 4; end_at++) {
        listener l;
        begin_listening(&l);
        check c = {.end_at = end_at};
        hf_interrupt_set_check(is_to_end, &c);
        hf_status status = hf_stream_open_query(r.things, "{\"n\":{\"$gt\":0}}", HF_NTS, NULL, hear, &l,
                                                let_go, &l.stream, NULL);
        hf_interrupt_set_check(NULL, NULL);
        assert_int_equal(status, end_at == 0 ? HF_OK : HF_CANCELLED);
        assert_true(c.asked >= 3 || c.asked == end_at);
        if (status == HF_OK)
            expect_followed(&l, r.things, "{\"n\":{\"$gt\":0}}", NULL);
        else
            assert_int_equal(event_count(&l), 0);
        end_listening(&l);
    }
}

static hf_transaction *begin_with_many(room r) {
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < MANY; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"id\":\"%05d\",\"n\":%d}", i, i);
        save(r.things, t, text);
    }
    return t;
}

static void what_a_transaction_has_written_itself_is_searched_with_questions(room r) {
    for (int others = 0; others < 3; others += 2) {
        hf_transaction *t = begin_with_many(r);
        check c = {0};
        hf_interrupt_set_check(is_to_end, &c);
        expect_count(r.things, t, "{\"n\":{\"$gte\":0}}", MANY + others);
        assert_true(c.asked >= 3);
        for (int end_at = 1; end_at < 4; end_at++) {
            uint64_t number;
            c = (check){.end_at = end_at};
            expect(HF_CANCELLED, hf_repository_count, r.things, t, "{\"n\":{\"$gte\":0}}", HF_NTS, NULL,
                   &number);
        }
        hf_interrupt_set_check(NULL, NULL);
        hf_transaction_free(t);
        /* Among its own, and behind them. */
        save(r.things, NULL, "{\"id\":\"00400x\",\"n\":1}");
        save(r.things, NULL, "{\"id\":\"z\",\"n\":1}");
    }
}

int main(void) {
    ask_all_the_time();
    static const scenario scenarios[] = {
        EACH_ENGINE(a_read_ends_at_the_question_that_says_so_and_the_next_is_whole),
        EACH_ENGINE(a_read_that_goes_on_answers_as_if_nobody_had_asked),
        EACH_ENGINE(a_check_may_call_the_library_and_is_not_asked_meanwhile),
        EACH_ENGINE(one_thread_is_asked_and_no_other),
        EACH_ENGINE(a_thread_of_the_library_is_never_asked),
        EACH_ENGINE(a_check_may_close_the_store_that_is_read),
        EACH_ENGINE(a_cursor_that_was_ended_goes_on_and_hands_out_all),
        EACH_ENGINE(a_live_query_that_is_opened_meanwhile_begins_with_all_or_not_at_all),
        EACH_ENGINE(what_a_transaction_has_written_itself_is_searched_with_questions),
    };
    return run_scenarios("interrupted_reads", scenarios, COUNT_OF(scenarios));
}
