#include "operations.h"

#include "failing_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

place files;
outcome *board;

/* --- A store's handles ---------------------------------------------------------------------------- */

hf_status enter(room *r, const char *at, hf_error **error) {
    *r = (room){NULL, NULL};
    hf_status status = hf_store_open(at, NULL, &r->store, error);
    if (status == HF_OK)
        status = hf_repository_open(r->store, "things", NULL, &r->things, error);
    return status;
}

void leave(room *r) {
    hf_repository_free(r->things);
    hf_store_free(r->store);
    *r = (room){NULL, NULL};
}

void must(const char *doing, hf_status status, hf_error **error) {
    if (status != HF_OK)
        give_up(doing, status, *error);
}

hf_status save_many(room *r, const char *prefix, int count, size_t padding, hf_error **error) {
    hf_transaction *t = NULL;
    hf_status status = hf_transaction_begin(r->store, NULL, &t, error);
    for (int i = 0; i < count && status == HF_OK; i++) {
        char json[2400];
        snprintf(json, sizeof json, "{\"id\":\"%s%03d\",\"n\":%d,\"text\":\"%0*d\"}", prefix, i, i,
                 (int)padding, i);
        status = hf_repository_save(r->things, t, json, HF_NTS, NULL, error);
    }
    if (status == HF_OK)
        status = hf_transaction_commit(t, NULL, error);
    hf_transaction_free(t);
    return status;
}

void make_scratch(room *r) {
    room s = {r->store, NULL};
    hf_error *error = NULL;
    must("making", hf_repository_open(s.store, "scratch", NULL, &s.things, &error), &error);
    must("making", hf_repository_create_index(s.things, "{\"fields\":{\"n\":1}}", NULL, NULL, &error),
         &error);
    must("making", save_many(&s, "m", MEMBERS, 400, &error), &error);
    hf_repository_free(s.things);
}

long count_of(room *r, const char *prefix) {
    char filter[80];
    uint64_t count = 0;
    hf_error *error = NULL;
    snprintf(filter, sizeof filter, "{\"id\":{\"$regex\":\"^%s\"}}", prefix);
    must("counting", hf_repository_count(r->things, NULL, filter, HF_NTS, NULL, &count, &error), &error);
    return (long)count;
}

bool is_whole(const char *at, long entities) {
    room r;
    hf_error *error = NULL;
    hf_buffer report = HF_BUFFER_INIT;
    bool whole = enter(&r, at, &error) == HF_OK &&
                 hf_store_verify(r.store, NULL, NULL, &report, &error) == HF_OK &&
                 strncmp(report.data, "{\"ok\":true", 10) == 0 && count_of(&r, "e") == entities;
    if (!whole)
        fprintf(stderr, "%s: %s\n", at,
                error         ? hf_error_message(error)
                : report.data ? report.data
                              : "other entities");
    hf_buffer_free(&report);
    hf_error_free(error);
    leave(&r);
    return whole;
}

/* --- The operations ------------------------------------------------------------------------------- */

progress all_or_nothing(long count, long all) { return count == 0 ? NOT_DONE : count == all ? DONE : HALF; }

hf_status open_it(room *r, hf_error **error) {
    hf_status status = enter(r, files.store, error);
    hf_entity entity = HF_ENTITY_INIT;
    if (status == HF_OK)
        status = hf_repository_fetch(r->things, NULL, "e001", HF_NTS, &entity, error);
    hf_entity_free(&entity);
    if (status != HF_OK)
        leave(r);
    return status;
}

hf_status create_it(room *r, hf_error **error) {
    hf_status status = enter(r, files.store, error);
    if (status == HF_OK)
        status = save_many(r, "e", ENTITIES, 10, error);
    if (status != HF_OK)
        leave(r);
    return status;
}

static hf_status save_one(room *r, hf_error **error) {
    return hf_repository_save(r->things, NULL, "{\"id\":\"s1\",\"n\":1}", HF_NTS, NULL, error);
}
static progress look_for_one(room *r) { return all_or_nothing(count_of(r, "s"), 1); }

