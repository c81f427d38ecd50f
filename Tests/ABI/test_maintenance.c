/* Backup and restore, verifying and compacting. */
#include <sys/stat.h>

#include "support.h"

static void fill(hf_store *store, hf_repository *things, int from, int to) {
    hf_transaction *t = begin(store, NULL);
    for (int i = from; i < to; i++) {
        char json[160];
        snprintf(json, sizeof json, "{\"id\":\"t%05d\",\"n\":%d,\"text\":\"%064d\"}", i, i, i);
        save(things, t, json);
    }
    commit_quietly(t);
}

static const char *place(const fixture *f, const char *name) {
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", f->directory, name);
    return path;
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

static json_t *parse(hf_buffer *buffer) {
    json_t *value = json_loads(buffer->data, 0, NULL);
    assert_non_null(value);
    hf_buffer_free(buffer);
    return value;
}

/* Progress: how it went, and at which call it stops or what it does then. */
typedef struct journey {
    uint64_t calls, done, total;
    uint64_t stop_at;
    hf_repository *writes_to;
    hf_store *closes;
} journey;

static bool note_progress(uint64_t done, uint64_t total, void *user_data) {
    journey *j = user_data;
    assert_true(done >= j->done);
    j->calls++;
    j->done = done;
    j->total = total;
    if (j->writes_to != NULL)
        save(j->writes_to, NULL, "{\"id\":\"late\"}");
    if (j->closes != NULL)
        (void)hf_store_close(j->closes, 10000, NULL);
    return j->calls != j->stop_at;
}

static void backup_takes_one_state_while_others_write(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    fill(r.store, r.things, 0, 20000);
    uint64_t newest = version_of(r.things, NULL, "t19999");
    journey j = {.writes_to = r.things};
    hf_buffer report = HF_BUFFER_INIT;
    char path[160];
    snprintf(path, sizeof path, "%s", place(f, "copy.db"));
    expect_ok(hf_store_backup, r.store, path, note_progress, &j, &report);
    assert_true(j.calls > 2);
    assert_int_equal(j.done, j.total);
    json_t *told = parse(&report);
    assert_int_equal(json_integer_value(json_object_get(told, "bytes")), j.total);
    assert_int_equal(json_integer_value(json_object_get(told, "sequence")), newest);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, j.total);
    json_decref(told);

    hf_store *copy = open_store_at(path, NULL);
    hf_repository *things = open_repository(copy, "things");
    expect_count(things, NULL, NULL, 20000);
    assert_int_equal(version_of(things, NULL, "t00007"), version_of(r.things, NULL, "t00007"));
    expect_absent(things, NULL, "late");
    /* It goes on by itself. */
    save(things, NULL, "{\"id\":\"own\"}");
    json_t *a = describe(r.store), *b = describe(copy);
    assert_string_not_equal(json_string_value(json_object_get(a, "incarnation")),
                            json_string_value(json_object_get(b, "incarnation")));
    json_decref(a), json_decref(b);
    hf_repository_free(things);
    hf_store_free(copy);
    close_room(r);
}

static void backup_that_is_given_up_leaves_nothing_behind(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    fill(r.store, r.things, 0, 20000);
    journey j = {.stop_at = 1};
    char path[160];
    snprintf(path, sizeof path, "%s", place(f, "copy.db"));
    expect(HF_CANCELLED, hf_store_backup, r.store, path, note_progress, &j, NULL);
    assert_false(is_there(path));
    assert_false(is_there(place(f, "copy.db-partial")));
    j = (journey){.closes = r.store};
    expect(HF_CLOSED, hf_store_backup, r.store, path, note_progress, &j, NULL);
    assert_false(is_there(path));
    close_room(r);
}

static void backup_refuses_what_it_would_overwrite_and_where_it_cannot_write(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_store_backup, r.store, place(f, "copy.db"), NULL, NULL, NULL);
    expect(HF_EXISTS, hf_store_backup, r.store, place(f, "copy.db"), NULL, NULL, NULL);
    expect(HF_EXISTS, hf_store_backup, r.store, strchr(f->url, ':') ? strchr(f->url, ':') + 1 : f->url, NULL,
           NULL, NULL);
    expect(HF_CANNOT_OPEN, hf_store_backup, r.store, place(f, "none/copy.db"), NULL, NULL, NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_backup, r.store, NULL, NULL, NULL, NULL);
    close_room(r);
}

/* Commits in each callback, as another thread would while a slow host is at work, and notes how large the log
 * becomes. */
