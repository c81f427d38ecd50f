/*
 * Cursor: what a query finds, in pieces, so that any number of entities takes little memory.
 *
 * A cursor reads one snapshot: that of its transaction, or one of its own, which begins at the first
 * hf_cursor_next. A snapshot that is too old, or in the way of others, is taken back; the cursor then goes on
 * with a newer one if nothing that it has read is different there, and else answers HF_CONFLICT. In a
 * transaction it sees the writes that were made before its first hf_cursor_next, and none after.
 *
 * Every function may be called from any thread; two calls on one cursor take turns. Every function may answer
 * HF_INVALID_HANDLE, HF_FORKED, HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_STATE (its transaction has ended),
 * HF_IO, HF_CORRUPT, HF_NO_MEMORY.
 */
#ifndef HOLDFAST_CURSOR_H
#define HOLDFAST_CURSOR_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "repository.h"
#include "status.h"
#include "transaction.h"

HF_BEGIN_DECLS

typedef struct hf_cursor hf_cursor;

/**
 * Opens a cursor over what matches a filter. Nothing is read yet.
 *
 * transaction: NULL for a snapshot of its own. filter, filter_length, options: as for hf_repository_find.
 * Without an index in the order of "sort", the order is worked out at the first hf_cursor_next, which then
 * keeps the id of every entity that matches.
 *
 * out_cursor receives the handle, freed with hf_cursor_free.
 *
 * Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_cursor_open(hf_repository *repository, hf_transaction *transaction,
                                                  const char *filter, size_t filter_length,
                                                  const char *options, hf_cursor **out_cursor,
                                                  hf_error **out_error);

/**
 * Hands out the next entities.
 *
 * count: at most so many; 0 for as many as make a piece of about 256 KiB, which also ends any other.
 * out_entities: receives them, in place of those that it held; empty once all were handed out.
 * A call that fails has handed nothing out: the next one begins with the same entities.
 *
 * Errors: HF_CONFLICT (retryable: open the cursor, or begin the transaction, again), HF_CORRUPT (an entity or
 * the index along which it goes is damaged; the message names it).
 */
HF_EXPORT hf_status hf_cursor_next(hf_cursor *cursor, uint64_t count, hf_entity_list *out_entities,
                                   hf_error **out_error);

/** Frees the handle, and the snapshot of a cursor that has its own. NULL and a freed handle do nothing. */
HF_EXPORT void hf_cursor_free(hf_cursor *cursor);

HF_END_DECLS

#endif
