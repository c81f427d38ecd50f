/*
 * Growth: one verb of the library on a store of some size, for a counter of instructions to watch.
 *
 *     growth --list               each verb: its name, the greatest exponent it may have, its smallest size,
 *                                 and whether 64 times that is too much
 *     growth VERB SIZE ENGINE     makes ready unwatched, then does the verb; ENGINE: memory or sqlite
 *
 * growth.py runs it under callgrind with a size, eight times it and so on, and fits the exponent: 1 where the
 * cost grows as the size does, 0 where it does not grow.
 */
#include "growth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

static hf_store *store;
hf_repository *things;
hf_error *error;
int size;
static char url[128];

void must(hf_status status) {
    if (status == HF_OK)
        return;
    fprintf(stderr, "%s: %s\n", hf_status_name(status), error ? hf_error_message(error) : "");
    exit(2);
}

static void save(hf_transaction *t, int number) {
    char json[128];
    snprintf(json, sizeof json, "{\"id\":\"e%07d\",\"n\":%d,\"tag\":\"t%d\"}", number, number, number % 10);
    must(hf_repository_save(things, t, json, HF_NTS, NULL, &error));
}

static hf_transaction *begun(void) {
    hf_transaction *t;
    must(hf_transaction_begin(store, NULL, &t, &error));
    return t;
}

static void commit(hf_transaction *t) {
    must(hf_transaction_commit(t, NULL, &error));
    hf_transaction_free(t);
}

static void many_entities(void) {
    hf_transaction *t = begun();
    for (int i = 0; i < size; i++)
        save(t, i);
    commit(t);
    /* What the first writes and the first read of a process cost is not the verb's. */
    save(NULL, 0), save(NULL, 0), save(NULL, 0);
    hf_entity entity = HF_ENTITY_INIT;
    must(hf_repository_fetch(things, NULL, "e0000001", HF_NTS, &entity, &error));
    hf_entity_free(&entity);
}

void few_entities(void) {
    int kept = size;
    size = 16;
    many_entities();
    size = kept;
}

/* --- One thing among many -------------------------------------------------------------------------- */

static void save_one(void) { save(NULL, 7); }

static void fetch_one(void) {
    hf_entity entity = HF_ENTITY_INIT;
    must(hf_repository_fetch(things, NULL, "e0000007", HF_NTS, &entity, &error));
    hf_entity_free(&entity);
}

static void many_commits(void) {
    few_entities();
    for (int i = 0; i < size; i++)
        save(NULL, i % 16);
}

static void many_keys(void) {
    few_entities();
    for (int i = 0; i < size; i++) {
        char options[64];
        hf_transaction *t;
        snprintf(options, sizeof options, "{\"idempotency_key\":\"k%d\"}", i);
        must(hf_transaction_begin(store, options, &t, &error));
        save(t, i % 16);
        commit(t);
    }
}

static void reading_transactions(void) {
    few_entities();
    for (int i = 0; i < size; i++) {
        hf_transaction *t = begun();
        hf_entity entity = HF_ENTITY_INIT;
        must(hf_repository_fetch(things, t, "e0000001", HF_NTS, &entity, &error));
        hf_entity_free(&entity);
        if (i % 16 == 0)
            save(NULL, 2);
    }
}

static void count_event(const hf_event *event, void *count) {
    (void)event;
    atomic_fetch_add((atomic_int *)count, 1);
}

static atomic_int told;

static void wait_until_told(int count) {
    while (atomic_load(&told) < count)
        usleep(1000);
}

static void many_indexes(void) {
    few_entities();
    for (int i = 0; i < size; i++) {
        char options[64];
        snprintf(options, sizeof options, "{\"fields\":{\"m%d\":1}}", i);
        must(hf_repository_create_index(things, options, NULL, NULL, &error));
    }
}

/* Of a controller. */
#define REQUEST "{\"action\":\"request\",\"token\":\"t%d\",\"request\":{\"filter\":{\"n\":%d}}}"
#define CANCEL "{\"action\":\"cancelRequest\",\"token\":\"t%d\"}"
static hf_controller *controller;

static void dispatch(const char *format, int number) {
    char json[128];
    snprintf(json, sizeof json, format, number, 1000000 + number);
    must(hf_controller_dispatch(controller, json, HF_NTS, &error));
}

/* Those that were dispatched before tell their results before this one ends. */
static void wait_for_requests(void) {
    hf_operation *operation;
    must(hf_operation_create(store, "{\"operation\":\"fetch_all\",\"repository\":\"things\"}", HF_NTS,
                             &operation, &error));
    atomic_store(&told, 0);
    must(hf_operation_submit(operation, NULL, count_event, &told, NULL, NULL, &error));
    hf_operation_free(operation);
    wait_until_told(1);
}

