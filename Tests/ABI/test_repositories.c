/* Repositories as a whole: which there are, dropping and renaming them. */
#include "indexes.h"
#include "listener.h"

#include <sys/wait.h>

static void expect_names(hf_store *store, const char *expected) {
    hf_buffer names = HF_BUFFER_INIT;
    expect_ok(hf_store_repositories, store, &names);
    assert_string_equal(names.data, expected);
    hf_buffer_free(&names);
}

static hf_repository *open_keyed(hf_store *store, const char *name, const char *options) {
    hf_repository *opened = NULL;
    expect_ok(hf_repository_open, store, name, options, &opened);
    return opened;
}

/* --- Which there are ---------------------------------------------------------------------------- */

static void a_repository_is_there_from_its_opening_until_it_is_dropped(room r) {
    expect_names(r.store, "[\"things\"]");
    hf_repository_free(open_repository(r.store, "Zebras"));
    hf_repository_free(open_repository(r.store, "albums"));
    expect_names(r.store, "[\"Zebras\",\"albums\",\"things\"]");
    expect_ok(hf_store_drop, r.store, "things");
    expect_names(r.store, "[\"Zebras\",\"albums\"]");
    hf_repository *missing = NULL;
    expect(HF_NOT_FOUND, hf_repository_open, r.store, "things", "{\"create\":false}", &missing);
    json_t *description = describe(r.store);
    assert_int_equal(json_array_size(json_object_get(description, "repositories")), 2);
    json_decref(description);
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_verify, r.store, NULL, NULL, &report);
    assert_null(strstr(report.data, "things"));
    hf_buffer_free(&report);
}

static void the_librarys_own_repository_is_neither_told_of_nor_dropped(room r, listener *l) {
    observe(l, r.store, "{\"durable\":\"mailer\"}");
    expect_names(r.store, "[\"things\"]");
    expect(HF_INVALID_NAME, hf_store_drop, r.store, "holdfast_system");
    expect(HF_INVALID_NAME, hf_store_rename, r.store, "holdfast_system", "mine");
}

/* --- Dropping ----------------------------------------------------------------------------------- */

static void a_drop_takes_entities_and_indexes_and_leaves_the_others(room r) {
    hf_repository *others = open_repository(r.store, "others");
    save(others, NULL, "{\"id\":\"a\",\"n\":1}");
    create_index(r, "{\"fields\":{\"n\":1},\"unique\":true}");
    create_index(r, "{\"fields\":{\"t\":1},\"expire_after_ms\":1000}");
    save_in_one(r, 300, "{\"id\":\"%d\",\"n\":%d}", 1000);
    expect_ok(hf_store_drop, r.store, "things");
    expect_count(r.things, NULL, NULL, 0);
    expect_absent(r.things, NULL, "1");
    expect_indexes(r, "[]");
    expect_count(others, NULL, NULL, 1);
    save(r.things, NULL, "{\"id\":\"x\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"y\",\"n\":1}"); /* no index forbids it */
    hf_repository_free(others);
}

static void a_handle_from_before_brings_the_repository_back(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    uint64_t before = version_of(r.things, NULL, "a");
    expect_ok(hf_store_drop, r.store, "things");
    expect(HF_NOT_FOUND, hf_repository_delete, r.things, NULL, "a", HF_NTS, 0);
    expect(HF_NOT_FOUND, hf_repository_update, r.things, NULL, "{\"id\":\"a\"}", HF_NTS, 0, NULL);
    expect_names(r.store, "[]");
    expect_ok(hf_repository_add, r.things, NULL, "{\"id\":\"a\",\"n\":1}", HF_NTS, NULL);
    expect_names(r.store, "[\"things\"]");
    assert_true(version_of(r.things, NULL, "a") > before);
    expect(HF_VERSION_MISMATCH, hf_repository_update, r.things, NULL, "{\"id\":\"a\"}", HF_NTS, before, NULL);
    expect_ok(hf_store_drop, r.store, "things");
    create_index(r, "{\"fields\":{\"n\":1}}");
    expect_names(r.store, "[\"things\"]");
}

