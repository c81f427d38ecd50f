/* Export and import of JSON Lines, and import of tables. */
#include "support.h"

/* Text in memory that an export is written to, and an import reads from in uneven pieces. */
typedef struct text {
    char *bytes;
    size_t length, read;
    size_t fails_behind;
    hf_repository *writes_to;
} text;

static hf_status take(const char *bytes, size_t length, void *user_data, hf_error **out_error) {
    (void)out_error;
    text *t = user_data;
    t->bytes = realloc(t->bytes, t->length + length + 1);
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    t->bytes[t->length] = 0;
    if (t->writes_to != NULL)
        save(t->writes_to, NULL, "{\"id\":\"late\"}");
    return t->fails_behind > 0 && t->length > t->fails_behind ? HF_FULL : HF_OK;
}

static int64_t give(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    text *t = user_data;
    size_t length = t->length - t->read;
    length = length < 1000 ? length : 1000;
    length = length < capacity ? length : capacity;
    if (t->fails_behind > 0 && t->read > t->fails_behind)
        return -1;
    memcpy(buffer, t->bytes + t->read, length);
    t->read += length;
    return (int64_t)length;
}

static text export_of(hf_store *store, const char *options) {
    text t = {0};
    expect_ok(hf_store_export, store, options, take, NULL, &t, NULL);
    return t;
}

static text lines(const char *bytes) {
    text t = {.bytes = strdup(bytes), .length = strlen(bytes)};
    return t;
}

/* Two repositories whose names begin alike, an index, several commits. */
static void fill(hf_store *store) {
    hf_repository *a = NULL, *b = NULL;
    expect_ok(hf_repository_open, store, "app", "{\"key\":\"name\"}", &a);
    expect_ok(hf_repository_open, store, "app2", NULL, &b);
    hf_transaction *t = begin(store, NULL);
    for (int i = 0; i < 5000; i++) {
        char json[200];
        snprintf(json, sizeof json, "{\"name\":\"n%04d\",\n \"text\":\"%0100d\"}", i, i);
        save(a, t, json);
    }
    commit_quietly(t);
    for (int i = 0; i < 50; i++) {
        char json[100];
        snprintf(json, sizeof json, "{\"id\":%d,\"é\":\"\\n\\u00e9\",\"n\":%d}", i, i % 7);
        save(b, NULL, json);
    }
    expect_ok(hf_repository_create_index, b, "{\"fields\":{\"n\":1}}", NULL, NULL);
    hf_repository_free(a);
    hf_repository_free(b);
}

static void what_is_exported_is_imported_with_ids_and_versions(fixture *f) {
    hf_store *store = open_store(f, NULL), *other = open_store_at("memory:", NULL);
    fill(store);
    text t = export_of(store, NULL);
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_import, other, NULL, give, NULL, &t, &report);
    assert_string_equal(report.data, "{\"entities\":5050,\"stored\":5050,\"skipped\":0}");
    hf_buffer_free(&report);
    text again = export_of(other, NULL);
    /* Behind the first line, which names the state. */
    assert_string_equal(strchr(t.bytes, '\n'), strchr(again.bytes, '\n'));
    hf_repository *b = open_repository(other, "app2"), *original = open_repository(store, "app2");
    assert_int_equal(version_of(b, NULL, "7"), version_of(original, NULL, "7"));
    hf_buffer indexes = HF_BUFFER_INIT;
    expect_ok(hf_repository_indexes, b, &indexes);
    assert_non_null(strstr(indexes.data, "\"n\""));
    hf_buffer_free(&indexes);
    /* What comes later is greater than all that was imported. */
    uint64_t greatest = version_of(b, NULL, "49");
    save(b, NULL, "{\"id\":1}");
    assert_true(version_of(b, NULL, "1") > greatest);
    hf_repository_free(b);
    hf_repository_free(original);
    free(t.bytes);
    free(again.bytes);
    hf_store_free(store);
    hf_store_free(other);
}

static void an_export_shows_one_state_while_others_write(fixture *f) {
    hf_store *store = open_store(f, NULL);
    fill(store);
    hf_repository *b = open_repository(store, "app2");
    text t = {.writes_to = b};
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_export, store, NULL, take, NULL, &t, &report);
    assert_null(strstr(t.bytes, "late"));
    assert_non_null(strstr(report.data, "\"entities\":5050"));
    hf_buffer_free(&report);
    free(t.bytes);
    hf_repository_free(b);
    hf_store_free(store);
}

