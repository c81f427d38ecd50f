/*
 * What the tests of the C contract share: scenarios that run once for each engine, one factory for each
 * resource, and expectations that say which call answered what.
 *
 * A scenario is a function whose name is a sentence. It gets a fixture with a URL that nobody used before, or
 * what its parameters ask for instead, made before it and freed behind it: see SETTING_OF. What it opens it
 * frees, for the runner counts the handles that live afterwards and expects none.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <holdfast.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- Scenarios ---------------------------------------------------------------------------------- */

typedef struct fixture {
    const char *engine;
    char directory[64]; /* empty, of this scenario alone, removed afterwards */
    char url[128];
} fixture;

enum { ON_MEMORY = 1, ON_SQLITE = 2, ON_A_SERVER = 4, ON_ALL = 7 };

/* What most scenarios need: a store with the repository "things". */
typedef struct room {
    hf_store *store;
    hf_repository *things;
} room;

/* Makes what a scenario happens in, runs it there, and frees that. */
typedef void setting(fixture *f, void (*scenario)(void));
setting in_fixture, in_room, in_tree_room, with_diary, in_room_with_diary, in_room_with_listener, with_shelf;

struct tree_room; /* see members.h */
struct diary;     /* see actions.h */
struct listener;  /* see listener.h */
struct shelf;     /* see shelf.h */
/* Those of one file, which defines this anew. */
#define OWN_SETTINGS
/* clang-format off */
#define SETTING_OF(function)                                                                                 \
    _Generic(&(function), OWN_SETTINGS                                                                       \
        void (*)(fixture *): in_fixture,                                                                     \
        void (*)(room): in_room,                                                                             \
        void (*)(struct tree_room *): in_tree_room,                                                          \
        void (*)(struct diary *): with_diary,                                                                \
        void (*)(room, struct diary *): in_room_with_diary,                                               \
        void (*)(room, struct listener *): in_room_with_listener,                                            \
        void (*)(struct shelf *): with_shelf)
/* clang-format on */

typedef struct scenario {
    const char *sentence;
    setting *setting;
    void (*run)(void);
    int engines;
} scenario;

