/*
 * Hosts: what other code of the process has told SQLite, which is one for all. A store goes on as without it,
 * or says what stands in its way.
 */
#include "ledger.h"
#include "oracle.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64], path[128];

static sqlite3 *open_sqlite(void) {
    sqlite3 *connection = NULL;
    if (sqlite3_open(path, &connection) != SQLITE_OK)
        exit(2);
    return connection;
}

static hf_status save(hf_store *store, const char *json, const char *options, hf_error **error) {
    hf_repository *things = NULL;
    hf_transaction *t = NULL;
    hf_status status = hf_repository_open(store, "things", NULL, &things, error);
    if (status == HF_OK)
        status = hf_transaction_begin(store, options, &t, error);
    if (status == HF_OK)
        status = hf_repository_save(things, t, json, HF_NTS, NULL, error);
    if (status == HF_OK)
        status = hf_transaction_commit(t, NULL, error);
    hf_transaction_free(t);
    hf_repository_free(things);
    return status;
}

static hf_store *open_store(void) {
    hf_store *store = NULL;
    hf_error *error = NULL;
    hf_status status = hf_store_open(path, NULL, &store, &error);
    if (status != HF_OK)
        give_up("opening", status, error);
    return store;
}

static void a_shared_cache_is_not_shared_with_the_store(void) {
    ledger_remove(directory, false);
    sqlite3_enable_shared_cache(1);
    hf_store *store = open_store();
    hf_repository *things = NULL;
    hf_transaction *reader = NULL;
    uint64_t count = 0;
    hf_error *error = NULL;
    if (save(store, "{\"id\":\"0\"}", NULL, NULL) != HF_OK ||
        hf_repository_open(store, "things", NULL, &things, NULL) != HF_OK ||
        hf_transaction_begin(store, NULL, &reader, NULL) != HF_OK ||
        hf_repository_count(things, reader, NULL, 0, NULL, &count, NULL) != HF_OK)
        expect(false, "a transaction reads where the host shares caches");
    for (int i = 0; i < 20; i++) {
        char json[64];
        sprintf(json, "{\"id\":\"%d\"}", i);
        hf_status status = save(store, json, NULL, &error);
        expect(status == HF_OK, "a commit succeeds beside readers where the host shares caches");
        hf_error_free(error);
        error = NULL;
    }
    hf_transaction_free(reader);
    hf_repository_free(things);
    hf_store_free(store);
    sqlite3_enable_shared_cache(0);
}

