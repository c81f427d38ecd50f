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

static hfp_batch_step refuse_batch(size_t position, const char *message, hfp_error *error) {
    hfp_refuse(error, HFP_INVALID_JSON, position, "%s", message);
    return HFP_BATCH_FAILED;
}

/* The step for the element at this position. Where it is not plain its end is looked for before it is
 * parsed, so that jansson is given one element, however long the batch. */
static hfp_batch_step read_element(hfp_batch *batch, size_t start, hfp_entity *entity, hfp_error *error) {
    const char *bytes = batch->bytes + start;
    if (bytes[0] != '{') {
        const char *type = hfp_type_beginning_with(bytes[0]);
        hfp_refuse(error, type != NULL ? HFP_NOT_AN_OBJECT : HFP_INVALID_JSON, 0,
                   "an entity must be a JSON object, and this is %s", type != NULL ? type : "no JSON value");
        return refuse_element(batch, start, error);
    }
    size_t rest = batch->length - start;
    size_t max_bytes = hfp_max_bytes(batch->limits);
    if (!hfp_plain_entity(bytes, rest <= max_bytes ? rest : max_bytes, batch->key, batch->limits.max_depth,
                          entity)) {
        /* An element without an end is given to the check as far as it matters: one byte more than the
         * limit is too large. */
        size_t length = rest <= max_bytes ? rest : max_bytes + 1;
        hfp_scan_brackets(bytes, length, SIZE_MAX, &length);
        if (!hfp_parsed_entity(bytes, length, batch->key, batch->limits, entity, error)) {
            return refuse_element(batch, start, error);
        }
    }
    entity->start = start;
    batch->position = start + entity->length;
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
        return rest == length
                   ? HFP_BATCH_END
                   : refuse_batch(rest, "text follows the end of the batch: it is exactly one array", error);
    }
    if (at < length && batch->index > 0) {
        if (bytes[at] != ',') {
            return refuse_batch(at, "a comma or a closing bracket is expected behind an element", error);
        }
        at = hfp_skip_white_space(bytes, length, at + 1);
        if (at < length && bytes[at] == ']') {
            return refuse_batch(at, "an element is expected: no comma stands behind the last", error);
        }
    }
    if (at == length) {
        return refuse_batch(at, "the batch ends before its closing bracket", error);
    }
    return read_element(batch, at, entity, error);
}