static void a_name_may_be_given_again_with_another_key_or_in_other_case(room r) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    expect_ok(hf_store_drop, r.store, "things");
    hf_repository *keyed = open_keyed(r.store, "things", "{\"key\":\"code\"}");
    save(keyed, NULL, "{\"code\":\"a\"}");
    expect_count(r.things, NULL, NULL, 0);
    hf_error *error =
        error_of(HF_NOT_FOUND, hf_repository_save, r.things, NULL, "{\"id\":\"b\"}", HF_NTS, NULL);
    expect_detail(error, "repository", "\"things\"");
    expect_ok(hf_store_drop, r.store, "things");
    hf_repository *cased = open_keyed(r.store, "Things", NULL);
    save(cased, NULL, "{\"id\":\"a\"}");
    expect_names(r.store, "[\"Things\"]");
    expect(HF_NOT_FOUND, hf_store_drop, r.store, "things");
    expect(HF_NOT_FOUND, hf_repository_save, keyed, NULL, "{\"code\":\"b\"}", HF_NTS, NULL);
    expect_names(r.store, "[\"Things\"]");
    hf_repository_free(keyed);
    hf_repository_free(cased);
}

static void who_has_read_what_was_dropped_meets_a_conflict(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    static const char *const how[] = {"one", "many", "saves"};
    for (size_t i = 0; i < COUNT_OF(how); i++) {
        hf_repository *others = open_repository(r.store, "others");
        hf_transaction *t = begin(r.store, NULL);
        if (i == 0)
            expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}");
        if (i == 1)
            expect_count(r.things, t, "{\"n\":1}", 1);
        save(i == 2 ? r.things : others, t, "{\"id\":\"b\"}");
        expect_ok(hf_store_drop, r.store, "things");
        if (i < 2)
            expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}"); /* of its snapshot */
        save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
        hf_buffer receipt = HF_BUFFER_INIT;
        expect(i == 2 ? HF_OK : HF_CONFLICT, hf_transaction_commit, t, &receipt);
        hf_buffer_free(&receipt);
        hf_transaction_free(t);
        hf_repository_free(others);
    }
}

static void what_is_not_there_is_refused_and_loses_nothing(room r) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_error *error = error_of(HF_NOT_FOUND, hf_store_drop, r.store, "others");
    expect_detail(error, "repository", "\"others\"");
    expect(HF_NOT_FOUND, hf_store_drop, r.store, "THINGS");
    expect(HF_INVALID_NAME, hf_store_drop, r.store, "");
    expect(HF_INVALID_NAME, hf_store_drop, r.store, "no name");
    expect(HF_INVALID_ARGUMENT, hf_store_drop, r.store, NULL);
    expect(HF_NOT_FOUND, hf_store_rename, r.store, "others", "mine");
    expect(HF_EXISTS, hf_store_rename, r.store, "things", "things");
    expect(HF_INVALID_NAME, hf_store_rename, r.store, "things", "sqlite_things");
    expect(HF_INVALID_ARGUMENT, hf_store_rename, r.store, "things", NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_repositories, r.store, NULL);
    expect_count(r.things, NULL, NULL, 1);
}

/* --- Renaming ----------------------------------------------------------------------------------- */

