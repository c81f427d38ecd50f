/* A store: what its URL and options may say, where it can live, what it tells about itself. */
#include "support.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A path in the scenario's own directory; the text is good until the next call. */
static const char *path_in(const fixture *f, const char *name) {
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", f->directory, name);
    return path;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void refuse_to_open(hf_status expected, const char *url, const char *options) {
    hf_store *store = NULL;
    hf_error *error = error_of(expected, hf_store_open, url, options, &store);
    assert_null(store);
    hf_error_free(error);
}

static void what_was_committed_is_there_after_reopening(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *songs = open_repository(store, "songs");
    save(songs, NULL, "{\"id\":\"s1\",\"plays\":1}");
    uint64_t version = version_of(songs, NULL, "s1");
    hf_repository_free(songs);
    hf_store_free(store);

    store = open_store(f, NULL);
    songs = open_repository(store, "songs");
    expect_entity(songs, NULL, "s1", "{\"id\":\"s1\",\"plays\":1}");
    assert_int_equal(version_of(songs, NULL, "s1"), version);
    save(songs, NULL, "{\"id\":\"s1\",\"plays\":2}");
    assert_true(version_of(songs, NULL, "s1") > version);
    hf_repository_free(songs);
    hf_store_free(store);
}

static void every_memory_store_is_a_new_one(fixture *f) {
    hf_store *one = open_store(f, NULL), *other = open_store(f, NULL);
    hf_repository *ours = open_repository(one, "songs"), *theirs = open_repository(other, "songs");
    save(ours, NULL, "{\"id\":\"s1\"}");
    expect_absent(theirs, NULL, "s1");
    hf_transaction *t = begin(other, NULL);
    expect(HF_INVALID_ARGUMENT, hf_repository_save, ours, t, "{\"id\":\"s2\"}", HF_NTS, NULL);
    hf_transaction_free(t);
    hf_repository_free(ours), hf_repository_free(theirs);
    hf_store_free(one), hf_store_free(other);
}

static void the_scheme_may_be_written_out(fixture *f) {
    char url[200];
    snprintf(url, sizeof url, "sqlite:%s", f->url);
    hf_store_free(open_store_at(url, NULL));
    assert_int_equal(access(f->url, F_OK), 0);
    hf_store_free(open_store(f, "{\"create\":false}"));
}

static void an_url_of_no_engine_is_refused(fixture *f) {
    (void)f;
    static const char *const urls[] = {"oracle:scott", "memory:shared", "", "sqlite:", "http://x/y"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        refuse_to_open(HF_INVALID_URL, urls[i], NULL);
    }
}

static void a_file_that_is_its_owners_alone_is_asked_for(fixture *f) {
    hf_store_free(open_store(f, "{\"mode\":\"0600\"}"));
    struct stat status;
    assert_int_equal(stat(f->url, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void without_create_a_missing_store_cannot_be_opened(fixture *f) {
    refuse_to_open(HF_CANNOT_OPEN, f->url, "{\"create\":false}");
    assert_int_not_equal(access(f->url, F_OK), 0);
}

static void a_missing_directory_and_a_directory_cannot_be_opened(fixture *f) {
    refuse_to_open(HF_CANNOT_OPEN, path_in(f, "missing/store.db"), NULL);
    refuse_to_open(HF_CANNOT_OPEN, f->directory, NULL);
}

static void a_foreign_database_and_a_text_file_are_no_stores_and_stay_untouched(fixture *f) {
    const char *path = path_in(f, "foreign.db");
    run_sqlite(path, "create table t(x); insert into t values(1)");
    refuse_to_open(HF_NOT_A_STORE, path, NULL);
    run_sqlite(path, "insert into t values(2)");
    char command[256];
    snprintf(command, sizeof command, "test \"$(sqlite3 '%s' 'select count(*) from sqlite_schema')\" = 1",
             path);
    assert_int_equal(system(command), 0);

    path = path_in(f, "letter.txt");
    write_file(path, "Dear reader, this is no database, although it is longer than a header of one.\n"
                     "It goes on for a while, so that nobody takes it for one that was cut short.\n");
    refuse_to_open(HF_NOT_A_STORE, path, NULL);
}

static void a_newer_format_is_refused(fixture *f) {
    hf_store_free(open_store(f, NULL));
    run_sqlite(f->url, "pragma user_version = 1000000");
    refuse_to_open(HF_FORMAT_TOO_NEW, f->url, NULL);
}

static void a_second_open_is_busy_and_names_the_holder(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_store *second = NULL;
    hf_error *error = error_of(HF_BUSY, hf_store_open, f->url, NULL, &second);
    assert_true(hf_error_is_retryable(error));
    json_t *detail = json_loads(hf_error_detail(error, NULL), 0, NULL);
    assert_non_null(json_object_get(detail, "holder"));
    json_decref(detail);
    hf_error_free(error);
    hf_store_free(store);
    hf_store_free(open_store(f, NULL));
}

static void the_holder_is_told_in_json_whatever_the_program_is_called(fixture *f) {
    char own[17] = "";
    assert_int_equal(prctl(PR_GET_NAME, own), 0);
    assert_int_equal(prctl(PR_SET_NAME, "a \"\\ {\x80\t"), 0);
    hf_store *store = open_store(f, NULL), *second = NULL;
    hf_error *error = error_of(HF_BUSY, hf_store_open, f->url, NULL, &second);
    assert_int_equal(prctl(PR_SET_NAME, own), 0);
    json_t *detail = json_loads(hf_error_detail(error, NULL), 0, NULL);
    assert_non_null(detail);
    json_t *pid = json_object_get(json_object_get(detail, "holder"), "pid");
    assert_int_equal(json_integer_value(pid), getpid());
    json_decref(detail);
    hf_error_free(error);
    hf_store_free(store);
}

/* The status with which another process, this program run anew, opens the URL. */
static int open_elsewhere(const char *url) {
    pid_t child = fork();
    if (child == 0) {
        execl(program_invocation_name, program_invocation_name, "open", url, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void another_process_may_open_the_same_store(fixture *f) {
    hf_store *store = open_store(f, NULL);
    assert_int_equal(open_elsewhere(f->url), HF_OK);
    hf_repository *songs = open_repository(store, "songs");
    save(songs, NULL, "{\"id\":\"s1\"}");
    assert_int_equal(open_elsewhere(f->url), HF_OK);
    save(songs, NULL, "{\"id\":\"s2\"}");
    hf_repository_free(songs);
    hf_store_free(store);
    assert_int_equal(open_elsewhere(f->url), HF_OK);
}

static void what_another_program_commits_is_seen_by_the_next_read(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"s1\"}");
    for (int round = 0; round < 20; round++) {
        char text[64], sql[128];
        snprintf(text, sizeof text, "{\"id\":\"s1\",\"round\":%d}", round);
        snprintf(sql, sizeof sql, "update holdfast_entity set body = '%s' where id = 's1'", text);
        run_sqlite(f->url, sql);
        expect_entity(r.things, NULL, "s1", text);
    }
    close_room(r);
}

static void a_symbolic_link_is_unsafe_unless_allowed(fixture *f) {
    const char *link = path_in(f, "link.db");
    hf_store_free(open_store(f, NULL));
    assert_int_equal(symlink(f->url, link), 0);
    refuse_to_open(HF_UNSAFE_LOCATION, link, NULL);
    hf_store_free(open_store_at(link, "{\"allow_unsafe_location\":true}"));
}

static void a_read_only_store_reads_and_refuses_every_write(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *songs = open_repository(store, "songs");
    save(songs, NULL, "{\"id\":\"s1\"}");
    hf_repository_free(songs);
    hf_store_free(store);

    store = open_store(f, "{\"read_only\":true}");
    songs = open_repository(store, "songs");
    expect_entity(songs, NULL, "s1", "{\"id\":\"s1\"}");
    expect(HF_READ_ONLY, hf_repository_save, songs, NULL, "{\"id\":\"s2\"}", HF_NTS, NULL);
    expect(HF_READ_ONLY, hf_repository_add, songs, NULL, "{\"id\":\"s2\"}", HF_NTS, NULL);
    expect(HF_READ_ONLY, hf_repository_update, songs, NULL, "{\"id\":\"s1\"}", HF_NTS, 0, NULL);
    expect(HF_READ_ONLY, hf_repository_patch, songs, NULL, "s1", HF_NTS, "{\"x\":1}", HF_NTS, 0, NULL);
    expect(HF_READ_ONLY, hf_repository_modify, songs, NULL, "s1", HF_NTS, "{}", 2, NULL, 0, 0, NULL);
    expect(HF_READ_ONLY, hf_repository_modify_all, songs, NULL, NULL, 0, "{}", 2, NULL, NULL, NULL);
    expect(HF_READ_ONLY, hf_repository_delete, songs, NULL, "s1", HF_NTS, 0);
    expect(HF_READ_ONLY, hf_repository_save_many, songs, NULL, "[{\"id\":\"s2\"}]", HF_NTS, NULL);
    expect(HF_READ_ONLY, hf_repository_delete_all, songs, NULL, NULL, 0, NULL, NULL);
    hf_transaction *t = begin(store, NULL);
    expect_entity(songs, t, "s1", "{\"id\":\"s1\"}");
    expect(HF_READ_ONLY, hf_repository_save, songs, t, "{\"id\":\"s2\"}", HF_NTS, NULL);
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);
    hf_repository *other = NULL;
    expect(HF_READ_ONLY, hf_repository_open, store, "others", NULL, &other);
    assert_null(other);
    hf_repository_free(songs);
    hf_store_free(store);
}

static void a_store_describes_itself(fixture *f) {
    hf_store *store = open_store(f, NULL);
    hf_repository *songs = NULL;
    expect_ok(hf_repository_open, store, "songs", "{\"key\":\"isrc\"}", &songs);
    save(songs, NULL, "{\"isrc\":\"DE1\"}");
    hf_transaction *t = begin(store, NULL);

    json_t *description = describe(store);
    assert_string_equal(json_string_value(json_object_get(description, "engine")), f->engine);
    assert_true(json_is_string(json_object_get(description, "url")));
    assert_true(json_is_string(json_object_get(description, "position")));
    assert_true(json_is_string(json_object_get(description, "incarnation")));
    assert_true(json_is_integer(json_object_get(description, "format")));
    assert_true(json_is_false(json_object_get(description, "read_only")));
    assert_int_equal(json_integer_value(json_object_get(description, "in_flight")), 0);
    assert_int_equal(json_integer_value(json_object_get(description, "transactions")), 1);
    assert_true(json_is_integer(json_object_get(description, "snapshots")));
    assert_int_equal(json_integer_value(json_object_get(description, "sequence")),
                     version_of(songs, NULL, "DE1"));
    json_t *repositories = json_pack("[{ssss}]", "name", "songs", "key", "isrc");
    assert_true(json_equal(json_object_get(description, "repositories"), repositories));
    json_decref(repositories);
    json_decref(description);

    hf_transaction_free(t);
    hf_repository_free(songs);
    hf_store_free(store);
}

static void a_buffer_is_used_again_and_kept_on_failure(room r) {
    hf_buffer buffer = HF_BUFFER_INIT;
    /* An answer that is as long each time. */
    expect_ok(hf_repository_indexes, r.things, &buffer);
    char *memory = buffer.data;
    expect_ok(hf_repository_indexes, r.things, &buffer);
    assert_ptr_equal(buffer.data, memory);
    size_t length = buffer.length;
    expect_ok(hf_store_close, r.store, -1);
    expect(HF_CLOSED, hf_repository_indexes, r.things, &buffer);
    assert_ptr_equal(buffer.data, memory);
    assert_int_equal(buffer.length, length);
    hf_buffer_free(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.length + buffer.capacity, 0);
}

static void memory_that_is_passed_again_is_written_to_its_end_and_no_further(room r) {
    enum { LONGEST = 300 };
    hf_entity entity = HF_ENTITY_INIT;
    char json[LONGEST + 64];
    for (int length = 1; length < LONGEST; length++) {
        snprintf(json, sizeof json, "{\"id\":\"a\",\"text\":\"%0*d\"}", length, 0);
        save(r.things, NULL, json);
        expect_ok(hf_repository_fetch, r.things, NULL, "a", HF_NTS, &entity);
        /* The closing NUL lies in it, too. */
        assert_true(entity.capacity > entity.length);
        assert_string_equal(entity.data, json);
    }
    hf_entity_free(&entity);
}

static void handles_are_counted_by_kind(fixture *f) {
    size_t stores = hf_handle_count("store"), all = hf_handle_count(NULL);
    hf_store *store = open_store(f, NULL);
    hf_repository *songs = open_repository(store, "songs");
    hf_transaction *t = begin(store, NULL);
    hf_error *error = error_of(HF_INVALID_JSON, hf_repository_save, songs, NULL, "{", HF_NTS, NULL);
    assert_int_equal(hf_handle_count("store"), stores + 1);
    assert_int_equal(hf_handle_count("repository"), 1);
    assert_int_equal(hf_handle_count("transaction"), 1);
    assert_int_equal(hf_handle_count("error"), 1);
    assert_int_equal(hf_handle_count(NULL), all + 4);
    assert_int_equal(hf_handle_count("stroe"), 0);
    hf_error_free(error);
    hf_transaction_free(t), hf_repository_free(songs), hf_store_free(store);
    assert_int_equal(hf_handle_count(NULL), all);
}

static void a_store_tells_who_holds_its_past(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_transaction *report = begin(r.store, "{\"name\":\"monthly report\"}");
    hf_transaction *other = begin(r.store, NULL);
    expect_count(r.things, report, NULL, 1);
    expect_count(r.things, other, NULL, 1);
    save(r.things, NULL, "{\"id\":\"b\"}");
    sleep_milliseconds(20);
    json_t *described = describe(r.store);
    json_t *oldest = json_array_get(json_object_get(described, "open_snapshots"), 0);
    assert_in_range(json_integer_value(json_object_get(oldest, "age_ms")), 20, 60000);
    assert_int_equal(json_integer_value(json_object_get(oldest, "holders")), 2);
    json_t *names = json_object_get(oldest, "names");
    assert_int_equal(json_array_size(names), 1);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "monthly report");
    json_t *handles = json_object_get(described, "handles");
    assert_int_equal(json_integer_value(json_object_get(handles, "transaction")), 2);
    json_t *sizes = json_object_get(described, "sizes");
    if (strcmp(f->engine, "sqlite") == 0)
        assert_true(json_integer_value(json_object_get(sizes, "store_bytes")) > 0);
    else
        assert_true(json_is_null(sizes));
    json_decref(described);
    hf_transaction_free(report);
    described = describe(r.store);
    oldest = json_array_get(json_object_get(described, "open_snapshots"), 0);
    assert_int_equal(json_array_size(json_object_get(oldest, "names")), 0);
    json_decref(described);
    hf_transaction_free(other);
    expect(HF_INVALID_OPTION, hf_transaction_begin, r.store, "{\"name\":\"\"}", &report);
    close_room(r);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "open") == 0) {
        hf_store *store = NULL;
        hf_status status = hf_store_open(argv[2], NULL, &store, NULL);
        hf_store_free(store);
        return (int)status;
    }
    static const scenario scenarios[] = {
        SQLITE_ONLY(what_was_committed_is_there_after_reopening),
        ONCE(every_memory_store_is_a_new_one),
        SQLITE_ONLY(the_scheme_may_be_written_out),
        ONCE(an_url_of_no_engine_is_refused),
        SQLITE_ONLY(a_file_that_is_its_owners_alone_is_asked_for),
        SQLITE_ONLY(without_create_a_missing_store_cannot_be_opened),
        SQLITE_ONLY(a_missing_directory_and_a_directory_cannot_be_opened),
        SQLITE_ONLY(a_foreign_database_and_a_text_file_are_no_stores_and_stay_untouched),
        SQLITE_ONLY(a_newer_format_is_refused),
        SQLITE_ONLY(a_second_open_is_busy_and_names_the_holder),
        SQLITE_ONLY(the_holder_is_told_in_json_whatever_the_program_is_called),
        SQLITE_ONLY(another_process_may_open_the_same_store),
        SQLITE_ONLY(what_another_program_commits_is_seen_by_the_next_read),
        SQLITE_ONLY(a_symbolic_link_is_unsafe_unless_allowed),
        SQLITE_ONLY(a_read_only_store_reads_and_refuses_every_write),
        EACH_ENGINE(a_store_describes_itself),
        EACH_ENGINE(a_buffer_is_used_again_and_kept_on_failure),
        ONCE(memory_that_is_passed_again_is_written_to_its_end_and_no_further),
        EACH_ENGINE(a_store_tells_who_holds_its_past),
        EACH_ENGINE(handles_are_counted_by_kind),
    };
    return run_scenarios("store", scenarios, COUNT_OF(scenarios));
}
