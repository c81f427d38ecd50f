/* How streams end: freed by anybody at any moment, inside a callback too, or with their store. */
#include "listener.h"

static void save_numbered(hf_repository *things, int number) {
    char json[32];
    snprintf(json, sizeof json, "{\"id\":\"%d\"}", number);
    save(things, NULL, json);
}

static void of_three_live_queries_the_middle_one_is_freed_and_the_others_go_on(room r) {
    listener l[3];
    for (int i = 0; i < 3; i++) {
        begin_listening(&l[i]);
        observe_query(&l[i], r.things, NULL, NULL);
    }
    wait_for_events(&l[1], 1);
    hf_stream_free(l[1].stream);
    assert_int_equal(l[1].freed, 1);
    size_t heard = event_count(&l[1]);
    save_numbered(r.things, 1);
    wait_for_events(&l[0], 2);
    wait_for_events(&l[2], 2);
    assert_int_equal(event_count(&l[1]), heard);
    for (int i = 0; i < 3; i++)
        end_listening(&l[i]);
}

static void free_itself(listener *l, const hf_event *event) {
    (void)event;
    if (!l->stream)
        return;
    hf_stream_free(l->stream);
    hf_stream_free(l->stream);
    /* Freed after the call. */
    assert_int_equal(l->freed, 0);
}

static void wait_for_letting_go(listener *l) {
    for (int i = 0; i < 12000; i++) {
        pthread_mutex_lock(&l->lock);
        size_t freed = l->freed;
        pthread_mutex_unlock(&l->lock);
        if (freed > 0)
            break;
        sleep_milliseconds(10);
    }
    assert_int_equal(l->freed, 1);
}

static void a_stream_may_be_freed_inside_its_own_callback(room r, listener *l) {
    l->inside = free_itself;
    observe(l, r.store, NULL);
    save_numbered(r.things, 1);
    save_numbered(r.things, 2);
    save_numbered(r.things, 3);
    wait_for_letting_go(l);
    /* One call, whose event may tell of several commits. */
    assert_int_equal(l->calls, 1);
}

static void free_the_other(listener *l, const hf_event *event) {
    (void)event;
    listener *other = l->hook;
    hf_stream_free(other->stream);
    assert_int_equal(other->freed, 1);
}

static void a_stream_may_free_another_inside_its_callback(room r) {
    listener first, second;
    begin_listening(&first);
    begin_listening(&second);
    first.inside = free_the_other;
    first.hook = &second;
    observe(&first, r.store, NULL);
    observe(&second, r.store, NULL);
    save_numbered(r.things, 1);
    save_numbered(r.things, 2);
    wait_for_events(&first, 2);
    assert_int_equal(event_count(&second), 0);
    end_listening(&first);
    end_listening(&second);
}

static void *free_stream(void *l) {
    hf_stream_free(((listener *)l)->stream);
    assert_int_equal(((listener *)l)->freed, 1);
    return NULL;
}

static void freeing_waits_for_a_callback_that_is_running(room r, listener *l) {
    l->is_held = true;
    observe(l, r.store, NULL);
    save_numbered(r.things, 1);
    wait_for_events(l, 1);
    pthread_t thread;
    pthread_create(&thread, NULL, free_stream, l);
    sleep_milliseconds(50);
    pthread_mutex_lock(&l->lock);
    assert_int_equal(l->freed, 0);
    l->is_held = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(thread, NULL);
}

static void wait_for_the_end(listener *l) {
    wait_for_letting_go(l);
    assert_int_equal(l->ended, 1);
    assert_int_equal(l->end, HF_CLOSED);
}

static void closing_the_store_ends_its_streams_behind_what_was_committed(room r) {
    listener changes, query;
    begin_listening(&changes);
    begin_listening(&query);
    observe(&changes, r.store, NULL);
    observe_query(&query, r.things, NULL, NULL);
    for (int i = 0; i < 100; i++)
        save_numbered(r.things, i);
    expect_ok(hf_store_close, r.store, -1);
    wait_for_the_end(&changes);
    wait_for_the_end(&query);
    size_t count = 0, i;
    json_t *event;
    json_array_foreach(changes.events, i, event) count += json_array_size(json_object_get(event, "commits"));
    assert_int_equal(count, 100);
    assert_int_equal(json_array_size(query.result), 100);
    hf_stream *late;
    expect(HF_CLOSED, hf_stream_open, r.store, NULL, NULL, NULL, NULL, &late);
    expect(HF_CLOSED, hf_stream_open_query, r.things, NULL, 0, NULL, NULL, NULL, NULL, &late);
    end_listening(&changes);
    end_listening(&query);
}

static void close_the_store(listener *l, const hf_event *event) {
    if (event->kind == HF_EVENT_CHANGES)
        expect_ok(hf_store_close, l->hook, -1);
}

static void a_store_may_be_closed_inside_a_stream_s_callback(room r, listener *l) {
    l->inside = close_the_store;
    l->hook = r.store;
    observe(l, r.store, NULL);
    save_numbered(r.things, 1);
    wait_for_the_end(l);
}

static void open_another(listener *l, const hf_event *event) {
    (void)event;
    if (l->hook) {
        room *r = l->hook;
        l->hook = NULL;
        listener *second = calloc(1, sizeof *second);
        begin_listening(second);
        observe_query(second, r->things, NULL, NULL);
        save_numbered(r->things, 2);
        r->things = (hf_repository *)(void *)second;
    }
}

