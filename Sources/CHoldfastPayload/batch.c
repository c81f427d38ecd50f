#include "parse.h"

#include <string.h>

/* Says in the message which element was refused. */
static hfp_batch_step refuse_element(const hfp_batch *batch, size_t start, hfp_error *error) {
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    hfp_refuse(error, error->failure, start + error->position, "element %zu, counted from 0: %s",
               batch->index, message);
    return HFP_BATCH_FAILED;
}

static hfp_batch_step refuse_separator(size_t position, size_t length, const char *expected,
                                       hfp_error *error) {
    if (position == length) {
        hfp_refuse(error, HFP_INVALID_JSON, position, "the batch ends before its closing bracket");
    } else {
        hfp_refuse(error, HFP_INVALID_JSON, position, "%s", expected);
    }
    return HFP_BATCH_FAILED;
}

/* The step for the element at this position. Its end is looked for before it is parsed, so that jansson
 * is given one element, however long the batch, and the limits hold before any memory is taken. */
static hfp_batch_step read_element(hfp_batch *batch, size_t start, hfp_entity *entity, hfp_error *error) {
    const char *bytes = batch->bytes + start;
    size_t rest = batch->length - start;
    if (bytes[0] != '{') {
        const char *type = hfp_type_beginning_with(bytes[0]);
        hfp_refuse(error, type != NULL ? HFP_NOT_AN_OBJECT : HFP_INVALID_JSON, 0,
                   "an entity must be a JSON object, and this is %s", type != NULL ? type : "no JSON value");
        return refuse_element(batch, start, error);
    }
    hfp_limits limits = hfp_effective_limits(batch->limits);
    /* One byte more than the limit tells an entity that is too long from a text that ends too early. */
    size_t window = rest <= limits.max_bytes ? rest : limits.max_bytes + 1;
    size_t length = window;
    hfp_scan scan = hfp_scan_brackets(bytes, window, limits.max_depth, &length);
    if (scan == HFP_SCAN_TOO_DEEP && length < limits.max_bytes) {
        hfp_refuse_too_deep(error, length, limits);
        return refuse_element(batch, start, error);
    }
    if (scan != HFP_SCAN_CLOSED) {
        length = window;
    }
    if (length > limits.max_bytes) {
        hfp_refuse(error, HFP_TOO_LARGE, limits.max_bytes, "the entity is longer than the limit of %zu bytes",
                   limits.max_bytes);
        return refuse_element(batch, start, error);
    }
    if (!hfp_entity_check_within_limits(bytes, length, batch->key, entity, error)) {
        return refuse_element(batch, start, error);
    }
    entity->start = start;
    batch->position = start + length;
    batch->index++;
    return HFP_BATCH_ENTITY;
}

bool hfp_batch_begin(hfp_batch *batch, const char *bytes, size_t length, const char *key, hfp_limits limits,
                     hfp_error *error) {
    size_t start = hfp_skip_white_space(bytes, length, 0);
    if (start == length || bytes[start] != '[') {
        if (!hfp_refuse_blank(bytes, length, error)) {
            const char *type = hfp_type_beginning_with(bytes[start]);
            hfp_refuse(error, HFP_NOT_AN_ARRAY, start, "a batch must be a JSON array, and this is %s",
                       type != NULL ? type : "no JSON value");
        }
        return false;
    }
    *batch = (hfp_batch){bytes, length, start + 1, 0, key, limits};
    return true;
}

hfp_batch_step hfp_batch_next(hfp_batch *batch, hfp_entity *entity, hfp_error *error) {
    const char *bytes = batch->bytes;
    size_t length = batch->length;
    size_t at = hfp_skip_white_space(bytes, length, batch->position);
    if (at < length && bytes[at] == ']') {
        size_t rest = hfp_skip_white_space(bytes, length, at + 1);
        if (rest < length) {
            hfp_refuse(error, HFP_INVALID_JSON, rest,
                       "text follows the end of the batch: a payload is exactly one value");
            return HFP_BATCH_FAILED;
        }
        return HFP_BATCH_END;
    }
    if (batch->index > 0) {
        if (at == length || bytes[at] != ',') {
            return refuse_separator(at, length, "a comma or a closing bracket is expected behind an element",
                                    error);
        }
        at = hfp_skip_white_space(bytes, length, at + 1);
        if (at < length && bytes[at] == ']') {
            return refuse_separator(at, length, "an element is expected: no comma stands behind the last",
                                    error);
        }
    }
    if (at == length) {
        return refuse_separator(at, length, "", error);
    }
    return read_element(batch, at, entity, error);
}
