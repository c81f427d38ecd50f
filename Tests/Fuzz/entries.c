/*
 * Entries: every function of the library that takes text from its caller.
 *
 * The first byte is a letter that says which; the second says whether in a transaction ('1'), and whether the
 * text is closed with NUL ('2') or both ('3'); the rest is the text. Whatever it is, the store goes on: an
 * entity that is not its business stays as it was.
 */
#include "outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN "{\"id\":\"known\", \"n\":1.50}"
#define TARGET "{\"id\":\"target\",\"a\":{\"b\":[1,2],\"c\":null},\"d\":\"x\",\"e\":1.5, \"f\":{}}"

static hf_store *store;
static hf_repository *kept, *tried;

/* The text of this call, and how it is given. */
typedef struct text {
    const char *bytes;
    size_t length; /* as given: perhaps HF_NTS */
    size_t real_length;
    hf_transaction *transaction;
} text;

static void open_all(void) {
    MUST(hf_store_open, "memory:",
         "{\"delivery\":\"queue\",\"log_retention\":1000,\"idempotency_max_count\":10,"
         "\"max_entity_bytes\":65536,\"max_depth\":20}",
         &store);
    MUST(hf_repository_open, store, "kept", NULL, &kept);
    MUST(hf_repository_open, store, "tried", NULL, &tried);
    MUST(hf_repository_save, kept, NULL, KNOWN, HF_NTS, NULL);
}

/* --- What was accepted ---------------------------------------------------------------------------- */

/* The entity is the text that was given, or that with an id as its first member; and it is there. */
static void expect_accepted(const text *t, const char *given, size_t given_length, const char *bytes,
                            size_t length) {
    json_t *object = parse_json(bytes, length);
    json_t *value = json_object_get(object, "id");
    const char *id;
    size_t id_length;
    char digits[24];
    if (!id_of(value, &id, &id_length, digits))
        fail("accepted without an id: %.*s", (int)length, bytes);
    if (given != NULL && (length != given_length || memcmp(bytes, given, length) != 0)) {
        static const char begin[] = "{\"id\":\"00000000-0000-7000-8000-000000000000\"";
        size_t head = sizeof begin - 1;
        size_t comma = length > head && bytes[head] == ',';
        if (id_length != 36 || memcmp(bytes, begin, 7) != 0 || length - head - comma != given_length - 1 ||
            memcmp(bytes + head + comma, given + 1, given_length - 1) != 0)
            fail("%.*s became %.*s", (int)given_length, given, (int)length, bytes);
    }
    expect_stored(tried, t->transaction, id, id_length, bytes, length);
    json_decref(object);
}

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static void expect_one(const text *t, const hf_entity *entity) {
    const char *begin = t->bytes, *end = t->bytes + t->real_length;
    while (is_space(*begin))
        begin++;
    while (is_space(end[-1]))
        end--;
    expect_accepted(t, begin, (size_t)(end - begin), entity->data, entity->length);
}

/* `is_unique`: of entities with one id, the last stays, and the others are not there. */
static void expect_list(const text *t, const hf_entity_list *list, bool is_stored) {
    json_t *array = parse_json(list->json, list->json_length);
    if (json_array_size(array) != list->count || list->json[list->json_length] != '\0')
        fail("a list of %zu that is none: %s", list->count, list->json);
    for (size_t i = 0; i < list->count; i++) {
        const hf_entity_view *item = &list->items[i];
        char digits[24];
        const char *id;
        size_t id_length;
        json_t *object = parse_json(item->data, item->length);
        if (!json_equal(object, json_array_get(array, i)) ||
            !id_of(json_object_get(object, "id"), &id, &id_length, digits) || id_length != item->id_length ||
            memcmp(id, item->id, id_length) != 0)
            fail("item %zu of a list is another than in its array", i);
        json_decref(object);
        bool is_last = true;
        for (size_t j = i + 1; j < list->count; j++)
            is_last = is_last && (list->items[j].id_length != item->id_length ||
                                  memcmp(list->items[j].id, item->id, item->id_length) != 0);
        if (is_stored && is_last)
            expect_stored(tried, t->transaction, item->id, item->id_length, item->data, item->length);
    }
    json_decref(array);
}

