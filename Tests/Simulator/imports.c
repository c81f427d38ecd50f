/*
 * Imports: what one that was broken off has stored it stores no second time, and nothing else is left out.
 */
#include "desk.h"

#include <stdio.h>
#include <string.h>

/* Its lines, which follow from its number alone. */
typedef struct source {
    int number, size;
    int line;
    int fails_at; /* this line cannot be had; below 0: none */
    char text[512];
    size_t length, given;
} source;

static void write_line(source *s) {
    int e = told->era, n = s->number, i = s->line++;
    s->given = 0;
    s->length = (size_t)snprintf(s->text, sizeof s->text,
                                 "{\"id\":\"e%d-i%d-%d\",\"batch\":\"e%d-i%d\",\"pad\":\"%0*d\"}\n", e, n, i,
                                 e, n, 1 + (n * 37 + i * 17) % 300, 0);
}

static int64_t read_lines(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    source *s = user_data;
    size_t length = 0;
    while (length < capacity) {
        if (s->given == s->length) {
            if (s->line == s->fails_at)
                return -1;
            if (s->line == s->size)
                break;
            write_line(s);
        }
        size_t part = s->length - s->given < capacity - length ? s->length - s->given : capacity - length;
        memcpy(buffer + length, s->text + s->given, part);
        s->given += part;
        length += part;
    }
    return (int64_t)length;
}

static bool run_import(desk *d, int number, int fails_at, hf_status *out_status) {
    import *import = &told->import[number];
    char options[100];
    snprintf(options, sizeof options, "{\"repository\":\"things\",\"resume\":\"e%d-i%d\"}", told->era,
             number);
    source s = {.number = number, .size = import->size, .fails_at = fails_at};
    hf_buffer text = HF_BUFFER_INIT;
    hf_error *error = NULL;
    *out_status = hf_store_import(d->store, options, read_lines, NULL, &s, &text, &error);
    /* What an earlier run has stored must not be in its way. */
    if (*out_status == HF_EXISTS)
        report("import %d answered %s", number, hf_error_message(error));
    if (*out_status == HF_HOST_ERROR && fails_at >= 0) {
        hf_error_free(error);
        return false;
    }
    bool is_done = look("import", *out_status, &error);
    const char *stored = is_done ? behind(text.data, "stored") : NULL;
    int count = 0;
    if (is_done && (stored == NULL || sscanf(stored, "%d", &count) != 1 || count != import->size))
        report("import %d of %d entities answered %s", number, import->size, text.data);
    hf_buffer_free(&text);
    import->is_done |= is_done;
    return is_done;
}

static void count_import(desk *d, int number) {
    import *import = &told->import[number];
    bool was_done = import->is_done;
    char filter[64];
    snprintf(filter, sizeof filter, "{\"batch\":\"e%d-i%d\"}", told->era, number);
    uint64_t count = 0;
    hf_error *error = NULL;
    if (look("count", hf_repository_count(d->things, NULL, filter, HF_NTS, NULL, &count, &error), &error) &&
        (was_done ? count != (uint64_t)import->size : count > (uint64_t)import->size))
        report("of import %d, which is %s, %d of %d entities are there", number,
               was_done ? "done" : "not done", (int)count, import->size);
}

/* One that a process with this number has not ended, or a new one. */
static int some_import(void) {
    for (int i = 0; i < told->imports; i++)
        if (told->import[i].process == own_process() && !told->import[i].is_done)
            return told->import[i].is_running ? -1 : i;
    if (told->imports == IMPORTS)
        return -1;
    told->import[told->imports] =
        (import){.process = own_process(), .size = 2 + (int)draw(happens(200) ? 300 : 60)};
    return told->imports++;
}

void import_some(desk *d) {
    int number = some_import();
    if (number < 0)
        return;
    hf_status status;
    import *import = &told->import[number];
    import->is_running = true;
    int fails_at = happens(200) ? (int)draw((uint64_t)import->size) : -1;
    run_import(d, number, fails_at, &status);
    import->is_running = false;
    count_import(d, number);
}

void end_imports(desk *d) {
    for (int i = 0; i < told->imports; i++) {
        hf_status status;
        count_import(d, i);
        if (!told->import[i].is_done && !run_import(d, i, -1, &status))
            report("import %d does not go on: %s", i, hf_status_name(status));
        else
            told->counted.imports++;
        count_import(d, i);
    }
}
