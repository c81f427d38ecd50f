#include "parse.h"

#include <string.h>

/* Says in the message which element was refused. */
static hfpayload_batch_step refuse_element(const hfpayload_batch *batch, size_t start,
                                           hfpayload_error *error) {
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    hfpayload_refuse(error, error->failure, start + error->position, "element %zu, counted from 0: %s",
                     batch->index, message);
    return HFPAYLOAD_BATCH_FAILED;
}

static hfpayload_batch_step refuse_batch(size_t position, const char *message, hfpayload_error *error) {
    hfpayload_refuse(error, HFPAYLOAD_INVALID_JSON, position, "%s", message);
    return HFPAYLOAD_BATCH_FAILED;
}

/* The step for the element at this position. Where it is not plain its end is looked for before it is
 * parsed, so that jansson is given one element, however long the batch. */
static hfpayload_batch_step read_element(hfpayload_batch *batch, size_t start, hfpayload_entity *entity,
                                         hfpayload_error *error) {
    const char *bytes = batch->bytes + start;
    if (bytes[0] != '{') {
        const char *type = hfpayload_type_beginning_with(bytes[0]);
        hfpayload_refuse(error, type != NULL ? HFPAYLOAD_NOT_AN_OBJECT : HFPAYLOAD_INVALID_JSON, 0,
                         "an entity must be a JSON object, and this is %s",
                         type != NULL ? type : "no JSON value");
        return refuse_element(batch, start, error);
    }
    size_t rest = batch->length - start;
    size_t max_bytes = hfpayload_max_bytes(batch->limits);
    if (!hfpayload_plain_entity(bytes, rest <= max_bytes ? rest : max_bytes, batch->key,
                                batch->limits.max_depth, entity)) {
        /* An element without an end is given to the check as far as it matters: one byte more than the
         * limit is too large. */
        size_t length = rest <= max_bytes ? rest : max_bytes + 1;
        hfpayload_scan_brackets(bytes, length, SIZE_MAX, &length);
        if (!hfpayload_parsed_entity(bytes, length, batch->key, batch->limits, entity, error)) {
            return refuse_element(batch, start, error);
        }
    }
    entity->start = start;
    batch->position = start + entity->length;
    batch->index++;
    return HFPAYLOAD_BATCH_ENTITY;
}

bool hfpayload_batch_begin(hfpayload_batch *batch, const char *bytes, size_t length, const char *key,
                           hfpayload_limits limits, hfpayload_error *error) {
    size_t start = hfpayload_skip_white_space(bytes, length, 0);
    if (start == length || bytes[start] != '[') {
        if (!hfpayload_refuse_blank(bytes, length, error)) {
            const char *type = hfpayload_type_beginning_with(bytes[start]);
            hfpayload_refuse(error, HFPAYLOAD_NOT_AN_ARRAY, start,
                             "a batch must be a JSON array, and this is %s",
                             type != NULL ? type : "no JSON value");
        }
        return false;
    }
    *batch = (hfpayload_batch){bytes, length, start + 1, 0, key, limits};
    return true;
}

hfpayload_batch_step hfpayload_batch_next(hfpayload_batch *batch, hfpayload_entity *entity,
                                          hfpayload_error *error) {
    const char *bytes = batch->bytes;
    size_t length = batch->length;
    size_t at = hfpayload_skip_white_space(bytes, length, batch->position);
    if (at < length && bytes[at] == ']') {
        size_t rest = hfpayload_skip_white_space(bytes, length, at + 1);
        return rest == length
                   ? HFPAYLOAD_BATCH_END
                   : refuse_batch(rest, "text follows the end of the batch: it is exactly one array", error);
    }
    if (at < length && batch->index > 0) {
        if (bytes[at] != ',') {
            return refuse_batch(at, "a comma or a closing bracket is expected behind an element", error);
        }
        at = hfpayload_skip_white_space(bytes, length, at + 1);
        if (at < length && bytes[at] == ']') {
            return refuse_batch(at, "an element is expected: no comma stands behind the last", error);
        }
    }
    if (at == length) {
        return refuse_batch(at, "the batch ends before its closing bracket", error);
    }
    return read_element(batch, at, entity, error);
}
