#include "generated_query.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { PARTS = 4, DEPTH = 3 };

static void choose_path(input *in, char path[64]) {
    static const char *const parts[] = {"a", "b", "c", "0", "1", "", "id", "00", "ab", "2"};
    path[0] = '\0';
    for (size_t count = 1 + choose(in, PARTS); count > 0; count--) {
        strcat(path, parts[choose(in, COUNT_OF(parts))]);
        strcat(path, count > 1 ? "." : "");
    }
}

/* A value of a generated document, or all of it. */
static json_t *value(input *in) {
    char text[CAPACITY];
    json_t *document = parse_json(text, generate_object(in, NULL, text, sizeof text));
    json_t *value = json_object_get(document, "a");
    value = json_incref(value != NULL ? value : document);
    json_decref(document);
    return value;
}

static json_t *values(input *in) {
    json_t *array = json_array();
    for (size_t count = choose(in, 4); count > 0; count--)
        json_array_append_new(array, value(in));
    return array;
}

static size_t write(json_t *tree, char *out) {
    size_t length = json_dumpb(tree, out, CAPACITY, JSON_COMPACT);
    json_decref(tree);
    return length > CAPACITY ? 0 : length;
}

/* --- Filters ------------------------------------------------------------------------------------ */

static json_t *filter(input *in, bool has_operators, int depth);

/* Some operators with their operands: what a path or $elemMatch or $not has. */
static json_t *operators(input *in, int depth) {
    static const char *const names[] = {"$eq",  "$ne",    "$gt",        "$gte",    "$lt",   "$lte",
                                        "$in",  "$nin",   "$all",       "$exists", "$type", "$size",
                                        "$mod", "$regex", "$elemMatch", "$not"};
    static const char *const types[] = {"null",  "bool", "number", "string", "object",
                                        "array", "int",  "long",   "double"};
    static const char *const patterns[] = {"^x",      "^1",      "x",       "^",     "^x|1", "^x?1",
                                           "^(x+)+$", "\\x{e9}", "^\\\\\"", "(?i)X", ".",    "^$"};
    static const char *const letters[] = {"", "i", "m", "s", "x", "imsx"};
    json_t *object = json_object();
    for (size_t count = 1 + choose(in, 2); count > 0; count--) {
        const char *name = names[choose(in, COUNT_OF(names) - (depth > DEPTH ? 2 : 0))];
        json_t *operand;
        if (strcmp(name, "$in") == 0 || strcmp(name, "$nin") == 0 || strcmp(name, "$all") == 0)
            operand = values(in);
        else if (strcmp(name, "$exists") == 0)
            operand = json_boolean(choose(in, 2));
        else if (strcmp(name, "$type") == 0)
            operand = json_string(types[choose(in, COUNT_OF(types))]);
        else if (strcmp(name, "$size") == 0)
            operand = json_integer((json_int_t)choose(in, 4));
        else if (strcmp(name, "$mod") == 0)
            operand = json_pack("[i,i]", (int)choose(in, 5) - 2, (int)choose(in, 3) - 1);
        else if (strcmp(name, "$elemMatch") == 0)
            operand = choose(in, 2) ? operators(in, depth + 1) : filter(in, true, depth + 1);
        else if (strcmp(name, "$not") == 0)
            operand = operators(in, depth + 1);
        else if (strcmp(name, "$regex") == 0) {
            operand = json_string(patterns[choose(in, COUNT_OF(patterns))]);
            if (choose(in, 2))
                json_object_set_new(object, "$options", json_string(letters[choose(in, COUNT_OF(letters))]));
        } else
            operand = value(in);
        json_object_set_new(object, name, operand);
    }
    return object;
}

static json_t *filter(input *in, bool has_operators, int depth) {
    static const char *const logical[] = {"$and", "$or", "$nor"};
    json_t *object = json_object();
    for (size_t count = 1 + choose(in, 2); count > 0; count--) {
        size_t kind = has_operators ? choose(in, 4) : 4;
        if (kind == 0 && depth < DEPTH) {
            json_t *filters = json_array();
            for (size_t i = 1 + choose(in, 2); i > 0; i--)
                json_array_append_new(filters, filter(in, true, depth + 1));
            json_object_set_new(object, logical[choose(in, COUNT_OF(logical))], filters);
            continue;
        }
        char path[64];
        choose_path(in, path);
        json_t *condition = kind < 4 ? operators(in, depth) : value(in);
        if (kind == 4 && choose(in, 2))
            condition = json_pack("{s:o}", "$eq", condition);
        json_object_set_new(object, path, condition);
    }
    return object;
}

size_t generate_filter(input *in, bool has_operators, char *out) {
    return write(filter(in, has_operators, 0), out);
}

/* --- Updates ------------------------------------------------------------------------------------ */

size_t generate_update(input *in, char *out) {
    static const char *const names[] = {"$set", "$unset", "$inc",      "$mul",  "$min",
                                        "$max", "$push",  "$addToSet", "$pull", "$rename"};
    json_t *update = json_object();
    for (size_t count = 1 + choose(in, 3); count > 0; count--) {
        const char *name = names[choose(in, COUNT_OF(names))];
        char path[64], other[64];
        choose_path(in, path);
        json_t *operand;
        if (strcmp(name, "$rename") == 0) {
            choose_path(in, other);
            operand = json_string(other);
        } else if (strcmp(name, "$pull") == 0 && choose(in, 2))
            operand = choose(in, 2) ? operators(in, DEPTH) : filter(in, true, DEPTH);
        else if (strcmp(name, "$push") == 0 && choose(in, 2))
            operand = json_pack("{s:o,s:i,s:i}", "$each", values(in), "$position", (int)choose(in, 6) - 3,
                                "$slice", (int)choose(in, 8) - 4);
        else if ((strcmp(name, "$push") == 0 || strcmp(name, "$addToSet") == 0) && choose(in, 2))
            operand = json_pack("{s:o}", "$each", values(in));
        else
            operand = value(in);
        json_t *paths = json_object_get(update, name);
        if (paths == NULL)
            json_object_set_new(update, name, paths = json_object());
        json_object_set_new(paths, path, operand);
    }
    return write(update, out);
}

void with_pair(const uint8_t *data, size_t size,
               void (*use)(const char *query, size_t query_length, const char *document, size_t length)) {
    const uint8_t *tab = memchr(data, '\t', size);
    if (tab == NULL)
        return;
    size_t length = (size_t)(data + size - tab) - 1;
    char *query = exact_copy(data, (size_t)(tab - data)), *document = exact_copy(tab + 1, length);
    use(query, (size_t)(tab - data), document, length);
    free(query);
    free(document);
}
