#include "clients.h"
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    hf_status status = hf_store_open(path, options, &d->store, error);
    if (status == HF_OK)
        status = hf_repository_open(d->store, "lists", NULL, &d->lists, error);
    if (status == HF_OK)
        status = hf_repository_open(d->store, "things", NULL, &d->things, error);
    return status;
}

bool desk_close(desk *d) {
    hf_error *error = NULL;
    bool is_closed = d->store == NULL || look("close", hf_store_close(d->store, -1, &error), &error);
    hf_repository_free(d->lists);
    hf_repository_free(d->things);
    hf_store_free(d->store);
    d->store = NULL;
    return is_closed;
}

/* --- Lists ---------------------------------------------------------------------------------------- */

/* Now and then others are used, so that none becomes long. */
static int generation(void) { return (int)(told->next_value / 60 % (LISTS / LISTS_AT_ONCE)); }

static int some_list(void) { return generation() * LISTS_AT_ONCE + (int)draw(LISTS_AT_ONCE); }

static void list_id(int list, char id[32]) { snprintf(id, 32, "e%d-%d", told->era, list); }

static void parse(const char *text, reading *out) {
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
    parse(status == HF_OK ? entity.data : NULL, out);
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

static outcome finish(hf_transaction *t, record *record) {
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

static hf_transaction *begin_transaction(desk *d, bool *out_durable) {
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
static void push(desk *d) {
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

/* --- Batches of many entities --------------------------------------------------------------------- */

void batch_filter(int number, char filter[64]) {
    snprintf(filter, 64, "{\"batch\":\"e%d-%d\"}", told->era, number);
}

static void add_batch(desk *d) {
    int size = 5 + (int)draw(happens(200) ? 400 : 60);
    batch *batch = history_add_batch(size);
    if (batch == NULL)
        return;
    int number = told->batches - 1;
    size_t room = (size_t)size * 1600 + 16;
    char *text = malloc(room);
    size_t length = 0;
    text[length++] = '[';
    for (int i = 0; i < size; i++)
        length += (size_t)snprintf(
            text + length, room - length, "%s{\"id\":\"e%d-%d-%d\",\"batch\":\"e%d-%d\",\"pad\":\"%0*d\"}",
            i ? "," : "", told->era, number, i, told->era, number, 1 + (int)draw(1400), 0);
    text[length++] = ']';
    hf_transaction *t = begin_transaction(d, &batch->is_durable);
    hf_error *error = NULL;
    if (t != NULL &&
        look("save many", hf_repository_save_many(d->things, t, text, length, NULL, &error), &error) &&
        !happens(200)) {
        batch->outcome = UNKNOWN;
        batch->outcome = finish(t, NULL);
    }
    hf_transaction_free(t);
    free(text);
}

static void remove_batch(desk *d) {
    if (told->batches == 0)
        return;
    int number = (int)draw((uint64_t)told->batches);
    batch *batch = &told->batch[number];
    if (batch->outcome != COMMITTED)
        return;
    char filter[64];
    batch_filter(number, filter);
    hf_error *error = NULL;
    batch->is_removing = true;
    uint64_t count = 0;
    if (look("delete all", hf_repository_delete_all(d->things, NULL, filter, HF_NTS, NULL, &count, &error),
             &error))
        batch->is_removed = true;
}

static void count_batch(desk *d) {
    if (told->batches == 0)
        return;
    int number = (int)draw((uint64_t)told->batches);
    batch *batch = &told->batch[number];
    char filter[64];
    batch_filter(number, filter);
    hf_error *error = NULL;
    uint64_t count = 0;
    bool was_committed = batch->outcome == COMMITTED && !batch->is_removing;
    if (!look("count", hf_repository_count(d->things, NULL, filter, HF_NTS, NULL, &count, &error), &error))
        return;
    if (count != 0 && count != (uint64_t)batch->size)
        report("of batch %d %d of %d entities were counted", number, (int)count, batch->size);
    if (count == 0 && was_committed && !batch->is_removing)
        report("batch %d was committed, and was not found", number);
}

/* --- The care of a store -------------------------------------------------------------------------- */

void backup_path(int number, char path[64]) { snprintf(path, 64, DIRECTORY "/backup-%d.db", number); }

static void back_up(desk *d) {
    char path[64];
    int number = (int)draw(BACKUPS);
    backup_path(number, path);
    hf_error *error = NULL;
    uint64_t began = tick();
    if (!look("backup", hf_store_backup(d->store, path, NULL, NULL, NULL, &error), &error))
        return;
    told->backup[number] = (backup){true, generation(), began, tick()};
    told->backups++;
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

static void care(desk *d) {
    hf_error *error = NULL;
    switch (draw(8)) {
    case 0:
        look("create index",
             hf_repository_create_index(d->things, "{\"fields\":{\"batch\":1},\"name\":\"by\"}", NULL, NULL,
                                        &error),
             &error);
        break;
    case 1:
        look("drop index", hf_repository_drop_index(d->things, "by", &error), &error);
        break;
    case 2:
        verify(d, "the store");
        break;
    case 3:
        look("compact", hf_store_compact(d->store, NULL, &error), &error);
        break;
    case 4:
    case 5:
        back_up(d);
        break;
    case 6:
        look("sync", hf_store_sync(d->store, &error), &error);
        break;
    case 7:
        usleep((useconds_t)draw(5000000));
        break;
    }
}

/* --- A process ------------------------------------------------------------------------------------ */

static void *client(void *argument) {
    desk *d = argument;
    while (d->steps > 0 && !d->wants_end && the->switches < the->enough) {
        d->steps--;
        switch (draw(16)) {
        case 0:
        case 1:
            add_batch(d);
            break;
        case 2:
            remove_batch(d);
            break;
        case 3:
            count_batch(d);
            break;
        case 4:
            care(d);
            break;
        case 5:
        case 6:
            push(d);
            break;
        case 7:
        case 8:
            change_lists(d, false);
            break;
        default:
            change_lists(d, true);
        }
        if (happens(30))
            usleep((useconds_t)draw(200000));
    }
    return NULL;
}

void run_clients(const plan *plan) {
    for (int session = 0; session < plan->sessions && the->switches < the->enough; session++) {
        desk d;
        hf_error *error = NULL;
        hf_status status = desk_open(&d, STORE, plan->options, &error);
        told->opens++;
        if (!look("open", status, &error)) {
            told->failed_opens++;
            desk_close(&d);
            usleep((useconds_t)draw(500000));
            continue;
        }
        d.steps = plan->steps;
        pthread_t threads[8];
        for (int i = 0; i < plan->clients; i++)
            if (pthread_create(&threads[i], NULL, client, &d) != 0)
                abort();
        for (int i = 0; i < plan->clients; i++)
            pthread_join(threads[i], NULL);
        desk_close(&d);
    }
    process_end(ENDED);
}
