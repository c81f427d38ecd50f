#include "listener.h"

void begin_listening(listener *l) {
    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    l->events = json_array();
    l->result = json_array();
}

void end_listening(listener *l) {
    if (l->stream) {
        hf_stream_free(l->stream);
        assert_int_equal(l->freed, 1);
    }
    json_decref(l->events);
    json_decref(l->result);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
}

/* What is removed or moved goes, highest first; what is inserted or moved comes, lowest first. */
void follow_result(json_t **result, json_t *event) {
    json_t *snapshot = json_object_get(event, "snapshot");
    if (snapshot) {
        json_decref(*result);
        *result = json_deep_copy(snapshot);
        return;
    }
    size_t before = json_array_size(*result), i;
    json_t *one, *arriving = json_object(), *former = json_array(), *next = json_array();
    bool *leaves = calloc(before + 1, sizeof *leaves);
    json_array_foreach(*result, i, one) json_array_append(former, one);
    json_array_foreach(json_object_get(event, "removed"), i, one) {
        size_t position = (size_t)json_integer_value(json_object_get(one, "position"));
        assert_true(position < before && !leaves[position]);
        leaves[position] = true;
    }
    char name[24];
    json_array_foreach(json_object_get(event, "moved"), i, one) {
        size_t from = (size_t)json_integer_value(json_object_get(one, "from"));
        assert_true(from < before && !leaves[from]);
        leaves[from] = true;
        snprintf(name, sizeof name, "%lld", json_integer_value(json_object_get(one, "to")));
        json_object_set(arriving, name, json_array_get(former, from));
    }
    json_array_foreach(json_object_get(event, "inserted"), i, one) {
        snprintf(name, sizeof name, "%lld", json_integer_value(json_object_get(one, "position")));
        assert_null(json_object_get(arriving, name));
        json_object_set(arriving, name, json_object_get(one, "entity"));
    }
    size_t stays = 0, placed = 0;
    while (true) {
        snprintf(name, sizeof name, "%zu", json_array_size(next));
        json_t *here = json_object_get(arriving, name);
        if (here) {
            json_array_append(next, here);
            placed++;
            continue;
        }
        while (stays < before && leaves[stays])
            stays++;
        if (stays == before)
            break;
        json_array_append(next, json_array_get(former, stays++));
    }
    assert_int_equal(placed, json_object_size(arriving));
    json_array_foreach(json_object_get(event, "changed"), i, one) {
        size_t position = (size_t)json_integer_value(json_object_get(one, "position"));
        assert_true(position < json_array_size(next));
        json_array_set(next, position, json_object_get(one, "entity"));
    }
    free(leaves);
    json_decref(arriving);
    json_decref(former);
    json_decref(*result);
    *result = next;
}

/* The event itself has the position that its value, or its error's detail, tells. */
static void expect_own_position(const hf_event *event) {
    size_t length = event->value.length;
    const char *text = event->status == HF_OK ? event->value.data : hf_error_detail(event->error, &length);
    char *told = part_of(text, length, "position"), expected[128];
    snprintf(expected, sizeof expected, "\"%s\"", event->position.data);
    assert_string_equal(told, expected);
    free(told);
}

/* An observer that is slower than the commits hears of several in one event, so each of them is kept as an
 * event of its own. */
static void keep_by_commit(json_t *events, json_t *event) {
    json_t *commits = json_incref(json_object_get(event, "commits")), *commit;
    size_t i;
    json_array_foreach(commits, i, commit) {
        json_t *alone = json_copy(event);
        json_object_set_new(alone, "commits", json_pack("[O]", commit));
        json_array_append_new(events, alone);
    }
    if (json_array_size(commits) == 0)
        json_array_append(events, event);
    json_decref(commits);
    json_decref(event);
}

void hear(const hf_event *event, void *user_data) {
    listener *l = user_data;
    if (event->kind == HF_EVENT_CHANGES)
        expect_own_position(event);
    pthread_mutex_lock(&l->lock);
    assert_int_equal(l->freed, 0);
    assert_int_equal(l->ended, 0);
    l->calls++;
    if (event->kind == HF_EVENT_END) {
        l->ended++;
        l->end = event->status;
    } else if (event->status != HF_OK) {
        assert_int_equal(event->status, HF_CURSOR_LOST);
        l->lost++;
    } else {
        json_t *value = json_loadb(event->value.data, event->value.length, 0, NULL);
        assert_non_null(value);
        /* The documents of a live aggregation are no difference. */
        if (json_object_get(value, "snapshot") ||
            (json_object_get(value, "merged") && !json_object_get(value, "documents")))
            follow_result(&l->result, value);
        keep_by_commit(l->events, value);
    }
    pthread_cond_broadcast(&l->changed);
    while (l->is_held)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
    if (l->inside)
        l->inside(l, event);
}