static void an_export_that_was_cut_short_is_gone_on_with(fixture *f) {
    hf_store *store = open_store(f, NULL);
    fill(store);
    text whole = export_of(store, NULL);
    text part = {.fails_behind = 1000};
    expect(HF_FULL, hf_store_export, store, NULL, take, NULL, &part, NULL);
    assert_true(part.length < whole.length);
    /* The last line that arrived as a whole tells where. */
    char *last = part.bytes + part.length - 1;
    while (last > part.bytes && last[-1] != '\n')
        last--;
    json_t *line = json_loads(last, 0, NULL);
    json_t *described = describe(store);
    char options[200];
    snprintf(options, sizeof options, "{\"after\":{\"sequence\":%d,\"repository\":\"%s\",\"id\":\"%s\"}}",
             (int)json_integer_value(json_object_get(described, "sequence")),
             json_string_value(json_object_get(line, "repository")),
             json_string_value(json_object_get(line, "id")));
    json_decref(line), json_decref(described);
    part.fails_behind = 0;
    expect_ok(hf_store_export, store, options, take, NULL, &part, NULL);
    assert_string_equal(part.bytes, whole.bytes);
    hf_store *other = open_store_at("memory:", NULL);
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_import, other, NULL, give, NULL, &part, &report);
    assert_string_equal(report.data, "{\"entities\":5050,\"stored\":5050,\"skipped\":0}");
    hf_buffer_free(&report);
    hf_store_free(other);
    static const char *strange[] = {"\"incarnation\":\"00000000000000000000000000000000\"",
                                    "\"repositories\":[\"app\"]",
                                    "\"repositories\":[\"app\",\"app2\",\"app3\"]"};
    for (size_t i = 0; i < COUNT_OF(strange); i++) {
        char mistaken[300];
        snprintf(mistaken, sizeof mistaken, "{\"after\":{%s,%s", strange[i],
                 options + strlen("{\"after\":{"));
        expect(HF_CONFLICT, hf_store_export, store, mistaken, take, NULL, &part, NULL);
    }
    hf_repository *b = open_repository(store, "app2");
    save(b, NULL, "{\"id\":\"x\"}");
    expect(HF_CONFLICT, hf_store_export, store, options, take, NULL, &part, NULL);
    hf_repository_free(b);
    free(whole.bytes);
    free(part.bytes);
    hf_store_free(store);
}

static void an_import_that_was_cut_short_is_gone_on_with(fixture *f) {
    hf_store *store = open_store_at("memory:", NULL), *other = open_store(f, NULL);
    fill(store);
    text t = export_of(store, NULL);
    t.fails_behind = 300000;
    const char *options = "{\"resume\":\"load\"}";
    expect(HF_HOST_ERROR, hf_store_import, other, options, give, NULL, &t, NULL);
    hf_repository *a = NULL;
    expect_ok(hf_repository_open, other, "app", NULL, &a);
    uint64_t stored = 0;
    expect_ok(hf_repository_count, a, NULL, NULL, 0, NULL, &stored);
    assert_in_range(stored, 1000, 4999);
    t.fails_behind = t.read = 0;
    /* Without the name it meets what is there. */
    expect(HF_EXISTS, hf_store_import, other, NULL, give, NULL, &t, NULL);
    t.read = 0;
    hf_error *error = NULL;
    hf_status status = hf_store_import(other, options, give, NULL, &t, NULL, &error);
    assert_string_equal(error == NULL ? "" : hf_error_message(error), "");
    assert_int_equal(status, HF_OK);
    expect_count(a, NULL, NULL, 5000);
    t.read = 0;
    expect_ok(hf_store_import, other, options, give, NULL, &t, NULL);
    hf_repository_free(a);
    free(t.bytes);
    hf_store_free(store);
    hf_store_free(other);
}

