/* Many threads, and more open transactions than the process may have descriptors. */
#include "support.h"

#include <sys/resource.h>

/* A thread reports the number of its failures; cmocka's checks belong to the main thread alone. */
typedef struct worker {
    room room;
    size_t number;
    atomic_int *stop;
    hf_transaction *shared;
} worker;

enum { MOST_THREADS = 64 };

static void run_threads(room r, size_t count, void *(*run)(void *), atomic_int *stop,
                        hf_transaction *shared) {
    pthread_t threads[MOST_THREADS];
    worker workers[MOST_THREADS];
    for (size_t i = 0; i < count; i++) {
        workers[i] = (worker){r, i, stop, shared};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &workers[i]), 0);
    }
    intptr_t failures = 0;
    for (size_t i = 0; i < count; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        failures += (intptr_t)answer;
    }
    assert_int_equal(failures, 0);
}

enum { COMMITS_EACH = 50 };

static void *commit_one_by_one(void *argument) {
    worker *w = argument;
    intptr_t failures = 0;
    uint64_t last = 0;
    hf_entity entity = HF_ENTITY_INIT;
    for (int i = 0; i < COMMITS_EACH; i++) {
        char json[64], id[32];
        snprintf(id, sizeof id, "%zu-%d", w->number, i);
        snprintf(json, sizeof json, "{\"id\":\"%s\"}", id);
        hf_transaction *t = NULL;
        failures += hf_transaction_begin(w->room.store, NULL, &t, NULL) != HF_OK;
        failures += hf_repository_save(w->room.things, t, json, HF_NTS, NULL, NULL) != HF_OK;
        failures += hf_transaction_commit(t, NULL, NULL) != HF_OK;
        hf_transaction_free(t);
        failures += hf_repository_fetch(w->room.things, NULL, id, HF_NTS, &entity, NULL) != HF_OK;
        failures += entity.version <= last;
        last = entity.version;
    }
    hf_entity_free(&entity);
    return (void *)failures;
}

static void sixty_four_threads_commit_and_read_what_they_wrote(room r) {
    run_threads(r, MOST_THREADS, commit_one_by_one, NULL, NULL);
    expect_count(r.things, NULL, NULL, MOST_THREADS * COMMITS_EACH);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    for (size_t i = 0; i < list.count; i += 97) {
        for (size_t j = 0; j < list.count; j++) {
            assert_true(i == j || list.items[i].version != list.items[j].version);
        }
    }
    hf_entity_list_free(&list);
}

static hf_status add_one(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)out_error;
    worker *w = user_data;
    hf_entity entity = HF_ENTITY_INIT;
    char json[64];
    hf_status status = hf_repository_fetch(w->room.things, transaction, "counter", HF_NTS, &entity, NULL);
    if (status == HF_OK) {
        snprintf(json, sizeof json, "{\"id\":\"counter\",\"n\":%lld}",
                 strtoll(strstr(entity.data, "\"n\":") + 4, NULL, 10) + 1);
        status = hf_repository_save(w->room.things, transaction, json, HF_NTS, NULL, NULL);
    }
    hf_entity_free(&entity);
    return status;
}

static void *increment_often(void *argument) {
    worker *w = argument;
    intptr_t failures = 0;
    for (int i = 0; i < COMMITS_EACH; i++) {
        failures +=
            hf_store_transact(w->room.store, add_one, w, "{\"max_attempts\":1000}", NULL, NULL) != HF_OK;
    }
    return (void *)failures;
}

static void no_increment_of_a_shared_counter_is_lost(room r) {
    save(r.things, NULL, "{\"id\":\"counter\",\"n\":0}");
    run_threads(r, 8, increment_often, NULL, NULL);
    assert_int_equal(integer_in(r.things, NULL, "counter", "n"), 8 * COMMITS_EACH);
}

static void *write_into_one(void *argument) {
    worker *w = argument;
    intptr_t failures = 0;
    for (int i = 0; i < COMMITS_EACH; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"%zu-%d\"}", w->number, i);
        failures += hf_repository_save(w->room.things, w->shared, json, HF_NTS, NULL, NULL) != HF_OK;
    }
    return (void *)failures;
}

static void threads_take_turns_on_one_transaction(room r) {
    hf_transaction *t = begin(r.store, NULL);
    run_threads(r, 8, write_into_one, NULL, t);
    expect_count(r.things, t, NULL, 8 * COMMITS_EACH);
    expect_count(r.things, NULL, NULL, 0);
    commit_quietly(t);
    expect_count(r.things, NULL, NULL, 8 * COMMITS_EACH);
}

