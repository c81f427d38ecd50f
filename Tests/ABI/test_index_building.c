/* Indexes: built on what is there already, while others write, after a crash, and within their limits. */
#include "interrupts.h"

#include <sys/wait.h>

static void a_unique_index_is_not_created_over_values_that_occur_twice(room r) {
    save_in_one(r, 1200, "{\"id\":%d,\"n\":%d}", 1100);
    expect(HF_UNIQUE_VIOLATION, hf_repository_create_index, r.things,
           "{\"fields\":{\"n\":1},\"unique\":true}", NULL, NULL);
    expect_indexes(r, "[]");
    create_index(r, "{\"fields\":{\"n\":1}}");
    assert_int_equal(index_entries(r), 1200);
}

static const char *unique_n = "{\"fields\":{\"n\":1},\"unique\":true}";

/* 3,000 of them, the last two alike. */
static room room_with_two_alike(fixture *f) {
    room r = open_room(f, NULL);
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < 3000; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"id\":\"%04d\",\"n\":%d}", i, i == 2999 ? 2998 : i);
        save(r.things, t, text);
    }
    commit_quietly(t);
    return r;
}

static bool create_it_too(uint64_t entities, void *user_data) {
    hf_repository **things = user_data;
    hf_repository *other = *things;
    (void)entities;
    *things = NULL;
    if (other != NULL)
        expect(HF_UNIQUE_VIOLATION, hf_repository_create_index, other, unique_n, NULL, NULL);
    return true;
}

static void who_builds_an_index_that_another_takes_away_is_told_why_it_cannot_be(fixture *f) {
    room r = room_with_two_alike(f);
    hf_repository *things = r.things;
    expect(HF_UNIQUE_VIOLATION, hf_repository_create_index, r.things, unique_n, create_it_too, &things);
    assert_null(things);
    expect_indexes(r, "[]");
    close_room(r);
}

static void *create_unique(void *things) {
    return (void *)(intptr_t)hf_repository_create_index(things, unique_n, NULL, NULL, NULL);
}

static void of_several_who_create_a_unique_index_over_two_alike_each_is_refused(fixture *f) {
    room r = room_with_two_alike(f);
    /* With limits of 1 a round makes 18,000 commits. */
    double end = seconds_now() + 20;
    for (int round = 0; round < 20 && (round < 2 || seconds_now() < end); round++) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, create_unique, r.things), 0);
        for (int i = 0; i < 3; i++) {
            void *status;
            pthread_join(threads[i], &status);
            assert_int_equal((intptr_t)status, HF_UNIQUE_VIOLATION);
        }
        expect_indexes(r, "[]");
    }
    close_room(r);
}

static void of_processes_that_create_a_unique_index_over_two_alike_each_is_refused(fixture *f) {
    close_room(room_with_two_alike(f));
    for (int round = 0; round < 4; round++) {
        pid_t children[2];
        for (int i = 0; i < 2; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                room r = open_room(f, NULL);
                hf_status status = hf_repository_create_index(r.things, unique_n, NULL, NULL, NULL);
                close_room(r);
                _exit(status == HF_UNIQUE_VIOLATION ? 0 : 1);
            }
        }
        for (int i = 0; i < 2; i++) {
            int status;
            assert_int_equal(waitpid(children[i], &status, 0), children[i]);
            assert_int_equal(status, 0);
        }
    }
}

typedef struct swap {
    room r;
    const char *path;
    FILE *shell;
    pthread_t others[2];
} swap;

static void wait_for_queued(hf_store *store, json_int_t count) {
    for (json_int_t waiting = -1; waiting != count; sleep_milliseconds(5)) {
        json_t *description = describe(store);
        waiting = json_integer_value(json_object_get(json_object_get(description, "queue"), "waiting"));
        json_decref(description);
    }
}

/* Behind the builder's next piece the last entity gives its value up, and another takes it: all three are
 * stored together. */
static void *swap_values(void *of) {
    swap *s = of;
    static const char *const entities[] = {"{\"id\":\"1999\",\"n\":-1}", "{\"id\":\"0000\",\"n\":1999}"};
    hf_future *futures[2] = {NULL, NULL};
    wait_for_queued(s->r.store, 2);
    for (int i = 0; i < 2; i++) {
        hf_transaction *t = begin(s->r.store, NULL);
        save(s->r.things, t, entities[i]);
        expect_ok(hf_transaction_submit_future, t, &futures[i]);
        hf_transaction_free(t);
    }
    fprintf(s->shell, "ROLLBACK;\n");
    fflush(s->shell);
    for (int i = 0; i < 2; i++) {
        expect_ok(hf_future_wait, futures[i], NULL, -1, NULL, NULL);
        hf_future_free(futures[i]);
    }
    return NULL;
}