static void what_is_there_is_refused_replaced_or_left(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    const char *both = "{\"id\":\"a\",\"n\":2}\n\r\n{\"id\":\"b\",\"n\":2}";
    text t = lines(both);
    hf_buffer report = HF_BUFFER_INIT;
    expect(HF_EXISTS, hf_store_import, r.store, "{\"repository\":\"things\"}", give, NULL, &t, NULL);
    expect_absent(r.things, NULL, "b");
    t.read = 0;
    expect_ok(hf_store_import, r.store, "{\"repository\":\"things\",\"existing\":\"skip\"}", give, NULL, &t,
              &report);
    assert_string_equal(report.data, "{\"entities\":2,\"stored\":1,\"skipped\":1}");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    expect_entity(r.things, NULL, "b", "{\"id\":\"b\",\"n\":2}");
    text twice = lines("{\"id\":\"c\",\"n\":1}\n{\"id\":\"c\",\"n\":2}");
    expect_ok(hf_store_import, r.store, "{\"repository\":\"things\",\"existing\":\"skip\"}", give, NULL,
              &twice, NULL);
    expect_entity(r.things, NULL, "c", "{\"id\":\"c\",\"n\":1}");
    free(twice.bytes);
    t.read = 0;
    expect_ok(hf_store_import, r.store, "{\"repository\":\"things\",\"existing\":\"replace\"}", give, NULL,
              &t, NULL);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":2}");
    hf_buffer_free(&report);
    free(t.bytes);
}

/* Hand over what a call of theirs has failed with. */
static hf_status take_nothing(const char *bytes, size_t length, void *store, hf_error **out_error) {
    (void)bytes, (void)length;
    hf_status status = hf_transaction_begin(store, NULL, NULL, out_error);
    return status == HF_INVALID_ARGUMENT ? HF_FULL : status;
}

static int64_t give_nothing(char *buffer, size_t capacity, void *store, hf_error **out_error) {
    (void)buffer, (void)capacity;
    return hf_transaction_begin(store, NULL, NULL, out_error) == HF_OK ? 0 : -1;
}

static void what_a_function_of_the_host_has_failed_with_is_what_its_caller_is_told(room r) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_error *errors[] = {
        error_of(HF_FULL, hf_store_export, r.store, NULL, take_nothing, NULL, r.store, NULL),
        error_of(HF_INVALID_ARGUMENT, hf_store_import, r.store, "{\"repository\":\"things\"}", give_nothing,
                 NULL, r.store, NULL),
    };
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        assert_non_null(strstr(hf_error_message(errors[i]), "out_transaction is NULL"));
        hf_error_free(errors[i]);
    }
}

/* Hands over a line at a time. The entity is changed once the first line was read. */
static int64_t give_beside_a_change(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    text *t = user_data;
    if (t->read > 0 && t->writes_to != NULL) {
        save(t->writes_to, NULL, "{\"id\":\"a\",\"n\":-1}");
        t->writes_to = NULL;
    }
    size_t length = t->read < t->length ? strcspn(t->bytes + t->read, "\n") + 1 : 0;
    assert_true(length <= capacity);
    memcpy(buffer, t->bytes + t->read, length);
    t->read += length;
    return (int64_t)length;
}

static void what_replaces_an_entity_has_a_greater_version(fixture *f) {
    hf_store *source = open_store_at("memory:", NULL);
    hf_repository *things = open_repository(source, "things");
    for (int n = 0; n < 20; n++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"a\",\"n\":%d}", n);
        save(things, NULL, json);
    }
    room r = open_room(f, NULL);
    text t = export_of(source, NULL);
    t.writes_to = r.things;
    expect_ok(hf_store_import, r.store, "{\"existing\":\"replace\"}", give_beside_a_change, NULL, &t, NULL);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":19}");
    /* The change came behind all that was exported, and the import behind the change. */
    assert_true(version_of(r.things, NULL, "a") > version_of(things, NULL, "a") + 1);
    free(t.bytes);
    close_room(r);
    hf_repository_free(things);
    hf_store_free(source);
}

static void an_import_that_leaves_out_what_is_there_tells_the_line_of_what_it_cannot_store(room r) {
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1},\"unique\":true}", NULL, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":2}");
    text t = lines("{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n{\"id\":\"c\",\"n\":2}");
    hf_error *error = error_of(HF_UNIQUE_VIOLATION, hf_store_import, r.store,
                               "{\"repository\":\"things\",\"existing\":\"skip\"}", give, NULL, &t, NULL);
    expect_detail(error, "line", "4");
    free(t.bytes);
}