/* Transfers between two accounts; whoever reads both sees the same sum. */
static void *transfer_or_audit(void *argument) {
    worker *w = argument;
    intptr_t failures = 0;
    if (w->number == 0) {
        for (int i = 0; i < 300; i++) {
            char json[128];
            snprintf(json, sizeof json, "[{\"id\":\"a\",\"n\":%d},{\"id\":\"b\",\"n\":%d}]", 1000 - i, i);
            failures += hf_repository_save_many(w->room.things, NULL, json, HF_NTS, NULL, NULL) != HF_OK;
        }
        atomic_store(w->stop, 1);
        return (void *)failures;
    }
    while (!atomic_load(w->stop)) {
        hf_transaction *t = NULL;
        hf_entity a = HF_ENTITY_INIT, b = HF_ENTITY_INIT;
        failures += hf_transaction_begin(w->room.store, NULL, &t, NULL) != HF_OK;
        hf_status first = hf_repository_fetch(w->room.things, t, "a", 1, &a, NULL);
        hf_status second = hf_repository_fetch(w->room.things, t, "b", 1, &b, NULL);
        /* A snapshot that was taken back may end in a conflict, never in a torn sum. */
        failures += (first != HF_OK && first != HF_CONFLICT) || (second != HF_OK && second != HF_CONFLICT);
        if (first == HF_OK && second == HF_OK) {
            failures += strtol(strstr(a.data, "\"n\":") + 4, NULL, 10) +
                            strtol(strstr(b.data, "\"n\":") + 4, NULL, 10) !=
                        1000;
        }
        hf_transaction_free(t);
        hf_entity_free(&a), hf_entity_free(&b);
    }
    return (void *)failures;
}

static void no_reader_sees_half_a_commit(room r) {
    atomic_int stop = 0;
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1000}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":0}");
    run_threads(r, 5, transfer_or_audit, &stop, NULL);
}

static void *commit_both_in_haste(void *argument) {
    worker *w = argument;
    intptr_t failures = 0;
    for (int i = 0, count = (int)rounds(20000); i < count; i++) {
        char json[128];
        hf_transaction *t = NULL;
        snprintf(json, sizeof json, "[{\"id\":\"a\",\"n\":%d},{\"id\":\"b\",\"n\":%d}]", i, i);
        failures += hf_transaction_begin(w->room.store, "{\"durability\":\"relaxed\"}", &t, NULL) != HF_OK;
        failures += hf_repository_save_many(w->room.things, t, json, HF_NTS, NULL, NULL) != HF_OK;
        failures += hf_transaction_commit(t, NULL, NULL) != HF_OK;
        hf_transaction_free(t);
    }
    atomic_store(w->stop, 1);
    return (void *)failures;
}

/* What is found in the cache is read without a snapshot of the engine's, which a commit has to take first. */
static void read_beside_commits(room r, const char *options) {
    atomic_int stop = 0;
    worker writer = {r, 0, &stop, NULL};
    pthread_t thread;
    hf_entity entity = HF_ENTITY_INIT;
    save(r.things, NULL, "{\"id\":\"a\",\"n\":-1}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":-1}");
    assert_int_equal(pthread_create(&thread, NULL, commit_both_in_haste, &writer), 0);
    size_t refused = 0;
    while (!atomic_load(&stop)) {
        hf_transaction *t = begin(r.store, options);
        refused += hf_repository_fetch(r.things, t, "a", 1, &entity, NULL) != HF_OK ||
                   hf_repository_fetch(r.things, t, "b", 1, &entity, NULL) != HF_OK;
        hf_transaction_free(t);
    }
    void *failures = NULL;
    pthread_join(thread, &failures);
    hf_entity_free(&entity);
    assert_int_equal((intptr_t)failures, 0);
    assert_int_equal(refused, 0);
}

static void who_only_reads_meets_no_conflict_with_commits_of_its_own_process(room r) {
    read_beside_commits(r, NULL);
}

static void who_reads_a_snapshot_meets_no_conflict_with_commits_of_its_own_process(room r) {
    read_beside_commits(r, "{\"isolation\":\"snapshot\"}");
}

static void *write_until_told(void *argument) {
    worker *w = argument;
    intptr_t failures = 0;
    for (int i = 0; !atomic_load(w->stop); i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"hot\",\"n\":%d}", i);
        failures += hf_repository_save(w->room.things, NULL, json, HF_NTS, NULL, NULL) != HF_OK;
        sleep_milliseconds(1); /* or else so much is committed that the log is cut behind the readers */
    }
    return (void *)failures;
}

