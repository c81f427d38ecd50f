#include "support.h"

#include <dirent.h>
#include <signal.h>

/* The environment's name for the server to test on. */
#define SERVER "HOLDFAST_TEST_SERVER"

/* --- Scenarios ---------------------------------------------------------------------------------- */

enum { SECONDS_FOR_ONE_SCENARIO = 300 };

typedef struct instance {
    const scenario *scenario;
    fixture fixture;
    char name[160];
} instance;

static const char *running = "";

static void give_up(int signal) {
    (void)signal;
    static const char text[] = "HUNG: ";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, running, strlen(running)) < 0 || write(STDERR_FILENO, "\n", 1) < 0) {
        _exit(98);
    }
    _exit(99);
}

static void remove_directory(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char child[512];
            snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
            if (unlink(child) != 0) {
                remove_directory(child);
            }
        }
    }
    closedir(directory);
    rmdir(path);
}

void in_fixture(fixture *f, void (*scenario)(void)) { ((void (*)(fixture *))scenario)(f); }

void in_room(fixture *f, void (*scenario)(void)) {
    room r = open_room(f, NULL);
    ((void (*)(room))scenario)(r);
    close_room(r);
}

static void run_instance(void **state) {
    instance *i = *state;
    running = i->name;
    /* A place in memory makes syncs cheap, where they are many: see drawn_limits.mk. */
    const char *place = getenv("HOLDFAST_TEST_PLACE");
    snprintf(i->fixture.directory, sizeof i->fixture.directory, "%s/holdfast-test-XXXXXX",
             place ? place : "/tmp");
    assert_non_null(mkdtemp(i->fixture.directory));
    if (strcmp(i->fixture.engine, "memory") == 0) {
        strcpy(i->fixture.url, "memory:");
    } else if (strcmp(i->fixture.engine, "postgresql") == 0) {
        assert_in_range(snprintf(i->fixture.url, sizeof i->fixture.url, "%s?holdfast_store=%s",
                                 getenv(SERVER), i->fixture.directory),
                        1, sizeof i->fixture.url - 1);
    } else {
        snprintf(i->fixture.url, sizeof i->fixture.url, "%s/store.db", i->fixture.directory);
    }
    size_t before = hf_handle_count(NULL);
    alarm(SECONDS_FOR_ONE_SCENARIO);
    i->scenario->setting(&i->fixture, i->scenario->run);
    alarm(0);
    assert_int_equal(hf_handle_count(NULL), before);
}

static int tear_down(void **state) {
    instance *i = *state;
    alarm(0);
    remove_directory(i->fixture.directory);
    return 0;
}

int run_scenarios(const char *group, const scenario *scenarios, size_t count) {
    typedef struct {
        int engine;
        const char *name;
    } engine;
    static const engine here[] = {{ON_MEMORY, "memory"}, {ON_SQLITE, "sqlite"}},
                        there[] = {{ON_A_SERVER, "postgresql"}};
    const engine *engines = getenv(SERVER) == NULL ? here : there;
    size_t engine_count = getenv(SERVER) == NULL ? COUNT_OF(here) : COUNT_OF(there);

    signal(SIGALRM, give_up);
    instance *instances = calloc(count * engine_count, sizeof *instances);
    struct CMUnitTest *tests = calloc(count * engine_count, sizeof *tests);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t e = 0; e < engine_count; e++) {
            if ((scenarios[i].engines & engines[e].engine) != engines[e].engine) {
                continue;
            }
            instance *new = &instances[total];
            new->scenario = &scenarios[i];
            new->fixture.engine = engines[e].name;
            snprintf(new->name, sizeof new->name, "%s [%s]", scenarios[i].sentence, engines[e].name);
            tests[total] = (struct CMUnitTest){new->name, run_instance, NULL, tear_down, new};
            total++;
        }
    }
    int failures = _cmocka_run_group_tests(group, tests, total, NULL, NULL);
    free(instances);
    free(tests);
    return failures;
}

size_t rounds(size_t count) { return getenv(SERVER) == NULL ? count : count / 10; }

/* --- Factories ---------------------------------------------------------------------------------- */

hf_store *open_store(const fixture *f, const char *options) { return open_store_at(f->url, options); }

hf_store *open_store_at(const char *url, const char *options) {
    hf_store *store = NULL;
    expect_ok(hf_store_open, url, options, &store);
    assert_non_null(store);
    return store;
}

hf_repository *open_repository(hf_store *store, const char *name) {
    hf_repository *repository = NULL;
    expect_ok(hf_repository_open, store, name, NULL, &repository);
    assert_non_null(repository);
    return repository;
}

hf_transaction *begin(hf_store *store, const char *options) {
    hf_transaction *transaction = NULL;
    expect_ok(hf_transaction_begin, store, options, &transaction);
    assert_non_null(transaction);
    return transaction;
}

room open_room(const fixture *f, const char *options) {
    room r = {open_store(f, options), NULL};
    r.things = open_repository(r.store, "things");
    return r;
}

