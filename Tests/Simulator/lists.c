/*
 * Lists: transactions that read some and append to some, so that their order can be told from what they read.
 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Now and then others are used, so that none becomes long. */
int generation(void) { return (int)(told->next_value / 60 % (LISTS / LISTS_AT_ONCE)); }

static int some_list(void) { return generation() * LISTS_AT_ONCE + (int)draw(LISTS_AT_ONCE); }

static void list_id(int list, char id[32]) { snprintf(id, 32, "e%d-%d", told->era, list); }

void parse_values(const char *text, reading *out) {
    out->count = 0;
    const char *at = text == NULL ? NULL : strstr(text, "\"values\":[");
    if (at == NULL)
        return;
    at += strlen("\"values\":[");
    while (*at != ']' && *at != 0 && out->count < VALUES) {
        char *end;
        unsigned long value = strtoul(at, &end, 10);
        if (end == at)
            return;
        out->values[out->count++] = (uint32_t)value;
        at = *end == ',' ? end + 1 : end;
    }
}

bool read_list(desk *d, hf_transaction *t, int list, reading *out) {
    char id[32];
    list_id(list, id);
    hf_entity entity = HF_ENTITY_INIT;
    hf_error *error = NULL;
    hf_status status = hf_repository_fetch(d->lists, t, id, HF_NTS, &entity, &error);
    bool is_known = status == HF_OK || status == HF_NOT_FOUND;
    out->list = list;
    parse_values(status == HF_OK ? entity.data : NULL, out);
    look("fetch", status, &error);
    hf_entity_free(&entity);
    return is_known;
}

static bool write_list(desk *d, hf_transaction *t, const reading *values) {
    char text[2048], id[32];
    list_id(values->list, id);
    int length = snprintf(text, sizeof text, "{\"id\":\"%s\",\"values\":[", id);
    for (int i = 0; i < values->count; i++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%s%u", i ? "," : "", values->values[i]);
    length +=
        snprintf(text + length, sizeof text - (size_t)length, "],\"pad\":\"%0*d\"}", (int)draw(600) + 1, 0);
    hf_error *error = NULL;
    return look("save", hf_repository_save(d->lists, t, text, (size_t)length, NULL, &error), &error);
}

static outcome outcome_of(hf_status status, const hf_error *error) {
    if (status == HF_OK)
        return COMMITTED;
    switch (error == NULL ? HF_COMMIT_NONE : hf_error_commit_state(error)) {
    case HF_COMMIT_NONE:
        return ABORTED;
    case HF_COMMIT_DONE:
        return COMMITTED;
    default:
        return UNKNOWN;
    }
}

outcome finish(hf_transaction *t, record *record) {
    hf_error *error = NULL;
    if (record != NULL)
        record->outcome = UNKNOWN;
    hf_status status = hf_transaction_commit(t, NULL, &error);
    outcome outcome = outcome_of(status, error);
    if (record != NULL) {
        record->outcome = outcome;
        record->ended = tick();
    }
    look("commit", status, &error);
    return outcome;
}

hf_transaction *begin_transaction(desk *d, bool *out_durable) {
    char options[80];
    *out_durable = happens(700);
    snprintf(options, sizeof options, "{\"durability\":\"%s\",\"timeout_ms\":%d}",
             *out_durable ? "full" : "relaxed", happens(200) ? (int)draw(300) : 30000);
    hf_transaction *t = NULL;
    hf_error *error = NULL;
    return look("begin", hf_transaction_begin(d->store, options, &t, &error), &error) ? t : NULL;
}

void change_lists(desk *d, bool writes) {
    record *record = history_add();
    if (record == NULL) {
        d->wants_end = true;
        return;
    }
    hf_transaction *t = begin_transaction(d, &record->is_durable);
    bool goes_on = t != NULL;
    for (int i = 1 + (int)draw(3); i > 0 && goes_on; i--) {
        reading *seen = &record->read[record->reads];
        goes_on = read_list(d, t, some_list(), seen);
        bool is_own = false;
        for (int j = 0; j < record->appends; j++)
            is_own |= record->append[j].list == seen->list;
        reading next = *seen;
        if (goes_on && !is_own)
            record->reads++;
        if (!goes_on || is_own || !writes || seen->count >= VALUES - 2 || !happens(650))
            continue;
        if (happens(100)) {
            /* Something that is taken back. */
            uint64_t savepoint;
            next.values[next.count++] = 4000000000u;
            goes_on = hf_transaction_savepoint(t, &savepoint, NULL) == HF_OK && write_list(d, t, &next) &&
                      hf_transaction_rollback_to(t, savepoint, NULL) == HF_OK;
            next.count--;
        }
        next.values[next.count] = told->next_value++;
        record->append[record->appends].list = next.list;
        record->append[record->appends++].value = next.values[next.count++];
        goes_on = goes_on && write_list(d, t, &next);
    }
    if (goes_on && !happens(50))
        finish(t, record);
    hf_transaction_free(t);
}

/* Appends without looking, by a commit of its own. */
void push(desk *d) {
    record *record = history_add();
    if (record == NULL)
        return;
    int list = some_list();
    reading seen;
    if (!read_list(d, NULL, list, &seen) || seen.count >= VALUES / 2)
        return;
    char id[32], update[64], initial[64];
    list_id(list, id);
    record->is_durable = true;
    record->append[0].list = list;
    record->append[0].value = told->next_value++;
    record->appends = 1;
    snprintf(update, sizeof update, "{\"$push\":{\"values\":%u}}", record->append[0].value);
    snprintf(initial, sizeof initial, "{\"id\":\"%s\",\"values\":[]}", id);
    hf_error *error = NULL;
    record->outcome = UNKNOWN;
    hf_status status =
        hf_repository_modify(d->lists, NULL, id, HF_NTS, update, HF_NTS, initial, HF_NTS, 0, NULL, &error);
    record->outcome = outcome_of(status, error);
    record->ended = tick();
    look("modify", status, &error);
}