static void a_renamed_repository_has_its_entities_versions_and_indexes(room r) {
    create_index(r, "{\"fields\":{\"n\":1},\"unique\":true}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    uint64_t version = version_of(r.things, NULL, "a");
    expect_ok(hf_store_rename, r.store, "things", "tracks");
    expect_names(r.store, "[\"tracks\"]");
    hf_repository *tracks = open_keyed(r.store, "tracks", "{\"create\":false}");
    assert_int_equal(version_of(tracks, NULL, "a"), version);
    expect(HF_UNIQUE_VIOLATION, hf_repository_save, tracks, NULL, "{\"id\":\"b\",\"n\":1}", HF_NTS, NULL);
    save(r.things, NULL, "{\"id\":\"c\",\"n\":2}"); /* a handle of the old name is one of the repository */
    expect_entity(tracks, NULL, "c", "{\"id\":\"c\",\"n\":2}");
    hf_repository *anew = open_repository(r.store, "things");
    expect_count(anew, NULL, NULL, 0);
    save(anew, NULL, "{\"id\":\"a\"}");
    expect_entity(tracks, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect(HF_EXISTS, hf_store_rename, r.store, "tracks", "things");
    expect_ok(hf_store_rename, r.store, "tracks", "Tracks"); /* only the case */
    expect_names(r.store, "[\"Tracks\",\"things\"]");
    hf_repository_free(tracks);
    hf_repository_free(anew);
}

static void two_repositories_exchange_their_names_by_a_third(room r) {
    hf_repository *others = open_repository(r.store, "others");
    save(r.things, NULL, "{\"id\":\"thing\"}");
    save(others, NULL, "{\"id\":\"other\"}");
    expect_ok(hf_store_rename, r.store, "things", "third");
    expect_ok(hf_store_rename, r.store, "others", "things");
    expect_ok(hf_store_rename, r.store, "third", "others");
    hf_repository *things = open_repository(r.store, "things");
    expect_entity(things, NULL, "other", "{\"id\":\"other\"}");
    expect_entity(r.things, NULL, "thing", "{\"id\":\"thing\"}");
    hf_repository_free(things);
    hf_repository_free(others);
}

static void a_rename_takes_the_name_of_what_was_dropped(room r) {
    hf_repository *others = open_repository(r.store, "others");
    save(r.things, NULL, "{\"id\":\"a\"}");
    save(others, NULL, "{\"id\":\"b\"}");
    expect_ok(hf_store_drop, r.store, "others");
    expect_ok(hf_store_rename, r.store, "things", "others");
    expect_names(r.store, "[\"others\"]");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    expect_count(others, NULL, NULL, 0);
    expect(HF_NOT_FOUND, hf_repository_save, others, NULL, "{\"id\":\"c\"}", HF_NTS, NULL);
    hf_repository_free(others);
}

static void a_rename_conflicts_with_nobody(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    expect_count(r.things, t, NULL, 1);
    save(r.things, t, "{\"id\":\"b\"}");
    expect_ok(hf_store_rename, r.store, "things", "tracks");
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 2);
}

/* --- Streams ------------------------------------------------------------------------------------ */

static void streams_tell_of_a_drop_and_a_rename_as_one_change(room r, listener *l) {
    save_in_one(r, 3, "{\"id\":\"%d\",\"n\":%d}", 10);
    char *start = position_of(r.store);
    listener only;
    begin_listening(&only);
    observe(l, r.store, "{\"old\":true}");
    observe(&only, r.store,
            "{\"repository\":\"things\",\"id\":\"2\",\"filter\":{\"n\":7},\"fields\":[\"n\"]}");
    save(r.things, NULL, "{\"id\":\"x\"}");
    expect_ok(hf_store_rename, r.store, "things", "tracks");
    expect_ok(hf_store_drop, r.store, "tracks");
    save(r.things, NULL, "{\"id\":\"y\"}");
    static const char *const told[] = {
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"id\":\"x\",\"operation\":\"insert\","
        "\"entity\":{\"id\":\"x\"}}]}]}",
        "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"operation\":\"rename\",\"to\":\"tracks\"}]}"
        "]}",
        "{\"commits\":[{\"changes\":[{\"repository\":\"tracks\",\"operation\":\"drop\"}]}]}",
        "{\"commits\":[{\"changes\":[{\"repository\":\"tracks\",\"id\":\"y\",\"operation\":\"insert\","
        "\"entity\":{\"id\":\"y\"}}]}]}",
    };
    for (size_t i = 0; i < COUNT_OF(told); i++)
        expect_event(l, i, told[i]);
    expect_event(&only, 0, told[1]);
    expect_event(&only, 1, told[2]);
    /* The log tells the same, each commit under the name of then. */
    json_t *feed = changes_since(r.store, start, "{\"entities\":false}");
    json_t *commits = json_object_get(feed, "commits");
    assert_int_equal(json_array_size(commits), 4);
    static const char *const names[] = {"things", "things", "tracks", "tracks"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        json_t *change = json_array_get(json_object_get(json_array_get(commits, i), "changes"), 0);
        assert_string_equal(json_string_value(json_object_get(change, "repository")), names[i]);
    }
    json_decref(feed);
    free(start);
    end_listening(&only);
}

static void a_live_query_tells_that_its_rows_are_gone(room r, listener *l) {
    save_in_one(r, 5, "{\"id\":\"%d\",\"n\":%d}", 10);
    observe_query(l, r.things, "{\"n\":{\"$gte\":1}}", "{\"sort\":{\"n\":-1},\"limit\":3}");
    wait_for_events(l, 1);
    expect_ok(hf_store_drop, r.store, "things");
    expect_followed(l, r.things, "{\"n\":{\"$gte\":1}}", "{\"sort\":{\"n\":-1},\"limit\":3}");
    assert_int_equal(json_array_size(l->result), 0);
    save_in_one(r, 5, "{\"id\":\"%d\",\"n\":%d}", 10);
    expect_ok(hf_store_rename, r.store, "things", "tracks");
    save(r.things, NULL, "{\"id\":\"9\",\"n\":9}");
    expect_followed(l, r.things, "{\"n\":{\"$gte\":1}}", "{\"sort\":{\"n\":-1},\"limit\":3}");
}

/* --- Other processes, and later ones ------------------------------------------------------------- */

/* Another process with the store open: drops ('d') "things", or renames it to "tracks" ('r'), and answers the
 * status. */
typedef struct other {
    pid_t process;
    int commands, answers;
} other;

static other begin_other(const fixture *f) {
    int commands[2], answers[2];
    assert_int_equal(pipe(commands), 0);
    assert_int_equal(pipe(answers), 0);
    other o = {fork(), commands[1], answers[0]};
    if (o.process != 0) {
        close(commands[0]);
        close(answers[1]);
        return o;
    }
    close(commands[1]);
    hf_store *store = NULL;
    unsigned char answer = (unsigned char)hf_store_open(f->url, NULL, &store, NULL);
    char command;
    while (answer == HF_OK && read(commands[0], &command, 1) == 1) {
        if (command == 'd')
            answer = (unsigned char)hf_store_drop(store, "things", NULL);
        else
            answer = (unsigned char)hf_store_rename(store, "things", "tracks", NULL);
        if (write(answers[1], &answer, 1) != 1)
            break;
    }
    hf_store_free(store);
    _exit(answer);
}

static void have_other(const other *o, char command) {
    unsigned char answer = 0;
    assert_int_equal(write(o->commands, &command, 1), 1);
    assert_int_equal(read(o->answers, &answer, 1), 1);
    assert_int_equal(answer, HF_OK);
}

static void end_other(const other *o) {
    int status = -1;
    close(o->commands);
    assert_int_equal(waitpid(o->process, &status, 0), o->process);
    assert_int_equal(status, 0);
    close(o->answers);
}

static void what_another_process_drops_and_renames_is_so_here(fixture *f) {
    other o = begin_other(f);
    room r = open_room(f, NULL);
    create_index(r, "{\"fields\":{\"n\":1},\"unique\":true}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}"); /* and has it in the cache */
    listener l;
    begin_listening(&l);
    observe(&l, r.store, "{\"entities\":false}");
    listener rows;
    begin_listening(&rows);
    observe_query(&rows, r.things, "{\"n\":1}", NULL);
    wait_for_events(&rows, 1);
    hf_transaction *reader = begin(r.store, NULL);
    expect_entity(r.things, reader, "a", "{\"id\":\"a\",\"n\":1}");
    have_other(&o, 'd');
    expect_names(r.store, "[]");
    expect_absent(r.things, NULL, "a");
    expect_indexes(r, "[]");
    expect_event(&l, 0, "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"operation\":\"drop\"}]}]}");
    expect_followed(&rows, r.things, "{\"n\":1}", NULL);
    save(r.things, reader, "{\"id\":\"b\"}");
    expect(HF_CONFLICT, hf_transaction_commit, reader, NULL);
    hf_transaction_free(reader);
    save(r.things, NULL, "{\"id\":\"c\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"d\",\"n\":1}"); /* no index forbids it */
    expect_names(r.store, "[\"things\"]");

    have_other(&o, 'r');
    hf_repository *anew = open_repository(r.store, "things");
    expect_count(anew, NULL, NULL, 0);
    hf_repository *tracks = open_keyed(r.store, "tracks", "{\"create\":false}");
    expect_count(tracks, NULL, NULL, 2);
    save(r.things, NULL, "{\"id\":\"e\",\"n\":1}");
    expect_count(tracks, NULL, NULL, 3);
    expect_event(&l, 3,
                 "{\"commits\":[{\"changes\":[{\"repository\":\"things\",\"operation\":\"rename\",\"to\":"
                 "\"tracks\"}]}]}");
    expect_event(&l, 4,
                 "{\"commits\":[{\"changes\":[{\"repository\":\"tracks\",\"id\":\"e\",\"operation\":"
                 "\"insert\"}]}]}");
    expect_followed(&rows, r.things, "{\"n\":1}", NULL);
    end_listening(&rows);
    end_listening(&l);
    hf_repository_free(anew);
    hf_repository_free(tracks);
    close_room(r);
    end_other(&o);
}

static void a_reopened_store_knows_what_was_dropped_and_renamed(fixture *f) {
    room r = open_room(f, NULL);
    char *start = position_of(r.store);
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_repository_free(open_repository(r.store, "gone"));
    expect_ok(hf_store_drop, r.store, "gone");
    expect_ok(hf_store_rename, r.store, "things", "tracks");
    close_room(r);
    hf_store *store = open_store(f, NULL);
    expect_names(store, "[\"tracks\"]");
    json_t *feed = changes_since(store, start, NULL);
    json_t *first = json_array_get(json_object_get(feed, "commits"), 0);
    json_t *change = json_array_get(json_object_get(first, "changes"), 0);
    assert_string_equal(json_string_value(json_object_get(change, "repository")), "things");
    json_decref(feed);
    free(start);
    hf_repository *things = open_repository(store, "things");
    expect_count(things, NULL, NULL, 0);
    hf_repository_free(things);
    hf_store_free(store);
    store = open_store(f, "{\"read_only\":true}");
    expect(HF_READ_ONLY, hf_store_drop, store, "tracks");
    expect(HF_READ_ONLY, hf_store_rename, store, "tracks", "others");
    hf_store_free(store);
}

static void damage_in_the_catalogue_is_told(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_store_rename, r.store, "things", "tracks");
    close_room(r);
    static const char *const damaged[] = {"'{'", "'{\"changed\":1}'", "x'00'",
                                          "'{\"changed\":1,\"dropped\":false,\"names\":[1]}'"};
    for (size_t i = 0; i < COUNT_OF(damaged); i++) {
        char path[160], sql[200];
        snprintf(path, sizeof path, "%s/store.db", f->directory);
        snprintf(sql, sizeof sql, "UPDATE holdfast_meta SET value = %s WHERE name LIKE 'repository%%'",
                 damaged[i]);
        run_sqlite(path, sql);
        hf_store *store = NULL;
        expect(HF_CORRUPT, hf_store_open, f->url, NULL, &store);
    }
}

