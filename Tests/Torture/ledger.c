#include "ledger.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 3 };

hf_status ledger_open(ledger *l, const char *path, const char *options, hf_error **out_error) {
    *l = (ledger){NULL, NULL, NULL};
    hf_status status = hf_store_open(path, options, &l->store, out_error);
    if (status == HF_OK)
        status = hf_repository_open(l->store, "entries", NULL, &l->entries, out_error);
    if (status == HF_OK)
        status = hf_repository_open(l->store, "slots", NULL, &l->slots, out_error);
    return status;
}

void ledger_close(ledger *l) {
    hf_repository_free(l->entries);
    hf_repository_free(l->slots);
    hf_store_free(l->store);
    *l = (ledger){NULL, NULL, NULL};
}

hf_status ledger_begin(ledger *l, uint32_t n, size_t padding, bool is_durable, hf_transaction **out,
                       hf_error **out_error) {
    hf_transaction *t = NULL;
    const char *options = is_durable ? NULL : "{\"durability\":\"relaxed\"}";
    hf_status status = hf_transaction_begin(l->store, options, &t, out_error);
    char entity[64];
    snprintf(entity, sizeof entity, "{\"id\":\"t-%u\",\"n\":%u}", n, n);
    if (status == HF_OK)
        status = hf_repository_save(l->entries, t, entity, HF_NTS, NULL, out_error);
    char *slot = malloc(padding + 128);
    for (int i = 0; i < SLOTS && status == HF_OK; i++) {
        int length = sprintf(slot, "{\"id\":\"slot-%d\",\"n\":%u,\"padding\":\"", i, n);
        memset(slot + length, 'a' + (int)((n + i) % 26), padding);
        strcpy(slot + length + padding, "\"}");
        status = hf_repository_save(l->slots, t, slot, HF_NTS, NULL, out_error);
    }
    free(slot);
    if (status != HF_OK) {
        hf_transaction_free(t);
        t = NULL;
    }
    *out = t;
    return status;
}

uint64_t ledger_sequence(const char *receipt) {
    const char *found = receipt == NULL ? NULL : strstr(receipt, "\"sequence\":");
    return found == NULL ? 0 : strtoull(found + strlen("\"sequence\":"), NULL, 10);
}

hf_status ledger_commit(ledger *l, uint32_t n, size_t padding, bool is_durable, uint64_t *out_sequence,
                        hf_error **out_error) {
    hf_transaction *t;
    hf_status status = ledger_begin(l, n, padding, is_durable, &t, out_error);
    if (status != HF_OK)
        return status;
    hf_buffer receipt = HF_BUFFER_INIT;
    status = hf_transaction_commit(t, &receipt, out_error);
    *out_sequence = status == HF_OK ? ledger_sequence(receipt.data) : 0;
    hf_buffer_free(&receipt);
    hf_transaction_free(t);
    return status;
}

/* --- Comparing ---------------------------------------------------------------------------------- */

static bool wrong(const char *path, const char *what, long long got, long long expected) {
    fprintf(stderr, "WRONG in %s: %s: %lld, expected %lld\n", path, what, got, expected);
    return false;
}

static uint32_t number_in(const hf_entity_view *entity) {
    const char *found = memmem(entity->data, entity->length, "\"n\":", 4);
    return found == NULL ? 0 : (uint32_t)strtoul(found + 4, NULL, 10);
}

static bool compare(ledger *l, const char *path, const expectation *e, uint32_t *out_last) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    if (hf_repository_fetch_all(l->entries, NULL, &list, NULL) != HF_OK)
        return wrong(path, "reading the entries failed", 0, 0);
    uint32_t last = 0;
    for (size_t i = 0; i < list.count; i++)
        if (number_in(&list.items[i]) > last)
            last = number_in(&list.items[i]);
    *out_last = last;
    bool right = true;
    if (list.count != last)
        right = wrong(path, "a transaction is missing before the last; entries", (long long)list.count, last);
    if (last < e->at_least)
        right = wrong(path, "an acknowledged transaction is lost; the last there", last, e->at_least);
    if (last > e->at_most)
        right = wrong(path, "a transaction that was never begun", last, e->at_most);
    if (hf_repository_fetch_all(l->slots, NULL, &list, NULL) != HF_OK)
        return wrong(path, "reading the slots failed", 0, 0);
    if (list.count != (last > 0 ? SLOTS : 0))
        right = wrong(path, "slots", (long long)list.count, SLOTS);
    for (size_t i = 0; i < list.count; i++)
        if (number_in(&list.items[i]) != last)
            right = wrong(path, "half a transaction: a slot's number", number_in(&list.items[i]), last);
    hf_entity_list_free(&list);
    return right;
}

static bool is_sound(const char *path) {
    sqlite3 *connection = NULL;
    sqlite3_stmt *statement = NULL;
    bool sound =
        sqlite3_open(path, &connection) == SQLITE_OK &&
        sqlite3_prepare_v2(connection, "PRAGMA integrity_check", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    if (!sound)
        fprintf(stderr, "WRONG in %s: integrity_check: %s\n", path,
                statement ? (const char *)sqlite3_column_text(statement, 0) : sqlite3_errmsg(connection));
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return sound;
}

bool ledger_verify(const char *path, const expectation *e, bool check_integrity, uint32_t *out_last) {
    ledger l;
    hf_error *error = NULL;
    uint32_t last = 0;
    bool right = ledger_open(&l, path, NULL, &error) == HF_OK && compare(&l, path, e, &last);
    if (error != NULL)
        fprintf(stderr, "WRONG in %s: opening: %s\n", path, hf_error_message(error));
    uint64_t sequence = 0;
    if (right && ledger_commit(&l, last + 1, 10, true, &sequence, &error) != HF_OK) {
        fprintf(stderr, "WRONG in %s: committing: %s\n", path, hf_error_message(error));
        right = false;
    }
    if (right && sequence <= e->last_sequence)
        right =
            wrong(path, "a sequence was given twice", (long long)sequence, (long long)e->last_sequence + 1);
    hf_error_free(error);
    if (check_integrity && right)
        right = is_sound(path);
    ledger_close(&l);
    *out_last = last;
    return right;
}

/* --- Files -------------------------------------------------------------------------------------- */

void make_directory(char *name, const char *inside) {
    sprintf(name, "%s/holdfast-XXXXXX", inside);
    if (mkdtemp(name) == NULL) {
        perror(name);
        exit(2);
    }
}

void ledger_directory(char *name) {
    make_directory(name, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

void ledger_remove(const char *directory, bool with_directory) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", "-lock"};
    char path[128];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "%s/store.db%s", directory, suffixes[i]);
        unlink(path);
    }
    if (with_directory)
        rmdir(directory);
}
