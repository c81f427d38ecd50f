#include "actions.h"

void note_action(const char *action, size_t action_length, const char *state, size_t state_length,
                 void *user_data) {
    diary *d = user_data;
    assert_int_equal(d->inside++, 0);
    assert_int_equal(strlen(action), action_length);
    assert_int_equal(strlen(state), state_length);
    json_t *noted = json_loadb(action, action_length, 0, NULL);
    json_t *before = json_loadb(state, state_length, 0, NULL);
    assert_true(json_is_object(noted) && json_is_object(before));
    pthread_mutex_lock(&d->lock);
    json_array_append_new(d->entries, json_pack("{s:O,s:o}", "action", noted, "before", before));
    pthread_mutex_unlock(&d->lock);
    if (d->then != NULL) {
        d->then(d, noted);
        d->calls_of_then++;
    }
    json_decref(noted);
    d->inside--;
}

void note_state(const hf_event *event, void *user_data) {
    diary *d = user_data;
    assert_int_equal(event->kind, HF_EVENT_STATE);
    assert_int_equal(event->status, HF_OK);
    d->states++;
}

void note_freed(void *user_data) { ((diary *)user_data)->freed++; }

diary *keep_diary(hf_repository *repository) {
    diary *d = calloc(1, sizeof *d);
    pthread_mutex_init(&d->lock, NULL);
    d->entries = json_array();
    if (repository != NULL)
        expect_ok(hf_controller_create, repository, note_action, note_state, d, note_freed, &d->controller);
    return d;
}

void free_diary(diary *d) {
    assert_int_equal(d->freed, 1);
    json_decref(d->entries);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

void close_diary(diary *d) {
    hf_controller_free(d->controller);
    free_diary(d);
}

void in_room_with_diary(fixture *f, void (*scenario)(void)) {
    room r = open_room(f, NULL);
    diary *d = keep_diary(r.things);
    ((void (*)(room, diary *))scenario)(r, d);
    close_diary(d);
    close_room(r);
}

void with_diary(fixture *f, void (*scenario)(void)) {
    room r = open_room(f, NULL);
    diary *d = keep_diary(r.things);
    ((void (*)(diary *))scenario)(d);
    close_diary(d);
    close_room(r);
}

char *state_part(diary *d, const char *path) {
    hf_buffer state = HF_BUFFER_INIT;
    expect_ok(hf_controller_state, d->controller, &state);
    char *text = part_of(state.data, state.length, path);
    hf_buffer_free(&state);
    return text;
}

static bool is_part(diary *d, const char *path, const char *expected) {
    char *text = state_part(d, path);
    bool is_equal = text == NULL || expected == NULL ? text == expected : strcmp(text, expected) == 0;
    free(text);
    return is_equal;
}

void expect_part(diary *d, const char *path, const char *expected) {
    char *text = state_part(d, path);
    if (expected == NULL)
        assert_null(text);
    else
        assert_string_equal(text, expected);
    free(text);
}

void await_part(diary *d, const char *path, const char *expected) {
    double limit = seconds_now() + 120;
    while (!is_part(d, path, expected) && seconds_now() < limit)
        sleep_milliseconds(1);
    expect_part(d, path, expected);
}

void await_found(diary *d, const char *token, hf_repository *repository, const char *filter,
                 const char *options) {
    hf_entity_list found = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_find, repository, NULL, filter, HF_NTS, options, &found);
    json_t *array = json_loadb(found.json, found.json_length, 0, NULL);
    char path[64], *text = json_dumps(array, JSON_COMPACT);
    snprintf(path, sizeof path, "requests.%s.elements", token);
    await_part(d, path, text);
    free(text);
    json_decref(array);
    hf_entity_list_free(&found);
}

size_t noted(diary *d, const char *name, const char *reference) {
    size_t count = 0, i;
    json_t *entry;
    pthread_mutex_lock(&d->lock);
    json_array_foreach(d->entries, i, entry) {
        json_t *action = json_object_get(entry, "action");
        const char *token = json_string_value(json_object_get(action, "token"));
        if (token == NULL)
            token = json_string_value(json_object_get(action, "id"));
        count += strcmp(json_string_value(json_object_get(action, "action")), name) == 0 &&
                 (reference == NULL || strcmp(token, reference) == 0);
    }
    pthread_mutex_unlock(&d->lock);
    return count;
}

void expect_lane(diary *d, const char *lane, const char *states) {
    char seen[1024] = "";
    const char *last = "";
    size_t i;
    json_t *entry;
    pthread_mutex_lock(&d->lock);
    json_array_foreach(d->entries, i, entry) {
        json_t *before = json_object_get(json_object_get(entry, "before"), lane);
        const char *state = json_string_value(json_object_get(before, "state"));
        if (strcmp(state, last) != 0)
            snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%s", *seen ? " " : "", state);
        last = state;
    }
    pthread_mutex_unlock(&d->lock);
    char path[64];
    snprintf(path, sizeof path, "%s.state", lane);
    char *now = state_part(d, path);
    if (strncmp(now + 1, last, strlen(last)) != 0)
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), " %.*s", (int)strlen(now) - 2, now + 1);
    free(now);
    assert_string_equal(seen, states);
}