static hf_status commit_many(room *r, hf_error **error) { return save_many(r, "m", MEMBERS, 2000, error); }
static progress look_for_many(room *r) { return all_or_nothing(count_of(r, "m"), MEMBERS); }

static void note_event(const hf_event *event, void *to) {
    hf_status *status = to;
    board->state = hf_error_commit_state(event->error);
    if (event->error != NULL)
        snprintf(board->message, sizeof board->message, "%s", hf_error_message(event->error));
    __atomic_store_n(status, event->status, __ATOMIC_SEQ_CST);
}

static hf_status submit_one(room *r, hf_error **error) {
    static hf_status told;
    told = (hf_status)-1;
    hf_transaction *t = NULL;
    hf_status status = hf_transaction_begin(r->store, NULL, &t, error);
    if (status == HF_OK)
        status = hf_repository_save(r->things, t, "{\"id\":\"s1\",\"n\":1}", HF_NTS, NULL, error);
    if (status == HF_OK)
        status = hf_transaction_submit(t, note_event, &told, NULL, error);
    hf_transaction_free(t);
    while (status == HF_OK && __atomic_load_n(&told, __ATOMIC_SEQ_CST) == (hf_status)-1)
        usleep(100);
    return status == HF_OK ? told : status;
}

hf_status delete_all(room *r, hf_error **error) {
    return hf_repository_delete_all(r->things, NULL, "{\"n\":{\"$lt\":30}}", HF_NTS, NULL, NULL, error);
}
static progress look_for_deleted(room *r) {
    long left = count_of(r, "e");
    return left == ENTITIES ? NOT_DONE : left == ENTITIES - 30 ? DONE : HALF;
}

static hf_status create_index(room *r, hf_error **error) {
    return hf_repository_create_index(r->things, "{\"fields\":{\"text\":1},\"unique\":true}", NULL, NULL,
                                      error);
}
static progress look_for_index(room *r) {
    hf_buffer indexes = HF_BUFFER_INIT;
    hf_error *error = NULL;
    must("listing the indexes", hf_repository_indexes(r->things, &indexes, &error), &error);
    bool is_there = strstr(indexes.data, "\"text\"") != NULL && strstr(indexes.data, "building") == NULL;
    hf_buffer_free(&indexes);
    return is_there ? DONE : NOT_DONE;
}

static hf_status drop_index(room *r, hf_error **error) {
    return hf_repository_drop_index(r->things, "n", error);
}
static progress look_for_dropped(room *r) {
    hf_buffer indexes = HF_BUFFER_INIT;
    hf_error *error = NULL;
    must("listing the indexes", hf_repository_indexes(r->things, &indexes, &error), &error);
    bool is_there = strstr(indexes.data, "\"name\":\"n\"") != NULL;
    hf_buffer_free(&indexes);
    return is_there ? NOT_DONE : DONE;
}

static hf_status drop_repository(room *r, hf_error **error) {
    return hf_store_drop(r->store, "scratch", error);
}
static hf_status rename_repository(room *r, hf_error **error) {
    return hf_store_rename(r->store, "scratch", "sketches", error);
}
/* Whether there is a repository of this name, with all that it had. */
static progress look_for_repository(room *r, const char *name) {
    room found = {r->store, NULL};
    hf_error *error = NULL;
    hf_status status = hf_repository_open(r->store, name, "{\"create\":false}", &found.things, &error);
    if (status == HF_NOT_FOUND) {
        hf_error_free(error);
        return NOT_DONE;
    }
    must("looking for the repository", status, &error);
    bool is_whole = count_of(&found, "m") == MEMBERS && look_for_dropped(&found) == NOT_DONE;
    hf_repository_free(found.things);
    return is_whole ? DONE : HALF;
}
static progress look_for_drop(room *r) {
    progress scratch = look_for_repository(r, "scratch");
    return scratch == DONE ? NOT_DONE : scratch == NOT_DONE ? DONE : HALF;
}
static progress look_for_rename(room *r) {
    progress before = look_for_repository(r, "scratch"), after = look_for_repository(r, "sketches");
    return before == DONE && after == NOT_DONE ? NOT_DONE
           : before == NOT_DONE                ? after == DONE ? DONE : HALF
                                               : HALF;
}