/* RFC 7396, on trees. */
static json_t *merged(json_t *target, json_t *patch) {
    if (!json_is_object(patch))
        return json_deep_copy(patch);
    json_t *result = json_is_object(target) ? json_deep_copy(target) : json_object();
    const char *name;
    json_t *value;
    json_object_foreach(patch, name, value) {
        if (json_is_null(value))
            json_object_del(result, name);
        else
            json_object_set_new(result, name, merged(json_object_get(result, name), value));
    }
    return result;
}

static void expect_patched(const text *t, const hf_entity *entity) {
    json_t *target = parse_json(TARGET, strlen(TARGET)), *patch = parse_json(t->bytes, t->real_length);
    json_object_del(patch, "id");
    json_t *expected = merged(target, patch), *actual = parse_json(entity->data, entity->length);
    if (!json_equal(expected, actual))
        fail("patched to %s", entity->data);
    json_decref(target);
    json_decref(patch);
    json_decref(expected);
    json_decref(actual);
    expect_accepted(t, NULL, 0, entity->data, entity->length);
}

/* --- Entry points --------------------------------------------------------------------------------- */

static hf_entity entity = HF_ENTITY_INIT;
static hf_entity_list list = HF_ENTITY_LIST_INIT;

static void try_add(const text *t) {
    if (CALL(hf_repository_add, tried, t->transaction, t->bytes, t->length, &entity) == HF_OK)
        expect_one(t, &entity);
}

static void try_save(const text *t) {
    if (CALL(hf_repository_save, tried, t->transaction, t->bytes, t->length, &entity) == HF_OK)
        expect_one(t, &entity);
}

static void try_update(const text *t) {
    /* So that there is something to be replaced. */
    (void)CALL(hf_repository_save, tried, t->transaction, t->bytes, t->length, NULL);
    if (CALL(hf_repository_update, tried, t->transaction, t->bytes, t->length, 0, &entity) == HF_OK)
        expect_one(t, &entity);
}

static void try_patch(const text *t) {
    MUST(hf_repository_save, tried, t->transaction, TARGET, HF_NTS, NULL);
    if (CALL(hf_repository_patch, tried, t->transaction, "target", 6, t->bytes, t->length, 0, &entity) ==
        HF_OK)
        expect_patched(t, &entity);
}

static void try_add_many(const text *t) {
    if (CALL(hf_repository_add_many, tried, t->transaction, t->bytes, t->length, &list) == HF_OK)
        expect_list(t, &list, true);
}

static void try_save_many(const text *t) {
    if (CALL(hf_repository_save_many, tried, t->transaction, t->bytes, t->length, &list) == HF_OK)
        expect_list(t, &list, true);
}

static void try_update_many(const text *t) {
    (void)CALL(hf_repository_save_many, tried, t->transaction, t->bytes, t->length, NULL);
    if (CALL(hf_repository_update_many, tried, t->transaction, t->bytes, t->length, &list) == HF_OK)
        expect_list(t, &list, true);
}

static void try_patch_many(const text *t) {
    (void)CALL(hf_repository_save_many, tried, t->transaction, t->bytes, t->length, NULL);
    MUST(hf_repository_save, tried, t->transaction, TARGET, HF_NTS, NULL);
    if (CALL(hf_repository_patch_many, tried, t->transaction, t->bytes, t->length, &list) == HF_OK)
        expect_list(t, &list, true);
}

static void try_id(const text *t) {
    bool contains = true;
    hf_status status = CALL(hf_repository_contains, tried, t->transaction, t->bytes, t->length, &contains);
    if (status == HF_OK && contains)
        fail("an entity that nobody stored");
    (void)CALL(hf_repository_fetch, tried, t->transaction, t->bytes, t->length, &entity);
    (void)CALL(hf_repository_delete, tried, t->transaction, t->bytes, t->length, 0);
    (void)CALL(hf_repository_patch, tried, t->transaction, t->bytes, t->length, "{}", 2, 0, NULL);
    if (status != HF_OK)
        return;
    /* An id that is allowed can be an entity's. */
    json_t *object = json_object();
    json_object_set_new(object, "id", json_stringn(t->bytes, t->real_length));
    char *json = json_dumps(object, JSON_COMPACT);
    MUST(hf_repository_add, tried, t->transaction, json, HF_NTS, NULL);
    expect_stored(tried, t->transaction, t->bytes, t->real_length, json, strlen(json));
    MUST(hf_repository_delete, tried, t->transaction, t->bytes, t->length, 0);
    free(json);
    json_decref(object);
}