static void ten_thousand_transactions_read_on_under_a_limit_of_256_descriptors(fixture *f) {
    size_t count = rounds(10000);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = 256;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);

    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"cold\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"hot\",\"n\":0}");
    atomic_int stop = 0;
    worker writer = {r, 0, &stop, NULL};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_until_told, &writer), 0);

    hf_transaction **readers = calloc(count, sizeof(hf_transaction *));
    char(*seen)[64] = calloc(count, sizeof *seen);
    hf_entity entity = HF_ENTITY_INIT;
    for (size_t i = 0; i < count; i++) {
        readers[i] = begin(r.store, NULL);
        expect_ok(hf_repository_fetch, r.things, readers[i], i % 2 == 0 ? "cold" : "hot", HF_NTS, &entity);
        snprintf(seen[i], sizeof *seen, "%s", entity.data);
    }
    size_t moved = 0, conflicts[2] = {0, 0}, others = 0;
    for (size_t i = 0; i < count; i++) {
        const char *id = i % 2 == 0 ? "cold" : "hot";
        hf_status status = hf_repository_fetch(r.things, readers[i], id, HF_NTS, &entity, NULL);
        moved += status == HF_OK && strcmp(entity.data, seen[i]) != 0;
        conflicts[i % 2] += status == HF_CONFLICT;
        others += status != HF_OK && status != HF_CONFLICT;
    }
    atomic_store(&stop, 1);
    void *failures = NULL;
    pthread_join(thread, &failures);
    assert_int_equal((intptr_t)failures, 0);
    assert_int_equal(others, 0);
    assert_int_equal(moved, 0);
    assert_int_equal(conflicts[0], 0); /* what does not change never conflicts */
    assert_true(conflicts[1] <= count / 2);
    for (size_t i = 0; i < count; i++) {
        hf_transaction_free(readers[i]);
    }
    hf_entity_free(&entity);
    free(readers);
    free(seen);
    close_room(r);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void a_call_that_gets_no_descriptor_says_so(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"own\"}");
    char place[200];
    snprintf(place, sizeof place, "%s/other.db", f->directory);
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    hf_store *other = NULL;
    hf_buffer report = HF_BUFFER_INIT;
    hf_status statuses[] = {
        hf_store_open(place, NULL, &other, NULL),
        hf_store_backup(r.store, place, NULL, NULL, NULL, NULL),
        hf_store_verify(r.store, NULL, NULL, &report, NULL),
    };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        assert_string_equal(hf_status_name(statuses[i]), "HF_NO_MEMORY");
    hf_buffer_free(&report);
    expect_ok(hf_store_backup, r.store, place, NULL, NULL, NULL);
    close_room(r);
}

static void *use_what_may_be_gone(void *argument) {
    worker *w = argument;
    intptr_t failures = 0;
    hf_entity entity = HF_ENTITY_INIT;
    for (;;) {
        hf_status status = hf_repository_fetch(w->room.things, NULL, "a", 1, &entity, NULL);
        if (status == HF_INVALID_HANDLE) {
            break;
        }
        failures += status != HF_OK && status != HF_CLOSED;
    }
    hf_entity_free(&entity);
    return (void *)failures;
}

static void *free_while_others_use(void *argument) {
    worker *w = argument;
    if (w->number != 0) {
        return use_what_may_be_gone(argument);
    }
    sleep_milliseconds(20);
    hf_store_free(w->room.store);
    sleep_milliseconds(5);
    hf_repository_free(w->room.things);
    return NULL;
}

static void handles_may_be_freed_while_other_threads_use_them(fixture *f) {
    for (int i = 0; i < 10; i++) {
        room r = open_room(f, NULL);
        save(r.things, NULL, "{\"id\":\"a\"}");
        run_threads(r, 4, free_while_others_use, NULL, NULL);
    }
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(sixty_four_threads_commit_and_read_what_they_wrote),
        EACH_ENGINE(no_increment_of_a_shared_counter_is_lost),
        EACH_ENGINE(threads_take_turns_on_one_transaction),
        EACH_ENGINE(no_reader_sees_half_a_commit),
        /* A server is asked for a snapshot at what is not in the cache, and a commit may be faster; but not
         * where that is done at the first read. */
        NOT_ON_A_SERVER(who_only_reads_meets_no_conflict_with_commits_of_its_own_process),
        EACH_ENGINE(who_reads_a_snapshot_meets_no_conflict_with_commits_of_its_own_process),
        EACH_ENGINE(ten_thousand_transactions_read_on_under_a_limit_of_256_descriptors),
        SQLITE_ONLY(a_call_that_gets_no_descriptor_says_so),
        EACH_ENGINE(handles_may_be_freed_while_other_threads_use_them),
    };
    return run_scenarios("threads", scenarios, COUNT_OF(scenarios));
}