static void live_requests(void) {
    few_entities();
    must(hf_controller_create(things, NULL, NULL, NULL, NULL, &controller, &error));
    for (int i = 0; i < size; i++) {
        dispatch(REQUEST, i);
        /* There are no more operations under way than "max_in_flight". */
        if (i % 16 == 0)
            wait_for_requests();
    }
    wait_for_requests();
}

static void begin_some_requests(void) {
    for (int i = 0; i < 16; i++)
        dispatch(REQUEST, size + i);
    wait_for_requests();
}

static void cancel_some_requests(void) {
    for (int i = 0; i < 16; i++)
        dispatch(CANCEL, i);
    wait_for_requests();
}

/* --- Many things ----------------------------------------------------------------------------------- */

static void commit_many(void) {
    hf_transaction *t = begun();
    for (int i = 0; i < size; i++)
        save(t, i);
    commit(t);
}

static void save_each(void) {
    for (int i = 0; i < size; i++)
        save(NULL, i);
}

static void note_end(const hf_event *event, void *count) {
    must(event->status);
    count_event(event, count);
}

static void submit_each(void) {
    for (int i = 0; i < size; i++) {
        hf_transaction *t = begun();
        save(t, i);
        must(hf_transaction_submit(t, note_end, &told, NULL, &error));
        hf_transaction_free(t);
    }
    wait_until_told(size);
}

/* Each has read on a snapshot that many other commits came behind. */
static hf_transaction **waiting;
static void readers_behind_a_load(void) {
    few_entities();
    waiting = malloc((size_t)size * sizeof *waiting);
    for (int i = 0; i < size; i++) {
        char id[16];
        hf_entity entity = HF_ENTITY_INIT;
        waiting[i] = begun();
        snprintf(id, sizeof id, "x%07d", i);
        (void)!hf_repository_fetch(things, waiting[i], id, HF_NTS, &entity, &error);
    }
    for (int round = 0; round < 4; round++) {
        hf_transaction *t = begun();
        for (int i = 0; i < size; i++)
            save(t, i + round * size);
        commit(t);
    }
}

static void submit_the_readers(void) {
    for (int i = 0; i < size; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"x%07d\"}", i);
        must(hf_repository_save(things, waiting[i], json, HF_NTS, NULL, &error));
        must(hf_transaction_submit(waiting[i], note_end, &told, NULL, &error));
    }
    wait_until_told(size);
}

static void savepoints(void) {
    hf_transaction *t = begun();
    for (int i = 0; i < size; i++) {
        uint64_t savepoint;
        must(hf_transaction_savepoint(t, &savepoint, &error));
        save(t, i);
        if (i % 2)
            must(hf_transaction_rollback_to(t, savepoint, &error));
    }
    commit(t);
}

static void forget_savepoints(void) {
    hf_transaction *t = begun();
    uint64_t first = 0, savepoint;
    for (int i = 0; i < size; i++) {
        must(hf_transaction_savepoint(t, i ? &savepoint : &first, &error));
        must(hf_repository_save_many(things, t, "[{\"id\":\"a\"}]", HF_NTS, NULL, &error));
    }
    must(hf_transaction_release(t, first, &error));
    commit(t);
}

/* Those of several tasks, none of which lies in another. */
static void scopes(void) {
    hf_transaction *t = begun();
    uint64_t *numbers = malloc((size_t)size * sizeof *numbers);
    for (int i = 0; i < size; i++) {
        must(hf_transaction_begin_scope(t, HF_NO_SCOPE, &numbers[i], &error));
        save(t, i);
    }
    for (int i = 0; i < size; i++)
        must(hf_transaction_end_scope(t, numbers[i], true, &error));
    free(numbers);
    commit(t);
}

/* Of a store that is opened anew, for its events to be taken. */
static void events_that_wait(void) {
    char options[96];
    hf_repository_free(things);
    hf_store_free(store);
    snprintf(options, sizeof options,
             "{\"durability\":\"relaxed\",\"delivery\":\"queue\",\"max_in_flight\":%d}", size);
    must(hf_store_open(url, options, &store, &error));
    must(hf_repository_open(store, "things", NULL, &things, &error));
    for (int i = 0; i < size; i++) {
        hf_transaction *t = begun();
        save(t, i);
        must(hf_transaction_submit(t, NULL, NULL, NULL, &error));
        hf_transaction_free(t);
    }
    /* They can be taken all the same, and no other thread works meanwhile. */
    must(hf_store_close(store, -1, &error));
}
static void take_each_event(void) {
    hf_event event;
    for (int i = 0; i < size; i++) {
        if (hf_store_events(store, &event, 1, -1) != 1)
            exit(2);
        hf_events_free(&event, 1);
    }
}

