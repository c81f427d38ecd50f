/*
 * Updates: an update and a document. What the library makes of the two must be an entity with the same id,
 * the same in a transaction and outside, with indexes that are right; and an update that only says what shall
 * be there must change nothing when it comes again.
 *
 * An input that begins with a brace is an update, a tab, and a document. Any other says how to make the two.
 */
#include "generated_query.h"
#include "outcome.h"

#include <stdlib.h>
#include <string.h>

static hf_store *store;
static hf_repository *documents;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    MUST(hf_store_open, "memory:", "{\"log_retention\":1000}", &store);
    MUST(hf_repository_open, store, "documents", NULL, &documents);
    MUST(hf_repository_create_index, documents, "{\"fields\":{\"a\":1,\"b.0\":-1}}", NULL, NULL);
    return 0;
}

/* Whether the update says what shall be there, and not what shall be done. */
static bool is_repeatable(const char *update, size_t length) {
    static const char *const changing[] = {"$inc", "$mul", "$push", "$rename"};
    json_t *operators = parse_json(update, length);
    bool answer = true;
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        answer = answer && json_object_get(operators, changing[i]) == NULL;
    json_decref(operators);
    return answer;
}

static void expect_right_indexes(void) {
    hf_buffer report = HF_BUFFER_INIT;
    MUST(hf_repository_verify, documents, &report);
    if (strncmp(report.data, "{\"ok\":true", 10) != 0)
        fail("the index is wrong: %s", report.data);
    hf_buffer_free(&report);
}

static void check(const char *update, size_t update_length, const char *id, size_t id_length) {
    hf_entity inside = HF_ENTITY_INIT, outside = HF_ENTITY_INIT;
    hf_transaction *transaction = NULL;
    MUST(hf_transaction_begin, store, NULL, &transaction);
    hf_status status = CALL(hf_repository_modify, documents, transaction, id, id_length, update,
                            update_length, NULL, 0, 0, &inside);
    hf_transaction_free(transaction);
    if (CALL(hf_repository_modify, documents, NULL, id, id_length, update, update_length, NULL, 0, 0,
             &outside) != status)
        fail("%.*s: not the same in a transaction and outside", (int)update_length, update);
    if (status == HF_OK) {
        if (inside.length != outside.length || memcmp(inside.data, outside.data, inside.length) != 0)
            fail("%.*s: %s in a transaction, %s outside", (int)update_length, update, inside.data,
                 outside.data);
        expect_stored(documents, NULL, id, id_length, outside.data, outside.length);
        json_t *tree = parse_json(outside.data, outside.length);
        const char *bytes;
        size_t length;
        char digits[24];
        if (!id_of(json_object_get(tree, "id"), &bytes, &length, digits) || length != id_length ||
            memcmp(bytes, id, length) != 0)
            fail("%.*s: made %s", (int)update_length, update, outside.data);
        json_decref(tree);
        expect_right_indexes();
        if (is_repeatable(update, update_length)) {
            MUST(hf_repository_modify, documents, NULL, id, id_length, update, update_length, NULL, 0, 0,
                 &inside);
            if (inside.length != outside.length || memcmp(inside.data, outside.data, inside.length) != 0)
                fail("%.*s: made %s of %s", (int)update_length, update, inside.data, outside.data);
        }
    }
    hf_entity_free(&inside);
    hf_entity_free(&outside);
}

static void update_document(const char *update, size_t update_length, const char *document, size_t length) {
    hf_entity stored = HF_ENTITY_INIT;
    if (CALL(hf_repository_save, documents, NULL, document, length, &stored) == HF_OK) {
        json_t *tree = parse_json(stored.data, stored.length);
        const char *id;
        size_t id_length;
        char digits[24];
        if (!id_of(json_object_get(tree, "id"), &id, &id_length, digits))
            fail("%s was stored without an id", stored.data);
        check(update, update_length, id, id_length);
        json_decref(tree);
    }
    hf_entity_free(&stored);
    MUST(hf_repository_delete_all, documents, NULL, NULL, 0, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] == '{') {
        with_pair(data, size, update_document);
        return 0;
    }
    input in = {data, size};
    char update[CAPACITY], document[CAPACITY];
    size_t update_length = generate_update(&in, update);
    size_t length = generate_object(&in, choose(&in, 2) ? "1" : "\"x\"", document, sizeof document);
    if (update_length > 0)
        update_document(update, update_length, document, length);
    return 0;
}