void close_room(room r) {
    hf_repository_free(r.things);
    hf_store_free(r.store);
}

/* --- Expectations ------------------------------------------------------------------------------- */

hf_error *check_outcome(const char *call, hf_status expected, hf_status actual, hf_error *error,
                        const char *file, int line) {
    if (actual != expected) {
        print_error("%s answered %s, expected %s: %s %s\n", call, hf_status_name(actual),
                    hf_status_name(expected), error ? hf_error_message(error) : "",
                    error ? hf_error_detail(error, NULL) : "");
        _fail(file, line);
    }
    if (expected == HF_OK) {
        _assert_true(error == NULL, "no error object on success", file, line);
        return NULL;
    }
    if (error == NULL) {
        print_error("%s answered %s without an error object\n", call, hf_status_name(actual));
        _fail(file, line);
    }
    _assert_int_equal(hf_error_status(error), expected, file, line);
    _assert_true(strlen(hf_error_message(error)) > 0, "the error has a message", file, line);
    for (const char *c = hf_error_message(error); *c != '\0'; c++) {
        _assert_true((unsigned char)*c >= 0x20 && *c != 0x7F, "the message is one line", file, line);
    }
    size_t length = 0;
    const char *detail = hf_error_detail(error, &length);
    json_t *parsed = json_loadb(detail, length, 0, NULL);
    if (!json_is_object(parsed) || detail[length] != '\0') {
        print_error("%s: the detail is no JSON object: %s\n", call, detail);
        _fail(file, line);
    }
    json_decref(parsed);
    return error;
}

void check_answer(const char *call, hf_status expected, hf_status actual, hf_error *error, const char *file,
                  int line) {
    if (actual != expected || error != NULL) {
        print_error("%s answered %s%s, expected %s without an error object\n", call, hf_status_name(actual),
                    error ? " with an error object" : "", hf_status_name(expected));
        _fail(file, line);
    }
}

void check_detail(hf_error *error, const char *name, const char *json, const char *file, int line) {
    json_t *detail = json_loads(hf_error_detail(error, NULL), 0, NULL);
    json_t *expected = json_loads(json, JSON_DECODE_ANY, NULL);
    assert_non_null(expected);
    if (!json_equal(json_object_get(detail, name), expected)) {
        print_error("detail %s, expected \"%s\": %s (%s)\n", hf_error_detail(error, NULL), name, json,
                    hf_error_message(error));
        _fail(file, line);
    }
    json_decref(expected);
    json_decref(detail);
    hf_error_free(error);
}

void check_entity(hf_repository *repository, hf_transaction *transaction, const char *id, const char *json,
                  const char *file, int line) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_status status = hf_repository_fetch(repository, transaction, id, HF_NTS, &entity, NULL);
    if (status != HF_OK) {
        print_error("fetch of %s answered %s\n", id, hf_status_name(status));
        _fail(file, line);
    }
    _assert_string_equal(entity.data, json, file, line);
    _assert_int_equal(entity.length, strlen(json), file, line);
    hf_entity_free(&entity);
}

/* --- Shorthands --------------------------------------------------------------------------------- */

void save(hf_repository *repository, hf_transaction *transaction, const char *json) {
    expect_ok(hf_repository_save, repository, transaction, json, HF_NTS, NULL);
}

void save_in_one(room r, int count, const char *format, int divisor) {
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < count; i++) {
        char json[128];
        snprintf(json, sizeof json, format, i, i % divisor);
        save(r.things, t, json);
    }
    commit_quietly(t);
}

uint64_t version_of(hf_repository *repository, hf_transaction *transaction, const char *id) {
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_fetch, repository, transaction, id, HF_NTS, &entity);
    uint64_t version = entity.version;
    hf_entity_free(&entity);
    return version;
}

int64_t integer_in(hf_repository *repository, hf_transaction *transaction, const char *id, const char *name) {
    hf_entity entity = HF_ENTITY_INIT;
    expect_ok(hf_repository_fetch, repository, transaction, id, HF_NTS, &entity);
    json_t *parsed = json_loadb(entity.data, entity.length, 0, NULL);
    assert_true(json_is_integer(json_object_get(parsed, name)));
    int64_t value = json_integer_value(json_object_get(parsed, name));
    json_decref(parsed);
    hf_entity_free(&entity);
    return value;
}

json_t *commit(hf_transaction *transaction) {
    hf_buffer receipt = HF_BUFFER_INIT;
    expect_ok(hf_transaction_commit, transaction, &receipt);
    json_t *parsed = json_loadb(receipt.data, receipt.length, 0, NULL);
    assert_true(json_is_object(parsed));
    assert_int_equal(receipt.data[receipt.length], '\0');
    hf_buffer_free(&receipt);
    hf_transaction_free(transaction);
    return parsed;
}

void commit_quietly(hf_transaction *transaction) { json_decref(commit(transaction)); }

