#include "parse.h"

#include <string.h>

/* A tree is jansson's root value and a value is jansson's value, under names that keep jansson.h inside
 * this target. */
static const json_t *json_of(const hfpayload_value *value) { return (const json_t *)value; }

/* jansson's functions that only read an object still ask for it without const. */
static json_t *readable(const hfpayload_value *value) { return (json_t *)value; }

hfpayload_tree *hfpayload_tree_parse(const char *bytes, size_t length, hfpayload_limits limits,
                                     hfpayload_error *error) {
    size_t end;
    return (hfpayload_tree *)hfpayload_parse(bytes, length, limits, &end, error);
}

void hfpayload_tree_free(hfpayload_tree *tree) { json_decref((json_t *)tree); }

const hfpayload_value *hfpayload_tree_root(const hfpayload_tree *tree) {
    return (const hfpayload_value *)tree;
}

hfpayload_type hfpayload_value_type(const hfpayload_value *value) {
    switch (json_typeof(json_of(value))) {
    case JSON_OBJECT:
        return HFPAYLOAD_OBJECT;
    case JSON_ARRAY:
        return HFPAYLOAD_ARRAY;
    case JSON_STRING:
        return HFPAYLOAD_STRING;
    case JSON_INTEGER:
        return HFPAYLOAD_INTEGER;
    case JSON_REAL:
        return HFPAYLOAD_REAL;
    case JSON_TRUE:
        return HFPAYLOAD_TRUE;
    case JSON_FALSE:
        return HFPAYLOAD_FALSE;
    case JSON_NULL:
        break;
    }
    return HFPAYLOAD_NULL;
}

int64_t hfpayload_value_integer(const hfpayload_value *value) { return json_integer_value(json_of(value)); }

double hfpayload_value_real(const hfpayload_value *value) { return json_real_value(json_of(value)); }

const char *hfpayload_value_string(const hfpayload_value *value, size_t *length) {
    *length = json_string_length(json_of(value));
    return json_string_value(json_of(value));
}

size_t hfpayload_value_count(const hfpayload_value *value) {
    return json_is_array(json_of(value)) ? json_array_size(json_of(value)) : json_object_size(json_of(value));
}

const hfpayload_value *hfpayload_value_element(const hfpayload_value *array, size_t index) {
    return (const hfpayload_value *)json_array_get(json_of(array), index);
}

size_t hfpayload_value_weight(const hfpayload_value *value) {
    enum { NODE = 48, MEMBER = 64 }; /* with the blocks that lists and texts lie in */
    size_t weight = NODE, length;
    switch (hfpayload_value_type(value)) {
    case HFPAYLOAD_STRING:
        hfpayload_value_string(value, &length);
        return weight + length;
    case HFPAYLOAD_ARRAY:
        for (size_t i = 0; i < hfpayload_value_count(value); i++)
            weight += hfpayload_value_weight(hfpayload_value_element(value, i));
        return weight;
    case HFPAYLOAD_OBJECT:
        for (void *m = hfpayload_object_first(value); m != NULL; m = hfpayload_object_next(value, m)) {
            hfpayload_member_name(m, &length);
            weight += MEMBER + length + hfpayload_value_weight(hfpayload_member_value(m));
        }
        return weight;
    default:
        return weight;
    }
}

void *hfpayload_object_first(const hfpayload_value *object) { return json_object_iter(readable(object)); }

void *hfpayload_object_next(const hfpayload_value *object, void *member) {
    return json_object_iter_next(readable(object), member);
}

const char *hfpayload_member_name(void *member, size_t *length) {
    const char *name = json_object_iter_key(member);
    *length = strlen(name); /* exact: a name with a NUL byte was refused */
    return name;
}

const hfpayload_value *hfpayload_member_value(void *member) {
    return (const hfpayload_value *)json_object_iter_value(member);
}