static void try_ids(const text *t) {
    MUST(hf_repository_save, tried, t->transaction, "{\"id\":1}", HF_NTS, NULL);
    if (CALL(hf_repository_fetch_many, tried, t->transaction, t->bytes, t->length, &list) == HF_OK)
        expect_list(t, &list, true);
    (void)CALL(hf_repository_delete_many, tried, t->transaction, t->bytes, t->length);
}

static void try_filter(const text *t) {
    uint64_t count = 0, deleted = 0;
    MUST(hf_repository_save, tried, t->transaction, TARGET, HF_NTS, NULL);
    hf_status status = CALL(hf_repository_count, tried, t->transaction, t->bytes, t->length, NULL, &count);
    if (CALL(hf_repository_find, tried, t->transaction, t->bytes, t->length, NULL, &list) != status)
        fail("finding and counting answer differently");
    if (status == HF_OK)
        expect_list(t, &list, true);
    if (CALL(hf_repository_delete_all, tried, t->transaction, t->bytes, t->length, NULL, &deleted) !=
            status ||
        (status == HF_OK && (list.count != count || deleted != count)))
        fail("%llu were counted and %llu deleted", (unsigned long long)count, (unsigned long long)deleted);
}

static void try_find_options(const text *t) {
    MUST(hf_repository_save, tried, t->transaction, TARGET, HF_NTS, NULL);
    if (CALL(hf_repository_find, tried, t->transaction, NULL, 0, t->bytes, &list) == HF_OK)
        expect_list(t, &list, true);
}

/* Whatever a store was opened with, it does its work. */
static void try_open_options(const text *t) {
    hf_store *opened = NULL;
    hf_repository *songs = NULL;
    if (CALL(hf_store_open, "memory:", t->bytes, &opened) != HF_OK)
        return;
    hf_status status = CALL(hf_repository_open, opened, "songs", NULL, &songs);
    if (status == HF_OK) {
        MUST(hf_repository_save, songs, NULL, "{\"id\":\"s\"}", HF_NTS, NULL);
        expect_stored(songs, NULL, "s", 1, "{\"id\":\"s\"}", 10);
        MUST(hf_store_sync, opened);
    } else if (status != HF_READ_ONLY) {
        fail("a store opened with %s answers %s", t->bytes, hf_status_name(status));
    }
    hf_repository_free(songs);
    MUST(hf_store_close, opened, -1);
    hf_store_free(opened);
}

static void try_url(const text *t) {
    hf_store *opened = NULL;
    hf_status status = CALL(hf_store_open, t->bytes, "{\"create\":false,\"read_only\":true}", &opened);
    if (status == HF_OK && strcmp(t->bytes, "memory:") != 0)
        fail("opened %s", t->bytes);
    hf_store_free(opened);
}

static bool has_committed(hf_status status) {
    return status == HF_OK || status == HF_KEY_REUSED || status == HF_TIMEOUT;
}

static void try_begin_options(const text *t) {
    hf_transaction *transaction = NULL;
    if (CALL(hf_transaction_begin, store, t->bytes, &transaction) != HF_OK)
        return;
    MUST(hf_repository_save, tried, transaction, TARGET, HF_NTS, NULL);
    if (!has_committed(CALL(hf_transaction_commit, transaction, NULL)))
        fail("a transaction begun with %s cannot be committed", t->bytes);
    hf_transaction_free(transaction);
}

static hf_status body(hf_transaction *transaction, void *calls, hf_error **out_error) {
    (void)out_error;
    ++*(int *)calls;
    return hf_repository_save(tried, transaction, TARGET, HF_NTS, NULL, NULL);
}

static void try_transact_options(const text *t) {
    int calls = 0;
    hf_buffer receipt = HF_BUFFER_INIT;
    hf_status status = CALL(hf_store_transact, store, body, &calls, t->bytes, &receipt);
    if (calls > 0 && !has_committed(status))
        fail("a body run with %s ends in %s", t->bytes, hf_status_name(status));
    json_t *read = parse_json(receipt.data ? receipt.data : "{}", receipt.data ? receipt.length : 2);
    if (!json_is_object(read))
        fail("a receipt that is none: %s", receipt.data);
    json_decref(read);
    hf_buffer_free(&receipt);
}