static void a_stream_may_be_opened_and_a_commit_made_inside_a_callback(room r, listener *l) {
    room inside = r;
    l->inside = open_another;
    l->hook = &inside;
    observe(l, r.store, NULL);
    save_numbered(r.things, 1);
    wait_for_events(l, 2);
    listener *second = (listener *)(void *)inside.things;
    wait_for_events(second, 2);
    assert_int_equal(json_array_size(second->result), 2);
    end_listening(second);
    free(second);
}

/* --- With completions ------------------------------------------------------------------------------- */

typedef struct order {
    listener *stream;
    _Atomic size_t completed, early;
} order;

static void completed(const hf_event *event, void *user_data) {
    order *o = user_data;
    assert_int_equal(event->status, HF_OK);
    size_t number = atomic_fetch_add(&o->completed, 1) + 1, heard = 0, i;
    json_t *one;
    pthread_mutex_lock(&o->stream->lock);
    json_array_foreach(o->stream->events, i, one) heard += json_array_size(json_object_get(one, "commits"));
    pthread_mutex_unlock(&o->stream->lock);
    if (heard < number)
        atomic_fetch_add(&o->early, 1);
}

static void wait_for_completions(order *o, size_t count) {
    for (int i = 0; i < 300000 && atomic_load(&o->completed) < count; i++)
        usleep(100);
    assert_int_equal(atomic_load(&o->completed), count);
    assert_int_equal(atomic_load(&o->early), 0);
}

static void submit_one(room *r, order *o, int i) {
    hf_transaction *t = begin(r->store, NULL);
    char json[32];
    snprintf(json, sizeof json, "{\"id\":\"%d\"}", i);
    save(r->things, t, json);
    expect_ok(hf_transaction_submit, t, completed, o, NULL);
    hf_transaction_free(t);
}

static void observers_hear_of_a_commit_before_its_completion(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    listener l;
    begin_listening(&l);
    observe(&l, r.store, "{\"entities\":false}");
    order o = {&l, 0, 0};
    enum { COMMITS = 3000 };
    for (int i = 0; i < COMMITS; i++)
        submit_one(&r, &o, i);
    wait_for_completions(&o, COMMITS);
    /* Also while another stream is read to from the log. */
    hf_buffer changes = HF_BUFFER_INIT;
    expect_ok(hf_store_changes_since, r.store, NULL, "{\"limit\":1}", &changes);
    json_t *first = json_loadb(changes.data, changes.length, 0, NULL);
    hf_buffer_free(&changes);
    char options[128];
    snprintf(options, sizeof options, "{\"since\":\"%s\"}",
             json_string_value(json_object_get(first, "position")));
    json_decref(first);
    listener behind;
    begin_listening(&behind);
    observe(&behind, r.store, options);
    for (int i = 0; i < COMMITS; i++)
        submit_one(&r, &o, i);
    wait_for_completions(&o, 2 * COMMITS);
    end_listening(&behind);
    end_listening(&l);
    close_room(r);
}

/* --- Under "queue" delivery ------------------------------------------------------------------------- */

static size_t take(hf_store *store, listener *l, int64_t timeout) {
    hf_event events[16];
    int32_t count = hf_store_events(store, events, 16, timeout);
    size_t streamed = 0;
    for (int32_t i = 0; i < count; i++) {
        assert_ptr_equal(events[i].user_data, l);
        hear(&events[i], l);
        streamed++;
    }
    if (count > 0)
        hf_events_free(events, (size_t)count);
    return streamed;
}

static void under_queue_delivery_the_host_takes_events_until_the_stream_is_freed(fixture *f) {
    room r = open_room(f, "{\"delivery\":\"queue\"}");
    listener l;
    begin_listening(&l);
    observe_query(&l, r.things, NULL, NULL);
    assert_int_equal(take(r.store, &l, 30000), 1);
    save_numbered(r.things, 1);
    assert_int_equal(take(r.store, &l, 30000), 1);
    assert_int_equal(json_array_size(l.result), 1);
    save_numbered(r.things, 2);
    sleep_milliseconds(100);
    hf_stream_free(l.stream);
    assert_int_equal(l.freed, 1);
    save_numbered(r.things, 3);
    assert_int_equal(take(r.store, &l, 100), 0);
    l.stream = NULL;
    end_listening(&l);
    /* The end that a store's closing brings has the destructor. */
    begin_listening(&l);
    observe(&l, r.store, NULL);
    expect_ok(hf_store_close, r.store, -1);
    assert_int_equal(take(r.store, &l, 30000), 1);
    assert_int_equal(l.ended, 1);
    assert_int_equal(l.freed, 1);
    end_listening(&l);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(of_three_live_queries_the_middle_one_is_freed_and_the_others_go_on),
        EACH_ENGINE(a_stream_may_be_freed_inside_its_own_callback),
        EACH_ENGINE(a_stream_may_free_another_inside_its_callback),
        ONCE(freeing_waits_for_a_callback_that_is_running),
        EACH_ENGINE(closing_the_store_ends_its_streams_behind_what_was_committed),
        EACH_ENGINE(a_store_may_be_closed_inside_a_stream_s_callback),
        EACH_ENGINE(a_stream_may_be_opened_and_a_commit_made_inside_a_callback),
        EACH_ENGINE(observers_hear_of_a_commit_before_its_completion),
        EACH_ENGINE(under_queue_delivery_the_host_takes_events_until_the_stream_is_freed),
    };
    return run_scenarios("ends of streams", scenarios, COUNT_OF(scenarios));
}