/* A layer for files whose databases are nowhere. */
static int open_nothing(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs, (void)name, (void)flags, (void)out_flags;
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

static void the_hosts_own_way_to_files_is_the_hosts_alone(void) {
    ledger_remove(directory, false);
    sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    static sqlite3_vfs own;
    own = *usual;
    own.zName = "nowhere";
    own.xOpen = open_nothing;
    sqlite3_vfs_register(&own, 1);
    hf_store *store = NULL;
    hf_error *error = NULL;
    hf_status status = hf_store_open(path, NULL, &store, &error);
    expect(status == HF_OK && save(store, "{\"id\":\"a\"}", NULL, NULL) == HF_OK,
           "a store is a file, whatever the host has made SQLite's default");
    hf_error_free(error);
    hf_store_free(store);
    /* Without locks, two processes would write at once. */
    sqlite3_vfs *lockless = sqlite3_vfs_find("unix-none");
    if (lockless != NULL) {
        sqlite3_vfs_register(lockless, 1);
        store = open_store();
        sqlite3_vfs_register(usual, 1);
        sqlite3 *connection = open_sqlite();
        expect(sqlite3_exec(connection, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL,
                            NULL) == SQLITE_BUSY,
               "an open store is locked");
        sqlite3_close(connection);
        hf_store_free(store);
    }
    sqlite3_vfs_unregister(&own);
    sqlite3_vfs_register(usual, 1);
}

static int refuse(sqlite3 *connection, char **message, const void *api) {
    (void)connection, (void)api;
    *message = sqlite3_mprintf("the host's extension wants its licence");
    return SQLITE_ERROR;
}

static void an_extension_of_the_hosts_that_fails_is_named(void) {
    ledger_remove(directory, false);
    hf_store_free(open_store());
    sqlite3_auto_extension((void (*)(void))refuse);
    hf_store *store = NULL;
    hf_error *error = NULL;
    hf_status status = hf_store_open(path, NULL, &store, &error);
    expect(status == HF_CANNOT_OPEN && strstr(hf_error_message(error), "wants its licence") != NULL &&
               strstr(hf_error_message(error), "sqlite3_auto_extension") != NULL,
           "what fails is the host's extension, and not the file");
    hf_error_free(error);
    sqlite3_reset_auto_extension();
    hf_store_free(open_store());
}

/* Another program's connection; here one of this process, for which SQLite's locks are the same. */
static sqlite3 *lock_for_writing(void) {
    sqlite3 *connection = open_sqlite();
    if (sqlite3_exec(connection, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        exit(2);
    return connection;
}

static void *let_go(void *connection) {
    usleep(1500 * 1000);
    sqlite3_close(connection);
    return NULL;
}

static hf_status save_in(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)out_error;
    return hf_repository_save(user_data, t, "{\"id\":\"run\"}", HF_NTS, NULL, NULL);
}

static hf_store *open_new_store(void) {
    ledger_remove(directory, false);
    hf_store *store = open_store();
    if (save(store, "{\"id\":\"first\"}", NULL, NULL) != HF_OK)
        exit(2);
    return store;
}

static void a_commit_waits_for_another_programs_lock_as_long_as_it_may(void) {
    hf_store *store = open_new_store();
    hf_error *error = NULL;
    /* Alone for so long that this process writes without asking the others. */
    usleep(200 * 1000);
    sqlite3 *program = lock_for_writing();
    hf_status status = HF_OK;
    double began = 0, waited = 5;
    /* On a busy machine one of them is in time. */
    for (int tries = 0; tries < 20 && waited >= 3; tries++) {
        hf_error_free(error);
        error = NULL;
        began = seconds();
        status = save(store, "{\"id\":\"late\"}", "{\"timeout_ms\":300}", &error);
        waited = seconds() - began;
        expect(status == HF_TIMEOUT || status == HF_BUSY, "what is locked out says so");
    }
    expect(waited > 0.25 && waited < 3, "it waits as long as its timeout allows, and no longer");
    hf_error_free(error);
    error = NULL;

    pthread_t thread;
    began = seconds();
    pthread_create(&thread, NULL, let_go, program);
    status = save(store, "{\"id\":\"in time\"}", "{\"timeout_ms\":20000}", &error);
    expect(status == HF_OK && seconds() - began > 1, "it is stored once the other has let go");
    pthread_join(thread, NULL);
    hf_error_free(error);
    error = NULL;

    hf_repository *things = NULL;
    program = lock_for_writing();
    if (hf_repository_open(store, "things", NULL, &things, NULL) != HF_OK)
        exit(2);
    pthread_create(&thread, NULL, let_go, program);
    status = hf_store_transact(store, save_in, things, "{\"timeout_ms\":20000}", NULL, &error);
    expect(status == HF_OK, "transact gets through when the other has let go");
    pthread_join(thread, NULL);
    hf_error_free(error);
    hf_repository_free(things);
    hf_store_free(store);
}

/* How long commits wait for another program's lock, here less than elsewhere. */
enum { FOREIGN_LOCK_SECONDS = 5 };

static void another_lock_long_after_is_waited_for_anew(void) {
    hf_store *store = open_new_store();
    hf_error *error = NULL;
    sqlite3 *program = lock_for_writing();
    hf_status status = save(store, "{\"id\":\"late\"}", "{\"timeout_ms\":100}", &error);
    expect(status == HF_TIMEOUT, "what is locked out says so");
    hf_error_free(error);
    error = NULL;
    sqlite3_close(program);
    sleep(FOREIGN_LOCK_SECONDS + 1);
    program = lock_for_writing();
    pthread_t thread;
    pthread_create(&thread, NULL, let_go, program);
    status = save(store, "{\"id\":\"in time\"}", "{\"timeout_ms\":20000}", &error);
    expect(status == HF_OK, "a lock that has just been taken is waited for, whatever was locked before");
    pthread_join(thread, NULL);
    hf_error_free(error);
    hf_store_free(store);
}

int main(void) {
    char limits[64];
    snprintf(limits, sizeof limits, "foreignLock=%d000000000", FOREIGN_LOCK_SECONDS);
    setenv("HOLDFAST_LIMITS", limits, 1);
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    a_shared_cache_is_not_shared_with_the_store();
    the_hosts_own_way_to_files_is_the_hosts_alone();
    an_extension_of_the_hosts_that_fails_is_named();
    a_commit_waits_for_another_programs_lock_as_long_as_it_may();
    another_lock_long_after_is_waited_for_anew();
    ledger_remove(directory, true);
    printf("hosts: %d wrong\n", wrong);
    return wrong > 0;
}