typedef struct flood {
    hf_repository *things;
    const char *log;
    int megabytes; /* in each callback */
    int calls;
    off_t largest;
    uint64_t last_done;
} flood;

static bool write_meanwhile(uint64_t done, uint64_t total, void *user_data) {
    flood *own = user_data;
    (void)total;
    assert_true(done >= own->last_done);
    own->last_done = done;
    own->calls++;
    char *json = malloc((1 << 20) + 64);
    for (int i = 0; i < own->megabytes; i++) {
        int length = sprintf(json, "{\"id\":\"flood%d\",\"text\":\"", i % 4);
        memset(json + length, 'a' + own->calls % 26, 1 << 20);
        strcpy(json + length + (1 << 20), "\"}");
        save(own->things, NULL, json);
        struct stat status;
        if (stat(own->log, &status) == 0 && status.st_size > own->largest)
            own->largest = status.st_size;
        /* What is written is copied into the store by a thread that must get its turn. */
        sleep_milliseconds(10);
    }
    free(json);
    return true;
}

/* Ten times "wal_limit_bytes". */
enum { LOG_MOST = 40 << 20, SOME = 8, MUCH = 80 };

static void a_slow_backup_or_verifying_does_not_let_the_log_grow(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\",\"wal_limit_bytes\":4194304}");
    fill(r.store, r.things, 0, 60000);
    char log[200], path[160];
    snprintf(log, sizeof log, "%s-wal", f->url);
    /* A little in each of many callbacks, and much in the first. */
    for (int megabytes = SOME; megabytes <= MUCH; megabytes += MUCH - SOME) {
        snprintf(path, sizeof path, "%s", place(f, megabytes == SOME ? "copy1.db" : "copy2.db"));
        flood own = {.things = r.things, .log = log, .megabytes = megabytes};
        expect_ok(hf_store_backup, r.store, path, write_meanwhile, &own, NULL);
        assert_in_range(own.largest, 0, LOG_MOST);
        hf_store *copy = open_store_at(path, NULL);
        hf_repository *things = open_repository(copy, "things");
        expect_count(things, NULL, "{\"n\":{\"$gte\":0}}", 60000);
        hf_repository_free(things);
        hf_store_free(copy);
        own = (flood){.things = r.things, .log = log, .megabytes = megabytes};
        hf_buffer report = HF_BUFFER_INIT;
        expect_ok(hf_store_verify, r.store, write_meanwhile, &own, &report);
        assert_memory_equal(report.data, "{\"ok\":true", 10);
        assert_in_range(own.largest, 0, LOG_MOST);
        hf_buffer_free(&report);
    }
    close_room(r);
}

static void memory_has_nothing_to_back_up_or_compact(room r) {
    expect(HF_UNSUPPORTED, hf_store_backup, r.store, "/tmp/never", NULL, NULL, NULL);
    expect(HF_UNSUPPORTED, hf_store_compact, r.store, NULL);
    expect(HF_UNSUPPORTED, hf_store_restore, "/tmp/never", "memory:", NULL, NULL, NULL);
}

static void restore_makes_a_store_of_a_backup(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    fill(r.store, r.things, 0, 2000);
    char backup[160], other[160];
    snprintf(backup, sizeof backup, "%s", place(f, "copy.db"));
    snprintf(other, sizeof other, "%s", place(f, "other.db"));
    expect_ok(hf_store_backup, r.store, backup, NULL, NULL, NULL);
    fill(r.store, r.things, 2000, 2100);
    /* Elsewhere. */
    expect_ok(hf_store_restore, backup, other, NULL, NULL, NULL);
    assert_false(is_there(place(f, "copy.db-wal")) || is_there(place(f, "copy.db-shm")));
    expect(HF_EXISTS, hf_store_restore, backup, other, NULL, NULL, NULL);
    hf_store *restored = open_store_at(other, NULL);
    hf_repository *things = open_repository(restored, "things");
    expect_count(things, NULL, NULL, 2000);
    /* Not over one that is open. */
    expect(HF_BUSY, hf_store_restore, backup, other, "{\"replace\":true}", NULL, NULL);
    expect(HF_BUSY, hf_store_restore, backup, f->url, "{\"replace\":true}", NULL, NULL);
    hf_repository_free(things);
    hf_store_free(restored);
    close_room(r);
    /* Over the lost one. */
    expect_ok(hf_store_restore, backup, f->url, "{\"replace\":true}", NULL, NULL);
    r = open_room(f, NULL);
    expect_count(r.things, NULL, NULL, 2000);
    save(r.things, NULL, "{\"id\":\"new\"}");
    close_room(r);
}