/* Before the last piece, which has the value that is given up. Who waits for the file leads no other. */
static bool begin_to_swap(uint64_t entities, void *user_data) {
    swap *s = user_data;
    if (s->shell == NULL && entities >= 1600) {
        s->shell = lock_file(s->path);
        s->others[0] = begin_saving_elsewhere(s->r.things);
        wait_for_queued(s->r.store, 1);
        assert_int_equal(pthread_create(&s->others[1], NULL, swap_values, s), 0);
    }
    return true;
}

static void a_value_that_is_given_up_while_a_unique_index_is_built_is_free(fixture *f) {
    room r = open_room(f, NULL);
    save_in_one(r, 2000, "{\"id\":\"%04d\",\"n\":%d}", 2000);
    swap s = {.r = r, .path = f->url};
    expect_ok(hf_repository_create_index, r.things, unique_n, begin_to_swap, &s);
    assert_non_null(s.shell);
    for (int i = 0; i < 2; i++)
        pthread_join(s.others[i], NULL);
    pclose(s.shell);
    assert_int_equal(index_entries(r), 2001);
    close_room(r);
}

/* Of an index whose name sorts before that of the unique one. */
static void damage_definition(fixture *f, const char *definition) {
    char sql[300];
    snprintf(sql, sizeof sql, "UPDATE holdfast_index SET definition = '%s' WHERE name = 'a'", definition);
    run_sqlite(f->url, sql);
}

static void an_index_that_cannot_be_understood_stops_changes_of_its_repository_alone(fixture *f) {
    static const char *definitions[] = {"{", "{\"fields\":{\"a\":1},\"where\":{\"a\":5}}"};
    for (size_t i = 0; i < COUNT_OF(definitions); i++) {
        room r = open_room(f, NULL);
        create_index(r, "{\"fields\":{\"a\":1}}");
        create_index(r, unique_n);
        save(r.things, NULL, "{\"id\":\"x\",\"n\":1}");
        close_room(r);
        damage_definition(f, definitions[i]);
        r = open_room(f, NULL);
        for (int attempt = 0; attempt < 3; attempt++) {
            hf_error *error = error_of(HF_CORRUPT, hf_repository_save, r.things, NULL,
                                       "{\"id\":\"y\",\"n\":1}", HF_NTS, NULL);
            expect_detail(error, "index", "\"a\"");
        }
        expect_absent(r.things, NULL, "y");
        expect_count(r.things, NULL, "{\"a\":{\"$exists\":false}}", 1);
        hf_buffer report = HF_BUFFER_INIT;
        expect_ok(hf_repository_verify, r.things, &report);
        assert_non_null(strstr(report.data, "\"ok\":false"));
        hf_buffer_free(&report);
        hf_repository *others = open_repository(r.store, "others");
        save(others, NULL, "{\"id\":\"x\"}");
        hf_repository_free(others);
        /* The cure that the message names. */
        expect_ok(hf_repository_drop_index, r.things, "a");
        expect(HF_UNIQUE_VIOLATION, hf_repository_save, r.things, NULL, "{\"id\":\"y\",\"n\":1}", HF_NTS,
               NULL);
        expect_ok(hf_repository_drop_index, r.things, "n");
        close_room(r);
    }
}

typedef struct progress {
    hf_repository *things;
    uint64_t last;
    int calls;
    bool goes_on;
} progress;

/* Writes in between, as another thread might. */
static bool note_progress(uint64_t entities, void *user_data) {
    progress *p = user_data;
    char text[64];
    assert_true(entities >= p->last);
    p->last = entities;
    snprintf(text, sizeof text, "{\"id\":\"%d\",\"n\":[%d,%d]}", p->calls * 400, p->calls, -p->calls);
    save(p->things, NULL, text);
    /* One that changes, but not in what is indexed. */
    snprintf(text, sizeof text, "{\"id\":\"%d\",\"n\":%d,\"m\":%d}", p->calls * 400 + 9, 9, p->calls);
    save(p->things, NULL, text);
    p->calls++;
    return p->goes_on;
}

