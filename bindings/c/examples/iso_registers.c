/*
 * The ISO registers of countries, subdivisions, languages, currencies and scripts, kept in a Holdfast store:
 * a tour of the C API on the 13,000 entities of Debian's package iso-codes.
 *
 *   cc iso_registers.c $(pkg-config --cflags --libs holdfast jansson) -o iso_registers && ./iso_registers
 *
 * The example reads the registers' files with jansson; the library itself takes and gives plain bytes.
 */
#include <holdfast.h>

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES "/usr/share/iso-codes/json/"

/* A register: the file it comes from, its name there, and the member that serves as the id. */
static const struct iso_register {
    const char *repository, *file, *name, *options;
} registers[] = {
    {"countries", FILES "iso_3166-1.json", "3166-1", "{\"key\": \"alpha_2\"}"},
    {"subdivisions", FILES "iso_3166-2.json", "3166-2", "{\"key\": \"code\"}"},
    {"languages", FILES "iso_639-3.json", "639-3", "{\"key\": \"alpha_3\"}"},
    {"currencies", FILES "iso_4217.json", "4217", "{\"key\": \"alpha_3\"}"},
    {"scripts", FILES "iso_15924.json", "15924", "{\"key\": \"alpha_4\"}"},
};
enum { REGISTERS = sizeof registers / sizeof registers[0], CHUNK = 1000, LOAD = 5000 };

/* Ends the program if the call, which gets &error as its last argument, does not answer as expected. */
#define EXPECT(expected, call)                                                                               \
    do {                                                                                                     \
        hf_error *error = NULL;                                                                              \
        hf_status status = (call);                                                                           \
        if (status != (expected)) {                                                                          \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, hf_status_name(status), hf_error_message(error)); \
            exit(1);                                                                                         \
        }                                                                                                    \
        hf_error_free(error);                                                                                \
    } while (0)
#define OK(call) EXPECT(HF_OK, call)

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static hf_repository *open_repository(hf_store *store, const char *name, const char *options) {
    hf_repository *repository = NULL;
    OK(hf_repository_open(store, name, options, &repository, &error));
    return repository;
}

static uint64_t count(hf_repository *repository, const char *filter) {
    uint64_t result = 0;
    OK(hf_repository_count(repository, NULL, filter, HF_NTS, NULL, &result, &error));
    return result;
}

/* --- Import: a register is one transaction, so a reader sees all of it or nothing -------------------------
 */

static size_t import_register(hf_store *store, const struct iso_register *r) {
    json_t *file = json_load_file(r->file, 0, NULL);
    if (file == NULL) {
        fprintf(stderr, "%s cannot be read; install the package iso-codes\n", r->file);
        exit(1);
    }
    json_t *entries = json_object_get(file, r->name);
    size_t total = json_array_size(entries);
    hf_repository *repository = open_repository(store, r->repository, r->options);
    hf_transaction *transaction = NULL;
    OK(hf_transaction_begin(store, NULL, &transaction, &error));

    for (size_t first = 0; first < total; first += CHUNK) {
        json_t *chunk = json_array();
        for (size_t i = first; i < total && i < first + CHUNK; i++) {
            json_array_append(chunk, json_array_get(entries, i));
        }
        char *text = json_dumps(chunk, JSON_COMPACT);
        OK(hf_repository_add_many(repository, transaction, text, HF_NTS, NULL, &error));
        printf("  %-12s %5zu of %zu\n", r->repository, first + json_array_size(chunk), total);
        free(text);
        json_decref(chunk);
    }

    OK(hf_transaction_commit(transaction, NULL, &error));
    CHECK(count(repository, NULL) == total);
    hf_transaction_free(transaction);
    hf_repository_free(repository);
    json_decref(file);
    return total;
}

/* --- Read and update ------------------------------------------------------------------------------------ */