void let_go(void *user_data) {
    listener *l = user_data;
    pthread_mutex_lock(&l->lock);
    l->freed++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void in_room_with_listener(fixture *f, void (*scenario)(void)) {
    room r = open_room(f, NULL);
    listener l;
    begin_listening(&l);
    ((void (*)(room, listener *))scenario)(r, &l);
    end_listening(&l);
    close_room(r);
}

static void set_held(listener *l, bool is_held) {
    pthread_mutex_lock(&l->lock);
    l->is_held = is_held;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void hold(listener *l) { set_held(l, true); }
void hold_no_more(listener *l) { set_held(l, false); }

void observe(listener *l, hf_store *store, const char *options) {
    expect_ok(hf_stream_open, store, options, hear, l, let_go, &l->stream);
}

void observe_query(listener *l, hf_repository *repository, const char *filter, const char *options) {
    expect_ok(hf_stream_open_query, repository, filter, filter ? HF_NTS : 0, options, hear, l, let_go,
              &l->stream);
}

void observe_aggregation(listener *l, hf_repository *repository, const char *pipeline) {
    expect_ok(hf_stream_open_aggregate, repository, pipeline, HF_NTS, NULL, hear, l, let_go, &l->stream);
}

static struct timespec after_two_minutes(void) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 120;
    return end;
}

void wait_for_events(listener *l, size_t count) {
    struct timespec end = after_two_minutes();
    pthread_mutex_lock(&l->lock);
    while (json_array_size(l->events) < count && pthread_cond_timedwait(&l->changed, &l->lock, &end) == 0)
        ;
    size_t heard = json_array_size(l->events);
    pthread_mutex_unlock(&l->lock);
    assert_true(heard >= count);
}

size_t event_count(listener *l) {
    pthread_mutex_lock(&l->lock);
    size_t count = json_array_size(l->events);
    pthread_mutex_unlock(&l->lock);
    return count;
}

static void strip(json_t *value) {
    static const char *names[] = {"sequence", "time", "version", "versions"};
    if (json_is_array(value)) {
        size_t i;
        json_t *one;
        json_array_foreach(value, i, one) strip(one);
    } else if (json_is_object(value)) {
        for (size_t i = 0; i < COUNT_OF(names); i++)
            json_object_del(value, names[i]);
        if (json_is_string(json_object_get(value, "position")))
            json_object_del(value, "position");
        const char *name;
        json_t *one;
        json_object_foreach(value, name, one) strip(one);
    }
}

char *event_text(listener *l, size_t number) {
    wait_for_events(l, number + 1);
    pthread_mutex_lock(&l->lock);
    json_t *event = json_deep_copy(json_array_get(l->events, number));
    pthread_mutex_unlock(&l->lock);
    strip(event);
    char *text = json_dumps(event, JSON_COMPACT);
    json_decref(event);
    return text;
}

void expect_followed(listener *l, hf_repository *repository, const char *filter, const char *options) {
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_find, repository, NULL, filter, filter ? HF_NTS : 0, options, &found);
    json_t *expected = json_loadb(found.json, found.json_length, 0, NULL);
    hf_entity_list_free(&found);
    struct timespec end = after_two_minutes();
    pthread_mutex_lock(&l->lock);
    while (!json_equal(l->result, expected) && pthread_cond_timedwait(&l->changed, &l->lock, &end) == 0)
        ;
    bool is_equal = json_equal(l->result, expected);
    if (!is_equal) {
        char *want = json_dumps(expected, JSON_COMPACT), *have = json_dumps(l->result, JSON_COMPACT);
        print_error("followed %s\nfound    %s\n", have, want);
        free(want);
        free(have);
    }
    pthread_mutex_unlock(&l->lock);
    json_decref(expected);
    assert_true(is_equal);
}

char *position_of(hf_store *store) {
    hf_buffer position = HF_BUFFER_INIT;
    expect_ok(hf_store_position, store, &position);
    char *text = strdup(position.data);
    hf_buffer_free(&position);
    return text;
}

void save_one(hf_repository *things, char id) {
    char json[32];
    snprintf(json, sizeof json, "{\"id\":\"%c\"}", id);
    save(things, NULL, json);
}

json_t *changes_since(hf_store *store, const char *position, const char *options) {
    hf_buffer changes = HF_BUFFER_INIT;
    expect_ok(hf_store_changes_since, store, position, options, &changes);
    json_t *value = json_loadb(changes.data, changes.length, 0, NULL);
    hf_buffer_free(&changes);
    return value;
}
