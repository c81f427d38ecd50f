/*
 * Filters: a filter and a document, and whether the one matches the other: by the library along indexes and
 * without, by the filter and by its contrary, and for filters of equality by an evaluation on trees.
 *
 * An input that begins with a brace is a filter, a tab, and a document. Any other says how to make the two,
 * so that both are JSON and meet.
 */
#include "generated_query.h"
#include "outcome.h"
#include "tree_evaluation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_store *store;
static hf_repository *documents, *indexed;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    static const char *const indexes[] = {"{\"fields\":{\"a\":1}}", "{\"fields\":{\"b\":-1,\"a.b\":1}}",
                                          "{\"fields\":{\"a.0\":-1,\"c\":1}}"};
    MUST(hf_store_open, "memory:", "{\"log_retention\":1000}", &store);
    MUST(hf_repository_open, store, "documents", NULL, &documents);
    MUST(hf_repository_open, store, "indexed", NULL, &indexed);
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
        MUST(hf_repository_create_index, indexed, indexes[i], NULL, NULL);
    return 0;
}

/* Whether an accepted filter says nothing but what is equal to what. */
static bool has_equality_alone(const json_t *filter) {
    const char *path;
    json_t *condition;
    json_object_foreach((json_t *)filter, path, condition) {
        void *first = json_object_iter(condition);
        if (path[0] == '$' ||
            (first != NULL && json_object_iter_key(first)[0] == '$' &&
             (json_object_size(condition) != 1 || strcmp(json_object_iter_key(first), "$eq") != 0)))
            return false;
    }
    return true;
}

/* The contrary matches what the filter does not. */
static void expect_contrary(hf_transaction *transaction, const char *filter, size_t length, uint64_t count) {
    char contrary[2 * CAPACITY];
    int written = snprintf(contrary, sizeof contrary, "{\"$nor\":[%.*s]}", (int)length, filter);
    uint64_t others = 0;
    if (written < (int)sizeof contrary &&
        CALL(hf_repository_count, documents, transaction, contrary, (size_t)written, NULL, &others) ==
            HF_OK &&
        count + others != 1)
        fail("%.*s and its contrary both match %d", (int)length, filter, (int)count);
}

static void compare(const char *filter, size_t filter_length, const char *document, size_t length,
                    bool is_in_transaction) {
    hf_transaction *transaction = NULL;
    if (is_in_transaction)
        MUST(hf_transaction_begin, store, NULL, &transaction);
    hf_entity stored = HF_ENTITY_INIT;
    uint64_t count = 0;
    if (CALL(hf_repository_save, documents, transaction, document, length, &stored) == HF_OK &&
        CALL(hf_repository_count, documents, transaction, filter, filter_length, NULL, &count) == HF_OK) {
        json_t *tree = parse_json(stored.data, stored.length),
               *conditions = parse_json(filter, filter_length);
        if (has_equality_alone(conditions) && tree_matches(tree, conditions) != (count == 1))
            fail("%.*s on %s: %d", (int)filter_length, filter, stored.data, (int)count);
        json_decref(tree);
        json_decref(conditions);
        expect_contrary(transaction, filter, filter_length, count);
        uint64_t found = 0;
        if (CALL(hf_repository_save, indexed, transaction, document, length, NULL) == HF_OK &&
            CALL(hf_repository_count, indexed, transaction, filter, filter_length, NULL, &found) == HF_OK &&
            found != count)
            fail("%.*s on %s: %d along indexes, %d without", (int)filter_length, filter, stored.data,
                 (int)found, (int)count);
    }
    hf_entity_free(&stored);
    hf_transaction_free(transaction);
    if (!is_in_transaction) {
        MUST(hf_repository_delete_all, documents, NULL, NULL, 0, NULL, NULL);
        MUST(hf_repository_delete_all, indexed, NULL, NULL, 0, NULL, NULL);
    }
}

static void compare_alone(const char *filter, size_t filter_length, const char *document, size_t length) {
    compare(filter, filter_length, document, length, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] == '{') {
        with_pair(data, size, compare_alone);
        return 0;
    }
    static const char *const ids[] = {"1", "\"1\"", "\"a\"", "-7", "\"x\""};
    input in = {data, size};
    char filter[CAPACITY], document[CAPACITY];
    bool is_in_transaction = choose(&in, 2), has_operators = choose(&in, 4) > 0;
    const char *id = ids[choose(&in, sizeof ids / sizeof *ids)];
    size_t filter_length = generate_filter(&in, has_operators, filter);
    size_t length = generate_object(&in, id, document, sizeof document);
    if (filter_length > 0)
        compare(filter, filter_length, document, length, is_in_transaction);
    return 0;
}