/* In a store of their own, because a repository lasts as long as its store. */
static void try_repository(const char *name, const char *options) {
    hf_store *opened = NULL;
    hf_repository *first = NULL, *again = NULL;
    MUST(hf_store_open, "memory:", NULL, &opened);
    if (CALL(hf_repository_open, opened, name, options, &first) == HF_OK) {
        MUST(hf_repository_save, first, NULL, "{\"x\":1}", HF_NTS, &entity);
        MUST(hf_repository_open, opened, name, options, &again);
        uint64_t count = 0;
        MUST(hf_repository_count, again, NULL, NULL, 0, NULL, &count);
        if (count != 1)
            fail("a repository opened twice is two");
        hf_buffer description = HF_BUFFER_INIT;
        MUST(hf_store_describe, opened, &description);
        json_t *described = parse_json(description.data, description.length);
        if (!json_is_object(described))
            fail("described as %s", description.data);
        json_decref(described);
        hf_buffer_free(&description);
    }
    hf_repository_free(first);
    hf_repository_free(again);
    hf_store_free(opened);
}

/* Performed, and started in a store that is like the first: both answer alike, whatever was described. In
 * stores of its own, because a description may name any repository. */
static void try_operation(const text *t) {
    hf_status statuses[2];
    for (int is_started = 0; is_started < 2; is_started++) {
        hf_store *opened = NULL;
        hf_repository *songs = NULL;
        hf_operation *operation = NULL;
        hf_future *future = NULL;
        MUST(hf_store_open, "memory:", "{\"max_entity_bytes\":65536,\"max_depth\":20}", &opened);
        MUST(hf_repository_open, opened, "songs", NULL, &songs);
        MUST(hf_repository_save, songs, NULL, TARGET, HF_NTS, NULL);
        hf_status status = CALL(hf_operation_create, opened, t->bytes, t->length, &operation);
        if (status == HF_OK && is_started) {
            MUST(hf_operation_start, operation, NULL, &future);
            status = CALL(hf_future_wait, future, NULL, -1, &entity, NULL);
        } else if (status == HF_OK) {
            status = CALL(hf_operation_perform, operation, NULL, &entity, NULL);
        }
        if (status == HF_OK)
            json_decref(parse_json(entity.data, entity.length));
        statuses[is_started] = status;
        hf_future_free(future);
        hf_operation_free(operation);
        hf_repository_free(songs);
        hf_store_free(opened);
    }
    if (statuses[0] != statuses[1])
        fail("performed %s and started %s: %.*s", hf_status_name(statuses[0]), hf_status_name(statuses[1]),
             (int)t->real_length, t->bytes);
}

/* --- Export and import ------------------------------------------------------------------------------ */

typedef struct lines {
    char *bytes;
    size_t length, position;
} lines;

static hf_status take_lines(const char *bytes, size_t length, void *user_data, hf_error **out_error) {
    (void)out_error;
    lines *l = user_data;
    l->bytes = realloc(l->bytes, l->length + length);
    memcpy(l->bytes + l->length, bytes, length);
    l->length += length;
    return HF_OK;
}

static int64_t give_lines(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    lines *l = user_data;
    size_t left = l->length - l->position, length = left < capacity ? left : capacity;
    if (length > 0)
        memcpy(buffer, l->bytes + l->position, length);
    l->position += length;
    return (int64_t)length;
}

static const char *second_line(const lines *l) { return memchr(l->bytes, '\n', l->length); }

/* What was imported is exported, imported elsewhere, and exported again: the same lines. */
static void try_import(const text *t) {
    lines given = {(char *)t->bytes, t->real_length, 0}, out[2] = {{0}, {0}};
    hf_store *opened = NULL;
    MUST(hf_store_open, "memory:", "{\"max_entity_bytes\":65536,\"max_depth\":20}", &opened);
    bool is_whole =
        CALL(hf_store_import, opened, "{\"repository\":\"songs\"}", give_lines, NULL, &given, NULL) == HF_OK;
    for (int i = 0; i < 2 && is_whole; i++) {
        MUST(hf_store_export, opened, NULL, take_lines, NULL, &out[i], NULL);
        hf_store_free(opened);
        MUST(hf_store_open, "memory:", "{\"max_entity_bytes\":65536,\"max_depth\":20}", &opened);
        if (i == 0)
            MUST(hf_store_import, opened, NULL, give_lines, NULL, &out[0], NULL);
    }
    if (is_whole && (out[0].length - (size_t)(second_line(&out[0]) - out[0].bytes) !=
                         out[1].length - (size_t)(second_line(&out[1]) - out[1].bytes) ||
                     memcmp(second_line(&out[0]), second_line(&out[1]),
                            out[0].length - (size_t)(second_line(&out[0]) - out[0].bytes)) != 0))
        fail("exported as\n%.*s\nand after an import as\n%.*s", (int)out[0].length, out[0].bytes,
             (int)out[1].length, out[1].bytes);
    hf_store_free(opened);
    free(out[0].bytes);
    free(out[1].bytes);
}