static void lines_that_only_look_like_an_exports_are_entities(room r) {
    hf_repository *songs = open_repository(r.store, "songs");
    save(songs, NULL, "{\"id\":\"s1\",\"plays\":1}");
    text t = lines("{\"id\":\"x\",\"repository\":\"songs\",\"entity\":{\"id\":\"s1\",\"plays\":99}}\n \t\r\n"
                   "{\"id\":\"y\",\"end\":true,\"entities\":7}\n");
    expect_ok(hf_store_import, r.store, "{\"repository\":\"things\",\"existing\":\"replace\"}", give, NULL,
              &t, NULL);
    expect_entity(songs, NULL, "s1", "{\"id\":\"s1\",\"plays\":1}");
    expect_entity(r.things, NULL, "x",
                  "{\"id\":\"x\",\"repository\":\"songs\",\"entity\":{\"id\":\"s1\",\"plays\":99}}");
    expect_entity(r.things, NULL, "y", "{\"id\":\"y\",\"end\":true,\"entities\":7}");
    free(t.bytes);
    hf_repository_free(songs);
}

#define EXPORT "{\"holdfast_export\":1,\"sequence\":4,\"repositories\":[]}\n"

static void mistakes_in_the_lines_are_told_with_their_place(fixture *f) {
    static const struct {
        const char *text;
        hf_status status;
        const char *line;
    } mistakes[] = {
        {"{\"id\":\"a\"}\n{\"id\":", HF_INVALID_JSON, "2"},
        {"{\"id\":\"a\"}\n[]\n", HF_INVALID_ENTITY, "2"},
        {"{\"id\":\"a\"}\n\n{\"id\":\"\"}\n", HF_INVALID_ID, "3"},
        {EXPORT "{\"repository\":\"no such/name\",\"entity\":{\"id\":\"a\"}}", HF_INVALID_NAME, "2"},
        {EXPORT "{\"repository\":\"things\",\"id\":\"b\",\"entity\":{\"id\":\"a\"}}", HF_INVALID_ID, "2"},
        {EXPORT "{\"repository\":\"things\",\"id\":\"b\",\"entity\":{\"n\":1}}", HF_INVALID_ID, "2"},
        {EXPORT "{\"repository\":\"things\",\"id\":null,\"entity\":{\"id\":\"a\"}}", HF_INVALID_ID, "2"},
        {EXPORT "{\"id\":\"a\"}\n{\"end\":true,\"entities\":0}\n", HF_INVALID_JSON, "2"},
        {"{\"id\":\"a\"}\n\x01\x02\n{\"id\":\"b\"}", HF_INVALID_JSON, "2"},
        {"{\"id\":\"a\"}\n\x1f", HF_INVALID_JSON, "2"},
        {"{\"holdfast_export\":1,\"sequence\":4,\"repositories\":[]}\n", HF_INVALID_JSON, "2"},
        {"{\"holdfast_export\":1,\"sequence\":4,\"repositories\":[]}\n{\"end\":true,\"entities\":1}\n",
         HF_INVALID_JSON, "2"},
        {"{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n{\"id\":\"a\"}", HF_EXISTS, "4"},
        {EXPORT "{\"end\":true,\"entities\":0}\n{\"id\":\"a\"}", HF_INVALID_JSON, "3"},
    };
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        room r = open_room(f, NULL);
        text t = lines(mistakes[i].text);
        hf_error *error = error_of(mistakes[i].status, hf_store_import, r.store,
                                   "{\"repository\":\"things\"}", give, NULL, &t, NULL);
        expect_detail(error, "line", mistakes[i].line);
        free(t.bytes);
        close_room(r);
    }
    room r = open_room(f, NULL);
    text t = lines("{\"id\":\"a\"}");
    expect(HF_INVALID_OPTION, hf_store_import, r.store, NULL, give, NULL, &t, NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_import, r.store, NULL, NULL, NULL, NULL, NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_export, r.store, NULL, NULL, NULL, NULL, NULL);
    expect(HF_NOT_FOUND, hf_store_export, r.store, "{\"repositories\":[\"none\"]}", take, NULL, &t, NULL);
    free(t.bytes);
    close_room(r);
}