static void find_with(const char *filter, const char *options) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    must(hf_repository_find(things, NULL, filter, HF_NTS, options, &list, &error));
    hf_entity_list_free(&list);
}
static void find_many(void) { find_with("{\"n\":{\"$gte\":0}}", NULL); }
static void sort_many(void) { find_with("{}", "{\"sort\":{\"tag\":1,\"n\":-1}}"); }
static void find_the_first(void) { find_with("{}", "{\"sort\":{\"n\":1},\"limit\":10}"); }
static void fetch_all(void) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    must(hf_repository_fetch_all(things, NULL, &list, &error));
    hf_entity_list_free(&list);
}

static void indexed_entities(void) {
    must(hf_repository_create_index(things, "{\"fields\":{\"n\":1}}", NULL, NULL, &error));
    many_entities();
}

static void walk_a_cursor(void) {
    hf_cursor *cursor;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    must(hf_cursor_open(things, NULL, "{\"n\":{\"$gte\":0}}", HF_NTS, NULL, &cursor, &error));
    do
        must(hf_cursor_next(cursor, 10, &list, &error));
    while (list.count > 0);
    hf_entity_list_free(&list);
    hf_cursor_free(cursor);
}

static void query_in_a_transaction(void) {
    hf_transaction *t = begun();
    for (int i = 0; i < size; i++)
        save(t, i + size);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    must(hf_repository_find(things, t, "{\"tag\":\"t1\"}", HF_NTS, NULL, &list, &error));
    hf_entity_list_free(&list);
    commit(t);
}

static void delete_many(void) {
    must(hf_repository_delete_all(things, NULL, "{\"n\":{\"$gte\":0}}", HF_NTS, NULL, NULL, &error));
}
static void modify_many(void) {
    must(hf_repository_modify_all(things, NULL, NULL, 0, "{\"$inc\":{\"n\":1}}", HF_NTS, NULL, NULL, NULL,
                                  &error));
}
static void create_an_index(void) {
    must(hf_repository_create_index(things, "{\"fields\":{\"n\":1,\"tag\":-1}}", NULL, NULL, &error));
}
static void verify(void) {
    hf_buffer report = HF_BUFFER_INIT;
    must(hf_store_verify(store, NULL, NULL, &report, &error));
    hf_buffer_free(&report);
}
static hf_status take(const char *bytes, size_t length, void *unused, hf_error **out_error) {
    (void)bytes, (void)length, (void)unused, (void)out_error;
    return HF_OK;
}
static void export(void) { must(hf_store_export(store, NULL, take, NULL, NULL, NULL, &error)); }
static int64_t give(char *buffer, size_t capacity, void *line, hf_error **out_error) {
    (void)out_error;
    int *number = line;
    if (*number == size)
        return 0;
    (*number)++;
    return snprintf(buffer, capacity, "{\"id\":\"i%07d\",\"n\":%d}\n", *number, *number);
}
static void import(void) {
    int line = 0;
    must(hf_store_import(store, "{\"repository\":\"things\"}", give, NULL, &line, NULL, &error));
}
static void follow_the_log(void) {
    hf_buffer changes = HF_BUFFER_INIT;
    must(hf_store_changes_since(store, NULL, "{\"limit\":100000}", &changes, &error));
    hf_buffer_free(&changes);
}

/* --- Object trees ---------------------------------------------------------------------------------- */

static hf_participant *root;

static void members_beside_each_other(void) {
    hf_participant *member;
    must(hf_participant_create(NULL, NULL, NULL, NULL, &root, &error));
    for (int i = 1; i < size; i++)
        must(hf_participant_create(root, NULL, NULL, NULL, &member, &error));
}
static void members_below_each_other(void) {
    must(hf_participant_create(NULL, NULL, NULL, NULL, &root, &error));
    hf_participant *last = root;
    for (int i = 1; i < size; i++)
        must(hf_participant_create(last, NULL, NULL, NULL, &last, &error));
}
static void commit_the_tree(void) {
    hf_transaction *t = begun();
    must(hf_transaction_enlist(t, root, &error));
    commit(t);
}
static void nothing(void) {}

/* --- The table ------------------------------------------------------------------------------------- */

/* The exponents are bounds with some air: what sorts, and trees that grow deeper, come to a tenth above a
 * whole number. */
