/*
 * Usage: forks <count>. Threads keep every kind of call under way while the main thread forks; every child
 * calls everything with the handles that it inherited, opens stores of its own and ends by exit or _exit.
 * No child may hang, whatever the parent's other threads held at the fork, and the parent loses nothing. So
 * many forks are made in one process, and before it, three in each of so many that have only just begun.
 */
#include "../ABI/every_function.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, SECONDS_FOR_A_CHILD = 300 };

static char directory[64];
static char file_url[96];
static atomic_int stop;
static atomic_int wrong;

static void expect(bool is_right, const char *sentence) {
    if (!is_right) {
        fprintf(stderr, "WRONG (process %d): %s\n", (int)getpid(), sentence);
        atomic_fetch_add(&wrong, 1);
    }
}

/* --- The parent's threads ----------------------------------------------------------------------- */

typedef struct place {
    hf_store *store;
    hf_repository *things;
} place;

/* In a file with a callback thread, in a file with an event queue, in memory. */
static place places[3];
static hf_error *inherited_error;
static hf_transaction *inherited_transaction;
static pthread_t threads[THREADS];

static place open_place(const char *url, const char *options) {
    place p = {NULL, NULL};
    expect(hf_store_open(url, options, &p.store, NULL) == HF_OK, "a store opens");
    expect(hf_repository_open(p.store, "things", NULL, &p.things, NULL) == HF_OK, "a repository opens");
    return p;
}

static void close_place(place p) {
    hf_repository_free(p.things);
    hf_store_free(p.store);
}

/* The highest number that each thread's saves into the file were acknowledged for. */
static int acknowledged[THREADS];

static void save_numbered(int thread) {
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"%d-%d\"}", thread, acknowledged[thread] + 1);
    if (hf_repository_save(places[0].things, NULL, json, HF_NTS, NULL, NULL) == HF_OK)
        acknowledged[thread]++;
    else
        expect(false, "the parent's save is stored");
}

static void count_call(const hf_event *event, void *count) {
    (void)event;
    atomic_fetch_add((atomic_int *)count, 1);
}
static atomic_int destroyed;
static void count_destruction(void *count) {
    (void)count;
    atomic_fetch_add(&destroyed, 1);
}

static void log_nothing(hf_log_level level, const char *message, const char *fields, void *user_data) {
    (void)level, (void)message, (void)fields, (void)user_data;
}

static void open_and_close_another(int thread) {
    char url[128];
    snprintf(url, sizeof url, "%s/other-%d.db", directory, thread);
    close_place(open_place(url, "{\"durability\":\"relaxed\"}"));
}

/* A pattern that nobody has met before is compiled. */
static void find_by_new_pattern(place p) {
    static atomic_int patterns;
    char filter[64];
    snprintf(filter, sizeof filter, "{\"id\":{\"$regex\":\"^(a|%d)+$\"}}", atomic_fetch_add(&patterns, 1));
    uint64_t count = 0;
    expect(hf_repository_count(p.things, NULL, filter, HF_NTS, NULL, &count, NULL) == HF_OK,
           "a pattern is looked for");
}

static void call_everything(place p, results *r) {
    handles h = {p.store, p.things, NULL};
    for (size_t i = 0; i < function_count; i++) {
        if (functions[i].roles & STORE && i == 0)
            continue; /* closing */
        hf_error *error = NULL;
        expect(hf_transaction_begin(h.store, NULL, &h.transaction, NULL) == HF_OK, "a transaction begins");
        functions[i].call(h, r, &error);
        hf_error_message(error);
        hf_error_free(error);
        hf_transaction_free(h.transaction);
    }
}

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument;
    results r = {0};
    for (int round = 0; !atomic_load(&stop); round++) {
        save_numbered(thread);
        if (thread == 0)
            open_and_close_another(thread);
        if (thread == 1)
            hf_log_set_callback(log_nothing, NULL, count_destruction, NULL);
        if (thread == 2)
            find_by_new_pattern(places[2]);
        else
            call_everything(places[round % 3], &r);
    }
    free_results(&r);
    return NULL;
}

/* --- A child ------------------------------------------------------------------------------------ */

