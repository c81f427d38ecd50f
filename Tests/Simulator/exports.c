/*
 * Exports: one state of the store, written down while others go on; cut short now and then, also by the end
 * of the process, and gone on with where that state is still the newest.
 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As to a file, which is there when the process is not: it is kept in the history. */
static void take_line(exported *e, const char *line) {
    const char *at;
    if ((at = behind(line, "holdfast_export")) != NULL && e->sequence == 0) {
        e->sequence = strtoull(behind(line, "sequence"), NULL, 10);
        copy_text(behind(line, "incarnation"), e->incarnation, sizeof e->incarnation);
        return;
    }
    if (strncmp(line, "{\"end\":", 7) == 0) {
        uint64_t count = strtoull(behind(line, "entities"), NULL, 10);
        if (count != e->entities)
            report("an export tells of %d entities, and has %d", (int)count, (int)e->entities);
        e->is_whole = true;
        return;
    }
    char repository[16], id[40];
    copy_text(behind(line, "repository"), repository, sizeof repository);
    copy_text(behind(line, "id"), id, sizeof id);
    int order = strcmp(repository, e->repository);
    if (order < 0 || (order == 0 && strcmp(id, e->id) <= 0))
        report("an export has %s %s behind %s %s", repository, id, e->repository, e->id);
    strcpy(e->repository, repository);
    strcpy(e->id, id);
    e->entities++;
    if (strtoull(behind(line, "version"), NULL, 10) > e->sequence)
        report("an export of sequence %d has a later %s", (int)e->sequence, id);
    int era, number, part, length = 0;
    if (sscanf(id, "e%d-%d%n", &era, &number, &length) != 2 || era != told->era)
        return;
    if (strcmp(repository, "lists") == 0) {
        int place = number - e->generation * LISTS_AT_ONCE;
        if (place >= 0 && place < READS)
            parse_values(line, &e->read[place]);
    } else if (sscanf(id + length, "-%d", &part) == 1 && number < BATCHES) {
        e->found[number]++;
    }
}

typedef struct writing {
    exported *exported;
    int pieces; /* with which it is cut short; below 0: never */
} writing;

static hf_status write_piece(const char *bytes, size_t length, void *user_data, hf_error **out_error) {
    (void)out_error;
    writing *w = user_data;
    char *text = strndup(bytes, length);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = 0;
        take_line(w->exported, line);
    }
    note("exported", w->exported->id, (int64_t)length, (int64_t)w->exported->entities, 0);
    free(text);
    return w->pieces >= 0 && w->pieces-- == 0 ? HF_CANCELLED : HF_OK;
}

static void begin_export(exported *e) {
    memset(e, 0, sizeof *e);
    e->is_begun = e->is_running = true;
    e->began = tick();
    e->generation = generation();
    for (int i = 0; i < READS; i++)
        e->read[i].list = e->generation * LISTS_AT_ONCE + i;
    e->batches = told->batches;
    for (int i = 0; i < told->batches; i++) {
        const batch *batch = &told->batch[i];
        e->must_be[i] = batch->outcome == COMMITTED && !batch->is_removing;
        e->must_not_be[i] = batch->is_removed;
    }
}

/* It is what a transaction would have read. */
static void check_export(const exported *e) {
    told->counted.exports++;
    for (int i = 0; i < told->batches; i++) {
        const batch *batch = &told->batch[i];
        if (e->found[i] != 0 && e->found[i] != batch->size)
            report("an export has %d of %d entities of batch %d", e->found[i], batch->size, i);
        if (e->found[i] == 0 && i < e->batches && e->must_be[i] && !batch->is_removing)
            report("an export lacks batch %d, which was committed", i);
        if (e->found[i] != 0 && i < e->batches && e->must_not_be[i])
            report("an export has batch %d, which was removed", i);
    }
    record *record = history_add();
    if (record == NULL)
        return;
    record->began = e->began;
    record->ended = tick();
    record->outcome = COMMITTED;
    record->reads = READS;
    memcpy(record->read, e->read, sizeof e->read);
}

/* Begins, or goes on. Answers whether it is whole now. */
static bool run_export(desk *d, exported *e, int pieces, hf_status *out_status) {
    char options[200] = "{}";
    if (e->repository[0] != 0)
        snprintf(options, sizeof options,
                 "{\"after\":{\"sequence\":%llu,\"repository\":\"%s\",\"id\":\"%s\",\"incarnation\":\"%s\"}}",
                 (unsigned long long)e->sequence, e->repository, e->id, e->incarnation);
    writing w = {e, pieces};
    hf_error *error = NULL;
    *out_status = hf_store_export(d->store, options, write_piece, NULL, &w, NULL, &error);
    if (!look("export", *out_status, &error))
        return false;
    if (!e->is_whole)
        report("an export succeeded without its last line");
    return e->is_whole;
}

void export_all(desk *d, int attempts) {
    exported *e = &told->exported[own_process()];
    if (e->is_running)
        return;
    begin_export(e);
    hf_status status = HF_OK;
    bool is_whole = false;
    for (int i = 0; i < attempts && !is_whole && status != HF_CONFLICT && the->switches < the->enough; i++) {
        /* Before the first entity there is nothing to go on behind. */
        if (e->repository[0] == 0)
            begin_export(e);
        is_whole = run_export(d, e, happens(500) ? (int)draw(4) : -1, &status);
    }
    if (is_whole)
        check_export(e);
    if (is_whole || status == HF_CONFLICT)
        e->is_begun = false;
    e->is_running = false;
}

void end_exports(desk *d) {
    for (int i = 0; i < PROCESSES; i++) {
        exported *e = &told->exported[i];
        if (!e->is_begun || e->is_whole || e->repository[0] == 0)
            continue;
        hf_buffer position = HF_BUFFER_INIT;
        hf_error *error = NULL;
        if (!must("asking for the position", hf_store_position(d->store, &position, &error), &error))
            return;
        const char *colon = strchr(position.data, ':');
        bool is_newest = colon != NULL && strtoull(colon + 1, NULL, 10) == e->sequence;
        hf_buffer_free(&position);
        hf_status status;
        if (run_export(d, e, -1, &status)) {
            told->counted.resumed_exports++;
            check_export(e);
        } else if (is_newest || status != HF_CONFLICT) {
            report("an export of the newest state did not go on");
        }
    }
}