static void try_transfer_options(const text *t) {
    lines out = {0}, given = {"{\"id\":\"s\"}", 10, 0};
    (void)CALL(hf_store_export, store, t->bytes, take_lines, NULL, &out, NULL);
    free(out.bytes);
    hf_store *opened = NULL;
    MUST(hf_store_open, "memory:", NULL, &opened);
    (void)CALL(hf_store_import, opened, t->bytes, give_lines, NULL, &given, NULL);
    (void)CALL(hf_store_import_table, opened, "/dev/null", "songs", t->bytes, NULL, NULL, NULL);
    (void)CALL(hf_store_upgrade, opened, 0, NULL, t->bytes, NULL, NULL, NULL);
    (void)CALL(hf_store_restore, "/dev/null/none", "none.db", t->bytes, NULL, NULL);
    hf_store_free(opened);
}

static void try_repository_options(const text *t) { try_repository("songs", t->bytes); }
static void try_repository_name(const text *t) { try_repository(t->bytes, NULL); }

static void try_names(const text *t) {
    (void)hf_feature_available(t->bytes);
    hf_buffer quoted = HF_BUFFER_INIT;
    (void)CALL(hf_json_quote, t->bytes, t->length, &quoted);
    hf_buffer_free(&quoted);
    (void)hf_handle_count(t->bytes);
}

static const struct {
    char letter;
    void (*call)(const text *);
} entries[] = {
    {'a', try_add},
    {'s', try_save},
    {'u', try_update},
    {'p', try_patch},
    {'A', try_add_many},
    {'S', try_save_many},
    {'U', try_update_many},
    {'P', try_patch_many},
    {'i', try_id},
    {'I', try_ids},
    {'q', try_filter},
    {'l', try_find_options},
    {'o', try_open_options},
    {'L', try_url},
    {'b', try_begin_options},
    {'t', try_transact_options},
    {'O', try_operation},
    {'m', try_import},
    {'M', try_transfer_options},
    {'r', try_repository_options},
    {'n', try_repository_name},
    {'v', try_names},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* --- One input ------------------------------------------------------------------------------------ */

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    char directory[] = "/tmp/holdfast-fuzz-XXXXXX"; /* where paths lead that are tried as URLs */
    if (mkdtemp(directory) == NULL || chdir(directory) != 0 || rmdir(directory) != 0)
        fail("no directory to work in");
    open_all();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    uint8_t letter = take(&in), manner = take(&in);
    size_t which = letter % ENTRIES;
    for (size_t i = 0; i < ENTRIES; i++)
        which = entries[i].letter == letter ? i : which;

    text t = {NULL, in.length, in.length, NULL};
    bool is_closed = (manner & 2) != 0 || strchr("loLbtrnvM", entries[which].letter) != NULL;
    char *copy = is_closed ? text_copy(in.bytes, in.length) : exact_copy(in.bytes, in.length);
    t.bytes = copy;
    if (is_closed) {
        t.length = HF_NTS;
        t.real_length = strlen(copy);
    }
    if (manner & 1)
        MUST(hf_transaction_begin, store, NULL, &t.transaction);
    entries[which].call(&t);
    if (t.transaction != NULL) {
        MUST(hf_transaction_commit, t.transaction, NULL);
        hf_transaction_free(t.transaction);
    }
    free(copy);

    expect_stored(kept, NULL, "known", 5, KNOWN, strlen(KNOWN));
    MUST(hf_repository_delete_all, tried, NULL, NULL, 0, NULL, NULL);
    return 0;
}