static void restore_keeps_what_is_there_until_the_copy_is_sound(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    fill(r.store, r.things, 0, 2000);
    char backup[160];
    snprintf(backup, sizeof backup, "%s", place(f, "copy.db"));
    expect_ok(hf_store_backup, r.store, backup, NULL, NULL, NULL);
    close_room(r);
    journey j = {.stop_at = 1};
    expect(HF_CANCELLED, hf_store_restore, backup, f->url, "{\"replace\":true}", note_progress, &j);
    /* A tree of pages that leads nowhere. */
    FILE *file = fopen(backup, "r+b");
    assert_non_null(file);
    for (long page = 8; page < 40; page += 2) {
        assert_int_equal(fseek(file, page * 4096, SEEK_SET), 0);
        static const char garbage[512] = {13, 7, 7, 7};
        assert_int_equal(fwrite(garbage, 1, sizeof garbage, file), sizeof garbage);
    }
    fclose(file);
    expect(HF_CORRUPT, hf_store_restore, backup, f->url, "{\"replace\":true}", NULL, NULL);
    expect(HF_NOT_A_STORE, hf_store_restore, "/etc/passwd", f->url, "{\"replace\":true}", NULL, NULL);
    // The cure is not the one of an open.
    hf_error *error = error_of(HF_CANNOT_OPEN, hf_store_restore, place(f, "none"), f->url,
                               "{\"replace\":true}", NULL, NULL);
    assert_non_null(strstr(hf_error_message(error), "no backup"));
    hf_error_free(error);
    r = open_room(f, NULL);
    expect_count(r.things, NULL, NULL, 2000);
    close_room(r);
}

static void a_store_that_another_program_has_open_is_not_replaced(fixture *f) {
    char backup[160], note[160], command[300];
    snprintf(backup, sizeof backup, "%s", place(f, "copy.db"));
    snprintf(note, sizeof note, "%s", place(f, "open"));
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":1}");
    expect_ok(hf_store_backup, r.store, backup, NULL, NULL, NULL);
    /* It reads once, and then does nothing. */
    snprintf(command, sizeof command, "sqlite3 '%s' > /dev/null", f->url);
    FILE *shell = popen(command, "w");
    assert_non_null(shell);
    fprintf(shell, "SELECT count(*) FROM sqlite_schema;\n.shell touch '%s'\n", note);
    fflush(shell);
    while (!is_there(note))
        sleep_milliseconds(5);
    close_room(r);
    expect(HF_BUSY, hf_store_restore, backup, f->url, "{\"replace\":true}", NULL, NULL);
    fputs("PRAGMA integrity_check;\n", shell);
    assert_int_equal(pclose(shell), 0);
    expect_ok(hf_store_restore, backup, f->url, "{\"replace\":true}", NULL, NULL);
    r = open_room(f, NULL);
    expect_count(r.things, NULL, NULL, 1);
    close_room(r);
}

static bool goes_on(void *user_data) {
    (void)user_data;
    return false;
}

/* The work of a thread that is asked is done by another, which must be rid of it before the call returns. */
static void what_a_call_has_opened_is_free_when_it_returns(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_store_backup, r.store, place(f, "copy.db"), NULL, NULL, NULL);
    close_room(r);
    hf_interrupt_set_check(goes_on, NULL);
    for (int i = 0; i < 100; i++)
        expect(HF_EXISTS, hf_store_restore, place(f, "copy.db"), f->url, NULL, NULL, NULL);
    hf_interrupt_set_check(NULL, NULL);
}

static json_t *verify(hf_store *store) {
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_verify, store, NULL, NULL, &report);
    return parse(&report);
}

static void verify_finds_nothing_wrong_with_a_sound_store(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    fill(r.store, r.things, 0, 3000);
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    json_t *report = verify(r.store);
    assert_true(json_is_true(json_object_get(report, "ok")));
    json_t *things = json_array_get(json_object_get(report, "repositories"), 0);
    assert_int_equal(json_integer_value(json_object_get(things, "entities")), 3000);
    json_decref(report);
    journey j = {.stop_at = 2};
    hf_buffer buffer = HF_BUFFER_INIT;
    expect(HF_CANCELLED, hf_store_verify, r.store, note_progress, &j, &buffer);
    close_room(r);
}

