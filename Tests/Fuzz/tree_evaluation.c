#include "tree_evaluation.h"

#include <stdlib.h>
#include <string.h>

static bool integer_equals(json_int_t integer, double real) {
    return real >= -0x1p63 && real < 0x1p63 && (double)(json_int_t)real == real &&
           (json_int_t)real == integer;
}

/* Numbers by value, objects with equal members in the same order. */
static bool equal(const json_t *a, const json_t *b) {
    if (json_is_integer(a) && json_is_real(b))
        return integer_equals(json_integer_value(a), json_real_value(b));
    if (json_is_real(a) && json_is_integer(b))
        return integer_equals(json_integer_value(b), json_real_value(a));
    if (json_typeof(a) != json_typeof(b))
        return false;
    switch (json_typeof(a)) {
    case JSON_INTEGER:
        return json_integer_value(a) == json_integer_value(b);
    case JSON_REAL:
        return json_real_value(a) == json_real_value(b);
    case JSON_STRING:
        return json_string_length(a) == json_string_length(b) &&
               memcmp(json_string_value(a), json_string_value(b), json_string_length(a)) == 0;
    case JSON_ARRAY:
        for (size_t i = 0; i < json_array_size(a) && i < json_array_size(b); i++)
            if (!equal(json_array_get(a, i), json_array_get(b, i)))
                return false;
        return json_array_size(a) == json_array_size(b);
    case JSON_OBJECT: {
        json_t *left = (json_t *)a, *right = (json_t *)b;
        void *l = json_object_iter(left), *r = json_object_iter(right);
        for (; l != NULL && r != NULL;
             l = json_object_iter_next(left, l), r = json_object_iter_next(right, r))
            if (strcmp(json_object_iter_key(l), json_object_iter_key(r)) != 0 ||
                !equal(json_object_iter_value(l), json_object_iter_value(r)))
                return false;
        return l == NULL && r == NULL;
    }
    default:
        return true;
    }
}

/* A value that a path leads to; NULL stands for "missing". */
static bool fits(const json_t *value, const json_t *operand) {
    return value == NULL ? json_is_null(operand) : equal(value, operand);
}

/* Splits off the first part of a path. Answers the rest, or NULL. */
static const char *first_part(const char *path, char *part) {
    const char *dot = strchr(path, '.');
    size_t length = dot != NULL ? (size_t)(dot - path) : strlen(path);
    memcpy(part, path, length);
    part[length] = '\0';
    return dot != NULL ? dot + 1 : NULL;
}

static bool from_object(const json_t *value, const char *path, const json_t *operand);

/* What the path leads to from within an array: through its objects, and by an index. */
static bool from_array(const json_t *array, const char *path, const json_t *operand) {
    for (size_t i = 0; i < json_array_size(array); i++)
        if (json_is_object(json_array_get(array, i)) && from_object(json_array_get(array, i), path, operand))
            return true;
    char *part = malloc(strlen(path) + 1);
    const char *rest = first_part(path, part);
    size_t digits = strspn(part, "0123456789");
    bool is_index = digits > 0 && part[digits] == '\0' && digits < 10 && (part[0] != '0' || digits == 1);
    const json_t *picked = is_index ? json_array_get(array, strtoul(part, NULL, 10)) : NULL;
    free(part);
    if (picked == NULL)
        return false;
    if (rest == NULL)
        return equal(picked, operand);
    if (json_is_array(picked))
        return from_array(picked, rest, operand);
    return json_is_object(picked) && from_object(picked, rest, operand);
}

static bool from_object(const json_t *value, const char *path, const json_t *operand) {
    if (!json_is_object(value))
        return fits(NULL, operand);
    char *part = malloc(strlen(path) + 1);
    const char *rest = first_part(path, part);
    const json_t *found = json_object_get(value, part);
    free(part);
    if (found == NULL)
        return fits(NULL, operand);
    if (rest != NULL)
        return json_is_array(found) ? from_array(found, rest, operand) : from_object(found, rest, operand);
    for (size_t i = 0; i < json_array_size(found); i++)
        if (equal(json_array_get(found, i), operand))
            return true;
    return equal(found, operand);
}

bool tree_matches(const json_t *document, const json_t *filter) {
    const char *path;
    json_t *condition;
    json_object_foreach((json_t *)filter, path, condition) {
        json_t *operand = json_object_get(condition, "$eq");
        if (!from_object(document, path, operand != NULL ? operand : condition))
            return false;
    }
    return true;
}
