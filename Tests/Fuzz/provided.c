/*
 * Provided: a provider that answers whatever the input says: bytes that are no entity, ids that are none,
 * tokens that jump, failures anywhere, with errors of its own, of others, or none.
 *
 * Every call must answer a status. An entity that is read is a JSON object of the id that was asked for; a
 * list is ordered; and a provider that answers well again is served well again.
 */
#include "outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static input script;
/* Once it is told to, the provider has one entity and answers well. */
static bool is_good;
static char good[64];

static hf_status answer(hf_error **out_error) {
    if (is_good)
        return HF_OK;
    uint8_t kind = take(&script);
    if (kind < 200)
        return HF_OK;
    if (kind % 3 == 0)
        *out_error = hf_error_create((hf_status)take(&script), (int64_t)take_number(&script), "by the input");
    if (kind % 3 == 1)
        *out_error = (hf_error *)(uintptr_t)take_number(&script);
    return kind < 240 ? HF_NOT_FOUND : (hf_status)take(&script);
}

static void next_bytes(char *bytes, size_t *length) {
    static const char *const likely[] = {"{\"id\":\"b\",\"n\":1}", "{\"id\":\"a\",\"n\":[1,2]}",
                                         "{\"id\":\"c\"}"};
    size_t kind = choose(&script, 6);
    if (kind < 3) {
        *length = strlen(likely[kind]);
        memcpy(bytes, likely[kind], *length);
    } else if (kind == 3) {
        *length = generate_object(&script, "b", bytes, 512);
    } else {
        *length = choose(&script, 48);
        for (size_t i = 0; i < *length; i++)
            bytes[i] = (char)take(&script);
    }
}

static hf_status on_save(const char *repository, const char *id, size_t id_length, const char *entity,
                         size_t length, void *user_data, hf_error **out_error) {
    (void)repository, (void)id, (void)id_length, (void)user_data;
    hf_status status = answer(out_error);
    if (is_good && length < sizeof good)
        memcpy(good, entity, length + 1);
    return status;
}

static hf_status on_fetch(const char *repository, const char *id, size_t id_length, hf_buffer *out_entity,
                          void *user_data, hf_error **out_error) {
    (void)repository, (void)user_data;
    char bytes[512];
    size_t length;
    if (is_good) {
        if (good[0] == '\0' || id_length != 1 || *id != 'g')
            return HF_NOT_FOUND;
        return hf_buffer_set(out_entity, good, HF_NTS) ? HF_OK : HF_NO_MEMORY;
    }
    next_bytes(bytes, &length);
    char *copy = exact_copy(bytes, length);
    hf_buffer_set(out_entity, copy, length);
    free(copy);
    return answer(out_error);
}

static hf_status on_fetch_all(const char *repository, hf_provider_visit_fn visit, void *visitor,
                              void *user_data, hf_error **out_error) {
    (void)repository, (void)user_data;
    if (is_good) {
        if (good[0] != '\0')
            visit("g", 1, good, HF_NTS, visitor);
        return HF_OK;
    }
    for (size_t count = choose(&script, 5); count > 0; count--) {
        char id[512], bytes[512], *id_copy, *copy;
        size_t id_length = 1, length;
        id[0] = (char)('a' + choose(&script, 4));
        if (choose(&script, 8) == 0)
            next_bytes(id, &id_length);
        next_bytes(bytes, &length);
        id_copy = exact_copy(id, id_length);
        copy = exact_copy(bytes, length);
        bool goes_on = visit(id_copy, id_length, choose(&script, 16) == 0 ? NULL : copy, length, visitor);
        free(id_copy);
        free(copy);
        if (!goes_on)
            break;
    }
    return answer(out_error);
}

static hf_status on_find(const char *repository, const char *filter, size_t length,
                         hf_provider_visit_fn visit, void *visitor, void *user_data, hf_error **out_error) {
    json_t *parsed = parse_json(filter, length);
    if (parsed == NULL || filter[length] != '\0')
        fail("a filter that is none: %.*s", (int)length, filter);
    json_decref(parsed);
    return on_fetch_all(repository, visit, visitor, user_data, out_error);
}

static hf_status on_delete(const char *repository, const char *id, size_t id_length, void *user_data,
                           hf_error **out_error) {
    (void)repository, (void)id, (void)id_length, (void)user_data;
    return answer(out_error);
}

static hf_status on_apply(const hf_provider_write *writes, size_t count, void *user_data,
                          hf_error **out_error) {
    for (size_t i = 0; is_good && i < count; i++)
        on_save(writes[i].repository, writes[i].id, writes[i].id_length, writes[i].entity, writes[i].length,
                user_data, out_error);
    return answer(out_error);
}