static bool stop_after(uint64_t entities, void *user_data) {
    (void)entities;
    int *calls = user_data;
    return --*calls > 0;
}

static bool count_calls(uint64_t entities, void *user_data) {
    (void)entities;
    ++*(int *)user_data;
    return true;
}

static void whoever_says_stop_gets_no_index_however_late_that_is(room r) {
    for (int things = 0; things <= 1; things++) {
        if (things > 0)
            save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
        int calls = 0;
        expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", count_calls, &calls);
        expect_ok(hf_repository_drop_index, r.things, "n");
        assert_true(calls > 0);
        for (; calls > 0; calls--) {
            int left = calls;
            expect(HF_CANCELLED, hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", stop_after,
                   &left);
            expect_indexes(r, "[]");
        }
    }
}

/* Another, who builds the same index, is faster, and was told that it is there. */
static bool let_another_finish(uint64_t entities, void *things) {
    (void)entities;
    expect_ok(hf_repository_create_index, things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    return false;
}

static void whoever_says_stop_takes_no_index_from_another_that_has_built_it(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    expect(HF_CANCELLED, hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", let_another_finish,
           r.things);
    hf_buffer indexes = HF_BUFFER_INIT;
    expect_ok(hf_repository_indexes, r.things, &indexes);
    assert_non_null(strstr(indexes.data, "\"state\":\"ready\""));
    hf_buffer_free(&indexes);
}

/* What Swift takes for one text is two names to everybody else. */
static void names_that_are_written_otherwise_are_two_indexes(room r) {
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1},\"name\":\"\xC3\xA9\"}", NULL,
              NULL);
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"m\":1},\"name\":\"e\xCC\x81\"}", NULL,
              NULL);
    expect_ok(hf_repository_drop_index, r.things, "e\xCC\x81");
    expect_ok(hf_repository_drop_index, r.things, "\xC3\xA9");
}

