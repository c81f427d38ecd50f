/*
 * Payload: the parser by itself, every function that takes text.
 *
 * The first byte says which, the second and third give the limits, the rest is the payload.
 */
#include "input.h"

#include "../../Sources/CHoldfastPayload/parse.h"

#include <stdlib.h>
#include <string.h>

static void expect_explained(const hfpayload_error *error, size_t length) {
    if (error->failure <= HFPAYLOAD_OK || error->failure > HFPAYLOAD_NO_MEMORY || error->position > length ||
        memchr(error->message, '\0', sizeof error->message) == NULL || error->message[0] == '\0')
        fail("refused without a reason: failure %d, position %zu of %zu", (int)error->failure,
             error->position, length);
}

/* Reads all of a tree; answers how deep it is. */
static size_t walk(const hfpayload_value *value) {
    size_t length, deepest = 0, count = 0;
    hfpayload_type type = hfpayload_value_type(value);
    const char *string = hfpayload_value_string(value, &length);
    if ((type == HFPAYLOAD_STRING) != (string != NULL) || (type != HFPAYLOAD_STRING && length > 0))
        fail("a string where there is none, or none where there is one");
    if (string != NULL && string[length] != '\0')
        fail("a string is not closed");
    (void)hfpayload_value_integer(value);
    (void)hfpayload_value_real(value);
    for (size_t i = 0; type == HFPAYLOAD_ARRAY && i < hfpayload_value_count(value); i++, count++) {
        size_t depth = walk(hfpayload_value_element(value, i));
        deepest = depth > deepest ? depth : deepest;
    }
    for (void *m = hfpayload_object_first(value); m != NULL; m = hfpayload_object_next(value, m), count++) {
        const char *name = hfpayload_member_name(m, &length);
        if (strlen(name) != length)
            fail("a member's name has a NUL byte");
        size_t depth = walk(hfpayload_member_value(m));
        deepest = depth > deepest ? depth : deepest;
    }
    if (count != hfpayload_value_count(value))
        fail("%zu elements, of %zu told", count, hfpayload_value_count(value));
    return type == HFPAYLOAD_ARRAY || type == HFPAYLOAD_OBJECT ? deepest + 1 : 0;
}

static void try_tree(const char *bytes, size_t length, hfpayload_limits limits) {
    hfpayload_error error;
    hfpayload_tree *tree = hfpayload_tree_parse(bytes, length, limits, &error);
    if (tree == NULL) {
        expect_explained(&error, length);
        return;
    }
    if (length > limits.max_bytes || walk(hfpayload_tree_root(tree)) > limits.max_depth)
        fail("a limit was not kept");
    json_t *same = parse_json(bytes, length);
    if (same == NULL)
        fail("accepted what is no JSON");
    json_decref(same);
    hfpayload_tree_free(tree);
}

static void expect_described(const hfpayload_entity *entity, const char *bytes, size_t length,
                             const char *key, hfpayload_limits limits) {
    if (entity->start > length || entity->length > length - entity->start || entity->length < 2 ||
        bytes[entity->start] != '{' || bytes[entity->start + entity->length - 1] != '}')
        fail("the entity does not lie where it is said to");
    hfpayload_error error;
    hfpayload_entity again;
    if (!hfpayload_entity_check(bytes + entity->start, entity->length, key, limits, &again, &error) ||
        again.start != 0 || again.length != entity->length || again.id_length != entity->id_length ||
        memcmp(again.id, entity->id, again.id_length) != 0)
        fail("the entity by itself is another");
    json_t *object = parse_json(bytes + entity->start, entity->length);
    const char *id;
    size_t id_length;
    char digits[24];
    json_t *value = json_object_get(object, key);
    if ((value == NULL) != (entity->id_type == HFPAYLOAD_ID_ABSENT))
        fail("an id that is not there, or the other way round");
    if (value != NULL &&
        (!id_of(value, &id, &id_length, digits) || id_length != entity->id_length ||
         memcmp(id, entity->id, id_length) != 0 || !hfpayload_id_check(id, id_length, &error)))
        fail("another id than the entity's");
    json_decref(object);
}

/* What the quick check calls plain, jansson accepts as the same. */
static void try_plain(const char *bytes, size_t length, const char *key, hfpayload_limits limits) {
    hfpayload_entity plain, parsed;
    hfpayload_error error;
    if (!hfpayload_plain_entity(bytes, length, key, limits.max_depth, &plain))
        return;
    limits.max_bytes = SIZE_MAX;
    if (!hfpayload_parsed_entity(bytes, plain.start + plain.length, key, limits, &parsed, &error))
        fail("plain, but refused: %s", error.message);
    if (plain.start != parsed.start || plain.length != parsed.length || plain.id_type != parsed.id_type ||
        plain.id_length != parsed.id_length || memcmp(plain.id, parsed.id, plain.id_length) != 0)
        fail("plain, but another entity to jansson");
}

static void try_entity(const char *bytes, size_t length, hfpayload_limits limits) {
    static const char *const keys[] = {"id", "a", "", "\xC3\xA9"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        hfpayload_entity entity;
        hfpayload_error error;
        try_plain(bytes, length, keys[i], limits);
        if (hfpayload_entity_check(bytes, length, keys[i], limits, &entity, &error))
            expect_described(&entity, bytes, length, keys[i], limits);
        else
            expect_explained(&error, length);
    }
}

static void try_batch(const char *bytes, size_t length, hfpayload_limits limits) {
    hfpayload_batch batch;
    hfpayload_entity entity;
    hfpayload_error error;
    hfpayload_batch_step step = HFPAYLOAD_BATCH_FAILED;
    if (hfpayload_batch_begin(&batch, bytes, length, "id", limits, &error)) {
        size_t behind = 0, count = 0;
        for (; (step = hfpayload_batch_next(&batch, &entity, &error)) == HFPAYLOAD_BATCH_ENTITY; count++) {
            expect_described(&entity, bytes, length, "id", limits);
            if (entity.start <= behind || batch.index != count + 1)
                fail("the batch does not go on");
            behind = entity.start + entity.length;
        }
        if (hfpayload_batch_next(&batch, &entity, &error) != step)
            fail("the batch ended twice, differently");
        json_t *array = step == HFPAYLOAD_BATCH_END ? parse_json(bytes, length) : NULL;
        if (step == HFPAYLOAD_BATCH_END && json_array_size(array) != count)
            fail("a batch of %zu that is none", count);
        json_decref(array);
    }
    if (step != HFPAYLOAD_BATCH_END)
        expect_explained(&error, length);
}

static void try_id(const char *bytes, size_t length) {
    hfpayload_error error;
    json_t *text = json_stringn(bytes, length);
    if (!hfpayload_id_check(bytes, length, &error))
        expect_explained(&error, length);
    else if (text == NULL || length == 0 || length > HFPAYLOAD_ID_MAX_BYTES)
        fail("accepted what is no id");
    json_decref(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    uint8_t which = take(&in);
    size_t most_bytes = take(&in), most_depth = take(&in);
    hfpayload_limits limits = {most_bytes == '*' ? SIZE_MAX : most_bytes,
                               most_depth == '*' ? SIZE_MAX : most_depth};
    char *copy = exact_copy(in.bytes, in.length);
    switch (which % 4) {
    case 0:
        try_tree(copy, in.length, limits);
        break;
    case 1:
        try_entity(copy, in.length, limits);
        break;
    case 2:
        try_batch(copy, in.length, limits);
        break;
    default:
        try_id(copy, in.length);
    }
    free(copy);
    return 0;
}