static const struct verb {
    const char *name;
    double exponent;
    int size;
    void (*prepare)(void), (*act)(void);
} verbs[] = {
    {"save-among-entities", 0.2, 500, many_entities, save_one},
    {"fetch-among-entities", 0.2, 500, many_entities, fetch_one},
    {"save-behind-commits", 0.2, 100, many_commits, save_one},
    {"save-among-idempotency-keys", 0.2, 100, many_keys, save_one},
    {"save-beside-reading-transactions", 0.2, 50, reading_transactions, save_one},
    {"save-beside-live-queries", 0.3, 160, live_queries, save_one},
    {"live-queries-that-come-and-go", 1.2, 100, few_entities, open_and_close_live_queries},
    {"save-with-indexes", 1.1, 4, many_indexes, save_one},
    {"commit-of-keys", 1.15, 200, nothing, commit_many},
    {"commits-one-by-one", 1.15, 50, nothing, save_each},
    {"commits-submitted-at-once", 1.15, 100, nothing, submit_each},
    {"commits-of-readers-behind-a-load", 1.15, 50, readers_behind_a_load, submit_the_readers},
    {"savepoints", 1.15, 100, nothing, savepoints},
    {"savepoints-forgotten", 1.15, 200, nothing, forget_savepoints},
    {"scopes-beside-each-other", 1.15, 200, nothing, scopes},
    {"requests-among-requests", 0.3, 100, live_requests, begin_some_requests},
    {"cancellations-among-requests", 0.3, 100, live_requests, cancel_some_requests},
    {"events-taken-one-by-one", 1.1, 200, events_that_wait, take_each_event},
    {"fetch-all", 1.1, 200, many_entities, fetch_all},
    {"find", 1.1, 200, many_entities, find_many},
    {"sort", 1.25, 200, many_entities, sort_many},
    {"first-by-an-index", 0.2, 200, indexed_entities, find_the_first},
    {"cursor", 1.1, 200, many_entities, walk_a_cursor},
    {"find-beside-own-writes", 1.15, 200, many_entities, query_in_a_transaction},
    {"delete-all", 1.15, 200, many_entities, delete_many},
    {"modify-all", 1.15, 200, many_entities, modify_many},
    {"index-creation", 1.2, 300, many_entities, create_an_index},
    {"verify", 1.15, 300, indexed_entities, verify},
    {"export", 1.1, 300, many_entities, export},
    {"import", 1.15, 300, nothing, import},
    {"changes-since", 1.1, 100, many_commits, follow_the_log},
    {"tree-of-members-beside-each-other", 1.1, 200, members_beside_each_other, commit_the_tree},
    {"tree-of-members-below-each-other", 1.1, 200, members_below_each_other, commit_the_tree},
    {"save-of-an-array", 1.1, 500, large_array, save_the_prepared},
    {"save-of-an-indexed-array", 1.2, 200, indexed_large_array, save_an_indexed_array},
    {"save-of-members", 1.1, 300, many_members, save_the_prepared},
    {"save-of-depth", 1.1, 11, nested, save_the_prepared},
    {"phrase-in-a-text", 1.15, 4000, indexed_long_text, find_by_the_prepared},
    {"push", 1.1, 200, push_many, modify_by_the_prepared},
    {"add-to-set", 1.2, 200, add_many_to_a_set, modify_by_the_prepared},
    {"pull", 1.2, 200, pull_many, modify_by_the_prepared},
    {"set-of-members", 1.2, 100, set_many, modify_by_the_prepared},
    {"set-of-elements", 1.2, 100, set_many_elements, modify_by_the_prepared},
    {"patch-of-members", 1.1, 200, patch_many, patch_by_the_prepared},
    {"filter-of-ids", 1.15, 100, many_ids, find_by_the_prepared},
    {"filter-of-values", 1.15, 100, many_values, find_by_the_prepared},
    {"filter-of-alternatives", 1.15, 100, many_alternatives, find_by_the_prepared},
    {"filter-of-conditions", 1.15, 100, many_conditions, find_by_the_prepared},
    AGGREGATE_VERBS,
};

static int is_limited(const char *name) {
    static const char *const limited[] = {LIMITED_VERBS};
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++)
        if (strcmp(limited[i], name) == 0)
            return 1;
    return 0;
}

static void run(const struct verb *verb, const char *engine) {
    char directory[] = "/tmp/holdfast-XXXXXX";
    if (mkdtemp(directory) == NULL)
        exit(2);
    int is_in_memory = strcmp(engine, "memory") == 0;
    snprintf(url, sizeof url, "%s%s", is_in_memory ? "memory:" : directory, is_in_memory ? "" : "/store.db");
    must(hf_store_open(url, "{\"durability\":\"relaxed\",\"max_depth\":200}", &store, &error));
    must(hf_repository_open(store, "things", NULL, &things, &error));
    verb->prepare();
    atomic_store(&told, 0);
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    verb->act();
    CALLGRIND_STOP_INSTRUMENTATION;
    hf_store_free(store);
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", directory);
    exit(system(command) == 0 ? 0 : 2);
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
            printf("%s %g %d %d\n", verbs[i].name, verbs[i].exponent, verbs[i].size,
                   is_limited(verbs[i].name));
        } else if (argc == 4 && strcmp(argv[1], verbs[i].name) == 0) {
            size = atoi(argv[2]);
            run(&verbs[i], argv[3]);
        }
    return argc == 2 ? 0 : 2;
}
