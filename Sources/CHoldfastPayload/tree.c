#include "parse.h"

#include <string.h>

/* A tree is jansson's root value and a value is jansson's value, under names that keep jansson.h inside
 * this target. */
static const json_t *json_of(const hfp_value *value) { return (const json_t *)value; }

/* jansson's functions that only read an object still ask for it without const. */
static json_t *readable(const hfp_value *value) { return (json_t *)value; }

hfp_tree *hfp_tree_parse(const char *bytes, size_t length, hfp_limits limits, hfp_error *error) {
    size_t end;
    return (hfp_tree *)hfp_parse(bytes, length, limits, &end, error);
}

void hfp_tree_free(hfp_tree *tree) { json_decref((json_t *)tree); }

const hfp_value *hfp_tree_root(const hfp_tree *tree) { return (const hfp_value *)tree; }

hfp_type hfp_value_type(const hfp_value *value) {
    switch (json_typeof(json_of(value))) {
    case JSON_OBJECT:
        return HFP_OBJECT;
    case JSON_ARRAY:
        return HFP_ARRAY;
    case JSON_STRING:
        return HFP_STRING;
    case JSON_INTEGER:
        return HFP_INTEGER;
    case JSON_REAL:
        return HFP_REAL;
    case JSON_TRUE:
        return HFP_TRUE;
    case JSON_FALSE:
        return HFP_FALSE;
    case JSON_NULL:
        break;
    }
    return HFP_NULL;
}

int64_t hfp_value_integer(const hfp_value *value) { return json_integer_value(json_of(value)); }

double hfp_value_real(const hfp_value *value) { return json_real_value(json_of(value)); }

const char *hfp_value_string(const hfp_value *value, size_t *length) {
    *length = json_string_length(json_of(value));
    return json_string_value(json_of(value));
}

size_t hfp_value_count(const hfp_value *value) {
    return json_is_array(json_of(value)) ? json_array_size(json_of(value)) : json_object_size(json_of(value));
}

const hfp_value *hfp_value_element(const hfp_value *array, size_t index) {
    return (const hfp_value *)json_array_get(json_of(array), index);
}

size_t hfp_value_weight(const hfp_value *value) {
    enum { NODE = 48, MEMBER = 64 }; /* with the blocks that lists and texts lie in */
    size_t weight = NODE, length;
    switch (hfp_value_type(value)) {
    case HFP_STRING:
        hfp_value_string(value, &length);
        return weight + length;
    case HFP_ARRAY:
        for (size_t i = 0; i < hfp_value_count(value); i++)
            weight += hfp_value_weight(hfp_value_element(value, i));
        return weight;
    case HFP_OBJECT:
        for (void *m = hfp_object_first(value); m != NULL; m = hfp_object_next(value, m)) {
            hfp_member_name(m, &length);
            weight += MEMBER + length + hfp_value_weight(hfp_member_value(m));
        }
        return weight;
    default:
        return weight;
    }
}

void *hfp_object_first(const hfp_value *object) { return json_object_iter(readable(object)); }

void *hfp_object_next(const hfp_value *object, void *member) {
    return json_object_iter_next(readable(object), member);
}

const char *hfp_member_name(void *member, size_t *length) {
    const char *name = json_object_iter_key(member);
    *length = strlen(name); /* exact: a name with a NUL byte was refused */
    return name;
}

const hfp_value *hfp_member_value(void *member) { return (const hfp_value *)json_object_iter_value(member); }