static void an_index_is_built_between_commits_and_tells_how_far_it_is(room r) {
    save_in_one(r, 3700, "{\"id\":%d,\"n\":%d}", 10);
    progress p = {r.things, 0, 0, false};
    expect(HF_CANCELLED, hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", note_progress, &p);
    assert_int_equal(p.calls, 1);
    expect_indexes(r, "[]");
    p = (progress){r.things, 0, 0, true};
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", note_progress, &p);
    assert_true(p.calls >= 4 && p.last >= 3700);
    /* Of those that were changed meanwhile, each has two. */
    assert_int_equal(index_entries(r), 3700 + p.calls - 1);
}

static void save_or_delete(hf_repository *things, int number) {
    char text[80];
    unsigned i = (unsigned)number + 1, id = i * 2654435761u % 5000;
    snprintf(text, sizeof text, "{\"id\":%u,\"n\":[%u,%u],\"m\":%u}", id, i % 7, i % 11, i);
    if (i % 5 == 0) {
        hf_status status = hf_repository_delete_many(things, NULL, "[5,6]", HF_NTS, NULL);
        assert_true(status == HF_OK || status == HF_NOT_FOUND);
    } else {
        save(things, NULL, text);
    }
}

static void an_index_that_is_built_while_others_write_is_right(fixture *f) {
    room r = {open_store(f, "{\"durability\":\"relaxed\"}"), NULL};
    r.things = open_repository(r.store, "things");
    save_in_one(r, 5000, "{\"id\":%d,\"n\":%d}", 10);
    writer w;
    begin_writing(&w, r.things, save_or_delete);
    for (int i = 0; i < 4; i++) {
        create_index(r, "{\"fields\":{\"n\":1},\"name\":\"n\"}");
        index_entries(r);
        if (i < 3)
            expect_ok(hf_repository_drop_index, r.things, "n");
    }
    end_writing(&w);
    index_entries(r);
    close_room(r);
}

/* {"id":…,"a":[1,2,…],"s":"xx…"}, to be freed: many combinations, much shorter than they are together. */
static char *combining(int id, int elements, int length) {
    char *text = malloc((size_t)elements * 8 + (size_t)length + 64), *end = text;
    end += sprintf(end, "{\"id\":\"%06d\",\"a\":[", id);
    for (int i = 0; i < elements; i++)
        end += sprintf(end, "%s%d", i == 0 ? "" : ",", i);
    end += sprintf(end, "],\"s\":\"");
    memset(end, 'x', (size_t)length);
    sprintf(end + length, "\"}");
    return text;
}

static void an_entity_with_too_many_bytes_of_keys_is_refused(room r) {
    char *text = combining(1, 5000, 200);
    save(r.things, NULL, text);
    hf_error *error = error_of(HF_INVALID_ENTITY, hf_repository_create_index, r.things,
                               "{\"fields\":{\"a\":1,\"s\":1},\"name\":\"both\"}", NULL, NULL);
    expect_detail(error, "id", "\"000001\"");
    expect_indexes(r, "[]");
    expect_ok(hf_repository_delete, r.things, NULL, "000001", HF_NTS, 0);
    create_index(r, "{\"fields\":{\"a\":1,\"s\":1},\"name\":\"both\"}");
    error = error_of(HF_INVALID_ENTITY, hf_repository_add, r.things, NULL, text, HF_NTS, NULL);
    expect_detail(error, "index", "\"both\"");
    free(text);
    text = combining(2, 5000, 100);
    save(r.things, NULL, text);
    assert_int_equal(index_entries(r), 5000);
    free(text);
}

static void a_commit_with_too_many_bytes_of_keys_is_refused(room r) {
    enum { IN_ONE = 300 };
    create_index(r, "{\"fields\":{\"a\":1,\"s\":1}}");
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < IN_ONE; i++) {
        char *text = combining(i, 10, 90000);
        save(r.things, t, text);
        free(text);
    }
    expect(HF_INVALID_ENTITY, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    expect_count(r.things, NULL, NULL, 0);
}

static bool die(uint64_t entities, void *user_data) {
    (void)entities, (void)user_data;
    _exit(7);
}

static void an_index_that_a_killed_process_began_is_kept_and_gone_on_with(fixture *f) {
    pid_t child = fork();
    if (child == 0) {
        room r = open_room(f, NULL);
        save_in_one(r, 2000, "{\"id\":\"%04d\",\"n\":%d}", 2000);
        hf_repository_create_index(r.things, "{\"fields\":{\"n\":1}}", die, NULL, NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    room r = open_room(f, NULL);
    expect_indexes(
        r,
        "[{\"name\":\"n\",\"fields\":{\"n\":1},\"unique\":false,\"state\":\"building\",\"arrays\":false}]");
    expect_count(r.things, NULL, "{\"n\":1999}", 1);
    /* What was added already, and what was not. */
    save(r.things, NULL, "{\"id\":\"0001\",\"n\":-1}");
    save(r.things, NULL, "{\"id\":\"1999\",\"n\":-2}");
    expect_ok(hf_repository_delete, r.things, NULL, "0002", HF_NTS, 0);
    expect_ok(hf_repository_delete, r.things, NULL, "1998", HF_NTS, 0);
    create_index(r, "{\"fields\":{\"n\":1}}");
    assert_int_equal(index_entries(r), 1998);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_unique_index_is_not_created_over_values_that_occur_twice),
        EACH_ENGINE(who_builds_an_index_that_another_takes_away_is_told_why_it_cannot_be),
        EACH_ENGINE(of_several_who_create_a_unique_index_over_two_alike_each_is_refused),
        SQLITE_ONLY(of_processes_that_create_a_unique_index_over_two_alike_each_is_refused),
        SQLITE_ONLY(a_value_that_is_given_up_while_a_unique_index_is_built_is_free),
        SQLITE_ONLY(an_index_that_cannot_be_understood_stops_changes_of_its_repository_alone),
        EACH_ENGINE(whoever_says_stop_gets_no_index_however_late_that_is),
        EACH_ENGINE(whoever_says_stop_takes_no_index_from_another_that_has_built_it),
        EACH_ENGINE(names_that_are_written_otherwise_are_two_indexes),
        EACH_ENGINE(an_index_is_built_between_commits_and_tells_how_far_it_is),
        EACH_ENGINE(an_index_that_is_built_while_others_write_is_right),
        EACH_ENGINE(an_entity_with_too_many_bytes_of_keys_is_refused),
        ONCE(a_commit_with_too_many_bytes_of_keys_is_refused),
        SQLITE_ONLY(an_index_that_a_killed_process_began_is_kept_and_gone_on_with),
    };
    return run_scenarios("index building", scenarios, COUNT_OF(scenarios));
}