static bool always(void *user_data) {
    (void)user_data;
    return true;
}

/* It is asked every 20 ms, and may be done before: then there are to be more of them. */
static void a_drop_can_be_ended_with_nothing_gone(room r) {
    hf_status status = HF_OK;
    for (int count = 20000; status == HF_OK; count *= 4) {
        save_in_one(r, count, "{\"id\":\"%d\",\"n\":%d}", 1000);
        hf_interrupt_set_check(always, NULL);
        status = hf_store_drop(r.store, "things", NULL);
        hf_interrupt_set_check(NULL, NULL);
        expect_count(r.things, NULL, NULL, status == HF_OK ? 0 : count);
        expect_names(r.store, status == HF_OK ? "[]" : "[\"things\"]");
    }
    assert_int_equal(status, HF_CANCELLED);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_repository_is_there_from_its_opening_until_it_is_dropped),
        EACH_ENGINE(the_librarys_own_repository_is_neither_told_of_nor_dropped),
        EACH_ENGINE(a_drop_takes_entities_and_indexes_and_leaves_the_others),
        EACH_ENGINE(a_handle_from_before_brings_the_repository_back),
        EACH_ENGINE(a_name_may_be_given_again_with_another_key_or_in_other_case),
        EACH_ENGINE(who_has_read_what_was_dropped_meets_a_conflict),
        EACH_ENGINE(what_is_not_there_is_refused_and_loses_nothing),
        EACH_ENGINE(a_renamed_repository_has_its_entities_versions_and_indexes),
        EACH_ENGINE(two_repositories_exchange_their_names_by_a_third),
        EACH_ENGINE(a_rename_takes_the_name_of_what_was_dropped),
        EACH_ENGINE(a_rename_conflicts_with_nobody),
        EACH_ENGINE(streams_tell_of_a_drop_and_a_rename_as_one_change),
        EACH_ENGINE(a_live_query_tells_that_its_rows_are_gone),
        SQLITE_ONLY(what_another_process_drops_and_renames_is_so_here),
        SQLITE_ONLY(a_reopened_store_knows_what_was_dropped_and_renamed),
        SQLITE_ONLY(damage_in_the_catalogue_is_told),
        SQLITE_ONLY(a_drop_can_be_ended_with_nothing_gone),
    };
    return run_scenarios("repositories", scenarios, COUNT_OF(scenarios));
}
