/*
 * Entity: a JSON object with an id, as UTF-8 bytes and a version.
 *
 * The bytes of an entity are stored and returned untouched: white space, order of members, forms of
 * numbers. Two exceptions: an id that the library assigns is inserted as the first member, and a patch
 * or an update rewrites the members that it touches. White space around the object is no part of it.
 *
 * The version is the sequence number of the commit that last wrote the entity. It differs after every
 * change and rises; 0 stands for a write of an open transaction, which has no version yet.
 *
 * Payloads must be one JSON object (RFC 8259) in UTF-8, within the store's limits for bytes and depth,
 * without duplicate names in one object and without \u0000 in a name (in a text it may stand), and with
 * integers that fit 64 bits and reals that fit a double.
 *
 * An id is text of 1 to 512 bytes without control characters (U+0000 to U+001F, U+007F), or an integer
 * that fits 64 bits. An integer's id is its decimal text: 42 and "42" name one entity. Ids are compared
 * and ordered by their bytes.
 */
#ifndef HOLDFAST_ENTITY_H
#define HOLDFAST_ENTITY_H

#include "base.h"
#include "error.h"
#include "status.h"

HF_BEGIN_DECLS

/**
 * One entity that the caller owns. Start with HF_ENTITY_INIT and pass the same one again and again: its
 * memory is reused and grows when needed. `data` holds `length` bytes and a closing NUL that `length` does
 * not count. On failure, and on HF_NOT_FOUND, it keeps what it held.
 */
typedef struct hf_entity {
    char *data;
    size_t length;
    size_t capacity;
    uint64_t version;
} hf_entity;

#define HF_ENTITY_INIT                                                                                       \
    { NULL, 0, 0, 0 }

/** Frees the memory of an entity and sets it to HF_ENTITY_INIT. entity: NULL allowed. Cannot fail. Any
 * thread. */
HF_EXPORT void hf_entity_free(hf_entity *entity);

/** One entity of a list, borrowed from it. Neither text is closed with NUL. */
typedef struct hf_entity_view {
    const char *id;
    size_t id_length;
    const char *data;
    size_t length;
    uint64_t version;
} hf_entity_view;

/**
 * Entities that the caller owns. Start with HF_ENTITY_LIST_INIT; passing a list that is in use frees what
 * it held. `json` is all of them as one JSON array, `json_length` bytes and a closing NUL; the entities'
 * `data` point into it. On failure the list keeps what it held.
 */
typedef struct hf_entity_list {
    const hf_entity_view *items;
    size_t count;
    const char *json;
    size_t json_length;
} hf_entity_list;

#define HF_ENTITY_LIST_INIT                                                                                  \
    { NULL, 0, NULL, 0 }

/** Frees the memory of a list and sets it to HF_ENTITY_LIST_INIT. list: NULL allowed. Cannot fail. Any
 * thread.
 */
HF_EXPORT void hf_entity_list_free(hf_entity_list *list);

/* --- Writing JSON ----------------------------------------------------------------------------------------
 */

/**
 * Writes text as a JSON string, with its quotes and what has to be escaped, for entities, filters and options
 * that a program puts together by hand:
 *
 *     hf_json_quote(name, HF_NTS, &quoted, &error);
 *     snprintf(filter, sizeof filter, "{\"name\": %s}", quoted.data);
 *
 * text: UTF-8; length: in bytes, or HF_NTS. out_json: receives it, in place of what it held.
 * Errors: HF_INVALID_ARGUMENT (text or out_json is NULL, or the text is no UTF-8), HF_NO_MEMORY. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_json_quote(const char *text, size_t length, hf_buffer *out_json,
                                                 hf_error **out_error);

HF_END_DECLS

#endif
