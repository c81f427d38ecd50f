#include "parse.h"

#include <stdio.h>
#include <string.h>

/* Where the value of the member with this name begins in the text of a valid object. jansson keeps no
 * positions but keeps the order, so the member is found by counting, and no name is decoded again. */
static size_t value_position(const char *bytes, size_t start, size_t end, json_t *object, const char *name) {
    size_t commas = 0;
    for (void *m = json_object_iter(object); strcmp(json_object_iter_key(m), name) != 0;
         m = json_object_iter_next(object, m)) {
        commas++;
    }
    size_t depth = 0;
    for (size_t at = start; at < end; at++) {
        switch (bytes[at]) {
        case '"':
            at = hfpayload_skip_string(bytes, end, at) - 1;
            break;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            depth--;
            break;
        case ',':
            commas -= depth == 1;
            break;
        case ':':
            if (commas == 0) { /* the first colon behind that comma is its own */
                return hfpayload_skip_white_space(bytes, end, at + 1);
            }
            break;
        }
    }
    return start;
}

/* Fills the entity's id. Positions are left to the caller, who looks for them only on failure. */
static bool take_id(const json_t *value, hfpayload_entity *entity, hfpayload_error *error) {
    static const char *const only = "an id is a string or a 64-bit integer";
    switch (json_typeof(value)) {
    case JSON_STRING:
        entity->id_type = HFPAYLOAD_ID_STRING;
        entity->id_length = json_string_length(value);
        if (!hfpayload_id_check(json_string_value(value), entity->id_length, error)) {
            return false;
        }
        memcpy(entity->id, json_string_value(value), entity->id_length);
        return true;
    case JSON_INTEGER:
        entity->id_type = HFPAYLOAD_ID_INTEGER;
        entity->id_length = (size_t)snprintf(entity->id, sizeof entity->id, "%" JSON_INTEGER_FORMAT,
                                             json_integer_value(value));
        return true;
    case JSON_NULL:
        return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, 0,
                                "the id is null: its member must be left out to have an id assigned");
    case JSON_REAL:
        return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, 0, "the id is a real number: %s", only);
    case JSON_TRUE:
    case JSON_FALSE:
        return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, 0, "the id is a boolean: %s", only);
    case JSON_ARRAY:
        return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, 0, "the id is an array: %s", only);
    case JSON_OBJECT:
        break;
    }
    return hfpayload_refuse(error, HFPAYLOAD_INVALID_ID, 0, "the id is an object: %s", only);
}

bool hfpayload_entity_check(const char *bytes, size_t length, const char *key, hfpayload_limits limits,
                            hfpayload_entity *entity, hfpayload_error *error) {
    if (length <= hfpayload_max_bytes(limits) &&
        hfpayload_plain_entity(bytes, length, key, limits.max_depth, entity) &&
        hfpayload_skip_white_space(bytes, length, entity->start + entity->length) == length) {
        return true;
    }
    return hfpayload_parsed_entity(bytes, length, key, limits, entity, error);
}

bool hfpayload_parsed_entity(const char *bytes, size_t length, const char *key, hfpayload_limits limits,
                             hfpayload_entity *entity, hfpayload_error *error) {
    size_t end;
    json_t *value = hfpayload_parse(bytes, length, limits, &end, error);
    if (value == NULL) {
        return false;
    }
    size_t start = hfpayload_skip_white_space(bytes, end, 0);
    bool valid = json_is_object(value);
    entity->start = start;
    entity->length = end - start;
    entity->id_type = HFPAYLOAD_ID_ABSENT;
    entity->id_length = 0;
    if (!valid) {
        hfpayload_refuse(error, HFPAYLOAD_NOT_AN_OBJECT, start,
                         "an entity must be a JSON object, and this is %s",
                         hfpayload_type_beginning_with(bytes[start]));
    } else {
        const json_t *id = json_object_get(value, key);
        valid = id == NULL || take_id(id, entity, error);
        if (!valid) {
            error->position = value_position(bytes, start, end, value, key);
        }
    }
    json_decref(value);
    return valid;
}