static hf_status to_version(hf_transaction *t, int64_t from, int64_t to, void *r, hf_error **out_error) {
    (void)out_error;
    (void)from, (void)to;
    return hf_repository_save(((room *)r)->things, t, "{\"id\":\"u1\",\"n\":1}", HF_NTS, NULL, NULL);
}
static hf_status upgrade(room *r, hf_error **error) {
    return hf_store_upgrade(r->store, 1, to_version, NULL, NULL, r, NULL, error);
}
static progress look_for_version(room *r) {
    int64_t version = -1;
    hf_error *error = NULL;
    must("asking for the version", hf_store_schema_version(r->store, &version, &error), &error);
    bool is_saved = count_of(r, "u") == 1;
    return version == 1 && is_saved ? DONE : version != 1 && !is_saved ? NOT_DONE : HALF;
}

static int64_t give_lines(char *buffer, size_t capacity, void *at, hf_error **out_error) {
    (void)out_error;
    int *line = at;
    if (*line == MEMBERS)
        return 0;
    (*line)++;
    return snprintf(buffer, capacity, "{\"id\":\"m%03d\",\"n\":%d}\n", *line, *line);
}
static hf_status import(room *r, hf_error **error) {
    int line = 0;
    return hf_store_import(r->store, "{\"repository\":\"things\",\"existing\":\"replace\"}", give_lines, NULL,
                           &line, NULL, error);
}

typedef struct text {
    size_t length;
    char end[64];
} text;
static hf_status take_lines(const char *bytes, size_t length, void *to, hf_error **out_error) {
    (void)out_error;
    text *t = to;
    size_t kept = length < sizeof t->end - 1 ? length : sizeof t->end - 1;
    memcpy(t->end, bytes + length - kept, kept);
    t->end[kept] = 0;
    t->length += length;
    return HF_OK;
}
static hf_status export(room *r, hf_error **error) {
    text t = {0, ""};
    const char *options = "{\"repositories\":[\"things\"]}";
    hf_status status = hf_store_export(r->store, options, take_lines, NULL, &t, NULL, error);
    expect(status != HF_OK || strstr(t.end, "{\"end\":true,\"entities\":6") != NULL, "an export is whole");
    return status;
}

static hf_status read_all(room *r, hf_error **error) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_status status = hf_repository_fetch_all(r->things, NULL, &list, error);
    expect(status != HF_OK || list.count >= ENTITIES, "all are read");
    if (status == HF_OK)
        status = hf_repository_find(r->things, NULL, "{\"n\":{\"$lt\":30}}", HF_NTS, "{\"sort\":{\"n\":1}}",
                                    &list, error);
    expect(status != HF_OK || list.count == 30, "all that match are found");
    hf_entity_list_free(&list);
    return status;
}

static hf_status verify(room *r, hf_error **error) {
    hf_buffer report = HF_BUFFER_INIT;
    hf_status status = hf_store_verify(r->store, NULL, NULL, &report, error);
    bool is_sound = status != HF_OK || strncmp(report.data, "{\"ok\":true", 10) == 0;
    if (!is_sound)
        fprintf(stderr, "%s\n", report.data);
    expect(is_sound || strncmp(calls_met(), "pread", 5) == 0, "a sound store is not found damaged");
    hf_buffer_free(&report);
    return status;
}

static hf_status compact(room *r, hf_error **error) { return hf_store_compact(r->store, NULL, error); }