static void read_and_update(hf_store *store) {
    hf_repository *countries = open_repository(store, "countries", NULL);
    hf_repository *languages = open_repository(store, "languages", NULL);
    hf_entity country = HF_ENTITY_INIT;

    OK(hf_repository_fetch(countries, NULL, "IS", HF_NTS, &country, &error));
    printf("  %s\n", country.data);
    uint64_t version = country.version;

    /* A patch changes one member and keeps the bytes of all others. */
    OK(hf_repository_patch(countries, NULL, "IS", HF_NTS, "{\"capital\":\"Reykjavík\"}", HF_NTS, version,
                           &country, &error));
    printf("  %s\n", country.data);
    CHECK(strstr(country.data, "Reykjavík") != NULL);

    /* Whoever still thinks of the old version is told so. */
    EXPECT(HF_VERSION_MISMATCH, hf_repository_delete(countries, NULL, "IS", HF_NTS, version, &error));

    hf_entity_list living = HF_ENTITY_LIST_INIT;
    OK(hf_repository_find(languages, NULL, "{\"type\": \"C\"}", HF_NTS, "{\"limit\": 3}", &living, &error));
    printf("  %llu constructed languages, the first of them %s\n",
           (unsigned long long)count(languages, "{\"type\": \"C\"}"), living.json);
    CHECK(living.count == 3);

    hf_entity_list_free(&living);
    hf_entity_free(&country);
    hf_repository_free(languages);
    hf_repository_free(countries);
}

/* --- A transaction refused: what it read was changed meanwhile
 * ---------------------------------------------- */

static void be_refused(hf_store *store) {
    hf_repository *currencies = open_repository(store, "currencies", NULL);
    hf_transaction *transaction = NULL;
    hf_entity before = HF_ENTITY_INIT, after = HF_ENTITY_INIT;
    hf_error *refusal = NULL;
    uint64_t total = count(currencies, NULL);

    OK(hf_transaction_begin(store, NULL, &transaction, &error));
    OK(hf_repository_fetch(currencies, transaction, "ISK", HF_NTS, &before, &error));
    OK(hf_repository_delete(currencies, transaction, "ISK", HF_NTS, 0, &error));
    OK(hf_repository_add(currencies, transaction, "{\"alpha_3\":\"XIK\"}", HF_NTS, NULL, &error));
    /* Somebody else is quicker. */
    OK(hf_repository_patch(currencies, NULL, "ISK", HF_NTS, "{\"digits\":0}", HF_NTS, 0, &before, &error));

    CHECK(hf_transaction_commit(transaction, NULL, &refusal) == HF_CONFLICT);
    printf("  %s\n  %s\n", hf_error_message(refusal), hf_error_detail(refusal, NULL));
    CHECK(hf_error_is_retryable(refusal));

    OK(hf_repository_fetch(currencies, NULL, "ISK", HF_NTS, &after, &error));
    CHECK(strcmp(before.data, after.data) == 0 && before.version == after.version);
    CHECK(count(currencies, NULL) == total);

    hf_error_free(refusal);
    hf_entity_free(&before);
    hf_entity_free(&after);
    hf_transaction_free(transaction);
    hf_repository_free(currencies);
}

/* --- Thousands of commits on their way at once, a callback for each ----------------------------------------
 */

typedef struct progress {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int completed, failed;
    uint64_t last_sequence;
} progress;

