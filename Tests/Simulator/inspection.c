/*
 * What processes do in which nothing fails: they look at all that is there.
 */
#include "clients.h"
#include "desk.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A backup is what a transaction would have read. */
static void read_backup(desk *d, const backup *backup) {
    record *record = history_add();
    if (record == NULL)
        return;
    record->began = backup->began;
    record->ended = backup->ended;
    record->outcome = COMMITTED;
    for (int i = 0; i < READS; i++)
        if (read_list(d, NULL, backup->generation * LISTS_AT_ONCE + i, &record->read[i]))
            record->reads++;
}

static void inspect_backup(int number) {
    char path[64];
    backup_path(number, path);
    struct stat status;
    if (stat(path, &status) != 0) {
        if (told->backup[number].is_there)
            report("backup %d was made, and is not there", number);
        return;
    }
    desk d;
    hf_error *error = NULL;
    if (must("opening a backup", desk_open(&d, path, "\"read_only\":true", &error), &error)) {
        verify(&d, path);
        if (told->backup[number].is_there)
            read_backup(&d, &told->backup[number]);
    }
    desk_close(&d);
    unlink(path);
}

static void unlink_named(const char *name) {
    char path[NAME_BYTES + sizeof DIRECTORY];
    snprintf(path, sizeof path, DIRECTORY "/%s", name);
    unlink(path);
}

void run_inspection(bool was_cut) {
    desk d;
    hf_error *error = NULL;
    if (must("opening", desk_open(&d, STORE, NULL, &error), &error)) {
        for (int i = 0; i < LISTS; i++)
            read_list(&d, NULL, i, &told->final[i]);
        for (int i = 0; i < told->batches; i++) {
            char filter[64];
            batch_filter(i, filter);
            uint64_t count = 0;
            must("counting", hf_repository_count(d.things, NULL, filter, HF_NTS, NULL, &count, &error),
                 &error);
            told->found[i] = (int)count;
        }
        told->is_found = true;
        end_exports(&d);
        inspect_upgrades(&d);
        end_imports(&d);
        end_followers(&d, was_cut);
        /* It can be written as well. Nobody asks for this any more. */
        if (happens(800)) {
            change_lists(&d, true);
            told->count--;
        }
        verify(&d, "the store");
        /* So that it does not grow for ever. */
        if (happens(500))
            must("deleting", hf_repository_delete_all(d.things, NULL, NULL, 0, NULL, NULL, &error), &error);
    }
    if (desk_close(&d)) {
        struct stat status;
        if (stat(STORE "-wal", &status) == 0 || stat(STORE "-shm", &status) == 0)
            report("a store that was closed is more than one file");
    }
    for (int i = 0; i < BACKUPS; i++)
        inspect_backup(i);
    for (int i = 0; i < NAMES; i++)
        if (strncmp(the->names[i].text, "store.db-v", strlen("store.db-v")) == 0)
            unlink_named(the->names[i].text);
    process_end(ENDED);
}

void remove_store(const char *store) {
    const char *const ends[] = {"", "-wal", "-shm", "-journal", "-lock", "-partial"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%s", store, ends[i]);
        unlink(path);
    }
}

void run_keeping(void) {
    desk d;
    hf_error *error = NULL;
    remove_store(KEPT);
    if (must("opening", desk_open(&d, STORE, NULL, &error), &error))
        must("keeping a backup", hf_store_backup(d.store, KEPT, NULL, NULL, NULL, &error), &error);
    desk_close(&d);
    process_end(ENDED);
}

void run_restoring(void) {
    hf_error *error = NULL;
    told->has_answered = false;
    if (look("restore", hf_store_restore(KEPT, STORE, "{\"replace\":true}", NULL, NULL, &error), &error)) {
        told->has_answered = true;
        told->counted.restores++;
    }
    process_end(ENDED);
}

static uint64_t fingerprint(uint64_t sum, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ (uint8_t)bytes[i]) * 0x100000001B3;
    return sum;
}

static void dump(desk *d) {
    hf_error *error = NULL;
    told->dump = 1;
    hf_repository *both[] = {d->lists, d->things};
    for (int i = 0; i < 2; i++) {
        hf_entity_list all = HF_ENTITY_LIST_INIT;
        must("reading all", hf_repository_find(both[i], NULL, NULL, 0, NULL, &all, &error), &error);
        for (size_t j = 0; j < all.count; j++) {
            told->dump = fingerprint(told->dump, all.items[j].id, all.items[j].id_length);
            told->dump = fingerprint(told->dump, all.items[j].data, all.items[j].length);
        }
        hf_entity_list_free(&all);
    }
}

void run_dump(const char *path) {
    desk d;
    hf_error *error = NULL;
    told->dump = 0;
    if (must("opening to read all", desk_open(&d, path, "\"create\":false", &error), &error)) {
        dump(&d);
        verify(&d, path);
    }
    desk_close(&d);
    process_end(ENDED);
}

void run_leaving(void) {
    desk d;
    hf_error *error = NULL;
    if (must("opening", desk_open(&d, STORE, "\"create\":false", &error), &error)) {
        for (int i = 0; i < 3; i++)
            must("saving", hf_repository_save(d.lists, NULL, "{\"left\":true}", HF_NTS, NULL, &error),
                 &error);
        dump(&d);
    }
    process_end(KILLED);
}
