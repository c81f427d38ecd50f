/*
 * Hosts: what other code of the process has told SQLite, which is one for all. A store goes on as without it,
 * or says what stands in its way.
 */
#include "judge.h"
#include "ledger.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    a_shared_cache_is_not_shared_with_the_store();
    the_hosts_own_way_to_files_is_the_hosts_alone();
    an_extension_of_the_hosts_that_fails_is_named();
    ledger_remove(directory, true);
    printf("hosts: %d wrong\n", wrong);
    return wrong > 0;
}