#define SCENARIO(function, engines)                                                                          \
    { #function, SETTING_OF(function), (void (*)(void))(function), engines }
#define EACH_ENGINE(function) SCENARIO(function, ON_ALL)
/* For what a server does otherwise, where several machines write, or does as well, and takes long for. */
#define NOT_ON_A_SERVER(function) SCENARIO(function, ON_MEMORY | ON_SQLITE)
#define SQLITE_ONLY(function) SCENARIO(function, ON_SQLITE)
/* For what does not depend on the engine. */
#define ONCE(function) SCENARIO(function, ON_MEMORY)

/* Runs the scenarios on the engines they ask for; answers the number of failures, for main to return. Where
 * HOLDFAST_TEST_SERVER has the URL of a PostgreSQL database, those for each engine run there, and on no
 * other. */
int run_scenarios(const char *group, const scenario *scenarios, size_t count);

/* So many rounds, or on a server, where each takes a round trip, a tenth of them. */
size_t rounds(size_t count);

/* --- Factories ---------------------------------------------------------------------------------- */

hf_store *open_store(const fixture *f, const char *options);
hf_store *open_store_at(const char *url, const char *options);
hf_repository *open_repository(hf_store *store, const char *name);
hf_transaction *begin(hf_store *store, const char *options);

room open_room(const fixture *f, const char *options);
void close_room(room r);

/* --- Expectations ------------------------------------------------------------------------------- */

/* Calls the function with these arguments and an out_error behind them, and expects the status: with an
 * error object that fits it, or without one for HF_OK. */
#define expect(expected, function, ...)                                                                      \
    do {                                                                                                     \
        hf_error *error_ = NULL;                                                                             \
        hf_status status_ = function(__VA_ARGS__, &error_);                                                  \
        hf_error_free(check_outcome(#function, expected, status_, error_, __FILE__, __LINE__));              \
    } while (0)

#define expect_ok(function, ...) expect(HF_OK, function, __VA_ARGS__)

/* The same, with the error as the value, for the caller to look at and free. */
#define error_of(expected, function, ...)                                                                    \
    ({                                                                                                       \
        hf_error *error_ = NULL;                                                                             \
        hf_status status_ = function(__VA_ARGS__, &error_);                                                  \
        check_outcome(#function, expected, status_, error_, __FILE__, __LINE__);                             \
    })

/* A status that is an answer: it comes without an error object. */
#define expect_answer(expected, function, ...)                                                               \
    do {                                                                                                     \
        hf_error *error_ = NULL;                                                                             \
        check_answer(#function, expected, function(__VA_ARGS__, &error_), error_, __FILE__, __LINE__);       \
    } while (0)

hf_error *check_outcome(const char *call, hf_status expected, hf_status actual, hf_error *error,
                        const char *file, int line);
void check_answer(const char *call, hf_status expected, hf_status actual, hf_error *error, const char *file,
                  int line);

/* Expects a member of the error's detail, written as compact JSON, and frees the error. */
#define expect_detail(error, name, json) check_detail(error, name, json, __FILE__, __LINE__)
void check_detail(hf_error *error, const char *name, const char *json, const char *file, int line);

#define expect_entity(repository, transaction, id, json)                                                     \
    check_entity(repository, transaction, id, json, __FILE__, __LINE__)
void check_entity(hf_repository *repository, hf_transaction *transaction, const char *id, const char *json,
                  const char *file, int line);

#define expect_absent(repository, transaction, id)                                                           \
    do {                                                                                                     \
        hf_entity absent_ = HF_ENTITY_INIT;                                                                  \
        expect_answer(HF_NOT_FOUND, hf_repository_fetch, repository, transaction, id, HF_NTS, &absent_);     \
        hf_entity_free(&absent_);                                                                            \
    } while (0)

#define expect_count(repository, transaction, filter, expected)                                              \
    do {                                                                                                     \
        uint64_t count_ = UINT64_MAX;                                                                        \
        expect_ok(hf_repository_count, repository, transaction, filter, HF_NTS, NULL, &count_);              \
        assert_int_equal(count_, expected);                                                                  \
    } while (0)

#define expect_state(transaction, expected)                                                                  \
    do {                                                                                                     \
        hf_transaction_state state_ = 0;                                                                     \
        expect_ok(hf_transaction_get_state, transaction, &state_);                                           \
        assert_int_equal(state_, expected);                                                                  \
    } while (0)

/* --- Shorthands --------------------------------------------------------------------------------- */

/* Saves an entity; the transaction may be NULL. */
void save(hf_repository *repository, hf_transaction *transaction, const char *json);
/* Saves so many entities in one transaction, each of this format for its number, from 0 on, and what is left
 * of that when it is divided. */
void save_in_one(room r, int count, const char *format, int divisor);
uint64_t version_of(hf_repository *repository, hf_transaction *transaction, const char *id);
/* The integer under `name`, which must be there. */
int64_t integer_in(hf_repository *repository, hf_transaction *transaction, const char *id, const char *name);
/* Commits, frees the handle, and answers the receipt, which the caller releases with json_decref. */
json_t *commit(hf_transaction *transaction);
void commit_quietly(hf_transaction *transaction);
json_t *describe(hf_store *store);
/* One of the numbers that the cache keeps of a repository. */
int64_t cache_number(hf_repository *repository, const char *name);
double seconds_now(void);
void sleep_milliseconds(long milliseconds);
/* Has the sqlite3 program run statements on a file. */
void run_sqlite(const char *path, const char *sql);

/* A part of a JSON text, members joined by dots, as compact JSON that the caller frees; NULL where there is
 * none. */
char *part_of(const char *json, size_t length, const char *path);

/* --- Writing beside the test --------------------------------------------------------------------- */

/* A thread that calls `write` again and again, with a number that rises, until it is told to end. */
typedef struct writer {
    hf_repository *things;
    void (*write)(hf_repository *things, int number);
    atomic_bool is_over;
    pthread_t thread;
} writer;

void begin_writing(writer *w, hf_repository *things, void (*write)(hf_repository *things, int number));
void end_writing(writer *w);

/* --- Outcomes of submitted commits ------------------------------------------------------------------- */

/* Collects what happens to many submitted commits, from any thread. Pass a ticket as user_data, with
 * record_event and free_ticket. */
typedef struct outcome {
    size_t ticket;
    hf_status status;
    uint64_t sequence;
} outcome;

typedef struct recorder {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t count;       /* events */
    size_t freed;       /* tickets freed */
    size_t out_of_step; /* events whose ticket had been freed, or that contradict themselves */
    size_t capacity;
    outcome *outcomes; /* in the order of arrival */
} recorder;

recorder *new_recorder(size_t capacity);
void *new_ticket(recorder *r, size_t number);
/* Submits a commit that saves an entity with this number as its id. */
void submit_numbered(hf_store *store, hf_repository *things, recorder *r, size_t number);
void record_event(const hf_event *event, void *ticket);
void free_ticket(void *ticket);
/* Waits until so many tickets were freed. */
void wait_for_freed(recorder *r, size_t count);
void free_recorder(recorder *r);

#endif