static progress is_there(const char *file) { return access(file, F_OK) == 0 ? DONE : NOT_DONE; }
static hf_status back_up(room *r, hf_error **error) {
    return hf_store_backup(r->store, files.backup, NULL, NULL, NULL, error);
}
/* The same where a name is not given in one step; and where there are no second names, either. */
static hf_status back_up_by_link(room *r, hf_error **error) {
    calls_lack(LACKS_EXCLUSIVE_RENAMES);
    return back_up(r, error);
}
static hf_status back_up_by_name(room *r, hf_error **error) {
    calls_lack(LACKS_EXCLUSIVE_RENAMES | LACKS_LINKS);
    return back_up(r, error);
}
static progress look_for_backup(room *r) {
    (void)r;
    return is_there(files.backup) == NOT_DONE ? NOT_DONE : is_whole(files.backup, ENTITIES) ? DONE : HALF;
}
/* A process that is killed while an empty file keeps the name leaves that, which is no store. */
static progress look_for_backup_by_name(room *r) {
    struct stat status;
    bool is_kept = !board->has_answered && stat(files.backup, &status) == 0 && status.st_size == 0;
    return is_kept ? NOT_DONE : look_for_backup(r);
}
static hf_status restore(room *r, hf_error **error) {
    (void)r;
    return hf_store_restore(files.other, files.copy, NULL, NULL, NULL, error);
}
static progress look_for_copy(room *r) {
    (void)r;
    return is_there(files.copy) == NOT_DONE ? NOT_DONE : is_whole(files.copy, OTHERS) ? DONE : HALF;
}

hf_status close_it(room *r, hf_error **error) { return hf_store_close(r->store, -1, error); }

/* Over the store itself, which is closed while it is done. */
hf_status restore_over(room *r, hf_error **error) {
    leave(r);
    return hf_store_restore(files.other, files.store, "{\"replace\":true}", NULL, NULL, error);
}

/* The same where files cannot change names. */
hf_status restore_over_by_name(room *r, hf_error **error) {
    calls_lack(LACKS_EXCHANGE);
    return restore_over(r, error);
}

const operation operations[] = {
    {"creating", AT_NO_STORE, create_it, NULL},
    {"opening", AT_A_CLOSED_STORE, open_it, NULL},
    {"saving", AT_AN_OPEN_STORE, save_one, look_for_one},
    {"committing", AT_AN_OPEN_STORE, commit_many, look_for_many},
    {"submitting", AT_AN_OPEN_STORE, submit_one, look_for_one},
    {"deleting", AT_AN_OPEN_STORE, delete_all, look_for_deleted},
    {"reading", AT_AN_OPEN_STORE, read_all, NULL},
    {"indexing", AT_AN_OPEN_STORE, create_index, look_for_index},
    {"dropping", AT_AN_OPEN_STORE, drop_index, look_for_dropped},
    {"dropping-a-repository", AT_AN_OPEN_STORE, drop_repository, look_for_drop},
    {"renaming-a-repository", AT_AN_OPEN_STORE, rename_repository, look_for_rename},
    {"upgrading", AT_AN_OPEN_STORE, upgrade, look_for_version},
    {"importing", AT_AN_OPEN_STORE, import, look_for_many},
    {"exporting", AT_AN_OPEN_STORE, export, NULL},
    {"verifying", AT_AN_OPEN_STORE, verify, NULL},
    {"compacting", AT_AN_OPEN_STORE, compact, NULL},
    {"backing-up", AT_AN_OPEN_STORE, back_up, look_for_backup},
    {"backing-up-by-link", AT_AN_OPEN_STORE, back_up_by_link, look_for_backup},
    {"backing-up-by-name", AT_AN_OPEN_STORE, back_up_by_name, look_for_backup_by_name},
    {"restoring", AT_AN_OPEN_STORE, restore, look_for_copy},
    {"replacing", AT_AN_OPEN_STORE, restore_over, NULL},
    {"replacing-by-name", AT_AN_OPEN_STORE, restore_over_by_name, NULL},
    {"closing", AT_AN_OPEN_STORE, close_it, NULL},
};
const size_t operation_count = sizeof operations / sizeof *operations;