/* Calls everything with handles that this process inherited. */
static void use_what_was_inherited(place p, hf_transaction *transaction) {
    results r = {0};
    handles h = {p.store, p.things, transaction};
    for (size_t i = 0; i < function_count; i++) {
        hf_error *error = NULL;
        hf_status status = functions[i].call(h, &r, &error);
        if (status != HF_FORKED) {
            fprintf(stderr, "%s answered %s\n", functions[i].name, hf_status_name(status));
            expect(false, "an inherited handle answers HF_FORKED");
        }
        expect(error == NULL || hf_error_status(error) == HF_FORKED, "the error says so, too");
        hf_error_free(error);
    }
    hf_transaction_free(transaction);
    hf_repository_free(p.things);
    hf_store_free(p.store);
    free_results(&r);
}

static void use_inherited_error(hf_error *error) {
    size_t length = 0;
    expect(hf_error_status(error) == HF_FORKED, "an inherited error answers HF_FORKED");
    expect(strstr(hf_error_message(error), "fork") != NULL, "its message says why");
    expect(!hf_error_is_retryable(error), "it is not retryable");
    expect(hf_error_commit_state(error) == HF_COMMIT_NONE, "it has no commit");
    expect(strcmp(hf_error_detail(error, &length), "{}") == 0 && length == 2, "it has no detail");
    expect(hf_error_cause(error) == NULL, "it has no cause");
    hf_error_free(error);
}

static void use_own(const char *url, bool has_grandchild);

static void run_child(const char *name, bool has_grandchild) {
    alarm(SECONDS_FOR_A_CHILD);
    atomic_store(&wrong, 0);
    expect(hf_handle_count(NULL) == 0, "a child begins without handles");
    for (int i = 0; i < 3; i++)
        use_what_was_inherited(places[i], inherited_transaction);
    use_inherited_error(inherited_error);
    expect(hf_log_set_callback(log_nothing, NULL, NULL, NULL) == HF_OK, "a child sets its own log");
    hf_store *refused = NULL;
    hf_error *error = NULL;
    expect(hf_store_open(file_url, NULL, &refused, &error) == HF_FORKED && refused == NULL,
           "a file that was open at the fork is refused");
    expect(error != NULL && hf_error_status(error) == HF_FORKED, "with an error object");
    hf_error_free(error);
    use_own("memory:", false);
    char url[128];
    snprintf(url, sizeof url, "%s/%s.db", directory, name);
    use_own(url, has_grandchild);
    expect(hf_handle_count(NULL) == 0, "a child leaves no handle");
}

static pid_t fork_child(const char *name, bool has_grandchild, bool exits) {
    pid_t child = fork();
    if (child != 0)
        return child;
    run_child(name, has_grandchild);
    if (exits)
        exit(atomic_load(&wrong) != 0);
    _exit(atomic_load(&wrong) != 0);
}

static void expect_good_end(pid_t child) {
    int status = 0;
    expect(child > 0 && waitpid(child, &status, 0) == child, "a child is made");
    if (WIFSIGNALED(status))
        fprintf(stderr, "process %d: %s\n", (int)child, strsignal(WTERMSIG(status)));
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ends well");
}

static hf_status save_in_body(hf_transaction *t, void *things, hf_error **out_error) {
    (void)out_error;
    return hf_repository_save(things, t, "{\"id\":\"b\"}", HF_NTS, NULL, NULL);
}

static void use_own(const char *url, bool has_grandchild) {
    place own = open_place(url, NULL);
    atomic_int called = 0;
    hf_transaction *t = NULL;
    expect(hf_transaction_begin(own.store, NULL, &t, NULL) == HF_OK, "its transaction begins");
    expect(hf_repository_save(own.things, t, "{\"id\":\"a\"}", HF_NTS, NULL, NULL) == HF_OK, "it saves");
    expect(hf_transaction_submit(t, count_call, &called, NULL, NULL) == HF_OK, "it submits");
    expect(hf_store_transact(own.store, save_in_body, own.things, NULL, NULL, NULL) == HF_OK, "it commits");
    if (has_grandchild) {
        place kept[3] = {places[0], places[1], places[2]};
        places[0] = places[1] = own;
        hf_transaction *before = inherited_transaction;
        inherited_transaction = t;
        char name[64];
        snprintf(name, sizeof name, "grandchild-%d", (int)getpid());
        expect_good_end(fork_child(name, false, true));
        memcpy(places, kept, sizeof kept);
        inherited_transaction = before;
    }
    find_by_new_pattern(own);
    uint64_t count = 0;
    expect(hf_repository_count(own.things, NULL, NULL, 0, NULL, &count, NULL) == HF_OK, "it counts");
    expect(hf_store_close(own.store, -1, NULL) == HF_OK, "it closes");
    expect(atomic_load(&called) == 1, "its callback was called once");
    expect(count >= 1 && count <= 2, "it finds what it stored");
    hf_transaction_free(t);
    close_place(own);
}