static void verify_finds_entries_of_an_index_that_are_as_many_as_they_should_be_and_wrong(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":2}");
    close_room(r);
    /* The entries of the two change places. */
    run_sqlite(f->url, "UPDATE holdfast_entity SET body = '{\"id\":\"a\",\"n\":2}' WHERE id = 'a'; "
                       "UPDATE holdfast_entity SET body = '{\"id\":\"b\",\"n\":1}' WHERE id = 'b'");
    r = open_room(f, NULL);
    json_t *report = verify(r.store);
    assert_true(json_is_false(json_object_get(report, "ok")));
    json_decref(report);
    close_room(r);
}

static off_t size_of(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : 0;
}

static void compacting_gives_space_back_and_loses_nothing(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    const char *path = strchr(f->url, ':') ? strchr(f->url, ':') + 1 : f->url;
    fill(r.store, r.things, 0, 20000);
    uint64_t deleted = 0;
    expect_ok(hf_repository_delete_all, r.things, NULL, "{\"n\":{\"$gte\":100}}", HF_NTS, NULL, &deleted);
    hf_transaction *reader = begin(r.store, NULL);
    expect_count(r.things, reader, NULL, 100);
    hf_buffer buffer = HF_BUFFER_INIT;
    expect_ok(hf_store_compact, r.store, &buffer);
    json_t *report = parse(&buffer);
    json_int_t before = json_integer_value(json_object_get(report, "bytes_before"));
    json_int_t after = json_integer_value(json_object_get(report, "bytes_after"));
    assert_true(after * 4 < before);
    json_decref(report);
    expect_count(r.things, reader, NULL, 100);
    hf_transaction_free(reader);
    assert_int_equal(size_of(path), after);
    /* What watches over the file takes its new length for right. */
    sleep_milliseconds(5);
    fill(r.store, r.things, 50, 200);
    expect_count(r.things, NULL, NULL, 200);
    json_t *verified = verify(r.store);
    assert_true(json_is_true(json_object_get(verified, "ok")));
    json_decref(verified);
    close_room(r);
    r = open_room(f, NULL);
    expect_count(r.things, NULL, NULL, 200);
    close_room(r);
}

static void a_file_that_is_cut_short_is_noticed_after_it_was_compacted_too(fixture *f) {
    room r = open_room(f, NULL);
    const char *path = strchr(f->url, ':') ? strchr(f->url, ':') + 1 : f->url;
    char log[200];
    snprintf(log, sizeof log, "%s-wal", path);
    fill(r.store, r.things, 0, 10000);
    expect_ok(hf_repository_delete_all, r.things, NULL, NULL, 0, NULL, NULL);
    expect_ok(hf_store_compact, r.store, NULL);
    off_t compacted = size_of(path);
    sleep_milliseconds(5);
    fill(r.store, r.things, 0, 10000);
    /* It grows when the log is emptied. */
    for (int wait = 0; wait < 6000 && size_of(log) > 0; wait++)
        sleep_milliseconds(10);
    assert_true(size_of(path) > 4 * compacted);
    fill(r.store, r.things, 0, 1);
    assert_int_equal(truncate(path, size_of(path) / 2 / 4096 * 4096), 0);
    sleep_milliseconds(5);
    hf_error *error = NULL;
    assert_int_equal(hf_repository_save(r.things, NULL, "{\"id\":\"t\"}", HF_NTS, NULL, &error), HF_CORRUPT);
    assert_non_null(strstr(hf_error_message(error), "was cut short while the store was open"));
    hf_error_free(error);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        SQLITE_ONLY(what_a_call_has_opened_is_free_when_it_returns),
        SQLITE_ONLY(backup_takes_one_state_while_others_write),
        SQLITE_ONLY(backup_that_is_given_up_leaves_nothing_behind),
        SQLITE_ONLY(a_slow_backup_or_verifying_does_not_let_the_log_grow),
        SQLITE_ONLY(backup_refuses_what_it_would_overwrite_and_where_it_cannot_write),
        ONCE(memory_has_nothing_to_back_up_or_compact),
        SQLITE_ONLY(restore_makes_a_store_of_a_backup),
        SQLITE_ONLY(restore_keeps_what_is_there_until_the_copy_is_sound),
        SQLITE_ONLY(a_store_that_another_program_has_open_is_not_replaced),
        EACH_ENGINE(verify_finds_nothing_wrong_with_a_sound_store),
        SQLITE_ONLY(verify_finds_entries_of_an_index_that_are_as_many_as_they_should_be_and_wrong),
        SQLITE_ONLY(compacting_gives_space_back_and_loses_nothing),
        SQLITE_ONLY(a_file_that_is_cut_short_is_noticed_after_it_was_compacted_too),
    };
    return run_scenarios("maintenance", scenarios, COUNT_OF(scenarios));
}
