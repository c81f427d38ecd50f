#include "desk.h"

#include <stdio.h>
#include <string.h>

/* Whether a call may answer so where files fail, others are in the way, and processes die. */
static bool is_expected(hf_status status) {
    switch (status) {
    case HF_OK:
    case HF_NOT_FOUND:
    case HF_EXISTS:
    case HF_CONFLICT:
    case HF_BUSY:
    case HF_TIMEOUT:
    case HF_CLOSED:
    case HF_CANNOT_OPEN:
    case HF_READ_ONLY: /* where SQLite could open its "-shm" file for reading alone */
    case HF_FULL:
    case HF_IO:
    case HF_NO_MEMORY:
    case HF_CANCELLED:
        return true;
    default:
        return false;
    }
}

bool look(const char *doing, hf_status status, hf_error **error) {
    if (!is_expected(status))
        report("%s answered %s: %s", doing, hf_status_name(status), *error ? hf_error_message(*error) : "");
    if (the->is_tracing && status != HF_OK && status != HF_NOT_FOUND)
        fprintf(stderr, "  %d.%d %s: %s: %s\n", the->tasks[self].process, self, doing, hf_status_name(status),
                *error ? hf_error_message(*error) : "");
    note(doing, NULL, (int64_t)status, 0, 0);
    hf_error_free(*error);
    *error = NULL;
    return status == HF_OK;
}

hf_status desk_open(desk *d, const char *path, const char *options, hf_error **error) {
    *d = (desk){.store = NULL};
    /* Each process that was killed leaves out some ten thousand sequences. */
    char text[200];
    snprintf(text, sizeof text, "{\"log_retention\":2147483648%s%s}", options == NULL ? "" : ",",
             options == NULL ? "" : options);
    hf_status status = hf_store_open(path, text, &d->store, error);
    if (status == HF_OK)
        status = hf_repository_open(d->store, "lists", NULL, &d->lists, error);
    if (status == HF_OK)
        status = hf_repository_open(d->store, "things", NULL, &d->things, error);
    return status;
}

bool desk_close(desk *d) {
    hf_error *error = NULL;
    unfollow(d);
    bool is_closed = d->store == NULL || look("close", hf_store_close(d->store, -1, &error), &error);
    hf_repository_free(d->lists);
    hf_repository_free(d->things);
    hf_store_free(d->store);
    d->store = NULL;
    return is_closed;
}

bool verify(desk *d, const char *what) {
    hf_buffer text = HF_BUFFER_INIT;
    hf_error *error = NULL;
    bool is_done = look("verify", hf_store_verify(d->store, NULL, NULL, &text, &error), &error);
    if (is_done && strstr(text.data, "{\"ok\":true") != text.data)
        report("%s is damaged: %.300s", what, text.data);
    hf_buffer_free(&text);
    return is_done;
}

bool must(const char *doing, hf_status status, hf_error **error) {
    if (status != HF_OK)
        report("%s, where nothing fails, answered %s: %s", doing, hf_status_name(status),
               *error ? hf_error_message(*error) : "");
    return look(doing, status, error);
}

int own_process(void) { return the->tasks[self].process; }

const char *behind(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length)
        if (at > text && at[-1] == '"' && at[length] == '"' && at[length + 1] == ':')
            return at + length + 2;
    return NULL;
}

void copy_text(const char *at, char *out, size_t size) {
    const char *end = at == NULL || *at != '"' ? NULL : strchr(at + 1, '"');
    size_t length = end == NULL ? 0 : (size_t)(end - at - 1);
    if (length >= size)
        length = size - 1;
    memcpy(out, end == NULL ? "" : at + 1, length);
    out[length] = 0;
}