/* --- The parent --------------------------------------------------------------------------------- */

static int give_row(void *is_ok, int columns, char **values, char **names) {
    (void)columns, (void)names;
    *(bool *)is_ok = strcmp(values[0], "ok") == 0;
    return 0;
}

static void verify(void) {
    place p = open_place(file_url, NULL);
    hf_entity entity = HF_ENTITY_INIT;
    for (int thread = 0; thread < THREADS; thread++) {
        for (int number = 1; number <= acknowledged[thread]; number++) {
            char id[32];
            snprintf(id, sizeof id, "%d-%d", thread, number);
            expect(hf_repository_fetch(p.things, NULL, id, HF_NTS, &entity, NULL) == HF_OK,
                   "what was acknowledged is there");
        }
    }
    hf_entity_free(&entity);
    close_place(p);
    sqlite3 *database = NULL;
    bool is_ok = false;
    sqlite3_open(file_url, &database);
    sqlite3_exec(database, "PRAGMA integrity_check", give_row, &is_ok, NULL);
    sqlite3_close(database);
    expect(is_ok, "SQLite finds the file whole");
}

static void remove_files(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    expect(system(command) == 0, "the files are removed");
}

static void make_directory_in(const char *place) {
    char made[sizeof directory];
    snprintf(made, sizeof made, "%s/holdfast-forks-XXXXXX", place);
    expect(mkdtemp(made) != NULL, "a directory is made");
    memcpy(directory, made, sizeof made);
}

static void begin(void) {
    snprintf(file_url, sizeof file_url, "%s/store.db", directory);
    char queue_url[96];
    snprintf(queue_url, sizeof queue_url, "%s/queue.db", directory);
    places[0] = open_place(file_url, NULL);
    places[1] = open_place(queue_url, "{\"delivery\":\"queue\",\"durability\":\"relaxed\"}");
    places[2] = open_place("memory:", NULL);
    hf_repository *none = NULL;
    expect(hf_repository_open(places[0].store, "", NULL, &none, &inherited_error) == HF_INVALID_NAME,
           "an error is at hand");
    expect(hf_transaction_begin(places[0].store, NULL, &inherited_transaction, NULL) == HF_OK,
           "a transaction is at hand");
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
}

/* Forks while everything that its threads do, they do for the first time. */
static void run_beginner(void) {
    /* What was wrong with others is not wrong with this one. */
    atomic_store(&wrong, 0);
    make_directory_in(directory);
    begin();
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "child-%d", i);
        expect_good_end(fork_child(name, false, i % 2 == 0));
    }
    _exit(atomic_load(&wrong) != 0);
}

int main(int argc, char **argv) {
    int forks = argc == 2 ? atoi(argv[1]) : 0;
    if (forks < 1)
        return fprintf(stderr, "usage: %s <count>\n", argv[0]), 2;
    make_directory_in(access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    /* Before this process uses the library: a beginner shall find it as a program does. */
    for (int i = 0; i < forks; i++) {
        pid_t beginner = fork();
        if (beginner == 0)
            run_beginner();
        expect_good_end(beginner);
    }

    begin();
    for (int i = 0; i < forks; i++) {
        char name[32];
        snprintf(name, sizeof name, "child-%d", i);
        expect_good_end(fork_child(name, i % 10 == 0, i % 2 == 0));
    }
    atomic_store(&stop, 1);
    int saved = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        saved += acknowledged[i];
    }
    hf_transaction_free(inherited_transaction);
    hf_error_free(inherited_error);
    hf_log_set_callback(NULL, NULL, NULL, NULL);
    for (int i = 0; i < 3; i++)
        close_place(places[i]);
    expect(hf_handle_count(NULL) == 0, "no handle is left");
    verify();
    remove_files();
    printf("%d forks beside %d threads, %d acknowledged commits: %d wrong\n", forks, THREADS, saved,
           atomic_load(&wrong));
    return atomic_load(&wrong) != 0;
}