json_t *describe(hf_store *store) {
    hf_buffer description = HF_BUFFER_INIT;
    expect_ok(hf_store_describe, store, &description);
    json_t *parsed = json_loadb(description.data, description.length, 0, NULL);
    assert_true(json_is_object(parsed));
    hf_buffer_free(&description);
    return parsed;
}

int64_t cache_number(hf_repository *repository, const char *name) {
    hf_buffer statistics = HF_BUFFER_INIT;
    expect_ok(hf_repository_cache_statistics, repository, &statistics);
    json_t *parsed = json_loadb(statistics.data, statistics.length, 0, NULL);
    json_t *number = json_object_get(parsed, name);
    assert_true(json_is_integer(number));
    int64_t value = json_integer_value(number);
    json_decref(parsed);
    hf_buffer_free(&statistics);
    return value;
}

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void run_sqlite(const char *path, const char *sql) {
    char command[512];
    snprintf(command, sizeof command, "sqlite3 -bail '%s' > /dev/null", path);
    FILE *shell = popen(command, "w");
    assert_non_null(shell);
    assert_true(fputs(sql, shell) >= 0);
    assert_int_equal(pclose(shell), 0);
}

void sleep_milliseconds(long milliseconds) {
    struct timespec span = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&span, &span) != 0 && errno == EINTR) {
    }
}

char *part_of(const char *json, size_t length, const char *path) {
    json_t *root = json_loadb(json, length, 0, NULL), *value = root;
    char copy[128], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *name = strtok_r(copy, ".", &rest); name != NULL; name = strtok_r(NULL, ".", &rest))
        value = json_object_get(value, name);
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(root);
    return text;
}

/* --- Writing beside the test --------------------------------------------------------------------- */

static void *write_on(void *opaque) {
    writer *w = opaque;
    for (int i = 0; !w->is_over; i++)
        w->write(w->things, i);
    return NULL;
}

void begin_writing(writer *w, hf_repository *things, void (*write)(hf_repository *things, int number)) {
    w->things = things;
    w->write = write;
    w->is_over = false;
    assert_int_equal(pthread_create(&w->thread, NULL, write_on, w), 0);
}

void end_writing(writer *w) {
    w->is_over = true;
    pthread_join(w->thread, NULL);
}

/* --- Outcomes of submitted commits ------------------------------------------------------------------- */

typedef struct ticket {
    recorder *recorder;
    size_t number;
    bool freed;
} ticket;

/* Tickets live as long as their recorder, so that one used after its destructor ran can be noticed. */
typedef struct owning_recorder {
    recorder base;
    ticket tickets[];
} owning_recorder;

recorder *new_recorder(size_t capacity) {
    owning_recorder *r = calloc(1, sizeof *r + capacity * sizeof *r->tickets);
    pthread_mutex_init(&r->base.lock, NULL);
    pthread_cond_init(&r->base.changed, NULL);
    r->base.capacity = capacity;
    r->base.outcomes = calloc(capacity, sizeof *r->base.outcomes);
    return &r->base;
}

void *new_ticket(recorder *r, size_t number) {
    assert_true(number < r->capacity);
    ticket *t = &((owning_recorder *)r)->tickets[number];
    *t = (ticket){r, number, false};
    return t;
}

void submit_numbered(hf_store *store, hf_repository *things, recorder *r, size_t number) {
    char json[64];
    hf_transaction *t = begin(store, NULL);
    snprintf(json, sizeof json, "{\"id\":%zu}", number);
    save(things, t, json);
    expect_ok(hf_transaction_submit, t, record_event, new_ticket(r, number), free_ticket);
    hf_transaction_free(t);
}

void record_event(const hf_event *event, void *user_data) {
    ticket *t = user_data;
    recorder *r = t->recorder;
    bool is_commit = event->kind == HF_EVENT_COMMIT;
    bool consistent = (is_commit || event->kind == HF_EVENT_END) && event->user_data == user_data &&
                      (event->status == HF_OK) == (event->error == NULL) &&
                      (!is_commit || (event->status == HF_OK) == (event->receipt.length > 0)) &&
                      (event->error == NULL || hf_error_status(event->error) == event->status);
    pthread_mutex_lock(&r->lock);
    if (t->freed || !consistent || r->count == r->capacity) {
        r->out_of_step++;
    } else {
        r->outcomes[r->count++] = (outcome){t->number, event->status, event->sequence};
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void free_ticket(void *user_data) {
    ticket *t = user_data;
    recorder *r = t->recorder;
    pthread_mutex_lock(&r->lock);
    if (t->freed) {
        r->out_of_step++;
    }
    t->freed = true;
    r->freed++;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void wait_for_freed(recorder *r, size_t count) {
    pthread_mutex_lock(&r->lock);
    while (r->freed < count) {
        pthread_cond_wait(&r->changed, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

void free_recorder(recorder *r) {
    assert_int_equal(r->out_of_step, 0);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r->outcomes);
    free(r);
}