static hf_status on_change_token(uint64_t *out_token, void *user_data, hf_error **out_error) {
    (void)user_data;
    *out_token = is_good ? 1 : take(&script) / 200;
    return answer(out_error);
}

static hf_status on_sync(void *user_data, hf_error **out_error) {
    (void)user_data;
    return answer(out_error);
}

static void count_free(void *user_data) { ++*(int *)user_data; }

/* --- What is read --------------------------------------------------------------------------------------- */

static void expect_entity(const char *id, size_t id_length, const char *bytes, size_t length) {
    json_t *entity = parse_json(bytes, length);
    const char *found;
    size_t found_length;
    char digits[24];
    if (!json_is_object(entity) || !id_of(json_object_get(entity, "id"), &found, &found_length, digits) ||
        found_length != id_length || memcmp(found, id, id_length) != 0)
        fail("read as \"%.*s\": %.*s", (int)id_length, id, (int)length, bytes);
    json_decref(entity);
}

static void expect_list(const hf_entity_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const hf_entity_view *item = &list->items[i], *before = item - 1;
        expect_entity(item->id, item->id_length, item->data, item->length);
        if (i > 0) {
            size_t common = item->id_length < before->id_length ? item->id_length : before->id_length;
            int order = memcmp(before->id, item->id, common);
            if (order > 0 || (order == 0 && before->id_length >= item->id_length))
                fail("\"%.*s\" stands behind its like", (int)item->id_length, item->id);
        }
    }
}

static void work(hf_repository *things, hf_transaction *t) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    uint64_t count;
    if (CALL(hf_repository_fetch, things, t, "b", 1, &entity) == HF_OK)
        expect_entity("b", 1, entity.data, entity.length);
    if (CALL(hf_repository_fetch_all, things, t, &list) == HF_OK)
        expect_list(&list);
    (void)CALL(hf_repository_find, things, t, "{\"n\":{\"$gte\":1}}", HF_NTS, NULL, &list);
    (void)CALL(hf_repository_save, things, t, "{\"id\":\"a\",\"n\":3}", HF_NTS, NULL);
    (void)CALL(hf_repository_patch, things, t, "b", 1, "{\"n\":2,\"m\":null}", HF_NTS, 0, &entity);
    (void)CALL(hf_repository_modify, things, t, "b", 1, "{\"$inc\":{\"n\":1}}", HF_NTS, NULL, 0, 0, &entity);
    (void)CALL(hf_repository_delete, things, t, "c", 1, 0);
    (void)CALL(hf_repository_count, things, t, "{\"n\":1}", HF_NTS, NULL, &count);
    hf_entity_list_free(&list);
    hf_entity_free(&entity);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hf_store *store = NULL;
    hf_repository *things = NULL;
    hf_transaction *t = NULL;
    int freed = 0;
    script = (input){data, size};
    is_good = false;
    good[0] = '\0';

    uint8_t abilities = take(&script);
    hf_provider provider = HF_PROVIDER_INIT;
    provider.user_data = &freed;
    provider.free_user_data = count_free;
    provider.on_save = on_save;
    provider.on_fetch = on_fetch;
    provider.on_fetch_all = on_fetch_all;
    provider.on_delete = on_delete;
    provider.on_apply = abilities & 1 ? on_apply : NULL;
    provider.on_find = abilities & 2 ? on_find : NULL;
    provider.on_change_token = abilities & 4 ? on_change_token : NULL;
    provider.on_sync = abilities & 8 ? on_sync : NULL;
    if (CALL(hf_store_open_provider, &provider, NULL, &store) == HF_OK) {
        if (CALL(hf_repository_open, store, "things", NULL, &things) == HF_OK) {
            if (abilities & 16)
                (void)CALL(hf_repository_create_index, things, "{\"fields\":{\"n\":1}}", NULL, NULL);
            work(things, NULL);
            MUST(hf_transaction_begin, store, NULL, &t);
            work(things, t);
            (void)CALL(hf_transaction_commit, t, NULL);
            hf_transaction_free(t);
        }
        is_good = true;
        if (things != NULL) {
            MUST(hf_repository_save, things, NULL, "{\"id\":\"g\",\"n\":1}", HF_NTS, NULL);
            expect_stored(things, NULL, "g", 1, "{\"id\":\"g\",\"n\":1}", 16);
        }
        hf_repository_free(things);
        MUST(hf_store_close, store, -1);
        hf_store_free(store);
    }
    if (freed != 1)
        fail("the user data was freed %d times", freed);
    return 0;
}