/* Runs on the store's callback thread; the commit is durable by now, and events come in commit order. */
static void on_done(const hf_event *event, void *user_data) {
    progress *p = user_data;
    pthread_mutex_lock(&p->lock);
    p->completed++;
    p->failed += event->status != HF_OK || event->sequence <= p->last_sequence;
    p->last_sequence = event->sequence;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void submit_visit(hf_store *store, hf_repository *visits, uint32_t number, hf_event_fn callback,
                         void *user_data) {
    hf_transaction *transaction = NULL;
    char json[64];
    snprintf(json, sizeof json, "{\"id\": %u, \"place\": \"IS-%u\"}", number, number % 9);
    OK(hf_transaction_begin(store, NULL, &transaction, &error));
    OK(hf_repository_save(visits, transaction, json, HF_NTS, NULL, &error));
    OK(hf_transaction_submit(transaction, callback, user_data, NULL, &error));
    hf_transaction_free(transaction); /* the commit goes on */
}

static void commit_thousands(hf_store *store) {
    hf_repository *visits = open_repository(store, "visits", NULL);
    progress p = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    for (uint32_t number = 0; number < LOAD; number++) {
        submit_visit(store, visits, number, on_done, &p);
    }
    pthread_mutex_lock(&p.lock);
    printf("  all are submitted, %d have completed\n", p.completed);
    while (p.completed < LOAD) {
        pthread_cond_wait(&p.changed, &p.lock);
    }
    pthread_mutex_unlock(&p.lock);
    printf("  %d completed in commit order, %d failed\n", p.completed, p.failed);
    CHECK(p.failed == 0 && count(visits, NULL) == LOAD);
    hf_repository_free(visits);
}

/* --- kill -9 in the middle ------------------------------------------------------------------------------ */

/* The child tells each acknowledged commit to its parent, through standard output. */
static void acknowledge(const hf_event *event, void *user_data) {
    uint32_t number = (uint32_t)(uintptr_t)user_data;
    if (event->status != HF_OK || write(STDOUT_FILENO, &number, sizeof number) != sizeof number) {
        _exit(1);
    }
}

static int write_until_killed(const char *path) {
    hf_store *store = NULL;
    OK(hf_store_open(path, NULL, &store, &error));
    hf_repository *visits = open_repository(store, "visits", NULL);
    for (uint32_t number = LOAD;; number++) {
        submit_visit(store, visits, number, acknowledge, (void *)(uintptr_t)number);
    }
}

static void kill_a_writer(const char *program, const char *path) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "write", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);

    uint32_t *acknowledged = NULL, number;
    size_t n = 0, room = 0;
    while (read(ends[0], &number, sizeof number) == sizeof number) {
        if (n == room) {
            acknowledged = realloc(acknowledged, (room += 10000) * sizeof number);
            CHECK(acknowledged != NULL);
        }
        acknowledged[n++] = number;
        if (n == 2 * LOAD) {
            kill(child, SIGKILL); /* what it had acknowledged until then is still in the pipe */
        }
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    hf_store *store = NULL;
    OK(hf_store_open(path, NULL, &store, &error));
    hf_repository *visits = open_repository(store, "visits", NULL);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        char id[16];
        bool contains = false;
        int length = snprintf(id, sizeof id, "%u", acknowledged[i]);
        OK(hf_repository_contains(visits, NULL, id, (size_t)length, &contains, &error));
        found += contains;
    }
    printf("  %zu commits were acknowledged before the kill, %zu of them are there\n", n, found);
    CHECK(n >= 2 * LOAD && found == n);
    free(acknowledged);
    hf_repository_free(visits);
    hf_store_free(store);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "write") == 0) {
        return write_until_killed(argv[2]);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    OK(hf_version_select(HF_API_VERSION, &error));
    printf("Holdfast %s\n", hf_version_text());

    char directory[] = "/tmp/iso-registers-XXXXXX", path[64];
    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/registers.db", directory);
    hf_store *store = NULL;
    OK(hf_store_open(path, NULL, &store, &error));

    printf("Importing into %s\n", path);
    size_t total = 0;
    for (size_t i = 0; i < REGISTERS; i++) {
        total += import_register(store, &registers[i]);
    }
    printf("  %zu entities\n", total);
    CHECK(total > 13000);

    puts("Reading and updating");
    read_and_update(store);
    puts("A transaction that comes too late is refused, and nothing has changed");
    be_refused(store);
    puts("Thousands of commits at once");
    commit_thousands(store);
    OK(hf_store_close(store, -1, &error));
    hf_store_free(store);

    puts("A writer is killed");
    kill_a_writer("/proc/self/exe", path);

    CHECK(hf_handle_count(NULL) == 0);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK(system(command) == 0);
    puts("Done");
    return 0;
}