static void a_transaction_sees_nothing_of_an_import_that_came_after_it(fixture *f) {
    hf_store *store = open_store(f, NULL), *source = open_store_at("memory:", NULL);
    fill(source);
    text t = export_of(source, "{\"repositories\":[\"app2\"]}");
    hf_repository *b = open_repository(store, "app2");
    save(b, NULL, "{\"id\":\"own\"}");
    hf_transaction *reader = begin(store, NULL);
    expect_absent(b, reader, "48");
    expect_ok(hf_store_import, store, NULL, give, NULL, &t, NULL);
    expect_entity(b, NULL, "48", "{\"id\":48,\"é\":\"\\n\\u00e9\",\"n\":6}");
    expect_entity(b, NULL, "48", "{\"id\":48,\"é\":\"\\n\\u00e9\",\"n\":6}");
    expect_absent(b, reader, "48");
    expect_count(b, reader, NULL, 1);
    save(b, reader, "{\"id\":\"own2\"}");
    expect(HF_CONFLICT, hf_transaction_commit, reader, NULL);
    hf_transaction_free(reader);
    hf_repository_free(b);
    free(t.bytes);
    hf_store_free(store);
    hf_store_free(source);
}

/* A transaction that begins in the middle of an import. */
typedef struct latecomer {
    text lines; /* first, for `give` */
    hf_store *store;
    hf_repository *app2;
    hf_transaction *reader;
} latecomer;

static bool begin_once(uint64_t done, uint64_t total, void *user_data) {
    latecomer *l = user_data;
    (void)done, (void)total;
    if (l->reader == NULL) {
        l->reader = begin(l->store, NULL);
        expect_absent(l->app2, l->reader, "48");
    }
    return true;
}

/* The version of what is imported is smaller than the state that the transaction sees. */
static void what_keeps_its_version_is_not_taken_for_older_than_it_is(fixture *f) {
    hf_store *store = open_store(f, NULL), *source = open_store_at("memory:", NULL);
    fill(source);
    latecomer l = {.lines = export_of(source, NULL), .store = store, .app2 = open_repository(store, "app2")};
    expect_ok(hf_store_import, store, NULL, give, begin_once, &l, NULL);
    hf_entity entity = HF_ENTITY_INIT;
    for (int i = 0; i < 2; i++)
        expect_ok(hf_repository_fetch, l.app2, NULL, "48", HF_NTS, &entity);
    hf_entity_free(&entity);
    expect_absent(l.app2, l.reader, "48");
    hf_transaction_free(l.reader);
    hf_repository_free(l.app2);
    free(l.lines.bytes);
    hf_store_free(store);
    hf_store_free(source);
}

/* A table in another SQLite file, made with the sqlite3 program. */
static void make_table(char *path, size_t size, const fixture *f) {
    snprintf(path, size, "%s/other.db", f->directory);
    char command[1200];
    snprintf(
        command, sizeof command,
        "sqlite3 '%s' \"CREATE TABLE people (number INTEGER PRIMARY KEY, name TEXT, height REAL, photo BLOB,"
        " tags TEXT); INSERT INTO people VALUES (1,'Ann',1.75,x'00ff10','[1,2]'),"
        " (2,'Bob',NULL,NULL,'{}'); CREATE VIEW names AS SELECT name FROM people;"
        " CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID; INSERT INTO pairs VALUES (1, "
        "9e999);\"",
        path);
    assert_int_equal(system(command), 0);
}

