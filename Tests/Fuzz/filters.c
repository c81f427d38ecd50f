/*
 * Filters: a filter and a document, and whether the one matches the other, by the library and by an
 * evaluation on trees.
 *
 * An input that begins with a brace is a filter, a tab, and a document. Any other says how to make the two,
 * so that both are JSON and meet.
 */
#include "outcome.h"
#include "tree_evaluation.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 4096, PARTS = 4 };

static hf_store *store;
static hf_repository *documents;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    MUST(hf_store_open, "memory:", "{\"log_retention\":1000}", &store);
    MUST(hf_repository_open, store, "documents", NULL, &documents);
    return 0;
}

/* A filter with some paths of some parts, whose operands are generated. */
static size_t generate_filter(input *in, char *out) {
    static const char *const parts[] = {"a", "b", "c", "0", "1", "", "id", "00", "ab", "2"};
    json_t *filter = json_object();
    for (size_t conditions = 1 + choose(in, 2); conditions > 0; conditions--) {
        char path[64] = "";
        for (size_t count = 1 + choose(in, PARTS); count > 0; count--) {
            strcat(path, parts[choose(in, sizeof parts / sizeof *parts)]);
            strcat(path, count > 1 ? "." : "");
        }
        char text[CAPACITY];
        json_t *operand = parse_json(text, generate_object(in, NULL, text, sizeof text));
        json_t *value = json_object_get(operand, "a"); /* one of its values, or all of it */
        value = json_incref(value != NULL ? value : operand);
        json_decref(operand);
        json_object_set_new(filter, path, choose(in, 2) ? json_pack("{s:o}", "$eq", value) : value);
    }
    size_t length = json_dumpb(filter, out, CAPACITY, JSON_COMPACT);
    json_decref(filter);
    return length > CAPACITY ? 0 : length;
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
        if (tree_matches(tree, conditions) != (count == 1))
            fail("%.*s on %s: %d", (int)filter_length, filter, stored.data, (int)count);
        json_decref(tree);
        json_decref(conditions);
    }
    hf_entity_free(&stored);
    hf_transaction_free(transaction);
    if (!is_in_transaction)
        MUST(hf_repository_delete_all, documents, NULL, NULL, 0, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] == '{') {
        const uint8_t *tab = memchr(data, '\t', size);
        if (tab == NULL)
            return 0;
        size_t length = (size_t)(data + size - tab) - 1;
        char *filter = exact_copy(data, (size_t)(tab - data)), *document = exact_copy(tab + 1, length);
        compare(filter, (size_t)(tab - data), document, length, false);
        free(filter);
        free(document);
        return 0;
    }
    static const char *const ids[] = {"1", "\"1\"", "\"a\"", "-7", "\"x\""};
    input in = {data, size};
    char filter[CAPACITY], document[CAPACITY];
    bool is_in_transaction = choose(&in, 2);
    const char *id = ids[choose(&in, sizeof ids / sizeof *ids)];
    size_t filter_length = generate_filter(&in, filter);
    size_t length = generate_object(&in, id, document, sizeof document);
    if (filter_length > 0)
        compare(filter, filter_length, document, length, is_in_transaction);
    return 0;
}
