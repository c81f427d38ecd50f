/* How much of the log of commits is kept, and what becomes of who is behind it. */
#include "listener.h"

#include <sys/stat.h>

/* The shortest log that is kept is of 1,000 commits. */
static void commit_past_the_log(hf_repository *things) {
    for (int i = 0; i < 3100; i++)
        save_one(things, (char)('a' + i % 26));
}

static void who_is_too_far_behind_is_told_where_to_go_on(fixture *f) {
    room r = open_room(f, "{\"log_retention\":1000,\"durability\":\"relaxed\"}");
    char *position = position_of(r.store), options[128];
    commit_past_the_log(r.things);
    hf_buffer changes = HF_BUFFER_INIT;
    hf_error *error = error_of(HF_CURSOR_LOST, hf_store_changes_since, r.store, position, NULL, &changes);
    char *newest = position_of(r.store), quoted[128];
    snprintf(quoted, sizeof quoted, "\"%s\"", newest);
    expect_detail(error, "position", quoted);
    /* Who names no position asks for what there still is. */
    json_t *rest = changes_since(r.store, NULL, "{\"limit\":100000}");
    size_t count = json_array_size(json_object_get(rest, "commits"));
    assert_true(count >= 1000 && count < 3100);
    assert_string_equal(json_string_value(json_object_get(rest, "position")), newest);
    json_decref(rest);
    snprintf(options, sizeof options, "{\"since\":\"%s\"}", position);
    hf_stream *stream;
    expect(HF_CURSOR_LOST, hf_stream_open, r.store, options, NULL, NULL, NULL, &stream);
    free(newest);
    free(position);
    hf_buffer_free(&changes);
    close_room(r);
}

static size_t logged(hf_store *store) {
    json_t *changes = changes_since(store, NULL, "{\"limit\":100000}");
    size_t count = json_array_size(json_object_get(changes, "commits"));
    json_decref(changes);
    return count;
}

static void commits_older_than_the_log_keeps_them_go_with_later_ones(fixture *f) {
    room r = open_room(f, "{\"log_max_age_ms\":600000,\"durability\":\"relaxed\"}");
    commit_past_the_log(r.things);
    assert_true(logged(r.store) >= 3100);
    close_room(r);
    r = open_room(f, "{\"log_max_age_ms\":1,\"durability\":\"relaxed\"}");
    commit_past_the_log(r.things);
    assert_true(logged(r.store) < 3100);
    close_room(r);
}

/* A commit of this takes 1,000 times an id of 100 bytes and 2 more, and 32 bytes itself. */
enum { IDS = 1000, COMMIT_BYTES = IDS * 102 + 32 };

static void commit_many_ids(room r) {
    hf_transaction *t = begin(r.store, NULL);
    for (int k = 0; k < IDS; k++) {
        char json[128];
        snprintf(json, sizeof json, "{\"id\":\"%0100d\"}", k);
        save(r.things, t, json);
    }
    commit_quietly(t);
}

static void expect_position(hf_status status, room r, const char *position) {
    hf_buffer changes = HF_BUFFER_INIT;
    expect(status, hf_store_changes_since, r.store, position, "{\"limit\":1}", &changes);
    hf_buffer_free(&changes);
}

/* With room for eleven commits, and for the one that has made the repository. */
static const char *of_eleven(char *options, size_t size) {
    snprintf(options, size, "{\"log_max_bytes\":%d,\"durability\":\"relaxed\"}", 11 * COMMIT_BYTES + 32);
    return options;
}

static void the_log_keeps_as_many_commits_as_its_bytes_have_room_for(fixture *f) {
    char options[96];
    room r = open_room(f, of_eleven(options, sizeof options));
    char *position = position_of(r.store);
    commit_many_ids(r);
    char *next = position_of(r.store);
    for (int i = 1; i < 11; i++)
        commit_many_ids(r);
    expect_position(HF_OK, r, position);
    assert_true(logged(r.store) >= 11);
    commit_many_ids(r);
    expect_position(HF_CURSOR_LOST, r, position);
    expect_position(HF_OK, r, next);
    assert_int_equal(logged(r.store), 11);
    for (int i = 0; i < 100; i++)
        commit_many_ids(r);
    assert_int_equal(logged(r.store), 11);
    expect_position(HF_CURSOR_LOST, r, next);
    free(next);
    free(position);
    close_room(r);
    struct stat file;
    /* All that was committed would take eleven million bytes. */
    if (strcmp(f->engine, "sqlite") == 0) {
        assert_int_equal(stat(f->url, &file), 0);
        assert_true(file.st_size < 5 * 1000 * 1000);
    }
}

static void what_is_in_the_log_at_opening_counts_for_its_bytes(fixture *f) {
    char options[96];
    room r = open_room(f, NULL);
    char *position = position_of(r.store);
    for (int i = 0; i < 40; i++)
        commit_many_ids(r);
    assert_true(logged(r.store) >= 40);
    close_room(r);
    for (int i = 0; i < 3; i++) {
        r = open_room(f, of_eleven(options, sizeof options));
        expect_position(i == 0 ? HF_OK : HF_CURSOR_LOST, r, position);
        commit_many_ids(r);
        expect_position(HF_CURSOR_LOST, r, position);
        size_t count = logged(r.store);
        assert_true(count >= 10 && count <= 11);
        close_room(r);
    }
    free(position);
}

/* More than may wait for it, and then more than the log keeps. */
static void a_slow_observer_is_told_that_the_log_has_gone_on_without_it(fixture *f) {
    room r = open_room(f, "{\"log_retention\":1000,\"durability\":\"relaxed\"}");
    listener l;
    begin_listening(&l);
    observe(&l, r.store, "{\"entities\":false}");
    hold(&l);
    for (int i = 0; i < 25; i++) {
        hf_transaction *t = begin(r.store, NULL);
        for (int k = 0; k < 500; k++) {
            char json[32];
            snprintf(json, sizeof json, "{\"id\":\"%d\"}", k);
            save(r.things, t, json);
        }
        commit_quietly(t);
    }
    commit_past_the_log(r.things);
    hold_no_more(&l);
    size_t lost = 0;
    for (int wait = 0; wait < 12000 && lost == 0; wait++) {
        sleep_milliseconds(10);
        pthread_mutex_lock(&l.lock);
        lost = l.lost;
        pthread_mutex_unlock(&l.lock);
    }
    assert_int_equal(lost, 1);
    end_listening(&l);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(who_is_too_far_behind_is_told_where_to_go_on),
        EACH_ENGINE(commits_older_than_the_log_keeps_them_go_with_later_ones),
        EACH_ENGINE(the_log_keeps_as_many_commits_as_its_bytes_have_room_for),
        SQLITE_ONLY(what_is_in_the_log_at_opening_counts_for_its_bytes),
        EACH_ENGINE(a_slow_observer_is_told_that_the_log_has_gone_on_without_it),
    };
    return run_scenarios("log_retention", scenarios, COUNT_OF(scenarios));
}