static void tables_of_other_files_become_entities(fixture *f) {
    char path[160];
    make_table(path, sizeof path, f);
    hf_store *store = open_store(f, NULL);
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_import_table, store, path, "people", "{\"json\":[\"tags\"]}", NULL, NULL, &report);
    assert_string_equal(report.data, "{\"entities\":2,\"stored\":2,\"skipped\":0}");
    hf_repository *people = open_repository(store, "people");
    expect_entity(
        people, NULL, "1",
        "{\"id\":1,\"number\":1,\"name\":\"Ann\",\"height\":1.75,\"photo\":\"AP8Q\",\"tags\":[1,2]}");
    expect_entity(people, NULL, "2",
                  "{\"id\":2,\"number\":2,\"name\":\"Bob\",\"height\":null,\"photo\":null,\"tags\":{}}");
    expect(HF_EXISTS, hf_store_import_table, store, path, "people", NULL, NULL, NULL, NULL);
    expect_ok(hf_store_import_table, store, path, "people", "{\"repository\":\"by_name\",\"id\":\"name\"}",
              NULL, NULL, NULL);
    hf_repository *by_name = open_repository(store, "by_name");
    expect_count(by_name, NULL, "{\"id\":\"Bob\"}", 1);
    expect_ok(hf_store_import_table, store, path, "names", NULL, NULL, NULL, NULL);
    hf_repository *names = open_repository(store, "names");
    expect_count(names, NULL, "{\"name\":\"Ann\"}", 1);
    expect_ok(hf_store_import_table, store, path, "pairs", NULL, NULL, NULL, NULL);
    hf_repository *pairs = open_repository(store, "pairs");
    expect_count(pairs, NULL, "{\"a\":1,\"b\":null}", 1);
    expect(HF_NOT_FOUND, hf_store_import_table, store, path, "none", NULL, NULL, NULL, NULL);
    hf_repository *none = NULL;
    expect(HF_NOT_FOUND, hf_repository_open, store, "none", "{\"create\":false}", &none);
    expect(HF_NOT_FOUND, hf_store_import_table, store, path, "people", "{\"id\":\"none\"}", NULL, NULL, NULL);
    expect(HF_NOT_A_STORE, hf_store_import_table, store, "/etc/passwd", "people", NULL, NULL, NULL, NULL);
    expect(HF_CANNOT_OPEN, hf_store_import_table, store, "/none", "people", NULL, NULL, NULL, NULL);
    hf_buffer_free(&report);
    hf_repository_free(people);
    hf_repository_free(by_name);
    hf_repository_free(names);
    hf_repository_free(pairs);
    hf_store_free(store);
}

static void generated_columns_are_imported_like_others(fixture *f) {
    char path[160];
    snprintf(path, sizeof path, "%s/other.db", f->directory);
    run_sqlite(path,
               "CREATE TABLE goods (double INTEGER GENERATED ALWAYS AS (price * 2), id TEXT, price INTEGER,"
               " half REAL GENERATED ALWAYS AS (price / 2.0) STORED, \"select\" TEXT);"
               "INSERT INTO goods (id, price, \"select\") VALUES ('a', 5, 'x');"
               "CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words VALUES ('hello');"
               "CREATE TABLE seats (RowID, x); INSERT INTO seats VALUES ('A', 1), ('A', 2);");
    hf_store *store = open_store(f, NULL);
    expect_ok(hf_store_import_table, store, path, "goods", NULL, NULL, NULL, NULL);
    hf_repository *goods = open_repository(store, "goods"), *words = NULL;
    expect_entity(goods, NULL, "a", "{\"id\":\"a\",\"double\":10,\"price\":5,\"half\":2.5,\"select\":\"x\"}");
    expect_ok(hf_store_import_table, store, path, "words", NULL, NULL, NULL, NULL);
    words = open_repository(store, "words");
    expect_entity(words, NULL, "1", "{\"id\":1,\"text\":\"hello\"}");
    // A column that is called so is not the row's number.
    expect_ok(hf_store_import_table, store, path, "seats", NULL, NULL, NULL, NULL);
    hf_repository *seats = open_repository(store, "seats");
    expect_entity(seats, NULL, "2", "{\"id\":2,\"RowID\":\"A\",\"x\":2}");
    hf_repository_free(seats);
    hf_repository_free(goods);
    hf_repository_free(words);
    hf_store_free(store);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(what_a_function_of_the_host_has_failed_with_is_what_its_caller_is_told),
        EACH_ENGINE(what_is_exported_is_imported_with_ids_and_versions),
        EACH_ENGINE(an_export_shows_one_state_while_others_write),
        EACH_ENGINE(an_export_that_was_cut_short_is_gone_on_with),
        EACH_ENGINE(an_import_that_was_cut_short_is_gone_on_with),
        EACH_ENGINE(what_is_there_is_refused_replaced_or_left),
        EACH_ENGINE(what_replaces_an_entity_has_a_greater_version),
        EACH_ENGINE(an_import_that_leaves_out_what_is_there_tells_the_line_of_what_it_cannot_store),
        EACH_ENGINE(lines_that_only_look_like_an_exports_are_entities),
        ONCE(mistakes_in_the_lines_are_told_with_their_place),
        EACH_ENGINE(a_transaction_sees_nothing_of_an_import_that_came_after_it),
        EACH_ENGINE(what_keeps_its_version_is_not_taken_for_older_than_it_is),
        EACH_ENGINE(tables_of_other_files_become_entities),
        EACH_ENGINE(generated_columns_are_imported_like_others),
    };
    return run_scenarios("transfer", scenarios, COUNT_OF(scenarios));
}
