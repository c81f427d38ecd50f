/*
 * Copies: a whole store as text, and what becomes of the text elsewhere.
 */
#include "clients.h"
#include "desk.h"

#include <stdio.h>
#include <string.h>

static hf_status keep(const char *bytes, size_t length, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)user_data;
    if (told->exported_bytes + length > COPIED_BYTES)
        return HF_NO_MEMORY;
    memcpy(told->exported_text + told->exported_bytes, bytes, length);
    told->exported_bytes += length;
    return HF_OK;
}

const char *copy_path(void) {
    static char path[64];
    snprintf(path, sizeof path, DIRECTORY "/copy-%d.db", told->era);
    return path;
}

void run_removing(void) {
    remove_store(copy_path());
    process_end(ENDED);
}

void run_exporting(void) {
    desk d;
    hf_error *error = NULL;
    remove_store(copy_path());
    told->exported_bytes = 0;
    if (must("opening", desk_open(&d, STORE, NULL, &error), &error))
        must("exporting", hf_store_export(d.store, NULL, keep, NULL, NULL, NULL, &error), &error);
    desk_close(&d);
    process_end(ENDED);
}

static int64_t give(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    size_t *given = user_data, left = told->exported_bytes - *given, part = left < capacity ? left : capacity;
    memcpy(buffer, told->exported_text + *given, part);
    *given += part;
    return (int64_t)part;
}

void run_importing(void) {
    hf_store *store = NULL;
    hf_error *error = NULL;
    size_t given = 0;
    if (look("open", hf_store_open(copy_path(), NULL, &store, &error), &error) &&
        look("import all", hf_store_import(store, "{\"resume\":\"copy\"}", give, NULL, &given, NULL, &error),
             &error)) {
        told->has_answered = true;
        told->counted.copies++;
    }
    if (store != NULL)
        look("close", hf_store_close(store, -1, &error), &error);
    hf_store_free(store);
    process_end(ENDED);
}
